//! The counters in OpenMetrics text, a view of the snapshot. The encoder is a library's: the rules
//! for suffixes, escapes and buckets are more than they seem.

use crate::call_times::CallTimesSum;
use crate::keyed_meters::KeyedSnapshot;
use crate::snapshot::{Snapshot, Snapshots};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use std::fmt;
use std::sync::Arc;

/// The format of [`MetricsText::page`].
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Makes the page that a scraper reads.
pub(crate) struct MetricsText(Registry);

impl MetricsText {
    /// Reads from `snapshots` each time.
    pub(crate) fn new(snapshots: Arc<Snapshots>) -> MetricsText {
        let mut registry = Registry::with_prefix("echo_server");
        registry.register_collector(Box::new(Source(snapshots)));
        MetricsText(registry)
    }

    /// The page now.
    pub(crate) fn page(&self) -> String {
        let mut page = String::new();
        encode(&mut page, &self.0).expect("writing to a string cannot fail");
        page
    }
}

struct Source(Arc<Snapshots>);

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Source")
    }
}

impl Collector for Source {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut page = Page(encoder);
        let snapshot = self.0.take();
        page.totals(&snapshot)?;
        if let Some(keyed) = &snapshot.keyed {
            page.dispatch(keyed)?;
        }
        page.threads(&snapshot)?;
        page.times(&self.0.call_times())
    }
}

struct Page<'a>(DescriptorEncoder<'a>);

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

impl Page<'_> {
    fn totals(&mut self, now: &Snapshot) -> fmt::Result {
        self.gauge("emulated", "1 if some stage has a paced cost", f64::from(now.emulated))?;
        self.gauge("uptime_seconds", "Time since the start", seconds(now.uptime_ns))?;
        self.counter("cpu_seconds", "CPU time of the process", seconds(now.cpu_ns))?;
        let counters = [
            ("calls", "Calls read, stats calls apart", now.calls),
            ("stats_calls", "Stats calls read", now.stats_calls),
            ("replies", "Replies that sockets took", now.replies),
            ("replies_undeliverable", "Replies to ended connections", now.replies_undeliverable),
            ("handler_panics", "Calls on which the service panicked", now.handler_panics),
            ("read_bytes", "Bytes read", now.bytes_in),
            ("written_bytes", "Bytes written", now.bytes_out),
            ("reads", "Read system calls", now.reads),
            ("writes", "Write system calls", now.writes),
            ("polls", "Polls of the readers", now.polls),
            ("connections_admitted", "Connections admitted", now.connections_admitted),
        ];
        for (name, help, count) in counters {
            self.counter(name, help, count as f64)?;
        }
        self.gauge("calls_in_server", "Calls read, not answered yet", now.calls_in_server as f64)?;
        self.gauge("connections_open", "Connections open", now.connections_open as f64)?;
        if let Some(queue) = &now.queue {
            self.gauge("queue_depth", "Calls that wait for a handler", queue.depth as f64)?;
            self.gauge("queue_capacity", "Most calls that may wait", queue.capacity as f64)?;
        }
        let limits = now.limits.iter().map(|(name, count)| (*name, *count as f64));
        self.counters("limit_acted", "How often each limit acted", "limit", limits)
    }

    /// The stages of a dispatch by key.
    fn dispatch(&mut self, now: &KeyedSnapshot) -> fmt::Result {
        self.gauge("log_depth", "Calls confirmed, not read yet", now.backlog as f64)?;
        self.gauge("log_capacity", "Most confirmed calls that may wait", now.log_capacity as f64)?;
        let counters = [
            ("dispatch_batches", "Batches dispatched", now.cycles as f64),
            ("dispatch_extended_reads", "Reads extended", now.extended_reads as f64),
            ("dispatch_serial_calls", "Dispatched at the serial stage", now.calls_on_serial as f64),
            ("dispatch_gap_seconds", "From dispatches to the next reads", seconds(now.gap_ns)),
            ("dispatch_held_seconds", "Held back by full queues", seconds(now.held_back_ns)),
            ("serial_stalls", "Stalls of the serial stage", now.stalls as f64),
        ];
        for (name, help, value) in counters {
            self.counter(name, help, value)?;
        }
        Ok(())
    }

    fn threads(&mut self, now: &Snapshot) -> fmt::Result {
        let readers = now.readers.iter().map(|thread| {
            let times = [seconds(thread.cpu_ns), seconds(thread.wait_ns)];
            (thread.name.as_str(), [thread.calls as f64, thread.wakeups as f64, times[0], times[1]])
        });
        let handlers = now.handlers.iter().map(|thread| {
            let times = [seconds(thread.cpu_ns), seconds(thread.wait_ns)];
            (thread.name.as_str(), [thread.calls as f64, thread.wakeups as f64, times[0], times[1]])
        });
        let stages = now.keyed.iter().flat_map(|keyed| [&keyed.serial, &keyed.dispatcher]);
        let stages = stages.map(|thread| {
            let times = [seconds(thread.cpu_ns), seconds(thread.wait_ns)];
            (thread.name.as_str(), [thread.calls as f64, thread.wakeups as f64, times[0], times[1]])
        });
        let threads: Vec<(&str, [f64; 4])> = readers.chain(stages).chain(handlers).collect();
        let metrics = [
            ("thread_calls", "Calls read, confirmed, dispatched or served by a thread"),
            ("thread_wakeups", "Times that a thread slept and was woken"),
            ("thread_cpu_seconds", "CPU time of a thread"),
            ("thread_waiting_seconds", "Time that a thread was ready to run without a CPU"),
        ];
        for (i, (name, help)) in metrics.into_iter().enumerate() {
            let values = threads.iter().map(|(thread, values)| (*thread, values[i]));
            self.counters(name, help, "thread", values)?;
        }
        let blocked = now.readers.iter();
        let blocked = blocked.map(|thread| (thread.name.as_str(), seconds(thread.blocked_ns)));
        let help = "Time that a reader waited for room in the call queue";
        self.counters("thread_blocked_seconds", help, "thread", blocked)
    }

    fn times(&mut self, times: &CallTimesSum) -> fmt::Result {
        let help = "From readable until the reply was written, stats calls included";
        let kind = MetricType::Histogram;
        let mut metric = self.0.encode_descriptor("call_seconds", help, None, kind)?;
        metric.encode_histogram::<NoLabelSet>(times.sum_s, times.calls, &times.buckets, None)
    }

    fn gauge(&mut self, name: &str, help: &str, value: f64) -> fmt::Result {
        self.0.encode_descriptor(name, help, None, MetricType::Gauge)?.encode_gauge(&value)
    }

    fn counter(&mut self, name: &str, help: &str, value: f64) -> fmt::Result {
        let mut metric = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        metric.encode_counter::<NoLabelSet, _, f64>(&value, None)
    }

    fn counters<'a>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: impl Iterator<Item = (&'a str, f64)>,
    ) -> fmt::Result {
        let mut metric = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (of, value) in values {
            let labels = [(label, of)];
            let mut one = metric.encode_family(&labels)?;
            one.encode_counter::<NoLabelSet, _, f64>(&value, None)?;
        }
        Ok(())
    }
}

//! The server over the measured phase: the difference of two snapshots.

use super::dispatch::DispatchFigures;
use super::ratio;
use crate::remote_stats::{Snapshot, ThreadCounters};
use echo_common::growing_time::GrowingTime;
use serde::Serialize;
use std::collections::BTreeMap;

/// What the server did between the two snapshots, other clients' calls included.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ServerFigures {
    /// Synthetic costs of its stages.
    pub(crate) costs: Option<String>,
    /// Faults that it made on purpose (`--inject`).
    pub(crate) faults: Option<String>,
    pub(crate) emulated: bool,
    /// Time between the snapshots, by the server's clock.
    pub(crate) window_s: f64,
    pub(crate) calls: u64,
    pub(crate) replies: u64,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    pub(crate) connections_open: u64,
    /// Calls of one connection that it serves at once, at most.
    pub(crate) calls_per_connection: Option<u64>,
    pub(crate) cpu_us_per_call: Option<f64>,
    pub(crate) wakeups_per_call: Option<f64>,
    pub(crate) context_switches_per_call: Option<f64>,
    /// Reads, writes and polls; what a wake-up costs in system calls is not in it.
    pub(crate) system_calls_per_call: Option<f64>,
    pub(crate) readers: Vec<ThreadFigures>,
    pub(crate) handlers: Vec<ThreadFigures>,
    pub(crate) queue: Option<QueueFigures>,
    /// Of a server that dispatches by key.
    pub(crate) dispatch: Option<DispatchFigures>,
    /// How often each limit acted; those that did not are left out.
    pub(crate) limits: BTreeMap<String, u64>,
}

/// One thread of the server.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ThreadFigures {
    pub(crate) name: String,
    pub(crate) calls: u64,
    /// Share of the time on a CPU.
    pub(crate) cpu_share: Option<f64>,
    /// Share of the time on a CPU or ready to run: what the thread could not have done more in.
    pub(crate) busy_share: Option<f64>,
    pub(crate) cpu_us_per_call: Option<f64>,
    pub(crate) wakeups: u64,
    pub(crate) calls_per_wakeup: Option<f64>,
    /// Calls in one pass of a reader, or in one take of a handler.
    pub(crate) calls_per_batch: Option<f64>,
    /// Connections of a reader at the beginning or at the end, whichever is more: ours come after
    /// the one look or go before the other.
    pub(crate) connections: Option<u64>,
    pub(crate) pinned_cpu: Option<u64>,
    /// Share of the time that a reader waited for room in the call queue.
    pub(crate) blocked_share: Option<f64>,
}

/// The call queue.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct QueueFigures {
    pub(crate) capacity: u64,
    /// Since the server's start: it does not forget it in between.
    pub(crate) depth_max: u64,
    pub(crate) full_waits: u64,
    pub(crate) rejected: u64,
}

impl ServerFigures {
    /// The change from one snapshot to the next; none if the server was started anew in between.
    pub(crate) fn between(before: &Snapshot, after: &Snapshot) -> Option<ServerFigures> {
        let window_ns = after.uptime_ns.checked_sub(before.uptime_ns)?;
        let calls = after.calls.checked_sub(before.calls)?;
        let cpu_ns = match (before.cpu_ns, after.cpu_ns) {
            (Some(before), Some(after)) => Some(after.checked_sub(before)?),
            _ => None,
        };
        let readers = thread_figures(&before.readers, &after.readers, window_ns);
        let handlers = thread_figures(&before.handlers, &after.handlers, window_ns);
        let threads = || readers.iter().chain(&handlers);
        let wakeups: u64 = threads().map(|thread| thread.wakeups).sum();
        let wakeups = (threads().count() > 0).then_some(wakeups as f64);
        let switches = |snapshot: &Snapshot| {
            snapshot.context_switches.map(|switches| switches.voluntary + switches.involuntary)
        };
        let switched = match (switches(before), switches(after)) {
            (Some(before), Some(after)) => Some(after.saturating_sub(before) as f64),
            _ => None,
        };
        Some(ServerFigures {
            costs: after.costs.clone(),
            faults: after.faults.as_ref().map(|faults| faults.inject.join(", ")),
            emulated: after.emulated,
            window_s: window_ns as f64 / 1e9,
            calls,
            replies: after.replies.saturating_sub(before.replies),
            bytes_in: after.bytes_in.saturating_sub(before.bytes_in),
            bytes_out: after.bytes_out.saturating_sub(before.bytes_out),
            connections_open: after.connections_open,
            calls_per_connection: before.calls_per_connection,
            cpu_us_per_call: cpu_ns.and_then(|ns| ratio(ns as f64 / 1e3, calls as f64)),
            wakeups_per_call: wakeups.and_then(|count| ratio(count, calls as f64)),
            context_switches_per_call: switched.and_then(|count| ratio(count, calls as f64)),
            system_calls_per_call: system_calls(before, after)
                .and_then(|count| ratio(count as f64, calls as f64)),
            readers,
            handlers,
            queue: queue_figures(before, after),
            dispatch: after.keyed.as_ref().map(|keyed| {
                let earlier = before.keyed.clone().unwrap_or_default();
                DispatchFigures::between(&earlier, keyed, window_ns)
            }),
            limits: limits(before, after),
        })
    }

    /// The share of the time that the emulated cost of the busiest reader, and of the average
    /// handler, takes at `calls_per_s` with so many bytes of payload in a call on average; none
    /// where no cost is emulated. It is that of the client's right replies or that of what the
    /// server served, whichever is more: on a busy host the snapshots are taken late, and in
    /// overload much is served that times out.
    pub(crate) fn emulated_shares(
        &self,
        calls_per_s: Option<f64>,
        payload: Option<f64>,
    ) -> (Option<f64>, Option<f64>) {
        let cost_s = |role| paced_cost_s(self.costs.as_deref()?, role, payload);
        let sum = |threads: &[ThreadFigures]| threads.iter().map(|t| t.calls).sum::<u64>() as f64;
        let most = self.readers.iter().map(|reader| reader.calls).max().unwrap_or(0) as f64;
        let share = |role, part: Option<f64>, served: f64| {
            let (cost_s, part) = (cost_s(role)?, part?);
            let by_client = calls_per_s.map(|rate| rate * part);
            let by_server = ratio(served * part, self.window_s);
            let rate = by_client.into_iter().chain(by_server).reduce(f64::max)?;
            Some(rate * cost_s)
        };
        let readers = sum(&self.readers);
        (
            share("reader", ratio(most, readers), readers),
            share("handler", ratio(1.0, self.handlers.len() as f64), sum(&self.handlers)),
        )
    }

    /// The busiest reader.
    pub(crate) fn busiest_reader(&self) -> Option<&ThreadFigures> {
        let busy = |thread: &ThreadFigures| thread.busy_share.unwrap_or(0.0);
        self.readers.iter().max_by(|a, b| busy(a).total_cmp(&busy(b)))
    }

    /// A share of the handlers on average: they take from one queue.
    pub(crate) fn handlers_mean(&self, share: fn(&ThreadFigures) -> Option<f64>) -> Option<f64> {
        let shares: Vec<f64> = self.handlers.iter().filter_map(share).collect();
        ratio(shares.iter().sum(), shares.len() as f64)
    }
}

fn system_calls(before: &Snapshot, after: &Snapshot) -> Option<u64> {
    let all = |at: &Snapshot| Some(at.reads? + at.writes? + at.polls?);
    all(after)?.checked_sub(all(before)?)
}

/// The mean of a paced cost, in what the server says of its costs:
/// `reader spin:28us, handler paced:1ms+8us/KiB:exp (emulated)`. None, too, if it grows with a
/// payload that is not known.
fn paced_cost_s(costs: &str, role: &str, payload: Option<f64>) -> Option<f64> {
    let cost = costs.split(", ").find_map(|cost| cost.strip_prefix(role))?;
    let time = cost.trim_start().strip_prefix("paced:")?.split([':', ' ']).next()?;
    let mean: GrowingTime = time.parse().ok()?;
    let payload = payload.or(mean.per_kib.is_zero().then_some(0.0))?;
    Some(mean.of_ns(payload) / 1e9)
}

fn thread_figures(
    before: &[ThreadCounters],
    after: &[ThreadCounters],
    window_ns: u64,
) -> Vec<ThreadFigures> {
    let since = |thread: &ThreadCounters| {
        let earlier = before.iter().find(|earlier| earlier.name == thread.name);
        one_thread(earlier.unwrap_or(&ThreadCounters::default()), thread, window_ns)
    };
    after.iter().map(since).collect()
}

fn one_thread(before: &ThreadCounters, after: &ThreadCounters, window_ns: u64) -> ThreadFigures {
    let window = window_ns as f64;
    let grown = |field: fn(&ThreadCounters) -> u64| field(after).saturating_sub(field(before));
    let (calls, wakeups) = (grown(|t| t.calls), grown(|t| t.wakeups));
    let (cpu, wait) = (grown(|t| t.cpu_ns), grown(|t| t.wait_ns));
    let blocked = after.blocked_ns.map(|ns| ns.saturating_sub(before.blocked_ns.unwrap_or(0)));
    ThreadFigures {
        name: after.name.clone(),
        calls,
        cpu_share: ratio(cpu as f64, window),
        // The two counters are not read at one moment, so that the sum may pass the whole.
        busy_share: ratio((cpu + wait) as f64, window).map(|share| share.min(1.0)),
        cpu_us_per_call: ratio(cpu as f64 / 1e3, calls as f64),
        wakeups,
        calls_per_wakeup: ratio(calls as f64, wakeups as f64),
        calls_per_batch: ratio(calls as f64, grown(|t| t.batches) as f64),
        connections: before.connections.max(after.connections),
        pinned_cpu: after.cpu,
        blocked_share: blocked.and_then(|ns| ratio(ns as f64, window)),
    }
}

fn queue_figures(before: &Snapshot, after: &Snapshot) -> Option<QueueFigures> {
    let after = after.queue.as_ref()?;
    let before = before.queue.unwrap_or_default();
    Some(QueueFigures {
        capacity: after.capacity,
        depth_max: after.depth_max,
        full_waits: after.full_waits.saturating_sub(before.full_waits),
        rejected: after.rejected.saturating_sub(before.rejected),
    })
}

fn limits(before: &Snapshot, after: &Snapshot) -> BTreeMap<String, u64> {
    after
        .limits
        .iter()
        .map(|(name, count)| {
            let earlier = before.limits.get(name).copied().unwrap_or(0);
            (name.clone(), count.saturating_sub(earlier))
        })
        .filter(|(_, acted)| *acted > 0)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(json: &str) -> Snapshot {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn figures_are_those_between_the_snapshots() {
        let before = snapshot(
            r#"{"uptime_ns": 1000000000, "cpu_ns": 500, "calls": 10,
                "reads": 5, "writes": 5, "polls": 5,
                "readers": [{"name": "reader-00", "cpu_ns": 1000, "wait_ns": 0, "calls": 10,
                             "wakeups": 5}],
                "handlers": [], "queue": null, "limits": {"idle_closed": 3, "rejected": 1},
                "a_field_of_a_later_version": [1, {}]}"#,
        );
        let after = snapshot(
            r#"{"uptime_ns": 2000000000, "cpu_ns": 300000500, "calls": 100010,
                "reads": 20005, "writes": 20005, "polls": 10005,
                "readers": [{"name": "reader-00", "cpu_ns": 250001000, "wait_ns": 500000000,
                             "calls": 100010, "wakeups": 50005}],
                "handlers": [], "queue": null, "limits": {"idle_closed": 3, "rejected": 8}}"#,
        );
        let figures = ServerFigures::between(&before, &after).unwrap();
        assert_eq!((figures.window_s, figures.calls), (1.0, 100_000));
        assert_eq!(figures.cpu_us_per_call, Some(3.0));
        assert_eq!(figures.wakeups_per_call, Some(0.5));
        assert_eq!(figures.system_calls_per_call, Some(0.5));
        assert_eq!(figures.busiest_reader().unwrap().busy_share, Some(0.75));
        assert_eq!(figures.readers[0].cpu_share, Some(0.25));
        assert_eq!(figures.readers[0].calls_per_wakeup, Some(2.0));
        assert_eq!(figures.handlers_mean(|handler| handler.busy_share), None);
        assert_eq!(figures.limits, BTreeMap::from([("rejected".to_owned(), 7)]));
    }

    #[test]
    fn the_emulated_share_is_calls_by_cost() {
        let figures_of = |costs: &str, payload| {
            let after = format!(
                r#"{{"uptime_ns": 2000000000, "costs": "{costs}", "emulated": true,
                    "readers": [{{"name": "r", "calls": 3000}}, {{"name": "s", "calls": 1000}}],
                    "handlers": [{{"name": "h"}}, {{"name": "i"}}]}}"#,
            );
            let figures = ServerFigures::between(&snapshot("{}"), &snapshot(&after)).unwrap();
            let (reader, handler) = figures.emulated_shares(Some(4000.0), payload);
            [reader, handler].map(|share| share.map(|share| (share * 1000.0).round()))
        };
        let figures = |costs| figures_of(costs, Some(2048.0));
        assert_eq!(figures("reader paced:300us (emulated)"), [Some(900.0), None]);
        let both = "reader spin:28us, handler paced:400us:exp (emulated)";
        assert_eq!(figures(both), [None, Some(800.0)]);
        assert_eq!(figures("reader paced:nonsense, something paced:1s"), [None, None]);
        let growing = "handler paced:300us+50us/KiB:exp (emulated)";
        assert_eq!(figures(growing), [None, Some(800.0)]);
        assert_eq!(figures_of(growing, None), [None, None]);
        assert_eq!(figures_of("handler paced:400us (emulated)", None), [None, Some(800.0)]);
    }

    #[test]
    fn an_emulated_stage_is_as_busy_as_what_the_server_served_makes_it() {
        let after = r#"{"uptime_ns": 2000000000, "costs": "handler paced:1ms (emulated)",
            "readers": [{"name": "r", "calls": 6000}],
            "handlers": [{"name": "h", "calls": 1990}]}"#;
        let figures = ServerFigures::between(&snapshot("{}"), &snapshot(after)).unwrap();
        // 78 calls/s came in time, and none.
        for calls_per_s in [Some(78.0), None] {
            let share = figures.emulated_shares(calls_per_s, Some(0.0)).1.unwrap();
            assert!((share - 0.995).abs() < 1e-9, "{share}");
        }
    }

    #[test]
    fn a_server_started_anew_in_between_has_no_figures() {
        let (before, after) = (snapshot(r#"{"uptime_ns": 9}"#), snapshot(r#"{"uptime_ns": 3}"#));
        assert_eq!(ServerFigures::between(&before, &after), None);
    }

    #[test]
    fn an_idle_server_has_no_figures_per_call() {
        let figures = ServerFigures::between(&snapshot("{}"), &snapshot("{}")).unwrap();
        assert_eq!(figures.cpu_us_per_call, None);
        assert_eq!(figures.wakeups_per_call, None);
        assert_eq!(figures.system_calls_per_call, None);
    }
}

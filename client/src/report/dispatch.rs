//! The server's dispatch by key over the measured phase: the difference of two snapshots.

use super::ratio;
use crate::remote_stats::{KeyedCounters, StageCounters};
use serde::Serialize;

/// What the stages between the call queue and the handlers did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct DispatchFigures {
    pub(crate) serial: StageLoad,
    pub(crate) dispatcher: StageLoad,
    /// Batches dispatched.
    pub(crate) cycles: u64,
    pub(crate) calls_per_batch: Option<f64>,
    /// Batches of up to so many calls, and more than half as many.
    pub(crate) batch_sizes: Vec<(u64, u64)>,
    /// The largest batch since the server's start.
    pub(crate) batch_max: u64,
    /// From the end of a dispatch until the next read may begin.
    pub(crate) gap_us_per_cycle: Option<f64>,
    /// The share of the time that these were.
    pub(crate) gap_share: Option<f64>,
    /// Shares that waited because their handler's queue was full, and for how much of the time.
    pub(crate) held_back: u64,
    pub(crate) held_back_share: Option<f64>,
    /// Reads that went on at the serial stage.
    pub(crate) extended_reads: u64,
    /// The share of the calls that were dispatched at the serial stage.
    pub(crate) on_serial_share: Option<f64>,
    /// Calls confirmed and not read at the end, and at most since the server's start.
    pub(crate) backlog: u64,
    pub(crate) backlog_max: u64,
    pub(crate) log_full_waits: u64,
    pub(crate) stalls: u64,
}

/// How busy one of the two threads was.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct StageLoad {
    pub(crate) name: String,
    /// Calls confirmed, or dispatched on this thread.
    pub(crate) calls: u64,
    /// Share of the time on a CPU or ready to run; where costs are emulated, that of their clock.
    pub(crate) busy_share: Option<f64>,
    pub(crate) cpu_share: Option<f64>,
    /// Share of the time that paced costs took.
    pub(crate) emulated_share: Option<f64>,
    pub(crate) calls_per_wakeup: Option<f64>,
    /// Share of the time that the serial stage waited for room in the log.
    pub(crate) blocked_share: Option<f64>,
}

impl DispatchFigures {
    /// The change from one snapshot to the next, `window_ns` later.
    pub(super) fn between(
        before: &KeyedCounters,
        after: &KeyedCounters,
        window_ns: u64,
    ) -> DispatchFigures {
        let grown =
            |field: fn(&KeyedCounters) -> u64| field(after).saturating_sub(field(before)) as f64;
        let cycles = grown(|keyed| keyed.cycles);
        let on_serial = grown(|keyed| keyed.calls_on_serial);
        let serial = StageLoad::between(&before.serial, &after.serial, window_ns);
        let dispatcher = StageLoad::between(&before.dispatcher, &after.dispatcher, window_ns);
        let dispatched = dispatcher.calls as f64 + on_serial;
        DispatchFigures {
            serial,
            dispatcher,
            cycles: cycles as u64,
            calls_per_batch: ratio(dispatched, cycles),
            batch_sizes: batch_sizes(before, after),
            batch_max: after.batch_max,
            gap_us_per_cycle: ratio(grown(|keyed| keyed.gap_ns) / 1e3, cycles),
            gap_share: ratio(grown(|keyed| keyed.gap_ns), window_ns as f64),
            held_back: grown(|keyed| keyed.held_back) as u64,
            held_back_share: ratio(grown(|keyed| keyed.held_back_ns), window_ns as f64),
            extended_reads: grown(|keyed| keyed.extended_reads) as u64,
            on_serial_share: ratio(on_serial, dispatched),
            backlog: after.backlog,
            backlog_max: after.backlog_max,
            log_full_waits: grown(|keyed| keyed.log_full_waits) as u64,
            stalls: grown(|keyed| keyed.stalls) as u64,
        }
    }
}

impl DispatchFigures {
    /// The share of the time that the dispatcher's emulated work and its gaps took; none if its
    /// work is not emulated.
    pub(super) fn dispatcher_emulated_share(&self) -> Option<f64> {
        let share = self.dispatcher.emulated_share.filter(|share| *share > 0.0)?;
        Some(share + self.gap_share?)
    }
}

impl StageLoad {
    /// Busy and on a CPU, of a thread whose work is not emulated.
    pub(super) fn real_shares(&self) -> Option<(f64, f64)> {
        let is_real = self.emulated_share.is_none_or(|share| share == 0.0);
        self.busy_share.zip(self.cpu_share).filter(|_| is_real)
    }

    fn between(before: &StageCounters, after: &StageCounters, window_ns: u64) -> StageLoad {
        let grown =
            |field: fn(&StageCounters) -> u64| field(after).saturating_sub(field(before)) as f64;
        let share = |ns: f64| ratio(ns, window_ns as f64);
        let (cpu, paced) = (grown(|stage| stage.cpu_ns), grown(|stage| stage.paced_ns));
        let calls = grown(|stage| stage.calls);
        let real = cpu + grown(|stage| stage.wait_ns);
        StageLoad {
            name: after.name.clone(),
            calls: calls as u64,
            busy_share: share(if paced > 0.0 { paced } else { real }).map(|share| share.min(1.0)),
            cpu_share: share(cpu),
            emulated_share: share(paced),
            calls_per_wakeup: ratio(calls, grown(|stage| stage.wakeups)),
            blocked_share: share(grown(|stage| stage.blocked_ns)),
        }
    }
}

fn batch_sizes(before: &KeyedCounters, after: &KeyedCounters) -> Vec<(u64, u64)> {
    let earlier = |size| before.batch_sizes.iter().find(|(s, _)| *s == size).map_or(0, |(_, n)| *n);
    let sizes = after.batch_sizes.iter();
    let grown = sizes.map(|&(size, count)| (size, count.saturating_sub(earlier(size))));
    grown.filter(|(_, count)| *count > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_the_dispatch_are_those_between_the_snapshots() {
        let read = |json: &str| -> KeyedCounters { serde_json::from_str(json).unwrap() };
        let before = read(
            r#"{"serial": {"name": "serial", "calls": 100, "cpu_ns": 1000},
                "dispatcher": {"name": "dispatcher", "calls": 100}, "cycles": 1,
                "batch_sizes": [[4, 1], [128, 3]], "backlog_max": 9, "of_a_later_version": {}}"#,
        );
        let after = read(
            r#"{"serial": {"name": "serial", "calls": 1100, "cpu_ns": 251000, "wait_ns": 250000},
                "dispatcher": {"name": "dispatcher", "calls": 850, "paced_ns": 900000},
                "cycles": 11, "batch_sizes": [[4, 1], [128, 13]], "batch_max": 100,
                "gap_ns": 50000, "held_back": 2, "held_back_ns": 100000, "extended_reads": 3,
                "calls_on_serial": 250, "backlog": 5, "backlog_max": 40, "stalls": 1}"#,
        );
        let figures = DispatchFigures::between(&before, &after, 1_000_000);
        assert_eq!((figures.cycles, figures.calls_per_batch), (10, Some(100.0)));
        assert_eq!(figures.batch_sizes, [(128, 10)]);
        assert_eq!(figures.gap_us_per_cycle, Some(5.0));
        assert_eq!((figures.held_back, figures.held_back_share), (2, Some(0.1)));
        assert_eq!((figures.extended_reads, figures.on_serial_share), (3, Some(0.25)));
        assert_eq!((figures.backlog, figures.backlog_max, figures.stalls), (5, 40, 1));
        assert_eq!((figures.serial.calls, figures.serial.busy_share), (1000, Some(0.5)));
        assert_eq!(figures.serial.cpu_share, Some(0.25));
        assert_eq!(figures.dispatcher.busy_share, Some(0.9));
        assert_eq!(figures.dispatcher.emulated_share, Some(0.9));
        assert_eq!(figures.serial.real_shares(), Some((0.5, 0.25)));
        assert_eq!(figures.dispatcher.real_shares(), None);
        let with_gaps = figures.dispatcher_emulated_share().unwrap();
        assert!((with_gaps - 0.95).abs() < 1e-9, "{with_gaps}");
    }

    #[test]
    fn a_dispatcher_without_work_has_no_figures_per_batch() {
        let none = KeyedCounters::default();
        let figures = DispatchFigures::between(&none, &none, 0);
        assert_eq!((figures.calls_per_batch, figures.on_serial_share), (None, None));
        assert_eq!(figures.serial.busy_share, None);
    }
}

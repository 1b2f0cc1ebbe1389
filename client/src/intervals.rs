//! The run as a series of intervals. Each worker gives main what it recorded in an interval at the
//! interval's end; the totals of the run are the sums of these parts, so that rows and totals
//! cannot differ.

use crate::histogram_log::HistogramLog;
use crate::latency::{Extract, Latency};
use echo_common::clock;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// Rows kept; when they are used up, neighbours are merged and the later rows are twice as long.
const ROWS_MAX: usize = 3600;

/// What one worker recorded in one interval.
#[derive(Debug)]
pub(crate) struct Part {
    /// Of the interval, from 0.
    pub(crate) index: u64,
    /// The worker has ended.
    pub(crate) is_last: bool,
    /// Of the calls that ended `ok`.
    pub(crate) latency: Extract,
    pub(crate) ok: u64,
    pub(crate) errors: u64,
}

/// One interval of the measured phase. Calls belong to the interval in which they ended, those that
/// ended behind the window, too.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Interval {
    pub(crate) start_s: f64,
    pub(crate) end_s: f64,
    /// Right replies.
    pub(crate) calls: u64,
    pub(crate) errors: u64,
    pub(crate) calls_per_s: Option<f64>,
    /// None in an empty interval, and where rows were merged.
    pub(crate) p50_us: Option<f64>,
    pub(crate) p99_us: Option<f64>,
    pub(crate) max_us: Option<f64>,
}

/// Where the workers' parts come together.
#[derive(Debug)]
pub(crate) struct Intervals {
    start_ns: u64,
    interval_ns: u64,
    /// By worker: the first interval of which it may still give a part.
    missing_from: Vec<u64>,
    /// Parts of intervals that are not complete.
    waiting: BTreeMap<u64, Vec<Part>>,
    /// The first interval that is in no row.
    next: u64,
    row: Row,
    rows: Vec<Interval>,
    /// Intervals in a row.
    stride: u64,
    /// All latencies.
    total: Latency,
    log: Option<HistogramLog>,
}

/// The row that is being made.
#[derive(Debug)]
struct Row {
    from: u64,
    latency: Latency,
    ok: u64,
    errors: u64,
}

impl Intervals {
    /// For `workers` workers; with a `log`, complete intervals go there, too.
    pub(crate) fn new(interval: Duration, workers: usize, log: Option<HistogramLog>) -> Intervals {
        Intervals {
            start_ns: 0,
            interval_ns: clock::ns(interval),
            missing_from: vec![0; workers],
            waiting: BTreeMap::new(),
            next: 0,
            row: Row { from: 0, latency: Latency::new(), ok: 0, errors: 0 },
            rows: Vec::new(),
            stride: 1,
            total: Latency::new(),
            log,
        }
    }

    /// The measured phase begins.
    pub(crate) fn begin(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
        if let Some(log) = &mut self.log {
            log.begin();
        }
    }

    /// Takes a worker's part; it has none of earlier intervals left.
    pub(crate) fn deliver(&mut self, worker: usize, part: Part) {
        self.total.add_extract(&part.latency);
        let (index, is_last) = (part.index, part.is_last);
        if part.ok + part.errors > 0 {
            self.waiting.entry(index).or_default().push(part);
        }
        // The interval of a last part may not be over for the others, nor by the clock.
        self.missing_from[worker] = if is_last { u64::MAX } else { index + 1 };
        if is_last {
            return;
        }
        let complete = self.missing_from.iter().copied().min().unwrap_or(0);
        self.complete_until(complete);
    }

    /// All workers have ended, the last one at `ended_ns`. Gives the rows, the latency of the whole
    /// run and the log.
    pub(crate) fn close(mut self, ended_ns: u64) -> (Vec<Interval>, Latency, Option<HistogramLog>) {
        let elapsed_ns = ended_ns.saturating_sub(self.start_ns);
        let last = self.waiting.last_key_value().map_or(0, |(index, _)| *index);
        let end = (elapsed_ns / self.interval_ns.max(1)).max(last);
        self.complete_until(end);
        self.take_in(end);
        let from_ns = self.row.from.saturating_mul(self.interval_ns);
        if elapsed_ns > from_ns || self.row.ok + self.row.errors > 0 {
            self.end_row(elapsed_ns.max(from_ns));
        }
        (self.rows, self.total, self.log)
    }

    fn complete_until(&mut self, end: u64) {
        while self.next < end {
            self.take_in(self.next);
            self.next += 1;
            if self.next - self.row.from >= self.stride {
                self.end_row(self.next.saturating_mul(self.interval_ns));
            }
        }
    }

    fn take_in(&mut self, index: u64) {
        for part in self.waiting.remove(&index).unwrap_or_default() {
            self.row.latency.add_extract(&part.latency);
            self.row.ok += part.ok;
            self.row.errors += part.errors;
        }
    }

    /// `end_ns` is behind the start of the run.
    fn end_row(&mut self, end_ns: u64) {
        let from_ns = self.row.from.saturating_mul(self.interval_ns);
        let seconds = end_ns.saturating_sub(from_ns) as f64 / 1e9;
        let summary = self.row.latency.summary();
        self.rows.push(Interval {
            start_s: from_ns as f64 / 1e9,
            end_s: end_ns as f64 / 1e9,
            calls: self.row.ok,
            errors: self.row.errors,
            calls_per_s: (seconds > 0.0).then(|| self.row.ok as f64 / seconds),
            p50_us: summary.map(|summary| summary.p50),
            p99_us: summary.map(|summary| summary.p99),
            max_us: summary.map(|summary| summary.max),
        });
        if let Some(log) = &mut self.log {
            log.row(self.row.latency.histogram(), from_ns, end_ns);
        }
        if summary.is_some() {
            self.row.latency.clear();
        }
        (self.row.from, self.row.ok, self.row.errors) = (self.next, 0, 0);
        if self.rows.len() >= ROWS_MAX {
            self.rows = self.rows.chunks(2).map(merge).collect();
            self.stride = self.stride.saturating_mul(2);
        }
    }
}

fn merge(neighbours: &[Interval]) -> Interval {
    let [first, second] = neighbours else {
        return neighbours[0];
    };
    let calls = first.calls + second.calls;
    let seconds = second.end_s - first.start_s;
    let either = |a: Option<f64>, b: Option<f64>| if b.is_none() { a } else { None };
    let of_one = |p: fn(&Interval) -> Option<f64>| match first.calls {
        0 => p(second),
        _ => either(p(first), p(second)),
    };
    Interval {
        start_s: first.start_s,
        end_s: second.end_s,
        calls,
        errors: first.errors + second.errors,
        calls_per_s: (seconds > 0.0).then(|| calls as f64 / seconds),
        p50_us: of_one(|interval| interval.p50_us),
        p99_us: of_one(|interval| interval.p99_us),
        max_us: first.max_us.into_iter().chain(second.max_us).reduce(f64::max),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: u64 = 1_000_000_000;

    fn part(index: u64, latencies_us: &[u64], errors: u64) -> Part {
        let mut latency = Latency::new();
        latencies_us.iter().for_each(|us| latency.record(us * 1000));
        Part {
            index,
            is_last: false,
            latency: latency.take(),
            ok: latencies_us.len() as u64,
            errors,
        }
    }

    #[test]
    fn a_row_has_its_own_percentiles_and_an_empty_one_has_none() {
        let mut intervals = Intervals::new(Duration::from_secs(1), 2, None);
        intervals.begin(5 * SECOND);
        intervals.deliver(0, part(0, &[10, 20, 30], 1));
        assert!(intervals.rows.is_empty(), "the other worker has not said anything yet");
        intervals.deliver(1, part(0, &[500], 0));
        intervals.deliver(0, Part { is_last: true, ..part(2, &[40], 0) });
        intervals.deliver(1, Part { is_last: true, ..part(3, &[], 2) });
        let (rows, mut total, _) = intervals.close(8 * SECOND + SECOND / 2);
        assert_eq!(rows.iter().map(|row| row.calls).collect::<Vec<_>>(), [4, 0, 1, 0]);
        assert_eq!(rows.iter().map(|row| row.errors).collect::<Vec<_>>(), [1, 0, 0, 2]);
        assert_eq!((rows[0].max_us, rows[2].p50_us), (Some(500.0), Some(40.0)));
        assert_eq!((rows[1].p50_us, rows[1].p99_us, rows[1].max_us), (None, None, None));
        assert_eq!((rows[3].start_s, rows[3].end_s), (3.0, 3.5));
        assert_eq!(total.summary().unwrap().count, 5);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]
        #[test]
        fn rows_add_up_to_the_totals_however_many_there_are(
            steps in prop::collection::vec((1u64..30, 0u64..3, 0u64..2), 1..600),
            workers in 1usize..4,
        ) {
            let mut intervals = Intervals::new(Duration::from_millis(100), workers, None);
            intervals.begin(7);
            let (mut index, mut ok, mut errors) = (0, 0, 0);
            for (step, calls, failed) in steps {
                for worker in 0..workers {
                    intervals.deliver(worker, part(index, &vec![9; calls as usize], failed));
                    ok += calls;
                    errors += failed;
                }
                index += step;
            }
            for worker in 0..workers {
                intervals.deliver(worker, Part { is_last: true, ..part(index, &[3], 0) });
                ok += 1;
            }
            let (rows, mut total, _) = intervals.close(7 + index * 100_000_000 + 5);
            prop_assert!(rows.len() <= ROWS_MAX);
            prop_assert_eq!(rows.iter().map(|row| row.calls).sum::<u64>(), ok);
            prop_assert_eq!(rows.iter().map(|row| row.errors).sum::<u64>(), errors);
            prop_assert_eq!(total.summary().unwrap().count, ok);
            prop_assert!(rows.windows(2).all(|w| w[0].end_s == w[1].start_s));
        }
    }
}

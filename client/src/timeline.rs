//! The run over time: what was answered in each interval, and the rates of the last minutes.

use echo_common::clock;
use std::collections::VecDeque;
use std::time::Duration;

/// Entries kept; when they are used up, neighbours are merged and the interval doubles.
const INTERVALS_MAX: usize = 3600;
/// Samples a second apart, enough for fifteen minutes.
const SAMPLES_MAX: usize = 15 * 60 + 2;
const SECOND_NS: u64 = 1_000_000_000;

/// What the workers had counted at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) ok: u64,
    pub(crate) failed: u64,
    pub(crate) in_flight: u64,
}

/// One interval of the measured phase.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub(crate) struct Interval {
    pub(crate) from_s: f64,
    pub(crate) to_s: f64,
    pub(crate) ok: u64,
    pub(crate) failed: u64,
}

/// Samples of a run, taken by main.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    start_ns: u64,
    interval_ns: u64,
    next_interval_ns: u64,
    next_sample_ns: u64,
    last_interval_ns: u64,
    counted: Counts,
    intervals: Vec<Interval>,
    samples: VecDeque<(u64, u64)>,
}

impl Timeline {
    /// A timeline that has not begun.
    pub(crate) fn new(interval: Duration) -> Timeline {
        Timeline {
            start_ns: u64::MAX,
            interval_ns: clock::ns(interval),
            next_interval_ns: u64::MAX,
            next_sample_ns: u64::MAX,
            last_interval_ns: 0,
            counted: Counts::default(),
            intervals: Vec::new(),
            samples: VecDeque::new(),
        }
    }

    /// The measured phase begins.
    pub(crate) fn begin(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
        self.last_interval_ns = start_ns;
        self.next_interval_ns = start_ns.saturating_add(self.interval_ns);
        self.next_sample_ns = start_ns.saturating_add(SECOND_NS);
        self.samples.push_back((start_ns, 0));
    }

    /// When the next sample is due.
    pub(crate) fn next_ns(&self) -> u64 {
        self.next_interval_ns.min(self.next_sample_ns)
    }

    /// Takes note of the workers' counts, if a sample is due.
    pub(crate) fn sample(&mut self, now_ns: u64, counts: Counts) {
        if now_ns >= self.next_sample_ns {
            self.keep_sample(now_ns, counts.ok);
            self.next_sample_ns = next_multiple(self.start_ns, SECOND_NS, now_ns);
        }
        if now_ns >= self.next_interval_ns {
            self.end_interval(now_ns, counts);
            self.next_interval_ns = next_multiple(self.start_ns, self.interval_ns, now_ns);
        }
    }

    /// The run is over; the last interval holds what is still missing, so that the sums are exact.
    pub(crate) fn close(&mut self, now_ns: u64, totals: Counts) {
        if self.start_ns == u64::MAX {
            return;
        }
        self.keep_sample(now_ns, totals.ok);
        self.end_interval(now_ns, totals);
        self.next_interval_ns = u64::MAX;
        self.next_sample_ns = u64::MAX;
    }

    /// The intervals so far.
    pub(crate) fn intervals(&self) -> &[Interval] {
        &self.intervals
    }

    /// Right replies per second over the last `minutes`; none if the run was shorter.
    pub(crate) fn rate_of_last(&self, minutes: u64) -> Option<f64> {
        let &(end, ok) = self.samples.back()?;
        let from = end.checked_sub(minutes * 60 * SECOND_NS)?;
        let &(begin, ok_before) = self.samples.iter().rev().find(|(at, _)| *at <= from)?;
        let seconds = (end - begin) as f64 / 1e9;
        Some((ok - ok_before) as f64 / seconds)
    }

    fn keep_sample(&mut self, now_ns: u64, ok: u64) {
        if self.samples.len() == SAMPLES_MAX {
            self.samples.pop_front();
        }
        self.samples.push_back((now_ns, ok));
    }

    fn end_interval(&mut self, now_ns: u64, counts: Counts) {
        let seconds = |at: u64| at.saturating_sub(self.start_ns) as f64 / 1e9;
        let interval = Interval {
            from_s: seconds(self.last_interval_ns),
            to_s: seconds(now_ns),
            ok: counts.ok - self.counted.ok,
            failed: counts.failed - self.counted.failed,
        };
        self.intervals.push(interval);
        self.last_interval_ns = now_ns;
        self.counted = counts;
        if self.intervals.len() >= INTERVALS_MAX {
            self.intervals = self.intervals.chunks(2).map(merge).collect();
            self.interval_ns = self.interval_ns.saturating_mul(2);
        }
    }
}

fn merge(neighbours: &[Interval]) -> Interval {
    let last = neighbours[neighbours.len() - 1];
    Interval {
        from_s: neighbours[0].from_s,
        to_s: last.to_s,
        ok: neighbours.iter().map(|i| i.ok).sum(),
        failed: neighbours.iter().map(|i| i.failed).sum(),
    }
}

/// The first multiple of `period` after `start` that lies behind `now`.
fn next_multiple(start_ns: u64, period_ns: u64, now_ns: u64) -> u64 {
    let passed = now_ns.saturating_sub(start_ns) / period_ns.max(1);
    start_ns.saturating_add((passed + 1).saturating_mul(period_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counts(ok: u64) -> Counts {
        Counts { ok, failed: ok / 10, in_flight: 0 }
    }

    #[test]
    fn a_rate_over_minutes_needs_a_run_that_long() {
        let mut timeline = Timeline::new(Duration::from_secs(1));
        timeline.begin(0);
        for second in 1..=90 {
            // 100 calls/s in the first half minute, 1000 calls/s later.
            let ok = if second <= 30 { second * 100 } else { 3000 + (second - 30) * 1000 };
            timeline.sample(second * SECOND_NS, counts(ok));
        }
        assert_eq!(timeline.rate_of_last(1), Some(1000.0));
        assert_eq!(timeline.rate_of_last(5), None);
    }

    #[test]
    fn a_run_that_never_began_has_no_intervals() {
        let mut timeline = Timeline::new(Duration::from_secs(1));
        timeline.close(5, Counts::default());
        assert!(timeline.intervals().is_empty());
        assert_eq!(timeline.rate_of_last(1), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(8))]
        #[test]
        fn intervals_add_up_to_the_totals_however_many_there_are(
            steps in prop::collection::vec((1u64..2_000_000_000, 0u64..1000), 1..9000),
        ) {
            let mut timeline = Timeline::new(Duration::from_millis(100));
            timeline.begin(7);
            let (mut now, mut ok) = (7, 0);
            for (step, calls) in steps {
                now += step;
                ok += calls;
                timeline.sample(now, counts(ok));
            }
            timeline.close(now + 1, counts(ok + 5));
            let intervals = timeline.intervals();
            prop_assert!(intervals.len() <= INTERVALS_MAX);
            prop_assert_eq!(intervals.iter().map(|i| i.ok).sum::<u64>(), ok + 5);
            prop_assert!(intervals.windows(2).all(|w| w[0].to_s == w[1].from_s));
        }
    }
}

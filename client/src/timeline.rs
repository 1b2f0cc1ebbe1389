//! The run over time, by samples of the workers' counters: the rates of the last minutes, and those
//! of the first and the last third.

use std::collections::VecDeque;

/// Samples a second apart, enough for fifteen minutes.
const SAMPLES_MAX: usize = 15 * 60 + 2;
/// The first period of the fine samples, and how many there are at most.
const FINE_NS: u64 = 20_000_000;
const FINE_MAX: usize = 512;
const SECOND_NS: u64 = 1_000_000_000;

/// What the workers had counted at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) ok: u64,
    /// Of the warm-up.
    pub(crate) warmup_ok: u64,
    pub(crate) failed: u64,
    pub(crate) in_flight: u64,
}

impl Counts {
    /// All right replies.
    fn answered(&self) -> u64 {
        self.ok + self.warmup_ok
    }
}

/// Samples of a run, taken by main.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    start_ns: u64,
    next_sample_ns: u64,
    samples: VecDeque<(u64, u64)>,
    fine: FineSamples,
}

/// Samples of the whole run, at most [`FINE_MAX`]: when there are more, every second one goes and
/// the others are taken half as often.
#[derive(Clone, Debug)]
struct FineSamples {
    period_ns: u64,
    next_ns: u64,
    /// Time and right replies until then, rising; replies to calls of the warm-up, which may be
    /// under way when it ends, are the server's work, too.
    samples: Vec<(u64, u64)>,
}

/// Rates at both ends of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Thirds {
    pub(crate) first_per_s: f64,
    pub(crate) last_per_s: f64,
    /// Right replies in each of the two.
    pub(crate) calls: (f64, f64),
}

impl Timeline {
    /// A timeline that has not begun.
    pub(crate) fn new() -> Timeline {
        Timeline {
            start_ns: u64::MAX,
            next_sample_ns: u64::MAX,
            samples: VecDeque::new(),
            fine: FineSamples { period_ns: FINE_NS, next_ns: u64::MAX, samples: Vec::new() },
        }
    }

    /// The measured phase begins, with these counts of the warm-up.
    pub(crate) fn begin(&mut self, start_ns: u64, counts: Counts) {
        self.start_ns = start_ns;
        self.next_sample_ns = start_ns.saturating_add(SECOND_NS);
        self.samples.push_back((start_ns, 0));
        self.fine.begin(start_ns, counts.answered());
    }

    /// When the next sample is due.
    pub(crate) fn next_ns(&self) -> u64 {
        self.next_sample_ns.min(self.fine.next_ns)
    }

    /// Takes note of the workers' counts, if a sample is due.
    pub(crate) fn sample(&mut self, now_ns: u64, counts: Counts) {
        self.fine.sample(now_ns, counts.answered());
        if now_ns >= self.next_sample_ns {
            self.keep_sample(now_ns, counts.ok);
            self.next_sample_ns = next_multiple(self.start_ns, SECOND_NS, now_ns);
        }
    }

    /// The measured window is over; answers may still come.
    pub(crate) fn end_window(&mut self, now_ns: u64, counts: Counts) {
        if self.start_ns != u64::MAX {
            self.fine.samples.push((now_ns, counts.answered()));
        }
    }

    /// The run is over.
    pub(crate) fn close(&mut self, now_ns: u64, totals: Counts) {
        if self.start_ns == u64::MAX {
            return;
        }
        self.keep_sample(now_ns, totals.ok);
        self.fine.close(now_ns, totals.answered());
        self.next_sample_ns = u64::MAX;
    }

    /// Right replies per second over the last `minutes`; none if the run was shorter.
    pub(crate) fn rate_of_last(&self, minutes: u64) -> Option<f64> {
        let &(end, ok) = self.samples.back()?;
        let from = end.checked_sub(minutes * 60 * SECOND_NS)?;
        let &(begin, ok_before) = self.samples.iter().rev().find(|(at, _)| *at <= from)?;
        let seconds = (end - begin) as f64 / 1e9;
        Some((ok - ok_before) as f64 / seconds)
    }

    /// The rates of the first and the last third of the time from `from_ns` to `to_ns`; none if
    /// that is too short to tell.
    pub(crate) fn thirds(&self, from_ns: u64, to_ns: u64) -> Option<Thirds> {
        let third_ns = to_ns.checked_sub(from_ns)? / 3;
        if third_ns < 5 * FINE_NS {
            return None;
        }
        let between = |from, to| Some(self.fine.ok_until(to)? - self.fine.ok_until(from)?);
        let first = between(from_ns, from_ns + third_ns)?;
        let last = between(to_ns - third_ns, to_ns)?;
        let seconds = third_ns as f64 / 1e9;
        Some(Thirds {
            first_per_s: first / seconds,
            last_per_s: last / seconds,
            calls: (first, last),
        })
    }

    fn keep_sample(&mut self, now_ns: u64, ok: u64) {
        if self.samples.len() == SAMPLES_MAX {
            self.samples.pop_front();
        }
        self.samples.push_back((now_ns, ok));
    }
}

impl FineSamples {
    fn begin(&mut self, start_ns: u64, answered: u64) {
        self.samples.push((start_ns, answered));
        self.next_ns = start_ns.saturating_add(self.period_ns);
    }

    fn sample(&mut self, now_ns: u64, ok: u64) {
        if now_ns < self.next_ns {
            return;
        }
        self.samples.push((now_ns, ok));
        if self.samples.len() >= FINE_MAX {
            let mut index = 0;
            self.samples.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.period_ns = self.period_ns.saturating_mul(2);
        }
        self.next_ns = now_ns.saturating_add(self.period_ns);
    }

    fn close(&mut self, now_ns: u64, ok: u64) {
        self.samples.push((now_ns, ok));
        self.next_ns = u64::MAX;
    }

    /// Right replies until `at_ns`, evenly divided between two samples.
    fn ok_until(&self, at_ns: u64) -> Option<f64> {
        let behind = self.samples.partition_point(|(time, _)| *time <= at_ns);
        let &(t0, ok0) = self.samples.get(behind.checked_sub(1)?)?;
        let Some(&(t1, ok1)) = self.samples.get(behind) else {
            return Some(ok0 as f64);
        };
        let share = (at_ns - t0) as f64 / (t1 - t0).max(1) as f64;
        Some(ok0 as f64 + share * ok1.saturating_sub(ok0) as f64)
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

    fn counts(ok: u64) -> Counts {
        Counts { ok, warmup_ok: 7, failed: ok / 10, in_flight: 0 }
    }

    #[test]
    fn a_rate_over_minutes_needs_a_run_that_long() {
        let mut timeline = Timeline::new();
        timeline.begin(0, counts(0));
        for second in 1..=90 {
            // 100 calls/s in the first half minute, 1000 calls/s later.
            let ok = if second <= 30 { second * 100 } else { 3000 + (second - 30) * 1000 };
            timeline.sample(second * SECOND_NS, counts(ok));
        }
        assert_eq!(timeline.rate_of_last(1), Some(1000.0));
        assert_eq!(timeline.rate_of_last(5), None);
    }

    #[test]
    fn the_thirds_of_a_run_are_compared_however_long_it_is() {
        for seconds in [1, 7, 100, 5_000] {
            let mut timeline = Timeline::new();
            timeline.begin(0, counts(0));
            let end_ns = seconds * SECOND_NS;
            // 3000 calls/s, and 10 % more in the second half.
            let ok_at = |now: u64| {
                (now as f64 * 3e-6 + now.saturating_sub(end_ns / 2) as f64 * 3e-7) as u64
            };
            let mut now = 0;
            while now < end_ns {
                now = timeline.next_ns().min(end_ns);
                timeline.sample(now, counts(ok_at(now)));
            }
            timeline.end_window(end_ns, counts(ok_at(end_ns)));
            timeline.close(end_ns + SECOND_NS, counts(ok_at(end_ns)));
            let thirds = timeline.thirds(0, end_ns).unwrap();
            assert!((thirds.first_per_s / 3000.0 - 1.0).abs() < 0.002, "{thirds:?}");
            assert!((thirds.last_per_s / 3300.0 - 1.0).abs() < 0.002, "{thirds:?}");
            assert!(timeline.fine.samples.len() <= FINE_MAX + 2);
        }
        assert_eq!(Timeline::new().thirds(0, 9 * SECOND_NS), None);
    }

    #[test]
    fn replies_to_the_warm_up_in_the_window_are_the_servers_work_in_it() {
        let mut timeline = Timeline::new();
        let at = |warmup_ok, ok| Counts { ok, warmup_ok, ..Counts::default() };
        timeline.begin(0, at(500, 0));
        // 1000 calls/s, of which the first second's belong to the warm-up.
        for ms in (20..=3000).step_by(20) {
            let counts = at(500 + ms.min(1000), ms.saturating_sub(1000));
            timeline.sample(ms * 1_000_000, counts);
        }
        timeline.end_window(3 * SECOND_NS, at(1500, 2000));
        let thirds = timeline.thirds(0, 3 * SECOND_NS).unwrap();
        assert_eq!((thirds.first_per_s, thirds.last_per_s), (1000.0, 1000.0));
    }

    #[test]
    fn a_run_that_never_began_has_no_rates() {
        let mut timeline = Timeline::new();
        timeline.close(5, Counts::default());
        assert_eq!(timeline.rate_of_last(1), None);
    }
}

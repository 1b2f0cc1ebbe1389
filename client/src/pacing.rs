//! When calls should be sent, in an open loop. The times follow from the rate alone, and never
//! from what was sent or answered before: a schedule that waits for the server measures nothing.
//!
//! Uniform: call k of all workers together belongs at `origin + k / rate`, and worker w of W takes
//! the calls w, w + W, w + 2W and so on: no rounding is carried from one call to the next, so that
//! any rate over any number of workers comes out as asked. Poisson: each worker has its own stream
//! at its share of the rate, which together are one stream at the whole rate.

use crate::options::Arrivals;
use crate::stages::{next_random, random_from};

/// The schedule of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    pub(crate) calls_per_s: f64,
    pub(crate) arrivals: Arrivals,
    /// How many workers share it.
    pub(crate) workers: u64,
    /// Calls of the measured phase, if their number ends it.
    pub(crate) calls: Option<u64>,
    /// What Poisson arrivals follow from.
    pub(crate) seed: u64,
}

impl Pace {
    /// How long the measured calls take by the schedule, if their number ends the run.
    pub(crate) fn span_ns(&self) -> Option<u64> {
        self.calls.map(|calls| (calls as f64 * 1e9 / self.calls_per_s) as u64)
    }
}

/// One worker's part of a schedule.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    origin_ns: u64,
    next_ns: u64,
    law: Law,
}

#[derive(Clone, Debug)]
enum Law {
    Uniform { index: u64, step: u64, period_ns: f64 },
    Poisson { at_ns: f64, mean_ns: f64, random: u64 },
}

impl Schedule {
    /// The part of worker `worker`, with nothing due before `origin_ns`.
    pub(crate) fn new(pace: &Pace, worker: u64, origin_ns: u64) -> Schedule {
        let period_ns = 1e9 / pace.calls_per_s;
        let law = match pace.arrivals {
            Arrivals::Uniform => Law::Uniform { index: worker, step: pace.workers, period_ns },
            Arrivals::Poisson => Law::Poisson {
                at_ns: 0.0,
                mean_ns: period_ns * pace.workers as f64,
                random: random_from(pace.seed, worker.wrapping_mul(SEED_STEP)),
            },
        };
        let mut schedule = Schedule { origin_ns, next_ns: origin_ns, law };
        schedule.draw();
        schedule
    }

    /// When the next call is due.
    #[inline]
    pub(crate) fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// Goes on to the call after it.
    #[inline]
    pub(crate) fn step(&mut self) {
        if let Law::Uniform { index, step, .. } = &mut self.law {
            *index += *step;
        }
        self.draw();
    }

    /// How many calls, the next one included, are due before `until_ns`. Under Poisson these are
    /// the next one and as many as are to be expected behind it.
    pub(crate) fn due_before(&self, until_ns: u64) -> u64 {
        if self.next_ns >= until_ns {
            return 0;
        }
        match &self.law {
            Law::Uniform { index, step, period_ns } => {
                let time = |k: u64| self.origin_ns.saturating_add(after(k, *period_ns));
                let mut end = ((until_ns - self.origin_ns) as f64 / period_ns) as u64;
                while end > *index && time(end) >= until_ns {
                    end -= 1;
                }
                while time(end + 1) < until_ns {
                    end += 1;
                }
                (end - index) / step + 1
            }
            Law::Poisson { mean_ns, .. } => {
                1 + ((until_ns - self.next_ns) as f64 / mean_ns).round() as u64
            }
        }
    }

    fn draw(&mut self) {
        let offset_ns = match &mut self.law {
            Law::Uniform { index, period_ns, .. } => after(*index, *period_ns),
            Law::Poisson { at_ns, mean_ns, random } => {
                // 53 random bits, above 0 and at most 1.
                let uniform = ((next_random(random) >> 11) + 1) as f64 / (1u64 << 53) as f64;
                *at_ns -= uniform.ln() * *mean_ns;
                *at_ns as u64
            }
        };
        self.next_ns = self.origin_ns.saturating_add(offset_ns);
    }
}

/// Where call `k` stands, in nanoseconds behind the origin.
fn after(k: u64, period_ns: f64) -> u64 {
    (k as f64 * period_ns).round() as u64
}

/// Keeps the workers' random streams apart.
const SEED_STEP: u64 = 0xd1b5_4a32_d192_ed03;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const SECOND: u64 = 1_000_000_000;

    fn pace(calls_per_s: f64, arrivals: Arrivals, workers: u64) -> Pace {
        Pace { calls_per_s, arrivals, workers, calls: None, seed: 0 }
    }

    fn times(pace: &Pace, until_ns: u64) -> Vec<u64> {
        let mut all = Vec::new();
        for worker in 0..pace.workers {
            let mut schedule = Schedule::new(pace, worker, 0);
            while schedule.next_ns() < until_ns {
                all.push(schedule.next_ns());
                schedule.step();
            }
        }
        all.sort_unstable();
        all
    }

    fn check(calls_per_s: f64, workers: u64, seconds: u64) {
        let times = times(&pace(calls_per_s, Arrivals::Uniform, workers), seconds * SECOND);
        let expected = calls_per_s * seconds as f64;
        assert!((times.len() as f64 - expected).abs() <= 1.0, "{calls_per_s} / {workers}");
        let gap = 1e9 / calls_per_s;
        let even = times.windows(2).all(|w| ((w[1] - w[0]) as f64 - gap).abs() <= 2.0);
        assert!(even, "{calls_per_s} over {workers}");
    }

    #[test]
    fn any_rate_over_any_number_of_workers_comes_out_as_asked() {
        for (rate, workers, seconds) in [
            (10.0, 12, 60),
            (1.0, 100, 1000),
            (101.0, 100, 100),
            (100.0, 1000, 100),
            (70.0, 7, 60),
            (78.0, 7, 60),
            (0.3, 4, 1000),
            (333_333.0, 3, 1),
        ] {
            check(rate, workers, seconds);
        }
    }

    #[test]
    fn nothing_is_owed_at_the_start_and_there_is_no_burst() {
        let times = times(&pace(1000.0, Arrivals::Uniform, 4), SECOND);
        assert_eq!(times.iter().filter(|&&at| at < SECOND / 10).count(), 100);
    }

    #[test]
    fn poisson_has_the_rate_and_the_spread_that_its_name_promises() {
        for workers in [1, 7] {
            let times = times(&pace(1000.0, Arrivals::Poisson, workers), 100 * SECOND);
            let count = times.len() as f64;
            assert!((count - 1e5).abs() < 5.0 * 1e5f64.sqrt(), "{count}");
            let gaps: Vec<f64> = times.windows(2).map(|w| (w[1] - w[0]) as f64).collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>();
            let variation = (variance / gaps.len() as f64).sqrt() / mean;
            assert!((0.97..1.03).contains(&variation), "{variation}");
        }
    }

    /// Every run of the same options had the same 4,900 calls of 5,000, and no other was to be had.
    #[test]
    fn a_schedule_is_the_same_in_every_run_of_a_seed_and_another_with_another_one() {
        let of = |seed, workers| {
            times(&Pace { seed, ..pace(500.0, Arrivals::Poisson, workers) }, 10 * SECOND)
        };
        for workers in [1, 3] {
            let all: BTreeSet<Vec<u64>> = (0..40).map(|seed| of(seed, workers)).collect();
            assert_eq!(all.len(), 40);
            (0..40).for_each(|seed| assert!(all.contains(&of(seed, workers))));
            let counts = all.iter().map(|times| times.len() as f64);
            let mean = counts.sum::<f64>() / 40.0;
            assert!((mean - 5000.0).abs() < 5.0 * (5000.0f64 / 40.0).sqrt(), "{mean}");
            // Nor does one worker's part come again in another run.
            let firsts: BTreeSet<u64> = all.iter().map(|times| times[0]).collect();
            assert_eq!(firsts.len(), 40);
        }
    }

    #[test]
    fn the_seed_by_default_is_the_schedule_of_runs_that_had_none() {
        let schedule = Schedule::new(&pace(1000.0, Arrivals::Poisson, 2), 1, 0);
        let mut random = SEED_STEP;
        let uniform = ((next_random(&mut random) >> 11) + 1) as f64 / (1u64 << 53) as f64;
        assert_eq!(schedule.next_ns(), (-uniform.ln() * 2e6) as u64);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn what_is_due_is_counted_as_it_would_be_stepped_through(
            rate in 0.5f64..50_000.0, workers in 1u64..20, worker in 0u64..20,
            steps in 0u64..50, until in 0u64..SECOND,
        ) {
            let pace = pace(rate, Arrivals::Uniform, workers);
            let mut schedule = Schedule::new(&pace, worker % workers, 1_000);
            (0..steps).for_each(|_| schedule.step());
            let counted = schedule.due_before(until);
            let mut stepped = 0;
            while schedule.next_ns() < until {
                schedule.step();
                stepped += 1;
            }
            prop_assert_eq!(counted, stepped);
        }
    }
}

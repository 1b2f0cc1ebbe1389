//! How long calls are in the server, as a histogram that one thread writes and anybody reads.

use crate::meters::Counter;

/// Upper bounds of the buckets in nanoseconds: four to an octave, so that each is 1.19 x the one
/// before it, from 1 us to 67 s. What lies above is in a bucket of its own at the end.
const BOUNDS_NS: [u64; BUCKETS] = bounds();
const BUCKETS: usize = 105;

/// One octave above 1 us, in nanoseconds: 1000 x 2^(i / 4).
const OCTAVE_NS: [u64; 4] = [1000, 1189, 1414, 1682];

const fn bounds() -> [u64; BUCKETS] {
    let mut bounds = [0; BUCKETS];
    let mut i = 0;
    while i < BUCKETS {
        bounds[i] = OCTAVE_NS[i % 4] << (i / 4);
        i += 1;
    }
    bounds
}

/// Counts of calls by the time from when their bytes were readable until their replies were
/// written, or until the socket was full.
#[derive(Debug)]
pub struct CallTimes {
    buckets: [Counter; BUCKETS],
    above: Counter,
    sum_ns: Counter,
}

impl Default for CallTimes {
    fn default() -> CallTimes {
        CallTimes {
            buckets: std::array::from_fn(|_| Counter::default()),
            above: Counter::default(),
            sum_ns: Counter::default(),
        }
    }
}

impl CallTimes {
    /// Adds `calls` calls that took `ns` each; only for the one writer.
    pub(crate) fn add(&self, ns: u64, calls: u32) {
        let calls = u64::from(calls);
        let bucket = BOUNDS_NS.partition_point(|bound| *bound < ns);
        self.buckets.get(bucket).unwrap_or(&self.above).add(calls);
        self.sum_ns.add(ns.saturating_mul(calls));
    }
}

/// The times of all threads together.
#[derive(Clone, Debug, PartialEq)]
pub struct CallTimesSum {
    /// Upper bound in seconds, and how many calls lie between it and the one before. The last
    /// bound is [`f64::INFINITY`].
    pub buckets: Vec<(f64, u64)>,
    /// All calls.
    pub calls: u64,
    /// All times.
    pub sum_s: f64,
}

impl CallTimesSum {
    /// Adds up what threads have counted.
    pub(crate) fn of<'a>(threads: impl Iterator<Item = &'a CallTimes>) -> CallTimesSum {
        let bounds = BOUNDS_NS.iter().map(|ns| (*ns as f64 / 1e9, 0));
        let mut sum = CallTimesSum {
            buckets: bounds.chain([(f64::INFINITY, 0)]).collect(),
            calls: 0,
            sum_s: 0.0,
        };
        for times in threads {
            let counts = times.buckets.iter().chain([&times.above]).map(Counter::get);
            for ((_, calls), count) in sum.buckets.iter_mut().zip(counts) {
                *calls += count;
                sum.calls += count;
            }
            sum.sum_s += times.sum_ns.get() as f64 / 1e9;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_grow_by_a_fifth_at_most() {
        assert_eq!(BOUNDS_NS[0], 1000);
        assert_eq!(BOUNDS_NS[BUCKETS - 1], 1000 << 26);
        for pair in BOUNDS_NS.windows(2) {
            let growth = pair[1] as f64 / pair[0] as f64;
            assert!((1.18..=1.20).contains(&growth), "{pair:?}");
        }
    }

    #[test]
    fn every_time_is_in_the_bucket_whose_bound_is_the_first_not_below_it() {
        for ns in [0, 1, 999, 1000, 1001, 50_000, 1_000_000_000, 1000 << 26, u64::MAX / 8] {
            let times = CallTimes::default();
            times.add(ns, 3);
            let sum = CallTimesSum::of([&times].into_iter());
            let (bound, calls) = *sum.buckets.iter().find(|(_, calls)| *calls > 0).unwrap();
            assert_eq!((calls, sum.calls), (3, 3), "{ns}");
            let seconds = ns as f64 / 1e9;
            assert!(seconds <= bound, "{ns} is in the bucket up to {bound}");
            let before = sum.buckets.iter().map(|(bound, _)| *bound);
            assert!(before.take_while(|b| *b < bound).all(|b| b < seconds), "{ns}: {bound}");
            assert!((sum.sum_s - 3.0 * seconds).abs() <= 1e-9 * seconds, "{ns}");
        }
    }
}

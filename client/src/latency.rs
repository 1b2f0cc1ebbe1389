//! One histogram per thread, with what a histogram rounds kept exactly beside it: count, minimum,
//! maximum and sum.

use hdrhistogram::Histogram;

/// What a recorder held, as short as it can be.
#[derive(Clone, Debug)]
pub(crate) struct Extract {
    /// A value of each bucket that is not empty, and its count.
    buckets: Vec<(u64, u64)>,
    count: u64,
    min_ns: u64,
    max_ns: u64,
    sum_ns: u128,
    sum_of_squares: u128,
}

/// Durations of one kind, in nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Latency {
    histogram: Histogram<u64>,
    count: u64,
    min_ns: u64,
    max_ns: u64,
    sum_ns: u128,
    sum_of_squares: u128,
    /// Calls that were sent together and read together took equally long: they are counted here
    /// and recorded in one step.
    run_ns: u64,
    run_length: u64,
}

impl Latency {
    /// An empty recorder. Its memory is fixed: nothing is allocated while recording.
    pub(crate) fn new() -> Latency {
        let histogram = Histogram::new_with_bounds(1, HIGHEST_NS, SIGNIFICANT_DIGITS)
            .expect("the bounds are constants that hdrhistogram accepts");
        Latency {
            histogram,
            count: 0,
            min_ns: u64::MAX,
            max_ns: 0,
            sum_ns: 0,
            sum_of_squares: 0,
            run_ns: 0,
            run_length: 0,
        }
    }

    /// Records one duration. Above one hour the histogram saturates; minimum, maximum and sum stay
    /// exact.
    #[inline]
    pub(crate) fn record(&mut self, duration_ns: u64) {
        self.record_all(duration_ns, 1);
    }

    /// Records the same duration `times` times.
    pub(crate) fn record_all(&mut self, duration_ns: u64, times: u64) {
        if duration_ns != self.run_ns {
            self.settle();
            self.run_ns = duration_ns;
        }
        self.run_length += times;
    }

    /// Records what is held back for the next equal duration; the getters need it.
    pub(crate) fn settle(&mut self) {
        let (value, times) = (self.run_ns, self.run_length);
        if times == 0 {
            return;
        }
        self.histogram.saturating_record_n(value.max(1), times);
        self.count += times;
        self.min_ns = self.min_ns.min(value);
        self.max_ns = self.max_ns.max(value);
        let total = u128::from(value) * u128::from(times);
        self.sum_ns += total;
        self.sum_of_squares = self.sum_of_squares.saturating_add(total * u128::from(value));
        self.run_length = 0;
    }

    /// Takes out what was recorded, in a short form, and begins anew.
    pub(crate) fn take(&mut self) -> Extract {
        self.settle();
        let steps = self.histogram.iter_recorded();
        let buckets = steps.map(|step| (step.value_iterated_to(), step.count_at_value())).collect();
        let extract = Extract {
            buckets,
            count: self.count,
            min_ns: self.min_ns,
            max_ns: self.max_ns,
            sum_ns: self.sum_ns,
            sum_of_squares: self.sum_of_squares,
        };
        if self.count > 0 {
            self.clear();
        }
        extract
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.histogram.reset();
        (self.count, self.run_length) = (0, 0);
        (self.min_ns, self.max_ns) = (u64::MAX, 0);
        (self.sum_ns, self.sum_of_squares) = (0, 0);
    }

    /// Adds what was taken out elsewhere.
    pub(crate) fn add_extract(&mut self, extract: &Extract) {
        self.settle();
        for &(value, count) in &extract.buckets {
            self.histogram.saturating_record_n(value, count);
        }
        self.count += extract.count;
        self.min_ns = self.min_ns.min(extract.min_ns);
        self.max_ns = self.max_ns.max(extract.max_ns);
        self.sum_ns += extract.sum_ns;
        self.sum_of_squares = self.sum_of_squares.saturating_add(extract.sum_of_squares);
    }

    /// The histogram of what was recorded, in nanoseconds.
    pub(crate) fn histogram(&mut self) -> &Histogram<u64> {
        self.settle();
        &self.histogram
    }

    /// Adds what another thread recorded and settled.
    pub(crate) fn add(&mut self, other: &Latency) {
        assert_eq!(other.run_length, 0, "a recorder is settled before it is merged");
        self.settle();
        self.histogram.add(&other.histogram).expect("all recorders have the same bounds");
        self.count += other.count;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.sum_ns += other.sum_ns;
        self.sum_of_squares = self.sum_of_squares.saturating_add(other.sum_of_squares);
    }

    /// The figures of a report, or none if nothing was recorded.
    pub(crate) fn summary(&mut self) -> Option<Summary> {
        self.settle();
        if self.count == 0 {
            return None;
        }
        let count = self.count as f64;
        let mean = self.sum_ns as f64 / count;
        let variance = (self.sum_of_squares as f64 / count - mean * mean).max(0.0);
        let quantile = |q| us(self.quantile_ns(q));
        Some(Summary {
            count: self.count,
            min: us(self.min_ns),
            mean: mean / 1e3,
            stddev: variance.sqrt() / 1e3,
            p50: quantile(0.5),
            p75: quantile(0.75),
            p95: quantile(0.95),
            p98: quantile(0.98),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: us(self.max_ns),
        })
    }

    /// The recorded values, rising: the upper end of each bucket in microseconds and its count.
    pub(crate) fn buckets(&mut self) -> Vec<(f64, u64)> {
        self.settle();
        let value_us = |value| us(self.within_extremes(self.histogram.highest_equivalent(value)));
        self.histogram
            .iter_recorded()
            .map(|step| (value_us(step.value_iterated_to()), step.count_at_value()))
            .collect()
    }

    /// Values in microseconds at rising quantiles, with the count since the one before: `ticks` of
    /// them until the distance to the whole has halved.
    pub(crate) fn quantiles(&self, ticks: u32) -> impl Iterator<Item = (f64, f64, u64)> {
        self.histogram.iter_quantiles(ticks).map(|step| {
            let value = self.histogram.highest_equivalent(step.value_iterated_to());
            let value_us = us(self.within_extremes(value));
            (value_us, step.quantile_iterated_to(), step.count_since_last_iteration())
        })
    }

    /// The histogram's buckets, each twice as wide as the one before, and their parts.
    pub(crate) fn shape(&self) -> (u32, u64) {
        let parts = (2 * 10u64.pow(u32::from(SIGNIFICANT_DIGITS))).next_power_of_two();
        (HIGHEST_NS.ilog2() - parts.ilog2() + 2, parts)
    }

    fn quantile_ns(&self, quantile: f64) -> u64 {
        self.within_extremes(self.histogram.value_at_quantile(quantile))
    }

    /// A bucket's end can lie outside of what was recorded; no percentile may.
    fn within_extremes(&self, value_ns: u64) -> u64 {
        value_ns.clamp(self.min_ns, self.max_ns)
    }
}

/// Figures in microseconds, as in the report.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub(crate) struct Summary {
    pub(crate) count: u64,
    pub(crate) min: f64,
    pub(crate) mean: f64,
    pub(crate) stddev: f64,
    pub(crate) p50: f64,
    pub(crate) p75: f64,
    pub(crate) p95: f64,
    pub(crate) p98: f64,
    pub(crate) p99: f64,
    pub(crate) p999: f64,
    pub(crate) max: f64,
}

fn us(ns: u64) -> f64 {
    ns as f64 / 1e3
}

/// One hour.
const HIGHEST_NS: u64 = 3_600_000_000_000;
const SIGNIFICANT_DIGITS: u8 = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Latency {
        let mut latency = Latency::new();
        values.iter().for_each(|&v| latency.record(v));
        latency
    }

    fn rising(s: &Summary) -> [f64; 8] {
        [s.min, s.p50, s.p75, s.p95, s.p98, s.p99, s.p999, s.max]
    }

    #[test]
    fn nothing_recorded_gives_no_figures() {
        assert_eq!(Latency::new().summary(), None);
        assert!(Latency::new().buckets().is_empty());
    }

    #[test]
    fn equal_durations_have_one_value_and_no_deviation() {
        for times in [1, 2, 3, 10, 100_000] {
            let summary = of(&vec![500_123_457; times]).summary().unwrap();
            assert_eq!(rising(&summary), [500_123.457; 8]);
            assert!(summary.stddev < 0.01, "{}", summary.stddev);
            assert_eq!(summary.count, times as u64);
        }
    }

    #[test]
    fn two_groups_are_told_apart() {
        let mut values = vec![1_000_000; 900];
        values.extend([20_000_000; 100]);
        let summary = of(&values).summary().unwrap();
        assert_eq!((summary.p50 / 1e3).round(), 1.0);
        assert_eq!((summary.p95 / 1e3).round(), 20.0);
        assert_eq!((summary.p999 / 1e3).round(), 20.0);
        assert!((summary.mean - 2900.0).abs() < 1e-6);
        assert!((summary.stddev - 5700.0).abs() < 1e-3);
    }

    #[test]
    fn durations_of_zero_and_beyond_the_range_are_counted() {
        let summary = of(&[0, u64::MAX / 4]).summary().unwrap();
        assert_eq!(summary.count, 2);
        assert_eq!(summary.min, 0.0);
        assert_eq!(summary.max, us(u64::MAX / 4));
    }

    proptest! {
        #[test]
        fn percentiles_rise_between_the_true_extremes_however_the_threads_are_merged(
            values in prop::collection::vec(0u64..10_000_000_000, 1..400),
            cut in 0usize..400,
        ) {
            let mut whole = of(&values);
            let summary = whole.summary().unwrap();
            let figures = rising(&summary);
            prop_assert!(figures.windows(2).all(|w| w[0] <= w[1]), "{:?}", figures);
            prop_assert_eq!(summary.min, us(*values.iter().min().unwrap()));
            prop_assert_eq!(summary.max, us(*values.iter().max().unwrap()));
            let counted: u64 = whole.buckets().iter().map(|b| b.1).sum();
            prop_assert_eq!(counted, values.len() as u64);

            let (a, b) = values.split_at(cut % values.len());
            for (first, second) in [(a, b), (b, a)] {
                let mut merged = of(first);
                let mut second = of(second);
                second.settle();
                merged.add(&second);
                prop_assert_eq!(merged.summary().unwrap(), summary);
                let mut collected = Latency::new();
                collected.add_extract(&merged.take());
                prop_assert_eq!(collected.summary().unwrap(), summary);
                prop_assert_eq!(collected.buckets(), whole.buckets());
                prop_assert_eq!(merged.summary(), None);
            }
        }
    }
}

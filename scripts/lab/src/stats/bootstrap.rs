//! Intervals for ratios of medians, by resampling: Efron and Tibshirani, "An Introduction to the
//! Bootstrap" (1993), chapter 13, the percentile interval.
//!
//! The bias-corrected interval of their chapter 14 is deliberately absent: its acceleration comes
//! from the jackknife, which fails for medians (same book, section 11.6).

use super::{median, quantile_of_sorted};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use serde::Serialize;

/// An estimate and the interval that holds the true value with the confidence asked for. All in
/// the unit of the estimate; for ratios 1 means equal.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// The estimate itself, from the values as they are.
    pub estimate: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Whether `value` is inside, ends included.
    pub fn holds(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// How to resample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resampling {
    /// How often, 1 or more; 2000 is enough for ends at 95 %.
    pub resamples: usize,
    /// The confidence, above 0 and below 1.
    pub confidence: f64,
    /// The same seed gives the same interval.
    pub seed: u64,
}

impl Default for Resampling {
    fn default() -> Resampling {
        Resampling { resamples: 2000, confidence: 0.95, seed: 1 }
    }
}

/// median(`b`) / median(`a`) of independent runs: how many times as much `b` is.
///
/// None if either has no values, some value is not a finite number above zero, or `how` is outside
/// its ranges. With n values on both sides the interval never leaves what the smallest and the
/// largest of them could make; below about 5 values it is too narrow to be trusted.
pub fn ratio_of_medians(a: &[f64], b: &[f64], how: Resampling) -> Option<Interval> {
    let all_positive = |values: &[f64]| values.iter().all(|v| v.is_finite() && *v > 0.0);
    if !all_positive(a) || !all_positive(b) {
        return None;
    }
    let estimate = median(b)? / median(a)?;
    let mut scratch = Vec::new();
    interval(estimate, how, |random| {
        let below = resampled_median(a, &mut scratch, random);
        resampled_median(b, &mut scratch, random) / below
    })
}

/// The median of `values` with its interval, none under the conditions of [`ratio_of_medians`].
/// For runs in pairs the values are the ratios of the pairs: what both runs of a round share,
/// such as a busy minute of the host, does not count then.
pub fn interval_of_median(values: &[f64], how: Resampling) -> Option<Interval> {
    if !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let estimate = median(values)?;
    let mut scratch = Vec::new();
    interval(estimate, how, |random| resampled_median(values, &mut scratch, random))
}

fn interval(
    estimate: f64,
    how: Resampling,
    mut once: impl FnMut(&mut Xoshiro256PlusPlus) -> f64,
) -> Option<Interval> {
    if how.resamples == 0 || !(how.confidence > 0.0 && how.confidence < 1.0) {
        return None;
    }
    let mut random = Xoshiro256PlusPlus::seed_from_u64(how.seed);
    let mut found: Vec<f64> = (0..how.resamples).map(|_| once(&mut random)).collect();
    found.sort_by(f64::total_cmp);
    let outside = (1.0 - how.confidence) / 2.0;
    Some(Interval {
        low: quantile_of_sorted(&found, outside),
        estimate,
        high: quantile_of_sorted(&found, 1.0 - outside),
    })
}

/// The median of as many draws, with putting back, as there are values; there is one at least.
fn resampled_median(
    values: &[f64],
    scratch: &mut Vec<f64>,
    random: &mut Xoshiro256PlusPlus,
) -> f64 {
    scratch.clear();
    scratch.extend((0..values.len()).map(|_| values[random.random_range(0..values.len())]));
    scratch.sort_by(f64::total_cmp);
    quantile_of_sorted(scratch, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_distr::{Distribution, Normal};

    #[test]
    fn an_interval_needs_values_above_zero_and_sensible_settings() {
        let how = Resampling::default();
        assert_eq!(ratio_of_medians(&[], &[1.0], how), None);
        assert_eq!(ratio_of_medians(&[1.0], &[], how), None);
        assert_eq!(ratio_of_medians(&[0.0], &[1.0], how), None);
        assert_eq!(ratio_of_medians(&[1.0], &[f64::NAN], how), None);
        assert_eq!(interval_of_median(&[f64::INFINITY], how), None);
        let none = Resampling { resamples: 0, ..how };
        assert_eq!(interval_of_median(&[1.0], none), None);
        let certain = Resampling { confidence: 1.0, ..how };
        assert_eq!(interval_of_median(&[1.0], certain), None);
    }

    #[test]
    fn the_same_seed_gives_the_same_interval() {
        let (a, b) = ([98.0, 101.0, 100.0, 103.0, 99.0], [120.0, 125.0, 118.0, 122.0, 121.0]);
        let how = Resampling::default();
        let found = ratio_of_medians(&a, &b, how).unwrap();
        assert_eq!(Some(found), ratio_of_medians(&a, &b, how));
        assert_eq!(found.estimate, 1.21);
        assert!(!found.holds(1.0) && found.holds(1.21), "{found:?}");
        assert!(found.low >= 118.0 / 103.0 && found.high <= 125.0 / 98.0, "{found:?}");
    }

    /// With five values the median of a resample is the smallest with probability 0.058 (three or
    /// more of five draws): more than 2.5 %, so that the interval is the whole range, and the true
    /// median is inside with probability 1 - 2/32.
    #[test]
    fn five_values_give_their_whole_range() {
        let values = [5.0, 1.0, 4.0, 2.0, 3.0];
        let found = interval_of_median(&values, Resampling::default()).unwrap();
        assert_eq!(found, Interval { low: 1.0, estimate: 3.0, high: 5.0 });
    }

    #[test]
    fn the_true_ratio_is_inside_about_as_often_as_was_asked_for() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let noise = Normal::new(0.0, 0.05).unwrap();
        let mut inside = 0;
        for seed in 0..400 {
            let mut draw = |mean: f64| -> Vec<f64> {
                (0..9).map(|_| mean * (1.0 + noise.sample(&mut random))).collect()
            };
            let (a, b) = (draw(100.0), draw(130.0));
            let how = Resampling { resamples: 500, seed, ..Resampling::default() };
            inside += usize::from(ratio_of_medians(&a, &b, how).unwrap().holds(1.3));
        }
        assert!((365..=398).contains(&inside), "{inside} of 400 at 95 %");
    }
}

//! Comparing two settings over interleaved rounds, against the noise that two equal settings
//! show.

use super::bootstrap::{Interval, Resampling, interval_of_median, ratio_of_medians};
use serde::Serialize;

/// What a comparison says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing larger than the noise was seen; that is not a proof that both are equal.
    NoDifference,
    /// The second is larger.
    Larger,
    /// The second is smaller.
    Smaller,
}

/// The second of two settings by the first, such as calls per second after by those before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The ratio with its interval; 1 means equal.
    pub ratio: Interval,
    /// What two equal settings differed by, as a factor of 1 or more; none if not measured.
    pub noise: Option<f64>,
    /// What may be said.
    pub verdict: Verdict,
}

impl Comparison {
    /// A difference counts if the interval leaves 1 out and the estimate is outside the noise, too:
    /// with few rounds the interval alone is too sure of itself, and equal runs far apart in time
    /// differ by more than their rounds do.
    fn of(ratio: Interval, noise: Option<f64>) -> Comparison {
        let is_noise = noise.is_some_and(|noise| factor(ratio.estimate) <= noise);
        let verdict = match () {
            () if ratio.holds(1.0) || is_noise => Verdict::NoDifference,
            () if ratio.estimate > 1.0 => Verdict::Larger,
            () => Verdict::Smaller,
        };
        Comparison { ratio, noise, verdict }
    }
}

/// Compares runs that have no partners, each as many as there are.
///
/// `noise` is a factor as [`noise`] gives it. None under the conditions of [`ratio_of_medians`].
pub fn compare(a: &[f64], b: &[f64], noise: Option<f64>, how: Resampling) -> Option<Comparison> {
    Some(Comparison::of(ratio_of_medians(a, b, how)?, noise))
}

/// Compares runs that were made in pairs, one of each setting in each round: the median of the
/// rounds' ratios, second by first.
///
/// None without pairs, or if some value is not a finite number above zero.
pub fn compare_paired(
    pairs: &[(f64, f64)],
    noise: Option<f64>,
    how: Resampling,
) -> Option<Comparison> {
    Some(Comparison::of(interval_of_median(&ratios(pairs)?, how)?, noise))
}

/// How far two runs of one and the same setting lie apart (an A/A test), as a factor of 1 or more:
/// 1.03 means that a difference of 3 % is nothing. It is the farther end of the interval of the
/// median ratio, whichever side it lies on.
///
/// None without pairs, or if some value is not a finite number above zero.
pub fn noise(pairs: &[(f64, f64)], how: Resampling) -> Option<f64> {
    let interval = interval_of_median(&ratios(pairs)?, how)?;
    Some(factor(interval.low).max(factor(interval.high)))
}

fn ratios(pairs: &[(f64, f64)]) -> Option<Vec<f64>> {
    let ratio = |&(a, b): &(f64, f64)| {
        let positive = |value: f64| value.is_finite() && value > 0.0;
        (positive(a) && positive(b)).then(|| b / a)
    };
    pairs.iter().map(ratio).collect()
}

/// The ratio or its inverse, whichever is 1 or more.
fn factor(ratio: f64) -> f64 {
    ratio.max(1.0 / ratio)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::Xoshiro256PlusPlus;
    use rand_distr::{Distribution, Normal};

    fn verdict(ratio: Interval, noise: Option<f64>) -> Verdict {
        Comparison::of(ratio, noise).verdict
    }

    #[test]
    fn a_difference_must_leave_both_the_interval_and_the_noise() {
        let slower = Interval { low: 0.90, estimate: 0.92, high: 0.94 };
        assert_eq!(verdict(slower, None), Verdict::Smaller);
        assert_eq!(verdict(slower, Some(1.05)), Verdict::Smaller);
        assert_eq!(verdict(slower, Some(1.10)), Verdict::NoDifference);
        let faster = Interval { low: 1.08, estimate: 1.10, high: 1.20 };
        assert_eq!(verdict(faster, Some(1.05)), Verdict::Larger);
        let either = Interval { low: 0.99, estimate: 1.10, high: 1.20 };
        assert_eq!(verdict(either, Some(1.01)), Verdict::NoDifference);
    }

    #[test]
    fn the_noise_is_the_farther_end_on_either_side() {
        let how = Resampling::default();
        let pairs = [(100.0, 96.0), (100.0, 101.0), (100.0, 102.0), (100.0, 99.0), (100.0, 100.0)];
        assert!((noise(&pairs, how).unwrap() - 1.0 / 0.96).abs() < 1e-12);
        assert_eq!(noise(&[], how), None);
        assert_eq!(noise(&[(0.0, 1.0)], how), None);
    }

    #[test]
    fn what_both_runs_of_a_round_share_does_not_count() {
        let pairs = [(100.0, 110.0), (50.0, 55.5), (80.0, 87.0), (120.0, 133.0), (60.0, 66.0)];
        let how = Resampling::default();
        let paired = compare_paired(&pairs, Some(1.02), how).unwrap();
        assert_eq!(paired.verdict, Verdict::Larger);
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        assert_eq!(compare(&a, &b, Some(1.02), how).unwrap().verdict, Verdict::NoDifference);
    }

    /// The lab's promise: two runs of one build are "no difference" in 19 of 20 tries, and 8 % are
    /// found. The noise is that of the host that this was written on.
    /// Two folders of one build, minutes apart: the host is 3 % faster or slower meanwhile, and the
    /// quick form has as few as one round. The twin alone knew nothing of either.
    #[test]
    fn equal_runs_apart_in_time_are_no_different_with_any_number_of_rounds() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
        let (within, between) = (Normal::new(0.0, 0.02).unwrap(), Normal::new(0.0, 0.03).unwrap());
        for count in [1, 2, 3, 5, 7] {
            let (mut false_alarms, mut found) = (0, 0);
            for seed in 0..200 {
                let how = Resampling { resamples: 200, seed, ..Resampling::default() };
                let mut draw = |mean: f64| -> Vec<f64> {
                    (0..count).map(|_| mean * (1.0 + within.sample(&mut random))).collect()
                };
                let twin = noise(&draw(1.0).into_iter().zip(draw(1.0)).collect::<Vec<_>>(), how);
                let held = twin.map(|twin| twin.max(1.10));
                let (a, mut b) = (draw(100.0), draw(100.0));
                let drift = 1.0 + between.sample(&mut random);
                b.iter_mut().for_each(|rate| *rate *= drift);
                let equal = compare(&a, &b, held, how).unwrap();
                b.iter_mut().for_each(|rate| *rate *= 0.7);
                let slower = compare(&a, &b, held, how).unwrap();
                false_alarms += usize::from(equal.verdict != Verdict::NoDifference);
                found += usize::from(slower.verdict == Verdict::Smaller);
            }
            assert!(false_alarms <= 10, "{count} rounds: {false_alarms} of 200 called different");
            assert!(found >= 190, "{count} rounds: {found} of 200 slower ones were found");
        }
    }

    #[test]
    fn equal_settings_are_seldom_called_different_and_different_ones_seldom_equal() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
        let law = Normal::new(0.0, 0.02).unwrap();
        let (mut false_alarms, mut found) = (0, 0);
        for seed in 0..300 {
            let how = Resampling { resamples: 400, seed, ..Resampling::default() };
            let mut pairs = |ratio: f64| -> Vec<(f64, f64)> {
                let mut draw = |mean: f64| mean * (1.0 + law.sample(&mut random));
                (0..7).map(|_| (draw(100.0), draw(100.0 * ratio))).collect()
            };
            let noise = noise(&pairs(1.0), how);
            let equal = compare_paired(&pairs(1.0), noise, how).unwrap();
            let slower = compare_paired(&pairs(0.92), noise, how).unwrap();
            false_alarms += usize::from(equal.verdict != Verdict::NoDifference);
            found += usize::from(slower.verdict == Verdict::Smaller);
        }
        assert!(false_alarms <= 15, "{false_alarms} of 300 equal pairs were called different");
        assert!(found >= 270, "{found} of 300 slower settings were found");
    }
}

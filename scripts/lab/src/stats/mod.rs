//! What may be said from a few noisy runs: medians and quantiles, intervals by resampling, the
//! noise of two equal runs, lines and laws fitted to points, knees of curves.
//!
//! Everything here is a function of numbers; the same seed gives the same interval everywhere.

pub mod bootstrap;
pub mod fit;
pub mod knee;
pub mod rounds;

use serde::Serialize;

/// The middle of the values; of an even number of values the mean of the two in the middle.
/// None without values, or if some value is not a number.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The value below which a share `p` (0 to 1) of the values lies, on a straight line between the
/// two nearest: definition 7 of Hyndman and Fan, "Sample Quantiles in Statistical Packages", The
/// American Statistician 50 (1996), which is what R and NumPy do.
///
/// None without values, if some value is not a number, or if `p` is outside its range.
pub fn quantile(values: &[f64], p: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let known = !sorted.is_empty() && !sorted.iter().any(|value| value.is_nan());
    (known && (0.0..=1.0).contains(&p)).then(|| quantile_of_sorted(&sorted, p))
}

/// As [`quantile`], of values that are sorted, of which there is one at least.
pub(crate) fn quantile_of_sorted(sorted: &[f64], p: f64) -> f64 {
    let at = (sorted.len() - 1) as f64 * p;
    let below = at.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    let part = at - below as f64;
    // Equal neighbours may be infinite, and their difference is then not a number.
    if part == 0.0 || sorted[below] == sorted[above] {
        return sorted[below];
    }
    sorted[below] + part * (sorted[above] - sorted[below])
}

/// The arithmetic mean; none without values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// A handful of values in short, in their own unit: what a point with its bar shows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// How many values there are, at least 1.
    pub count: usize,
    /// The smallest.
    pub min: f64,
    /// The middle one, see [`median`].
    pub median: f64,
    /// The largest.
    pub max: f64,
    /// The arithmetic mean.
    pub mean: f64,
}

impl Summary {
    /// None without values, or if some value is not a number.
    pub fn of(values: &[f64]) -> Option<Summary> {
        Some(Summary {
            count: values.len(),
            min: quantile(values, 0.0)?,
            median: median(values)?,
            max: quantile(values, 1.0)?,
            mean: mean(values)?,
        })
    }

    /// Largest less smallest, as a share of the median: what runs of one setting differ by.
    /// None if the median is zero.
    pub fn spread(&self) -> Option<f64> {
        (self.median != 0.0).then(|| (self.max - self.min) / self.median.abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(values: &[f64], p: f64, expected: Option<f64>) {
        let found = quantile(values, p);
        let close = match (found, expected) {
            (Some(found), Some(expected)) => found == expected || (found - expected).abs() < 1e-12,
            (found, expected) => found == expected,
        };
        assert!(close, "{p} of {values:?} is {found:?}, expected {expected:?}");
    }

    #[test]
    fn quantiles_are_those_of_r_and_numpy() {
        let six = [40.0, 7.0, 39.0, 15.0, 41.0, 36.0];
        check(&six, 0.25, Some(20.25));
        check(&six, 0.5, Some(37.5));
        check(&six, 0.75, Some(39.75));
        check(&six, 0.0, Some(7.0));
        check(&six, 1.0, Some(41.0));
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        check(&ten, 0.9, Some(9.1));
        check(&[3.0], 0.99, Some(3.0));
    }

    #[test]
    fn there_is_no_quantile_of_nothing_or_of_what_is_no_number() {
        check(&[], 0.5, None);
        check(&[1.0, f64::NAN], 0.5, None);
        check(&[1.0], 1.1, None);
        check(&[1.0], f64::NAN, None);
        check(&[f64::INFINITY, f64::INFINITY], 0.5, Some(f64::INFINITY));
    }

    #[test]
    fn a_summary_holds_the_ends_the_middle_and_their_spread() {
        let summary = Summary::of(&[110.0, 90.0, 100.0]).unwrap();
        assert_eq!((summary.count, summary.min, summary.max), (3, 90.0, 110.0));
        assert_eq!((summary.median, summary.mean), (100.0, 100.0));
        assert_eq!(summary.spread(), Some(0.2));
        assert_eq!(Summary::of(&[]), None);
        assert_eq!(Summary::of(&[-1.0, 1.0]).unwrap().spread(), None);
    }
}

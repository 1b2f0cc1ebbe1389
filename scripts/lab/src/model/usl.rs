//! The universal scalability law: Gunther, "A General Theory of Computational Scalability Based on
//! Rational Functions" (arXiv 0808.1431, 2008). It describes a sweep; it explains nothing, and is
//! not to be trusted past twice the range that it was fitted to.

use crate::stats::fit::{least_squares, r_squared};
use serde::Serialize;

/// X(N) = gamma N / (1 + sigma (N - 1) + kappa N (N - 1)).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Usl {
    /// Throughput of one, in the unit of the points.
    pub gamma: f64,
    /// Contention: the share that is serial. Above 0 means queueing.
    pub sigma: f64,
    /// Coherency: the cost of agreeing with each other. Above 0 means that more can be slower.
    pub kappa: f64,
    /// See [`crate::stats::fit::r_squared`].
    pub r_squared: f64,
}

/// A fit needs this many points, all at saturating load.
pub const POINTS_MIN: usize = 6;
/// Gauss and Newton's steps at most; a handful is the rule.
const STEPS_MAX: usize = 100;

impl Usl {
    /// The law at `n`, which is at least 1.
    pub fn at(&self, n: f64) -> f64 {
        law([self.gamma, self.sigma, self.kappa], n)
    }

    /// Where the law is largest, sqrt((1 - sigma) / kappa); none if it grows for ever.
    pub fn peak(&self) -> Option<f64> {
        (self.kappa > 0.0 && self.sigma < 1.0).then(|| ((1.0 - self.sigma) / self.kappa).sqrt())
    }
}

/// Fits the law to points (N, throughput) by least squares in the throughput, beginning with the
/// straight fit of N / X. None with fewer than [`POINTS_MIN`] points, N below 1, throughput that is
/// not above zero, or points that determine no law.
pub fn fit(points: &[(f64, f64)]) -> Option<Usl> {
    let fits = points.len() >= POINTS_MIN && points.iter().all(|&(n, x)| n >= 1.0 && x > 0.0);
    if !fits {
        return None;
    }
    let rows: Vec<[f64; 3]> = points.iter().map(|&(n, _)| [1.0, n - 1.0, n * (n - 1.0)]).collect();
    let ys: Vec<f64> = points.iter().map(|&(n, x)| n / x).collect();
    let [first, contention, coherency] = least_squares(&rows, &ys)?;
    let mut found = [1.0 / first, contention / first, coherency / first];
    let mut errors = squared_errors(found, points);
    for _ in 0..STEPS_MAX {
        let Some(better) = step(found, errors, points) else { break };
        let gained = errors - better.1;
        (found, errors) = better;
        if gained <= 1e-14 * errors {
            break;
        }
    }
    let [gamma, sigma, kappa] = found;
    let fitted = points.iter().map(|&(n, x)| (law(found, n), x));
    Some(Usl { gamma, sigma, kappa, r_squared: r_squared(fitted)? })
}

fn law([gamma, sigma, kappa]: [f64; 3], n: f64) -> f64 {
    gamma * n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0))
}

fn squared_errors(found: [f64; 3], points: &[(f64, f64)]) -> f64 {
    points.iter().map(|&(n, x)| (x - law(found, n)).powi(2)).sum()
}

/// One step, halved until it is one downwards; none if there is no way down.
fn step(found: [f64; 3], errors: f64, points: &[(f64, f64)]) -> Option<([f64; 3], f64)> {
    let [gamma, sigma, kappa] = found;
    let slopes = |&(n, _): &(f64, f64)| {
        let below = 1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0);
        let by_sigma = -gamma * n * (n - 1.0) / (below * below);
        [n / below, by_sigma, n * by_sigma]
    };
    let rows: Vec<[f64; 3]> = points.iter().map(slopes).collect();
    let ys: Vec<f64> = points.iter().map(|&(n, x)| x - law(found, n)).collect();
    let direction = least_squares(&rows, &ys)?;
    let halvings = std::iter::successors(Some(1.0), |length| Some(length / 2.0)).take(30);
    halvings
        .map(|length| std::array::from_fn(|i| found[i] + length * direction[i]))
        .map(|tried| (tried, squared_errors(tried, points)))
        .find(|&(_, tried)| tried < errors)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64, within: f64) {
        assert!((found - expected).abs() <= within, "found {found}, expected {expected}");
    }

    /// The SPEC SDM91 figures of a SPARCcenter 2000, as the R package `usl` (3.0) publishes its
    /// fit of them: gamma 89.995, alpha 0.0277285, beta 0.0001044.
    #[test]
    fn the_published_benchmark_has_its_published_coefficients() {
        let points = [
            (1.0, 64.9),
            (18.0, 995.9),
            (36.0, 1652.4),
            (72.0, 1853.2),
            (108.0, 1828.9),
            (144.0, 1775.0),
            (216.0, 1702.2),
        ];
        let usl = fit(&points).unwrap();
        close(usl.gamma, 89.995, 0.01);
        close(usl.sigma, 0.027_728_5, 1e-5);
        close(usl.kappa, 0.000_104_4, 1e-7);
        close(usl.peak().unwrap(), 96.5, 0.1);
    }

    #[test]
    fn a_law_is_found_in_its_own_points() {
        let law = Usl { gamma: 35_000.0, sigma: 0.05, kappa: 0.002, r_squared: 1.0 };
        let points: Vec<(f64, f64)> = (1..=10).map(f64::from).map(|n| (n, law.at(n))).collect();
        let usl = fit(&points).unwrap();
        close(usl.gamma, law.gamma, 1e-3);
        close(usl.sigma, law.sigma, 1e-9);
        close(usl.kappa, law.kappa, 1e-9);
        close(usl.r_squared, 1.0, 1e-9);
    }

    #[test]
    fn few_or_impossible_points_have_no_law() {
        let line: Vec<(f64, f64)> = (1..=5).map(|n| (f64::from(n), f64::from(n))).collect();
        assert_eq!(fit(&line), None);
        assert_eq!(fit(&[(1.0, 0.0); 6]), None);
        assert_eq!(fit(&[(0.0, 1.0); 6]), None);
        assert_eq!(fit(&[(2.0, 1.0); 6]), None);
    }

    #[test]
    fn without_coherency_there_is_no_peak() {
        let grows = Usl { gamma: 1.0, sigma: 0.1, kappa: 0.0, r_squared: 1.0 };
        assert_eq!(grows.peak(), None);
        assert_eq!(Usl { kappa: 0.01, ..grows }.peak().map(f64::round), Some(9.0));
    }
}

//! Lines and laws through points, by least squares.

use serde::Serialize;

/// A straight line y = intercept + slope x.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Line {
    /// y at x = 0.
    pub intercept: f64,
    /// How much y grows for each x.
    pub slope: f64,
    /// The share of y's variance that the line explains, see [`r_squared`].
    pub r_squared: f64,
}

/// The law of a batch cycle, X(B) = B / (g + B c), see [`crate::model::batch`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BatchFit {
    /// g: what each cycle costs whatever is in it, in seconds; 0 or more.
    pub gap_s: f64,
    /// c: what each call in it costs, in seconds; above 0.
    pub call_s: f64,
    /// Of the throughputs themselves, not of their inverses, see [`r_squared`].
    pub r_squared: f64,
}

/// The law of a window, X(k) = min(k / cycle, plateau), see [`crate::model::laws::window`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WindowFit {
    /// RTT + S: the time of one call round, in seconds.
    pub cycle_s: f64,
    /// m / S: calls per second that no window surpasses; none if no point lies on the plateau.
    pub plateau_per_s: Option<f64>,
    /// The window from which on nothing grows: plateau x cycle.
    pub knee: Option<f64>,
    /// See [`r_squared`].
    pub r_squared: f64,
}

/// The line with the smallest sum of squared distances in y. None with fewer than two different x,
/// or if some number is not finite.
pub fn line(points: &[(f64, f64)]) -> Option<Line> {
    let rows: Vec<[f64; 2]> = points.iter().map(|&(x, _)| [1.0, x]).collect();
    let ys: Vec<f64> = points.iter().map(|&(_, y)| y).collect();
    let [intercept, slope] = least_squares(&rows, &ys)?;
    let fitted = points.iter().map(|&(x, y)| (intercept + slope * x, y));
    Some(Line { intercept, slope, r_squared: r_squared(fitted)? })
}

/// The share of the variance of what was seen that the fit explains: 1 - (sum of squared errors) /
/// (sum of squared distances from the mean). Takes pairs of fitted and seen.
///
/// 1 if all were met; below 0 if the mean alone would have been better. If all that was seen is
/// equal there is no variance to explain: 1 if it was met exactly, else 0. None without points.
pub fn r_squared(fitted_and_seen: impl Iterator<Item = (f64, f64)> + Clone) -> Option<f64> {
    let count = fitted_and_seen.clone().count();
    if count == 0 {
        return None;
    }
    let mean = fitted_and_seen.clone().map(|(_, seen)| seen).sum::<f64>() / count as f64;
    let errors: f64 = fitted_and_seen.clone().map(|(fitted, seen)| (seen - fitted).powi(2)).sum();
    let variance: f64 = fitted_and_seen.map(|(_, seen)| (seen - mean).powi(2)).sum();
    let met = if errors == 0.0 { 1.0 } else { 0.0 };
    Some(if variance == 0.0 { met } else { 1.0 - errors / variance })
}

/// Fits X(B) = B / (g + B c) to points (B, X), both above zero: linear in 1/X = c + g (1/B), every
/// point counted by its relative error, since throughputs are known to so many per cent.
///
/// None with fewer than two different B, numbers outside their ranges, or points that no batch
/// cycle makes: throughput that falls as B grows (g below 0), or grows as B does (c not above 0).
pub fn batch(points: &[(f64, f64)]) -> Option<BatchFit> {
    if !points.iter().all(|&(size, x)| size > 0.0 && x > 0.0) {
        return None;
    }
    let rows: Vec<[f64; 2]> = points.iter().map(|&(size, x)| [x, x / size]).collect();
    let [call_s, gap_s] = least_squares(&rows, &vec![1.0; points.len()])?;
    if call_s <= 0.0 || gap_s < 0.0 {
        return None;
    }
    let fitted = points.iter().map(|&(size, x)| (size / (gap_s + size * call_s), x));
    Some(BatchFit { gap_s, call_s, r_squared: r_squared(fitted)? })
}

/// Fits X(k) = min(k / cycle, plateau) to points (k, X), both above zero: tries every division
/// into a rising part and a plateau and keeps the one with the smallest relative errors. A plateau
/// has two points at least: one alone would lie on a plateau whatever it is.
///
/// None without points, or with numbers outside their ranges.
pub fn window(points: &[(f64, f64)]) -> Option<WindowFit> {
    if points.is_empty() || !points.iter().all(|&(k, x)| k > 0.0 && x > 0.0 && x.is_finite()) {
        return None;
    }
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let divided = (1..=sorted.len()).rev().filter(|rising| rising + 1 != sorted.len());
    let divided = divided.map(|rising| {
        let (rise, flat) = sorted.split_at(rising);
        // The values that make the relative errors (1 - value / x) smallest.
        let rate = best_scale(rise.iter().map(|&(k, x)| k / x));
        let plateau = (!flat.is_empty()).then(|| best_scale(flat.iter().map(|&(_, x)| 1.0 / x)));
        let law = |k: f64| (k * rate).min(plateau.unwrap_or(f64::INFINITY));
        let errors: f64 = sorted.iter().map(|&(k, x)| (1.0 - law(k) / x).powi(2)).sum();
        (errors, rate, plateau)
    });
    let (_, rate, plateau) = divided.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let law = |k: f64| (k * rate).min(plateau.unwrap_or(f64::INFINITY));
    Some(WindowFit {
        cycle_s: 1.0 / rate,
        plateau_per_s: plateau,
        knee: plateau.map(|plateau| plateau / rate),
        r_squared: r_squared(sorted.iter().map(|&(k, x)| (law(k), x)))?,
    })
}

/// The factor f that makes the sum of (1 - f u)^2 smallest.
fn best_scale(us: impl Iterator<Item = f64> + Clone) -> f64 {
    us.clone().sum::<f64>() / us.map(|u| u * u).sum::<f64>()
}

/// The K coefficients that make the sum of (y - row . coefficients)^2 smallest, by the normal
/// equations. None with fewer rows than coefficients, rows that do not determine them, or numbers
/// that are not finite.
pub fn least_squares<const K: usize>(rows: &[[f64; K]], ys: &[f64]) -> Option<[f64; K]> {
    if rows.len() < K || rows.len() != ys.len() {
        return None;
    }
    // Columns may differ by many powers of ten: each is scaled to length 1.
    let scale: [f64; K] = std::array::from_fn(|column| {
        rows.iter().map(|row| row[column] * row[column]).sum::<f64>().sqrt()
    });
    let mut normal = [[0.0; K]; K];
    let mut right = [0.0; K];
    for (row, y) in rows.iter().zip(ys) {
        for i in 0..K {
            right[i] += row[i] / scale[i] * y;
            for j in 0..K {
                normal[i][j] += row[i] / scale[i] * row[j] / scale[j];
            }
        }
    }
    let solved = solve(normal, right)?;
    let coefficients: [f64; K] = std::array::from_fn(|column| solved[column] / scale[column]);
    coefficients.iter().all(|value| value.is_finite()).then_some(coefficients)
}

/// Gauss's elimination with the largest pivot of each column.
fn solve<const K: usize>(mut matrix: [[f64; K]; K], mut right: [f64; K]) -> Option<[f64; K]> {
    for column in 0..K {
        let largest = (column..K)
            .max_by(|&a, &b| matrix[a][column].abs().total_cmp(&matrix[b][column].abs()))?;
        matrix.swap(column, largest);
        right.swap(column, largest);
        let pivot = matrix[column][column];
        // The columns have length 1. What is left of one that others make up is rounding.
        if !pivot.is_finite() || pivot.abs() < 1e-13 {
            return None;
        }
        for below in column + 1..K {
            let part = matrix[below][column] / pivot;
            let row = matrix[column];
            matrix[below].iter_mut().zip(row).for_each(|(value, above)| *value -= part * above);
            right[below] -= part * right[column];
        }
    }
    for column in (0..K).rev() {
        let known: f64 = (column + 1..K).map(|at| matrix[column][at] * right[at]).sum();
        right[column] = (right[column] - known) / matrix[column][column];
    }
    Some(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-6, "found {found}, expected {expected}");
    }

    /// Anscombe, "Graphs in Statistical Analysis", The American Statistician 27 (1973): set 1.
    #[test]
    fn anscombes_line_is_found() {
        let x = [10.0, 8.0, 13.0, 9.0, 11.0, 14.0, 6.0, 4.0, 12.0, 7.0, 5.0];
        let y = [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68];
        let points: Vec<(f64, f64)> = x.into_iter().zip(y).collect();
        let line = line(&points).unwrap();
        close(line.intercept, 3.000_090_9);
        close(line.slope, 0.500_090_9);
        close(line.r_squared, 0.666_542_5);
    }

    #[test]
    fn points_that_determine_no_line_have_none() {
        assert_eq!(line(&[]), None);
        assert_eq!(line(&[(1.0, 2.0)]), None);
        assert_eq!(line(&[(1.0, 2.0), (1.0, 3.0)]), None);
        assert_eq!(line(&[(1.0, 2.0), (2.0, f64::NAN)]), None);
        assert_eq!(line(&[(0.0, 0.0), (0.0, 0.0)]), None);
    }

    #[test]
    fn equal_values_leave_nothing_to_explain() {
        assert_eq!(r_squared([(2.0, 2.0), (2.0, 2.0)].into_iter()), Some(1.0));
        assert_eq!(r_squared([(2.0, 3.0), (2.0, 3.0)].into_iter()), Some(0.0));
        assert_eq!(r_squared([(9.0, 1.0), (9.0, 2.0)].into_iter()).map(|r| r < 0.0), Some(true));
        assert_eq!(r_squared(std::iter::empty()), None);
    }

    /// The two rates of Pulsar's pull request 26744 are cycles of 1,002 us at 100 and 4,689 us at
    /// 500, hence 9.22 us a call and 80 us a cycle.
    #[test]
    fn the_batch_law_is_found_in_its_own_points_and_in_the_two_that_were_published() {
        let law = |size: f64| size / (100e-6 + size * 8.8e-6);
        let points = [10.0, 20.0, 50.0, 100.0, 250.0].map(|size| (size, law(size)));
        let fit = batch(&points).unwrap();
        close(fit.gap_s, 100e-6);
        close(fit.call_s, 8.8e-6);
        assert!(fit.r_squared > 0.999_999);
        let fit = batch(&[(100.0, 99_756.0), (500.0, 106_624.0)]).unwrap();
        close(fit.call_s, (500.0 / 106_624.0 - 100.0 / 99_756.0) / 400.0);
        close(fit.gap_s, 80.713_5e-6);
    }

    #[test]
    fn what_no_batch_cycle_makes_has_no_batch_law() {
        assert_eq!(batch(&[(10.0, 5.0)]), None);
        assert_eq!(batch(&[(0.0, 5.0), (1.0, 6.0)]), None);
        assert_eq!(batch(&[(10.0, 5.0), (20.0, 4.0)]), None, "falls");
        assert_eq!(batch(&[(10.0, 5.0), (20.0, 40.0)]), None, "grows faster than the batch");
    }

    #[test]
    fn a_window_has_a_rise_and_a_plateau() {
        let points = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0].map(|k: f64| (k, (k * 200.0).min(1000.0)));
        let fit = window(&points).unwrap();
        close(fit.cycle_s, 0.005);
        close(fit.plateau_per_s.unwrap(), 1000.0);
        close(fit.knee.unwrap(), 5.0);
        close(fit.r_squared, 1.0);
        let rising = window(&points[..3]).unwrap();
        assert_eq!((rising.plateau_per_s, rising.knee), (None, None));
        close(rising.cycle_s, 0.005);
        assert_eq!(window(&[]), None);
        assert_eq!(window(&[(1.0, 0.0)]), None);
    }

    #[test]
    fn a_noisy_window_keeps_its_knee() {
        let points = [(1.0, 505.0), (2.0, 970.0), (3.0, 1010.0), (4.0, 990.0), (6.0, 1000.0)];
        let knee = window(&points).unwrap().knee.unwrap();
        assert!((1.9..=2.1).contains(&knee), "{knee}");
    }
}

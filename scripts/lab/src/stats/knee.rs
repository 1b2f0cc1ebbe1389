//! Where a curve stops to be worth climbing.

/// The share of the largest throughput at which a curve counts as having arrived.
pub const ARRIVED: f64 = 0.9;

/// The first knob value whose throughput is at least `share` (above 0, at most 1) of the largest
/// one: from there on no setting gains more than the rest. Use [`ARRIVED`] for predicted and
/// measured curves alike, so that they can be compared.
///
/// Points are (knob, throughput), in any order. None without points, or if some number is not
/// finite.
pub fn first_at_share(points: &[(f64, f64)], share: f64) -> Option<f64> {
    let sorted = sorted(points)?;
    let most = sorted.iter().map(|&(_, y)| y).max_by(f64::total_cmp)?;
    sorted.iter().find(|&&(_, y)| y >= share * most).map(|&(x, _)| x)
}

/// The last knob value whose throughput is at least `share` (above 0, at most 1) of the largest
/// one: behind it the curve declines, or ends.
///
/// Points and conditions as in [`first_at_share`].
pub fn last_at_share(points: &[(f64, f64)], share: f64) -> Option<f64> {
    let sorted = sorted(points)?;
    let most = sorted.iter().map(|&(_, y)| y).max_by(f64::total_cmp)?;
    sorted.iter().rfind(|&&(_, y)| y >= share * most).map(|&(x, _)| x)
}

/// The point that lies farthest above the straight line from the first point to the last, both
/// axes scaled to 1: the offline form of Satopaa, Albrecht, Irwin and Raghavan, "Finding a Kneedle
/// in a Haystack" (2011), without its smoothing.
///
/// Points are (knob, throughput), in any order. None with fewer than three points, if some number
/// is not finite, or if no point lies above the line (the curve does not bend down).
pub fn farthest_from_chord(points: &[(f64, f64)]) -> Option<f64> {
    let sorted = sorted(points)?;
    let ((x0, y0), (x1, y1)) = (*sorted.first()?, *sorted.last()?);
    if sorted.len() < 3 || x1 <= x0 || y1 <= y0 {
        return None;
    }
    let above = |&(x, y): &(f64, f64)| (y - y0) / (y1 - y0) - (x - x0) / (x1 - x0);
    let farthest = sorted.iter().max_by(|a, b| above(a).total_cmp(&above(b)))?;
    (above(farthest) > 1e-9).then_some(farthest.0)
}

fn sorted(points: &[(f64, f64)]) -> Option<Vec<(f64, f64)>> {
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    sorted.iter().all(|(x, y)| x.is_finite() && y.is_finite()).then_some(sorted)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Thousands of calls per second over 1 to 10 readers: what exact MVA makes of HDDS-11225 with
    /// 10 clients, and with 30.
    const TEN: [f64; 10] = [35.2, 69.0, 88.0, 109.0, 123.0, 125.0, 126.0, 127.0, 129.0, 131.0];
    const THIRTY: [f64; 10] = [35.2, 69.0, 98.3, 115.0, 123.0, 127.0, 128.0, 129.0, 130.0, 131.0];

    fn over_readers(curve: [f64; 10]) -> Vec<(f64, f64)> {
        (1..=10).map(f64::from).zip(curve).collect()
    }

    #[test]
    fn the_readers_experiment_bends_at_four_to_five() {
        assert_eq!(first_at_share(&over_readers(TEN), ARRIVED), Some(5.0));
        assert_eq!(first_at_share(&over_readers(THIRTY), ARRIVED), Some(5.0));
        assert_eq!(farthest_from_chord(&over_readers(TEN)), Some(5.0));
        assert_eq!(farthest_from_chord(&over_readers(THIRTY)), Some(4.0));
    }

    #[test]
    fn a_decline_begins_behind_the_last_point_that_is_near_the_best() {
        let points = [(100.0, 90.0), (250.0, 100.0), (500.0, 95.0), (1000.0, 60.0)];
        assert_eq!(last_at_share(&points, ARRIVED), Some(500.0));
        assert_eq!(last_at_share(&points[..2], ARRIVED), Some(250.0));
        assert_eq!(last_at_share(&[], ARRIVED), None);
    }

    #[test]
    fn order_does_not_matter() {
        let mut points = over_readers(TEN);
        points.reverse();
        assert_eq!(first_at_share(&points, ARRIVED), Some(5.0));
        assert_eq!(farthest_from_chord(&points), Some(5.0));
    }

    #[test]
    fn a_curve_that_does_not_bend_has_no_knee() {
        let straight: Vec<(f64, f64)> = (1..=5).map(|x| (f64::from(x), f64::from(2 * x))).collect();
        assert_eq!(farthest_from_chord(&straight), None);
        assert_eq!(first_at_share(&straight, ARRIVED), Some(5.0));
        assert_eq!(farthest_from_chord(&[(1.0, 1.0), (2.0, 2.0)]), None);
        assert_eq!(first_at_share(&[], ARRIVED), None);
        assert_eq!(first_at_share(&[(1.0, f64::NAN)], ARRIVED), None);
        assert_eq!(first_at_share(&[(1.0, 100.0), (2.0, 99.0)], ARRIVED), Some(1.0), "flat");
    }
}

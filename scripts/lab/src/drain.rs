//! How long a backlog takes to go after a stall, as an open loop's intervals show it: the calls
//! that were due until the end of an interval less those that were answered.

use crate::experiment::{LineOf, Scalar};
use crate::results::Results;
use crate::stats::quantile;
use serde_json::Value;

/// Where a backlog's fall is measured: its ends are blurred by batches and by intervals.
const FROM: f64 = 0.9;
const TO: f64 = 0.2;
/// What is always there, stall or not: this quantile of the backlog.
const CALM: f64 = 0.1;
/// A peak has so much of what a stall must leave.
const PEAK: f64 = 0.5;

/// Stalls in an open loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stalled {
    /// Calls per second that are due.
    pub(crate) rate: f64,
    /// How long one lasts.
    pub(crate) stall_s: f64,
    /// From one to the next.
    pub(crate) every_s: f64,
}

/// Calls due and not answered at the end of each interval: (seconds, calls). Arrivals must be
/// uniform for it to be exact.
pub(crate) fn backlog(report: &Value, rate: f64) -> Vec<(f64, f64)> {
    let mut answered = 0.0;
    let mut points = Vec::new();
    for interval in report["intervals"].as_array().into_iter().flatten() {
        let number = |name: &str| interval.get(name).and_then(Value::as_f64);
        let (Some(end), Some(calls)) = (number("end_s"), number("calls")) else { continue };
        answered += calls;
        points.push((end, rate * end - answered));
    }
    points
}

/// The drain times of all stalls in the sound runs of a point, in seconds.
pub(crate) fn of_runs(
    results: &Results<'_>,
    line: &LineOf,
    at: &Scalar,
    stalled: Stalled,
) -> Vec<f64> {
    let sound = results.sound(line, at);
    sound.flat_map(|run| drain_times(&backlog(&run.report, stalled.rate), stalled)).collect()
}

/// From each peak the time until the backlog is gone, in seconds: that of the fall from 0.9 to 0.2
/// of its height, drawn out to all of it.
fn drain_times(backlog: &[(f64, f64)], stalled: Stalled) -> Vec<f64> {
    let heights: Vec<f64> = backlog.iter().map(|(_, calls)| *calls).collect();
    let Some(calm) = quantile(&heights, CALM) else { return Vec::new() };
    let enough = calm + PEAK * stalled.rate * stalled.stall_s;
    let mut times = Vec::new();
    let mut index = 0;
    while index < backlog.len() {
        if backlog[index].1 < enough {
            index += 1;
            continue;
        }
        // The peak is the highest place before the backlog is calm again.
        let from = index;
        while index < backlog.len() && backlog[index].1 > calm + TO * (enough - calm) {
            index += 1;
        }
        let whole = from > 0 && index < backlog.len();
        let highest = (from..index).max_by(|a, b| backlog[*a].1.total_cmp(&backlog[*b].1));
        let Some(peak) = highest.filter(|_| whole) else { continue };
        let height = backlog[peak].1 - calm;
        let fall = &backlog[peak..=index];
        let at = |share: f64| crossing(fall, calm + share * height);
        if let (Some(begin), Some(end)) = (at(FROM), at(TO)) {
            times.push((end - begin) / (FROM - TO));
        }
    }
    times
}

/// When a falling curve is first at or below `level`, on straight lines between its points.
fn crossing(fall: &[(f64, f64)], level: f64) -> Option<f64> {
    fall.windows(2).find(|pair| pair[1].1 <= level).map(|pair| {
        let ((t0, y0), (t1, y1)) = (pair[0], pair[1]);
        t0 + (t1 - t0) * ((y0 - level) / (y0 - y1)).clamp(0.0, 1.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const STALLED: Stalled = Stalled { rate: 6000.0, stall_s: 0.2, every_s: 1.0 };

    /// Intervals of 20 ms at 6,000 calls/s; stalls at 0.1 s and 1.1 s; 12,000 calls/s after them.
    fn report() -> Value {
        let mut backlog = 40.0;
        let intervals = (0..100).map(|i| {
            let (start, due) = (f64::from(i) * 0.02, 120.0);
            let in_stall = matches!(i % 50, 5..15);
            let served = if in_stall { 0.0f64 } else { 240.0 };
            let calls = served.min(backlog + due - 40.0).max(0.0);
            backlog += due - calls;
            json!({"start_s": start, "end_s": start + 0.02, "calls": calls})
        });
        json!({ "intervals": intervals.collect::<Vec<_>>() })
    }

    /// 1,200 calls at 6,000 to spare: 200 ms.
    #[test]
    fn a_backlogs_fall_is_drawn_out_to_the_whole() {
        let times = drain_times(&backlog(&report(), 6000.0), STALLED);
        assert_eq!(times.len(), 2, "{times:?}");
        assert!(times.iter().all(|time| (time - 0.2).abs() < 0.005), "{times:?}");
    }

    #[test]
    fn a_calm_run_and_one_that_ends_in_its_fall_have_no_drain_time() {
        let calm: Vec<(f64, f64)> = (1..100).map(|i| (f64::from(i) * 0.02, 50.0)).collect();
        assert!(drain_times(&calm, STALLED).is_empty());
        assert!(drain_times(&[], STALLED).is_empty());
        let cut = backlog(&report(), 6000.0)[..16].to_vec();
        assert!(drain_times(&cut, STALLED).is_empty());
    }
}

//! Latency by percentile.

use super::super::block::{Cell, Figure, Table};
use crate::chart::{Axis, Chart, Mark, Scale, Series};
use crate::experiment::{Group, LineOf, Scalar};
use crate::results::Results;
use crate::words;
use std::collections::BTreeMap;

/// Percentiles of the table behind the chart.
const SHOWN: [f64; 6] = [0.5, 0.75, 0.9, 0.99, 0.999, 0.9999];
/// The chart ends where fewer calls than this are left: beyond, it would show single calls.
const CALLS_LEFT_MIN: f64 = 10.0;
/// Points of a curve; more cannot be told apart.
const POINTS_MAX: usize = 200;

/// Latency by percentile, one curve per point; rounds are put together.
pub(super) fn percentiles(
    line: &LineOf,
    at: &[Scalar],
    group: &Group,
    results: &Results<'_>,
) -> Option<Figure> {
    let shown: Vec<String> = SHOWN.iter().map(|p| format!("{} %", p * 100.0)).collect();
    let mut columns = vec![group.knob.label.as_str()];
    columns.extend(shown.iter().map(String::as_str));
    let mut numbers = Table::new(&columns);
    let mut series = Vec::new();
    for (colour, value) in at.iter().enumerate() {
        let merged = merged(line, value, results);
        let total: u64 = merged.values().sum();
        if total == 0 {
            continue;
        }
        let last = 1.0 - (CALLS_LEFT_MIN / total as f64).min(0.5);
        let quantile = |p: f64| quantile(&merged, total, p);
        let mut row = vec![Cell::number(value.to_string())];
        let cell = |p: &f64| match quantile(*p).filter(|_| *p <= last) {
            Some(us) => Cell::number(words::number(us)),
            None => Cell::number("n/a"),
        };
        row.extend(SHOWN.iter().map(cell));
        numbers.rows.push(row);
        let stretched = (1.0 - last).log10();
        let place = |i: usize| 1.0 - 10f64.powf(stretched * i as f64 / POINTS_MAX as f64);
        let mark = |p: f64| Some(Mark { x: p, y: quantile(p)?, bar: None });
        let points: Vec<Mark> = (0..=POINTS_MAX).filter_map(|i| mark(place(i))).collect();
        let name = format!("{} {value}", group.knob.label);
        series.push(Series { name, colour, points, ..Series::default() });
    }
    let ends = series.iter().flat_map(|s| &s.points);
    let (least, most) = (ends.clone().map(|m| m.y).reduce(f64::min)?, ends.clone().map(|m| m.y));
    let last = ends.map(|m| m.x).reduce(f64::max)?;
    let x = Axis { label: "percentile".into(), scale: Scale::Percentile { to: last } };
    let scale = Scale::log_around(least, most.fold(least, f64::max));
    let chart = Chart::new(x, Axis { label: "latency (us)".into(), scale }, series);
    let note = format!(
        "{}; {}; all rounds together; ends where {CALLS_LEFT_MIN} calls are left.",
        line.line,
        group.line(&line.line)?.latency_words()
    );
    Some(Figure {
        title: String::new(),
        svg: chart.svg("latency by percentile"),
        legend: chart.legend(),
        note: Some(note),
        numbers,
    })
}

/// Counts by the upper end of their bucket in nanoseconds, over all sound runs of a point.
fn merged(line: &LineOf, at: &Scalar, results: &Results<'_>) -> BTreeMap<u64, u64> {
    let mut merged = BTreeMap::new();
    for run in results.sound(line, at) {
        for bucket in run.report["histogram"].as_array().into_iter().flatten() {
            if let (Some(us), Some(count)) = (bucket[0].as_f64(), bucket[1].as_u64()) {
                *merged.entry((us * 1e3).round() as u64).or_default() += count;
            }
        }
    }
    merged
}

/// The upper end of the bucket that holds the call at this place.
fn quantile(merged: &BTreeMap<u64, u64>, total: u64, p: f64) -> Option<f64> {
    let rank = ((total as f64 * p).ceil() as u64).clamp(1, total);
    let mut seen = 0;
    let holds = |(ns, count): (&u64, &u64)| {
        seen += count;
        (seen >= rank).then_some(*ns as f64 / 1e3)
    };
    merged.iter().find_map(holds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_the_bucket_of_the_call_at_that_place() {
        let merged = BTreeMap::from([(1000, 50), (2000, 49), (9000, 1)]);
        for (p, expected) in [(0.0, 1.0), (0.5, 1.0), (0.51, 2.0), (0.99, 2.0), (1.0, 9.0)] {
            assert_eq!(quantile(&merged, 100, p), Some(expected), "{p}");
        }
    }
}

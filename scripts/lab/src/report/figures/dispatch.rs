//! Charts of the dispatch by key: batches by size, calls of each handler, a backlog over time.

use super::super::block::{Cell, Figure, Table};
use crate::chart::{Axis, Bars, COLOURS, Chart, Mark, Scale, Series};
use crate::drain;
use crate::experiment::{Group, LineOf, Scalar};
use crate::metric::Metric;
use crate::results::Results;
use crate::run::Record;
use crate::stats::median;
use crate::words;
use std::collections::BTreeMap;

/// How many of the batches had how many calls, for some values of the knob; rounds are put
/// together. Counted by powers of two.
pub(super) fn batch_sizes(
    line: &LineOf,
    at: &[Scalar],
    group: &Group,
    results: &Results<'_>,
) -> Option<Figure> {
    let mut counted: Vec<(usize, &Scalar, BTreeMap<u64, u64>)> = Vec::new();
    for (colour, value) in at.iter().enumerate() {
        let mut sizes = BTreeMap::new();
        for run in sound(line, value, results) {
            let buckets = &run.report["server"]["dispatch"]["batch_sizes"];
            for bucket in buckets.as_array().into_iter().flatten() {
                if let (Some(size), Some(count)) = (bucket[0].as_u64(), bucket[1].as_u64()) {
                    *sizes.entry(size).or_default() += count;
                }
            }
        }
        if sizes.values().sum::<u64>() > 0 {
            counted.push((colour, value, sizes));
        }
    }
    let least = *counted.iter().filter_map(|(_, _, sizes)| sizes.keys().next()).min()?;
    let most = *counted.iter().filter_map(|(_, _, sizes)| sizes.keys().last()).max()?;
    let buckets: Vec<u64> =
        std::iter::successors(Some(least), |size| size.checked_mul(2).filter(|s| *s <= most))
            .collect();
    let names: Vec<String> = buckets.iter().map(|&size| bucket_name(size)).collect();
    let label = group.knob.label.as_str();
    let mut numbers = Table::new(&["calls in a batch"]);
    numbers.rows = names.iter().map(|name| vec![Cell::text(name)]).collect();
    let mut series = Vec::new();
    for (colour, value, sizes) in counted {
        let all = sizes.values().sum::<u64>() as f64;
        let shares: Vec<f64> = buckets
            .iter()
            .map(|size| sizes.get(size).map_or(0.0, |count| *count as f64 / all * 100.0))
            .collect();
        numbers.columns.push(format!("{label} {value} (%)"));
        for (row, share) in numbers.rows.iter_mut().zip(&shares) {
            row.push(Cell::number(words::number(*share)));
        }
        series.push((format!("{label} {value}"), colour % COLOURS, shares));
    }
    let (x, y) = ("calls in a batch".to_owned(), "share of the batches (%)".to_owned());
    let bars = Bars { x, y, names, series };
    Some(Figure {
        title: String::new(),
        svg: bars.svg("batches by size"),
        legend: bars.legend(),
        note: Some(format!("{}; all rounds together.", line.line)),
        numbers,
    })
}

/// Batches are counted up to a power of two, from above the one before.
fn bucket_name(size: u64) -> String {
    if size <= 2 { size.to_string() } else { format!("{}-{size}", size / 2 + 1) }
}

/// A number of each element of a list at one point, medians over rounds: calls of each handler.
pub(super) fn each(
    line: &LineOf,
    at: &Scalar,
    list: &Metric,
    axis: &str,
    group: &Group,
    results: &Results<'_>,
) -> Option<Figure> {
    let runs: Vec<Vec<f64>> =
        sound(line, at, results).map(|run| list.each_of(&run.report)).collect();
    let one = |index: usize| {
        let of_runs: Option<Vec<f64>> = runs.iter().map(|run| run.get(index).copied()).collect();
        median(&of_runs?)
    };
    let found: Vec<f64> = (0..).map_while(one).collect();
    if found.len() < 2 {
        return None;
    }
    let names: Vec<String> = (0..found.len()).map(|index| index.to_string()).collect();
    let mut numbers = Table::new(&["", axis]);
    let rows = names.iter().zip(&found);
    numbers.rows = rows
        .map(|(name, number)| vec![Cell::number(name), Cell::number(words::number(*number))])
        .collect();
    let mean = found.iter().sum::<f64>() / found.len() as f64;
    let most = found.iter().copied().fold(0.0, f64::max);
    let name = format!("{} {at}", group.knob.label);
    let bars = Bars {
        x: "number".into(),
        y: axis.to_owned(),
        names,
        series: vec![(name.clone(), 0, found)],
    };
    Some(Figure {
        title: String::new(),
        svg: bars.svg(axis),
        legend: bars.legend(),
        note: Some(format!(
            "{}, {name}; medians over rounds; the most is {} of the mean.",
            line.line,
            words::percent(most / mean)
        )),
        numbers,
    })
}

/// Calls that were due and not answered, over the time of the last round's run.
pub(super) fn backlog(
    line: &LineOf,
    at: &[Scalar],
    group: &Group,
    results: &Results<'_>,
) -> Option<Figure> {
    let rate = group.line(&line.line)?.rate()?;
    let duration = group.duration.as_secs_f64();
    let mut series = Vec::new();
    for (colour, value) in at.iter().enumerate() {
        let Some(run) = sound(line, value, results).last() else { continue };
        let mut points = drain::backlog(&run.report, rate);
        // Behind its end nothing is due any more.
        points.retain(|(end_s, _)| *end_s <= duration + 1e-3);
        let points = points.into_iter().map(|(x, y)| Mark { x, y: y.max(0.0), bar: None });
        let name = format!("{} {value}", group.knob.label);
        series.push(Series { name, colour, points: points.collect(), ..Series::default() });
    }
    series.retain(|series| series.points.len() >= 2);
    let most = series.iter().flat_map(|s| &s.points).map(|m| m.y).reduce(f64::max)?;
    let chart = Chart {
        x: Axis {
            label: "time in the measured part (s)".into(),
            scale: Scale::Linear { from: 0.0, to: duration },
        },
        y: Axis { label: "calls due and not answered".into(), scale: Scale::from_zero(most) },
        series,
        shaded: Vec::new(),
    };
    Some(Figure {
        title: String::new(),
        svg: chart.svg("backlog over time"),
        legend: chart.legend(),
        note: Some(format!("{}, {} calls/s; the last round.", line.line, words::number(rate))),
        numbers: Table::default(),
    })
}

fn sound<'a>(
    line: &'a LineOf,
    at: &'a Scalar,
    results: &Results<'a>,
) -> impl Iterator<Item = &'a Record> + use<'a> {
    let of_point = |run: &&Record| run.is_of(&line.group, &line.line, at);
    results.runs.iter().filter(of_point).filter(|run| run.problem.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_stands_for_what_is_above_the_one_before() {
        let names: Vec<String> = [1, 2, 4, 8, 512].map(bucket_name).to_vec();
        assert_eq!(names, ["1", "2", "3-4", "5-8", "257-512"]);
    }
}

//! Charts of the dispatch by key: batches by size, calls of each handler, a backlog over time.

use super::super::block::{Cell, Figure, Table};
use crate::chart::{Axis, BarSeries, Bars, Chart, Mark, Scale, Series};
use crate::drain;
use crate::experiment::{Group, LineOf, Scalar};
use crate::metric::Metric;
use crate::results::Results;
use crate::stats::median;
use crate::words;
use std::collections::BTreeMap;

/// Batches are counted by powers of two.
const SIZES: &str = "calls in a batch: up to, and more than half of";

/// How many of the batches had how many calls, for some values of the knob; rounds are put
/// together.
pub(super) fn batch_sizes(
    line: &LineOf,
    at: &[Scalar],
    group: &Group,
    results: &Results<'_>,
) -> Option<Figure> {
    let mut counted: Vec<(usize, &Scalar, BTreeMap<u64, u64>)> = Vec::new();
    for (colour, value) in at.iter().enumerate() {
        let mut sizes = BTreeMap::new();
        for run in results.sound(line, value) {
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
    let names: Vec<String> = buckets.iter().map(u64::to_string).collect();
    let label = group.knob.label.as_str();
    let mut numbers = Table::new(&[SIZES]);
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
        series.push(BarSeries::of(format!("{label} {value}"), colour, shares));
    }
    let (x, y) = (SIZES.to_owned(), "share of the batches (%)".to_owned());
    let bars = Bars { x, y, names, series };
    Some(Figure {
        title: String::new(),
        svg: bars.svg("batches by size"),
        legend: bars.legend(),
        note: Some(format!("{}; all rounds together.", line.line)),
        numbers,
    })
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
        results.sound(line, at).map(|run| list.each_of(&run.report)).collect();
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
    // Of `sum(server.handlers[].calls)`: handlers.
    let whose = list.to_string();
    let whose = whose.split("[]").next().and_then(|path| path.rsplit(['.', '(']).next());
    let bars = Bars {
        x: format!("{}, by number", whose.unwrap_or_default()),
        y: axis.to_owned(),
        names,
        series: vec![BarSeries::of(name.clone(), 0, found)],
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
        let Some(run) = results.sound(line, value).last() else { continue };
        let mut points = drain::backlog(&run.report, rate);
        // Behind its end nothing is due any more.
        points.retain(|(end_s, _)| *end_s <= duration + 1e-3);
        let points = points.into_iter().map(|(x, y)| Mark { x, y: y.max(0.0), bar: None });
        let name = format!("{} {value}", group.knob.label);
        series.push(Series { name, colour, points: points.collect(), ..Series::default() });
    }
    series.retain(|series| series.points.len() >= 2);
    let most = series.iter().flat_map(|s| &s.points).map(|m| m.y).reduce(f64::max)?;
    let x = Axis {
        label: "time in the measured part (s)".into(),
        scale: Scale::Linear { from: 0.0, to: duration },
    };
    let y = Axis { label: "calls due and not answered".into(), scale: Scale::from_zero(most) };
    let chart = Chart::new(x, y, series);
    Some(Figure {
        title: String::new(),
        svg: chart.svg("backlog over time"),
        legend: chart.legend(),
        note: Some(format!("{}, {} calls/s; the last round.", line.line, words::number(rate))),
        numbers: Table::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Experiment, made_up};
    use crate::run::Record;
    use serde_json::json;

    const FILE: &str = r#"[[group]]
name = "g"
mode = "paced"
title = "G"
duration = "1s"
client = { rate = 100 }
knob = { option = "server.dispatch-batch", values = [10, 500], label = "batch" }
lines = [{ name = "x" }]
"#;

    fn experiment() -> Experiment {
        made_up(FILE)
    }

    /// Two rounds; at 10 all batches have up to 16 calls, at 500 three in four have more than 256.
    fn runs(experiment: &Experiment) -> Vec<Record> {
        let mut runs = Vec::new();
        for point in experiment.groups[0].points() {
            let large = point.at.number() == Some(500.0);
            let sizes = if large { json!([[64, 1], [512, 3]]) } else { json!([[16, 4]]) };
            for round in 1..=2 {
                let mut run = Record::from(&point);
                run.report = json!({
                    "server": {
                        "dispatch": {"batch_sizes": sizes},
                        "handlers": [{"calls": 10 * round}, {"calls": 30 * round}],
                    },
                    "intervals": [
                        {"start_s": 0.0, "end_s": 0.5, "calls": 40},
                        {"start_s": 0.5, "end_s": 1.0, "calls": 60},
                    ],
                });
                runs.push(run);
            }
        }
        runs
    }

    fn check(
        draw: impl Fn(&LineOf, &[Scalar], &Group, &Results<'_>) -> Option<Figure>,
        parts: &[&str],
    ) -> Figure {
        let experiment = experiment();
        let runs = runs(&experiment);
        let group = &experiment.groups[0];
        let line = LineOf { group: "g".into(), line: "x".into() };
        let none = Results { experiment: &experiment, runs: &[], predicted: &[], no_hadoop: None };
        assert!(draw(&line, &group.lines[0].values, group, &none).is_none());
        let results = Results { runs: &runs, ..none };
        let figure = draw(&line, &group.lines[0].values, group, &results).unwrap();
        for part in parts {
            assert!(figure.svg.contains(part), "{part} in {}", figure.svg);
        }
        assert!(!figure.svg.contains("NaN"));
        figure
    }

    #[test]
    fn batches_are_shown_as_shares_of_their_points() {
        let figure = check(batch_sizes, &["batch 10, 16: 100.0", "batch 500, 512: 75.0"]);
        assert_eq!(figure.numbers.rows.len(), 6, "16, 32, 64, 128, 256, 512");
        assert_eq!(figure.numbers.rows[2][2].plain(), "25");
    }

    #[test]
    fn every_handler_has_a_bar_of_its_median() {
        let list: Metric = "sum(server.handlers[].calls)".parse().unwrap();
        let draw = |line: &LineOf, at: &[Scalar], group: &Group, results: &Results<'_>| {
            each(line, &at[1], &list, "calls", group, results)
        };
        let figure = check(draw, &["handlers, by number", "batch 500, 0: 15.0"]);
        assert!(figure.note.unwrap().contains("the most is 150 % of the mean"));
    }

    #[test]
    fn a_backlog_is_what_was_due_and_is_not_answered() {
        let figure = check(backlog, &["calls due and not answered"]);
        assert_eq!(figure.legend.len(), 2);
        assert!(figure.note.unwrap().contains("100 calls/s"));
    }
}

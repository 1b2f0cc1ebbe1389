//! Ratios to a base: as curves against the knob, or as a map of lines and values.

use super::super::block::{Cell, Figure, Table};
use super::knob::KnobAxis;
use super::{Curve, chart, finish, series};
use crate::chart::{Chart, Heat};
use crate::experiment::{Base, Group, LineOf, PointOf, Scalar};
use crate::metric::Metric;
use crate::results::{Measured, Results};
use crate::words;

/// A ratio is seen from value to value: one decade of them is enough for powers of ten.
const DECADES_FROM: f64 = 10.0;

/// The ratio of each line to its base against the knob.
pub(super) fn curve(
    wanted: &Curve<'_>,
    base: &Base,
    group: &Group,
    results: &Results<'_>,
) -> Option<Figure> {
    let knob = KnobAxis::with(group, DECADES_FROM);
    let mut drawn = Vec::new();
    let mut numbers = Table::new(&["line", &group.knob.label, wanted.axis]);
    for (colour, name) in wanted.lines.iter().enumerate() {
        let line = LineOf { group: group.name.clone(), line: name.clone() };
        let one = |at: &Scalar| {
            let over = PointOf { line: line.clone(), at: at.clone() };
            let summary = results.ratio(wanted.metric, &over, &base.of(colour, at)?)?;
            Some(Measured { at: at.clone(), summary })
        };
        let curve: Vec<Measured> = results.values(&line).iter().filter_map(one).collect();
        for point in &curve {
            numbers.rows.push(vec![
                Cell::text(name),
                Cell::number(point.at.to_string()),
                Cell::number(words::ratio_with_ends(&point.summary)),
            ]);
        }
        if !curve.is_empty() {
            drawn.push(series(name, colour, &curve, &knob, wanted.unit));
        }
    }
    let chart = chart(drawn, knob, wanted.axis, wanted.unit)?;
    let chart = Chart { level: Some(1.0), ..chart };
    let mut figure = finish(&chart, wanted.axis, numbers);
    let note = words_of(base, wanted.lines, wanted.metric, group, results);
    figure.note = Some(format!("{note} The level line is at 1: equal."));
    Some(figure)
}

/// A row for each line, a column for each value of the knob.
pub(super) struct Map<'a> {
    pub(super) metric: &'a Metric,
    pub(super) what: &'a str,
    pub(super) lines: &'a [String],
    pub(super) values: &'a [Scalar],
    pub(super) base: &'a Base,
}

impl Map<'_> {
    /// The map; none if nothing of it was measured. What the short form of an experiment leaves
    /// out is no part of it, and what failed is.
    pub(super) fn figure(&self, group: &Group, results: &Results<'_>) -> Option<Figure> {
        let of = |line: &String| LineOf { group: group.name.clone(), line: line.clone() };
        let is_there = |(_, line): &(usize, LineOf)| !results.values(line).is_empty();
        let shown: Vec<(usize, LineOf)> =
            self.lines.iter().map(of).enumerate().filter(is_there).collect();
        let some_line_has = |at: &&Scalar| shown.iter().any(|(_, line)| results.has(line, at));
        let values: Vec<&Scalar> = self.values.iter().filter(some_line_has).collect();
        let cell = |index: usize, line: &LineOf, at: &Scalar| {
            let over = PointOf { line: line.clone(), at: at.clone() };
            Some(results.ratio(self.metric, &over, &self.base.of(index, at)?)?.median)
        };
        let row = |(index, line): &(usize, LineOf)| {
            let cells = values.iter().map(|at| cell(*index, line, at)).collect();
            (line.line.clone(), cells)
        };
        let rows: Vec<(String, Vec<Option<f64>>)> = shown.iter().map(row).collect();
        if !rows.iter().flat_map(|(_, cells)| cells).any(Option::is_some) {
            return None;
        }
        let columns: Vec<String> = values.iter().map(|at| at.to_string()).collect();
        let heat = Heat { x: group.knob.label.clone(), what: self.what.to_owned(), columns, rows };
        Some(Figure {
            title: String::new(),
            svg: heat.svg(self.what),
            legend: heat.legend(),
            note: Some(words_of(self.base, self.lines, self.metric, group, results)),
            numbers: table(&heat),
        })
    }
}

/// As in the drawing, for where it cannot be drawn.
fn table(heat: &Heat) -> Table {
    let first = format!("{}, by {}", heat.what, heat.x);
    let mut table = Table::new(&[first.as_str()]);
    table.columns.extend(heat.columns.iter().cloned());
    for (name, cells) in &heat.rows {
        let mut row = vec![Cell::text(name)];
        let cell = |cell: &Option<f64>| Cell::number(words::or_missing(cell.map(words::ratio)));
        row.extend(cells.iter().map(cell));
        table.rows.push(row);
    }
    table
}

/// What is divided by what, and how much of a ratio is chance.
fn words_of(
    base: &Base,
    lines: &[String],
    metric: &Metric,
    group: &Group,
    results: &Results<'_>,
) -> String {
    let of = base.lines.first().map_or(group.name.as_str(), |line| line.group.as_str());
    let elsewhere = Some(of).filter(|of| *of != group.name);
    let renamed = lines.iter().zip(&base.lines).any(|(line, base)| *line != base.line);
    let whose = match renamed {
        false => "that of the same line".to_owned(),
        true => {
            // Names of lines differ in the same way: the first pair tells how the others go.
            let and_so_on = if lines.len() > 1 { ", and so on" } else { "" };
            let pair = lines.first().zip(base.lines.first());
            let pair = pair.map(|(line, base)| format!("\"{line}\" by \"{}\"", base.line));
            format!("that of another line ({}{and_so_on})", pair.unwrap_or_default())
        }
    };
    let title = |name| results.experiment.group(name).map_or(name, |group| &group.title);
    let place = elsewhere.map_or(String::new(), |name| format!(" in \"{}\"", title(name)));
    let at = base.at.as_ref().map_or(String::new(), |at| format!(" at {at}"));
    let noise = [Some(group.name.as_str()), elsewhere];
    let noise = noise.into_iter().flatten().filter_map(|name| results.noise(metric, name));
    let noise = match noise.reduce(f64::max) {
        Some(noise) => format!("two equal runs differ by x {noise:.2}"),
        None => "what two equal runs differ by was not measured".to_owned(),
    };
    format!("Medians over the rounds, each divided by {whose}{place}{at}; {noise}.")
}

#[cfg(test)]
mod tests;

//! From a panel and results to a chart. A panel for which nothing was measured gives none: an empty
//! chart would look like a result.

use super::block::{Cell, Figure, Table};
use crate::chart::{Axis, BarSeries, Bars, Chart, Entry, Key, Mark, Scale, Series, Stacked};
use crate::experiment::{Group, LineOf, Panel, PanelKind, PointOf, Scalar, Unit};
use crate::metric::Metric;
use crate::results::{Measured, Results};
use crate::words;
use knob::KnobAxis;

mod dispatch;
mod knob;
mod latency;
mod law;
mod ratio;
mod timeline;

/// The stages of a call and their names in the client's report, in the order of its life.
const STAGES: [(&str, &str); 6] = [
    ("reader: read, decoded", "decoded"),
    ("handed to the queue", "queued"),
    ("in the call queue", "taken"),
    ("handler", "served"),
    ("reply written", "written"),
    ("client and network", "rest"),
];

/// The chart of a panel.
pub(super) fn figure(panel: &Panel, results: &Results<'_>) -> Option<Figure> {
    let group = results.experiment.group(&panel.group)?;
    let mut figure = match &panel.kind {
        PanelKind::Curve { metric, axis, unit, lines, model, base } => {
            let wanted = Curve { metric, axis, unit: *unit, lines, model: *model };
            match base {
                Some(base) => ratio::curve(&wanted, base, group, results),
                None => curve(&wanted, group, results),
            }
        }
        PanelKind::Heat { metric, what, lines, values, base } => {
            let map = ratio::Map { metric, what, lines, values, base };
            map.figure(group, results)
        }
        PanelKind::Several { line, metrics, axis, unit } => {
            several(line, metrics, axis, *unit, group, results)
        }
        PanelKind::Stages { line } => stages(line, group, results),
        PanelKind::Percentiles { line, at } => latency::percentiles(line, at, group, results),
        PanelKind::Timeline { lines, at, p99 } => {
            timeline::figure((lines, at), *p99, group, results)
        }
        PanelKind::BatchSizes { line, at } => dispatch::batch_sizes(line, at, group, results),
        PanelKind::Each { line, at, metric, axis } => {
            dispatch::each(line, at, metric, axis, group, results)
        }
        PanelKind::Backlog { line, at } => dispatch::backlog(line, at, group, results),
    }?;
    figure.title.clone_from(&panel.title);
    let note = [panel.note.clone(), figure.note.take()].into_iter().flatten();
    let note = note.collect::<Vec<_>>().join(" ");
    figure.note = (!note.is_empty()).then_some(note);
    Some(figure)
}

struct Curve<'a> {
    metric: &'a Metric,
    axis: &'a str,
    unit: Unit,
    lines: &'a [String],
    model: bool,
}

fn curve(wanted: &Curve<'_>, group: &Group, results: &Results<'_>) -> Option<Figure> {
    let knob = KnobAxis::of(group);
    let mut drawn = Vec::new();
    let mut numbers = Table::new(&["line", &group.knob.label, wanted.axis, "model"]);
    let mut laws = law::Laws::default();
    for (colour, name) in wanted.lines.iter().enumerate() {
        let line = LineOf { group: group.name.clone(), line: name.clone() };
        let curve = results.curve(wanted.metric, &line);
        if curve.is_empty() {
            continue;
        }
        let said = |m: &Measured| results.predicted(&line, &m.at).filter(|_| wanted.model);
        for point in &curve {
            numbers.rows.push(vec![
                Cell::text(name),
                Cell::number(point.at.to_string()),
                Cell::number(words::with_ends_in(&point.summary, wanted.unit)),
                Cell::number(said(point).map_or("".into(), |p| words::number(p.calls_per_s))),
            ]);
        }
        laws.add(colour, name, curve.iter().filter_map(|m| Some((knob.place(&m.at)?, said(m)?))));
        drawn.push(series(name, colour, &curve, &knob, wanted.unit));
    }
    if !wanted.model {
        numbers.columns.pop();
        numbers.rows.iter_mut().for_each(|row| row.truncate(3));
    }
    let few = knob.few().filter(|_| laws.series.is_empty() && drawn.len() > 1);
    if let Some(values) = few {
        return Some(bars(drawn, values, knob, wanted, numbers));
    }
    let note = laws.note();
    let law::Laws { series: mut all, knees, .. } = laws;
    all.extend(drawn);
    let chart = chart(all, knob, wanted.axis, wanted.unit)?;
    let chart = Chart { knees, ..chart };
    Some(Figure { note, ..finish(&chart, wanted.axis, numbers) })
}

fn several(
    line: &LineOf,
    metrics: &[(String, Metric)],
    axis: &str,
    unit: Unit,
    group: &Group,
    results: &Results<'_>,
) -> Option<Figure> {
    let knob = KnobAxis::of(group);
    let mut drawn = Vec::new();
    let mut numbers = Table::new(&["", &group.knob.label, axis]);
    for (colour, (name, metric)) in metrics.iter().enumerate() {
        let curve = results.curve(metric, line);
        for point in &curve {
            numbers.rows.push(vec![
                Cell::text(name),
                Cell::number(point.at.to_string()),
                Cell::number(words::with_ends_in(&point.summary, unit)),
            ]);
        }
        if !curve.is_empty() {
            drawn.push(series(name, colour, &curve, &knob, unit));
        }
    }
    let mut figure = finish(&chart(drawn, knob, axis, unit)?, axis, numbers);
    figure.note = Some(format!("{}.", line.line));
    Some(figure)
}

fn series(name: &str, colour: usize, curve: &[Measured], knob: &KnobAxis, unit: Unit) -> Series {
    let scale = if unit == Unit::Share { 100.0 } else { 1.0 };
    let mark = |m: &Measured| {
        let bar = (m.summary.count > 1).then_some((m.summary.min * scale, m.summary.max * scale));
        Some(Mark { x: knob.place(&m.at)?, y: m.summary.median * scale, bar })
    };
    let points = curve.iter().filter_map(mark).collect();
    Series { name: name.to_owned(), colour, dashed: false, marked: true, points }
}

/// A line between two values of the knob would say something of those between them: bars do not.
fn bars(
    drawn: Vec<Series>,
    values: Vec<(f64, String)>,
    knob: KnobAxis,
    wanted: &Curve<'_>,
    numbers: Table,
) -> Figure {
    let heights = |series: &Series| {
        let at = |(x, _): &(f64, String)| series.points.iter().find(|mark| mark.x == *x).copied();
        values.iter().map(at).collect()
    };
    let bar = |series: &Series| BarSeries {
        name: series.name.clone(),
        colour: series.colour,
        heights: heights(series),
    };
    let bars = Bars {
        x: knob.axis.label,
        y: labelled(wanted.axis, wanted.unit),
        series: drawn.iter().map(bar).collect(),
        names: values.iter().map(|(_, name)| name.clone()).collect(),
    };
    let (svg, legend) = (bars.svg(wanted.axis), bars.legend());
    Figure { title: String::new(), svg, legend, note: None, numbers }
}

/// An axis with its unit.
fn labelled(axis: &str, unit: Unit) -> String {
    match unit {
        Unit::CallsPerS => format!("{axis} (calls/s)"),
        Unit::Us => format!("{axis} (us)"),
        Unit::Share => format!("{axis} (%)"),
        Unit::Count => axis.to_owned(),
    }
}

/// Lines against the knob; none without a point.
fn chart(series: Vec<Series>, knob: KnobAxis, axis: &str, unit: Unit) -> Option<Chart> {
    let marks = || series.iter().flat_map(|series| &series.points);
    let most = marks().map(|m| m.bar.map_or(m.y, |(_, high)| high.max(m.y))).reduce(f64::max)?;
    let y = match unit {
        // A share is seen against the whole, and one hair above it is the clock's.
        Unit::Share => Scale::from_zero(if most < 105.0 { 100.0 } else { most }),
        Unit::CallsPerS | Unit::Us | Unit::Count => Scale::from_zero(most),
    };
    Some(Chart::new(knob.axis, Axis { label: labelled(axis, unit), scale: y }, series))
}

fn finish(chart: &Chart, axis: &str, numbers: Table) -> Figure {
    // Predictions share one entry, the last.
    let (mut legend, mut models): (Vec<_>, Vec<_>) =
        chart.legend().into_iter().partition(|entry| entry.key != Key::Dashed);
    models.truncate(1);
    legend.extend(models);
    if let Some((colour, _)) = chart.knees.first() {
        legend.push(Entry { colour: *colour, key: Key::Knee, name: law::KNEE.to_owned() });
    }
    Figure { title: String::new(), svg: chart.svg(axis), legend, note: None, numbers }
}

fn stages(line: &LineOf, group: &Group, results: &Results<'_>) -> Option<Figure> {
    let values = &group.line(&line.line)?.values;
    let mean = |stage: &str, at: &Scalar| {
        let metric: Metric = format!("stages_us.{stage}.mean").parse().ok()?;
        let point = PointOf { line: line.clone(), at: at.clone() };
        Some(results.summary(&metric, &point)?.median)
    };
    let known: Vec<&Scalar> = values.iter().filter(|at| mean("rest", at).is_some()).collect();
    if known.is_empty() {
        return None;
    }
    let mut numbers = Table::new(&[&group.knob.label]);
    numbers.rows = known.iter().map(|at| vec![Cell::number(at.to_string())]).collect();
    let mut parts = Vec::new();
    for (name, stage) in STAGES {
        let means: Vec<f64> = known.iter().map(|at| mean(stage, at).unwrap_or(0.0)).collect();
        numbers.columns.push(format!("{name} (us)"));
        for (row, mean) in numbers.rows.iter_mut().zip(&means) {
            row.push(Cell::number(words::number(*mean)));
        }
        parts.push((name.to_owned(), means));
    }
    let names = known.iter().map(|at| at.to_string()).collect();
    let y = "mean time of a call (us)".to_owned();
    let stacked = Stacked { x: group.knob.label.clone(), y, names, parts };
    Some(Figure {
        title: String::new(),
        svg: stacked.svg("mean time of a call by stage"),
        legend: stacked.legend(),
        note: Some(format!("{}; sampled calls, medians over rounds.", line.line)),
        numbers,
    })
}

#[cfg(test)]
mod tests;

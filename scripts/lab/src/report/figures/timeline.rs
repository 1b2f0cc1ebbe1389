//! Runs over their time.

use super::super::block::{Figure, Table};
use crate::chart::{Axis, Chart, Mark, Scale, Series};
use crate::experiment::{Group, LineOf, Pause, Scalar};
use crate::results::Results;
use serde_json::Value;

/// Above the curves there is room for what is written on the shaded stretches.
const HEADROOM: f64 = 1.12;

/// The last round's runs over their time, one curve for each line and value of the knob.
pub(super) fn figure(
    (lines, at): (&[LineOf], &[Scalar]),
    p99: bool,
    group: &Group,
    results: &Results<'_>,
) -> Option<Figure> {
    let (field, label) = match p99 {
        true => ("p99_us", "99th percentile (us)"),
        false => ("calls_per_s", "throughput (calls/s)"),
    };
    let runs = lines.iter().flat_map(|line| at.iter().map(move |value| (line, value)));
    let mut series = Vec::new();
    for (colour, (line, value)) in runs.enumerate() {
        let Some(run) = results.sound(line, value).last() else { continue };
        let points = points(&run.report, field, group.duration.as_secs_f64());
        let name = match lines.len() {
            1 => format!("{} {value}", group.knob.label),
            _ => line.line.clone(),
        };
        series.push(Series { name, colour, marked: true, points, ..Series::default() });
    }
    series.retain(|series| series.points.len() >= 2);
    let most = series.iter().flat_map(|s| &s.points).map(|m| m.y).reduce(f64::max)?;
    let (warmup, duration) = (group.warmup.as_secs_f64(), group.duration.as_secs_f64());
    let scale = Scale::Linear { from: -warmup, to: duration };
    let x = Axis { label: "time in the measured part (s)".into(), scale };
    let y = Axis { label: label.into(), scale: Scale::from_zero(most * HEADROOM) };
    let mut shaded = vec![(-warmup, 0.0, "warm-up".into())];
    shaded.extend(pause(lines, group).map(|pause| {
        let from = pause.at.as_secs_f64();
        let to = from + pause.length.as_secs_f64();
        (from, to, format!("follower {} stopped", pause.follower))
    }));
    let chart = Chart { shaded, ..Chart::new(x, y, series) };
    let whose = match lines {
        [line] => line.line.clone(),
        _ => format!("{} {}", group.knob.label, at.first()?),
    };
    Some(Figure {
        title: String::new(),
        svg: chart.svg(label),
        legend: chart.legend(),
        note: Some(format!(
            "{whose}; the last round. The warm-up is counted apart and not recorded."
        )),
        // Dozens of rows for each curve say less than the drawing.
        numbers: Table::default(),
    })
}

/// The intervals of a run that lie in its measured part.
fn points(report: &Value, field: &str, duration_s: f64) -> Vec<Mark> {
    let mut points = Vec::new();
    let mut length = 0.0;
    for interval in report["intervals"].as_array().into_iter().flatten() {
        let number = |name: &str| interval.get(name).and_then(Value::as_f64);
        let (Some(start), Some(end), Some(y)) = (number("start_s"), number("end_s"), number(field))
        else {
            continue;
        };
        // What is left at the end of the run is no interval like the others.
        length = f64::max(length, end - start);
        if end > duration_s + 1e-3 || end - start < length / 2.0 {
            continue;
        }
        points.push(Mark { x: (start + end) / 2.0, y, bar: None });
    }
    points
}

/// When a follower stands still, if that is the same for all of the lines.
fn pause(lines: &[LineOf], group: &Group) -> Option<Pause> {
    let mut pauses = lines.iter().map(|line| group.line(&line.line).and_then(|line| line.pause));
    let first = pauses.next()??;
    pauses.all(|pause| pause == Some(first)).then_some(first)
}

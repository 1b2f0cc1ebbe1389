//! What points carried that other points take their rate from.

use super::record::Record;
use crate::experiment::{Experiment, Point, PointOf, RateOf, Scalar, Side};
use crate::metric::Metric;
use crate::stats::median;
use crate::words;
use serde::{Deserialize, Serialize};

/// The rate of a run, and where it comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Matched {
    /// This share of what that point carried.
    pub share: f64,
    /// Its group.
    pub group: String,
    /// Its line.
    pub line: String,
    /// Its value of the knob.
    pub at: Scalar,
    /// The median of its sound runs.
    pub carried_per_s: f64,
    /// What is counted: `records` where there are streams, else `calls`.
    pub unit: String,
    /// The rate.
    pub per_s: u32,
}

impl Matched {
    /// `70 % of what acks=1 at 5 (sizes) carried: 84,000 records/s`.
    pub fn words(&self) -> String {
        let Matched { share, group, line, at, unit, per_s, .. } = self;
        let (share, rate) = (words::percent(*share), words::number(f64::from(*per_s)));
        format!("{share} of what {line} at {at} ({group}) carried: {rate} {unit}/s")
    }
}

/// The numbers of those points, as they come.
pub(super) struct Sources {
    points: Vec<(PointOf, Vec<f64>)>,
}

impl Sources {
    /// All that the experiment needs.
    pub(super) fn of(experiment: &Experiment) -> Sources {
        let points = experiment.groups.iter().flat_map(|group| group.points());
        let mut sources: Vec<(PointOf, Vec<f64>)> = Vec::new();
        for rate in points.filter_map(|point| point.rate) {
            if sources.iter().all(|(point, _)| *point != rate.point) {
                sources.push((rate.point, Vec::new()));
            }
        }
        Sources { points: sources }
    }

    /// Takes note of a run, if it is one of theirs and sound.
    pub(super) fn note(&mut self, record: &Record) {
        for (point, numbers) in &mut self.points {
            if record.is_of(&point.line.group, &point.line.line, &point.at) {
                numbers.extend(record.number(&carried(unit(record))));
            }
        }
    }

    /// Gives a point its rate, and says what it is; or why there is none.
    pub(super) fn settle(&self, point: &mut Point) -> Result<Option<Matched>, String> {
        let Some(RateOf { share, point: source }) = &point.rate else { return Ok(None) };
        let found = self.points.iter().find(|(point, _)| point == source);
        let numbers = found.map_or(&[][..], |(_, numbers)| numbers.as_slice());
        let PointOf { line, at } = source;
        let Some(carried_per_s) = median(numbers).filter(|rate| *rate > 0.0) else {
            return Err(format!(
                "its rate is {} of what {} at {at} ({}) carries, which has no sound run",
                words::percent(*share),
                line.line,
                line.group
            ));
        };
        let per_s = (share * carried_per_s).round().clamp(1.0, f64::from(u32::MAX)) as u32;
        let unit = if is_of_records(point) { "records" } else { "calls" };
        let matched = Matched {
            share: *share,
            group: line.group.clone(),
            line: line.line.clone(),
            at: at.clone(),
            carried_per_s,
            unit: unit.to_owned(),
            per_s,
        };
        point.options.set(Side::Client, "rate", Scalar::whole(per_s));
        Ok(Some(matched))
    }
}

/// What the client counts by its rate.
fn is_of_records(point: &Point) -> bool {
    point.options.get(Side::Client, "streams").is_some()
}

fn unit(record: &Record) -> &'static str {
    if record.report["records"].is_object() { "records" } else { "calls" }
}

fn carried(unit: &str) -> Metric {
    let path = if unit == "records" { "records.records_per_s" } else { "calls_per_s" };
    path.parse().expect("it is a path")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::made_up;
    use serde_json::{Value, json};

    const FILE: &str = r#"[[group]]
name = "full"
mode = "real"
title = "F"
client = { streams = 9 }
knob = { option = "client.in-flight", values = [1, 5] }
[[group]]
name = "part"
mode = "real"
title = "P"
client = { streams = 9 }
knob = { option = "client.in-flight", values = [1, 2] }
rate = { share = 0.7, of = { group = "full", at = 5 } }
"#;

    fn run(point: &Point, report: Value) -> Record {
        Record { report, ..Record::from(point) }
    }

    #[test]
    fn a_rate_is_a_share_of_the_median_of_the_sound_runs_of_its_source() {
        let experiment = made_up(FILE);
        let mut sources = Sources::of(&experiment);
        assert_eq!(sources.points.len(), 1);
        let full = experiment.groups[0].points();
        let mut part = experiment.groups[1].points().remove(0);
        let why = sources.settle(&mut part).unwrap_err();
        assert_eq!(
            why,
            "its rate is 70 % of what full at 5 (full) carries, which has no sound run"
        );
        let carried = |rate: f64| json!({"calls_per_s": 1.0, "records": {"records_per_s": rate}});
        for rate in [120_000.0, 90_000.0, 100_000.0] {
            sources.note(&run(&full[1], carried(rate)));
        }
        sources.note(&run(&full[0], carried(1.0)));
        let problem = Some("it was not sound".to_owned());
        sources.note(&Record { problem, ..run(&full[1], carried(1.0)) });
        let matched = sources.settle(&mut part).unwrap().unwrap();
        assert_eq!((matched.per_s, matched.carried_per_s), (70_000, 100_000.0));
        assert_eq!(matched.words(), "70 % of what full at 5 (full) carried: 70,000 records/s");
        let arguments = part.options.arguments(Side::Client);
        assert!(arguments.contains(&"--rate=70000".to_owned()), "{arguments:?}");
        assert_eq!(sources.settle(&mut full[0].clone()), Ok(None));
    }

    #[test]
    fn without_streams_calls_are_counted() {
        let text = FILE.replace("client = { streams = 9 }\n", "");
        let experiment = made_up(&text);
        let mut sources = Sources::of(&experiment);
        let source = &experiment.groups[0].points()[1];
        sources.note(&run(source, json!({"calls_per_s": 1000.0, "records": null})));
        let mut point = experiment.groups[1].points().remove(1);
        let matched = sources.settle(&mut point).unwrap().unwrap();
        assert_eq!((matched.per_s, matched.unit.as_str()), (700, "calls"));
    }
}

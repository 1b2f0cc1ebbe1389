//! Which numbers a report has: what a metric may name.
//!
//! Those of measured runs stand in `fields.txt`. Nobody has to think of it: a test runs the real
//! pair in all its kinds and compares; it says which lines are missing, and which are of nothing.
//! Those of simulated runs are taken from the simulators themselves.

use crate::experiment::{Group, Mode};
use crate::run;
use serde_json::Value;
use std::collections::BTreeSet;

/// How many paths are named instead of one that is not there.
const NEAREST: usize = 3;

/// Paths of numbers, as a metric writes them. One that ends with `.*` stands for all below it:
/// names that a report makes as it goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    numbers: BTreeSet<String>,
    /// Words where they are not null, which some always are on some host: no metric may name them.
    words: BTreeSet<String>,
}

impl Fields {
    /// Of a measured run: the client's report, and what the lab adds to it.
    pub fn measured() -> Fields {
        let lines = include_str!("fields.txt").lines().map(str::trim);
        let mut fields = Fields::default();
        for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
            match line.strip_prefix("no number: ") {
                Some(word) => fields.words.insert(word.to_owned()),
                None => fields.numbers.insert(line.to_owned()),
            };
        }
        fields
    }

    /// Of one report: its numbers, and what is null in it, which may be a number next time.
    pub fn of(report: &Value) -> Fields {
        let mut fields = Fields::default();
        fields.collect(report, "");
        fields
    }

    fn collect(&mut self, value: &Value, path: &str) {
        match value {
            Value::Number(_) | Value::Null => {
                self.numbers.insert(path.to_owned());
            }
            Value::Bool(_) | Value::String(_) => {}
            Value::Object(fields) => {
                for (name, value) in fields {
                    let dot = if path.is_empty() { "" } else { "." };
                    self.collect(value, &format!("{path}{dot}{name}"));
                }
            }
            // No metric goes into a list that is the element of another.
            Value::Array(_) if path.ends_with("[]") => {}
            Value::Array(elements) => {
                elements.iter().for_each(|value| self.collect(value, &format!("{path}[]")));
            }
        }
    }

    /// The same; below `name`, which depends on what is asked for, anything may be.
    fn open(mut self, name: &str) -> Fields {
        self.numbers.retain(|path| !path.starts_with(&format!("{name}.")));
        self.numbers.insert(format!("{name}.*"));
        self
    }

    /// Whether a report may have a number there.
    pub fn has(&self, path: &str) -> bool {
        let above = |field: &String| {
            field
                .strip_suffix('*')
                .is_some_and(|above| path.strip_prefix(above).is_some_and(|name| !name.is_empty()))
        };
        self.numbers.contains(path) || self.numbers.iter().any(above)
    }

    /// Whether it is known what a report has there; or below, if it is null there.
    pub fn knows(&self, path: &str) -> bool {
        let below = |field: &String| {
            field.strip_prefix(path).is_some_and(|rest| rest.starts_with(['.', '[']))
        };
        self.has(path) || self.words.contains(path) || self.numbers.iter().any(below)
    }

    /// All that are known, words too, but for those that stand for more.
    pub fn named(&self) -> impl Iterator<Item = &str> {
        let all = self.numbers.iter().chain(&self.words).map(String::as_str);
        all.filter(|path| !path.ends_with('*'))
    }

    /// Those that `path` may have been meant to be.
    pub fn nearest(&self, path: &str) -> Vec<&str> {
        let mut by_distance: Vec<(usize, &str)> = self
            .numbers
            .iter()
            .map(|field| (strsim::osa_distance(path, field), field.as_str()))
            .collect();
        by_distance.sort();
        by_distance.into_iter().take(NEAREST).map(|(_, field)| field).collect()
    }
}

/// Those of each kind of run.
#[derive(Clone, Debug)]
pub struct Reports {
    measured: Fields,
    pipeline: Fields,
    keyed: Fields,
}

impl Reports {
    /// As the programs and the simulators have them.
    pub fn known() -> anyhow::Result<Reports> {
        let [pipeline, keyed] = run::simulated_reports()?;
        let [pipeline, keyed] = [pipeline, keyed].map(|report| Fields::of(&report).open("setup"));
        Ok(Reports { measured: Fields::measured(), pipeline, keyed })
    }

    /// Of the runs of one line, and what such a run is called.
    pub fn of(&self, group: &Group, line: &str) -> (&Fields, &'static str) {
        let is_keyed = || {
            let points = group.points();
            let mut of_line = points.iter().filter(|point| point.line == line);
            of_line.any(|point| run::is_keyed(&point.options))
        };
        match group.mode {
            Mode::Real | Mode::Paced => (&self.measured, "a measured run"),
            Mode::Simulated if is_keyed() => (&self.keyed, "a simulated dispatch by key"),
            Mode::Simulated => (&self.pipeline, "a simulated run"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_and_what_is_null_are_fields_and_words_are_none() {
        let report = json!({
            "a": 1, "text": "x", "on": true, "null": null, "inner": {"b": 2.5},
            "list": [{"c": 1}, {"d": 2, "name": "x"}], "pairs": [[1, 2]], "empty": [], "none": {},
        });
        let fields = Fields::of(&report);
        let expected = ["a", "inner.b", "list[].c", "list[].d", "null"];
        assert_eq!(fields.named().collect::<Vec<_>>(), expected);
        assert!(fields.has("inner.b") && !fields.has("inner") && !fields.has("text"));
        assert_eq!(fields.nearest("list.d")[..2], ["list[].d", "list[].c"]);
    }

    #[test]
    fn a_star_stands_for_names_that_are_not_known_before() {
        let numbers = BTreeSet::from(["server.limits.*".to_owned()]);
        let fields = Fields { numbers, ..Fields::default() };
        assert!(fields.has("server.limits.rejected"));
        assert!(!fields.has("server.limits") && !fields.has("server.limits."));
    }

    #[test]
    fn every_kind_of_run_has_a_rate_and_latencies_and_simulated_ones_no_client() {
        let reports = Reports::known().unwrap();
        for fields in [&reports.measured, &reports.pipeline, &reports.keyed] {
            assert!(fields.has("calls_per_s") && fields.has("latency_us.p99"));
        }
        assert!(reports.pipeline.has("readers.busiest_share"));
        assert!(reports.keyed.has("serial_busy_share"));
        assert!(!reports.pipeline.has("cpu_us_per_call.client"));
    }
}

//! What a metric may name is what reports have.

use crate::kit::{Place, header, lab, stderr, text};
use echo_lab::fields::Fields;
use serde_json::Value;
use std::collections::BTreeSet;

/// Every kind of run: records with followers, one of which stands still; keys; calls that fail,
/// behind a line that the gate looks at.
const GROUPS: &str = r#"
[[group]]
name = "records"
mode = "real"
title = "Records"
rounds = 1
duration = "300ms"
warmup = "50ms"
followers = 1
client = { streams = 3, acks = "all", rate = 3000, net-delay = "100us", interval = "50ms" }
pause = { follower = 1, at = "100ms", for = "50ms" }
knob = { option = "client.in-flight", values = [2] }
[[group]]
name = "keys"
mode = "real"
title = "Keys"
rounds = 1
duration = "300ms"
warmup = "50ms"
server = { dispatch = "keyed" }
client = { keys = 50, rate = 300, stages = 10 }
knob = { option = "client.in-flight", values = [2] }
[[group]]
name = "failures"
mode = "paced"
title = "Failures"
rounds = 1
duration = "700ms"
warmup = "1ms"
knob = { option = "client.in-flight", values = [2] }
lines = [
  { name = "fine" },
  { name = "framed", client = { protocol = "hadoop" } },
  { name = "late", server = { handler-cost = "paced:1s" }, client = { timeout = "100ms" } },
]
"#;

/// Maps of what was asked for, or of names that are made as a run goes.
const OPEN: [&str; 4] = ["checks[].numbers", "options", "server.limits", "verdict.limits_acted"];

#[test]
fn what_a_metric_may_name_is_what_reports_have() {
    let place = Place::new();
    let file = place.file("kinds.toml", &(header("kinds", 100) + GROUPS));
    let ended = lab(&["run", &file, "--out", text(&place.path("r"))]);
    assert_eq!(ended.status.code(), Some(1), "the late calls: {}", stderr(&ended));
    let runs = place.read("r/runs.jsonl");
    let mut seen = Seen::default();
    for line in runs.lines() {
        seen.look(&serde_json::from_str::<Value>(line).unwrap()["report"], "");
    }
    assert_eq!(runs.lines().count(), 5, "{}", stderr(&ended));
    let known = Fields::measured();
    let missing: Vec<&String> =
        seen.numbers.iter().chain(seen.only_null()).filter(|path| !known.knows(path)).collect();
    let nothing: Vec<&str> = known.named().filter(|path| !seen.may_have(path)).collect();
    assert!(
        missing.is_empty() && nothing.is_empty(),
        "fields.txt lacks {missing:#?} and has what no report has: {nothing:#?}"
    );
}

/// Paths in the reports, by what is there.
#[derive(Default)]
struct Seen {
    numbers: BTreeSet<String>,
    words: BTreeSet<String>,
    /// Null or an empty list: what this host or that run has not.
    missing: BTreeSet<String>,
}

impl Seen {
    fn look(&mut self, value: &Value, path: &str) {
        match value {
            Value::Object(_) if OPEN.contains(&path) => {}
            Value::Object(fields) => {
                for (name, value) in fields {
                    let dot = if path.is_empty() { "" } else { "." };
                    self.look(value, &format!("{path}{dot}{name}"));
                }
            }
            // No metric goes into a list that is the element of another.
            Value::Array(_) if path.ends_with("[]") => _ = self.words.insert(path.to_owned()),
            Value::Array(elements) if !elements.is_empty() => {
                elements.iter().for_each(|value| self.look(value, &format!("{path}[]")));
            }
            Value::Null | Value::Array(_) => _ = self.missing.insert(path.to_owned()),
            Value::Number(_) => _ = self.numbers.insert(path.to_owned()),
            Value::Bool(_) | Value::String(_) => _ = self.words.insert(path.to_owned()),
        }
    }

    /// What had no value in any report.
    fn only_null(&self) -> impl Iterator<Item = &String> {
        let has_value = |path: &str| {
            let mut values = self.numbers.iter().chain(&self.words);
            values.any(|value| value == path || is_below(value, path))
        };
        self.missing.iter().filter(move |path| !has_value(path))
    }

    /// Whether a report had it, or might have had it where it had nothing.
    fn may_have(&self, path: &str) -> bool {
        let is_there = self.numbers.contains(path) || self.words.contains(path);
        is_there || self.missing.iter().any(|above| path == above || is_below(path, above))
    }
}

fn is_below(path: &str, above: &str) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.starts_with(['.', '[']))
}

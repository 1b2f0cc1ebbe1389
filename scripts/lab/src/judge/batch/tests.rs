//! Claims of the read-batch experiment against made-up runs.

use super::super::{Finding, Verdict, judge};
use crate::experiment::{Experiment, made_up};
use crate::results::Results;
use crate::run::Record;
use serde_json::{Value, json};

const FILE: &str = r#"[[group]]
name = "g"
mode = "paced"
title = "G"
knob = { option = "server.dispatch-batch", values = [100, 250, 500, 1000] }
twin = { line = "one", at = 100 }
lines = [{ name = "one" }, { name = "two" }, { name = "four" }]
[[group]]
name = "stalls"
mode = "paced"
title = "S"
server = { stall-every = "1s", stall = "200ms" }
client = { rate = 6000, arrivals = "uniform" }
knob = { option = "server.dispatch-batch", values = [100, 250] }
"#;

const BATCHES: [f64; 4] = [100.0, 250.0, 500.0, 1000.0];

fn experiment(claim: &str) -> Experiment {
    made_up(&format!("{FILE}[[claim]]\ntext = \"C\"\n{claim}\n"))
}

/// Three rounds of all points that `report` has something to say of.
fn runs(experiment: &Experiment, report: impl Fn(&str, f64) -> Option<Value>) -> Vec<Record> {
    let mut runs = Vec::new();
    for point in experiment.groups.iter().flat_map(crate::experiment::Group::points) {
        let line = if point.group == "stalls" { "stalls" } else { point.line.as_str() };
        let Some(said) = report(line, point.at.number().unwrap()) else { continue };
        for round in 1..=3 {
            let mut run = Record::from(&point);
            run.round = round;
            run.report = said.clone();
            if let Some(rate) = said["calls_per_s"].as_f64() {
                let off = if point.twin { 1.02 } else { 1.0 };
                run.report["calls_per_s"] = json!(rate * off * (1.0 + 0.01 * f64::from(round)));
            }
            runs.push(run);
        }
    }
    runs
}

/// Where the lines decline: one behind 100, two behind 250, four behind 500.
fn rates(line: &str, batch: f64) -> Option<Value> {
    let all = match line {
        "one" => [100.0, 50.0, 50.0, 50.0],
        "two" => [100.0, 107.0, 52.0, 50.0],
        "four" => [100.0, 107.0, 109.0, 60.0],
        _ => return None,
    };
    let index = BATCHES.iter().position(|other| *other == batch)?;
    Some(json!({ "calls_per_s": all[index] }))
}

fn check(claim: &str, report: impl Fn(&str, f64) -> Option<Value>, expected: Verdict) -> Finding {
    let experiment = experiment(claim);
    let runs = runs(&experiment, report);
    let results = Results { experiment: &experiment, runs: &runs, predicted: &[], no_hadoop: None };
    let finding = judge(&experiment.claims[0], &results);
    assert_eq!(finding.verdict, expected, "{claim}: {finding:?}");
    finding
}

#[test]
fn less_is_less_only_beyond_what_equal_runs_differ_by() {
    let less = |line: &str, at: u32, than: u32| {
        format!(
            "kind = \"less\"\na = {{ group = \"g\", line = \"{line}\", at = {at} }}\n\
             b = {{ group = \"g\", line = \"{line}\", at = {than} }}"
        )
    };
    let finding = check(&less("four", 1000, 500), rates, Verdict::Holds);
    assert!(finding.seen.starts_with("x 0.55") && finding.seen.contains("equal runs differ"));
    check(&less("four", 500, 1000), rates, Verdict::DoesNotHold);
    check(&less("four", 250, 500), rates, Verdict::NoDifference);
    check(&less("four", 250, 500), |_, _| None, Verdict::NotMeasured);
}

#[test]
fn a_knee_moves_if_every_line_carries_it_farther() {
    let moves =
        |lines: &str| format!("kind = \"knee_moves\"\na = {{ group = \"g\" }}\nlines = [{lines}]");
    let finding = check(&moves("\"one\", \"two\", \"four\""), rates, Verdict::Holds);
    assert_eq!(finding.number, Some(5.0));
    assert!(finding.seen.contains("100 (one), 250 (two), 500 (four)"), "{}", finding.seen);
    check(&moves("\"two\", \"one\""), rates, Verdict::DoesNotHold);
    let one_line = |line: &str, batch| rates(line, batch).filter(|_| line == "one");
    check(&moves("\"one\", \"two\""), one_line, Verdict::NotMeasured);
}

#[test]
fn what_one_run_shows_breaks_a_claim_about_every_run() {
    let none = "kind = \"every_run\"\nmetric = \"keys.lost\"\nmax = 0.0";
    let lost = |at_one: u32| {
        move |line: &str, batch: f64| {
            let lost = if line == "two" && batch == 500.0 { at_one } else { 0 };
            Some(json!({"keys": {"lost": lost}}))
        }
    };
    check(none, lost(0), Verdict::Holds);
    let finding = check(none, lost(2), Verdict::DoesNotHold);
    assert_eq!(finding.seen, "6 in 45 runs; 3 runs off");
    let silent =
        |line: &str, batch: f64| if line == "two" { Some(json!({})) } else { lost(0)(line, batch) };
    check(none, silent, Verdict::NotMeasured);
    check(none, |_, _| None, Verdict::NotMeasured);
}

/// 6,000 calls/s come, stalls of 200 ms leave 1,200; `spare` go beyond what comes.
fn stalls(spare: f64) -> Value {
    let mut backlog: f64 = 0.0;
    let intervals = (0..150).map(|i| {
        let due = 120.0;
        let in_stall = i % 50 >= 5 && i % 50 < 15;
        let calls = if in_stall { 0.0 } else { (due + spare * 0.02).min(backlog + due) };
        backlog += due - calls;
        let start_s = f64::from(i) * 0.02;
        json!({"start_s": start_s, "end_s": start_s + 0.02, "calls": calls})
    });
    json!({ "intervals": intervals.collect::<Vec<_>>() })
}

#[test]
fn a_backlog_goes_as_fast_as_there_is_capacity_to_spare() {
    let drains = "kind = \"drains\"\na = { group = \"stalls\" }\n\
                  b = { group = \"g\", line = \"one\" }\ntolerance = 0.25";
    // The medians are 2 % above: 10,200 and 12,240 calls/s.
    let carried = |spare_at_250: f64| {
        move |line: &str, batch: f64| match (line, batch) {
            ("stalls", 100.0) => Some(stalls(4200.0)),
            ("stalls", _) => Some(stalls(spare_at_250)),
            ("one", 100.0) => Some(json!({"calls_per_s": 10_000.0})),
            ("one", 250.0) => Some(json!({"calls_per_s": 12_000.0})),
            _ => None,
        }
    };
    let finding = check(drains, carried(6240.0), Verdict::Holds);
    assert!(finding.seen.starts_with("100: 28"), "{}", finding.seen);
    assert!(finding.seen.contains("(9 stalls)"), "{}", finding.seen);
    check(drains, carried(3000.0), Verdict::DoesNotHold);
    // 6,120 calls/s carried: ten seconds, and the next stall comes in one.
    let slow = |line: &str, batch: f64| match line {
        "one" => Some(json!({"calls_per_s": 6000.0})),
        _ => carried(6240.0)(line, batch),
    };
    check(drains, slow, Verdict::NotMeasured);
}

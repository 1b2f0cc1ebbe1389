//! Curves of made-up runs.

use super::*;
use crate::experiment::made_up;
use crate::run::Record;
use serde_json::json;

const FILE: &str = r#"[[group]]
name = "g"
mode = "paced"
title = "G"
knob = { option = "server.readers", values = [1, 10], label = "readers" }
lines = [{ name = "x" }, { name = "y" }]
[[panel]]
title = "P"
kind = "curve"
group = "g"
"#;

/// Two rounds of everything; nothing of line y at ten.
fn drawn(file: &str) -> Figure {
    with_report(file, |round| json!({"calls_per_s": 100.0 * f64::from(round)}))
}

fn with_report(file: &str, report: impl Fn(u32) -> serde_json::Value) -> Figure {
    let experiment = made_up(file);
    let mut runs = Vec::new();
    for point in experiment.groups[0].points() {
        for round in 1..=2 {
            let mut run = Record::from(&point);
            run.round = round;
            run.report = report(round);
            let lost = point.line == "y" && point.at.number() == Some(10.0);
            run.problem = lost.then(|| "lost".to_owned());
            runs.push(run);
        }
    }
    let results = Results { experiment: &experiment, runs: &runs, predicted: &[], no_hadoop: None };
    figure(&experiment.panels[0], &results).unwrap()
}

/// A line from one reader to ten would be read at five.
#[test]
fn two_values_of_a_knob_are_bars_and_three_are_lines() {
    let two = drawn(FILE);
    assert_eq!(two.svg.matches("<rect class=\"fill").count(), 3, "{}", two.svg);
    assert_eq!(two.svg.matches("class=\"ends\"").count(), 3, "{}", two.svg);
    assert!(!two.svg.contains("class=\"line"), "{}", two.svg);
    assert_eq!((two.legend.len(), two.numbers.rows.len()), (2, 3));
    let three = drawn(&FILE.replace("[1, 10]", "[1, 5, 10]"));
    assert!(three.svg.contains("class=\"line s1\"") && !three.svg.contains("class=\"fill"));
    assert_eq!((three.legend.len(), three.numbers.rows.len()), (2, 5));
}

/// Who waits for the stopped follower is seen beside who does not.
#[test]
fn several_lines_at_one_value_are_drawn_over_one_time_with_its_pause() {
    let lines = "kind = \"timeline\"\nlines = [\"x\", \"y\"]\nat = [1]";
    let pause = "rounds = 2\nduration = \"1s\"\nfollowers = 2\n\
                 pause = { follower = 2, at = \"400ms\", for = \"200ms\" }\nknob";
    let file = FILE.replace("kind = \"curve\"", lines).replacen("knob", pause, 1);
    let interval = |i: u32| {
        let start = f64::from(i) * 0.2;
        json!({"start_s": start, "end_s": start + 0.2, "calls_per_s": 100.0})
    };
    let report = |_| json!({"intervals": (0..6).map(interval).collect::<Vec<_>>()});
    let figure = with_report(&file, report);
    assert_eq!(figure.svg.matches("class=\"mark s1\"").count(), 5, "the sixth is behind the end");
    assert!(figure.svg.contains("follower 2 stopped") && figure.svg.contains("warm-up"));
    let names: Vec<&str> = figure.legend.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["x", "y"]);
    assert!(figure.note.unwrap().starts_with("readers 1; the last round"));
}

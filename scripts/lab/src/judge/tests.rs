//! Claims against made-up runs.

use super::*;
use crate::experiment::{Experiment, made_up};
use crate::predict::Predicted;
use crate::run::Record;
use serde_json::json;

const FILE: &str = r#"[[group]]
name = "g"
mode = "paced"
title = "G"
knob = { option = "server.readers", values = [1, 2, 5, 10] }
twin = { line = "x", at = 1 }
model = "readers"
lines = [{ name = "x" }, { name = "y" }]
"#;

fn experiment(claim: &str) -> Experiment {
    made_up(&format!("{FILE}[[claim]]\ntext = \"C\"\n{claim}\n"))
}

/// Three rounds that differ by a few per cent, of `rates` at 1, 2, 5 and 10 readers.
fn runs(experiment: &Experiment, line: &str, rates: [f64; 4]) -> Vec<Record> {
    let mut runs = Vec::new();
    for point in experiment.groups[0].points().iter().filter(|point| point.line == line) {
        let index = [1.0, 2.0, 5.0, 10.0].iter().position(|at| point.at.number() == Some(*at));
        for round in 1..=3 {
            let rate = rates[index.unwrap()] * (1.0 + 0.01 * f64::from(round));
            let off = if point.twin { 1.02 } else { 1.0 };
            let mut run = Record::from(point);
            run.round = round;
            run.report = json!({"calls_per_s": rate * off});
            runs.push(run);
        }
    }
    runs
}

fn predicted(experiment: &Experiment, rates: [f64; 4]) -> Vec<Predicted> {
    let points = experiment.groups[0].points();
    let points = points.into_iter().filter(|point| point.line == "x" && !point.twin);
    let predicted = points.zip(rates).map(|(point, calls_per_s)| Predicted {
        group: point.group,
        line: point.line,
        at: point.at,
        calls_per_s,
        response_us: Some(1.0),
        binds: "readers".into(),
        knee: None,
    });
    predicted.collect()
}

const RATES: [f64; 4] = [5_000.0, 10_000.0, 18_900.0, 19_000.0];

fn check(claim: &str, expected: Verdict) -> Finding {
    let experiment = experiment(claim);
    let runs = [runs(&experiment, "x", RATES), runs(&experiment, "y", [5_020.0; 4])].concat();
    let predicted = predicted(&experiment, [5_000.0, 10_000.0, 19_230.0, 19_230.0]);
    let results =
        Results { experiment: &experiment, runs: &runs, predicted: &predicted, no_hadoop: None };
    let finding = judge(&experiment.claims[0], &results);
    assert_eq!(finding.verdict, expected, "{claim}: {finding:?}");
    finding
}

const ONE_TO_TEN: &str =
    "a = { group = \"g\", line = \"x\", at = 10 }\nb = { group = \"g\", line = \"x\", at = 1 }\n";

#[test]
fn a_ratio_is_that_of_runs_of_one_round() {
    let ratio = |wanted: &str| format!("kind = \"ratio\"\n{ONE_TO_TEN}{wanted}");
    let finding = check(&ratio("min = 3.0"), Verdict::Holds);
    assert!((finding.number.unwrap() - 3.8).abs() < 1e-9);
    assert!(finding.seen.starts_with("x 3.80 (3.80 to 3.80)"), "{}", finding.seen);
    assert_eq!(finding.wanted, "at least 3");
    check(&ratio("min = 4.0"), Verdict::DoesNotHold);
    check(&ratio("near = 3.81\ntolerance = 0.1"), Verdict::Holds);
    check(&ratio("model = true\ntolerance = 0.1"), Verdict::Holds);
    check(&ratio("model = true\ntolerance = 0.001"), Verdict::DoesNotHold);
}

#[test]
fn a_difference_inside_the_noise_is_none() {
    let small = "kind = \"ratio\"\na = { group = \"g\", line = \"x\", at = 10 }\n\
                 b = { group = \"g\", line = \"x\", at = 5 }\n";
    check(&format!("{small}min = 1.1"), Verdict::NoDifference);
    // Larger than wanted, too, and still no more than equal runs differ by.
    check(&format!("{small}min = 1.001"), Verdict::NoDifference);
    check(&format!("{small}min = 0.9"), Verdict::Holds);
}

#[test]
fn values_flat_stretches_and_equal_lines_are_judged_with_their_tolerance() {
    let at_ten = "kind = \"value\"\na = { group = \"g\", line = \"x\", at = 10 }\n";
    check(&format!("{at_ten}near = 19000.0\ntolerance = 0.1"), Verdict::Holds);
    check(&format!("{at_ten}max = 15000.0"), Verdict::DoesNotHold);
    let flat = "kind = \"flat\"\na = { group = \"g\", line = \"x\" }\ntolerance = 0.05\n";
    check(&format!("{flat}values = [5, 10]"), Verdict::Holds);
    check(&format!("{flat}values = [2, 5]"), Verdict::DoesNotHold);
    let equal = "kind = \"equal\"\na = { group = \"g\", line = \"x\" }\ntolerance = 0.05\n";
    check(&format!("{equal}b = {{ group = \"g\", line = \"x\" }}"), Verdict::Holds);
    let finding =
        check(&format!("{equal}b = {{ group = \"g\", line = \"y\" }}"), Verdict::DoesNotHold);
    assert!(finding.seen.contains("at 10, the farthest of 4 points"), "{}", finding.seen);
}

#[test]
fn the_model_is_compared_point_by_point_and_by_its_knee() {
    let within = "kind = \"within_model\"\na = { group = \"g\", line = \"x\" }\n";
    check(&format!("{within}tolerance = 0.1"), Verdict::Holds);
    check(&format!("{within}tolerance = 0.01"), Verdict::DoesNotHold);
    let knee = "kind = \"knee\"\na = { group = \"g\", line = \"x\" }\n";
    let finding = check(&format!("{knee}model = true\ntolerance = 1.0"), Verdict::Holds);
    assert_eq!(finding.number, Some(5.0));
    check(&format!("{knee}max = 2.0"), Verdict::DoesNotHold);
    check(&format!("{knee}share = 0.5\nmax = 2.0"), Verdict::Holds);
}

#[test]
fn a_law_is_fitted_to_the_values_that_are_named() {
    let fit = "kind = \"fit\"\na = { group = \"g\", line = \"x\" }\n";
    let batch = format!("{fit}law = \"batch\"\nvalues = [1, 2, 5]\nmin = 0.9");
    let finding = check(&batch, Verdict::Holds);
    assert!(finding.seen.starts_with("R squared 0.9"), "{}", finding.seen);
    check(&format!("{fit}law = \"window\"\nmin = 0.9"), Verdict::Holds);
    check(&format!("{fit}law = \"batch\"\nvalues = [1]\nmin = 0.9"), Verdict::NotMeasured);
}

/// An interrupted run, or one with a killed server, must not prove what is said of a whole line.
#[test]
fn a_line_with_a_gap_proves_nothing_about_the_whole_line() {
    let line = "a = { group = \"g\", line = \"x\" }";
    let other = "b = { group = \"g\", line = \"y\" }\ntolerance = 9.0";
    for claim in [
        format!("kind = \"flat\"\n{line}\ntolerance = 9.0"),
        format!("kind = \"equal\"\n{line}\n{other}"),
        format!("kind = \"within_model\"\n{line}\ntolerance = 9.0"),
        format!("kind = \"fit\"\nlaw = \"batch\"\n{line}\nmin = 0.0"),
        format!("kind = \"knee\"\n{line}\nmin = 0.0"),
    ] {
        check(&claim, Verdict::Holds);
        let experiment = experiment(&claim);
        let runs = [runs(&experiment, "x", RATES), runs(&experiment, "y", [5_020.0; 4])].concat();
        let gap = |run: &Record| run.line == "x" && run.at.number() == Some(5.0);
        let runs: Vec<Record> = runs.into_iter().filter(|run| !gap(run)).collect();
        let predicted = predicted(&experiment, RATES);
        let results = Results {
            experiment: &experiment,
            runs: &runs,
            predicted: &predicted,
            no_hadoop: None,
        };
        let finding = judge(&experiment.claims[0], &results);
        assert_eq!(finding.verdict, Verdict::NotMeasured, "{claim}: {finding:?}");
        assert_eq!(finding.seen, "x, 5 was not measured");
    }
}

#[test]
fn what_was_not_measured_is_neither_right_nor_wrong() {
    for claim in [
        format!("kind = \"ratio\"\n{ONE_TO_TEN}min = 3.0"),
        "kind = \"value\"\na = { group = \"g\", line = \"x\", at = 1 }\nmin = 1.0".to_owned(),
        "kind = \"flat\"\na = { group = \"g\", line = \"x\" }\ntolerance = 0.1".to_owned(),
        "kind = \"within_model\"\na = { group = \"g\", line = \"x\" }\ntolerance = 0.1".to_owned(),
        "kind = \"knee\"\na = { group = \"g\", line = \"x\" }\nmax = 3.0".to_owned(),
    ] {
        let experiment = experiment(&claim);
        let mut unsound = runs(&experiment, "x", RATES);
        unsound.iter_mut().for_each(|run| run.problem = Some("lost".into()));
        let results =
            Results { experiment: &experiment, runs: &unsound, predicted: &[], no_hadoop: None };
        let finding = judge(&experiment.claims[0], &results);
        assert_eq!(finding.verdict, Verdict::NotMeasured, "{claim}");
        assert_eq!(finding.number, None);
    }
}

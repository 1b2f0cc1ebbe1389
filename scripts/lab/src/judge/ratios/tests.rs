//! Claims about ratios along the knob against made-up runs.

use super::super::{Finding, Verdict, judge};
use crate::experiment::{Experiment, made_up};
use crate::results::Results;
use crate::run::Record;
use serde_json::json;

const FILE: &str = r#"[[group]]
name = "g"
mode = "paced"
title = "G"
knob = { option = "client.streams", values = [1, 3, 9, 27, 64] }
twin = { line = "one", at = 1 }
lines = [{ name = "one" }, { name = "two" }]
[[claim]]
text = "C"
"#;

const TREND: &str = "kind = \"trend\"\na = { group = \"g\", line = \"two\" }\n\
                     b = { group = \"g\", line = \"one\" }\ndirection = \"falls\"";
const EVERY: &str = "kind = \"every_ratio\"\na = { group = \"g\", line = \"two\" }\n\
                     b = { group = \"g\", line = \"one\" }";
/// What the second call in flight brings by streams, from the issue's own model.
const GAINS: [f64; 5] = [1.93, 1.62, 1.31, 1.19, 1.05];

fn experiment(claim: &str) -> Experiment {
    made_up(&format!("{FILE}{claim}\n"))
}

/// Line one has 100, line two so many times as much; rounds differ by a per cent, the twin by two.
fn runs(experiment: &Experiment, gains: [f64; 5], rounds: u32) -> Vec<Record> {
    let mut runs = Vec::new();
    for point in experiment.groups[0].points() {
        let index =
            [1.0, 3.0, 9.0, 27.0, 64.0].iter().position(|at| point.at.number() == Some(*at));
        let gain = if point.line == "two" { gains[index.unwrap()] } else { 1.0 };
        let off = if point.twin { 1.02 } else { 1.0 };
        for round in 1..=rounds {
            let mut run = Record::from(&point);
            run.round = round;
            let host = 1.0 + 0.01 * f64::from(round);
            run.report = json!({"calls_per_s": 100.0 * gain * off * host});
            runs.push(run);
        }
    }
    runs
}

fn of(experiment: &Experiment, runs: &[Record]) -> Finding {
    let results = Results { experiment, runs, predicted: &[], no_hadoop: None };
    judge(&experiment.claims[0], &results)
}

fn check(claim: &str, gains: [f64; 5], expected: Verdict) -> Finding {
    let experiment = experiment(claim);
    let finding = of(&experiment, &runs(&experiment, gains, 3));
    assert_eq!(finding.verdict, expected, "{claim}: {finding:?}");
    finding
}

#[test]
fn a_ratio_that_falls_with_the_knob_holds_and_every_number_is_said() {
    let finding = check(TREND, GAINS, Verdict::Holds);
    assert_eq!(
        finding.seen,
        "1.93 at 1, 1.62 at 3, 1.31 at 9, 1.19 at 27, 1.05 at 64; last by first x 0.54 (0.54 to \
         0.54); equal ones differ by x 1.03"
    );
    assert!((finding.number.unwrap() - 1.05 / 1.93).abs() < 1e-9);
    check(&TREND.replace("falls", "rises"), GAINS, Verdict::DoesNotHold);
    let rises = [1.05, 1.19, 1.31, 1.62, 1.93];
    check(&TREND.replace("falls", "rises"), rises, Verdict::Holds);
    check(TREND, rises, Verdict::DoesNotHold);
}

/// The twin differs by 2 %, so that two ratios may by 2.8 %.
#[test]
fn a_step_back_within_the_spread_is_none_and_one_beyond_it_is_named() {
    check(TREND, [1.93, 1.62, 1.31, 1.33, 1.05], Verdict::Holds);
    let finding = check(TREND, [1.93, 1.62, 1.31, 1.40, 1.05], Verdict::DoesNotHold);
    assert!(finding.seen.ends_with("from 9 to 27 it does not"), "{}", finding.seen);
    check(&format!("{TREND}\ntolerance = 0.1"), [1.93, 1.62, 1.31, 1.40, 1.05], Verdict::Holds);
    let creeps = check(TREND, [1.93, 1.30, 1.32, 1.335, 1.35], Verdict::DoesNotHold);
    assert!(creeps.seen.ends_with("from 3 to 64 it does not"), "{}", creeps.seen);
}

#[test]
fn a_way_no_longer_than_the_spread_is_no_difference() {
    check(TREND, [1.02, 1.01, 1.0, 1.01, 1.0], Verdict::NoDifference);
    check(TREND, [1.0; 5], Verdict::NoDifference);
    check(&format!("{TREND}\ntolerance = 1.0"), GAINS, Verdict::NoDifference);
}

/// One line alone, over some of its values.
#[test]
fn a_trend_may_be_that_of_a_line_by_itself() {
    let alone = "kind = \"trend\"\na = { group = \"g\", line = \"two\" }\ndirection = \"falls\"";
    let finding = check(&format!("{alone}\nvalues = [64, 1]"), GAINS, Verdict::Holds);
    assert!(finding.seen.starts_with("197 at 1, 107 at 64; last by first x 0.54"), "{finding:?}");
}

#[test]
fn without_a_twin_and_with_one_round_nothing_is_known_of_equal_runs() {
    let experiment = experiment(TREND);
    let mut runs = runs(&experiment, GAINS, 1);
    runs.retain(|run| !run.twin);
    let finding = of(&experiment, &runs);
    assert_eq!(finding.verdict, Verdict::NotMeasured);
    assert!(finding.seen.starts_with("one round and no twin"), "{}", finding.seen);
    let given = self::experiment(&format!("{TREND}\ntolerance = 0.05"));
    assert_eq!(of(&given, &runs).verdict, Verdict::Holds);
}

#[test]
fn every_ratio_is_judged_and_the_worst_one_is_named() {
    let finding = check(&format!("{EVERY}\nmin = 1.04\nmax = 2.0"), GAINS, Verdict::Holds);
    assert_eq!(
        finding.seen,
        "at 64, the worst of 5 values: x 1.05 (1.05 to 1.05); equal runs differ by x 1.02; all as \
         wanted"
    );
    let finding = check(&format!("{EVERY}\nmin = 1.25"), GAINS, Verdict::DoesNotHold);
    assert!(finding.seen.ends_with("; 2 not as wanted"), "{}", finding.seen);
    assert!((finding.number.unwrap() - 1.05).abs() < 1e-9);
    let some = format!("{EVERY}\nvalues = [1, 3, 9]\nmin = 1.25");
    let finding = check(&some, GAINS, Verdict::Holds);
    assert!(finding.seen.starts_with("at 9, the worst of 3 values: x 1.31"), "{}", finding.seen);
    let near = [1.93, 1.62, 1.31, 1.19, 1.01];
    check(&format!("{EVERY}\nmin = 1.005"), near, Verdict::NoDifference);
}

/// What was not measured could have been the one that is otherwise.
#[test]
fn a_gap_in_either_line_proves_nothing_about_the_whole() {
    for claim in [TREND.to_owned(), format!("{EVERY}\nmin = 1.0")] {
        for line in ["one", "two"] {
            let experiment = experiment(&claim);
            let mut runs = runs(&experiment, GAINS, 3);
            for run in runs.iter_mut().filter(|run| run.line == line && !run.twin) {
                let gap = run.at.number() == Some(9.0);
                run.problem = gap.then(|| "lost".to_owned());
            }
            let finding = of(&experiment, &runs);
            assert_eq!(finding.verdict, Verdict::NotMeasured, "{claim}: {finding:?}");
            assert_eq!(finding.seen, format!("{line}, 9 was not measured"));
        }
    }
}

//! Maps and curves of ratios from made-up runs.

use super::super::figure;
use super::*;
use crate::experiment::{Experiment, made_up_form};
use crate::run::Record;
use serde_json::json;

const FILE: &str = r#"[[group]]
name = "sizes"
mode = "paced"
title = "Sizes"
knob = { option = "client.in-flight", values = [1, 2, 16], label = "calls in flight" }
twin = { line = "64 B", at = 1 }
lines = [{ name = "64 B" }, { name = "1 KiB" }, { name = "8 KiB, with a name that is cut off" }]
quick = { lines = ["64 B", "1 KiB"], values = [1, 16] }
[[group]]
name = "all"
mode = "paced"
title = "acks=all"
knob = { option = "client.in-flight", values = [1, 2, 16] }
lines = [{ name = "64 B" }, { name = "1 KiB" }]
[[panel]]
title = "Gain"
kind = "heat"
group = "sizes"
axis = "calls/s by those with one in flight"
base = { at = 1 }
[[panel]]
title = "All by 1"
kind = "heat"
group = "all"
base = { group = "sizes" }
[[panel]]
title = "One line by another"
kind = "curve"
group = "sizes"
lines = ["1 KiB"]
axis = "1 KiB by 64 B"
base = { lines = ["64 B"] }
"#;

fn experiment(quick: bool) -> Experiment {
    made_up_form(FILE, quick)
}

/// Two rounds; in group `all` half of what the other has, and nothing of 1 KiB at 16.
fn runs(experiment: &Experiment) -> Vec<Record> {
    let mut runs = Vec::new();
    for point in experiment.groups.iter().flat_map(Group::points) {
        let gain = match (point.line.as_str(), point.at.number()) {
            (_, Some(1.0)) => 1.0,
            ("64 B", Some(2.0)) => 1.93,
            ("64 B", _) => 2.6,
            ("1 KiB", Some(2.0)) => 1.3,
            ("1 KiB", _) => 0.7,
            _ => 1.02,
        };
        let of_group = if point.group == "all" { 0.5 } else { 1.0 };
        let off = if point.twin { 1.04 } else { 1.0 };
        for round in 1..=2 {
            let mut run = Record::from(&point);
            run.round = round;
            let rate = 1000.0 * gain * of_group * off * f64::from(10 + round);
            run.report = json!({"calls_per_s": rate});
            let lost = point.group == "all" && point.line == "1 KiB" && gain == 0.7;
            run.problem = lost.then(|| "lost".to_owned());
            runs.push(run);
        }
    }
    runs
}

fn drawn(panel: usize, quick: bool) -> Figure {
    let experiment = experiment(quick);
    let runs = runs(&experiment);
    let none = Results { experiment: &experiment, runs: &[], predicted: &[], no_hadoop: None };
    assert!(figure(&experiment.panels[panel], &none).is_none(), "an empty one looks like a result");
    figure(&experiment.panels[panel], &Results { runs: &runs, ..none }).unwrap()
}

fn rows(figure: &Figure) -> Vec<String> {
    let row = |row: &Vec<Cell>| row.iter().map(Cell::plain).collect::<Vec<_>>().join(" | ");
    figure.numbers.rows.iter().map(row).collect()
}

#[test]
fn the_heat_map_of_a_fixed_input_is_as_it_was() {
    let figure = drawn(0, false);
    let columns = figure.numbers.columns.join(" | ");
    let table = [columns].into_iter().chain(rows(&figure)).collect::<Vec<_>>().join("\n");
    let svg = figure.svg.replace('>', ">\n").replace("</", "\n</");
    insta::assert_snapshot!(format!("{}\n\n{table}\n\n{svg}", figure.note.unwrap()));
}

#[test]
fn a_map_by_another_group_shows_what_failed_as_not_measured() {
    let figure = drawn(1, false);
    assert_eq!(rows(&figure), ["64 B | 0.50 | 0.50 | 0.50", "1 KiB | 0.50 | 0.50 | n/a"]);
    assert_eq!(figure.legend.len(), 1);
    assert!(figure.svg.contains("1 KiB, in-flight 16: not measured"), "{}", figure.svg);
    let note = figure.note.unwrap();
    assert!(note.contains("that of the same line in \"Sizes\"; two equal runs differ by x 1.04"));
}

#[test]
fn what_the_short_form_leaves_out_is_no_part_of_its_map() {
    let figure = drawn(0, true);
    assert_eq!(rows(&figure), ["64 B | 1.00 | 2.60", "1 KiB | 1.00 | 0.70"]);
    assert!(figure.legend.is_empty());
}

#[test]
fn a_curve_of_ratios_has_the_level_of_equal_ones_and_decades() {
    let figure = drawn(2, false);
    assert_eq!(rows(&figure).len(), 3);
    assert_eq!(rows(&figure)[1], "1 KiB | 2 | 0.67 (0.67 to 0.67)");
    assert!(figure.svg.contains("class=\"level\""), "{}", figure.svg);
    let note = figure.note.unwrap();
    assert!(note.contains("that of another line (\"1 KiB\" by \"64 B\")"), "{note}");
    let experiment = experiment(false);
    let knob = KnobAxis::with(&experiment.groups[0], DECADES_FROM);
    assert!(matches!(knob.axis.scale, crate::chart::Scale::LogAt { .. }));
}

//! Two result folders.

use super::{Compared, NOISE_ASSUMED, NOISE_ASSUMED_PACED, Row, hosts_differ, like_enough, shown};
use crate::experiment::{Group, LineOf, Mode, PointOf};
use crate::folder::{Content, Folder};
use crate::metric::Metric;
use crate::report::experiment_of;
use crate::results::Results;
use crate::run::Followers;
use crate::stats::bootstrap::Resampling;
use crate::stats::rounds;
use crate::usage::Usage;
use anyhow::Result;
use std::collections::BTreeMap;
use std::path::Path;

pub(super) fn compare(a: &Path, b: &Path, anyway: bool) -> Result<Compared> {
    let open = |path: &Path| -> Result<_> {
        let folder = Folder::open(path)?;
        let content = folder.read()?;
        let experiment = experiment_of(&folder, &content)?;
        Ok((content, experiment))
    };
    let ((content_a, experiment_a), (content_b, experiment_b)) = (open(a)?, open(b)?);
    let mut notes = like_enough(&shown(a), &shown(b), differences(&content_a, &content_b), anyway)?;
    let of_a = Results {
        experiment: &experiment_a,
        runs: &content_a.runs,
        predicted: &[],
        no_hadoop: None,
    };
    let of_b = Results {
        experiment: &experiment_b,
        runs: &content_b.runs,
        predicted: &[],
        no_hadoop: None,
    };
    let mut rows = Vec::new();
    for group in experiment_a.groups.iter().filter(|group| group.mode != Mode::Simulated) {
        rows.extend(of_group(group, &of_a, &of_b));
        let least = rounds_of(group, &of_a).len().min(rounds_of(group, &of_b).len());
        if (1..5).contains(&least) {
            let name = &group.name;
            notes.push(format!("{name}: {least} rounds; below 5 an interval is too narrow"));
        }
    }
    if rows.is_empty() {
        let wrong = format!("{} and {} have no measured point in common", shown(a), shown(b));
        return Err(Usage(wrong).into());
    }
    Ok(Compared { rows, notes })
}

/// The noise at least: a twin shows what differs within a run, and one or two rounds too little.
fn assumed(mode: Mode) -> f64 {
    match mode {
        Mode::Paced => NOISE_ASSUMED_PACED,
        Mode::Real | Mode::Simulated => NOISE_ASSUMED,
    }
}

/// The group as a whole, which decides, then its points.
fn of_group(group: &Group, a: &Results<'_>, b: &Results<'_>) -> Vec<Row> {
    let metric = calls_per_s();
    let noise = [a, b].into_iter().filter_map(|of| of.noise(&metric, &group.name));
    let noise = Some(noise.fold(assumed(group.mode), f64::max));
    let row = |name: String, a: &[f64], b: &[f64], decides| {
        let comparison = rounds::compare(a, b, noise, Resampling::default())?;
        let median = |values: &[f64]| crate::stats::median(values).unwrap_or(f64::NAN);
        Some(Row { name, a: median(a), b: median(b), comparison, decides })
    };
    let whole = (rounds_of(group, a), rounds_of(group, b));
    let mut rows: Vec<Row> =
        row(format!("{}: all points", group.name), &whole.0, &whole.1, true).into_iter().collect();
    for line in &group.lines {
        let of = LineOf { group: group.name.clone(), line: line.name.clone() };
        for at in &line.values {
            let point = PointOf { line: of.clone(), at: at.clone() };
            let numbers = |of: &Results<'_>| -> Vec<f64> {
                of.by_round(&metric, &point).into_iter().map(|(_, rate)| rate).collect()
            };
            let name = format!("  {}, {} {at}", line.name, group.knob.label);
            rows.extend(row(name, &numbers(a), &numbers(b), false));
        }
    }
    rows
}

/// For each round that has every point, the geometric mean of their rates: what one factor on all
/// of them changes by that factor, whichever points are fast.
fn rounds_of(group: &Group, results: &Results<'_>) -> Vec<f64> {
    let metric = calls_per_s();
    let mut logs: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    let mut points = 0;
    for line in &group.lines {
        for at in &line.values {
            let of = LineOf { group: group.name.clone(), line: line.name.clone() };
            let numbers = results.by_round(&metric, &PointOf { line: of, at: at.clone() });
            points += usize::from(!numbers.is_empty());
            for (round, rate) in numbers {
                logs.entry(round).or_default().push(rate.ln());
            }
        }
    }
    let whole = logs.into_values().filter(|logs| logs.len() == points);
    whole.map(|logs| (logs.iter().sum::<f64>() / logs.len() as f64).exp()).collect()
}

/// Why the folders may not be comparable.
fn differences(a: &Content, b: &Content) -> Vec<String> {
    let mut why = hosts_differ(&a.about.host, &b.about.host);
    if a.about.name != b.about.name {
        why.push(format!("experiments {} and {}", a.about.name, b.about.name));
    }
    if a.about.quick != b.about.quick {
        why.push("one is the quick form and the other is not".to_owned());
    }
    let commands = |content: &Content| -> BTreeMap<String, String> {
        let runs = content.runs.iter();
        let measured = runs.filter(|run| run.is_measured());
        let point = |run: &crate::run::Record| format!("{}, {}, {}", run.group, run.line, run.at);
        let words = |run: &crate::run::Record| {
            // A rate that was measured differs from run to run, and is no setting.
            let is_setting = |word: &&String| run.matched.is_none() || !word.starts_with("--rate=");
            let client: Vec<&str> =
                run.client.iter().filter(is_setting).map(String::as_str).collect();
            let text = format!("{} / {}", run.server.join(" "), client.join(" "));
            match run.followers.are_none() {
                true => text,
                false => {
                    let Followers { count, options } = &run.followers;
                    format!("{text} / {count} followers {}", options.join(" "))
                }
            }
        };
        measured.map(|run| (point(run), words(run))).collect()
    };
    let of_b = commands(b);
    for (point, words) in commands(a) {
        match of_b.get(&point) {
            Some(other) if *other != words => {
                why.push(format!("{point}: {words} against {other}"));
            }
            _ => {}
        }
    }
    why
}

fn calls_per_s() -> Metric {
    "calls_per_s".parse().expect("it is a path")
}

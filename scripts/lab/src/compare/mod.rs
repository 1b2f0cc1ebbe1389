//! `lab compare`: two result folders, or two reports of echo-client. Medians and intervals, "no
//! difference" inside what equal runs differ by, and an exit code for scripts.

mod folders;
mod reports;

use crate::options::CompareOptions;
use crate::output;
use crate::stats::rounds::{Comparison, Verdict};
use crate::usage::Usage;
use crate::words;
use anyhow::Result;
use serde::Serialize;
use thiserror::Error;

/// Two runs that say nothing about each other.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{a} and {b} cannot be compared: {}; --anyway compares them", why.join("; "))]
pub struct Unlike {
    a: String,
    b: String,
    why: Vec<String>,
}

/// What two equal runs that are minutes apart differ by, as a factor; some did by 11 to 14 %. What
/// a twin shows is within one run and may be less.
const NOISE_ASSUMED: f64 = 1.10;
/// The same where emulated stages, which use no CPU, are the limit.
const NOISE_ASSUMED_PACED: f64 = 1.03;
/// Exit codes: the second is slower, or faster.
const SLOWER: u8 = 1;
const FASTER: u8 = 3;
/// Reasons that are named; more of them say no more.
const REASONS_MAX: usize = 5;

/// What a comparison found: one row for each thing that was compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Compared {
    rows: Vec<Row>,
    /// Remarks on how far this may be trusted.
    notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Row {
    name: String,
    a: f64,
    b: f64,
    comparison: Comparison,
    /// Whether the verdict on the whole rests on it: single points are shown, but among many of
    /// them one is always odd.
    decides: bool,
}

/// Compares as told; returns the exit code.
pub fn compare(options: &CompareOptions) -> Result<u8> {
    let (a, b) = (&options.a, &options.b);
    for path in [a, b] {
        if !path.exists() {
            return Err(Usage(format!("{}: there is no such file or folder", shown(path))).into());
        }
    }
    let compared = match (a.is_dir(), b.is_dir()) {
        (true, true) => folders::compare(a, b, options.anyway)?,
        (false, false) => reports::compare(a, b, options.anyway)?,
        _ => {
            let (a, b) = (shown(a), shown(b));
            let wrong = format!("{a} and {b}: allowed are two result folders or two reports");
            return Err(Usage(wrong).into());
        }
    };
    output::print(&text(&compared, &shown(a), &shown(b)))?;
    Ok(code(&compared))
}

fn shown(path: &std::path::Path) -> String {
    path.display().to_string()
}

fn code(compared: &Compared) -> u8 {
    let any = |verdict| {
        let deciding = compared.rows.iter().filter(|row| row.decides);
        deciding.into_iter().any(|row| row.comparison.verdict == verdict)
    };
    match (any(Verdict::Smaller), any(Verdict::Larger)) {
        (true, _) => SLOWER,
        (_, true) => FASTER,
        (false, false) => 0,
    }
}

fn text(compared: &Compared, a: &str, b: &str) -> String {
    let mut out = format!("A: {a}\nB: {b}\ncalls/s, medians; B / A with its 95 % interval\n\n");
    let width = compared.rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    for row in &compared.rows {
        let Comparison { ratio, noise, verdict } = row.comparison;
        let said = match verdict {
            Verdict::NoDifference => "no difference",
            Verdict::Larger => "B is faster",
            Verdict::Smaller => "B is slower",
        };
        let noise = noise.map_or(String::new(), |noise| format!("; equal runs x {noise:.3}"));
        out.push_str(&format!(
            "{:<width$}  {:>11}  {:>11}  x {:.3} ({:.3} to {:.3}{noise})  {said}\n",
            row.name,
            words::number(row.a),
            words::number(row.b),
            ratio.estimate,
            ratio.low,
            ratio.high
        ));
    }
    for note in &compared.notes {
        out.push_str(&format!("note: {note}\n"));
    }
    out.push_str(match code(compared) {
        SLOWER => "\nverdict: B is slower\n",
        FASTER => "\nverdict: B is faster\n",
        _ => "\nverdict: no difference\n",
    });
    out
}

/// Refuses, unless it is to be done anyway; then the reasons become notes.
fn like_enough(a: &str, b: &str, mut why: Vec<String>, anyway: bool) -> Result<Vec<String>> {
    if why.len() > REASONS_MAX {
        let more = why.len() - REASONS_MAX;
        why.truncate(REASONS_MAX);
        why.push(format!("and {more} more"));
    }
    if why.is_empty() || anyway {
        return Ok(why);
    }
    Err(Unlike { a: a.to_owned(), b: b.to_owned(), why }.into())
}

/// Fields of two hosts that differ.
fn hosts_differ(a: &serde_json::Value, b: &serde_json::Value) -> Vec<String> {
    let fields = ["cpu_model", "cpus_online", "cpus_allowed", "cgroup_cpu_quota", "kernel"];
    let differing = fields.into_iter().filter(|field| a[*field] != b[*field]);
    differing.map(|field| format!("host {field}: {} and {}", a[field], b[field])).collect()
}

#[cfg(test)]
mod tests;

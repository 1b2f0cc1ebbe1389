//! The report of a result folder: one document as a value, and its views as HTML, as Markdown and
//! on the terminal.

mod block;
mod commands;
mod document;
mod figures;
mod html;
mod markdown;
mod pauses;
mod rates;
mod style;
mod tables;

use crate::experiment::{Experiment, FileError, Known, read};
use crate::folder::{Content, Folder};
use crate::judge::{Finding, Verdict, judge};
use crate::output;
use crate::results::Results;
use crate::words;
use anyhow::Result;
use std::path::Path;

/// Writes summary.md, report.html, findings.json and commands.sh into the folder, and the verdicts
/// to standard output. Returns whether no claim failed and every run was sound.
pub fn write(folder: &Folder) -> Result<bool> {
    let content = folder.read()?;
    let experiment = experiment_of(folder, &content)?;
    let findings = findings(&experiment, &content);
    let blocks = document::document(&experiment, &content, &findings);
    let title = &experiment.title;
    folder.write("summary.md", &markdown::page(title, &blocks))?;
    folder.write("report.html", &html::page(title, &blocks))?;
    let json = serde_json::to_string_pretty(&findings)?;
    folder.write("findings.json", &format!("{json}\n"))?;
    folder.write("commands.sh", &commands::commands(&content)?)?;
    output::print(&verdicts(folder, &findings, &content))?;
    let sound = content.runs.iter().all(|run| run.problem.is_none());
    let failed = |finding: &Finding| finding.verdict == Verdict::DoesNotHold;
    Ok(sound && !findings.iter().any(failed))
}

/// `lab report`: the same from a folder that is there.
pub fn again(path: &Path) -> Result<u8> {
    let all_well = write(&Folder::open(path)?)?;
    Ok(if all_well { 0 } else { crate::CLAIM_FAILED })
}

/// The experiment of a folder; what its options are called was checked when it was run.
pub fn experiment_of(folder: &Folder, content: &Content) -> Result<Experiment, FileError> {
    let path = folder.path().join("experiment.toml");
    read(&path, &content.experiment, &Known::default(), content.about.quick)
}

fn findings(experiment: &Experiment, content: &Content) -> Vec<Finding> {
    let results = Results::of(experiment, content);
    experiment.claims.iter().map(|claim| judge(claim, &results)).collect()
}

/// For the terminal.
fn verdicts(folder: &Folder, findings: &[Finding], content: &Content) -> String {
    let runs = words::count(content.runs.len(), "run");
    let claims = words::count(findings.len(), "claim");
    let mut out = format!("{}: {runs}, {claims}\n", content.about.name);
    for finding in findings {
        let Finding { claim, verdict, seen, wanted, .. } = finding;
        out += &format!("  {:<18} {claim}\n", verdict.words());
        out += &format!("  {:<18} seen {seen}; wanted {wanted}\n", "");
    }
    for warning in document::warnings(content) {
        out += &format!("  note: {warning}\n");
    }
    out += &format!("report: {}\n", folder.path().join("report.html").display());
    out + &format!("summary: {}\n", folder.path().join("summary.md").display())
}

#[cfg(test)]
mod tests;

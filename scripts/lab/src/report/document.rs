//! The order of a report: verdicts first, then what they rest on.

use super::block::Block;
use super::{figures, pauses, rates, tables};
use crate::experiment::{Experiment, Group, Mode};
use crate::folder::Content;
use crate::judge::Finding;
use crate::metric::Metric;
use crate::results::Results;
use crate::words;

/// Steal above this, or other programs above the next, and the host was not quiet.
const STEAL_MAX: f64 = 0.01;
const OTHERS_MAX: f64 = 0.05;

pub(super) fn document(
    experiment: &Experiment,
    content: &Content,
    findings: &[Finding],
) -> Vec<Block> {
    let results = Results::of(experiment, content);
    let mut blocks = vec![Block::Paragraph(experiment.question.clone())];
    blocks.push(Block::Paragraph(lead(content)));
    blocks.extend(warnings(content).into_iter().map(Block::Label));
    blocks.push(Block::Heading("Verdicts".into()));
    blocks.push(match findings.is_empty() {
        true => Block::Paragraph("Nothing is claimed.".into()),
        false => Block::Table(tables::verdicts(findings)),
    });
    blocks.push(Block::Paragraph(
        "Figures are medians over rounds, in brackets the least and the greatest. \"No difference \
         seen\": a difference was claimed, and none beyond what two equal runs differ by was seen."
            .into(),
    ));
    for group in &experiment.groups {
        blocks.extend(of_group(group, &results));
    }
    blocks.push(Block::Heading("Correctness".into()));
    blocks.push(Block::Table(tables::correctness(content)));
    blocks.push(Block::Paragraph(
        "A run counts only if every call was answered, every byte of every reply was right, and \
         client and server counted the same calls."
            .into(),
    ));
    let outliers = tables::outliers(content);
    if !outliers.rows.is_empty() {
        blocks.push(Block::Subheading("Runs that stand out".into()));
        blocks.push(Block::Table(outliers));
    }
    blocks.push(Block::Heading("Host".into()));
    blocks.push(Block::Table(tables::host(content)));
    blocks.push(Block::Heading("How it was run".into()));
    blocks.push(Block::Paragraph(
        "Each point's commands are in commands.sh; the raw reports, one line for each run, in \
         runs.jsonl."
            .into(),
    ));
    blocks.push(Block::Code(content.about.command.clone()));
    let file = vec![Block::Code(content.experiment.clone())];
    blocks.push(Block::Details("The experiment file".into(), file));
    blocks
}

fn lead(content: &Content) -> String {
    let about = &content.about;
    let form = if about.quick { "quick form" } else { "full form" };
    let commit = about.commit.as_deref().unwrap_or("unknown commit");
    let runs = content.runs.iter().filter(|run| run.is_measured()).count();
    format!(
        "{form}, {} of {} runs, {} to {}; {}; sources {commit}.",
        runs,
        about.runs_planned,
        about.began,
        about.ended.as_deref().unwrap_or("unknown"),
        about.programs.join(", ")
    )
}

/// What makes figures worth less.
pub(super) fn warnings(content: &Content) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(signal) = &content.about.interrupted {
        warnings.push(format!("Interrupted ({signal}): only what was finished is here"));
    }
    if let Some(failure) = &content.about.failure {
        warnings.push(format!("Ended early: {failure}"));
    }
    let middle = |metric: &str| tables::spread(content, metric).map(|spread| spread.median);
    for (metric, limit, whose) in [
        ("samples.steal_share", STEAL_MAX, "the hypervisor took"),
        ("verdict.others_cpu_share", OTHERS_MAX, "other programs used"),
    ] {
        if let Some(share) = middle(metric).filter(|share| *share > limit) {
            let share = words::percent(share);
            warnings.push(format!("Host busy: {whose} {share} of the CPUs in the middle run"));
        }
    }
    warnings
}

fn of_group(group: &Group, results: &Results<'_>) -> Vec<Block> {
    let mut blocks = vec![Block::Heading(group.title.clone())];
    blocks.push(Block::Label(match group.mode {
        Mode::Real => "Measured on this host".into(),
        Mode::Paced => "Emulated stage time: rates are no real ones".into(),
        Mode::Simulated => "Simulated in virtual time: nothing here was measured".into(),
    }));
    if !group.note.is_empty() {
        blocks.push(Block::Paragraph(group.note.clone()));
    }
    blocks.extend(timing(group, results).map(Block::Paragraph));
    blocks.extend(rates::of_group(group, results));
    blocks.extend(pauses::of_group(group, results));
    let alike = group.lines.iter().all(|line| line.peer == group.lines[0].peer);
    if group.mode == Mode::Real && alike {
        blocks.extend(host_bound(group, results).map(Block::Paragraph));
    }
    let panels = results.experiment.panels.iter().filter(|panel| panel.group == group.name);
    let figures = panels.filter_map(|panel| figures::figure(panel, results));
    blocks.extend(figures.map(|figure| Block::Figure(Box::new(figure))));
    let points = tables::points(group, results);
    if points.rows.is_empty() {
        blocks.push(Block::Paragraph("Nothing of this group was finished.".into()));
    } else {
        blocks.push(Block::Subheading("Figures".into()));
        blocks.push(Block::Table(points));
    }
    blocks
}

fn timing(group: &Group, results: &Results<'_>) -> Option<String> {
    if group.mode == Mode::Simulated {
        return None;
    }
    let noise = results.noise(&metric("calls_per_s"), &group.name);
    let noise = noise.map_or("was not measured".to_owned(), |noise| format!("is x {noise:.3}"));
    Some(format!(
        "{} of {:.1} s each after {:.1} s of warm-up, interleaved; {}. What two \
         equal settings differ by {noise}.",
        if group.rounds == 1 { "1 round".to_owned() } else { format!("{} rounds", group.rounds) },
        group.duration.as_secs_f64(),
        group.warmup.as_secs_f64(),
        group.loop_words()
    ))
}

/// What this host allows with client and server on the same CPUs, and how much of it both used. Not
/// the rate by its ceiling: a rate is one of the client's window, a price in CPU time one of the
/// server's as well, which may be longer.
fn host_bound(group: &Group, results: &Results<'_>) -> Option<String> {
    let middle = |text: &str| results.median_of_group(&metric(text), &group.name);
    let client = middle("cpu_us_per_call.client")?;
    let server = middle("cpu_us_per_call.server")?;
    let ceiling = middle("host.cpu_ceiling_calls_per_s")?;
    let cpus = middle("host.cpus_online")?;
    let shares = ["host.client_cpu_share", "host.server_cpu_share"].map(metric);
    let used = results.median_of_sums(&shares, &group.name)?;
    let bound = if used >= 0.9 {
        "The host is the limit: more threads only share out the same CPU time."
    } else {
        "The host is not used up."
    };
    Some(format!(
        "Client and server share this host: X <= C / (D_client + D_server) = {cpus:.0} CPUs / \
         ({client:.2} us + {server:.2} us) = {} calls/s (middle of the group's runs); in the \
         middle run both used {} of the CPUs. {bound}",
        words::number(ceiling),
        words::percent(used)
    ))
}

fn metric(text: &str) -> Metric {
    text.parse().expect("the report's own metrics are paths")
}

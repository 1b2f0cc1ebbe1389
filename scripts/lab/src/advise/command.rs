//! `lab advise`: from options to what is printed.

use super::answer::{Answer, Question, answer};
use super::calibrate::{self, Run};
use super::check::Check;
use super::demands::Demands;
use super::options::AdviseOptions;
use super::text::{check_text, text};
use crate::output::{self, Unwritten};
use crate::process::{Programs, Stop};
use crate::simulate::options::Format;
use crate::usage::Usage;
use anyhow::Context;
use serde::Serialize;

/// Everything that is printed as JSON. What is predicted and what was measured stand apart.
#[derive(Debug, Serialize)]
struct Page<'a> {
    question: &'a Question,
    demands: &'a Demands,
    measured: &'a [Run],
    predicted: &'a Answer,
    check: &'a [Check],
}

/// Answers and prints; gives the exit code: 1 if a prediction was checked and did not hold.
pub fn run(options: &AdviseOptions) -> anyhow::Result<u8> {
    options.refuse_taken().map_err(Usage)?;
    let question = options.question(echo_common::pinning::allowed_cpus().len() as u64);
    let holds = match options.given() {
        Some(demands) => {
            let answer = answer(&demands, &question);
            publish(options, &question, &demands, &[], &answer)?;
            if options.format == Format::Json {
                print_json(&question, &demands, &[], &answer, &[])?;
            }
            true
        }
        None => {
            let programs = Programs::find(options.programs.as_deref(), Stop::on_signals()?)?;
            measure_and_advise(options, &question, &programs)?
        }
    };
    Ok(u8::from(!holds))
}

/// Whether every prediction held that was checked.
fn measure_and_advise(
    options: &AdviseOptions,
    question: &Question,
    programs: &Programs,
) -> anyhow::Result<bool> {
    let mut runs = calibrate::calibrate(programs, options)?;
    let demands = calibrate::demands(&runs).context("nothing was measured")?;
    let answer = answer(&demands, question);
    publish(options, question, &demands, &runs, &answer)?;
    let mut checks = Vec::new();
    if options.check {
        checks.extend(runs.last().and_then(|run| Check::of(run, &answer, false)));
        let run = calibrate::run_with(programs, options, answer.readers())?;
        checks.extend(Check::of(&run, &answer, true));
        runs.push(run);
    }
    match options.format {
        Format::Json => print_json(question, &demands, &runs, &answer, &checks)?,
        Format::Text if options.check => output::print(&check_text(&checks))?,
        Format::Text => {}
    }
    Ok(checks.iter().filter(|check| check.ahead).all(Check::holds))
}

/// The prediction goes out before anything is checked.
fn publish(
    options: &AdviseOptions,
    question: &Question,
    demands: &Demands,
    runs: &[Run],
    answer: &Answer,
) -> anyhow::Result<()> {
    if let Some(path) = &options.output {
        let page = Page { question, demands, measured: runs, predicted: answer, check: &[] };
        let json = serde_json::to_string_pretty(&page)?;
        std::fs::write(path, json + "\n").with_context(|| Unwritten(path.display().to_string()))?;
    }
    if options.format == Format::Text {
        output::print(&text(question, demands, runs, answer))?;
    }
    Ok(())
}

fn print_json(
    question: &Question,
    demands: &Demands,
    runs: &[Run],
    answer: &Answer,
    check: &[Check],
) -> anyhow::Result<()> {
    let page = Page { question, demands, measured: runs, predicted: answer, check };
    output::print(&(serde_json::to_string_pretty(&page)? + "\n"))
}

//! `lab advise`: from options to what is printed.

use super::answer::{Answer, Question, answer};
use super::calibrate::{self, Run};
use super::check::Check;
use super::demands::Demands;
use super::options::AdviseOptions;
use super::text::{check_text, text};
use crate::process::{Programs, Stop};
use crate::simulate::options::Format;
use crate::usage::Usage;
use anyhow::Context;
use serde::Serialize;
use std::io::Write;

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
    let out = &mut std::io::stdout().lock();
    let holds = match options.given() {
        Some(demands) => {
            let answer = answer(&demands, &question);
            publish(options, &question, &demands, &[], &answer, out)?;
            if options.format == Format::Json {
                print_json(&question, &demands, &[], &answer, &[], out)?;
            }
            true
        }
        None => {
            let programs = Programs::find(options.programs.as_deref(), Stop::on_signals()?)?;
            measure_and_advise(options, &question, &programs, out)?
        }
    };
    Ok(u8::from(!holds))
}

/// Whether every prediction held that was checked.
fn measure_and_advise(
    options: &AdviseOptions,
    question: &Question,
    programs: &Programs,
    out: &mut impl Write,
) -> anyhow::Result<bool> {
    let mut runs = calibrate::calibrate(programs, options)?;
    let demands = calibrate::demands(&runs).context("nothing was measured")?;
    let answer = answer(&demands, question);
    publish(options, question, &demands, &runs, &answer, out)?;
    let mut checks = Vec::new();
    if options.check {
        checks.extend(runs.last().and_then(|run| Check::of(run, &answer, false)));
        let run = calibrate::run_with(programs, options, answer.readers())?;
        checks.extend(Check::of(&run, &answer, true));
        runs.push(run);
    }
    match options.format {
        Format::Json => print_json(question, &demands, &runs, &answer, &checks, out)?,
        Format::Text if options.check => out.write_all(check_text(&checks).as_bytes())?,
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
    out: &mut impl Write,
) -> anyhow::Result<()> {
    if let Some(path) = &options.output {
        let page = Page { question, demands, measured: runs, predicted: answer, check: &[] };
        let json = serde_json::to_string_pretty(&page)?;
        std::fs::write(path, json + "\n")
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    if options.format == Format::Text {
        out.write_all(text(question, demands, runs, answer).as_bytes())?;
        out.flush()?;
    }
    Ok(())
}

fn print_json(
    question: &Question,
    demands: &Demands,
    runs: &[Run],
    answer: &Answer,
    check: &[Check],
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let page = Page { question, demands, measured: runs, predicted: answer, check };
    serde_json::to_writer_pretty(&mut *out, &page)?;
    Ok(writeln!(out)?)
}

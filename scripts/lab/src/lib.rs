//! The lab: experiments as data, honest statistics, models and charts. The programs that it
//! measures are started as processes; it shares no code with them but the clock and the words.

pub mod advise;
pub mod chart;
pub mod compare;
mod drain;
pub mod experiment;
pub mod fields;
pub mod folder;
pub mod judge;
pub mod metric;
pub mod model;
pub mod options;
pub mod output;
pub mod predict;
pub mod process;
pub mod report;
pub mod results;
pub mod run;
pub mod simulate;
pub mod stats;
pub mod usage;
pub mod words;

use clap::Parser;
use experiment::FileError;
use options::{Command, Lab};
use process::ProcessError;
use std::process::ExitCode;
use usage::Usage;

/// Exit code when a claim does not hold, or a run was not sound.
const CLAIM_FAILED: u8 = 1;
const USAGE: u8 = 2;
const INTERNAL: u8 = 70;
const OUTPUT: u8 = 74;

/// Runs the lab: reads the command line, does what it says. Exit codes are in its help.
pub fn program() -> ExitCode {
    let done = match Lab::parse().command {
        Command::Run(options) => run::run(&options),
        Command::Report(options) => report::again(&options.folder),
        Command::Compare(options) => compare::compare(&options),
        Command::Advise(options) => advise::command::run(&options),
        Command::Simulate(options) => simulate::command::run(&options),
        Command::Bound(options) => process::become_bound(&options),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("lab: {error:#}");
            ExitCode::from(code_of(&error))
        }
    }
}

fn code_of(error: &anyhow::Error) -> u8 {
    if error.is::<FileError>() || error.is::<compare::Unlike>() || error.is::<Usage>() {
        return USAGE;
    }
    if error.is::<output::Unwritten>() {
        return OUTPUT;
    }
    if error.is::<run::GateFailed>() {
        return CLAIM_FAILED;
    }
    match error.downcast_ref::<ProcessError>() {
        Some(ProcessError::Interrupted(signal)) => signal.exit_code(),
        Some(ProcessError::Missing(_) | ProcessError::Hadoop(_) | ProcessError::Refused { .. }) => {
            USAGE
        }
        _ => INTERNAL,
    }
}

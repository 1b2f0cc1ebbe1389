//! The lab: experiments as data, honest statistics, models and charts. The programs that it
//! measures are started as processes; it shares no code with them but the clock and the words.

pub mod model;
pub mod process;
pub mod simulate;
pub mod stats;

use std::process::ExitCode;

use clap::Parser;

/// The command line of `lab`.
#[derive(Debug, Parser)]
#[command(name = "lab", version, about)]
struct Lab {}

/// Runs the lab: reads the command line, does what it says. Exit codes: 0 done, 1 a claim or a
/// check failed, 2 usage, 70 internal.
pub fn program() -> ExitCode {
    Lab::parse();
    ExitCode::SUCCESS
}

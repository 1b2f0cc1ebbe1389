//! The lab: experiments as data, honest statistics, models and charts. The programs that it
//! measures are started as processes; it shares no code with them but the clock and the words.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The command line of `lab`.
#[derive(Debug, Parser)]
#[command(name = "lab", version, about)]
struct Lab {
    #[command(subcommand)]
    command: Command,
}

/// What the lab can be asked for.
#[derive(Debug, Subcommand)]
enum Command {}

/// Runs the lab: reads the command line, does what it says. Exit codes: 0 done, 1 a claim or a
/// check failed, 2 usage, 70 internal.
pub fn program() -> ExitCode {
    match Lab::parse().command {}
}

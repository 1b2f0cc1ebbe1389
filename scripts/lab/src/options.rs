//! The command line of `lab`.

use crate::advise::options::AdviseOptions;
use crate::process::BOUND;
use crate::simulate::options::SimulateOptions;
use clap::{Args, Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

/// Experiments with echo-server and echo-client
#[derive(Debug, Parser)]
#[command(name = "lab", version, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Lab {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run an experiment and write its report
    Run(RunOptions),
    /// Write the report of a result folder anew
    Report(ReportOptions),
    /// Compare two result folders, or two reports of echo-client
    Compare(CompareOptions),
    /// Say how many readers a target takes, what binds next, or why no number works
    Advise(Box<AdviseOptions>),
    /// Run the pair in virtual time, on cores that this host does not have
    Simulate(Box<SimulateOptions>),
    /// Become a program that ends with the lab: how the lab starts its programs
    #[command(name = BOUND, hide = true)]
    Bound(BoundOptions),
}

/// What the lab tells itself.
#[derive(Debug, Args)]
pub struct BoundOptions {
    /// The id of the lab that starts it
    pub lab: i32,
    /// What to become
    pub program: PathBuf,
    /// With these arguments
    pub arguments: Vec<OsString>,
}

/// Options of `lab run`.
#[derive(Debug, Args)]
pub struct RunOptions {
    /// A TOML file, or the name of one in scripts/experiments, such as readers
    pub experiment: String,
    /// The short form that the experiment defines
    #[arg(long)]
    pub quick: bool,
    /// The result folder, new or empty [default: a new one under target/lab]
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
    /// A folder with echo-server and echo-client [default: they are built]
    #[arg(long, value_name = "FOLDER")]
    pub programs: Option<PathBuf>,
}

/// Options of `lab report`.
#[derive(Debug, Args)]
pub struct ReportOptions {
    /// A folder that `lab run` wrote
    pub folder: PathBuf,
}

/// Options of `lab compare`.
#[derive(Debug, Args)]
pub struct CompareOptions {
    /// The first: a result folder, or a report of echo-client in JSON
    pub a: PathBuf,
    /// The second, of the same kind
    pub b: PathBuf,
    /// Compare although options or hosts differ
    #[arg(long)]
    pub anyway: bool,
}

const EXIT_CODES: &str = "\
Exit codes of run and report: 0 no claim failed; 1 a claim does not hold, or a run was not sound;
2 usage, or the experiment file is wrong; 70 internal; 74 cannot write; 130, 143 interrupted (what
was finished is kept and reported). Of compare: 0 no difference; 1 the second is slower; 3 it is
faster; 2 usage, or the two cannot be compared. Of advise: 0 answered; 1 a prediction was checked
and did not hold, or the host was too busy to tell; 2 usage. Of simulate: 0; 2 usage.";

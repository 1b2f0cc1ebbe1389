//! The two programs as processes: built or found, started on a port of their own, waited for with a
//! limit on everything, and ended by id whatever happens.
//!
//! ```text
//! let programs = Programs::find(None, Stop::on_signals()?)?;
//! let server = Server::start(&programs, ["--readers=2"])?;
//! let report = client(&programs, server.address(), ["-n", "100000"])?;
//! let end = server.stop()?;
//! ```
//!
//! Children are in process groups of their own, so that a Ctrl-C comes to the lab alone; it ends
//! what runs, and every wait returns [`ProcessError::Interrupted`]. If the lab is killed itself,
//! the system ends them. The programs' options in the environment (`ECHO_SERVER_*`,
//! `ECHO_CLIENT_*`) are taken away: they would change a run unseen.

mod bound;
mod client;
mod programs;
mod running;
mod server;
mod stats;
mod stop;

pub(crate) use bound::BOUND;
pub use bound::run as become_bound;
pub use client::{Client, ClientEnd, client};
pub use programs::{Program, Programs};
pub use server::{Server, ServerEnd};
pub use stats::stats;
pub use stop::Stop;

use echo_common::quantity::format_duration;
use echo_common::signals::Signal;
use std::io;
use std::time::Duration;
use thiserror::Error;

/// What went wrong with a program. Each is one line.
#[derive(Debug, Error)]
pub enum ProcessError {
    /// The system refused to start it.
    #[error("{program} cannot be started: {source}")]
    Start {
        /// Its name.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// A folder was named that does not hold both programs.
    #[error("there is no {0}; allowed: a folder that holds echo-server and echo-client")]
    Missing(String),
    /// cargo failed, or gave something unexpected.
    #[error("the programs cannot be built: {0}")]
    Build(String),
    /// It does not take the options that it was given.
    #[error("{program} refuses its options: {why}")]
    Refused {
        /// Its name.
        program: String,
        /// The line that says which and why.
        why: String,
    },
    /// The server ended or said something else than its address.
    #[error("{0} did not start: {1}")]
    NoAddress(String, String),
    /// Hadoop's server cannot be had.
    #[error("{0}")]
    Hadoop(String),
    /// A limit of time passed; it was ended.
    #[error("{program} did not end within {}; it was killed", format_duration(*limit))]
    TooLong {
        /// Its name.
        program: String,
        /// The limit.
        limit: Duration,
    },
    /// It ended with something else than 0.
    #[error("{program} ended with {ending}: {why}")]
    Ended {
        /// Its name.
        program: String,
        /// Its exit code, or the signal that ended it.
        ending: String,
        /// The last line that it wrote on standard error.
        why: String,
    },
    /// What the client printed is no report.
    #[error("the report of echo-client cannot be read: {0}")]
    Report(String),
    /// A server did not answer a stats call.
    #[error("the server on {0} does not say what it counted: {1}")]
    NoStats(String, io::Error),
    /// A signal asked the lab to end.
    #[error("interrupted")]
    Interrupted(Signal),
    /// The system refused something else.
    #[error("{0}: {1}")]
    System(&'static str, io::Error),
}

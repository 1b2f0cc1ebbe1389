//! From the command line to the exit code.

use crate::connect_error::files_needed;
use crate::deliveries::{Deliveries, Unfit};
use crate::notice;
use crate::options::Options;
use crate::output::OutputError;
use crate::plan::{Plan, PlanError};
use crate::run::{self, RunError, RunResult};
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use echo_common::quantity::counted;
use echo_common::{open_files, pinning};
use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Arc;

/// Runs echo-client with this process's arguments and environment.
pub fn program() -> ExitCode {
    ExitCode::from(match prepare().and_then(|(plan, to)| execute(&Arc::new(plan), to)) {
        Ok(code) => code,
        Err(Exit(code)) => code,
    })
}

/// An early end; what there was to say about it has been said.
struct Exit(u8);

const OK: u8 = 0;
const FAILURES: u8 = 1;
const USAGE: u8 = 2;
const CANNOT_CONNECT: u8 = 69;
const INTERNAL: u8 = 70;
const NOT_ENOUGH_FILES: u8 = 71;
const CANNOT_WRITE: u8 = 74;

/// Reads and checks everything that can be checked before a socket is opened.
fn prepare() -> Result<(Plan, Deliveries), Exit> {
    // Before any thread is pinned: children inherit the mask.
    let allowed_cpus = pinning::allowed_cpus();
    let options = Options::try_parse().map_err(|error| {
        // Nobody reads it, then: `--help | head -1`.
        let _ = error.print();
        Exit(if error.use_stderr() { USAGE } else { OK })
    })?;
    let plan = Plan::new(options, allowed_cpus).map_err(|error| refuse(&error))?;
    raise_open_files(&plan)?;
    let deliveries = Deliveries::prepare(&plan.options).map_err(|error| match error {
        Unfit::Same { .. } => wrong_options(&error),
        Unfit::Output(error) => cannot_write(&error),
    })?;
    for address in plan.remote_addresses().take(1) {
        let load = match plan.is_unanswered() {
            true => "as many calls as they take".to_owned(),
            false => format!("{} in flight", counted(plan.callers as u64, "call")),
        };
        notice::warning(format_args!(
            "{address} is not this host; what goes out to it: {} with {load}",
            counted(plan.connections as u64, "connection")
        ));
    }
    let cpus = if plan.pins.is_empty() { plan.allowed_cpus.len() } else { distinct(&plan.pins) };
    if plan.workers > cpus {
        let workers = counted(plan.workers as u64, "worker");
        notice::warning(format_args!("{workers} share {}", counted(cpus as u64, "CPU")));
    }
    Ok((plan, deliveries))
}

fn distinct(cpus: &[usize]) -> usize {
    cpus.iter().collect::<BTreeSet<_>>().len()
}

fn refuse(error: &PlanError) -> Exit {
    if error.is_lookup() {
        notice::error(error);
        return Exit(CANNOT_CONNECT);
    }
    wrong_options(error)
}

fn wrong_options(error: &impl std::fmt::Display) -> Exit {
    // Nobody is left to be told, then.
    let _ = Options::command().error(ErrorKind::ValueValidation, error).print();
    Exit(USAGE)
}

fn raise_open_files(plan: &Plan) -> Result<(), Exit> {
    if let Err(error) = open_files::raise() {
        notice::warning(format_args!("the limit on open files stays as it is: {error}"));
    }
    let (limits, needed) = (open_files::limits(), files_needed(plan));
    if needed > limits.soft {
        notice::error(format_args!(
            "{} connections need about {needed} open files, the limit is {} (hard limit {}); \
             use fewer --clients or raise it with `ulimit -n`",
            plan.connections, limits.soft, limits.hard
        ));
        return Err(Exit(NOT_ENOUGH_FILES));
    }
    Ok(())
}

fn execute(plan: &Arc<Plan>, mut deliveries: Deliveries) -> Result<u8, Exit> {
    let result = run::run(plan, deliveries.take_log()).map_err(|error| {
        notice::error(&error);
        Exit(exit_code(&error))
    })?;
    let code = code_of(&result);
    let failures = deliveries.deliver(plan, result);
    failures.iter().for_each(notice::error);
    Ok(if failures.is_empty() { code } else { CANNOT_WRITE })
}

fn cannot_write(error: &OutputError) -> Exit {
    notice::error(error);
    Exit(CANNOT_WRITE)
}

fn exit_code(error: &RunError) -> u8 {
    match error {
        RunError::Connect(error) if error.is_out_of_descriptors() => NOT_ENOUGH_FILES,
        RunError::Connect(_) => CANNOT_CONNECT,
        RunError::Interrupted(signal) => signal.exit_code(),
        RunError::Worker(_) | RunError::System(..) => INTERNAL,
    }
}

fn code_of(result: &RunResult) -> u8 {
    match result.interrupted {
        Some(signal) => signal.exit_code(),
        None if result.is_well() => OK,
        None => FAILURES,
    }
}

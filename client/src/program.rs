//! From the command line to the exit code.

use crate::connect_error::files_needed;
use crate::histogram_log::{self, HistogramLog};
use crate::notice;
use crate::options::{Format, Options};
use crate::output::{self, OutputError};
use crate::plan::{Plan, PlanError};
use crate::report::{self, Report};
use crate::run::{self, RunError, RunResult};
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use echo_common::{open_files, pinning};
use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Arc;

/// Runs echo-client with this process's arguments and environment.
pub fn program() -> ExitCode {
    ExitCode::from(match prepare().and_then(|plan| execute(&Arc::new(plan))) {
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
fn prepare() -> Result<Plan, Exit> {
    // Before any thread is pinned: children inherit the mask.
    let allowed_cpus = pinning::allowed_cpus();
    let options = Options::try_parse().map_err(|error| {
        // Nobody reads it, then: `--help | head -1`.
        let _ = error.print();
        Exit(if error.use_stderr() { USAGE } else { OK })
    })?;
    let plan = Plan::new(options, allowed_cpus).map_err(|error| refuse(&error))?;
    let options = &plan.options;
    for path in [&options.output, &options.hgrm, &options.hlog].into_iter().flatten() {
        output::check(path).map_err(cannot_write)?;
    }
    raise_open_files(&plan)?;
    for address in plan.remote_addresses().take(1) {
        let load = match plan.is_unanswered() {
            true => "as many calls as they take".to_owned(),
            false => format!("{} calls in flight", plan.callers),
        };
        notice::warning(format_args!(
            "{address} is not this host: {} connections with {load} go out to it",
            plan.connections
        ));
    }
    let cpus = if plan.pins.is_empty() { plan.allowed_cpus.len() } else { distinct(&plan.pins) };
    if plan.workers > cpus {
        notice::warning(format_args!("{} workers share {cpus} CPUs", plan.workers));
    }
    Ok(plan)
}

fn distinct(cpus: &[usize]) -> usize {
    cpus.iter().collect::<BTreeSet<_>>().len()
}

fn refuse(error: &PlanError) -> Exit {
    if error.is_lookup() {
        notice::error(error);
        return Exit(CANNOT_CONNECT);
    }
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

fn execute(plan: &Arc<Plan>) -> Result<u8, Exit> {
    let log = plan.options.hlog.as_deref().map(HistogramLog::create);
    let log = log.transpose().map_err(cannot_write)?;
    let mut result = run::run(plan, log).map_err(|error| {
        notice::error(&error);
        Exit(exit_code(&error))
    })?;
    let code = code_of(&result);
    if let Some(log) = result.histogram_log.take() {
        log.finish().map_err(cannot_write)?;
    }
    if let Some(path) = &plan.options.hgrm {
        let table = histogram_log::percentile_table(&mut result.ledger.latency);
        output::write(path, &table).map_err(cannot_write)?;
    }
    let report = report::build(plan, result);
    deliver(plan, &report)?;
    Ok(code)
}

fn cannot_write(error: OutputError) -> Exit {
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

/// The file first: what reads standard output may stop reading at any time.
fn deliver(plan: &Plan, report: &Report) -> Result<(), Exit> {
    let file = plan.options.output.as_deref();
    let to_file = file.map_or(Ok(()), |path| output::write(path, &report::json(report)));
    let to_stdout = match (plan.options.format, file) {
        (Format::Text, _) => output::print(&report::text(report)),
        (Format::Json, None) => output::print(&report::json(report)),
        (Format::Json, Some(_)) => Ok(()),
    };
    for result in [to_file, to_stdout] {
        result.map_err(cannot_write)?;
    }
    Ok(())
}

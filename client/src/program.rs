//! From the command line to the exit code.

use crate::options::Options;
use crate::plan::Plan;
use crate::report;
use crate::run::{self, RunError};
use clap::{CommandFactory, Parser, error::ErrorKind};
use echo_common::pinning;
use std::process::ExitCode;
use std::sync::Arc;

/// Runs echo-client with this process's arguments.
pub fn program() -> ExitCode {
    let allowed = pinning::allowed_cpus();
    let options = match Options::try_parse() {
        Ok(options) => options,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let plan = match Plan::new(options, allowed) {
        Ok(plan) => Arc::new(plan),
        Err(error) => {
            if error.is_lookup() {
                eprintln!("error: {error}");
                return ExitCode::from(69);
            }
            let _ = Options::command().error(ErrorKind::ValueValidation, error).print();
            return ExitCode::from(2);
        }
    };
    match run::run(&plan) {
        Ok(mut result) => {
            let json = report::json(&plan, &mut result).to_string();
            match &plan.options.output {
                Some(path) => std::fs::write(path, json).unwrap(),
                None => println!("{json}"),
            }
            ExitCode::from(u8::from(!result.ledger.outcomes.all_well()))
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(match error {
                RunError::Connect(_) => 69,
                RunError::Interrupted(signal) => signal.exit_code(),
                RunError::Worker(_) | RunError::System(..) => 70,
            })
        }
    }
}

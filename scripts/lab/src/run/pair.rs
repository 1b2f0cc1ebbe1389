//! One run: a server and a client as processes, watched, ended, counted.

use super::record::{self, Record};
use super::sampler::Sampler;
use crate::experiment::{Group, Mode, Point, Side};
use crate::process::{Client, ProcessError, Programs, Server};
use serde_json::Value;
use std::time::Duration;

/// A run may take so much longer than it was asked to.
const SLACK: Duration = Duration::from_secs(45);
/// Calls of the gate per second at least, for its limit of time.
const GATE_CALLS_PER_S: u64 = 500;
/// Emulated stages are slow: their part of the gate's calls.
const GATE_PACED_PART: u64 = 50;

/// What ends a run.
#[derive(Clone, Copy, Debug)]
pub(super) enum Length {
    /// The clock.
    Time { duration: Duration, warmup: Duration },
    /// An exact count.
    Calls(u64),
}

impl Length {
    /// That of a measurement.
    pub(super) fn of(group: &Group) -> Length {
        Length::Time { duration: group.duration, warmup: group.warmup }
    }

    /// That of the gate.
    pub(super) fn of_gate(group: &Group, calls: u64) -> Length {
        match group.mode {
            Mode::Paced => Length::Calls((calls / GATE_PACED_PART).max(1)),
            Mode::Real | Mode::Simulated => Length::Calls(calls),
        }
    }

    fn words(self) -> Vec<String> {
        let ns = |time: Duration| format!("{}ns", time.as_nanos());
        match self {
            Length::Time { duration, warmup } => {
                vec![format!("--duration={}", ns(duration)), format!("--warmup={}", ns(warmup))]
            }
            Length::Calls(calls) => vec![format!("--calls={calls}")],
        }
    }

    /// The measured part, from the client's start on.
    fn window(self) -> Option<(Duration, Duration)> {
        match self {
            Length::Time { duration, warmup } => Some((warmup, warmup + duration)),
            Length::Calls(_) => None,
        }
    }

    fn limit(self) -> Duration {
        match self {
            Length::Time { duration, warmup } => duration + warmup + SLACK,
            Length::Calls(calls) => Duration::from_secs(calls / GATE_CALLS_PER_S) + SLACK,
        }
    }
}

/// Runs one point. A problem of the run itself is in the record; an error is one of the lab.
pub(super) fn run(
    programs: &Programs,
    point: &Point,
    length: Length,
) -> Result<Record, ProcessError> {
    let mut record = Record::from(point);
    record.server = point.options.arguments(Side::Server);
    record.client = point.options.arguments(Side::Client);
    record.client.extend(length.words());
    let server = Server::start_of(programs, point.peer, &record.server)?;
    let client = Client::start(programs, server.address(), &record.client)?;
    let mut sampler = Sampler::new(server.pid(), client.pid());
    let end = client.finish(programs, length.limit(), || sampler.look());
    let samples = sampler.result(length.window());
    let end = match end {
        Ok(end) => end,
        Err(error @ (ProcessError::Ended { .. } | ProcessError::TooLong { .. })) => {
            record.problem = Some(error.to_string());
            return Ok(record);
        }
        Err(error) => return Err(error),
    };
    record.report = end.report;
    if let (Some(report), Ok(samples)) =
        (record.report.as_object_mut(), serde_json::to_value(samples))
    {
        report.insert("samples".to_owned(), samples);
    }
    match server.stop() {
        Ok(end) => record.server_calls = end.counters.get("calls").copied(),
        Err(error) => record.problem = Some(error.to_string()),
    }
    if record.problem.is_none() {
        record.problem = record::problem(&record.report, end.code, record.server_calls);
    }
    if record.problem.is_none() && record.report["interrupted"] == Value::Bool(true) {
        record.problem = Some("the client was interrupted".to_owned());
    }
    Ok(record)
}

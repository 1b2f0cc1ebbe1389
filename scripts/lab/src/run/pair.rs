//! One run: a server, its followers and a client as processes, watched, ended, counted.

use super::pause::Pausing;
use super::record::{self, Record};
use super::replicas::Replicas;
use super::sampler::Sampler;
use crate::experiment::{Group, Mode, Point, Side};
use crate::process::{Client, ClientEnd, ProcessError, Programs, Server};
use echo_common::clock::{self, now_ns};
use serde::Serialize;
use serde_json::Value;
use std::time::Duration;

/// A run may take so much longer than it was asked to.
const SLACK: Duration = Duration::from_secs(45);
/// How often the processes of a run are looked at.
const SAMPLE_EVERY: Duration = Duration::from_millis(250);
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
    let replicas = Replicas::start(programs, point)?;
    let words = record.server.iter().cloned().chain(replicas.option());
    let server = Server::start_of(programs, point.peer, words)?;
    if let Some(missing) = replicas.joined(programs, &server)? {
        record.problem = Some(missing);
        return Ok(record);
    }
    let Some(end) = watched(programs, (&server, &replicas), &mut record, length)? else {
        return Ok(record);
    };
    let agreed = if record.problem.is_none() { replicas.agree(programs, &server)? } else { None };
    match agreed {
        None => {}
        Some(Ok(held)) => add(&mut record.report, "replicas", held),
        Some(Err(different)) => record.problem = Some(different),
    }
    match server.stop() {
        Ok(end) => record.server_calls = end.counters.get("calls").copied(),
        Err(error) => record.problem = Some(error.to_string()),
    }
    let followers_wrong = replicas.stop();
    if record.problem.is_none() {
        record.problem = record::problem(&record.report, end.code, record.server_calls);
    }
    if record.problem.is_none() && record.report["interrupted"] == Value::Bool(true) {
        record.problem = Some("the client was interrupted".to_owned());
    }
    record.problem = record.problem.or(followers_wrong);
    Ok(record)
}

/// Runs the client against a server, watches all of them, and stops a follower for a while if that
/// is wanted. The record gets the report and what was seen; none if the client did not end well.
fn watched(
    programs: &Programs,
    (server, replicas): (&Server, &Replicas),
    record: &mut Record,
    length: Length,
) -> Result<Option<ClientEnd>, ProcessError> {
    let started_ns = now_ns();
    let client = Client::start(programs, server.address(), &record.client)?;
    let mut sampler = Sampler::new(server.pid(), client.pid(), &replicas.pids());
    let plan = record.pause.zip(length.window());
    let mut pausing = plan.and_then(|(pause, (warmup, _))| {
        let follower = replicas.get(pause.follower)?;
        Some(Pausing::new(follower, pause, started_ns, warmup))
    });
    let mut sample_ns = started_ns.saturating_add(clock::ns(SAMPLE_EVERY));
    let end = client.finish(programs, length.limit(), || {
        let now = now_ns();
        let pause_ns = pausing.as_mut().map_or(u64::MAX, |pausing| pausing.look(now));
        if now >= sample_ns {
            sampler.look();
            sample_ns = now.saturating_add(clock::ns(SAMPLE_EVERY));
        }
        sample_ns.min(pause_ns)
    });
    let ended_ns = now_ns();
    let samples = sampler.result(length.window());
    let mut end = match end {
        Ok(end) => end,
        Err(error @ (ProcessError::Ended { .. } | ProcessError::TooLong { .. })) => {
            record.problem = Some(error.to_string());
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    record.report = std::mem::take(&mut end.report);
    add(&mut record.report, "samples", samples);
    match pausing.map(|pausing| pausing.figures(&record.report, ended_ns)) {
        None => {}
        Some(Ok(figures)) => add(&mut record.report, "pause", figures),
        Some(Err(wrong)) => record.problem = Some(wrong),
    }
    Ok(Some(end))
}

/// What the lab saw, beside what the client says.
fn add(report: &mut Value, name: &str, seen: impl Serialize) {
    if let (Some(report), Ok(seen)) = (report.as_object_mut(), serde_json::to_value(seen)) {
        report.insert(name.to_owned(), seen);
    }
}

//! From a finished run to its report.

use super::checks::{self, Check, Findings};
use super::errors::{ErrorKind, errors};
use super::evidence::evidence;
use super::keys::KeyFigures;
use super::net_delay::NetDelayFigures;
use super::open_loop::{Answered, OpenLatencies, OpenLoopFigures};
use super::records::RecordFigures;
use super::server::ServerFigures;
use super::settings::{option_values, settings};
use super::stages::StageFigures;
use super::verdict::{Evidence, LoadKind, verdict};
use super::window::{little, window};
use super::{
    CpuPerCall, HostFigures, OutcomeCounts, Rates, Report, SCHEMA_VERSION, Window, WorkerFigures,
    ratio,
};
use crate::followers::Checked;
use crate::latency::Summary;
use crate::options::{Acks, Switch};
use crate::outcome::{LostKind, Outcomes};
use crate::plan::Plan;
use crate::run::{NamedResult, RunResult};
use echo_common::quantity::format_duration;
use echo_common::signals::Signal;
use echo_common::wire::native::Status;
use echo_common::{address, open_files};
use echo_common::{date, host};

/// Texts of lost connections in a report.
const NOTES_MAX: usize = 8;

/// Makes the report.
pub(crate) fn build(plan: &Plan, mut run: RunResult) -> Report {
    let outcomes = run.ledger.outcomes.clone();
    let window = window(plan, &run);
    let calls_per_s = ratio(window.ok_replies as f64, window.seconds);
    let Durations { latency, failed, open_latencies, sent_mean_us, stages_us } =
        durations(&mut run, plan.is_unanswered());
    let parties = parties(plan, &run);
    let little = little(plan, &run, &window, sent_mean_us);
    let open_loop = open_loop(plan, &run, &window, latency);
    let counts = outcome_counts(&outcomes);
    let keys = KeyFigures::of(plan.options.keys, &run.ledger.key_findings, &counts);
    let records = RecordFigures::of(plan, &mut run, &window);
    let schedule = open_loop.as_ref().or(records.as_ref().and_then(RecordFigures::schedule));
    let checks = checks::of_run(plan, &run, &window, |by| Findings {
        by,
        outcomes: counts,
        little,
        open_loop: open_loop.as_ref(),
        stages: stages_us.as_ref(),
        keys: keys.as_ref(),
        records: records.as_ref(),
        server: parties.server.as_ref(),
        host: &parties.host,
    });
    let load = load_kind(plan, schedule, &checks);
    let verdict = verdict(evidence_of(plan, &run, calls_per_s, load, &parties));
    Report {
        schema_version: SCHEMA_VERSION,
        program: env!("CARGO_PKG_NAME"),
        version: env!("CARGO_PKG_VERSION"),
        date: date::now(),
        loop_type: if open_loop.is_some() { "open" } else { "closed" },
        target_per_s: open_loop.as_ref().map(|open| open.target_per_s),
        overloaded: schedule.map(|open| open.overloaded),
        emulated: emulated(plan, &run),
        net_delay: NetDelayFigures::of(plan, &run),
        interrupted: run.interrupted.is_some(),
        signal: run.interrupted.map(signal_name),
        unanswered: plan.is_unanswered(),
        outcomes: counts,
        late_replies: outcomes.late_replies,
        unexpected_replies: outcomes.unexpected_replies,
        early_acks: plan.asks_holders().then_some(outcomes.early_acks),
        overtaken_replies: overtaken(plan, &run),
        connections_lost: outcomes.connections_lost.values().sum(),
        warmup_calls: outcomes.warmup_calls,
        warmup_failed: outcomes.warmup_failed,
        errors: errors_of(plan, &run),
        faulty_calls: run.ledger.faulty.all(),
        notes: notes(plan, &run),
        elapsed_s: window.elapsed_s,
        calls_per_s,
        window,
        rates: rates(&run),
        latency_us: latency.into(),
        response_us: open_latencies.map(|_| latency.into()),
        service_us: open_latencies.map(|open| open.service),
        delay_us: open_latencies.map(|open| open.delay),
        open_loop,
        records,
        failure_latency_us: failed.into(),
        connect_us: run.connect_latency.summary().into(),
        cpu_us_per_call: parties.cpu,
        stages_us,
        followers: run.followers.and_then(Checked::followers),
        keys,
        little,
        checks,
        verdict,
        settings: settings(plan, open_files::limits().soft),
        workers: parties.workers,
        server: parties.server,
        server_missing: parties.server_missing,
        host: parties.host,
        options: option_values(plan),
        intervals: run.intervals,
        histogram: run.ledger.latency.buckets(),
    }
}

fn evidence_of(
    plan: &Plan,
    run: &RunResult,
    calls_per_s: Option<f64>,
    load: LoadKind,
    parties: &Parties,
) -> Evidence {
    let Parties { server, workers, host, .. } = parties;
    Evidence {
        window_s: (run.after.now_ns.saturating_sub(run.before.now_ns)) as f64 / 1e9,
        load,
        no_counters: parties.server_missing.clone(),
        ..evidence(plan, calls_per_s, payload(plan, run), workers, server.as_ref(), host)
    }
}

fn load_kind(plan: &Plan, schedule: Option<&OpenLoopFigures>, checks: &[Check]) -> LoadKind {
    let is_steady = |check: &Check| check.name != "steady" || check.ok != Some(false);
    match schedule {
        _ if !checks.iter().all(is_steady) => LoadKind::Unsteady,
        Some(schedule) if schedule.is_reached() == Some(false) => LoadKind::RateMissed,
        Some(_) => LoadKind::Rate,
        None if plan.options.acks == Acks::None => LoadKind::Sockets,
        None => LoadKind::CallsInFlight,
    }
}

/// Why there are no figures of the server, if there are none.
fn server_missing(plan: &Plan, run: &RunResult, is_there: bool) -> Option<String> {
    let why = || match plan.options.server_stats {
        Switch::Off => "--server-stats off".to_owned(),
        Switch::On => {
            let why = run.before.no_server.clone().or_else(|| run.after.no_server.clone());
            why.unwrap_or_else(|| "it was started anew meanwhile".to_owned())
        }
    };
    (!is_there).then(why)
}

fn open_loop(
    plan: &Plan,
    run: &RunResult,
    window: &Window,
    latency: Option<Summary>,
) -> Option<OpenLoopFigures> {
    let schedules = run.workers.iter().filter_map(|worker| worker.result.schedule);
    let outcomes = &run.ledger.outcomes;
    let answered = Answered {
        due: outcomes.started,
        seconds: window.seconds,
        ok: window.ok_replies,
        mean_s: latency.map(|latency| latency.mean / 1e6),
        rejected: outcomes.rejected(),
        timed_out: outcomes.timed_out,
        rounds: None,
    };
    Some(OpenLoopFigures::of(plan.pace.as_ref()?, schedules, &answered))
}

fn errors_of(plan: &Plan, run: &RunResult) -> Vec<ErrorKind> {
    let answered = plan.options.acks != Acks::None;
    errors(&run.ledger, &format_duration(plan.options.timeout), answered)
}

fn rates(run: &RunResult) -> Rates {
    let rate = |minutes| run.timeline.rate_of_last(minutes);
    Rates { m1: rate(1), m5: rate(5), m15: rate(15) }
}

fn emulated(plan: &Plan, run: &RunResult) -> Option<bool> {
    match plan.net_delay {
        Some(_) => Some(true),
        None => run.before.server.as_ref().map(|server| server.emulated),
    }
}

/// How long calls took, by all that was measured about it.
struct Durations {
    latency: Option<Summary>,
    failed: Option<Summary>,
    open_latencies: Option<OpenLatencies>,
    /// From the sending of a call on: so long it is in flight, and in the server's hands.
    sent_mean_us: Option<f64>,
    stages_us: Option<StageFigures>,
}

fn durations(run: &mut RunResult, unanswered: bool) -> Durations {
    let latency = run.ledger.latency.summary();
    let times = run.ledger.open_times.as_mut().filter(|_| !unanswered);
    let open_latencies = times.map(|times| OpenLatencies::of(times));
    let sent_mean_us = match &open_latencies {
        Some(open) => open.service.mean,
        None => latency.map(|latency| latency.mean),
    };
    let stage_times = run.ledger.stage_times.as_mut();
    Durations {
        latency,
        failed: run.ledger.failure_latency.summary(),
        open_latencies,
        sent_mean_us,
        stages_us: stage_times.map(|times| StageFigures::of(times, sent_mean_us)),
    }
}

/// Everybody who took part.
struct Parties {
    server: Option<ServerFigures>,
    server_missing: Option<String>,
    cpu: CpuPerCall,
    workers: Vec<WorkerFigures>,
    host: HostFigures,
}

fn parties(plan: &Plan, run: &RunResult) -> Parties {
    let server = match (&run.before.server, &run.after.server) {
        (Some(before), Some(after)) => ServerFigures::between(before, after),
        _ => None,
    };
    let cpu = CpuPerCall {
        client: client_cpu_us_per_call(run),
        server: server.as_ref().and_then(|server| server.cpu_us_per_call),
    };
    let workers = run.workers.iter().map(worker_figures).collect();
    let server_missing = server_missing(plan, run, server.is_some());
    Parties { server, server_missing, cpu, workers, host: host_figures(plan, run, cpu) }
}

/// Replies behind that of a later call, where that is looked at: not of Hadoop's ids.
pub(super) fn overtaken(plan: &Plan, run: &RunResult) -> Option<u64> {
    let answered = plan.options.acks != Acks::None && plan.hadoop.is_none();
    let promised = run.calls_per_connection == Some(1);
    (answered && promised).then_some(run.ledger.outcomes.overtaken)
}

/// Bytes that a call carries on average.
fn payload(plan: &Plan, run: &RunResult) -> Option<f64> {
    let Some(settings) = plan.records else { return Some(plan.options.payload as f64) };
    let sent = run.ledger.records.as_ref()?;
    let records_per_call = ratio(sent.sent_records as f64, sent.calls as f64)?;
    Some(records_per_call * settings.record_len as f64)
}

fn outcome_counts(outcomes: &Outcomes) -> OutcomeCounts {
    OutcomeCounts {
        started: outcomes.started,
        ok: outcomes.ok,
        mismatch: outcomes.mismatch,
        error_reply: outcomes.error_reply(),
        timed_out: outcomes.timed_out,
        connection_lost: outcomes.connection_lost(),
        abandoned: outcomes.abandoned,
    }
}

fn client_cpu_us_per_call(run: &RunResult) -> Option<f64> {
    let cpu_ns = run.after.client_cpu_ns.saturating_sub(run.before.client_cpu_ns);
    let answered: u64 = run.workers.iter().map(|w| w.result.flow.ok_in_window()).sum();
    ratio(cpu_ns as f64 / 1e3, answered as f64)
}

fn worker_figures(worker: &NamedResult) -> WorkerFigures {
    let result = &worker.result;
    let outcomes = &result.ledger.outcomes;
    let share = |part: fn(&crate::load::Load) -> u64| {
        result.load.and_then(|load| ratio(part(&load) as f64, load.elapsed_ns as f64))
    };
    let answered = result.flow.ok_in_window();
    WorkerFigures {
        name: worker.name.clone(),
        started: outcomes.started,
        ok: outcomes.ok,
        not_ok: outcomes.not_ok(),
        cpu_share: share(|load| load.run_ns),
        wait_share: share(|load| load.wait_ns),
        busy_share: share(|load| load.run_ns + load.wait_ns).map(|share| share.min(1.0)),
        passes_per_turn: result.load.and_then(|l| ratio(l.passes as f64, l.turns as f64)),
        calls_per_pass: result.load.and_then(|l| ratio(answered as f64, l.passes as f64)),
    }
}

fn host_figures(plan: &Plan, run: &RunResult, cpu: CpuPerCall) -> HostFigures {
    let host = host::describe(&plan.allowed_cpus);
    let load = run.after.host.zip(run.before.host).map(|(after, before)| after.since(&before));
    let here = plan.addresses.iter().all(address::is_loopback);
    let cpus = host.cpus_online.map(|cpus| cpus as f64);
    let both = cpu.client.zip(cpu.server).map(|(client, server)| client + server);
    let ceiling = both.zip(cpus.filter(|_| here)).and_then(|(us, cpus)| ratio(cpus * 1e6, us));
    let span_ns = run.after.now_ns.saturating_sub(run.before.now_ns) as f64;
    let of_host = |used_ns: u64| cpus.and_then(|cpus| ratio(used_ns as f64, span_ns * cpus));
    let client_ns = run.after.client_cpu_ns.saturating_sub(run.before.client_cpu_ns);
    let switches = run.workers.iter().map(|w| Some(w.result.load?.involuntary_switches));
    HostFigures {
        host,
        client_cpu_share: of_host(client_ns),
        server_cpu_share: cpus.filter(|_| here).and_then(|cpus| server_cpu_share(run, cpus)),
        load,
        client_involuntary_switches: switches.sum(),
        cpu_ceiling_calls_per_s: ceiling,
    }
}

/// The server's share of all CPUs, by its own clock: its window may be longer than ours.
fn server_cpu_share(run: &RunResult, cpus: f64) -> Option<f64> {
    let (before, after) = run.before.server.as_ref().zip(run.after.server.as_ref())?;
    let cpu_ns = after.cpu_ns?.checked_sub(before.cpu_ns?)?;
    let window_ns = after.uptime_ns.checked_sub(before.uptime_ns)?;
    ratio(cpu_ns as f64, window_ns as f64 * cpus)
}

fn notes(plan: &Plan, run: &RunResult) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    let malformed = LostKind::Refused(Status::Malformed.into());
    if plan.options.stages.is_some()
        && run.ledger.outcomes.connections_lost.contains_key(&malformed)
    {
        notes.push(
            "the server does not know stage times as they are asked for: run without --stages"
                .to_owned(),
        );
    }
    if plan.options.keys.is_some() && run.ledger.outcomes.connections_lost.contains_key(&malformed)
    {
        notes.push("the server does not know keys: run without --keys".to_owned());
    }
    if run.ledger.key_findings.handler_changes > 0 {
        notes.push(
            "calls of one key had several handlers: echo-server --dispatch keyed gives \
            each key one"
                .to_owned(),
        );
    }
    notes.extend(run.ledger.early_ack.clone());
    for note in run.workers.iter().flat_map(|worker| &worker.result.notes) {
        if notes.len() < NOTES_MAX && !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    notes
}

fn signal_name(signal: Signal) -> &'static str {
    match signal {
        Signal::Interrupt => "SIGINT",
        Signal::Terminate => "SIGTERM",
    }
}

//! Whether a report believes itself. Every check has its numbers; what cannot be known is unknown
//! and not passed.

mod acks;
mod records;
mod steady;

use super::build::overtaken;
use super::keys::KeyFigures;
use super::open_loop::OpenLoopFigures;
use super::records::RecordFigures;
use super::server::ServerFigures;
use super::stages::StageFigures;
use super::verdict::percent;
use super::{HostFigures, Little, OutcomeCounts, Window, ratio};
use crate::followers::Checked;
use crate::options::Acks;
use crate::plan::Plan;
use crate::run::RunResult;
use crate::timeline::Thirds;
use echo_common::quantity::{counted, grouped};
use serde::Serialize;
use std::collections::BTreeMap;

/// Little's law holds to this, in a closed loop.
const LITTLE_MAX: f64 = 0.05;
/// The stages of a call add up to its latency to this.
const STAGES_MAX: f64 = 0.01;
/// Time taken by the hypervisor, and by other processes, from which on a host is not quiet.
const STEAL_MAX: f64 = 0.01;
const OTHERS_MAX: f64 = 0.05;
/// The share of the time in which some thread of the host waited for a CPU.
const PRESSURE_MAX: f64 = 0.5;
/// Calls in flight at one moment, by their mean.
const UNDER_WAY: f64 = 4.0;
/// What a warm-up may blur: its calls between the server's counters and the begin of the window.
const WARMUP_BLUR: f64 = 0.05;

/// One check.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Check {
    pub(crate) name: &'static str,
    /// None if it cannot be known.
    pub(crate) ok: Option<bool>,
    /// The same in words, with what it means.
    pub(crate) text: String,
    pub(crate) numbers: BTreeMap<&'static str, Option<f64>>,
}

/// What the checks look at, in the report's own terms.
pub(super) struct Findings<'a> {
    /// And in those of the run.
    pub(super) by: ByRun,
    pub(super) outcomes: OutcomeCounts,
    pub(super) little: Little,
    pub(super) open_loop: Option<&'a OpenLoopFigures>,
    pub(super) stages: Option<&'a StageFigures>,
    pub(super) keys: Option<&'a KeyFigures>,
    pub(super) records: Option<&'a RecordFigures>,
    pub(super) server: Option<&'a ServerFigures>,
    pub(super) host: &'a HostFigures,
}

/// What only the run itself knows.
pub(super) struct ByRun {
    /// Sums over the workers and over the intervals: ended `ok`, and otherwise.
    workers: (u64, u64),
    intervals: (u64, u64),
    thirds: Option<Thirds>,
    /// Whether nobody else called the server, as far as it says.
    alone: bool,
    /// Connections that others opened meanwhile, if it says; they may be gone.
    visits: Option<u64>,
    warmed_up: bool,
    /// Calls that may be under way at one moment.
    callers: f64,
    /// What is known of the order of replies.
    order: Order,
    /// Replies that came before enough followers held the call, if they say so.
    early_acks: Option<u64>,
    /// Under --acks all.
    followers: Option<Checked>,
    /// Under --acks 0.
    unanswered: Option<acks::Unanswered>,
    /// Calls that the server read until all was over, if it was asked then.
    server_calls: Option<u64>,
    /// Whether calls were under way when the server was asked for the second time.
    cut: bool,
    /// Between the two readings of the host's counters.
    window_s: f64,
}

/// What is known of the order in which replies come.
#[derive(Clone, Copy)]
struct Order {
    /// Whether a connection has one call under way at most.
    in_turn: bool,
    /// Calls of a connection that the server serves at once, as it says.
    served_at_once: Option<u64>,
    /// Replies behind that of a later call, where the server promises order.
    overtaken: Option<u64>,
}

/// All checks that concern a run; `findings` completes what the run itself says.
pub(super) fn of_run<'a>(
    plan: &Plan,
    run: &RunResult,
    window: &Window,
    findings: impl FnOnce(ByRun) -> Findings<'a>,
) -> Vec<Check> {
    let sum = |parts: &mut dyn Iterator<Item = (u64, u64)>| {
        parts.fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1))
    };
    let outcomes = run.workers.iter().map(|worker| &worker.result.ledger.outcomes);
    checks(&findings(ByRun {
        workers: sum(&mut outcomes.map(|outcomes| (outcomes.ok, outcomes.not_ok()))),
        intervals: sum(&mut run.intervals.iter().map(|row| (row.calls, row.errors))),
        thirds: steady::thirds(run, window),
        alone: is_alone(plan, run),
        visits: visits(run),
        warmed_up: !plan.options.warmup.is_zero(),
        callers: plan.callers as f64,
        order: Order {
            in_turn: plan.in_flight_per_connection() == 1,
            served_at_once: run.calls_per_connection,
            overtaken: overtaken(plan, run),
        },
        early_acks: plan.asks_holders().then_some(run.ledger.outcomes.early_acks),
        followers: run.followers.clone(),
        unanswered: (plan.options.acks == Acks::None).then(|| acks::Unanswered::of(plan, run)),
        server_calls: server_calls(run),
        cut: run.end_ns.is_some(),
        window_s: (run.after.now_ns.saturating_sub(run.before.now_ns)) as f64 / 1e9,
    }))
}

fn server_calls(run: &RunResult) -> Option<u64> {
    run.last.as_ref()?.calls.checked_sub(run.before.server.as_ref()?.calls)
}

/// Whether the server had our connections only, and the one on which it was asked.
fn is_alone(plan: &Plan, run: &RunResult) -> bool {
    let ours = plan.connections as u64 + 1;
    [&run.before.server, &run.after.server]
        .iter()
        .all(|server| server.as_ref().is_some_and(|server| server.connections_open <= ours))
}

/// Connections that the server admitted between the two looks at its calls, without those on which
/// it was asked. Ours were there before.
fn visits(run: &RunResult) -> Option<u64> {
    let last = run.last.as_ref().or(run.after.server.as_ref())?.connections_admitted?;
    let admitted = last.checked_sub(run.before.server.as_ref()?.connections_admitted?)?;
    let asked = 1 + u64::from(run.last.is_some()) + u64::from(run.after.no_server.is_some());
    Some(admitted.saturating_sub(asked))
}

fn checks(found: &Findings<'_>) -> Vec<Check> {
    let mut checks = vec![sums(found)];
    match found.open_loop {
        None => checks.push(littles_law(&found.little)),
        Some(open_loop) => {
            let answered = if found.by.unanswered.is_some() { "written" } else { "right replies" };
            checks.push(achieved(open_loop, "calls", answered));
        }
    }
    match found.records {
        Some(figures) => checks.extend(records::checks(figures, found.by.order)),
        None => checks.extend(found.by.order.overtaken.map(replies_in_order)),
    }
    checks.extend(found.by.early_acks.map(|early| acks::held(early, found.outcomes.ok)));
    checks.extend(found.by.followers.as_ref().map(acks::followers_hold));
    if let Some(unanswered) = &found.by.unanswered {
        checks.push(acks::server_read_all(unanswered));
        checks.push(acks::server_served_all(
            unanswered,
            found.by.alone && found.by.visits.unwrap_or(0) == 0,
        ));
    }
    checks.push(steady::steady(found.by.thirds));
    checks.extend(found.stages.map(stages));
    checks.extend(found.keys.map(keys));
    checks.push(server_agrees(found));
    checks.push(host_quiet(found.host, found.by.window_s));
    checks
}

fn check(
    name: &'static str,
    ok: Option<bool>,
    text: String,
    numbers: &[(&'static str, Option<f64>)],
) -> Check {
    Check { name, ok, text, numbers: numbers.iter().copied().collect() }
}

fn sums(found: &Findings<'_>) -> Check {
    let counts = &found.outcomes;
    let ended = (counts.ok, counts.not_ok());
    let ok = ended.0 + ended.1 == counts.started
        && found.by.workers == ended
        && found.by.intervals == ended;
    let text = format!(
        "{} started, {} ended; the same by workers and by intervals",
        grouped(counts.started),
        grouped(ended.0 + ended.1)
    );
    let numbers = [
        ("started", Some(counts.started as f64)),
        ("ended", Some((ended.0 + ended.1) as f64)),
        ("by_worker", Some((found.by.workers.0 + found.by.workers.1) as f64)),
        ("by_interval", Some((found.by.intervals.0 + found.by.intervals.1) as f64)),
    ];
    check("outcomes_add_up", Some(ok), text, &numbers)
}

fn replies_in_order(overtaken: u64) -> Check {
    let text = match overtaken {
        0 => "replies came in the order of their connection's calls".to_owned(),
        _ => format!(
            "{} replies came behind that of a later call of their connection, and the server \
             serves one at a time",
            grouped(overtaken)
        ),
    };
    let numbers = [("overtaken", Some(overtaken as f64))];
    check("replies_in_order", Some(overtaken == 0), text, &numbers)
}

fn littles_law(little: &Little) -> Check {
    let ok = little.ratio.map(|ratio| (ratio - 1.0).abs() <= LITTLE_MAX);
    let text = match little.ratio {
        Some(ratio) => format!("rate x mean latency is {ratio:.3} of the calls in flight"),
        None => "not checked: nothing that is answered was in flight".to_owned(),
    };
    check("littles_law", ok, text, &[("ratio", little.ratio)])
}

fn achieved(open_loop: &OpenLoopFigures, what: &str, answered: &str) -> Check {
    let numbers = [
        ("target_per_s", Some(open_loop.target_per_s)),
        ("achieved_share", open_loop.achieved_share),
        ("expected", Some(open_loop.expected)),
        ("answered", Some(open_loop.answered as f64)),
        ("tolerance", Some(open_loop.tolerance)),
        ("unsent", Some(open_loop.unsent as f64)),
        ("rejected", Some(open_loop.rejected as f64)),
        ("timed_out", Some(open_loop.timed_out as f64)),
    ];
    check("rate_achieved", open_loop.is_reached(), open_loop.words(what, answered), &numbers)
}

fn stages(stages: &StageFigures) -> Check {
    let sum = stages.sum_of_means_us();
    let share = sum.zip(stages.total.mean).and_then(|(sum, total)| ratio(sum, total));
    let adds_up = share.is_some_and(|share| (share - 1.0).abs() <= STAGES_MAX);
    let (ok, text) = match share {
        None => (None, "no reply brought its stages".to_owned()),
        Some(_) if adds_up && stages.cut > 0 => {
            let cut = stages.cut;
            (None, format!("{cut} calls had a stage above 4.29 s, which replies cannot say"))
        }
        Some(share) => {
            let share = percent(share);
            (Some(adds_up), format!("stages and rest are {share} of the sampled calls' mean"))
        }
    };
    let numbers = [
        ("sum_to_total", share),
        ("total_to_all_calls", stages.total_to_all_calls),
        ("overruns", Some(stages.overruns as f64)),
        ("late", Some(stages.late as f64)),
        ("cut", Some(stages.cut as f64)),
    ];
    check("stages_add_up", ok, text, &numbers)
}

fn keys(keys: &KeyFigures) -> Check {
    let numbers = [
        ("checked", keys.checked),
        ("order_violations", keys.order_violations),
        ("handler_changes", keys.handler_changes),
        ("duplicates", keys.duplicates),
        ("lost", keys.lost),
        ("wrong_payload", keys.wrong_payload),
    ];
    let ok = keys.all_well() && keys.checked > 0;
    let text = match ok {
        true => "every key's calls were executed once, in order, by one handler".to_owned(),
        false if keys.checked == 0 => "no reply said who executed its call".to_owned(),
        false => format!(
            "{} out of order, {} on another handler, {} answered twice, {} lost, {} wrong",
            keys.order_violations,
            keys.handler_changes,
            keys.duplicates,
            keys.lost,
            keys.wrong_payload
        ),
    };
    check("keys_in_order", Some(ok), text, &numbers.map(|(name, n)| (name, Some(n as f64))))
}

fn server_agrees(found: &Findings<'_>) -> Check {
    let ours = found.outcomes.started as f64;
    let theirs = found.by.server_calls.or(found.server.map(|server| server.calls));
    let theirs = theirs.map(|calls| calls as f64);
    let numbers = [("client_calls", Some(ours)), ("server_calls", theirs)];
    let Some(theirs) = theirs else {
        let text = "the server's counters are not known".to_owned();
        return check("server_agrees", None, text, &numbers);
    };
    if !found.by.alone {
        let text = "the server has other clients".to_owned();
        return check("server_agrees", None, text, &numbers);
    }
    if found.by.unanswered.is_some() && found.by.warmed_up {
        let text = "calls of the warm-up were under way when it began".to_owned();
        return check("server_agrees", None, text, &numbers);
    }
    let in_flight = found.little.mean_in_flight.unwrap_or(0.0);
    let under_way = found.by.callers.min(UNDER_WAY * in_flight + 10.0);
    let at_end = if found.by.cut && found.by.server_calls.is_none() { under_way } else { 0.0 };
    let at_start = if found.by.warmed_up { WARMUP_BLUR * ours + under_way } else { 0.0 };
    let may_differ = found.outcomes.not_ok() as f64 + at_end + at_start;
    let agrees = (ours - theirs).abs() <= may_differ;
    let mut text = format!(
        "{} calls started here, {} read there meanwhile{}",
        grouped(found.outcomes.started),
        grouped(theirs as u64),
        if may_differ > 0.0 { " (some were under way)" } else { "" }
    );
    // Others bring calls, and take none away.
    let visits = found.by.visits.filter(|visits| !agrees && theirs > ours && *visits > 0);
    if let Some(visits) = visits {
        let connections = counted(visits, "connection");
        text.push_str(&format!(", where other clients had {connections} in between: not checked"));
    }
    check("server_agrees", visits.is_none().then_some(agrees), text, &numbers)
}

fn host_quiet(host: &HostFigures, window_s: f64) -> Check {
    let load = host.load.as_ref();
    let steal = load.and_then(|load| load.steal_share);
    let pressure = load
        .and_then(|load| load.psi_cpu_some_us)
        .and_then(|us| ratio(us as f64 / 1e6, window_s))
        .map(|share| share.min(1.0));
    let throttled = load.and_then(|load| load.cgroup_throttled).map(|times| times as f64);
    let others = host.others_share();
    let put_aside = host.client_involuntary_switches;
    let put_aside_per_s = put_aside.and_then(|times| ratio(times as f64, window_s));
    // Whoever has more threads than CPUs waits for itself; who waited, the kernel does not say. So
    // the wait is a sign of neighbours only where their use of the CPUs is not known.
    let unexplained = pressure.filter(|_| others.is_none());
    let signs = [
        (steal, STEAL_MAX, "stolen by the hypervisor"),
        (others, OTHERS_MAX, "of all CPUs used by other processes"),
        (unexplained, PRESSURE_MAX, "of the time some thread waited for a CPU"),
    ];
    let mut found: Vec<String> = signs
        .iter()
        .filter_map(|(share, most, what)| {
            let share = share.filter(|share| share > most)?;
            Some(format!("{} {what}", percent(share)))
        })
        .collect();
    if let Some(times) = throttled.filter(|times| *times > 0.0) {
        found.push(format!("stopped {times} times by the CPU quota of the control group"));
    }
    let known = steal.is_some() || pressure.is_some();
    let ok = if found.is_empty() { known.then_some(true) } else { Some(false) };
    let text = match ok {
        Some(true) => "no time stolen, no quota, no neighbours".to_owned(),
        Some(false) => format!("host busy: {}", found.join(", ")),
        None => "the kernel does not say".to_owned(),
    };
    let numbers = [
        ("steal_share", steal),
        ("others_cpu_share", others),
        ("psi_cpu_some_share", pressure),
        ("worker_involuntary_switches_per_s", put_aside_per_s),
        ("cgroup_throttled", throttled),
    ];
    check("host_quiet", ok, text, &numbers)
}

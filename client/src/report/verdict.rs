//! Which side limited the calls per second, and by what numbers one can tell.

mod limits;

pub(super) use limits::CAPACITIES;

use limits::limits_that_acted;
use serde::Serialize;
use std::collections::BTreeMap;

/// A thread that is on a CPU or waits for one this share of the time has nothing left to give.
const SATURATED: f64 = 0.90;
/// A thread that was on a CPU this share of the time was so at every moment.
const NO_TIME_LEFT: f64 = 0.98;
/// A host whose CPUs work this share of the time has none left for another thread.
const HOST_FULL: f64 = 0.95;
/// Other processes are named from this share of all CPU time on.
const OTHERS_MIN: f64 = 0.05;
/// Neighbours that take this share of all CPUs make everybody wait.
const NEIGHBOURS: f64 = 0.15;
/// What a thread that dominates is busy at least, if neighbours make the others wait.
const SATURATED_AMONG_NEIGHBOURS: f64 = 0.6;
/// Time taken by the hypervisor from which on figures say more about the neighbours.
const STEAL_MAX: f64 = 0.05;
/// Two threads on a CPU nearly as long as each other are both at their limit.
const TIE: f64 = 0.03;
/// A thread that needs so many times the CPU time of every other one would limit the rate with any
/// number of CPUs.
const DOMINANCE: f64 = 2.0;
/// A thread that waits so many times as long as it runs is kept off the CPUs.
const KEPT_OFF: f64 = 2.0;
/// Below this the counters of the kernel are too coarse.
const WINDOW_MIN_S: f64 = 0.1;

/// What was measured about everybody who could be the limit. Shares are 0 to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Evidence {
    pub(crate) window_s: f64,
    /// The busiest worker: on a CPU or ready to run, and on a CPU.
    pub(crate) client_busy_share: Option<f64>,
    pub(crate) client_cpu_share: Option<f64>,
    /// The client may use fewer CPUs than the host has.
    pub(crate) client_confined: bool,
    /// What the workers, and handlers that are pinned beside them, used of the CPUs that the client
    /// may use.
    pub(crate) client_cpus_share: Option<f64>,
    /// The busiest reader.
    pub(crate) reader_busy_share: Option<f64>,
    pub(crate) reader_cpu_share: Option<f64>,
    /// The mean of the handlers, which share one queue.
    pub(crate) handler_busy_share: Option<f64>,
    pub(crate) handler_cpu_share: Option<f64>,
    /// The two stages of a dispatch by key.
    pub(crate) serial_busy_share: Option<f64>,
    pub(crate) serial_cpu_share: Option<f64>,
    pub(crate) dispatcher_busy_share: Option<f64>,
    pub(crate) dispatcher_cpu_share: Option<f64>,
    /// Calls by the cost that the server's stage emulates for each of them.
    pub(crate) reader_emulated_share: Option<f64>,
    pub(crate) handler_emulated_share: Option<f64>,
    /// The time that emulated work took; the dispatcher's with the gaps between its batches.
    pub(crate) serial_emulated_share: Option<f64>,
    pub(crate) dispatcher_emulated_share: Option<f64>,
    pub(crate) host_busy_share: Option<f64>,
    /// What neither of the two programs used, if both run here.
    pub(crate) others_cpu_share: Option<f64>,
    pub(crate) steal_share: Option<f64>,
    /// What all CPUs of the host could do at the present CPU time per call of both sides; only
    /// known if both run here.
    pub(crate) cpu_ceiling_calls_per_s: Option<f64>,
    pub(crate) calls_per_s: Option<f64>,
    /// What the two programs used of all CPUs, each over its own reading.
    pub(crate) pair_cpu_share: Option<f64>,
    /// How often each limit of the server on calls in it acted, and how many calls it read.
    pub(crate) limits_acted: BTreeMap<String, u64>,
    pub(crate) server_calls: Option<u64>,
    #[serde(skip)]
    pub(crate) load: LoadKind,
    /// Why the server gave no counters.
    #[serde(skip)]
    pub(crate) no_counters: Option<String>,
}

/// What more there could have been of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LoadKind {
    #[default]
    CallsInFlight,
    /// A schedule that the server kept, or did not keep, up with.
    Rate,
    RateMissed,
    /// The run did not go on as it began: the counters are of its mean.
    Unsteady,
    /// Nothing is answered: sockets are given as much as they take.
    Sockets,
}

/// Who is the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Bound {
    #[serde(rename = "client-bound")]
    Client,
    #[serde(rename = "server-reader-bound")]
    ServerReader,
    #[serde(rename = "server-handler-bound")]
    ServerHandler,
    #[serde(rename = "server-serial-bound")]
    ServerSerial,
    #[serde(rename = "server-dispatcher-bound")]
    ServerDispatcher,
    /// A limit of the server keeps calls out of it.
    #[serde(rename = "server-limit-bound")]
    ServerLimit,
    #[serde(rename = "host-bound")]
    Host,
    Unsaturated,
    Unknown,
}

/// The answer, its reason in words, and the numbers it rests on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Verdict {
    pub(crate) bound: Bound,
    pub(crate) reason: String,
    #[serde(flatten)]
    pub(crate) evidence: Evidence,
}

impl Bound {
    /// As in the text report.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Bound::Client => "client-bound",
            Bound::ServerReader => "server reader-bound",
            Bound::ServerHandler => "server handler-bound",
            Bound::ServerSerial => "server serial-bound",
            Bound::ServerDispatcher => "server dispatcher-bound",
            Bound::ServerLimit => "server limit-bound",
            Bound::Host => "host-bound",
            Bound::Unsaturated => "unsaturated",
            Bound::Unknown => "unknown",
        }
    }
}

/// Judges.
pub(crate) fn verdict(evidence: Evidence) -> Verdict {
    let (bound, mut reason) = judge(&evidence);
    // It may keep calls out as well, and whoever has more CPUs would meet it.
    let limits = limits_that_acted(&evidence);
    if let Some(limits) = limits.filter(|_| matches!(bound, Bound::Client | Bound::Host)) {
        reason.push_str(&format!("; besides, {limits}"));
    }
    Verdict { bound, reason, evidence }
}

/// The order matters: what explains away other signs comes first.
fn judge(e: &Evidence) -> (Bound, String) {
    if e.window_s < WINDOW_MIN_S {
        let text = format!("{:.3} s are too short to tell", e.window_s);
        return (Bound::Unknown, text);
    }
    if let Some(steal) = at_least(e.steal_share, STEAL_MAX) {
        let text = format!("the hypervisor took {} of the CPU time", percent(steal));
        return (Bound::Host, text);
    }
    let found = emulated_stage(e)
        .or_else(|| confined_client(e))
        .or_else(|| thread_at_its_limit(e))
        .or_else(|| starved_thread(e))
        .or_else(|| limit_among_neighbours(e))
        .or_else(|| full_host(e));
    match found {
        // The less is due, the fewer calls share a wake-up: time on a CPU is no share of a limit,
        // unless there is no time left.
        Some((_, text)) if has_kept_the_rate(e) => {
            (Bound::Unsaturated, format!("the rate was kept, although {text}"))
        }
        Some(found) => found,
        None => no_limit(e),
    }
}

/// Whether a schedule was kept by threads and emulated stages that could all do a little more.
fn has_kept_the_rate(e: &Evidence) -> bool {
    let emulated = emulated_shares(e).into_iter().filter_map(|(_, share, _)| share);
    let threads = stages(e).into_iter().map(|stage| stage.on_cpu);
    e.load == LoadKind::Rate && emulated.chain(threads).all(|share| share < NO_TIME_LEFT)
}

/// What the stages' emulated costs filled of the time.
fn emulated_shares(e: &Evidence) -> [(Bound, Option<f64>, &'static str); 4] {
    [
        (Bound::ServerReader, e.reader_emulated_share, "the busiest reader's"),
        (Bound::ServerHandler, e.handler_emulated_share, "the average handler's"),
        (Bound::ServerSerial, e.serial_emulated_share, "the serial stage's"),
        (Bound::ServerDispatcher, e.dispatcher_emulated_share, "the dispatcher's"),
    ]
}

/// A stage whose virtual server is never idle. Its thread sleeps meanwhile, so that no share of a
/// CPU tells.
fn emulated_stage(e: &Evidence) -> Option<(Bound, String)> {
    let (bound, share, whose) = emulated_shares(e)
        .into_iter()
        .filter_map(|(bound, share, whose)| Some((bound, at_least(share, SATURATED)?, whose)))
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some((bound, format!("{whose} emulated cost filled {} of the time", percent(share.min(1.0)))))
}

fn confined_client(e: &Evidence) -> Option<(Bound, String)> {
    if let Some((busy, on_cpu)) = e.client_busy_share.zip(e.client_cpu_share)
        && waits_for_others(e, busy, on_cpu)
    {
        return None;
    }
    let beside = at_least(e.client_cpus_share, SATURATED).filter(|_| e.client_confined);
    if let Some(share) = beside.filter(|_| e.client_busy_share < Some(SATURATED)) {
        let text = format!(
            "the client may use fewer CPUs than the host has, and they were used {}, by its \
             workers and by handlers that are pinned to the same CPUs",
            percent(share.min(1.0))
        );
        return Some((Bound::Client, text));
    }
    let busy = at_least(e.client_busy_share, SATURATED).filter(|_| e.client_confined)?;
    let text = format!(
        "the busiest worker was busy {} of the time on fewer CPUs than the host has; on a CPU {}, \
         put aside for others {}",
        percent(busy),
        share_text(e.client_cpu_share),
        share_text(e.client_cpu_share.map(|on_cpu| (busy - on_cpu).max(0.0)))
    );
    Some((Bound::Client, text))
}

/// One kind of thread of either program.
struct Stage {
    bound: Bound,
    /// On a CPU or ready to run.
    busy: f64,
    on_cpu: f64,
    name: &'static str,
}

/// The stages that were measured, the one most on a CPU first.
fn stages(e: &Evidence) -> Vec<Stage> {
    let all = [
        (Bound::Client, e.client_busy_share, e.client_cpu_share, "the busiest worker"),
        (Bound::ServerReader, e.reader_busy_share, e.reader_cpu_share, "the busiest reader"),
        (Bound::ServerHandler, e.handler_busy_share, e.handler_cpu_share, "the average handler"),
        (Bound::ServerSerial, e.serial_busy_share, e.serial_cpu_share, "the serial stage"),
        (
            Bound::ServerDispatcher,
            e.dispatcher_busy_share,
            e.dispatcher_cpu_share,
            "the dispatcher",
        ),
    ];
    let known = all.into_iter().filter_map(|(bound, busy, on_cpu, name)| {
        Some(Stage { bound, busy: busy?, on_cpu: on_cpu?, name })
    });
    let mut stages: Vec<Stage> = known.collect();
    stages.sort_by(|a, b| b.on_cpu.total_cmp(&a.on_cpu));
    stages
}

/// A thread that is on a CPU all the time does no more, however many CPUs there are. Two of them on
/// a full host say that CPUs are scarce.
fn thread_at_its_limit(e: &Evidence) -> Option<(Bound, String)> {
    let stages = stages(e);
    let first = stages.first().filter(|stage| stage.on_cpu >= SATURATED)?;
    let next = stages.get(1).filter(|next| next.on_cpu >= first.on_cpu - TIE);
    if next.is_some() && is_full(e) {
        return None;
    }
    let so = if has_kept_the_rate(e) { "" } else { ": one thread does no more" };
    let text = format!("{} was on a CPU {} of the time{so}", first.name, percent(first.on_cpu));
    Some((first.bound, text))
}

/// A thread that never paused, but often waited for a CPU. On a full host everybody waits: the
/// thread is named only if no other one needs nearly as much, and if it is not the two programs
/// themselves that fill the host.
fn starved_thread(e: &Evidence) -> Option<(Bound, String)> {
    let stages = stages(e);
    let first = stages.first()?;
    let next = stages.get(1).map_or(0.0, |next| next.on_cpu);
    let by_others = at_least(e.others_cpu_share, NEIGHBOURS);
    if waits_for_others(e, first.busy, first.on_cpu) {
        let text = format!(
            "{} was busy {} of the time, but on a CPU only {}: other processes took {} of all CPUs",
            first.name,
            percent(first.busy),
            percent(first.on_cpu),
            share_text(by_others)
        );
        return (first.busy >= SATURATED).then_some((Bound::Host, text));
    }
    let never_pauses = first.busy >= SATURATED && first.on_cpu >= next * DOMINANCE;
    // Where neighbours take the CPUs, what a dominant thread waits for is the others' waiting.
    let would_not_pause = first.busy >= SATURATED_AMONG_NEIGHBOURS
        && first.on_cpu >= next * DOMINANCE * DOMINANCE
        && by_others.is_some();
    if is_full(e) && by_others.is_none() || !never_pauses && !would_not_pause {
        return None;
    }
    let mut text = format!(
        "{} was busy {} of the time, on a CPU {}, and no other thread of the two programs needed \
         half as much",
        first.name,
        percent(first.busy),
        percent(first.on_cpu)
    );
    if let Some(others) = by_others {
        text.push_str(&format!("; other processes took {} of all CPUs", percent(others)));
    }
    Some((first.bound, text))
}

/// Whether a thread had to wait for a CPU much longer than it had one, because other processes had
/// them.
fn waits_for_others(e: &Evidence, busy: f64, on_cpu: f64) -> bool {
    at_least(e.others_cpu_share, NEIGHBOURS).is_some() && busy - on_cpu > KEPT_OFF * on_cpu
}

/// A limit of the server on a host that others fill, while both programs have time to spare.
fn limit_among_neighbours(e: &Evidence) -> Option<(Bound, String)> {
    let others = at_least(e.others_cpu_share, NEIGHBOURS).filter(|_| is_full(e))?;
    let has_time = |stage: &Stage| stage.busy < SATURATED_AMONG_NEIGHBOURS;
    let limits = limits_that_acted(e).filter(|_| stages(e).iter().all(has_time))?;
    let text = format!(
        "no thread was busy {} of the time, but {limits}; other processes took {} of all CPUs",
        percent(SATURATED_AMONG_NEIGHBOURS),
        percent(others)
    );
    Some((Bound::ServerLimit, text))
}

fn full_host(e: &Evidence) -> Option<(Bound, String)> {
    if let Some(busy) = at_least(e.host_busy_share, HOST_FULL) {
        let mut text = format!("all CPUs together worked {} of the time", percent(busy));
        if let Some(others) = at_least(e.others_cpu_share, OTHERS_MIN) {
            text.push_str(&format!(", {} for other processes", percent(others)));
        }
        text.push_str("; no thread by itself was the limit");
        return Some((Bound::Host, text));
    }
    let pair = at_least(e.pair_cpu_share, SATURATED)?;
    Some((Bound::Host, format!("both sides used {} of all CPUs", percent(pair.min(1.0)))))
}

fn no_limit(e: &Evidence) -> (Bound, String) {
    let Some(client) = e.client_busy_share else {
        return (Bound::Unknown, "the kernel does not say how busy the workers were".to_owned());
    };
    if e.reader_busy_share.is_none() {
        let why = e.no_counters.as_deref().map_or(String::new(), |why| format!(": {why}"));
        let text = format!(
            "the client was not the limit (busiest worker {}) and the server gave no counters{why}",
            percent(client)
        );
        return (Bound::Unknown, text);
    }
    if let Some(stage) = stages(e).into_iter().find(|stage| stage.busy >= SATURATED) {
        let text = format!(
            "{} was busy {} of the time, but on a CPU only {}: CPUs are scarce",
            stage.name,
            percent(stage.busy),
            percent(stage.on_cpu)
        );
        return (Bound::Host, text);
    }
    let idle = format!("no thread was busy {} of the time", percent(SATURATED));
    if let Some(limits) = limits_that_acted(e) {
        return (Bound::ServerLimit, format!("{idle}, but {limits}"));
    }
    let text = match e.load {
        LoadKind::CallsInFlight => "more calls in flight would find room",
        LoadKind::Rate => "a higher rate would find room",
        LoadKind::RateMissed => "why the rate was missed, the counters do not say",
        LoadKind::Unsteady => "the run was not steady, and its means say little (see the checks)",
        LoadKind::Sockets => "the sockets took no more from so few workers",
    };
    (Bound::Unsaturated, format!("{idle}: {text}"))
}

fn is_full(e: &Evidence) -> bool {
    at_least(e.host_busy_share, HOST_FULL).is_some()
}

fn at_least(share: Option<f64>, limit: f64) -> Option<f64> {
    share.filter(|share| *share >= limit)
}

fn share_text(share: Option<f64>) -> String {
    share.map_or("unknown".to_owned(), percent)
}

/// A share for people.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests;

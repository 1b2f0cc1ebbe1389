//! Which side limited the calls per second, and by what numbers one can tell.

use serde::Serialize;

/// A thread that is on a CPU or waits for one this share of the time has nothing left to give.
const SATURATED: f64 = 0.90;
/// A host whose CPUs work this share of the time has none left for another thread.
const HOST_FULL: f64 = 0.95;
/// Other processes are named from this share of all CPU time on.
const OTHERS_MIN: f64 = 0.05;
/// Time taken by the hypervisor from which on figures say more about the neighbours.
const STEAL_MAX: f64 = 0.05;
/// The part of its busy time that a thread must have been on a CPU to be a limit by itself.
const ON_CPU_MIN: f64 = 0.7;
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
    /// The busiest reader.
    pub(crate) reader_busy_share: Option<f64>,
    pub(crate) reader_cpu_share: Option<f64>,
    /// The mean of the handlers, which share one queue.
    pub(crate) handler_busy_share: Option<f64>,
    pub(crate) handler_cpu_share: Option<f64>,
    pub(crate) host_busy_share: Option<f64>,
    /// What neither of the two programs used, if both run here.
    pub(crate) others_cpu_share: Option<f64>,
    pub(crate) steal_share: Option<f64>,
    /// What all CPUs of the host could do at the present CPU time per call of both sides; only
    /// known if both run here.
    pub(crate) cpu_ceiling_calls_per_s: Option<f64>,
    pub(crate) calls_per_s: Option<f64>,
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
            Bound::Host => "host-bound",
            Bound::Unsaturated => "unsaturated",
            Bound::Unknown => "unknown",
        }
    }
}

/// Judges.
pub(crate) fn verdict(evidence: Evidence) -> Verdict {
    let (bound, reason) = judge(&evidence);
    Verdict { bound, reason, evidence }
}

fn judge(e: &Evidence) -> (Bound, String) {
    let at_least = |share: Option<f64>, limit: f64| share.filter(|share| *share >= limit);
    if e.window_s < WINDOW_MIN_S {
        let text = format!("{:.3} s are too short to tell", e.window_s);
        return (Bound::Unknown, text);
    }
    if let Some(steal) = at_least(e.steal_share, STEAL_MAX) {
        let text = format!("the hypervisor took {} of the CPU time", percent(steal));
        return (Bound::Host, text);
    }
    let client = at_least(e.client_busy_share, SATURATED);
    if let (true, Some(busy)) = (e.client_confined, client) {
        let text = format!(
            "the busiest worker was busy {} of the time on fewer CPUs than the host has; \
             on a CPU {}",
            percent(busy),
            e.client_cpu_share.map_or("unknown".to_owned(), percent)
        );
        return (Bound::Client, text);
    }
    if let Some(busy) = at_least(e.host_busy_share, HOST_FULL) {
        let mut text = format!("all CPUs together worked {} of the time", percent(busy));
        if let Some(others) = at_least(e.others_cpu_share, OTHERS_MIN) {
            text.push_str(&format!(", {} for other processes", percent(others)));
        }
        return (Bound::Host, text);
    }
    if let Some(found) = saturated_thread(e) {
        return found;
    }
    if let (Some(ceiling), Some(rate)) = (e.cpu_ceiling_calls_per_s, e.calls_per_s)
        && rate >= ceiling * SATURATED
    {
        let text = format!("{} of what all CPUs can do for both sides", percent(rate / ceiling));
        return (Bound::Host, text);
    }
    let Some(client) = e.client_busy_share else {
        return (Bound::Unknown, "the kernel does not say how busy the workers were".to_owned());
    };
    if e.reader_busy_share.is_none() {
        let text = format!(
            "the client was not the limit (busiest worker {}) and the server gave no counters",
            percent(client)
        );
        return (Bound::Unknown, text);
    }
    let text = format!(
        "no thread was busy {} of the time: more calls in flight would find room",
        percent(SATURATED)
    );
    (Bound::Unsaturated, text)
}

/// The busiest of the threads that have nothing left to give. One that spends much of its time
/// waiting for a CPU is not what is scarce: CPUs are.
fn saturated_thread(e: &Evidence) -> Option<(Bound, String)> {
    let threads = [
        (Bound::Client, e.client_busy_share, e.client_cpu_share, "the busiest worker"),
        (Bound::ServerReader, e.reader_busy_share, e.reader_cpu_share, "the busiest reader"),
        (Bound::ServerHandler, e.handler_busy_share, e.handler_cpu_share, "the average handler"),
    ];
    let (bound, busy, on_cpu, who) = threads
        .into_iter()
        .filter_map(|(bound, busy, on_cpu, who)| Some((bound, busy?, on_cpu?, who)))
        .filter(|(_, busy, ..)| *busy >= SATURATED)
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    let (busy_text, cpu_text) = (percent(busy), percent(on_cpu));
    if on_cpu < busy * ON_CPU_MIN {
        let text = format!("{who} was busy {busy_text} of the time, but on a CPU only {cpu_text}");
        return Some((Bound::Host, text));
    }
    Some((bound, format!("{who} was busy {busy_text} of the time, on a CPU {cpu_text}")))
}

/// A share for people.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(client: f64, reader: f64, handler: f64, host: f64) -> Evidence {
        Evidence {
            window_s: 2.0,
            client_busy_share: Some(client),
            client_cpu_share: Some(client),
            reader_busy_share: Some(reader),
            reader_cpu_share: Some(reader),
            handler_busy_share: Some(handler),
            handler_cpu_share: Some(handler),
            host_busy_share: Some(host),
            steal_share: Some(0.0),
            ..Evidence::default()
        }
    }

    fn check(evidence: Evidence, expected: Bound) {
        let verdict = verdict(evidence);
        assert_eq!(verdict.bound, expected, "{}", verdict.reason);
        assert!(!verdict.reason.is_empty());
    }

    #[test]
    fn the_busiest_saturated_thread_is_the_limit() {
        check(evidence(0.95, 0.5, 0.5, 0.7), Bound::Client);
        check(evidence(0.91, 0.99, 0.5, 0.7), Bound::ServerReader);
        check(evidence(0.5, 0.6, 0.97, 0.7), Bound::ServerHandler);
        check(evidence(0.5, 0.6, 0.4, 0.7), Bound::Unsaturated);
    }

    #[test]
    fn a_full_host_is_named_before_its_threads_unless_the_client_confined_itself() {
        let full = evidence(0.99, 0.99, 0.2, 0.99);
        check(full.clone(), Bound::Host);
        check(Evidence { client_confined: true, ..full }, Bound::Client);
        check(Evidence { steal_share: Some(0.2), ..evidence(0.2, 0.2, 0.2, 0.5) }, Bound::Host);
        let starved = Evidence { reader_cpu_share: Some(0.4), ..evidence(0.5, 0.95, 0.2, 0.9) };
        check(starved, Bound::Host);
        let at_ceiling = Evidence {
            cpu_ceiling_calls_per_s: Some(100_000.0),
            calls_per_s: Some(95_000.0),
            ..evidence(0.8, 0.8, 0.2, 0.9)
        };
        check(at_ceiling, Bound::Host);
    }

    #[test]
    fn what_was_not_measured_is_unknown() {
        check(Evidence::default(), Bound::Unknown);
        check(Evidence { window_s: 5.0, ..Evidence::default() }, Bound::Unknown);
        let mute = Evidence { reader_busy_share: None, ..evidence(0.5, 0.0, 0.0, 0.5) };
        check(mute, Bound::Unknown);
        let busy = Evidence { reader_busy_share: None, ..evidence(0.95, 0.0, 0.0, 0.5) };
        check(busy, Bound::Client);
    }
}

//! What a run has to say, as a value. Text and JSON are views of it; neither computes anything.

mod build;
mod checks;
mod dispatch;
mod errors;
mod evidence;
mod json;
mod keys;
mod net_delay;
mod open_loop;
mod page;
mod records;
mod server;
mod settings;
mod stages;
mod text;
mod verdict;
mod window;

use crate::faulty::FaultyCall;
use crate::followers::Follower;
use crate::intervals::Interval;
use crate::latency::Summary;
use echo_common::host::{Host, HostChange};
use serde::Serialize;

pub(crate) use build::build;
pub(crate) use json::json;
pub(crate) use text::text;

/// Version of the JSON form; raised when a field changes its meaning.
const SCHEMA_VERSION: u32 = 1;

/// The report. Missing numbers are none, which JSON shows as null.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) schema_version: u32,
    pub(crate) program: &'static str,
    pub(crate) version: &'static str,
    /// When the report was made, by the wall clock.
    pub(crate) date: String,
    /// "closed": a caller calls again when its call has ended; "open": by a schedule.
    #[serde(rename = "loop")]
    pub(crate) loop_type: &'static str,
    /// Whether a stage of the server or the network is emulated, so that rates and times are no
    /// real ones; none if the server was not asked.
    pub(crate) emulated: Option<bool>,
    /// Under --net-delay.
    pub(crate) net_delay: Option<net_delay::NetDelayFigures>,
    /// The rate that an open loop was to have.
    pub(crate) target_per_s: Option<f64>,
    /// Whether an open loop missed its rate and calls piled up.
    pub(crate) overloaded: Option<bool>,
    pub(crate) interrupted: bool,
    /// The signal that interrupted the run.
    pub(crate) signal: Option<&'static str>,
    /// Whether these are plain calls that nobody answers, so that there is no latency.
    #[serde(skip)]
    pub(crate) unanswered: bool,
    pub(crate) outcomes: OutcomeCounts,
    pub(crate) late_replies: u64,
    pub(crate) unexpected_replies: u64,
    /// Under --acks all: right replies that said themselves that too few held their call.
    pub(crate) early_acks: Option<u64>,
    /// Replies behind that of a later call of their connection, where the server serves one call of
    /// a connection at a time; else none: then it may be so.
    pub(crate) overtaken_replies: Option<u64>,
    pub(crate) connections_lost: u64,
    pub(crate) warmup_calls: u64,
    pub(crate) warmup_failed: u64,
    pub(crate) errors: Vec<errors::ErrorKind>,
    /// The first of the calls that went wrong, by name.
    pub(crate) faulty_calls: Vec<FaultyCall>,
    /// What lost connections had to say.
    pub(crate) notes: Vec<String>,
    pub(crate) elapsed_s: f64,
    pub(crate) calls_per_s: Option<f64>,
    pub(crate) window: Window,
    pub(crate) rates: Rates,
    /// From sending to reply in a closed loop, the response time in an open one.
    pub(crate) latency_us: Figures,
    /// Open loop: from when a call was due to its reply.
    pub(crate) response_us: Option<Figures>,
    /// Open loop: from the sending of a call to its reply.
    pub(crate) service_us: Option<Figures>,
    /// Open loop: from when a call was due to its sending.
    pub(crate) delay_us: Option<Figures>,
    pub(crate) open_loop: Option<open_loop::OpenLoopFigures>,
    /// Under --streams.
    pub(crate) records: Option<records::RecordFigures>,
    pub(crate) failure_latency_us: Figures,
    pub(crate) connect_us: Figures,
    pub(crate) cpu_us_per_call: CpuPerCall,
    /// Of the sampled calls, under --stages.
    pub(crate) stages_us: Option<stages::StageFigures>,
    /// Under --acks all: what the server's followers hold; none if that was not compared.
    pub(crate) followers: Option<Vec<Follower>>,
    /// Of the calls' keys, under --keys.
    pub(crate) keys: Option<keys::KeyFigures>,
    pub(crate) little: Little,
    pub(crate) checks: Vec<checks::Check>,
    pub(crate) verdict: verdict::Verdict,
    pub(crate) settings: settings::Settings,
    pub(crate) workers: Vec<WorkerFigures>,
    pub(crate) server: Option<server::ServerFigures>,
    /// Why there are no figures of the server.
    pub(crate) server_missing: Option<String>,
    pub(crate) host: HostFigures,
    pub(crate) options: settings::OptionValues,
    pub(crate) intervals: Vec<Interval>,
    /// Upper end of each bucket in microseconds, and its count; calls that ended `ok`.
    pub(crate) histogram: Vec<(f64, u64)>,
}

/// Calls started in the measured phase, each in exactly one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct OutcomeCounts {
    pub(crate) started: u64,
    pub(crate) ok: u64,
    pub(crate) mismatch: u64,
    pub(crate) error_reply: u64,
    pub(crate) timed_out: u64,
    pub(crate) connection_lost: u64,
    pub(crate) abandoned: u64,
}

impl OutcomeCounts {
    /// Calls that did not end well.
    pub(crate) fn not_ok(&self) -> u64 {
        self.mismatch + self.error_reply + self.timed_out + self.connection_lost + self.abandoned
    }
}

/// What `calls_per_s` is made of.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Window {
    pub(crate) ended_by: EndedBy,
    /// Whether it ends at a moment, and not with the last reply: with --duration, a signal, the
    /// first failure, or the loss of all connections.
    #[serde(skip)]
    pub(crate) cut: bool,
    pub(crate) seconds: f64,
    /// With the wait for the last calls, in a run that the count ends.
    #[serde(skip)]
    pub(crate) elapsed_s: f64,
    /// Right replies that arrived in it. In a window that was cut, those to calls of the warm-up
    /// are in, and those that came after the end are not.
    pub(crate) ok_replies: u64,
    /// Of them, those to calls of the warm-up.
    pub(crate) warmup_replies: u64,
    /// Right replies to measured calls that came after it.
    pub(crate) ok_replies_after: u64,
}

/// What ended the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EndedBy {
    Count,
    Duration,
    Signal,
    /// The first failure, under --fail-fast.
    Failure,
    /// No connection was left.
    ConnectionsLost,
}

/// Calls per second over the last minutes; none if the run was shorter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Rates {
    pub(crate) m1: Option<f64>,
    pub(crate) m5: Option<f64>,
    pub(crate) m15: Option<f64>,
}

/// A latency's figures in microseconds; all are none if nothing was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Figures {
    pub(crate) count: u64,
    pub(crate) min: Option<f64>,
    pub(crate) mean: Option<f64>,
    pub(crate) stddev: Option<f64>,
    pub(crate) p50: Option<f64>,
    pub(crate) p75: Option<f64>,
    pub(crate) p95: Option<f64>,
    pub(crate) p98: Option<f64>,
    pub(crate) p99: Option<f64>,
    pub(crate) p999: Option<f64>,
    pub(crate) max: Option<f64>,
}

impl From<Option<Summary>> for Figures {
    fn from(summary: Option<Summary>) -> Figures {
        let Some(s) = summary else {
            return Figures::default();
        };
        Figures {
            count: s.count,
            min: Some(s.min),
            mean: Some(s.mean),
            stddev: Some(s.stddev),
            p50: Some(s.p50),
            p75: Some(s.p75),
            p95: Some(s.p95),
            p98: Some(s.p98),
            p99: Some(s.p99),
            p999: Some(s.p999),
            max: Some(s.max),
        }
    }
}

/// CPU time of both processes, user and system, by calls answered meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct CpuPerCall {
    pub(crate) client: Option<f64>,
    pub(crate) server: Option<f64>,
}

/// Little's law: calls in flight = calls per second x mean latency.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Little {
    /// Measured over the window.
    pub(crate) mean_in_flight: Option<f64>,
    pub(crate) x_times_r: Option<f64>,
    /// The latter by the former; about 1, or some time is not accounted for.
    pub(crate) ratio: Option<f64>,
}

/// One worker of the client.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct WorkerFigures {
    pub(crate) name: String,
    pub(crate) started: u64,
    pub(crate) ok: u64,
    pub(crate) not_ok: u64,
    pub(crate) cpu_share: Option<f64>,
    pub(crate) wait_share: Option<f64>,
    pub(crate) busy_share: Option<f64>,
    /// Connections served in one turn of the event loop.
    pub(crate) passes_per_turn: Option<f64>,
    pub(crate) calls_per_pass: Option<f64>,
}

/// The machine, and what it did meanwhile.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct HostFigures {
    #[serde(flatten)]
    pub(crate) host: Host,
    /// Over the measured phase.
    pub(crate) load: Option<HostChange>,
    /// What the two programs used of all CPUs; the server's only if it runs here.
    pub(crate) client_cpu_share: Option<f64>,
    pub(crate) server_cpu_share: Option<f64>,
    /// How often a worker was put aside for another thread.
    pub(crate) client_involuntary_switches: Option<u64>,
    /// What all CPUs could do at the present CPU time per call of both sides, if both run here.
    pub(crate) cpu_ceiling_calls_per_s: Option<f64>,
}

impl HostFigures {
    /// What both programs used of all CPUs, if both run here.
    pub(crate) fn pair_share(&self) -> Option<f64> {
        Some(self.client_cpu_share? + self.server_cpu_share?)
    }

    /// What other processes used of all CPUs, if both programs run here.
    pub(crate) fn others_share(&self) -> Option<f64> {
        let busy = self.load.as_ref()?.busy_share?;
        Some((busy - self.client_cpu_share? - self.server_cpu_share?).max(0.0))
    }
}

/// `a / b` if that is a number.
fn ratio(a: f64, b: f64) -> Option<f64> {
    let ratio = a / b;
    (b != 0.0 && ratio.is_finite()).then_some(ratio)
}

//! The server's own topology in virtual time: callers -> client workers -> readers (connections
//! bound) -> call queue -> handlers -> replies, on cores that all threads share.
//!
//! A thread sleeps until there is something for it, takes what is there as one pass (a reader up to
//! `reader_batch`, a handler up to `handler_batch`), pays for the pass and for each call, and looks
//! again; at the end of a pass it lets others have its core. A reader hands calls over in runs of
//! `hand_over`. Handlers are woken one at a time, each by the one before it, as in the server. The
//! call queue is not bounded: a closed loop bounds it by its callers.

mod engine;
mod threads;

use super::ResponseTimes;
use super::law::Spread;
use serde::Serialize;

/// What a stage takes, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct StageCost {
    /// CPU time of each pass, whatever is in it: sleeping, waking, polling, system calls.
    pub pass_us: f64,
    /// CPU time of each call in it, on average.
    pub call_us: f64,
    /// Time of a virtual server that lets calls go one by one and uses no CPU (emulated); 0 if
    /// there is none.
    pub paced_us: f64,
    /// How `call_us` and `paced_us` spread.
    pub spread: Spread,
}

impl StageCost {
    /// CPU time for each call and nothing else.
    pub fn per_call(call_us: f64, spread: Spread) -> StageCost {
        StageCost { call_us, spread, ..StageCost::default() }
    }

    /// Whether it takes nothing at all: then it needs no thread.
    pub fn is_free(&self) -> bool {
        self.pass_us == 0.0 && self.call_us == 0.0 && self.paced_us == 0.0
    }
}

/// Who calls, and when.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    /// A closed loop.
    Closed {
        /// Calls in flight over all connections, at least 1.
        callers: u32,
        /// Between a caller's call and its next, in microseconds; always the same.
        think_us: f64,
        /// Whether every call goes to the next connection in turn (freon), or callers stay with
        /// theirs; with fewer callers than connections they always go round.
        turns: bool,
    },
    /// An open loop: calls come whether earlier ones were answered or not.
    Open {
        /// Calls per second, above 0.
        calls_per_s: f64,
        /// Exponential distances (Poisson arrivals), or equal ones.
        poisson: bool,
    },
}

/// A run to simulate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Setup {
    /// CPUs that all threads share; none if there are enough.
    pub cores: Option<u32>,
    /// How long a thread may run while others wait, in microseconds, above 0.
    pub quantum_us: f64,
    /// Client workers, at least 1; connections are dealt to them in turn.
    pub workers: u32,
    /// Whether the client has a machine of its own: then it takes no turn on `cores`.
    pub client_apart: bool,
    /// Connections, at least 1, dealt to readers in turn.
    pub clients: u32,
    /// Readers, at least 1.
    pub readers: u32,
    /// Handlers; 0 serves calls on the readers.
    pub handlers: u32,
    /// Calls that a reader takes in one pass, at most; at least 1.
    pub reader_batch: u32,
    /// Calls that a reader hands over together, at most; at least 1. 1 is right for readers that
    /// pay for every call by itself, as Hadoop's and ours with a synthetic cost do.
    pub hand_over: u32,
    /// Calls that a handler takes at once, at most; at least 1.
    pub handler_batch: u32,
    /// Of a worker; each call is paid once, when its reply is read.
    pub client: StageCost,
    /// Of a reader.
    pub reader: StageCost,
    /// Of a handler.
    pub handler: StageCost,
    /// What else a call waits for, and nobody queues for, in microseconds.
    pub delay_us: f64,
    /// How the delay spreads.
    pub delay_spread: Spread,
    /// Who calls.
    pub load: Load,
    /// Virtual seconds before anything is counted.
    pub warmup_s: f64,
    /// Virtual seconds that are counted.
    pub measured_s: f64,
    /// The same seed gives the same run.
    pub seed: u64,
}

impl Default for Setup {
    /// One reader and two handlers that cost nothing, enough cores, 10 connections with one caller
    /// each.
    fn default() -> Setup {
        Setup {
            cores: None,
            quantum_us: 1000.0,
            workers: 1,
            client_apart: false,
            clients: 10,
            readers: 1,
            handlers: 2,
            reader_batch: 1024,
            hand_over: 1024,
            handler_batch: 64,
            client: StageCost::default(),
            reader: StageCost::default(),
            handler: StageCost::default(),
            delay_us: 0.0,
            delay_spread: Spread::Exponential,
            load: Load::Closed { callers: 10, think_us: 0.0, turns: false },
            warmup_s: 0.2,
            measured_s: 1.0,
            seed: 1,
        }
    }
}

impl Setup {
    /// HDDS-11225 as its own numbers say: 100 callers of freon, 28.4 us in a Hadoop reader that
    /// takes one call at a time, everything else a delay of 0.72 ms, and no want of cores.
    pub fn ticket(readers: u32, clients: u32) -> Setup {
        Setup {
            clients,
            readers,
            reader_batch: 1,
            hand_over: 1,
            reader: StageCost::per_call(28.4, Spread::Deterministic),
            delay_us: 720.0,
            load: Load::Closed { callers: 100, think_us: 0.0, turns: true },
            ..Setup::default()
        }
    }

    /// Whether every number is in its range. The error is one line.
    pub fn check(&self) -> Result<(), String> {
        let counts = [
            ("cores", self.cores.unwrap_or(1), 1, THREADS_MAX),
            ("workers", self.workers, 1, THREADS_MAX),
            ("clients", self.clients, 1, CALLERS_MAX),
            ("readers", self.readers, 1, THREADS_MAX),
            ("handlers", self.handlers, 0, THREADS_MAX),
            ("reader batch", self.reader_batch, 1, CALLERS_MAX),
            ("hand-over", self.hand_over, 1, CALLERS_MAX),
            ("handler batch", self.handler_batch, 1, CALLERS_MAX),
        ];
        for (name, value, least, most) in counts {
            if !(least..=most).contains(&value) {
                return Err(format!("{name} {value} is out of range; allowed: {least} to {most}"));
            }
        }
        let stages = [("client", self.client), ("reader", self.reader), ("handler", self.handler)];
        let costs = stages.iter().flat_map(|(_, cost)| [cost.pass_us, cost.call_us, cost.paced_us]);
        let times = costs.chain([self.delay_us, self.quantum_us]);
        let mut times_s = times.map(|us| us / 1e6).chain([self.warmup_s, self.measured_s]);
        if let Some(time_s) = times_s.find(|time_s| !(0.0..=TIME_MAX_S).contains(time_s)) {
            return Err(format!("a time of {time_s} s; allowed: 0 to {TIME_MAX_S} s"));
        }
        if self.measured_s == 0.0 || self.quantum_us == 0.0 {
            return Err("nothing is measured, or nobody may run; allowed: times above 0".into());
        }
        if self.client.paced_us > 0.0 || (self.handlers == 0 && self.handler.paced_us > 0.0) {
            return Err(
                "a paced client, or paced handlers without handlers; allowed: paced readers \
                 and handlers"
                    .into(),
            );
        }
        match self.load {
            Load::Closed { callers, think_us, .. } => {
                let thinks = (0.0..=TIME_MAX_S * 1e6).contains(&think_us);
                if !(1..=CALLERS_MAX).contains(&callers) || !thinks {
                    return Err(format!(
                        "{callers} callers that think for {think_us} us; allowed: 1 to \
                         {CALLERS_MAX} callers, 0 to {TIME_MAX_S} s"
                    ));
                }
                let takes_time = self.delay_us > 0.0 || think_us > 0.0;
                if !takes_time && stages.iter().all(|(_, cost)| cost.is_free()) {
                    return Err("nothing takes any time; give some stage a cost".into());
                }
            }
            Load::Open { calls_per_s, .. } => {
                if !(calls_per_s > 0.0 && calls_per_s <= RATE_MAX) {
                    return Err(format!(
                        "{calls_per_s} calls/s; allowed: above 0 and up to {RATE_MAX}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Whether some stage is emulated even inside the simulation.
    pub fn is_emulated(&self) -> bool {
        [self.client, self.reader, self.handler].iter().any(|cost| cost.paced_us > 0.0)
    }
}

const THREADS_MAX: u32 = 4096;
const CALLERS_MAX: u32 = 10_000_000;
const TIME_MAX_S: f64 = 3600.0;
const RATE_MAX: f64 = 1e8;

/// What the threads of one stage did. All are none if the stage cost nothing or served nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct StageUse {
    /// Share of the time that a thread was on a core, or its virtual server busy, on average.
    pub busy_share: Option<f64>,
    /// The same of the busiest thread.
    pub busiest_share: Option<f64>,
    /// CPU time of a call, its share of the passes included, in microseconds.
    pub cpu_us_per_call: Option<f64>,
    /// Calls in one pass.
    pub calls_per_pass: Option<f64>,
}

/// A simulated run. Counts and shares are those of the measured part.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// Calls that ended.
    pub calls: u64,
    /// The same per second.
    pub calls_per_s: f64,
    /// Of those calls; from when a call was due in an open loop. None if there were none.
    pub response_us: Option<ResponseTimes>,
    /// The client's workers.
    pub client: StageUse,
    /// The readers.
    pub readers: StageUse,
    /// The handlers.
    pub handlers: StageUse,
    /// Share of all cores that was used; none if there were enough.
    pub cores_busy_share: Option<f64>,
    /// Calls that had begun and not ended when the run did: an open loop that overloads its server
    /// leaves more the longer it runs.
    pub left_inside: u64,
}

/// Runs the setup from an idle server on. The error is one line that names what is out of range.
pub fn run(setup: &Setup) -> Result<Outcome, String> {
    setup.check()?;
    Ok(engine::Engine::new(setup).run())
}

#[cfg(test)]
mod tests;

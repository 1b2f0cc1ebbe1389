//! The readers experiment predicted: what a server with R readers does for a client with C
//! connections and N callers, from what each stage takes of a call.
//!
//! Each reader is a station of its own, since connections are bound to readers: imbalance needs no
//! formula of its own. Handlers share one queue. Everything that burns CPU shares the cores: where
//! the threads together want more of them than there are, all CPU times are stretched by the one
//! factor that makes them fit (a fluid limit of processor sharing), so that throughput ends at
//! cores / CPU time per call and not before.

mod balance;

use super::laws::{effective_readers, most_calls_per_s};
use crate::stats::knee;
use balance::Balance;
use serde::Serialize;

/// What one call takes of a stage, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Demand {
    /// For how long it holds the stage's thread, if a core is free: what nobody else can use.
    pub holds_s: f64,
    /// How much of that is CPU time; 0 to `holds_s`.
    pub cpu_s: f64,
}

impl Demand {
    /// CPU time only: the real form.
    pub fn cpu(cpu_s: f64) -> Demand {
        Demand { holds_s: cpu_s, cpu_s }
    }

    /// A stage that is emulated by a virtual server of `paced_s` beside which the thread burns
    /// `cpu_s`: the longer of the two holds a call.
    pub fn paced(paced_s: f64, cpu_s: f64) -> Demand {
        Demand { holds_s: paced_s.max(cpu_s), cpu_s }
    }

    /// The time it holds the thread when CPU time takes `stretch` times as long.
    fn stretched_s(&self, stretch: f64) -> f64 {
        self.holds_s + self.cpu_s * (stretch - 1.0)
    }
}

/// Where a caller's next call goes, in the words of echo-client's `--callers`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CallerOrder {
    /// To the caller's own connection. Each reader then serves callers of its own, and a reader
    /// with few of them idles although others are full: more readers than divide the connections
    /// evenly still help while they are full.
    Fixed,
    /// To the next connection in turn, as freon's do. The fullest reader holds all callers up,
    /// which is what makes the staircase c / ceil(c / r). Fewer callers than connections count as
    /// this in any case.
    Turns,
}

/// How single times spread around their mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Times {
    /// Always the same, thinking included: nobody waits before a stage is full. The paced form;
    /// real runs of it lie between this and the other.
    Constant,
    /// Exponential: exact mean value analysis. The real form.
    Exponential,
}

/// The pair and what its stages take. Counts are at least 1 where not said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct System {
    /// Reader threads.
    pub readers: u64,
    /// Handler threads; 0 serves calls on the readers.
    pub handlers: u64,
    /// Worker threads of the client.
    pub workers: u64,
    /// Connections, dealt to the readers in turn.
    pub clients: u64,
    /// Calls in flight over all connections.
    pub callers: u64,
    /// Where a caller's next call goes.
    pub caller_order: CallerOrder,
    /// Between the end of a caller's call and its next, in seconds.
    pub think_s: f64,
    /// Of a reader.
    pub reader: Demand,
    /// Of a handler, the writing of the reply included.
    pub handler: Demand,
    /// Of a worker of the client, sending and reading together.
    pub client: Demand,
    /// Anything else that a call waits for and nobody queues for, in seconds.
    pub delay_s: f64,
    /// The CPUs that all threads share, the client's too; none if there are enough.
    pub cores: Option<u64>,
    /// How times spread.
    pub times: Times,
}

/// What can be the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The readers, the one with most connections first.
    Readers,
    /// The handlers.
    Handlers,
    /// The client's workers.
    Client,
    /// The CPUs of the host.
    Cores,
    /// Nobody: there are not more callers.
    Callers,
}

/// One stage in balance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StageLoad {
    /// Which.
    pub stage: Stage,
    /// Calls per second that it would let through if nothing else took time; infinite if it takes
    /// none itself.
    pub bound_calls_per_s: f64,
    /// The share of the time, 0 to 1, that its threads are busy on average. For callers: that
    /// they have a call in flight.
    pub busy_share: f64,
    /// The same of its busiest thread.
    pub busiest_share: f64,
}

/// A predicted run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// Calls per second, all callers together.
    pub calls_per_s: f64,
    /// Mean time from the start of a call to its end, in seconds.
    pub response_s: f64,
    /// By how much CPU times are stretched for want of cores; 1 if there are enough.
    pub stretch: f64,
    /// The stages, in the order of a call's life, then the cores and the callers.
    pub stages: Vec<StageLoad>,
}

impl Prediction {
    /// The stage whose bound is the lowest: what limits, or will first.
    pub fn binds(&self) -> Stage {
        self.lowest_bound(|_| true)
    }

    /// What would limit if the readers took no time.
    pub fn binds_next(&self) -> Stage {
        self.lowest_bound(|stage| stage != Stage::Readers)
    }

    /// One stage's load.
    pub fn load(&self, stage: Stage) -> &StageLoad {
        let found = self.stages.iter().find(|load| load.stage == stage);
        found.expect("every prediction has every stage")
    }

    fn lowest_bound(&self, counts: impl Fn(Stage) -> bool) -> Stage {
        let bounds = self.stages.iter().filter(|load| counts(load.stage));
        let lowest = bounds.min_by(|a, b| a.bound_calls_per_s.total_cmp(&b.bound_calls_per_s));
        lowest.expect("every prediction has every stage").stage
    }
}

impl System {
    /// HDDS-11225 as its own numbers say: 100 callers of freon, 28.4 us in a reader, everything
    /// else a delay of 0.72 ms, and no want of cores.
    pub fn ticket(readers: u64, clients: u64) -> System {
        System {
            readers,
            handlers: 100,
            workers: 1,
            clients,
            callers: 100,
            caller_order: CallerOrder::Turns,
            think_s: 0.0,
            reader: Demand::cpu(28.4e-6),
            handler: Demand::default(),
            client: Demand::default(),
            delay_s: 0.72e-3,
            cores: None,
            times: Times::Exponential,
        }
    }

    /// The paced form of E1 on this pair: 100 callers that think for 5 ms, 200 us in an emulated
    /// reader, scale 1:7.
    pub fn paced(readers: u64, clients: u64) -> System {
        System {
            caller_order: CallerOrder::Fixed,
            think_s: 5e-3,
            reader: Demand::paced(200e-6, 0.0),
            delay_s: 0.0,
            times: Times::Constant,
            ..System::ticket(readers, clients)
        }
    }

    /// The prediction for this system.
    pub fn predict(&self) -> Prediction {
        let wanted = self.balance(1.0);
        let (stretch, balance) = match self.cores {
            Some(cores) if wanted.calls_per_s * self.cpu_s() > cores as f64 => {
                self.stretched_to(cores as f64)
            }
            _ => (1.0, wanted),
        };
        let x = balance.calls_per_s;
        Prediction {
            calls_per_s: x,
            response_s: self.callers as f64 / x - self.think_s,
            stretch,
            stages: self.loads(&balance, stretch),
        }
    }

    /// Predictions for each number of readers, everything else as it is.
    pub fn over_readers(&self, readers: impl IntoIterator<Item = u64>) -> Vec<(u64, Prediction)> {
        let at = |readers| (readers, System { readers, ..*self }.predict());
        readers.into_iter().map(at).collect()
    }

    /// The number of readers from which on, up to `readers_max`, nothing is gained that counts:
    /// the first with [`knee::ARRIVED`] of the largest throughput.
    pub fn knee(&self, readers_max: u64) -> Option<u64> {
        let curve: Vec<(f64, f64)> = self
            .over_readers(1..=readers_max)
            .into_iter()
            .map(|(readers, predicted)| (readers as f64, predicted.calls_per_s))
            .collect();
        knee::first_at_share(&curve, knee::ARRIVED).map(|readers| readers as u64)
    }

    /// CPU seconds of one call, server and client.
    pub fn cpu_s(&self) -> f64 {
        self.reader.cpu_s + self.handler.cpu_s + self.client.cpu_s
    }

    fn loads(&self, balance: &Balance, stretch: f64) -> Vec<StageLoad> {
        let x = balance.calls_per_s;
        let load = |stage, bound_calls_per_s, busy_share: f64, busiest_share: f64| StageLoad {
            stage,
            bound_calls_per_s,
            busy_share: busy_share.min(1.0),
            busiest_share: busiest_share.min(1.0),
        };
        let even = |stage, demand: Demand, servers: u64| {
            let share = x * demand.stretched_s(stretch) / servers as f64;
            load(stage, most_calls_per_s(demand.holds_s, servers as f64), share, share)
        };
        let reader = self.on_reader();
        let reader_s = reader.stretched_s(stretch);
        let readers_bound = most_calls_per_s(reader.holds_s, self.effective_readers());
        let cores = self.cores.map_or(f64::INFINITY, |cores| cores as f64);
        let cores_share = x * self.cpu_s() / cores;
        let round_s = self.think_s + self.response_alone_s(1.0);
        let in_flight = 1.0 - x * self.think_s / self.callers as f64;
        vec![
            load(
                Stage::Readers,
                readers_bound,
                x * reader_s / self.readers as f64,
                balance.busiest_calls_per_s * reader_s,
            ),
            if self.handlers == 0 {
                load(Stage::Handlers, f64::INFINITY, 0.0, 0.0)
            } else {
                even(Stage::Handlers, self.handler, self.handlers)
            },
            even(Stage::Client, self.client, self.workers),
            load(Stage::Cores, most_calls_per_s(self.cpu_s(), cores), cores_share, cores_share),
            load(
                Stage::Callers,
                most_calls_per_s(round_s, self.callers as f64),
                in_flight,
                in_flight,
            ),
        ]
    }

    /// Without handlers the reader serves the call, too.
    fn on_reader(&self) -> Demand {
        if self.handlers > 0 {
            return self.reader;
        }
        Demand {
            holds_s: self.reader.holds_s + self.handler.holds_s,
            cpu_s: self.reader.cpu_s + self.handler.cpu_s,
        }
    }

    /// What the readers are worth in readers.
    fn effective_readers(&self) -> f64 {
        if self.take_turns() {
            effective_readers(self.readers, self.clients)
        } else {
            self.readers.min(self.clients) as f64
        }
    }

    fn take_turns(&self) -> bool {
        self.caller_order == CallerOrder::Turns || self.callers < self.clients
    }

    /// The time of a call that meets nobody.
    fn response_alone_s(&self, stretch: f64) -> f64 {
        [self.reader, self.handler, self.client]
            .iter()
            .map(|demand| demand.stretched_s(stretch))
            .sum::<f64>()
            + self.delay_s
    }
}

#[cfg(test)]
mod tests;

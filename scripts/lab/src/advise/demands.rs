//! What each stage takes of a call, and how that falls with the load: a pass has a price of its own
//! that its calls share.

use crate::model::readers::{CallerOrder, Demand, System, Times};
use crate::simulate::law::Spread;
use crate::simulate::pipeline::{Load, Setup, StageCost};
use crate::stats::fit::least_squares;
use serde::Serialize;

/// Where demands come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// From runs on this host.
    Measured,
    /// From options.
    Given,
}

/// One observation of a stage: so many calls in one pass cost so much CPU time each.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Observation {
    /// Calls in one pass, 1 or more.
    pub calls_per_pass: f64,
    /// CPU time of each, in microseconds.
    pub cpu_us_per_call: f64,
}

/// What a stage takes of a call, in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StageDemand {
    /// Of each pass, whatever is in it: sleeping, waking, waking others, system calls.
    pub pass_us: f64,
    /// Of each call in it.
    pub call_us: f64,
    /// Time of a virtual server that uses no CPU (emulated); 0 if there is none.
    pub paced_us: f64,
    /// Calls in one pass when the stage had most to do; what the demand is taken at.
    pub calls_per_pass: f64,
    /// What was seen, light load first; empty if demands were given.
    pub seen: Vec<Observation>,
}

impl StageDemand {
    /// A demand without a price for the pass.
    pub fn given(call_us: f64, pass_us: f64) -> StageDemand {
        StageDemand { pass_us, call_us, calls_per_pass: 1.0, ..StageDemand::default() }
    }

    /// From observations, light load first: D = call + pass / (calls per pass), both 0 or more,
    /// through the two busiest. The lightest has a price of its own, sleeping and being woken for
    /// every call, that a busy stage does not pay. Where both were made at the same calls per pass
    /// there is no telling the two prices apart, and all of it counts as the call's.
    pub fn seen(observations: &[Observation], paced_us: f64) -> StageDemand {
        let busiest = &observations[observations.len().saturating_sub(2)..];
        let rows: Vec<[f64; 2]> =
            busiest.iter().map(|seen| [1.0, 1.0 / seen.calls_per_pass]).collect();
        let ys: Vec<f64> = busiest.iter().map(|seen| seen.cpu_us_per_call).collect();
        let last = observations.last();
        let (call_us, pass_us) = match least_squares(&rows, &ys) {
            Some([call_us, pass_us]) if call_us >= 0.0 && pass_us >= 0.0 => (call_us, pass_us),
            // Its calls alone cost nothing: then it is passes that cost.
            Some([call_us, _]) if call_us < 0.0 => {
                (0.0, last.map_or(0.0, |seen| seen.cpu_us_per_call * seen.calls_per_pass))
            }
            // The stage got dearer with the load: the busiest run is nearest.
            _ => (last.map_or(0.0, |seen| seen.cpu_us_per_call), 0.0),
        };
        StageDemand {
            pass_us,
            call_us,
            paced_us,
            calls_per_pass: last.map_or(1.0, |seen| seen.calls_per_pass),
            seen: observations.to_vec(),
        }
    }

    /// CPU time of a call when so many share a pass, in microseconds.
    pub fn cpu_us(&self, calls_per_pass: f64) -> f64 {
        self.call_us + self.pass_us / calls_per_pass.max(1.0)
    }

    /// The demand of a call when so many share a pass.
    fn demand(&self, calls_per_pass: f64) -> Demand {
        Demand::paced(self.paced_us / 1e6, self.cpu_us(calls_per_pass) / 1e6)
    }

    fn cost(&self) -> StageCost {
        StageCost {
            pass_us: self.pass_us,
            call_us: self.call_us,
            paced_us: self.paced_us,
            spread: Spread::Deterministic,
        }
    }
}

/// Everything that is known about the pair.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Demands {
    /// Where it comes from.
    pub origin: Origin,
    /// Of a reader.
    pub reader: StageDemand,
    /// Of a handler.
    pub handler: StageDemand,
    /// Of the client.
    pub client: StageDemand,
    /// Handler threads; 0 serves calls on the readers.
    pub handlers: u64,
    /// Worker threads of the client.
    pub workers: u64,
    /// What else a call waits for at light load, and nobody queues for.
    pub delay_us: f64,
    /// The 99 % latency at light load; none if not measured, or on a busy host.
    pub light_p99_us: Option<f64>,
}

/// The load that is asked about, and the cores for it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Circumstances {
    /// CPUs for the server, and for the client if it is not apart; none if there are enough.
    pub cores: Option<u64>,
    /// Whether the client has a machine of its own.
    pub client_apart: bool,
    /// Connections.
    pub clients: u64,
    /// Calls in flight over all connections.
    pub callers: u64,
    /// Where a caller's next call goes.
    pub caller_order: CallerOrder,
}

impl Demands {
    /// Whether some stage is emulated.
    pub fn are_emulated(&self) -> bool {
        self.reader.paced_us > 0.0 || self.handler.paced_us > 0.0
    }

    /// CPU time of a call on the cores that are asked about, in microseconds, when the stages have
    /// most to do.
    pub fn cpu_us(&self, circumstances: &Circumstances) -> f64 {
        let most = |stage: &StageDemand| stage.cpu_us(stage.calls_per_pass);
        let client = if circumstances.client_apart { 0.0 } else { most(&self.client) };
        most(&self.reader) + most(&self.handler) + client
    }

    /// The pair for the model, its demands taken from the regime that `readers` readers and these
    /// callers bring about, which the simulator finds.
    pub fn system(&self, readers: u64, circumstances: &Circumstances) -> System {
        let [reader, handler, client] = self.calls_per_pass(readers, circumstances);
        let client = self.client.demand(client);
        System {
            readers,
            handlers: self.handlers,
            workers: self.workers,
            clients: circumstances.clients,
            callers: circumstances.callers,
            caller_order: circumstances.caller_order,
            think_s: 0.0,
            reader: self.reader.demand(reader),
            handler: self.handler.demand(handler),
            client: if circumstances.client_apart {
                Demand { cpu_s: 0.0, ..client }
            } else {
                client
            },
            delay_s: self.delay_us / 1e6,
            cores: circumstances.cores,
            times: Times::Exponential,
        }
    }

    /// The pair for the simulator.
    pub fn setup(&self, readers: u64, circumstances: &Circumstances) -> Setup {
        let count = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        Setup {
            cores: circumstances.cores.map(count),
            workers: count(self.workers),
            client_apart: circumstances.client_apart,
            clients: count(circumstances.clients),
            readers: count(readers),
            handlers: count(self.handlers),
            // One connection's calls, about: a reader goes on to the next without giving way.
            hand_over: self.reader.calls_per_pass.round().clamp(1.0, 1e6) as u32,
            client: self.client.cost(),
            reader: self.reader.cost(),
            handler: self.handler.cost(),
            delay_us: self.delay_us,
            load: Load::Closed {
                callers: count(circumstances.callers),
                think_us: 0.0,
                turns: circumstances.caller_order == CallerOrder::Turns,
            },
            warmup_s: 0.05,
            measured_s: 0.2,
            ..Setup::default()
        }
    }

    /// Calls in one pass of reader, handler and client. Those of the busiest measurement if the
    /// simulator cannot tell, or if it makes no difference. No reader has more in one pass than the
    /// single one that was saturated; handlers and client can, when they have to wait for a core.
    fn calls_per_pass(&self, readers: u64, circumstances: &Circumstances) -> [f64; 3] {
        let stages = [&self.reader, &self.handler, &self.client];
        let known = stages.map(|stage| stage.calls_per_pass);
        if stages.iter().all(|stage| stage.pass_us == 0.0) {
            return known;
        }
        let Ok(outcome) = crate::simulate::pipeline::run(&self.setup(readers, circumstances))
        else {
            return known;
        };
        let found = [outcome.readers, outcome.handlers, outcome.client];
        let [reader, handler, client] =
            std::array::from_fn(|at| found[at].calls_per_pass.unwrap_or(known[at]));
        [reader.min(known[0]), handler, client]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(pairs: &[(f64, f64)]) -> StageDemand {
        let observations: Vec<Observation> = pairs
            .iter()
            .map(|&(calls_per_pass, cpu_us_per_call)| Observation {
                calls_per_pass,
                cpu_us_per_call,
            })
            .collect();
        StageDemand::seen(&observations, 0.0)
    }

    #[test]
    fn what_a_pass_costs_is_told_from_what_a_call_costs() {
        let demand = seen(&[(1.0, 30.0), (2.0, 3.4), (8.0, 1.0)]);
        assert!((demand.pass_us - 6.4).abs() < 1e-9 && (demand.call_us - 0.2).abs() < 1e-9);
        assert!((demand.cpu_us(16.0) - 0.6).abs() < 1e-9);
        assert!((demand.cpu_us(0.0) - 6.6).abs() < 1e-9, "no pass has less than one call");
    }

    /// More readers share the calls, so that a pass of theirs is no cheaper than the one that was
    /// measured; a handler that waits for a core finds more to do.
    #[test]
    fn the_regime_is_that_of_the_number_of_readers() {
        let demands = Demands {
            origin: Origin::Measured,
            reader: seen(&[(1.0, 34.0), (3.0, 30.0)]),
            handler: seen(&[(1.0, 23.0), (4.0, 6.5)]),
            client: seen(&[(1.0, 9.0), (4.0, 3.0)]),
            handlers: 2,
            workers: 1,
            delay_us: 10.0,
            light_p99_us: None,
        };
        let circumstances = Circumstances {
            cores: Some(2),
            client_apart: false,
            clients: 30,
            callers: 100,
            caller_order: CallerOrder::Fixed,
        };
        let [one, two] = [1, 2].map(|readers| demands.system(readers, &circumstances));
        assert!((one.reader.cpu_s * 1e6 - 30.0).abs() < 0.5, "{one:?}");
        assert!(two.reader.cpu_s >= one.reader.cpu_s - 1e-9, "{two:?}");
        assert!(two.handler.cpu_s < 6.5e-6 && two.client.cpu_s < 3e-6, "{two:?}");
        let apart = Circumstances { client_apart: true, ..circumstances };
        assert_eq!(demands.system(1, &apart).client.cpu_s, 0.0);
        assert!(demands.system(1, &apart).client.holds_s > 0.0);
    }

    #[test]
    fn demands_that_no_pass_explains_are_those_of_the_busiest_run() {
        let dearer = seen(&[(1.0, 5.0), (4.0, 9.0)]);
        assert_eq!((dearer.pass_us, dearer.call_us), (0.0, 9.0));
        let alike = seen(&[(1.0, 5.0), (1.0, 6.0)]);
        assert_eq!((alike.pass_us, alike.call_us), (0.0, 6.0));
        let only_passes = seen(&[(1.0, 9.0), (4.0, 2.0)]);
        assert_eq!((only_passes.pass_us, only_passes.call_us), (8.0, 0.0));
        assert_eq!(seen(&[]).cpu_us(1.0), 0.0);
    }
}

//! One connection with a window of calls in flight, against a server that works on so many of them
//! at a time: the mechanism of the in-flight experiment (Kafka mutes a connection from taking its
//! call to sending the reply).

use super::ResponseTimes;
use super::agenda::Agenda;
use super::law::{Chance, Spread};
use super::tally::Tally;
use serde::Serialize;
use std::collections::VecDeque;

/// What to simulate. Times in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Setup {
    /// Calls in flight, at least 1.
    pub window: u32,
    /// Calls that the server works on at once, at least 1; 1 is Kafka's muting.
    pub at_once: u32,
    /// Time outside the server: there and back, and the client.
    pub rtt_us: f64,
    /// How it spreads.
    pub rtt_spread: Spread,
    /// Time that a call keeps its place in the server busy, above 0.
    pub service_us: f64,
    /// How it spreads.
    pub service_spread: Spread,
    /// Time between two fetches of a follower, above 0 for acks=all: the call keeps its place for
    /// the rest of the running fetch and one more, and nobody works meanwhile. 0 for acks=1.
    pub fetch_us: f64,
    /// Calls that are left out at the beginning.
    pub warmup_calls: u32,
    /// Calls that are counted, at least 1.
    pub calls: u32,
    /// The same seed gives the same run.
    pub seed: u64,
}

impl Default for Setup {
    /// A muted connection, constant times of 100 us outside and inside, one call in flight.
    fn default() -> Setup {
        Setup {
            window: 1,
            at_once: 1,
            rtt_us: 100.0,
            rtt_spread: Spread::Deterministic,
            service_us: 100.0,
            service_spread: Spread::Deterministic,
            fetch_us: 0.0,
            warmup_calls: 1000,
            calls: 10_000,
            seed: 1,
        }
    }
}

/// A simulated run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// Calls per second.
    pub calls_per_s: f64,
    /// Time inside the server and outside of it together, in microseconds.
    pub response_us: ResponseTimes,
    /// Calls that were in the server's place or waited for it, on average: the rest of the window
    /// was on its way.
    pub inside_mean: f64,
}

enum Event {
    /// A call is at the server.
    Arrives,
    /// A call that arrived at this time leaves its place in the server.
    Leaves(u64),
}

/// Runs the setup. The error is one line that names what is out of range.
pub fn run(setup: &Setup) -> Result<Outcome, String> {
    let counts = [setup.window, setup.at_once, setup.calls];
    if counts.contains(&0) {
        return Err("the window, the calls at once and the calls are counted from 1".into());
    }
    let times = [setup.rtt_us, setup.service_us, setup.fetch_us];
    if !times.iter().all(|time| (0.0..=1e9).contains(time)) || setup.service_us == 0.0 {
        return Err("times are 0 to 1e9 us, and the service time above 0".into());
    }
    let mut chance = Chance::new(setup.seed);
    let mut agenda = Agenda::default();
    let mut waiting: VecDeque<u64> = VecDeque::new();
    let (mut busy, mut ended) = (0, 0);
    let (mut from_ns, mut tally) = (0, Tally::default());
    (0..setup.window).for_each(|_| agenda.enter(0, Event::Arrives));
    while tally.count() < setup.calls as usize {
        // A window that is not empty always has an event.
        match agenda.next(u64::MAX).expect("calls in flight are on the agenda") {
            Event::Arrives => waiting.push_back(agenda.now_ns()),
            Event::Leaves(arrived_ns) => {
                busy -= 1;
                let outside_ns = chance.time_ns(setup.rtt_us, setup.rtt_spread);
                if ended == setup.warmup_calls {
                    from_ns = agenda.now_ns();
                }
                if ended > setup.warmup_calls {
                    tally.add(agenda.now_ns() - arrived_ns + outside_ns);
                }
                ended += 1;
                agenda.enter(outside_ns, Event::Arrives);
            }
        }
        while busy < setup.at_once
            && let Some(arrived_ns) = waiting.pop_front()
        {
            busy += 1;
            let service_ns = chance.time_ns(setup.service_us, setup.service_spread);
            let done_ns = agenda.now_ns() + service_ns;
            agenda.enter_at(done_ns + replicated_ns(done_ns, setup), Event::Leaves(arrived_ns));
        }
    }
    let measured_s = (agenda.now_ns() - from_ns) as f64 / 1e9;
    let calls_per_s = f64::from(setup.calls) / measured_s;
    let response_us = tally.response_times().expect("one call at least was counted");
    let outside = calls_per_s * setup.rtt_us / 1e6;
    Ok(Outcome { calls_per_s, response_us, inside_mean: f64::from(setup.window) - outside })
}

/// A follower asks every `fetch_us`: what came behind one fetch is in the answer to the next, and
/// is known to be there by the one after it.
fn replicated_ns(done_ns: u64, setup: &Setup) -> u64 {
    let fetch_ns = (setup.fetch_us * 1e3) as u64;
    if fetch_ns == 0 { 0 } else { 2 * fetch_ns - done_ns % fetch_ns }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::laws;
    use crate::model::mva::{Station, solve};

    fn rate(setup: Setup) -> f64 {
        run(&setup).unwrap().calls_per_s
    }

    #[test]
    fn constant_times_obey_the_law_of_a_window() {
        for at_once in [1, 2] {
            for rtt_us in [25.0, 100.0, 400.0] {
                for window in 1..=8 {
                    let setup = Setup { window, at_once, rtt_us, ..Setup::default() };
                    let law =
                        laws::window(f64::from(window), rtt_us / 1e6, 100e-6, f64::from(at_once));
                    let found = rate(setup);
                    assert!((found / law - 1.0).abs() < 0.002, "{setup:?}: {found}, law {law}");
                }
            }
        }
    }

    #[test]
    fn exponential_times_obey_mean_value_analysis() {
        for ratio in [0.5, 1.0, 4.0] {
            for window in [2, 4, 6] {
                let setup = Setup {
                    window,
                    rtt_us: 100.0 * ratio,
                    rtt_spread: Spread::Exponential,
                    service_spread: Spread::Exponential,
                    calls: 50_000,
                    ..Setup::default()
                };
                let stations = [
                    Station::Queue { demand_s: 100e-6, others: 0.0 },
                    Station::Delay { demand_s: ratio * 100e-6 },
                ];
                let exact = solve(&stations, 0.0, u64::from(window)).calls_per_s;
                let found = rate(setup);
                assert!((found / exact - 1.0).abs() < 0.02, "{window} {ratio}: {found} {exact}");
            }
        }
    }

    /// One and a half fetches on average, during which the place is taken and nobody works.
    #[test]
    fn waiting_for_a_follower_costs_one_to_two_fetches() {
        let alone = Setup { service_spread: Spread::Exponential, ..Setup::default() };
        let all = Setup { fetch_us: 100.0, ..alone };
        let (alone, all) = (run(&alone).unwrap(), run(&all).unwrap());
        let more_us = all.response_us.mean - alone.response_us.mean;
        assert!((100.0..=200.0).contains(&more_us), "{more_us}");
        assert!(all.response_us.max > all.response_us.p50);
    }

    #[test]
    fn littles_law_holds_and_nonsense_is_refused() {
        let outcome = run(&Setup { window: 4, ..Setup::default() }).unwrap();
        let inside = outcome.calls_per_s * (outcome.response_us.mean - 100.0) / 1e6;
        assert!((inside - outcome.inside_mean).abs() < 0.05, "{outcome:?}");
        assert!(run(&Setup { window: 0, ..Setup::default() }).is_err());
        assert!(run(&Setup { service_us: 0.0, ..Setup::default() }).is_err());
        assert!(run(&Setup { rtt_us: f64::NAN, ..Setup::default() }).is_err());
    }
}

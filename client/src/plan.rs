//! What a run shall do: the options, checked against each other and against this host before any
//! socket is opened.

use crate::callers::Callers;
use crate::hadoop::{self, HadoopError};
use crate::keys::{self, KeyRange};
use crate::link::NetDelay;
use crate::options::{Acks, CallerOrder, Options, Protocol, Verify};
use crate::outcome::Ledger;
use crate::pacing::Pace;
use crate::records::{self, RecordsError};
use echo_common::address::{self, AddressError};
use echo_common::clock;
use echo_common::pinning::{self, CpuListError};
use echo_common::wire::native::{FLAG_ACKS_ALL, FLAG_NO_REPLY, FLAG_WANT_HELD};
use std::net::SocketAddr;
use thiserror::Error;

/// The port of an Ozone Manager.
const DEFAULT_PORT: u16 = 9862;
/// freon's default of -n.
const DEFAULT_CALLS: u64 = 1000;
/// Calls in flight on a connection at most, in an open loop: far more than a server that keeps up
/// ever has, so that the bound acts only under overload.
const OPEN_IN_FLIGHT: u64 = 1024;
/// Calls in flight in all, so that the tables of calls stay below 300 MB (720 MB under
/// --protocol hadoop).
const IN_FLIGHT_TOTAL_MAX: u64 = 10_000_000;

/// Options that are fit to run.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// As they were given.
    pub(crate) options: Options,
    /// Addresses of the one server.
    pub(crate) addresses: Vec<SocketAddr>,
    pub(crate) connections: usize,
    /// Calls in flight over all connections.
    pub(crate) callers: usize,
    pub(crate) workers: usize,
    /// Worker i goes to CPU i; empty without --pin.
    pub(crate) pins: Vec<usize>,
    /// The CPUs this process was given.
    pub(crate) allowed_cpus: Vec<usize>,
    /// The end of the run by count.
    pub(crate) calls: Option<u64>,
    /// The schedule of an open loop.
    pub(crate) pace: Option<Pace>,
    /// Under --streams.
    pub(crate) records: Option<records::Settings>,
    /// Under --net-delay.
    pub(crate) net_delay: Option<NetDelay>,
    /// Under --protocol hadoop.
    pub(crate) hadoop: Option<hadoop::Settings>,
}

/// Why options are refused. Each is one line.
#[derive(Debug, Error)]
pub(crate) enum PlanError {
    #[error("--server: {0}")]
    Address(#[from] AddressError),
    #[error("--pin: {0}")]
    Pin(#[from] CpuListError),
    #[error(transparent)]
    Hadoop(#[from] HadoopError),
    #[error(transparent)]
    Records(#[from] RecordsError),
    #[error("--acks 0 with {0}: nothing is answered; allowed with it: --acks 1, --acks all")]
    Unanswered(&'static str),
    #[error(
        "--clients {clients} with --in-flight {in_flight} is {total} calls in flight; \
         allowed: at most {IN_FLIGHT_TOTAL_MAX}"
    )]
    TooManyInFlight { clients: u64, in_flight: u64, total: u64 },
    #[error(
        "--callers turns with {callers} callers on {clients} connections needs tables for {room} \
         calls; allowed: at most {IN_FLIGHT_TOTAL_MAX}"
    )]
    TooManyTurns { callers: u64, clients: u64, room: u64 },
    #[error(
        "--keys {keys} with {callers} calls in flight: no two of them may have the same key; \
         allowed: at least {callers} keys"
    )]
    TooFewKeys { keys: u64, callers: u64 },
}

impl PlanError {
    /// Whether the words were right, but the name behind them has no address.
    pub(crate) fn is_lookup(&self) -> bool {
        use AddressError::{Lookup, NoAddress};
        matches!(self, PlanError::Address(Lookup { .. } | NoAddress { .. }))
    }
}

/// What one worker is given.
#[derive(Debug)]
pub(crate) struct Share {
    pub(crate) connections: usize,
    pub(crate) callers: Callers,
}

impl Plan {
    /// Checks `options`; `allowed_cpus` is what this process may use.
    pub(crate) fn new(options: Options, allowed_cpus: Vec<usize>) -> Result<Plan, PlanError> {
        let calls = match (options.calls, options.duration) {
            (None, None) => Some(DEFAULT_CALLS),
            (calls, _) => calls,
        };
        let records = records::Settings::of(&options, calls)?;
        check_answered(&options)?;
        // A connection without a stream would have nothing to send.
        let clients = options.clients.min(records.map_or(u64::MAX, |r| r.streams as u64));
        let keys = options.keys.unwrap_or(u64::MAX);
        let by_default = match options.rate {
            _ if records.is_some() => records::IN_FLIGHT_DEFAULT,
            Some(_) => OPEN_IN_FLIGHT.min(IN_FLIGHT_TOTAL_MAX.min(keys) / clients).max(1),
            None => 1,
        };
        let in_flight = options.in_flight.unwrap_or(by_default);
        let callers = match options.acks {
            // Nobody waits for anything: -t and --in-flight mean nothing.
            Acks::None if records.is_none() => clients,
            _ => options.threads.unwrap_or(clients * in_flight),
        };
        if callers > keys {
            return Err(PlanError::TooFewKeys { keys, callers });
        }
        if callers > IN_FLIGHT_TOTAL_MAX {
            return Err(PlanError::TooManyInFlight { clients, in_flight, total: callers });
        }
        let room = callers.saturating_mul(clients);
        if options.callers == CallerOrder::Turns && room > IN_FLIGHT_TOTAL_MAX {
            return Err(PlanError::TooManyTurns { callers, clients, room });
        }
        let (connections, callers) = (clients as usize, callers as usize);
        let half = pinning::usable_cpus(&allowed_cpus) / 2;
        let workers = options.workers.map_or(half.max(1), |count| count as usize);
        let workers = workers.min(connections).min(callers);
        let pins = match &options.pin {
            None => Vec::new(),
            Some(list) => {
                let cpus = pinning::parse_cpu_list(list)?;
                pinning::check_inside(&cpus, &allowed_cpus)?;
                pinning::plan(&cpus, workers)
            }
        };
        let calls = calls.filter(|_| records.is_none());
        let pace = options.rate.filter(|_| records.is_none()).map(|calls_per_s| Pace {
            calls_per_s,
            arrivals: options.arrivals,
            workers: workers as u64,
            calls,
            seed: options.seed,
        });
        let hadoop = hadoop::Settings::of(&options)?;
        let net_delay = (!options.net_delay.is_zero()).then(|| NetDelay {
            one_way_ns: clock::ns(options.net_delay),
            held_max: options.net_delay_buffer as usize,
        });
        let addresses = address::resolve(&options.server, DEFAULT_PORT)?;
        Ok(Plan {
            options,
            addresses,
            connections,
            callers,
            workers,
            pins,
            allowed_cpus,
            calls,
            pace,
            records,
            net_delay,
            hadoop,
        })
    }

    /// The share of worker `index`: connection i belongs to worker i mod W.
    pub(crate) fn share(&self, index: usize) -> Share {
        let (workers, connections, callers) = (self.workers, self.connections, self.callers);
        let mine = |of: usize| of / workers + usize::from(index < of % workers);
        if self.callers_rotate() {
            let rotating = if callers < connections { Callers::Rotating } else { Callers::InTurn };
            return Share { connections: mine(connections), callers: rotating(mine(callers)) };
        }
        let windows: Vec<usize> = (index..connections)
            .step_by(workers)
            .map(|c| callers / connections + usize::from(c < callers % connections))
            .collect();
        Share { connections: windows.len(), callers: Callers::PerConnection(windows) }
    }

    /// Whether callers go from connection to connection.
    pub(crate) fn callers_rotate(&self) -> bool {
        self.callers < self.connections || self.options.callers == CallerOrder::Turns
    }

    /// Calls in flight on one connection at most.
    pub(crate) fn in_flight_per_connection(&self) -> usize {
        match self.options.callers {
            CallerOrder::Turns => self.callers.div_ceil(self.workers),
            CallerOrder::Fixed => self.callers.div_ceil(self.connections),
        }
    }

    /// The keys of each worker's calls; none if calls have no keys.
    pub(crate) fn keys(&self) -> Vec<KeyRange> {
        let Some(keys) = self.options.keys else { return Vec::new() };
        let callers: Vec<u64> = (0..self.workers).map(|i| self.share(i).callers.count()).collect();
        keys::deal(keys, &callers)
    }

    /// Calls, or records in calls, after which the run ends.
    pub(crate) fn count(&self) -> Option<u64> {
        self.records.map_or(self.calls, |records| records.records)
    }

    /// Whether the run has ended by it.
    pub(crate) fn is_count_reached(&self, ledger: &Ledger) -> bool {
        let started = match &ledger.records {
            Some(tally) => tally.totals.created - tally.totals.unsent,
            None => ledger.outcomes.started,
        };
        self.count() == Some(started)
    }

    /// The schedule of calls, or of records in calls.
    pub(crate) fn schedule(&self) -> Option<Pace> {
        self.records.map_or(self.pace, |records| records.pace)
    }

    /// Flags of every native call.
    pub(crate) fn flags(&self) -> u8 {
        match self.options.acks {
            Acks::None => FLAG_NO_REPLY,
            Acks::One => 0,
            Acks::All => FLAG_ACKS_ALL | FLAG_WANT_HELD,
        }
    }

    /// Whether these are plain calls that nobody answers.
    pub(crate) fn is_unanswered(&self) -> bool {
        self.options.acks == Acks::None && self.records.is_none()
    }

    /// Whether replies say how many hold their call.
    pub(crate) fn asks_holders(&self) -> bool {
        self.options.acks == Acks::All
    }

    /// The length that replies are asked to have, if not that of the call.
    pub(crate) fn reply_len(&self) -> Option<u32> {
        self.options.payload_resp.map(|len| u32::try_from(len).unwrap_or(u32::MAX))
    }

    /// Whether reply bytes are compared.
    pub(crate) fn verify(&self) -> bool {
        let comparable = self.hadoop.as_ref().is_none_or(|settings| settings.compares);
        self.options.verify == Verify::Full && comparable && self.options.acks != Acks::None
    }

    /// Addresses that are not this host's own loopback.
    pub(crate) fn remote_addresses(&self) -> impl Iterator<Item = &SocketAddr> {
        self.addresses.iter().filter(|address| !address::is_loopback(address))
    }
}

/// What is about answers goes with calls that are answered.
fn check_answered(options: &Options) -> Result<(), PlanError> {
    let about_answers = [
        ("--protocol hadoop", options.protocol == Protocol::Hadoop),
        ("--stages", options.stages.is_some()),
        ("--keys", options.keys.is_some()),
        ("--payload-resp", options.payload_resp.is_some()),
        ("--think", !options.think.is_zero()),
        ("--callers turns", options.callers == CallerOrder::Turns),
    ];
    match about_answers.into_iter().find(|&(_, is_given)| is_given) {
        Some((option, _)) if options.acks == Acks::None => Err(PlanError::Unanswered(option)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use proptest::prelude::*;

    fn plan(arguments: &[&str]) -> Plan {
        let arguments = std::iter::once(&"echo-client").chain(arguments);
        Plan::new(Options::parse_from(arguments), vec![0, 1, 2, 3]).unwrap()
    }

    #[test]
    fn without_an_end_a_run_has_freons_thousand_calls() {
        assert_eq!(plan(&[]).calls, Some(1000));
        assert_eq!(plan(&["-n", "5m"]).calls, Some(5_000_000));
        assert_eq!(plan(&["--duration", "1s"]).calls, None);
        assert_eq!(plan(&["--duration", "1s", "-n", "7"]).calls, Some(7));
    }

    #[test]
    fn workers_are_never_more_than_connections_or_callers() {
        assert_eq!(plan(&["--workers", "8"]).workers, 8);
        assert_eq!(plan(&["--workers", "8", "--clients", "3"]).workers, 3);
        assert_eq!(plan(&["--workers", "8", "-t", "2"]).workers, 2);
    }

    #[test]
    fn a_schedule_has_its_seed_from_the_option() {
        for what in [&[][..], &["--streams", "3"]] {
            let seed_of = |arguments: &[&str]| {
                plan(&[&["--rate", "5"], what, arguments].concat()).schedule().unwrap().seed
            };
            assert_eq!((seed_of(&[]), seed_of(&["--seed", "7"])), (0, 7), "{what:?}");
        }
    }

    #[test]
    fn callers_in_turn_are_dealt_to_workers_and_bounded() {
        let turns = plan(&["--callers", "turns", "--clients", "5", "-t", "9", "--workers", "2"]);
        let shares: Vec<_> = (0..2).map(|i| turns.share(i)).collect();
        let callers = shares.iter().map(|share| match share.callers {
            Callers::InTurn(callers) => callers,
            _ => panic!("{share:?}"),
        });
        assert_eq!(callers.collect::<Vec<_>>(), [5, 4]);
        assert_eq!((turns.callers_rotate(), turns.in_flight_per_connection()), (true, 5));
        let many = ["echo-client", "--callers", "turns", "--clients", "10000", "-t", "10000"];
        let error = Plan::new(Options::parse_from(many), vec![0]).unwrap_err();
        assert!(error.to_string().contains("100000000 calls; allowed"), "{error}");
    }

    proptest! {
        #[test]
        fn connections_and_callers_are_dealt_out_completely_and_evenly(
            clients in 1usize..200, callers in 1usize..600, workers in 1usize..20,
        ) {
            let (c, t, w) = (clients.to_string(), callers.to_string(), workers.to_string());
            let plan = plan(&["--clients", &c, "-t", &t, "--workers", &w]);
            let shares: Vec<_> = (0..plan.workers).map(|i| plan.share(i)).collect();
            prop_assert_eq!(shares.iter().map(|s| s.connections).sum::<usize>(), clients);
            let mut windows = Vec::new();
            let mut rotating = 0;
            for share in &shares {
                prop_assert!(share.connections > 0);
                match &share.callers {
                    Callers::PerConnection(own) => windows.extend_from_slice(own),
                    Callers::Rotating(count) => {
                        prop_assert!((1..=share.connections).contains(count));
                        rotating += count;
                    }
                    Callers::InTurn(_) => prop_assert!(false, "nobody asked for turns"),
                }
            }
            prop_assert_eq!(windows.iter().sum::<usize>() + rotating, callers);
            if let (Some(least), Some(most)) = (windows.iter().min(), windows.iter().max()) {
                prop_assert!(*least > 0 && most - least <= 1);
            }
        }
    }
}

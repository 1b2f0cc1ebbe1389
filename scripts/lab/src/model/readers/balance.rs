//! The readers model in balance: constant times by their bounds, exponential ones by mean value
//! analysis, both stretched until the CPU times fit the cores.

use super::{Demand, System, Times};
use crate::model::laws::{effective_readers, most_calls_per_s};
use crate::model::mva::{self, Station};

/// Rates in balance.
pub(super) struct Balance {
    pub(super) calls_per_s: f64,
    /// Those of the reader that has most.
    pub(super) busiest_calls_per_s: f64,
}

/// Readers that serve equally many callers each.
pub(super) struct Group {
    pub(super) callers: u64,
    pub(super) readers: f64,
}

impl System {
    /// Finds the stretch with which the CPU times fill `cores` exactly: throughput falls as it
    /// grows.
    pub(super) fn stretched_to(&self, cores: f64) -> (f64, Balance) {
        let fits = |stretch: f64| {
            let balance = self.balance(stretch);
            (balance.calls_per_s * self.cpu_s() <= cores).then_some(balance)
        };
        let (mut low, mut high) = (1.0, 2.0);
        let mut found = loop {
            match fits(high) {
                Some(balance) => break balance,
                None => (low, high) = (high, 2.0 * high),
            }
        };
        while high - low > 1e-6 * high {
            let middle = (low + high) / 2.0;
            match fits(middle) {
                Some(balance) => (high, found) = (middle, balance),
                None => low = middle,
            }
        }
        (high, found)
    }

    pub(super) fn balance(&self, stretch: f64) -> Balance {
        match (self.times, self.take_turns()) {
            (Times::Constant, turns) => self.constant(stretch, turns),
            (Times::Exponential, true) => self.in_turn(stretch),
            (Times::Exponential, false) => self.fixed(stretch),
        }
    }

    /// Constant times: each reader has what it can do or what its callers ask for, and the shared
    /// stages have what they can do.
    fn constant(&self, stretch: f64, turns: bool) -> Balance {
        let round_s = self.think_s + self.response_alone_s(stretch);
        let reader_s = self.on_reader().stretched_s(stretch);
        let [handlers, client] = self.shared(stretch);
        let shared = handlers.min(client);
        if turns {
            let readers = most_calls_per_s(reader_s, effective_readers(self.readers, self.clients));
            let calls_per_s = most_calls_per_s(round_s, self.callers as f64).min(readers);
            return self.balance_in_turn(calls_per_s.min(shared));
        }
        let of_reader = |callers: u64| {
            most_calls_per_s(round_s, callers as f64).min(most_calls_per_s(reader_s, 1.0))
        };
        let groups = self.groups();
        let all: f64 = groups.iter().map(|group| group.readers * of_reader(group.callers)).sum();
        let most = groups.iter().map(|group| of_reader(group.callers)).fold(0.0, f64::max);
        let calls_per_s = all.min(shared);
        Balance { calls_per_s, busiest_calls_per_s: most * calls_per_s / all }
    }

    /// Bounds of handlers and client.
    fn shared(&self, stretch: f64) -> [f64; 2] {
        let bound = |demand: &Demand, servers: u64| {
            most_calls_per_s(demand.stretched_s(stretch), servers as f64)
        };
        let handlers =
            if self.handlers == 0 { f64::INFINITY } else { bound(&self.handler, self.handlers) };
        [handlers, bound(&self.client, self.workers)]
    }

    /// Exponential times and callers that take turns: one closed loop through all readers.
    fn in_turn(&self, stretch: f64) -> Balance {
        let reader_s = self.on_reader().stretched_s(stretch);
        let shares = (0..self.readers).map(|reader| self.connections_of(reader));
        let mut stations: Vec<Station> = shares
            .map(|connections| connections as f64 / self.clients as f64)
            .map(|share| Station::Queue { demand_s: reader_s * share, others: 0.0 })
            .collect();
        stations.extend(self.behind_readers(stretch, [0.0; 2]));
        self.balance_in_turn(mva::solve(&stations, self.think_s, self.callers).calls_per_s)
    }

    fn balance_in_turn(&self, calls_per_s: f64) -> Balance {
        let share = self.connections_of(0) as f64 / self.clients as f64;
        Balance { calls_per_s, busiest_calls_per_s: share * calls_per_s }
    }

    /// Exponential times and callers that stay: each reader's callers are a closed loop of their
    /// own, exact by itself; the loops meet at the stages that they share, where each finds what
    /// the others have there on average. Repeated until nothing moves.
    fn fixed(&self, stretch: f64) -> Balance {
        let groups = self.groups();
        let reader_s = self.on_reader().stretched_s(stretch);
        // What one reader's calls have at handlers and client, by group.
        let mut there = vec![[0.0; 2]; groups.len()];
        let mut rates = vec![0.0; groups.len()];
        for _ in 0..ROUNDS_MAX {
            let mut moved: f64 = 0.0;
            for (at, group) in groups.iter().enumerate() {
                let all: [f64; 2] = std::array::from_fn(|stage| {
                    groups.iter().zip(&there).map(|(group, t)| group.readers * t[stage]).sum()
                });
                let others = std::array::from_fn(|stage| (all[stage] - there[at][stage]).max(0.0));
                let mut stations = vec![Station::Queue { demand_s: reader_s, others: 0.0 }];
                stations.extend(self.behind_readers(stretch, others));
                let solved = mva::solve(&stations, self.think_s, group.callers);
                moved = moved.max((solved.calls_per_s - rates[at]).abs() / solved.calls_per_s);
                rates[at] = solved.calls_per_s;
                for (stage, there) in there[at].iter_mut().enumerate() {
                    // Half the way, or the loops would chase each other.
                    *there = (*there + solved.calls_there[1 + stage]) / 2.0;
                }
            }
            if moved < 1e-7 {
                break;
            }
        }
        Balance {
            calls_per_s: groups.iter().zip(&rates).map(|(group, x)| group.readers * x).sum(),
            busiest_calls_per_s: rates.iter().copied().fold(0.0, f64::max),
        }
    }

    /// Handlers, client and delay, with the calls of others at the first two.
    fn behind_readers(&self, stretch: f64, others: [f64; 2]) -> [Station; 3] {
        let handler_s = if self.handlers == 0 { 0.0 } else { self.handler.stretched_s(stretch) };
        let client_s = self.client.stretched_s(stretch);
        [
            Station::Servers {
                demand_s: handler_s,
                servers: self.handlers.max(1),
                others: others[0],
            },
            Station::Servers { demand_s: client_s, servers: self.workers, others: others[1] },
            Station::Delay { demand_s: self.delay_s },
        ]
    }

    /// Connections of one reader: they are dealt in turn.
    pub(super) fn connections_of(&self, reader: u64) -> u64 {
        self.clients / self.readers + u64::from(reader < self.clients % self.readers)
    }

    /// Readers with equally many callers together, those without left out. Callers are dealt to
    /// connections in turn, and these to readers.
    pub(super) fn groups(&self) -> Vec<Group> {
        let (each, more) = (self.callers / self.clients, self.callers % self.clients);
        let mut groups: Vec<Group> = Vec::new();
        for reader in 0..self.readers.min(self.clients) {
            // Of the connections below `more` every reader has its share, too.
            let with_more = more / self.readers + u64::from(reader < more % self.readers);
            let callers = each * self.connections_of(reader) + with_more;
            match groups.iter_mut().find(|group| group.callers == callers) {
                Some(group) => group.readers += 1.0,
                None => groups.push(Group { callers, readers: 1.0 }),
            }
        }
        groups.retain(|group| group.callers > 0);
        groups
    }
}

/// Rounds of the loops that meet at shared stages; some dozens are the rule.
const ROUNDS_MAX: usize = 500;

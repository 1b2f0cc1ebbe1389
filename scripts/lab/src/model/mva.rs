//! Exact mean value analysis of a closed loop: Reiser and Lavenberg, "Mean-Value Analysis of Closed
//! Multichain Queueing Networks", Journal of the ACM 27 (1980); Lazowska et al., "Quantitative
//! System Performance" (1984), chapter 6. Service times are taken to be exponential.

/// Where a call spends time on its way round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Station {
    /// One server with a queue; the demand in seconds is what a call on average (visits included)
    /// takes of it.
    Queue {
        /// Visits times service time.
        demand_s: f64,
        /// Calls of others that are always there, on average; 0 if there are none.
        others: f64,
    },
    /// Equal servers with one queue, as Seidmann's replacement: a single server of `demand_s` / m
    /// and a delay of `demand_s` (m - 1) / m. Exact when idle and when saturated; between the two
    /// the response is some per cent too long. Seidmann, Schweitzer and Shalev-Oren, "Computerized
    /// Closed Queueing Network Models of Flexible Manufacturing Systems" (1987).
    Servers {
        /// Visits times service time.
        demand_s: f64,
        /// How many; at least 1.
        servers: u64,
        /// As above.
        others: f64,
    },
    /// Time that nobody queues for.
    Delay {
        /// How long, in seconds.
        demand_s: f64,
    },
}

/// A loop in balance.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// Calls per second; 0 without callers, infinite if nothing takes time.
    pub calls_per_s: f64,
    /// From the start of a call to its end, in seconds.
    pub response_s: f64,
    /// For each station, in their order: seconds that a call spends there, queueing included.
    pub residence_s: Vec<f64>,
    /// For each station, in their order: calls that are there on average.
    pub calls_there: Vec<f64>,
}

/// Solves the loop of `callers` that think for `think_s` seconds between calls. The work is
/// proportional to callers times stations.
pub fn solve(stations: &[Station], think_s: f64, callers: u64) -> Solution {
    let mut solution = Solution {
        calls_per_s: 0.0,
        response_s: stations.iter().map(|station| station.residence_s(0.0)).sum(),
        residence_s: stations.iter().map(|station| station.residence_s(0.0)).collect(),
        calls_there: vec![0.0; stations.len()],
    };
    for callers in 1..=callers {
        // A call finds what there would be without its caller.
        for (at, station) in stations.iter().enumerate() {
            solution.residence_s[at] = station.residence_s(solution.calls_there[at]);
        }
        solution.response_s = solution.residence_s.iter().sum();
        solution.calls_per_s = callers as f64 / (think_s + solution.response_s);
        for (at, station) in stations.iter().enumerate() {
            solution.calls_there[at] =
                solution.calls_per_s * station.queueing_s(solution.calls_there[at]);
        }
    }
    for (there, residence_s) in solution.calls_there.iter_mut().zip(&solution.residence_s) {
        *there = solution.calls_per_s * residence_s;
    }
    solution
}

impl Station {
    /// Time in the station for a call that finds `ahead` calls of its own loop in the queue.
    fn residence_s(&self, ahead: f64) -> f64 {
        self.queueing_s(ahead) + self.beside_s()
    }

    /// The part of it at the queue's server, waiting included.
    fn queueing_s(&self, ahead: f64) -> f64 {
        match *self {
            Station::Queue { demand_s, others } => demand_s * (1.0 + ahead + others),
            Station::Servers { demand_s, servers, others } => {
                demand_s / servers as f64 * (1.0 + ahead + others)
            }
            Station::Delay { .. } => 0.0,
        }
    }

    /// The part of it that does not depend on anybody.
    fn beside_s(&self) -> f64 {
        match *self {
            Station::Queue { .. } => 0.0,
            Station::Servers { demand_s, servers, .. } => {
                demand_s * (servers - 1) as f64 / servers as f64
            }
            Station::Delay { demand_s } => demand_s,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queues<const K: usize>(demands_s: [f64; K]) -> [Station; K] {
        demands_s.map(|demand_s| Station::Queue { demand_s, others: 0.0 })
    }

    fn close(found: f64, expected: f64, within: f64) {
        assert!((found - expected).abs() <= within, "found {found}, expected {expected}");
    }

    /// Jain, "The Art of Computer Systems Performance Analysis" (1991), table 34.2: a processor
    /// and two disks with demands of 2, 3 and 1 s, 4 s of thinking.
    #[test]
    fn jains_timesharing_system_comes_out_as_in_the_book() {
        let stations = queues([2.0, 3.0, 1.0]);
        for (users, response_s, calls_per_s) in
            [(1, 6.0, 0.1), (2, 7.4, 0.175), (3, 9.088, 0.229), (20, 56.016, 0.333)]
        {
            let found = solve(&stations, 4.0, users);
            close(found.response_s, response_s, 0.001);
            close(found.calls_per_s, calls_per_s, 0.0005);
        }
    }

    /// Lazowska et al., section 6.4: demands 0.605, 2.1 and 1.35 s, 15 s of thinking, 3 users
    /// have 0.152 calls/s; the rest by hand.
    #[test]
    fn the_textbooks_example_comes_out_as_in_the_book() {
        let found = solve(&queues([0.605, 2.1, 1.35]), 15.0, 3);
        close(found.calls_per_s, 0.152, 0.0005);
        close(found.response_s, 4.7998, 0.0005);
        close(found.residence_s[1], 2.6047, 0.0005);
        close(found.calls_there[1], 0.3947, 0.0005);
    }

    /// Experiments.md, section 2.2: gains of 2 to 6 calls in flight over one, for exponential
    /// service of a muted connection with the given ratio of the time outside to the time inside.
    #[test]
    fn windows_gain_what_the_reference_says() {
        for (ratio, gains) in [
            (0.25, [1.22, 1.25, 1.25, 1.25, 1.25]),
            (0.5, [1.38, 1.48, 1.50, 1.50, 1.50]),
            (1.0, [1.60, 1.88, 1.97, 1.99, 2.00]),
            (2.0, [1.80, 2.37, 2.71, 2.89, 2.96]),
            (4.0, [1.92, 2.75, 3.45, 4.00, 4.41]),
        ] {
            let stations =
                [Station::Queue { demand_s: 1.0, others: 0.0 }, Station::Delay { demand_s: ratio }];
            let alone = solve(&stations, 0.0, 1).calls_per_s;
            for (k, gain) in (2..).zip(gains) {
                close(solve(&stations, 0.0, k).calls_per_s / alone, gain, 0.006);
            }
        }
    }

    #[test]
    fn little_holds_in_every_solution() {
        let stations = [
            Station::Queue { demand_s: 0.3, others: 0.5 },
            Station::Servers { demand_s: 1.0, servers: 4, others: 0.0 },
            Station::Delay { demand_s: 2.0 },
        ];
        for callers in [1, 2, 7, 50] {
            let found = solve(&stations, 1.5, callers);
            let inside: f64 = found.calls_there.iter().sum();
            close(inside + found.calls_per_s * 1.5, callers as f64, 1e-9 * callers as f64);
        }
    }

    #[test]
    fn several_servers_are_exact_at_both_ends() {
        let four = [Station::Servers { demand_s: 1.0, servers: 4, others: 0.0 }];
        close(solve(&four, 0.0, 1).response_s, 1.0, 1e-12);
        close(solve(&four, 0.0, 400).calls_per_s, 4.0, 0.01);
        let one = [Station::Servers { demand_s: 1.0, servers: 1, others: 0.0 }];
        assert_eq!(solve(&one, 3.0, 9), solve(&queues([1.0]), 3.0, 9));
    }

    #[test]
    fn without_callers_nothing_moves() {
        let found = solve(&queues([2.0]), 1.0, 0);
        assert_eq!((found.calls_per_s, found.response_s), (0.0, 2.0));
        assert_eq!(solve(&[], 0.0, 3).calls_per_s, f64::INFINITY);
    }
}

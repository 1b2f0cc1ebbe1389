//! Stages fed by a schedule (an open loop): how long calls wait. Poisson arrivals throughout;
//! Kleinrock, "Queueing Systems", volume 1 (1975), chapters 3 and 5.

/// Erlang's C formula: the share of calls that find all `servers` busy and wait. `offered` is the
/// load in servers, arrivals per second times service time. M/M/m.
///
/// 1 if the load is `servers` or more; 0 without load.
pub fn erlang_c(servers: u64, offered: f64) -> f64 {
    if offered <= 0.0 {
        return 0.0;
    }
    if servers == 0 || offered >= servers as f64 {
        return 1.0;
    }
    // Erlang's B by its recursion, which neither overflows nor cancels, and C from it.
    let blocked = (1..=servers).fold(1.0, |b, m| offered * b / (m as f64 + offered * b));
    blocked / (1.0 - offered / servers as f64 * (1.0 - blocked))
}

/// The waiting time before service in an M/M/m stage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wait {
    /// The share of calls that wait at all.
    pub share: f64,
    /// The mean over all calls, in seconds; infinite at or past saturation.
    pub mean_s: f64,
}

impl Wait {
    /// The time that a share `p` (0 to 1, 1 excluded) of all calls waits at most: exponential
    /// behind the share that waits at all, ln(P_w / (1 - p)) W / P_w. Exact for M/M/m; for other
    /// service times an estimate from the same mean.
    pub fn quantile_s(&self, p: f64) -> f64 {
        if self.share <= 1.0 - p || self.share == 0.0 {
            return 0.0;
        }
        self.mean_s / self.share * (self.share / (1.0 - p)).ln()
    }
}

/// A shared queue before `servers` servers with exponential service times of mean `service_s`.
pub fn shared_queue(servers: u64, calls_per_s: f64, service_s: f64) -> Wait {
    let share = erlang_c(servers, calls_per_s * service_s);
    let spare_per_s = servers as f64 / service_s - calls_per_s;
    let mean_s = match () {
        () if service_s == 0.0 || calls_per_s == 0.0 => 0.0,
        () if spare_per_s > 0.0 => share / spare_per_s,
        () => f64::INFINITY,
    };
    Wait { share, mean_s }
}

/// One server with any service times, of which the mean and the coefficient of variation (0 for
/// constant ones, 1 for exponential ones) are known: the formula of Pollaczek and Khinchine,
/// W = rho S (1 + cv^2) / (2 (1 - rho)). M/G/1.
pub fn single_queue(calls_per_s: f64, service_s: f64, cv: f64) -> Wait {
    let share = (calls_per_s * service_s).min(1.0);
    let mean_s = if share < 1.0 {
        share * service_s * (1.0 + cv * cv) / (2.0 * (1.0 - share))
    } else {
        f64::INFINITY
    };
    Wait { share, mean_s }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64, within: f64) {
        assert!((found - expected).abs() <= within, "found {found}, expected {expected}");
    }

    /// Two servers with half the load each wait in a third of the cases; 8 erlangs on 10 agents
    /// in 40.9 %, as in every table of the formula.
    #[test]
    fn erlangs_formula_gives_the_values_of_its_tables() {
        close(erlang_c(2, 1.0), 1.0 / 3.0, 1e-12);
        close(erlang_c(10, 8.0), 0.4092, 1e-4);
        close(erlang_c(1, 0.7), 0.7, 1e-12);
        close(erlang_c(1000, 900.0), 0.0, 1e-3);
        assert_eq!(erlang_c(3, 3.0), 1.0);
        assert_eq!(erlang_c(0, 0.1), 1.0);
        assert_eq!(erlang_c(3, 0.0), 0.0);
    }

    #[test]
    fn one_server_waits_the_same_by_either_formula() {
        let (shared, single) = (shared_queue(1, 0.8, 1.0), single_queue(0.8, 1.0, 1.0));
        close(shared.mean_s, 4.0, 1e-9);
        close(single.mean_s, 4.0, 1e-9);
        close(shared.share, single.share, 1e-12);
        close(single_queue(0.8, 1.0, 0.0).mean_s, 2.0, 1e-9);
    }

    #[test]
    fn the_waits_quantile_is_that_of_the_single_exponential_queue() {
        // P(wait > t) = rho exp(-(mu - lambda) t).
        let wait = shared_queue(1, 0.8, 1.0);
        close(wait.quantile_s(0.99), (0.8f64 / 0.01).ln() / 0.2, 1e-9);
        close(wait.quantile_s(0.5), (0.8f64 / 0.5).ln() / 0.2, 1e-9);
        assert_eq!(wait.quantile_s(0.1), 0.0, "20 % do not wait");
    }

    #[test]
    fn past_saturation_calls_wait_for_ever_and_without_load_not_at_all() {
        assert_eq!(shared_queue(2, 3.0, 1.0).mean_s, f64::INFINITY);
        assert_eq!(single_queue(1.0, 1.0, 0.0).mean_s, f64::INFINITY);
        assert_eq!(single_queue(5.0, 1.0, 0.0).share, 1.0);
        for idle in
            [shared_queue(2, 0.0, 1.0), shared_queue(2, 5.0, 0.0), single_queue(0.0, 1.0, 1.0)]
        {
            assert_eq!((idle.share, idle.mean_s, idle.quantile_s(0.99)), (0.0, 0.0, 0.0));
        }
    }
}

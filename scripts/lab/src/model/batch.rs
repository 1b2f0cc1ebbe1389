//! The cycle of a serial dispatcher that takes up to B calls at a time: what the read-batch
//! experiment (Pulsar's dispatcherMaxReadBatchSize) rests on. A bulk service queue in the manner
//! of Bailey (1954) and Neuts (1967), reduced to its mean cycle at saturation.

use super::laws::most_calls_per_s;
use serde::Serialize;

/// The costs of the dispatcher's cycle, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cycle {
    /// g: once in each cycle, whatever is in it: the read's fixed part and the hand-off.
    pub gap_s: f64,
    /// c: for each call in it.
    pub call_s: f64,
    /// a: for each call on the serial stage that runs beside it; 0 if there is none.
    pub serial_s: f64,
}

impl Cycle {
    /// X(B) = min(1 / a, B / (g + B c)): calls per second while `batch` calls are always waiting.
    pub fn calls_per_s(&self, batch: f64) -> f64 {
        let cycle_s = self.gap_s + batch * self.call_s;
        most_calls_per_s(cycle_s, batch).min(most_calls_per_s(self.serial_s, 1.0))
    }

    /// The batch at which a share `p` (0 to 1, 1 excluded) of 1 / c is reached:
    /// B_p = p / (1 - p) g / c. The serial stage is left out of it.
    pub fn batch_at_share(&self, p: f64) -> f64 {
        p / (1.0 - p) * self.gap_s / self.call_s
    }

    /// 1 / (a + e d): what the serial stage carries when a share `extended` (0 to 1) of the calls
    /// is dispatched on it, too, at `dispatch_s` each. This is why larger batches can be slower.
    pub fn extended_calls_per_s(&self, extended: f64, dispatch_s: f64) -> f64 {
        most_calls_per_s(self.serial_s + extended * dispatch_s, 1.0)
    }
}

/// Seconds until a backlog is gone that a stall of `stall_s` left, at `arrivals_per_s`, when the
/// stage carries `calls_per_s`: lambda s / (X - lambda). Infinite if it carries no more than comes.
pub fn drain_s(stall_s: f64, arrivals_per_s: f64, calls_per_s: f64) -> f64 {
    let spare = calls_per_s - arrivals_per_s;
    if spare > 0.0 { arrivals_per_s * stall_s / spare } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PULSAR: Cycle = Cycle { gap_s: 100e-6, call_s: 8.8e-6, serial_s: 0.0 };

    fn close(found: f64, expected: f64, within: f64) {
        assert!((found - expected).abs() <= within, "found {found}, expected {expected}");
    }

    /// Experiments.md, finding 6: 90 % at 102, 95 % at 216, 98 % at 557.
    #[test]
    fn shares_of_the_asymptote_are_reached_where_the_reference_says() {
        for (share, batch) in [(0.90, 102.0), (0.95, 216.0), (0.98, 557.0)] {
            close(PULSAR.batch_at_share(share), batch, 0.6);
            close(PULSAR.calls_per_s(PULSAR.batch_at_share(share)), share / 8.8e-6, 1e-3);
        }
    }

    /// The two published rates, from the cycles read out of them: 80.7 us and 9.22 us a call.
    #[test]
    fn the_published_rates_are_one_cycle() {
        let cycle = Cycle { gap_s: 80.7e-6, call_s: 9.2173e-6, serial_s: 0.0 };
        close(cycle.calls_per_s(100.0), 99_756.0, 20.0);
        close(cycle.calls_per_s(500.0), 106_624.0, 20.0);
    }

    #[test]
    fn a_serial_stage_bounds_it_and_extended_reads_bound_it_more() {
        let cycle = Cycle { serial_s: 10e-6, ..PULSAR };
        close(cycle.calls_per_s(50.0), 50.0 / 540e-6, 1e-6);
        close(cycle.calls_per_s(5000.0), 100_000.0, 1e-6);
        close(cycle.extended_calls_per_s(0.0, 8e-6), 100_000.0, 1e-6);
        close(cycle.extended_calls_per_s(1.0, 8e-6), 1.0 / 18e-6, 1e-6);
    }

    #[test]
    fn a_stall_drains_at_the_spare_rate() {
        close(drain_s(0.02, 30_000.0, 90_000.0), 0.01, 1e-12);
        assert_eq!(drain_s(0.02, 30_000.0, 30_000.0), f64::INFINITY);
    }
}

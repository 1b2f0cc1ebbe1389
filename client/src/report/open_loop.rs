//! An open loop against its schedule: what was asked for, what was reached, and whether calls piled
//! up.

use super::{Figures, ratio};
use crate::options::Arrivals;
use crate::outcome::OpenTimes;
use crate::pacing::Pace;
use crate::worker::ScheduleResult;
use serde::Serialize;

/// Below this share of the target a rate is not reached.
const REACHED: f64 = 0.99;
/// A backlog that changes by less than this many standard deviations may do so by chance.
const CHANCE: f64 = 4.0;

/// How the schedule was kept.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct OpenLoopFigures {
    pub(crate) arrivals: Arrivals,
    pub(crate) target_per_s: f64,
    /// Right replies per second by the target.
    pub(crate) achieved_share: Option<f64>,
    /// Calls that were due in the window, sent or not.
    pub(crate) scheduled: u64,
    /// Of them, those that were never sent.
    pub(crate) unsent: u64,
    /// Those that were sent late because the bound on calls in flight was reached.
    pub(crate) held_back: u64,
    /// The longest that one of them was late, or is at the end.
    pub(crate) worst_lag_us: f64,
    /// Calls due and not answered, at two thirds of the schedule and at its end.
    pub(crate) backlog_at_two_thirds: u64,
    pub(crate) backlog_at_end: u64,
    /// The rate was not reached, and calls pile up.
    pub(crate) overloaded: bool,
}

/// The latencies of an open loop: response is delay and service together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct OpenLatencies {
    pub(crate) service: Figures,
    pub(crate) delay: Figures,
}

impl OpenLatencies {
    pub(crate) fn of(times: &mut OpenTimes) -> OpenLatencies {
        OpenLatencies {
            service: times.service.summary().into(),
            delay: times.delay.summary().into(),
        }
    }
}

impl OpenLoopFigures {
    /// `started` calls were sent in the window.
    pub(crate) fn of(
        pace: &Pace,
        workers: impl Iterator<Item = ScheduleResult>,
        started: u64,
        calls_per_s: Option<f64>,
    ) -> OpenLoopFigures {
        let all = workers.fold(ScheduleResult::default(), |sum, worker| ScheduleResult {
            unsent: sum.unsent + worker.unsent,
            held_back: sum.held_back + worker.held_back,
            worst_lag_ns: sum.worst_lag_ns.max(worker.worst_lag_ns),
            backlog: [sum.backlog[0] + worker.backlog[0], sum.backlog[1] + worker.backlog[1]],
        });
        let mut figures = OpenLoopFigures {
            arrivals: pace.arrivals,
            target_per_s: pace.calls_per_s,
            achieved_share: calls_per_s.and_then(|rate| ratio(rate, pace.calls_per_s)),
            scheduled: started + all.unsent,
            unsent: all.unsent,
            held_back: all.held_back,
            worst_lag_us: all.worst_lag_ns as f64 / 1e3,
            backlog_at_two_thirds: all.backlog[0],
            backlog_at_end: all.backlog[1],
            overloaded: false,
        };
        figures.overloaded = !figures.is_reached() && figures.piles_up();
        figures
    }

    /// Whether the rate that was asked for came about, within 1 % and what chance explains.
    pub(crate) fn is_reached(&self) -> bool {
        let by_chance = match self.arrivals {
            Arrivals::Uniform => 0.0,
            Arrivals::Poisson => 3.0 / (self.scheduled.max(1) as f64).sqrt(),
        };
        self.achieved_share.is_some_and(|share| share >= REACHED - by_chance)
    }

    /// Whether the backlog still grew in the last third of the schedule. A server that takes its
    /// time has a backlog, but one that stays as it is.
    fn piles_up(&self) -> bool {
        let grown = self.backlog_at_end as f64 - self.backlog_at_two_thirds as f64;
        let by_chance = CHANCE * (self.backlog_at_end.max(1) as f64).sqrt();
        grown > (1.0 - REACHED) * self.scheduled as f64 / 3.0 + by_chance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(arrivals: Arrivals, rate: f64, scheduled: u64, backlog: [u64; 2], expected: bool) {
        let pace = Pace { calls_per_s: 1000.0, arrivals, workers: 2, calls: None };
        let half = |count: u64| [count / 2, count - count / 2];
        let (early, late) = (half(backlog[0]), half(backlog[1]));
        let workers = [0, 1].map(|worker| ScheduleResult {
            backlog: [early[worker], late[worker]],
            ..ScheduleResult::default()
        });
        let figures = OpenLoopFigures::of(&pace, workers.into_iter(), scheduled, Some(rate));
        assert_eq!(figures.overloaded, expected, "{figures:?}");
    }

    #[test]
    fn overloaded_means_that_the_rate_is_missed_and_calls_pile_up() {
        check(Arrivals::Uniform, 1000.0, 5000, [1, 1], false);
        check(Arrivals::Uniform, 333.0, 6000, [2666, 4000], true);
        check(Arrivals::Uniform, 950.0, 5000, [166, 250], true);
        // 150 ms of service time: the last calls are not back in time, but none pile up.
        check(Arrivals::Uniform, 970.0, 5000, [150, 150], false);
        check(Arrivals::Poisson, 970.0, 5000, [3, 9], false);
        check(Arrivals::Poisson, 330.0, 5000, [2200, 3350], true);
        check(Arrivals::Uniform, 0.5, 2, [1, 2], false);
    }
}

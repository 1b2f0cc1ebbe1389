//! An open loop against its schedule: what was asked for, what was reached, and whether the server
//! kept up.

use super::verdict::percent;
use super::{Figures, ratio};
use crate::options::Arrivals;
use crate::outcome::OpenTimes;
use crate::pacing::Pace;
use crate::worker::ScheduleResult;
use echo_common::quantity::grouped;
use serde::Serialize;

/// A rate is reached within this share of the target.
const REACHED: f64 = 0.01;
/// Poisson arrivals differ from their mean by so many standard deviations by chance.
const ARRIVALS_CHANCE: f64 = 3.0;
/// A backlog that changes by less than so many standard deviations may do so by chance: of Poisson
/// arrivals, and of evenly spaced ones, whose backlog varies less than that.
const BACKLOG_CHANCE: (f64, f64) = (4.0, 1.0);
/// A server that takes its time has as many calls under way as come in that time; where it is
/// overloaded from the start on, twice as many are due and not answered at the end.
const BY_LATENCY: f64 = 1.5;

/// How the schedule was kept.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct OpenLoopFigures {
    pub(crate) arrivals: Arrivals,
    pub(crate) target_per_s: f64,
    /// Right replies by what the target rate brings in the window; none if that is less than one.
    pub(crate) achieved_share: Option<f64>,
    /// The window, what the target rate brings in it, and the right replies in it.
    pub(crate) window_s: f64,
    pub(crate) expected: f64,
    pub(crate) answered: u64,
    /// By how many the latter two may differ: 1 %, but one call at least, or what chance explains.
    pub(crate) tolerance: f64,
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
    /// Calls that the server refused because it was too busy, and those without a reply in time.
    pub(crate) rejected: u64,
    pub(crate) timed_out: u64,
    /// Less was answered than was due, because the server did not keep up: calls piled up, were
    /// refused or timed out.
    pub(crate) overloaded: bool,
}

/// What came of the schedule, in its own terms: calls, or records.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Answered {
    /// Those that were due and taken from the schedule.
    pub(crate) due: u64,
    /// The window's length, and right replies in it.
    pub(crate) seconds: f64,
    pub(crate) ok: u64,
    /// From when one was due to its reply, on average.
    pub(crate) mean_s: Option<f64>,
    pub(crate) rejected: u64,
    pub(crate) timed_out: u64,
    /// Of records, which wait for the next call of their connection.
    pub(crate) rounds: Option<Rounds>,
}

/// Records come and go by calls: between two of them as many more are due as the way there and back
/// is long, and none piles up as long as the next call takes them all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounds {
    /// The shortest that a call took: the network, and no queue.
    pub(crate) call_s: f64,
    /// Records that are in flight, and go with the next call of each connection, at most.
    pub(crate) room: f64,
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
    pub(crate) fn of(
        pace: &Pace,
        workers: impl Iterator<Item = ScheduleResult>,
        answered: &Answered,
    ) -> OpenLoopFigures {
        let all = workers.fold(ScheduleResult::default(), |sum, worker| ScheduleResult {
            unsent: sum.unsent + worker.unsent,
            held_back: sum.held_back + worker.held_back,
            worst_lag_ns: sum.worst_lag_ns.max(worker.worst_lag_ns),
            backlog: [sum.backlog[0] + worker.backlog[0], sum.backlog[1] + worker.backlog[1]],
        });
        let expected = pace.calls_per_s * answered.seconds;
        let by_chance = match pace.arrivals {
            Arrivals::Uniform => 0.0,
            Arrivals::Poisson => ARRIVALS_CHANCE * expected.sqrt(),
        };
        let is_enough = expected >= 1.0 - 1e-6;
        let mut figures = OpenLoopFigures {
            arrivals: pace.arrivals,
            target_per_s: pace.calls_per_s,
            achieved_share: ratio(answered.ok as f64, expected).filter(|_| is_enough),
            window_s: answered.seconds,
            expected,
            answered: answered.ok,
            tolerance: resolution(expected).max(by_chance),
            scheduled: answered.due + all.unsent,
            unsent: all.unsent,
            held_back: all.held_back,
            worst_lag_us: all.worst_lag_ns as f64 / 1e3,
            backlog_at_two_thirds: all.backlog[0],
            backlog_at_end: all.backlog[1],
            rejected: answered.rejected,
            timed_out: answered.timed_out,
            overloaded: false,
        };
        let lost = (answered.rejected + answered.timed_out) as f64;
        let kept_up = !figures.piles_up(answered) && lost <= figures.least_loss();
        figures.overloaded = figures.falls_short() && !kept_up;
        figures
    }

    /// Whether the rate that was asked for came about; none if less than one call was due.
    pub(crate) fn is_reached(&self) -> Option<bool> {
        self.achieved_share?;
        Some(self.is_near() && !self.overloaded)
    }

    /// Whether as many were answered as the target rate brings.
    fn is_near(&self) -> bool {
        (self.answered as f64 - self.expected).abs() <= self.tolerance + ROUNDING
    }

    /// Whether fewer were answered than the target rate brings, or than chance brought.
    fn falls_short(&self) -> bool {
        let least = self.expected - self.tolerance;
        let least = least.max(self.scheduled as f64 - self.least_loss());
        (self.answered as f64) < least - ROUNDING
    }

    fn least_loss(&self) -> f64 {
        resolution(self.scheduled as f64)
    }

    /// Whether the backlog grew: in the last third of the schedule, or beyond what the latency of
    /// calls explains. A server that takes its time has a backlog, but one that stays as it is.
    fn piles_up(&self, answered: &Answered) -> bool {
        let noise = |calls: f64| match self.arrivals {
            Arrivals::Poisson => BACKLOG_CHANCE.0 * calls.max(1.0).sqrt(),
            Arrivals::Uniform => BACKLOG_CHANCE.1 * calls.sqrt(),
        };
        let (early, late) = (self.backlog_at_two_thirds as f64, self.backlog_at_end as f64);
        let rounds = answered.rounds.filter(|rounds| late <= rounds.room);
        let by_rounds = rounds.map_or(0.0, |rounds| self.target_per_s * rounds.call_s);
        let least = 1.0 + REACHED * self.scheduled as f64 / 3.0 + noise(early) + by_rounds;
        let grows = late - early > least;
        let under_way = answered.mean_s.map(|mean_s| self.target_per_s * mean_s);
        grows || under_way.is_some_and(|calls| late > BY_LATENCY * calls + 1.0 + noise(calls))
    }

    /// The check's words, in those for calls and for replies, with what explains a difference from
    /// the target.
    pub(crate) fn words(&self, what: &str, answered: &str) -> String {
        let Some(share) = self.achieved_share else {
            return format!(
                "not checked: the run ended after {:.3} s, before the time of one call by the \
                 schedule ({:.3} s)",
                self.window_s,
                1.0 / self.target_per_s
            );
        };
        let mut text = format!(
            "{} of the target rate: {} {answered} in {:.3} s, {} {what} due",
            percent(share),
            grouped(self.answered),
            self.window_s,
            grouped(self.scheduled)
        );
        if self.overloaded {
            text.push_str("; overloaded: the server did not keep up");
        }
        let parts = [
            (self.rejected, "refused as too busy"),
            (self.timed_out, "timed out"),
            (self.unsent, "never sent"),
            (self.backlog_at_end, "due and not answered at the end of the schedule"),
        ];
        let off = !self.is_near() || self.overloaded;
        for (count, words) in parts.into_iter().filter(|part| off && part.0 > 0) {
            text.push_str(&format!(", {} {words}", grouped(count)));
        }
        if off && !self.overloaded && self.falls_short() {
            text.push_str("; they did not pile up: a longer run, or a warm-up, can tell more");
        }
        if !off && (share - 1.0).abs() > REACHED {
            text.push_str(&format!("; {}", self.tolerance_words()));
        }
        text
    }

    fn tolerance_words(&self) -> String {
        let share = percent(self.tolerance / self.expected);
        match self.arrivals {
            Arrivals::Poisson if self.tolerance > 1.0 => {
                format!("chance alone makes up to {share} (three standard deviations) of so few")
            }
            _ => format!("in so short a run one call makes {share}"),
        }
    }
}

/// What so many calls can tell apart: 1 %, but one call at least.
fn resolution(calls: f64) -> f64 {
    (REACHED * calls).max(1.0)
}

/// Rates and times are not exact in binary.
const ROUNDING: f64 = 1e-6;

#[cfg(test)]
mod tests;

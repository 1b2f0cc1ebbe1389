//! The time of a serial stage whose costs may be paced, see [`crate::cost`].
//!
//! Without a paced cost it is the monotonic clock. With one it is the clock of a virtual server: it
//! moves on by each cost, from the end of the last piece of work or from the arrival of the next,
//! whichever is later. The thread sleeps until that time before it shows its work to others. A
//! late wake-up delays what is shown, but not the clock: the rate is exact.

use crate::cost::{Cost, Mode, Sampler, spin};
use crate::handler_cost::{settle_for_sleeps, sleep_until};
use echo_common::clock;
use std::time::Duration;

/// What one kind of work costs.
pub(crate) enum WorkCost {
    None,
    Spin(Sampler),
    Paced(Sampler),
}

impl WorkCost {
    pub(crate) fn new(cost: Option<Cost>, seed: u64) -> WorkCost {
        match cost {
            None => WorkCost::None,
            Some(cost) if cost.mode == Mode::Spin => WorkCost::Spin(Sampler::new(cost, seed)),
            Some(cost) => WorkCost::Paced(Sampler::new(cost, seed)),
        }
    }

    pub(crate) fn is_none(&self) -> bool {
        matches!(self, WorkCost::None)
    }
}

/// See the module's text.
pub(crate) struct StageClock {
    paced: bool,
    at_ns: u64,
    /// Time that paced costs took since it was last asked for.
    paced_ns: u64,
}

impl StageClock {
    /// The clock of a thread that does work of these costs.
    pub(crate) fn new(costs: &[Option<Cost>]) -> StageClock {
        let paced = costs.iter().flatten().any(|cost| cost.mode == Mode::Paced);
        StageClock { paced, at_ns: 0, paced_ns: 0 }
    }

    /// Called once by the stage's thread.
    pub(crate) fn settle(&self) {
        if self.paced {
            settle_for_sleeps();
        }
    }

    /// The time here.
    pub(crate) fn now_ns(&self) -> u64 {
        if self.paced { self.at_ns } else { clock::now_ns() }
    }

    /// The time here, if it may lie behind the real one.
    pub(crate) fn paced_now_ns(&self) -> Option<u64> {
        self.paced.then_some(self.at_ns)
    }

    pub(crate) fn is_paced(&self) -> bool {
        self.paced
    }

    /// The next piece of work has come, or something kept the thread, until `ns`.
    pub(crate) fn catch_up(&mut self, ns: u64) {
        self.at_ns = self.at_ns.max(ns);
    }

    /// Does nothing until `end_ns`.
    pub(crate) fn stall_until(&mut self, end_ns: u64) {
        if self.paced {
            self.catch_up(end_ns);
        } else {
            sleep_until(end_ns);
        }
    }

    /// Pays `count` times.
    pub(crate) fn pay(&mut self, cost: &mut WorkCost, count: u32) {
        match cost {
            WorkCost::None => {}
            WorkCost::Spin(sampler) => {
                spin((0..count).map(|_| sampler.next_ns()).sum());
                if self.paced {
                    self.at_ns = self.at_ns.max(clock::now_ns());
                }
            }
            WorkCost::Paced(sampler) => {
                let ns: u64 = (0..count).map(|_| sampler.next_ns()).sum();
                self.at_ns = self.at_ns.saturating_add(ns);
                self.paced_ns += ns;
            }
        }
    }

    /// Sleeps until the real time is that of this clock.
    pub(crate) fn reach(&self) {
        if self.paced {
            sleep_until(self.at_ns);
        }
    }

    /// Time that paced costs took since the last look.
    pub(crate) fn take_paced_ns(&mut self) -> u64 {
        std::mem::take(&mut self.paced_ns)
    }
}

/// Stalls of a stage: from each multiple of a period on it does nothing for some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// From the beginning of one stall to that of the next.
    pub every: Duration,
    /// How long one lasts; less than the period.
    pub length: Duration,
}

/// The stalls of one thread.
pub(crate) struct Stalls {
    stall: Stall,
    began_ns: u64,
    /// The number of the last stall that kept somebody.
    last: u64,
}

impl Stalls {
    /// Stalls counted from `began_ns`; the first is one period later.
    pub(crate) fn new(stall: Stall, began_ns: u64) -> Stalls {
        Stalls { stall, began_ns, last: 0 }
    }

    /// Until when work that may begin at `at_ns` has to wait, if that lies in a stall; and whether
    /// it is the first to meet this one.
    pub(crate) fn end_of_stall(&mut self, at_ns: u64) -> Option<(u64, bool)> {
        let every_ns = clock::ns(self.stall.every).max(1);
        let number = clock::elapsed_ns(self.began_ns, at_ns) / every_ns;
        let end_ns = self.began_ns + number * every_ns + clock::ns(self.stall.length);
        if number == 0 || at_ns >= end_ns {
            return None;
        }
        let is_first = std::mem::replace(&mut self.last, number) != number;
        Some((end_ns, is_first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(text: &str) -> Option<Cost> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn a_paced_clock_moves_by_its_costs_from_the_end_of_the_last_work_or_the_next_arrival() {
        let mut clock = StageClock::new(&[cost("paced:10us"), None]);
        let mut work = WorkCost::new(cost("paced:10us"), 1);
        clock.catch_up(1_000);
        clock.pay(&mut work, 3);
        assert_eq!(clock.now_ns(), 31_000);
        clock.catch_up(2_000);
        clock.pay(&mut work, 1);
        assert_eq!(clock.now_ns(), 41_000, "it was still busy");
        clock.catch_up(90_000);
        clock.pay(&mut WorkCost::None, 5);
        assert_eq!(clock.paced_now_ns(), Some(90_000), "it was idle, and nothing costs nothing");
        assert_eq!((clock.take_paced_ns(), clock.take_paced_ns()), (40_000, 0));
    }

    #[test]
    fn without_a_paced_cost_the_clock_is_the_real_one() {
        let mut clock = StageClock::new(&[cost("spin:1us"), None]);
        let before_ns = clock::now_ns();
        clock.catch_up(u64::MAX);
        clock.pay(&mut WorkCost::new(cost("spin:1us"), 1), 2);
        clock.reach();
        assert!((before_ns..u64::MAX).contains(&clock.now_ns()));
        assert_eq!((clock.paced_now_ns(), clock.take_paced_ns()), (None, 0));
    }

    #[test]
    fn work_waits_for_the_end_of_the_stall_it_falls_into() {
        let (every, length) = (Duration::from_micros(1), Duration::from_nanos(200));
        let mut stalls = Stalls::new(Stall { every, length }, 5_000);
        for (at_ns, expected) in [
            (4_000, None),
            (5_100, None),
            (5_999, None),
            (6_000, Some((6_200, true))),
            (6_199, Some((6_200, false))),
            (6_200, None),
            (9_100, Some((9_200, true))),
        ] {
            assert_eq!(stalls.end_of_stall(at_ns), expected, "{at_ns}");
        }
    }
}

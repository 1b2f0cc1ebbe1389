//! A worker's side of the intervals: when each ends, and that main then gets what was recorded in
//! it. Every kind of worker has one.

use crate::crew::RunEvent;
use crate::outcome::Ledger;
use std::sync::mpsc::Sender;

/// See the module's text.
#[derive(Debug)]
pub(crate) struct IntervalClock {
    worker: usize,
    length_ns: u64,
    /// The present interval, and when it ends; `u64::MAX` until that was asked for once.
    index: u64,
    end_ns: u64,
    to_main: Sender<RunEvent>,
}

impl IntervalClock {
    /// The clock of worker number `worker`, for intervals of `length_ns`.
    pub(crate) fn new(worker: usize, length_ns: u64, to_main: Sender<RunEvent>) -> IntervalClock {
        IntervalClock { worker, length_ns, index: 0, end_ns: u64::MAX, to_main }
    }

    /// When the present interval ends; `u64::MAX` before the measured phase.
    #[inline]
    pub(crate) fn end_ns(&self) -> u64 {
        self.end_ns
    }

    /// Once per turn of the event loop: at the end of an interval, gives main what `ledger`
    /// recorded in it. The measured phase began at `start_ns`, or has not while that is `u64::MAX`.
    #[inline]
    pub(crate) fn turn(&mut self, start_ns: u64, now_ns: u64, ledger: &mut Ledger) {
        if self.end_ns == u64::MAX {
            self.end_ns = start_ns.saturating_add(self.length_ns);
        }
        if now_ns >= self.end_ns {
            self.give(ledger, false);
            self.index = (now_ns - start_ns) / self.length_ns;
            self.end_ns = start_ns + (self.index + 1) * self.length_ns;
        }
    }

    /// The worker has ended: gives main the rest.
    pub(crate) fn close(&self, ledger: &mut Ledger) {
        self.give(ledger, true);
    }

    fn give(&self, ledger: &mut Ledger, is_last: bool) {
        let part = ledger.take_part(self.index, is_last);
        // Main listens until all workers have ended.
        let _ = self.to_main.send(RunEvent::Part(self.worker, part));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_table::EndedCall;
    use crate::keys::NO_KEY;
    use crate::outcome::Extras;
    use std::sync::mpsc;

    #[test]
    fn what_is_recorded_goes_to_the_interval_that_it_ended_in() {
        let (to_main, heard) = mpsc::channel();
        let mut clock = IntervalClock::new(3, 100, to_main);
        let mut ledger = Ledger::new(Extras::default());
        let ok = |ledger: &mut Ledger, now_ns| {
            ledger.started(1, true, now_ns);
            let call = EndedCall { due_ns: now_ns, sent_ns: now_ns, measured: true, key: NO_KEY };
            ledger.ok(call, 1, now_ns + 1);
        };
        clock.turn(u64::MAX, 5, &mut ledger);
        assert_eq!(clock.end_ns(), u64::MAX, "the measured phase has not begun");
        for (now_ns, calls) in [(1099, 1), (1100, 2), (1150, 1), (1420, 3), (1499, 0)] {
            (0..calls).for_each(|_| ok(&mut ledger, now_ns - 1));
            clock.turn(1000, now_ns, &mut ledger);
        }
        assert_eq!(clock.end_ns(), 1500);
        ok(&mut ledger, 1499);
        clock.close(&mut ledger);
        let parts: Vec<_> = heard
            .try_iter()
            .map(|event| match event {
                RunEvent::Part(3, part) => (part.index, part.ok, part.is_last),
                _ => panic!("a part of worker 3"),
            })
            .collect();
        assert_eq!(parts, [(0, 3, false), (1, 4, false), (4, 1, true)]);
    }
}

//! How many calls were in flight over time, and how many were answered inside the window: what
//! Little's law is checked with.

use crate::control::View;

/// Kept by one worker; sums over workers are those of the run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flow {
    in_flight: u64,
    last_ns: u64,
    /// Calls in flight, integrated over the window.
    area_call_ns: u128,
    /// Right replies that arrived inside the window, whenever their call was started.
    ok_in_window: u64,
}

impl Flow {
    pub(crate) fn new() -> Flow {
        Flow::default()
    }

    /// Calls that wait for their reply now.
    #[inline]
    pub(crate) fn in_flight(&self) -> u64 {
        self.in_flight
    }

    #[inline]
    pub(crate) fn started(&mut self, calls: u64, now_ns: u64, view: &View) {
        self.advance(now_ns, view);
        self.in_flight += calls;
    }

    #[inline]
    pub(crate) fn ended(&mut self, calls: u64, ok: u64, now_ns: u64, view: &View) {
        self.advance(now_ns, view);
        self.in_flight -= calls;
        if view.in_window(now_ns) {
            self.ok_in_window += ok;
        }
    }

    /// Integrates up to the end.
    pub(crate) fn close(&mut self, now_ns: u64, view: &View) {
        self.advance(now_ns, view);
        self.in_flight = 0;
    }

    pub(crate) fn area_call_ns(&self) -> u128 {
        self.area_call_ns
    }

    pub(crate) fn ok_in_window(&self) -> u64 {
        self.ok_in_window
    }

    #[inline]
    fn advance(&mut self, now_ns: u64, view: &View) {
        let from = self.last_ns.max(view.start_ns);
        let to = now_ns.min(view.end_ns);
        if to > from {
            self.area_call_ns += u128::from(to - from) * u128::from(self.in_flight);
        }
        self.last_ns = now_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Phase;

    #[test]
    fn only_the_window_counts() {
        let view = View { phase: Phase::Measured, start_ns: 100, end_ns: 200, leave_ns: 300 };
        let mut flow = Flow::new();
        flow.started(2, 50, &view);
        flow.ended(1, 1, 90, &view);
        flow.ended(1, 1, 150, &view);
        flow.started(3, 160, &view);
        flow.ended(3, 3, 250, &view);
        assert_eq!(flow.area_call_ns(), 50 + 3 * 40);
        assert_eq!(flow.ok_in_window(), 1);
        assert_eq!(flow.in_flight(), 0);
    }

    #[test]
    fn time_that_seems_to_run_backwards_adds_nothing() {
        let view = View { phase: Phase::Measured, start_ns: 0, end_ns: u64::MAX, leave_ns: 0 };
        let mut flow = Flow::new();
        flow.started(1, 100, &view);
        flow.ended(1, 1, 90, &view);
        assert_eq!(flow.area_call_ns(), 0);
    }
}

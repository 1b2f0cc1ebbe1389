//! The time that calls spend in flight on either side of the measured window's ends: with it the
//! latencies of a run come to its calls in flight (Little's law) however short the window is.

use crate::control::View;

/// Kept by one worker's ledger; sums over workers are those of the run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edges {
    /// The window as the worker last saw it; `u64::MAX` as in a [`View`].
    start_ns: u64,
    end_ns: u64,
    /// Measured calls that ended `ok` behind the window, and their time in flight there.
    late_ok: u64,
    late_ns: u128,
    /// Time in flight inside the window of all calls that are not in the latency of the measured
    /// ones: those that failed, and those of the warm-up.
    other_ns: u128,
}

impl Edges {
    /// Of a run whose window has not begun.
    pub(crate) fn new() -> Edges {
        Edges { start_ns: u64::MAX, end_ns: u64::MAX, late_ok: 0, late_ns: 0, other_ns: 0 }
    }

    /// The window is this one from now on.
    #[inline]
    pub(crate) fn see(&mut self, view: &View) {
        (self.start_ns, self.end_ns) = (view.start_ns, view.end_ns);
    }

    /// Measured calls that were sent together ended `ok`.
    #[inline]
    pub(crate) fn ok(&mut self, sent_ns: u64, calls: u64, now_ns: u64) {
        if now_ns >= self.end_ns {
            self.late_ok += calls;
            let late_ns = now_ns - self.end_ns.max(sent_ns).min(now_ns);
            self.late_ns += u128::from(late_ns) * u128::from(calls);
        }
    }

    /// Measured calls that nobody answers were written until `now_ns`.
    pub(crate) fn written(&mut self, calls: u64, now_ns: u64) {
        self.late_ok += if now_ns >= self.end_ns { calls } else { 0 };
    }

    /// Other calls that were sent together ended.
    pub(crate) fn other(&mut self, sent_ns: u64, calls: u64, now_ns: u64) {
        let inside = now_ns.min(self.end_ns).saturating_sub(sent_ns.max(self.start_ns));
        self.other_ns += u128::from(inside) * u128::from(calls);
    }

    /// Adds another worker's.
    pub(crate) fn add(&mut self, other: &Edges) {
        self.late_ok += other.late_ok;
        self.late_ns += other.late_ns;
        self.other_ns += other.other_ns;
    }

    pub(crate) fn late_ok(&self) -> u64 {
        self.late_ok
    }

    /// Seconds inside the window of all calls, of which the measured ones that ended `ok` took
    /// `ok_s` from sending to reply.
    pub(crate) fn inside_s(&self, ok_s: f64) -> f64 {
        ok_s - self.late_ns as f64 / 1e9 + self.other_ns as f64 / 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Phase;
    use crate::flow::Flow;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn time_in_the_window_by_calls_is_that_by_calls_in_flight(
            calls in prop::collection::vec((0u64..3_000, 1u64..4_000, any::<bool>()), 1..60),
        ) {
            let view =
                View { phase: Phase::Measured, start_ns: 1_000, end_ns: 2_000, leave_ns: 9_000 };
            let (mut edges, mut flow) = (Edges::new(), Flow::new());
            edges.see(&view);
            let mut events = Vec::new();
            let mut ok_s = 0.0;
            for &(sent, took, is_well) in &calls {
                // Nothing is sent behind the window.
                let (sent, end) = (sent.min(1_999), sent.min(1_999) + took);
                events.extend([(sent, true), (end, false)]);
                if is_well && sent >= view.start_ns {
                    ok_s += took as f64 / 1e9;
                    edges.ok(sent, 1, end);
                } else {
                    edges.other(sent, 1, end);
                }
            }
            events.sort_by_key(|&(at, starts)| (at, !starts));
            for (at, starts) in events {
                if starts { flow.started(1, at, &view) } else { flow.ended(1, 1, at, &view) }
            }
            let area_s = flow.area_call_ns() as f64 / 1e9;
            prop_assert!((edges.inside_s(ok_s) - area_s).abs() < 1e-12, "{area_s} {edges:?}");
        }
    }
}

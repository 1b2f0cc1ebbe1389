//! What main and the workers tell each other while a run goes on: the phase, the window, the
//! counters for progress.

use crate::budget::Budget;
use crate::outcome::Outcomes;
use crate::timeline::Counts;
use crossbeam_utils::CachePadded;
use echo_common::clock::now_ns;
use mio::Waker;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

/// What a worker does with a free caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Phase {
    /// Start calls that are not counted.
    WarmUp = 0,
    /// Start calls that count.
    Measured = 1,
    /// Start nothing more; wait for answers until the time to leave.
    Draining = 2,
}

/// The state of the run as one worker pass sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    pub(crate) phase: Phase,
    /// The measured window; it has not begun while `start_ns` is `u64::MAX`, and has no end of its
    /// own while `end_ns` is.
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    /// When the calls that still wait are given up.
    pub(crate) leave_ns: u64,
}

impl View {
    /// Whether `now_ns` lies in the measured window.
    #[inline]
    pub(crate) fn in_window(&self, now_ns: u64) -> bool {
        (self.start_ns..self.end_ns).contains(&now_ns)
    }

    /// How long a worker may sleep that has nothing to do before `until_ns`: not beyond the moment
    /// at which calls are given up. Rounded up to what a poll can wait for, so as not to turn in
    /// vain.
    pub(crate) fn sleep(&self, now_ns: u64, until_ns: u64) -> Duration {
        let leave_ns = if self.phase == Phase::WarmUp { u64::MAX } else { self.leave_ns };
        let ns = until_ns.min(leave_ns).saturating_sub(now_ns);
        Duration::from_millis(ns.div_ceil(1_000_000))
    }
}

/// Progress of one worker: written by it once per turn of its loop, read by main.
/// Relaxed: single numbers for display, nothing else hangs on them.
#[derive(Debug, Default)]
pub(crate) struct Published {
    ok: AtomicU64,
    warmup_ok: AtomicU64,
    failed: AtomicU64,
    in_flight: AtomicU64,
}

impl Published {
    /// How things are at a worker with these outcomes.
    pub(crate) fn note(&self, outcomes: &Outcomes, in_flight: u64) {
        self.ok.store(outcomes.ok, Ordering::Relaxed);
        self.warmup_ok.store(outcomes.warmup_ok, Ordering::Relaxed);
        self.failed.store(outcomes.not_ok(), Ordering::Relaxed);
        self.in_flight.store(in_flight, Ordering::Relaxed);
    }
}

/// Shared by main, the signal thread and all workers of a run.
#[derive(Debug)]
pub(crate) struct Control {
    /// Calls of the measured phase.
    pub(crate) budget: Budget,
    /// Progress, one for each worker.
    pub(crate) published: Box<[CachePadded<Published>]>,
    /// A `Phase`; only ever rises. Written by main, the signal thread and, on the first failure
    /// under --fail-fast, by a worker. Its release store publishes the three times below to the
    /// acquire load in `view`.
    phase: AtomicU8,
    /// When the calling began, warm-up included. Written by main before it opens the barrier, read
    /// by workers behind it.
    origin_ns: AtomicU64,
    start_ns: AtomicU64,
    end_ns: AtomicU64,
    leave_ns: AtomicU64,
    /// Replies come in the order of their connection's calls, as the server says. Written by main
    /// before it opens the barrier, read by workers behind it.
    in_order: AtomicBool,
    /// A connection could not be set up: nobody opens another one.
    connect_failed: AtomicBool,
    wakers: Vec<Waker>,
}

impl Control {
    /// A run that is warming up, with the waker of each worker's poll.
    pub(crate) fn new(budget: Budget, wakers: Vec<Waker>) -> Control {
        Control {
            budget,
            published: wakers.iter().map(|_| CachePadded::default()).collect(),
            phase: AtomicU8::new(Phase::WarmUp as u8),
            origin_ns: AtomicU64::new(u64::MAX),
            start_ns: AtomicU64::new(u64::MAX),
            end_ns: AtomicU64::new(u64::MAX),
            leave_ns: AtomicU64::new(u64::MAX),
            in_order: AtomicBool::new(false),
            connect_failed: AtomicBool::new(false),
            wakers,
        }
    }

    /// The state of the run now.
    #[inline]
    pub(crate) fn view(&self) -> View {
        let phase = match self.phase.load(Ordering::Acquire) {
            0 => Phase::WarmUp,
            1 => Phase::Measured,
            _ => Phase::Draining,
        };
        View {
            phase,
            start_ns: self.start_ns.load(Ordering::Relaxed),
            end_ns: self.end_ns.load(Ordering::Relaxed),
            leave_ns: self.leave_ns.load(Ordering::Relaxed),
        }
    }

    /// Replies must come in the order of their connection's calls.
    pub(crate) fn expect_order(&self) {
        self.in_order.store(true, Ordering::Relaxed);
    }

    /// Whether they must.
    pub(crate) fn expects_order(&self) -> bool {
        self.in_order.load(Ordering::Relaxed)
    }

    /// Begins the warm-up.
    pub(crate) fn warm_up(&self) {
        self.origin_ns.fetch_min(now_ns(), Ordering::Relaxed);
    }

    /// When the calling began.
    pub(crate) fn origin_ns(&self) -> u64 {
        self.origin_ns.load(Ordering::Relaxed)
    }

    /// Begins the measured phase; it ends by itself `duration_ns` later, and calls are given up
    /// `drain_ns` after that.
    pub(crate) fn measure(&self, duration_ns: Option<u64>, drain_ns: u64) {
        let now = now_ns();
        if let Some(duration) = duration_ns {
            let end = now.saturating_add(duration);
            // Never later than what an interrupt may have set in the meantime.
            self.end_ns.fetch_min(end, Ordering::Relaxed);
            self.leave_ns.fetch_min(end.saturating_add(drain_ns), Ordering::Relaxed);
        }
        self.origin_ns.fetch_min(now, Ordering::Relaxed);
        self.start_ns.store(now, Ordering::Relaxed);
        self.phase.fetch_max(Phase::Measured as u8, Ordering::Release);
        self.wake_all();
    }

    /// Ends the window now, if it has not ended; answers are waited for until `drain_ns` later.
    pub(crate) fn stop(&self, drain_ns: u64) {
        let now = now_ns();
        self.end_ns.fetch_min(now, Ordering::Relaxed);
        self.leave_ns.fetch_min(now.saturating_add(drain_ns), Ordering::Relaxed);
        self.phase.fetch_max(Phase::Draining as u8, Ordering::Release);
        self.wake_all();
    }

    /// Whether nothing more is to be started.
    pub(crate) fn is_stopped(&self) -> bool {
        self.view().phase == Phase::Draining
    }

    /// Tells everybody to open no more connections.
    pub(crate) fn fail_connecting(&self) {
        // Relaxed: a flag that says enough by itself.
        self.connect_failed.store(true, Ordering::Relaxed);
        self.wake_all();
    }

    /// Whether a connection could not be set up.
    pub(crate) fn connecting_failed(&self) -> bool {
        self.connect_failed.load(Ordering::Relaxed)
    }

    /// Sums of what the workers published.
    pub(crate) fn progress(&self) -> Counts {
        let sum = |field: fn(&Published) -> &AtomicU64| {
            self.published.iter().map(|p| field(p).load(Ordering::Relaxed)).sum()
        };
        Counts {
            ok: sum(|p| &p.ok),
            warmup_ok: sum(|p| &p.warmup_ok),
            failed: sum(|p| &p.failed),
            in_flight: sum(|p| &p.in_flight),
        }
    }

    fn wake_all(&self) {
        for waker in &self.wakers {
            // A worker that cannot be woken looks at the phase at its next scan anyway.
            let _ = waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_before_the_window_opens_is_not_undone_by_opening_it() {
        let control = Control::new(Budget::new(None), Vec::new());
        control.stop(1_000);
        let leave = control.view().leave_ns;
        control.measure(Some(60_000_000_000), 60_000_000_000);
        let view = control.view();
        assert_eq!(view.phase, Phase::Draining);
        assert_eq!(view.leave_ns, leave);
        assert!(!view.in_window(now_ns()));
    }

    #[test]
    fn the_window_of_a_timed_run_has_exactly_its_length() {
        let control = Control::new(Budget::new(None), Vec::new());
        assert!(!control.view().in_window(now_ns()));
        control.measure(Some(5_000_000_000), 1_000);
        let view = control.view();
        assert_eq!(view.end_ns - view.start_ns, 5_000_000_000);
        assert_eq!(view.leave_ns - view.end_ns, 1_000);
        control.stop(0);
        assert!(control.view().end_ns < view.end_ns);
    }
}

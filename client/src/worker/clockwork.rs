//! What no event announces: time limits, intervals, the end of the run.

use super::Worker;
use crate::control::Phase;
use std::time::Duration;

impl Worker<'_> {
    /// Ends calls whose time is over. A coarse look now and then: no call has a clock of its own.
    pub(super) fn scan(&mut self) {
        let now = self.now_ns;
        if now < self.next_scan_ns {
            return;
        }
        self.next_scan_ns = now.saturating_add(self.job.scan_period_ns());
        let Some(started_until) = now.checked_sub(self.job.timeout_ns) else {
            return;
        };
        for index in 0..self.connections.len() {
            let Some(connection) = &mut self.connections[index] else {
                continue;
            };
            let open_before = connection.open();
            connection.expire(started_until, now, &mut self.desk.ledger);
            let ended = (open_before - connection.open()) as u64;
            if ended > 0 {
                self.flow.ended(ended, 0, now, &self.view);
                self.resume(index, ended, now);
            }
        }
        self.rotate();
    }

    /// Until the next thing that no event announces.
    pub(super) fn poll_timeout(&self) -> Duration {
        let behind = self.open_loop.as_ref().is_some_and(|open| open.is_behind(self.now_ns));
        if !self.unfinished.is_empty() || behind && self.may_start() {
            return Duration::ZERO;
        }
        let until_ns = self.next_scan_ns.min(self.intervals.end_ns());
        self.view.sleep(self.now_ns, until_ns)
    }

    pub(super) fn is_finished(&self) -> bool {
        if self.open_connections == 0 {
            return true;
        }
        !self.may_start() && (self.flow.in_flight() == 0 || self.now_ns >= self.view.leave_ns)
    }

    pub(super) fn may_start(&self) -> bool {
        match self.view.phase {
            Phase::WarmUp => true,
            Phase::Measured => !self.budget_used_up && !self.is_past_end(),
            Phase::Draining => false,
        }
    }

    pub(super) fn is_past_end(&self) -> bool {
        self.now_ns >= self.view.end_ns
    }
}

//! What no event announces: the schedule, time limits, intervals, the end of the run.

use super::{Connection, Desk, RecordWorker, ScheduleResult};
use crate::control::Phase;
use crate::event_loop::EventLoop;
use crate::outcome::Failure;
use echo_common::clock::now_ns;
use echo_common::wire::native::FLAG_NO_REPLY;
use std::io;
use std::time::Duration;

impl Desk<'_> {
    /// Whether calls may be started.
    pub(super) fn may_send(&self, now_ns: u64) -> bool {
        self.view.phase != Phase::Draining && now_ns < self.view.end_ns
    }
}

impl RecordWorker<'_> {
    /// Whether records may come into being.
    pub(super) fn may_create(&self) -> bool {
        self.desk.may_send(self.now_ns) && !self.budget_used_up
    }

    /// Sees to it that what is due next ends the poll.
    pub(super) fn arm_timers(&mut self) -> io::Result<()> {
        self.arm_delays()?;
        let mark_ns = self.next_mark_ns().map_or(u64::MAX, |(mark_ns, _)| mark_ns);
        let at_ns = self.desk.accumulator.next_due_ns().min(mark_ns).min(self.desk.view.end_ns);
        if !self.may_create() || at_ns == self.armed_ns || at_ns == u64::MAX {
            return Ok(());
        }
        self.armed_ns = at_ns;
        self.timer.set(Duration::from_nanos(at_ns.saturating_sub(now_ns())))
    }

    /// Until the next thing that no event announces.
    pub(super) fn poll_timeout(&self) -> Duration {
        let behind = self.desk.accumulator.next_due_ns() <= self.now_ns && self.may_create();
        if !self.unfinished.is_empty() || behind {
            return Duration::ZERO;
        }
        let until_ns = self.next_scan_ns.min(self.intervals.end_ns());
        self.desk.view.sleep(self.now_ns, until_ns)
    }

    /// Whether nobody answers.
    pub(super) fn is_unanswered(&self) -> bool {
        self.desk.flags & FLAG_NO_REPLY != 0
    }

    /// Whether there is nothing left to do. When all is written that nobody answers, takes leave of
    /// the server first.
    pub(super) fn is_over(&mut self) -> bool {
        if self.open_connections == 0 {
            return true;
        }
        let is_leaving = self.now_ns >= self.desk.view.leave_ns.min(self.farewell.until_ns());
        if self.may_go_on() || self.flow.in_flight() > 0 && !is_leaving {
            return false;
        }
        if is_leaving || !self.is_unanswered() {
            return true;
        }
        let holds = self.connections.iter().flatten().any(Connection::holds);
        if self.farewell.step(holds, self.now_ns, self.job) {
            for index in 0..self.connections.len() {
                let connection = self.connections[index].as_ref();
                if let Err(error) = connection.map_or(Ok(()), Connection::end_writing) {
                    self.broken(index, &error);
                }
            }
        }
        self.open_connections == 0
    }

    /// Whether there are more records to send.
    fn may_go_on(&self) -> bool {
        self.may_create()
            || self.desk.may_send(self.now_ns)
                && !self.desk.accumulator.is_endless()
                && self.desk.accumulator.waiting() > 0
    }

    /// Ends calls whose time is over. A coarse look now and then: no call has a clock of its own.
    pub(super) fn scan(&mut self) {
        let now = self.now_ns;
        if now < self.next_scan_ns {
            return;
        }
        let period_ns = self.job.scan_period_ns();
        self.next_scan_ns = now.saturating_add(period_ns);
        let Some(started_until) = now.checked_sub(self.job.timeout_ns) else {
            return;
        };
        for index in 0..self.connections.len() {
            let Some(connection) = &mut self.connections[index] else {
                continue;
            };
            let open_before = connection.open();
            connection.end_all(started_until, Failure::TimedOut, now, &mut self.desk);
            let ended = (open_before - connection.open()) as u64;
            if ended > 0 {
                self.flow.ended(ended, 0, now, &self.desk.view);
                self.stop_at_failure();
                self.create();
                self.pump(index);
            }
        }
    }

    pub(super) fn publish(&self) {
        let published = &self.job.control.published[self.index];
        published.note(&self.desk.ledger.outcomes, self.flow.in_flight());
    }

    /// The moment of the next look at the backlog, and the end of the schedule.
    fn next_mark_ns(&self) -> Option<(u64, u64)> {
        let start_ns = self.desk.view.start_ns;
        let by_count = self.settings.pace.as_ref()?.span_ns();
        let by_count = by_count.map_or(u64::MAX, |span| start_ns.saturating_add(span));
        let end_ns = self.desk.view.end_ns.min(by_count);
        let third_ns = end_ns.saturating_sub(start_ns) / 3;
        let mark_ns = *[end_ns - third_ns, end_ns].get(self.marks_taken)?;
        (start_ns != u64::MAX).then_some((mark_ns, end_ns))
    }

    /// Notes the records that are due and not answered, twice: whether they grow in number tells
    /// whether the rate can be kept up.
    pub(super) fn look_at_backlog(&mut self) {
        while let Some((mark_ns, end_ns)) = self.next_mark_ns()
            && self.now_ns >= mark_ns
        {
            self.take_mark(end_ns);
        }
    }

    fn take_mark(&mut self, end_ns: u64) {
        self.backlog[self.marks_taken] = self.desk.accumulator.held() + self.owed(end_ns);
        self.marks_taken += 1;
    }

    /// Records that are due and have not come into being.
    fn owed(&self, end_ns: u64) -> u64 {
        let until_ns = self.now_ns.min(end_ns).min(self.desk.view.end_ns);
        if self.budget_used_up { 0 } else { self.desk.accumulator.owed(until_ns) }
    }

    /// The schedule is over, one way or the other.
    pub(super) fn close_schedule(&mut self) -> Option<ScheduleResult> {
        self.settings.pace?;
        while let Some((_, end_ns)) = self.next_mark_ns() {
            self.take_mark(end_ns);
        }
        let (held_back, worst_lag_ns) = self.desk.accumulator.held_back();
        let unsent = self.owed(u64::MAX);
        Some(ScheduleResult { unsent, held_back, worst_lag_ns, backlog: self.backlog })
    }
}

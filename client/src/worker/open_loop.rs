//! The open loop of a worker: calls are sent when the schedule says, not when a caller is free.
//! [`OpenLoop`] keeps the schedule, for calls that nobody answers, too.

use super::{Job, Worker};
use crate::callers::Rotation;
use crate::control::View;
use crate::pacing::{Pace, Schedule};
use echo_common::clock::{elapsed_ns, now_ns};
use echo_common::timer::Timer;
use mio::unix::SourceFd;
use mio::{Interest, Poll, Token};
use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// The poll token of the timer that announces the next call.
pub(crate) const TIMER: Token = Token(usize::MAX - 1);
/// Calls sent in one turn of the event loop; then replies have their turn.
pub(crate) const SENDS_PER_TURN: usize = 256;

/// What became of a worker's schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScheduleResult {
    /// Calls that were due in the window and never sent.
    pub(crate) unsent: u64,
    /// Calls that found the bound on calls in flight reached when they were due.
    pub(crate) held_back: u64,
    /// The longest that one of those was late.
    pub(crate) worst_lag_ns: u64,
    /// Calls due and not answered, at two thirds and at the end of the schedule.
    pub(crate) backlog: [u64; 2],
}

/// A worker's schedule and where it stands.
#[derive(Debug)]
pub(crate) struct OpenLoop {
    pace: Pace,
    schedule: Schedule,
    timer: Timer,
    /// When the timer will fire; `u64::MAX` if it is not set.
    armed_ns: u64,
    /// The connection after the one that was called last.
    pub(crate) cursor: usize,
    /// Connections with calls of this turn to write.
    pub(crate) touched: Vec<usize>,
    /// When a due call last found no place; the call then waits for one.
    full_ns: Option<u64>,
    marks_taken: usize,
    result: ScheduleResult,
}

/// What a look at the backlog needs to know of the worker.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    pub(crate) now_ns: u64,
    /// Calls that were sent and have not ended.
    pub(crate) in_flight: u64,
    pub(crate) budget_used_up: bool,
}

impl OpenLoop {
    /// The loop of worker `index`, its timer registered with `poll`; none if the loop is closed.
    pub(crate) fn begin(job: &Job, index: usize, poll: &Poll) -> io::Result<Option<Box<OpenLoop>>> {
        let Some(pace) = job.pace else {
            return Ok(None);
        };
        let timer = Timer::new()?;
        poll.registry().register(&mut SourceFd(&timer.as_raw_fd()), TIMER, Interest::READABLE)?;
        Ok(Some(Box::new(OpenLoop {
            pace,
            schedule: Schedule::new(&pace, index as u64, job.control.origin_ns()),
            timer,
            armed_ns: u64::MAX,
            cursor: 0,
            touched: Vec::new(),
            full_ns: None,
            marks_taken: 0,
            result: ScheduleResult::default(),
        })))
    }

    /// The timer has fired.
    pub(crate) fn fired(&mut self) {
        self.timer.acknowledge();
        self.armed_ns = u64::MAX;
    }

    /// Whether a call is due that only this worker's next turn can send.
    pub(crate) fn is_behind(&self, now_ns: u64) -> bool {
        self.full_ns.is_none() && self.schedule.next_ns() <= now_ns
    }

    /// When the next call is due.
    #[inline]
    pub(crate) fn next_ns(&self) -> u64 {
        self.schedule.next_ns()
    }

    /// Sets the timer to what comes first: the next call, unless that waits for room, the next look
    /// at the backlog, or the end of the window.
    pub(crate) fn arm(&mut self, view: &View) -> io::Result<()> {
        let call_ns = if self.full_ns.is_none() { self.schedule.next_ns() } else { u64::MAX };
        let mark_ns = self.next_mark_ns(view).map_or(u64::MAX, |(mark_ns, _)| mark_ns);
        let at_ns = call_ns.min(mark_ns).min(view.end_ns);
        if at_ns == self.armed_ns || at_ns == u64::MAX {
            return Ok(());
        }
        self.armed_ns = at_ns;
        self.timer.set(Duration::from_nanos(at_ns.saturating_sub(now_ns())))
    }

    /// The next call is due and finds no place.
    pub(crate) fn found_no_place(&mut self, now_ns: u64) {
        self.full_ns = Some(now_ns);
    }

    /// The next call is sent: goes on to the one after it.
    #[inline]
    pub(crate) fn sent(&mut self, now_ns: u64) {
        let due_ns = self.schedule.next_ns();
        if self.full_ns.is_some_and(|full_ns| due_ns <= full_ns) {
            self.result.held_back += 1;
            self.result.worst_lag_ns = self.result.worst_lag_ns.max(elapsed_ns(due_ns, now_ns));
        }
        self.schedule.step();
        if self.schedule.next_ns() > now_ns {
            self.full_ns = None;
        }
    }

    /// Notes the calls that are due and have not ended, twice: whether they grow in number tells
    /// whether the rate can be kept up.
    pub(crate) fn look_at_backlog(&mut self, view: &View, at: Standing) {
        while let Some((mark_ns, end_ns)) = self.next_mark_ns(view)
            && at.now_ns >= mark_ns
        {
            self.take_mark(view, at, end_ns);
        }
    }

    /// The schedule is over, one way or the other.
    pub(crate) fn close(mut self, view: &View, at: Standing) -> ScheduleResult {
        while let Some((_, end_ns)) = self.next_mark_ns(view) {
            self.take_mark(view, at, end_ns);
        }
        let unsent = self.owed(view, at, u64::MAX);
        let mut result = self.result;
        if unsent > 0 && self.full_ns.is_some() {
            let until_ns = at.now_ns.min(view.end_ns);
            let lag_ns = elapsed_ns(self.schedule.next_ns(), until_ns);
            result.worst_lag_ns = result.worst_lag_ns.max(lag_ns);
        }
        result.unsent = unsent;
        result
    }

    fn take_mark(&mut self, view: &View, at: Standing, end_ns: u64) {
        self.result.backlog[self.marks_taken] = at.in_flight + self.owed(view, at, end_ns);
        self.marks_taken += 1;
    }

    /// Calls that should have been sent by now.
    fn owed(&self, view: &View, at: Standing, end_ns: u64) -> u64 {
        let until_ns = at.now_ns.min(end_ns).min(view.end_ns);
        if at.budget_used_up { 0 } else { self.schedule.due_before(until_ns) }
    }

    /// The moment of the next look at the backlog, and the end of the schedule.
    fn next_mark_ns(&self, view: &View) -> Option<(u64, u64)> {
        let start_ns = view.start_ns;
        let by_count = self.pace.span_ns().map(|span| start_ns.saturating_add(span));
        let end_ns = view.end_ns.min(by_count.unwrap_or(u64::MAX));
        let third_ns = end_ns.saturating_sub(start_ns) / 3;
        let marks = [end_ns - third_ns, end_ns];
        (start_ns != u64::MAX).then(|| Some((*marks.get(self.marks_taken)?, end_ns)))?
    }
}

impl Worker<'_> {
    /// Sends what is due, as far as there is room, each connection's calls in one write.
    pub(super) fn send_due(&mut self) {
        let Some(mut open_loop) = self.open_loop.take() else {
            return;
        };
        open_loop.look_at_backlog(&self.view, self.standing());
        for _ in 0..SENDS_PER_TURN {
            if !self.send_next(&mut open_loop) {
                break;
            }
        }
        let mut touched = std::mem::take(&mut open_loop.touched);
        touched.drain(..).for_each(|index| self.flush(index));
        open_loop.touched = touched;
        self.open_loop = Some(open_loop);
    }

    /// Sends the next call, if it is due and there is room for it.
    fn send_next(&mut self, open_loop: &mut OpenLoop) -> bool {
        let (now, due_ns) = (self.now_ns, open_loop.next_ns());
        let measured = due_ns >= self.view.start_ns;
        if due_ns > now || !self.may_start() {
            return false;
        }
        let Some(index) = self.place(&mut open_loop.cursor) else {
            open_loop.found_no_place(now);
            return false;
        };
        let granted = !measured || !self.job.control.budget.take(1).is_empty();
        if let Some(rotation) = &mut self.rotation {
            rotation.tried(index, granted);
        }
        self.budget_used_up |= !granted;
        let Some(connection) = self.connections[index].as_mut().filter(|_| granted) else {
            return false;
        };
        if !connection.owes() {
            open_loop.touched.push(index);
        }
        connection.start_due(due_ns, measured, now, &mut self.desk);
        self.flow.started(1, now, &self.view);
        open_loop.sent(now);
        true
    }

    /// A connection with room for a call: the next one in the round, or the longest idle one.
    fn place(&mut self, cursor: &mut usize) -> Option<usize> {
        if let Some(rotation) = &mut self.rotation {
            return std::iter::from_fn(|| Rotation::next(rotation))
                .find(|&index| self.connections[index].is_some());
        }
        let count = self.connections.len();
        let free = |index: &usize| self.connections[*index].as_ref().is_some_and(|c| c.free() > 0);
        let found = (*cursor..count).chain(0..*cursor).find(free)?;
        *cursor = (found + 1) % count;
        Some(found)
    }

    /// Sees to it that the next call's time ends the poll.
    pub(super) fn arm_timer(&mut self) -> io::Result<()> {
        let may_start = self.may_start();
        match &mut self.open_loop {
            Some(open_loop) if may_start => open_loop.arm(&self.view),
            _ => Ok(()),
        }
    }

    fn standing(&self) -> Standing {
        Standing {
            now_ns: self.now_ns,
            in_flight: self.flow.in_flight(),
            budget_used_up: self.budget_used_up,
        }
    }

    /// The schedule is over, one way or the other.
    pub(super) fn close_schedule(&mut self) -> Option<ScheduleResult> {
        let open_loop = self.open_loop.take()?;
        Some(open_loop.close(&self.view, self.standing()))
    }
}

//! When calls are started on which connection, and their writing.

use super::{BATCHES_PER_TURN, UnansweredWorker};
use crate::call_frames::Frames;
use crate::control::Phase;
use crate::conversation::Framing;
use crate::unanswered::one_way::Written;
use crate::worker::{OpenLoop, SENDS_PER_TURN, Standing};
use echo_common::clock::now_ns;

impl UnansweredWorker<'_> {
    /// Without a schedule: writes to every connection that takes more.
    pub(super) fn fill(&mut self) {
        if self.open_loop.is_some() {
            return;
        }
        for _ in 0..self.ready.len() {
            let Some(index) = self.ready.pop_front() else { return };
            self.load.pass();
            let takes_more = (0..BATCHES_PER_TURN).all(|_| self.send_batch(index));
            if takes_more {
                self.ready.push_back(index);
            }
        }
    }

    /// Starts a batch of calls and writes it. Returns whether the socket took it and there is more
    /// to send.
    fn send_batch(&mut self, index: usize) -> bool {
        if !self.may_start() {
            return false;
        }
        let (granted, measured) = match self.view.phase {
            Phase::WarmUp => (self.batch, false),
            Phase::Measured | Phase::Draining => {
                let calls = self.job.control.budget.take(self.batch);
                (calls.end - calls.start, true)
            }
        };
        self.budget_used_up = granted < self.batch;
        if granted == 0 {
            return false;
        }
        self.start(index, granted, measured);
        self.flush(index);
        self.connections[index].as_ref().is_some_and(|connection| !connection.is_blocked())
    }

    /// With a schedule: sends what is due, as far as sockets take it, each connection's calls in
    /// one write.
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
        for index in touched.drain(..) {
            self.load.pass();
            self.flush(index);
        }
        open_loop.touched = touched;
        self.open_loop = Some(open_loop);
    }

    /// Starts the next call, if it is due and a socket may take it.
    fn send_next(&mut self, open_loop: &mut OpenLoop) -> bool {
        let (now, due_ns) = (self.now_ns, open_loop.next_ns());
        if due_ns > now || !self.may_start() {
            return false;
        }
        let Some(index) = self.place(&mut open_loop.cursor) else {
            open_loop.found_no_place(now);
            return false;
        };
        let measured = due_ns >= self.view.start_ns;
        if measured && self.job.control.budget.take(1).is_empty() {
            self.budget_used_up = true;
            return false;
        }
        if self.connections[index].as_ref().is_some_and(|connection| connection.owed() == 0) {
            open_loop.touched.push(index);
        }
        self.start(index, 1, measured);
        open_loop.sent(now);
        true
    }

    /// The next connection in the round whose socket took all that it was given.
    fn place(&self, cursor: &mut usize) -> Option<usize> {
        let count = self.connections.len();
        let free =
            |index: &usize| self.connections[*index].as_ref().is_some_and(|c| !c.is_blocked());
        let found = (*cursor..count).chain(0..*cursor).find(free)?;
        *cursor = (found + 1) % count;
        Some(found)
    }

    fn start(&mut self, index: usize, calls: u64, measured: bool) {
        if let Some(connection) = &mut self.connections[index] {
            connection.start(calls, measured, self.now_ns);
            self.desk.ledger.started(calls, measured, self.now_ns);
            self.flow.started(calls, self.now_ns, &self.view);
        }
    }

    /// Writes what a connection owes; calls that are written are done.
    pub(super) fn flush(&mut self, index: usize) {
        let Some(connection) = &mut self.connections[index] else {
            return;
        };
        let (Written { measured, warmup }, flushed) = connection.flush(&mut self.desk);
        self.now_ns = now_ns();
        self.desk.ledger.written(measured, warmup, self.now_ns);
        let written = measured + warmup;
        self.flow.ended(written, written, self.now_ns, &self.view);
        if let Err(error) = flushed {
            self.broken(index, &error);
        }
    }

    pub(super) fn standing(&self) -> Standing {
        Standing {
            now_ns: self.now_ns,
            in_flight: self.flow.in_flight(),
            budget_used_up: self.budget_used_up,
        }
    }
}

/// Bytes of a call, which are the same for all.
pub(super) fn call_len(framing: &Framing) -> usize {
    match framing {
        Framing::Native(frames) => frames.call_len(0),
        Framing::Hadoop(_) => unreachable!("the plan refuses --acks 0 for Hadoop RPC"),
    }
}

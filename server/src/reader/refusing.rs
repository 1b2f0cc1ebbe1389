//! What a reader answers by itself: what is no call, connections that it ends, calls that find no
//! room in the queue.

use super::Reader;
use crate::call::Calls;
use crate::hadoop::Busy;
use crate::refusal::Refusal;
use echo_common::wire::hadoop::call;
use echo_common::wire::hadoop::fault::Fault;
use echo_common::wire::native::Status;
use std::collections::VecDeque;
use std::iter;
use std::sync::Arc;

impl Reader {
    /// Sends what a turn has to answer beside its calls.
    #[inline]
    pub(super) fn answer(&mut self, slot: usize) {
        if !self.intake.answers.is_empty() {
            let answers = std::mem::take(&mut self.intake.answers);
            self.tell(slot, &answers);
        }
    }

    /// Sends the peer something that is no reply to a call of a run.
    fn tell(&mut self, slot: usize, bytes: &[u8]) {
        let outbox = Arc::clone(&self.state.connections[slot].connection.outbox);
        self.executor.responder().refuse(&outbox, bytes, &self.intake.reader().out);
    }

    /// Ends a connection, and tells its peer why: at once, or behind all that it is owed.
    pub(super) fn refuse(&mut self, slot: usize, refusal: Refusal) {
        let limits = self.intake.limited();
        match refusal.status {
            Status::FrameTooLarge => limits.frames_oversize.add(1),
            Status::TimedOut => limits.frame_timeouts.add(1),
            // Counted as rejected calls.
            Status::TooBusy => {}
            _ => limits.frames_malformed.add(1),
        }
        let peer = self.state.connections[slot].peer;
        self.complaints.write(
            refusal.status.name(),
            format_args!("connection from {peer} refused: {}", refusal.why),
        );
        let mut farewell = refusal.frame;
        if !refusal.is_last && !farewell.is_empty() {
            self.tell(slot, &farewell);
            farewell = Vec::new();
        }
        let connection = &mut self.state.connections[slot].connection;
        let turn = connection.end_with(farewell, self.intake.now_ns);
        self.after_turn(slot, turn);
    }

    /// The peer has all that it was owed: it is told this, and no more.
    pub(super) fn bid_farewell(&mut self, slot: usize, bytes: &[u8]) {
        self.tell(slot, bytes);
        let turn = self.state.connections[slot].connection.end(self.intake.now_ns);
        self.after_turn(slot, turn);
    }

    /// Answers calls that the queue did not take. Stats calls that found no room are served here:
    /// they need no handler, and it is in overload that counters are asked for.
    pub(super) fn reject(&mut self, calls: &mut VecDeque<Calls>, why: Status) {
        for run in calls.drain(..) {
            if why == Status::TooBusy {
                if run.are_stats() {
                    self.executor.serve(iter::once(run), false, &self.intake.reader().out);
                    continue;
                }
                self.intake.limited().calls_rejected.add(u64::from(run.count));
                if run.hadoop.is_some() && self.executor.hadoop().busy == Busy::Fatal {
                    self.back_off(run);
                    continue;
                }
            }
            self.executor.reject(run, why, &self.intake.reader().out);
        }
    }

    /// Ends the connection that the run came from: its first call is answered FATAL, by which the
    /// client knows that all the others have failed, too.
    fn back_off(&mut self, run: Calls) {
        let mut farewell = Vec::new();
        let fault = Fault::TooBusy { disconnect: true };
        if let Some(call) = call::Calls::of(&run.frames).next() {
            fault.answer(call.reply_to(), self.executor.hadoop().package, &mut farewell);
        }
        let id = run.outbox.id();
        let out = &self.intake.reader().out;
        out.undeliverable.add(u64::from(run.count));
        let nothing = self.executor.responder().scratch();
        self.executor.responder().append(run, nothing, out);
        self.executor.responder().flush(out);
        // It may have ended meanwhile, or be about to, by an earlier run of this pass.
        let Some((slot, connection)) = self.find(id) else { return };
        if connection.is_taking() {
            let why = "the call queue is full (--hadoop-busy fatal)".to_owned();
            let status = Status::TooBusy;
            self.refuse(slot, Refusal { status, frame: farewell, why, is_last: true });
        }
    }
}

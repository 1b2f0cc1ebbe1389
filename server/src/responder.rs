//! The one place where replies leave. Not a thread: each thread that serves calls owns a responder,
//! and the rules of [`crate::outbox`] make sure that one of them at a time writes to a connection.

use crate::call::Calls;
use crate::meters::OutMeters;
use crate::outbox::{Appended, Outbox};
use crate::owed::Owed;
use crate::replicator::Answer;
use std::sync::Arc;

/// Buffers kept for the next batch, of at most 64 KiB each.
const SCRATCH_MAX: usize = 64;

/// Collects the replies of a batch and writes once for each connection.
#[derive(Default)]
pub(crate) struct Responder {
    /// Connections that this thread was appointed to write to.
    dirty: Vec<Arc<Outbox>>,
    /// Empty reply buffers with capacity.
    scratch: Vec<Owed>,
}

impl Responder {
    /// An empty buffer for the replies to one run.
    pub(crate) fn scratch(&mut self) -> Owed {
        self.scratch.pop().unwrap_or_default()
    }

    /// Takes over the replies to all of `calls`.
    pub(crate) fn append(&mut self, calls: Calls, mut replies: Owed, meters: &OutMeters) {
        let Calls { outbox, count, weight, .. } = calls;
        match outbox.append(&mut replies, count, weight) {
            Appended::Flush => self.dirty.push(outbox),
            Appended::Queued => {}
            Appended::Closed(dropped) => meters.undeliverable.add(u64::from(dropped)),
        }
        self.give_back(replies);
    }

    /// Takes over the reply to one call.
    pub(crate) fn answer(&mut self, answer: Answer, meters: &OutMeters) {
        let Answer { outbox, weight, mut reply, .. } = answer;
        match outbox.append(&mut reply, 1, weight) {
            Appended::Flush => self.dirty.push(outbox),
            Appended::Queued => {}
            Appended::Closed(dropped) => meters.undeliverable.add(u64::from(dropped)),
        }
    }

    /// Holds back the reply to the one call of a connection until the next one is answered, see
    /// [`Outbox::withhold`]. Returns whether it did.
    pub(crate) fn withhold(
        &mut self,
        outbox: &Arc<Outbox>,
        reply: &mut Owed,
        weight: usize,
    ) -> bool {
        let appended = outbox.withhold(reply, weight);
        if appended == Some(Appended::Flush) {
            self.dirty.push(Arc::clone(outbox));
        }
        appended.is_some()
    }

    /// Sends something that is no reply to a call of a run.
    pub(crate) fn refuse(&mut self, outbox: &Outbox, frame: &[u8], meters: &OutMeters) {
        let mut refusal = self.scratch();
        refusal.push_unanswered(frame);
        if outbox.append_refusal(&mut refusal) == Appended::Flush {
            self.flush_one(outbox, meters);
        }
        self.give_back(refusal);
    }

    /// Goes on with a blocked write after a writable edge.
    pub(crate) fn writable(&mut self, outbox: &Outbox, meters: &OutMeters) {
        let mut written = Owed::default();
        meters.note(outbox.writable(&mut written));
        self.give_back(written);
    }

    /// One write for each connection that has replies from this batch.
    pub(crate) fn flush(&mut self, meters: &OutMeters) {
        let mut dirty = std::mem::take(&mut self.dirty);
        for outbox in dirty.drain(..) {
            self.flush_one(&outbox, meters);
        }
        self.dirty = dirty;
    }

    fn flush_one(&mut self, outbox: &Outbox, meters: &OutMeters) {
        let mut written = Owed::default();
        meters.note(outbox.flush(&mut written));
        self.give_back(written);
    }

    fn give_back(&mut self, scratch: Owed) {
        debug_assert!(scratch.is_empty());
        if scratch.has_spare() && self.scratch.len() < SCRATCH_MAX {
            self.scratch.push(scratch);
        }
    }
}

//! A handler: takes calls, serves them, hands the replies to the responder. A panic ends one call.

use crate::call::{Calls, header_at};
use crate::call_queue::CallQueue;
use crate::meters::{HandlerMeters, OutMeters};
use crate::responder::Responder;
use crate::service::{Call, Reply, Service};
use crate::snapshot::Snapshots;
use bytes::Bytes;
use echo_common::wire::native::{HEADER_LEN, Header, Kind, Status, error_frame};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::owed::{LARGE_BODY, Owed};

/// Serves runs of calls on the thread that owns it: a handler, or a reader without handlers.
pub(crate) struct Executor {
    service: Arc<dyn Service>,
    snapshots: Arc<Snapshots>,
    responder: Responder,
}

impl Executor {
    pub(crate) fn new(service: Arc<dyn Service>, snapshots: Arc<Snapshots>) -> Executor {
        Executor { service, snapshots, responder: Responder::default() }
    }

    pub(crate) fn responder(&mut self) -> &mut Responder {
        &mut self.responder
    }

    /// Serves every call of `batch`, which it empties; then writes, once for each connection.
    pub(crate) fn serve(&mut self, batch: impl Iterator<Item = Calls>, meters: &OutMeters) {
        for calls in batch {
            self.serve_run(calls, meters);
        }
        self.responder.flush(meters);
    }

    /// Answers every call of a run "server too busy".
    pub(crate) fn reject(&mut self, calls: Calls, meters: &OutMeters) {
        let mut replies = self.responder.scratch();
        let mut at = 0;
        while at < calls.frames.len() {
            let header = header_at(&calls.frames[at..]);
            let busy = error_frame(header.id, Status::TooBusy, "server too busy");
            replies.push_small(&busy, &[]);
            at += header.frame_len();
        }
        self.responder.append(calls, replies, meters);
        self.responder.flush(meters);
    }

    fn serve_run(&mut self, calls: Calls, meters: &OutMeters) {
        if calls.outbox.has_ended() {
            // The peer has gone meanwhile. Its calls must not keep handlers from the others'.
            meters.undeliverable.add(u64::from(calls.count));
            return;
        }
        let mut replies = self.responder.scratch();
        let mut at = 0;
        while at < calls.frames.len() {
            let served = catch_unwind(AssertUnwindSafe(|| {
                while at < calls.frames.len() {
                    at += self.serve_one(&calls.frames, at, &mut replies);
                }
            }));
            if served.is_err() {
                at += self.fail_one(&calls.frames, at, &mut replies, meters);
            }
        }
        self.responder.append(calls, replies, meters);
    }

    /// Serves the call at `at`; returns its length. Nothing of its reply is in `replies` unless
    /// all of it is: the service has returned before the first byte is added.
    #[inline]
    fn serve_one(&self, frames: &Bytes, at: usize, replies: &mut Owed) -> usize {
        let header = header_at(&frames[at..]);
        let end = at + header.frame_len();
        let rest = &frames[at + HEADER_LEN..end];
        match header.kind {
            Kind::Call => {
                let call = Call::new(header, rest);
                encode(frames, &header, self.service.serve(call), replies);
            }
            _ => self.stats(&header, replies),
        }
        header.frame_len()
    }

    fn stats(&self, header: &Header, replies: &mut Owed) {
        if !self.snapshots.is_remote() {
            let text = "stats calls are switched off here (--no-remote-stats)";
            replies.push_small(&error_frame(header.id, Status::Refused, text), &[]);
            return;
        }
        let body = self.snapshots.json();
        let head = Header::new(Kind::Stats, 0, header.id, 0, body.len());
        replies.push_small(&head.encode(), body.as_bytes());
    }

    fn fail_one(&self, frames: &Bytes, at: usize, replies: &mut Owed, meters: &OutMeters) -> usize {
        meters.panics.add(1);
        let header = header_at(&frames[at..]);
        let failure = error_frame(header.id, Status::Internal, "the handler failed on this call");
        replies.push_small(&failure, &[]);
        header.frame_len()
    }
}

/// Adds the frame of one reply.
#[inline]
fn encode(frames: &Bytes, call: &Header, reply: Reply<'_>, replies: &mut Owed) {
    let head = |length| Header::new(Kind::Reply, 0, call.id, 0, length).encode();
    match reply {
        Reply::Echo(body) if body.len() < LARGE_BODY => replies.push_small(&head(body.len()), body),
        Reply::Echo(body) => replies.push_large(&head(body.len()), frames.slice_ref(body)),
        Reply::Repeated(body, length) => replies.push_repeated(&head(length), body, length),
        Reply::Owned(body) if body.len() < LARGE_BODY => {
            replies.push_small(&head(body.len()), &body);
        }
        Reply::Owned(body) => replies.push_large(&head(body.len()), body),
        Reply::Failed(status, text) => {
            replies.push_small(&error_frame(call.id, status, &text), &[]);
        }
    }
}

/// A handler thread's life: until the queue is closed and empty.
pub(crate) fn run(
    number: usize,
    queue: &CallQueue,
    mut executor: Executor,
    meters: &HandlerMeters,
) {
    let calls_max = executor.service.batch_max();
    let mut batch = Vec::new();
    while let Some(slept) = queue.take(number, calls_max, &mut batch) {
        meters.takes.add(1);
        meters.wakeups.add(u64::from(slept));
        meters.calls.add(batch.iter().map(|run| u64::from(run.count)).sum());
        executor.serve(batch.drain(..), &meters.out);
    }
}

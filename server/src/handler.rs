//! A handler: takes calls, serves them, hands the replies to the responder. A panic ends one call.

use crate::call::{Calls, header_at};
use crate::call_queue::CallQueue;
use crate::hadoop::Hadoop;
use crate::handler_cost::HandlerCost;
use crate::meters::{HandlerMeters, OutMeters};
use crate::owed::{LARGE_BODY, Owed, saturated};
use crate::reply_head::ReplyHead;
use crate::responder::Responder;
use crate::service::{Call, Reply, Service};
use crate::snapshot::Snapshots;
use bytes::Bytes;
use echo_common::clock;
use echo_common::wire::native::{
    Execution, FLAG_WANT_EXECUTION, FLAG_WANT_STAGES, HEADER_LEN, Header, Kind, STAGES_LEN, Stages,
    Status, error_frame,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

mod acked;
pub(crate) mod echo;
mod hadoop;
pub(crate) use acked::Acking;

/// Serves runs of calls on the thread that owns it: a handler, or a reader without handlers.
pub(crate) struct Executor {
    service: Arc<dyn Service>,
    snapshots: Arc<Snapshots>,
    cost: HandlerCost,
    hadoop: Arc<Hadoop>,
    /// Calls that want no more than an echo become their own replies.
    in_place: bool,
    responder: Responder,
    /// When this batch was taken, if some call in it asks for its stages.
    taken_ns: u64,
    /// When each run of this batch was read and how many calls it has, if calls are timed.
    arrivals: Option<Vec<(u64, u32)>>,
    /// The last execution here of a call that asked for it.
    execution: Execution,
    acking: Acking,
}

impl Executor {
    /// `number` is that of the handler, or of the reader, whose it is.
    pub(crate) fn new(
        service: Arc<dyn Service>,
        snapshots: Arc<Snapshots>,
        cost: HandlerCost,
        hadoop: Arc<Hadoop>,
        acking: Acking,
        time_calls: bool,
        number: usize,
    ) -> Executor {
        let in_place = service.only_echoes() && !cost.is_some();
        Executor {
            service,
            snapshots,
            cost,
            hadoop,
            in_place,
            responder: Responder::default(),
            taken_ns: 0,
            arrivals: time_calls.then(Vec::new),
            execution: Execution { handler: number as u32, number: 0 },
            acking,
        }
    }

    pub(crate) fn hadoop(&self) -> &Hadoop {
        &self.hadoop
    }

    pub(crate) fn responder(&mut self) -> &mut Responder {
        &mut self.responder
    }

    /// Called once by the thread that owns it.
    pub(crate) fn settle(&self) {
        self.cost.settle();
    }

    /// How many calls to take at once.
    pub(crate) fn batch_max(&self) -> u32 {
        if self.cost.is_some() { 1 } else { self.service.batch_max() }
    }

    /// Serves every call of `batch`; then writes, once for each connection.
    /// `stamped` says that some call in it asks for its stages.
    pub(crate) fn serve(
        &mut self,
        batch: impl Iterator<Item = Calls>,
        stamped: bool,
        meters: &OutMeters,
    ) {
        if stamped {
            self.taken_ns = clock::now_ns();
        }
        for calls in batch {
            self.serve_run(calls, meters);
        }
        self.replicate(meters);
        self.responder.flush(meters);
        if let Some(arrivals) = self.arrivals.as_mut().filter(|arrivals| !arrivals.is_empty()) {
            let now_ns = clock::now_ns();
            for (read_ns, count) in arrivals.drain(..) {
                meters.times.add(clock::elapsed_ns(read_ns, now_ns), count);
            }
        }
    }

    /// Answers every call of a run with an error.
    pub(crate) fn reject(&mut self, calls: Calls, why: Status, meters: &OutMeters) {
        if calls.hadoop.is_some() {
            return self.reject_hadoop(calls, why, meters);
        }
        let text = match why {
            Status::TooBusy => "server too busy",
            _ => "the server stops",
        };
        let mut replies = self.responder.scratch();
        let mut at = 0;
        while at < calls.frames.len() {
            let header = header_at(&calls.frames[at..]);
            self.refuse_one(&header, why, text, &mut replies);
            at += header.frame_len();
        }
        self.leave(calls, replies, meters);
        self.responder.flush(meters);
    }

    fn serve_run(&mut self, mut calls: Calls, meters: &OutMeters) {
        if calls.outbox.has_ended() {
            // The peer has gone meanwhile. Its calls must not keep handlers from the others'.
            meters.undeliverable.add(u64::from(calls.count));
            return;
        }
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.push((calls.read_ns, calls.count));
        }
        if let Some(client) = calls.hadoop.take() {
            return self.serve_hadoop(&client, calls, meters);
        }
        let mut replies = self.responder.scratch();
        let mut frames = std::mem::take(&mut calls.frames);
        if self.in_place {
            echo::push(&mut frames, &mut replies, || self.stages(&calls));
        }
        if !frames.is_empty() {
            self.serve_each(&calls, frames.freeze(), &mut replies, meters);
        }
        self.leave(calls, replies, meters);
    }

    /// Serves calls of a run one by one.
    fn serve_each(&mut self, calls: &Calls, frames: Bytes, replies: &mut Owed, meters: &OutMeters) {
        if frames.len() < LARGE_BODY {
            replies.reserve(frames.len());
        }
        let mut at = 0;
        while at < frames.len() {
            let served = catch_unwind(AssertUnwindSafe(|| {
                while at < frames.len() {
                    at += self.serve_one(calls, &frames, at, replies);
                }
            }));
            if served.is_err() {
                at += self.fail_one(&frames, at, replies, meters);
            }
        }
    }

    /// Serves the call at `at`; returns its length. Nothing of its reply is in `replies` unless
    /// all of it is: the service has returned before the first byte is added.
    #[inline]
    fn serve_one(&mut self, calls: &Calls, frames: &Bytes, at: usize, replies: &mut Owed) -> usize {
        let header = header_at(&frames[at..]);
        let rest = &frames[at + HEADER_LEN..at + header.frame_len()];
        match header.kind {
            Kind::Call => {}
            Kind::Replica | Kind::Join => {
                self.follow(calls, &header, rest, replies);
                return header.frame_len();
            }
            Kind::Stats | Kind::Reply | Kind::Error => {
                self.stats(&header, replies);
                return header.frame_len();
            }
        }
        let call = Call::new(header, rest);
        self.cost.pay(calls.read_ns, call.body.len());
        let reply = self.service.serve(call);
        if header.flags & acked::FLAGS != 0 {
            self.acknowledge(calls, frames, &header, rest, reply, replies);
        } else if header.flags & (FLAG_WANT_STAGES | FLAG_WANT_EXECUTION) == 0 {
            let head = |length| Header::new(Kind::Reply, 0, header.id, 0, length).encode();
            encode(frames, &header, reply, replies, head);
        } else {
            let head = self.reply_head(calls, &header, &reply, replies);
            encode(frames, &header, reply, replies, |length| head.of(length));
        }
        header.frame_len()
    }

    /// The head of a reply that carries what its call asked for.
    fn reply_head(
        &mut self,
        calls: &Calls,
        call: &Header,
        reply: &Reply<'_>,
        replies: &mut Owed,
    ) -> ReplyHead {
        let mut head = ReplyHead::new(call.id);
        if call.flags & FLAG_WANT_STAGES != 0 {
            let (stages, served_ns) = self.stages(calls);
            head.add_stages(&stages);
            if !matches!(reply, Reply::Failed(..)) {
                replies.expect_write_time(HEADER_LEN + STAGES_LEN - 4, served_ns);
            }
        }
        if call.flags & FLAG_WANT_EXECUTION != 0 {
            self.execution.number += 1;
            head.add_execution(&self.execution);
        }
        head
    }

    /// How long a call that is served now has spent in each stage, and the time; how long it waits
    /// for its write is filled in then.
    #[cold]
    fn stages(&self, calls: &Calls) -> (Stages, u64) {
        let stamps = calls.stamps.unwrap_or_default();
        let served_ns = clock::now_ns();
        let between = |from: u64, to: u64| saturated(clock::elapsed_ns(from, to));
        let stages = Stages {
            decoded_ns: between(calls.read_ns, stamps.decoded_ns),
            queued_ns: between(stamps.decoded_ns, stamps.queued_ns),
            taken_ns: between(stamps.queued_ns, self.taken_ns),
            served_ns: between(self.taken_ns, served_ns),
            written_ns: 0,
        };
        (stages, served_ns)
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

    fn fail_one(
        &mut self,
        frames: &Bytes,
        at: usize,
        replies: &mut Owed,
        meters: &OutMeters,
    ) -> usize {
        meters.panics.add(1);
        let header = header_at(&frames[at..]);
        let text = "the handler failed on this call";
        self.refuse_one(&header, Status::Internal, text, replies);
        header.frame_len()
    }
}

/// Adds the frame of one reply; `head` makes its header for a body length.
#[inline]
fn encode<H: AsRef<[u8]>>(
    frames: &Bytes,
    call: &Header,
    reply: Reply<'_>,
    replies: &mut Owed,
    head: impl Fn(usize) -> H,
) {
    match reply {
        Reply::Echo(body) if body.len() < LARGE_BODY => {
            replies.push_small(head(body.len()).as_ref(), body);
        }
        Reply::Echo(body) => replies.push_large(head(body.len()).as_ref(), frames.slice_ref(body)),
        Reply::Repeated(body, length) => replies.push_repeated(head(length).as_ref(), body, length),
        Reply::Owned(body) if body.len() < LARGE_BODY => {
            replies.push_small(head(body.len()).as_ref(), &body);
        }
        Reply::Owned(body) => replies.push_large(head(body.len()).as_ref(), body),
        Reply::Failed(status, text) => {
            replies.push_small(&error_frame(call.id, status, &text), &[]);
        }
    }
}

/// A handler thread's life: until the queue is closed and empty. `taker` is its number among those
/// who take from that queue.
pub(crate) fn run(taker: usize, queue: &CallQueue, mut executor: Executor, meters: &HandlerMeters) {
    executor.settle();
    let calls_max = executor.batch_max();
    let mut batch = Vec::new();
    while let Some(take) = queue.take(taker, calls_max, &mut batch) {
        meters.takes.add(1);
        meters.wakeups.add(u64::from(take.slept));
        meters.thread.yielded_ns.add(take.yielded_ns);
        meters.calls.add(batch.iter().map(|run| u64::from(run.count)).sum());
        let stamped = batch.iter().any(|run| run.stamps.is_some());
        executor.serve(batch.drain(..), stamped, &meters.out);
    }
}

//! Calls of Hadoop RPC on a handler: from the bytes of a run to its replies.

use super::Executor;
use crate::call::Calls;
use crate::hadoop::{Client, Hadoop};
use crate::handler_cost::sleep_until;
use crate::meters::OutMeters;
use crate::owed::{LARGE_BODY, Owed};
use crate::service::{self, Reply};
use bytes::Bytes;
use echo_common::clock;
use echo_common::wire::hadoop::call::{self, Call};
use echo_common::wire::hadoop::fault::Fault;
use echo_common::wire::hadoop::om::{FILL, Payload};
use echo_common::wire::hadoop::service::Operation;
use echo_common::wire::native::{Header, Kind, Status};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// What a call fails with whose handler panics.
const PANIC: Fault = Fault::Application {
    class: "java.lang.RuntimeException",
    text: "the handler failed on this call",
};
/// A call may not occupy a handler for longer than this on purpose.
const SLEEP_MAX: Duration = Duration::from_secs(600);
const SLEEP_REFUSED: Fault = Fault::Application {
    class: "java.lang.IllegalArgumentException",
    text: "a sleep may take 600000 milliseconds at most",
};
/// Of this, replies that are to be longer than what came are made, without a copy.
static FILL_BLOCK: LazyLock<Bytes> = LazyLock::new(|| Bytes::from(FILL.repeat(FILL_REPEATS)));
const FILL_REPEATS: usize = 1024;

impl Executor {
    /// Serves a run; replies leave with the batch.
    pub(super) fn serve_hadoop(&mut self, client: &Client, mut calls: Calls, meters: &OutMeters) {
        let hadoop = Arc::clone(&self.hadoop);
        if calls.is_slow {
            // What was served before it does not wait for it.
            self.responder.flush(meters);
        }
        let frames = std::mem::take(&mut calls.frames).freeze();
        let mut replies = self.responder.scratch();
        let mut served = 0;
        let mut failed_at = None;
        let mut run = call::Calls::of(&frames);
        loop {
            let result = catch_unwind(AssertUnwindSafe(|| {
                for call in run.by_ref() {
                    served += 1;
                    failed_at = Some(call.reply_to());
                    self.serve_hadoop_call(&hadoop, client, &call, &calls, &frames, &mut replies);
                }
            }));
            match failed_at {
                Some(to) if result.is_err() => {
                    meters.panics.add(1);
                    replies.push_written(|out| PANIC.answer(to, hadoop.package, out));
                }
                _ => break,
            }
        }
        assert_eq!(served, calls.count, "calls of a run");
        self.responder.append(calls, replies, meters);
    }

    /// Nothing of its reply is in `replies` unless all of it is.
    #[inline]
    fn serve_hadoop_call(
        &mut self,
        hadoop: &Hadoop,
        client: &Client,
        call: &Call,
        calls: &Calls,
        frames: &Bytes,
        replies: &mut Owed,
    ) {
        let operation = hadoop.services.operation(call, client.protocol());
        let payload = operation.as_ref().map_or(0, Operation::payload_len);
        self.cost.pay(calls.read_ns, payload);
        let done = match operation {
            Ok(Operation::Sleep(milliseconds)) => sleep(milliseconds),
            Ok(Operation::Echo(Some(payload))) if !self.service.only_echoes() => {
                return self.serve_echo(hadoop, call, payload, frames, replies);
            }
            other => other,
        };
        match done {
            Ok(operation) => put_reply(hadoop, &operation, call, frames, replies),
            Err(fault) => fail(hadoop, &fault, call, replies),
        }
    }

    /// An echo whose payload the service wants to see.
    fn serve_echo(
        &self,
        hadoop: &Hadoop,
        call: &Call,
        payload: &[u8],
        frames: &Bytes,
        replies: &mut Owed,
    ) {
        let header = Header::new(Kind::Call, 0, call.header.call_id as u64, 0, payload.len());
        let body = service::Call { header, body: payload, reply_len: None };
        match self.service.serve(body) {
            Reply::Echo(body) => put_reply(hadoop, &echo(body), call, frames, replies),
            Reply::Owned(body) => put_reply(hadoop, &echo(&body), call, &body, replies),
            Reply::Repeated(body, length) => {
                let body: Vec<u8> = body.iter().copied().cycle().take(length).collect();
                let body = Bytes::from(body);
                put_reply(hadoop, &echo(&body), call, &body, replies);
            }
            Reply::Failed(_, text) => {
                let fault = Fault::Application { class: "java.io.IOException", text: &text };
                fail(hadoop, &fault, call, replies);
            }
        }
    }

    /// Answers every call of a run with an error.
    pub(super) fn reject_hadoop(&mut self, calls: Calls, why: Status, meters: &OutMeters) {
        let hadoop = Arc::clone(&self.hadoop);
        let fault = match why {
            Status::TooBusy => Fault::TooBusy { disconnect: false },
            _ => Fault::Server("the server stops"),
        };
        let mut replies = self.responder.scratch();
        for call in call::Calls::of(&calls.frames) {
            fail(&hadoop, &fault, &call, &mut replies);
        }
        self.responder.append(calls, replies, meters);
        self.responder.flush(meters);
    }
}

fn echo(payload: &[u8]) -> Operation<'_> {
    Operation::Echo(Some(payload))
}

/// Holds the handler, as the original does.
fn sleep<'a>(milliseconds: i32) -> Result<Operation<'a>, Fault<'a>> {
    let time = Duration::from_millis(u64::try_from(milliseconds).unwrap_or(0));
    if time > SLEEP_MAX {
        return Err(SLEEP_REFUSED);
    }
    sleep_until(clock::now_ns().saturating_add(clock::ns(time)));
    Ok(Operation::Sleep(milliseconds))
}

fn fail(hadoop: &Hadoop, fault: &Fault, call: &Call, replies: &mut Owed) {
    replies.push_written(|out| fault.answer(call.reply_to(), hadoop.package, out));
}

/// Adds a reply; a large payload is passed on without a copy, as a part of `frames` or of the one
/// block that such payloads are made of.
#[inline]
fn put_reply(
    hadoop: &Hadoop,
    operation: &Operation,
    call: &Call,
    frames: &Bytes,
    replies: &mut Owed,
) {
    let (services, to) = (&hadoop.services, call.reply_to());
    let payload = services.payload(operation);
    if payload.len() < LARGE_BODY {
        replies.push_written(|out| services.put_reply(operation, to, out));
        return;
    }
    let mut head = Vec::new();
    match services.put_reply_head(operation, to, &mut head) {
        Payload::Bytes(bytes) => replies.push_large(&head, frames.slice_ref(bytes)),
        Payload::Fill(length) => replies.push_filled(&head, &FILL_BLOCK, length),
    }
}

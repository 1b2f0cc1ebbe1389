//! In which framing a run speaks with its server, and a connection's side of that.

use crate::call_frames::CallFrames;
use crate::call_table::CallTable;
use crate::connection::Lost;
use crate::hadoop::{self, Calls};
use crate::outbox::{Flushed, Outbox};
use crate::plan::Plan;
use crate::reply_reader::{Reading, ReplyReader};
use echo_common::wire::native::PREAMBLE;
use std::io::Write;

/// The framing of a run and what all its calls have in common.
#[derive(Debug)]
pub(crate) enum Framing {
    /// Our own.
    Native(CallFrames),
    /// Hadoop RPC version 9.
    Hadoop(Box<Calls>),
}

impl Framing {
    /// As planned.
    pub(crate) fn new(plan: &Plan) -> Framing {
        let payload_len = plan.options.payload as usize;
        match &plan.hadoop {
            None => {
                let frames = CallFrames::new(payload_len, plan.reply_len(), plan.verify())
                    .with_flags(plan.flags());
                let keyed = plan.options.keys.is_some();
                Framing::Native(if keyed { frames.with_keys() } else { frames })
            }
            Some(settings) => {
                let reply_len = plan.reply_len().map_or(payload_len, |len| len as usize);
                Framing::Hadoop(Box::new(Calls::new(settings.clone(), payload_len, reply_len)))
            }
        }
    }

    /// What connection `number` sends before its first call; it is not answered.
    pub(crate) fn opening(&self, number: u64) -> Vec<u8> {
        match self {
            Framing::Native(_) => PREAMBLE.to_vec(),
            Framing::Hadoop(calls) => calls.opening(number),
        }
    }

    /// A table for the calls in flight of one connection.
    pub(crate) fn table(&self, window: usize, open_loop: bool) -> CallTable {
        match self {
            Framing::Native(frames) if frames.are_keyed() => {
                CallTable::new(window, open_loop).with_keys()
            }
            Framing::Native(_) => CallTable::new(window, open_loop),
            Framing::Hadoop(calls) => CallTable::counted(window, open_loop, calls.sequence()),
        }
    }
}

/// The number of a worker's connection; no two of a run have the same.
pub(crate) fn number(worker: usize, connection: usize) -> u64 {
    (worker as u64) << 32 | connection as u64
}

/// How one connection writes its calls and reads its replies.
#[derive(Debug)]
pub(crate) enum Conversation<'a> {
    Native(&'a CallFrames, ReplyReader),
    Hadoop(Box<hadoop::Conversation<'a>>),
}

impl<'a> Conversation<'a> {
    /// At the beginning of connection `number`, whose opening has been sent.
    pub(crate) fn new(framing: &'a Framing, number: u64) -> Conversation<'a> {
        match framing {
            Framing::Native(frames) => Conversation::Native(frames, ReplyReader::new()),
            Framing::Hadoop(calls) => {
                Conversation::Hadoop(Box::new(hadoop::Conversation::new(calls, number)))
            }
        }
    }

    /// Takes the next bytes of the stream, all of them; ends the calls that they answer.
    #[inline]
    pub(crate) fn feed(&mut self, bytes: &[u8], to: &mut Reading<'_>) -> Result<(), Lost> {
        match self {
            Conversation::Native(frames, reader) => Ok(reader.feed(bytes, frames, to)?),
            Conversation::Hadoop(conversation) => Ok(conversation.feed(bytes, to)?),
        }
    }

    /// Writes what is owed, as far as the socket takes it.
    #[inline]
    pub(crate) fn flush(
        &self,
        outbox: &mut Outbox,
        socket: &mut impl Write,
        scratch: &mut Vec<u8>,
    ) -> Flushed {
        match self {
            Conversation::Native(frames, _) => outbox.flush(socket, *frames, scratch),
            Conversation::Hadoop(conversation) => outbox.flush(socket, &**conversation, scratch),
        }
    }

    /// Whether a reply has begun and not ended.
    pub(crate) fn in_mid_reply(&self) -> bool {
        match self {
            Conversation::Native(_, reader) => reader.in_mid_frame(),
            Conversation::Hadoop(conversation) => conversation.in_mid_packet(),
        }
    }
}

//! One connection to a Hadoop server: calls to bytes, and the bytes of replies to ended calls.

use super::calls::{Calls, Verdict};
use crate::call_frames::Frames;
use crate::call_table::Found;
use crate::faulty::Wrong;
use crate::outcome::Failure;
use crate::payload::Payload;
use crate::reason::{ClassName, Reason};
use crate::reply_reader::{ERROR_TEXT_MAX, Reading, end_reply, not_open, printable};
use echo_common::wire::hadoop::client::{CallTemplate, Received, Replies, Reply, ReplyError};
use echo_common::wire::hadoop::om;
use echo_common::wire::hadoop::reply::{Failure as Refusal, Status};
use echo_common::wire::native::Key;
use thiserror::Error;

/// The buffer for the beginning of a packet is kept from one to the next up to this size.
const KEPT_MAX: usize = 64 << 10;
/// No call is sent a second time.
const RETRY_COUNT: i32 = 0;

/// Why nothing that comes on this connection can be used any more.
#[derive(Debug, PartialEq, Eq, Error)]
pub(crate) enum Ending {
    /// A FATAL, or the refusal of a server that speaks an older version.
    #[error("the server refused the connection: {reason}: {}", printable(words))]
    Refused {
        /// The class of the exception.
        reason: Reason,
        /// What the server said about it.
        words: Vec<u8>,
    },
    /// No replies.
    #[error(transparent)]
    Unreadable(#[from] ReplyError),
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Conversation<'a> {
    calls: &'a Calls,
    template: CallTemplate,
    replies: Replies,
    /// The beginning of a packet of which the rest has not come, and how long it must be at least
    /// before it is looked at again. It grows by what comes, not by what is announced.
    partial: Vec<u8>,
    needed: usize,
}

impl<'a> Conversation<'a> {
    /// At the beginning of connection `number`, whose opening has been sent.
    pub(crate) fn new(calls: &'a Calls, number: u64) -> Conversation<'a> {
        let replies = Replies::new(calls.client_id(number)).with_reply_max(calls.reply_max());
        let template = calls.template(number);
        Conversation { calls, template, replies, partial: Vec::new(), needed: 0 }
    }

    /// Whether a packet has begun and not ended.
    pub(crate) fn in_mid_packet(&self) -> bool {
        !self.partial.is_empty()
    }

    /// Takes the next bytes of the stream, all of them; ends the calls that they answer.
    #[inline]
    pub(crate) fn feed(&mut self, mut bytes: &[u8], to: &mut Reading<'_>) -> Result<(), Ending> {
        while !bytes.is_empty() {
            bytes = if self.partial.is_empty() {
                self.whole_packets(bytes, to)?
            } else {
                self.rest_of_packet(bytes, to)?
            };
        }
        Ok(())
    }

    /// Goes through the packets that lie whole at the front of `bytes`, and keeps the beginning of
    /// the one that does not.
    #[inline]
    fn whole_packets<'b>(
        &mut self,
        mut bytes: &'b [u8],
        to: &mut Reading<'_>,
    ) -> Result<&'b [u8], Ending> {
        while !bytes.is_empty() {
            match self.replies.receive(bytes)? {
                Received::Reply(total, reply) => {
                    self.calls.end(&reply, to)?;
                    bytes = &bytes[total..];
                }
                Received::NeedMore { total } => {
                    self.partial.extend_from_slice(bytes);
                    self.needed = total;
                    return Ok(&[]);
                }
                Received::OldRefusal { class, text } => return Err(old_refusal(class, text)),
            }
        }
        Ok(bytes)
    }

    /// Adds to the packet that has begun; returns what is behind it.
    fn rest_of_packet<'b>(
        &mut self,
        bytes: &'b [u8],
        to: &mut Reading<'_>,
    ) -> Result<&'b [u8], Ending> {
        let (front, rest) = bytes.split_at(bytes.len().min(self.needed - self.partial.len()));
        self.partial.extend_from_slice(front);
        if self.partial.len() < self.needed {
            return Ok(rest);
        }
        match self.replies.receive(&self.partial)? {
            Received::Reply(_, reply) => self.calls.end(&reply, to)?,
            Received::NeedMore { total } => {
                self.needed = total;
                return Ok(rest);
            }
            Received::OldRefusal { class, text } => return Err(old_refusal(class, text)),
        }
        self.partial.clear();
        self.partial.shrink_to(KEPT_MAX);
        Ok(rest)
    }
}

impl Calls {
    /// Ends the call that a reply is for, or says why it ends the connection.
    #[inline]
    fn end(&self, reply: &Reply<'_>, to: &mut Reading<'_>) -> Result<(), Ending> {
        let id = u64::from(reply.header.call_id as u32);
        match reply.header.status {
            Status::Success => match self.verdict(id, reply.message()) {
                Verdict::Right => end_reply(id, true, to),
                Verdict::Wrong => end_reply(id, false, to),
                Verdict::Refused(reason, words) => refuse(id, reason, words, to),
            },
            Status::Error => {
                let (reason, words) = reason_of(&reply.header.failure);
                refuse(id, reason, &words, to);
            }
            Status::Fatal => {
                let (reason, words) = reason_of(&reply.header.failure);
                return Err(Ending::Refused { reason, words });
            }
        }
        Ok(())
    }
}

/// Ends a call with an error reply.
fn refuse(id: u64, reason: Reason, words: &[u8], to: &mut Reading<'_>) {
    match to.table.end(id) {
        Found::Open(call) => {
            to.ledger.failed(call, Failure::ErrorReply(reason), to.now_ns);
            to.ledger.error_text(reason, words);
            to.ledger.faulty.name(Wrong::ErrorReply, id, None);
        }
        other => not_open(id, other, to),
    }
}

/// The class of an exception and the first line of its words: stack traces are left out.
fn reason_of(failure: &Refusal<'_>) -> (Reason, Vec<u8>) {
    let code = failure.code.map_or("no_class", |code| code.name());
    let class = failure.class.unwrap_or(code.as_bytes());
    let text = failure.text.unwrap_or_default();
    let mut words = Vec::new();
    if class == om::NOT_LEADER_CLASS {
        words.extend_from_slice(NOT_LEADER);
    }
    words.extend_from_slice(first_line(text));
    (Reason::Class(ClassName::new(class)), words)
}

fn old_refusal(class: &[u8], text: &[u8]) -> Ending {
    let reason = Reason::Class(ClassName::new(class));
    Ending::Refused { reason, words: first_line(text).to_vec() }
}

fn first_line(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|&byte| byte == b'\n').unwrap_or(text.len());
    &text[..end.min(ERROR_TEXT_MAX)]
}

const NOT_LEADER: &[u8] =
    b"this Ozone Manager does not lead, point --server at the one that does: ";

impl Frames for Conversation<'_> {
    #[inline]
    fn payload(&self) -> &Payload {
        self.calls.payload()
    }

    #[inline]
    fn head_len(&self, id: u64) -> usize {
        let message_len = self.calls.message_len();
        let whole = self.template.call_len(id as i32, RETRY_COUNT, message_len);
        whole - message_len + self.calls.before().len()
    }

    #[inline]
    fn put_head(&self, id: u64, _: Option<&Key>, out: &mut Vec<u8>) {
        self.template.put(out, id as i32, RETRY_COUNT, self.calls.message_len());
        out.extend_from_slice(self.calls.before());
    }

    #[inline]
    fn tail(&self) -> &[u8] {
        self.calls.after()
    }
}

#[cfg(test)]
mod tests;

//! Bytes from the server to ended calls, in the native framing. A reply is compared as it arrives:
//! what is kept between two reads is at most one header, or how much of a body is still to come.

use crate::call_frames::CallFrames;
use crate::call_table::{CallTable, EndedCall, Found, wants_stages};
use crate::faulty::Wrong;
use crate::outcome::{Failure, Ledger};
use crate::reason::Reason;
use echo_common::wire::native::{
    BODY_MIN, CONNECTION_ID, EXECUTION_LEN, Execution, FLAG_WANT_EXECUTION, FLAG_WANT_HELD,
    FLAG_WANT_STAGES, HEADER_LEN, Header, HeaderError, Kind, Stages,
};
use thiserror::Error;

mod blocks;
use blocks::Blocks;

/// Bytes kept of an error frame's text.
pub(crate) const ERROR_TEXT_MAX: usize = 256;

/// Why nothing that comes on this connection can be used any more.
#[derive(Debug, PartialEq, Eq, Error)]
pub(crate) enum Ending {
    /// The server does not want the connection; its status and its words, as they came.
    #[error("the server refused the connection: {}", printable(.1))]
    Refused(u16, Vec<u8>),
    /// The header makes no sense.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// The length word is above what any reply may have.
    #[error("frame of {length} bytes announced, the limit is {limit}")]
    TooLong {
        /// Value of the length word.
        length: u32,
        /// The limit in force.
        limit: usize,
    },
    /// A frame that only a client sends.
    #[error("the server sent a frame of kind {0:?}, which is not an answer to a call")]
    NotAnAnswer(Kind),
}

/// Where in the stream of frames a connection stands.
#[derive(Debug)]
pub(crate) struct ReplyReader {
    head: [u8; HEADER_LEN],
    head_len: usize,
    body: Option<Body>,
}

#[derive(Debug)]
struct Body {
    id: u64,
    remaining: usize,
    content: Content,
}

#[derive(Debug)]
enum Content {
    /// `position` bytes came, and they were right so far or not.
    Reply { position: usize, matched: bool },
    /// A reply that begins with blocks.
    Blocks { blocks: Blocks, position: usize, matched: bool },
    /// An error frame's status and the beginning of its text.
    Error { status: u16, text: Vec<u8> },
}

/// What reading needs to know and to write to.
pub(crate) struct Reading<'a> {
    pub(crate) table: &'a mut CallTable,
    pub(crate) ledger: &'a mut Ledger,
    pub(crate) now_ns: u64,
}

impl ReplyReader {
    /// At the beginning of a connection.
    pub(crate) fn new() -> ReplyReader {
        ReplyReader { head: [0; HEADER_LEN], head_len: 0, body: None }
    }

    /// Takes the next bytes of the stream, all of them; ends the calls that they answer.
    #[inline]
    pub(crate) fn feed(
        &mut self,
        mut bytes: &[u8],
        frames: &CallFrames,
        to: &mut Reading<'_>,
    ) -> Result<(), Ending> {
        loop {
            if self.head_len == 0 && self.body.is_none() {
                bytes = match (frames.ask_holders(), frames.are_keyed()) {
                    (true, _) => bytes,
                    (false, true) => whole_keyed_replies(bytes, frames, to),
                    (false, false) => whole_replies(bytes, frames, to),
                };
            }
            if bytes.is_empty() {
                return Ok(());
            }
            bytes = self.one_frame(bytes, frames, to)?;
        }
    }

    /// Whether a frame has begun and not ended.
    pub(crate) fn in_mid_frame(&self) -> bool {
        self.head_len > 0 || self.body.is_some()
    }

    /// Goes on to the end of the frame or of the bytes, and returns what is left.
    fn one_frame<'b>(
        &mut self,
        mut bytes: &'b [u8],
        frames: &CallFrames,
        to: &mut Reading<'_>,
    ) -> Result<&'b [u8], Ending> {
        if self.body.is_none() {
            let taken = bytes.len().min(HEADER_LEN - self.head_len);
            self.head[self.head_len..self.head_len + taken].copy_from_slice(&bytes[..taken]);
            self.head_len += taken;
            bytes = &bytes[taken..];
            if self.head_len < HEADER_LEN {
                return Ok(bytes);
            }
            self.head_len = 0;
            self.body = Some(begin_body(&self.head, frames, to)?);
        }
        let Some(body) = &mut self.body else {
            return Ok(bytes);
        };
        let (front, rest) = bytes.split_at(bytes.len().min(body.remaining));
        body.take(front, frames);
        if body.remaining == 0
            && let Some(body) = self.body.take()
        {
            body.end(to)?;
        }
        Ok(rest)
    }
}

/// Ends the calls of correct replies that lie whole at the front of `bytes`; returns what is left.
/// This loop is the client's speed: it is a function of its own, so that what it needs is in
/// registers, and enters calls that were sent together in one step.
#[inline(never)]
fn whole_replies<'b>(mut bytes: &'b [u8], frames: &CallFrames, to: &mut Reading<'_>) -> &'b [u8] {
    let total = HEADER_LEN + frames.reply_len();
    let mut together = Together::default();
    while bytes.len() >= total {
        let (frame, rest) = bytes.split_at(total);
        let Some((head, payload)) = frame.split_first_chunk() else {
            break;
        };
        let Some(id) = frames.correct_reply_id(head) else {
            let Some(rest) = whole_staged_reply(bytes, frames, to) else {
                break;
            };
            bytes = rest;
            continue;
        };
        match (to.table.end(id), frames.matches(id, 0, payload)) {
            (Found::Open(call), true) => together.add(call, to),
            (Found::Open(call), false) => mismatch(id, call, to),
            (other, _) => not_open(id, other, to),
        }
        bytes = rest;
    }
    together.enter(to);
    bytes
}

/// Calls that have ended well and are not entered yet: they were sent together.
#[derive(Default)]
struct Together {
    call: Option<EndedCall>,
    count: u64,
}

impl Together {
    #[inline(always)]
    fn add(&mut self, call: EndedCall, to: &mut Reading<'_>) {
        if self.call != Some(call) {
            self.enter(to);
            *self = Together { call: Some(call), count: 0 };
        }
        self.count += 1;
    }

    #[inline]
    fn enter(&self, to: &mut Reading<'_>) {
        if let Some(call) = self.call {
            to.ledger.ok(call, self.count, to.now_ns);
        }
    }
}

/// The same for one reply that brings its stages, if that is what lies there.
#[inline(never)]
fn whole_staged_reply<'b>(
    bytes: &'b [u8],
    frames: &CallFrames,
    to: &mut Reading<'_>,
) -> Option<&'b [u8]> {
    let (head, behind) = bytes.split_first_chunk()?;
    let id = frames.staged_reply_id(head)?;
    let (block, behind) = behind.split_first_chunk()?;
    let (payload, rest) = behind.split_at_checked(frames.reply_len())?;
    match (to.table.end(id), frames.matches(id, 0, payload)) {
        (Found::Open(call), true) => {
            to.ledger.ok(call, 1, to.now_ns);
            to.ledger.staged(call, &Stages::decode(block), to.now_ns);
        }
        (Found::Open(call), false) => mismatch(id, call, to),
        (other, _) => not_open(id, other, to),
    }
    Some(rest)
}

/// The same for replies that say who executed their call.
fn whole_keyed_replies<'b>(
    mut bytes: &'b [u8],
    frames: &CallFrames,
    to: &mut Reading<'_>,
) -> &'b [u8] {
    let total = HEADER_LEN + EXECUTION_LEN + frames.reply_len();
    while bytes.len() >= total {
        let (frame, rest) = bytes.split_at(total);
        let Some((head, behind)) = frame.split_first_chunk() else {
            return bytes;
        };
        let (Some(id), Some((block, payload))) =
            (frames.correct_reply_id(head), behind.split_first_chunk())
        else {
            return bytes;
        };
        let matched = frames.matches(id, 0, payload);
        end_executed(id, matched.then(|| Execution::decode(block)), to);
        bytes = rest;
    }
    bytes
}

/// Ends a call with its reply, which says who executed it if it is right.
#[inline]
fn end_executed(id: u64, execution: Option<Execution>, to: &mut Reading<'_>) {
    match (to.table.end(id), execution) {
        (Found::Open(call), Some(by)) => to.ledger.executed(call, id, by, to.now_ns),
        (Found::Open(call), None) => mismatch(id, call, to),
        (other, _) => again(id, other, to),
    }
}

/// Counts an answer to a call that does not wait; a second one to the same call apart.
#[cold]
fn again(id: u64, found: Found, to: &mut Reading<'_>) {
    if found == Found::Unknown && to.table.was_given_out(id) {
        to.ledger.duplicate();
    }
    not_open(id, found, to);
}

/// Ends a call whose reply is wrong.
#[cold]
fn mismatch(id: u64, call: EndedCall, to: &mut Reading<'_>) {
    to.ledger.failed(call, Failure::Mismatch, to.now_ns);
    to.ledger.faulty.name(Wrong::Mismatch, id, None);
}

/// Ends a call with its reply.
#[inline(always)]
pub(crate) fn end_reply(id: u64, matched: bool, to: &mut Reading<'_>) {
    match to.table.end(id) {
        Found::Open(call) if matched => to.ledger.ok(call, 1, to.now_ns),
        Found::Open(call) => mismatch(id, call, to),
        other => not_open(id, other, to),
    }
}

/// Counts an answer to a call that does not wait.
pub(crate) fn not_open(id: u64, found: Found, to: &mut Reading<'_>) {
    match found {
        Found::Late => to.ledger.outcomes.late_replies += 1,
        Found::Open(_) | Found::Unknown => {
            to.ledger.outcomes.unexpected_replies += 1;
            to.ledger.faulty.name(Wrong::UnexpectedReply, id, None);
        }
    }
}

/// Reads a header. One that names a waiting call and has the right length, but is otherwise
/// damaged, costs that call and not the connection: the frame's end is known.
fn begin_body(
    head: &[u8; HEADER_LEN],
    frames: &CallFrames,
    to: &Reading<'_>,
) -> Result<Body, Ending> {
    let expected = frames.reply_len();
    let header = match Header::decode(head) {
        Ok(header) => header,
        Err(error) => return damaged(head, frames, to).ok_or(Ending::Header(error)),
    };
    let limit = frames.frame_max();
    if header.length as usize > limit {
        return Err(Ending::TooLong { length: header.length, limit });
    }
    let content = match header.kind {
        Kind::Reply if header.flags != 0 && header.flags == flags_of(header.id, frames) => {
            let blocks = Blocks::of(header.flags);
            let right = header.status == 0 && header.rest_len() == expected + blocks.len;
            Content::Blocks { blocks, position: 0, matched: right }
        }
        Kind::Reply => {
            let plain = header.flags == 0 && header.status == 0;
            let plain = plain && !frames.are_keyed() && !frames.ask_holders();
            Content::Reply { position: 0, matched: plain && header.rest_len() == expected }
        }
        // An error frame without a status is a reply whose kind was damaged.
        Kind::Error if header.status == 0 && to.table.is_open(header.id) => {
            Content::Reply { position: 0, matched: false }
        }
        Kind::Error => Content::Error { status: header.status, text: Vec::new() },
        Kind::Call | Kind::Stats | Kind::Replica | Kind::Join => {
            return damaged(head, frames, to).ok_or(Ending::NotAnAnswer(header.kind));
        }
    };
    Ok(Body { id: header.id, remaining: header.rest_len(), content })
}

/// The flags of a right reply to the call `id`.
fn flags_of(id: u64, frames: &CallFrames) -> u8 {
    let stages = if wants_stages(id) { FLAG_WANT_STAGES } else { 0 };
    let held = if frames.ask_holders() { FLAG_WANT_HELD } else { 0 };
    stages | held | if frames.are_keyed() { FLAG_WANT_EXECUTION } else { 0 }
}

/// The body of a frame whose kind is wrong, if everything else fits a waiting call.
fn damaged(head: &[u8; HEADER_LEN], frames: &CallFrames, to: &Reading<'_>) -> Option<Body> {
    let [l0, l1, l2, l3, _, _, _, _, id @ ..] = *head;
    let length = u32::from_be_bytes([l0, l1, l2, l3]) as usize;
    let (id, remaining) = (u64::from_be_bytes(id), length.checked_sub(BODY_MIN)?);
    let blocks = Blocks::of(flags_of(id, frames)).len;
    let fits = remaining == frames.reply_len() + blocks && to.table.is_open(id);
    fits.then_some(Body { id, remaining, content: Content::Reply { position: 0, matched: false } })
}

impl Body {
    fn take(&mut self, mut bytes: &[u8], frames: &CallFrames) {
        self.remaining -= bytes.len();
        if let Content::Blocks { blocks, .. } = &mut self.content {
            bytes = blocks.take(bytes);
        }
        match &mut self.content {
            Content::Reply { position, matched } | Content::Blocks { position, matched, .. } => {
                *matched = *matched && frames.matches(self.id, *position, bytes);
                *position += bytes.len();
            }
            Content::Error { text, .. } => {
                let kept = bytes.len().min(ERROR_TEXT_MAX - text.len());
                text.extend_from_slice(&bytes[..kept]);
            }
        }
    }

    fn end(self, to: &mut Reading<'_>) -> Result<(), Ending> {
        match self.content {
            Content::Reply { matched, .. } => end_reply(self.id, matched, to),
            Content::Blocks { blocks, matched, .. } => {
                end_with_blocks(self.id, matched.then_some(&blocks), to);
            }
            Content::Error { status, text } if self.id == CONNECTION_ID => {
                return Err(Ending::Refused(status, text));
            }
            Content::Error { status, text } => match to.table.end(self.id) {
                Found::Open(call) => {
                    let reason = Reason::Status(status);
                    to.ledger.failed(call, Failure::ErrorReply(reason), to.now_ns);
                    to.ledger.error_text(reason, &text);
                    to.ledger.faulty.name(Wrong::ErrorReply, self.id, None);
                }
                other => not_open(self.id, other, to),
            },
        }
        Ok(())
    }
}

/// Ends a call with a reply that has blocks, if it is right.
fn end_with_blocks(id: u64, blocks: Option<&Blocks>, to: &mut Reading<'_>) {
    match (to.table.end(id), blocks) {
        (Found::Open(call), Some(blocks)) => {
            match blocks.execution() {
                Some(by) => to.ledger.executed(call, id, by, to.now_ns),
                None => to.ledger.ok(call, 1, to.now_ns),
            }
            if let Some(held) = blocks.held() {
                to.ledger.held(id, None, held);
            }
            if let Some(stages) = blocks.stages() {
                to.ledger.staged(call, &stages, to.now_ns);
            }
        }
        (Found::Open(call), None) => mismatch(id, call, to),
        (other, _) => again(id, other, to),
    }
}

/// The peer's words, safe to print on a terminal.
pub(crate) fn printable(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).escape_debug().to_string()
}

#[cfg(test)]
mod tests;

//! One connection's state between events, as its reader sees it: bytes in, runs of calls out.
//!
//! Reading stops at the connection's own bounds (calls in flight, bytes owed, calls per pass), and
//! what a bound cuts off stays in `held`, so that nothing depends on a second readiness event.

use crate::call::{Calls, Stamps};
use crate::conversation::{Conversation, Parsed};
use crate::intake::{Intake, LARGE_FRAME, Large};
use crate::outbox::{Allowance, Outbox};
use crate::refusal::Refusal;
use bytes::{Buf, BytesMut};
use echo_common::clock;
use echo_common::wire::native::{FLAG_NO_REPLY, Header, Kind};
use std::io;
use std::net::Shutdown;
use std::sync::Arc;

/// What the reader does next with a connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Nothing to do until the next event or notice.
    Wait,
    /// A budget cut this turn off: another one is due without an event.
    Again,
    /// The connection is over.
    Close,
    /// The peer is told why, then the connection ends.
    Refuse(Refusal),
    /// All that the peer is owed has left: it is told this, then the connection ends.
    Farewell(Vec<u8>),
}

mod time_limits;
pub(crate) use time_limits::Expired;

#[derive(Debug, PartialEq, Eq)]
enum Phase {
    /// Calls are taken.
    Taking,
    /// Nothing is read any more; the connection ends when its replies have left.
    Ending,
    /// Our side is shut; what the peer still sends is dropped, so that closing does not reset the
    /// connection under the replies that it has not read yet.
    Lingering { since_ns: u64 },
}

/// See the module's text.
pub(crate) struct Connection {
    pub(crate) outbox: Arc<Outbox>,
    phase: Phase,
    conversation: Conversation,
    /// Bytes read and not yet taken: whole frames that a bound cut off, or an incomplete one.
    held: BytesMut,
    /// An incomplete frame that is too long for `held`.
    large: Option<Large>,
    /// What the connection may still have in flight, or more: replies leave without a word here.
    allowance: Allowance,
    /// The socket may have bytes, or an end, that no event will announce again.
    pub(crate) readable: bool,
    /// The peer has shut its side: read on to the end, however short the reads are.
    pub(crate) read_closed: bool,
    /// A bound holds reading until a notice comes.
    pub(crate) paused: bool,
    /// The outbox has reported a full socket.
    pub(crate) blocked: bool,
    /// In the reader's list of connections with something to do.
    pub(crate) listed: bool,
    opened_ns: u64,
    /// Whether a whole frame ever came: the handshake is over.
    greeted: bool,
    active_ns: u64,
    /// The peer has shut its side and all of it was read.
    peer_gone: bool,
    /// The server stops: nothing more is read.
    stopping: bool,
    /// Since when a frame is incomplete; 0 if none is.
    frame_since_ns: u64,
    /// What the peer is told when it has all that it is owed.
    farewell: Vec<u8>,
}

impl Connection {
    pub(crate) fn new(outbox: Arc<Outbox>, now_ns: u64) -> Connection {
        Connection {
            outbox,
            phase: Phase::Taking,
            conversation: Conversation::Opening,
            held: BytesMut::new(),
            large: None,
            allowance: Allowance::default(),
            readable: true,
            read_closed: false,
            paused: false,
            blocked: false,
            listed: false,
            opened_ns: now_ns,
            greeted: false,
            active_ns: now_ns,
            peer_gone: false,
            stopping: false,
            frame_since_ns: 0,
            farewell: Vec::new(),
        }
    }

    /// Takes what the bounds allow, from what is held or from one read.
    pub(crate) fn turn(&mut self, intake: &mut Intake) -> Turn {
        match self.phase {
            Phase::Taking => {}
            Phase::Ending | Phase::Lingering { .. } => return self.discard(intake),
        }
        if self.paused || !self.may_take(intake) {
            // What is missing of a frame may lie in the socket: its time begins again when we read.
            self.frame_since_ns = 0;
            return Turn::Wait;
        }
        let turn = if self.large.is_some() {
            self.read_large(intake)
        } else if self.conversation.has_front(&self.held, &intake.limits) {
            self.take_held(intake)
        } else if self.readable {
            self.read(intake)
        } else {
            Turn::Wait
        };
        self.note_incomplete(intake);
        if self.stopping && turn == Turn::Wait && !self.paused {
            return self.end(intake.now_ns);
        }
        turn
    }

    /// Whether the connection's bounds allow another call; else reading is paused.
    fn may_take(&mut self, intake: &Intake) -> bool {
        if self.allowance.is_used_up() {
            self.allowance = self.outbox.allowance_or_pause();
            if self.allowance.is_used_up() {
                self.paused = true;
                intake.limited().reading_paused.add(1);
            }
        }
        !self.paused
    }

    fn take_held(&mut self, intake: &mut Intake) -> Turn {
        let parsed = self.conversation.parse(&self.held, self.allowance, &intake.limits);
        let mut frames = self.held.split_to(parsed.end);
        frames.advance(parsed.start);
        self.submit(frames, &parsed, intake);
        self.settle(parsed, intake)
    }

    fn read(&mut self, intake: &mut Intake) -> Turn {
        intake.begin_read(&self.held);
        match intake.read(self.outbox.transport()) {
            Ok(0) => self.peer_ended(),
            Ok(_) => {
                self.readable = intake.pass.is_full() || self.read_closed;
                let bytes = intake.pass.unread();
                let parsed = self.conversation.parse(bytes, self.allowance, &intake.limits);
                self.held.clear();
                self.held.extend_from_slice(&bytes[parsed.end..]);
                if parsed.count > 0 {
                    intake.pass.take(intake.calls.len(), parsed.start..parsed.end);
                    self.submit(BytesMut::new(), &parsed, intake);
                }
                self.settle(parsed, intake)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.readable = false;
                Turn::Wait
            }
            Err(_) => Turn::Close,
        }
    }

    fn read_large(&mut self, intake: &mut Intake) -> Turn {
        let Some(large) = &mut self.large else { return Turn::Wait };
        match intake.read_apart(large.room(), self.outbox.transport()) {
            Ok(0) => return self.peer_ended(),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.readable = false;
                return Turn::Wait;
            }
            Err(_) => return Turn::Close,
        }
        self.readable = large.is_full() || self.read_closed;
        if !large.is_complete() {
            return if self.readable { Turn::Again } else { Turn::Wait };
        }
        let Some(large) = self.large.take() else { return Turn::Wait };
        let (frame, surplus) = intake.finish(large);
        self.held = surplus;
        let parsed = self.conversation.parse(&frame, self.allowance, &intake.limits);
        self.submit(frame, &parsed, intake);
        self.settle(parsed, intake)
    }

    /// Hands the calls found over to the pass; `frames` are empty if their bytes are in the pass's
    /// buffer.
    fn submit(&mut self, frames: BytesMut, parsed: &Parsed, intake: &mut Intake) {
        if parsed.count == 0 {
            return;
        }
        self.greeted = true;
        self.active_ns = intake.now_ns;
        self.frame_since_ns = 0;
        self.allowance = self.outbox.begin(parsed.count, parsed.weight);
        if intake.looks_ahead {
            let next = self.held.first_chunk().and_then(|head| Header::decode(head).ok());
            let asks = |head: Header| head.kind == Kind::Call && head.flags & FLAG_NO_REPLY == 0;
            let is_whole = self.conversation.has_front(&self.held, &intake.limits);
            self.outbox.note_followed(is_whole && next.is_some_and(asks));
        }
        let outbox = Arc::clone(&self.outbox);
        let read_ns = intake.now_ns;
        let (count, weight) = (parsed.count, parsed.weight);
        intake.pass_bytes += parsed.end - parsed.start;
        intake.reader().calls.add(u64::from(count - parsed.stats));
        intake.reader().stats_calls.add(u64::from(parsed.stats));
        let stamps = parsed.wants_stages.then(|| {
            intake.stamped = true;
            Stamps { decoded_ns: clock::now_ns(), queued_ns: 0 }
        });
        let hadoop = self.conversation.hadoop_client();
        let plain = !parsed.has_flags && parsed.stats == 0 && hadoop.is_none();
        let is_slow = parsed.is_slow;
        intake.calls.push_back(Calls {
            outbox,
            frames,
            plain,
            count,
            weight,
            read_ns,
            stamps,
            hadoop,
            is_slow,
        });
    }

    /// What is to do after calls were taken from the front of what came.
    fn settle(&mut self, parsed: Parsed, intake: &mut Intake) -> Turn {
        if parsed.is_alive {
            self.greeted = true;
            self.active_ns = intake.now_ns;
            self.frame_since_ns = 0;
        }
        if !parsed.answers.is_empty() {
            intake.answers = parsed.answers;
            intake.limited().frames_malformed.add(u64::from(parsed.malformed));
            // They count against the bytes owed: what may still come is asked anew.
            self.allowance = Allowance::default();
        }
        if let Some(refusal) = parsed.refusal {
            self.held = BytesMut::new();
            return Turn::Refuse(refusal);
        }
        if self.held.is_empty() {
            self.held = BytesMut::new();
        } else if let Some(total) = self.conversation.frame_len(&self.held, &intake.limits)
            && total > LARGE_FRAME
        {
            self.large = Some(intake.collect(&self.held, total));
            self.held = BytesMut::new();
        }
        let more = self.readable || self.conversation.has_front(&self.held, &intake.limits);
        if more { Turn::Again } else { Turn::Wait }
    }

    fn note_incomplete(&mut self, intake: &Intake) {
        let incomplete = self.large.is_some() || !self.held.is_empty();
        if !incomplete || self.paused {
            self.frame_since_ns = 0;
        } else if self.frame_since_ns == 0 {
            self.frame_since_ns = intake.now_ns;
        }
    }

    /// Reads and drops; for connections that are ending.
    fn discard(&mut self, intake: &mut Intake) -> Turn {
        if !self.readable || self.peer_gone {
            return Turn::Wait;
        }
        intake.begin_read(&[]);
        match intake.read(self.outbox.transport()) {
            Ok(0) => self.peer_ended(),
            Ok(_) => {
                self.readable = intake.pass.is_full() || self.read_closed;
                if self.readable { Turn::Again } else { Turn::Wait }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.readable = false;
                Turn::Wait
            }
            Err(_) => Turn::Close,
        }
    }

    /// The peer has shut its side: what it is owed is still sent.
    fn peer_ended(&mut self) -> Turn {
        self.peer_gone = true;
        self.readable = false;
        match self.phase {
            Phase::Taking => self.end(0),
            Phase::Ending => Turn::Wait,
            Phase::Lingering { .. } => Turn::Close,
        }
    }

    /// No more calls are taken; the connection ends when its replies have left.
    pub(crate) fn end(&mut self, now_ns: u64) -> Turn {
        self.phase = Phase::Ending;
        self.held = BytesMut::new();
        self.large = None;
        self.frame_since_ns = 0;
        if self.outbox.finish() { self.finished(now_ns) } else { Turn::Wait }
    }

    /// The same, and `farewell` is to be the last that the peer is told.
    pub(crate) fn end_with(&mut self, farewell: Vec<u8>, now_ns: u64) -> Turn {
        self.farewell = farewell;
        self.end(now_ns)
    }

    /// The last reply has left a connection that was to end.
    pub(crate) fn finished(&mut self, now_ns: u64) -> Turn {
        if self.phase == Phase::Ending && !self.farewell.is_empty() {
            return Turn::Farewell(std::mem::take(&mut self.farewell));
        }
        if self.peer_gone || self.phase != Phase::Ending {
            return Turn::Close;
        }
        self.outbox.transport().shutdown(Shutdown::Write);
        self.phase = Phase::Lingering { since_ns: now_ns };
        self.readable = true;
        Turn::Again
    }

    /// The server stops: calls that were read are still answered, no more are read.
    pub(crate) fn stop(&mut self) {
        self.stopping = true;
        self.readable = false;
    }

    /// A readiness event came. Returns whether the connection is over at once.
    pub(crate) fn on_event(&mut self, event: &mio::event::Event) -> bool {
        let taking = self.phase == Phase::Taking;
        if event.is_readable() && !(taking && self.stopping) {
            self.readable = true;
        }
        self.read_closed |= event.is_read_closed();
        event.is_error()
    }

    /// Whether calls are taken, and it is not ending.
    pub(crate) fn is_taking(&self) -> bool {
        self.phase == Phase::Taking
    }

    /// A bound has room again.
    pub(crate) fn resume(&mut self) {
        self.paused = false;
    }
}

#[cfg(test)]
mod tests;

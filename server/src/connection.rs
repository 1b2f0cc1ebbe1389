//! One connection's state between events, as its reader sees it: bytes in, runs of calls out.
//!
//! Reading stops at the connection's own bounds (calls in flight, bytes owed, calls per pass), and
//! what a bound cuts off stays in `held`, so that nothing depends on a second readiness event.

use crate::call::{Calls, Stamps};
use crate::frame_check::check;
use crate::intake::{Intake, LARGE_FRAME, Large};
use crate::limits::ReadLimits;
use crate::outbox::{Allowance, Outbox};
use crate::refusal::Refusal;
use bytes::BytesMut;
use echo_common::clock;
use echo_common::wire::detect::{Detected, detect};
use echo_common::wire::native;
use echo_common::wire::split::{Split, split};
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
}

mod time_limits;
pub(crate) use time_limits::Expired;

#[derive(Debug, PartialEq, Eq)]
enum Phase {
    /// The bytes that choose the conversation have not come.
    Opening,
    /// Native framing.
    Native,
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
}

impl Connection {
    pub(crate) fn new(outbox: Arc<Outbox>, now_ns: u64) -> Connection {
        Connection {
            outbox,
            phase: Phase::Opening,
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
        }
    }

    /// Takes what the bounds allow, from what is held or from one read.
    pub(crate) fn turn(&mut self, intake: &mut Intake) -> Turn {
        match self.phase {
            Phase::Opening | Phase::Native => {}
            Phase::Ending | Phase::Lingering { .. } => return self.discard(intake),
        }
        if self.paused || !self.may_take(intake) {
            // What is missing of a frame may lie in the socket: its time begins again when we read.
            self.frame_since_ns = 0;
            return Turn::Wait;
        }
        let turn = if self.large.is_some() {
            self.read_large(intake)
        } else if self.holds_frame(&intake.limits) {
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

    fn holds_frame(&self, limits: &ReadLimits) -> bool {
        let held = split(&self.held, limits.frame_size_max);
        self.phase == Phase::Native
            && !matches!(held, Ok(Split::NeedLength | Split::NeedBody { .. }))
    }

    fn take_held(&mut self, intake: &mut Intake) -> Turn {
        let held = std::mem::take(&mut self.held);
        let parsed = self.parse(&held, &intake.limits);
        self.held = held;
        let frames = self.held.split_to(parsed.end);
        self.submit(frames, &parsed, intake);
        self.settle(parsed, intake)
    }

    fn read(&mut self, intake: &mut Intake) -> Turn {
        let mut buffer = intake.lend(&self.held);
        let result = intake.read(self.outbox.transport(), &mut buffer);
        let turn = match result {
            Ok(0) => self.peer_ended(),
            Ok(_) => {
                self.readable = buffer.len() == buffer.capacity() || self.read_closed;
                let parsed = self.parse(&buffer, &intake.limits);
                self.held.clear();
                self.held.extend_from_slice(&buffer[parsed.end..]);
                if parsed.count > 0 {
                    let frames = intake.own(&mut buffer, parsed.start..parsed.end);
                    self.submit(frames, &parsed, intake);
                }
                self.settle(parsed, intake)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.readable = false;
                Turn::Wait
            }
            Err(_) => Turn::Close,
        };
        intake.give_back(buffer);
        turn
    }

    fn read_large(&mut self, intake: &mut Intake) -> Turn {
        let Some(large) = &mut self.large else { return Turn::Wait };
        match intake.read(self.outbox.transport(), large.room()) {
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
        let (frame, surplus) = large.finish();
        self.held = surplus;
        let parsed = self.parse(&frame, &intake.limits);
        self.submit(frame, &parsed, intake);
        self.settle(parsed, intake)
    }

    /// Finds whole calls at the front of `bytes`, as many as the bounds allow.
    fn parse(&mut self, bytes: &[u8], limits: &ReadLimits) -> Parsed {
        let mut parsed = Parsed::default();
        if self.phase == Phase::Opening {
            match detect(bytes) {
                Detected::NeedMore => return parsed,
                Detected::Native => {
                    self.phase = Phase::Native;
                    parsed.start = native::PREAMBLE_LEN;
                    parsed.end = native::PREAMBLE_LEN;
                }
                other => {
                    parsed.refusal = Some(Refusal::opening(other));
                    return parsed;
                }
            }
        }
        let count_max = self.allowance.calls.min(limits.reader_batch);
        while parsed.count < count_max && parsed.weight < self.allowance.bytes {
            let rest = &bytes[parsed.end..];
            match check(rest, limits) {
                Ok(Some(call)) => {
                    parsed.end += call.length;
                    parsed.weight += call.weight;
                    parsed.count += 1;
                    parsed.stats += u32::from(call.is_stats);
                    parsed.wants_stages |= call.wants_stages;
                    parsed.has_flags |= call.has_flags;
                }
                Ok(None) => break,
                Err(refusal) => {
                    parsed.refusal = Some(refusal);
                    break;
                }
            }
        }
        parsed
    }

    /// Hands the calls found over to the pass.
    fn submit(&mut self, frames: BytesMut, parsed: &Parsed, intake: &mut Intake) {
        if parsed.count == 0 {
            return;
        }
        self.greeted = true;
        self.active_ns = intake.now_ns;
        self.frame_since_ns = 0;
        self.allowance = self.outbox.begin(parsed.count, parsed.weight);
        let outbox = Arc::clone(&self.outbox);
        let read_ns = intake.now_ns;
        let (count, weight) = (parsed.count, parsed.weight);
        intake.pass_bytes += frames.len();
        intake.reader().calls.add(u64::from(count - parsed.stats));
        intake.reader().stats_calls.add(u64::from(parsed.stats));
        let stamps = parsed.wants_stages.then(|| {
            intake.stamped = true;
            Stamps { decoded_ns: clock::now_ns(), queued_ns: 0 }
        });
        let plain = !parsed.has_flags && parsed.stats == 0;
        intake.calls.push_back(Calls { outbox, frames, plain, count, weight, read_ns, stamps });
    }

    /// What is to do after calls were taken from the front of what came.
    fn settle(&mut self, parsed: Parsed, intake: &Intake) -> Turn {
        if let Some(refusal) = parsed.refusal {
            self.held = BytesMut::new();
            return Turn::Refuse(refusal);
        }
        if self.held.is_empty() {
            self.held = BytesMut::new();
        } else if self.phase == Phase::Native
            && let Ok(Split::NeedBody { total }) = split(&self.held, intake.limits.frame_size_max)
            && total > LARGE_FRAME
        {
            self.large = Some(Large::new(&self.held, total));
            self.held = BytesMut::new();
        }
        let more = self.readable || self.holds_frame(&intake.limits);
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
        let mut buffer = intake.lend(&[]);
        let result = intake.read(self.outbox.transport(), &mut buffer);
        let filled = buffer.len() == buffer.capacity();
        intake.give_back(buffer);
        match result {
            Ok(0) => self.peer_ended(),
            Ok(_) => {
                self.readable = filled || self.read_closed;
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
            Phase::Opening | Phase::Native => self.end(0),
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

    /// The last reply has left a connection that was to end.
    pub(crate) fn finished(&mut self, now_ns: u64) -> Turn {
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
        let taking = matches!(self.phase, Phase::Opening | Phase::Native);
        if event.is_readable() && !(taking && self.stopping) {
            self.readable = true;
        }
        self.read_closed |= event.is_read_closed();
        event.is_error()
    }

    /// A bound has room again.
    pub(crate) fn resume(&mut self) {
        self.paused = false;
    }
}

/// What [`Connection::parse`] found at the front of some bytes.
#[derive(Default)]
struct Parsed {
    /// Where the first call begins.
    start: usize,
    /// Where the last whole call taken ends.
    end: usize,
    count: u32,
    stats: u32,
    has_flags: bool,
    wants_stages: bool,
    weight: usize,
    refusal: Option<Refusal>,
}

#[cfg(test)]
mod tests;

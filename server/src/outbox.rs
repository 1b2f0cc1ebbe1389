//! One connection as seen by those who answer its calls: replies owed, calls in flight, and who
//! writes.
//!
//! Rules, all kept under one lock that is never held across a system call:
//! - At most one writer runs. Whoever appends while none runs (and the socket is not blocked)
//!   becomes the writer and must call `Outbox::flush`; everybody else just appends.
//! - Bytes owed imply that a writer runs or that the write side is armed: the socket said
//!   `WouldBlock` after the last append, and the reader's next writable edge goes on.
//! - A writable edge that comes while a writer runs is remembered, and the writer tries once more
//!   before it arms. So no edge is lost between the writer's last write and its arming.
//! - Reading is paused only while calls are in flight or bytes are owed, and whoever makes room
//!   sends [`Notice::Resume`], once.

use crate::mailbox::{ConnectionId, Mailbox, Notice};
use crate::mutant::Mutant;
use crate::owed::Owed;
use crate::sync::{Arc, AtomicBool, Mutex, MutexGuard, Ordering, lock};
use crate::transport::Transport;
use echo_common::clock;
use std::io;
use std::net::Shutdown;

mod withheld;

/// How much one connection may have in the server.
#[derive(Clone, Copy, Debug)]
pub struct FlowLimits {
    /// Calls read and not yet answered (`--calls-per-connection`).
    pub calls_max: u32,
    /// Bytes of calls in flight and of replies that the peer does not take (`--max-owed-bytes`).
    pub owed_bytes_max: usize,
    /// Whether somebody asks since when the connection is idle: costs a clock reading per flush.
    pub notes_idle: bool,
}

#[derive(Default)]
struct State {
    owed: Owed,
    in_flight: u32,
    in_flight_bytes: usize,
    /// A writer runs, or has been appointed.
    writing: bool,
    /// A writable edge came while a writer ran.
    edge: bool,
    /// The last write hit `WouldBlock`.
    armed: bool,
    /// When the socket last took bytes, or was first found full; meaningful while `armed`.
    progress_ns: u64,
    /// When the last reply left, if [`FlowLimits::notes_idle`].
    answered_ns: u64,
    /// The reader waits for [`Notice::Resume`].
    paused: bool,
    /// The reader waits for [`Notice::Finished`].
    finishing: bool,
    /// The connection has ended: replies are dropped and counted.
    closed: bool,
    /// A whole call waits at the reader behind the one in flight, and the reply that goes with the
    /// next one; both only with `--inject swap`.
    is_followed: bool,
    withheld: Option<Owed>,
}

/// How much more a connection may bring into the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allowance {
    /// Calls.
    pub calls: u32,
    /// Bytes; the call that goes beyond is the last one.
    pub bytes: usize,
}

impl Allowance {
    /// Whether not even one more call may be taken.
    pub fn is_used_up(&self) -> bool {
        self.calls == 0 || self.bytes == 0
    }
}

/// What a flush did, for the meters of the thread that ran it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flushed {
    /// Replies that the socket took; those gathered in one buffer count when all of it is gone.
    pub replies: u64,
    /// Replies that were dropped because the connection had ended.
    pub undeliverable: u64,
    /// Bytes that the socket took.
    pub bytes: u64,
    /// Write system calls.
    pub writes: u64,
}

impl Flushed {
    /// Adds another flush.
    pub fn add(&mut self, other: Flushed) {
        self.replies += other.replies;
        self.undeliverable += other.undeliverable;
        self.bytes += other.bytes;
        self.writes += other.writes;
    }
}

/// What became of appended replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// The caller is the writer now and must call `Outbox::flush`.
    Flush,
    /// Somebody else will write them.
    Queued,
    /// The connection had ended; this many replies were dropped.
    Closed(u32),
}

/// See the module's text.
pub struct Outbox {
    transport: Box<dyn Transport>,
    id: ConnectionId,
    reader: Arc<Mailbox>,
    limits: FlowLimits,
    state: Mutex<State>,
    /// Set together with `closed`, for a look without the lock. Relaxed: who sees it late serves
    /// calls for nobody, and the append finds out.
    ended: AtomicBool,
}

impl Outbox {
    /// The outbox of connection `id` of the reader behind `reader`.
    pub fn new(
        transport: Box<dyn Transport>,
        id: ConnectionId,
        reader: Arc<Mailbox>,
        limits: FlowLimits,
    ) -> Self {
        let (state, ended) = (Mutex::default(), AtomicBool::new(false));
        Outbox { transport, id, reader, limits, state, ended }
    }

    /// Which connection of its reader this is of.
    pub fn id(&self) -> ConnectionId {
        self.id
    }

    /// The socket.
    pub fn transport(&self) -> &dyn Transport {
        &*self.transport
    }

    /// Notes calls that were read, before the call queue sees them. Returns how many more the
    /// connection may have in flight.
    pub fn begin(&self, calls: u32, weight: usize) -> Allowance {
        let mut state = lock(&self.state);
        state.in_flight += calls;
        state.in_flight_bytes += weight;
        self.allowance(&state)
    }

    /// What more the connection may have in flight. When that is nothing, reading is paused and
    /// [`Notice::Resume`] will come.
    pub fn allowance_or_pause(&self) -> Allowance {
        let mut state = lock(&self.state);
        let allowance = self.allowance(&state);
        state = Mutant::PausedUnlooked.lets_go(&self.state, state);
        state.paused = allowance.is_used_up();
        allowance
    }

    /// Adds replies to `calls` calls that were charged `weight`; empties `replies`.
    pub(crate) fn append(&self, replies: &mut Owed, calls: u32, weight: usize) -> Appended {
        let mut state = lock(&self.state);
        assert!(state.in_flight >= calls, "{calls} replies to {} calls", state.in_flight);
        state.in_flight -= calls;
        state.in_flight_bytes -= weight;
        self.append_locked(state, replies)
    }

    /// Adds something that is no reply to a call in flight: a refusal of the connection.
    pub(crate) fn append_refusal(&self, refusal: &mut Owed) -> Appended {
        self.append_locked(lock(&self.state), refusal)
    }

    fn append_locked(&self, mut state: MutexGuard<'_, State>, replies: &mut Owed) -> Appended {
        if state.closed {
            let dropped = replies.replies();
            replies.clear();
            return Appended::Closed(dropped);
        }
        if let Some(mut earlier) = state.withheld.take_if(|_| !replies.is_empty()) {
            replies.append(&mut earlier);
        }
        if state.armed {
            replies.compact();
        }
        if state.owed.is_empty() {
            std::mem::swap(&mut state.owed, replies);
        } else {
            state.owed.append(replies);
        }
        let writing = state.writing && !Mutant::TwoWriters.is_on();
        if writing || state.armed {
            return Appended::Queued;
        }
        state.writing = true;
        Appended::Flush
    }

    /// Writes what is owed until nothing is left or the socket is full. Only for the writer that
    /// `Outbox::append` appointed. `scratch` must be new; it comes back empty, with the buffers
    /// that were written from, so that an idle connection keeps none.
    pub(crate) fn flush(&self, scratch: &mut Owed) -> Flushed {
        let mut flushed = Flushed::default();
        let mut state = lock(&self.state);
        loop {
            let appointed = state.writing || Mutant::TwoWriters.is_on();
            assert!(appointed, "flush without having been appointed");
            std::mem::swap(&mut state.owed, scratch);
            drop(state);
            let (written, result) = scratch.write_to(|pieces| self.transport.write(pieces));
            flushed.replies += u64::from(written.replies);
            flushed.bytes += written.bytes as u64;
            flushed.writes += u64::from(written.system_calls);
            let blocked_ns = if result.is_err() { clock::now_ns() } else { 0 };
            state = lock(&self.state);
            if !scratch.is_empty() {
                let later = &mut state.owed;
                scratch.append(later);
                std::mem::swap(later, scratch);
            }
            match result {
                _ if state.closed => return self.flush_closed(state, scratch, flushed),
                Ok(()) if state.owed.is_empty() => return self.flush_done(state, flushed),
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if written.bytes > 0 || state.progress_ns == 0 {
                        state.progress_ns = blocked_ns;
                    }
                    if !std::mem::take(&mut state.edge) {
                        state.owed.compact();
                        state.writing = false;
                        state.armed = true;
                        drop(state);
                        self.reader.notify(Notice::Armed(self.id));
                        return flushed;
                    }
                }
                Err(_) => {
                    state.closed = true;
                    self.ended.store(true, Ordering::Relaxed);
                    return self.flush_closed(state, scratch, flushed);
                }
            }
        }
    }

    fn flush_done<'a>(&'a self, mut state: MutexGuard<'a, State>, flushed: Flushed) -> Flushed {
        state = Mutant::WriterLeavesUnlooked.lets_go(&self.state, state);
        state.writing = false;
        state.edge = false;
        state.progress_ns = 0;
        if self.limits.notes_idle {
            state.answered_ns = clock::now_ns();
        }
        let notice = self.due_notice(&mut state);
        drop(state);
        if let Some(notice) = notice {
            self.reader.notify(notice);
        }
        flushed
    }

    fn flush_closed(
        &self,
        mut state: MutexGuard<'_, State>,
        scratch: &mut Owed,
        mut flushed: Flushed,
    ) -> Flushed {
        state.writing = false;
        if !Mutant::DropUncounted.is_on() {
            flushed.undeliverable += u64::from(state.owed.replies());
        }
        state.owed.clear();
        scratch.clear();
        drop(state);
        self.reader.notify(Notice::Broken(self.id));
        flushed
    }

    /// The reader saw a writable edge: goes on with a blocked write, if there is one.
    pub(crate) fn writable(&self, scratch: &mut Owed) -> Flushed {
        let mut state = lock(&self.state);
        if state.writing {
            state.edge = !Mutant::EdgeForgotten.is_on();
            return Flushed::default();
        }
        if !state.armed || state.closed {
            return Flushed::default();
        }
        state.armed = false;
        state.writing = true;
        drop(state);
        self.flush(scratch)
    }

    /// Whether the connection has ended, so that nobody waits for replies any more.
    #[inline]
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// The connection shall end when its last reply has left. Returns whether that is now;
    /// else [`Notice::Finished`] will come.
    pub fn finish(&self) -> bool {
        let mut state = lock(&self.state);
        let idle = Self::is_idle(&state);
        state.finishing = !idle;
        idle
    }

    /// While no call is in flight and nothing is owed: when the last reply left (0 before the
    /// first one); needs [`FlowLimits::notes_idle`].
    pub fn idle_since(&self) -> Option<u64> {
        debug_assert!(self.limits.notes_idle);
        let state = lock(&self.state);
        Self::is_idle(&state).then_some(state.answered_ns)
    }

    /// While bytes are owed to a full socket: when it last took some.
    pub fn blocked_since(&self) -> Option<u64> {
        let state = lock(&self.state);
        state.armed.then_some(state.progress_ns)
    }

    /// Bytes of replies owed now.
    pub fn owed_bytes(&self) -> usize {
        lock(&self.state).owed.len()
    }

    /// The connection ends now: both directions are shut, replies owed are dropped. Returns how
    /// many were. The socket itself goes with the last owner of the outbox.
    pub fn close(&self) -> u32 {
        let mut state = lock(&self.state);
        state.closed = true;
        self.ended.store(true, Ordering::Relaxed);
        let withheld = state.withheld.take().map_or(0, |reply| reply.replies());
        let dropped = state.owed.replies() + withheld;
        state.owed.clear();
        drop(state);
        self.transport.shutdown(Shutdown::Both);
        dropped
    }

    fn is_idle(state: &State) -> bool {
        state.in_flight == 0 && state.owed.is_empty() && !state.writing
    }

    fn allowance(&self, state: &State) -> Allowance {
        let bytes = state.in_flight_bytes + state.owed.len();
        Allowance {
            calls: self.limits.calls_max.saturating_sub(state.in_flight),
            bytes: self.limits.owed_bytes_max.saturating_sub(bytes),
        }
    }

    /// The notice that the reader waits for, if its time has come.
    fn due_notice(&self, state: &mut State) -> Option<Notice> {
        if state.finishing && Self::is_idle(state) {
            state.finishing = false;
            return Some(Notice::Finished(self.id));
        }
        if state.paused && !self.allowance(state).is_used_up() {
            state.paused = false;
            return Some(Notice::Resume(self.id));
        }
        None
    }
}

#[cfg(test)]
mod tests;

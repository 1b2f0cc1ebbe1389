//! One follower as its leader sees it: a pipelined native connection, and what the follower holds.
//!
//! A link that is down connects again after a growing, jittered pause. Connected, it asks who is
//! there and how large calls may be ([`WHO_ID`]), and then that the follower joins ([`Kind::Join`])
//! from the first call that the log still has; from the reply on the follower is in sync: it holds,
//! or will be sent, every call since then. Sent and not acknowledged are at most `window` bytes.
//!
//! A call that is too large for the follower is never sent. The link stops there until the call is
//! answered, and then has the follower begin anew behind it.

use crate::replica_log::ReplicaLog;
use bytes::BytesMut;
use echo_common::clock;
use echo_common::wire::native::{
    EPOCH_LEN, HEADER_LEN, Header, Introduction, Kind, PREAMBLE, SINCE_LEN, WHO_ID,
};
use mio::event::Event;
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

mod answers;
mod pace;
use pace::Pace;

/// The first pause before connecting again, and the longest; each is twice the one before, up to
/// half more or less, while no connection gets anything done.
const BACKOFF_MIN: Duration = Duration::from_millis(20);
const BACKOFF_MAX: Duration = Duration::from_secs(2);
/// Bytes of frames that are put together for the socket.
const OUT_MAX: usize = 256 << 10;
const READ_BUFFER: usize = 64 << 10;
/// Reads of one pass; what is left is remembered.
const READS_PER_PASS: usize = 8;

/// How far a link has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// No connection; the next attempt is due then.
    Down { retry_ns: u64 },
    /// The connection is being set up.
    Connecting,
    /// The follower is asked who it is.
    Greeting,
    /// It has said so; the replicator judges.
    Introduced,
    /// The follower is asked to hold calls from this one on.
    Joining { from: u64 },
    /// The follower holds every call from `since` to `next`, and will be sent the others.
    InSync { since: u64, next: u64 },
}

/// What a link is told once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkConfig {
    pub(crate) epoch: u64,
    pub(crate) window: usize,
    /// Without progress while some is due, the connection is given up.
    pub(crate) timeout_ns: u64,
}

/// See the module's text.
pub(crate) struct Link {
    pub(crate) address: SocketAddr,
    token: Token,
    config: LinkConfig,
    stream: Option<TcpStream>,
    phase: Phase,
    backoff: Duration,
    random: SmallRng,
    out: Vec<u8>,
    written: usize,
    input: BytesMut,
    readable: bool,
    writable: bool,
    /// Whether what the phase asks was sent.
    asked: bool,
    pace: Pace,
    /// Who the follower is, while connected, and the longest payload that it holds.
    introduction: Option<Introduction>,
    /// The next call to send, and the same before calls had to be sent again.
    sent: u64,
    sent_max: u64,
    /// Bytes of calls that were sent and not acknowledged.
    unacknowledged: usize,
    /// Since when something is due from the follower, or it last moved on.
    progress_ns: u64,
    /// The digest of all calls before those of this stay in sync, and the first of these.
    before: (u64, u64),
    /// The follower acknowledged something on this connection; since when it is in sync.
    gained: bool,
    in_sync_ns: u64,
    /// How often it came to be in sync.
    pub(crate) joins: u64,
    /// A call, with its bytes, that the follower has just begun anew behind.
    pub(crate) passed_over: Option<(u64, usize)>,
    /// What was said last of it, and is not to be said again.
    pub(crate) complaint: String,
}

impl Link {
    pub(crate) fn new(address: SocketAddr, token: Token, config: LinkConfig) -> Link {
        Link {
            address,
            token,
            config,
            stream: None,
            phase: Phase::Down { retry_ns: 0 },
            backoff: BACKOFF_MIN,
            random: SmallRng::seed_from_u64(config.epoch ^ token.0 as u64),
            out: Vec::new(),
            written: 0,
            input: BytesMut::new(),
            readable: false,
            writable: false,
            asked: false,
            pace: Pace::new(config.window),
            introduction: None,
            sent: 0,
            sent_max: 0,
            unacknowledged: 0,
            progress_ns: 0,
            before: (0, 0),
            gained: false,
            in_sync_ns: 0,
            joins: 0,
            passed_over: None,
            complaint: String::new(),
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        self.phase
    }

    /// The first call that the follower does not hold, while it is in sync.
    pub(crate) fn held_below(&self) -> Option<u64> {
        match self.phase {
            Phase::InSync { next, .. } => Some(next),
            _ => None,
        }
    }

    /// The first call that the log has to keep for this follower.
    pub(crate) fn needs(&self) -> Option<u64> {
        match self.phase {
            Phase::Joining { from } => Some(from),
            Phase::InSync { next, .. } => Some(next),
            Phase::Down { .. } | Phase::Connecting | Phase::Greeting | Phase::Introduced => None,
        }
    }

    /// Who the follower is, while it is connected and has said so.
    pub(crate) fn server(&self) -> Option<u64> {
        self.introduction.map(|introduction| introduction.server)
    }

    /// Whether a payload of so many bytes is not too large for the follower.
    pub(crate) fn can_hold(&self, bytes: usize) -> bool {
        self.introduction.is_none_or(|introduction| bytes as u64 <= introduction.payload_max)
    }

    /// Whether the follower holds every call before this one and will never hold this one.
    pub(crate) fn stops_at(&self, sequence: u64, bytes: usize) -> bool {
        self.held_below() == Some(sequence) && !self.can_hold(bytes)
    }

    /// The digest of the calls that the follower holds since it came to be in sync; known while it
    /// holds all there are.
    pub(crate) fn digest<W>(&self, log: &ReplicaLog<W>) -> Option<u64> {
        let all_held = self.held_below() == Some(log.next());
        all_held.then(|| log.digest_below(log.next()).wrapping_sub(self.before.1))
    }

    /// When the link has to be looked at without an event; `u64::MAX` for never.
    pub(crate) fn due_ns<W>(&self, log: &ReplicaLog<W>) -> u64 {
        if self.has_work() || self.begins_anew(log).is_some() {
            return 0;
        }
        match self.phase {
            Phase::Down { retry_ns } => retry_ns,
            Phase::InSync { next, .. } if next == self.sent && !self.pace.is_stalled() => u64::MAX,
            _ => {
                let timeout_ns = self.progress_ns.saturating_add(self.config.timeout_ns);
                self.pace.resume_ns().map_or(timeout_ns, |resume_ns| resume_ns.min(timeout_ns))
            }
        }
    }

    /// Whether there is something to read that no event will announce.
    fn has_work(&self) -> bool {
        self.readable && self.stream.is_some()
    }

    pub(crate) fn on_event(&mut self, event: &Event) {
        self.readable |= event.is_readable() || event.is_read_closed() || event.is_error();
        self.writable |= event.is_writable();
    }

    /// Does what can be done now. The error says why the connection is gone, if it is.
    pub(crate) fn drive<W>(
        &mut self,
        log: &ReplicaLog<W>,
        registry: &Registry,
        now_ns: u64,
    ) -> io::Result<()> {
        let result = self.step(log, registry, now_ns);
        if result.is_err() {
            self.leave(now_ns);
        }
        result
    }

    /// Gives the connection up; the next attempt comes after a pause.
    pub(crate) fn leave(&mut self, now_ns: u64) {
        let stayed = matches!(self.phase, Phase::InSync { .. })
            && clock::elapsed_ns(self.in_sync_ns, now_ns) >= clock::ns(BACKOFF_MAX);
        if self.gained || stayed {
            self.backoff = BACKOFF_MIN;
        }
        self.stream = None;
        self.introduction = None;
        (self.readable, self.writable) = (false, false);
        let pause = self.backoff.mul_f64(self.random.random_range(0.5..1.5));
        self.backoff = (self.backoff * 2).min(BACKOFF_MAX);
        self.phase = Phase::Down { retry_ns: now_ns.saturating_add(clock::ns(pause)) };
    }

    fn step<W>(&mut self, log: &ReplicaLog<W>, registry: &Registry, now_ns: u64) -> io::Result<()> {
        match self.phase {
            Phase::Down { retry_ns } if retry_ns <= now_ns => self.connect(registry, now_ns)?,
            Phase::Down { .. } => {}
            Phase::Connecting if self.readable || self.writable => self.connected(now_ns)?,
            Phase::Introduced => self.ask(Phase::Joining { from: log.base() }, now_ns),
            _ => {}
        }
        self.read(log, now_ns)?;
        if let Some(call) = self.begins_anew(log) {
            self.begin_anew(call, log, now_ns);
        }
        self.send(log, now_ns)?;
        if !self.has_work() && self.due_ns(log) <= now_ns && self.stream.is_some() {
            let what = "it does not answer (--follower-timeout)";
            return Err(io::Error::new(ErrorKind::TimedOut, what));
        }
        Ok(())
    }

    fn connect(&mut self, registry: &Registry, now_ns: u64) -> io::Result<()> {
        let mut stream = TcpStream::connect(self.address)?;
        registry.register(&mut stream, self.token, Interest::READABLE | Interest::WRITABLE)?;
        self.stream = Some(stream);
        self.phase = Phase::Connecting;
        self.progress_ns = now_ns;
        Ok(())
    }

    /// The attempt to connect has ended, well or not: asks who is there.
    fn connected(&mut self, now_ns: u64) -> io::Result<()> {
        let Some(stream) = &self.stream else { return Ok(()) };
        if let Some(error) = stream.take_error()? {
            return Err(error);
        }
        if stream.peer_addr().is_err_and(|error| error.kind() == ErrorKind::NotConnected) {
            self.writable = false;
            return Ok(());
        }
        if stream.local_addr()? == self.address {
            // A port that nobody listens on was given to the connecting end itself.
            return Err(ErrorKind::ConnectionRefused.into());
        }
        stream.set_nodelay(true)?;
        self.out.clear();
        self.written = 0;
        self.input.clear();
        self.out.extend_from_slice(&PREAMBLE);
        self.pace = Pace::new(self.config.window);
        self.gained = false;
        self.ask(Phase::Greeting, now_ns);
        Ok(())
    }

    /// Goes into a phase that begins with a question.
    fn ask(&mut self, phase: Phase, now_ns: u64) {
        self.phase = phase;
        self.asked = false;
        self.progress_ns = now_ns;
    }

    /// The call that the follower will never hold and that nobody waits for any more, if it holds
    /// all others before.
    fn begins_anew<W>(&self, log: &ReplicaLog<W>) -> Option<u64> {
        let Phase::InSync { next, .. } = self.phase else { return None };
        let is_next = next < log.answered() && next == self.sent && self.pace.is_quiet();
        let bytes = log.payload(next).filter(|_| is_next)?.len();
        (!self.can_hold(bytes)).then_some(next)
    }

    /// Has the follower begin anew behind such a call, and behind others like it.
    fn begin_anew<W>(&mut self, call: u64, log: &ReplicaLog<W>, now_ns: u64) {
        let bytes = |call| log.payload(call).map(|payload| payload.len());
        self.passed_over = bytes(call).map(|bytes| (call, bytes));
        let fits = |call: &u64| bytes(*call).is_none_or(|bytes| self.can_hold(bytes));
        let from = (call + 1..log.answered()).find(fits).unwrap_or(log.answered());
        self.ask(Phase::Joining { from }, now_ns);
    }

    fn read<W>(&mut self, log: &ReplicaLog<W>, now_ns: u64) -> io::Result<()> {
        for _ in 0..READS_PER_PASS {
            let Some(stream) = self.stream.as_mut().filter(|_| self.readable) else {
                return Ok(());
            };
            let held = self.input.len();
            self.input.resize(held + READ_BUFFER, 0);
            let result = stream.read(&mut self.input[held..]);
            self.input.truncate(held + *result.as_ref().unwrap_or(&0));
            match result {
                Ok(0) => return Err(io::Error::new(ErrorKind::UnexpectedEof, "it has closed")),
                Ok(_) => self.take_frames(log, now_ns)?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.readable = false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Sends calls as far as the window and the socket allow.
    fn send<W>(&mut self, log: &ReplicaLog<W>, now_ns: u64) -> io::Result<()> {
        loop {
            self.fill(log, now_ns);
            let Some(stream) = self.stream.as_mut().filter(|_| self.writable) else {
                return Ok(());
            };
            if self.written == self.out.len() {
                return Ok(());
            }
            match stream.write(&self.out[self.written..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => self.written += written,
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.writable = false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Puts together what is to be asked or sent again, and frames of further calls.
    fn fill<W>(&mut self, log: &ReplicaLog<W>, now_ns: u64) {
        if self.written == self.out.len() {
            self.out.clear();
            self.written = 0;
        }
        let again = self.pace.rewinds(now_ns);
        let next = match self.phase {
            Phase::InSync { next, .. } => next,
            Phase::Greeting => return self.fill_question(WHO_ID, again, now_ns),
            Phase::Joining { from } => return self.fill_question(from, again, now_ns),
            Phase::Down { .. } | Phase::Connecting | Phase::Introduced => return,
        };
        if again {
            self.sent = next;
            self.unacknowledged = 0;
        }
        while self.out.len() < OUT_MAX
            && self.pace.allows(self.unacknowledged, now_ns)
            && let Some(payload) = log.payload(self.sent).filter(|call| self.can_hold(call.len()))
        {
            if next == self.sent && !self.pace.is_stalled() {
                // Nothing was due until now.
                self.progress_ns = now_ns;
            }
            let header = Header::new(Kind::Replica, 0, self.sent, EPOCH_LEN, payload.len());
            self.out.extend_from_slice(&header.encode());
            self.out.extend_from_slice(&self.config.epoch.to_be_bytes());
            self.out.extend_from_slice(payload);
            self.unacknowledged += frame_len(payload.len());
            self.sent += 1;
            self.sent_max = self.sent_max.max(self.sent);
            self.pace.sent();
        }
    }

    /// The question of a phase, once.
    fn fill_question(&mut self, id: u64, again: bool, now_ns: u64) {
        self.asked &= !again;
        if self.asked || !self.pace.allows(0, now_ns) {
            return;
        }
        let head = Header::new(Kind::Join, 0, id, EPOCH_LEN, SINCE_LEN);
        self.out.extend_from_slice(&head.encode());
        self.out.extend_from_slice(&self.config.epoch.to_be_bytes());
        self.out.extend_from_slice(&self.before.0.to_be_bytes());
        self.asked = true;
        self.pace.sent();
    }
}

fn frame_len(payload: usize) -> usize {
    HEADER_LEN + EPOCH_LEN + payload
}

#[cfg(test)]
mod tests;

//! One follower as its leader sees it: a pipelined native connection, and what the follower holds.
//!
//! A link that is down connects again after a growing, jittered pause. Connected, it asks the
//! follower to join ([`Kind::Join`]) from the first call that the log still has; from the reply on
//! the follower is in sync: it holds, or will be sent, every call since then. Sent and not
//! acknowledged are at most `window` bytes.

use crate::replica_log::ReplicaLog;
use bytes::BytesMut;
use echo_common::clock;
use echo_common::wire::native::{
    EPOCH_LEN, HEADER_LEN, Header, Holding, Kind, PREAMBLE, SINCE_LEN,
};
use echo_common::wire::split::{Split, split};
use mio::event::Event;
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

/// The first pause before connecting again, and the longest; each is twice the one before, up to
/// half more or less.
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
    /// The follower was asked to hold calls from this one on.
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
    /// The next call to send.
    sent: u64,
    /// Bytes of calls that were sent and not acknowledged.
    unacknowledged: usize,
    /// Since when something is due from the follower, or it last moved on.
    progress_ns: u64,
    /// The digest of all calls before those of this stay in sync, and the first of these.
    before: (u64, u64),
    /// How often it came to be in sync.
    pub(crate) joins: u64,
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
            sent: 0,
            unacknowledged: 0,
            progress_ns: 0,
            before: (0, 0),
            joins: 0,
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
            Phase::Down { .. } | Phase::Connecting => None,
        }
    }

    /// The digest of the calls that the follower holds since it came to be in sync; known while it
    /// holds all there are.
    pub(crate) fn digest<W>(&self, log: &ReplicaLog<W>) -> Option<u64> {
        let all_held = self.held_below() == Some(log.next());
        all_held.then(|| log.digest_below(log.next()).wrapping_sub(self.before.1))
    }

    /// When the link has to be looked at without an event; `u64::MAX` for never.
    pub(crate) fn due_ns(&self) -> u64 {
        if self.has_work() {
            return 0;
        }
        match self.phase {
            Phase::Down { retry_ns } => retry_ns,
            Phase::InSync { next, .. } if next == self.sent => u64::MAX,
            _ => self.progress_ns.saturating_add(self.config.timeout_ns),
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
        self.stream = None;
        (self.readable, self.writable) = (false, false);
        let pause = self.backoff.mul_f64(self.random.random_range(0.5..1.5));
        self.backoff = (self.backoff * 2).min(BACKOFF_MAX);
        self.phase = Phase::Down { retry_ns: now_ns.saturating_add(clock::ns(pause)) };
    }

    fn step<W>(&mut self, log: &ReplicaLog<W>, registry: &Registry, now_ns: u64) -> io::Result<()> {
        match self.phase {
            Phase::Down { retry_ns } if retry_ns <= now_ns => self.connect(registry, now_ns)?,
            Phase::Down { .. } => {}
            Phase::Connecting if self.readable || self.writable => self.connected(log, now_ns)?,
            Phase::Connecting | Phase::Joining { .. } | Phase::InSync { .. } => {}
        }
        self.read(log, now_ns)?;
        self.send(log, now_ns)?;
        if !self.has_work() && self.due_ns() <= now_ns && self.stream.is_some() {
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

    /// The attempt to connect has ended, well or not: asks the follower to join.
    fn connected<W>(&mut self, log: &ReplicaLog<W>, now_ns: u64) -> io::Result<()> {
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
        let from = log.base();
        self.out.clear();
        self.written = 0;
        self.input.clear();
        self.out.extend_from_slice(&PREAMBLE);
        self.out
            .extend_from_slice(&Header::new(Kind::Join, 0, from, EPOCH_LEN, SINCE_LEN).encode());
        self.out.extend_from_slice(&self.config.epoch.to_be_bytes());
        self.out.extend_from_slice(&self.before.0.to_be_bytes());
        self.phase = Phase::Joining { from };
        self.progress_ns = now_ns;
        Ok(())
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

    fn take_frames<W>(&mut self, log: &ReplicaLog<W>, now_ns: u64) -> io::Result<()> {
        loop {
            let length = match split(&self.input, ANSWER_MAX).map_err(io::Error::other)? {
                Split::Frame(length) => length,
                Split::NeedLength | Split::NeedBody { .. } => return Ok(()),
            };
            let frame = self.input.split_to(length);
            let Some((head, body)) = frame.split_first_chunk::<HEADER_LEN>() else {
                return Err(ErrorKind::InvalidData.into());
            };
            let header = Header::decode(head).map_err(io::Error::other)?;
            self.take_frame(&header, body, log)?;
            self.progress_ns = now_ns;
        }
    }

    fn take_frame<W>(
        &mut self,
        header: &Header,
        body: &[u8],
        log: &ReplicaLog<W>,
    ) -> io::Result<()> {
        match (header.kind, self.phase) {
            (Kind::Reply, Phase::InSync { since, next }) => {
                let Some(held) = body.first_chunk().map(|held| u64::from_be_bytes(*held)) else {
                    return Err(unexpected("a reply without what it holds"));
                };
                if held > self.sent {
                    return Err(unexpected("it holds calls that it was not sent"));
                }
                // Replies of several handlers overtake one another.
                for sequence in next..held {
                    let payload = log.payload(sequence).map_or(0, |payload| payload.len());
                    self.unacknowledged -= frame_len(payload);
                }
                self.phase = Phase::InSync { since, next: next.max(held) };
                Ok(())
            }
            (Kind::Join, Phase::Joining { from }) => {
                let Some(holding) = body.first_chunk().map(Holding::decode) else {
                    return Err(unexpected("a join without what it holds"));
                };
                self.joined(from, holding, log)
            }
            (Kind::Error, _) => {
                let text = String::from_utf8_lossy(body).escape_debug().to_string();
                Err(io::Error::other(format!("it refuses: {text}")))
            }
            _ => Err(unexpected("a frame that answers nothing")),
        }
    }

    /// The follower is in sync now.
    fn joined<W>(&mut self, from: u64, holding: Holding, log: &ReplicaLog<W>) -> io::Result<()> {
        let Holding { since, next } = holding;
        if !(from..=log.next()).contains(&next) || since > next {
            return Err(unexpected("it holds calls that there are not"));
        }
        if since != self.before.0 {
            if since != from || next != from {
                return Err(unexpected("it neither goes on nor begins anew"));
            }
            self.before = (from, log.digest_below(from));
        }
        self.phase = Phase::InSync { since, next };
        self.sent = next;
        self.unacknowledged = 0;
        self.backoff = BACKOFF_MIN;
        self.joins += 1;
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

    /// Puts frames of further calls together.
    fn fill<W>(&mut self, log: &ReplicaLog<W>, now_ns: u64) {
        if self.written == self.out.len() {
            self.out.clear();
            self.written = 0;
        }
        let Phase::InSync { next, .. } = self.phase else { return };
        while self.out.len() < OUT_MAX
            && (self.unacknowledged < self.config.window)
            && let Some(payload) = log.payload(self.sent)
        {
            if next == self.sent {
                // Nothing was due until now.
                self.progress_ns = now_ns;
            }
            let header = Header::new(Kind::Replica, 0, self.sent, EPOCH_LEN, payload.len());
            self.out.extend_from_slice(&header.encode());
            self.out.extend_from_slice(&self.config.epoch.to_be_bytes());
            self.out.extend_from_slice(payload);
            self.unacknowledged += frame_len(payload.len());
            self.sent += 1;
        }
    }
}

/// The longest answer of a follower: an error with its text.
const ANSWER_MAX: usize = 4096;

fn frame_len(payload: usize) -> usize {
    HEADER_LEN + EPOCH_LEN + payload
}

fn unexpected(what: &'static str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

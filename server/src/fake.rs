//! For tests: a socket that does everything the kernel may do, drawn from one seed.

use crate::transport::Transport;
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::net::Shutdown;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// Small, seeded, and the same on every machine.
#[derive(Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn within(&mut self, range: Range<usize>) -> usize {
        range.start + (self.roll() >> 16) as usize % (range.end - range.start)
    }

    /// True once in `n` times.
    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.within(0..n) == 0
    }

    pub(crate) fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(length + 7);
        while out.len() < length {
            out.extend_from_slice(&self.roll().to_ne_bytes());
        }
        out.truncate(length);
        out
    }
}

/// Runs the body once for each seed: as many as `ECHO_SEEDS` says, from `ECHO_SEED` on. A failure
/// names its seed.
pub(crate) fn for_each_seed(count: u64, body: impl Fn(&mut Dice)) {
    let set = |name: &str, default: u64| -> u64 {
        std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
    };
    let first = set("ECHO_SEED", 1);
    for seed in first..first.saturating_add(set("ECHO_SEEDS", count)) {
        let run = std::panic::AssertUnwindSafe(|| body(&mut Dice::new(seed)));
        if let Err(panic) = std::panic::catch_unwind(run) {
            eprintln!("to see this again: ECHO_SEED={seed} ECHO_SEEDS=1");
            std::panic::resume_unwind(panic);
        }
    }
}

#[derive(Debug)]
struct Pipes {
    dice: Dice,
    /// Bytes that have come and were not read.
    arrived: VecDeque<u8>,
    peer_ended: bool,
    broken: bool,
    written: Vec<u8>,
    /// Whether a write may fail of itself.
    fragile: bool,
    /// What the send buffer takes before it is full.
    room: usize,
    /// A write found the buffer full: the next room is announced.
    write_blocked: bool,
    shut: Option<Shutdown>,
}

/// Something that happens while a system call runs.
type Meanwhile = Box<dyn FnMut() + Send>;

/// A socket as the kernel may treat it: reads and writes may be short, interrupted, blocked or
/// fail; readiness is announced by edges only, which the test carries to the reader.
#[derive(Clone)]
pub(crate) struct FakeSocket {
    pipes: Arc<Mutex<Pipes>>,
    /// Runs during each write, while no lock of the server is held.
    meanwhile: Arc<Mutex<Option<Meanwhile>>>,
}

impl FakeSocket {
    pub(crate) fn new(seed: u64) -> FakeSocket {
        let pipes = Pipes {
            dice: Dice::new(seed),
            arrived: VecDeque::new(),
            peer_ended: false,
            broken: false,
            written: Vec::new(),
            fragile: false,
            room: 0,
            write_blocked: false,
            shut: None,
        };
        FakeSocket { pipes: Arc::new(Mutex::new(pipes)), meanwhile: Arc::default() }
    }

    fn pipes(&self) -> std::sync::MutexGuard<'_, Pipes> {
        self.pipes.lock().expect("no panic while it is held")
    }

    pub(crate) fn during_writes(&self, what: impl FnMut() + Send + 'static) {
        *self.meanwhile.lock().unwrap() = Some(Box::new(what));
    }

    fn let_others_work(&self) {
        if let Some(meanwhile) = &mut *self.meanwhile.lock().unwrap() {
            meanwhile();
        }
    }

    /// From now on a write may fail, or write nothing.
    pub(crate) fn make_fragile(&self) {
        self.pipes().fragile = true;
    }

    /// Bytes come from the peer: a readable edge.
    pub(crate) fn arrive(&self, bytes: &[u8]) {
        self.pipes().arrived.extend(bytes);
    }

    /// The peer shuts its side: a readable edge.
    pub(crate) fn end(&self) {
        self.pipes().peer_ended = true;
    }

    /// The peer resets: an edge in both directions.
    pub(crate) fn reset(&self) {
        let mut pipes = self.pipes();
        pipes.broken = true;
        pipes.arrived.clear();
    }

    /// The send buffer takes `bytes` more; returns whether that is a writable edge.
    pub(crate) fn drain(&self, bytes: usize) -> bool {
        let mut pipes = self.pipes();
        pipes.room = pipes.room.saturating_add(bytes);
        std::mem::take(&mut pipes.write_blocked)
    }

    /// What was written so far.
    pub(crate) fn written(&self) -> Vec<u8> {
        self.pipes().written.clone()
    }

    pub(crate) fn written_len(&self) -> usize {
        self.pipes().written.len()
    }

    pub(crate) fn shut(&self) -> Option<Shutdown> {
        self.pipes().shut
    }
}

impl Transport for FakeSocket {
    fn read(&self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        let mut pipes = self.pipes();
        if pipes.dice.one_in(12) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if pipes.broken {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        let n = pipes.arrived.len().min(buffer.capacity() - buffer.len());
        assert!(buffer.capacity() > buffer.len(), "a read without room says nothing");
        if n == 0 && !pipes.peer_ended {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        buffer.extend(pipes.arrived.drain(..n));
        Ok(n)
    }

    fn write(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        self.let_others_work();
        let mut pipes = self.pipes();
        let total: usize = pieces.iter().map(|piece| piece.len()).sum();
        assert!(total > 0 && pieces.len() <= 1024, "{} pieces of {total} bytes", pieces.len());
        if pipes.dice.one_in(12) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if pipes.broken || pipes.shut.is_some() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if pipes.fragile && pipes.dice.one_in(40) {
            pipes.broken = true;
            return if pipes.dice.one_in(2) {
                Ok(0)
            } else {
                Err(io::ErrorKind::BrokenPipe.into())
            };
        }
        let mut n = total.min(pipes.room);
        if n == 0 {
            pipes.write_blocked = true;
            drop(pipes);
            // Room may come before the caller has seen that there is none.
            self.let_others_work();
            return Err(io::ErrorKind::WouldBlock.into());
        }
        if pipes.dice.one_in(3) {
            n = pipes.dice.within(1..n + 1);
        }
        pipes.room -= n;
        let mut left = n;
        for piece in pieces {
            let taken = left.min(piece.len());
            pipes.written.extend_from_slice(&piece[..taken]);
            left -= taken;
        }
        Ok(n)
    }

    fn shutdown(&self, how: Shutdown) {
        self.pipes().shut = Some(how);
    }
}

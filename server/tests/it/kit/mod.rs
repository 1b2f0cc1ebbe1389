//! A started server that exposes its counters, peers that behave badly, a canary, and patience.

mod canary;
mod inside;
mod peer;
mod proc;
mod server;

pub(crate) use canary::Canary;
pub(crate) use inside::{Inside, Tricky, config, hadoop};
pub(crate) use peer::{
    Frame, Peer, call_frame, connect_from, payload, resp_size_frame, stats_frame,
};
pub(crate) use proc::Proc;
pub(crate) use server::{Ended, Server, arguments, command, run};

use echo_common::clock;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// What takes longer than this hangs. Generous, because tests run side by side on few cores.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Lets time pass: the pace of a slow peer, never a way to wait for something.
pub(crate) fn pass(time: Duration) {
    let (_kept, never) = channel::<()>();
    assert_eq!(never.recv_timeout(time), Err(RecvTimeoutError::Timeout));
}

/// Looks again and again until `done` says so; a failure names `what`.
#[track_caller]
pub(crate) fn until(what: &str, mut done: impl FnMut() -> bool) {
    let give_up_ns = clock::now_ns() + clock::ns(PATIENCE);
    while !done() {
        assert!(clock::now_ns() < give_up_ns, "in vain: {what}");
        pass(Duration::from_millis(5));
    }
}

/// The bodies' result and how long they took.
pub(crate) fn timed<T>(body: impl FnOnce() -> T) -> (T, Duration) {
    let since_ns = clock::now_ns();
    let result = body();
    (result, Duration::from_nanos(clock::now_ns() - since_ns))
}

/// Small, seeded, and the same on every machine.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.roll() >> 16) as usize % end
    }

    pub(crate) fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| (self.roll() >> 32) as u8).collect()
    }
}

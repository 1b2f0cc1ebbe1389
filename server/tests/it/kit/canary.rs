//! A well-behaved client beside the villains: one small call every 20 ms, checked byte for byte.

use super::{Peer, timed};
use std::net::SocketAddr;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

const EVERY: Duration = Duration::from_millis(20);
const CALL_BYTES: usize = 64;

/// Calls until it is asked.
pub(crate) struct Canary {
    enough: Sender<()>,
    thread: JoinHandle<Vec<Duration>>,
}

impl Canary {
    /// Starts, with a first call that has been answered.
    #[track_caller]
    pub(crate) fn start(address: SocketAddr) -> Canary {
        let mut peer = Peer::open(address);
        peer.echo(0, CALL_BYTES);
        let (enough, told) = channel();
        let thread = thread::spawn(move || {
            let mut took = Vec::new();
            while told.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                let id = took.len() as u64 + 1;
                took.push(timed(|| peer.echo(id, CALL_BYTES)).1);
            }
            took
        });
        Canary { enough, thread }
    }

    /// Ends it: every call was answered rightly. Returns the longest time that one took.
    #[track_caller]
    pub(crate) fn stop(self) -> Duration {
        // It has ended already if a call failed; then the join tells.
        let _ = self.enough.send(());
        let took = self.thread.join().expect("a canary without failures");
        took.into_iter().max().unwrap_or_default()
    }

    /// Ends it: nothing failed, and no call waited for a villain's time limit.
    #[track_caller]
    pub(crate) fn stop_well(self) {
        let slowest = self.stop();
        assert!(slowest < Duration::from_secs(2), "the canary waited {slowest:?}");
    }
}

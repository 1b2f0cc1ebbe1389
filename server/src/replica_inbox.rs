//! The replicator's door: handlers hand calls over and never wait.
//!
//! What may be in it is bounded by bytes, from the hand-over until the replicator gives them back
//! with [`ReplicaInbox::release`]: calls that wait for followers count as long as they wait.
//!
//! **Why no wake-up is lost.** As in the mailbox of a reader: who puts something into an inbox that
//! had nothing pending sets `pending` under the lock and then wakes the poll; the replicator clears
//! it under the same lock, in the step in which it takes everything out.

use crate::mailbox::Wake;
use crate::mutant::Mutant;
use crate::sync::{Mutex, MutexGuard, lock};

/// Whatever has a size.
pub(crate) trait Charged {
    /// Bytes that it counts against the bound.
    fn bytes(&self) -> usize;
}

struct Inner<H> {
    calls: Vec<H>,
    /// Handed over and not released.
    bytes: usize,
    /// A wake-up was sent and not answered yet.
    pending: bool,
    orders: Orders,
}

/// What the replicator is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Orders {
    /// Calls may wait for their holders.
    Serve,
    /// The server stops: calls wait only while enough followers are in sync.
    Drain,
    /// Nothing is taken any more, and nobody waits.
    End,
}

/// See the module's text.
pub(crate) struct ReplicaInbox<H> {
    inner: Mutex<Inner<H>>,
    bytes_max: usize,
    waker: Box<dyn Wake>,
}

/// Why calls were not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotTaken {
    /// As many bytes wait as may.
    Full,
    /// The server stops.
    Stopping,
}

impl<H: Charged> ReplicaInbox<H> {
    /// An inbox for calls of `bytes_max` bytes; the call that goes beyond is the last one.
    pub(crate) fn new(bytes_max: usize, waker: Box<dyn Wake>) -> ReplicaInbox<H> {
        let inner = Inner { calls: Vec::new(), bytes: 0, pending: false, orders: Orders::Serve };
        ReplicaInbox { inner: Mutex::new(inner), bytes_max, waker }
    }

    /// Hands over the calls at the front, as many as there is room for. Those left are refused.
    pub(crate) fn offer(&self, calls: &mut Vec<H>) -> Result<(), NotTaken> {
        let mut inner = lock(&self.inner);
        if inner.orders == Orders::End {
            return Err(NotTaken::Stopping);
        }
        let mut count = 0;
        while count < calls.len() && inner.bytes < self.bytes_max {
            inner.bytes += calls[count].bytes();
            count += 1;
        }
        if Mutant::OfferedAfterWake.is_on() {
            self.wake_after(inner);
            inner = lock(&self.inner);
            inner.calls.extend(calls.drain(..count));
        } else if count > 0 {
            inner.calls.extend(calls.drain(..count));
            self.wake_after(inner);
        }
        if calls.is_empty() { Ok(()) } else { Err(NotTaken::Full) }
    }

    /// Takes everything out; only for the replicator, on each wake-up. Returns what it is to do.
    pub(crate) fn collect(&self, calls: &mut Vec<H>) -> Orders {
        let mut inner = lock(&self.inner);
        calls.append(&mut inner.calls);
        inner.pending = false;
        inner.orders
    }

    /// Calls of so many bytes do not wait any more.
    pub(crate) fn release(&self, bytes: usize) {
        if bytes > 0 {
            let mut inner = lock(&self.inner);
            assert!(inner.bytes >= bytes, "released {bytes} of {} bytes", inner.bytes);
            inner.bytes -= bytes;
        }
    }

    /// Bytes that wait.
    pub(crate) fn waiting_bytes(&self) -> usize {
        lock(&self.inner).bytes
    }

    /// The server stops: the replicator drains, while calls still come.
    pub(crate) fn drain(&self) {
        self.order(Orders::Drain);
    }

    /// The replicator shall end; nothing is taken any more.
    pub(crate) fn stop(&self) {
        self.order(Orders::End);
    }

    fn order(&self, orders: Orders) {
        let mut inner = lock(&self.inner);
        inner.orders = orders;
        self.wake_after(inner);
    }

    fn wake_after(&self, mut inner: MutexGuard<'_, Inner<H>>) {
        let first = !inner.pending;
        inner.pending = true;
        drop(inner);
        if first {
            self.waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    impl Charged for usize {
        fn bytes(&self) -> usize {
            *self
        }
    }

    struct Bell(Arc<AtomicU32>);

    impl Wake for Bell {
        fn wake(&self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn calls_are_taken_up_to_the_bound_and_again_when_others_are_released() {
        let rings = Arc::new(AtomicU32::new(0));
        let inbox = ReplicaInbox::new(100, Box::new(Bell(Arc::clone(&rings))));
        let mut calls = vec![60_usize, 60, 1];
        assert_eq!(inbox.offer(&mut calls), Err(NotTaken::Full));
        assert_eq!((calls.as_slice(), inbox.waiting_bytes()), (&[1][..], 120));
        assert_eq!(inbox.offer(&mut calls), Err(NotTaken::Full));
        inbox.release(60);
        assert_eq!(inbox.offer(&mut calls), Ok(()));
        assert_eq!(rings.load(Ordering::Relaxed), 1, "one wake-up until it is answered");
        let mut taken = Vec::new();
        assert_eq!(inbox.collect(&mut taken), Orders::Serve);
        assert_eq!(taken, [60, 60, 1]);
        inbox.release(61);
        inbox.drain();
        assert_eq!(inbox.offer(&mut vec![1]), Ok(()), "a handler may still have some");
        assert_eq!((inbox.collect(&mut taken), taken.len()), (Orders::Drain, 4));
        inbox.stop();
        assert_eq!(inbox.offer(&mut vec![1]), Err(NotTaken::Stopping));
        assert_eq!(inbox.collect(&mut taken), Orders::End);
        assert_eq!(rings.load(Ordering::Relaxed), 3);
    }
}

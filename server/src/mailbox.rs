//! A reader's mailbox: fresh connections from the listener, notices from whoever writes replies.
//!
//! **Why no wake-up is lost.** Whoever puts something into a mailbox that had nothing pending
//! sets `pending` under the lock and then wakes the reader's poll; the reader clears `pending`
//! under the same lock, in the same step in which it takes everything out. So whatever is in the
//! mailbox was either put before a wake-up that is still to come, or is taken by the one that came.

use crate::admission::Slot;
use crate::mutant::Mutant;
use crate::sync::{Condvar, Mutex, lock, wait};
use mio::net::TcpStream;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;

/// Wakes a reader that sleeps in its poll.
pub trait Wake: Send + Sync + 'static {
    /// Makes the reader's next (or current) poll return.
    fn wake(&self);
}

impl Wake for mio::Waker {
    fn wake(&self) {
        // Otherwise an eventfd write fails only when its counter is full: then a wake-up is due.
        while mio::Waker::wake(self).is_err_and(|error| error.kind() == io::ErrorKind::Interrupted)
        {
        }
    }
}

/// A connection of one reader, never reused: slot number below, generation above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionId(pub usize);

/// Something that the reader of a connection has to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Reading was paused by a bound, which has room again.
    Resume(ConnectionId),
    /// The socket took no more; the next writable edge goes on, and the stall clock runs.
    Armed(ConnectionId),
    /// The connection was to end when its last reply has left, and it has.
    Finished(ConnectionId),
    /// A write failed: the peer has gone.
    Broken(ConnectionId),
}

/// A connection on its way from the listener to a reader.
pub struct Fresh {
    /// The socket, non-blocking.
    pub stream: TcpStream,
    /// Where it comes from.
    pub peer: SocketAddr,
    /// Its place under the connection limits; comes back when dropped.
    pub slot: Slot,
}

/// What a reader takes out of its mailbox in one go; reused from pass to pass.
pub struct Delivery<F = Fresh> {
    /// Connections to register.
    pub fresh: VecDeque<F>,
    /// Connections to look at.
    pub notices: Vec<Notice>,
    /// The server stops: read no more, end connections as they run dry.
    pub stopping: bool,
    /// Draining took too long: end every connection now.
    pub cut: bool,
}

impl<F> Default for Delivery<F> {
    fn default() -> Delivery<F> {
        let (fresh, notices) = (VecDeque::new(), Vec::new());
        Delivery { fresh, notices, stopping: false, cut: false }
    }
}

struct Inner<F> {
    fresh: VecDeque<F>,
    notices: Vec<Notice>,
    /// A wake-up was sent and not answered yet.
    pending: bool,
    stopping: bool,
    cut: bool,
}

/// See the module's text. `F` is what a listener delivers.
pub struct Mailbox<F = Fresh> {
    inner: Mutex<Inner<F>>,
    room: Condvar,
    capacity: usize,
    waker: Box<dyn Wake>,
}

impl<F> Mailbox<F> {
    /// A mailbox for at most `capacity` fresh connections; notices are bounded by the number of
    /// connections, each of which has at most one of a kind under way.
    pub fn new(capacity: usize, waker: Box<dyn Wake>) -> Mailbox<F> {
        assert!(capacity > 0, "a mailbox needs room for one connection");
        let (fresh, notices) = (VecDeque::new(), Vec::new());
        let inner = Inner { fresh, notices, pending: false, stopping: false, cut: false };
        Mailbox { inner: Mutex::new(inner), room: Condvar::new(), capacity, waker }
    }

    /// Hands over a connection; waits while the mailbox is full. Gives it back when the server
    /// stops. Returns whether it had to wait, too.
    pub fn deliver(&self, fresh: F) -> Result<bool, F> {
        let mut inner = lock(&self.inner);
        let mut waited = false;
        while inner.fresh.len() >= self.capacity && !inner.stopping {
            waited = true;
            inner = wait(&self.room, inner);
        }
        if inner.stopping {
            return Err(fresh);
        }
        inner.fresh.push_back(fresh);
        self.wake_after(inner);
        Ok(waited)
    }

    /// Leaves a notice.
    pub fn notify(&self, notice: Notice) {
        let mut inner = lock(&self.inner);
        if Mutant::WokenBeforePush.is_on() {
            self.wake_after(inner);
            return lock(&self.inner).notices.push(notice);
        }
        inner.notices.push(notice);
        self.wake_after(inner);
    }

    /// Tells the reader to end; nothing is delivered any more.
    pub fn stop(&self) {
        let mut inner = lock(&self.inner);
        inner.stopping = true;
        self.room.notify_all();
        self.wake_after(inner);
    }

    /// Tells the reader to end every connection at once.
    pub fn cut(&self) {
        let mut inner = lock(&self.inner);
        inner.stopping = true;
        inner.cut = true;
        self.room.notify_all();
        self.wake_after(inner);
    }

    /// Takes everything out. The reader calls this on each wake-up.
    pub fn collect(&self, delivery: &mut Delivery<F>) {
        let mut inner = lock(&self.inner);
        let was_full = inner.fresh.len() >= self.capacity;
        delivery.fresh.append(&mut inner.fresh);
        delivery.notices.append(&mut inner.notices);
        delivery.stopping = inner.stopping;
        delivery.cut = inner.cut;
        inner = Mutant::WakeAnsweredLate.lets_go(&self.inner, inner);
        inner.pending = false;
        if was_full {
            // All of them: there is room for several, and a mailbox that is not full tells nobody.
            if Mutant::RoomForOne.is_on() {
                self.room.notify_one();
            } else {
                self.room.notify_all();
            }
        }
    }

    fn wake_after(&self, mut inner: crate::sync::MutexGuard<'_, Inner<F>>) {
        let first = !inner.pending;
        inner.pending = true;
        drop(inner);
        if first {
            self.waker.wake();
        }
    }
}

#[cfg(test)]
mod tests;

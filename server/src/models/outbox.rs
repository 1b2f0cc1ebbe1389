//! The outbox and its write side: one writer at a time, and no reply stays behind.

use super::kernel::Kernel;
use super::{holds, rejects};
use crate::call::Calls;
use crate::mailbox::{ConnectionId, Delivery, Mailbox, Notice};
use crate::meters::OutMeters;
use crate::mutant::Mutant;
use crate::outbox::{FlowLimits, Outbox};
use crate::responder::Responder;
use crate::sync::Arc;
use bytes::BytesMut;
use loom::thread::{self, JoinHandle};

const ID: ConnectionId = ConnectionId(1);
/// Bytes of a reply; the socket takes fewer at once in these models.
const REPLY: usize = 3;

/// One connection and the poll of its reader.
pub(super) struct Peer {
    pub(super) kernel: Kernel,
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) outbox: Arc<Outbox>,
}

/// What became of replies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) sent: u64,
    pub(super) dropped: u64,
}

impl Ended {
    fn of(meters: &OutMeters) -> Ended {
        Ended { sent: meters.replies.get(), dropped: meters.undeliverable.get() }
    }

    pub(super) fn add(&mut self, other: Ended) {
        self.sent += other.sent;
        self.dropped += other.dropped;
    }
}

/// One call of the connection behind `outbox`, charged one byte.
pub(super) fn call(outbox: &Arc<Outbox>) -> Calls {
    let (outbox, frames) = (Arc::clone(outbox), BytesMut::new());
    Calls {
        outbox,
        frames,
        plain: true,
        count: 1,
        weight: 1,
        read_ns: 0,
        stamps: None,
        hadoop: None,
        is_slow: false,
    }
}

/// Replies to each of `calls` with a frame of `name`s, as a handler does, batch after batch.
pub(super) fn reply(calls: impl IntoIterator<Item = Calls>, name: u8) -> Ended {
    let (mut responder, meters) = (Responder::default(), OutMeters::default());
    for calls in calls {
        let mut replies = responder.scratch();
        replies.push_small(&[name], &[name; REPLY - 1]);
        responder.append(calls, replies, &meters);
        responder.flush(&meters);
    }
    Ended::of(&meters)
}

impl Peer {
    pub(super) fn new(room: usize, limits: FlowLimits) -> Peer {
        let kernel = Kernel::new(room);
        let mailbox = Arc::new(Mailbox::new(1, Box::new(kernel.clone())));
        let outbox = Outbox::new(Box::new(kernel.clone()), ID, Arc::clone(&mailbox), limits);
        Peer { kernel, mailbox, outbox: Arc::new(outbox) }
    }

    /// The reader's event loop until the notice `awaited` comes.
    pub(super) fn run_until(&self, awaited: Notice) -> Ended {
        let (mut responder, meters) = (Responder::default(), OutMeters::default());
        let mut delivery = Delivery::default();
        loop {
            let events = self.kernel.poll();
            if events.writable {
                responder.writable(&self.outbox, &meters);
            }
            if events.woken {
                self.mailbox.collect(&mut delivery);
            }
            let mut came = false;
            for notice in delivery.notices.drain(..) {
                came |= notice == awaited;
                let armed = Notice::Armed(ID);
                assert!(notice == awaited || notice == armed, "{notice:?} was not expected");
            }
            if came {
                return Ended::of(&meters);
            }
        }
    }

    /// The connection is to end when its last reply has left; returns when it has.
    pub(super) fn drain(&self) -> Ended {
        if self.outbox.finish() {
            return Ended::default();
        }
        self.run_until(Notice::Finished(ID))
    }

    pub(super) fn resumed(&self) -> Ended {
        self.run_until(Notice::Resume(ID))
    }

    /// What was sent is whole frames, each from one handler, but for the last one if the
    /// connection was cut. Returns how many are whole.
    pub(super) fn whole_frames(&self) -> u64 {
        let sent = self.kernel.sent();
        for frame in sent.chunks(REPLY) {
            assert!(frame.iter().all(|byte| *byte == frame[0]), "interleaved: {sent:?}");
        }
        (sent.len() / REPLY) as u64
    }

    /// Two handlers, with so many calls each.
    fn handlers(&self, counts: [u32; 2]) -> [JoinHandle<Ended>; 2] {
        let total = counts.iter().sum();
        self.outbox.begin(total, total as usize);
        [0, 1].map(|handler| {
            let calls: Vec<_> = (0..counts[handler]).map(|_| call(&self.outbox)).collect();
            thread::spawn(move || reply(calls, b'a' + handler as u8))
        })
    }
}

const UNLIMITED: FlowLimits =
    FlowLimits { calls_max: u32::MAX, owed_bytes_max: usize::MAX, notes_idle: false };

/// Two handlers reply, the socket is full again and again, the reader sees the edges: at rest
/// every reply has left. Were bytes owed with nobody to write them, the reader would not wake.
fn every_reply_leaves(room: usize, counts: [u32; 2]) {
    let peer = Peer::new(room, UNLIMITED);
    let handlers = peer.handlers(counts);
    let total = u64::from(counts[0] + counts[1]);
    let mut ended = peer.drain();
    for handler in handlers {
        ended.add(handler.join().unwrap());
    }
    assert_eq!(ended, Ended { sent: total, dropped: 0 });
    assert_eq!(peer.whole_frames(), total);
    assert_eq!(peer.outbox.owed_bytes(), 0);
    assert_eq!(peer.outbox.blocked_since(), None);
}

/// The connection is closed at any time, with a pass of the event loop before it or not: each
/// reply counts once, as sent or as dropped.
fn a_close_counts_each_reply_once(room: usize, polls: bool) {
    let peer = Peer::new(room, UNLIMITED);
    let handlers = peer.handlers([2, 1]);
    let meters = OutMeters::default();
    if polls && peer.kernel.poll().writable {
        Responder::default().writable(&peer.outbox, &meters);
    }
    let dropped = u64::from(peer.outbox.close());
    let mut ended = Ended::of(&meters);
    ended.add(Ended { sent: 0, dropped });
    for handler in handlers {
        ended.add(handler.join().unwrap());
    }
    assert_eq!(ended.sent + ended.dropped, 3, "{ended:?}");
    // Not fewer: replies that share a buffer count as sent when all of it is.
    assert!(ended.sent <= peer.whole_frames(), "{ended:?}");
    assert_eq!(peer.outbox.owed_bytes(), 0);
    assert!(peer.outbox.has_ended());
}

#[test]
fn every_reply_leaves_a_socket_that_takes_2_bytes_at_once() {
    holds(|| every_reply_leaves(2, [2, 1]));
}

#[test]
fn every_reply_leaves_a_socket_that_takes_4_bytes_at_once() {
    holds(|| every_reply_leaves(4, [2, 2]));
}

#[test]
fn a_close_counts_each_reply_once_before_any_event() {
    holds(|| a_close_counts_each_reply_once(4, false));
}

#[test]
fn a_close_counts_each_reply_once_after_an_event() {
    holds(|| a_close_counts_each_reply_once(2, true));
}

#[test]
fn mutant_edge_forgotten() {
    rejects(Mutant::EdgeForgotten, "deadlock", || every_reply_leaves(2, [1, 1]));
}

#[test]
fn mutant_two_writers() {
    rejects(Mutant::TwoWriters, "two writers at once", || every_reply_leaves(8, [1, 1]));
}

#[test]
fn mutant_writer_leaves_unlooked() {
    rejects(Mutant::WriterLeavesUnlooked, "deadlock", || every_reply_leaves(4, [1, 1]));
}

#[test]
fn mutant_drop_uncounted() {
    rejects(Mutant::DropUncounted, "Ended", || a_close_counts_each_reply_once(4, false));
}

//! Pausing and resuming a connection's reading: never paused with nothing in flight, nothing owed
//! and no [`Notice::Resume`](crate::mailbox::Notice::Resume) on its way.

use super::outbox::{Ended, Peer, call, reply};
use super::{holds, rejects};
use crate::call_queue::{CallQueue, WhenFull};
use crate::mutant::Mutant;
use crate::outbox::{Allowance, FlowLimits};
use crate::sync::Arc;
use loom::thread;
use std::collections::VecDeque;

const CALLS: u64 = 2;

/// A reader takes calls of one connection one by one, under `limits` that hold for one at a time,
/// and hands them through the call queue to a handler. Each time that reading is paused the reader
/// sleeps until it may go on; in the end every call is answered.
fn reading_goes_on(limits: FlowLimits, room: usize) {
    let peer = Peer::new(room, limits);
    let queue = Arc::new(CallQueue::new(1, 1, 1, WhenFull::Wait, 0));
    let handler = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || {
            let (mut ended, mut batch) = (Ended::default(), Vec::new());
            while queue.take(0, 1, &mut batch).is_some() {
                ended.add(reply(batch.drain(..), b'a'));
            }
            ended
        })
    };
    let mut ended = Ended::default();
    let mut allowance = Allowance::default();
    for _ in 0..CALLS {
        while allowance.is_used_up() {
            allowance = peer.outbox.allowance_or_pause();
            if allowance.is_used_up() {
                ended.add(peer.resumed());
            }
        }
        let calls = call(&peer.outbox);
        if !Mutant::BegunLate.is_on() {
            allowance = peer.outbox.begin(calls.count, calls.weight);
        }
        queue.put(0, &mut VecDeque::from([calls]));
        if Mutant::BegunLate.is_on() {
            allowance = peer.outbox.begin(1, 1);
        }
    }
    queue.close();
    ended.add(peer.drain());
    ended.add(handler.join().unwrap());
    assert_eq!(ended, Ended { sent: CALLS, dropped: 0 });
    assert_eq!(peer.whole_frames(), CALLS);
    assert!(!peer.outbox.allowance_or_pause().is_used_up(), "nothing is left in flight or owed");
}

/// One call in flight at a time.
const ONE_CALL: FlowLimits =
    FlowLimits { calls_max: 1, owed_bytes_max: usize::MAX, notes_idle: false };

/// A call (one byte) or a reply that the peer has not taken stops reading.
const ONE_BYTE: FlowLimits =
    FlowLimits { calls_max: u32::MAX, owed_bytes_max: 1, notes_idle: false };

#[test]
fn reading_goes_on_after_one_call_at_a_time() {
    holds(|| reading_goes_on(ONE_CALL, 4));
}

#[test]
fn reading_goes_on_when_the_bytes_owed_have_left() {
    holds(|| reading_goes_on(ONE_BYTE, 2));
}

#[test]
fn mutant_paused_unlooked() {
    rejects(Mutant::PausedUnlooked, "deadlock", || reading_goes_on(ONE_CALL, 4));
}

#[test]
fn mutant_begun_late() {
    rejects(Mutant::BegunLate, "replies to 0 calls", || reading_goes_on(ONE_CALL, 4));
}

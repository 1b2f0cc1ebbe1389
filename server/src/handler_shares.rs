//! The handlers' shares of a batch: each call goes to the handler that its key belongs to, in the
//! order in which it stood in the log.
//!
//! Each handler has a bounded queue of its own. A full one holds whoever dispatches back until all
//! of that handler's share is in, so that what waits behind a slow handler is bounded.

use crate::call::{Calls, header_at, key_of};
use crate::call_queue::CallQueue;
use crate::key_slots::KeySlots;
use echo_common::wire::native::HEADER_LEN;
use std::collections::VecDeque;
use std::sync::Arc;

/// See the module's text.
pub(crate) struct HandlerShares {
    slots: KeySlots,
    queues: Arc<[Arc<CallQueue>]>,
    /// By handler.
    shares: Vec<VecDeque<Calls>>,
    /// Handlers that have a share in this batch, in the order of their first calls.
    dealt: Vec<usize>,
}

/// What handing out a batch's shares took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HandedOut {
    /// Shares that had to wait for room in their handler's queue.
    pub(crate) held_back: u64,
    /// How long that took in all.
    pub(crate) blocked_ns: u64,
}

impl HandlerShares {
    /// Shares for the handlers behind `queues`.
    pub(crate) fn new(queues: Arc<[Arc<CallQueue>]>) -> HandlerShares {
        let shares = queues.iter().map(|_| VecDeque::new()).collect();
        HandlerShares { slots: KeySlots::new(queues.len()), queues, shares, dealt: Vec::new() }
    }

    /// Adds the calls of a run to their handlers' shares; takes it apart where it must be.
    pub(crate) fn deal(&mut self, mut calls: Calls) {
        loop {
            let (handler, count) = self.front(&calls);
            if count == calls.count {
                return self.add(handler, calls);
            }
            let front = calls.split_front(count);
            self.add(handler, front);
        }
    }

    /// Puts every share into its handler's queue. A queue that is closed takes nothing: the drain
    /// was cut, and nobody waits for these calls any more.
    pub(crate) fn hand_out(&mut self) -> HandedOut {
        let mut handed = HandedOut::default();
        for handler in self.dealt.drain(..) {
            let share = &mut self.shares[handler];
            if let Some(blocked_ns) = self.queues[handler].put(0, share).blocked_ns {
                handed.held_back += 1;
                handed.blocked_ns += blocked_ns;
            }
            share.clear();
        }
        handed
    }

    /// No more calls come.
    pub(crate) fn close(&self) {
        self.queues.iter().for_each(|queue| queue.close());
    }

    fn add(&mut self, handler: usize, calls: Calls) {
        if self.shares[handler].is_empty() {
            self.dealt.push(handler);
        }
        self.shares[handler].push_back(calls);
    }

    /// The handler of the first call, and how many calls from there on are its, too.
    fn front(&self, calls: &Calls) -> (usize, u32) {
        let without_key = self.slots.handler_of(Arc::as_ptr(&calls.outbox).addr() as u64);
        // Calls of Hadoop RPC have no keys.
        if calls.plain || calls.hadoop.is_some() {
            return (without_key, calls.count);
        }
        let (mut handler, mut count, mut at) = (0, 0, 0);
        while count < calls.count {
            let header = header_at(&calls.frames[at..]);
            let key = key_of(&header, &calls.frames[at + HEADER_LEN..]);
            let this = key.map_or(without_key, |key| self.slots.handler_of(key));
            if count > 0 && this != handler {
                break;
            }
            handler = this;
            count += 1;
            at += header.frame_len();
        }
        (handler, count)
    }
}

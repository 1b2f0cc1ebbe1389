//! What the kernel is to a reader, as two abstract events and a socket.
//!
//! A wake-up (eventfd) is a flag that a wake sets and a poll clears. A writable edge comes once
//! after registration, and again once the peer has taken something from a socket that had said
//! `WouldBlock`. That the peer does so just when the reader polls loses no order of events: nobody
//! else could see the edge, and the poll itself may come at any time.

use crate::mailbox::Wake;
use crate::sync::{Arc, Condvar, Mutex, lock, wait};
use crate::transport::Transport;
use std::io::{self, IoSlice};
use std::net::Shutdown;

/// One reader's poll and one socket in it; clones are the same one.
#[derive(Clone)]
pub(super) struct Kernel(Arc<Parts>);

struct Parts {
    state: Mutex<State>,
    event: Condvar,
    /// Bytes that the socket takes until it is full, and again after each edge.
    room_max: usize,
}

struct State {
    woken: bool,
    edge: bool,
    room: usize,
    /// Somebody is inside a write.
    writing: bool,
    shut: bool,
    sent: Vec<u8>,
}

/// What a poll returned; at least one of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Events {
    pub(super) woken: bool,
    pub(super) writable: bool,
}

impl Kernel {
    pub(super) fn new(room_max: usize) -> Kernel {
        let state = State {
            woken: false,
            edge: true,
            room: room_max,
            writing: false,
            shut: false,
            sent: Vec::new(),
        };
        Kernel(Arc::new(Parts { state: Mutex::new(state), event: Condvar::new(), room_max }))
    }

    /// Sleeps until something happens; what it returns will not be told again.
    pub(super) fn poll(&self) -> Events {
        let mut state = lock(&self.0.state);
        while !state.woken && !state.edge {
            state = wait(&self.0.event, state);
        }
        let events = Events { woken: state.woken, writable: state.edge };
        (state.woken, state.edge) = (false, false);
        if events.writable {
            state.room = self.0.room_max;
        }
        events
    }

    /// The bytes that the socket took.
    pub(super) fn sent(&self) -> Vec<u8> {
        lock(&self.0.state).sent.clone()
    }
}

impl Wake for Kernel {
    fn wake(&self) {
        lock(&self.0.state).woken = true;
        self.0.event.notify_one();
    }
}

impl Transport for Kernel {
    fn read(&self, _: &mut Vec<u8>) -> io::Result<usize> {
        unreachable!("no model reads")
    }

    fn write(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut state = lock(&self.0.state);
        assert!(!std::mem::replace(&mut state.writing, true), "two writers at once");
        drop(state);
        let mut state = lock(&self.0.state);
        state.writing = false;
        if state.shut {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if state.room == 0 {
            state.edge = true;
            drop(state);
            self.0.event.notify_one();
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let bytes: Vec<u8> = pieces.iter().flat_map(|piece| piece.iter().copied()).collect();
        let count = bytes.len().min(state.room);
        state.room -= count;
        state.sent.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn shutdown(&self, _: Shutdown) {
        lock(&self.0.state).shut = true;
    }
}

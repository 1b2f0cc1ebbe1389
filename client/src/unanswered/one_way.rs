//! A connection whose calls are done when they are written.

use crate::call_table::EndedCall;
use crate::connection::{Connection, Desk, ReadEnd};
use crate::conversation::Framing;
use crate::keys::NO_KEY;
use crate::link::Link;
use crate::outcome::{Failure, Ledger};
use std::io;

/// See the module's text.
pub(super) struct OneWay<'a> {
    connection: Connection<'a>,
    /// The number of the next call.
    next: u64,
    /// Of the calls that are owed, those of the warm-up. They are the first.
    warmup_owed: u64,
    /// When the calls that are owed were started: all at once, while nothing was owed.
    started_ns: u64,
    /// The socket did not take all.
    blocked: bool,
}

/// Calls whose last byte has been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) measured: u64,
    pub(super) warmup: u64,
}

impl<'a> OneWay<'a> {
    /// Connection `number`, on which nothing has been called yet.
    pub(super) fn new(link: Link, framing: &'a Framing, number: u64) -> OneWay<'a> {
        OneWay {
            connection: Connection::new(link, framing, number, 0, false),
            next: 0,
            warmup_owed: 0,
            started_ns: 0,
            blocked: false,
        }
    }

    /// Calls of which bytes are owed.
    pub(super) fn owed(&self) -> u64 {
        self.connection.unwritten() as u64
    }

    /// Whether the socket has not taken what was last given to it.
    pub(super) fn is_blocked(&self) -> bool {
        self.blocked
    }

    /// Whether bytes that were written are still held by an emulated network.
    pub(super) fn holds(&self) -> bool {
        self.connection.holds()
    }

    /// When the calls that are owed were started; none if nothing is owed.
    pub(super) fn waiting_since_ns(&self) -> Option<u64> {
        (self.owed() > 0).then_some(self.started_ns)
    }

    /// Enters calls; `flush` writes them. The socket has taken all that was flushed before.
    pub(super) fn start(&mut self, calls: u64, measured: bool, now_ns: u64) {
        assert!(!self.blocked, "calls are started only where the socket takes them");
        for number in self.next..self.next + calls {
            self.connection.push(id_of(number));
        }
        self.next += calls;
        self.started_ns = now_ns;
        self.warmup_owed += if measured { 0 } else { calls };
    }

    /// Writes what is owed, as far as the socket takes it.
    pub(super) fn flush(&mut self, desk: &mut Desk) -> (Written, io::Result<()>) {
        let before = self.owed();
        let flushed = self.connection.flush(desk);
        self.blocked = self.owed() > 0;
        let written = before - self.owed();
        let warmup = written.min(self.warmup_owed);
        self.warmup_owed -= warmup;
        (Written { measured: written - warmup, warmup }, flushed)
    }

    /// Gives the socket what an emulated network has held long enough.
    pub(super) fn deliver(&mut self) -> io::Result<()> {
        self.connection.deliver()
    }

    /// The socket has bytes, or its end.
    pub(super) fn note_readable(&mut self) {
        self.connection.note_readable();
    }

    /// Reads what has come: the reason for an end perhaps, and nothing else that is right.
    pub(super) fn read(&mut self, closed: bool, desk: &mut Desk) -> (ReadEnd, u64) {
        self.connection.read(closed, desk)
    }

    /// Nothing more is written.
    pub(super) fn end_writing(&self) -> io::Result<()> {
        self.connection.end_writing()
    }

    /// Ends the calls that are owed, because of `failure`; returns how many.
    pub(super) fn end_all(&mut self, failure: Failure, now_ns: u64, ledger: &mut Ledger) -> u64 {
        let owed = self.owed();
        for call in 0..owed {
            let measured = call >= self.warmup_owed;
            let since_ns = self.started_ns;
            let ended = EndedCall { due_ns: since_ns, sent_ns: since_ns, measured, key: NO_KEY };
            ledger.failed(ended, failure, now_ns);
        }
        owed
    }
}

/// The id of the call with this number on its connection. One bit of an id asks for stage times.
fn id_of(number: u64) -> u64 {
    (number >> 31) << 32 | number & 0x7fff_ffff
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_table::wants_stages;

    #[test]
    fn no_two_calls_have_the_same_id_and_none_asks_for_stage_times() {
        for around in [0, 1 << 31, 1 << 32, 3 << 31] {
            let ids: Vec<u64> = (around..around + 3).map(id_of).collect();
            assert!(ids.is_sorted() && ids[0] < ids[1] && ids[1] < ids[2], "{ids:x?}");
            assert!(!ids.iter().any(|id| wants_stages(*id)), "{ids:x?}");
        }
        assert!(id_of((1 << 31) - 1) < id_of(1 << 31));
    }
}

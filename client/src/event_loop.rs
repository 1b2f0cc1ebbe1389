//! What the event loops of all kinds of workers do alike: events, and bytes that an emulated
//! network has held long enough, go to the connection that they are about.

use crate::connect::WAKER;
use crate::link::{DELAY_TIMER, Delays, Way};
use crate::worker::TIMER;
use mio::event::Event;
use mio::{Events, Token};
use std::io;

/// A worker, whatever its calls are.
pub(crate) trait EventLoop {
    /// Looks where the run is.
    fn see(&mut self);

    /// The socket of a connection has bytes, or its end.
    fn note_readable(&mut self, index: usize);

    /// Reads what came on a connection; to its end, if the peer has `closed` or no edge will say
    /// that there is more.
    fn go_on_reading(&mut self, index: usize, closed: bool);

    /// The socket takes bytes again, or an emulated network does.
    fn go_on_writing(&mut self, index: usize);

    /// What its timer announced is due.
    fn timer_fired(&mut self);

    /// An emulated network, if there is one.
    fn delays(&mut self) -> Option<&mut Delays>;

    /// Connections with bytes that no edge will announce again.
    fn take_unfinished(&mut self) -> Vec<usize>;

    /// After a poll: everything that it brought, and what was left over before.
    #[inline(always)]
    fn take(&mut self, events: &Events) {
        self.see();
        for event in events {
            self.event(event);
        }
        for index in self.take_unfinished() {
            // Its edge has been used up: only an empty socket or the end is the end.
            self.go_on_reading(index, true);
        }
    }

    #[inline(always)]
    fn event(&mut self, event: &Event) {
        let Token(index) = event.token();
        match event.token() {
            WAKER => return,
            TIMER => return self.timer_fired(),
            DELAY_TIMER => return self.delays().into_iter().for_each(Delays::fired),
            _ => {}
        }
        if event.is_writable() {
            self.go_on_writing(index);
        }
        let closed = event.is_read_closed() || event.is_error();
        if event.is_readable() || closed {
            self.note_readable(index);
            self.go_on_reading(index, closed);
        }
    }

    /// Sees to it that the next bytes that an emulated network holds end the poll.
    #[inline]
    fn arm_delays(&mut self) -> io::Result<()> {
        self.delays().map_or(Ok(()), Delays::arm)
    }

    /// Lets bytes go on that an emulated network has held until now.
    fn deliver_due(&mut self, now_ns: u64) {
        while let Some((index, way)) = self.delays().and_then(|delays| delays.next_due(now_ns)) {
            match way {
                Way::Out => self.go_on_writing(index),
                // To the end: what is due behind these bytes may be the connection's.
                Way::Back => self.go_on_reading(index, true),
            }
        }
    }
}

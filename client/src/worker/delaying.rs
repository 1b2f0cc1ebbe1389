//! Connections behind an emulated network: its timer takes the place of the socket's edges.

use super::Worker;
use crate::connection::Connection;
use crate::link::{Delays, Way};
use std::io;

impl Worker<'_> {
    /// Sees to it that the next bytes that are due end the poll.
    pub(super) fn arm_delays(&mut self) -> io::Result<()> {
        self.delays.as_mut().map_or(Ok(()), Delays::arm)
    }

    /// Lets bytes go on that have been held long enough.
    pub(super) fn deliver_due(&mut self) {
        let now = self.now_ns;
        while let Some((index, way)) = self.delays.as_mut().and_then(|d| d.next_due(now)) {
            match way {
                Way::Out => self.go_on_writing(index),
                // To the end: what is due behind these bytes may be the connection's.
                Way::Back => self.pass(index, true),
            }
            self.rotate();
        }
    }

    /// The socket takes bytes again, or an emulated network does.
    pub(super) fn go_on_writing(&mut self, index: usize) {
        let Some(connection) = &mut self.connections[index] else {
            return;
        };
        if let Err(error) = connection.deliver() {
            return self.broken(index, &error);
        }
        if self.connections[index].as_ref().is_some_and(Connection::owes) {
            self.flush(index);
        }
    }
}

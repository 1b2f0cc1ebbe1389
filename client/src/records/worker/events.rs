//! What events, and an emulated network, mean to connections of calls with records.

use super::RecordWorker;
use crate::connection::ReadEnd;
use crate::event_loop::EventLoop;
use crate::link::Delays;
use crate::records::connection::Connection;

impl EventLoop for RecordWorker<'_> {
    fn see(&mut self) {
        self.desk.view = self.job.control.view();
        self.desk.ledger.edges.see(&self.desk.view);
    }

    fn note_readable(&mut self, index: usize) {
        self.connections[index].iter_mut().for_each(Connection::note_readable);
    }

    /// What the records that ended left room for comes into being.
    fn go_on_reading(&mut self, index: usize, closed: bool) {
        self.load.pass();
        match self.receive(index, closed) {
            None | Some(ReadEnd::Drained) => {}
            Some(ReadEnd::More) => self.unfinished.push(index),
            Some(ReadEnd::Lost(lost)) => return self.lose(index, lost),
        }
        self.pump(index);
    }

    fn go_on_writing(&mut self, index: usize) {
        let Some(connection) = &mut self.connections[index] else {
            return;
        };
        match connection.deliver() {
            Err(error) => self.broken(index, &error),
            Ok(()) => self.pump(index),
        }
    }

    fn timer_fired(&mut self) {
        self.timer.acknowledge();
        self.armed_ns = u64::MAX;
    }

    fn delays(&mut self) -> Option<&mut Delays> {
        self.delays.as_mut()
    }

    fn take_unfinished(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.unfinished)
    }
}

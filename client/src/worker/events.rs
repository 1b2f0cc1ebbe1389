//! What events, and an emulated network, mean to connections of plain calls.

use super::Worker;
use crate::connection::Connection;
use crate::event_loop::EventLoop;
use crate::link::Delays;

impl EventLoop for Worker<'_> {
    #[inline]
    fn see(&mut self) {
        self.view = self.job.control.view();
        self.desk.ledger.edges.see(&self.view);
    }

    #[inline]
    fn note_readable(&mut self, index: usize) {
        self.connections[index].iter_mut().for_each(Connection::note_readable);
    }

    #[inline]
    fn go_on_reading(&mut self, index: usize, closed: bool) {
        self.pass(index, closed);
        self.rotate();
    }

    fn go_on_writing(&mut self, index: usize) {
        if let Some(connection) = &mut self.connections[index] {
            if let Err(error) = connection.deliver() {
                self.broken(index, &error);
            } else if connection.owes() {
                self.flush(index);
            }
        }
        self.rotate();
    }

    fn timer_fired(&mut self) {
        self.open_loop.iter_mut().for_each(|open_loop| open_loop.fired());
        self.thinking.iter_mut().for_each(|thinking| thinking.fired());
    }

    fn delays(&mut self) -> Option<&mut Delays> {
        self.delays.as_mut()
    }

    fn take_unfinished(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.unfinished)
    }
}

//! What events, and an emulated network, mean to connections on which nothing is answered.

use super::UnansweredWorker;
use crate::connection::ReadEnd;
use crate::event_loop::EventLoop;
use crate::link::Delays;
use crate::unanswered::one_way::OneWay;

impl EventLoop for UnansweredWorker<'_> {
    fn see(&mut self) {
        self.view = self.job.control.view();
        self.desk.ledger.edges.see(&self.view);
    }

    fn note_readable(&mut self, index: usize) {
        self.connections[index].iter_mut().for_each(OneWay::note_readable);
    }

    fn go_on_reading(&mut self, index: usize, closed: bool) {
        let Some(connection) = &mut self.connections[index] else {
            return;
        };
        let (end, _) = connection.read(closed, &mut self.desk);
        match end {
            ReadEnd::Drained => {}
            ReadEnd::More => self.unfinished.push(index),
            ReadEnd::Lost(lost) => return self.lose(index, lost),
        }
        self.stop_at_failure();
    }

    fn go_on_writing(&mut self, index: usize) {
        let Some(connection) = &mut self.connections[index] else {
            return;
        };
        if let Err(error) = connection.deliver() {
            return self.broken(index, &error);
        }
        if connection.is_blocked() {
            self.flush(index);
            let takes_more = self.connections[index].as_ref().is_some_and(|c| !c.is_blocked());
            if takes_more && self.open_loop.is_none() {
                self.ready.push_back(index);
            }
        }
    }

    fn timer_fired(&mut self) {
        self.open_loop.iter_mut().for_each(|open_loop| open_loop.fired());
    }

    fn delays(&mut self) -> Option<&mut Delays> {
        self.delays.as_mut()
    }

    fn take_unfinished(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.unfinished)
    }
}

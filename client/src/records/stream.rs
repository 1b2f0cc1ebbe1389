//! One stream's records that wait. Of a record only its time is kept: where it belongs follows from
//! the order, and its bytes follow from its name.

use crate::pacing::Schedule;
use std::collections::VecDeque;

/// Neighbours in a stream that came into being together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// From when their latency counts: when they were due, or came into being.
    pub(super) due_ns: u64,
    pub(super) records: usize,
    /// Whether they belong to the measured phase (not to the warm-up).
    pub(super) measured: bool,
}

/// See the module's text.
#[derive(Debug)]
pub(super) struct Stream {
    /// Among those of all workers.
    pub(super) id: u64,
    /// Of this worker.
    pub(super) connection: usize,
    waiting: VecDeque<Run>,
    waiting_records: usize,
    /// Of the first record that waits.
    next_sequence: u64,
    /// Records that wait or are in flight.
    pub(super) held: usize,
    /// Behind the last record that was answered.
    answered_to: u64,
    /// Under a rate.
    pub(super) schedule: Option<Schedule>,
    /// When a due record found no room; it waits for some.
    pub(super) full_ns: Option<u64>,
    /// Its connection is gone.
    pub(super) dead: bool,
    /// It is in the list of those that have records to send.
    pub(super) is_ready: bool,
    /// It is in the list of those that have room for more.
    pub(super) is_hungry: bool,
}

impl Stream {
    pub(super) fn new(id: u64, connection: usize, schedule: Option<Schedule>) -> Stream {
        Stream {
            id,
            connection,
            waiting: VecDeque::new(),
            waiting_records: 0,
            next_sequence: 0,
            held: 0,
            answered_to: 0,
            schedule,
            full_ns: None,
            dead: false,
            is_ready: false,
            is_hungry: true,
        }
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting_records
    }

    /// The next records come into being.
    pub(super) fn push(&mut self, run: Run) {
        self.waiting_records += run.records;
        self.held += run.records;
        match self.waiting.back_mut() {
            Some(last) if (last.due_ns, last.measured) == (run.due_ns, run.measured) => {
                last.records += run.records;
            }
            _ => self.waiting.push_back(run),
        }
    }

    /// Takes out the next `records`, no more than wait; their runs go to `runs`. Returns the first
    /// one's sequence.
    pub(super) fn take(&mut self, records: usize, runs: &mut Vec<Run>) -> u64 {
        let first = self.next_sequence;
        let mut left = records;
        while left > 0
            && let Some(run) = self.waiting.front_mut()
        {
            let taken = left.min(run.records);
            runs.push(Run { records: taken, ..*run });
            run.records -= taken;
            if run.records == 0 {
                self.waiting.pop_front();
            }
            left -= taken;
        }
        assert_eq!(left, 0, "no more records are taken than wait");
        self.waiting_records -= records;
        self.next_sequence += records as u64;
        first
    }

    /// Takes out all that wait; how many of them are measured.
    pub(super) fn clear(&mut self) -> u64 {
        let measured = self.waiting.iter().filter(|run| run.measured);
        let records = measured.map(|run| run.records as u64).sum();
        self.held -= self.waiting_records;
        self.waiting_records = 0;
        self.waiting.clear();
        records
    }

    /// Records from `first` on are answered. Returns how many of them came behind a later one.
    pub(super) fn answered(&mut self, first: u64, records: u64) -> u64 {
        let end = first + records;
        if first >= self.answered_to {
            self.answered_to = end;
            return 0;
        }
        records
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_leave_in_order_with_their_times() {
        let mut stream = Stream::new(3, 0, None);
        for (due_ns, records, measured) in
            [(5, 2, false), (5, 1, false), (5, 2, true), (9, 4, true)]
        {
            stream.push(Run { due_ns, records, measured });
        }
        let mut runs = Vec::new();
        assert_eq!((stream.take(4, &mut runs), stream.waiting(), stream.held), (0, 5, 9));
        let run = |due_ns, records, measured| Run { due_ns, records, measured };
        assert_eq!(runs, [run(5, 3, false), run(5, 1, true)]);
        runs.clear();
        assert_eq!(stream.take(2, &mut runs), 4);
        assert_eq!(runs, [run(5, 1, true), run(9, 1, true)]);
        assert_eq!((stream.clear(), stream.waiting(), stream.held), (3, 0, 6));
    }

    #[test]
    fn a_record_that_is_answered_behind_a_later_one_is_out_of_order() {
        let mut stream = Stream::new(0, 0, None);
        assert_eq!(stream.answered(0, 5), 0);
        assert_eq!(stream.answered(8, 2), 0, "one between may still come");
        assert_eq!(stream.answered(5, 3), 3);
        assert_eq!(stream.answered(10, 1), 0);
    }
}

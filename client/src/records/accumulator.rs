//! The streams of a worker: when their records come into being, and which of them a call takes.

use super::call::{Batch, Content};
use super::settings::Settings;
use super::stream::{Run, Stream};
use crate::pacing::Schedule;
use echo_common::clock::elapsed_ns;
use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};

/// Records that come into being in one turn of the event loop; then replies have their turn.
const RECORDS_PER_TURN: usize = 65_536;

/// See the module's text.
#[derive(Debug)]
pub(super) struct Accumulator {
    streams: Vec<Stream>,
    /// By connection: its streams with records that wait, the longest ready first.
    ready: Vec<VecDeque<usize>>,
    /// Connections that have got records to send.
    stirred: Vec<usize>,
    supply: Supply,
    per_batch: usize,
    per_call: usize,
    /// Records of a stream that are held, at most.
    per_stream: usize,
    waiting: u64,
    held_back: u64,
    worst_lag_ns: u64,
}

/// Where records come from.
#[derive(Debug)]
enum Supply {
    /// There is always one more: streams with room for it.
    Endless(Vec<usize>),
    /// When they are due: the next record of each stream that has room.
    Scheduled(BinaryHeap<Reverse<(u64, usize)>>),
}

impl Accumulator {
    /// The streams of worker `worker` of `workers`, on its `connections` of `all_connections`.
    /// Records are due from `origin_ns` on.
    pub(super) fn new(settings: &Settings, worker: WorkerPlace, origin_ns: u64) -> Accumulator {
        let WorkerPlace { index, workers, connections, all_connections } = worker;
        let mine = (0..settings.streams)
            .filter(|stream| stream % all_connections % workers == index)
            .map(|stream| {
                let schedule = settings
                    .pace
                    .as_ref()
                    .map(|pace| Schedule::new(pace, stream as u64, origin_ns));
                Stream::new(stream as u64, stream % all_connections / workers, schedule)
            });
        let streams: Vec<Stream> = mine.collect();
        let supply = match settings.pace {
            None => Supply::Endless((0..streams.len()).collect()),
            Some(_) => {
                let all = streams.iter().enumerate();
                Supply::Scheduled(all.filter_map(|(at, s)| next(s, at).map(Reverse)).collect())
            }
        };
        let per_batch = settings.records_per_batch().min(settings.records_per_call());
        Accumulator {
            streams,
            ready: vec![VecDeque::new(); connections],
            stirred: Vec::new(),
            supply,
            per_batch,
            per_call: settings.records_per_call(),
            per_stream: settings.records_per_stream(),
            waiting: 0,
            held_back: 0,
            worst_lag_ns: 0,
        }
    }

    /// Whether there is always one more record.
    pub(super) fn is_endless(&self) -> bool {
        matches!(self.supply, Supply::Endless(_))
    }

    /// Records that wait.
    pub(super) fn waiting(&self) -> u64 {
        self.waiting
    }

    /// Records that wait or are in flight.
    pub(super) fn held(&self) -> u64 {
        self.streams.iter().map(|stream| stream.held as u64).sum()
    }

    /// Records that are due before `until_ns` and have not come into being.
    pub(super) fn owed(&self, until_ns: u64) -> u64 {
        let schedules = self.streams.iter().filter_map(|stream| stream.schedule.as_ref());
        schedules.map(|schedule| schedule.due_before(until_ns)).sum()
    }

    /// Records that found no room when they were due, and the longest that one was late.
    pub(super) fn held_back(&self) -> (u64, u64) {
        (self.held_back, self.worst_lag_ns)
    }

    /// When the next record is due for which there is room.
    pub(super) fn next_due_ns(&self) -> u64 {
        match &self.supply {
            Supply::Endless(_) => u64::MAX,
            Supply::Scheduled(heap) => heap.peek().map_or(u64::MAX, |Reverse((at_ns, _))| *at_ns),
        }
    }

    /// Lets records come into being: those that are due at `now_ns`, or as many as there is room
    /// for. `grant` is asked for each that is due, and when; it says whether it may be, and whether
    /// it is measured. Returns whether all might.
    pub(super) fn create(
        &mut self,
        now_ns: u64,
        mut grant: impl FnMut(u64) -> (bool, bool),
    ) -> bool {
        match &mut self.supply {
            Supply::Endless(hungry) => {
                let hungry = std::mem::take(hungry);
                hungry.into_iter().for_each(|at| self.fill_up(at, now_ns));
                true
            }
            Supply::Scheduled(_) => self.create_due(now_ns, &mut grant),
        }
    }

    /// Where there is always one more record, it is measured if it is sent in the measured phase.
    fn fill_up(&mut self, at: usize, now_ns: u64) {
        let stream = &mut self.streams[at];
        stream.is_hungry = false;
        let records = self.per_stream - stream.held;
        if records > 0 && !stream.dead {
            self.push(at, Run { due_ns: now_ns, records, measured: false });
        }
    }

    fn create_due(&mut self, now_ns: u64, grant: &mut impl FnMut(u64) -> (bool, bool)) -> bool {
        for _ in 0..RECORDS_PER_TURN {
            let Supply::Scheduled(heap) = &mut self.supply else {
                return true;
            };
            let Some(mut first) = heap.peek_mut().filter(|first| first.0.0 <= now_ns) else {
                return true;
            };
            let Reverse((due_ns, at)) = *first;
            let stream = &mut self.streams[at];
            if stream.dead || stream.held >= self.per_stream {
                stream.full_ns = Some(now_ns);
                stream.is_hungry = false;
                PeekMut::pop(first);
                continue;
            }
            let (granted, measured) = grant(due_ns);
            if !granted {
                return false;
            }
            if stream.full_ns.is_some_and(|full_ns| due_ns <= full_ns) {
                self.held_back += 1;
                let lag_ns = elapsed_ns(due_ns, now_ns);
                self.worst_lag_ns = self.worst_lag_ns.max(lag_ns);
            }
            if let Some(schedule) = &mut stream.schedule {
                schedule.step();
                if schedule.next_ns() > now_ns {
                    stream.full_ns = None;
                }
                *first = Reverse((schedule.next_ns(), at));
            }
            drop(first);
            self.push(at, Run { due_ns, records: 1, measured });
        }
        true
    }

    fn push(&mut self, at: usize, run: Run) {
        self.waiting += run.records as u64;
        let stream = &mut self.streams[at];
        stream.push(run);
        if !stream.is_ready {
            stream.is_ready = true;
            self.ready[stream.connection].push_back(at);
            self.stirred.push(stream.connection);
        }
    }

    /// A connection that has got records to send since it was last named here.
    pub(super) fn stirred(&mut self) -> Option<usize> {
        self.stirred.pop()
    }

    pub(super) fn is_ready(&self, connection: usize) -> bool {
        !self.ready[connection].is_empty()
    }

    /// Puts into an empty call what it can take of what waits: of each stream, in turn, as much as
    /// a batch holds, as long as the next one has room as a whole.
    pub(super) fn fill(&mut self, connection: usize, call: &mut Content) {
        for _ in 0..self.ready[connection].len() {
            let Some(&at) = self.ready[connection].front() else {
                return;
            };
            let stream = &mut self.streams[at];
            let records = stream.waiting().min(self.per_batch);
            if call.records + records > self.per_call {
                return;
            }
            let first = stream.take(records, &mut call.runs);
            call.batches.push(Batch { at, stream: stream.id, first, records });
            call.records += records;
            self.waiting -= records as u64;
            self.ready[connection].pop_front();
            stream.is_ready = stream.waiting() > 0;
            if stream.is_ready {
                self.ready[connection].push_back(at);
            }
        }
    }

    /// A call has ended, with a reply or without: its records are held no more. Returns how many of
    /// them were answered behind a later one of their stream.
    pub(super) fn ended(&mut self, call: &Content, answered: bool) -> u64 {
        let mut out_of_order = 0;
        for batch in &call.batches {
            let stream = &mut self.streams[batch.at];
            stream.held -= batch.records;
            if answered {
                out_of_order += stream.answered(batch.first, batch.records as u64);
            }
            if stream.is_hungry || stream.dead {
                continue;
            }
            stream.is_hungry = true;
            match (&mut self.supply, next(stream, batch.at)) {
                (Supply::Scheduled(heap), Some(next)) => heap.push(Reverse(next)),
                (Supply::Scheduled(_), None) => {}
                (Supply::Endless(hungry), _) => hungry.push(batch.at),
            }
        }
        out_of_order
    }

    /// A connection is gone, and its streams with it. Returns how many measured records waited.
    pub(super) fn lose(&mut self, connection: usize) -> u64 {
        let mut unsent = 0;
        for stream in self.streams.iter_mut().filter(|stream| stream.connection == connection) {
            self.waiting -= stream.waiting() as u64;
            unsent += stream.clear();
            stream.dead = true;
        }
        self.ready[connection].clear();
        unsent
    }
}

/// Where a worker stands among the others.
#[derive(Clone, Copy, Debug)]
pub(super) struct WorkerPlace {
    pub(super) index: usize,
    pub(super) workers: usize,
    pub(super) connections: usize,
    pub(super) all_connections: usize,
}

fn next(stream: &Stream, at: usize) -> Option<(u64, usize)> {
    stream.schedule.as_ref().map(|schedule| (schedule.next_ns(), at))
}

#[cfg(test)]
mod tests;

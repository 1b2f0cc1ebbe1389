//! The dispatcher of `--dispatch keyed`: one thread that reads batches of confirmed calls from the
//! ordered log and gives each handler its share, cycle by cycle.
//!
//! A cycle is a read, the dispatch of what was read, and the gap until the next read: handing the
//! shares out, waiting for handlers whose queues are full, and what `--dispatch-gap` adds. With
//! `--extend-reads on` a short read goes on at the serial stage, and the dispatch follows there.

use crate::call_queue::CallQueue;
use crate::handler_shares::HandlerShares;
use crate::meters::Meters;
use crate::ordered_log::{Confirmed, Extension, OrderedLog, ReadLimit, count_of};
use crate::stage_clock::{StageClock, WorkCost};
use echo_common::clock;
use std::sync::Arc;

/// Reading and dispatching, on whichever thread it happens.
pub(crate) struct Dispatching {
    pub(crate) limit: ReadLimit,
    /// For each read.
    pub(crate) read_cost: WorkCost,
    /// For each call read.
    pub(crate) call_cost: WorkCost,
    /// For each call dispatched.
    pub(crate) dispatch_cost: WorkCost,
    pub(crate) shares: HandlerShares,
    pub(crate) meters: Arc<Meters>,
}

/// The dispatcher's thread.
pub(crate) struct Dispatcher {
    pub(crate) log: Arc<OrderedLog>,
    /// Where the serial stage may be asleep.
    pub(crate) queue: Arc<CallQueue>,
    pub(crate) extends_reads: bool,
    /// Between a dispatch and the next read.
    pub(crate) gap: WorkCost,
    pub(crate) clock: StageClock,
    pub(crate) work: Dispatching,
}

impl Dispatching {
    /// Pays for a read that brought so many calls.
    pub(crate) fn pay_read(&mut self, calls: u32, clock: &mut StageClock) {
        clock.pay(&mut self.read_cost, 1);
        clock.pay(&mut self.call_cost, calls);
    }

    /// Pays for the dispatch of a batch and hands the shares out; leaves it empty.
    pub(crate) fn dispatch(&mut self, batch: &mut Vec<Confirmed>, clock: &mut StageClock) {
        let calls = count_of(batch);
        clock.pay(&mut self.dispatch_cost, calls);
        clock.reach();
        batch.drain(..).for_each(|confirmed| self.shares.deal(confirmed.calls));
        let begin_ns = clock.now_ns();
        let handed = self.shares.hand_out();
        if handed.held_back > 0 {
            clock.catch_up(clock::now_ns());
        }
        self.meters.limits.handler_queue_waits.add(handed.held_back);
        let meters = &self.meters.keyed;
        meters.note_batch(calls);
        meters.held_back_ns.add(handed.blocked_ns);
        meters.gap_ns.add(clock::elapsed_ns(begin_ns, clock.now_ns()));
    }
}

impl Dispatcher {
    /// Runs until the log is closed and empty; then the handlers' queues close.
    pub(crate) fn run(mut self) {
        self.clock.settle();
        let mut batch = Vec::new();
        loop {
            self.clock.reach();
            let until_ns = self.clock.paced_now_ns();
            let Some(read) = self.log.read(self.work.limit, until_ns, &mut batch) else { break };
            let meters = &self.work.meters.keyed.dispatcher;
            meters.wakeups.add(u64::from(read.slept));
            meters.thread.yielded_ns.add(read.yielded_ns);
            batch = self.cycle(batch, !read.is_full);
        }
        self.work.shares.close();
    }

    /// Takes a batch from its read to the next one; returns it empty.
    fn cycle(&mut self, mut batch: Vec<Confirmed>, is_short: bool) -> Vec<Confirmed> {
        let calls = count_of(&batch);
        self.clock.catch_up(batch.first().map_or(0, |first| first.confirmed_ns));
        self.work.pay_read(calls, &mut self.clock);
        let extended = if self.extends_reads && is_short { self.extend(batch) } else { Err(batch) };
        batch = match extended {
            Ok(empty) => empty,
            Err(read) => {
                batch = read;
                self.work.meters.keyed.dispatcher.calls.add(u64::from(calls));
                self.work.dispatch(&mut batch, &mut self.clock);
                batch
            }
        };
        let meters = &self.work.meters.keyed;
        meters.dispatcher.paced_ns.add(self.clock.take_paced_ns());
        let begin_ns = self.clock.now_ns();
        self.clock.pay(&mut self.gap, 1);
        // A gap is a time without work.
        self.clock.take_paced_ns();
        meters.gap_ns.add(clock::elapsed_ns(begin_ns, self.clock.now_ns()));
        batch
    }

    /// Lets the serial stage read on and dispatch; gives the batch back if there is no more.
    fn extend(&mut self, batch: Vec<Confirmed>) -> Result<Vec<Confirmed>, Vec<Confirmed>> {
        self.clock.reach();
        let (behind, _) = self.queue.depth();
        let extension = Extension { batch, at_ns: self.clock.now_ns(), behind };
        match self.log.extend(extension, || self.queue.call_away()) {
            Ok(extended) => {
                self.clock.catch_up(extended.at_ns);
                Ok(extended.batch)
            }
            Err(refused) => Err(refused.batch),
        }
    }
}

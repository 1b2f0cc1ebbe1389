//! The serial stage of `--dispatch keyed`: one thread that takes calls from the call queue in the
//! order of their arrival, pays for each, and appends them to the ordered log.
//!
//! It also extends short reads of the dispatcher (`--extend-reads on`): an extension stands in line
//! behind the calls that waited here when it was asked, and is done at once when none is left.

use crate::call::Calls;
use crate::call_queue::CallQueue;
use crate::dispatcher::Dispatching;
use crate::ordered_log::{Confirmed, Extension, OrderedLog, count_of};
use crate::stage_clock::{StageClock, Stalls, WorkCost};
use echo_common::clock;
use std::collections::VecDeque;
use std::sync::Arc;

/// Calls taken from the queue at once.
const TAKE_MAX: u32 = 256;

/// See the module's text.
pub(crate) struct SerialStage {
    pub(crate) queue: Arc<CallQueue>,
    pub(crate) log: Arc<OrderedLog>,
    /// For each call.
    pub(crate) cost: WorkCost,
    pub(crate) clock: StageClock,
    pub(crate) stalls: Option<Stalls>,
    /// For extensions.
    pub(crate) work: Dispatching,
    pub(crate) state: SerialState,
}

/// What a serial stage starts with empty.
#[derive(Default)]
pub(crate) struct SerialState {
    /// Confirmed, and not in the log yet.
    ready: VecDeque<Confirmed>,
    /// An extension in line.
    extension: Option<Extension>,
    /// When the last calls were taken or paid for, if the clock is the real one.
    now_ns: u64,
}

impl SerialStage {
    /// Runs until the queue is closed and empty; then the log closes.
    pub(crate) fn run(mut self) {
        self.clock.settle();
        let mut taken = Vec::new();
        loop {
            self.extend_if_due();
            let Some(take) = self.queue.take(0, self.take_max(), &mut taken) else { break };
            let meters = &self.work.meters.keyed.serial;
            meters.wakeups.add(u64::from(take.slept));
            meters.thread.yielded_ns.add(take.yielded_ns);
            if taken.is_empty() {
                self.note_asked();
                continue;
            }
            self.state.now_ns = clock::now_ns();
            for calls in taken.drain(..) {
                self.confirm(calls);
            }
            self.append();
            self.work.meters.keyed.serial.paced_ns.add(self.clock.take_paced_ns());
        }
        while !self.log.close() {
            self.note_asked();
            self.extend();
        }
    }

    /// Lets an extension that was asked stand in line; there is one at a time.
    fn note_asked(&mut self) {
        if let Some(extension) = self.log.take_asked() {
            self.state.extension = Some(extension);
        }
    }

    /// Not beyond an extension that waits.
    fn take_max(&self) -> u32 {
        match &self.state.extension {
            Some(extension) => TAKE_MAX.min(extension.behind as u32),
            None => TAKE_MAX,
        }
    }

    /// Pays for the calls of a run.
    fn confirm(&mut self, mut calls: Calls) {
        self.work.meters.keyed.serial.calls.add(u64::from(calls.count));
        if let Some(extension) = &mut self.state.extension {
            extension.behind = extension.behind.saturating_sub(calls.count as usize);
        }
        if calls.outbox.has_ended() {
            // The peer has gone meanwhile: nobody waits, and a drain that was cut shall end.
            return self.confirmed(calls);
        }
        if !self.clock.is_paced() {
            self.hold_for_stall();
            if self.cost.is_none() {
                return self.confirmed(calls);
            }
            self.clock.pay(&mut self.cost, calls.count);
            self.state.now_ns = clock::now_ns();
            self.confirmed(calls);
            return self.append();
        }
        // Each call by itself: it is confirmed at a time of its own.
        while calls.count > 1 {
            let first = calls.split_front(1);
            self.confirm_paced(first);
        }
        self.confirm_paced(calls);
    }

    fn confirm_paced(&mut self, call: Calls) {
        self.clock.catch_up(call.read_ns);
        self.hold_for_stall();
        self.clock.pay(&mut self.cost, 1);
        if self.clock.now_ns() > clock::now_ns() {
            self.append();
            self.clock.reach();
        }
        self.confirmed(call);
    }

    fn confirmed(&mut self, calls: Calls) {
        let confirmed_ns = self.clock.paced_now_ns().unwrap_or(self.state.now_ns);
        self.state.ready.push_back(Confirmed { calls, confirmed_ns });
    }

    /// Does nothing as long as a stall lasts.
    fn hold_for_stall(&mut self) {
        let Some(stalls) = &mut self.stalls else { return };
        if let Some((end_ns, is_first)) = stalls.end_of_stall(self.clock.now_ns()) {
            self.work.meters.keyed.stalls.add(u64::from(is_first));
            self.clock.stall_until(end_ns);
        }
    }

    /// Shows the dispatcher what is confirmed.
    fn append(&mut self) {
        loop {
            let appended = self.log.append(&mut self.state.ready);
            if let Some(blocked_ns) = appended.blocked_ns {
                self.work.meters.limits.log_full_waits.add(1);
                self.work.meters.keyed.serial.blocked_ns.add(blocked_ns);
                self.clock.catch_up(clock::now_ns());
            }
            if appended.extension_asked {
                self.note_asked();
            }
            if self.state.ready.is_empty() {
                return;
            }
            // The log is full, and who would make room in it waits for this.
            self.extend();
        }
    }

    /// Extends a read whose turn has come.
    fn extend_if_due(&mut self) {
        while let Some(extension) = &self.state.extension
            && (extension.behind == 0 || self.queue.depth().0 == 0)
        {
            self.extend();
        }
    }

    /// Reads on; then dispatches, or stands in line once more if there is more to come.
    fn extend(&mut self) {
        let Some(mut extension) = self.state.extension.take() else { return };
        self.clock.catch_up(extension.at_ns);
        let before = count_of(&extension.batch);
        let read = self.log.read_on(self.work.limit, &mut extension.batch);
        self.work.pay_read(count_of(&extension.batch) - before, &mut self.clock);
        self.work.meters.keyed.extended_reads.add(1);
        self.clock.reach();
        if !read.is_full && !self.log.is_empty() {
            extension.behind = self.queue.depth().0;
            self.state.extension = Some(extension);
            return;
        }
        let calls = u64::from(count_of(&extension.batch));
        self.work.meters.keyed.calls_on_serial.add(calls);
        self.work.dispatch(&mut extension.batch, &mut self.clock);
        extension.at_ns = self.clock.now_ns();
        self.work.meters.keyed.serial.paced_ns.add(self.clock.take_paced_ns());
        self.log.finish(extension);
    }
}

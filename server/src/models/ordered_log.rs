//! The ordered log between the serial stage and the dispatcher, with extended reads: nobody sleeps
//! while there is something for him, and calls come out in order.

use super::{holds, holds_large, rejects};
use crate::call_queue::{CallQueue, Run, WhenFull};
use crate::mutant::Mutant;
use crate::ordered_log::{Entry, Extension, OrderedLog, ReadLimit};
use crate::sync::Arc;
use loom::thread;
use std::collections::VecDeque;

/// One call.
struct One(u32);

impl Run for One {
    fn count(&self) -> u32 {
        1
    }

    fn split_front(&mut self, _: u32) -> One {
        unreachable!("one call is not taken apart")
    }
}

impl Entry for One {
    fn confirmed_ns(&self) -> u64 {
        0
    }

    fn fitting(&self, calls_max: u32, _: usize) -> u32 {
        calls_max.min(1)
    }

    fn bytes(&self) -> usize {
        1
    }
}

#[derive(Clone)]
struct House {
    queue: Arc<CallQueue<One>>,
    log: Arc<OrderedLog<One>>,
    limit: ReadLimit,
}

/// What both who dispatch have seen, in order.
type Seen = Arc<std::sync::Mutex<Vec<u32>>>;

fn dispatch(batch: &mut Vec<One>, seen: &Seen) {
    seen.lock().unwrap().extend(batch.drain(..).map(|call| call.0));
}

impl House {
    fn new(log_capacity: usize, batch: u32) -> House {
        House {
            queue: Arc::new(CallQueue::new(8, 1, 1, WhenFull::Wait, 0)),
            log: Arc::new(OrderedLog::new(log_capacity)),
            limit: ReadLimit { calls: batch, bytes: usize::MAX },
        }
    }

    /// The serial stage: what it does with calls and extensions, without costs.
    fn serial_stage(self, seen: Seen) {
        let (mut taken, mut ready) = (Vec::new(), VecDeque::new());
        while self.queue.take(0, 2, &mut taken).is_some() {
            ready.extend(taken.drain(..));
            loop {
                self.log.append(&mut ready);
                self.extend(&seen);
                if ready.is_empty() {
                    break;
                }
            }
        }
        while !self.log.close() {
            self.extend(&seen);
        }
    }

    fn extend(&self, seen: &Seen) {
        if let Some(mut extension) = self.log.take_asked() {
            while !self.log.is_empty()
                && !self.log.read_on(self.limit, &mut extension.batch).is_full
            {}
            dispatch(&mut extension.batch, seen);
            self.log.finish(extension);
        }
    }

    /// The dispatcher: every read that can be is extended. When all `calls` are out the queue is
    /// closed, as in a drain.
    fn dispatcher(self, extends: bool, calls: usize, seen: &Seen) {
        let mut batch = Vec::new();
        while let Some(read) = self.log.read(self.limit, None, &mut batch) {
            if extends && !read.is_full {
                let extension = Extension { batch, at_ns: 0, behind: 0 };
                let (Ok(back) | Err(back)) = self.log.extend(extension, || self.queue.call_away());
                batch = back.batch;
            }
            dispatch(&mut batch, seen);
            if seen.lock().unwrap().len() == calls {
                self.queue.close();
            }
        }
    }
}

/// A reader with so many calls, one by one.
fn every_call_is_dispatched_in_order(house: House, extends: bool, calls: u32) {
    let seen = Seen::default();
    let serial = {
        let (house, seen) = (house.clone(), Arc::clone(&seen));
        thread::spawn(move || house.serial_stage(seen))
    };
    let reader = {
        let queue = Arc::clone(&house.queue);
        thread::spawn(move || {
            (0..calls).for_each(|call| {
                queue.put(0, &mut [One(call)].into());
            })
        })
    };
    house.dispatcher(extends, calls as usize, &seen);
    reader.join().unwrap();
    serial.join().unwrap();
    assert_eq!(*seen.lock().unwrap(), (0..calls).collect::<Vec<_>>());
}

#[test]
fn every_call_is_dispatched_in_order_through_a_log_of_1() {
    holds_large(|| every_call_is_dispatched_in_order(House::new(1, 2), false, 3));
}

#[test]
fn every_read_is_extended_and_nobody_is_left_asleep() {
    holds_large(|| every_call_is_dispatched_in_order(House::new(8, 8), true, 3));
}

#[test]
fn every_read_is_extended_through_a_log_of_1() {
    holds_large(|| every_call_is_dispatched_in_order(House::new(1, 8), true, 3));
}

#[test]
fn two_calls_and_more_preemptions() {
    holds(|| every_call_is_dispatched_in_order(House::new(1, 8), true, 2));
}

#[test]
fn mutant_only_sleepers_called_away() {
    rejects(Mutant::OnlySleepersCalledAway, "deadlock", || {
        every_call_is_dispatched_in_order(House::new(8, 8), true, 2);
    });
}

#[test]
fn mutant_dispatcher_sleeps_unlooked() {
    rejects(Mutant::DispatcherSleepsUnlooked, "deadlock", || {
        every_call_is_dispatched_in_order(House::new(8, 8), false, 1);
    });
}

#[test]
fn mutant_full_log_before_extension() {
    rejects(Mutant::FullLogBeforeExtension, "deadlock", || {
        every_call_is_dispatched_in_order(House::new(1, 8), true, 3);
    });
}

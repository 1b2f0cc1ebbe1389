//! The call queue: readers that put, handlers that take, somebody who closes.

use super::{holds, holds_large, rejects};
use crate::call_queue::{CallQueue, Run, WhenFull};
use crate::mutant::Mutant;
use crate::sync::{Arc, Condvar, Mutex, lock, wait};
use loom::thread;
use std::collections::VecDeque;

/// Calls with the numbers from `first` on.
#[derive(Debug)]
struct Numbered {
    first: u32,
    count: u32,
}

impl Run for Numbered {
    fn count(&self) -> u32 {
        self.count
    }

    fn split_front(&mut self, count: u32) -> Numbered {
        assert!(0 < count && count < self.count, "split {count} of {} calls", self.count);
        let first = self.first;
        self.first += count;
        self.count -= count;
        Numbered { first, count }
    }
}

type Queue = Arc<CallQueue<Numbered>>;

/// Numbers of reader 1's calls are this much above those of reader 0's.
const READER: u32 = 100;

/// A pass of reader number `reader`: runs of so many calls each.
fn pass(reader: usize, runs: &[u32]) -> VecDeque<Numbered> {
    let mut first = reader as u32 * READER;
    let mut number = |&count: &u32| {
        first += count;
        Numbered { first: first - count, count }
    };
    runs.iter().map(&mut number).collect()
}

fn numbers<'a>(runs: impl IntoIterator<Item = &'a Numbered>) -> Vec<u32> {
    runs.into_iter().flat_map(|run| run.first..run.first + run.count).collect()
}

/// Puts a pass and returns the calls that the queue did not take.
fn put(queue: &Queue, reader: usize, runs: &[u32]) -> Vec<u32> {
    let mut pass = pass(reader, runs);
    queue.put(reader, &mut pass);
    let (depth, depth_max) = queue.depth();
    assert!(depth <= queue.capacity() && depth_max <= queue.capacity(), "more than the capacity");
    numbers(&pass)
}

/// Takes `quota` calls, or all until the end without one.
fn take(queue: &Queue, handler: usize, calls_max: u32, quota: Option<usize>) -> Vec<u32> {
    let mut taken = Vec::new();
    let mut batch = Vec::new();
    while quota.is_none_or(|quota| taken.len() < quota) {
        if queue.take(handler, calls_max, &mut batch).is_none() {
            break;
        }
        assert!(!batch.is_empty(), "a take of nothing");
        let batch = numbers(&std::mem::take(&mut batch));
        assert!(batch.len() <= calls_max as usize, "{batch:?} are more than {calls_max} calls");
        taken.extend(batch);
    }
    for reader in 0..2 {
        let of_reader = taken.iter().filter(|number| **number / READER == reader);
        assert!(of_reader.is_sorted(), "out of order: {taken:?}");
    }
    taken
}

/// Takes one call; `None` at the end.
fn take_one(queue: &Queue, handler: usize) -> Option<Vec<u32>> {
    let mut batch = Vec::new();
    queue.take(handler, 1, &mut batch).map(|_| numbers(&batch))
}

/// Both readers' calls, each once.
fn all(runs: [&[u32]; 2]) -> Vec<u32> {
    (0..2).flat_map(|reader| numbers(&pass(reader, runs[reader]))).collect()
}

fn assert_once(mut ended: Vec<u32>, put: [&[u32]; 2]) {
    ended.sort_unstable();
    assert_eq!(ended, all(put), "a call was lost or doubled");
}

/// Two readers, two handlers that serve `quotas` calls and then take no more, and nobody who
/// closes: with a backlog of none every call is taken, as no call waits while a handler sleeps.
fn nobody_is_left_asleep(capacity: usize, runs: [&'static [u32]; 2], quotas: [usize; 2]) {
    let queue: Queue = Arc::new(CallQueue::new(capacity, 2, 2, WhenFull::Wait, 0));
    let handlers = [0, 1].map(|handler| {
        let queue = Arc::clone(&queue);
        thread::spawn(move || take(&queue, handler, 1, Some(quotas[handler])))
    });
    let reader = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || put(&queue, 1, runs[1]))
    };
    assert_eq!(put(&queue, 0, runs[0]), [0; 0], "an open queue takes everything");
    assert_eq!(reader.join().unwrap(), [0; 0], "an open queue takes everything");
    let taken = handlers.into_iter().flat_map(|handler| handler.join().unwrap()).collect();
    assert_once(taken, runs);
    assert_eq!(queue.depth().0, 0);
}

/// Two readers, two handlers that come back for more, and a close when every call has been served:
/// a backlog that nobody would look at again would keep it from coming.
fn a_backlog_is_served(backlog_max: usize, runs: [&'static [u32]; 2]) {
    let queue: Queue = Arc::new(CallQueue::new(4, 2, 2, WhenFull::Wait, backlog_max));
    let total = all(runs).len();
    let served = Arc::new((Mutex::new(0), Condvar::new()));
    let handlers = [0, 1].map(|handler| {
        let (queue, served) = (Arc::clone(&queue), Arc::clone(&served));
        thread::spawn(move || {
            let mut taken = Vec::new();
            while let Some(run) = take_one(&queue, handler) {
                taken.extend(run);
                *lock(&served.0) += 1;
                served.1.notify_one();
            }
            taken
        })
    });
    let reader = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || put(&queue, 1, runs[1]))
    };
    assert_eq!(put(&queue, 0, runs[0]), [0; 0], "an open queue takes everything");
    let mut count = lock(&served.0);
    while *count < total {
        count = wait(&served.1, count);
    }
    drop(count);
    queue.close();
    assert_eq!(reader.join().unwrap(), [0; 0], "an open queue takes everything");
    let taken = handlers.into_iter().flat_map(|handler| handler.join().unwrap()).collect();
    assert_once(taken, runs);
}

/// Two readers, two handlers, and a close at any time: what was put is taken, what was not is given
/// back, and everybody comes to the end.
fn a_close_ends_everybody(capacity: usize, runs: [&'static [u32]; 2], calls_max: u32) {
    let queue: Queue = Arc::new(CallQueue::new(capacity, 2, 2, WhenFull::Wait, 0));
    let readers = [0, 1].map(|reader| {
        let queue = Arc::clone(&queue);
        thread::spawn(move || put(&queue, reader, runs[reader]))
    });
    let handlers = [0, 1].map(|handler| {
        let queue = Arc::clone(&queue);
        thread::spawn(move || take(&queue, handler, calls_max, None))
    });
    queue.close();
    let threads = readers.into_iter().chain(handlers);
    assert_once(threads.flat_map(|thread| thread.join().unwrap()).collect(), runs);
    assert_eq!(queue.depth().0, 0);
}

/// Two readers that reject what finds no room: a call is either taken or rejected.
fn a_call_is_taken_or_rejected(capacity: usize, runs: [&'static [u32]; 2]) {
    let queue: Queue = Arc::new(CallQueue::new(capacity, 2, 1, WhenFull::Reject, 0));
    let other = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || put(&queue, 1, runs[1]))
    };
    let handler = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || take(&queue, 0, 2, None))
    };
    let mut ended = put(&queue, 0, runs[0]);
    ended.extend(other.join().unwrap());
    queue.close();
    ended.extend(handler.join().unwrap());
    assert_once(ended, runs);
}

/// A run that is slow or not.
#[derive(Debug)]
struct Pace(bool);

impl Run for Pace {
    fn count(&self) -> u32 {
        1
    }

    fn split_front(&mut self, count: u32) -> Pace {
        unreachable!("{count} of one call")
    }

    fn is_slow(&self) -> bool {
        self.0
    }
}

/// Two handlers that are left a large backlog each, and a slow run that is not done before another
/// run is: that one must not wait for the handler of the slow one.
fn a_slow_run_holds_no_other() {
    let queue: Arc<CallQueue<Pace>> = Arc::new(CallQueue::new(4, 1, 2, WhenFull::Wait, 16));
    let served = Arc::new((Mutex::new(false), Condvar::new()));
    let handlers = [0, 1].map(|handler| {
        let (queue, served) = (Arc::clone(&queue), Arc::clone(&served));
        thread::spawn(move || {
            let mut batch = Vec::new();
            while queue.take(handler, 10, &mut batch).is_some() {
                let is_slow = batch.iter().any(Run::is_slow);
                assert!(batch.drain(..).count() == 1 || !is_slow, "a slow run among others");
                let mut fast_served = lock(&served.0);
                while is_slow && !*fast_served {
                    fast_served = wait(&served.1, fast_served);
                }
                if !is_slow {
                    *fast_served = true;
                    served.1.notify_all();
                }
            }
        })
    });
    queue.put(0, &mut [Pace(true)].into());
    queue.put(0, &mut [Pace(false)].into());
    let mut fast_served = lock(&served.0);
    while !*fast_served {
        fast_served = wait(&served.1, fast_served);
    }
    drop(fast_served);
    queue.close();
    for handler in handlers {
        handler.join().unwrap();
    }
}

#[test]
fn a_slow_run_holds_no_other_however_large_a_backlog_may_be() {
    holds_large(a_slow_run_holds_no_other);
}

#[test]
fn mutant_slow_is_awake() {
    rejects(Mutant::SlowIsAwake, "deadlock", a_slow_run_holds_no_other);
}

#[test]
fn nobody_is_left_asleep_at_capacity_1() {
    holds(|| nobody_is_left_asleep(1, [&[1], &[1]], [1, 1]));
}

#[test]
fn nobody_is_left_asleep_at_capacity_2_with_runs() {
    holds(|| nobody_is_left_asleep(2, [&[3], &[1]], [2, 2]));
}

#[test]
fn a_backlog_of_one_run_for_each_handler_is_served() {
    holds_large(|| a_backlog_is_served(1, [&[1, 1], &[1]]));
}

#[test]
fn a_close_ends_everybody_at_capacity_1() {
    holds_large(|| a_close_ends_everybody(1, [&[1, 1], &[1]], 1));
}

#[test]
fn a_close_ends_everybody_at_capacity_2_with_runs() {
    holds_large(|| a_close_ends_everybody(2, [&[3], &[1]], 2));
}

#[test]
fn a_call_is_taken_or_rejected_at_capacity_2() {
    holds(|| a_call_is_taken_or_rejected(2, [&[2, 1], &[1]]));
}

#[test]
fn mutant_handler_sleeps_unlooked() {
    rejects(Mutant::HandlerSleepsUnlooked, "deadlock", || {
        nobody_is_left_asleep(1, [&[1], &[1]], [1, 1]);
    });
}

#[test]
fn mutant_handler_wakes_nobody() {
    rejects(Mutant::HandlerWakesNobody, "deadlock", || {
        nobody_is_left_asleep(2, [&[3], &[1]], [2, 2]);
    });
}

#[test]
fn mutant_reader_waits_unlisted() {
    rejects(Mutant::ReaderWaitsUnlisted, "deadlock", || {
        nobody_is_left_asleep(1, [&[1], &[1]], [1, 1]);
    });
}

#[test]
fn mutant_looking_asleep() {
    rejects(Mutant::LookingAsleep, "deadlock", || {
        nobody_is_left_asleep(1, [&[1], &[1]], [1, 1]);
    });
}

//! What the stages of `--dispatch keyed` count, and these counters at one moment.

use crate::meters::{Counter, LimitMeters, ThreadMeter};
use crate::ordered_log::OrderedLog;
use serde::Serialize;
use std::sync::atomic::{AtomicU32, Ordering};

/// Batch sizes are counted by powers of two, up to 2^31.
const SIZES: usize = 32;

/// What the serial stage or the dispatcher counts; its thread is the only writer.
#[derive(Debug)]
pub struct StageMeters {
    /// The thread.
    pub thread: ThreadMeter,
    /// Calls confirmed, or calls dispatched on this thread.
    pub calls: Counter,
    /// Waits for calls that had to sleep.
    pub wakeups: Counter,
    /// Time that paced costs took, in nanoseconds; no CPU time.
    pub paced_ns: Counter,
    /// Time spent waiting for room in the ordered log, in nanoseconds; the serial stage only.
    pub blocked_ns: Counter,
}

/// All of it. Counters that are not of one stage are written by whoever dispatches: one thread at a
/// time, which passes the right on under the log's lock.
#[derive(Debug)]
pub struct KeyedMeters {
    /// The serial stage.
    pub serial: StageMeters,
    /// The dispatcher.
    pub dispatcher: StageMeters,
    /// Batches dispatched.
    pub cycles: Counter,
    /// Batches by size: up to 1, 2, 4, 8 ... calls.
    batch_sizes: [Counter; SIZES],
    /// The largest one.
    batch_max_seen: AtomicU32,
    /// Time from the end of a dispatch to the next read, in nanoseconds, by the dispatching clock.
    pub gap_ns: Counter,
    /// How long shares waited for room in their handler's queue, in nanoseconds.
    pub held_back_ns: Counter,
    /// Reads that went on at the serial stage; written by that.
    pub extended_reads: Counter,
    /// Calls dispatched at the serial stage; written by that.
    pub calls_on_serial: Counter,
    /// Stalls that kept calls; written by the serial stage.
    pub stalls: Counter,
}

impl StageMeters {
    fn new(name: &str) -> StageMeters {
        StageMeters {
            thread: ThreadMeter::new(name.into()),
            calls: Counter::default(),
            wakeups: Counter::default(),
            paced_ns: Counter::default(),
            blocked_ns: Counter::default(),
        }
    }
}

impl Default for KeyedMeters {
    fn default() -> KeyedMeters {
        KeyedMeters {
            serial: StageMeters::new("serial"),
            dispatcher: StageMeters::new("dispatcher"),
            cycles: Counter::default(),
            batch_sizes: std::array::from_fn(|_| Counter::default()),
            batch_max_seen: AtomicU32::new(0),
            gap_ns: Counter::default(),
            held_back_ns: Counter::default(),
            extended_reads: Counter::default(),
            calls_on_serial: Counter::default(),
            stalls: Counter::default(),
        }
    }
}

impl KeyedMeters {
    /// Notes that a batch of so many calls was dispatched.
    pub(crate) fn note_batch(&self, calls: u32) {
        self.cycles.add(1);
        self.batch_sizes[bucket_of(calls)].add(1);
        self.batch_max_seen.fetch_max(calls, Ordering::Relaxed);
    }

    /// All counters now, and those of the log and its limits.
    pub(crate) fn snapshot(&self, log: &OrderedLog, limits: &LimitMeters) -> KeyedSnapshot {
        let (backlog, backlog_max) = log.depth();
        let sizes = self.batch_sizes.iter().enumerate();
        let batch_sizes = sizes.map(|(bucket, count)| (1u64 << bucket, count.get()));
        KeyedSnapshot {
            serial: stage(&self.serial),
            dispatcher: stage(&self.dispatcher),
            cycles: self.cycles.get(),
            batch_sizes: batch_sizes.filter(|(_, count)| *count > 0).collect(),
            batch_max: self.batch_max_seen.load(Ordering::Relaxed),
            gap_ns: self.gap_ns.get(),
            held_back: limits.handler_queue_waits.get(),
            held_back_ns: self.held_back_ns.get(),
            extended_reads: self.extended_reads.get(),
            calls_on_serial: self.calls_on_serial.get(),
            backlog,
            backlog_max,
            log_capacity: log.capacity(),
            log_full_waits: limits.log_full_waits.get(),
            stalls: self.stalls.get(),
        }
    }
}

/// The smallest power of two that is no less than `calls`, as its exponent.
fn bucket_of(calls: u32) -> usize {
    (calls.max(1).next_power_of_two().trailing_zeros() as usize).min(SIZES - 1)
}

/// The dispatch by key since the start of the server. Times in nanoseconds.
#[derive(Clone, Debug, Serialize)]
pub struct KeyedSnapshot {
    /// The serial stage; its calls are those that it has confirmed.
    pub serial: StageSnapshot,
    /// The dispatcher; its calls are those dispatched on its own thread.
    pub dispatcher: StageSnapshot,
    /// Batches dispatched, on either thread.
    pub cycles: u64,
    /// How many batches had up to so many calls, and more than half as many: (calls, batches).
    pub batch_sizes: Vec<(u64, u64)>,
    /// Calls of the largest batch.
    pub batch_max: u32,
    /// Time from the end of a dispatch until the next read may begin.
    pub gap_ns: u64,
    /// Shares that waited because their handler's queue was full.
    pub held_back: u64,
    /// How long they did.
    pub held_back_ns: u64,
    /// Reads that went on at the serial stage.
    pub extended_reads: u64,
    /// Calls that were dispatched at the serial stage.
    pub calls_on_serial: u64,
    /// Calls confirmed and not read, now.
    pub backlog: usize,
    /// The most that there ever were.
    pub backlog_max: usize,
    /// The bound.
    pub log_capacity: usize,
    /// Appends that waited for room.
    pub log_full_waits: u64,
    /// Stalls of the serial stage that kept calls.
    pub stalls: u64,
}

/// The serial stage or the dispatcher.
#[derive(Clone, Debug, Serialize)]
pub struct StageSnapshot {
    /// Thread name.
    pub name: String,
    /// CPU time.
    pub cpu_ns: u64,
    /// Time runnable without a CPU, except where the thread gave its own away.
    pub wait_ns: u64,
    /// Time that paced costs took: busy, but on no CPU of this host.
    pub paced_ns: u64,
    /// Calls.
    pub calls: u64,
    /// Waits for calls that had to sleep.
    pub wakeups: u64,
    /// Time waiting for room in the ordered log.
    pub blocked_ns: u64,
}

fn stage(meters: &StageMeters) -> StageSnapshot {
    let times = meters.thread.wanted();
    StageSnapshot {
        name: meters.thread.name.clone(),
        cpu_ns: times.run_ns,
        wait_ns: times.wait_ns,
        paced_ns: meters.paced_ns.get(),
        calls: meters.calls.get(),
        wakeups: meters.wakeups.get(),
        blocked_ns: meters.blocked_ns.get(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_counted_under_the_next_power_of_two() {
        let meters = KeyedMeters::default();
        [1, 2, 3, 4, 5, 500, 512, 513].into_iter().for_each(|calls| meters.note_batch(calls));
        let seen = meters.snapshot(&OrderedLog::new(7), &LimitMeters::default());
        assert_eq!(seen.batch_sizes, [(1, 1), (2, 1), (4, 2), (8, 1), (512, 2), (1024, 1)]);
        assert_eq!((seen.cycles, seen.batch_max, seen.log_capacity), (8, 513, 7));
    }
}

//! The ordered log of `--dispatch keyed`: calls that the serial stage has confirmed, in order,
//! until the dispatcher reads them. Bounded; one thread appends and one reads.
//!
//! A read that came out short can be *extended*: the dispatcher hands its batch to the serial stage
//! and waits; that reads on, dispatches the batch itself and hands back the empty one.
//!
//! **Why no wake-up is lost.** Who sleeps says so under the lock, in the step in which it found no
//! reason to go on, and whoever makes such a reason (calls, room, an extension, its end, the close)
//! takes that word back under the same lock and then wakes. The serial stage never waits for room
//! while an extension waits for it: [`OrderedLog::append`] gives back what did not fit. It is also
//! called away from an empty call queue, see [`crate::call_queue::CallQueue::call_away`].

use crate::call::Calls;
use crate::call_queue::Run;
use crate::mutant::Mutant;
use crate::sync::{Condvar, Mutex, MutexGuard, lock, wait, yield_now};
use echo_common::clock;
use std::collections::VecDeque;

/// What stands in the log.
pub trait Entry: Run {
    /// When the serial stage had confirmed its calls, by that stage's clock.
    fn confirmed_ns(&self) -> u64;
    /// How many of its calls, from the front, stay within both bounds.
    fn fitting(&self, calls_max: u32, bytes_max: usize) -> u32;
    /// Bytes of its calls.
    fn bytes(&self) -> usize;
}

/// A run of confirmed calls.
pub struct Confirmed {
    /// The calls.
    pub calls: Calls,
    /// See [`Entry::confirmed_ns`].
    pub confirmed_ns: u64,
}

impl Run for Confirmed {
    fn count(&self) -> u32 {
        self.calls.count
    }

    fn split_front(&mut self, count: u32) -> Confirmed {
        let calls = self.calls.split_front(count);
        Confirmed { calls, confirmed_ns: self.confirmed_ns }
    }
}

impl Entry for Confirmed {
    fn confirmed_ns(&self) -> u64 {
        self.confirmed_ns
    }

    fn fitting(&self, calls_max: u32, bytes_max: usize) -> u32 {
        self.calls.fitting(calls_max, bytes_max)
    }

    fn bytes(&self) -> usize {
        self.calls.frames.len()
    }
}

/// How much one read takes at most; always one call if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadLimit {
    /// Calls (`--dispatch-batch`).
    pub calls: u32,
    /// Bytes of their frames (`--dispatch-max-bytes`).
    pub bytes: usize,
}

impl ReadLimit {
    /// What `batch` leaves of it.
    pub fn left_by<E: Entry>(self, batch: &[E]) -> ReadLimit {
        let bytes = batch.iter().map(Entry::bytes).sum();
        ReadLimit {
            calls: self.calls.saturating_sub(count_of(batch)),
            bytes: self.bytes.saturating_sub(bytes),
        }
    }
}

/// Calls in a batch.
pub fn count_of<E: Entry>(batch: &[E]) -> u32 {
    batch.iter().map(Run::count).sum()
}

/// A short read on its way to the serial stage and back.
pub struct Extension<E = Confirmed> {
    /// What was read; empty when it comes back.
    pub batch: Vec<E>,
    /// When it was asked, then when its dispatch was done, by the clock of who passes it on.
    pub at_ns: u64,
    /// Calls that the serial stage had before it when it was asked.
    pub behind: usize,
}

/// How a read came to its calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// The limit is reached: the next call would go beyond it.
    pub is_full: bool,
    /// The dispatcher had to sleep first.
    pub slept: bool,
    /// Time for which it gave its processor away before that, in nanoseconds.
    pub yielded_ns: u64,
}

/// What an append did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Appended {
    /// Time spent waiting for room, in nanoseconds, if there was none.
    pub blocked_ns: Option<u64>,
    /// An extension waits for the serial stage.
    pub extension_asked: bool,
}

struct State<E> {
    entries: VecDeque<E>,
    calls: usize,
    calls_max_seen: usize,
    /// The dispatcher sleeps because there is nothing to read.
    reader_sleeps: bool,
    /// The serial stage sleeps because there is no room.
    appender_sleeps: bool,
    asked: Option<Extension<E>>,
    /// From the asking of an extension to its end.
    extending: bool,
    extended: Option<Extension<E>>,
    closed: bool,
}

/// See the module's text.
pub struct OrderedLog<E: Entry = Confirmed> {
    state: Mutex<State<E>>,
    appender: Condvar,
    reader: Condvar,
    capacity: usize,
}

impl<E: Entry> OrderedLog<E> {
    /// A log of at most `capacity` calls.
    pub fn new(capacity: usize) -> OrderedLog<E> {
        assert!(capacity > 0, "a log needs room for one call");
        OrderedLog {
            state: Mutex::new(State {
                entries: VecDeque::new(),
                calls: 0,
                calls_max_seen: 0,
                reader_sleeps: false,
                appender_sleeps: false,
                asked: None,
                extending: false,
                extended: None,
                closed: false,
            }),
            appender: Condvar::new(),
            reader: Condvar::new(),
            capacity,
        }
    }

    /// Appends `entries` and leaves none; or, when the log is full and an extension waits for the
    /// caller, leaves what did not fit. Otherwise waits while it is full.
    pub fn append(&self, entries: &mut VecDeque<E>) -> Appended {
        let mut appended = Appended::default();
        let mut state = lock(&self.state);
        loop {
            self.fill(&mut state, entries);
            let wake = !state.entries.is_empty() && std::mem::take(&mut state.reader_sleeps);
            let called = state.extending && !Mutant::FullLogBeforeExtension.is_on();
            let done = entries.is_empty() || called;
            if done {
                appended.extension_asked = state.asked.is_some();
            }
            if done || wake {
                drop(state);
                if wake {
                    self.reader.notify_one();
                }
                if done {
                    return appended;
                }
                state = lock(&self.state);
                continue;
            }
            let since_ns = clock::now_ns();
            state.appender_sleeps = true;
            while state.appender_sleeps {
                state = wait(&self.appender, state);
            }
            let waited_ns = clock::elapsed_ns(since_ns, clock::now_ns());
            *appended.blocked_ns.get_or_insert(0) += waited_ns;
        }
    }

    /// Reads into `batch` what was confirmed at or before `until_ns` (or, if nothing was, together
    /// with the first call), within `limit`; sleeps while there is nothing. `None` means that the
    /// log is closed and empty.
    pub fn read(
        &self,
        limit: ReadLimit,
        until_ns: Option<u64>,
        batch: &mut Vec<E>,
    ) -> Option<Read> {
        let mut state = lock(&self.state);
        let (mut looked, mut slept, mut yielded_ns) = (false, false, 0);
        while state.entries.is_empty() {
            if state.closed {
                return None;
            }
            if !std::mem::replace(&mut looked, true) {
                drop(state);
                let since_ns = clock::now_ns();
                yield_now();
                yielded_ns = clock::elapsed_ns(since_ns, clock::now_ns());
                state = lock(&self.state);
                continue;
            }
            state = Mutant::DispatcherSleepsUnlooked.lets_go(&self.state, state);
            slept = true;
            state.reader_sleeps = true;
            while state.reader_sleeps {
                state = wait(&self.reader, state);
            }
        }
        let is_full = self.take(state, limit, until_ns, batch);
        Some(Read { is_full, slept, yielded_ns })
    }

    /// Reads on into a batch without waiting; for the serial stage, while it extends a read.
    pub fn read_on(&self, limit: ReadLimit, batch: &mut Vec<E>) -> Read {
        let is_full = self.take(lock(&self.state), limit.left_by(batch), None, batch);
        Read { is_full, slept: false, yielded_ns: 0 }
    }

    /// Whether there is nothing to read.
    pub fn is_empty(&self) -> bool {
        lock(&self.state).entries.is_empty()
    }

    /// Hands a short read to the serial stage, if there is more to read by now, and waits for its
    /// end; `call_away` sees to it that the serial stage does not sleep elsewhere. Gives it back as
    /// it was if there is nothing to read on, or no serial stage any more.
    pub fn extend(
        &self,
        extension: Extension<E>,
        call_away: impl FnOnce(),
    ) -> Result<Extension<E>, Extension<E>> {
        let mut state = lock(&self.state);
        if state.closed || state.entries.is_empty() {
            return Err(extension);
        }
        debug_assert!(!state.extending, "one read at a time");
        state.extending = true;
        state.asked = Some(extension);
        let wake = std::mem::take(&mut state.appender_sleeps);
        drop(state);
        if wake {
            self.appender.notify_one();
        }
        call_away();
        let mut state = lock(&self.state);
        loop {
            if let Some(extended) = state.extended.take() {
                return Ok(extended);
            }
            state = wait(&self.reader, state);
        }
    }

    /// The extension that was asked, once; for the serial stage.
    pub fn take_asked(&self) -> Option<Extension<E>> {
        lock(&self.state).asked.take()
    }

    /// An extension has been dispatched.
    pub fn finish(&self, extension: Extension<E>) {
        let mut state = lock(&self.state);
        debug_assert!(extension.batch.is_empty() && state.extending);
        state.extending = false;
        state.extended = Some(extension);
        drop(state);
        self.reader.notify_one();
    }

    /// Nothing more is appended, and no extension done. Refused while one waits to be done.
    pub fn close(&self) -> bool {
        let mut state = lock(&self.state);
        if state.extending {
            return false;
        }
        state.closed = true;
        state.reader_sleeps = false;
        drop(state);
        self.reader.notify_one();
        true
    }

    /// Calls confirmed and not read, now and at most so far.
    pub fn depth(&self) -> (usize, usize) {
        let state = lock(&self.state);
        (state.calls, state.calls_max_seen)
    }

    /// The bound, in calls.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    fn fill(&self, state: &mut State<E>, entries: &mut VecDeque<E>) {
        while let Some(mut entry) = entries.pop_front() {
            let room = self.capacity - state.calls;
            let count = entry.count() as usize;
            if count <= room {
                state.calls += count;
                state.entries.push_back(entry);
                continue;
            }
            if room > 0 {
                state.entries.push_back(entry.split_front(room as u32));
                state.calls += room;
            }
            entries.push_front(entry);
            break;
        }
        state.calls_max_seen = state.calls_max_seen.max(state.calls);
    }

    /// Moves entries into `batch`; wakes the serial stage if it waits for room and half is free.
    /// Returns whether the limit is reached.
    fn take(
        &self,
        mut state: MutexGuard<'_, State<E>>,
        limit: ReadLimit,
        until_ns: Option<u64>,
        batch: &mut Vec<E>,
    ) -> bool {
        let first_ns = state.entries.front().map_or(0, Entry::confirmed_ns);
        let until_ns = until_ns.map_or(u64::MAX, |ns| ns.max(first_ns));
        let (mut calls, mut bytes, mut is_cut) = (limit.calls, limit.bytes, false);
        while calls > 0
            && state.entries.front().is_some_and(|entry| entry.confirmed_ns() <= until_ns)
            && let Some(mut entry) = state.entries.pop_front()
        {
            let fitting = entry.fitting(calls, bytes).max(u32::from(batch.is_empty()));
            if fitting < entry.count() {
                let fits = (fitting > 0).then(|| entry.split_front(fitting));
                state.entries.push_front(entry);
                state.calls -= fitting as usize;
                batch.extend(fits);
                is_cut = true;
                break;
            }
            calls -= fitting;
            bytes = bytes.saturating_sub(entry.bytes());
            state.calls -= fitting as usize;
            batch.push(entry);
        }
        let room = state.calls <= self.capacity / 2;
        let wake = room && std::mem::take(&mut state.appender_sleeps);
        drop(state);
        if wake {
            self.appender.notify_one();
        }
        is_cut || calls == 0
    }
}

#[cfg(test)]
mod tests;

//! The bounded queue between readers and handlers, and what "full" means.
//!
//! One lock, taken once per pass by a reader and once per take by a handler. Its price per call is
//! a few nanoseconds; what costs is sleeping and waking, so wake-ups are rare:
//! - A handler that finds the queue empty gives its processor away once and looks again before it
//!   sleeps. On a busy core the reader runs meanwhile, and neither sleeps nor wakes the other.
//! - Only a handler that sleeps is woken, and only while none is about to look. It is claimed under
//!   the lock, so it is woken once, and at most one wake-up is under way. The woken handler wakes
//!   the next one if calls are left.
//! - While the handlers that are awake have little to do each, no other is woken (`backlog_max`;
//!   nothing may wait for a service whose calls take long).
//! - A handler that serves a slow run counts as neither awake nor asleep, however long that takes.
//! - The lowest-numbered sleeper is woken first: light load stays on few threads and warm caches.
//! - A reader that finds the queue full leaves the rest of its pass with the queue and sleeps until
//!   the last of it has moved up: one wake-up however many times the queue fills.
//!
//! **Why no wake-up is lost.** A handler goes to sleep under the lock, and only while the queue is
//! empty, and a put or take that leaves calls behind while every handler sleeps claims one. Calls
//! in the queue therefore imply that some handler is awake and will look again before it sleeps,
//! or that one has been claimed and is on its way.

use crate::call::Calls;
use crate::mutant::Mutant;
use crate::sync::{Condvar, Mutex, MutexGuard, lock, wait, yield_now};
use echo_common::clock;
use std::collections::VecDeque;

/// What travels through a queue: a run of calls that can be taken apart.
pub trait Run: Send {
    /// Calls in the run, at least 1.
    fn count(&self) -> u32;
    /// Splits off the first `count` calls, fewer than there are.
    fn split_front(&mut self, count: u32) -> Self;
    /// Whether it keeps a handler for long: then it is taken alone, and no other run waits for
    /// that handler.
    fn is_slow(&self) -> bool {
        false
    }
}

impl Run for Calls {
    fn count(&self) -> u32 {
        self.count
    }

    fn split_front(&mut self, count: u32) -> Calls {
        Calls::split_front(self, count)
    }

    fn is_slow(&self) -> bool {
        self.is_slow
    }
}

/// What a reader does when the queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WhenFull {
    /// The reader stops reading until there is room, as Hadoop does by default.
    Wait,
    /// The calls that do not fit are answered "server too busy".
    Reject,
}

/// What a put did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Put {
    /// A sleeping handler was woken; otherwise one is awake, or none had anything to do.
    pub woke: bool,
    /// Time spent waiting for room, in nanoseconds, if the reader had to wait.
    pub blocked_ns: Option<u64>,
}

/// How a take came to its calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Take {
    /// The handler had to sleep first.
    pub slept: bool,
    /// Time for which it gave its processor away before that, in nanoseconds.
    pub yielded_ns: u64,
}

/// A reader that waits for room, with the part of its pass that is not in the queue yet.
struct Waiting<R> {
    reader: usize,
    rest: VecDeque<R>,
}

struct State<R> {
    runs: VecDeque<R>,
    calls: usize,
    calls_max_seen: usize,
    /// By handler number: sleeps, and has not been claimed by a waker.
    asleep: Box<[bool]>,
    sleepers: usize,
    /// By handler number: serves a slow run.
    away: Box<[bool]>,
    /// Handlers that serve slow runs.
    away_count: usize,
    /// Handlers that will look once more before they sleep.
    looking: usize,
    /// A claimed handler has not looked yet.
    waking: bool,
    /// The only taker shall not sleep here, see [`CallQueue::call_away`].
    called_away: bool,
    /// Readers that wait for room, in the order in which they came.
    waiting: VecDeque<Waiting<R>>,
    closed: bool,
}

/// See the module's text.
pub struct CallQueue<R: Run = Calls> {
    state: Mutex<State<R>>,
    handlers: Box<[Condvar]>,
    readers: Box<[Condvar]>,
    capacity: usize,
    when_full: WhenFull,
    backlog_max: usize,
}

impl<R: Run> CallQueue<R> {
    /// A queue of at most `capacity` calls between so many readers and handlers. While no more than
    /// `backlog_max` runs wait for each handler that is awake, no other is woken.
    pub fn new(
        capacity: usize,
        readers: usize,
        handlers: usize,
        when_full: WhenFull,
        backlog_max: usize,
    ) -> CallQueue<R> {
        assert!(capacity > 0 && readers > 0 && handlers > 0, "a queue needs room and both sides");
        CallQueue {
            state: Mutex::new(State {
                runs: VecDeque::new(),
                calls: 0,
                calls_max_seen: 0,
                asleep: vec![false; handlers].into(),
                sleepers: 0,
                away: vec![false; handlers].into(),
                away_count: 0,
                looking: 0,
                waking: false,
                called_away: false,
                waiting: VecDeque::new(),
                closed: false,
            }),
            handlers: (0..handlers).map(|_| Condvar::new()).collect(),
            readers: (0..readers).map(|_| Condvar::new()).collect(),
            capacity,
            when_full,
            backlog_max,
        }
    }

    /// Puts all of `pass` in, in order, for reader number `reader`, and leaves it empty; or, when
    /// the queue is full and the policy is [`WhenFull::Reject`] (or the queue is closed), leaves in
    /// it what did not fit.
    pub fn put(&self, reader: usize, pass: &mut VecDeque<R>) -> Put {
        let mut state = lock(&self.state);
        if state.waiting.is_empty() {
            self.fill(&mut state, pass);
        }
        if pass.is_empty() || self.when_full == WhenFull::Reject || state.closed {
            let woke = self.wake_one(state);
            return Put { woke, blocked_ns: None };
        }
        state = Mutant::ReaderWaitsUnlisted.lets_go(&self.state, state);
        state.waiting.push_back(Waiting { reader, rest: std::mem::take(pass) });
        let woke = self.wake_one(state);
        let since_ns = clock::now_ns();
        let mut state = lock(&self.state);
        while !state.closed && state.waiting.iter().any(|waiting| waiting.reader == reader) {
            state = wait(&self.readers[reader], state);
        }
        if let Some(at) = state.waiting.iter().position(|waiting| waiting.reader == reader)
            && let Some(waiting) = state.waiting.remove(at)
        {
            *pass = waiting.rest;
        }
        Put { woke, blocked_ns: Some(clock::elapsed_ns(since_ns, clock::now_ns())) }
    }

    /// Takes up to `calls_max` calls (at least one) into `batch` for handler number `handler`;
    /// sleeps while there are none. `None` means that the queue is closed and empty. Who was called
    /// away comes back with an empty batch.
    pub fn take(&self, handler: usize, calls_max: u32, batch: &mut Vec<R>) -> Option<Take> {
        debug_assert!(calls_max > 0 && batch.is_empty());
        let mut state = lock(&self.state);
        if std::mem::take(&mut state.away[handler]) {
            state.away_count -= 1;
        }
        let mut take = Take::default();
        let mut looked = false;
        while state.runs.is_empty() {
            if state.closed {
                return None;
            }
            if std::mem::take(&mut state.called_away) {
                return Some(take);
            }
            if !std::mem::replace(&mut looked, true) {
                state.looking += 1;
                drop(state);
                let since_ns = clock::now_ns();
                yield_now();
                take.yielded_ns = clock::elapsed_ns(since_ns, clock::now_ns());
                state = lock(&self.state);
                if !Mutant::LookingAsleep.is_on() {
                    state.looking -= 1;
                }
                continue;
            }
            state = Mutant::HandlerSleepsUnlooked.lets_go(&self.state, state);
            take.slept = true;
            state.asleep[handler] = true;
            state.sleepers += 1;
            while state.asleep[handler] {
                state = wait(&self.handlers[handler], state);
            }
            state.waking = false;
        }
        let admitted = self.take_runs(&mut state, calls_max, batch);
        if batch.iter().any(R::is_slow) {
            state.away[handler] = true;
            state.away_count += 1;
        }
        if !Mutant::HandlerWakesNobody.is_on() {
            self.wake_one(state);
        }
        for reader in admitted {
            self.readers[reader].notify_one();
        }
        Some(take)
    }

    /// Moves runs into `batch`, a slow one by itself, and what waits for room up behind them. A run
    /// is not taken apart unless it alone is more than a batch: two halves would be two writes to
    /// one connection.
    /// Returns the readers that may go on.
    fn take_runs(&self, state: &mut State<R>, calls_max: u32, batch: &mut Vec<R>) -> Vec<usize> {
        let mut admitted = Vec::new();
        let mut left = calls_max;
        while left > 0
            && let Some(mut run) = state.runs.pop_front()
        {
            if run.is_slow() && !batch.is_empty() {
                state.runs.push_front(run);
                break;
            }
            if run.count() > left {
                if !batch.is_empty() {
                    state.runs.push_front(run);
                    break;
                }
                let taken = run.split_front(left);
                state.runs.push_front(run);
                run = taken;
            }
            left -= run.count();
            state.calls -= run.count() as usize;
            if run.is_slow() {
                // The last of this batch.
                left = 0;
            }
            batch.push(run);
            if state.runs.is_empty() {
                self.move_up(state, &mut admitted);
            }
        }
        self.move_up(state, &mut admitted);
        admitted
    }

    /// Fills the room from the passes of waiting readers; adds those that may go on to `admitted`.
    /// A reader goes on when its whole pass is in and the queue is half empty: at once it would
    /// find the queue full again with its next few calls, and sleep and wake for each of them.
    fn move_up(&self, state: &mut State<R>, admitted: &mut Vec<usize>) {
        while let Some(mut waiting) = state.waiting.pop_front() {
            self.fill(state, &mut waiting.rest);
            if !waiting.rest.is_empty() || state.calls > self.capacity / 2 {
                state.waiting.push_front(waiting);
                break;
            }
            admitted.push(waiting.reader);
        }
    }

    /// There is something else to do for the only taker of a queue: its present or next take that
    /// finds no calls comes back without any. No wake-up is lost, because the word is left under
    /// the lock under which it looks before it sleeps.
    pub fn call_away(&self) {
        debug_assert_eq!(self.handlers.len(), 1, "nobody else would hear of it");
        let mut state = lock(&self.state);
        let sleeps = std::mem::take(&mut state.asleep[0]);
        state.called_away = sleeps || !Mutant::OnlySleepersCalledAway.is_on();
        state.sleepers -= usize::from(sleeps);
        drop(state);
        if sleeps {
            self.handlers[0].notify_one();
        }
    }

    /// Takes no more calls; handlers drain what is in, then see the end.
    pub fn close(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        state.sleepers = 0;
        state.asleep.fill(false);
        drop(state);
        for sleeper in self.readers.iter().chain(&self.handlers) {
            sleeper.notify_one();
        }
    }

    /// Calls waiting now, and the most that ever waited.
    pub fn depth(&self) -> (usize, usize) {
        let state = lock(&self.state);
        (state.calls, state.calls_max_seen)
    }

    /// Whether calls that find no room are given back.
    pub fn rejects(&self) -> bool {
        self.when_full == WhenFull::Reject
    }

    /// The bound, in calls.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    fn fill(&self, state: &mut State<R>, pass: &mut VecDeque<R>) {
        while !state.closed
            && let Some(mut run) = pass.pop_front()
        {
            let room = self.capacity - state.calls;
            let count = run.count() as usize;
            if count <= room {
                state.calls += count;
                state.runs.push_back(run);
                continue;
            }
            if room > 0 {
                state.runs.push_back(run.split_front(room as u32));
                state.calls += room;
            }
            pass.push_front(run);
            break;
        }
        state.calls_max_seen = state.calls_max_seen.max(state.calls);
    }

    /// Wakes one sleeper if there is work, nobody about to look, and no wake-up under way; after
    /// unlocking.
    fn wake_one(&self, mut state: MutexGuard<'_, State<R>>) -> bool {
        if state.sleepers == 0 || state.looking > 0 || state.waking {
            return false;
        }
        let away = if Mutant::SlowIsAwake.is_on() { 0 } else { state.away_count };
        let awake = self.handlers.len() - state.sleepers - away;
        if state.runs.len() <= self.backlog_max * awake {
            return false;
        }
        let Some(handler) = state.asleep.iter().position(|asleep| *asleep) else { return false };
        state.asleep[handler] = false;
        state.sleepers -= 1;
        state.waking = true;
        drop(state);
        self.handlers[handler].notify_one();
        true
    }
}

#[cfg(test)]
mod tests;

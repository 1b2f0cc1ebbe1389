//! The bounded queue between readers and handlers, and what "full" means.
//!
//! One lock, taken once per pass by a reader and once per take by a handler. Its price per call is
//! a few nanoseconds; what costs is sleeping and waking, so wake-ups are rare:
//! - Only a handler that sleeps is woken, and it is claimed under the lock, so it is woken once.
//! - At most one wake-up is under way. The woken handler wakes the next one if calls are left.
//! - The lowest-numbered sleeper is woken first, so light load stays on few threads and warm caches.
//!
//! **Why no wake-up is lost.** A handler goes to sleep under the lock, and only while the queue is
//! empty. Calls in the queue therefore imply that some handler is awake and will look again before
//! it sleeps, or that one has been claimed and is on its way.

use crate::call::Calls;
use crate::sync::{Condvar, Mutex, MutexGuard, lock, wait};
use echo_common::clock;
use std::collections::VecDeque;

/// What travels through a queue: a run of calls that can be taken apart.
pub trait Run: Send {
    /// Calls in the run, at least 1.
    fn count(&self) -> u32;
    /// Splits off the first `count` calls, fewer than there are.
    fn split_front(&mut self, count: u32) -> Self;
}

impl Run for Calls {
    fn count(&self) -> u32 {
        self.count
    }

    fn split_front(&mut self, count: u32) -> Calls {
        Calls::split_front(self, count)
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Put {
    /// Time spent waiting for room, in nanoseconds.
    pub blocked_ns: u64,
    /// Waits for room.
    pub waits: u64,
}

struct State<R> {
    runs: VecDeque<R>,
    calls: usize,
    calls_max_seen: usize,
    /// By handler number: sleeps, and has not been claimed by a waker.
    asleep: Box<[bool]>,
    sleepers: usize,
    /// A claimed handler has not looked yet.
    waking: bool,
    waiting_putters: usize,
    closed: bool,
}

/// See the module's text.
pub struct CallQueue<R: Run = Calls> {
    state: Mutex<State<R>>,
    handlers: Box<[Condvar]>,
    room: Condvar,
    capacity: usize,
    when_full: WhenFull,
}

impl<R: Run> CallQueue<R> {
    /// A queue of at most `capacity` calls for `handlers` handlers.
    pub fn new(capacity: usize, handlers: usize, when_full: WhenFull) -> CallQueue<R> {
        assert!(capacity > 0 && handlers > 0, "a queue needs room and takers");
        CallQueue {
            state: Mutex::new(State {
                runs: VecDeque::new(),
                calls: 0,
                calls_max_seen: 0,
                asleep: vec![false; handlers].into(),
                sleepers: 0,
                waking: false,
                waiting_putters: 0,
                closed: false,
            }),
            handlers: (0..handlers).map(|_| Condvar::new()).collect(),
            room: Condvar::new(),
            capacity,
            when_full,
        }
    }

    /// Puts all of `pass` in, in order, and leaves it empty; or, when the queue is full and the
    /// policy is [`WhenFull::Reject`] (or the queue is closed), leaves in it what did not fit.
    pub fn put(&self, pass: &mut VecDeque<R>) -> Put {
        let mut done = Put::default();
        let mut state = lock(&self.state);
        loop {
            self.fill(&mut state, pass);
            if pass.is_empty() || self.when_full == WhenFull::Reject || state.closed {
                self.wake_one(state);
                return done;
            }
            self.wake_one(state);
            let since = clock::now_ns();
            state = lock(&self.state);
            if state.calls >= self.capacity && !state.closed {
                done.waits += 1;
                state.waiting_putters += 1;
                while state.calls >= self.capacity && !state.closed {
                    state = wait(&self.room, state);
                }
                state.waiting_putters -= 1;
                done.blocked_ns += clock::elapsed_ns(since, clock::now_ns());
            }
        }
    }

    /// Takes up to `calls_max` calls (at least one) into `batch` for handler number `handler`;
    /// sleeps while there are none. Returns whether it slept, or `None` when the queue is closed
    /// and empty.
    pub fn take(&self, handler: usize, calls_max: u32, batch: &mut Vec<R>) -> Option<bool> {
        debug_assert!(calls_max > 0 && batch.is_empty());
        let mut state = lock(&self.state);
        let mut slept = false;
        while state.runs.is_empty() {
            if state.closed {
                return None;
            }
            slept = true;
            state.asleep[handler] = true;
            state.sleepers += 1;
            while state.asleep[handler] {
                state = wait(&self.handlers[handler], state);
            }
            state.waking = false;
        }
        let mut left = calls_max;
        while left > 0
            && let Some(mut run) = state.runs.pop_front()
        {
            if run.count() > left {
                let taken = run.split_front(left);
                state.runs.push_front(run);
                run = taken;
            }
            left -= run.count();
            batch.push(run);
        }
        state.calls -= (calls_max - left) as usize;
        if state.waiting_putters > 0 && state.calls <= self.capacity / 2 {
            self.room.notify_all();
        }
        self.wake_one(state);
        Some(slept)
    }

    /// Takes no more calls; handlers drain what is in, then see the end.
    pub fn close(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        state.sleepers = 0;
        state.asleep.fill(false);
        drop(state);
        self.room.notify_all();
        for handler in &self.handlers {
            handler.notify_one();
        }
    }

    /// Calls waiting now, and the most that ever waited.
    pub fn depth(&self) -> (usize, usize) {
        let state = lock(&self.state);
        (state.calls, state.calls_max_seen)
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

    /// Wakes one sleeper if there is work, a sleeper, and no wake-up under way; after unlocking.
    fn wake_one(&self, mut state: MutexGuard<'_, State<R>>) {
        if state.runs.is_empty() || state.sleepers == 0 || state.waking {
            return;
        }
        let Some(handler) = state.asleep.iter().position(|asleep| *asleep) else { return };
        state.asleep[handler] = false;
        state.sleepers -= 1;
        state.waking = true;
        drop(state);
        self.handlers[handler].notify_one();
    }
}

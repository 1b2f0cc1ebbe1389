//! Locks and atomics: the standard library's, or the model checker's under `--cfg loom`.
//!
//! Everything that more than one thread touches takes its types from here, so that the call
//! queue, the mailbox and the outbox can be run under the model checker as they are.

/// Always the standard library's: only memory hangs on the counts, no decision, and in a model
/// each of them would be one more step to interleave.
pub(crate) use std::sync::Arc;

#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(not(loom))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};
#[cfg(not(loom))]
pub(crate) use std::thread::yield_now;

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicBool, Ordering};
#[cfg(loom)]
pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};

/// Nothing in a model: the locks around it are where others may run, or may not. The checker's own
/// yield would leave out that nobody does.
#[cfg(loom)]
pub(crate) fn yield_now() {}

/// Locks, also after a panic elsewhere: every critical section here leaves its state whole, so a
/// poisoned lock says nothing about the data and must not end the next call too.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// [`Condvar::wait`], with the same view of poisoning as [`lock`].
pub(crate) fn wait<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condvar.wait(guard).unwrap_or_else(|poisoned| poisoned.into_inner())
}

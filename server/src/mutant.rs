//! Faults that a model can switch on in the code it runs, to show that it would find them.
//!
//! A model that rejects nothing is no evidence. Each mutant below is a mistake that reads well,
//! made where it would be made; `models` switches one on and demands that the checker objects.
//!
//! Only builds for the checker (`--cfg loom`) have them: in all others [`Mutant::is_on`] is `false`
//! while compiling, and nothing is left of it.

use crate::sync::{Mutex, MutexGuard, lock};

/// One fault each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// A handler lets go of the queue between its last look and its sleep.
    HandlerSleepsUnlooked,
    /// A handler that took calls leaves those behind them to nobody.
    HandlerWakesNobody,
    /// A reader lets go of the full queue before it is known to wait for room.
    ReaderWaitsUnlisted,
    /// A handler that looked and found nothing still counts as about to look when it sleeps.
    LookingAsleep,
    /// A handler that serves a slow run counts as awake.
    SlowIsAwake,
    /// A reader answers its wake-up only after it has emptied its mailbox.
    WakeAnsweredLate,
    /// The reader is woken before there is anything in its mailbox.
    WokenBeforePush,
    /// The replicator is woken before there is anything in its inbox.
    OfferedAfterWake,
    /// Only one of the listeners that wait for room hears of it.
    RoomForOne,
    /// A writable edge that finds a writer at work is forgotten.
    EdgeForgotten,
    /// An append looks for a blocked socket only, not for a writer.
    TwoWriters,
    /// The writer leaves before it has looked for what came meanwhile.
    WriterLeavesUnlooked,
    /// Replies that were being written when the connection ended are not counted.
    DropUncounted,
    /// Reading is paused in a second step, after the look that found no allowance.
    PausedUnlooked,
    /// A call is noted as in flight after the queue has seen it; made in the model, which plays the
    /// reader.
    #[cfg(all(test, loom))]
    BegunLate,
    /// Who is called away from a queue hears of it only if it sleeps there already.
    OnlySleepersCalledAway,
    /// The dispatcher lets go of the log between its last look and its sleep.
    DispatcherSleepsUnlooked,
    /// The serial stage waits for room in the log although an extension waits for it.
    FullLogBeforeExtension,
    /// The limit is looked at in one step and the place taken in another.
    PlaceTakenLate,
}

impl Mutant {
    /// Whether the model that runs has switched it on.
    #[cfg(not(loom))]
    #[inline(always)]
    pub(crate) const fn is_on(self) -> bool {
        false
    }

    /// Whether the model that runs has switched it on.
    #[cfg(loom)]
    pub(crate) fn is_on(self) -> bool {
        ON.get() == Some(self)
    }

    /// The fault of letting go of a lock between two steps that belong together.
    #[inline(always)]
    pub(crate) fn lets_go<'a, T>(
        self,
        mutex: &'a Mutex<T>,
        guard: MutexGuard<'a, T>,
    ) -> MutexGuard<'a, T> {
        if !self.is_on() {
            return guard;
        }
        drop(guard);
        lock(mutex)
    }

    /// Switches it on for the models that this thread runs; the checker keeps their threads on it.
    #[cfg(all(test, loom))]
    pub(crate) fn switch_on(self) {
        ON.set(Some(self));
    }
}

#[cfg(loom)]
std::thread_local! {
    static ON: std::cell::Cell<Option<Mutant>> = const { std::cell::Cell::new(None) };
}

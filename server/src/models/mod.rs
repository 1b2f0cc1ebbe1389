//! Models: the wake-up protocols of this crate, as they are, in every interleaving that matters.
//!
//! `scripts/models.sh` runs them under the model checker loom. Each model is a few threads that use
//! the real types; what the kernel does is replaced by [`kernel::Kernel`]. The checker runs every
//! order of their steps with at most three preemptions (two where the model is large; more with
//! `LOOM_MAX_PREEMPTIONS`). It fails on a broken assertion, and when nobody can go on: a lost
//! wake-up is a deadlock here. Beside the models that must hold stand the mutants, see
//! [`crate::mutant`], which the same models must reject.
//!
//! What this does not show:
//! - orders that need more preemptions, more threads or more calls than a model has;
//! - weak memory beyond what loom knows: `SeqCst` counts as acquire and release, and no load sees a
//!   later store. The protocols use locks; the one relaxed flag (`ended`) decides nothing;
//! - spurious wake-ups of condition variables, which loom does not make;
//! - time: nothing branches on the clock here, and no deadline strikes;
//! - the kernel's own promises (edges, eventfd) and the reader's bookkeeping around these types.

mod admission;
mod call_queue;
mod kernel;
mod mailbox;
mod ordered_log;
mod outbox;
mod pause;
mod replica_inbox;

use crate::mutant::Mutant;
use loom::model::Builder;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Preemptions in models of a few steps.
const PREEMPTIONS: usize = 3;
/// Preemptions in larger ones.
const PREEMPTIONS_LARGE: usize = 2;
/// Steps of one run; a model that takes more is taken for one that does not end.
const STEPS_MAX: usize = 10_000;

/// `model` runs to its end in every interleaving; prints how many there were.
fn holds(model: impl Fn() + Send + Sync + 'static) {
    println!("{} interleavings", check(PREEMPTIONS, model));
}

/// The same for a large model.
fn holds_large(model: impl Fn() + Send + Sync + 'static) {
    println!("{} interleavings", check(PREEMPTIONS_LARGE, model));
}

/// With `mutant` switched on the checker fails `model`, and complains of `expected`.
fn rejects(mutant: Mutant, expected: &str, model: impl Fn() + Send + Sync + 'static) {
    mutant.switch_on();
    let Err(panic) = catch_unwind(AssertUnwindSafe(|| check(PREEMPTIONS, model))) else {
        panic!("the model holds in spite of {mutant:?}");
    };
    let why = match (panic.downcast_ref::<String>(), panic.downcast_ref::<&str>()) {
        (Some(text), _) => text,
        (_, Some(text)) => *text,
        _ => "a panic without a text",
    };
    assert!(why.contains(expected), "{mutant:?} was rejected, but for another reason: {why}");
}

fn check(preemptions: usize, model: impl Fn() + Send + Sync + 'static) -> u64 {
    let mut builder = Builder::new();
    builder.preemption_bound = builder.preemption_bound.max(Some(preemptions));
    builder.max_branches = builder.max_branches.max(STEPS_MAX);
    // The environment may ask for more, but not for a search that ends before it is done.
    (builder.max_duration, builder.max_permutations) = (None, None);
    let count = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&count);
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        model();
    });
    count.load(Ordering::Relaxed)
}

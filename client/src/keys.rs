//! The keys of a worker's calls: each call has one, no two calls in flight have the same, and the
//! executions that replies name must rise with a key's calls.
//!
//! Everything is by index, and drawing a key, giving it back and checking its order take the same
//! short time however many keys there are, and each takes 28 bytes.
//!
//! A call that ends without a reply gives its key back, too. Its late execution is not seen, so it
//! cannot be held against the key's next call.

use crate::stages::{next_random, random_from};
use echo_common::wire::native::{Execution, Key};

/// Violations that are kept with their circumstances; the rest is counted.
const SHOWN_MAX: usize = 8;

/// No key: calls without `--keys`.
pub(crate) const NO_KEY: u32 = u32::MAX;

/// The keys from `first` on, as many as `count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyRange {
    pub(crate) first: u64,
    pub(crate) count: u32,
}

/// What is known of one key.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// Calls so far.
    sequence: u64,
    /// The last execution that a reply told; number 0 before that.
    last: Execution,
}

/// See the module's text.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    first: u64,
    known: Box<[Known]>,
    /// Indexes of keys without a call in flight, in no order.
    idle: Vec<u32>,
    random: u64,
    pub(crate) findings: KeyFindings,
}

/// A key that was drawn for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Drawn {
    /// What it is given back by.
    pub(crate) index: u32,
    /// What the call carries.
    pub(crate) key: Key,
}

/// What the replies said about order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyFindings {
    /// Replies that told their execution.
    pub(crate) checked: u64,
    /// Of these, executions that do not lie behind that of the key's call before.
    pub(crate) order_violations: u64,
    /// Executions by another handler than the key's call before.
    pub(crate) handler_changes: u64,
    /// Second replies to one call.
    pub(crate) duplicates: u64,
    /// Keys that were called at all.
    pub(crate) used: u64,
    /// The first violations.
    pub(crate) shown: Vec<KeyViolation>,
}

/// One violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub(crate) struct KeyViolation {
    pub(crate) kind: KeyViolationKind,
    pub(crate) key: u64,
    pub(crate) sequence: u64,
    pub(crate) call_id: u64,
    pub(crate) handler: u32,
    pub(crate) execution: u64,
    /// Of the key's call before.
    pub(crate) handler_before: u32,
    pub(crate) execution_before: u64,
}

/// What was violated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum KeyViolationKind {
    /// The execution does not lie behind the one before.
    Order,
    /// Another handler than before.
    Handler,
}

impl Keys {
    /// The keys of `range`, in an order that is the same in every run with the same `seed`.
    pub(crate) fn new(range: KeyRange, seed: u64) -> Keys {
        let known = Known { sequence: 0, last: Execution::default() };
        Keys {
            first: range.first,
            known: vec![known; range.count as usize].into_boxed_slice(),
            idle: (0..range.count).collect(),
            random: random_from(seed, range.first),
            findings: KeyFindings::default(),
        }
    }

    /// A key at random for the next call. There is one: no worker has more callers than keys.
    #[inline]
    pub(crate) fn draw(&mut self) -> Drawn {
        assert!(!self.idle.is_empty(), "no key is left for this call");
        let random = u128::from(next_random(&mut self.random));
        let at = (random * self.idle.len() as u128) >> 64;
        let index = self.idle.swap_remove(at as usize);
        let known = &mut self.known[index as usize];
        known.sequence += 1;
        self.findings.used += u64::from(known.sequence == 1);
        let key = Key { key: self.first + u64::from(index), sequence: known.sequence };
        Drawn { index, key }
    }

    /// The call of a key has ended.
    #[inline]
    pub(crate) fn give_back(&mut self, index: u32) {
        debug_assert!((index as usize) < self.known.len());
        self.idle.push(index);
    }

    /// The call of a key has ended with a reply that tells its execution. Returns whether all is
    /// well with it.
    #[inline]
    pub(crate) fn executed(&mut self, index: u32, call_id: u64, execution: Execution) -> bool {
        let known = &mut self.known[index as usize];
        let before = std::mem::replace(&mut known.last, execution);
        self.findings.checked += 1;
        self.idle.push(index);
        let same = before.handler == execution.handler || before.number == 0;
        if same && execution.number > before.number {
            return true;
        }
        self.violated(index, call_id, before);
        false
    }

    #[cold]
    fn violated(&mut self, index: u32, call_id: u64, before: Execution) {
        let Known { sequence, last } = self.known[index as usize];
        let kind = if before.number != 0 && before.handler != last.handler {
            self.findings.handler_changes += 1;
            KeyViolationKind::Handler
        } else {
            self.findings.order_violations += 1;
            KeyViolationKind::Order
        };
        if self.findings.shown.len() < SHOWN_MAX {
            self.findings.shown.push(KeyViolation {
                kind,
                key: self.first + u64::from(index),
                sequence,
                call_id,
                handler: last.handler,
                execution: last.number,
                handler_before: before.handler,
                execution_before: before.number,
            });
        }
    }
}

impl KeyFindings {
    /// Adds another worker's; their keys are others.
    pub(crate) fn add(&mut self, other: &KeyFindings) {
        self.checked += other.checked;
        self.order_violations += other.order_violations;
        self.handler_changes += other.handler_changes;
        self.duplicates += other.duplicates;
        self.used += other.used;
        let room = SHOWN_MAX - self.shown.len();
        self.shown.extend(other.shown.iter().take(room));
    }
}

/// Deals `keys` to workers with so many callers each: one for each caller, and the rest evenly.
pub(crate) fn deal(keys: u64, callers: &[u64]) -> Vec<KeyRange> {
    let rest = keys - callers.iter().sum::<u64>();
    let workers = callers.len() as u64;
    let mut first = 0;
    let share = |(worker, callers): (u64, &u64)| {
        let count = callers + rest / workers + u64::from(worker < rest % workers);
        let range = KeyRange { first, count: count as u32 };
        first += count;
        range
    };
    (0..).zip(callers).map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn execution(handler: u32, number: u64) -> Execution {
        Execution { handler, number }
    }

    fn keys(count: u32) -> Keys {
        Keys::new(KeyRange { first: 100, count }, 0)
    }

    #[test]
    fn an_execution_behind_the_one_before_on_the_same_handler_is_well() {
        let mut keys = keys(1);
        for number in [1, 2, 9, u64::MAX] {
            let drawn = keys.draw();
            assert!(keys.executed(drawn.index, 7, execution(3, number)));
        }
        assert_eq!((keys.findings.order_violations, keys.findings.handler_changes), (0, 0));
        assert_eq!((keys.findings.checked, keys.findings.used), (4, 1));
    }

    #[test]
    fn an_execution_that_does_not_rise_or_moves_is_told_with_key_and_call() {
        let mut keys = keys(1);
        let mut execute = |call_id, execution| {
            let drawn = keys.draw();
            keys.executed(drawn.index, call_id, execution)
        };
        assert!(execute(70, execution(3, 5)));
        assert!(!execute(71, execution(3, 5)), "executed twice");
        assert!(!execute(72, execution(3, 4)), "executed before");
        assert!(!execute(73, execution(2, 9)), "by another handler");
        assert!(execute(74, execution(2, 10)), "and by that from then on");
        let findings = &keys.findings;
        assert_eq!((findings.order_violations, findings.handler_changes), (2, 1));
        assert_eq!(
            findings.shown[1],
            KeyViolation {
                kind: KeyViolationKind::Order,
                key: 100,
                sequence: 3,
                call_id: 72,
                handler: 3,
                execution: 4,
                handler_before: 3,
                execution_before: 5,
            }
        );
        assert_eq!(findings.shown[2].kind, KeyViolationKind::Handler);
    }

    #[test]
    fn a_first_execution_numbered_0_is_no_execution() {
        let mut keys = keys(1);
        let drawn = keys.draw();
        assert!(!keys.executed(drawn.index, 1, execution(0, 0)));
    }

    #[test]
    fn violations_beyond_the_first_few_are_counted_only() {
        let mut keys = keys(1);
        for _ in 0..100 {
            let drawn = keys.draw();
            keys.executed(drawn.index, 1, execution(1, 1));
        }
        assert_eq!(keys.findings.order_violations, 99);
        assert_eq!(keys.findings.shown.len(), SHOWN_MAX);
        let mut sum = keys.findings.clone();
        sum.add(&keys.findings);
        assert_eq!((sum.order_violations, sum.shown.len()), (198, SHOWN_MAX));
    }

    #[test]
    fn keys_are_drawn_evenly() {
        let mut keys = keys(50);
        let mut drawn = HashMap::new();
        for _ in 0..50_000 {
            let key = keys.draw();
            *drawn.entry(key.key.key).or_insert(0) += 1;
            keys.give_back(key.index);
        }
        assert_eq!(drawn.len(), 50);
        assert!(drawn.values().all(|times| (800..1200).contains(times)), "{drawn:?}");
    }

    proptest! {
        #[test]
        fn no_key_is_out_twice_and_its_sequence_has_no_gap(
            count in 1u32..20,
            steps in prop::collection::vec(any::<Option<prop::sample::Index>>(), 0..200),
        ) {
            let mut keys = keys(count);
            let mut out: Vec<Drawn> = Vec::new();
            let mut sequences: HashMap<u64, u64> = HashMap::new();
            for step in steps {
                match step {
                    None if !keys.idle.is_empty() => {
                        let drawn = keys.draw();
                        prop_assert!(out.iter().all(|other| other.key.key != drawn.key.key));
                        let sequence = sequences.entry(drawn.key.key).or_insert(0);
                        *sequence += 1;
                        prop_assert_eq!(drawn.key.sequence, *sequence);
                        out.push(drawn);
                    }
                    Some(at) if !out.is_empty() => {
                        keys.give_back(out.swap_remove(at.index(out.len())).index);
                    }
                    _ => {}
                }
                prop_assert_eq!(keys.idle.len() + out.len(), count as usize);
            }
            prop_assert_eq!(keys.findings.used as usize, sequences.len());
        }

        #[test]
        fn keys_are_dealt_out_completely_and_suffice_for_every_workers_callers(
            callers in prop::collection::vec(1u64..50, 1..9),
            more in 0u64..1000,
        ) {
            let keys = callers.iter().sum::<u64>() + more;
            let ranges = deal(keys, &callers);
            let mut next = 0;
            for (range, callers) in ranges.iter().zip(&callers) {
                prop_assert_eq!(range.first, next);
                prop_assert!(u64::from(range.count) >= *callers);
                next += u64::from(range.count);
            }
            prop_assert_eq!(next, keys);
        }
    }
}

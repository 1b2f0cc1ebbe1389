//! Exactly n calls: every call number is handed out once, whichever worker asks.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// The calls that may still be started in the measured phase.
#[derive(Debug)]
pub(crate) struct Budget {
    /// How many there are, or none when only the clock ends the run.
    calls: Option<u64>,
    /// Numbers asked for so far; written by all workers. It may pass `calls` by what was asked for
    /// in vain, and a worker that was refused once never asks again, so it cannot overflow.
    /// Relaxed: the number itself is all that is shared.
    asked: AtomicU64,
}

impl Budget {
    /// A budget of `calls`, or an endless one.
    pub(crate) fn new(calls: Option<u64>) -> Budget {
        Budget { calls, asked: AtomicU64::new(0) }
    }

    /// Takes up to `wanted` call numbers. Fewer than `wanted` means that there are no more.
    #[inline]
    pub(crate) fn take(&self, wanted: u64) -> Range<u64> {
        let Some(calls) = self.calls else {
            return 0..wanted;
        };
        let first = self.asked.fetch_add(wanted, Ordering::Relaxed).min(calls);
        first..first.saturating_add(wanted).min(calls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_endless_budget_grants_everything() {
        let budget = Budget::new(None);
        for wanted in [0, 1, 1000] {
            assert_eq!(budget.take(wanted).count() as u64, wanted);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn each_number_is_handed_out_exactly_once_over_threads(
            calls in 0u64..5_000,
            batches in prop::collection::vec(1u64..70, 1..5),
        ) {
            let budget = Budget::new(Some(calls));
            let taken = std::thread::scope(|scope| {
                let threads: Vec<_> = batches
                    .iter()
                    .map(|&wanted| {
                        let budget = &budget;
                        scope.spawn(move || {
                            let mut mine = Vec::new();
                            loop {
                                let granted = budget.take(wanted);
                                let short = (granted.end - granted.start) < wanted;
                                mine.extend(granted);
                                if short {
                                    return mine;
                                }
                            }
                        })
                    })
                    .collect();
                threads.into_iter().flat_map(|t| t.join().unwrap()).collect::<Vec<_>>()
            });
            let mut sorted = taken;
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..calls).collect::<Vec<_>>());
        }
    }
}

//! Whatever happens to calls, their outcomes add up.

use super::*;
use crate::call_table::{CallTable, Found};
use proptest::prelude::*;

/// What can happen to the calls of a connection.
#[derive(Clone, Debug)]
enum Step {
    Start { measured: bool },
    Reply(prop::sample::Index),
    Fail(prop::sample::Index, Failure),
    Expire,
    Lose,
}

fn failures() -> impl Strategy<Value = Failure> {
    prop_oneof![
        Just(Failure::Mismatch),
        (0u16..200).prop_map(|status| Failure::ErrorReply(Reason::Status(status))),
        Just(Failure::Abandoned),
    ]
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => any::<bool>().prop_map(|measured| Step::Start { measured }),
        3 => any::<prop::sample::Index>().prop_map(Step::Reply),
        2 => (any::<prop::sample::Index>(), failures()).prop_map(|(i, f)| Step::Fail(i, f)),
        1 => Just(Step::Expire),
        1 => Just(Step::Lose),
    ]
}

fn expire(table: &mut CallTable, ledger: &mut Ledger, failure: Failure) {
    let mut ended = 0;
    table.expire(u64::MAX, |_, call| {
        ledger.failed(call, failure, 9);
        ended += 1;
    });
    if failure == Failure::TimedOut {
        table.expect_late(ended);
    }
}

proptest! {
    #[test]
    fn every_started_call_has_exactly_one_outcome_whatever_happens(
        steps in prop::collection::vec(steps(), 0..200),
    ) {
        let mut table = CallTable::new(8, false);
        let mut ledger = Ledger::new(Extras::default());
        let mut ids = vec![77];
        for step in steps {
            match step {
                Step::Start { measured } if table.free() > 0 => {
                    ids.push(table.start(1, measured, false));
                    ledger.started(1, measured, 1);
                }
                Step::Start { .. } => {}
                Step::Reply(at) => match table.end(ids[at.index(ids.len())]) {
                    Found::Open(call) => ledger.ok(call, 5),
                    Found::Late => ledger.outcomes.late_replies += 1,
                    Found::Unknown => ledger.outcomes.unexpected_replies += 1,
                },
                Step::Fail(at, failure) => {
                    if let Found::Open(call) = table.end(ids[at.index(ids.len())]) {
                        ledger.failed(call, failure, 5);
                    }
                }
                Step::Expire => expire(&mut table, &mut ledger, Failure::TimedOut),
                Step::Lose => {
                    expire(&mut table, &mut ledger, Failure::Lost(LostKind::Eof));
                }
            }
            let o = &ledger.outcomes;
            let all = o.started + o.warmup_calls;
            prop_assert!(o.ended() + o.warmup_ok + o.warmup_failed <= all);
            prop_assert!(all <= o.ended() + o.warmup_calls + table.open() as u64);
        }
        expire(&mut table, &mut ledger, Failure::Abandoned);
        prop_assert_eq!(ledger.outcomes.started, ledger.outcomes.ended());
        let mut doubled = ledger.outcomes.clone();
        doubled.add(&ledger.outcomes);
        prop_assert_eq!(doubled.ended(), 2 * ledger.outcomes.started);
        prop_assert_eq!(
            ledger.latency.summary().map_or(0, |latency| latency.count),
            ledger.outcomes.ok
        );
    }
}

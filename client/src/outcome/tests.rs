//! Whatever happens to calls, their outcomes add up.

use super::*;
use crate::call_table::{CallTable, Found};
use crate::keys::NO_KEY;
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

/// A server that gives ever new reasons makes neither table grow without end.
#[test]
fn reasons_beyond_those_that_are_told_apart_are_counted_together() {
    let mut ledger = Ledger::new(Extras::default());
    ledger.started(1000, true, 0);
    for status in 0..1000 {
        let reason = Reason::Status(status);
        let call = EndedCall { due_ns: 0, sent_ns: 0, measured: true, key: NO_KEY };
        ledger.failed(call, Failure::ErrorReply(reason), 1);
        ledger.error_text(reason, b"why");
    }
    ledger.settle();
    let replies = &ledger.outcomes.error_replies;
    assert_eq!((replies.len(), ledger.outcomes.error_reply()), (REASONS_MAX + 1, 1000));
    assert_eq!(replies[&Reason::Other], 1000 - REASONS_MAX as u64);
    assert_eq!(ledger.error_texts.len(), ERROR_TEXTS_MAX);
    let mut sum = Ledger::new(Extras::default());
    sum.add(&ledger);
    sum.add(&ledger);
    assert_eq!(sum.outcomes.error_reply(), 2000);
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
                    Found::Open(call) => ledger.ok(call, 1, 5),
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

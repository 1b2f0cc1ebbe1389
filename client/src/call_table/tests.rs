//! Ids that come back, once, twice, late or never given out.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

#[test]
fn a_reply_ends_its_call_once() {
    let mut table = CallTable::new(2, false);
    let id = table.start(5, true, false);
    assert_eq!(table.open(), 1);
    assert_eq!(
        table.end(id),
        Found::Open(EndedCall { due_ns: 5, sent_ns: 5, measured: true, key: NO_KEY })
    );
    assert_eq!(table.end(id), Found::Unknown);
    assert_eq!(table.free(), 2);
}

#[test]
fn calls_that_are_started_at_once_are_those_that_would_be_started_one_by_one() {
    let tables = || {
        [
            CallTable::new(8, false),
            CallTable::new(8, false).in_order(),
            CallTable::counted(8, false, Sequence::own()),
        ]
    };
    for (mut at_once, mut one_by_one) in tables().into_iter().zip(tables()) {
        let mut open = VecDeque::new();
        for (turn, calls) in [3, 0, 5, 2, 1, 4, 4].into_iter().enumerate() {
            let measured = turn > 1;
            let before = open.len();
            at_once.start_all(calls, turn as u64, measured, &mut open);
            let each = (0..calls).map(|_| one_by_one.start(turn as u64, measured, false));
            assert!(each.eq(open.range(before..).copied()), "turn {turn}");
            assert_eq!(at_once.free(), one_by_one.free());
            while open.len() > 4 {
                // The first and, behind it, the last.
                for id in [open.pop_front(), open.pop_back()].into_iter().flatten() {
                    let ended = at_once.end(id);
                    assert!(matches!(ended, Found::Open(_)), "turn {turn}: {ended:?}");
                    assert_eq!(ended, one_by_one.end(id));
                }
            }
        }
    }
}

#[test]
fn a_slot_used_again_has_another_id() {
    let mut table = CallTable::new(1, false);
    let first = table.start(1, false, false);
    table.end(first);
    let second = table.start(2, false, false);
    assert_ne!(first, second);
    assert_eq!(table.end(first), Found::Unknown);
    assert!(table.is_open(second));
}

#[test]
fn only_a_timed_out_call_can_be_late() {
    let mut table = CallTable::new(1, false);
    let id = table.start(10, true, false);
    table.expire(9, |_, _| panic!("not due"));
    let mut timed_out = Vec::new();
    table.expire(10, |id, call| timed_out.push((id, call.sent_ns)));
    assert_eq!(timed_out, [(id, 10)]);
    table.expect_late(1);
    assert_eq!(table.end(id + (7 << 32)), Found::Unknown, "an id never given out");
    assert_eq!(table.end(id), Found::Late);
    assert_eq!(table.end(id), Found::Unknown, "a second reply to it");
}

#[test]
fn a_reply_behind_that_of_a_later_call_is_seen_where_order_is_looked_at() {
    let mut table = CallTable::new(4, false).in_order();
    let ids: Vec<u64> = (0..4).map(|at| table.start(at, true, at == 2)).collect();
    let end = |table: &mut CallTable, at: usize| {
        let Found::Open(call) = table.end(ids[at]) else { panic!("call {at} waits") };
        assert_eq!(call.sent_ns, at as u64);
        table.take_overtaken()
    };
    assert_eq!(end(&mut table, 0), [0; 0]);
    assert_eq!(end(&mut table, 2), [0; 0], "the one between may be lost");
    assert_eq!(end(&mut table, 1), [ids[1]]);
    assert_eq!(table.end(ids[1]), Found::Unknown, "once");
    assert_eq!(end(&mut table, 3), [0; 0]);
    assert_eq!((table.open(), table.take_overtaken()), (0, vec![]));
    // Slots are used again, in whatever order; an expired call is not answered.
    let later: Vec<u64> = (5..8).map(|at| table.start(at, true, false)).collect();
    table.expire(5, |id, _| assert_eq!(id, later[0]));
    table.expect_late(1);
    assert_eq!(table.end(later[0]), Found::Late);
    later[1..].iter().for_each(|id| assert!(matches!(table.end(*id), Found::Open(_))));
    assert_eq!((table.free(), table.take_overtaken()), (4, vec![]));
    let mut unseen = CallTable::new(2, false);
    let ids = [unseen.start(0, true, false), unseen.start(0, true, false)];
    ids.iter().rev().for_each(|id| assert!(matches!(unseen.end(*id), Found::Open(_))));
    assert_eq!(unseen.take_overtaken(), [0; 0]);
}

#[test]
fn ids_that_were_never_given_out_are_unknown() {
    let mut table = CallTable::new(3, false);
    for id in [0, 2, 3, 1 << 32, u64::MAX] {
        assert_eq!(table.end(id), Found::Unknown, "{id}");
    }
}

#[test]
fn generations_wrap() {
    let mut table = CallTable::new(1, false);
    table.slots[0].generation = u32::MAX;
    let last = table.start(0, true, false);
    assert!(matches!(table.end(last), Found::Open(_)));
    let next = table.start(0, true, false);
    assert_eq!(next, 0);
    assert_eq!(table.end(last), Found::Unknown);
    assert!(matches!(table.end(next), Found::Open(_)));
}

#[test]
fn a_call_that_asks_for_stages_is_known_by_its_id() {
    let mut table = CallTable::new(2, false);
    let (plain, asking) = (table.start(1, true, false), table.start(2, true, true));
    assert_eq!((wants_stages(plain), wants_stages(asking)), (false, true));
    let flipped = |id: u64| id ^ u64::from(WANTS_STAGES);
    assert_eq!(table.end(flipped(plain)), Found::Unknown, "not the id that was given out");
    assert!(!table.is_open(flipped(asking)) && table.is_open(asking));
    assert!(matches!(table.end(asking), Found::Open(call) if call.sent_ns == 2));
}

#[test]
fn a_call_sent_late_counts_from_when_it_was_due_and_expires_from_when_it_was_sent() {
    let mut table = CallTable::new(2, true);
    let id = table.start(10, true, false);
    table.sent(id, 50);
    table.expire(49, |_, _| panic!("it was sent later"));
    let late = EndedCall { due_ns: 10, sent_ns: 50, measured: true, key: NO_KEY };
    assert_eq!(table.end(id), Found::Open(late));
}

fn ring(capacity: usize) -> CallTable {
    CallTable::counted(capacity, false, Sequence::own())
}

#[test]
fn counted_ids_begin_at_zero_and_follow_one_another() {
    let mut table = ring(3);
    for expected in 0..1000 {
        let id = table.start(7, true, false);
        assert_eq!(id, expected);
        assert!(table.is_open(id));
        let ended = EndedCall { due_ns: 7, sent_ns: 7, measured: true, key: NO_KEY };
        assert_eq!(table.end(id), Found::Open(ended));
        assert_eq!(table.end(id), Found::Unknown, "a second reply to it");
    }
}

#[test]
fn a_call_that_is_never_answered_costs_others_no_more_than_an_id() {
    let mut table = ring(4);
    let stuck = table.start(0, true, false);
    let mut largest = 0;
    for _ in 0..10_000 {
        largest = table.start(1, true, false);
        assert!(matches!(table.end(largest), Found::Open(_)));
    }
    assert!(largest < 10_000 + 10_000 / 7 + 2, "{largest}: one place of eight is taken");
    assert!(table.is_open(stuck));
    assert!(matches!(table.end(stuck), Found::Open(call) if call.sent_ns == 0));
}

#[test]
fn only_a_timed_out_call_of_a_ring_can_be_late() {
    let mut table = ring(2);
    let id = table.start(10, true, false);
    table.expire(10, |_, _| {});
    assert_eq!((table.open(), table.free()), (0, 2));
    table.expect_late(1);
    for unknown in [id + 1, u64::from(u32::MAX), 1 << 31, u64::MAX] {
        assert_eq!(table.end(unknown), Found::Unknown, "{unknown} was never given out");
    }
    assert_eq!(table.end(id), Found::Late);
    assert_eq!(table.end(id), Found::Unknown);
}

proptest! {
    #[test]
    fn a_ring_finds_each_call_by_its_id_and_only_those(
        capacity in 1usize..20,
        steps in prop::collection::vec((any::<bool>(), any::<prop::sample::Index>()), 0..300),
    ) {
        let mut table = ring(capacity);
        let mut open = BTreeMap::new();
        for (at, (start, which)) in steps.into_iter().enumerate() {
            let at = at as u64;
            if start && table.free() > 0 {
                let id = table.start(at, at.is_multiple_of(3), false);
                prop_assert!(open.insert(id, at).is_none(), "{} twice", id);
            } else if !open.is_empty() {
                let id = *open.keys().nth(which.index(open.len())).unwrap();
                let due_ns = open.remove(&id).unwrap();
                let measured = due_ns.is_multiple_of(3);
                let ended = EndedCall { due_ns, sent_ns: due_ns, measured, key: NO_KEY };
                prop_assert_eq!(table.end(id), Found::Open(ended));
                prop_assert_eq!(table.end(id), Found::Unknown);
            }
            prop_assert_eq!((table.open(), table.free()), (open.len(), capacity - open.len()));
        }
        let mut left = BTreeMap::new();
        table.expire(u64::MAX, |id, call| assert!(left.insert(id, call.due_ns).is_none()));
        prop_assert_eq!(left, open);
    }
}

#[test]
fn a_call_ends_with_the_key_that_it_was_given() {
    let mut table = CallTable::new(2, false).with_keys();
    let [first, second] = [1, 2].map(|due_ns| table.start(due_ns, true, false));
    table.has_key(first, 70);
    table.has_key(second, 80);
    assert!(matches!(table.end(first), Found::Open(call) if call.key == 70));
    table.expire(9, |id, call| assert_eq!((id, call.key), (second, 80)));
    assert!(table.was_given_out(first) && !table.was_given_out(first + (1 << 32)));
}

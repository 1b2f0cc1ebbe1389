//! The same with faults made on purpose: each does what it says to a reply of any form, and no
//! more.

use super::{Call, EXECUTION, HELD, IN_REPLY, NO_REPLY, STAGES, all_calls, announced, talk};
use crate::kit::{Dice, Frame, Peer, Server, until};
use echo_common::wire::native::Kind;
use std::collections::BTreeMap;

/// Servers that make this fault, alone and with a follower.
fn on_each(fault: &str, mut body: impl FnMut(&Server, Dice)) {
    let faults = [("--inject", fault), ("--test-faults", "-"), ("--readers", "1")];
    let follower = Server::start(&[]);
    let address = follower.address.to_string();
    for (seed, changes) in (50..).zip([
        &[("--handlers", "1")][..],
        &[("--handlers", "0")],
        &[("--handlers", "2"), ("--dispatch", "keyed")],
        &[("--handlers", "1"), ("--followers", &address)],
        &[("--handlers", "0"), ("--followers", &address)],
    ]) {
        let server = Server::start(&[&faults[..], changes].concat());
        let in_sync = || server.stats()["replication"]["followers"][0]["in_sync"] != false;
        until("in sync", in_sync);
        body(&server, Dice::new(seed));
    }
    follower.stop();
}

/// The payload behind the blocks.
fn payload(frame: &Frame) -> &[u8] {
    &frame.payload[announced(frame.flags, &IN_REPLY)..]
}

/// What came back for every combination of flags.
struct Exchange {
    calls: Vec<Call>,
    replies: BTreeMap<u64, Vec<Frame>>,
    /// How many of these faults were made.
    made: usize,
}

impl Exchange {
    fn with(server: &Server, mut dice: Dice, fault: &str) -> Exchange {
        let calls = all_calls(&mut dice, |_| true);
        let mut replies: BTreeMap<u64, Vec<Frame>> = BTreeMap::new();
        for frame in talk(Peer::open(server.address), &calls, &mut dice) {
            assert_eq!((frame.kind, frame.status), (Kind::Reply, 0));
            replies.entry(frame.id).or_default().push(frame);
        }
        let made = server.stats()["faults"][fault].as_u64().expect("a count") as usize;
        let asking = calls.iter().filter(|call| call.flags & NO_REPLY == 0).count();
        assert!(asking / 20 < made && made < asking, "{made} {fault} of {asking}");
        Exchange { calls, replies, made }
    }

    /// Calls that want an answer.
    fn asking(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter().filter(|call| call.flags & NO_REPLY == 0)
    }

    /// Every reply that came for a call, beside its call.
    fn pairs(&self) -> impl Iterator<Item = (&Call, &Frame)> {
        let all = |call: &Call| self.replies.get(&call.id).into_iter().flatten();
        self.asking().flat_map(move |call| all(call).map(move |frame| (call, frame)))
    }

    fn count(&self) -> usize {
        self.replies.values().map(Vec::len).sum()
    }
}

fn is_right((call, frame): &(&Call, &Frame)) -> bool {
    frame.flags == call.flags & (STAGES | EXECUTION | HELD) && payload(frame) == call.echoed()
}

#[test]
fn a_reply_of_any_form_is_dropped_whole() {
    on_each("drop:0.2", |server, dice| {
        let seen = Exchange::with(server, dice, "dropped");
        assert_eq!(seen.count(), seen.asking().count() - seen.made);
        assert!(seen.replies.values().all(|all| all.len() == 1));
        assert_eq!(seen.pairs().filter(is_right).count(), seen.count());
    });
}

#[test]
fn a_reply_of_any_form_comes_twice_and_both_are_the_same() {
    on_each("dup:0.2", |server, dice| {
        let seen = Exchange::with(server, dice, "doubled");
        assert_eq!(seen.count(), seen.asking().count() + seen.made);
        assert_eq!(seen.pairs().filter(is_right).count(), seen.count());
        for all in seen.replies.values().filter(|all| all.len() > 1) {
            assert!(all.len() == 2 && all[0] == all[1], "{:#04x} came in two ways", all[0].flags);
        }
    });
}

#[test]
fn the_last_byte_of_a_payload_is_corrupted_whatever_stands_before_it() {
    on_each("corrupt:0.2", |server, dice| {
        let seen = Exchange::with(server, dice, "corrupted");
        assert_eq!(seen.count(), seen.asking().count());
        let wrong = seen.pairs().filter(|pair| !is_right(pair));
        let mut count = 0;
        for (call, frame) in wrong {
            let mut expected = call.echoed();
            *expected.last_mut().expect("a byte to corrupt") ^= 0x20;
            assert!(payload(frame) == expected, "{:#04x} is wrong otherwise", call.flags);
            count += 1;
        }
        assert_eq!(count, seen.made);
    });
}

#[test]
fn swapped_replies_of_any_form_are_whole_and_answer_each_others_calls() {
    on_each("swap:0.2", |server, dice| {
        let seen = Exchange::with(server, dice, "swapped");
        assert_eq!(seen.count(), seen.asking().count());
        assert!(seen.replies.values().all(|all| all.len() == 1));
        let wrong = seen.pairs().filter(|pair| !is_right(pair)).count();
        // Replies without payload may be the same.
        assert!(seen.made < wrong && wrong <= 2 * seen.made, "{wrong}, {} made", seen.made);
        let mut expected: Vec<(u8, Vec<u8>)> = seen
            .asking()
            .map(|call| (call.flags & (STAGES | EXECUTION | HELD), call.echoed()))
            .collect();
        let mut came: Vec<(u8, Vec<u8>)> =
            seen.pairs().map(|(_, frame)| (frame.flags, payload(frame).to_vec())).collect();
        expected.sort_unstable();
        came.sort_unstable();
        assert!(expected == came, "other replies than without a swap");
    });
}

//! Every combination of flags that a call may carry, with payloads of many lengths, in pieces cut
//! anywhere: each reply is what a model says that knows the wire by its numbers alone.

use crate::hadoop;
use crate::kit::{Dice, Frame, Peer, Server, timed, until};
use echo_common::wire::digest;
use echo_common::wire::native::{CONNECTION_ID, Kind, PREAMBLE, Status};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

mod faults;

const ACKS_ALL: u8 = 0x01;
const KEY: u8 = 0x02;
const STAGES: u8 = 0x04;
const REPLY_LEN: u8 = 0x08;
const EXECUTION: u8 = 0x10;
const NO_REPLY: u8 = 0x20;
const HELD: u8 = 0x40;
const FLAGS_ALL: u8 = 0x7f;

/// Bytes of what a flag announces in a call, and in its reply.
const IN_CALL: [(u8, usize); 3] = [(KEY, 16), (STAGES, 20), (REPLY_LEN, 4)];
const IN_REPLY: [(u8, usize); 3] = [(STAGES, 20), (EXECUTION, 12), (HELD, 12)];

fn announced(flags: u8, by: &[(u8, usize)]) -> usize {
    by.iter().filter(|(flag, _)| flags & flag != 0).map(|(_, length)| length).sum()
}

/// Where the server copies, keeps, collects: lengths on both sides of its bounds.
const LENGTHS: [usize; 12] = [0, 1, 3, 19, 20, 21, 960, 1024, 16_383, 16_385, 33_000, 66_000];

struct Call {
    id: u64,
    flags: u8,
    status: u16,
    /// What stands behind the header, up to the payload.
    extensions: Vec<u8>,
    payload: Vec<u8>,
}

impl Call {
    fn new(dice: &mut Dice, id: u64, flags: u8, length: usize) -> Call {
        let mut extensions = dice.bytes(announced(flags, &IN_CALL));
        if flags & REPLY_LEN != 0 {
            let asked = match dice.below(5) {
                0 => 0,
                1 => length,
                2 => length / 2,
                3 => length + 1 + dice.below(100),
                _ => dice.below(40_000),
            };
            let at = extensions.len() - 4;
            extensions[at..].copy_from_slice(&(asked as u32).to_be_bytes());
        }
        let status = if dice.below(8) == 0 { dice.roll() as u16 } else { 0 };
        Call { id, flags, status, extensions, payload: dice.bytes(length) }
    }

    fn encode(&self) -> Vec<u8> {
        let length = 12 + self.extensions.len() + self.payload.len();
        let mut out = (length as u32).to_be_bytes().to_vec();
        out.extend([1, self.flags]);
        out.extend(self.status.to_be_bytes());
        out.extend(self.id.to_be_bytes());
        out.extend_from_slice(&self.extensions);
        out.extend_from_slice(&self.payload);
        out
    }

    /// The payload of the reply.
    fn echoed(&self) -> Vec<u8> {
        if self.flags & REPLY_LEN == 0 {
            return self.payload.clone();
        }
        let asked = self.extensions.last_chunk().expect("four bytes");
        let asked = u32::from_be_bytes(*asked) as usize;
        let whole: &[u8] = if self.payload.is_empty() { &[0] } else { &self.payload };
        whole.iter().copied().cycle().take(asked).collect()
    }

    fn is_replicated(&self) -> bool {
        self.flags & ACKS_ALL != 0
    }
}

/// Each combination with each length once, in any order.
fn all_calls(dice: &mut Dice, flags: impl Fn(u8) -> bool) -> Vec<Call> {
    let legal = |flags: &u8| flags & (NO_REPLY | ACKS_ALL) != NO_REPLY | ACKS_ALL;
    let kinds = (0..=FLAGS_ALL).filter(legal).filter(|kind| flags(*kind));
    let mut kinds: Vec<(u8, usize)> =
        kinds.flat_map(|flags| LENGTHS.map(|length| (flags, length))).collect();
    for at in (1..kinds.len()).rev() {
        kinds.swap(at, dice.below(at + 1));
    }
    // The ids are all different, and none is that of the connection.
    let id = |at: usize| (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let numbered = kinds.into_iter().enumerate();
    numbered.map(|(at, (flags, length))| Call::new(dice, id(at), flags, length)).collect()
}

/// Sends all of it in pieces and shuts its side; returns what came until the end.
fn talk(mut peer: Peer, calls: &[Call], dice: &mut Dice) -> Vec<Frame> {
    let bytes: Vec<u8> = calls.iter().flat_map(Call::encode).collect();
    let mut pieces = Vec::new();
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        let length = if dice.below(3) == 0 { dice.below(60) } else { dice.below(90_000) } + 1;
        let (piece, left) = rest.split_at(length.min(rest.len()));
        pieces.push(piece.to_vec());
        rest = left;
    }
    let mut sender = peer.share();
    let sending = thread::spawn(move || {
        pieces.iter().for_each(|piece| sender.send(piece));
        sender.half_close();
    });
    let frames = std::iter::from_fn(|| peer.frame()).collect();
    sending.join().expect("the server takes all");
    frames
}

/// What a test knows of replies beside their bytes.
#[derive(Default)]
struct Seen {
    /// By handler, the numbers of the calls that asked.
    executions: BTreeMap<u32, Vec<u64>>,
    /// By the leader's number, the payload's digest.
    replicated: BTreeMap<u64, u64>,
}

impl Seen {
    /// Checks the blocks of a reply; returns the payload behind them.
    fn blocks<'a>(
        &mut self,
        call: &Call,
        frame: &'a Frame,
        took: Duration,
        needed: u16,
    ) -> &'a [u8] {
        let what = format!("call {:#04x} of {} bytes", call.flags, call.payload.len());
        assert_eq!((frame.kind, frame.status), (Kind::Reply, 0), "{what}");
        assert_eq!(frame.flags, call.flags & (STAGES | EXECUTION | HELD), "{what}");
        assert!(frame.payload.len() >= announced(frame.flags, &IN_REPLY), "{what}");
        let mut rest = &frame.payload[..];
        let mut take = |length| {
            let (block, behind) = rest.split_at(length);
            rest = behind;
            block
        };
        if frame.flags & STAGES != 0 {
            let block = take(20);
            let words = block.chunks(4).map(|word| u32::from_be_bytes(word.try_into().unwrap()));
            let words: Vec<u64> = words.map(u64::from).collect();
            let sum: u64 = words.iter().sum();
            // What stood in the room would be seconds; nothing filled in would be no time.
            assert!(u128::from(sum) <= took.as_nanos() && words[4] > 0, "{what}: {words:?}");
        }
        if frame.flags & EXECUTION != 0 {
            let block = take(12);
            let handler = u32::from_be_bytes(block[..4].try_into().unwrap());
            let number = u64::from_be_bytes(block[4..].try_into().unwrap());
            self.executions.entry(handler).or_default().push(number);
        }
        if frame.flags & HELD != 0 {
            let block = take(12);
            let sequence = u64::from_be_bytes(block[..8].try_into().unwrap());
            let all = needed > 1 && call.is_replicated();
            let least = if all { needed } else { 1 };
            assert_eq!(block[8..], [least.to_be_bytes(), least.to_be_bytes()].concat(), "{what}");
            assert_eq!(sequence > 0, all, "{what}: number {sequence}");
            let digest = digest::of_call(sequence, &call.payload);
            assert!(!all || self.replicated.insert(sequence, digest).is_none(), "{what} twice");
        }
        rest
    }
}

/// Sends all calls and compares all replies; `needed` servers must hold a call with acks=all.
fn check(seed: u64, peer: Peer, needed: u16, in_order: bool, flags: impl Fn(u8) -> bool) -> Seen {
    let mut dice = Dice::new(seed);
    let calls = all_calls(&mut dice, flags);
    let (frames, took) = timed(|| talk(peer, &calls, &mut dice));
    let answered = calls.iter().filter(|call| call.flags & NO_REPLY == 0);
    let by_id: BTreeMap<u64, &Call> = answered.clone().map(|call| (call.id, call)).collect();
    let ids: Vec<u64> = frames.iter().map(|frame| frame.id).collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "a reply twice, seed {seed}");
    assert_eq!(ids.len(), by_id.len(), "replies, seed {seed}");
    if in_order {
        assert!(answered.map(|call| call.id).eq(ids), "the order of calls, seed {seed}");
    }
    let mut seen = Seen::default();
    for frame in &frames {
        let call = by_id.get(&frame.id).unwrap_or_else(|| panic!("no call {}", frame.id));
        let payload = seen.blocks(call, frame, took, needed);
        let (flags, length) = (call.flags, call.payload.len());
        assert!(payload == call.echoed(), "call {flags:#04x} of {length} bytes, seed {seed}");
    }
    for (handler, numbers) in &mut seen.executions {
        numbers.sort_unstable();
        assert!(numbers.iter().copied().eq(1..=numbers.len() as u64), "of handler {handler}");
    }
    seen
}

/// Calls of Hadoop RPC on the same server, until it is told to end.
fn beside(address: SocketAddr, rounds: i32) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let mut peer = hadoop::kit::open(address);
        for id in 0..rounds {
            let length = LENGTHS[id as usize % LENGTHS.len()];
            peer.hadoop_echo(id, &Dice::new(id as u64).bytes(length));
        }
    })
}

#[test]
fn every_combination_of_flags_is_answered_to_the_byte_wherever_it_is_cut() {
    for (seed, (changes, in_order)) in (1..).zip([
        (&[("--handlers", "0"), ("--readers", "1")][..], true),
        (&[("--handlers", "1")], true),
        (&[("--handlers", "3"), ("--reader-batch", "1")], false),
        (&[("--handlers", "1"), ("--max-in-flight", "3"), ("--max-owed-bytes", "1")], true),
        (&[("--handlers", "2"), ("--dispatch", "keyed"), ("--dispatch-batch", "7")], false),
        (&[("--handlers", "3"), ("--dispatch", "keyed"), ("--extend-reads", "on")], false),
        (&[("--handlers", "1"), ("--handler-cost", "spin:1us")], true),
        (&[("--handlers", "0"), ("--reader-cost", "paced:1us")], true),
        (&[("--handlers", "1"), ("--metrics", "127.0.0.1:0"), ("--queue-capacity", "2")], true),
    ]) {
        let server = hadoop::kit::start(changes);
        let hadoop = beside(server.address, 100);
        let seen = check(seed, Peer::open(server.address), 1, in_order, |_| true);
        assert!(!seen.executions.is_empty());
        hadoop.join().expect("all answered");
        let ended = server.stop();
        let omitted = 32 * LENGTHS.len() as u64;
        ended.check(&[("calls", 3 * omitted + 100), ("replies_omitted", omitted)]);
    }
}

#[test]
fn every_combination_of_flags_leaves_in_parts_where_the_socket_takes_little() {
    for (seed, handlers) in [(20, "1"), (21, "0")] {
        let changes = [("--send-buffer", "8KiB"), ("--handlers", handlers)];
        let server = Server::start(&changes);
        check(seed, Peer::narrow(server.address, 8192), 1, true, |_| true);
        server.stop();
    }
}

#[test]
fn every_combination_of_flags_is_answered_to_the_byte_beside_followers() {
    let follower = Server::start(&[]);
    let address = follower.address.to_string();
    for (seed, handlers) in [(30, "0"), (31, "1"), (32, "3")] {
        let leader = hadoop::kit::start(&[("--followers", &address), ("--handlers", handlers)]);
        let followed = || leader.stats()["replication"]["followers"][0].clone();
        until("the follower is in sync", || followed()["in_sync"] == true);
        let hadoop = beside(leader.address, 100);
        // Calls with acks=all say which number they have, all of them.
        let asked = |flags| flags & ACKS_ALL == 0 || flags & HELD != 0;
        let seen = check(seed, Peer::open(leader.address), 2, false, asked);
        hadoop.join().expect("all answered");
        let count = seen.replicated.len() as u64;
        assert!(seen.replicated.keys().copied().eq(1..=count) && count > 100, "{count}");
        // The follower holds the payloads alone, without key, room or length.
        let sum = seen.replicated.values().fold(0u64, |sum, digest| sum.wrapping_add(*digest));
        until("all is held", || followed()["digest"] == format!("{sum:016x}"));
        leader.stop().check(&[("acknowledged", count)]);
    }
    follower.stop();
}

/// Whatever the flags announce must be in the frame: known at its header, and refused there.
#[test]
fn a_frame_without_room_for_what_its_flags_announce_is_refused_by_its_header() {
    let server = Server::start(&[]);
    let mut refused = 0;
    for flags in 0..=u8::MAX {
        let announced = announced(flags, &IN_CALL);
        let known = flags & !FLAGS_ALL == 0 && flags & 0x21 != 0x21;
        for rest in [0, 1, 4, 16, 19, 20, 36, announced.saturating_sub(1), announced] {
            if known && rest >= announced {
                continue;
            }
            let head = [&(12 + rest as u32).to_be_bytes()[..], &[1, flags, 0, 0], &[7; 8]].concat();
            let mut peer = Peer::silent(server.address);
            peer.send(&[&PREAMBLE[..], &head].concat());
            peer.expect_error(CONNECTION_ID, Status::Malformed);
            peer.expect_end();
            refused += 1;
        }
    }
    server.stop().check(&[("frames_malformed", refused), ("calls", 0), ("replies", 0)]);
}

/// A call that never becomes whole costs nothing but itself, wherever in it the peer goes.
#[test]
fn a_call_that_is_cut_off_is_not_answered_and_those_before_it_are() {
    let server = Server::start(&[]);
    let mut dice = Dice::new(40);
    let mut count = 0;
    for flags in (0..=FLAGS_ALL).filter(|flags| flags & (NO_REPLY | ACKS_ALL) == 0) {
        let first = Call::new(&mut dice, 1, flags, 50);
        let second = Call::new(&mut dice, 2, flags, 50).encode();
        for cut in [1, 4, 5, 15, 16, 17, second.len() - 51, second.len() - 1] {
            let mut peer = Peer::open(server.address);
            peer.send(&[&first.encode()[..], &second[..cut]].concat());
            peer.half_close();
            let (frame, took) = timed(|| peer.frame().expect("a reply"));
            let took = took + Duration::from_secs(1);
            let payload = Seen::default().blocks(&first, &frame, took, 1).to_vec();
            assert!(payload == first.echoed(), "{flags:#04x} before a cut at {cut}");
            peer.expect_end();
            count += 1;
        }
    }
    server.stop().check(&[("calls", count), ("replies", count)]);
}

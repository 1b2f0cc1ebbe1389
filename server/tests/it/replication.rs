//! acks=0 and acks=all: who is answered when, and what followers hold.

use crate::kit::{Peer, Server, call_frame, pass, payload, timed, until};
use echo_common::wire::digest;
use echo_common::wire::native::{
    EPOCH_LEN, FLAG_ACKS_ALL, FLAG_NO_REPLY, FLAG_WANT_HELD, FLAG_WANT_STAGES, HELD_LEN, Header,
    Held, Holding, Kind, PREAMBLE, SINCE_LEN, STAGES_LEN, Status,
};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

mod restarts;
mod stops;
mod trouble;

const ACKS_ALL: u8 = FLAG_ACKS_ALL | FLAG_WANT_HELD;

/// A call with flags that have no extension.
fn flagged(flags: u8, id: u64, payload: &[u8]) -> Vec<u8> {
    let room = if flags & FLAG_WANT_STAGES != 0 { STAGES_LEN } else { 0 };
    let mut out = Header::new(Kind::Call, flags, id, room, payload.len()).encode().to_vec();
    out.resize(out.len() + room, 0);
    out.extend_from_slice(payload);
    out
}

fn leader(followers: &[SocketAddr], changes: &[(&str, &str)]) -> Server {
    let followers: Vec<String> = followers.iter().map(SocketAddr::to_string).collect();
    let followers = followers.join(",");
    let mut all = vec![("--followers", followers.as_str())];
    all.extend_from_slice(changes);
    Server::start(&all)
}

fn await_in_sync(leader: &Server, count: usize) {
    until(&format!("{count} followers in sync"), || in_sync(&leader.stats()).len() == count);
}

fn in_sync(stats: &Value) -> Vec<Value> {
    let followers = stats["replication"]["followers"].as_array().expect("a leader");
    followers.iter().filter(|follower| follower["in_sync"] == true).cloned().collect()
}

/// The reply to an acks=all call, taken apart.
#[track_caller]
fn expect_held(peer: &mut Peer, id: u64, body: &[u8]) -> Held {
    let frame = peer.frame().expect("a reply, not an end");
    assert_eq!((frame.kind, frame.status, frame.id), (Kind::Reply, 0, id), "{frame:?}");
    assert_eq!(frame.flags, FLAG_WANT_HELD);
    let (held, rest) = frame.payload.split_first_chunk::<HELD_LEN>().expect("a block");
    assert!(rest == body, "call {id} came back with other bytes");
    Held::decode(held)
}

/// What a follower holds of the leader's calls.
fn held_by(follower: SocketAddr, epoch: &Value) -> Option<Value> {
    let stats = Peer::open(follower).stats();
    let holdings = stats["holdings"].as_array().expect("a list").clone();
    holdings.into_iter().find(|held| held["epoch"] == *epoch)
}

fn hex(value: &Value) -> u64 {
    u64::from_str_radix(value.as_str().expect("digits"), 16).expect("a number")
}

#[test]
fn without_followers_acks_all_is_answered_at_once_and_says_so() {
    let server = Server::start(&[]);
    let mut peer = Peer::open(server.address);
    peer.send(&flagged(ACKS_ALL, 7, b"alone"));
    let held = expect_held(&mut peer, 7, b"alone");
    assert_eq!(held, Held { sequence: 0, holders: 1, needed: 1 });
    peer.send(&flagged(FLAG_ACKS_ALL, 8, b"plain reply"));
    peer.expect_echo(8, b"plain reply");
    assert_eq!(server.stats()["replication"], Value::Null);
    server.stop();
}

#[test]
fn calls_that_want_no_reply_get_none_not_even_an_error() {
    let server = Server::start(&[]);
    let mut peer = Peer::open(server.address);
    let mut calls = Vec::new();
    (0..100).for_each(|id| calls.extend(flagged(FLAG_NO_REPLY, id, &payload(id, 50))));
    let answered = call_frame(1000, b"the only one that is answered");
    peer.send(&[&calls[..], &answered].concat());
    peer.expect_echo(1000, b"the only one that is answered");
    peer.send(&flagged(FLAG_NO_REPLY | FLAG_ACKS_ALL, 1, b"both"));
    let why = peer.expect_error(u64::MAX, Status::Malformed);
    assert!(why.contains("no reply"), "{why}");
    server.stop().check(&[("replies_omitted", 100)]);
    let server = Server::start(&[("--queue-capacity", "1"), ("--when-full", "reject")]);
    let mut peer = Peer::open(server.address);
    peer.send(&calls);
    peer.half_close();
    peer.expect_end();
    let ended = server.stop();
    ended.check(&[("replies_omitted", 100), ("replies", 0)]);
    assert!(ended.counter("calls_rejected") > 0);
}

#[test]
fn a_call_is_answered_when_enough_hold_it_and_both_followers_get_it() {
    let followers = [Server::start(&[]), Server::start(&[])];
    let addresses = [followers[0].address, followers[1].address];
    let leader = leader(&addresses, &[("--min-insync", "3")]);
    await_in_sync(&leader, 2);
    let mut peer = Peer::open(leader.address);
    let mut sum = 0u64;
    for id in 0..300u64 {
        let body = payload(id, (id as usize * 37) % 40_000);
        peer.send(&flagged(ACKS_ALL, id, &body));
        let held = expect_held(&mut peer, id, &body);
        assert_eq!(held, Held { sequence: id + 1, holders: 3, needed: 3 });
        sum = sum.wrapping_add(digest::of_call(id + 1, &body));
        peer.echo(1_000_000 + id, 10);
    }
    let stats = leader.stats();
    assert_eq!(stats["replication"]["acknowledged"], 300);
    for (follower, seen) in addresses.iter().zip(in_sync(&stats)) {
        let held = held_by(*follower, &stats["replication"]["epoch"]).expect("the leader's epoch");
        assert_eq!((held["since"].as_u64(), held["next"].as_u64()), (Some(1), Some(301)));
        assert_eq!((held["count"].as_u64(), hex(&held["digest"])), (Some(300), sum));
        assert_eq!(held["digest"], seen["digest"]);
    }
    leader.stop().check(&[("acknowledged", 300), ("ack_timeouts", 0), ("replicated", 300)]);
    followers.into_iter().for_each(|follower| follower.stop().check(&[("calls", 302)]));
}

#[test]
fn a_followers_handler_pays_for_the_payload_that_it_is_to_hold() {
    let follower = Server::start(&[("--handler-cost", "spin:0+3ms/KiB"), ("--handlers", "1")]);
    let leader = leader(&[follower.address], &[]);
    await_in_sync(&leader, 1);
    let mut peer = Peer::open(leader.address);
    let body = payload(1, 10 << 10);
    let ((), took) = timed(|| {
        peer.send(&flagged(ACKS_ALL, 1, &body));
        assert_eq!(expect_held(&mut peer, 1, &body).holders, 2);
    });
    assert!(took >= Duration::from_millis(30), "the leader answered after {took:?}");
    leader.stop();
    follower.stop();
}

#[test]
fn replies_with_stages_and_pipelined_calls_come_back_right() {
    let follower = Server::start(&[]);
    let leader = leader(&[follower.address], &[]);
    await_in_sync(&leader, 1);
    let mut peer = Peer::open(leader.address);
    let mut calls = Vec::new();
    for id in 0..100 {
        let stages = if id % 10 == 0 { FLAG_WANT_STAGES } else { 0 };
        calls.extend(flagged(ACKS_ALL | stages, id, &payload(id, 300)));
    }
    peer.send(&calls);
    let mut replies = BTreeMap::new();
    for _ in 0..100 {
        let frame = peer.frame().expect("a reply");
        assert_eq!((frame.kind, frame.flags & !FLAG_WANT_STAGES), (Kind::Reply, FLAG_WANT_HELD));
        assert!(replies.insert(frame.id, frame.payload).is_none(), "call {} twice", frame.id);
    }
    for (id, reply) in replies {
        let blocks = if id % 10 == 0 { STAGES_LEN } else { 0 };
        let held = Held::decode(reply[blocks..].first_chunk().expect("a block"));
        assert_eq!((held.holders, held.needed), (2, 2));
        assert!(reply[blocks + HELD_LEN..] == payload(id, 300));
    }
    leader.stop();
    follower.stop();
}

#[test]
fn with_too_few_followers_acks_all_waits_and_fails_while_acks_1_goes_on() {
    let follower = Server::start(&[]);
    let nobody = TcpListener::bind("127.0.0.1:0").expect("a port");
    // It takes the connection, and never says a word.
    let silent = nobody.local_addr().expect("an address");
    let changes = [("--min-insync", "3"), ("--ack-timeout", "300ms")];
    let leader = leader(&[follower.address, silent], &changes);
    await_in_sync(&leader, 1);
    let mut peer = Peer::open(leader.address);
    peer.send(&flagged(ACKS_ALL, 1, b"waits"));
    peer.echo(2, 100);
    let why = peer.expect_error(1, Status::TooFewHolders);
    assert!(why.contains("fewer than 3") && why.contains("300ms"), "{why}");
    peer.echo(3, 100);
    let stats = leader.stats();
    assert_eq!(stats["replication"]["timed_out"], 1);
    assert_eq!(stats["replication"]["waiting"], 0);
    let held = held_by(follower.address, &stats["replication"]["epoch"]).expect("the epoch");
    assert_eq!(held["count"], 1, "what failed may be held all the same");
    leader.stop().check(&[("acknowledged", 0), ("ack_timeouts", 1)]);
}

/// C6 of the in-flight experiment.
#[test]
fn a_paused_follower_delays_acks_all_until_it_goes_on_and_nothing_is_lost() {
    let follower = Server::start(&[]);
    let leader = leader(&[follower.address], &[]);
    await_in_sync(&leader, 1);
    follower.pause();
    let mut peer = Peer::open(leader.address);
    (0..50).for_each(|id| peer.send(&flagged(ACKS_ALL, id, &payload(id, 500))));
    (50..60).for_each(|id| peer.echo(id, 20));
    until("all wait", || leader.stats()["replication"]["waiting"] == 50);
    follower.signal(Signal::CONT);
    for id in 0..50 {
        assert_eq!(expect_held(&mut peer, id, &payload(id, 500)).sequence, id + 1);
    }
    leader.stop().check(&[("acknowledged", 50)]);
    follower.stop();
}

#[test]
fn a_muted_connection_stays_muted_until_its_acks_all_reply_has_left() {
    let follower = Server::start(&[]);
    let leader = leader(&[follower.address], &[("--max-in-flight", "1")]);
    await_in_sync(&leader, 1);
    let before = leader.stats()["calls"].as_u64().expect("a count");
    follower.pause();
    let mut muted = Peer::open(leader.address);
    muted.send(&[flagged(ACKS_ALL, 1, b"first"), call_frame(2, b"second")].concat());
    until("the first call waits", || leader.stats()["replication"]["waiting"] == 1);
    // Other connections are not muted; this one's second call is not even read.
    Peer::open(leader.address).echo(9, 10);
    pass(Duration::from_millis(50));
    assert_eq!(leader.stats()["calls"].as_u64(), Some(before + 2));
    follower.signal(Signal::CONT);
    expect_held(&mut muted, 1, b"first");
    muted.expect_echo(2, b"second");
    leader.stop();
    follower.stop();
}

#[test]
fn calls_beyond_the_backlog_are_refused_and_the_others_are_answered() {
    let follower = Server::start(&[]);
    let leader = leader(&[follower.address], &[("--replica-backlog", "64k")]);
    await_in_sync(&leader, 1);
    follower.pause();
    let mut peer = Peer::open(leader.address);
    for id in 0..40 {
        peer.send(&flagged(ACKS_ALL, id, &payload(id, 4000)));
        let waits = |waiting: &Value| waiting.as_u64() == Some(id + 1);
        if id < 16 {
            until("it waits", || waits(&leader.stats()["replication"]["waiting"]));
        } else {
            let why = peer.expect_error(id, Status::TooBusy);
            assert!(why.contains("--replica-backlog"), "{why}");
        }
    }
    follower.signal(Signal::CONT);
    for id in 0..16 {
        expect_held(&mut peer, id, &payload(id, 4000));
    }
    peer.send(&flagged(ACKS_ALL, 99, b"room again"));
    expect_held(&mut peer, 99, b"room again");
    leader.stop().check(&[("acknowledged", 17), ("replicas_refused", 24)]);
    follower.stop();
}

#[test]
fn calls_that_wait_when_their_client_goes_or_the_server_stops_are_counted() {
    let follower = Server::start(&[]);
    let leader = leader(&[follower.address], &[("--drain-timeout", "500ms")]);
    await_in_sync(&leader, 1);
    follower.pause();
    let mut gone = Peer::open(leader.address);
    (0..5).for_each(|id| gone.send(&flagged(ACKS_ALL, id, b"its client goes")));
    until("they wait", || leader.stats()["replication"]["waiting"] == 5);
    gone.reset();
    let mut stays = Peer::open(leader.address);
    (0..3).for_each(|id| stays.send(&flagged(ACKS_ALL, id, b"the server stops")));
    until("all wait", || leader.stats()["replication"]["waiting"] == 8);
    let ended = leader.stop();
    // Whether the last three hear that the server stops or are cut off first is not promised.
    let undeliverable = ended.counter("replies_undeliverable");
    assert!((5..=8).contains(&undeliverable), "{ended:?}");
    let told: Vec<_> = std::iter::from_fn(|| stays.frame()).map(|frame| frame.kind).collect();
    assert_eq!(told, vec![Kind::Error; 8 - undeliverable as usize], "{ended:?}");
    ended.check(&[("calls", 8), ("acknowledged", 0), ("calls_in_server", 0), ("drain_cut", 1)]);
}

/// Of two followers one is enough. The other one stands still, until calls that were answered take
/// half of the backlog: it is let go, and joins anew later.
#[test]
fn a_follower_that_stays_behind_is_let_go_and_comes_back() {
    let (quick, slow) = (Server::start(&[]), Server::start(&[]));
    let changes = [("--replica-backlog", "256k"), ("--replica-window", "32k")];
    let leader = leader(&[quick.address, slow.address], &changes);
    await_in_sync(&leader, 2);
    slow.pause();
    let mut peer = Peer::open(leader.address);
    for id in 0..200 {
        peer.send(&flagged(ACKS_ALL, id, &payload(id, 4000)));
        expect_held(&mut peer, id, &payload(id, 4000));
    }
    slow.signal(Signal::CONT);
    await_in_sync(&leader, 2);
    peer.send(&flagged(ACKS_ALL, 200, b"both"));
    expect_held(&mut peer, 200, b"both");
    until("all is held", || {
        in_sync(&leader.stats()).iter().all(|seen| seen["digest"] != Value::Null)
    });
    let stats = leader.stats();
    for (seen, server) in in_sync(&stats).iter().zip([&quick, &slow]) {
        let held = held_by(server.address, &stats["replication"]["epoch"]).expect("the epoch");
        for field in ["since", "next", "digest"] {
            assert_eq!(held[field], seen[field], "{field}");
        }
    }
    assert!(leader.stop().counter("followers_let_go") >= 1);
    quick.stop();
    slow.stop();
}

/// The leader's part, spoken by hand.
#[test]
fn a_follower_holds_calls_once_whatever_comes_again_and_refuses_strangers() {
    let follower = Server::start(&[]);
    let epoch = 0x1234u64.to_be_bytes();
    let join = |from: u64, since: u64| {
        let head = Header::new(Kind::Join, 0, from, EPOCH_LEN, SINCE_LEN);
        [&head.encode()[..], &epoch, &since.to_be_bytes()].concat()
    };
    let replica = |sequence: u64, body: &[u8]| {
        let head = Header::new(Kind::Replica, 0, sequence, EPOCH_LEN, body.len());
        [&head.encode()[..], &epoch, body].concat()
    };
    let mut peer = Peer::open(follower.address);
    peer.send(&replica(1, b"too early"));
    peer.expect_error(1, Status::Refused);
    peer.send(&join(5, 0));
    let frame = peer.frame().expect("an answer");
    let holding = Holding::decode(frame.payload.first_chunk().expect("two words"));
    assert_eq!((frame.kind, holding), (Kind::Join, Holding { since: 5, next: 5 }));
    for (sequence, next) in [(5, 6), (5, 6), (7, 6), (6, 8), (6, 8), (7, 8)] {
        peer.send(&replica(sequence, b"held"));
        let frame = peer.frame().expect("an answer");
        assert_eq!(
            (frame.kind, frame.id, frame.payload),
            (Kind::Reply, sequence, u64::to_be_bytes(next).to_vec())
        );
    }
    let held = held_by(follower.address, &Value::from("0000000000001234")).expect("the epoch");
    let sum = (5..8).fold(0u64, |sum, at| sum.wrapping_add(digest::of_call(at, b"held")));
    assert_eq!((held["count"].as_u64(), hex(&held["digest"])), (Some(3), sum));
    assert_eq!(held["repeated"], 3);
    for bad in [&replica(1, b"")[..20], &join(1, 0)[..24]] {
        let mut frame = bad.to_vec();
        let length = (frame.len() - 4) as u32;
        frame[..4].copy_from_slice(&length.to_be_bytes());
        let mut peer = Peer::silent(follower.address);
        peer.send(&PREAMBLE);
        peer.send(&frame);
        peer.expect_error(u64::MAX, Status::Malformed);
    }
    follower.stop();
}

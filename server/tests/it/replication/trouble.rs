//! Followers that cannot hold a call, are too busy for it, are the same server twice, or have more
//! leaders than they follow.

use super::{ACKS_ALL, await_in_sync, expect_held, flagged, held_by, in_sync, leader};
use crate::kit::{Peer, Server, payload, until};
use echo_common::wire::native::{
    BODY_MIN, EPOCH_LEN, HEADER_LEN, HELD_LEN as HELD, HOLDING_LEN, Header, Holding, Introduction,
    Kind, PREAMBLE, SINCE_LEN, Status, WHO_ID, error_frame,
};
use serde_json::Value;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Sender, channel};
use std::thread;

/// The kit's servers take frames of 1 MiB.
const LARGEST: usize = (1 << 20) - BODY_MIN;

fn join(epoch: u64) -> Vec<u8> {
    let head = Header::new(Kind::Join, 0, 1, EPOCH_LEN, SINCE_LEN);
    [&head.encode()[..], &epoch.to_be_bytes(), &[0; SINCE_LEN]].concat()
}

/// All followers in sync hold what the leader thinks.
fn check_digests(leader: &Server, followers: &[&Server]) {
    await_in_sync(leader, followers.len());
    let mut stats = Value::Null;
    until("all is held", || {
        stats = leader.stats();
        in_sync(&stats).iter().all(|seen| seen["digest"] != Value::Null)
    });
    for (seen, server) in in_sync(&stats).iter().zip(followers) {
        let held = held_by(server.address, &stats["replication"]["epoch"]).expect("the epoch");
        for field in ["since", "next", "digest"] {
            assert_eq!(held[field], seen[field], "{field} of {}", server.address);
        }
    }
}

/// What a leader adds to a call does not count against the follower's limit.
#[test]
fn a_call_that_a_leader_takes_is_taken_by_a_follower_with_the_same_limit() {
    let follower = Server::start(&[]);
    let leader = leader(&[follower.address], &[]);
    await_in_sync(&leader, 1);
    let mut peer = Peer::open(leader.address);
    for (id, length) in [LARGEST - EPOCH_LEN, LARGEST - EPOCH_LEN + 1, LARGEST - HELD, LARGEST]
        .into_iter()
        .enumerate()
    {
        let id = id as u64;
        peer.send(&flagged(ACKS_ALL, id, &payload(id, length)));
        assert_eq!(expect_held(&mut peer, id, &payload(id, length)).holders, 2);
    }
    check_digests(&leader, &[&follower]);
    leader.stop().check(&[("follower_links_lost", 0), ("replicas_too_large", 0)]);
    let mut stranger = Peer::open(follower.address);
    stranger.send(&join(99));
    assert_eq!(stranger.frame().expect("an answer").kind, Kind::Join);
    let head = Header::new(Kind::Replica, 0, 1, EPOCH_LEN, LARGEST + 1);
    stranger.send(&head.encode());
    stranger.expect_error(u64::MAX, Status::FrameTooLarge);
    let mut stranger = Peer::open(follower.address);
    stranger.send(&Header::new(Kind::Call, 0, 1, 0, LARGEST + 1).encode());
    stranger.expect_error(u64::MAX, Status::FrameTooLarge);
    follower.stop().check(&[("frames_oversize", 2)]);
}

#[test]
fn calls_too_large_for_the_followers_fail_at_once_and_those_behind_them_go_on() {
    let follower = Server::start(&[("--max-frame-size", "64KiB")]);
    let leader = leader(&[follower.address], &[]);
    await_in_sync(&leader, 1);
    let mut peer = Peer::open(leader.address);
    let body = |id: u64| payload(id, if id % 10 < 3 { 200_000 } else { 60_000 });
    for id in 0..40 {
        peer.send(&flagged(ACKS_ALL, id, &body(id)));
        if id % 10 < 3 {
            let why = peer.expect_error(id, Status::FrameTooLarge);
            assert!(why.contains("200000 bytes is too large for followers: 1 in sync"), "{why}");
        } else {
            assert_eq!(expect_held(&mut peer, id, &body(id)).holders, 2);
        }
    }
    check_digests(&leader, &[&follower]);
    leader.stop().check(&[
        ("acknowledged", 28),
        ("replicas_too_large", 12),
        ("followers_let_go", 12),
        ("follower_links_lost", 0),
        ("ack_timeouts", 0),
    ]);
    follower.stop().check(&[("frames_oversize", 0)]);
}

#[test]
fn a_call_too_large_for_one_follower_is_held_by_the_other() {
    let (large, small) = (Server::start(&[]), Server::start(&[("--max-frame-size", "64KiB")]));
    let leader = leader(&[large.address, small.address], &[]);
    await_in_sync(&leader, 2);
    let mut peer = Peer::open(leader.address);
    let body = |id: u64| payload(id, if id % 5 < 2 { 70_000 } else { 1_000 });
    (0..20).for_each(|id| peer.send(&flagged(ACKS_ALL, id, &body(id))));
    let mut open: Vec<u64> = (0..20).collect();
    while !open.is_empty() {
        let frame = peer.frame().expect("a reply");
        assert_eq!(frame.kind, Kind::Reply, "{frame:?}");
        let at = open.iter().position(|id| *id == frame.id).expect("answered once");
        assert!(frame.payload[HELD..] == body(open.swap_remove(at)));
    }
    check_digests(&leader, &[&large, &small]);
    let ended = leader.stop();
    ended.check(&[("acknowledged", 20), ("replicas_too_large", 0), ("follower_links_lost", 0)]);
    assert!(ended.counter("followers_let_go") > 0);
    large.stop();
    small.stop();
}

#[test]
fn a_follower_under_two_addresses_counts_once() {
    let follower = Server::start(&[("--listen", "0.0.0.0:0")]);
    let mut addresses = [follower.address; 2];
    addresses[0].set_ip([127, 0, 0, 1].into());
    addresses[1].set_ip([127, 0, 0, 2].into());
    let changes = [("--min-insync", "3"), ("--ack-timeout", "300ms")];
    let mut leader = leader(&addresses, &changes);
    await_in_sync(&leader, 1);
    let mut peer = Peer::open(leader.address);
    for id in 0..3 {
        peer.send(&flagged(ACKS_ALL, id, b"three must hold it"));
        peer.expect_error(id, Status::TooFewHolders);
    }
    assert_eq!(in_sync(&leader.stats()).len(), 1);
    until("it is said", || {
        leader.said().iter().filter(|line| line.contains("too, and counts once")).count() == 1
    });
    leader.stop().check(&[("acknowledged", 0), ("ack_timeouts", 3)]);
    follower.stop();
}

#[test]
fn a_follower_that_is_too_busy_gets_its_calls_again_on_the_same_connection() {
    for capacity in ["1", "3"] {
        let full = [("--when-full", "reject"), ("--queue-capacity", capacity), ("--handlers", "1")];
        let follower = Server::start(&full);
        let leader = leader(&[follower.address], &[]);
        await_in_sync(&leader, 1);
        let mut peer = Peer::open(leader.address);
        let calls = 120;
        let frames: Vec<_> =
            (0..calls).map(|id| flagged(ACKS_ALL, id, &payload(id, 300))).collect();
        peer.send(&frames.concat());
        let mut open: Vec<u64> = (0..calls).collect();
        while !open.is_empty() {
            let frame = peer.frame().expect("a reply");
            assert_eq!(frame.kind, Kind::Reply, "{frame:?}");
            open.retain(|id| *id != frame.id);
        }
        until("all is held", || in_sync(&leader.stats())[0]["digest"] != Value::Null);
        leader.stop().check(&[
            ("acknowledged", calls),
            ("follower_links_lost", 0),
            ("followers_let_go", 0),
        ]);
        assert!(follower.stop().counter("calls_rejected") > 0, "with a queue of {capacity}");
    }
}

/// A follower that joins and is too busy for every call; it says when it is sent one.
fn always_busy(sent: Sender<u64>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let serve = move |mut stream: TcpStream| -> io::Result<()> {
        stream.read_exact(&mut [0; PREAMBLE.len()])?;
        loop {
            let mut head = [0; HEADER_LEN];
            stream.read_exact(&mut head)?;
            let call = Header::decode(&head).map_err(io::Error::other)?;
            stream.read_exact(&mut vec![0; call.rest_len()])?;
            let words = match (call.kind, call.id) {
                (Kind::Join, WHO_ID) => Introduction { server: 1, payload_max: 1000 }.encode(),
                (Kind::Join, from) => Holding { since: from, next: from }.encode(),
                _ => {
                    sent.send(call.id).map_err(io::Error::other)?;
                    stream.write_all(&error_frame(call.id, Status::TooBusy, "busy"))?;
                    continue;
                }
            };
            let head = Header::new(Kind::Join, 0, call.id, 0, HOLDING_LEN);
            stream.write_all(&[&head.encode()[..], &words].concat())?;
        }
    };
    // Each connection ends with an error, that of its end.
    thread::spawn(move || listener.incoming().flatten().for_each(|stream| drop(serve(stream))));
    address
}

#[test]
fn a_follower_that_is_always_too_busy_is_given_up_and_its_calls_fail_in_time() {
    let (sent, sends) = channel();
    let busy = always_busy(sent);
    let changes = [("--follower-timeout", "200ms"), ("--ack-timeout", "700ms")];
    let leader = leader(&[busy], &changes);
    await_in_sync(&leader, 1);
    let mut peer = Peer::open(leader.address);
    peer.send(&flagged(ACKS_ALL, 1, b"nobody has time for it"));
    peer.expect_error(1, Status::TooFewHolders);
    let ended = leader.stop();
    ended.check(&[("acknowledged", 0), ("ack_timeouts", 1)]);
    assert!(ended.counter("follower_links_lost") >= 1, "{ended:?}");
    // With pauses of 1 ms to 64 ms there are fewer; without any there were thousands.
    let count = sends.try_iter().count();
    assert!((2..100).contains(&count), "it was sent {count} times");
}

#[test]
fn a_connected_leader_is_not_forgotten_however_many_others_join() {
    let follower = Server::start(&[]);
    let leader = leader(&[follower.address], &[]);
    await_in_sync(&leader, 1);
    let mut peer = Peer::open(leader.address);
    let mut others: Vec<Peer> = Vec::new();
    for epoch in 1..16 {
        let mut other = Peer::open(follower.address);
        other.send(&join(epoch));
        assert_eq!(other.frame().expect("an answer").kind, Kind::Join);
        others.push(other);
    }
    let mut beyond = Peer::open(follower.address);
    beyond.send(&join(99));
    let why = beyond.expect_error(1, Status::Refused);
    assert!(why.contains("as many leaders as it follows"), "{why}");
    // Those that have gone make room, and only they.
    others.drain(..5).for_each(Peer::reset);
    for epoch in 100..120 {
        until("there is room", || {
            let mut other = Peer::open(follower.address);
            other.send(&join(epoch));
            other.frame().expect("an answer").kind == Kind::Join
        });
    }
    peer.send(&flagged(ACKS_ALL, 1, b"still followed"));
    expect_held(&mut peer, 1, b"still followed");
    check_digests(&leader, &[&follower]);
    leader.stop().check(&[("follower_links_lost", 0)]);
    let ended = follower.stop();
    assert!(ended.counter("leaders_refused") >= 1 && ended.counter("leaders_forgotten") >= 20);
}

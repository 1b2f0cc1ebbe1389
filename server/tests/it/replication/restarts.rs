//! Followers that are killed, restarted or cut off in mid-run.

use super::{ACKS_ALL, await_in_sync, flagged, held_by, hex, in_sync, leader};
use crate::kit::{Peer, Server, payload, until};
use echo_common::wire::digest;
use echo_common::wire::native::{HELD_LEN, Held, Kind};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::TcpListener;

/// Another server on the port of one that was killed. Whoever took the port meanwhile gives it
/// back.
fn restart(killed: &mut Server) {
    let address = killed.address;
    until("the port is free again", || TcpListener::bind(address).is_ok());
    *killed = Server::start(&[("--listen", &address.to_string())]);
}

/// Calls with acks=all, and what was acknowledged: by sequence the digest of each call.
struct Caller {
    peer: Peer,
    next_id: u64,
    open: BTreeMap<u64, Vec<u8>>,
    acknowledged: BTreeMap<u64, u64>,
}

impl Caller {
    fn new(leader: &Server) -> Caller {
        let peer = Peer::open(leader.address);
        Caller { peer, next_id: 0, open: BTreeMap::new(), acknowledged: BTreeMap::new() }
    }

    fn send(&mut self, calls: usize) {
        for _ in 0..calls {
            let body = payload(self.next_id, 200);
            self.peer.send(&flagged(ACKS_ALL, self.next_id, &body));
            self.open.insert(self.next_id, body);
            self.next_id += 1;
        }
    }

    /// Receives until so many are open.
    fn receive_to(&mut self, open: usize) {
        while self.open.len() > open {
            let frame = self.peer.frame().expect("a reply");
            assert_eq!(frame.kind, Kind::Reply, "{frame:?}");
            let body = self.open.remove(&frame.id).expect("answered once");
            let held = Held::decode(frame.payload.first_chunk().expect("a block"));
            assert!(frame.payload[HELD_LEN..] == body && held.holders >= 2, "{held:?}");
            let digest = digest::of_call(held.sequence, &body);
            let before = self.acknowledged.insert(held.sequence, digest);
            assert_eq!(before, None, "sequence {} twice", held.sequence);
        }
    }

    fn exchange(&mut self, calls: usize) {
        for _ in 0..calls {
            self.send(1);
            self.receive_to(31);
        }
    }

    /// Every follower in sync holds exactly what was acknowledged since it came to be so.
    fn check(&self, leader: &Server, followers: &[Server]) {
        let all = self.acknowledged.len() as u64;
        assert_eq!(
            self.acknowledged.keys().copied().collect::<Vec<_>>(),
            (1..=all).collect::<Vec<_>>()
        );
        let mut stats = Value::Null;
        until("all followers hold all", || {
            stats = leader.stats();
            let in_sync = in_sync(&stats);
            let all_held = in_sync.iter().all(|seen| seen["next"].as_u64() == Some(all + 1));
            all_held && in_sync.len() == followers.len()
        });
        for (follower, seen) in followers.iter().zip(in_sync(&stats)) {
            let held =
                held_by(follower.address, &stats["replication"]["epoch"]).expect("the epoch");
            let since = held["since"].as_u64().expect("a number");
            let expected = self.acknowledged.range(since..);
            let count = expected.clone().count() as u64;
            let sum = expected.fold(0u64, |sum, (_, digest)| sum.wrapping_add(*digest));
            assert_eq!((held["count"].as_u64(), hex(&held["digest"])), (Some(count), sum));
            assert_eq!(held["digest"], seen["digest"], "as the leader thinks");
            assert_eq!(held["since"], seen["since"]);
        }
    }
}

/// How often followers are restarted; more on request.
fn restarts() -> usize {
    let asked = std::env::var("ECHO_TEST_RESTARTS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(4)
}

/// Every acknowledged call is in the digest of every follower that is in sync at the end since it
/// came to be so, none is answered twice, and the run ends.
#[test]
fn killed_and_restarted_followers_lose_nothing_that_was_acknowledged() {
    let mut followers = [Server::start(&[]), Server::start(&[])];
    let leader = leader(&[followers[0].address, followers[1].address], &[]);
    await_in_sync(&leader, 2);
    let mut caller = Caller::new(&leader);
    for round in 0..restarts() {
        caller.exchange(150);
        let victim = &mut followers[round % 2];
        victim.signal(Signal::KILL);
        caller.exchange(150);
        restart(victim);
        caller.exchange(150);
        await_in_sync(&leader, 2);
    }
    caller.receive_to(0);
    caller.check(&leader, &followers);
    assert_eq!(caller.acknowledged.len(), 450 * restarts());
    leader.stop();
    followers.into_iter().for_each(|follower| drop(follower.stop()));
}

#[test]
fn calls_that_wait_for_the_only_follower_are_sent_again_when_it_was_restarted() {
    let mut followers = [Server::start(&[])];
    let leader = leader(&[followers[0].address], &[]);
    await_in_sync(&leader, 1);
    let mut caller = Caller::new(&leader);
    for _ in 0..restarts() {
        caller.exchange(100);
        caller.send(10);
        followers[0].signal(Signal::KILL);
        caller.send(20);
        restart(&mut followers[0]);
        caller.receive_to(0);
    }
    caller.check(&leader, &followers);
    leader.stop();
}

/// The connection breaks and the follower lives: it goes on with what it holds, and counts nothing
/// twice.
#[test]
fn a_follower_whose_connection_broke_goes_on_where_it_was() {
    let followers = [Server::start(&[])];
    let leader = leader(&[followers[0].address], &[("--follower-timeout", "300ms")]);
    await_in_sync(&leader, 1);
    let mut caller = Caller::new(&leader);
    for _ in 0..3 {
        caller.exchange(100);
        caller.receive_to(0);
        followers[0].pause();
        let lost = leader.stats()["replication"]["links_lost"].as_u64();
        caller.send(30);
        until("given up", || leader.stats()["replication"]["links_lost"].as_u64() > lost);
        followers[0].signal(Signal::CONT);
        caller.receive_to(0);
    }
    caller.check(&leader, &followers);
    let held = &leader.stats()["replication"]["followers"][0];
    assert!(held["joins"].as_u64() > Some(3), "{held}");
    let holdings = &Peer::open(followers[0].address).stats()["holdings"][0];
    assert_eq!(holdings["since"].as_u64(), Some(1), "it never lost anything");
    leader.stop();
}

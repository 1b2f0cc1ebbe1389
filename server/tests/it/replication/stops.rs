//! A leader that stops while calls with acks=all wait. Without a `--drain-timeout`, and with the 30
//! s of `--ack-timeout`, which are longer than the kit's patience: nothing but an answer ends it.

use super::{ACKS_ALL, await_in_sync, expect_held, flagged, leader};
use crate::kit::{Ended, Peer, Server, call_frame, until};
use echo_common::wire::native::{Kind, Status};
use rustix::process::Signal;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

const PATIENT: (&str, &str) = ("--drain-timeout", "off");
const CALLS: u64 = 50;

/// Calls with acks=all that wait, all read by the leader.
fn waiting(leader: &Server) -> Peer {
    let mut peer = Peer::open(leader.address);
    (0..CALLS).for_each(|id| peer.send(&flagged(ACKS_ALL, id, b"waits")));
    until("all wait", || leader.stats()["replication"]["waiting"] == CALLS);
    peer
}

/// Each call gets one error that says why, and then the connection ends.
fn expect_too_few(peer: &mut Peer, holders: &str) {
    let mut ids = Vec::new();
    while let Some(frame) = peer.frame() {
        let text = String::from_utf8(frame.payload).expect("text");
        assert_eq!(
            (frame.kind, frame.status),
            (Kind::Error, Status::TooFewHolders as u16),
            "{text}"
        );
        assert!(text.contains("the server stops") && text.contains(holders), "{text}");
        ids.push(frame.id);
    }
    // Handlers overtake one another.
    ids.sort_unstable();
    assert!(ids.into_iter().eq(0..CALLS));
}

/// SIGTERM, and waits until the leader takes no connections any more: it drains.
fn drain(leader: &Server) {
    leader.signal(Signal::TERM);
    until("it drains", || TcpStream::connect(leader.address).is_err());
}

#[track_caller]
fn check_end(ended: &Ended, acknowledged: u64) {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.check(&[("replicated", CALLS), ("acknowledged", acknowledged), ("ack_timeouts", 0)]);
    ended.check(&[("replies_undeliverable", 0), ("calls_in_server", 0), ("drain_cut", 0)]);
}

/// A port that nobody listens on while the listener is there: it takes no connection.
fn nobody() -> (SocketAddr, TcpListener) {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    (silent.local_addr().expect("an address"), silent)
}

/// They waited for the whole drain timeout, and were cut then.
#[test]
fn calls_that_too_few_followers_can_hold_are_answered_when_the_leader_stops() {
    let follower = Server::start(&[]);
    let (silent, _kept) = nobody();
    for (followers, min_insync, in_sync, changes) in [
        (&[silent][..], "2", 0, &[][..]),
        (&[silent], "2", 0, &[("--handlers", "0")]),
        (&[silent], "2", 0, &[("--dispatch", "keyed")]),
        (&[follower.address, silent], "3", 1, &[]),
    ] {
        let changes = [&[PATIENT, ("--min-insync", min_insync)], changes].concat();
        let leader = leader(followers, &changes);
        await_in_sync(&leader, in_sync);
        let mut peer = waiting(&leader);
        let holders = format!("{} can", in_sync + 1);
        let reading = thread::spawn(move || expect_too_few(&mut peer, &holders));
        check_end(&leader.stop(), 0);
        reading.join().expect("every call is answered once");
    }
    follower.stop();
}

#[test]
fn a_leader_that_stops_waits_for_followers_in_sync_and_for_no_other_call() {
    let follower = Server::start(&[]);
    let leader = leader(&[follower.address], &[PATIENT, ("--handlers", "1")]);
    await_in_sync(&leader, 1);
    follower.pause();
    let mut peer = waiting(&leader);
    peer.send(&call_frame(CALLS, b"plain"));
    peer.expect_echo(CALLS, b"plain");
    drain(&leader);
    follower.signal(Signal::CONT);
    (0..CALLS).for_each(|id| assert_eq!(expect_held(&mut peer, id, b"waits").holders, 2));
    peer.expect_end();
    drop(peer);
    check_end(&leader.wait(), CALLS);
    follower.stop();
}

#[test]
fn a_leader_that_stops_answers_what_waits_for_a_follower_that_is_lost_meanwhile() {
    let follower = Server::start(&[]);
    let leader = leader(&[follower.address], &[PATIENT, ("--handlers", "1")]);
    await_in_sync(&leader, 1);
    follower.pause();
    let mut peer = waiting(&leader);
    drain(&leader);
    // Which kills it.
    drop(follower);
    expect_too_few(&mut peer, "1 can");
    drop(peer);
    check_end(&leader.wait(), 0);
}

//! Faults made on purpose: each does what it says, is counted, and is announced where figures are.

use crate::kit::{Peer, Server, call_frame, payload, until};
use echo_common::wire::native::{FLAG_ACKS_ALL, Header, Kind, Status};
use std::collections::BTreeMap;
use std::net::TcpListener;

/// What came back for calls 0 to 99, sent in one piece: payloads by id.
fn replies(fault: &str, expected: usize) -> (BTreeMap<u64, Vec<Vec<u8>>>, Vec<String>) {
    let changes = [("--inject", fault), ("--test-faults", "-"), ("--readers", "1")];
    let mut server = Server::start(&[&changes[..], &[("--handlers", "1")]].concat());
    let mut peer = Peer::open(server.address);
    let mut calls = Vec::new();
    (0..100).for_each(|id| calls.extend(call_frame(id, &payload(id, 64))));
    peer.send(&calls);
    let mut replies: BTreeMap<u64, Vec<Vec<u8>>> = BTreeMap::new();
    for _ in 0..expected {
        let frame = peer.frame().expect("a reply");
        assert_eq!(frame.kind, Kind::Reply);
        replies.entry(frame.id).or_default().push(frame.payload);
    }
    // Nothing else comes, and the end of the connection is not in doubt.
    peer.half_close();
    peer.expect_end();
    let mut announced = || server.said().iter().any(|line| line.contains("faults are injected"));
    until("it says what it does", &mut announced);
    assert_eq!(server.stats()["faults"]["inject"][0], fault);
    let ended = server.stop();
    assert!(ended.lines.iter().any(|line| line.contains("faults injected (")), "{ended:?}");
    let made = ["dropped", "doubled", "swapped", "corrupted", "acked_early"];
    let made = made.map(|what| format!("{what}={}", ended.counter(&format!("faults_{what}"))));
    (replies, made.into_iter().filter(|what| !what.ends_with("=0")).collect())
}

fn wrong(replies: &BTreeMap<u64, Vec<Vec<u8>>>) -> usize {
    let pairs = replies.iter().flat_map(|(id, all)| all.iter().map(move |one| (*id, one)));
    pairs.filter(|(id, one)| **one != payload(*id, 64)).count()
}

#[test]
fn dropped_replies_never_come() {
    let (replies, made) = replies("drop:0.1", 90);
    assert_eq!((replies.len(), wrong(&replies)), (90, 0));
    assert_eq!(made, ["dropped=10"]);
}

#[test]
fn doubled_replies_come_twice() {
    let (replies, made) = replies("dup:0.1", 110);
    assert_eq!(replies.values().filter(|all| all.len() == 2).count(), 10);
    assert_eq!((replies.len(), wrong(&replies)), (100, 0));
    assert_eq!(made, ["doubled=10"]);
}

#[test]
fn corrupted_replies_have_a_wrong_byte() {
    let (replies, made) = replies("corrupt:0.1", 100);
    assert_eq!((replies.len(), wrong(&replies)), (100, 10));
    assert_eq!(made, ["corrupted=10"]);
}

#[test]
fn swapped_replies_answer_each_others_calls() {
    let (replies, made) = replies("swap:0.1", 100);
    // The last one that is due may find no other reply beside it.
    let swapped = wrong(&replies) / 2;
    assert!((1..=10).contains(&swapped), "{swapped}");
    assert_eq!((replies.len(), made), (100, vec![format!("swapped={swapped}")]));
}

/// Where replies come in the order of calls, exchanged ids would be two wrong replies in order.
#[test]
fn a_reply_that_is_swapped_where_order_is_promised_comes_whole_behind_the_next_one() {
    for handlers in ["1", "3", "0"] {
        let changes = [
            ("--inject", "swap:0.1"),
            ("--test-faults", "-"),
            ("--max-in-flight", "1"),
            ("--handlers", handlers),
        ];
        let server = Server::start(&changes);
        let mut peer = Peer::open(server.address);
        let calls: Vec<u8> = (0..100).flat_map(|id| call_frame(id, &payload(id, 64))).collect();
        peer.send(&calls);
        let mut ids = Vec::new();
        for _ in 0..100 {
            let frame = peer.frame().expect("a reply");
            assert_eq!(frame.payload, payload(frame.id, 64));
            ids.push(frame.id);
        }
        let late: Vec<u64> = ids.windows(2).filter(|w| w[1] < w[0]).map(|w| w[1]).collect();
        assert!(!late.is_empty(), "{ids:?}");
        let swapped = |(at, id): (usize, &u64)| (*id as usize).abs_diff(at) <= 1;
        assert!(ids.iter().enumerate().all(swapped), "{ids:?}");
        // One call, and nobody to overtake its reply.
        (200..230).for_each(|id| peer.echo(id, 10));
        let ended = server.stop();
        ended.check(&[("calls", 130), ("replies", 130), ("calls_in_server", 0)]);
        assert_eq!(ended.counter("faults_swapped"), late.len() as u64);
    }
}

/// A fault was made when a call went to the followers: one that failed there was both dropped and
/// answered.
#[test]
fn a_call_that_too_few_followers_hold_is_answered_and_counted_once_whatever_fault_is_asked() {
    let nobody = TcpListener::bind("127.0.0.1:0").expect("a port");
    let silent = nobody.local_addr().expect("an address").to_string();
    for fault in ["drop:1", "dup:1", "corrupt:1", "swap:1"] {
        for handlers in ["1", "0"] {
            let faults = [("--inject", fault), ("--test-faults", "-")];
            let leader = [("--followers", silent.as_str()), ("--ack-timeout", "50ms")];
            let changes = [&faults[..], &leader, &[("--handlers", handlers)]].concat();
            let server = Server::start(&changes);
            let mut peer = Peer::open(server.address);
            for id in 0..10 {
                let head = Header::new(Kind::Call, FLAG_ACKS_ALL, id, 0, 4);
                peer.send(&[&head.encode()[..], b"held"].concat());
            }
            (0..10).for_each(|id| drop(peer.expect_error(id, Status::TooFewHolders)));
            let ended = server.stop();
            ended.check(&[("calls", 10), ("replies", 10), ("replies_omitted", 0)]);
            ended.check(&[("ack_timeouts", 10), ("faults_dropped", 0), ("faults_doubled", 0)]);
        }
    }
}

#[test]
fn a_server_that_was_not_asked_has_no_word_about_faults() {
    let server = Server::start(&[]);
    assert!(server.stats()["faults"].is_null());
    let ended = server.stop();
    assert!(!ended.lines.iter().any(|line| line.contains("fault")), "{ended:?}");
}

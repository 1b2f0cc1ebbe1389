//! Calls that take long, queues that are full, and a stop in the middle of it.

use super::kit::{call, open, ping, sleep_call, start, test_call};
use crate::kit::{Inside, Peer, Tricky, config, payload, timed, until};
use echo_common::wire::hadoop::reply::{ErrorCode, Status};
use echo_server::call_queue::WhenFull;
use echo_server::hadoop::Busy;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// A handler took calls that stood behind a sleep along with it, or left those that came
/// meanwhile to itself: they waited for it while the other handler slept.
#[test]
fn a_call_that_sleeps_holds_no_other_call() {
    let server = start(&[("--readers", "1"), ("--handlers", "2")]);
    let mut peer = open(server.address);
    let mut bytes = Vec::new();
    (0..20).for_each(|id| bytes.extend(call(id, b"before")));
    bytes.extend(sleep_call(1000, 5000));
    (20..40).for_each(|id| bytes.extend(call(id, b"behind")));
    peer.send(&bytes);
    let mut ids: Vec<i32> = (0..40).map(|_| peer.answer().call_id).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..40).collect::<Vec<_>>(), "the sleep was answered before others");
    // Fewer calls than a handler is left before another one is woken.
    let mut other = open(server.address);
    for id in 0..20 {
        other.hadoop_echo(id, b"meanwhile");
    }
    peer.hadoop_echo(77, b"meanwhile, on the same connection");
    assert_eq!(peer.answer().call_id, 1000);
    server.stop();
}

#[test]
fn a_handler_pays_for_the_payload_that_came() {
    let server = start(&[("--handler-cost", "spin:0+3ms/KiB"), ("--handlers", "1")]);
    let mut peer = open(server.address);
    let ((), took) = timed(|| peer.hadoop_echo(1, &payload(1, 10 << 10)));
    assert!(took >= Duration::from_millis(30), "{took:?}");
    let sum = server.stats()["handlers"][0]["cpu_ns"].as_u64().expect("a number");
    assert!(sum >= 30_000_000, "{sum} ns of CPU time");
    server.stop();
}

#[test]
fn sleeps_of_one_connection_last_side_by_side() {
    let server = start(&[("--readers", "1"), ("--handlers", "4")]);
    let mut peer = open(server.address);
    // The first one lasts long, the others do not.
    let bytes: Vec<u8> = [4000, 10, 20, 30]
        .iter()
        .zip(0..)
        .flat_map(|(milliseconds, id)| sleep_call(id, *milliseconds))
        .collect();
    peer.send(&bytes);
    let ids: Vec<i32> = (0..4).map(|_| peer.answer().call_id).collect();
    assert_eq!(ids[3], 0, "{ids:?}");
    server.stop();
}

#[test]
fn pings_do_not_disturb_a_call_and_are_not_answered() {
    let server = start(&[]);
    let mut peer = open(server.address);
    peer.send(&sleep_call(1, 300));
    for _ in 0..5 {
        peer.send(&ping());
        crate::kit::pass(Duration::from_millis(50));
    }
    assert_eq!(peer.answer().call_id, 1);
    peer.hadoop_echo(2, b"after");
    peer.half_close();
    peer.expect_end();
    server.stop().check(&[("calls", 2), ("replies", 2), ("frames_malformed", 0)]);
}

/// With one handler blocked, `readers` readers, a queue of `capacity` and inboxes of `inbox`: so
/// many connections are open, however many more connect (Hadoop's testIpcWithReaderQueuing).
fn check_reader_queuing(readers: usize, inbox: usize, capacity: usize) {
    let tricky = Tricky::new();
    let mut config = config(tricky.clone());
    (config.readers, config.handlers) = (readers, 1);
    config.limits.queue_capacity = capacity;
    config.limits.reader_inbox = inbox;
    config.limits.when_full = WhenFull::Wait;
    let server = Inside::start(config);
    let connect = |id: usize| {
        let mut peer = open(server.address);
        peer.send(&call(id as i32, b"hold"));
        peer
    };
    let filled = readers + capacity + 1;
    let mut peers = Vec::new();
    for id in 0..filled {
        peers.push(connect(id));
        until("the call is read", || server.snapshots.take().calls == id as u64 + 1);
        tricky.await_held(1);
    }
    let now = server.snapshots.take();
    assert_eq!(now.queue.expect("a queue").depth, capacity);
    let most = filled + readers * inbox + 1;
    peers.extend((filled..most + 10).map(connect));
    until("all that can be are open", || server.snapshots.take().connections_open == most);
    // The listener holds the last one: nothing moves until the handler does.
    let now = server.snapshots.take();
    assert_eq!((now.connections_open, now.calls), (most, filled as u64));
    tricky.open_gate();
    for (id, peer) in (0..).zip(&mut peers) {
        peer.expect_payload(id, b"hold");
    }
    let last = server.stop();
    assert_eq!((last.calls, last.replies), (most as u64 + 10, most as u64 + 10));
}

#[test]
fn connections_stop_where_queue_readers_inboxes_and_listener_are_full() {
    check_reader_queuing(1, 1, 1);
    check_reader_queuing(4, 2, 5);
}

fn crowded(busy: Busy) -> (Inside, Arc<Tricky>) {
    let tricky = Tricky::new();
    let mut config = config(tricky.clone());
    (config.readers, config.handlers) = (1, 1);
    config.limits.queue_capacity = 1;
    config.limits.when_full = WhenFull::Reject;
    let mut hadoop = crate::kit::hadoop();
    hadoop.busy = busy;
    config.hadoop = Arc::new(hadoop);
    (Inside::start(config), tricky)
}

/// Hadoop's testClientBackOff.
#[test]
fn a_call_that_finds_the_queue_full_is_told_to_try_again() {
    let (server, tricky) = crowded(Busy::Error);
    let mut peer = open(server.address);
    peer.send(&call(1, b"hold"));
    tricky.await_held(1);
    peer.send(&[call(2, b"waits"), call(3, b"too much"), call(4, b"too much")].concat());
    for id in [3, 4] {
        let answer = peer.expect_failure(id, Status::Error, ErrorCode::RpcServer);
        assert_eq!(answer.class, "org.apache.hadoop.ipc.RetriableException");
        assert_eq!(answer.text, "Server too busy");
    }
    tricky.open_gate();
    peer.expect_payload(1, b"hold");
    peer.expect_payload(2, b"waits");
    peer.hadoop_echo(5, b"again");
    assert_eq!(server.limit("calls_rejected"), 2);
    let last = server.stop();
    assert_eq!((last.calls, last.replies), (5, 5));
}

#[test]
fn a_full_queue_can_end_the_connection_behind_what_it_is_owed() {
    let (server, tricky) = crowded(Busy::Fatal);
    let mut peer = open(server.address);
    peer.send(&call(1, b"hold"));
    tricky.await_held(1);
    let mut other = open(server.address);
    other.send(&call(9, b"waits"));
    until("the queue is full", || server.snapshots.take().queue.is_some_and(|q| q.depth == 1));
    peer.send(&[call(2, b"too much"), call(3, b"too much")].concat());
    until("they are rejected", || server.limit("calls_rejected") == 2);
    tricky.open_gate();
    peer.expect_payload(1, b"hold");
    let answer = peer.expect_failure(2, Status::Fatal, ErrorCode::RpcServer);
    assert_eq!(answer.class, "org.apache.hadoop.ipc.RetriableException");
    assert_eq!(answer.text, "Server too busy - disconnecting");
    peer.expect_end();
    other.expect_payload(9, b"waits");
    let last = server.stop();
    assert_eq!((last.calls, last.replies, last.replies_undeliverable), (4, 2, 2));
    assert_eq!(last.limits["frames_malformed"], 0);
}

/// Hadoop's TestRPCServerShutdown: the handler is busy, the queue is full, a reader waits for room.
#[test]
fn a_stop_ends_soon_though_everything_is_full() {
    let tricky = Tricky::new();
    let mut config = config(tricky.clone());
    (config.readers, config.handlers) = (1, 1);
    config.limits.queue_capacity = 1;
    config.limits.drain_timeout = Some(Duration::from_millis(300));
    let server = Inside::start(config);
    let mut peers: Vec<Peer> = (0..6)
        .map(|id| {
            let mut peer = open(server.address);
            peer.send(&call(id, b"hold"));
            peer
        })
        .collect();
    tricky.await_held(1);
    until("the queue is full", || server.snapshots.take().queue.is_some_and(|q| q.depth == 1));
    let (last, took) = timed(|| server.stop());
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert!(last.limits["drain_cut"] > 0);
    for peer in &mut peers {
        // An error frame, or only the end: no reply.
        while let Some(packet) = peer.packet() {
            assert_eq!(super::kit::Answer::all(&packet)[0].status, Status::Error);
        }
    }
    tricky.open_gate();
}

/// Replies of up to 1 KiB through a send buffer of 512 bytes, to peers that read late (Hadoop's
/// testServerResponder).
#[test]
fn replies_leave_whole_through_a_small_send_buffer() {
    let server = start(&[("--send-buffer", "512"), ("--max-in-flight", "1000")]);
    let callers: Vec<_> = (0..10u64)
        .map(|who| {
            let address = server.address;
            thread::spawn(move || {
                let mut peer = open(address);
                let body = |id: i32| payload(who, (id as usize * 37) % 1024);
                let mut sender = peer.share();
                let calls: Vec<u8> = (0..200).flat_map(|id| call(id, &body(id))).collect();
                let sending = thread::spawn(move || sender.send(&calls));
                let mut left = [true; 200];
                for _ in 0..200 {
                    let answer = peer.answer();
                    assert_eq!(answer.message, super::kit::message(&body(answer.call_id)));
                    assert!(std::mem::take(&mut left[answer.call_id as usize]));
                }
                sending.join().expect("all sent");
            })
        })
        .collect();
    callers.into_iter().for_each(|caller| caller.join().expect("a good caller"));
    server.stop().check(&[("calls", 2000), ("replies", 2000)]);
}

#[test]
fn test_calls_of_a_reader_without_handlers_are_served_too() {
    let server = start(&[("--handlers", "0")]);
    let mut peer = open(server.address);
    peer.send(&[call(1, b"before"), sleep_call(2, 50), test_call(b"ping", 3, b"")].concat());
    let ids: Vec<i32> = (0..3).map(|_| peer.answer().call_id).collect();
    assert_eq!(ids, [1, 2, 3]);
    server.stop();
}

//! What is full holds back what is before it, nothing is lost, and the end comes.

use super::{executed, key, key_of, keyed, keyed_frame};
use crate::kit::{Inside, Peer, Tricky, config, until};
use echo_common::wire::native::{Kind, Status};
use echo_server::call_queue::WhenFull;
use std::time::Duration;

#[test]
fn a_full_queue_of_a_handler_holds_the_dispatcher_back_and_is_counted() {
    let service = Tricky::new();
    let mut config = keyed(config(service.clone()), 500, false);
    config.limits.handler_queue = 2;
    let server = Inside::start(config);
    let mut peer = Peer::open(server.address);
    let slow = key_of(0, 2);
    let calls = (0..20).flat_map(|id| keyed_frame(id, key(slow, id), b"hold"));
    peer.send(&calls.collect::<Vec<u8>>());
    service.await_held(1);
    peer.send(&keyed_frame(20, key(key_of(1, 2), 1), b"behind"));
    until("the dispatcher is held back", || {
        let keyed = server.snapshots.take().keyed.expect("counters");
        keyed.serial.calls == 21
    });
    service.open_gate();
    let mut ids: Vec<u64> = (0..21).map(|_| executed(&mut peer).0).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..21).collect::<Vec<_>>());
    let last = server.stop();
    let keyed = last.keyed.expect("counters");
    assert!(last.limits["handler_queue_waits"] > 0 && keyed.held_back_ns > 0, "{keyed:?}");
    assert_eq!(keyed.held_back, last.limits["handler_queue_waits"]);
}

/// Behind a handler that stands still all queues are full: calls are rejected or their reader
/// waits, and every one is answered.
#[test]
fn nothing_is_unbounded_behind_a_handler_that_stands_still() {
    for when_full in [WhenFull::Reject, WhenFull::Wait] {
        let service = Tricky::new();
        let mut config = keyed(config(service.clone()), 1, false);
        config.handlers = 1;
        config.readers = 1;
        config.limits.queue_capacity = 3;
        config.limits.log_capacity = 2;
        config.limits.handler_queue = 1;
        config.limits.when_full = when_full;
        let server = Inside::start(config);
        let mut peer = Peer::open(server.address);
        let acted = match when_full {
            WhenFull::Reject => "calls_rejected",
            WhenFull::Wait => "queue_full_waits",
        };
        // One by one: of many at once nearly all would be rejected, and the log stay empty.
        let mut sent = 0;
        until(acted, || {
            peer.send(&keyed_frame(sent, key(1, sent), b"hold"));
            sent += 1;
            let seen = server.snapshots.take();
            // A wait is counted when it is over. At most five calls have room behind the serial
            // stage: one served, one in its handler's queue, one at the dispatcher, two in the
            // log. So it waits at the latest when it takes what waits here; with three in its
            // queue one more keeps the reader.
            let confirmed = seen.keyed.expect("the stages").serial.calls;
            let reader_is_kept = seen.limits[acted] > 0 || seen.calls > confirmed + 3;
            confirmed > 4 && reader_is_kept
        });
        service.open_gate();
        let frames = (0..sent).map(|_| peer.frame().expect("a frame"));
        let (answered, refused): (Vec<_>, Vec<_>) =
            frames.partition(|frame| frame.kind == Kind::Reply);
        assert!(refused.iter().all(|frame| frame.status == Status::TooBusy as u16));
        let last = server.stop();
        assert_eq!(last.limits["calls_rejected"], refused.len() as u64);
        assert!(answered.is_sorted_by_key(|frame| frame.id), "one key, one order");
        assert!(last.limits[acted] > 0 && last.limits["log_full_waits"] > 0);
        assert_eq!(last.keyed.expect("the stages").backlog_max, 2);
        assert_eq!(last.replies, sent);
    }
}

#[test]
fn whatever_was_accepted_is_answered_when_the_server_stops() {
    for extend_reads in [false, true] {
        let service = Tricky::new();
        let mut config = keyed(config(service.clone()), 3, extend_reads);
        config.limits.log_capacity = 4;
        config.limits.handler_queue = 2;
        config.costs.serial = Some("paced:1ms".parse().expect("a cost"));
        let server = Inside::start(config);
        let mut peer = Peer::open(server.address);
        peer.send(&keyed_frame(0, key(key_of(0, 2), 1), b"hold"));
        service.await_held(1);
        let calls = (1..60).flat_map(|id| keyed_frame(id, key(id, 1), b"x"));
        peer.send(&calls.collect::<Vec<u8>>());
        until("all are read", || server.snapshots.take().calls == 60);
        server.begin_stop();
        service.open_gate();
        let mut ids: Vec<u64> = (0..60).map(|_| executed(&mut peer).0).collect();
        ids.sort_unstable();
        assert_eq!(ids, (0..60).collect::<Vec<_>>());
        let last = server.end().expect("a good end");
        assert_eq!((last.replies, last.calls_in_server), (60, 0));
    }
}

/// A handler stands still, its queue and the log are full, and both stages wait for it: the end of
/// the server does not.
#[test]
fn a_drain_that_is_cut_ends_whatever_the_stages_wait_for() {
    let service = Tricky::new();
    let mut config = keyed(config(service.clone()), 4, true);
    config.handlers = 1;
    config.limits.handler_queue = 1;
    config.limits.log_capacity = 2;
    config.limits.drain_timeout = Some(Duration::from_millis(100));
    let server = Inside::start(config);
    let mut peer = Peer::open(server.address);
    let calls = (0..40).flat_map(|id| keyed_frame(id, key(1, id), b"hold"));
    peer.send(&calls.collect::<Vec<u8>>());
    service.await_held(1);
    // The serial stage waits for room in the log, or for the handler with a read that it extends.
    until("a stage waits", || {
        let keyed = server.snapshots.take().keyed.expect("the stages");
        keyed.backlog == 2 || keyed.calls_on_serial > 0
    });
    let last = server.stop();
    assert_eq!(last.limits["drain_cut"], 1);
    assert!(last.calls_in_server > 0, "they were left behind, and are told: {last:?}");
    service.open_gate();
}

//! The call queue, the bounds of one connection, fairness, and calls that break their handler.

use crate::kit::{
    Canary, Inside, Peer, Server, Tricky, call_frame, config, payload, resp_size_frame,
    stats_frame, timed, until,
};
use echo_common::wire::native::{Kind, Status};
use echo_server::call_queue::WhenFull;
use std::io::Write;
use std::thread;
use std::time::Duration;

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// A call of 21 bytes can ask for megabytes. All calls that one read had brought were taken before
/// the first one was weighed: 100 MiB of replies at once for a peer that had sent 5 KB.
#[test]
fn small_calls_that_ask_for_large_replies_are_bounded_by_what_they_ask_for() {
    for handlers in ["2", "0"] {
        let changes = [("--handlers", handlers), ("--max-in-flight", "4096")];
        let server = Server::start(&changes);
        let canary = Canary::start(server.address);
        let before = server.proc().rss_kib();
        let mut peer = Peer::narrow(server.address, 64 << 10);
        let calls: Vec<u8> = (0..200).flat_map(|id| resp_size_frame(id, b"x", 1 << 19)).collect();
        peer.send(&calls);
        let mut ids: Vec<u64> = (0..200)
            .map(|_| {
                let frame = peer.frame().expect("a reply");
                assert_eq!(frame.payload.len(), 1 << 19);
                frame.id
            })
            .collect();
        ids.sort_unstable();
        assert_eq!(ids, (0..200).collect::<Vec<_>>());
        let grown = server.proc().rss_peak_kib().saturating_sub(before);
        assert!(grown < 16 << 10, "{grown} KiB for 5 KB of calls, {handlers} handlers");
        canary.stop_well();
        server.stop();
    }
}

/// A stats call of 16 bytes is answered with kilobytes.
#[test]
fn stats_calls_are_bounded_by_their_replies_too() {
    let server = Server::start(&[("--max-in-flight", "100000"), ("--max-owed-bytes", "256KiB")]);
    let before = server.proc().rss_kib();
    let mut peer = Peer::narrow(server.address, 16 << 10);
    let calls: Vec<u8> = (0..5000).flat_map(stats_frame).collect();
    peer.send_until_full(&calls, ms(300));
    until("reading pauses", || server.limit("reading_paused") > 0);
    let grown = server.proc().rss_peak_kib().saturating_sub(before);
    assert!(grown < 6 << 10, "{grown} KiB for stats calls");
    peer.reset();
    server.await_rest();
    server.stop();
}

#[test]
fn calls_of_one_connection_are_bounded_by_their_bytes_too() {
    let server = Server::start(&[("--max-owed-bytes", "10000"), ("--max-in-flight", "100000")]);
    let mut peer = Peer::narrow(server.address, 4096);
    let calls: Vec<u8> = (0..2000).flat_map(|id| call_frame(id, &payload(id, 100))).collect();
    let mut sender = peer.share();
    let sending = std::thread::spawn(move || sender.send(&calls));
    for _ in 0..2000 {
        let frame = peer.frame().expect("a reply");
        assert_eq!(frame.payload, payload(frame.id, 100));
    }
    sending.join().expect("all sent");
    let stats = server.stats();
    let most = stats["queue"]["depth_max"].as_u64().expect("a number");
    assert!(most <= 87, "{most} calls of 116 bytes under a bound of 10,000");
    server.stop();
}

#[test]
fn q01_a41_one_busy_connection_does_not_starve_the_others_on_its_reader() {
    for handlers in ["2", "0"] {
        let server = Server::start(&[("--readers", "1"), ("--handlers", handlers)]);
        let busy = Peer::open(server.address);
        let mut sender = busy.share();
        let flood = call_frame(1, &payload(1, 200)).repeat(2000);
        // Both end when the connection is shut below.
        let sending = thread::spawn(move || while sender.stream.write_all(&flood).is_ok() {});
        let mut reader = busy.share();
        let reading = thread::spawn(move || reader.rest().len());
        let others: Vec<_> = (0..9)
            .map(|_| {
                let mut peer = Peer::open(server.address);
                thread::spawn(move || {
                    let times = (0..100).map(|id| timed(|| peer.echo(id, 100)).1);
                    times.max().expect("a hundred")
                })
            })
            .collect();
        for other in others {
            let longest = other.join().expect("everybody is answered");
            assert!(longest < Duration::from_secs(2), "a call waited {longest:?}");
        }
        let answered = server.stats()["replies"].as_u64().expect("a count");
        assert!(answered > 1800, "the busy connection got only {answered} replies");
        busy.stream.shutdown(std::net::Shutdown::Both).expect("an open socket");
        sending.join().expect("a sender that was cut off");
        reading.join().expect("a reader that was cut off");
        busy.reset();
        server.stop();
    }
}

/// Peers with `each` calls that are held, in flight and beyond.
fn holders(server: &Inside, peers: usize, each: u64) -> Vec<Peer> {
    let calls: Vec<u8> = (0..each).flat_map(|id| call_frame(id, b"hold")).collect();
    let open = |_| {
        let mut peer = Peer::open(server.address);
        peer.send(&calls);
        peer
    };
    (0..peers).map(open).collect()
}

/// Every one of `each` calls of every peer is answered once.
#[track_caller]
fn all_answered(peers: &mut [Peer], each: u64) {
    for peer in peers {
        let mut ids: Vec<u64> = (0..each)
            .map(|_| {
                let frame = peer.frame().expect("a reply");
                assert_eq!((frame.kind, frame.payload.as_slice()), (Kind::Reply, &b"hold"[..]));
                frame.id
            })
            .collect();
        ids.sort_unstable();
        assert_eq!(ids, (0..each).collect::<Vec<_>>());
    }
}

#[test]
fn q04_a66_a_full_queue_that_waits_stays_within_its_capacity_and_loses_nothing() {
    for capacity in [1, 64] {
        for handlers in [1, 2] {
            let tricky = Tricky::new();
            let mut config = config(tricky.clone());
            config.handlers = handlers;
            config.limits.queue_capacity = capacity;
            let server = Inside::start(config);
            let mut peers = holders(&server, 20, 128);
            tricky.await_held(handlers);
            until("readers wait for room", || {
                server.snapshots.take().queue.expect("a queue").depth == capacity
            });
            tricky.open_gate();
            all_answered(&mut peers, 128);
            let last = server.stop();
            let queue = last.queue.expect("a queue");
            assert!(queue.depth_max <= capacity, "{queue:?}");
            assert_eq!((queue.depth, queue.rejected), (0, 0));
            assert!(queue.full_waits > 0, "{queue:?}");
            assert_eq!((last.calls, last.replies), (20 * 128, 20 * 128));
        }
    }
}

#[test]
fn q06_a66_a_full_queue_that_rejects_says_so_at_once_to_that_call_only() {
    for capacity in [1, 16] {
        let tricky = Tricky::new();
        let mut config = config(tricky.clone());
        config.limits.queue_capacity = capacity;
        config.limits.when_full = WhenFull::Reject;
        let server = Inside::start(config);
        let mut held = holders(&server, 1, 1);
        tricky.await_held(1);
        held.extend(holders(&server, 1, 1));
        tricky.await_held(2);
        let mut peer = Peer::open(server.address);
        let calls: Vec<u8> = (0..100).flat_map(|id| call_frame(id, b"queued")).collect();
        peer.send(&calls);
        // Nobody takes calls: those that found no room are answered now, the others are not.
        let busy = 100 - capacity as u64;
        for _ in 0..busy {
            let frame = peer.frame().expect("an answer");
            assert_eq!((frame.kind, frame.status), (Kind::Error, Status::TooBusy as u16));
            assert!(frame.id >= capacity as u64, "call {} had room", frame.id);
        }
        // Counters need no room; only a stats call among others is rejected as they are.
        let mut asking = Peer::open(server.address);
        assert_eq!(asking.stats()["limits"]["calls_rejected"].as_u64(), Some(busy));
        asking.send(&[call_frame(1, b"no room"), stats_frame(2)].concat());
        asking.expect_error(1, Status::TooBusy);
        asking.expect_error(2, Status::TooBusy);
        assert_eq!(server.limit("calls_rejected"), busy + 2);
        tricky.open_gate();
        let mut served: Vec<u64> = (0..capacity)
            .map(|_| {
                let frame = peer.frame().expect("a reply");
                assert_eq!((frame.kind, frame.payload.as_slice()), (Kind::Reply, &b"queued"[..]));
                frame.id
            })
            .collect();
        served.sort_unstable();
        assert_eq!(served, (0..capacity as u64).collect::<Vec<_>>());
        peer.echo(1000, 10);
        all_answered(&mut held, 1);
        let last = server.stop();
        assert_eq!(last.limits["calls_rejected"], busy + 2);
        assert!(last.queue.expect("a queue").depth_max <= capacity);
        assert_eq!((last.calls, last.stats_calls, last.replies), (104, 2, 106));
    }
}

#[test]
fn q07_calls_beyond_the_bound_of_a_connection_wait_outside() {
    let tricky = Tricky::new();
    let mut config = config(tricky.clone());
    config.limits.queue_capacity = 4096;
    let server = Inside::start(config);
    let mut peer = Peer::open(server.address);
    let calls: Vec<u8> = (0..10_000).flat_map(|id| call_frame(id, b"hold")).collect();
    let mut sender = peer.share();
    let sending = thread::spawn(move || sender.send(&calls));
    tricky.await_held(2);
    until("reading pauses", || server.limit("reading_paused") > 0);
    assert_eq!(server.snapshots.take().calls, 128);
    tricky.open_gate();
    all_answered(std::slice::from_mut(&mut peer), 10_000);
    sending.join().expect("all sent");
    let last = server.stop();
    assert!(last.queue.expect("a queue").depth_max <= 128);
    assert_eq!(last.replies, 10_000);
}

#[test]
fn q08_rapid_resets_stay_within_the_queue_and_cost_the_others_nothing() {
    let changes = [("--queue-capacity", "256"), ("--readers", "1"), ("--max-connections", "2500")];
    let server = Server::start(&changes);
    let canary = Canary::start(server.address);
    let calls: Vec<u8> = (0..100).flat_map(|id| call_frame(id, &payload(id, 100))).collect();
    let attack = |times: usize| {
        for _ in 0..times {
            let mut peer = Peer::open(server.address);
            // The reset may come while it is sent.
            peer.send_until_full(&calls, ms(1000));
            peer.reset();
        }
    };
    attack(500);
    let rss = server.proc().rss_kib();
    attack(1500);
    let grown = server.proc().rss_peak_kib().saturating_sub(rss);
    assert!(grown < 8 << 10, "{grown} KiB more");
    canary.stop_well();
    server.await_rest();
    let stats = server.stats();
    assert!(stats["queue"]["depth_max"].as_u64().expect("a count") <= 256);
    assert_eq!(stats["queue"]["depth"], 0);
    server.stop();
}

/// Calls whose peer had gone were served all the same, so that a peer that only sends and resets
/// could keep every handler busy with replies for nobody.
#[test]
fn q08_calls_of_a_peer_that_has_gone_are_not_served() {
    let tricky = Tricky::new();
    let server = Inside::start(config(tricky.clone()));
    let mut held = holders(&server, 2, 1);
    tricky.await_held(2);
    let mut peer = Peer::open(server.address);
    peer.send(&(0..100).flat_map(|id| call_frame(id, b"dead")).collect::<Vec<_>>());
    until("its calls are queued", || server.snapshots.take().calls == 102);
    peer.reset();
    until("its end was seen", || server.snapshots.take().connections_open == 2);
    tricky.open_gate();
    all_answered(&mut held, 1);
    Peer::open(server.address).echo(1, 10);
    let served = tricky.served();
    assert!(served <= 3, "{} dead calls were served", served - 3);
    let last = server.stop();
    assert_eq!((last.calls, last.replies, last.replies_undeliverable), (103, 3, 100));
}

#[test]
fn q09_poisoned_calls_fail_alone() {
    for (handlers, batch_max) in [(2, 256), (1, 1), (0, 1)] {
        let mut config = config(Tricky::with_batch(batch_max));
        config.handlers = handlers;
        let server = Inside::start(config);
        let mut peer = Peer::open(server.address);
        let body = |id: u64| match id % 10 {
            3 => b"poison".to_vec(),
            5 => b"fail".to_vec(),
            7 => [b"own".to_vec(), payload(id, 20_000)].concat(),
            _ => payload(id, 100),
        };
        let calls: Vec<u8> = (0..2000).flat_map(|id| call_frame(id, &body(id))).collect();
        let mut sender = peer.share();
        let sending = thread::spawn(move || sender.send(&calls));
        for _ in 0..2000 {
            let frame = peer.frame().expect("an answer");
            let expected = match frame.id % 10 {
                3 => (Kind::Error, Status::Internal as u16),
                5 => (Kind::Error, Status::Refused as u16),
                _ => (Kind::Reply, 0),
            };
            assert_eq!((frame.kind, frame.status), expected, "call {}", frame.id);
            if frame.kind == Kind::Reply {
                assert!(frame.payload == body(frame.id), "call {}", frame.id);
            }
        }
        sending.join().expect("all sent");
        let last = server.stop();
        assert_eq!((last.handler_panics, last.calls, last.replies), (200, 2000, 2000));
        assert_eq!(last.handlers.len(), handlers);
    }
}

/// A panic that panics again while it is dropped cannot be kept inside its call.
#[test]
fn q11_a_dead_thread_ends_the_server_by_name() {
    for (handlers, name) in [(1, "handler-00"), (0, "reader-00")] {
        let mut config = config(Tricky::new());
        (config.readers, config.handlers) = (1, handlers);
        let server = Inside::start(config);
        let mut peer = Peer::open(server.address);
        peer.echo(1, 10);
        peer.send(&call_frame(2, b"bomb"));
        let error = server.end().expect_err("a dead thread");
        let text = error.to_string();
        assert!(text.contains(name) && text.contains("poison: dropped"), "{text}");
    }
}

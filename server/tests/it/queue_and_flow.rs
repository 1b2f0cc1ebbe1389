//! The call queue, the bounds of one connection, fairness, and calls that break their handler.

use crate::kit::{Canary, Peer, Server, call_frame, payload, resp_size_frame, stats_frame};
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
    assert!(server.limit("reading_paused") > 0);
    let grown = server.proc().rss_peak_kib().saturating_sub(before);
    assert!(grown < 6 << 10, "{grown} KiB for stats calls");
    peer.reset();
    server.await_rest();
    let ended = server.stop();
    let answered = ended.counter("replies") + ended.counter("replies_undeliverable");
    assert_eq!(ended.counter("stats_calls"), answered);
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

//! Peers that are slow, silent, gone, or that do not read: each costs itself, and what is held for
//! it comes back.

use crate::kit::{
    Canary, Inside, Peer, Server, Tricky, call_frame, config, pass, payload, timed, until,
};
use echo_common::wire::native::PREAMBLE;
use std::thread;
use std::time::Duration;

/// A server with one reader and one handler, so that a villain shares them with the canary.
const NARROW: &[(&str, &str)] = &[("--readers", "1"), ("--handlers", "1")];

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn with<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    NARROW.iter().chain(more).copied().collect()
}

#[test]
fn s04_s07_a_peer_that_never_reads_is_bounded_and_ended_and_nobody_waits_for_it() {
    let changes = with(&[("--write-stall-timeout", "1s"), ("--idle-timeout", "off")]);
    let server = Server::start(&changes);
    let canary = Canary::start(server.address);
    let before = server.proc().rss_kib();
    let frames: Vec<u8> = (0..400).flat_map(|id| call_frame(id, &payload(id, 64 << 10))).collect();
    let mut peer = Peer::narrow(server.address, 64 << 10);
    let sent = peer.send_until_full(&frames, ms(300));
    assert!(sent < frames.len() / 2, "{sent} bytes were taken from a peer that reads nothing");
    until("reading pauses", || server.limit("reading_paused") >= 1);
    server.await_limit("write_stalls", 1);
    let grown = server.proc().rss_peak_kib().saturating_sub(before);
    assert!(grown < 8 << 10, "{grown} KiB are held for one peer");
    canary.stop_well();
    server.await_rest();
    let ended = server.stop();
    ended.check(&[("write_stalls", 1), ("drain_cut", 0)]);
    assert!(ended.counter("replies_undeliverable") > 0);
}

#[test]
fn s08_what_was_sent_before_half_closing_is_answered_and_then_the_stream_ends() {
    for handlers in ["2", "0"] {
        for (count, length) in [(10, 100), (10, 200_000), (500, 1000)] {
            let server = Server::start(&[("--handlers", handlers), ("--max-in-flight", "4")]);
            let mut peer = Peer::open(server.address);
            let mut sender = peer.share();
            let sending = thread::spawn(move || {
                for id in 0..count {
                    sender.send(&call_frame(id, &payload(id, length)));
                }
                sender.half_close();
            });
            let mut ids: Vec<u64> = (0..count)
                .map(|_| {
                    let frame = peer.frame().expect("a reply");
                    assert!(frame.payload == payload(frame.id, length));
                    frame.id
                })
                .collect();
            ids.sort_unstable();
            assert_eq!(ids, (0..count).collect::<Vec<_>>());
            peer.expect_end();
            sending.join().expect("all sent");
            server.await_rest();
            let ended = server.stop();
            ended.check(&[("calls", count), ("replies_undeliverable", 0)]);
        }
    }
}

#[test]
fn half_closing_inside_a_frame_or_before_any_ends_the_connection_at_once() {
    let server = Server::start(&[]);
    let whole = [&PREAMBLE[..], &call_frame(1, &[1; 50_000])].concat();
    for cut in [0, 3, 8, 10, 24, 1000, 45_000] {
        let mut peer = Peer::silent(server.address);
        peer.send(&whole[..cut]);
        peer.half_close();
        let (_, took) = timed(|| peer.expect_end());
        assert!(took < ms(1500), "{took:?} after {cut} bytes");
    }
    server.await_rest();
    server.stop().check(&[("calls", 0), ("handshake_timeouts", 0), ("frame_timeouts", 0)]);
}

#[test]
fn s10_a49_resets_and_closes_in_mid_frame_leave_nothing_behind() {
    let server = Server::start(&with(&[]));
    let canary = Canary::start(server.address);
    server.await_rest_but(1);
    let proc = server.proc();
    let (files, threads) = (proc.files(), proc.threads());
    let whole = [&PREAMBLE[..], &call_frame(1, &[1; 60_000])].concat();
    for round in 0..1000 {
        let mut peer = Peer::silent(server.address);
        peer.send(&whole[..[4, 12, 24, 5000, 50_000][round % 5]]);
        if round % 4 == 3 {
            drop(peer);
        } else {
            peer.reset();
        }
    }
    until("descriptors are back", || proc.files() <= files);
    assert_eq!(proc.threads(), threads);
    // The last ones may still wait to be accepted when the descriptors are back.
    until("no socket waits to be closed", || half_closed_sockets(&server) == 0);
    canary.stop_well();
    server.await_rest();
    server.stop().check(&[("frame_timeouts", 0), ("frames_malformed", 0)]);
}

/// As `/proc/net/tcp` has it.
const CLOSE_WAIT: &str = "08";

/// Sockets of the server's port whose peer has closed and we have not.
fn half_closed_sockets(server: &Server) -> usize {
    let table = std::fs::read_to_string("/proc/net/tcp").expect("a table");
    let port = format!(":{:04X}", server.address.port());
    let lines = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    lines.filter(|fields| fields[1].ends_with(&port) && fields[3] == CLOSE_WAIT).count()
}

#[test]
fn s12_a_reset_while_a_handler_holds_the_call_drops_and_counts_the_reply() {
    let tricky = Tricky::new();
    let server = Inside::start(config(tricky.clone()));
    let mut peer = Peer::open(server.address);
    peer.send(&[call_frame(1, b"hold"), call_frame(2, b"hold")].concat());
    tricky.await_held(2);
    peer.reset();
    until("the reader has seen it", || server.snapshots.take().connections_open == 0);
    tricky.open_gate();
    let mut next = Peer::open(server.address);
    next.echo(3, 100);
    let last = server.stop();
    assert_eq!((last.calls, last.replies, last.replies_undeliverable), (3, 1, 2));
}

#[test]
fn a45_resets_under_pending_replies_close_everything_and_then_it_is_quiet() {
    let server = Server::start(&[("--send-buffer", "16KiB"), ("--write-stall-timeout", "60s")]);
    let body = payload(1, 300_000);
    let mut peers: Vec<Peer> = (0..100).map(|_| Peer::narrow(server.address, 4096)).collect();
    for peer in &mut peers {
        peer.send_until_full(&call_frame(1, &body).repeat(4), ms(5));
    }
    peers.into_iter().for_each(Peer::reset);
    server.await_rest();
    let before = server.proc().cpu();
    pass(ms(500));
    let used = server.proc().cpu() - before;
    assert!(used < ms(100), "{used:?} of CPU in half a second of rest");
    let ended = server.stop();
    ended.check(&[("write_stalls", 0)]);
}

#[test]
fn s15_a51_partial_writes_are_finished_in_order() {
    let server = Server::start(&[("--send-buffer", "4KiB"), ("--max-owed-bytes", "256KiB")]);
    let clients: Vec<_> = (0..10u64)
        .map(|client| {
            let mut peer = Peer::narrow(server.address, 8192);
            thread::spawn(move || {
                for round in 0..8 {
                    let sizes = [1 << 10, 64 << 10, 17_000, 100, 40_000];
                    let ids = (0u64..).map(|at| (client << 32) + (round << 8) + at);
                    let calls: Vec<_> = ids.zip(sizes).collect();
                    let bytes: Vec<u8> = calls
                        .iter()
                        .flat_map(|(id, size)| call_frame(*id, &payload(*id, *size)))
                        .collect();
                    let mut sender = peer.share();
                    let sending = thread::spawn(move || sender.send(&bytes));
                    for _ in &calls {
                        let frame = peer.frame().expect("a reply");
                        let size = calls.iter().find(|(id, _)| *id == frame.id).expect("asked").1;
                        assert!(frame.payload == payload(frame.id, size), "other bytes");
                    }
                    sending.join().expect("all sent");
                }
            })
        })
        .collect();
    clients.into_iter().for_each(|client| client.join().expect("a client without failures"));
    server.stop().check(&[("calls", 400), ("replies", 400)]);
}

#[test]
fn a51_frames_above_the_owed_bound_go_through_one_by_one_without_a_deadlock() {
    let changes = [
        ("--max-frame-size", "17MiB"),
        ("--max-owed-bytes", "1MiB"),
        ("--send-buffer", "64KiB"),
        ("--receive-buffer", "128KiB"),
        ("--readers", "1"),
    ];
    let server = Server::start(&changes);
    let canary = Canary::start(server.address);
    let before = server.proc().rss_kib();
    let mut peer = Peer::open(server.address);
    let body = payload(1, 4 << 20);
    let frames: Vec<u8> = (0..8).flat_map(|id| call_frame(id, &body)).collect();
    let mut sender = peer.share();
    let sending = thread::spawn(move || sender.send(&frames));
    for _ in 0..8 {
        let frame = peer.frame().expect("a reply");
        assert!(frame.payload == body);
    }
    sending.join().expect("all sent");
    let grown = server.proc().rss_peak_kib().saturating_sub(before);
    assert!(grown < 24 << 10, "{grown} KiB for frames of 4 MiB, one at a time");
    canary.stop_well();
    server.stop();
}

#[test]
fn a50_m01_idle_connections_cost_little_memory_and_no_time() {
    let changes = [("--max-connections", "3000"), ("--idle-timeout", "off"), ("--readers", "1")];
    let server = Server::start(&changes);
    let mut peers: Vec<Peer> = Vec::new();
    let mut rss = Vec::new();
    for id in 0..1101 {
        if id % 500 == 100 {
            rss.push(server.proc().rss_kib());
        }
        peers.push(Peer::open(server.address));
        peers[id].echo(id as u64, 128);
    }
    let each = (rss[2].saturating_sub(rss[0]) << 10) / 1000;
    assert!(each <= 4096, "{each} bytes for each idle connection");
    let before = server.stats();
    pass(ms(1000));
    let after = server.stats();
    let grown = |field: &str| {
        let number = |stats: &serde_json::Value| stats[field].as_u64().expect("a number");
        number(&after) - number(&before)
    };
    assert!(grown("cpu_ns") < 100_000_000, "{} ns of CPU in a second", grown("cpu_ns"));
    let switches = |stats: &serde_json::Value| {
        stats["context_switches"]["voluntary"].as_u64().expect("a number")
    };
    let switched = switches(&after) - switches(&before);
    assert!(switched < 100, "{switched} context switches in a second of rest");
    drop(peers);
    server.await_rest();
    server.stop();
}

//! Limits: what is too long, too much or too slow, and what is not held against a client.

use super::kit::{
    SIMPLE, call, call_of, context, message, open, packet_of, ping, sleep_call, start,
};
use crate::kit::{Peer, pass, payload, until};
use echo_common::wire::hadoop::header::CallHeader;
use echo_common::wire::hadoop::method::MethodHeader;
use echo_common::wire::hadoop::om::{self, Echo, OmCall, OmReply};
use std::time::Duration;

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// A call of an Ozone Manager's echo without a payload, for a reply of so many bytes.
fn asking(call_id: i32, reply_len: i32) -> Vec<u8> {
    let call = OmCall {
        command: om::COMMAND_ECHO,
        trace_id: None,
        client_id: b"c",
        version: None,
        has_consistency_hint: false,
        echo: Some(Echo { payload: b"", reply_len, read_only: true }),
    };
    let mut message = Vec::new();
    call.encode(&mut message);
    let method = MethodHeader { method: om::METHOD, protocol: om::PROTOCOL, version: om::VERSION };
    call_of(&method, call_id, &message)
}

#[test]
fn packets_longer_than_the_limit_end_the_connection_without_a_word() {
    let server = start(&[("--max-frame-size", "1000")]);
    let overhead = call(0, &[7; 500]).len() - 500 - 4;
    for (length, is_taken) in [(1000, true), (1001, false), (u32::MAX as usize, false)] {
        let mut peer = open(server.address);
        if is_taken {
            peer.hadoop_echo(0, &payload(1, length - overhead));
            continue;
        }
        peer.send(&(length as u32).to_be_bytes());
        peer.expect_end();
    }
    server.stop().check(&[("frames_oversize", 1), ("frames_malformed", 1), ("calls", 1)]);
}

#[test]
fn memory_follows_the_bytes_that_came_and_not_those_announced() {
    let server = start(&[("--max-frame-size", "128MiB")]);
    Peer::open(server.address).echo(1, 10);
    let before = server.proc().rss_kib();
    let peers: Vec<Peer> = (0..50)
        .map(|_| {
            let mut peer = open(server.address);
            peer.send(&(128u32 << 20).to_be_bytes());
            peer.send(&[1; 1000]);
            peer
        })
        .collect();
    until("all have come", || server.stats()["connections_open"] == 51);
    let grown = server.proc().rss_peak_kib().saturating_sub(before);
    assert!(grown < 20 << 10, "{grown} KiB for lengths that were only announced");
    drop(peers);
    server.await_rest();
    server.stop().check(&[("frames_oversize", 0)]);
}

/// A call of 100 bytes can ask for megabytes, which are made of one block that all share.
#[test]
fn small_calls_that_ask_for_large_replies_cost_no_memory_of_that_size() {
    for handlers in ["2", "0"] {
        let changes =
            [("--handlers", handlers), ("--max-in-flight", "4096"), ("--max-frame-size", "8MiB")];
        let server = start(&changes);
        let before = server.proc().rss_kib();
        let opening = [SIMPLE, &context()].concat();
        let mut peer = Peer::narrow_with(server.address, 64 << 10, &opening);
        let calls: Vec<u8> = (0..60).flat_map(|id| asking(id, 8 << 20)).collect();
        peer.send(&calls);
        for _ in 0..60 {
            let answer = peer.answer();
            let reply = OmReply::decode(&answer.message).expect("an OMResponse");
            assert_eq!(reply.payload.expect("always set").len(), 8 << 20);
        }
        let grown = server.proc().rss_peak_kib().saturating_sub(before);
        assert!(grown < 16 << 10, "{grown} KiB for 6 KB of calls, {handlers} handlers");
        server.stop();
    }
}

/// Answers that the reader gives by itself are owed like replies: a peer that does not take them is
/// not read on.
#[test]
fn failures_of_packets_are_bounded_by_what_the_peer_takes() {
    let server = start(&[("--max-owed-bytes", "256KiB"), ("--write-stall-timeout", "60s")]);
    let before = server.proc().rss_kib();
    let mut peer = Peer::narrow_with(server.address, 16 << 10, &[SIMPLE, &context()].concat());
    let unreadable = packet_of(&CallHeader::new(1, b"", 0), b"\xff");
    peer.send_until_full(&unreadable.repeat(400_000), ms(300));
    until("reading pauses", || server.limit("reading_paused") > 0);
    let grown = server.proc().rss_peak_kib().saturating_sub(before);
    assert!(grown < 10 << 10, "{grown} KiB for packets that fail");
    peer.reset();
    server.await_rest();
    server.stop();
}

/// Hadoop's testMaxConnections.
#[test]
fn connections_above_the_limit_are_closed_and_counted() {
    let server = start(&[("--max-connections", "7")]);
    let mut peers: Vec<Peer> = (0..6)
        .map(|id| {
            let mut peer = open(server.address);
            peer.hadoop_echo(id, b"in");
            peer
        })
        .collect();
    let mut watch = Peer::open(server.address);
    watch.echo(1, 1);
    (0..4).for_each(|_| Peer::silent(server.address).expect_end());
    assert_eq!(watch.stats()["limits"]["connections_refused"], 4);
    peers.iter_mut().for_each(|peer| peer.hadoop_echo(9, b"still in"));
    server.stop();
}

/// Hadoop's testConnectionIdleTimeouts, but that each connection has its own time here and none is
/// spared for want of a threshold.
#[test]
fn idle_connections_end_but_none_with_a_call_in_flight_or_that_pings() {
    let server = start(&[("--idle-timeout", "1500ms"), ("--handlers", "4")]);
    let mut idle = open(server.address);
    idle.hadoop_echo(1, b"once");
    let mut busy = open(server.address);
    busy.send(&sleep_call(1, 3500));
    let mut pinging = open(server.address);
    pinging.hadoop_echo(1, b"once");
    let mut pinger = pinging.share();
    let (enough, told) = std::sync::mpsc::channel::<()>();
    let pings = std::thread::spawn(move || {
        while told.recv_timeout(ms(50)) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            pinger.send(&ping());
        }
    });
    idle.expect_end();
    assert_eq!(busy.answer().call_id, 1);
    busy.expect_end();
    pinging.hadoop_echo(2, b"still here");
    drop(enough);
    pings.join().expect("pings were taken");
    pinging.expect_end();
    server.stop().check(&[("idle_closed", 3)]);
}

#[test]
fn a_client_that_has_said_who_it_is_may_take_its_time_to_call() {
    let server = start(&[("--handshake-timeout", "1s")]);
    let mut silent = Peer::silent(server.address);
    silent.send(SIMPLE);
    let mut known = open(server.address);
    silent.expect_end();
    pass(ms(200));
    known.hadoop_echo(1, b"late");
    server.stop().check(&[("handshake_timeouts", 1)]);
}

#[test]
fn a_packet_that_stays_incomplete_ends_its_connection_without_a_word() {
    let server = start(&[("--frame-timeout", "300ms")]);
    for size in [100, 100_000] {
        let mut peer = open(server.address);
        let bytes = call(1, &payload(1, size));
        peer.send(&bytes[..bytes.len() - 10]);
        peer.expect_end();
    }
    server.stop().check(&[("frame_timeouts", 2), ("calls", 0)]);
}

/// More calls than a connection may have in the server wait in its socket, and all are answered.
#[test]
fn calls_beyond_the_bounds_of_a_connection_wait() {
    for changes in [("--max-in-flight", "3"), ("--max-owed-bytes", "500"), ("--reader-batch", "1")]
    {
        let server = start(&[changes]);
        let mut peer = open(server.address);
        let calls: Vec<u8> = (0..300).flat_map(|id| call(id, b"bounded")).collect();
        peer.send(&calls);
        peer.half_close();
        for _ in 0..300 {
            assert_eq!(peer.answer().message, message(b"bounded"));
        }
        peer.expect_end();
        server.stop().check(&[("calls", 300), ("replies", 300)]);
    }
}

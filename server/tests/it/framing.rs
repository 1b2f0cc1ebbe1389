//! Frames, whole and broken: whatever bytes come, in whatever pieces, good calls are answered as
//! they came, and bad ones cost their own connection.

use crate::kit::{
    Canary, Dice, Peer, Server, call_frame, pass, payload, resp_size_frame, stats_frame,
};
use echo_common::wire::native::{
    BODY_MIN, CONNECTION_ID, FLAG_RESP_SIZE, HEADER_LEN, Header, Kind, PREAMBLE, Status,
};
use std::collections::HashSet;
use std::thread;
use std::time::Duration;

const MAX: usize = 1 << 20;

/// Opens, sends `bytes`, and must be told `status` and then be closed.
#[track_caller]
fn refused(server: &Server, bytes: &[u8], status: Status) {
    let mut peer = Peer::open(server.address);
    peer.send(bytes);
    peer.expect_error(CONNECTION_ID, status);
    peer.expect_end();
}

#[test]
fn f01_f03_a53_lengths_above_the_limit_are_refused_before_any_memory() {
    let server = Server::start(&[]);
    let canary = Canary::start(server.address);
    let before = server.proc().rss_kib();
    for length in [MAX as u32 + 1, 0x7fff_ffff, 0x8000_0000, u32::MAX] {
        refused(&server, &length.to_be_bytes(), Status::FrameTooLarge);
    }
    let mut stalled: Vec<Peer> = (0..200).map(|_| Peer::open(server.address)).collect();
    stalled.iter_mut().for_each(|peer| peer.send(&u32::MAX.to_be_bytes()));
    for mut peer in stalled {
        peer.expect_error(CONNECTION_ID, Status::FrameTooLarge);
        peer.expect_end();
    }
    let grown = server.proc().rss_peak_kib().saturating_sub(before);
    assert!(grown < 20 << 10, "{grown} KiB for lengths that were only announced");
    canary.stop_well();
    server.stop().check(&[("frames_oversize", 204), ("frames_malformed", 0)]);
}

#[test]
fn frames_that_are_not_the_protocol_are_refused_by_name() {
    let server = Server::start(&[]);
    let head = |kind: u8, flags: u8, length: u32| {
        let mut head = length.to_be_bytes().to_vec();
        head.extend_from_slice(&[kind, flags, 0, 0]);
        head.extend_from_slice(&7u64.to_be_bytes());
        head
    };
    let mut bad: Vec<Vec<u8>> = (0..BODY_MIN as u32).map(|n| n.to_be_bytes().to_vec()).collect();
    bad.extend([0, 2, 3, 7, 255].map(|kind| head(kind, 0, BODY_MIN as u32)));
    bad.extend([0x21, 0x80, 0xff].map(|flags| head(1, flags, 100)));
    // A leader's frames without their words, and with flags.
    bad.extend(
        [(5, 0, 7), (6, 0, 15), (5, 1, 8)]
            .map(|(kind, flags, words)| head(kind, flags, BODY_MIN as u32 + words)),
    );
    // Its flag announces four bytes more than the frame has.
    bad.push(head(1, FLAG_RESP_SIZE, BODY_MIN as u32 + 3));
    bad.push(head(4, FLAG_RESP_SIZE, BODY_MIN as u32 + 4));
    for bytes in &bad {
        refused(&server, bytes, Status::Malformed);
    }
    server.stop().check(&[("frames_malformed", bad.len() as u64), ("calls", 0), ("replies", 0)]);
}

#[test]
fn a_reply_that_would_be_no_legal_frame_is_refused() {
    let server = Server::start(&[("--max-frame-size", "1000")]);
    let mut peer = Peer::open(server.address);
    peer.send(&resp_size_frame(1, b"ab", 988));
    assert_eq!(peer.frame().expect("a reply").payload, b"ab".repeat(494));
    peer.send(&resp_size_frame(2, b"ab", 989));
    peer.expect_error(CONNECTION_ID, Status::FrameTooLarge);
    peer.expect_end();
    refused(&server, &resp_size_frame(3, b"", u32::MAX), Status::FrameTooLarge);
    server.stop().check(&[("frames_oversize", 2), ("calls", 1)]);
}

#[test]
fn replies_have_the_length_that_the_call_asks_for() {
    let server = Server::start(&[]);
    let mut peer = Peer::open(server.address);
    let max_asked = MAX - BODY_MIN;
    for (length, asked) in
        [(0, 0), (0, 100), (1, 0), (5, 12), (100, 7), (70_000, 3), (3, max_asked)]
    {
        let body = payload(9, length);
        peer.send(&resp_size_frame(9, &body, asked as u32));
        let expected: Vec<u8> = if body.is_empty() {
            vec![0; asked]
        } else {
            body.into_iter().cycle().take(asked).collect()
        };
        peer.expect_echo(9, &expected);
    }
    server.stop();
}

#[test]
fn a_refusal_does_not_cost_the_calls_before_it() {
    let server = Server::start(&[]);
    let mut peer = Peer::open(server.address);
    let mut bytes: Vec<u8> = (0..50).flat_map(|id| call_frame(id, &payload(id, 100))).collect();
    bytes.extend_from_slice(&u32::MAX.to_be_bytes());
    peer.send(&bytes);
    let mut answered = HashSet::new();
    let mut refused = 0;
    while let Some(frame) = peer.frame() {
        match frame.kind {
            Kind::Reply => assert!(answered.insert(frame.id)),
            _ => refused += 1,
        }
    }
    assert_eq!((answered.len(), refused), (50, 1));
    server.stop().check(&[("calls", 50), ("replies", 50), ("frames_oversize", 1)]);
}

#[test]
fn f04_memory_follows_the_bytes_that_came_and_unfinished_frames_end() {
    let server = Server::start(&[("--frame-timeout", "300ms")]);
    let before = server.proc().rss_kib();
    let mut peers: Vec<Peer> = (0..200).map(|_| Peer::open(server.address)).collect();
    for peer in &mut peers {
        peer.echo(1, 10);
        let whole = call_frame(2, &[0; MAX - BODY_MIN]);
        peer.send(&whole[..HEADER_LEN + 4]);
    }
    for peer in &mut peers {
        peer.expect_error(CONNECTION_ID, Status::TimedOut);
        peer.expect_end();
    }
    let grown = server.proc().rss_peak_kib().saturating_sub(before);
    assert!(grown < 16 << 10, "{grown} KiB for 800 bytes");
    server.await_rest();
    server.stop().check(&[("frame_timeouts", 200), ("handshake_timeouts", 0)]);
}

#[test]
fn f07_a_call_of_one_byte_segments_is_answered_once() {
    let server = Server::start(&[]);
    let mut peer = Peer::silent(server.address);
    let body = payload(3, 64);
    let mut bytes = PREAMBLE.to_vec();
    bytes.extend_from_slice(&call_frame(3, &body));
    peer.trickle(&bytes, 1, Duration::from_millis(1));
    peer.expect_echo(3, &body);
    server.stop().check(&[("calls", 1), ("replies", 1)]);
}

/// Sends `count` calls in one write; each is answered once, whatever the order.
#[track_caller]
fn all_at_once(changes: &[(&str, &str)], count: u64, length: usize) {
    let server = Server::start(changes);
    let mut peer = Peer::silent(server.address);
    let mut bytes = PREAMBLE.to_vec();
    for id in 0..count {
        bytes.extend_from_slice(&call_frame(id, &payload(id, length)));
    }
    let mut sender = peer.share();
    let sending = thread::spawn(move || sender.send(&bytes));
    let mut answered = HashSet::new();
    for _ in 0..count {
        let frame = peer.frame().expect("a reply");
        assert_eq!(frame.kind, Kind::Reply);
        assert_eq!(frame.payload, payload(frame.id, length), "{changes:?}");
        assert!(answered.insert(frame.id), "{} was answered twice", frame.id);
    }
    sending.join().expect("all sent");
    peer.half_close();
    peer.expect_end();
    server.stop().check(&[("calls", count), ("replies", count)]);
}

#[test]
fn f08_a40_a_thousand_calls_in_one_write_are_all_answered_whatever_cuts_them_off() {
    all_at_once(&[], 1000, 128);
    all_at_once(&[("--max-in-flight", "1")], 300, 128);
    all_at_once(&[("--reader-batch", "1")], 1000, 128);
    all_at_once(&[("--max-owed-bytes", "1")], 300, 128);
    all_at_once(&[("--queue-capacity", "1")], 300, 128);
    all_at_once(&[("--handlers", "0"), ("--reader-batch", "7")], 1000, 128);
    // Larger than one read, so that frames cross the end of the read buffer.
    all_at_once(&[("--handlers", "0")], 300, 3001);
    all_at_once(&[("--reader-batch", "3")], 300, 3001);
    all_at_once(&[("--max-in-flight", "2")], 60, 40_001);
}

#[test]
fn a40_two_calls_in_one_segment_are_both_answered_without_another_byte() {
    let server = Server::start(&[("--reader-batch", "1")]);
    let mut peer = Peer::open(server.address);
    for round in 0..200 {
        let (a, b) = (payload(round, 90), payload(round + 1000, 90));
        peer.send(&[call_frame(round, &a), call_frame(round + 1000, &b)].concat());
        let mut frames = [peer.frame().expect("one"), peer.frame().expect("two")];
        frames.sort_by_key(|frame| frame.id);
        assert_eq!([&frames[0].payload, &frames[1].payload], [&a, &b]);
    }
    server.stop();
}

#[test]
fn f10_random_bytes_cost_one_connection_each() {
    let server = Server::start(&[("--max-connections", "1000")]);
    let canary = Canary::start(server.address);
    let mut dice = Dice::new(10);
    for round in 0..600 {
        let length = 1 + dice.below(4096);
        let garbage = dice.bytes(length);
        // Every second one gets past the opening.
        let mut peer =
            if round % 2 == 0 { Peer::silent(server.address) } else { Peer::open(server.address) };
        peer.send(&garbage);
        match dice.below(3) {
            0 => drop(peer),
            1 => peer.reset(),
            _ => {
                peer.half_close();
                peer.rest();
            }
        }
    }
    server.await_rest_but(1);
    canary.stop_well();
    let ended = server.stop();
    // A reset may overtake the bytes before it, and a close may come before the fourth byte.
    let counted = ended.counter("frames_malformed") + ended.counter("frames_oversize");
    assert!((300..=600).contains(&counted), "{counted} of 600: {ended:?}");
    let complaints = ended.lines.iter().filter(|line| line.contains("refused")).count();
    assert!(complaints < 100, "{complaints} lines about 600 bad peers");
    for line in &ended.lines {
        assert!(line.bytes().all(|byte| (b' '..0x7f).contains(&byte)), "raw bytes in {line:?}");
    }
}

#[test]
fn f11_http_is_told_what_this_port_is() {
    let server = Server::start(&[]);
    let mut peer = Peer::silent(server.address);
    peer.send(b"GET / HTTP/1.0\r\n\r\n");
    let answer = String::from_utf8(peer.rest()).expect("text");
    assert!(answer.starts_with("HTTP/1.1 404 ") && answer.contains("Hadoop IPC port"), "{answer}");
    server.stop().check(&[("frames_malformed", 1)]);
}

#[test]
fn openings_that_are_not_spoken_here_are_closed() {
    let server = Server::start(&[]);
    // Seven bytes decide: the fifth might be a version of Hadoop RPC that is owed an answer.
    for opening in [&b"ECHx\0\0\0"[..], b"\x16\x03\x01\x02\0\x01\0", b"ECHO\x01\0\0\x01", &[0; 7]] {
        let mut peer = Peer::silent(server.address);
        peer.send(opening);
        peer.expect_end();
    }
    for opening in [b"ECHO\x02\0\0\0", b"ECHO\x01\x01\0\0"] {
        let mut peer = Peer::silent(server.address);
        peer.send(opening);
        peer.expect_error(CONNECTION_ID, Status::Malformed);
        peer.expect_end();
    }
    server.stop().check(&[("frames_malformed", 6)]);
}

#[test]
fn f17_payloads_of_every_size_up_to_the_limit_come_back() {
    for handlers in ["2", "0"] {
        let server = Server::start(&[("--handlers", handlers)]);
        let mut peer = Peer::open(server.address);
        let most = MAX - BODY_MIN;
        let mut sizes = vec![0, 1, 63, 64, most - 1, most];
        for power in [10, 12, 13, 14, 15, 16, 17, 18, 19] {
            sizes.extend([(1 << power) - 17, (1 << power) - 16, (1 << power) - 1, 1 << power]);
            sizes.push((1 << power) + 1);
        }
        for (id, size) in sizes.into_iter().enumerate() {
            peer.echo(id as u64, size);
        }
        peer.send(&(MAX as u32 + 1).to_be_bytes());
        peer.expect_error(CONNECTION_ID, Status::FrameTooLarge);
        server.stop();
    }
}

#[test]
fn a52_payloads_survive_any_pieces() {
    let server = Server::start(&[("--max-owed-bytes", "64KiB")]);
    let sizes = [0, 1, 4095, 4096, 4097, 65_535, 65_536, 65_537, MAX - BODY_MIN];
    for (piece, size_max) in [(1, 4097), (7, 65_537), (1000, MAX), (65_549, MAX)] {
        let mut peer = Peer::open(server.address);
        for (id, size) in sizes.iter().copied().filter(|size| *size <= size_max).enumerate() {
            let body = payload(id as u64, size);
            let frame = call_frame(id as u64, &body);
            let mut sender = peer.share();
            let sending = thread::spawn(move || sender.trickle(&frame, piece, Duration::ZERO));
            peer.expect_echo(id as u64, &body);
            sending.join().expect("all sent");
        }
    }
    server.stop();
}

#[test]
fn large_and_small_frames_in_one_stream_keep_their_borders() {
    let server = Server::start(&[("--handlers", "1")]);
    let mut peer = Peer::open(server.address);
    let mut dice = Dice::new(17);
    let sizes: Vec<usize> = (0..120)
        .map(|_| match dice.below(4) {
            0 => dice.below(200_000),
            1 => 32_752 + dice.below(32),
            _ => dice.below(300),
        })
        .collect();
    let bytes: Vec<u8> =
        (0u64..).zip(&sizes).flat_map(|(id, size)| call_frame(id, &payload(id, *size))).collect();
    let mut sender = peer.share();
    let sending = thread::spawn(move || {
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let (piece, later) = rest.split_at(rest.len().min(1 + dice.below(50_000)));
            sender.send(piece);
            if dice.below(8) == 0 {
                pass(Duration::from_millis(2));
            }
            rest = later;
        }
    });
    // One handler answers one connection in order.
    for (id, size) in (0u64..).zip(&sizes) {
        peer.expect_echo(id, &payload(id, *size));
    }
    sending.join().expect("all sent");
    server.stop().check(&[("calls", 120), ("replies", 120)]);
}

#[test]
fn stats_calls_are_answered_in_their_own_kind_and_counted_apart() {
    let server = Server::start(&[]);
    let mut peer = Peer::open(server.address);
    peer.echo(1, 100);
    peer.send(&stats_frame(77));
    let frame = peer.frame().expect("stats");
    assert_eq!((frame.kind, frame.id), (Kind::Stats, 77));
    let stats: serde_json::Value = serde_json::from_slice(&frame.payload).expect("JSON");
    assert_eq!((&stats["calls"], &stats["replies"]), (&1.into(), &1.into()));
    // A body means nothing in a stats call, and does no harm.
    let mut odd = Header::new(Kind::Stats, 0, 78, 0, 3).encode().to_vec();
    odd.extend_from_slice(b"abc");
    peer.send(&odd);
    assert_eq!(peer.frame().expect("stats").id, 78);
    let ended = server.stop();
    ended.check(&[("calls", 1)]);

    let server = Server::start(&[("--no-remote-stats", "-")]);
    let mut peer = Peer::open(server.address);
    peer.send(&stats_frame(5));
    peer.expect_error(5, Status::Refused);
    peer.echo(6, 10);
    server.stop().check(&[("calls", 1), ("replies", 2)]);
}

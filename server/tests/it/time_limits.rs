//! Time limits: they strike on time, and only whoever let the time pass.

use crate::kit::{
    Canary, Inside, Peer, Server, Tricky, call_frame, config, pass, payload, timed, until,
};
use echo_common::wire::native::{BODY_MIN, CONNECTION_ID, HEADER_LEN, PREAMBLE, Status};
use std::io::Write;
use std::thread;
use std::time::Duration;

const MAX: usize = 1 << 20;

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

#[test]
fn s01_silent_connections_end_by_the_handshake_limit() {
    let server =
        Server::start(&[("--readers", "1"), ("--handlers", "1"), ("--handshake-timeout", "1s")]);
    let canary = Canary::start(server.address);
    let (mut peers, connecting) = timed(|| {
        let silent = (0..100).map(|_| Peer::silent(server.address));
        let opened = (0..100).map(|_| Peer::open(server.address));
        silent.chain(opened).collect::<Vec<_>>()
    });
    let (_, ending) = timed(|| peers.iter_mut().for_each(Peer::expect_end));
    // Never early: the last one connected had its whole time.
    assert!(connecting + ending >= ms(1000), "{connecting:?} and {ending:?}");
    canary.stop_well();
    server.await_rest();
    server.stop().check(&[("handshake_timeouts", 200), ("frame_timeouts", 0)]);
}

/// A reader excuses its peers for the time in which it does other things than reading. Counted
/// twice, that time put limits off for as long as the reader was busy.
#[test]
fn s01_silent_connections_end_also_while_their_reader_is_busy() {
    for handlers in ["0", "1"] {
        let changes = [
            ("--readers", "1"),
            ("--handlers", handlers),
            ("--handshake-timeout", "1s"),
            ("--max-in-flight", "1000"),
        ];
        let server = Server::start(&changes);
        let busy: Vec<Peer> = (0..60).map(|_| Peer::open(server.address)).collect();
        let frames = call_frame(1, &payload(1, 1000)).repeat(400);
        let floods: Vec<_> = busy
            .iter()
            .map(|peer| {
                let (mut sender, mut reader, frames) = (peer.share(), peer.share(), frames.clone());
                // Both end when the connection is shut below.
                thread::spawn(move || while sender.stream.write_all(&frames).is_ok() {});
                thread::spawn(move || std::io::copy(&mut reader.stream, &mut std::io::sink()))
            })
            .collect();
        let mut silent = Peer::silent(server.address);
        let (_, took) = timed(|| silent.expect_end());
        assert!(took < Duration::from_secs(10), "{took:?} for a limit of 1 s");
        for peer in &busy {
            peer.stream.shutdown(std::net::Shutdown::Both).expect("an open socket");
        }
        floods.into_iter().for_each(|flood| drop(flood.join()));
        drop(busy);
        server.stop().check(&[("handshake_timeouts", 1)]);
    }
}

#[test]
fn s02_the_handshake_limit_is_on_the_whole_and_not_between_bytes() {
    let server = Server::start(&[("--handshake-timeout", "400ms")]);
    let mut peer = Peer::silent(server.address);
    let mut bytes = PREAMBLE.to_vec();
    bytes.extend_from_slice(&call_frame(1, &[7; 100_000]));
    let mut sender = peer.share();
    let sending = thread::spawn(move || {
        for byte in bytes {
            if sender.stream.write_all(&[byte]).is_err() {
                break;
            }
            pass(ms(20));
        }
    });
    peer.expect_end();
    sending.join().expect("a sender that was cut off");
    server.stop().check(&[("handshake_timeouts", 1)]);
}

#[test]
fn a_frame_has_its_time_from_its_first_byte_however_many_follow() {
    let server = Server::start(&[("--frame-timeout", "300ms"), ("--handshake-timeout", "10s")]);
    for size in [1000, 200_000] {
        let mut peer = Peer::open(server.address);
        peer.echo(1, 10);
        let frame = call_frame(2, &payload(2, size));
        let mut sender = peer.share();
        let sending = thread::spawn(move || {
            for byte in &frame[..100] {
                if sender.stream.write_all(&[*byte]).is_err() {
                    break;
                }
                pass(ms(20));
            }
        });
        peer.expect_error(CONNECTION_ID, Status::TimedOut);
        peer.expect_end();
        sending.join().expect("a sender that was cut off");
    }
    server.stop().check(&[("frame_timeouts", 2), ("handshake_timeouts", 0)]);
}

/// The server stopped reading, because of a bound of its own, while half a frame had come. The
/// rest came in time and lay in the kernel, but the frame's time ran out on the peer.
#[test]
fn no_limit_runs_against_a_peer_whose_bytes_the_server_does_not_read() {
    let tricky = Tricky::new();
    let mut config = config(tricky.clone());
    config.limits.calls_per_connection = 1;
    config.limits.frame_timeout = Some(ms(700));
    config.limits.idle_timeout = Some(ms(700));
    let server = Inside::start(config);
    for size in [100, 300_000] {
        tricky.close_gate();
        let mut peer = Peer::open(server.address);
        let next = call_frame(2, &payload(2, size));
        peer.send(&[call_frame(1, b"hold"), next[..50].to_vec()].concat());
        tricky.await_held(1);
        let mut sender = peer.share();
        let sending = thread::spawn(move || sender.send(&next[50..]));
        pass(ms(1400));
        tricky.open_gate();
        peer.expect_echo(1, b"hold");
        peer.expect_echo(2, &payload(2, size));
        sending.join().expect("all sent");
        assert_eq!(server.limit("frame_timeouts"), 0);
        assert_eq!(server.limit("idle_closed"), 0);
    }
    assert_eq!(server.stop().replies, 4);
}

/// As above, for a reader that waits for room in the call queue.
#[test]
fn no_limit_runs_against_a_peer_while_its_reader_waits_for_the_queue() {
    let tricky = Tricky::new();
    let mut config = config(tricky.clone());
    (config.readers, config.handlers) = (1, 1);
    config.limits.queue_capacity = 1;
    config.limits.frame_timeout = Some(ms(800));
    config.limits.idle_timeout = Some(ms(800));
    config.limits.handshake_timeout = Some(ms(800));
    let server = Inside::start(config);
    let mut large = Peer::open(server.address);
    large.echo(1, 10);
    let mut idle = Peer::open(server.address);
    idle.echo(1, 10);
    let mut fresh = Peer::silent(server.address);
    let frame = call_frame(2, &payload(2, MAX - BODY_MIN));
    large.send(&frame[..HEADER_LEN + 40_000]);
    // Three calls: one is held by the handler, one fills the queue, the reader waits with one.
    let mut blocker = Peer::open(server.address);
    blocker.send(&[call_frame(1, b"hold"), call_frame(2, b"b"), call_frame(3, b"c")].concat());
    tricky.await_held(1);
    until("the reader waits", || {
        server.snapshots.take().queue.is_some_and(|queue| queue.depth == 1)
    });
    let mut sender = large.share();
    let sending = thread::spawn(move || sender.send(&frame[HEADER_LEN + 40_000..]));
    idle.send(&call_frame(2, b"in time"));
    fresh.send(&[PREAMBLE.to_vec(), call_frame(1, b"in time")].concat());
    pass(ms(1600));
    tricky.open_gate();
    idle.expect_echo(2, b"in time");
    fresh.expect_echo(1, b"in time");
    large.expect_echo(2, &payload(2, MAX - BODY_MIN));
    sending.join().expect("all sent");
    let last = server.stop();
    assert!(last.limits["queue_full_waits"] > 0);
    assert_eq!(last.limits["frame_timeouts"], 0);
    assert_eq!(last.limits["handshake_timeouts"], 0);
}

#[test]
fn a_peer_that_reads_slowly_is_not_taken_for_one_that_stalls() {
    let server =
        Server::start(&[("--readers", "1"), ("--handlers", "1"), ("--write-stall-timeout", "1s")]);
    let body = payload(1, MAX - BODY_MIN);
    let mut peer = Peer::narrow(server.address, 4096);
    peer.send(&call_frame(1, &body));
    let mut taken = vec![0; HEADER_LEN];
    std::io::Read::read_exact(&mut peer.stream, &mut taken).expect("a header");
    let mut came = Vec::new();
    // Three times the limit, with a piece long before each.
    for _ in 0..12 {
        pass(ms(250));
        let mut piece = vec![0; 40_000];
        std::io::Read::read_exact(&mut peer.stream, &mut piece).expect("still open");
        came.extend_from_slice(&piece);
    }
    let left = body.len() - came.len();
    let mut rest = vec![0; left];
    std::io::Read::read_exact(&mut peer.stream, &mut rest).expect("still open");
    came.extend_from_slice(&rest);
    assert!(came == body, "other bytes came back");
    server.stop().check(&[("write_stalls", 0), ("replies", 1)]);
}

#[test]
fn s13_only_the_idle_connection_ends_by_the_idle_limit() {
    let tricky = Tricky::new();
    let mut config = config(tricky.clone());
    config.limits.idle_timeout = Some(ms(1500));
    let server = Inside::start(config);
    let mut waiting = Peer::open(server.address);
    waiting.send(&call_frame(1, b"hold"));
    tricky.await_held(1);
    let busy = Canary::start(server.address);
    let mut idle = Peer::open(server.address);
    idle.echo(1, 10);
    let (_, took) = timed(|| idle.expect_end());
    // The clock runs from the call, a moment before the reply came.
    assert!(took >= ms(1400), "ended after {took:?} of 1.5 s");
    pass(ms(600));
    tricky.open_gate();
    waiting.expect_echo(1, b"hold");
    busy.stop_well();
    assert_eq!(server.stop().limits["idle_closed"], 1);
}

/// The idle time was counted from the call, so that a connection whose call had taken almost as
/// long as the limit was closed together with its reply.
#[test]
fn the_idle_time_begins_when_the_last_reply_has_left() {
    let tricky = Tricky::new();
    let mut config = config(tricky.clone());
    (config.readers, config.handlers) = (1, 2);
    config.limits.idle_timeout = Some(ms(1500));
    let server = Inside::start(config);
    let mut peer = Peer::open(server.address);
    peer.send(&call_frame(1, b"hold"));
    tricky.await_held(1);
    pass(ms(1300));
    tricky.open_gate();
    peer.expect_echo(1, b"hold");
    let (_, took) = timed(|| peer.expect_end());
    assert!(took >= ms(1400), "ended {took:?} after its reply, the limit is 1.5 s");
    assert_eq!(server.stop().limits["idle_closed"], 1);
}

/// The idle limit looked at whole calls only, so that a frame that took longer than it to come was
/// cut off as silence.
#[test]
fn a_peer_in_the_middle_of_a_frame_is_not_idle() {
    let changes = [("--idle-timeout", "1s"), ("--frame-timeout", "20s")];
    let server = Server::start(&changes);
    for size in [400, 200_000] {
        let mut peer = Peer::open(server.address);
        peer.echo(1, 10);
        let body = payload(2, size);
        let frame = call_frame(2, &body);
        peer.trickle(&frame[..60], 1, ms(25));
        peer.send(&frame[60..]);
        peer.expect_echo(2, &body);
    }
    server.stop().check(&[("idle_closed", 0)]);
}

//! Synthetic costs of the stages, and the stage clock.

use crate::kit::{Inside, Peer, Server, Tricky, call_frame, config, payload, timed, until};
use echo_common::wire::native::{
    BODY_MIN, FLAG_RESP_SIZE, FLAG_WANT_STAGES, Header, Kind, RESP_SIZE_LEN, STAGES_LEN, Stages,
};
use std::thread;
use std::time::Duration;

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// A call that asks for its stages, and maybe for a reply of another length.
fn staged_frame(id: u64, payload: &[u8], reply_len: Option<u32>) -> Vec<u8> {
    let flags = FLAG_WANT_STAGES | reply_len.map_or(0, |_| FLAG_RESP_SIZE);
    let extensions = STAGES_LEN + reply_len.map_or(0, |_| RESP_SIZE_LEN);
    let header = Header::new(Kind::Call, flags, id, extensions, payload.len());
    let mut out = header.encode().to_vec();
    out.extend([0xee; STAGES_LEN]);
    out.extend(reply_len.into_iter().flat_map(u32::to_be_bytes));
    out.extend_from_slice(payload);
    out
}

/// One call's stages.
#[track_caller]
fn ask(peer: &mut Peer, id: u64, length: usize) -> Stages {
    let body = payload(id, length);
    peer.send(&staged_frame(id, &body, None));
    let frame = peer.frame().expect("a reply");
    assert_eq!((frame.kind, frame.flags, frame.id), (Kind::Reply, FLAG_WANT_STAGES, id));
    let (stages, echoed) = frame.payload.split_first_chunk::<STAGES_LEN>().expect("a stage block");
    assert!(echoed == body);
    Stages::decode(stages)
}

#[test]
fn the_stages_of_a_call_come_to_no_more_than_its_round_trip() {
    for changes in [&[][..], &[("--handlers", "0")], &[("--readers", "1"), ("--handlers", "1")]] {
        let server = Server::start(changes);
        let mut peer = Peer::open(server.address);
        for id in 0..100 {
            let length = [0, 100, 20_000, 200_000][id as usize % 4];
            let (stages, took) = timed(|| ask(&mut peer, id, length));
            let sum: u64 = stages.all().iter().copied().map(u64::from).sum();
            assert!(sum > 0 && sum <= took.as_nanos() as u64, "{stages:?} of {took:?}");
        }
        server.stop();
    }
}

#[test]
fn staged_calls_among_others_change_no_byte_of_them() {
    for handlers in ["2", "1", "0"] {
        let changes = [("--send-buffer", "8KiB"), ("--handlers", handlers)];
        let server = Server::start(&changes);
        let mut peer = Peer::narrow(server.address, 8192);
        let sizes = [0, 1, 100, 17_000, 70_000, 3000];
        let size = |id: u64| sizes[(id % 6) as usize];
        let mut bytes = Vec::new();
        for id in 0..600 {
            let body = payload(id, size(id));
            match id % 5 {
                0 | 1 => bytes.extend(staged_frame(id, &body, None)),
                2 => bytes.extend(staged_frame(id, &body, Some(7 * (id as u32 % 3)))),
                _ => bytes.extend(call_frame(id, &body)),
            }
        }
        let mut sender = peer.share();
        let sending = thread::spawn(move || sender.send(&bytes));
        for _ in 0..600 {
            let frame = peer.frame().expect("a reply");
            let (id, mut body) = (frame.id, payload(frame.id, size(frame.id)));
            if id % 5 == 2 {
                let length = 7 * (id as usize % 3);
                body = match body.is_empty() {
                    true => vec![0; length],
                    false => body.into_iter().cycle().take(length).collect(),
                };
            }
            assert_eq!(frame.flags == FLAG_WANT_STAGES, id % 5 < 3, "call {id}");
            let skip = if id % 5 < 3 { STAGES_LEN } else { 0 };
            assert!(frame.payload[skip..] == body, "call {id} came back with other bytes");
        }
        sending.join().expect("all sent");
        server.stop().check(&[("calls", 600), ("replies", 600)]);
    }
}

#[test]
fn costs_are_paid_where_they_are_asked_for() {
    for (changes, stage) in [
        (&[("--handler-cost", "spin:3ms")][..], 3),
        (&[("--handler-cost", "paced:3ms")][..], 3),
        (&[("--handler-cost", "paced:3ms"), ("--handlers", "0")][..], 3),
        (&[("--handler-cost", "spin:1ms+21ms/KiB")][..], 3),
        (&[("--handler-cost", "paced:0s+31ms/KiB")][..], 3),
        (&[("--reader-cost", "spin:3ms")][..], 0),
        (&[("--reader-cost", "paced:3ms")][..], 0),
    ] {
        let server = Server::start(changes);
        let mut peer = Peer::open(server.address);
        let paced = changes[0].1.starts_with("paced");
        for id in 0..5 {
            let stages = ask(&mut peer, id, 100).all();
            // A virtual server works from the arrival on, so that waits count towards its cost.
            let paid = if paced { stages[..=stage].iter().sum() } else { stages[stage] };
            assert!(paid >= 2_900_000, "{changes:?}: {stages:?}");
        }
        let stats = server.stats();
        assert_eq!(stats["emulated"], paced, "{changes:?}");
        assert!(stats["costs"].as_str().expect("text").contains(changes[0].1));
        let ended = server.stop();
        let told = ended.lines.iter().filter(|line| line.contains(changes[0].1)).count();
        assert!(told >= 1, "{ended:?}");
    }
}

/// The length of the reply is not the call's, and no call pays for another one's payload.
#[test]
fn what_a_handler_pays_grows_with_the_payload_of_each_call_alone() {
    let server = Server::start(&[("--handler-cost", "spin:0+4ms/KiB"), ("--handlers", "1")]);
    let mut peer = Peer::open(server.address);
    let burnt_ns = || server.stats()["handlers"][0]["cpu_ns"].as_u64().expect("a number");
    peer.send(&staged_frame(6, b"", Some(50_000)));
    assert_eq!(peer.frame().expect("a reply").payload.len(), STAGES_LEN + 50_000);
    let before_ns = burnt_ns();
    assert!(before_ns < 32_000_000, "{before_ns} ns for a call without payload");
    let served_ns = ask(&mut peer, 7, 8 << 10).served_ns;
    let burnt_ns = burnt_ns() - before_ns;
    assert!(served_ns >= 32_000_000 && burnt_ns >= 32_000_000, "{served_ns} ns, {burnt_ns} ns");
    server.stop();
}

#[test]
fn a_paced_reader_lets_calls_go_at_its_rate_in_order() {
    let changes = [("--reader-cost", "paced:2ms"), ("--readers", "1"), ("--handlers", "1")];
    let server = Server::start(&changes);
    let mut peer = Peer::open(server.address);
    let calls: Vec<u8> = (0..100).flat_map(|id| call_frame(id, &payload(id, 50))).collect();
    let ((), took) = timed(|| {
        peer.send(&calls);
        (0..100).for_each(|id| peer.expect_echo(id, &payload(id, 50)));
    });
    assert!(took >= ms(190), "100 calls of 2 ms took {took:?}");
    server.stop().check(&[("calls", 100), ("replies", 100)]);
}

/// Calls that a paced reader held were forgotten, uncounted, when their connection had ended and
/// the server stopped.
#[test]
fn calls_held_by_a_paced_reader_are_counted_whatever_ends_first() {
    for reset in [true, false] {
        let mut config = config(Tricky::new());
        config.readers = 1;
        config.costs.reader = Some("paced:5s".parse().expect("a cost"));
        config.limits.drain_timeout = Some(ms(300));
        let server = Inside::start(config);
        let mut peer = Peer::open(server.address);
        peer.send(&(0..10).flat_map(|id| call_frame(id, b"held")).collect::<Vec<_>>());
        until("the calls are read", || server.snapshots.take().calls == 10);
        if reset {
            peer.reset();
            until("the end is seen", || server.snapshots.take().connections_open == 0);
        }
        let last = server.stop();
        assert_eq!((last.calls, last.replies, last.replies_undeliverable), (10, 0, 10));
    }
}

/// A reader that was busy paying for calls held it against its other peers.
#[test]
fn no_limit_runs_against_a_peer_while_its_reader_pays_for_calls() {
    for handlers in ["1", "0"] {
        let changes = [
            ("--reader-cost", "spin:30ms"),
            ("--readers", "1"),
            ("--handlers", handlers),
            ("--frame-timeout", "1s"),
            ("--idle-timeout", "20s"),
        ];
        let server = Server::start(&changes);
        let mut large = Peer::open(server.address);
        large.echo(1, 10);
        let body = payload(2, (1 << 20) - BODY_MIN);
        let frame = call_frame(2, &body);
        let mut busy = Peer::open(server.address);
        large.send(&frame[..100_000]);
        busy.send(&(0..40).flat_map(|id| call_frame(id, b"busy")).collect::<Vec<_>>());
        large.send(&frame[100_000..]);
        large.expect_echo(2, &body);
        (0..40).for_each(|_| assert!(busy.frame().is_some()));
        server.stop().check(&[("frame_timeouts", 0)]);
    }
}

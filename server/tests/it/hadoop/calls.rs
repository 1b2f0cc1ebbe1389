//! Calls of the services that are served: what comes back, whole, once and under its own id.

use super::kit::{
    ID, call, context, delimited, message, open, packet_of, sleep_call, start, test_call,
};
use crate::kit::{Peer, payload};
use echo_common::wire::hadoop::call::Call;
use echo_common::wire::hadoop::header::CallHeader;
use echo_common::wire::hadoop::method::MethodHeader;
use echo_common::wire::hadoop::om::{self, Echo, OmCall, OmReply};
use echo_common::wire::hadoop::reply::Status;
use echo_common::wire::hadoop::testrpc;
use std::collections::HashMap;
use std::thread;

const MAX: usize = 1 << 20;

/// An EchoRPC of an Ozone Manager's client.
fn om_call(call_id: i32, payload: &[u8], reply_len: i32) -> Vec<u8> {
    let call = OmCall {
        command: om::COMMAND_ECHO,
        trace_id: Some(b"trace"),
        client_id: b"client-0123456789AB",
        version: Some(om::CLIENT_VERSION),
        has_consistency_hint: false,
        echo: Some(Echo { payload, reply_len, read_only: true }),
    };
    let mut message = Vec::new();
    call.encode(&mut message);
    let method = MethodHeader { method: om::METHOD, protocol: om::PROTOCOL, version: om::VERSION };
    super::kit::call_of(&method, call_id, &message)
}

#[track_caller]
fn om_payload(peer: &mut Peer, call_id: i32) -> Vec<u8> {
    let answer = peer.answer();
    assert_eq!((answer.call_id, answer.status), (call_id, Status::Success), "{answer:?}");
    let reply = OmReply::decode(&answer.message).expect("an OMResponse");
    assert_eq!((reply.command, reply.status), (om::COMMAND_ECHO, om::STATUS_OK));
    assert_eq!((reply.trace_id, reply.success), (Some(&b"trace"[..]), true));
    let mut out = Vec::new();
    reply.payload.expect("always set").put(&mut out);
    out
}

#[test]
fn f16_ids_counts_and_client_ids_come_back_as_they_came_each_once() {
    let server = start(&[]);
    let mut peer = open(server.address);
    let method = MethodHeader { method: b"echo", protocol: b"bench.EchoProtocol", version: 1 };
    let mut encoded = Vec::new();
    method.encode(&mut encoded);
    let rest = [delimited(&encoded), delimited(&message(b"hi"))].concat();
    let long = [0xab; 300];
    let mut sent = HashMap::new();
    let mut bytes = Vec::new();
    for call_id in [0, 1, 63, 64, 127, 128, 8192, i32::MAX] {
        for retry_count in [0, 1, 255, -1, i32::MAX, i32::MIN] {
            for client_id in [&[][..], b"abc", &ID, &long] {
                bytes.extend(packet_of(&CallHeader::new(call_id, client_id, retry_count), &rest));
                *sent.entry((call_id, retry_count, client_id.to_vec())).or_insert(0) += 1;
            }
        }
        // The same id again, while the first may be in flight.
        bytes.extend(packet_of(&CallHeader::new(call_id, &ID, 0), &rest));
        *sent.entry((call_id, 0, ID.to_vec())).or_insert(0) += 1;
    }
    let mut sender = peer.share();
    let sending = thread::spawn(move || sender.send(&bytes));
    for _ in 0..sent.values().sum() {
        let answer = peer.answer();
        assert_eq!((answer.status, &answer.message[..]), (Status::Success, &message(b"hi")[..]));
        let key = (answer.call_id, answer.retry_count, answer.client_id);
        let left = sent.get_mut(&key).unwrap_or_else(|| panic!("{key:?} was not sent"));
        assert!(*left > 0, "{key:?} came back too often");
        *left -= 1;
    }
    sending.join().expect("all sent");
    peer.half_close();
    peer.expect_end();
    server.stop();
}

#[test]
fn payloads_of_every_size_come_back_byte_for_byte() {
    for handlers in ["2", "0"] {
        let server = start(&[("--handlers", handlers)]);
        let mut peer = open(server.address);
        let most = MAX - (call(0, &[]).len() - 4) - 8;
        let mut sizes = vec![0, 1, 63, 64, 127, 128, most];
        for power in [10, 12, 13, 14, 15, 16, 17, 18, 19] {
            sizes.extend([(1 << power) - 64, (1 << power) - 1, 1 << power, (1 << power) + 1]);
        }
        for (id, size) in (0..).zip(sizes) {
            peer.hadoop_echo(id, &payload(size as u64, size));
        }
        server.stop();
    }
}

#[test]
fn bytes_may_come_in_any_pieces() {
    let server = start(&[]);
    for piece in [1, 2, 3, 7, 50, 1000] {
        let mut peer = Peer::silent(server.address);
        let calls: Vec<u8> = (0..20).flat_map(|id| call(id, &payload(id as u64, 77))).collect();
        let bytes = [super::kit::SIMPLE, &context(), &calls].concat();
        bytes.chunks(piece).for_each(|piece| peer.send(piece));
        let mut ids: Vec<i32> = (0..20)
            .map(|_| {
                let answer = peer.answer();
                assert_eq!(answer.message, message(&payload(answer.call_id as u64, 77)));
                answer.call_id
            })
            .collect();
        ids.sort_unstable();
        assert_eq!(ids, (0..20).collect::<Vec<_>>(), "pieces of {piece}");
    }
    server.stop();
}

#[test]
fn an_ozone_managers_echo_returns_as_much_as_is_asked_or_the_payload() {
    for (mode, is_echo) in [("size", false), ("payload", true)] {
        let server = start(&[("--hadoop-echo", mode)]);
        let mut peer = open(server.address);
        let sizes = [0, 1, 1023, 1024, 1025, 16_383, 16_384, 16_385, 100_000, 900_000];
        for (id, size) in (0..).zip(sizes) {
            let body = payload(3, 1000 + id as usize);
            peer.send(&om_call(id, &body, size as i32));
            let came = om_payload(&mut peer, id);
            if is_echo {
                assert_eq!(came, body);
            } else {
                let expected: Vec<u8> = om::FILL.iter().copied().cycle().take(size).collect();
                assert!(came == expected, "{size} bytes asked, {} other ones came", came.len());
            }
        }
        peer.send(&om_call(99, b"", -1));
        assert_eq!(om_payload(&mut peer, 99), b"");
        server.stop();
    }
}

/// What a call may ask for is bounded as packets are.
#[test]
fn a_reply_is_as_long_as_a_packet_may_be_at_most() {
    let server = start(&[("--max-frame-size", "100000")]);
    let mut peer = open(server.address);
    for asked in [100_000, 100_001, i32::MAX] {
        peer.send(&om_call(1, b"", asked));
        assert_eq!(om_payload(&mut peer, 1).len(), 100_000);
    }
    server.stop();
}

#[test]
fn the_test_service_pings_echoes_sleeps_and_adds() {
    let server = start(&[]);
    let mut peer = open(server.address);
    let mut ask = |bytes: Vec<u8>| {
        peer.send(&bytes);
        let answer = peer.answer();
        assert_eq!((answer.call_id, answer.status), (3, Status::Success), "{answer:?}");
        answer.message
    };
    assert_eq!(ask(test_call(b"ping", 3, b"")), b"");
    assert_eq!(ask(test_call(b"echo", 3, b"\x0a\x03foo")), b"\x0a\x03foo");
    assert_eq!(ask(test_call(b"echo", 3, b"\x0a\x00")), b"\x0a\x00");
    assert_eq!(ask(sleep_call(3, 20)), b"");
    assert_eq!(ask(test_call(b"add", 3, b"\x08\x02\x10\x05")), b"\x08\x07");
    let (mut two, mut sum) = (Vec::new(), Vec::new());
    testrpc::put_int32(&mut two, 1, -3);
    testrpc::put_int32(&mut two, 2, 2);
    testrpc::put_int32(&mut sum, 1, -1);
    assert_eq!(ask(test_call(b"add", 3, &two)), sum);
    server.stop();
}

/// What a handler finds again in a run is what the reader found.
#[test]
fn runs_with_pings_and_unreadable_calls_in_between_are_answered_call_by_call() {
    let server = start(&[("--readers", "1")]);
    let mut peer = open(server.address);
    let unreadable = packet_of(&CallHeader::new(1_000_000, &ID, 0), b"\xff");
    let mut bytes = Vec::new();
    for id in 0..500 {
        bytes.extend(call(id, &payload(id as u64, id as usize)));
        bytes.extend(super::kit::ping());
        bytes.extend_from_slice(&unreadable);
    }
    let mut sender = peer.share();
    let sending = thread::spawn(move || sender.send(&bytes));
    let (mut good, mut bad) = (vec![false; 500], 0);
    for _ in 0..1000 {
        let answer = peer.answer();
        if answer.status == Status::Error {
            assert_eq!(answer.call_id, 1_000_000);
            bad += 1;
            continue;
        }
        let id = answer.call_id as usize;
        assert_eq!(answer.message, message(&payload(id as u64, id)));
        assert!(!std::mem::replace(&mut good[id], true), "call {id} was answered twice");
    }
    sending.join().expect("all sent");
    assert_eq!(bad, 500);
    server.stop().check(&[("calls", 500), ("replies", 500), ("frames_malformed", 500)]);
}

/// 100 callers on one connection: 10,000 different ids, each answered with its own payload
/// (Hadoop's testUniqueSequentialCallIds and testCalls).
#[test]
fn ten_thousand_calls_of_a_connection_each_get_their_own_answer() {
    for (changes, bytes) in [
        (&[][..], 100),
        (&[("--reader-batch", "1"), ("--send-buffer", "1KiB")], 1024),
        (&[("--handlers", "0")], 100),
        (&[("--max-in-flight", "1")], 100),
    ] {
        let server = start(&[changes, &[("--readers", "2")]].concat());
        let mut peer = open(server.address);
        let mut sender = peer.share();
        let count = if changes.is_empty() { 10_000 } else { 2_000 };
        let sending = thread::spawn(move || {
            for id in 0..count {
                sender.send(&call(id, &payload(id as u64, bytes)));
            }
        });
        let mut seen = vec![false; count as usize];
        for _ in 0..count {
            let answer = peer.answer();
            let id = answer.call_id as usize;
            assert_eq!(answer.message, message(&payload(id as u64, bytes)), "call {id}");
            assert!(!std::mem::replace(&mut seen[id], true), "call {id} was answered twice");
        }
        sending.join().expect("all sent");
        server.stop().check(&[("calls", count as u64), ("replies", count as u64)]);
    }
}

/// Native and Hadoop clients are served side by side, by the same threads.
#[test]
fn both_framings_are_served_at_once() {
    let server = start(&[("--readers", "1"), ("--handlers", "1")]);
    let mut native = Peer::open(server.address);
    let mut hadoop = open(server.address);
    for id in 0..50 {
        native.echo(id, 200);
        hadoop.hadoop_echo(id as i32, &payload(id, 200));
    }
    let stats = native.stats();
    assert_eq!((&stats["calls"], &stats["replies"]), (&100.into(), &100.into()));
    server.stop();
}

/// Its calls have no keys: those of a connection go to one handler, in order.
#[test]
fn calls_are_dispatched_by_connection_where_calls_are_dispatched_by_key() {
    let server = start(&[("--dispatch", "keyed"), ("--dispatch-batch", "7"), ("--handlers", "3")]);
    let callers: Vec<_> = (0..6u64)
        .map(|who| {
            let mut peer = open(server.address);
            thread::spawn(move || {
                let calls: Vec<u8> =
                    (0..300).flat_map(|id| call(id, &payload(who, 50 + id as usize))).collect();
                let mut sender = peer.share();
                let sending = thread::spawn(move || sender.send(&calls));
                for id in 0..300 {
                    peer.expect_payload(id, &payload(who, 50 + id as usize));
                }
                sending.join().expect("all sent");
            })
        })
        .collect();
    callers.into_iter().for_each(|caller| caller.join().expect("a good caller"));
    server.stop().check(&[("calls", 1800), ("replies", 1800)]);
}

/// The packets that tests send are what the wire's own reader takes for calls.
#[test]
fn the_packets_of_these_tests_are_calls() {
    let bytes = om_call(5, b"abc", 7);
    let call = Call::decode(&bytes[4..]).expect("a call");
    let om = OmCall::decode(call.message().expect("a message")).expect("an OMRequest");
    assert_eq!(om.echo, Some(Echo { payload: b"abc", reply_len: 7, read_only: true }));
}

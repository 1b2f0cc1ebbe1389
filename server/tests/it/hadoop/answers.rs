//! What is answered to trouble: in which form, about which call, and how the connection fares.

use super::kit::{
    ID, SASL, SIMPLE, call, call_of, context, delimited, open, packet, packet_of, ping, sleep_call,
    start,
};
use crate::kit::{Dice, Inside, Peer, Server, Tricky, config, until};
use echo_common::wire::hadoop::fault::Package;
use echo_common::wire::hadoop::header::{CallHeader, RpcKind, RpcOp};
use echo_common::wire::hadoop::method::MethodHeader;
use echo_common::wire::hadoop::preamble::Refusal;
use echo_common::wire::hadoop::reply::{ErrorCode, Status};

fn header(call_id: i32) -> CallHeader<'static> {
    CallHeader::new(call_id, &ID, 3)
}

#[test]
fn f12_wrong_openings_are_answered_in_the_form_that_their_version_understands() {
    let server = start(&[]);
    let mut count = 0;
    let mut check = |opening: &[u8], refusal: Refusal| {
        let mut peer = Peer::silent(server.address);
        peer.send(opening);
        let mut expected = Vec::new();
        refusal.answer(Package::Ipc, &mut expected);
        assert_eq!(peer.rest(), expected, "{opening:?}");
        count += 1;
    };
    for version in [10, 127, 8, 4, 3, 2, 1, 0, -1, -128i8] {
        let byte = version as u8;
        check(&[&b"hrpc"[..], &[byte, 0, 0]].concat(), Refusal::Version(version));
        check(&[&b"xrpc"[..], &[byte, 0, 0]].concat(), Refusal::Magic(version));
    }
    for auth in [1, 0x50, 0x51, 0x52, -1i8] {
        check(&[&b"hrpc\x09\x00"[..], &[auth as u8]].concat(), Refusal::Auth(auth));
    }
    check(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", Refusal::HttpGet);
    server.stop().check(&[("frames_malformed", count)]);
}

#[test]
fn f13_packets_that_cannot_be_served_are_fatal_with_their_call_id_and_the_last_word() {
    let server = start(&[]);
    let opened = [SIMPLE, &context()].concat();
    let (mut count, mut good) = (0, 0);
    let mut check = |opening: &[u8], bad: &[u8], call_id: i32, code: ErrorCode| {
        if opening != SIMPLE {
            // Behind a good call, of which it must not become a part.
            let mut peer = Peer::silent(server.address);
            peer.send(&[opening, &call(1, b"good"), bad, &call(77, b"late")].concat());
            peer.expect_payload(1, b"good");
            peer.expect_failure(call_id, Status::Fatal, code);
            peer.expect_end();
            count += 1;
            good += 1;
        }
        let mut peer = Peer::silent(server.address);
        peer.send(&[opening, bad, &call(77, b"late"), &context()].concat());
        let answer = peer.expect_failure(call_id, Status::Fatal, code);
        assert_eq!(answer.client_id, b"", "raised before there is a call");
        peer.expect_end();
        count += 1;
    };
    let invalid = ErrorCode::FatalInvalidRpcHeader;
    check(SIMPLE, &call(9, b"x"), 9, invalid);
    check(&opened, &context(), -3, invalid);
    for call_id in [-1, -2, -5, -7, i32::MIN] {
        check(&opened, &packet_of(&header(call_id), b""), call_id, invalid);
    }
    // With a method that can be read, so that they look like calls.
    let method = MethodHeader { method: b"echo", protocol: b"bench.EchoProtocol", version: 1 };
    let mut rest = Vec::new();
    method.encode(&mut rest);
    let rest = [delimited(&rest), delimited(b"")].concat();
    for op in [None, Some(RpcOp::ContinuationPacket), Some(RpcOp::CloseConnection)] {
        check(&opened, &packet_of(&CallHeader { op, ..header(5) }, &rest), 5, invalid);
        check(&opened, &packet_of(&CallHeader { op, ..header(5) }, b""), 5, invalid);
    }
    for kind in [None, Some(RpcKind::Builtin), Some(RpcKind::Writable)] {
        check(&opened, &packet_of(&CallHeader { kind, ..header(6) }, &rest), 6, invalid);
        check(&opened, &packet_of(&CallHeader { kind, ..header(6) }, b""), 6, invalid);
    }
    for unreadable in [&b""[..], b"\x05\x08\x02", &[0xff; 11], b"\x00"] {
        check(&opened, &packet(unreadable), -1, ErrorCode::FatalDeserializingRequest);
    }
    server.stop().check(&[("frames_malformed", count), ("calls", good), ("replies", good)]);
}

#[test]
fn x05_sasl_is_settled_as_simple_and_other_methods_are_unauthorized() {
    let server = start(&[]);
    let sasl = |message: &[u8]| packet_of(&CallHeader::new(-33, &[], -1), &delimited(message));
    let kerberos = sasl(b"\x10\x02\x22\x12\x0a\x08KERBEROS\x12\x06GSSAPI");
    let mut peer = Peer::silent(server.address);
    peer.send(&[SASL, &sasl(b"\x10\x01")].concat());
    let answer = peer.answer();
    assert_eq!((answer.call_id, answer.status), (-33, Status::Success));
    assert_eq!(answer.message, b"\x10\x00", "SUCCESS, and nothing to choose from");
    peer.send(&[context(), call(0, b"then")].concat());
    peer.expect_payload(0, b"then");
    let settled = [SASL, &sasl(b"\x10\x01"), &kerberos].concat();
    for (opening, before) in [([SASL, &kerberos].concat(), 0), (settled, 1)] {
        let mut peer = Peer::silent(server.address);
        peer.send(&opening);
        (0..before).for_each(|_| assert_eq!(peer.answer().status, Status::Success));
        let answer = peer.expect_failure(-33, Status::Fatal, ErrorCode::FatalUnauthorized);
        assert!(answer.text.contains("KERBEROS authentication is not enabled"), "{answer:?}");
        peer.expect_end();
    }
    peer.hadoop_echo(1, b"still here");
    server.stop().check(&[("frames_malformed", 2), ("calls", 2)]);
}

/// Of 128 random rounds an ERROR keeps the connection, a FATAL ends it and the next call needs a
/// new one (Hadoop's testReaderExceptions).
#[test]
fn errors_of_a_reader_keep_the_connection_and_fatals_end_it() {
    let server = start(&[("--readers", "1")]);
    let mut dice = Dice::new(7);
    let mut peer = open(server.address);
    let (mut errors, mut fatals) = (0, 0);
    for round in 0..128 {
        peer.hadoop_echo(round, b"good");
        if dice.below(2) == 0 {
            // Its method header cannot be read.
            peer.send(&packet_of(&header(1000), b"\xff"));
            peer.expect_failure(1000, Status::Error, ErrorCode::Application);
            errors += 1;
        } else {
            peer.send(&packet_of(&header(-7), b""));
            peer.expect_failure(-7, Status::Fatal, ErrorCode::FatalInvalidRpcHeader);
            peer.expect_end();
            peer = open(server.address);
            fatals += 1;
        }
    }
    assert!(errors > 30 && fatals > 30, "{errors} and {fatals}");
    let ended = server.stop();
    ended.check(&[("frames_malformed", 128), ("calls", 128), ("replies", 128)]);
}

/// A client drops whatever follows a FATAL: calls before it would be lost.
#[test]
fn a_fatal_leaves_behind_the_replies_that_the_peer_is_owed() {
    let tricky = Tricky::new();
    let server = Inside::start(config(tricky.clone()));
    for (end, half_closes) in [(b"\xff".to_vec(), false), (vec![], true), (vec![], false)] {
        tricky.close_gate();
        let before = server.limit("frames_malformed");
        let mut peer = open(server.address);
        peer.send(&[call(1, b"hold it"), packet(&end), call(2, b"late")].concat());
        if half_closes {
            peer.half_close();
        }
        tricky.await_held(1);
        until("the packet is refused", || server.limit("frames_malformed") == before + 1);
        tricky.open_gate();
        peer.expect_payload(1, b"hold it");
        peer.expect_failure(-1, Status::Fatal, ErrorCode::FatalDeserializingRequest);
        peer.expect_end();
    }
    let last = server.stop();
    assert_eq!((last.calls, last.replies, last.replies_undeliverable), (3, 3, 0));
}

/// The original drops them.
#[test]
fn a_peer_that_has_shut_its_side_is_answered_what_it_is_owed() {
    let tricky = Tricky::new();
    let server = Inside::start(config(tricky.clone()));
    let mut peer = open(server.address);
    peer.send(&[call(1, b"hold one"), call(2, b"two")].concat());
    peer.half_close();
    tricky.await_held(1);
    tricky.open_gate();
    let mut ids = [peer.answer().call_id, peer.answer().call_id];
    ids.sort_unstable();
    assert_eq!(ids, [1, 2]);
    peer.expect_end();
    server.stop();
}

#[test]
fn calls_that_fail_fail_alone() {
    let server = start(&[]);
    let mut peer = open(server.address);
    let of = |method: &'static [u8], protocol: &'static [u8], version| {
        call_of(&MethodHeader { method, protocol, version }, 5, b"")
    };
    let mut check = |bad: Vec<u8>, code, class: &str, text: &str| {
        peer.send(&bad);
        let answer = peer.expect_failure(5, Status::Error, code);
        assert_eq!((&*answer.text, &answer.client_id[..]), (text, &ID[..]));
        assert_eq!(answer.class, format!("org.apache.hadoop.{class}"));
        peer.hadoop_echo(6, b"next");
    };
    let bench = b"bench.EchoProtocol";
    check(
        of(b"echo", b"no.such.Protocol", 1),
        ErrorCode::NoSuchProtocol,
        "ipc.RpcNoSuchProtocolException",
        "Unknown protocol: no.such.Protocol",
    );
    check(
        of(b"echo", bench, 2),
        ErrorCode::RpcVersionMismatch,
        "ipc.RPC$VersionMismatch",
        "Protocol bench.EchoProtocol version mismatch. (client = 2, server = 1)",
    );
    check(
        of(b"nope", bench, 1),
        ErrorCode::NoSuchMethod,
        "ipc.RpcNoSuchMethodException",
        "Unknown method nope called on bench.EchoProtocol protocol.",
    );
    let method = MethodHeader { method: b"echo", protocol: bench, version: 1 };
    check(
        call_of(&method, 5, b"\x0a\x7f"),
        ErrorCode::Application,
        "thirdparty.protobuf.InvalidProtocolBufferException",
        "While parsing a protocol message, the input ended unexpectedly in the middle of a field.  \
         This could mean either that the input has been truncated or that an embedded message \
         misreported its own length.",
    );
    server.stop().check(&[("calls", 8), ("replies", 8), ("frames_malformed", 0)]);
}

#[test]
fn the_package_of_the_classes_is_the_one_that_is_asked_for() {
    let server = start(&[("--hadoop-package", "ipc_")]);
    let mut peer = open(server.address);
    let method = MethodHeader { method: b"echo", protocol: b"no.such", version: 1 };
    peer.send(&call_of(&method, 1, b""));
    let answer = peer.expect_failure(1, Status::Error, ErrorCode::NoSuchProtocol);
    assert_eq!(answer.class, "org.apache.hadoop.ipc_.RpcNoSuchProtocolException");
    peer.send(&packet_of(&header(-9), b""));
    let answer = peer.expect_failure(-9, Status::Fatal, ErrorCode::FatalInvalidRpcHeader);
    assert_eq!(answer.class, "org.apache.hadoop.ipc_.RpcServerException");
    server.stop();
}

#[test]
fn a_panic_or_a_refusal_of_the_service_fails_its_call_and_no_other() {
    for handlers in [2, 0] {
        let mut config = config(Tricky::with_batch(64));
        config.handlers = handlers;
        let server = Inside::start(config);
        let mut peer = open(server.address);
        let bodies: [&[u8]; 7] =
            [b"a", b"poison", b"fail", b"own bytes", b"poison", b"poison", b"z"];
        let calls: Vec<u8> = (0..).zip(bodies).flat_map(|(id, body)| call(id, body)).collect();
        peer.send(&calls);
        let mut answers: Vec<_> = bodies.iter().map(|_| peer.answer()).collect();
        answers.sort_by_key(|answer| answer.call_id);
        for (answer, body) in answers.iter().zip(bodies) {
            let class = match body {
                b"poison" => "java.lang.RuntimeException",
                b"fail" => "java.io.IOException",
                _ => "",
            };
            assert_eq!(answer.class, class, "{answer:?}");
            if class.is_empty() {
                assert_eq!(answer.message, super::kit::message(body));
            } else {
                assert_eq!(
                    (answer.status, answer.code),
                    (Status::Error, Some(ErrorCode::Application))
                );
            }
        }
        let last = server.stop();
        assert_eq!((last.calls, last.replies, last.handler_panics), (7, 7, 3));
    }
}

#[test]
fn hadoop_rpc_can_be_switched_off() {
    let server = Server::start(&[("--hadoop", "off")]);
    let mut peer = Peer::silent(server.address);
    peer.send(&[SIMPLE, &context(), &ping()].concat());
    peer.expect_end();
    let mut http = Peer::silent(server.address);
    http.send(b"GET / HTTP/1.0\r\n\r\n");
    let answer = String::from_utf8(http.rest()).expect("text");
    assert!(answer.starts_with("HTTP/1.1 404 ") && answer.contains("echo-server"), "{answer}");
    for opening in [&b"ECHx"[..], b"hrx", b"\x16\x03\x01", b"ECHO\x01\0\0\x01", b"\0\0\0\0"] {
        let mut peer = Peer::silent(server.address);
        peer.send(opening);
        peer.expect_end();
    }
    let ended = server.stop();
    ended.check(&[("frames_malformed", 7)]);
    assert!(ended.lines.iter().any(|line| line.contains("--hadoop off")), "{ended:?}");
}

#[test]
fn a_sleep_longer_than_is_served_fails() {
    let server = start(&[]);
    let mut peer = open(server.address);
    peer.send(&[sleep_call(1, 600_001), sleep_call(2, -5)].concat());
    let mut answers = [peer.answer(), peer.answer()];
    answers.sort_by_key(|answer| answer.call_id);
    assert_eq!(answers[0].code, Some(ErrorCode::Application));
    assert!(answers[0].text.contains("600000"), "{answers:?}");
    assert_eq!((answers[1].status, &answers[1].message[..]), (Status::Success, &b""[..]));
    server.stop();
}

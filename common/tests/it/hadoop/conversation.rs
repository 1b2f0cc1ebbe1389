//! The server's side of a connection, case by case.

use super::answers::{Answer, WIRE_TYPE, answers, header, invalid_header, opened, undecodable};
use super::kit::{
    BENCH, ID, SIMPLE, Server, call, call_of, context, delimited, packet, packet_of, ping, replies,
};
use echo_common::wire::hadoop::call::Calls;
use echo_common::wire::hadoop::conversation::{Ending, Rules};
use echo_common::wire::hadoop::fault::{Fault, Package};
use echo_common::wire::hadoop::header::{CallHeader, RpcKind, RpcOp};
use echo_common::wire::hadoop::method::MethodHeader;
use echo_common::wire::hadoop::packet::LengthError;
use echo_common::wire::hadoop::preamble::Refusal;
use echo_common::wire::hadoop::reply::{ErrorCode, ReplyTo, Status};

#[test]
fn a_call_before_the_context_and_a_second_context_are_fatal() {
    let early = [SIMPLE, &call(9, b"x")].concat();
    invalid_header(&early, 9, 0, "Connection context not established");
    let twice = opened(&[&context()]);
    invalid_header(&twice, -3, -1, "Connection context already processed");
}

#[test]
fn unknown_negative_call_ids_are_fatal() {
    for call_id in [-1, -2, -5, -7, -34, i32::MIN] {
        let text = format!("Unknown out of band call #{call_id}");
        invalid_header(&opened(&[&packet_of(&header(call_id), b"")]), call_id, 3, &text);
        let early = [SIMPLE, &packet_of(&header(call_id), b"")].concat();
        invalid_header(&early, call_id, 3, &text);
    }
}

#[test]
fn ops_and_kinds_that_are_not_served_are_fatal_whatever_the_packet_is() {
    let no_op = " IPC Server: No rpc op in rpcRequestHeader";
    let no_kind = " IPC Server: No rpc kind in rpcRequestHeader";
    for call_id in [0, i32::MAX, -3, -4, -33, -7] {
        let check = |op, kind, text: &str| {
            let header = CallHeader { op, kind, ..header(call_id) };
            invalid_header(&opened(&[&packet_of(&header, b"")]), call_id, 3, text);
        };
        let (last, protobuf) = (Some(RpcOp::FinalPacket), Some(RpcKind::ProtocolBuffer));
        check(None, protobuf, no_op);
        check(None, None, no_op);
        check(last, None, no_kind);
        for op in [RpcOp::ContinuationPacket, RpcOp::CloseConnection] {
            let text = format!("IPC Server does not implement rpc header operation{}", op.name());
            check(Some(op), protobuf, &text);
            check(Some(op), None, &text);
        }
    }
    for kind in [RpcKind::Builtin, RpcKind::Writable] {
        let text = format!("Unknown rpc kind in rpc header{}", kind.name());
        let call = CallHeader { kind: Some(kind), ..header(5) };
        invalid_header(&opened(&[&packet_of(&call, b"")]), 5, 3, &text);
        let early = [SIMPLE, &packet_of(&call, b"")].concat();
        invalid_header(&early, 5, 3, "Connection context not established");
        let ping = packet_of(&CallHeader { kind: Some(kind), ..header(-4) }, b"");
        assert_eq!(Server::fed([&opened(&[&ping])[..]]).answers, b"");
    }
}

#[test]
fn what_cannot_be_decoded_is_fatal_and_named() {
    let truncated = "While parsing a protocol message, the input ended unexpectedly in the middle \
                     of a field.  This could mean either that the input has been truncated or that \
                     an embedded message misreported its own length.";
    let negative = "CodedInputStream encountered an embedded string or message which claimed to \
                    have negative size.";
    let header = "RpcRequestHeaderProto";
    let check = |inside: &[u8], error| {
        undecodable(&opened(&[&packet(inside)]), -1, header, error);
        undecodable(&[SIMPLE, &packet(inside)].concat(), -1, header, error);
    };
    check(b"", truncated);
    check(b"\x05\x08\x02", truncated);
    check(b"\xff\xff\xff\xff\x0f", negative);
    check(&[0xff; 11], "CodedInputStream encountered a malformed varint.");
    check(b"\x01\x00", "Protocol message contained an invalid tag (zero).");
    check(b"\x01\x0e", WIRE_TYPE);
    check(b"\x00", "Message missing required fields: callId, clientId");
    let context = "IpcConnectionContextProto";
    let broken = |rest| [SIMPLE, &packet_of(&CallHeader::new(-3, &ID, -1), rest)].concat();
    undecodable(&broken(b""), -3, context, truncated);
    undecodable(&broken(b"\x02\x12\x05"), -3, context, truncated);
}

#[test]
fn a_bad_length_closes_without_a_word_and_zero_does_not() {
    let check = |length: i32, expected| {
        let word = length.to_be_bytes();
        for opening in [SIMPLE, &opened(&[&call(0, b"x")])] {
            let server = Server::fed([opening, &word, &call(1, b"y")]);
            assert_eq!(server.ending, Some(Ending::Length(expected)));
            let answered = if opening == SIMPLE { 0 } else { 1 };
            assert_eq!(replies(&server.answers).unwrap().len(), answered);
        }
    };
    check(-1, LengthError::Negative(-1));
    check(-4, LengthError::Negative(-4));
    check(i32::MIN, LengthError::Negative(i32::MIN));
    let limit = 128 << 20;
    check(limit + 1, LengthError::TooLong { length: limit as u32 + 1, limit: limit as u32 });
    let server = Server::fed([SIMPLE, &limit.to_be_bytes(), &[0; 64]]);
    assert_eq!((server.ending, server.answers), (None, vec![]));
    let mut small = Server::with(Rules { packet_max: 57, ..Rules::default() });
    small.feed(&opened(&[&call(0, b"hello")]));
    assert_eq!(small.ending, Some(Ending::Length(LengthError::TooLong { length: 64, limit: 57 })));
}

#[test]
fn pings_are_never_answered_not_even_before_the_context() {
    let padded = packet_of(&header(-4), &[0; 100]);
    let stream = [SIMPLE, &ping(), &padded, &context(), &ping(), &call(3, b"a"), &ping()].concat();
    let server = Server::fed([&stream[..]]);
    let ids: Vec<i32> = answers(&server).iter().map(|answer| answer.call_id).collect();
    assert_eq!((ids, server.ending), (vec![3], None));
    assert_eq!(server.events.iter().filter(|event| *event == "Ping").count(), 4);
}

#[test]
fn what_the_server_refuses_itself_is_answered_and_a_fatal_is_the_last_word() {
    let mut server = Server::fed([&opened(&[])[..]]);
    let (keep, disconnect) =
        (Fault::TooBusy { disconnect: false }, Fault::TooBusy { disconnect: true });
    let to = ReplyTo { call_id: 6, client_id: &ID, retry_count: 2 };
    server.conversation.refuse(&keep, to, &mut server.answers);
    server.feed(&call(7, b"a"));
    server.conversation.refuse(&disconnect, to, &mut server.answers);
    server.conversation.refuse(&disconnect, to, &mut server.answers);
    server.feed(&call(8, b"b"));
    let seen = answers(&server);
    let told: Vec<_> = seen.iter().map(|answer| (answer.call_id, answer.status)).collect();
    assert_eq!(told, [(6, Status::Error), (7, Status::Success), (6, Status::Fatal)]);
    assert_eq!((&*seen[0].text, seen[0].code), ("Server too busy", Some(ErrorCode::RpcServer)));
    assert_eq!((&*seen[2].text, &seen[2].client_id), ("Server too busy - disconnecting", &vec![]));
    assert_eq!(server.ending, Some(Ending::Fatal));
}

#[test]
fn the_calls_of_a_run_are_found_again_whatever_came_between_them() {
    let unreadable = packet_of(&header(8), b"\xff");
    let run = [call(1, b"a"), ping(), unreadable, call(2, b"bc"), context(), call(3, b"")];
    let bytes = run.concat();
    let mut calls = Calls::of(&bytes);
    let ids: Vec<i32> = calls.by_ref().map(|call| call.header.call_id).collect();
    assert_eq!((ids, calls.rest()), (vec![1, 2, 3], &b""[..]));
    let mut calls = Calls::of(&bytes);
    calls.next();
    assert_eq!(calls.rest(), run[1..].concat());
    assert_eq!(Calls::of(&bytes[..10]).next(), None);
}

#[test]
fn ids_counts_and_client_ids_come_back_as_they_came() {
    let long = [0xab; 300];
    for call_id in [0, 1, 127, 128, i32::MAX] {
        for retry_count in [0, 255, -1, i32::MAX, i32::MIN] {
            for client_id in [&[][..], b"abc", &ID, &long] {
                let method = MethodHeader { method: b"echo", protocol: BENCH, version: 1 };
                let mut encoded = Vec::new();
                method.encode(&mut encoded);
                let rest = [delimited(&encoded), delimited(b"\x0a\x02hi")].concat();
                let header = CallHeader::new(call_id, client_id, retry_count);
                let one = packet_of(&header, &rest);
                let server = Server::fed([&opened(&[&one, &one])[..]]);
                let seen = replies(&server.answers).unwrap();
                assert_eq!(seen.len(), 2, "each is answered once");
                for (reply, body) in seen {
                    let back = (reply.call_id, reply.retry_count, reply.client_id);
                    assert_eq!(back, (call_id, retry_count, client_id));
                    assert_eq!((reply.status, body), (Status::Success, &b"\x04\x0a\x02hi"[..]));
                }
            }
        }
    }
}

#[test]
fn what_a_handler_would_refuse_fails_one_call_and_keeps_the_connection() {
    let unreadable = "org.apache.hadoop.thirdparty.protobuf.InvalidProtocolBufferException";
    let class = |name: &str| format!("org.apache.hadoop.ipc.{name}");
    let check = |bad: Vec<u8>, code, class: &str, text: &str| {
        let server = Server::fed([&opened(&[&bad, &call(1, b"good")])[..]]);
        let seen = answers(&server);
        assert_eq!((seen.len(), server.ending), (2, None));
        let expected = Answer {
            call_id: 0,
            retry_count: 0,
            client_id: ID.to_vec(),
            status: Status::Error,
            code: Some(code),
            class: class.to_owned(),
            text: text.to_owned(),
        };
        assert_eq!(seen[0], expected);
        assert_eq!((seen[1].call_id, seen[1].status), (1, Status::Success));
    };
    let of =
        |method, protocol, version| call_of(&MethodHeader { method, protocol, version }, 0, b"");
    check(
        of(b"nope", BENCH, 1),
        ErrorCode::NoSuchMethod,
        &class("RpcNoSuchMethodException"),
        "Unknown method nope called on bench.EchoProtocol protocol.",
    );
    check(
        of(b"echo", b"no.such.Protocol", 1),
        ErrorCode::NoSuchProtocol,
        &class("RpcNoSuchProtocolException"),
        "Unknown protocol: no.such.Protocol",
    );
    check(
        of(b"nope", BENCH, u64::MAX),
        ErrorCode::RpcVersionMismatch,
        &class("RPC$VersionMismatch"),
        "Protocol bench.EchoProtocol version mismatch. (client = -1, server = 1)",
    );
    let rest = |rest: &[u8]| packet_of(&CallHeader::new(0, &ID, 0), rest);
    let missing = "Message missing required fields: declaringClassProtocolName, \
                   clientProtocolVersion";
    check(rest(b"\x03\x0a\x01x"), ErrorCode::Application, unreadable, missing);
    let truncated = "While parsing a protocol message, the input ended unexpectedly in the middle \
                     of a field.  This could mean either that the input has been truncated or that \
                     an embedded message misreported its own length.";
    check(rest(b""), ErrorCode::Application, unreadable, truncated);
    check(rest(b"\x06\x0a\x04ech"), ErrorCode::Application, unreadable, truncated);
    let wire_type = format!("{unreadable}$InvalidWireTypeException");
    check(rest(b"\x01\x0e"), ErrorCode::Application, &wire_type, WIRE_TYPE);
}

#[test]
fn a_client_that_is_not_let_in_is_answered_once_if_at_all() {
    let check = |opening: &[u8], refusal, answer_len| {
        let server = Server::fed([opening, &context(), &call(0, b"x")]);
        assert_eq!(server.ending, Some(Ending::Refused(refusal)));
        assert_eq!(server.answers.len(), answer_len);
    };
    check(b"GET / HTTP/1.0\r\n\r\n", Refusal::HttpGet, 187);
    check(b"xrpc\x09\0\0", Refusal::Magic(9), 127);
    check(b"hrpc\x0a\0\0", Refusal::Version(10), 128);
    check(b"hrpc\x08\0\0", Refusal::Version(8), 118);
    check(b"hrpc\x03\0\0", Refusal::Version(3), 118);
    check(b"hrpc\x02\0\0", Refusal::Version(2), 115);
    check(b"hrpc\x01\0\0", Refusal::Version(1), 0);
    check(b"hrpc\xf7\0\0", Refusal::Version(-9), 0);
    check(b"hrpc\x09\0\x55", Refusal::Auth(85), 83);
    check(b"\0\0\0\0\0\0\0", Refusal::Magic(0), 0);
}

#[test]
fn the_package_of_the_classes_is_a_choice() {
    let rules = Rules { package: Package::IpcUnderscore, ..Rules::default() };
    let mut server = Server::with(rules);
    server.feed(&opened(&[&call_of(
        &MethodHeader { method: b"nope", protocol: BENCH, version: 1 },
        0,
        b"",
    )]));
    server.feed(&packet_of(&CallHeader::new(1, &ID, 0), b"\xff"));
    server.feed(&packet(b""));
    let seen = answers(&server);
    let classes: Vec<&str> = seen.iter().map(|answer| &*answer.class).collect();
    assert_eq!(
        classes,
        [
            "org.apache.hadoop.ipc_.RpcNoSuchMethodException",
            "com.google.protobuf.InvalidProtocolBufferException",
            "org.apache.hadoop.ipc_.RpcServerException",
        ]
    );
    assert!(seen[2].text.contains(": com.google.protobuf.InvalidProtocolBufferException: "));
    assert_eq!("ipc_".parse(), Ok(Package::IpcUnderscore));
    assert_eq!("ipc".parse(), Ok(Package::Ipc));
    let error = "org".parse::<Package>().unwrap_err().to_string();
    assert!(error.contains("`org`") && error.contains("`ipc_`"), "{error}");
}

#[test]
fn names_from_the_wire_are_cut_and_never_forge_a_line_of_the_log() {
    let name = [&b"evil\nline\xff"[..], &[b'a'; 5000]].concat();
    let method = MethodHeader { method: b"echo", protocol: &name, version: 1 };
    let server = Server::fed([&opened(&[&call_of(&method, 0, b"")])[..]]);
    let seen = answers(&server);
    assert!(seen[0].text.starts_with("Unknown protocol: evil\nline\u{fffd}aaa"));
    assert!(seen[0].text.len() < 1100);
    let line = Fault::UnknownProtocol(&name).to_string();
    assert!(line.starts_with("ERROR_NO_SUCH_PROTOCOL: Unknown protocol: evil\\nline"), "{line}");
    assert!(!line.contains('\n'));
}

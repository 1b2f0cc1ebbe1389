//! The server's side of a connection, case by case.

use super::kit::{
    BENCH, ID, SASL, SIMPLE, Server, call, call_of, context, delimited, packet, packet_of, ping,
    replies,
};
use echo_common::wire::hadoop::conversation::{Ending, Rules};
use echo_common::wire::hadoop::fault::Package;
use echo_common::wire::hadoop::header::{CallHeader, RpcKind, RpcOp};
use echo_common::wire::hadoop::method::MethodHeader;
use echo_common::wire::hadoop::packet::LengthError;
use echo_common::wire::hadoop::preamble::Refusal;
use echo_common::wire::hadoop::reply::{ErrorCode, Status};

/// What an answer must be: call id, retry count, client id, kind of failure, class and text.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    call_id: i32,
    retry_count: i32,
    client_id: Vec<u8>,
    status: Status,
    code: Option<ErrorCode>,
    class: String,
    text: String,
}

fn answers(server: &Server) -> Vec<Answer> {
    let text = |bytes: Option<&[u8]>| String::from_utf8(bytes.unwrap_or(b"").to_vec()).unwrap();
    let seen = replies(&server.answers).expect("the answers are packets");
    seen.iter()
        .map(|(header, _)| Answer {
            call_id: header.call_id,
            retry_count: header.retry_count,
            client_id: header.client_id.to_vec(),
            status: header.status,
            code: header.failure.code,
            class: text(header.failure.class),
            text: text(header.failure.text),
        })
        .collect()
}

/// The stream, then a good call: one FATAL answer, then nothing.
fn fatal(stream: &[u8], call_id: i32, retry_count: i32, code: ErrorCode, class: &str, text: &str) {
    let server = Server::fed([stream, &call(77, b"late"), &context()]);
    let expected = Answer {
        call_id,
        retry_count,
        client_id: vec![],
        status: Status::Fatal,
        code: Some(code),
        class: class.to_owned(),
        text: text.to_owned(),
    };
    assert_eq!(answers(&server), [expected]);
    assert_eq!(server.ending, Some(Ending::Fatal));
}

fn invalid_header(stream: &[u8], call_id: i32, retry_count: i32, text: &str) {
    let class = "org.apache.hadoop.ipc.RpcServerException";
    fatal(stream, call_id, retry_count, ErrorCode::FatalInvalidRpcHeader, class, text);
}

fn undecodable(stream: &[u8], call_id: i32, message: &str, error: &str) {
    let class = "org.apache.hadoop.ipc.RpcServerException";
    let text = format!(
        "Error decoding {message}: \
         org.apache.hadoop.thirdparty.protobuf.InvalidProtocolBufferException: {error}"
    );
    fatal(stream, call_id, -1, ErrorCode::FatalDeserializingRequest, class, &text);
}

fn opened(rest: &[&[u8]]) -> Vec<u8> {
    [SIMPLE, &context(), &rest.concat()].concat()
}

fn header(call_id: i32) -> CallHeader<'static> {
    CallHeader::new(call_id, &ID, 3)
}

fn sasl(message: &[u8]) -> Vec<u8> {
    packet_of(&CallHeader::new(-33, &[], -1), &delimited(message))
}

const NEGOTIATE: &[u8] = b"\x10\x01";
const KERBEROS: &[u8] = b"\x10\x02\x22\x12\x0a\x08KERBEROS\x12\x06GSSAPI";
const INITIATE_SIMPLE: &[u8] = b"\x10\x02\x22\x0a\x0a\x06SIMPLE\x12\x00";

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
    check(b"\x01\x0e", "Protocol message tag had invalid wire type.");
    check(b"\x00", "Message missing required fields: callId, clientId");
    let context = "IpcConnectionContextProto";
    let broken = |rest| [SIMPLE, &packet_of(&CallHeader::new(-3, &ID, -1), rest)].concat();
    undecodable(&broken(b""), -3, context, truncated);
    undecodable(&broken(b"\x02\x12\x05"), -3, context, truncated);
    let ask = |message: &[u8]| [SASL, &sasl(message)].concat();
    undecodable(&ask(b""), -33, "RpcSaslProto", "Message missing required fields: state");
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
}

#[test]
fn a_client_that_asks_for_sasl_is_told_to_go_on_without() {
    let negotiated =
        b"\0\0\0\x12\x0e\x08\xdf\xff\xff\xff\x0f\x10\x00\x18\x09\x3a\0\x40\x01\x02\x10\0";
    for question in [NEGOTIATE, INITIATE_SIMPLE] {
        let server = Server::fed([SASL, &ping(), &sasl(question), &context(), &call(0, b"a")]);
        assert!(server.answers.starts_with(negotiated));
        let ids: Vec<i32> = answers(&server).iter().map(|answer| answer.call_id).collect();
        assert_eq!((ids, server.ending), (vec![-33, 0], None));
    }
}

#[test]
fn sasl_out_of_turn_is_fatal() {
    let not_requested = "SASL protocol not requested by client";
    invalid_header(&[SIMPLE, &sasl(NEGOTIATE)].concat(), -33, -1, not_requested);
    invalid_header(&opened(&[&sasl(KERBEROS)]), -33, -1, not_requested);
    let pending = "Connection header sent during SASL negotiation";
    invalid_header(&[SASL, &context()].concat(), -3, -1, pending);
    let early = "Connection context not established";
    invalid_header(&[SASL, &call(4, b"x")].concat(), 4, 0, early);
    let class = "javax.security.sasl.SaslException";
    let invalid = ErrorCode::FatalInvalidRpcHeader;
    let wrapped = [SASL, &sasl(b"\x10\x05\x1a\x01x")].concat();
    fatal(&wrapped, -33, -1, invalid, class, "Server is not wrapping data");
}

/// The original answers SUCCESS to the first of these and then hangs, and says of the second
/// only that nobody had asked for SASL.
#[test]
fn a_method_that_is_not_to_be_had_is_refused_as_unauthorized() {
    let class = "org.apache.hadoop.security.AccessControlException";
    let text = "KERBEROS authentication is not enabled.  Available:[SIMPLE]";
    let code = ErrorCode::FatalUnauthorized;
    fatal(&[SASL, &sasl(KERBEROS)].concat(), -33, -1, code, class, text);
    let answered = Server::fed([SASL, &sasl(NEGOTIATE), &sasl(KERBEROS), &context()]);
    let seen = answers(&answered);
    assert_eq!((seen.len(), seen[1].code, &*seen[1].text), (2, Some(code), text));
    assert_eq!(answered.ending, Some(Ending::Fatal));
    let class = "javax.security.sasl.SaslException";
    for (message, text) in [
        (&b"\x10\x02"[..], "Client mechanism is malformed"),
        (&[KERBEROS, &KERBEROS[2..]].concat(), "Client mechanism is malformed"),
        (b"\x10\x04\x1a\x01t", "Client sent unsupported state RESPONSE"),
        (b"\x10\x00", "Client sent unsupported state SUCCESS"),
        (b"\x10\x03", "Client sent unsupported state CHALLENGE"),
    ] {
        fatal(&[SASL, &sasl(message)].concat(), -33, -1, code, class, text);
    }
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
    let fault = echo_common::wire::hadoop::fault::Fault::UnknownProtocol(&name);
    let line = fault.to_string();
    assert!(line.starts_with("ERROR_NO_SUCH_PROTOCOL: Unknown protocol: evil\\nline"), "{line}");
    assert!(!line.contains('\n'));
}

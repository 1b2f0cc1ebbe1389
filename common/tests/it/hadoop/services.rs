//! What is served, from the call's bytes to the reply's.

use super::kit::{Server, call_of, context, delimited, replies};
use echo_common::wire::hadoop::method::MethodHeader;
use echo_common::wire::hadoop::om::{self, Echo, OmCall, OmReply, Payload};
use echo_common::wire::hadoop::preamble::{Auth, Preamble};
use echo_common::wire::hadoop::reply::{ErrorCode, Status};
use echo_common::wire::hadoop::service::{EchoProtocol, OmPayload};
use echo_common::wire::hadoop::{echo, fields, testrpc};

fn opened() -> Server {
    let preamble = Preamble { service_class: 0, auth: Auth::Simple };
    Server::fed([&preamble.encode()[..], &context()])
}

/// The message of the one reply.
fn message(server: &Server) -> Vec<u8> {
    let seen = replies(&server.answers).unwrap();
    assert_eq!((seen.len(), seen[0].0.status), (1, Status::Success));
    let (message, behind) = fields::delimited(seen[0].1).unwrap();
    assert_eq!(behind, b"");
    message.to_vec()
}

fn ask(server: &mut Server, method: &[u8], protocol: &[u8], sent: &[u8]) -> Vec<u8> {
    server.answers.clear();
    server.feed(&call_of(&MethodHeader { method, protocol, version: 1 }, 0, sent));
    message(server)
}

fn om_echo<'a>(payload: &'a [u8], reply_len: i32) -> OmCall<'a> {
    OmCall {
        command: om::COMMAND_ECHO,
        trace_id: Some(b"traceparent=x;"),
        client_id: b"c",
        version: Some(om::CLIENT_VERSION),
        has_consistency_hint: true,
        echo: Some(Echo { payload, reply_len, read_only: false }),
    }
}

fn ask_om(server: &mut Server, call: &OmCall) -> Vec<u8> {
    let mut sent = Vec::new();
    call.encode(&mut sent);
    assert_eq!(sent.len(), call.encoded_len());
    assert_eq!(OmCall::decode(&sent), Ok(*call));
    ask(server, om::METHOD, om::PROTOCOL, &sent)
}

fn payload(message: &[u8]) -> &[u8] {
    match OmReply::decode(message).unwrap().payload {
        Some(Payload::Bytes(bytes)) => bytes,
        other => panic!("{other:?} instead of a payload"),
    }
}

#[test]
fn an_ozone_manager_returns_as_many_bytes_as_it_is_asked_for() {
    let mut server = opened();
    for len in [0, 1, 1023, 1024, 1025, 100_000] {
        let said = ask_om(&mut server, &om_echo(b"not returned", len as i32));
        assert_eq!(payload(&said).len(), len);
        assert!(payload(&said).iter().zip(om::FILL.iter().cycle()).all(|(a, b)| a == b));
        let reply = OmReply::decode(&said).unwrap();
        assert_eq!((reply.command, reply.success, reply.status), (110, true, om::STATUS_OK));
        assert_eq!(reply.trace_id, Some(&b"traceparent=x;"[..]));
    }
}

#[test]
fn a_call_cannot_ask_for_more_than_the_limit_or_less_than_nothing() {
    let mut server = opened();
    for (asked, expected) in [(i32::MAX, 1 << 20), ((1 << 20) + 1, 1 << 20), (-1, 0)] {
        assert_eq!(payload(&ask_om(&mut server, &om_echo(b"", asked))).len(), expected);
    }
    server.services.reply_len_max = 0;
    assert_eq!(payload(&ask_om(&mut server, &om_echo(b"", 5))), b"");
}

#[test]
fn an_ozone_manager_can_be_made_a_true_echo() {
    let mut server = opened();
    server.services.om_payload = OmPayload::Echoed;
    assert_eq!(payload(&ask_om(&mut server, &om_echo(b"returned", 3))), b"returned");
    let bare = OmCall { echo: None, trace_id: None, ..om_echo(b"", 0) };
    let said = ask_om(&mut server, &bare);
    assert_eq!(
        (payload(&said), OmReply::decode(&said).unwrap().trace_id),
        (&b""[..], Some(&b""[..]))
    );
}

#[test]
fn other_commands_of_an_ozone_manager_are_answered_as_not_supported() {
    let said = ask_om(&mut opened(), &OmCall { command: 51, ..om_echo(b"", 0) });
    let reply = OmReply::decode(&said).unwrap();
    assert_eq!((reply.command, reply.success, reply.payload), (51, false, None));
    assert_eq!(reply.status, om::STATUS_NOT_SUPPORTED);
    assert_eq!(reply.message, Some(&b"only EchoRPC is served here"[..]));
}

#[test]
fn messages_of_an_ozone_manager_must_hold_what_they_must() {
    let missing = |bytes: &[u8], names: &str| {
        let text = format!("Message missing required fields: {names}");
        assert_eq!(OmCall::decode(bytes).unwrap_err().to_string(), text);
    };
    missing(b"", "cmdType, clientId");
    missing(b"\x08\x6e", "clientId");
    missing(b"\x08\x6e\x1a\x00\x32\x00", "layoutVersion.version");
    assert!(OmCall::decode(b"\x08\x6e\x1a\x00\x32\x00\x32\x02\x08\x01").is_ok());
    assert!(OmCall::decode(b"\x08\x6e\x1a\x00\x22\x01\xff").is_err());
    let error = OmReply::decode(b"\x08\x6e").unwrap_err().to_string();
    assert_eq!(error, "Message missing required fields: status");
    let empty = OmReply::decode(b"\x08\x6e\x28\x01\xf2\x06\x00").unwrap();
    assert_eq!((empty.payload, empty.success), (Some(Payload::Bytes(b"")), true));
    let twice = b"\x08\x6e\x28\x01\xf2\x06\x03\x0a\x01a\xf2\x06\x00";
    assert_eq!(OmReply::decode(twice).unwrap().payload, Some(Payload::Bytes(b"a")));
    let twice = b"\x08\x6e\x1a\x00\xf2\x06\x05\x0a\x01a\x10\x07\xf2\x06\x02\x18\x02";
    let merged = Echo { payload: b"a", reply_len: 7, read_only: true };
    assert_eq!(OmCall::decode(twice).unwrap().echo, Some(merged));
}

#[test]
fn the_test_service_pings_echoes_sleeps_and_adds() {
    let mut server = opened();
    let mut test = |method, sent: &[u8]| ask(&mut server, method, testrpc::PROTOCOL, sent);
    assert_eq!(test(b"ping", b""), b"");
    assert_eq!(test(b"echo", b"\x0a\x03foo"), b"\x0a\x03foo");
    assert_eq!(test(b"echo", b"\x0a\x00"), b"\x0a\x00");
    assert_eq!(test(b"sleep", b"\x08\x05"), b"");
    assert_eq!(test(b"add", b"\x08\x02\x10\x03"), b"\x08\x05");
    let minus_one = b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
    assert_eq!(test(b"add", &[minus_one, &b"\x10\x00"[..]].concat()), minus_one);
}

#[test]
fn a_protocol_of_ones_own_echoes_bytes_and_strings_alike() {
    let mut server = opened();
    let own = |name: &str, version| EchoProtocol { name: name.to_owned(), version };
    server.services.echo = vec![own("my.Echo", 9), own("my.Echo", 7), own("other", 1)];
    for sent in [&b""[..], b"\x0a\x00", b"\x0a\x05hello"] {
        assert_eq!(ask(&mut server, echo::METHOD, b"other", sent), sent);
    }
    for (version, code) in [
        (7, None),
        (9, None),
        (8, Some((ErrorCode::RpcVersionMismatch, "(client = 8, server = 9)"))),
    ] {
        server.answers.clear();
        let method = MethodHeader { method: echo::METHOD, protocol: b"my.Echo", version };
        server.feed(&call_of(&method, 0, b"\x0a\x01x"));
        let seen = replies(&server.answers).unwrap();
        match code {
            None => assert_eq!(seen[0].1, delimited(b"\x0a\x01x")),
            Some((code, text)) => {
                assert_eq!(seen[0].0.failure.code, Some(code));
                assert!(seen[0].0.failure.text.unwrap().ends_with(text.as_bytes()));
            }
        }
    }
}

#[test]
fn payloads_of_every_size_come_back_byte_for_byte() {
    let mut server = opened();
    for len in [0, 1, 63, 64, 127, 128, 4095, 4096, 16_383, 16_384, 65_535, 65_536, 3 << 20] {
        let sent: Vec<u8> = (0..len).map(|at| (at * 7 + at / 251) as u8).collect();
        let mut field = Vec::new();
        echo::encode(Some(&sent), &mut field);
        assert_eq!(ask(&mut server, echo::METHOD, b"bench.EchoProtocol", &field), field);
    }
}

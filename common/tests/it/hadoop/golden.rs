//! Frames whose bytes are known, written and read.

use super::kit::{Server, from_hex, replies};
use echo_common::wire::hadoop::call::Call;
use echo_common::wire::hadoop::client::{self, CallTemplate, ClientId, Received, Replies};
use echo_common::wire::hadoop::context::Context;
use echo_common::wire::hadoop::fault::Package;
use echo_common::wire::hadoop::method::MethodHeader;
use echo_common::wire::hadoop::om::{self, Echo, OmCall, OmReply, Payload};
use echo_common::wire::hadoop::preamble::{Auth, Preamble, Refusal};
use echo_common::wire::hadoop::reply::{ReplyTo, put_success};
use echo_common::wire::hadoop::sasl::SaslState;

const ID_HEX: &str = "10 11 12 13 14 15 16 17 18 19 1a 1b 1c 1d 1e 1f";

fn id() -> ClientId {
    from_hex(ID_HEX).try_into().unwrap()
}

/// The bytes that a text of hexadecimal digits and `"literals"` stands for.
fn golden(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for (index, part) in text.split('"').enumerate() {
        out.extend(if index % 2 == 0 { from_hex(part) } else { part.as_bytes().to_vec() });
    }
    out
}

fn om_call(has_consistency_hint: bool) -> OmCall<'static> {
    OmCall {
        command: om::COMMAND_ECHO,
        trace_id: Some(b""),
        client_id: b"client-0123456789AB",
        version: Some(om::CLIENT_VERSION),
        has_consistency_hint,
        echo: Some(Echo::DEFAULT),
    }
}

fn om_call_bytes(call: &OmCall) -> Vec<u8> {
    let method = MethodHeader { method: om::METHOD, protocol: om::PROTOCOL, version: om::VERSION };
    let mut out = Vec::new();
    CallTemplate::new(id(), &method).put(&mut out, 0, 0, call.encoded_len());
    call.encode(&mut out);
    out
}

fn check_om_call(call: OmCall, expected: &str, len: usize) {
    let expected = golden(&expected.replace("ID", ID_HEX));
    assert_eq!(expected.len(), len);
    assert_eq!(om_call_bytes(&call), expected);
    let read = Call::decode(&expected[4..]).unwrap();
    assert_eq!((read.header.call_id, read.method.method), (0, om::METHOD));
    assert_eq!(OmCall::decode(read.message().unwrap()), Ok(call));
}

#[test]
fn the_preamble_of_either_kind_of_client() {
    let simple = Preamble { service_class: 0, auth: Auth::Simple };
    let sasl = Preamble { service_class: 0, auth: Auth::Sasl };
    assert_eq!(simple.encode()[..], golden("68 72 70 63 09 00 00"));
    assert_eq!(sasl.encode()[..], golden("68 72 70 63 09 00 df"));
}

#[test]
fn the_connection_context_of_an_ozone_client() {
    let expected = golden(&format!(
        "00 00 00 5f 1a 08 02 10 00 18 05 22 10 {ID_HEX} 28 01 43 12 07 0a 05 61 6c 69 63 65 1a 38 \
         \"org.apache.hadoop.ozone.om.protocol.OzoneManagerProtocol\""
    ));
    assert_eq!(expected.len(), 99);
    let (effective_user, protocol) = (Some(&b"alice"[..]), Some(&om::PROTOCOL[..]));
    let mut out = Vec::new();
    client::put_context(&mut out, &id(), &Context { effective_user, real_user: None, protocol });
    assert_eq!(out, expected);
}

#[test]
fn an_ozone_echo_of_either_age_and_its_reply() {
    let head = |len: &str| {
        format!(
            "00 00 00 {len} 1a 08 02 10 00 18 00 22 10 ID 28 00 4b 0a 0d \"submitRequest\" 12 38 \
             \"org.apache.hadoop.ozone.om.protocol.OzoneManagerProtocol\" 18 01"
        )
    };
    let body = "08 6e 12 00 1a 13 \"client-0123456789AB\" 28 03";
    let echo = "f2 06 06 0a 00 10 00 18 01";
    check_om_call(om_call(false), &format!("{} 24 {body} {echo}", head("8c")), 144);
    check_om_call(om_call(true), &format!("{} 28 {body} 3a 02 08 01 {echo}", head("90")), 148);

    let expected = golden(&format!(
        "00 00 00 29 1a 08 00 10 00 18 09 3a 10 {ID_HEX} 40 00 0d 08 6e 12 00 18 01 28 01 f2 06 02 \
         0a 00"
    ));
    assert_eq!(expected.len(), 45);
    let reply = OmReply {
        command: om::COMMAND_ECHO,
        trace_id: Some(b""),
        success: true,
        message: None,
        status: om::STATUS_OK,
        leader: None,
        payload: Some(Payload::Bytes(b"")),
    };
    let to = ReplyTo { call_id: 0, client_id: &id(), retry_count: 0 };
    let mut out = Vec::new();
    put_success(&mut out, to, reply.encoded_len());
    reply.encode(&mut out);
    assert_eq!(out, expected);
    let Ok(Received::Reply(45, received)) = Replies::new(id()).receive(&expected) else {
        panic!("the reply is not read");
    };
    assert_eq!(OmReply::decode(received.message().unwrap()), Ok(reply));

    // The whole server, from the call's bytes to the reply's.
    let mut server = Server::new();
    let mut opening = golden("68 72 70 63 09 00 00");
    client::put_context(&mut opening, &id(), &Context::default());
    server.feed(&opening);
    server.feed(&om_call_bytes(&om_call(true)));
    assert_eq!(server.answers, expected);
}

#[test]
fn a_ping() {
    let expected = golden(&format!("00 00 00 1b 1a 08 02 10 00 18 07 22 10 {ID_HEX} 28 01"));
    assert_eq!(expected.len(), 31);
    let mut out = Vec::new();
    client::put_ping(&mut out, &id());
    assert_eq!(out, expected);
}

#[test]
fn a_sasl_negotiation_with_a_server_that_has_only_simple() {
    let question = golden("00 00 00 0e 0a 08 02 10 00 18 41 22 00 28 01 02 10 01");
    let answer = golden("00 00 00 12 0e 08 df ff ff ff 0f 10 00 18 09 3a 00 40 01 02 10 00");
    let mut out = Vec::new();
    client::put_negotiate(&mut out);
    assert_eq!(out, question);
    let server = Server::fed([&golden("68 72 70 63 09 00 df")[..], &question]);
    assert_eq!(server.answers, answer);
    let seen = replies(&answer).unwrap();
    assert_eq!((seen[0].0.call_id, seen[0].1), (-33, &[2, 0x10, SaslState::Success as u8][..]));
}

#[test]
fn the_refusal_of_a_version_from_the_future() {
    let expected = golden(
        "00 00 00 7c 7b 08 ff ff ff ff 0f 10 02 18 09 22 29 \
         \"org.apache.hadoop.ipc.RPC$VersionMismatch\" 2a 3e \
         \"Server IPC version 9 cannot communicate with client version 10\" 30 0e 3a 00 40 01",
    );
    assert_eq!(expected.len(), 128);
    let mut out = Vec::new();
    Refusal::Version(10).answer(Package::Ipc, &mut out);
    assert_eq!(out, expected);
}

#[test]
fn ids_change_the_length_of_a_call_where_they_are_known_to() {
    let method = MethodHeader { method: b"echo", protocol: b"bench.EchoProtocol", version: 1 };
    let template = CallTemplate::new(id(), &method);
    let message_len = 3 + 128;
    for (call_id, expected) in [(0, 193), (63, 193), (64, 194), (8191, 194), (300_000, 195)] {
        assert_eq!(template.call_len(call_id, 0, message_len), expected);
    }
}

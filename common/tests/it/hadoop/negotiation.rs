//! SASL at a server that has only SIMPLE.

use super::answers::{answers, fatal, invalid_header, opened, undecodable};
use super::kit::{SASL, SIMPLE, Server, call, context, delimited, packet_of, ping};
use echo_common::wire::hadoop::conversation::Ending;
use echo_common::wire::hadoop::header::CallHeader;
use echo_common::wire::hadoop::reply::ErrorCode;

fn sasl(message: &[u8]) -> Vec<u8> {
    packet_of(&CallHeader::new(-33, &[], -1), &delimited(message))
}

const NEGOTIATE: &[u8] = b"\x10\x01";
const KERBEROS: &[u8] = b"\x10\x02\x22\x12\x0a\x08KERBEROS\x12\x06GSSAPI";
const INITIATE_SIMPLE: &[u8] = b"\x10\x02\x22\x0a\x0a\x06SIMPLE\x12\x00";

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
    for stream in [
        [SASL, &sasl(NEGOTIATE), &sasl(NEGOTIATE)].concat(),
        [SASL, &sasl(NEGOTIATE), &context(), &sasl(INITIATE_SIMPLE)].concat(),
    ] {
        let server = Server::fed([&stream[..]]);
        let seen = answers(&server);
        assert_eq!((seen.len(), &*seen[1].text), (2, not_requested));
        assert_eq!(seen[1].code, Some(ErrorCode::FatalInvalidRpcHeader));
        assert_eq!(server.ending, Some(Ending::Fatal));
    }
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
fn a_sasl_packet_that_cannot_be_decoded_is_fatal() {
    let ask = |message: &[u8]| [SASL, &sasl(message)].concat();
    undecodable(&ask(b""), -33, "RpcSaslProto", "Message missing required fields: state");
}

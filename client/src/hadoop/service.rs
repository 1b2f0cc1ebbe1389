//! What can be called: an Ozone Manager's echo, Hadoop's test service, any protocol with an echo.

use crate::reason::Reason;
use echo_common::wire::hadoop::fields::{self, ProtoError};
use echo_common::wire::hadoop::method::MethodHeader;
use echo_common::wire::hadoop::om::{self, OmCall, OmReply};
use echo_common::wire::hadoop::service::EchoProtocol;
use echo_common::wire::hadoop::{echo, testrpc};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// A service with an echo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Service {
    /// An Ozone Manager: `submitRequest` with an EchoRPC, as `freon ome` calls it.
    Om,
    /// `TestRpcService`, that of Hadoop's own RPC benchmark.
    Test,
    /// The method `echo` of any protocol, with one field of bytes or text both ways.
    Echo(EchoProtocol),
}

/// A service that is not given as it must be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{0}` is no service: om, test, or NAME:VERSION of at most {NAME_MAX} bytes, as in `my.Echo:1`"
)]
pub struct UnknownService(String);

/// Longest name of a protocol, so that a fresh socket takes the connection context whole.
const NAME_MAX: usize = 1024;

impl FromStr for Service {
    type Err = UnknownService;

    fn from_str(text: &str) -> Result<Service, UnknownService> {
        match text {
            "om" => Ok(Service::Om),
            "test" => Ok(Service::Test),
            other => match other.parse::<EchoProtocol>() {
                Ok(protocol) if other.len() <= NAME_MAX => Ok(Service::Echo(protocol)),
                _ => Err(UnknownService(other.chars().take(80).collect())),
            },
        }
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Service::Om => f.write_str("om"),
            Service::Test => f.write_str("test"),
            Service::Echo(protocol) => write!(f, "{}:{}", protocol.name, protocol.version),
        }
    }
}

/// What a successful reply comes to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer<'a> {
    /// This payload.
    Payload(&'a [u8]),
    /// A refusal after all, with the server's words.
    Refused(Reason, &'a [u8]),
}

impl Service {
    /// The method that is called.
    pub(super) fn method(&self) -> MethodHeader<'_> {
        match self {
            Service::Om => {
                let (method, protocol) = (om::METHOD, &om::PROTOCOL[..]);
                MethodHeader { method, protocol, version: om::VERSION }
            }
            Service::Test => MethodHeader {
                method: testrpc::Method::Echo.name(),
                protocol: testrpc::PROTOCOL,
                version: testrpc::VERSION,
            },
            Service::Echo(EchoProtocol { name, version }) => {
                MethodHeader { method: echo::METHOD, protocol: name.as_bytes(), version: *version }
            }
        }
    }

    /// What stands before and behind the payload in a call's message. `name` is what an Ozone
    /// Manager's client calls itself.
    pub(super) fn message(
        &self,
        payload_len: usize,
        reply_len: usize,
        name: &str,
    ) -> (Vec<u8>, Vec<u8>) {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        if *self == Service::Om {
            // As a client of Ozone up to 2.1 writes it, without tracing.
            let call = OmCall {
                command: om::COMMAND_ECHO,
                trace_id: Some(b""),
                client_id: name.as_bytes(),
                version: Some(om::CLIENT_VERSION),
                has_consistency_hint: false,
                echo: None,
            };
            call.encode(&mut before);
            // EchoRPCRequest: 1 payloadReq, 2 payloadSizeResp, 3 readOnly.
            fields::put_varint(&mut after, 2, reply_len as u64);
            fields::put_varint(&mut after, 3, 1);
            let echo_len = fields::bytes_len(1, payload_len) + after.len();
            fields::put_len(&mut before, om::COMMAND_ECHO, echo_len);
        }
        fields::put_len(&mut before, 1, payload_len);
        (before, after)
    }

    /// Reads the message of a successful reply.
    #[inline]
    pub(super) fn answer<'a>(&self, message: &'a [u8]) -> Result<Answer<'a>, ProtoError> {
        let payload = match self {
            Service::Om => {
                let reply = OmReply::decode(message)?;
                if reply.status != om::STATUS_OK {
                    let words = reply.message.unwrap_or_default();
                    return Ok(Answer::Refused(Reason::OmStatus(reply.status), words));
                }
                match reply.payload {
                    Some(om::Payload::Bytes(bytes)) => bytes,
                    Some(om::Payload::Fill(_)) | None => &[],
                }
            }
            Service::Test => testrpc::decode_echo(message)?,
            Service::Echo(_) => echo::decode(message)?.unwrap_or_default(),
        };
        Ok(Answer::Payload(payload))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use echo_common::wire::hadoop::om::Echo;

    #[test]
    fn services_are_given_by_a_word_or_as_name_and_version() {
        for text in ["om", "test", "bench.EchoProtocol:1", "a:b:7"] {
            assert_eq!(text.parse::<Service>().unwrap().to_string(), text);
        }
        for text in ["", "OM", "my.Echo", "my.Echo:x", ":1", &format!("{}:1", "x".repeat(1023))] {
            let error = text.parse::<Service>().unwrap_err().to_string();
            assert!(error.contains("om, test, or NAME:VERSION") && error.len() < 200, "{error}");
        }
    }

    #[test]
    fn a_call_to_an_ozone_manager_is_read_back_as_what_it_asks() {
        for (payload, reply_len) in [(&b""[..], 0), (b"hello", 1), (&[7; 300], 200_000)] {
            let name = "client-0123456789AB";
            let (mut message, after) = Service::Om.message(payload.len(), reply_len, name);
            message.extend_from_slice(payload);
            message.extend_from_slice(&after);
            let call = OmCall::decode(&message).unwrap();
            let echo = Echo { payload, reply_len: reply_len as i32, read_only: true };
            assert_eq!(call.echo, Some(echo));
            assert_eq!((call.client_id, call.version), (name.as_bytes(), Some(3)));
            let mut expected = Vec::new();
            call.encode(&mut expected);
            assert_eq!(message, expected);
        }
    }

    #[test]
    fn a_call_of_an_echo_is_its_payload_in_field_1() {
        for service in ["test", "my.Echo:3"] {
            let service: Service = service.parse().unwrap();
            let (mut message, after) = service.message(5, 5, "");
            message.extend_from_slice(b"hello");
            assert_eq!((&message[..], &after[..]), (&b"\x0a\x05hello"[..], &b""[..]));
            assert_eq!(service.answer(&message), Ok(Answer::Payload(b"hello")));
        }
    }

    #[test]
    fn an_ozone_manager_may_refuse_in_a_success() {
        let reply = OmReply {
            command: om::COMMAND_ECHO,
            trace_id: None,
            success: false,
            message: Some(b"not now"),
            status: 64,
            leader: None,
            payload: None,
        };
        let mut message = Vec::new();
        reply.encode(&mut message);
        let refused = Answer::Refused(Reason::OmStatus(64), b"not now");
        assert_eq!(Service::Om.answer(&message), Ok(refused));
        assert!(Service::Om.answer(b"\x08\x6e").is_err(), "no status");
    }
}

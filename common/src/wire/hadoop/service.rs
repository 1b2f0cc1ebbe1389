//! What is served: from a call to what is to be done, and from what was done to the reply.

use super::call::Call;
use super::echo;
use super::fault::Fault;
use super::fields;
use super::method::MethodHeader;
use super::om::{self, OmCall, OmReply, Payload};
use super::reply::{ReplyTo, put_success, success_len};
use super::testrpc::{self, Method};
use std::str::FromStr;
use thiserror::Error;

/// What the server decides about its services.
#[derive(Clone, Debug)]
pub struct Services {
    /// Protocols with an `echo` besides the Ozone Manager's and the test service.
    pub echo: Vec<EchoProtocol>,
    /// What an Ozone Manager's echo returns.
    pub om_payload: OmPayload,
    /// Longest payload that is made up because a call asks for it.
    pub reply_len_max: usize,
}

/// What an Ozone Manager's echo returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OmPayload {
    /// As many bytes as the call asks for, as the original does.
    #[default]
    AsAsked,
    /// The call's payload.
    Echoed,
}

/// A protocol of one method, `echo`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EchoProtocol {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: u64,
}

/// A protocol that is not given as it must be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is not a protocol: NAME:VERSION, the version a whole number, as in `my.Echo:1`")]
pub struct UnknownForm(String);

impl FromStr for EchoProtocol {
    type Err = UnknownForm;

    fn from_str(text: &str) -> Result<EchoProtocol, UnknownForm> {
        let refuse = || UnknownForm(text.to_owned());
        let (name, version) = text.rsplit_once(':').ok_or_else(refuse)?;
        let digits = !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit());
        if name.is_empty() || !digits {
            return Err(refuse());
        }
        let version = version.parse().map_err(|_| refuse())?;
        Ok(EchoProtocol { name: name.to_owned(), version })
    }
}

/// What a call asks to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation<'a> {
    /// Nothing.
    Ping,
    /// To return the field, if it is there.
    Echo(Option<&'a [u8]>),
    /// Nothing, but only after so many milliseconds; none if it is negative.
    Sleep(i32),
    /// To return the sum.
    Add(i32),
    /// A command of the Ozone Manager.
    Om(OmCall<'a>),
}

impl Operation<'_> {
    /// Bytes of payload that came with the call.
    pub fn payload_len(&self) -> usize {
        match self {
            Operation::Ping | Operation::Sleep(_) | Operation::Add(_) => 0,
            Operation::Echo(payload) => payload.map_or(0, <[u8]>::len),
            Operation::Om(call) => call.echo.map_or(0, |echo| echo.payload.len()),
        }
    }
}

enum Protocol {
    Om,
    Test,
    Echo,
}

impl Services {
    /// What `call` asks for. `opened_for` is the protocol of the connection context: the
    /// original names it when the method is unknown.
    ///
    /// The faults are those of a handler: they end the call, not the connection.
    pub fn operation<'a>(
        &self,
        call: &Call<'a>,
        opened_for: Option<&'a [u8]>,
    ) -> Result<Operation<'a>, Fault<'a>> {
        let MethodHeader { method, protocol, .. } = call.method;
        let unknown = Fault::UnknownMethod { method, protocol: opened_for.unwrap_or(protocol) };
        match self.protocol(&call.method)? {
            Protocol::Om if method == om::METHOD => {
                call.message().and_then(OmCall::decode).map(Operation::Om)
            }
            Protocol::Echo if method == echo::METHOD => {
                call.message().and_then(echo::decode).map(Operation::Echo)
            }
            Protocol::Test => {
                let method = Method::from_name(method).ok_or(unknown)?;
                call.message().and_then(|message| match method {
                    Method::Ping => fields::check(message).map(|()| Operation::Ping),
                    Method::Echo => {
                        testrpc::decode_echo(message).map(|text| Operation::Echo(Some(text)))
                    }
                    Method::Sleep => testrpc::decode_sleep(message).map(Operation::Sleep),
                    Method::Add => testrpc::decode_add(message).map(Operation::Add),
                })
            }
            Protocol::Om | Protocol::Echo => return Err(unknown),
        }
        .map_err(Fault::Message)
    }

    fn protocol<'a>(&self, header: &MethodHeader<'a>) -> Result<Protocol, Fault<'a>> {
        let MethodHeader { protocol, version: client, .. } = *header;
        let fixed = [
            (&om::PROTOCOL[..], om::VERSION, Protocol::Om),
            (testrpc::PROTOCOL, testrpc::VERSION, Protocol::Test),
        ];
        let mut highest = None;
        for (name, version, served) in fixed {
            if name == protocol {
                if version == client {
                    return Ok(served);
                }
                highest = highest.max(Some(version));
            }
        }
        for served in self.echo.iter().filter(|served| served.name.as_bytes() == protocol) {
            if served.version == client {
                return Ok(Protocol::Echo);
            }
            highest = highest.max(Some(served.version));
        }
        Err(match highest {
            Some(server) => Fault::ProtocolVersion { protocol, client, server },
            None => Fault::UnknownProtocol(protocol),
        })
    }

    /// Bytes of the whole reply to `to` once `operation` is done.
    pub fn reply_len(&self, operation: &Operation, to: ReplyTo) -> usize {
        success_len(to, self.message_len(operation))
    }

    /// Appends the whole reply to `to`; `operation` has been done.
    pub fn put_reply(&self, operation: &Operation, to: ReplyTo, out: &mut Vec<u8>) {
        out.reserve(self.reply_len(operation, to));
        self.put_reply_head(operation, to, out).put(out);
    }

    /// Appends the reply up to the payload that it ends in, for whoever passes that on without a
    /// copy. A reply without a payload is whole then.
    pub fn put_reply_head<'a>(
        &self,
        operation: &Operation<'a>,
        to: ReplyTo,
        out: &mut Vec<u8>,
    ) -> Payload<'a> {
        put_success(out, to, self.message_len(operation));
        match operation {
            Operation::Ping | Operation::Sleep(_) | Operation::Echo(None) => {}
            Operation::Echo(Some(payload)) => fields::put_len(out, 1, payload.len()),
            Operation::Add(sum) => testrpc::put_int32(out, 1, *sum),
            Operation::Om(call) => self.om_reply(call).encode_head(out),
        }
        self.payload(operation)
    }

    /// What the reply ends in.
    pub fn payload<'a>(&self, operation: &Operation<'a>) -> Payload<'a> {
        let payload = match operation {
            Operation::Ping | Operation::Sleep(_) | Operation::Add(_) => None,
            Operation::Echo(payload) => payload.map(Payload::Bytes),
            Operation::Om(call) => self.om_reply(call).payload,
        };
        payload.unwrap_or(Payload::Bytes(&[]))
    }

    fn message_len(&self, operation: &Operation) -> usize {
        match operation {
            Operation::Ping | Operation::Sleep(_) => 0,
            Operation::Echo(payload) => echo::encoded_len(*payload),
            Operation::Add(sum) => testrpc::int32_len(1, *sum),
            Operation::Om(call) => self.om_reply(call).encoded_len(),
        }
    }

    fn om_reply<'a>(&self, call: &OmCall<'a>) -> OmReply<'a> {
        let is_echo = call.command == om::COMMAND_ECHO;
        let echo = call.echo.unwrap_or(om::Echo::DEFAULT);
        let payload = match self.om_payload {
            OmPayload::AsAsked => Payload::Fill(echo.reply_len(self.reply_len_max)),
            OmPayload::Echoed => Payload::Bytes(echo.payload),
        };
        OmReply {
            command: call.command,
            // The original sets the trace id whether there was one or not.
            trace_id: Some(call.trace_id.unwrap_or_default()),
            success: is_echo,
            message: (!is_echo).then_some(&b"only EchoRPC is served here"[..]),
            status: if is_echo { om::STATUS_OK } else { om::STATUS_NOT_SUPPORTED },
            leader: None,
            payload: is_echo.then_some(payload),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocols_are_given_as_name_and_version() {
        let check = |text: &str, name: &str, version| {
            let expected = EchoProtocol { name: name.to_owned(), version };
            assert_eq!(text.parse(), Ok(expected), "{text}");
        };
        check("bench.EchoProtocol:1", "bench.EchoProtocol", 1);
        check("a:b:18446744073709551615", "a:b", u64::MAX);
        for text in ["", "a", ":1", "a:", "a:-1", "a:+1", "a:1x", "a: 1", "a:18446744073709551616"]
        {
            let error = text.parse::<EchoProtocol>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{text}`")) && error.contains("NAME:VERSION"));
        }
    }
}

//! What stands first in every packet of a server: RpcResponseHeaderProto, here the reply header.
//!
//! | number | field | wire form | rule |
//! |---|---|---|---|
//! | 1 | callId | **uint32** | required; a negative id is its 32-bit pattern |
//! | 2 | status | enum | required |
//! | 3 | serverIpcVersionNum | uint32 | always 9 |
//! | 4 | exceptionClassName | string | when the call failed |
//! | 5 | errorMsg | string | when the call failed |
//! | 6 | errorDetail | enum | when the call failed |
//! | 7 | clientId | bytes | as the call had it; none where no call is known yet |
//! | 8 | retryCount | sint32 | as the call had it; -1 where it is not known |
//! | 9, 10 | stateId, routerFederatedState | int64, bytes | passed over |
//!
//! Behind a SUCCESS follows the message with its length, behind anything else nothing.
//! Source: RpcHeader.proto of Hadoop 3.3.4.

use super::fields::{self, Fields, Missing, ProtoError, Value};
use super::header::{CallHeader, NO_RETRY_COUNT};
use super::packet;
use super::preamble::VERSION;
use super::varint::{self, unzigzag};

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Status {
    /// The message follows.
    Success = 0,
    /// This call failed; the connection stays.
    Error = 1,
    /// Every call of the connection failed; it is closed.
    Fatal = 2,
}

/// What kind of failure it was: the values of errorDetail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum ErrorCode {
    /// The service itself refused.
    Application = 1,
    /// The protocol has no such method.
    NoSuchMethod = 2,
    /// The server has no such protocol.
    NoSuchProtocol = 3,
    /// The server failed; too busy, for instance.
    RpcServer = 4,
    /// The answer could not be written.
    SerializingResponse = 5,
    /// The protocol has another version.
    RpcVersionMismatch = 6,
    /// The connection failed in some other way.
    FatalUnknown = 10,
    /// The serialization is not spoken.
    FatalUnsupportedSerialization = 11,
    /// The header of a packet asks for what is not possible.
    FatalInvalidRpcHeader = 12,
    /// A packet could not be read.
    FatalDeserializingRequest = 13,
    /// Client and server speak different versions of the RPC itself.
    FatalVersionMismatch = 14,
    /// The client may not connect.
    FatalUnauthorized = 15,
}

impl ErrorCode {
    const ALL: [ErrorCode; 12] = [
        ErrorCode::Application,
        ErrorCode::NoSuchMethod,
        ErrorCode::NoSuchProtocol,
        ErrorCode::RpcServer,
        ErrorCode::SerializingResponse,
        ErrorCode::RpcVersionMismatch,
        ErrorCode::FatalUnknown,
        ErrorCode::FatalUnsupportedSerialization,
        ErrorCode::FatalInvalidRpcHeader,
        ErrorCode::FatalDeserializingRequest,
        ErrorCode::FatalVersionMismatch,
        ErrorCode::FatalUnauthorized,
    ];

    /// The name in the schema.
    pub fn name(self) -> &'static str {
        match self {
            ErrorCode::Application => "ERROR_APPLICATION",
            ErrorCode::NoSuchMethod => "ERROR_NO_SUCH_METHOD",
            ErrorCode::NoSuchProtocol => "ERROR_NO_SUCH_PROTOCOL",
            ErrorCode::RpcServer => "ERROR_RPC_SERVER",
            ErrorCode::SerializingResponse => "ERROR_SERIALIZING_RESPONSE",
            ErrorCode::RpcVersionMismatch => "ERROR_RPC_VERSION_MISMATCH",
            ErrorCode::FatalUnknown => "FATAL_UNKNOWN",
            ErrorCode::FatalUnsupportedSerialization => "FATAL_UNSUPPORTED_SERIALIZATION",
            ErrorCode::FatalInvalidRpcHeader => "FATAL_INVALID_RPC_HEADER",
            ErrorCode::FatalDeserializingRequest => "FATAL_DESERIALIZING_REQUEST",
            ErrorCode::FatalVersionMismatch => "FATAL_VERSION_MISMATCH",
            ErrorCode::FatalUnauthorized => "FATAL_UNAUTHORIZED",
        }
    }

    fn from_wire(value: u64) -> Option<ErrorCode> {
        ErrorCode::ALL.into_iter().find(|&code| code as u32 == value as u32)
    }
}

/// Why a call failed, as the wire says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Failure<'a> {
    /// The full name of a Java class, by which clients decide what to do next.
    pub class: Option<&'a [u8]>,
    /// For people; a Java server puts its stack trace behind the first line.
    pub text: Option<&'a [u8]>,
    /// Absent, or a value that the schema does not know.
    pub code: Option<ErrorCode>,
}

/// What of a call comes back in its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyTo<'a> {
    /// The call's id.
    pub call_id: i32,
    /// The client's id, of any length.
    pub client_id: &'a [u8],
    /// The call's retry count.
    pub retry_count: i32,
}

impl<'a> From<&CallHeader<'a>> for ReplyTo<'a> {
    #[inline]
    fn from(header: &CallHeader<'a>) -> ReplyTo<'a> {
        let CallHeader { call_id, client_id, retry_count, .. } = *header;
        ReplyTo { call_id, client_id, retry_count }
    }
}

/// The fields of RpcResponseHeaderProto.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyHeader<'a> {
    /// The call's id.
    pub call_id: i32,
    /// How it ended.
    pub status: Status,
    /// The server's version of the RPC itself.
    pub server_version: Option<u32>,
    /// Why it failed; nothing of it is set in a success.
    pub failure: Failure<'a>,
    /// The client's id, empty where the server knew of none.
    pub client_id: &'a [u8],
    /// The call's retry count.
    pub retry_count: i32,
}

impl<'a> ReplyHeader<'a> {
    /// The header of a reply to `to`, as a Hadoop server writes it.
    pub fn new(to: ReplyTo<'a>, status: Status, failure: Failure<'a>) -> ReplyHeader<'a> {
        let ReplyTo { call_id, client_id, retry_count } = to;
        let server_version = Some(u32::from(VERSION));
        ReplyHeader { call_id, status, server_version, failure, client_id, retry_count }
    }

    /// Reads the message that `bytes` are.
    #[inline]
    pub fn decode(bytes: &'a [u8]) -> Result<ReplyHeader<'a>, ProtoError> {
        let to = ReplyTo { call_id: 0, client_id: &[], retry_count: NO_RETRY_COUNT };
        let mut header = ReplyHeader::new(to, Status::Success, Failure::default());
        header.server_version = None;
        let (mut has_call_id, mut has_status) = (false, false);
        let mut fields = Fields::new(bytes);
        while let Some(field) = fields.advance()? {
            match (field.number, field.value) {
                (1, Value::Varint(value)) => {
                    header.call_id = value as u32 as i32;
                    has_call_id = true;
                }
                (2, Value::Varint(value)) => {
                    // An unknown value changes nothing, as in the Java runtime.
                    let known = match value as u32 {
                        0 => Status::Success,
                        1 => Status::Error,
                        2 => Status::Fatal,
                        _ => continue,
                    };
                    header.status = known;
                    has_status = true;
                }
                (3, Value::Varint(value)) => header.server_version = Some(value as u32),
                (4, Value::Bytes(value)) => header.failure.class = Some(value),
                (5, Value::Bytes(value)) => header.failure.text = Some(value),
                (6, Value::Varint(value)) => {
                    header.failure.code = ErrorCode::from_wire(value).or(header.failure.code);
                }
                (7, Value::Bytes(value)) => header.client_id = value,
                (8, Value::Varint(value)) => header.retry_count = unzigzag(value as u32),
                _ => {}
            }
        }
        Missing::check([(has_call_id, "callId"), (has_status, "status"), Missing::NONE])?;
        fields.finish()?;
        Ok(header)
    }

    /// Bytes that [`ReplyHeader::encode`] appends.
    #[inline]
    pub fn encoded_len(&self) -> usize {
        let Failure { class, text, code } = self.failure;
        fields::varint_len(1, u64::from(self.call_id as u32))
            + 2
            + self.server_version.map_or(0, |version| fields::varint_len(3, u64::from(version)))
            + class.map_or(0, |class| fields::bytes_len(4, class.len()))
            + text.map_or(0, |text| fields::bytes_len(5, text.len()))
            + code.map_or(0, |_| 2)
            + fields::bytes_len(7, self.client_id.len())
            + fields::sint_len(8, self.retry_count)
    }

    /// Appends the message, fields in ascending order as Java writes them.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>) {
        fields::put_varint(out, 1, u64::from(self.call_id as u32));
        fields::put_varint(out, 2, self.status as u64);
        if let Some(version) = self.server_version {
            fields::put_varint(out, 3, u64::from(version));
        }
        if let Some(class) = self.failure.class {
            fields::put_bytes(out, 4, class);
        }
        if let Some(text) = self.failure.text {
            fields::put_bytes(out, 5, text);
        }
        if let Some(code) = self.failure.code {
            fields::put_varint(out, 6, code as u64);
        }
        fields::put_bytes(out, 7, self.client_id);
        fields::put_sint(out, 8, self.retry_count);
    }
}

/// Appends everything of a successful reply but its message, whose `message_len` bytes are to
/// follow.
#[inline]
pub fn put_success(out: &mut Vec<u8>, to: ReplyTo, message_len: usize) {
    let header = ReplyHeader::new(to, Status::Success, Failure::default());
    let header_len = header.encoded_len();
    let len = varint::len(header_len as u64) + header_len;
    packet::put_length(out, len + varint::len(message_len as u64) + message_len);
    varint::put(out, header_len as u64);
    header.encode(out);
    varint::put(out, message_len as u64);
}

/// Bytes of a whole successful reply, the length word included.
#[inline]
pub fn success_len(to: ReplyTo, message_len: usize) -> usize {
    let header_len = ReplyHeader::new(to, Status::Success, Failure::default()).encoded_len();
    let lengths = varint::len(header_len as u64) + varint::len(message_len as u64);
    packet::LENGTH_LEN + lengths + header_len + message_len
}

/// Appends a whole reply that says that the call, or the connection, failed.
pub fn put_failure(out: &mut Vec<u8>, to: ReplyTo, status: Status, failure: Failure) {
    let header = ReplyHeader::new(to, status, failure);
    let header_len = header.encoded_len();
    packet::put_length(out, varint::len(header_len as u64) + header_len);
    varint::put(out, header_len as u64);
    header.encode(out);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(header: &ReplyHeader) -> Vec<u8> {
        let mut out = Vec::new();
        header.encode(&mut out);
        assert_eq!((out.len(), ReplyHeader::decode(&out)), (header.encoded_len(), Ok(*header)));
        out
    }

    #[test]
    fn a_success_is_written_as_java_writes_it_and_read_back() {
        let to = ReplyTo { call_id: 5, client_id: b"abc", retry_count: 0 };
        let out = round_trip(&ReplyHeader::new(to, Status::Success, Failure::default()));
        assert_eq!(out, b"\x08\x05\x10\x00\x18\x09\x3a\x03abc\x40\x00");
    }

    #[test]
    fn a_negative_call_id_is_its_bit_pattern() {
        let to = ReplyTo { call_id: -33, client_id: b"", retry_count: -1 };
        let out = round_trip(&ReplyHeader::new(to, Status::Success, Failure::default()));
        assert_eq!(out, b"\x08\xdf\xff\xff\xff\x0f\x10\x00\x18\x09\x3a\x00\x40\x01");
    }

    #[test]
    fn every_failure_is_read_back() {
        let to = ReplyTo { call_id: i32::MAX, client_id: &[7; 300], retry_count: 255 };
        for code in ErrorCode::ALL {
            for (class, text) in [(Some(&b"c"[..]), Some(&b"t"[..])), (None, None)] {
                let failure = Failure { class, text, code: Some(code) };
                round_trip(&ReplyHeader::new(to, Status::Error, failure));
                round_trip(&ReplyHeader::new(to, Status::Fatal, failure));
            }
        }
    }

    #[test]
    fn whole_replies_have_the_length_that_was_foretold() {
        let to = ReplyTo { call_id: 128, client_id: &[1; 16], retry_count: -1 };
        for len in [0, 1, 127, 128, 70_000] {
            let mut out = Vec::new();
            put_success(&mut out, to, len);
            out.resize(out.len() + len, 0);
            assert_eq!(out.len(), success_len(to, len));
            assert_eq!(out[..4], ((out.len() - 4) as u32).to_be_bytes());
        }
    }

    #[test]
    fn missing_fields_are_named_and_unknown_enum_values_are_missing() {
        let check = |bytes: &[u8], names: &str| {
            let text = format!("Message missing required fields: {names}");
            assert_eq!(ReplyHeader::decode(bytes).unwrap_err().to_string(), text);
        };
        check(b"", "callId, status");
        check(b"\x08\x00\x10\x03", "status");
        let header = ReplyHeader::decode(b"\x08\x00\x10\x02\x30\x07").unwrap();
        assert_eq!((header.failure.code, header.status), (None, Status::Fatal));
        assert_eq!((header.server_version, header.retry_count), (None, -1));
    }
}

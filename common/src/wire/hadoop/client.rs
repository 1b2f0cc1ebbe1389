//! The client's side of one connection: calls to bytes, and the bytes of replies to events.

use super::call::put_header;
use super::context::Context;
use super::fields::{self, ProtoError};
use super::header::{
    CLIENT_ID_LEN, CONTEXT_CALL_ID, CallHeader, NO_RETRY_COUNT, PING_CALL_ID, SASL_CALL_ID,
};
use super::method::MethodHeader;
use super::packet::{LENGTH_LEN, PACKET_MAX_DEFAULT};
use super::reply::{ReplyHeader, Status};
use super::sasl::SaslState;
use super::varint;
use thiserror::Error;

/// What a client is called on the wire; one for all its connections, or one each.
pub type ClientId = [u8; CLIENT_ID_LEN];

/// Appends the connection context. It is answered only if it is refused, so a client sends it
/// together with its first call.
pub fn put_context(out: &mut Vec<u8>, client_id: &ClientId, context: &Context) {
    let header = CallHeader::new(CONTEXT_CALL_ID, client_id, NO_RETRY_COUNT);
    let len = context.encoded_len();
    put_header(out, &header, varint::len(len as u64) + len);
    varint::put(out, len as u64);
    context.encode(out);
}

/// Appends a ping, which is not answered.
pub fn put_ping(out: &mut Vec<u8>, client_id: &ClientId) {
    put_header(out, &CallHeader::new(PING_CALL_ID, client_id, NO_RETRY_COUNT), 0);
}

/// Appends the question with which SASL begins, behind a preamble that asks for it.
pub fn put_negotiate(out: &mut Vec<u8>) {
    let header = CallHeader::new(SASL_CALL_ID, &[], NO_RETRY_COUNT);
    put_header(out, &header, 1 + SaslState::ENCODED_LEN);
    varint::put(out, SaslState::ENCODED_LEN as u64);
    SaslState::Negotiate.encode(out);
}

/// What all calls of one method have in common, written once.
#[derive(Clone, Debug)]
pub struct CallTemplate {
    client_id: ClientId,
    /// The method header with its length.
    method: Vec<u8>,
}

impl CallTemplate {
    /// For calls of `method` by the client of this id.
    pub fn new(client_id: ClientId, method: &MethodHeader) -> CallTemplate {
        let mut encoded = Vec::new();
        varint::put(&mut encoded, method.encoded_len() as u64);
        method.encode(&mut encoded);
        CallTemplate { client_id, method: encoded }
    }

    /// Appends everything of a call but its message, whose `message_len` bytes are to follow.
    #[inline]
    pub fn put(&self, out: &mut Vec<u8>, call_id: i32, retry_count: i32, message_len: usize) {
        let header = CallHeader::new(call_id, &self.client_id, retry_count);
        let rest_len = self.method.len() + varint::len(message_len as u64) + message_len;
        put_header(out, &header, rest_len);
        out.extend_from_slice(&self.method);
        varint::put(out, message_len as u64);
    }

    /// Bytes of a whole call, the length word included.
    pub fn call_len(&self, call_id: i32, retry_count: i32, message_len: usize) -> usize {
        let header_len = CallHeader::new(call_id, &self.client_id, retry_count).encoded_len();
        let lengths = varint::len(header_len as u64) + varint::len(message_len as u64);
        LENGTH_LEN + lengths + header_len + self.method.len() + message_len
    }
}

/// A reply as it came, borrowed from its packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply<'a> {
    /// What stands first. An ERROR is this call's failure, a FATAL that of all calls of the
    /// connection.
    pub header: ReplyHeader<'a>,
    /// In a success the rest of the packet: the message with its length. See [`Reply::message`].
    pub body: &'a [u8],
}

impl<'a> Reply<'a> {
    /// The reply's message without its length. That it cannot be read is this call's failure,
    /// not the connection's.
    #[inline]
    pub fn message(&self) -> Result<&'a [u8], ProtoError> {
        fields::delimited(self.body).map(|(message, _)| message)
    }
}

/// What stands at the front of the bytes from a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received<'a> {
    /// At least `total` bytes are needed.
    NeedMore {
        /// Bytes from the front of what was given.
        total: usize,
    },
    /// A reply of this many bytes, the length word included.
    Reply(usize, Reply<'a>),
    /// The server speaks a version before 9, or takes us for one, and closes the connection.
    OldRefusal {
        /// The Java class.
        class: &'a [u8],
        /// For people.
        text: &'a [u8],
    },
}

/// Why the bytes from a server are not replies. The connection is of no use any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ReplyError {
    /// The length word is 0 or negative.
    #[error("reply of {0} bytes announced, a length is 1 or more")]
    Length(i32),
    /// The length word is above the limit.
    #[error("reply of {length} bytes announced, the limit is {limit}")]
    TooLong {
        /// Value of the length word.
        length: u32,
        /// The limit in force.
        limit: u32,
    },
    /// The reply header cannot be read.
    #[error("the reply header cannot be read: {0}")]
    Header(ProtoError),
    /// The reply is for another client.
    #[error("the reply is for another client")]
    ForeignClientId,
    /// Something follows the header of a failure.
    #[error("{0} bytes follow the header of a reply that is no success")]
    TrailingBytes(usize),
}

/// Reads the replies of one connection.
#[derive(Clone, Debug)]
pub struct Replies {
    client_id: ClientId,
    reply_max: u32,
    is_first: bool,
}

impl Replies {
    /// For a fresh connection of the client of this id, with Hadoop's limit of a reply's length.
    pub fn new(client_id: ClientId) -> Replies {
        Replies { client_id, reply_max: PACKET_MAX_DEFAULT, is_first: true }
    }

    /// With another limit; 0 is none.
    pub fn with_reply_max(self, reply_max: u32) -> Replies {
        let reply_max = if reply_max == 0 { u32::MAX } else { reply_max };
        Replies { reply_max, ..self }
    }

    /// Looks at the front of `bytes`. Behind an error or an old refusal nothing is to be read.
    #[inline]
    pub fn receive<'a>(&mut self, bytes: &'a [u8]) -> Result<Received<'a>, ReplyError> {
        let Some((word, rest)) = bytes.split_first_chunk::<LENGTH_LEN>() else {
            return Ok(Received::NeedMore { total: LENGTH_LEN });
        };
        let signed = i32::from_be_bytes(*word);
        if signed == -1 && self.is_first {
            return old_refusal(bytes, self.reply_max);
        }
        let length = match u32::try_from(signed) {
            Ok(length) if length > 0 => length,
            _ => return Err(ReplyError::Length(signed)),
        };
        if length > self.reply_max {
            return Err(ReplyError::TooLong { length, limit: self.reply_max });
        }
        let total = LENGTH_LEN + length as usize;
        let Some(packet) = rest.get(..length as usize) else {
            return Ok(Received::NeedMore { total });
        };
        self.is_first = false;
        let (message, body) = fields::delimited(packet).map_err(ReplyError::Header)?;
        let header = ReplyHeader::decode(message).map_err(ReplyError::Header)?;
        if !header.client_id.is_empty() && header.client_id != self.client_id {
            return Err(ReplyError::ForeignClientId);
        }
        if header.status != Status::Success && !body.is_empty() {
            return Err(ReplyError::TrailingBytes(body.len()));
        }
        Ok(Received::Reply(total, Reply { header, body }))
    }
}

/// Call id and status, both of 32 bits, then class and text, each behind a length of 32 bits.
fn old_refusal(bytes: &[u8], limit: u32) -> Result<Received<'_>, ReplyError> {
    let mut at = 2 * LENGTH_LEN;
    let mut strings = [&[][..]; 2];
    for string in &mut strings {
        let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk::<LENGTH_LEN>()) else {
            return Ok(Received::NeedMore { total: at + LENGTH_LEN });
        };
        let signed = i32::from_be_bytes(*word);
        let length = u32::try_from(signed).map_err(|_| ReplyError::Length(signed))?;
        if length > limit {
            return Err(ReplyError::TooLong { length, limit });
        }
        at += LENGTH_LEN + length as usize;
        let Some(whole) = bytes.get(at - length as usize..at) else {
            return Ok(Received::NeedMore { total: at });
        };
        *string = whole;
    }
    let [class, text] = strings;
    Ok(Received::OldRefusal { class, text })
}

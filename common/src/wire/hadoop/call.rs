//! A call: a packet of a client with a call id of 0 or more.

use super::fault::Fault;
use super::fields::{self, ProtoError};
use super::header::CallHeader;
use super::method::MethodHeader;
use super::packet::{self, LENGTH_LEN, Split};
use super::reply::ReplyTo;
use super::varint;

/// A call as it came, borrowed from its packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call<'a> {
    /// What stands first.
    pub header: CallHeader<'a>,
    /// Which method it is for.
    pub method: MethodHeader<'a>,
    /// The rest of the packet: the call's message with its length, and whatever is behind it,
    /// which is passed over. See [`Call::message`].
    pub body: &'a [u8],
}

impl<'a> Call<'a> {
    /// Takes apart a packet, without its length word, that [`super::conversation`] has passed on
    /// as a call, for whoever has kept only its bytes.
    ///
    /// The same bytes give the same call. Of other packets it tells which part cannot be read.
    #[inline]
    pub fn decode(packet: &'a [u8]) -> Result<Call<'a>, Fault<'a>> {
        let (header, rest) = split_header(packet)?;
        Call::behind(header, rest)
    }

    /// The call whose header is read and whose method header begins `rest`.
    #[inline]
    pub(super) fn behind(header: CallHeader<'a>, rest: &'a [u8]) -> Result<Call<'a>, Fault<'a>> {
        let (message, body) = fields::delimited(rest).map_err(Fault::Message)?;
        let method = MethodHeader::decode(message).map_err(Fault::Message)?;
        Ok(Call { header, method, body })
    }

    /// The call's message without its length; what the service reads.
    #[inline]
    pub fn message(&self) -> Result<&'a [u8], ProtoError> {
        fields::delimited(self.body).map(|(message, _)| message)
    }

    /// What of the call comes back in its answer.
    #[inline]
    pub fn reply_to(&self) -> ReplyTo<'a> {
        ReplyTo::from(&self.header)
    }
}

/// The calls in a run of whole packets that [`super::conversation`] has gone through.
///
/// What is not a call, or was answered there, is passed over, so a run may be kept as the bytes
/// from its first call to its last, whatever came in between.
#[derive(Clone, Debug)]
pub struct Calls<'a> {
    rest: &'a [u8],
}

impl<'a> Calls<'a> {
    /// The calls in `packets`, length words included.
    #[inline]
    pub fn of(packets: &'a [u8]) -> Calls<'a> {
        Calls { rest: packets }
    }

    /// What is behind the call that came out last.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl<'a> Iterator for Calls<'a> {
    type Item = Call<'a>;

    #[inline]
    fn next(&mut self) -> Option<Call<'a>> {
        // The limit of a packet's length has been kept before.
        while let Ok(Split::Packet(packet)) = packet::split(self.rest, u32::MAX) {
            self.rest = &self.rest[LENGTH_LEN + packet.len()..];
            match Call::decode(packet) {
                Ok(call) if call.header.call_id >= 0 => return Some(call),
                _ => {}
            }
        }
        None
    }
}

/// The call header at the front of a packet, and what is behind it.
#[inline]
pub(super) fn split_header(packet: &[u8]) -> Result<(CallHeader<'_>, &[u8]), Fault<'_>> {
    fields::delimited(packet)
        .and_then(|(message, rest)| Ok((CallHeader::decode(message)?, rest)))
        .map_err(|error| Fault::Undecodable("RpcRequestHeaderProto", error))
}

/// Appends a packet up to what follows the call header; `rest_len` more bytes are to follow.
#[inline]
pub(super) fn put_header(out: &mut Vec<u8>, header: &CallHeader, rest_len: usize) {
    let header_len = header.encoded_len();
    packet::put_length(out, varint::len(header_len as u64) + header_len + rest_len);
    varint::put(out, header_len as u64);
    header.encode(out);
}

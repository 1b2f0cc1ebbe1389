//! What stands first in every packet of a client: RpcRequestHeaderProto, here the call header.
//!
//! | number | field | wire form | rule |
//! |---|---|---|---|
//! | 1 | rpcKind | enum | optional in the schema, refused by the server when absent |
//! | 2 | rpcOp | enum | the same; only FINAL_PACKET is implemented, its 0 must be written |
//! | 3 | callId | sint32 | required |
//! | 4 | clientId | bytes | required, any length; 16 bytes in practice, none in SASL packets |
//! | 5 | retryCount | sint32 | -1 when absent |
//! | 6 | traceInfo | message | passed over, but must be a message |
//! | 7 | callerContext | message {1 context, required} | the same |
//! | 8, 9 | stateId, routerFederatedState | int64, bytes | passed over |
//!
//! Source: RpcHeader.proto of Hadoop 3.3.4 (descriptors in its client jar) and of Ozone.

use super::fields::{self, Fields, Missing, ProtoError, Value};
use super::varint::unzigzag;

/// The call id under which failures are answered that belong to no call.
pub const NO_CALL_ID: i32 = -1;
/// The call id of the connection context.
pub const CONTEXT_CALL_ID: i32 = -3;
/// The call id of a ping, which is not answered.
pub const PING_CALL_ID: i32 = -4;
/// The call id of SASL packets; also the auth byte that asks for them.
pub const SASL_CALL_ID: i32 = -33;
/// The retry count of packets that are no calls.
pub const NO_RETRY_COUNT: i32 = -1;
/// Bytes of the client id that a Hadoop client makes up, a UUID.
pub const CLIENT_ID_LEN: usize = 16;

/// Which engine a call is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum RpcKind {
    /// For Hadoop's own tests.
    Builtin = 0,
    /// Hadoop's old serialization.
    Writable = 1,
    /// Protocol Buffers, the only one served here.
    ProtocolBuffer = 2,
}

impl RpcKind {
    /// The name in the schema.
    pub fn name(self) -> &'static str {
        match self {
            RpcKind::Builtin => "RPC_BUILTIN",
            RpcKind::Writable => "RPC_WRITABLE",
            RpcKind::ProtocolBuffer => "RPC_PROTOCOL_BUFFER",
        }
    }

    fn from_wire(value: u64) -> Option<RpcKind> {
        Some(match value as u32 {
            0 => RpcKind::Builtin,
            1 => RpcKind::Writable,
            2 => RpcKind::ProtocolBuffer,
            _ => return None,
        })
    }
}

/// What the server shall do with the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum RpcOp {
    /// The call is whole.
    FinalPacket = 0,
    /// More of it follows; no server implements this.
    ContinuationPacket = 1,
    /// No server implements this.
    CloseConnection = 2,
}

impl RpcOp {
    /// The name in the schema.
    pub fn name(self) -> &'static str {
        match self {
            RpcOp::FinalPacket => "RPC_FINAL_PACKET",
            RpcOp::ContinuationPacket => "RPC_CONTINUATION_PACKET",
            RpcOp::CloseConnection => "RPC_CLOSE_CONNECTION",
        }
    }

    fn from_wire(value: u64) -> Option<RpcOp> {
        Some(match value as u32 {
            0 => RpcOp::FinalPacket,
            1 => RpcOp::ContinuationPacket,
            2 => RpcOp::CloseConnection,
            _ => return None,
        })
    }
}

/// The fields of RpcRequestHeaderProto that decide what happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallHeader<'a> {
    /// Absent, or a value that the schema does not know: the Java runtime makes no difference.
    pub kind: Option<RpcKind>,
    /// As `kind`.
    pub op: Option<RpcOp>,
    /// Chosen by the client; negative ones are not calls.
    pub call_id: i32,
    /// Returned as it came.
    pub client_id: &'a [u8],
    /// Returned as it came.
    pub retry_count: i32,
}

impl<'a> CallHeader<'a> {
    /// A header as a Hadoop client writes it.
    pub fn new(call_id: i32, client_id: &'a [u8], retry_count: i32) -> CallHeader<'a> {
        let (kind, op) = (Some(RpcKind::ProtocolBuffer), Some(RpcOp::FinalPacket));
        CallHeader { kind, op, call_id, client_id, retry_count }
    }

    /// Reads the message that `bytes` are.
    #[inline]
    pub fn decode(bytes: &'a [u8]) -> Result<CallHeader<'a>, ProtoError> {
        let mut header = CallHeader {
            kind: None,
            op: None,
            call_id: 0,
            client_id: &[],
            retry_count: NO_RETRY_COUNT,
        };
        let (mut has_call_id, mut has_client_id) = (false, false);
        let mut caller = Caller::Absent;
        let mut fields = Fields::new(bytes);
        while let Some(field) = fields.advance()? {
            match (field.number, field.value) {
                (1, Value::Varint(value)) => {
                    header.kind = RpcKind::from_wire(value).or(header.kind)
                }
                (2, Value::Varint(value)) => header.op = RpcOp::from_wire(value).or(header.op),
                (3, Value::Varint(value)) => {
                    header.call_id = unzigzag(value as u32);
                    has_call_id = true;
                }
                (4, Value::Bytes(value)) => {
                    header.client_id = value;
                    has_client_id = true;
                }
                (5, Value::Varint(value)) => header.retry_count = unzigzag(value as u32),
                (6, Value::Bytes(value)) => fields::check(value)?,
                (7, Value::Bytes(value)) => caller.merge(value)?,
                _ => {}
            }
        }
        Missing::check([
            (has_call_id, "callId"),
            (has_client_id, "clientId"),
            (caller != Caller::WithoutContext, "callerContext.context"),
        ])?;
        fields.finish()?;
        Ok(header)
    }

    /// Bytes that [`CallHeader::encode`] appends.
    #[inline]
    pub fn encoded_len(&self) -> usize {
        2 * (usize::from(self.kind.is_some()) + usize::from(self.op.is_some()))
            + fields::sint_len(3, self.call_id)
            + fields::bytes_len(4, self.client_id.len())
            + fields::sint_len(5, self.retry_count)
    }

    /// Appends the message, fields in ascending order as Java writes them.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>) {
        if let Some(kind) = self.kind {
            fields::put_varint(out, 1, kind as u64);
        }
        if let Some(op) = self.op {
            fields::put_varint(out, 2, op as u64);
        }
        fields::put_sint(out, 3, self.call_id);
        fields::put_bytes(out, 4, self.client_id);
        fields::put_sint(out, 5, self.retry_count);
    }
}

/// Whether a callerContext came, and with what it must hold; several of them are one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Caller {
    Absent,
    WithoutContext,
    Whole,
}

impl Caller {
    fn merge(&mut self, bytes: &[u8]) -> Result<(), ProtoError> {
        if *self == Caller::Absent {
            *self = Caller::WithoutContext;
        }
        let mut fields = Fields::new(bytes);
        while let Some(field) = fields.advance()? {
            if let (1, Value::Bytes(_)) = (field.number, field.value) {
                *self = Caller::Whole;
            }
        }
        fields.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &[u8] =
        &[0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 8, 9, 10, 11, 12, 13, 14, 15];

    fn encoded(header: &CallHeader) -> Vec<u8> {
        let mut out = Vec::new();
        header.encode(&mut out);
        assert_eq!(out.len(), header.encoded_len());
        out
    }

    fn missing(bytes: &[u8], names: &str) {
        let text = format!("Message missing required fields: {names}");
        assert_eq!(CallHeader::decode(bytes).unwrap_err().to_string(), text);
    }

    #[test]
    fn a_call_is_written_as_java_writes_it_and_read_back() {
        for (call_id, retry, end) in [(0, 0, [0x28, 0]), (-3, -1, [0x28, 1]), (63, 255, [0xfe, 3])]
        {
            let header = CallHeader::new(call_id, ID, retry);
            let bytes = encoded(&header);
            assert_eq!(CallHeader::decode(&bytes), Ok(header));
            assert_eq!(bytes[..4], [8, 2, 0x10, 0]);
            assert!(bytes.ends_with(&end), "{bytes:02x?}");
        }
        assert_eq!(encoded(&CallHeader::new(63, ID, 0)).len(), 26);
        assert_eq!(encoded(&CallHeader::new(64, ID, 0)).len(), 27);
    }

    #[test]
    fn any_order_repeats_and_unknown_fields_are_taken() {
        let bytes = [0x28, 4, 0x22, 1, b'x', 0x7a, 1, 9, 0x18, 2, 0x18, 4, 0x10, 0, 8, 2];
        let header = CallHeader::decode(&bytes).unwrap();
        assert_eq!(header, CallHeader::new(2, b"x", 2));
    }

    #[test]
    fn an_unknown_enum_value_counts_as_absent() {
        let header = CallHeader::decode(&[8, 99, 0x10, 7, 0x18, 0, 0x22, 0]).unwrap();
        assert_eq!((header.kind, header.op, header.retry_count), (None, None, -1));
        let bytes = [8, 2, 8, 99, 0x10, 1, 0x10, 7, 0x18, 0, 0x22, 0];
        let header = CallHeader::decode(&bytes).unwrap();
        assert_eq!(header.kind, Some(RpcKind::ProtocolBuffer));
        assert_eq!(header.op, Some(RpcOp::ContinuationPacket), "the last that is known");
    }

    #[test]
    fn missing_fields_are_named_nested_ones_too() {
        missing(&[8, 2, 0x10, 0], "callId, clientId");
        missing(&[0x18, 0], "clientId");
        missing(&[0x18, 0, 0x22, 0, 0x3a, 0], "callerContext.context");
        missing(&[0x3a, 2, 0x12, 0, 0x22, 0], "callId, callerContext.context");
        missing(&[0x0c], "callId, clientId");
        assert_eq!(CallHeader::decode(&[0x18, 0, 0x22, 0, 0x0c]), Err(ProtoError::EndTag));
        assert!(CallHeader::decode(&[0x18, 0, 0x22, 0, 0x3a, 2, 0x0a, 0]).is_ok());
        assert!(CallHeader::decode(&[0x18, 0, 0x22, 0, 0x3a, 0, 0x3a, 2, 0x0a, 0]).is_ok());
    }

    #[test]
    fn embedded_messages_must_be_messages() {
        for number in [6, 7] {
            let bytes = [0x18, 0, 0x22, 0, number << 3 | 2, 1, 0xff];
            assert_eq!(CallHeader::decode(&bytes), Err(ProtoError::Truncated));
        }
    }
}

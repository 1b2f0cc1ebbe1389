//! Which method of which protocol a call is for: RequestHeaderProto, here the method header.
//!
//! 1 methodName (string), 2 declaringClassProtocolName (string), 3 clientProtocolVersion (uint64),
//! all required. Source: ProtobufRpcEngine2.proto of Hadoop 3.3.4.

use super::fields::{self, Fields, Missing, ProtoError, Value};

/// The fields of RequestHeaderProto.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MethodHeader<'a> {
    /// The name of the method.
    pub method: &'a [u8],
    /// The name of the protocol that declares the method.
    pub protocol: &'a [u8],
    /// The version of that protocol that the client was built for.
    pub version: u64,
}

impl<'a> MethodHeader<'a> {
    /// Reads the message that `bytes` are.
    #[inline]
    pub fn decode(bytes: &'a [u8]) -> Result<MethodHeader<'a>, ProtoError> {
        let (mut method, mut protocol, mut version) = (None, None, None);
        let mut fields = Fields::new(bytes);
        while let Some(field) = fields.advance()? {
            match (field.number, field.value) {
                (1, Value::Bytes(value)) => method = Some(value),
                (2, Value::Bytes(value)) => protocol = Some(value),
                (3, Value::Varint(value)) => version = Some(value),
                _ => {}
            }
        }
        Missing::check([
            (method.is_some(), "methodName"),
            (protocol.is_some(), "declaringClassProtocolName"),
            (version.is_some(), "clientProtocolVersion"),
        ])?;
        fields.finish()?;
        let (method, protocol) = (method.unwrap_or_default(), protocol.unwrap_or_default());
        Ok(MethodHeader { method, protocol, version: version.unwrap_or_default() })
    }

    /// Bytes that [`MethodHeader::encode`] appends.
    pub fn encoded_len(&self) -> usize {
        fields::bytes_len(1, self.method.len())
            + fields::bytes_len(2, self.protocol.len())
            + fields::varint_len(3, self.version)
    }

    /// Appends the message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        fields::put_bytes(out, 1, self.method);
        fields::put_bytes(out, 2, self.protocol);
        fields::put_varint(out, 3, self.version);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_is_written_as_java_writes_it_and_read_back() {
        let header = MethodHeader { method: b"echo", protocol: b"bench.EchoProtocol", version: 1 };
        let mut out = Vec::new();
        header.encode(&mut out);
        assert_eq!(out, b"\x0a\x04echo\x12\x12bench.EchoProtocol\x18\x01");
        assert_eq!((out.len(), MethodHeader::decode(&out)), (header.encoded_len(), Ok(header)));
    }

    #[test]
    fn missing_fields_are_named() {
        let check = |bytes: &[u8], names: &str| {
            let text = format!("Message missing required fields: {names}");
            assert_eq!(MethodHeader::decode(bytes).unwrap_err().to_string(), text);
        };
        check(b"", "methodName, declaringClassProtocolName, clientProtocolVersion");
        check(b"\x0a\x01a\x18\x01", "declaringClassProtocolName");
        check(b"\x0a\x01a\x12\x01b", "clientProtocolVersion");
    }
}

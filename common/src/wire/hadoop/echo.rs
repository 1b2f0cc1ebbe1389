//! A generic echo: a message with one field, number 1, bytes or a string, both ways.
//!
//! The answer holds the field if the call did. So both kinds of schema are content: one in which
//! an empty field is not written (BytesValue), and one in which it must be there.

use super::fields::{self, Fields, ProtoError, Value};

/// The method that echoes, under whatever protocol.
pub const METHOD: &[u8] = b"echo";

/// Field 1 of the message that `bytes` are; the last one, if there are several.
pub fn decode(bytes: &[u8]) -> Result<Option<&[u8]>, ProtoError> {
    let mut found = None;
    let mut fields = Fields::new(bytes);
    while let Some(field) = fields.advance()? {
        if let (1, Value::Bytes(value)) = (field.number, field.value) {
            found = Some(value);
        }
    }
    fields.finish().map(|()| found)
}

/// Bytes that [`encode`] appends.
pub fn encoded_len(payload: Option<&[u8]>) -> usize {
    payload.map_or(0, |payload| fields::bytes_len(1, payload.len()))
}

/// Appends the message.
pub fn encode(payload: Option<&[u8]>, out: &mut Vec<u8>) {
    if let Some(payload) = payload {
        fields::put_bytes(out, 1, payload);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_read_back_and_an_absent_one_stays_absent() {
        for payload in [None, Some(&b""[..]), Some(b"hello"), Some(&[7; 300])] {
            let mut out = Vec::new();
            encode(payload, &mut out);
            assert_eq!((out.len(), decode(&out)), (encoded_len(payload), Ok(payload)));
        }
        assert_eq!(decode(b"\x0a\x01a\x12\x01x\x0a\x01b\x08\x05"), Ok(Some(&b"b"[..])));
        assert_eq!(decode(b"\x0a\x7fab"), Err(ProtoError::Truncated));
    }
}

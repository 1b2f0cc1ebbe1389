//! The fields of a message, as Hadoop's Java runtime of Protocol Buffers reads and writes them.
//!
//! What the Java runtime accepts is accepted: any order, a field twice (the last wins), fields
//! that are not known, and a known number under another wire type, which counts as not known.
//! Strings are bytes here, since proto2 does not check them.

use super::varint;
use std::fmt;
use thiserror::Error;

/// Why a message cannot be read. The texts are those of the Java runtime, which Hadoop passes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ProtoError {
    /// A field, or the message itself, is longer than what there is.
    #[error(
        "While parsing a protocol message, the input ended unexpectedly in the middle of a field.  \
         This could mean either that the input has been truncated or that an embedded message \
         misreported its own length."
    )]
    Truncated,
    /// A length has its top bit set.
    #[error(
        "CodedInputStream encountered an embedded string or message which claimed to have \
         negative size."
    )]
    NegativeSize,
    /// A varint that does not end within ten bytes.
    #[error("CodedInputStream encountered a malformed varint.")]
    MalformedVarint,
    /// A field of number 0.
    #[error("Protocol message contained an invalid tag (zero).")]
    ZeroTag,
    /// The end of a group that did not begin, or the other way round.
    #[error("Protocol message end-group tag did not match expected tag.")]
    EndTag,
    /// Wire type 6 or 7.
    #[error("Protocol message tag had invalid wire type.")]
    WireType,
    /// Groups within groups, more than [`DEPTH_MAX`].
    #[error(
        "Protocol message had too many levels of nesting.  May be malicious.  Use \
         CodedInputStream.setRecursionLimit() to increase the depth limit."
    )]
    TooDeep,
    /// Fields that must be there are not.
    #[error("Message missing required fields: {0}")]
    Missing(Missing),
}

/// The names of required fields that a message lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Missing([Option<&'static str>; 3]);

impl Missing {
    /// An error naming each field whose flag says that it is absent, if there is any.
    #[inline]
    pub fn check(present: [(bool, &'static str); 3]) -> Result<(), ProtoError> {
        if present.iter().all(|&(is_there, _)| is_there) {
            return Ok(());
        }
        let names = present.map(|(is_there, name)| (!is_there).then_some(name));
        Err(ProtoError::Missing(Missing(names)))
    }

    /// For [`Missing::check`]: a place that is not used.
    pub const NONE: (bool, &'static str) = (true, "");
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, name) in self.0.iter().flatten().enumerate() {
            f.write_str(if index == 0 { "" } else { ", " })?;
            f.write_str(name)?;
        }
        Ok(())
    }
}

/// How deep groups may be nested, as in the Java runtime.
pub const DEPTH_MAX: u32 = 100;

/// One field of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// Its number, at least 1.
    pub number: u32,
    /// What it holds.
    pub value: Value<'a>,
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// Wire type 0. Fields of 32 bits use the low half.
    Varint(u64),
    /// Wire type 2: bytes, a string or a message.
    Bytes(&'a [u8]),
    /// Wire types 1, 3 and 5, which none of the messages here uses.
    Other,
}

/// Goes through the fields of one message.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    rest: &'a [u8],
    /// An end-of-group tag has ended the message early.
    cut: bool,
}

impl<'a> Fields<'a> {
    /// The fields of the message that `bytes` are.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Fields<'a> {
        Fields { rest: bytes, cut: false }
    }

    /// The next field; `None` at the end. Takes time in proportion to the bytes it passes.
    #[inline]
    pub fn advance(&mut self) -> Result<Option<Field<'a>>, ProtoError> {
        if self.rest.is_empty() || self.cut {
            return Ok(None);
        }
        let (number, wire_type) = self.tag()?;
        let value = match wire_type {
            0 => Value::Varint(self.varint()?),
            2 => Value::Bytes(self.delimited()?),
            4 => {
                self.cut = true;
                return Ok(None);
            }
            other => {
                self.skip(number, other, 0)?;
                Value::Other
            }
        };
        Ok(Some(Field { number, value }))
    }

    /// To be called behind the last field, and behind the check for required ones.
    #[inline]
    pub fn finish(self) -> Result<(), ProtoError> {
        if self.cut { Err(ProtoError::EndTag) } else { Ok(()) }
    }

    fn varint(&mut self) -> Result<u64, ProtoError> {
        let (value, taken) = varint::read(self.rest)?;
        self.rest = &self.rest[taken..];
        Ok(value)
    }

    fn tag(&mut self) -> Result<(u32, u32), ProtoError> {
        let tag = self.varint()? as u32;
        if tag >> 3 == 0 { Err(ProtoError::ZeroTag) } else { Ok((tag >> 3, tag & 7)) }
    }

    fn delimited(&mut self) -> Result<&'a [u8], ProtoError> {
        let (inside, behind) = delimited(self.rest)?;
        self.rest = behind;
        Ok(inside)
    }

    fn skip(&mut self, number: u32, wire_type: u32, depth: u32) -> Result<(), ProtoError> {
        match wire_type {
            0 => self.varint().map(|_| ()),
            1 => self.fixed(8),
            2 => self.delimited().map(|_| ()),
            3 => self.group(number, depth),
            5 => self.fixed(4),
            _ => Err(ProtoError::WireType),
        }
    }

    fn fixed(&mut self, len: usize) -> Result<(), ProtoError> {
        self.rest = self.rest.get(len..).ok_or(ProtoError::Truncated)?;
        Ok(())
    }

    fn group(&mut self, number: u32, depth: u32) -> Result<(), ProtoError> {
        if depth >= DEPTH_MAX {
            return Err(ProtoError::TooDeep);
        }
        while !self.rest.is_empty() {
            let (inner, wire_type) = self.tag()?;
            if wire_type == 4 {
                return if inner == number { Ok(()) } else { Err(ProtoError::EndTag) };
            }
            self.skip(inner, wire_type, depth + 1)?;
        }
        Err(ProtoError::EndTag)
    }
}

/// The message behind its length at the front of `bytes`, and what is behind the message.
#[inline]
pub fn delimited(bytes: &[u8]) -> Result<(&[u8], &[u8]), ProtoError> {
    let (len, taken) = varint::read(bytes)?;
    let len = len as u32 as i32;
    if len < 0 {
        return Err(ProtoError::NegativeSize);
    }
    bytes[taken..].split_at_checked(len as usize).ok_or(ProtoError::Truncated)
}

/// Whether `bytes` are a message at all; for embedded messages whose fields are not looked at.
pub fn check(bytes: &[u8]) -> Result<(), ProtoError> {
    let mut fields = Fields::new(bytes);
    while fields.advance()?.is_some() {}
    fields.finish()
}

/// Appends field `number` as a varint.
#[inline]
pub fn put_varint(out: &mut Vec<u8>, number: u32, value: u64) {
    varint::put(out, u64::from(number << 3));
    varint::put(out, value);
}

/// Appends field `number` as a zigzag `sint32`.
#[inline]
pub fn put_sint(out: &mut Vec<u8>, number: u32, value: i32) {
    put_varint(out, number, u64::from(varint::zigzag(value)));
}

/// Appends tag and length of field `number`; its `len` bytes are to follow.
#[inline]
pub fn put_len(out: &mut Vec<u8>, number: u32, len: usize) {
    varint::put(out, u64::from(number << 3 | 2));
    varint::put(out, len as u64);
}

/// Appends field `number` as bytes.
#[inline]
pub fn put_bytes(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    put_len(out, number, bytes.len());
    out.extend_from_slice(bytes);
}

/// Bytes that [`put_varint`] appends.
#[inline]
pub fn varint_len(number: u32, value: u64) -> usize {
    varint::len(u64::from(number << 3)) + varint::len(value)
}

/// Bytes that [`put_sint`] appends.
#[inline]
pub fn sint_len(number: u32, value: i32) -> usize {
    varint_len(number, u64::from(varint::zigzag(value)))
}

/// Bytes that [`put_bytes`] appends for `len` of them.
#[inline]
pub fn bytes_len(number: u32, len: usize) -> usize {
    varint_len(number, len as u64) + len
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Result<Vec<Field<'_>>, ProtoError> {
        let mut fields = Fields::new(bytes);
        let mut seen = Vec::new();
        while let Some(field) = fields.advance()? {
            seen.push(field);
        }
        fields.finish().map(|()| seen)
    }

    fn refused(bytes: &[u8], expected: ProtoError) {
        assert_eq!(all(bytes), Err(expected), "{bytes:02x?}");
    }

    #[test]
    fn fields_of_every_wire_type_are_passed() {
        let bytes = [
            &[0x08, 0x96, 0x01][..],
            &[0x12, 0x02, b'h', b'i'],
            &[0x19, 1, 2, 3, 4, 5, 6, 7, 8],
            &[0x25, 1, 2, 3, 4],
            &[0x2b, 0x33, 0x08, 0x01, 0x34, 0x2c],
            &[0x38, 0x00],
        ]
        .concat();
        let field = |number, value| Field { number, value };
        assert_eq!(
            all(&bytes).unwrap(),
            [
                field(1, Value::Varint(150)),
                field(2, Value::Bytes(b"hi")),
                field(3, Value::Other),
                field(4, Value::Other),
                field(5, Value::Other),
                field(7, Value::Varint(0)),
            ]
        );
    }

    #[test]
    fn each_kind_of_fault_has_its_name() {
        refused(&[0x08], ProtoError::Truncated);
        refused(&[0x12, 3, 1, 2], ProtoError::Truncated);
        refused(&[0x19, 1, 2, 3], ProtoError::Truncated);
        refused(&[0x12, 0xff, 0xff, 0xff, 0xff, 0x0f], ProtoError::NegativeSize);
        refused(&[0xff; 12], ProtoError::MalformedVarint);
        refused(&[0x00, 0x00], ProtoError::ZeroTag);
        refused(&[0x0c], ProtoError::EndTag);
        refused(&[0x0b, 0x14], ProtoError::EndTag);
        refused(&[0x0b, 0x10, 0x01], ProtoError::EndTag);
        refused(&[0x0e], ProtoError::WireType);
        refused(&[0x0f], ProtoError::WireType);
    }

    #[test]
    fn nested_groups_end_at_the_limit_and_not_in_the_stack() {
        let nested = |depth: usize| [vec![0x0b; depth], vec![0x0c; depth]].concat();
        assert!(all(&nested(DEPTH_MAX as usize)).is_ok());
        refused(&nested(DEPTH_MAX as usize + 1), ProtoError::TooDeep);
        refused(&vec![0x0b; 1 << 20], ProtoError::TooDeep);
    }

    #[test]
    fn missing_fields_are_named_in_order() {
        let two = Missing::check([(false, "callId"), (true, "op"), (false, "clientId")]);
        let text = "Message missing required fields: callId, clientId";
        assert_eq!(two.unwrap_err().to_string(), text);
        assert_eq!(Missing::check([(true, "a"), Missing::NONE, Missing::NONE]), Ok(()));
    }

    #[test]
    fn written_lengths_are_those_foretold() {
        for len in [0, 1, 127, 128, 16_383, 16_384] {
            let mut out = Vec::new();
            put_bytes(&mut out, 110, &vec![7; len]);
            assert_eq!(out.len(), bytes_len(110, len));
            put_sint(&mut out, 3, -(len as i32));
            assert_eq!(out.len(), bytes_len(110, len) + sint_len(3, -(len as i32)));
        }
    }
}

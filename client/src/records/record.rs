//! The bytes of a record: its stream, its sequence in the stream (u64 each, big-endian), and filler
//! that both decide. They are made anew whenever they are needed, to send and to compare.

use crate::faulty::RecordName;
use crate::payload::Payload;

/// Bytes of stream and sequence.
const HEAD_LEN: usize = 16;

/// What all records of a run have in common.
#[derive(Debug)]
pub(super) struct Shape {
    filler: Payload,
}

/// A record's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Name {
    pub(super) stream: u64,
    pub(super) sequence: u64,
}

impl Shape {
    /// Records of `len` bytes, at least 16.
    pub(super) fn new(len: usize) -> Shape {
        let filler = len - HEAD_LEN;
        Shape { filler: Payload::new(filler, filler) }
    }

    pub(super) fn len(&self) -> usize {
        HEAD_LEN + self.filler.len()
    }

    /// Appends a record.
    #[inline]
    pub(super) fn put(&self, name: Name, out: &mut Vec<u8>) {
        out.extend_from_slice(&name.head());
        let (id, mut position) = (name.filler_id(), 0);
        while position < self.filler.len() {
            let piece = self.filler.call_piece(id, position);
            out.extend_from_slice(piece);
            position += piece.len();
        }
    }

    /// Whether `bytes`, as long as a record, are the record of this name.
    #[inline]
    pub(super) fn matches(&self, name: Name, bytes: &[u8]) -> bool {
        bytes.split_first_chunk().is_some_and(|(head, filler)| {
            *head == name.head() && self.filler.matches(name.filler_id(), 0, filler)
        })
    }

    /// The name that a record's bytes begin with; none if they are too few.
    pub(super) fn name(bytes: &[u8]) -> Option<Name> {
        let (stream, rest) = bytes.split_first_chunk()?;
        let (sequence, _) = rest.split_first_chunk()?;
        Some(Name { stream: u64::from_be_bytes(*stream), sequence: u64::from_be_bytes(*sequence) })
    }
}

impl From<Name> for RecordName {
    fn from(name: Name) -> RecordName {
        RecordName { stream: name.stream, sequence: name.sequence }
    }
}

impl Name {
    fn head(self) -> [u8; HEAD_LEN] {
        (u128::from(self.stream) << 64 | u128::from(self.sequence)).to_be_bytes()
    }

    /// Streams are far apart, so that neighbours in a call differ.
    fn filler_id(self) -> u64 {
        self.stream.wrapping_mul(0xd1b5_4a32_d192_ed03).wrapping_add(self.sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_record_is_itself_and_no_other(
            len in 16usize..400, stream: u64, sequence: u64, wrong in 0usize..400,
        ) {
            let shape = Shape::new(len);
            let name = Name { stream, sequence };
            let mut bytes = Vec::new();
            shape.put(name, &mut bytes);
            prop_assert_eq!(bytes.len(), shape.len());
            prop_assert!(shape.matches(name, &bytes));
            prop_assert_eq!(Shape::name(&bytes), Some(name));
            let next = Name { sequence: sequence.wrapping_add(1), ..name };
            prop_assert!(!shape.matches(next, &bytes));
            let wrong = wrong % len;
            bytes[wrong] ^= 1;
            prop_assert!(!shape.matches(name, &bytes));
        }
    }
}

//! Variable-length integers and zigzag, as Hadoop's Java runtime of Protocol Buffers reads them.

use super::fields::ProtoError;

/// Most bytes of one varint.
pub const VARINT_LEN_MAX: usize = 10;

/// Reads the varint at the front of `bytes`; the value and how many bytes it took.
///
/// Like the Java runtime this takes up to ten bytes for a value of any width and drops the bits
/// that do not fit; callers cut the value to the field's width.
#[inline]
pub fn read(bytes: &[u8]) -> Result<(u64, usize), ProtoError> {
    match bytes.first() {
        Some(&byte) if byte < 0x80 => Ok((u64::from(byte), 1)),
        _ => read_long(bytes),
    }
}

fn read_long(bytes: &[u8]) -> Result<(u64, usize), ProtoError> {
    let mut value = 0;
    for (index, &byte) in bytes.iter().take(VARINT_LEN_MAX).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            return Ok((value, index + 1));
        }
    }
    let whole = bytes.len() >= VARINT_LEN_MAX;
    Err(if whole { ProtoError::MalformedVarint } else { ProtoError::Truncated })
}

/// Appends `value`.
#[inline]
pub fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Bytes that [`put`] appends for `value`.
#[inline]
pub fn len(value: u64) -> usize {
    (70 - (value | 1).leading_zeros() as usize) / 7
}

/// A signed 32-bit value as `sint32` writes it: 0, -1, 1, -2 become 0, 1, 2, 3.
#[inline]
pub fn zigzag(value: i32) -> u32 {
    ((value << 1) ^ (value >> 31)) as u32
}

/// The value that [`zigzag`] made into `value`.
#[inline]
pub fn unzigzag(value: u32) -> i32 {
    (value >> 1) as i32 ^ -((value & 1) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: u64, expected: &[u8]) {
        let mut out = Vec::new();
        put(&mut out, value);
        assert_eq!(out, expected, "{value}");
        assert_eq!(len(value), expected.len(), "{value}");
        assert_eq!(read(&out), Ok((value, out.len())), "{value}");
    }

    #[test]
    fn known_values_have_their_known_bytes() {
        check(0, &[0]);
        check(127, &[0x7f]);
        check(128, &[0x80, 1]);
        check(16_383, &[0xff, 0x7f]);
        check(16_384, &[0x80, 0x80, 1]);
        check(u64::from(-33i32 as u32), &[0xdf, 0xff, 0xff, 0xff, 0x0f]);
        check(u64::MAX, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]);
    }

    #[test]
    fn lengths_are_right_around_every_power_of_two() {
        for power in (0..64).map(|shift| 1u64 << shift) {
            for value in [power - 1, power, power | 1] {
                let mut out = Vec::new();
                put(&mut out, value);
                assert_eq!((len(value), read(&out)), (out.len(), Ok((value, out.len()))));
            }
        }
    }

    #[test]
    fn too_few_bytes_and_endless_ones_are_told_apart() {
        for n in 0..VARINT_LEN_MAX {
            assert_eq!(read(&vec![0xff; n]), Err(ProtoError::Truncated), "{n}");
        }
        assert_eq!(read(&[0xff; 10]), Err(ProtoError::MalformedVarint));
        assert_eq!(read(&[0xff; 11]), Err(ProtoError::MalformedVarint));
    }

    #[test]
    fn padded_and_overlong_values_are_taken_as_java_takes_them() {
        assert_eq!(read(&[0x81, 0x80, 0x00]), Ok((1, 3)));
        let overlong = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f];
        assert_eq!(read(&overlong), Ok((1 << 63, 10)));
    }

    #[test]
    fn call_ids_are_zigzag() {
        for (id, expected) in [(0, 0), (1, 2), (-1, 1), (-3, 5), (-4, 7), (-33, 0x41), (64, 128)] {
            assert_eq!((zigzag(id), unzigzag(expected)), (expected, id));
        }
        assert_eq!((zigzag(i32::MAX), zigzag(i32::MIN)), (u32::MAX - 1, u32::MAX));
        assert_eq!((unzigzag(u32::MAX - 1), unzigzag(u32::MAX)), (i32::MAX, i32::MIN));
    }
}

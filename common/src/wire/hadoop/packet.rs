//! Packets: in both directions a big-endian signed length of what follows, then that.

use thiserror::Error;

/// Bytes of the length word.
pub const LENGTH_LEN: usize = 4;
/// Default limit of the length word, that of Hadoop's `ipc.maximum.data.length` for packets to
/// the server and `ipc.maximum.response.length` for packets to the client.
pub const PACKET_MAX_DEFAULT: u32 = 128 << 20;

/// What stands at the front of a run of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split<'a> {
    /// The packet is not complete: at least `total` bytes are needed, the length word included.
    NeedMore {
        /// Bytes from the front of the run; only 4 while the length word itself is incomplete.
        total: usize,
    },
    /// What follows the length word of a whole packet.
    Packet(&'a [u8]),
}

/// Why a length word is refused, before any memory is spent on it. Nothing is answered to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LengthError {
    /// The top bit is set.
    #[error("packet of {0} bytes announced, a length is 0 or more")]
    Negative(i32),
    /// More than the limit.
    #[error("packet of {length} bytes announced, the limit is {limit}")]
    TooLong {
        /// Value of the length word.
        length: u32,
        /// The limit in force.
        limit: u32,
    },
}

/// Looks at the front of `bytes`. `limit` bounds the value of the length word.
///
/// A packet of length 0 is a packet, which then has no header: that is answered, unlike a bad
/// length.
#[inline]
pub fn split(bytes: &[u8], limit: u32) -> Result<Split<'_>, LengthError> {
    let Some((word, rest)) = bytes.split_first_chunk::<LENGTH_LEN>() else {
        return Ok(Split::NeedMore { total: LENGTH_LEN });
    };
    let signed = i32::from_be_bytes(*word);
    let Ok(length) = u32::try_from(signed) else {
        return Err(LengthError::Negative(signed));
    };
    if length > limit {
        return Err(LengthError::TooLong { length, limit });
    }
    Ok(match rest.get(..length as usize) {
        Some(packet) => Split::Packet(packet),
        None => Split::NeedMore { total: LENGTH_LEN + length as usize },
    })
}

/// Appends the length word of a packet of `len` bytes, which are to follow.
///
/// Nothing here makes longer ones than `i32::MAX`: what is encoded is bounded by a packet limit.
#[inline]
pub fn put_length(out: &mut Vec<u8>, len: usize) {
    debug_assert!(i32::try_from(len).is_ok(), "a packet of {len} bytes has no length word");
    out.extend_from_slice(&(len as u32).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_the_last_length_taken_and_zero_the_first() {
        let check = |length: i32, limit, expected| {
            assert_eq!(split(&length.to_be_bytes(), limit), expected, "{length} under {limit}");
        };
        let too_long = |length, limit| Err(LengthError::TooLong { length, limit });
        let max = PACKET_MAX_DEFAULT as i32;
        check(0, 1024, Ok(Split::Packet(&[])));
        check(1024, 1024, Ok(Split::NeedMore { total: 1028 }));
        check(1025, 1024, too_long(1025, 1024));
        check(max, PACKET_MAX_DEFAULT, Ok(Split::NeedMore { total: (128 << 20) + 4 }));
        check(max + 1, PACKET_MAX_DEFAULT, too_long((128 << 20) + 1, 128 << 20));
        check(i32::MAX, PACKET_MAX_DEFAULT, too_long(0x7fff_ffff, 128 << 20));
        check(-1, u32::MAX, Err(LengthError::Negative(-1)));
        check(i32::MIN, u32::MAX, Err(LengthError::Negative(i32::MIN)));
        check(i32::MAX, u32::MAX, Ok(Split::NeedMore { total: (1 << 31) + 3 }));
    }

    #[test]
    fn every_prefix_of_a_packet_waits_for_more() {
        let bytes = b"\0\0\0\x03abcd";
        assert_eq!(split(&bytes[..3], 3), Ok(Split::NeedMore { total: 4 }));
        for n in 4..7 {
            assert_eq!(split(&bytes[..n], 3), Ok(Split::NeedMore { total: 7 }));
        }
        assert_eq!(split(&bytes[..7], 3), Ok(Split::Packet(b"abc")));
        assert_eq!(split(bytes, 3), Ok(Split::Packet(b"abc")));
    }
}

//! Bytes in, whole frames out. The length limit lives here.

use super::native::{BODY_MIN, LENGTH_LEN};
use thiserror::Error;

/// What stands at the front of a run of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// Fewer bytes than a length word.
    NeedLength,
    /// The length word is legal, but the frame of `total` bytes (length word included) is not
    /// complete.
    NeedBody {
        /// Bytes of the whole frame.
        total: usize,
    },
    /// A whole frame of this many bytes, the length word included.
    Frame(usize),
}

/// Why a length word is refused, before any memory is spent on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LengthError {
    /// More than the limit; read as unsigned, so a set top bit ends here too.
    #[error("frame of {length} bytes announced, the limit is {limit}")]
    TooLong {
        /// Value of the length word.
        length: u32,
        /// The limit in force.
        limit: usize,
    },
    /// Less than a header needs.
    #[error("frame length {0} is below the {BODY_MIN} bytes of a header")]
    TooShort(u32),
}

/// Looks at the front of `bytes`. `limit` bounds the value of the length word.
#[inline]
pub fn split(bytes: &[u8], limit: usize) -> Result<Split, LengthError> {
    let Some(word) = bytes.first_chunk::<LENGTH_LEN>() else {
        return Ok(Split::NeedLength);
    };
    let length = u32::from_be_bytes(*word);
    if length as usize > limit {
        return Err(LengthError::TooLong { length, limit });
    }
    if (length as usize) < BODY_MIN {
        return Err(LengthError::TooShort(length));
    }
    let total = length as usize + LENGTH_LEN;
    Ok(if bytes.len() >= total { Split::Frame(total) } else { Split::NeedBody { total } })
}

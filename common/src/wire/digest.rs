//! The digest of a set of calls: the sum of each call's own digest, so that order does not matter.
//!
//! It finds calls that are missing, doubled or altered by accident. It is no protection against
//! somebody who wants it to be right.

/// The digest of the call with this number and payload.
pub fn of_call(sequence: u64, payload: &[u8]) -> u64 {
    let (words, rest) = payload.as_chunks::<8>();
    let mut digest = mixed(sequence ^ (payload.len() as u64).rotate_left(32));
    for word in words {
        digest = mixed(digest ^ u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    mixed(digest ^ u64::from_le_bytes(last))
}

/// Every bit of the result hangs on every bit of `value`.
#[inline]
fn mixed(value: u64) -> u64 {
    let product = u128::from(value ^ SALT) * u128::from(FACTOR);
    (product as u64) ^ ((product >> 64) as u64)
}

const SALT: u64 = 0x9e37_79b9_7f4a_7c15;
const FACTOR: u64 = 0xd6e8_feb8_6659_fd93;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn calls_that_differ_in_number_length_or_a_bit_have_other_digests() {
        let mut seen = HashSet::new();
        for sequence in 0..50 {
            for length in 0..40 {
                let mut payload = vec![7; length];
                assert!(seen.insert(of_call(sequence, &payload)), "{sequence}, {length} bytes");
                for at in 0..length {
                    payload[at] ^= 0x20;
                    assert!(seen.insert(of_call(sequence, &payload)), "{sequence}, byte {at}");
                    payload[at] ^= 0x20;
                }
            }
        }
    }

    #[test]
    fn the_digest_of_a_call_never_changes() {
        assert_eq!(of_call(1, b"echo echo echo"), of_call(1, b"echo echo echo"));
        assert_ne!(of_call(1, b"ab"), of_call(1, b"ba"));
    }
}

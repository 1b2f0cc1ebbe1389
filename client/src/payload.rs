//! What a call carries and what its reply must carry: a pseudo-random pattern, cut at a place that
//! the call's id decides, so that a reply with another call's bytes is seen.

/// A longer payload repeats the pattern, so that memory does not follow `--payload`.
const PATTERN_MAX: usize = 1 << 20;
/// What payloads of text are made of.
const TEXT: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Places at which a payload can begin.
const OFFSETS: usize = 256;

/// The bytes of all payloads of a run.
#[derive(Debug)]
pub(crate) struct Payload {
    pattern: Box<[u8]>,
    len: usize,
    reply_len: usize,
}

impl Payload {
    /// Payloads of `len` bytes, answered by `reply_len` bytes: the payload again and again, cut
    /// to that length (zero bytes if the payload is empty).
    pub(crate) fn new(len: usize, reply_len: usize) -> Payload {
        let pattern = if len == 0 {
            vec![0; reply_len.min(PATTERN_MAX) + OFFSETS].into_boxed_slice()
        } else {
            pseudo_random(len.min(PATTERN_MAX) + OFFSETS)
        };
        Payload { pattern, len, reply_len }
    }

    /// The same, of letters, digits and two signs: text in every encoding.
    pub(crate) fn text(len: usize, reply_len: usize) -> Payload {
        let mut payload = Payload::new(len, reply_len);
        for byte in &mut payload.pattern {
            *byte = TEXT[usize::from(*byte) % TEXT.len()];
        }
        payload
    }

    /// Bytes of a call's payload.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Bytes that a reply must have.
    pub(crate) fn reply_len(&self) -> usize {
        self.reply_len
    }

    /// The payload of call `id`, if the pattern has all of it in one piece.
    #[inline(always)]
    pub(crate) fn whole(&self, id: u64) -> Option<&[u8]> {
        let start = offset(id);
        if self.len <= PATTERN_MAX { self.pattern.get(start..start + self.len) } else { None }
    }

    /// The call's payload from `position` on, as far as it lies in one piece; empty at its end.
    #[inline]
    pub(crate) fn call_piece(&self, id: u64, position: usize) -> &[u8] {
        self.piece(offset(id) + position, self.len - position)
    }

    /// Whether `bytes` are what the reply to `id` must hold from `position` on. The bytes must not
    /// reach past the reply's length.
    #[inline(always)]
    pub(crate) fn matches(&self, id: u64, position: usize, bytes: &[u8]) -> bool {
        if position == 0
            && bytes.len() == self.len
            && let Some(whole) = self.whole(id)
        {
            return bytes == whole;
        }
        self.matches_in_pieces(id, position, bytes)
    }

    #[inline(never)]
    fn matches_in_pieces(&self, id: u64, mut position: usize, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            let expected = self.reply_piece(id, position, bytes.len());
            let (front, rest) = bytes.split_at(expected.len());
            if front != expected {
                return false;
            }
            position += front.len();
            bytes = rest;
        }
        true
    }

    /// At least one byte and at most `most` bytes of the reply to `id`, from `position` on.
    fn reply_piece(&self, id: u64, position: usize, most: usize) -> &[u8] {
        if self.len == 0 {
            return self.piece(position, most);
        }
        let within = position % self.len;
        self.piece(offset(id) + within, most.min(self.len - within))
    }

    /// At most `most` bytes of the endless repetition of the pattern.
    #[inline]
    fn piece(&self, at: usize, most: usize) -> &[u8] {
        let at = at % self.pattern.len();
        let end = self.pattern.len().min(at.saturating_add(most));
        &self.pattern[at..end]
    }
}

/// Where the payload of a call begins in the pattern: neighbouring ids are far apart.
#[inline]
fn offset(id: u64) -> usize {
    (id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize
}

/// The same bytes in every run (xorshift), so that a capture of one run explains another.
fn pseudo_random(len: usize) -> Box<[u8]> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..len).map(|_| next()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn call_bytes(payload: &Payload, id: u64) -> Vec<u8> {
        let mut all = Vec::new();
        while all.len() < payload.len() {
            all.extend_from_slice(payload.call_piece(id, all.len()));
        }
        all
    }

    /// What a correct server answers.
    fn reply_bytes(payload: &Payload, id: u64) -> Vec<u8> {
        let call = call_bytes(payload, id);
        if call.is_empty() {
            return vec![0; payload.reply_len()];
        }
        call.iter().copied().cycle().take(payload.reply_len()).collect()
    }

    #[test]
    fn payloads_longer_than_the_pattern_go_round_it() {
        let payload = Payload::new(3 * PATTERN_MAX + 5, 3 * PATTERN_MAX + 5);
        let bytes = call_bytes(&payload, 7);
        assert_eq!(bytes.len(), payload.len());
        assert!(payload.matches(7, 0, &bytes));
        assert!(!payload.matches(8, 0, &bytes));
    }

    #[test]
    fn replies_of_neighbouring_calls_differ() {
        let payload = Payload::new(64, 64);
        for id in 0..1000u64 {
            let bytes = call_bytes(&payload, id);
            assert!(!payload.matches(id + 1, 0, &bytes), "{id}");
            assert!(!payload.matches(id + (1 << 32), 0, &bytes), "{id}");
        }
    }

    proptest! {
        #[test]
        fn a_reply_is_accepted_in_any_pieces_and_refused_with_one_wrong_byte(
            len in 0usize..300,
            reply_len in 1usize..1000,
            id: u64,
            cut in 0usize..1000,
            wrong in 0usize..1000,
            text: bool,
        ) {
            prop_assume!(!text || len > 0);
            let payload =
                if text { Payload::text(len, reply_len) } else { Payload::new(len, reply_len) };
            let mut reply = reply_bytes(&payload, id);
            let cut = cut % reply_len;
            let accepts = |reply: &[u8]| {
                payload.matches(id, 0, &reply[..cut]) && payload.matches(id, cut, &reply[cut..])
            };
            prop_assert!(accepts(&reply));
            reply[wrong % reply_len] ^= 0x10;
            prop_assert!(!accepts(&reply));
        }
    }
}

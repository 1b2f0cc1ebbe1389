//! Calls become the replies of an echo where they are: only the kind differs, and what a call has
//! room for.

use crate::frame_check::START_LEN;
use crate::owed::Owed;
use bytes::BytesMut;
use echo_common::wire::native::{
    FLAG_WANT_STAGES, HEADER_LEN, Kind, LENGTH_LEN, STAGES_LEN, Stages,
};

/// Takes the calls at the front of `frames` that have no flags, or only want their stages, out and
/// adds their replies to `replies`, which are empty. `stages` gives those of a call that is served
/// now, and the time.
pub(crate) fn push(frames: &mut BytesMut, replies: &mut Owed, stages: impl Fn() -> (Stages, u64)) {
    let (mut at, mut count) = (0, 0);
    while let Some((length, shape)) = front(&frames[at..]) {
        let answered = match shape {
            PLAIN => answer_alike(&mut frames[at..], length),
            STAGED => {
                let (stages, served_ns) = stages();
                let room = at + HEADER_LEN..at + HEADER_LEN + STAGES_LEN;
                replies.expect_write_time(room.end - 4, served_ns);
                frames[room].copy_from_slice(&stages.encode());
                frames[at + LENGTH_LEN] = Kind::Reply as u8;
                1
            }
            _ => break,
        };
        at += answered * length;
        count += answered as u32;
    }
    if count == 0 {
        return;
    }
    let run = if at == frames.len() { std::mem::take(frames) } else { frames.split_to(at) };
    if at < COPIED_BELOW {
        replies.push_copied(&run, count);
    } else {
        replies.push_in_place(run, count);
    }
}

/// Answers the first of these frames, a plain call of `length` bytes, and those behind it that
/// begin as it does; returns how many. Each is found without waiting for the length of the one
/// before.
fn answer_alike(frames: &mut [u8], length: usize) -> usize {
    let mut start = [0; START_LEN];
    start.copy_from_slice(&frames[..START_LEN]);
    let alike = frames.chunks_exact_mut(length).take_while(|frame| frame.starts_with(&start));
    alike.map(|frame| frame[LENGTH_LEN] = Kind::Reply as u8).count()
}

/// Kind, flags and status of a call that is its own reply.
const PLAIN: [u8; 4] = [Kind::Call as u8, 0, 0, 0];
/// The same for one that wants its stages.
const STAGED: [u8; 4] = [Kind::Call as u8, FLAG_WANT_STAGES, 0, 0];

/// The length of the frame at the front of whole ones; its kind, flags and status.
#[inline]
fn front(frames: &[u8]) -> Option<(usize, [u8; 4])> {
    let [l0, l1, l2, l3, kind, flags, s0, s1, ..] = *frames.first_chunk::<HEADER_LEN>()?;
    let length = LENGTH_LEN + u32::from_be_bytes([l0, l1, l2, l3]) as usize;
    Some((length, [kind, flags, s0, s1]))
}

/// Shorter runs are copied into the reply buffer, which neighbours share, instead of being kept.
const COPIED_BELOW: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use echo_common::wire::native::{FLAG_HAS_KEY, Header};

    const STAGES: Stages =
        Stages { decoded_ns: 1, queued_ns: 2, taken_ns: 3, served_ns: 4, written_ns: 0 };

    /// A call and its reply until the write.
    fn frame(id: usize, flags: u8, length: usize) -> (Vec<u8>, Vec<u8>) {
        let body: Vec<u8> = (0..length).map(|i| (i + id) as u8).collect();
        let room = if flags == FLAG_WANT_STAGES { STAGES_LEN } else { 0 };
        let head = |kind| Header::new(kind, flags, id as u64, room, length).encode();
        let call = [&head(Kind::Call)[..], &vec![9; room], &body].concat();
        (call, [&head(Kind::Reply)[..], &STAGES.encode()[..room], &body].concat())
    }

    /// What is written, with zeros where it says how long that took.
    fn written(replies: &mut Owed, staged_at: &[usize]) -> Vec<u8> {
        let mut written = Vec::new();
        let (_, result) = replies.write_to(|pieces| {
            pieces.iter().for_each(|piece| written.extend_from_slice(piece));
            Ok(pieces.iter().map(|piece| piece.len()).sum())
        });
        assert!(result.is_ok());
        for at in staged_at {
            let word = &mut written[at + HEADER_LEN + STAGES_LEN - 4..][..4];
            assert_ne!(word, [0; 4], "the time until the write is filled in");
            word.fill(0);
        }
        written
    }

    #[test]
    fn calls_become_their_replies_up_to_the_first_that_wants_more_whether_copied_or_kept() {
        let runs: [&[usize]; 5] =
            [&[0], &[128, 0, 1], &[128; 32], &[COPIED_BELOW], &[20_000, 70_000]];
        for lengths in runs {
            for (staged, other) in [(0, 0), (1, 0), (3, 0), (0, 1), (0, 2), (0b101, 2), (3, 4)] {
                let mut run = BytesMut::new();
                let (mut expected, mut left, mut staged_at) = (Vec::new(), Vec::new(), Vec::new());
                let mut count = 0;
                for (id, &length) in lengths.iter().enumerate() {
                    let is = |set: u32| set.checked_shr(id as u32).unwrap_or(0) & 1 != 0;
                    let flags = match (is(staged), is(other)) {
                        (_, true) => FLAG_HAS_KEY,
                        (true, _) => FLAG_WANT_STAGES,
                        _ => 0,
                    };
                    let (call, reply) = frame(id, flags, length);
                    run.extend_from_slice(&call);
                    if flags == FLAG_HAS_KEY || !left.is_empty() {
                        left.extend(call);
                        continue;
                    }
                    if flags != 0 {
                        staged_at.push(expected.len());
                    }
                    expected.extend(reply);
                    count += 1;
                }
                let mut replies = Owed::default();
                push(&mut run, &mut replies, || (STAGES, 1));
                assert_eq!((replies.replies(), replies.len()), (count, expected.len()));
                assert_eq!(run, left, "{lengths:?} {staged} {other}");
                assert!(written(&mut replies, &staged_at) == expected, "{lengths:?} {staged}");
            }
        }
    }
}

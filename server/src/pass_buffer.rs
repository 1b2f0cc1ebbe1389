//! What a reader reads its connections into. The runs of a pass lie one behind the other in one
//! buffer, and get their bytes when the pass goes on: without a copy, unless they are few.
//!
//! Reading into a buffer that stays, and copying runs of less than 48 KiB out of it, was slower:
//! this is x 1.035 of it with 32 calls of 128 bytes in a read, x 1.017 with one, x 1.2 with 32 of
//! 1 KiB, and with ten readers on one CPU x 1.03 to 1.05.

use bytes::{Buf, Bytes, BytesMut};
use std::collections::VecDeque;
use std::ops::Range;

/// Size of the buffer.
const PASS_BUFFER: usize = 256 << 10;
/// One read takes at least this much of a connection, if it is there: frames of 64 KiB come whole.
/// With 32 KiB those were x 0.8 as fast.
const READ_MIN: usize = 128 << 10;
/// A pass of fewer bytes is copied, so that a call does not keep a whole buffer. Copying below
/// 16 KiB took ten readers 4 % of their throughput with 32 calls of 128 bytes in a read.
const COPIED_BELOW: usize = 4 << 10;
/// What is copied goes into blocks of this size.
const ARENA_BLOCK: usize = 64 << 10;
/// At most this many buffers are remembered: 16 MiB. With 4 MiB, 30 connections with 32 calls of
/// 8 KiB in flight each were x 0.5 as fast: every pass faulted its pages in.
const LENT_MAX: usize = 64;

/// See the module's text.
pub(crate) struct PassBuffer {
    /// The runs of this pass up to `taken`, and behind that what was read last.
    bytes: Vec<u8>,
    taken: usize,
    /// Runs that have no bytes of their own yet: which of the pass, and where theirs lie.
    runs: Vec<(usize, Range<usize>)>,
    /// Buffers that calls took with them, to be used again when the last of those has gone. Left to
    /// the allocator they would be given back to the kernel and faulted in again, page by page.
    lent: VecDeque<BytesMut>,
    arena: BytesMut,
}

impl PassBuffer {
    pub(crate) fn new() -> PassBuffer {
        PassBuffer {
            bytes: Vec::with_capacity(PASS_BUFFER),
            taken: 0,
            runs: Vec::new(),
            lent: VecDeque::new(),
            arena: BytesMut::new(),
        }
    }

    /// Begins a read of a connection of which `held` was read before. If there is too little room,
    /// the runs that were taken get their bytes first.
    pub(crate) fn begin(&mut self, held: &[u8], give: impl FnMut(usize, BytesMut)) {
        if self.bytes.capacity() < self.taken + held.len() + READ_MIN {
            self.hand_out(give);
            self.renew();
        }
        self.bytes.truncate(self.taken);
        self.bytes.extend_from_slice(held);
    }

    /// Where a read adds what it brings.
    pub(crate) fn room(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Whether the last read filled the buffer, so that the socket may have more.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes.len() == self.bytes.capacity()
    }

    /// What is there of the connection that is read now.
    pub(crate) fn unread(&self) -> &[u8] {
        &self.bytes[self.taken..]
    }

    /// These bytes of [`Self::unread`] are run number `run` of the pass; those before them are
    /// skipped, those behind them dropped by the next read.
    pub(crate) fn take(&mut self, run: usize, range: Range<usize>) {
        let (start, end) = (self.taken + range.start, self.taken + range.end);
        self.runs.push((run, start..end));
        self.taken = end;
    }

    /// Gives each run that was taken its bytes, by its number in the pass.
    pub(crate) fn hand_out(&mut self, mut give: impl FnMut(usize, BytesMut)) {
        let taken = std::mem::take(&mut self.taken);
        if self.runs.is_empty() {
            return;
        }
        if taken < COPIED_BELOW {
            if self.arena.capacity() < taken {
                self.arena.reserve(ARENA_BLOCK);
            }
            for (run, range) in self.runs.drain(..) {
                self.arena.extend_from_slice(&self.bytes[range]);
                give(run, self.arena.split());
            }
            return;
        }
        let mut bytes = without_copy(std::mem::take(&mut self.bytes), 0..taken);
        let mut at = 0;
        for (run, range) in self.runs.drain(..) {
            bytes.advance(range.start - at);
            at = range.end;
            give(run, bytes.split_to(range.len()));
        }
        if self.lent.len() < LENT_MAX {
            self.lent.push_back(bytes);
        }
    }

    /// An empty buffer: the one that was lent last of those whose calls have gone, so that as few
    /// as possible are in use, or a new one.
    fn renew(&mut self) {
        if self.bytes.capacity() >= PASS_BUFFER {
            return;
        }
        let gone = |buffer: &mut BytesMut| buffer.try_reclaim(PASS_BUFFER);
        let again = (0..self.lent.len()).rev().find(|&at| gone(&mut self.lent[at]));
        self.bytes = match again.and_then(|at| self.lent.remove(at)) {
            Some(buffer) => Vec::from(buffer),
            None => Vec::with_capacity(PASS_BUFFER),
        };
    }
}

/// `range` of a buffer that nobody else knows, without a copy.
pub(crate) fn without_copy(buffer: Vec<u8>, range: Range<usize>) -> BytesMut {
    let mut bytes = Bytes::from(buffer);
    bytes.truncate(range.end);
    bytes.advance(range.start);
    // A conversion copies only what somebody else holds, too.
    BytesMut::from(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::for_each_seed;

    #[test]
    fn each_run_gets_its_own_bytes_and_keeps_them_whatever_is_read_later() {
        for_each_seed(300, |dice| {
            let mut buffer = PassBuffer::new();
            let mut kept = VecDeque::new();
            for _ in 0..dice.within(1..60) {
                let (mut expected, mut runs) = (Vec::new(), Vec::new());
                let most = [200, READ_MIN][dice.within(0..2)];
                for _ in 0..dice.within(0..8) {
                    let length = dice.within(0..most);
                    let held = dice.bytes(length);
                    buffer.begin(&held, |run, bytes| runs.push((run, bytes)));
                    let room = buffer.room();
                    let spare = room.capacity() - room.len();
                    assert!(spare >= READ_MIN, "{spare} bytes of room");
                    let length = dice.within(0..spare.min(most) + 1);
                    room.extend(dice.bytes(length));
                    assert_eq!(buffer.is_full(), length == spare);
                    assert_eq!(buffer.unread()[..held.len()], held);
                    // Else nothing of it is a call yet.
                    if !buffer.unread().is_empty() && !dice.one_in(4) {
                        let start = dice.within(0..buffer.unread().len());
                        let end = dice.within(start..buffer.unread().len()) + 1;
                        let run = buffer.unread()[start..end].to_vec();
                        buffer.take(expected.len(), start..end);
                        expected.push(run);
                    }
                }
                buffer.hand_out(|run, bytes| runs.push((run, bytes)));
                assert!(runs.iter().map(|(run, _)| *run).eq(0..expected.len()));
                kept.extend(runs.into_iter().map(|(_, bytes)| bytes).zip(expected));
                assert!(buffer.lent.len() <= LENT_MAX, "{} buffers", buffer.lent.len());
                for _ in 0..dice.within(0..20).min(kept.len()) {
                    kept.swap_remove_back(dice.within(0..kept.len()));
                }
                for (bytes, expected) in &kept {
                    assert!(bytes == expected);
                }
            }
        });
    }

    #[test]
    fn a_buffer_is_used_again_once_its_calls_have_gone_and_a_few_bytes_keep_none() {
        let mut buffer = PassBuffer::new();
        let mut pass = |length: usize| {
            let mut runs = Vec::new();
            buffer.begin(&vec![7; length], |_, bytes| runs.push(bytes));
            buffer.take(0, 0..length);
            buffer.hand_out(|_, bytes| runs.push(bytes));
            let run = runs.pop().expect("one run");
            (run.as_ptr(), run)
        };
        let (first, kept) = pass(COPIED_BELOW);
        let (second, gone) = pass(COPIED_BELOW);
        assert_ne!(first, second, "the first run is still there");
        drop(gone);
        for _ in 0..3 {
            assert_eq!(pass(COPIED_BELOW).0, second);
        }
        let small: Vec<(*const u8, BytesMut)> = (0..40).map(|_| pass(100)).collect();
        drop(kept);
        let (again, _) = pass(COPIED_BELOW);
        assert!(again == first || again == second, "40 small runs keep no buffer");
        let block = small[0].0 as usize;
        assert!(small.iter().all(|(at, _)| (*at as usize).abs_diff(block) < ARENA_BLOCK));
    }
}

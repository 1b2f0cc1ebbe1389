//! Reply bytes on their way out: small replies side by side in one buffer; large bodies, and runs
//! of calls that became replies, without a copy.

use bytes::{Bytes, BytesMut};
use echo_common::clock;
use std::collections::VecDeque;
use std::io::{self, IoSlice};

/// A body of at least this many bytes is passed on by reference instead of being copied.
pub(crate) const LARGE_BODY: usize = 16 << 10;
/// What waits for long is copied if it is shorter: it may lie in a reader's buffer of 256 KiB, and
/// is to keep no more than four times its size.
pub(crate) const KEPT_MIN: usize = 64 << 10;
/// Small replies are gathered in buffers of about this size.
const GATHER_MAX: usize = 64 << 10;
/// An emptied buffer is kept for reuse up to this size.
const SPARE_MAX: usize = 64 << 10;
/// At most this many pieces go into one vectored write (the kernel's IOV_MAX is 1024).
const PIECES_MAX: usize = 16;

enum Piece {
    Gathered(Vec<u8>),
    /// Calls that became their replies.
    InPlace(BytesMut),
    Large(Bytes),
    /// Part of a block that stays for good.
    Block(Bytes),
}

struct Segment {
    bytes: Piece,
    /// Replies that are complete once this segment is written.
    replies: u32,
}

impl Segment {
    fn as_slice(&self) -> &[u8] {
        match &self.bytes {
            Piece::Gathered(bytes) => bytes,
            Piece::InPlace(bytes) => bytes,
            Piece::Large(bytes) | Piece::Block(bytes) => bytes,
        }
    }

    /// The same, where replies are and not what they refer to.
    fn as_mut_slice(&mut self) -> Option<&mut [u8]> {
        match &mut self.bytes {
            Piece::Gathered(bytes) => Some(bytes),
            Piece::InPlace(bytes) => Some(bytes),
            Piece::Large(_) | Piece::Block(_) => None,
        }
    }
}

/// A duration as a stage block holds it: at most 4.29 s.
pub(crate) fn saturated(ns: u64) -> u32 {
    u32::try_from(ns).unwrap_or(u32::MAX)
}

/// Replies that have not left yet, in order.
#[derive(Default)]
pub(crate) struct Owed {
    segments: VecDeque<Segment>,
    /// Bytes of the first segment that have left already.
    front_written: usize,
    bytes: usize,
    /// An emptied buffer, kept for the next replies.
    spare: Vec<u8>,
    /// Stage blocks that still lack the time until the write.
    unwritten: Vec<Unwritten>,
}

/// A stage block whose last word is filled in when its reply is written.
struct Unwritten {
    /// Which segment it is in, counted from the front.
    segment: usize,
    /// Where in it the word is.
    at: usize,
    served_ns: u64,
}

/// What [`Owed::write_to`] achieved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) bytes: usize,
    pub(crate) replies: u32,
    pub(crate) system_calls: u32,
}

impl Owed {
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Bytes that have not left.
    pub(crate) fn len(&self) -> usize {
        self.bytes
    }

    /// Replies that have not left completely.
    pub(crate) fn replies(&self) -> u32 {
        self.segments.iter().map(|segment| segment.replies).sum()
    }

    /// Makes room for replies of about `bytes` bytes in all, so that the buffer grows once.
    pub(crate) fn reserve(&mut self, bytes: usize) {
        self.gather(0).reserve(bytes);
    }

    /// Adds one reply, copying both parts.
    #[inline]
    pub(crate) fn push_small(&mut self, header: &[u8], body: &[u8]) {
        let buffer = match self.segments.back_mut() {
            Some(Segment { bytes: Piece::Gathered(bytes), replies })
                if bytes.len() < GATHER_MAX =>
            {
                *replies += 1;
                bytes
            }
            _ => self.gather(1),
        };
        buffer.extend_from_slice(header);
        buffer.extend_from_slice(body);
        self.bytes += header.len() + body.len();
    }

    /// Adds one reply, which `write` appends to the buffer.
    #[inline]
    pub(crate) fn push_written(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let buffer = self.gather(1);
        let before = buffer.len();
        write(buffer);
        let written = buffer.len() - before;
        self.bytes += written;
    }

    /// Adds `count` replies, copying their bytes.
    pub(crate) fn push_copied(&mut self, replies: &[u8], count: u32) {
        self.gather(count).extend_from_slice(replies);
        self.bytes += replies.len();
    }

    /// Adds the first `count` replies, as they are.
    pub(crate) fn push_in_place(&mut self, replies: BytesMut, count: u32) {
        assert!(self.segments.is_empty(), "words that are expected were counted from the front");
        self.bytes += replies.len();
        self.segments.push_back(Segment { bytes: Piece::InPlace(replies), replies: count });
    }

    /// Copies what is shorter than [`KEPT_MIN`] and kept by reference: what waits for a peer that
    /// takes nothing must not hold on to buffers that it shares with others' calls.
    pub(crate) fn compact(&mut self) {
        for segment in &mut self.segments {
            let keeps_others = matches!(segment.bytes, Piece::InPlace(_) | Piece::Large(_));
            if keeps_others && segment.as_slice().len() < KEPT_MIN {
                segment.bytes = Piece::Gathered(segment.as_slice().to_vec());
            }
        }
    }

    /// Overwrites bytes of the first piece, which a reply's head is in.
    pub(crate) fn patch_front(&mut self, at: usize, bytes: &[u8]) {
        if let Some(Segment { bytes: Piece::Gathered(piece), .. }) = self.segments.front_mut() {
            piece[at..at + bytes.len()].copy_from_slice(bytes);
        }
    }

    /// The byte `at` of the first piece, if nothing has been written yet.
    pub(crate) fn front_byte(&self, at: usize) -> Option<u8> {
        self.segments.front()?.as_slice().get(at).copied()
    }

    /// Adds a frame that answers no call.
    pub(crate) fn push_unanswered(&mut self, frame: &[u8]) {
        self.gather(0).extend_from_slice(frame);
        self.bytes += frame.len();
    }

    /// Adds one reply whose body is kept by reference.
    pub(crate) fn push_large(&mut self, header: &[u8], body: Bytes) {
        self.gather(0).extend_from_slice(header);
        self.bytes += header.len() + body.len();
        self.segments.push_back(Segment { bytes: Piece::Large(body), replies: 1 });
    }

    /// Adds one reply whose body is `block`, by reference as often as needed and cut to `length`
    /// bytes, at least 1.
    pub(crate) fn push_filled(&mut self, header: &[u8], block: &Bytes, length: usize) {
        assert!(length > 0 && !block.is_empty(), "{length} bytes of blocks of {}", block.len());
        self.gather(0).extend_from_slice(header);
        self.bytes += header.len() + length;
        let mut left = length;
        while left > 0 {
            let piece = block.slice(..left.min(block.len()));
            left -= piece.len();
            let replies = u32::from(left == 0);
            self.segments.push_back(Segment { bytes: Piece::Block(piece), replies });
        }
    }

    /// Adds one reply whose body is `pattern`, repeated and cut to `length` bytes (zeros if the
    /// pattern is empty).
    pub(crate) fn push_repeated(&mut self, header: &[u8], pattern: &[u8], length: usize) {
        let pattern = if pattern.is_empty() { &[0; 64][..] } else { pattern };
        let buffer = self.gather(1);
        buffer.extend_from_slice(header);
        let start = buffer.len();
        buffer.reserve(length);
        buffer.extend_from_slice(&pattern[..pattern.len().min(length)]);
        // What is there already is whole patterns, and doubles: one byte can be asked to be many.
        while buffer.len() < start + length {
            let piece = (buffer.len() - start).min(start + length - buffer.len());
            buffer.extend_from_within(start..start + piece);
        }
        self.bytes += header.len() + length;
    }

    /// Moves everything in `later` behind what is here.
    pub(crate) fn append(&mut self, later: &mut Owed) {
        debug_assert_eq!(later.front_written, 0, "only unwritten replies are appended");
        if self.join(later) {
            return;
        }
        let behind = self.segments.len();
        self.unwritten.extend(later.unwritten.drain(..).map(|mut block| {
            block.segment += behind;
            block
        }));
        self.segments.append(&mut later.segments);
        self.bytes += std::mem::take(&mut later.bytes);
    }

    /// Whether it has a buffer that is worth keeping.
    pub(crate) fn has_spare(&self) -> bool {
        self.spare.capacity() > 0
    }

    /// Copies `later` into the last buffer, if both are small pieces that fit: one piece is written
    /// faster than two. Returns whether that was so.
    fn join(&mut self, later: &mut Owed) -> bool {
        let last = self.segments.len().saturating_sub(1);
        let (
            Some(Segment { bytes: Piece::Gathered(bytes), replies }),
            [Segment { bytes: Piece::Gathered(more), replies: more_replies }],
        ) = (self.segments.back_mut(), later.segments.make_contiguous())
        else {
            return false;
        };
        if bytes.len() + more.len() > GATHER_MAX {
            return false;
        }
        let behind = bytes.len();
        bytes.extend_from_slice(more);
        *replies += *more_replies;
        self.bytes += more.len();
        self.unwritten.extend(later.unwritten.drain(..).map(|block| Unwritten {
            segment: last,
            at: behind + block.at,
            served_ns: block.served_ns,
        }));
        later.clear();
        true
    }

    /// Forgets everything; keeps buffers.
    pub(crate) fn clear(&mut self) {
        while let Some(segment) = self.segments.pop_front() {
            self.recycle(segment);
        }
        self.unwritten.clear();
        self.front_written = 0;
        self.bytes = 0;
    }

    /// The reply that is added next has a word, `offset` bytes into it, for the time from
    /// `served_ns` to its write.
    pub(crate) fn expect_write_time(&mut self, offset: usize, served_ns: u64) {
        let (segment, at) = match self.segments.back() {
            Some(Segment { bytes: Piece::Gathered(bytes), .. }) if bytes.len() < GATHER_MAX => {
                (self.segments.len() - 1, bytes.len())
            }
            _ => (self.segments.len(), 0),
        };
        self.unwritten.push(Unwritten { segment, at: at + offset, served_ns });
    }

    /// The write begins: fills in how long it took to come to that.
    fn fill_in(&mut self) {
        if self.unwritten.is_empty() {
            return;
        }
        let now_ns = clock::now_ns();
        for block in self.unwritten.drain(..) {
            let segment = self.segments.get_mut(block.segment);
            if let Some(bytes) = segment.and_then(Segment::as_mut_slice) {
                let waited_ns = saturated(clock::elapsed_ns(block.served_ns, now_ns));
                bytes[block.at..block.at + 4].copy_from_slice(&waited_ns.to_be_bytes());
            }
        }
    }

    /// One write for everything, in pieces if it must be; stops when all has left or at the first
    /// error, which is returned beside what was achieved before it.
    pub(crate) fn write_to(
        &mut self,
        mut write: impl FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> (Written, io::Result<()>) {
        self.fill_in();
        let mut written = Written::default();
        while self.bytes > 0 {
            let mut pieces = [IoSlice::new(&[]); PIECES_MAX];
            let mut count = 0;
            let mut skip = self.front_written;
            for (piece, segment) in pieces.iter_mut().zip(&self.segments) {
                *piece = IoSlice::new(&segment.as_slice()[skip..]);
                skip = 0;
                count += 1;
            }
            written.system_calls += 1;
            match write(&pieces[..count]) {
                Ok(0) => return (written, Err(io::ErrorKind::WriteZero.into())),
                Ok(n) => {
                    written.bytes += n;
                    written.replies += self.advance(n);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return (written, Err(error)),
            }
        }
        (written, Ok(()))
    }

    /// Notes that `n` more bytes have left; returns the replies that this completes.
    fn advance(&mut self, n: usize) -> u32 {
        self.bytes -= n;
        self.front_written += n;
        let mut replies = 0;
        while let Some(front) = self.segments.front() {
            let length = front.as_slice().len();
            if self.front_written < length {
                break;
            }
            self.front_written -= length;
            replies += front.replies;
            if let Some(segment) = self.segments.pop_front() {
                self.recycle(segment);
            }
        }
        replies
    }

    fn recycle(&mut self, segment: Segment) {
        if let Piece::Gathered(mut bytes) = segment.bytes
            && bytes.capacity() > self.spare.capacity()
            && bytes.capacity() <= SPARE_MAX
        {
            bytes.clear();
            self.spare = bytes;
        }
    }

    /// The buffer that small pieces go to, with `replies` more replies in it.
    #[inline]
    fn gather(&mut self, replies: u32) -> &mut Vec<u8> {
        let fits = matches!(self.segments.back(),
            Some(Segment { bytes: Piece::Gathered(bytes), .. }) if bytes.len() < GATHER_MAX);
        if !fits {
            let bytes = Piece::Gathered(std::mem::take(&mut self.spare));
            self.segments.push_back(Segment { bytes, replies: 0 });
        }
        match self.segments.back_mut() {
            Some(Segment { bytes: Piece::Gathered(bytes), replies: count }) => {
                *count += replies;
                bytes
            }
            _ => unreachable!("a gathering segment was pushed just now"),
        }
    }
}

#[cfg(test)]
mod tests;

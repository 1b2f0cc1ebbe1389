//! What a reader's connections share while they are read: the read buffer, the arena that calls
//! own their bytes in, and the calls of the pass.

use crate::call::Calls;
use crate::limits::ReadLimits;
use crate::meters::{LimitMeters, Meters, ReaderMeters};
use crate::transport::Transport;
use bytes::{Buf, Bytes, BytesMut};
use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// Size of the read buffer: one read takes at most this much of a connection.
pub(crate) const READ_BUFFER: usize = 128 << 10;
/// A longer frame is collected in a buffer of its own.
pub(crate) const LARGE_FRAME: usize = 32 << 10;
/// Runs of at least this many bytes take the read buffer with them instead of being copied.
const HAND_OVER: usize = 48 << 10;
/// At most this many lent buffers are remembered: 4 MiB.
const LENT_MAX: usize = 32;
/// Runs are copied into blocks of this size.
const ARENA_BLOCK: usize = 64 << 10;

/// See the module's text.
pub(crate) struct Intake {
    buffer: Vec<u8>,
    /// Buffers that calls took with them, to be used again when the last of those has gone. Left to
    /// the allocator they would be given back to the kernel and faulted in again, page by page.
    lent: VecDeque<BytesMut>,
    arena: BytesMut,
    /// The calls of this pass, connection by connection.
    pub(crate) calls: VecDeque<Calls>,
    /// What the connection whose turn it is has to answer beside its calls.
    pub(crate) answers: Vec<u8>,
    /// When this pass began.
    pub(crate) now_ns: u64,
    /// Bytes of the calls of this pass.
    pub(crate) pass_bytes: usize,
    /// Some call of this pass asks for its stages.
    pub(crate) stamped: bool,
    pub(crate) limits: ReadLimits,
    pub(crate) meters: Arc<Meters>,
    number: usize,
}

impl Intake {
    pub(crate) fn new(limits: ReadLimits, meters: Arc<Meters>, number: usize) -> Intake {
        Intake {
            buffer: Vec::with_capacity(READ_BUFFER),
            lent: VecDeque::new(),
            arena: BytesMut::new(),
            calls: VecDeque::new(),
            answers: Vec::new(),
            now_ns: 0,
            pass_bytes: 0,
            stamped: false,
            limits,
            meters,
            number,
        }
    }

    /// Which reader this is.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// This reader's counters.
    pub(crate) fn reader(&self) -> &ReaderMeters {
        &self.meters.readers[self.number]
    }

    /// The counters of the limits.
    pub(crate) fn limited(&self) -> &LimitMeters {
        &self.meters.limits
    }

    /// The read buffer, with `held` in front.
    pub(crate) fn lend(&mut self, held: &[u8]) -> Vec<u8> {
        let mut buffer = std::mem::take(&mut self.buffer);
        if buffer.capacity() < READ_BUFFER {
            buffer = self.take_back().unwrap_or(buffer);
        }
        buffer.clear();
        buffer.reserve_exact(READ_BUFFER);
        buffer.extend_from_slice(held);
        buffer
    }

    /// The buffer that was lent first, if its calls have gone.
    fn take_back(&mut self) -> Option<Vec<u8>> {
        let mut first = self.lent.pop_front()?;
        if first.try_reclaim(READ_BUFFER) {
            return Some(Vec::from(first));
        }
        self.lent.push_back(first);
        None
    }

    /// Takes the read buffer back.
    pub(crate) fn give_back(&mut self, buffer: Vec<u8>) {
        self.buffer = buffer;
    }

    /// One read into the spare capacity of `buffer`.
    pub(crate) fn read(
        &self,
        transport: &dyn Transport,
        buffer: &mut Vec<u8>,
    ) -> io::Result<usize> {
        loop {
            self.reader().reads.add(1);
            match transport.read(buffer) {
                Ok(n) => {
                    self.reader().bytes_in.add(n as u64);
                    return Ok(n);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Makes `range` of `buffer` into bytes that calls can own; `buffer` may lose its contents.
    pub(crate) fn own(&mut self, buffer: &mut Vec<u8>, range: Range<usize>) -> BytesMut {
        if range.len() >= HAND_OVER {
            let mut frames = whole(std::mem::take(buffer), range);
            if self.lent.len() < LENT_MAX {
                self.lent.push_back(frames.split_off(frames.len()));
            }
            return frames;
        }
        if self.arena.capacity() < range.len() {
            self.arena.reserve(range.len().max(ARENA_BLOCK));
        }
        self.arena.extend_from_slice(&buffer[range]);
        self.arena.split()
    }
}

/// A frame that is collected in a buffer of its own. Memory follows the bytes that came: room is
/// made in few steps, because each may copy what is there, but untouched room is no memory.
pub(crate) struct Large {
    buffer: Vec<u8>,
    total: usize,
}

/// Room is made for so many times what has come, up to so many bytes.
const GROWTH: usize = 16;
const GROWTH_MAX: usize = 64 << 20;

impl Large {
    /// A frame of `total` bytes of which `start` has come.
    pub(crate) fn new(start: &[u8], total: usize) -> Large {
        let mut large = Large { buffer: Vec::new(), total };
        large.buffer.reserve_exact(total.min((2 * start.len()).max(LARGE_FRAME)));
        large.buffer.extend_from_slice(start);
        large
    }

    /// The buffer, with room for more.
    pub(crate) fn room(&mut self) -> &mut Vec<u8> {
        let length = self.buffer.len();
        if length == self.buffer.capacity() {
            let step = (length * GROWTH).min(GROWTH_MAX);
            self.buffer.reserve_exact((self.total - length).min(step));
        }
        &mut self.buffer
    }

    /// Whether the last read filled the buffer, so that the socket may have more.
    pub(crate) fn is_full(&self) -> bool {
        self.buffer.len() == self.buffer.capacity()
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.buffer.len() >= self.total
    }

    /// The frame, and whatever came behind it.
    pub(crate) fn finish(self) -> (BytesMut, BytesMut) {
        let surplus = BytesMut::from(&self.buffer[self.total..]);
        (whole(self.buffer, 0..self.total), surplus)
    }
}

/// `range` of a buffer that nobody else knows, without a copy.
fn whole(buffer: Vec<u8>, range: Range<usize>) -> BytesMut {
    let mut bytes = Bytes::from(buffer);
    bytes.truncate(range.end);
    bytes.advance(range.start);
    // A conversion copies only what somebody else holds, too.
    BytesMut::from(bytes)
}

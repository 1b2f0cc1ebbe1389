//! What a reader's connections share while they are read: the calls of the pass, the buffer that
//! their bytes are in, and buffers of large frames.

use crate::call::Calls;
use crate::limits::ReadLimits;
use crate::meters::{LimitMeters, Meters, ReaderMeters};
use crate::pass_buffer::{PassBuffer, without_copy};
use crate::transport::Transport;
use bytes::BytesMut;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

/// A longer frame is collected in a buffer of its own.
pub(crate) const LARGE_FRAME: usize = 32 << 10;
/// Buffers of large frames are remembered up to so many bytes in all.
const LENT_LARGE_MAX: usize = 64 << 20;

/// See the module's text.
pub(crate) struct Intake {
    /// What connections are read into.
    pub(crate) pass: PassBuffer,
    /// Buffers of large frames, with their lengths, to be used again when the frame has gone. Left
    /// to the allocator they would be given back to the kernel and faulted in again, page by page.
    lent_large: VecDeque<(usize, BytesMut)>,
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
    /// Whether it is to be said of each run if another call stands behind it (`--inject swap`).
    pub(crate) looks_ahead: bool,
    pub(crate) limits: ReadLimits,
    pub(crate) meters: Arc<Meters>,
    number: usize,
}

impl Intake {
    pub(crate) fn new(limits: ReadLimits, meters: Arc<Meters>, number: usize) -> Intake {
        Intake {
            pass: PassBuffer::new(),
            lent_large: VecDeque::new(),
            calls: VecDeque::new(),
            answers: Vec::new(),
            now_ns: 0,
            pass_bytes: 0,
            stamped: false,
            looks_ahead: false,
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

    /// Begins to collect a frame of `total` bytes of which `start` has come, in the buffer of an
    /// equally long one that has gone, if there is one.
    pub(crate) fn collect(&mut self, start: &[u8], total: usize) -> Large {
        let mut lent = self.lent_large.iter_mut();
        let used = lent.position(|(length, buffer)| *length == total && buffer.try_reclaim(total));
        match used.and_then(|at| self.lent_large.remove(at)) {
            Some((_, buffer)) => Large::within(Vec::from(buffer), start, total),
            None => Large::new(start, total),
        }
    }

    /// The frame, and whatever came behind it; its buffer is remembered.
    pub(crate) fn finish(&mut self, large: Large) -> (BytesMut, BytesMut) {
        let (mut frame, surplus) = large.finish();
        if frame.len() <= LENT_LARGE_MAX {
            let mut room = LENT_LARGE_MAX - frame.len();
            // The latest that fit beside it stay.
            let fits = |(length, _): &&(usize, BytesMut)| {
                let fits = *length <= room;
                room -= if fits { *length } else { room };
                fits
            };
            let stay = self.lent_large.iter().rev().take_while(fits).count();
            self.lent_large.drain(..self.lent_large.len() - stay);
            self.lent_large.push_back((frame.len(), frame.split_off(frame.len())));
        }
        (frame, surplus)
    }

    /// Begins a read of a connection of which `held` was read before.
    pub(crate) fn begin_read(&mut self, held: &[u8]) {
        let calls = &mut self.calls;
        self.pass.begin(held, |run, bytes| calls[run].frames = bytes);
    }

    /// One read behind what was begun with.
    pub(crate) fn read(&mut self, transport: &dyn Transport) -> io::Result<usize> {
        read_into(self.pass.room(), transport, &self.meters.readers[self.number])
    }

    /// One read into the spare capacity of `buffer`.
    pub(crate) fn read_apart(
        &self,
        buffer: &mut Vec<u8>,
        transport: &dyn Transport,
    ) -> io::Result<usize> {
        read_into(buffer, transport, self.reader())
    }

    /// The calls of the pass get the bytes that are not theirs yet.
    pub(crate) fn hand_out(&mut self) {
        let calls = &mut self.calls;
        self.pass.hand_out(|run, bytes| calls[run].frames = bytes);
    }
}

fn read_into(
    buffer: &mut Vec<u8>,
    transport: &dyn Transport,
    meters: &ReaderMeters,
) -> io::Result<usize> {
    loop {
        meters.reads.add(1);
        match transport.read(buffer) {
            Ok(n) => {
                meters.bytes_in.add(n as u64);
                return Ok(n);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
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
    /// The same, in a buffer that has been used before.
    fn within(mut buffer: Vec<u8>, start: &[u8], total: usize) -> Large {
        buffer.clear();
        buffer.extend_from_slice(start);
        Large { buffer, total }
    }

    /// A frame of `total` bytes of which `start` has come.
    fn new(start: &[u8], total: usize) -> Large {
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
    fn finish(self) -> (BytesMut, BytesMut) {
        let surplus = BytesMut::from(&self.buffer[self.total..]);
        (without_copy(self.buffer, 0..self.total), surplus)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: usize = 8 << 20;

    fn intake() -> Intake {
        let limits = ReadLimits::of_frames(LENT_LARGE_MAX);
        Intake::new(limits, Arc::new(Meters::new(1, 1)), 0)
    }

    /// A whole frame of one byte over and over, and where its bytes lie.
    fn frame(intake: &mut Intake, byte: u8, total: usize) -> (BytesMut, *const u8) {
        let mut large = intake.collect(&[byte; 10], total);
        while !large.is_complete() {
            let room = large.room();
            let more = room.capacity() - room.len();
            room.extend(std::iter::repeat_n(byte, more.min(total - room.len())));
        }
        let (frame, surplus) = intake.finish(large);
        assert!(surplus.is_empty() && frame.len() == total && frame.iter().all(|b| *b == byte));
        let at = frame.as_ptr();
        (frame, at)
    }

    #[test]
    fn the_buffer_of_a_large_frame_is_used_again_once_the_frame_has_gone() {
        let mut intake = intake();
        let (first, at) = frame(&mut intake, 1, LONG);
        let (second, elsewhere) = frame(&mut intake, 2, LONG);
        assert_ne!(at, elsewhere, "the first frame is still there");
        assert!(first.iter().all(|byte| *byte == 1));
        drop(first);
        let (third, again) = frame(&mut intake, 3, LONG);
        assert_eq!(at, again);
        assert!(second.iter().all(|byte| *byte == 2));
        drop((second, third));
        assert_eq!(frame(&mut intake, 4, LONG / 2).0.len(), LONG / 2);
    }

    #[test]
    fn buffers_of_large_frames_are_remembered_up_to_a_bound() {
        let mut intake = intake();
        for total in [LONG, LONG / 2, LENT_LARGE_MAX, LONG, 2 * LENT_LARGE_MAX].repeat(3) {
            drop(intake.collect(&[], total));
            let large = Large { buffer: vec![0; total], total };
            drop(intake.finish(large));
            let held: usize = intake.lent_large.iter().map(|(length, _)| length).sum();
            assert!(held <= LENT_LARGE_MAX, "{held} bytes after one of {total}");
        }
        assert!(!intake.lent_large.is_empty());
    }
}

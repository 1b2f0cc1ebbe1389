//! Calls that a connection still owes to its socket, as ids and one offset.

use crate::call_frames::{Frames, SliceList};
use echo_common::wire::native::Key;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};

/// Payloads up to this are copied into one buffer with their headers; longer ones are written from
/// the pattern.
const COPIED_PAYLOAD_MAX: usize = 16 << 10;
/// Bytes of calls put together for one write.
const SCRATCH_MAX: usize = 256 << 10;
/// The same after a write that the socket did not take whole: it has room for less, and what it
/// does not take is put together again.
const SCRATCH_AFTER_SHORT_WRITE: usize = 64 << 10;
/// Calls in one vectored write at most; each takes two slices or more.
const VECTORED_CALLS: usize = 16;

/// Started calls whose bytes the socket has not taken.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    ids: VecDeque<u64>,
    /// Their keys, in the same order. Empty if calls have none.
    keys: VecDeque<Key>,
    /// Bytes of the first call that were written.
    front_written: usize,
}

/// What came of an attempt to write.
#[derive(Debug)]
pub(crate) enum Flushed {
    /// Nothing is owed.
    All,
    /// The socket is full; its next writable edge goes on.
    Blocked,
    /// The connection does not take bytes any more.
    Broken(io::Error),
}

impl Outbox {
    #[inline]
    pub(crate) fn push(&mut self, id: u64) {
        self.ids.push_back(id);
    }

    /// Where the ids of further calls go that have no keys.
    #[inline]
    pub(crate) fn ids(&mut self) -> &mut VecDeque<u64> {
        &mut self.ids
    }

    #[inline]
    pub(crate) fn push_keyed(&mut self, id: u64, key: Key) {
        self.ids.push_back(id);
        self.keys.push_back(key);
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Calls of which bytes are owed.
    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Drops the calls for which `ended` holds and of which no byte has been written. Returns how
    /// many were dropped.
    pub(crate) fn drop_unwritten(&mut self, ended: impl Fn(u64) -> bool) -> u64 {
        let before = self.ids.len();
        let begun = usize::from(self.front_written > 0);
        let stays: Vec<bool> =
            self.ids.iter().enumerate().map(|(at, &id)| at < begun || !ended(id)).collect();
        let mut stay = stays.iter();
        self.ids.retain(|_| stay.next() == Some(&true));
        let mut stay = stays.iter();
        self.keys.retain(|_| stay.next() == Some(&true));
        (before - self.ids.len()) as u64
    }

    /// Writes until nothing is owed or the socket is full. `scratch` is working space.
    #[inline]
    pub(crate) fn flush(
        &mut self,
        socket: &mut impl Write,
        frames: &impl Frames,
        scratch: &mut Vec<u8>,
    ) -> Flushed {
        while !self.ids.is_empty() {
            let written = if frames.payload().len() <= COPIED_PAYLOAD_MAX {
                self.write_copied(socket, frames, scratch)
            } else {
                self.write_vectored(socket, frames, scratch)
            };
            match written {
                Ok(Written { bytes: 0, .. }) => {
                    return Flushed::Broken(ErrorKind::WriteZero.into());
                }
                Ok(Written { whole: Some(calls), .. }) => self.forget(calls, 0),
                Ok(Written { bytes, whole: None }) => self.advance(bytes, frames),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Flushed::Blocked,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Flushed::Broken(error),
            }
        }
        Flushed::All
    }

    fn write_copied(
        &self,
        socket: &mut impl Write,
        frames: &impl Frames,
        scratch: &mut Vec<u8>,
    ) -> io::Result<Written> {
        let most = if self.front_written == 0 { SCRATCH_MAX } else { SCRATCH_AFTER_SHORT_WRITE };
        let alike = frames.put_alike(self.ids.as_slices().0, most, scratch);
        let (calls, end) = alike.unwrap_or_else(|| self.put_each(frames, most, scratch));
        let offered = &scratch[self.front_written..end];
        let bytes = socket.write(offered)?;
        Ok(Written { bytes, whole: (bytes == offered.len()).then_some(calls) })
    }

    /// Puts the first calls, until they are `most` bytes or more, into `scratch`, one by one.
    /// Returns how many calls and bytes they are.
    fn put_each(&self, frames: &impl Frames, most: usize, scratch: &mut Vec<u8>) -> (usize, usize) {
        scratch.clear();
        let mut calls = 0;
        let keyed = !self.keys.is_empty();
        for (at, &id) in self.ids.iter().enumerate() {
            let key = if keyed { self.keys.get(at) } else { None };
            frames.encode(id, key, scratch);
            calls += 1;
            if scratch.len() >= most {
                break;
            }
        }
        (calls, scratch.len())
    }

    fn write_vectored(
        &self,
        socket: &mut impl Write,
        frames: &impl Frames,
        scratch: &mut Vec<u8>,
    ) -> io::Result<Written> {
        scratch.clear();
        let mut ends = [0; VECTORED_CALLS];
        for (at, (end, &id)) in ends.iter_mut().zip(&self.ids).enumerate() {
            frames.put_head(id, self.keys.get(at), scratch);
            *end = scratch.len();
        }
        let mut slices = SliceList::new();
        let (mut begin, mut skip) = (0, self.front_written);
        for (&end, &id) in ends.iter().zip(&self.ids) {
            frames.slices(id, &scratch[begin..end], skip, &mut slices);
            (begin, skip) = (end, 0);
        }
        Ok(Written { bytes: socket.write_vectored(slices.as_slices())?, whole: None })
    }

    /// Notes that `bytes` bytes have left.
    fn advance(&mut self, bytes: usize, frames: &impl Frames) {
        let mut written = self.front_written + bytes;
        let mut whole = 0;
        for &id in &self.ids {
            let call_len = frames.call_len(id);
            if written < call_len {
                break;
            }
            written -= call_len;
            whole += 1;
        }
        self.forget(whole, written);
    }

    /// Forgets the first `whole` calls; of the next one so many bytes have left.
    #[inline]
    fn forget(&mut self, whole: usize, front_written: usize) {
        self.front_written = front_written;
        if whole == self.ids.len() {
            self.ids.clear();
            self.keys.clear();
        } else {
            self.ids.drain(..whole);
            self.keys.drain(..whole.min(self.keys.len()));
        }
    }
}

/// What a write came to.
struct Written {
    bytes: usize,
    /// How many calls have left, if all that was offered has.
    whole: Option<usize>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_frames::CallFrames;
    use proptest::prelude::*;

    /// Takes bytes as the script says; 0 in the script means "would block".
    struct Socket {
        taken: Vec<u8>,
        script: Vec<usize>,
        turn: usize,
    }

    impl Write for Socket {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let most = self.script[self.turn % self.script.len()];
            self.turn += 1;
            if most == 0 {
                return Err(ErrorKind::WouldBlock.into());
            }
            let taken = most.min(bytes.len());
            self.taken.extend_from_slice(&bytes[..taken]);
            Ok(taken)
        }

        fn write_vectored(&mut self, slices: &[io::IoSlice<'_>]) -> io::Result<usize> {
            self.write(&slices.iter().map(|slice| &slice[..]).collect::<Vec<_>>().concat())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn key_of(id: u64) -> Key {
        Key { key: 1000 + id, sequence: 3 * id }
    }

    fn push(outbox: &mut Outbox, frames: &CallFrames, id: u64) {
        match frames.are_keyed() {
            true => outbox.push_keyed(id, key_of(id)),
            false => outbox.push(id),
        }
    }

    fn whole(frames: &CallFrames, ids: impl IntoIterator<Item = u64>) -> Vec<u8> {
        let mut bytes = Vec::new();
        for id in ids {
            let key = frames.are_keyed().then(|| key_of(id));
            frames.encode(id, key.as_ref(), &mut bytes);
        }
        bytes
    }

    #[test]
    fn a_write_of_nothing_breaks_the_connection_instead_of_spinning() {
        struct Dead;
        impl Write for Dead {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Ok(0)
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut outbox = Outbox::default();
        outbox.push(1);
        let frames = CallFrames::new(8, None, true);
        assert!(matches!(outbox.flush(&mut Dead, &frames, &mut Vec::new()), Flushed::Broken(_)));
    }

    #[test]
    fn a_call_of_which_bytes_were_written_is_not_dropped() {
        let plain = CallFrames::new(100, None, true);
        for frames in [plain, CallFrames::new(100, None, true).with_keys()] {
            let mut socket = Socket { taken: Vec::new(), script: vec![50, 0], turn: 0 };
            let mut outbox = Outbox::default();
            [1, 2, 3].into_iter().for_each(|id| push(&mut outbox, &frames, id));
            let flushed = outbox.flush(&mut socket, &frames, &mut Vec::new());
            assert!(matches!(flushed, Flushed::Blocked));
            assert_eq!(outbox.drop_unwritten(|id| id != 3), 1);
            socket.script = vec![usize::MAX];
            outbox.flush(&mut socket, &frames, &mut Vec::new());
            assert_eq!(socket.taken, whole(&frames, [1, 3]));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn bytes_arrive_whole_and_in_order_whatever_the_socket_takes(
            payload in prop_oneof![4 => 0usize..300, 1 => 16_380usize..16_390, 1 => Just(40_000)],
            reply in prop::option::of(0u32..100),
            batches in prop::collection::vec(1usize..40, 1..5),
            mut script in prop::collection::vec(0usize..60_000, 1..8),
            keyed: bool,
            staged in 0u64..18,
        ) {
            script.push(9_777);
            // Every ninth call asks for its stages, or none does.
            let id = |call: u64| call | u64::from(call % 9 == staged) << 31;
            let frames = CallFrames::new(payload, reply, true);
            let frames = if keyed { frames.with_keys() } else { frames };
            let mut socket = Socket { taken: Vec::new(), script, turn: 0 };
            let mut outbox = Outbox::default();
            let mut scratch = Vec::new();
            let mut next = 0u64;
            for batch in batches {
                for _ in 0..batch {
                    push(&mut outbox, &frames, id(next));
                    next += 1;
                }
                outbox.flush(&mut socket, &frames, &mut scratch);
            }
            while !outbox.is_empty() {
                outbox.flush(&mut socket, &frames, &mut scratch);
            }
            prop_assert_eq!(socket.taken, whole(&frames, (0..next).map(id)));
        }
    }
}

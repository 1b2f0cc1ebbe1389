//! What travels from a reader to a handler.

use crate::outbox::Outbox;
use crate::sync::Arc;
use bytes::BytesMut;
use echo_common::wire::native::{self, HEADER_LEN, Header, Kind};

/// A run of whole calls of one connection, in arrival order, owning their bytes.
///
/// Calls travel in runs because a reader finds them in runs: what one read brought is counted and
/// queued once. A handler may still take any number of them (see [`Calls::split_front`]).
pub struct Calls {
    /// Where the replies go.
    pub outbox: Arc<Outbox>,
    /// Whole frames, one behind the other; the reader has checked every header.
    pub frames: BytesMut,
    /// Every call is without flags, so that its frame has the shape of an echo's reply.
    pub plain: bool,
    /// Number of frames in `frames`, at least 1.
    pub count: u32,
    /// What the connection's bounds were charged for these calls, in bytes.
    pub weight: usize,
    /// When the bytes were found readable, see [`echo_common::clock`].
    pub read_ns: u64,
    /// Further stamps, if some call of the run asks for its stages.
    pub stamps: Option<Stamps>,
}

/// When a run passed the reader's stages, see [`native::Stages`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamps {
    /// The reader had decoded the calls, and paid for them.
    pub decoded_ns: u64,
    /// The reader put them into the call queue.
    pub queued_ns: u64,
}

impl Calls {
    /// Splits off the first `count` calls; needs `0 < count < self.count`.
    pub fn split_front(&mut self, count: u32) -> Calls {
        assert!(0 < count && count < self.count, "split {count} of {} calls", self.count);
        let mut at = 0;
        let mut weight = 0;
        for _ in 0..count {
            let header = header_at(&self.frames[at..]);
            weight += charge(&header, &self.frames[at + HEADER_LEN..]);
            at += header.frame_len();
        }
        self.count -= count;
        self.weight -= weight;
        let frames = self.frames.split_to(at);
        let outbox = Arc::clone(&self.outbox);
        let Calls { plain, read_ns, stamps, .. } = *self;
        Calls { outbox, frames, plain, count, weight, read_ns, stamps }
    }

    /// How many calls from the front, at most `calls_max`, have frames of no more than `bytes_max`
    /// bytes in all.
    pub(crate) fn fitting(&self, calls_max: u32, bytes_max: usize) -> u32 {
        if self.count <= calls_max && self.frames.len() <= bytes_max {
            return self.count;
        }
        let (mut count, mut at) = (0, 0);
        while count < calls_max.min(self.count) {
            at += header_at(&self.frames[at..]).frame_len();
            if at > bytes_max {
                break;
            }
            count += 1;
        }
        count
    }
}

/// The header at the front of checked frames.
pub(crate) fn header_at(frames: &[u8]) -> Header {
    let head = frames.first_chunk().expect("the reader passes on whole frames only");
    Header::decode(head).expect("the reader has decoded this header before")
}

/// Bytes of extensions that the flags of a checked call announce.
pub(crate) fn extensions_len(header: &Header) -> usize {
    let resp_size_len =
        if header.flags & native::FLAG_RESP_SIZE != 0 { native::RESP_SIZE_LEN } else { 0 };
    key_len(header) + resp_size_len
}

/// Bytes of the first extension, the key.
fn key_len(header: &Header) -> usize {
    if header.flags & native::FLAG_HAS_KEY != 0 { native::KEY_LEN } else { 0 }
}

/// The key of a checked call, if it has one, read from behind its header.
pub(crate) fn key_of(header: &Header, rest: &[u8]) -> Option<u64> {
    let key = if key_len(header) > 0 { rest.first_chunk() } else { None };
    key.map(|key| native::Key::decode(key).key)
}

/// The reply length that the call asks for, read from behind its header.
pub(crate) fn asked_reply_len(header: &Header, rest: &[u8]) -> Option<usize> {
    if header.flags & native::FLAG_RESP_SIZE == 0 {
        return None;
    }
    let word = rest.get(key_len(header)..)?.first_chunk::<{ native::RESP_SIZE_LEN }>()?;
    Some(u32::from_be_bytes(*word) as usize)
}

/// What a stats call is charged: its reply is that long on a server with some hundred threads.
const STATS_CHARGE: usize = 64 << 10;

/// What a call counts against its connection's owed bytes while it is in the server: the larger
/// of what came and of what will be answered.
pub(crate) fn charge(header: &Header, rest: &[u8]) -> usize {
    if header.kind == Kind::Stats {
        return STATS_CHARGE;
    }
    header.frame_len().max(HEADER_LEN + asked_reply_len(header, rest).unwrap_or(0))
}

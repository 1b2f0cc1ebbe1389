//! The bytes of a call and the head that its reply must have. All calls of a run have one shape, so
//! that a frame is made anew from its id whenever it is needed: what a socket did not take is kept
//! as ids, not as bytes.

use crate::call_table::wants_stages;
use crate::payload::Payload;
use echo_common::wire::native::{
    EXECUTION_LEN, FLAG_HAS_KEY, FLAG_RESP_SIZE, FLAG_WANT_EXECUTION, FLAG_WANT_HELD,
    FLAG_WANT_STAGES, FRAME_MAX_DEFAULT, HEADER_LEN, HELD_LEN, Header, KEY_LEN, Key, Kind,
    RESP_SIZE_LEN, STAGES_LEN,
};
use std::io::IoSlice;

/// How a call of some framing is made from its id.
pub(crate) trait Frames {
    /// The payloads of all calls.
    fn payload(&self) -> &Payload;

    /// Bytes of a call before its payload.
    fn head_len(&self, id: u64) -> usize;

    /// Appends what stands before a call's payload; with its key, if calls have keys.
    fn put_head(&self, id: u64, key: Option<&Key>, out: &mut Vec<u8>);

    /// What stands behind every call's payload.
    fn tail(&self) -> &[u8];

    /// Bytes of a whole call.
    #[inline]
    fn call_len(&self, id: u64) -> usize {
        self.head_len(id) + self.payload().len() + self.tail().len()
    }

    /// Appends a whole call.
    #[inline(always)]
    fn encode(&self, id: u64, key: Option<&Key>, out: &mut Vec<u8>) {
        self.put_head(id, key, out);
        let payload = self.payload();
        if let Some(whole) = payload.whole(id) {
            out.extend_from_slice(whole);
            return out.extend_from_slice(self.tail());
        }
        let mut position = 0;
        while position < payload.len() {
            let piece = payload.call_piece(id, position);
            out.extend_from_slice(piece);
            position += piece.len();
        }
        out.extend_from_slice(self.tail());
    }

    /// Puts the first of these calls, until they are `most` bytes or more, at the front of `out`,
    /// whatever was there. Returns how many calls and bytes they are; none, if it is not known
    /// that they are equally long and have no keys. Then they are put one by one.
    fn put_alike(&self, _ids: &[u64], _most: usize, _out: &mut Vec<u8>) -> Option<(usize, usize)> {
        None
    }

    /// Adds slices of the call `id` from its byte `skip` on, as long as there is room. Nothing is
    /// copied: they point into `head`, which `put_head` made, into the pattern and to the tail.
    fn slices<'a>(&'a self, id: u64, head: &'a [u8], skip: usize, out: &mut SliceList<'a>) {
        let payload = self.payload();
        if skip < head.len() {
            out.push(&head[skip..]);
        }
        let mut position = skip.saturating_sub(head.len());
        while position < payload.len() && !out.is_full() {
            let piece = payload.call_piece(id, position);
            out.push(piece);
            position += piece.len();
        }
        let behind = skip.saturating_sub(head.len() + payload.len());
        if behind < self.tail().len() {
            out.push(&self.tail()[behind..]);
        }
    }
}

/// Bytes of all blocks of a reply.
pub(crate) const BLOCKS_MAX: usize = STAGES_LEN + EXECUTION_LEN + HELD_LEN;

/// Where the flags are in a header.
const FLAGS_AT: usize = 5;

/// What is in a call's room for its stages: a server that does not fill it in is seen, because no
/// call took so long.
pub(crate) const STAGES_ROOM: [u8; STAGES_LEN] = [0xff; STAGES_LEN];

/// How the calls of a run look on the wire.
#[derive(Debug)]
pub(crate) struct CallFrames {
    pub(crate) payload: Payload,
    /// Whether reply bytes are compared, or only counted.
    pub(crate) verify: bool,
    /// How every call begins.
    calls: Starts,
    resp_size: Option<[u8; RESP_SIZE_LEN]>,
    /// How every correct reply begins.
    replies: Starts,
    /// Calls have keys, and their replies say who executed them.
    keyed: bool,
}

impl CallFrames {
    /// Calls of `payload_len` bytes that ask for `reply_len` bytes, if that is not the same.
    pub(crate) fn new(payload_len: usize, reply_len: Option<u32>, verify: bool) -> CallFrames {
        let expected = reply_len.map_or(payload_len, |len| len as usize);
        let (flags, extension) = match reply_len {
            Some(_) => (FLAG_RESP_SIZE, RESP_SIZE_LEN),
            None => (0, 0),
        };
        CallFrames {
            payload: Payload::new(payload_len, expected),
            verify,
            calls: Starts::new(Kind::Call, flags, extension, payload_len),
            resp_size: reply_len.map(u32::to_be_bytes),
            replies: Starts::new(Kind::Reply, 0, 0, expected),
            keyed: false,
        }
    }

    /// The same with further flags; that of how many hold the call is answered.
    pub(crate) fn with_flags(mut self, flags: u8) -> CallFrames {
        self.calls.plain[FLAGS_AT] |= flags;
        self.calls.staged[FLAGS_AT] |= flags;
        self
    }

    /// The same with keys.
    pub(crate) fn with_keys(mut self) -> CallFrames {
        let expected = self.reply_len();
        let flags = self.calls.plain[FLAGS_AT] | FLAG_HAS_KEY | FLAG_WANT_EXECUTION;
        let extensions = KEY_LEN + self.resp_size.map_or(0, |size| size.len());
        self.calls = Starts::new(Kind::Call, flags, extensions, self.payload.len());
        self.replies = Starts::new(Kind::Reply, FLAG_WANT_EXECUTION, EXECUTION_LEN, expected);
        self.keyed = true;
        self
    }

    /// Whether calls ask how many hold them.
    pub(crate) fn ask_holders(&self) -> bool {
        self.calls.plain[FLAGS_AT] & FLAG_WANT_HELD != 0
    }

    /// Whether calls have keys.
    #[inline]
    pub(crate) fn are_keyed(&self) -> bool {
        self.keyed
    }

    /// Bytes of a correct reply's payload.
    #[inline]
    pub(crate) fn reply_len(&self) -> usize {
        self.payload.reply_len()
    }

    /// The longest frame that is taken from the server, by its length word.
    pub(crate) fn frame_max(&self) -> usize {
        FRAME_MAX_DEFAULT.max(self.reply_len() + BLOCKS_MAX + HEADER_LEN)
    }

    /// The id, if `head` is that of a reply of the right length that brings no stages.
    #[inline]
    pub(crate) fn correct_reply_id(&self, head: &[u8; HEADER_LEN]) -> Option<u64> {
        id_behind(&self.replies.plain, head)
    }

    /// The id, if `head` is that of a reply of the right length that brings stages, as it must.
    #[inline]
    pub(crate) fn staged_reply_id(&self, head: &[u8; HEADER_LEN]) -> Option<u64> {
        id_behind(&self.replies.staged, head).filter(|&id| wants_stages(id))
    }

    /// Whether `bytes` are right as bytes `position..` of the reply to `id`.
    #[inline(always)]
    pub(crate) fn matches(&self, id: u64, position: usize, bytes: &[u8]) -> bool {
        !self.verify || self.payload.matches(id, position, bytes)
    }
}

impl Frames for CallFrames {
    #[inline]
    fn payload(&self) -> &Payload {
        &self.payload
    }

    #[inline]
    fn head_len(&self, id: u64) -> usize {
        let key_len = if self.keyed { KEY_LEN } else { 0 };
        let room_len = if wants_stages(id) { STAGES_LEN } else { 0 };
        HEADER_LEN + key_len + room_len + self.resp_size.map_or(0, |size| size.len())
    }

    #[inline(always)]
    fn put_head(&self, id: u64, key: Option<&Key>, out: &mut Vec<u8>) {
        let mut head = [0; HEADER_LEN];
        let wants_stages = wants_stages(id);
        head[..8].copy_from_slice(if wants_stages {
            &self.calls.staged
        } else {
            &self.calls.plain
        });
        head[8..].copy_from_slice(&id.to_be_bytes());
        out.extend_from_slice(&head);
        if let Some(key) = key {
            out.extend_from_slice(&key.encode());
        }
        if wants_stages {
            out.extend_from_slice(&STAGES_ROOM);
        }
        if let Some(size) = &self.resp_size {
            out.extend_from_slice(size);
        }
    }

    #[inline]
    fn tail(&self) -> &[u8] {
        &[]
    }

    /// This loop is the client's speed on the way out: no room is asked for call by call.
    #[inline(never)]
    fn put_alike(&self, ids: &[u64], most: usize, out: &mut Vec<u8>) -> Option<(usize, usize)> {
        let call_len = HEADER_LEN + self.payload.len();
        let ids = &ids[..ids.len().min(most.div_ceil(call_len))];
        if self.keyed || self.resp_size.is_some() || ids.iter().any(|&id| wants_stages(id)) {
            return None;
        }
        let end = ids.len() * call_len;
        if out.len() < end {
            out.resize(end, 0);
        }
        for (call, &id) in out.chunks_exact_mut(call_len).zip(ids) {
            let (start, rest) = call.split_first_chunk_mut()?;
            let (number, payload) = rest.split_first_chunk_mut()?;
            (*start, *number) = (self.calls.plain, id.to_be_bytes());
            payload.copy_from_slice(self.payload.whole(id)?);
        }
        Some((ids.len(), end))
    }
}

/// A bounded list for one vectored write.
pub(crate) struct SliceList<'a> {
    slices: [IoSlice<'a>; SliceList::CAPACITY],
    len: usize,
}

impl<'a> SliceList<'a> {
    const CAPACITY: usize = 32;

    pub(crate) fn new() -> SliceList<'a> {
        SliceList { slices: [IoSlice::new(&[]); SliceList::CAPACITY], len: 0 }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len == SliceList::CAPACITY
    }

    pub(crate) fn as_slices(&self) -> &[IoSlice<'a>] {
        &self.slices[..self.len]
    }

    fn push(&mut self, bytes: &'a [u8]) {
        if !self.is_full() {
            self.slices[self.len] = IoSlice::new(bytes);
            self.len += 1;
        }
    }
}

/// Length, kind, flags and status of frames that differ in nothing else than their stages.
#[derive(Debug)]
struct Starts {
    plain: [u8; 8],
    /// With stages, or room for them.
    staged: [u8; 8],
}

impl Starts {
    fn new(kind: Kind, flags: u8, extensions: usize, payload: usize) -> Starts {
        let start = |flags, extensions| {
            let header = Header::new(kind, flags, 0, extensions, payload).encode();
            *header.first_chunk().expect("a header has more than 8 bytes")
        };
        Starts {
            plain: start(flags, extensions),
            staged: start(flags | FLAG_WANT_STAGES, extensions + STAGES_LEN),
        }
    }
}

/// The id in `head`, if it begins with `start`.
#[inline]
fn id_behind(start: &[u8; 8], head: &[u8; HEADER_LEN]) -> Option<u64> {
    let (front, id) = head.split_first_chunk()?;
    if front != start {
        return None;
    }
    id.first_chunk().map(|id| u64::from_be_bytes(*id))
}

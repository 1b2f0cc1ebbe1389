//! What travels from a reader to a handler.

use crate::hadoop::Client;
use crate::outbox::Outbox;
use crate::sync::Arc;
use bytes::BytesMut;
use echo_common::wire::hadoop;
use echo_common::wire::native::{self, HEADER_LEN, Header, Kind};

/// A run of whole calls of one connection, in arrival order, owning their bytes.
///
/// Calls travel in runs because a reader finds them in runs: what one read brought is counted and
/// queued once. A handler may still take any number of them (see [`Calls::split_front`]).
pub struct Calls {
    /// Where the replies go.
    pub outbox: Arc<Outbox>,
    /// Whole frames, one behind the other; the reader has checked every header. In a run of Hadoop
    /// RPC these are packets, and some between the calls may be something else. Empty until the
    /// reader hands its pass over, if they are in the pass's buffer.
    pub frames: BytesMut,
    /// Every call is without flags, so that none has a key.
    pub plain: bool,
    /// Number of calls in `frames`, at least 1.
    pub count: u32,
    /// What the connection's bounds were charged for these calls, in bytes.
    pub weight: usize,
    /// When the bytes were found readable, see [`echo_common::clock`].
    pub read_ns: u64,
    /// Further stamps, if some call of the run asks for its stages.
    pub stamps: Option<Stamps>,
    /// Whose calls these are, if they are Hadoop RPC; else they are native.
    pub hadoop: Option<Arc<Client>>,
    /// The run is one call that waits on purpose: no other call may wait for it.
    pub is_slow: bool,
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
        let (at, weight) = match self.hadoop {
            None => self.front(count),
            Some(_) => self.hadoop_front(count),
        };
        self.count -= count;
        self.weight -= weight;
        let frames = self.frames.split_to(at);
        let outbox = Arc::clone(&self.outbox);
        let hadoop = self.hadoop.clone();
        let Calls { plain, read_ns, stamps, is_slow, .. } = *self;
        Calls { outbox, frames, plain, count, weight, read_ns, stamps, hadoop, is_slow }
    }

    /// Whether every call is a stats call.
    pub(crate) fn are_stats(&self) -> bool {
        if self.hadoop.is_some() {
            return false;
        }
        let mut at = 0;
        while at < self.frames.len() {
            let header = header_at(&self.frames[at..]);
            if header.kind != Kind::Stats {
                return false;
            }
            at += header.frame_len();
        }
        true
    }

    /// Where the first `count` frames end, and what they were charged.
    fn front(&self, count: u32) -> (usize, usize) {
        let mut at = 0;
        let mut weight = 0;
        for _ in 0..count {
            let header = header_at(&self.frames[at..]);
            weight += charge(&header, &self.frames[at + HEADER_LEN..]);
            at += header.frame_len();
        }
        (at, weight)
    }

    /// The same for packets, which are charged their length and what came between them.
    fn hadoop_front(&self, count: u32) -> (usize, usize) {
        let mut calls = hadoop::call::Calls::of(&self.frames);
        let found = calls.by_ref().take(count as usize).count();
        assert_eq!(found, count as usize, "calls of a run");
        let at = self.frames.len() - calls.rest().len();
        (at, at)
    }

    /// How many calls from the front, at most `calls_max`, have frames of no more than `bytes_max`
    /// bytes in all.
    pub(crate) fn fitting(&self, calls_max: u32, bytes_max: usize) -> u32 {
        if self.count <= calls_max && self.frames.len() <= bytes_max {
            return self.count;
        }
        if self.hadoop.is_some() {
            return self.hadoop_fitting(calls_max, bytes_max);
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

    fn hadoop_fitting(&self, calls_max: u32, bytes_max: usize) -> u32 {
        let mut calls = hadoop::call::Calls::of(&self.frames);
        let mut count = 0;
        while count < calls_max.min(self.count) {
            calls.next();
            if self.frames.len() - calls.rest().len() > bytes_max {
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
    before_resp_size(header) + resp_size_len
}

/// Bytes of the key, and of the room for stages.
fn before_resp_size(header: &Header) -> usize {
    let room_len =
        if header.flags & native::FLAG_WANT_STAGES != 0 { native::STAGES_LEN } else { 0 };
    key_len(header) + room_len
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
    let word = rest.get(before_resp_size(header)..)?.first_chunk::<{ native::RESP_SIZE_LEN }>()?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeSocket;
    use crate::mailbox::{ConnectionId, Mailbox, Wake};
    use crate::outbox::FlowLimits;
    use echo_common::wire::hadoop::client::{CallTemplate, put_ping};
    use echo_common::wire::hadoop::context::Context;
    use echo_common::wire::hadoop::method::MethodHeader;

    struct Sleepless;

    impl Wake for Sleepless {
        fn wake(&self) {}
    }

    fn outbox() -> Arc<Outbox> {
        let mailbox = Arc::new(Mailbox::new(1, Box::new(Sleepless)));
        let flow = FlowLimits { calls_max: 100, owed_bytes_max: 1 << 20, notes_idle: false };
        Arc::new(Outbox::new(Box::new(FakeSocket::new(1)), ConnectionId(1), mailbox, flow))
    }

    #[test]
    fn runs_of_packets_are_taken_apart_between_calls_and_nothing_of_their_weight_is_lost() {
        let method = MethodHeader { method: b"echo", protocol: b"p", version: 1 };
        let template = CallTemplate::new([7; 16], &method);
        for count in 1..6 {
            let mut frames = Vec::new();
            for call_id in 0..6 {
                template.put(&mut frames, call_id, 0, 0);
                (0..call_id % 3).for_each(|_| put_ping(&mut frames, &[7; 16]));
            }
            let mut run = Calls {
                outbox: outbox(),
                weight: frames.len(),
                frames: BytesMut::from(&frames[..]),
                plain: false,
                count: 6,
                read_ns: 0,
                stamps: None,
                hadoop: Some(Arc::new(Client::of(&Context::default()))),
                is_slow: false,
            };
            let bytes = run.frames.len();
            assert_eq!((run.fitting(6, bytes), run.fitting(count, bytes)), (6, count));
            let first = template.call_len(0, 0, 0);
            assert_eq!((run.fitting(9, first), run.fitting(9, first - 1)), (1, 0));
            let front = run.split_front(count);
            assert_eq!((front.count, run.count), (count, 6 - count));
            assert_eq!((front.weight, run.weight), (front.frames.len(), run.frames.len()));
            assert_eq!([&front.frames[..], &run.frames].concat(), frames);
            let ids = |run: &Calls| -> Vec<i32> {
                hadoop::call::Calls::of(&run.frames).map(|call| call.header.call_id).collect()
            };
            assert_eq!([ids(&front), ids(&run)].concat(), [0, 1, 2, 3, 4, 5]);
        }
    }
}

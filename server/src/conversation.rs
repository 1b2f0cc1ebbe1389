//! What a connection speaks: from the bytes that came to whole calls.
//!
//! The first bytes choose, once. Whatever is spoken, the calls found at the front of some bytes
//! become one run, and nothing else of the server's way of a call depends on it.

use crate::frame_check::{check, count_alike};
use crate::hadoop::Client;
use crate::limits::ReadLimits;
use crate::outbox::Allowance;
use crate::refusal::Refusal;
use echo_common::wire::detect::{Detected, detect};
use echo_common::wire::native;
use echo_common::wire::split::{Split, split};
use std::sync::Arc;

mod hadoop;
use hadoop::Session;

/// See the module's text.
pub(crate) enum Conversation {
    /// The bytes that choose have not come.
    Opening,
    /// Native framing. A leader's frames may be `more` bytes longer than the limit, which is that
    /// of calls: so many it adds to one.
    Native { more: usize },
    /// Hadoop RPC, and whatever the original takes for it: it has answers for others, too.
    Hadoop(Box<Session>),
}

/// What was found at the front of some bytes.
#[derive(Default)]
pub(crate) struct Parsed {
    /// Where the first call begins.
    pub(crate) start: usize,
    /// Where what was taken ends.
    pub(crate) end: usize,
    pub(crate) count: u32,
    pub(crate) stats: u32,
    pub(crate) has_flags: bool,
    pub(crate) wants_stages: bool,
    /// The only call found takes long: it must hold no other.
    pub(crate) is_slow: bool,
    pub(crate) weight: usize,
    /// The peer has said who it is, or that it is there, without a call.
    pub(crate) is_alive: bool,
    /// Answers to what is no call of a run.
    pub(crate) answers: Vec<u8>,
    /// How many of these say that something was wrong.
    pub(crate) malformed: u32,
    pub(crate) refusal: Option<Refusal>,
}

impl Conversation {
    /// Finds whole calls at the front of `bytes`, as many as the bounds allow.
    pub(crate) fn parse(
        &mut self,
        bytes: &[u8],
        allowance: Allowance,
        limits: &ReadLimits,
    ) -> Parsed {
        let mut parsed = Parsed::default();
        if matches!(self, Conversation::Opening) {
            self.open(bytes, limits, &mut parsed);
        }
        match self {
            Conversation::Opening => {}
            Conversation::Native { more } => {
                parse_native(bytes, allowance, limits, more, &mut parsed);
            }
            Conversation::Hadoop(session) => session.parse(bytes, allowance, limits, &mut parsed),
        }
        parsed
    }

    fn open(&mut self, bytes: &[u8], limits: &ReadLimits, parsed: &mut Parsed) {
        match (detect(bytes), limits.hadoop) {
            (Detected::NeedMore, _) => {}
            (Detected::Native, _) => {
                *self = Conversation::Native { more: 0 };
                parsed.start = native::PREAMBLE_LEN;
                parsed.end = native::PREAMBLE_LEN;
            }
            (Detected::Hadoop | Detected::HttpGet | Detected::Unknown, Some(rules)) => {
                *self = Conversation::Hadoop(Box::new(Session::new(rules)));
            }
            (other, _) => parsed.refusal = Some(Refusal::opening(other)),
        }
    }

    /// Whether something can be done with the front of `held` before more bytes come.
    pub(crate) fn has_front(&self, held: &[u8], limits: &ReadLimits) -> bool {
        match self {
            Conversation::Opening => false,
            Conversation::Native { more } => !matches!(
                split(held, limits.frame_size_max + more),
                Ok(Split::NeedLength | Split::NeedBody { .. })
            ),
            Conversation::Hadoop(session) => session.has_front(held),
        }
    }

    /// Bytes of the incomplete frame that `held` begins, once its length is known.
    pub(crate) fn frame_len(&self, held: &[u8], limits: &ReadLimits) -> Option<usize> {
        match self {
            Conversation::Opening => None,
            Conversation::Native { more } => match split(held, limits.frame_size_max + more) {
                Ok(Split::NeedBody { total }) => Some(total),
                _ => None,
            },
            Conversation::Hadoop(session) => session.packet_len(held),
        }
    }

    /// The Hadoop client at the other end, if it is one and has said so.
    pub(crate) fn hadoop_client(&self) -> Option<Arc<Client>> {
        match self {
            Conversation::Hadoop(session) => session.client(),
            Conversation::Opening | Conversation::Native { .. } => None,
        }
    }

    /// What the peer is told whose frame stays incomplete for too long.
    pub(crate) fn frame_timeout(&self) -> Refusal {
        let refusal = Refusal::frame_timeout();
        match self {
            Conversation::Opening | Conversation::Native { .. } => refusal,
            // Its packets have no form for it that belongs to no call, and the original says
            // nothing either.
            Conversation::Hadoop(_) => Refusal { frame: Vec::new(), ..refusal },
        }
    }
}

fn parse_native(
    bytes: &[u8],
    allowance: Allowance,
    limits: &ReadLimits,
    more: &mut usize,
    parsed: &mut Parsed,
) {
    let count_max = allowance.calls.min(limits.reader_batch);
    while parsed.count < count_max && parsed.weight < allowance.bytes {
        let rest = &bytes[parsed.end..];
        match check(rest, limits, *more) {
            Ok(Some(call)) => {
                if call.has_flags && rest[native::LENGTH_LEN] == native::Kind::Join as u8 {
                    *more = native::EPOCH_LEN;
                }
                parsed.end += call.length;
                parsed.weight += call.weight;
                parsed.count += 1;
                if !call.has_flags && !call.is_stats && rest.len() > call.length {
                    let left = allowance.bytes.saturating_sub(parsed.weight);
                    let most = left.div_ceil(call.weight).min((count_max - parsed.count) as usize);
                    let alike = count_alike(rest, call.length, most);
                    parsed.end += alike * call.length;
                    parsed.weight += alike * call.weight;
                    parsed.count += alike as u32;
                }
                parsed.stats += u32::from(call.is_stats);
                parsed.wants_stages |= call.wants_stages;
                parsed.has_flags |= call.has_flags;
            }
            Ok(None) => break,
            Err(refusal) => {
                parsed.refusal = Some(refusal);
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::for_each_seed;
    use native::{FLAG_RESP_SIZE, Header, Kind};

    #[test]
    fn calls_that_begin_alike_are_bounded_and_counted_as_if_each_were_looked_at() {
        for_each_seed(2_000, |dice| {
            let mut bytes = Vec::new();
            let lengths = [dice.within(0..100), dice.within(0..100)];
            for id in 0..dice.within(0..60) {
                let (kind, flags) = match dice.within(0..40) {
                    0 => (Kind::Stats, 0),
                    1 => (Kind::Call, FLAG_RESP_SIZE),
                    2 => (Kind::Join, 0),
                    3 => (Kind::Reply, 0),
                    _ => (Kind::Call, 0),
                };
                let length = lengths[usize::from(dice.one_in(8))];
                bytes.extend(Header::new(kind, flags, id as u64, 0, length).encode());
                bytes.extend(dice.bytes(length));
            }
            bytes.truncate(bytes.len() - dice.within(0..bytes.len().min(20) + 1));
            let mut limits = ReadLimits::of_frames(100);
            limits.reader_batch = dice.within(1..80) as u32;
            let allowance = Allowance {
                calls: dice.within(1..80) as u32,
                bytes: [dice.within(1..8_000), usize::MAX][dice.within(0..2)],
            };
            let (mut all, mut more) = (Parsed::default(), 0);
            parse_native(&bytes, allowance, &limits, &mut more, &mut all);
            // One by one: a batch of one call at a time.
            let (mut each, mut its_more) = (Parsed::default(), 0);
            let one = ReadLimits { reader_batch: 1, ..limits };
            while each.count < limits.reader_batch.min(allowance.calls)
                && each.weight < allowance.bytes
            {
                let mut call = Parsed::default();
                let rest = &bytes[each.end..];
                parse_native(rest, allowance, &one, &mut its_more, &mut call);
                each.end += call.end;
                each.weight += call.weight;
                each.count += call.count;
                each.stats += call.stats;
                each.has_flags |= call.has_flags;
                each.refusal = call.refusal;
                if call.count == 0 {
                    break;
                }
            }
            let found = |parsed: Parsed| {
                let Parsed { end, count, stats, weight, has_flags, refusal, .. } = parsed;
                (end, count, stats, weight, has_flags, refusal)
            };
            assert_eq!((found(all), more), (found(each), its_more));
        });
    }
}

//! Faults made on purpose (`--inject`), so that every check of a client can itself be checked.
//!
//! An `Injector` stands where the replies of a handler, or of the replicator, leave for their
//! connection. Off means that there is none: nothing else differs.

use crate::config::Config;
use crate::meters::SharedCounter;
use crate::owed::Owed;
use crate::replicator::Answer;
use echo_common::wire::native::{
    EXECUTION_LEN, FLAG_WANT_EXECUTION, FLAG_WANT_HELD, FLAG_WANT_STAGES, HEADER_LEN, HELD_LEN,
    Header, Kind, LENGTH_LEN, STAGES_LEN,
};
use serde::Serialize;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// What is done to a reply, and to what share of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fault {
    /// What is done.
    pub kind: FaultKind,
    /// To this share of the replies, above 0 and at most 1.
    pub rate: f64,
}

/// One fault each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A call gets no reply.
    Drop,
    /// It gets its reply twice.
    Dup,
    /// Two replies of a connection change places: the later one leaves first. Where a connection
    /// has several calls in the server that is no fault; there two that leave together answer each
    /// other's call.
    Swap,
    /// The last byte of a payload is wrong.
    Corrupt,
    /// A call with acks=all is answered before any follower holds it.
    EarlyAck,
}

const KINDS: [(FaultKind, &str); 5] = [
    (FaultKind::Drop, "drop"),
    (FaultKind::Dup, "dup"),
    (FaultKind::Swap, "swap"),
    (FaultKind::Corrupt, "corrupt"),
    (FaultKind::EarlyAck, "early-ack"),
];

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Fault, String> {
        let why = || {
            "a fault is KIND:RATE, such as drop:0.01; kinds are drop, dup, swap, corrupt and \
             early-ack, a rate is above 0 and at most 1"
                .to_owned()
        };
        let (kind, rate) = text.split_once(':').ok_or_else(why)?;
        let kind = KINDS.iter().find(|(_, name)| *name == kind).ok_or_else(why)?.0;
        let rate = rate.parse().map_err(|_| why())?;
        if rate > 0.0 && rate <= 1.0 { Ok(Fault { kind, rate }) } else { Err(why()) }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, name) = KINDS[self.kind as usize];
        write!(to, "{name}:{}", self.rate)
    }
}

/// How many faults were made.
#[derive(Debug, Default)]
pub struct FaultMeters([SharedCounter; KINDS.len()]);

/// Faults at one moment.
#[derive(Clone, Debug, Serialize)]
pub struct FaultsSnapshot {
    /// What was asked, such as `drop:0.01`.
    pub inject: Vec<String>,
    /// Replies dropped.
    pub dropped: u64,
    /// Replies sent twice.
    pub doubled: u64,
    /// Pairs of replies swapped.
    pub swapped: u64,
    /// Replies with a wrong byte.
    pub corrupted: u64,
    /// Calls acknowledged before any follower held them.
    pub acked_early: u64,
}

impl FaultMeters {
    /// Their counts; none if nothing was asked.
    pub(crate) fn snapshot(&self, asked: &[Fault]) -> Option<FaultsSnapshot> {
        let count = |kind: FaultKind| self.0[kind as usize].get();
        (!asked.is_empty()).then(|| FaultsSnapshot {
            inject: asked.iter().map(Fault::to_string).collect(),
            dropped: count(FaultKind::Drop),
            doubled: count(FaultKind::Dup),
            swapped: count(FaultKind::Swap),
            corrupted: count(FaultKind::Corrupt),
            acked_early: count(FaultKind::EarlyAck),
        })
    }
}

/// Whether a server lets replies overtake others that must come first.
pub(crate) fn overtakes(config: &Config) -> bool {
    let in_order = config.limits.calls_per_connection == 1;
    in_order && config.faults.iter().any(|fault| fault.kind == FaultKind::Swap)
}

/// Makes the faults of one thread: evenly spaced, so that a rate of 0.01 is every 100th reply. A
/// fault that finds nothing to act on waits for the next reply that suits.
pub(crate) struct Injector {
    rates: [f64; KINDS.len()],
    due: [f64; KINDS.len()],
    /// Swaps change the places of replies; else the ids.
    overtakes: bool,
}

impl Injector {
    /// None if nothing was asked.
    pub(crate) fn new(config: &Config) -> Option<Injector> {
        Injector::of(&config.faults, overtakes(config))
    }

    fn of(asked: &[Fault], overtakes: bool) -> Option<Injector> {
        let mut rates = [0.0; KINDS.len()];
        asked.iter().for_each(|fault| rates[fault.kind as usize] = fault.rate);
        (!asked.is_empty()).then_some(Injector { rates, due: [0.0; KINDS.len()], overtakes })
    }

    /// Whether a call with acks=all is answered too early.
    pub(crate) fn acks_early(&mut self, meters: &FaultMeters) -> bool {
        self.count(FaultKind::EarlyAck);
        self.strikes(FaultKind::EarlyAck, meters)
    }

    /// Does to these replies, which leave together, what is due; returns how many were dropped.
    pub(crate) fn apply(&mut self, replies: &mut Owed, meters: &FaultMeters) -> u64 {
        let swaps = !self.overtakes;
        self.apply_to(replies, swaps, meters)
    }

    /// The same for a reply that leaves by itself or was swapped before.
    pub(crate) fn apply_to_one(&mut self, reply: &mut Owed, meters: &FaultMeters) -> u64 {
        self.apply_to(reply, false, meters)
    }

    /// Lets the reply to the one call of its connection be overtaken by the next one, if that is
    /// due and `withhold` can do it. Returns whether it is so: then the reply was taken.
    pub(crate) fn lets_overtake(
        &mut self,
        reply: &mut Owed,
        meters: &FaultMeters,
        withhold: impl FnOnce(&mut Owed) -> bool,
    ) -> bool {
        if !self.overtakes || !is_one_reply(reply) {
            return false;
        }
        self.count(FaultKind::Swap);
        self.is_due(FaultKind::Swap) && withhold(reply) && {
            self.made(FaultKind::Swap, meters);
            true
        }
    }

    /// Exchanges the ids of replies from the replicator that leave together, as is due.
    pub(crate) fn swap(&mut self, answers: &mut [Answer], meters: &FaultMeters) {
        if self.overtakes {
            return;
        }
        for at in 0..answers.len() {
            let (front, rest) = answers.split_at_mut(at + 1);
            let one = &mut front[at];
            if !is_one_reply(&one.reply) {
                continue;
            }
            self.count(FaultKind::Swap);
            if !self.is_due(FaultKind::Swap) {
                continue;
            }
            let suits = |other: &&mut Answer| {
                Arc::ptr_eq(&other.outbox, &one.outbox) && is_one_reply(&other.reply)
            };
            if let Some(other) = rest.iter_mut().find(suits) {
                std::mem::swap(&mut one.id, &mut other.id);
                one.reply.patch_front(ID.start, &one.id.to_be_bytes());
                other.reply.patch_front(ID.start, &other.id.to_be_bytes());
                self.made(FaultKind::Swap, meters);
            }
        }
    }

    fn apply_to(&mut self, replies: &mut Owed, swaps: bool, meters: &FaultMeters) -> u64 {
        let mut bytes = Vec::with_capacity(replies.len());
        let (_, result) = replies.write_to(|pieces| {
            pieces.iter().for_each(|piece| bytes.extend_from_slice(piece));
            Ok(pieces.iter().map(|piece| piece.len()).sum())
        });
        assert!(result.is_ok(), "memory takes all bytes");
        let mut frames = frames_of(&mut bytes);
        let mut dropped = 0;
        for at in 0..frames.len() {
            let (front, rest) = frames.split_at_mut(at + 1);
            let frame = &mut front[at];
            if !is_reply(frame) {
                replies.push_small(frame, &[]);
                continue;
            }
            let kinds = [FaultKind::Drop, FaultKind::Dup, FaultKind::Corrupt];
            kinds.iter().for_each(|kind| self.count(*kind));
            if swaps {
                self.count(FaultKind::Swap);
            }
            if self.strikes(FaultKind::Drop, meters) {
                dropped += 1;
                continue;
            }
            if let Some(other) = rest.first_mut().filter(|other| swaps && is_reply(other))
                && self.strikes(FaultKind::Swap, meters)
            {
                frame[ID].swap_with_slice(&mut other[ID]);
            } else if has_payload(frame) && self.strikes(FaultKind::Corrupt, meters) {
                let last = frame.len() - 1;
                frame[last] ^= 0x20;
            }
            replies.push_small(frame, &[]);
            if self.strikes(FaultKind::Dup, meters) {
                replies.push_small(frame, &[]);
            }
        }
        dropped
    }

    fn count(&mut self, kind: FaultKind) {
        self.due[kind as usize] += self.rates[kind as usize];
    }

    fn is_due(&self, kind: FaultKind) -> bool {
        // Sums of rates such as 0.1 come out a little below 1.
        self.due[kind as usize] > 1.0 - 1e-9
    }

    fn made(&mut self, kind: FaultKind, meters: &FaultMeters) {
        self.due[kind as usize] -= 1.0;
        meters.0[kind as usize].add(1);
    }

    fn strikes(&mut self, kind: FaultKind, meters: &FaultMeters) -> bool {
        let strikes = self.is_due(kind);
        if strikes {
            self.made(kind, meters);
        }
        strikes
    }
}

/// Where the call's id is in a frame.
const ID: std::ops::Range<usize> = 8..HEADER_LEN;

fn is_reply(frame: &[u8]) -> bool {
    frame.get(LENGTH_LEN) == Some(&(Kind::Reply as u8))
}

/// Whether replies to one call begin with a reply: it was not dropped, and is no error.
fn is_one_reply(reply: &Owed) -> bool {
    reply.front_byte(LENGTH_LEN) == Some(Kind::Reply as u8)
}

/// Whether there is something behind the blocks that a reply's flags announce.
fn has_payload(frame: &[u8]) -> bool {
    let flags = frame.get(LENGTH_LEN + 1).copied().unwrap_or(0);
    let blocks = [
        (FLAG_WANT_STAGES, STAGES_LEN),
        (FLAG_WANT_EXECUTION, EXECUTION_LEN),
        (FLAG_WANT_HELD, HELD_LEN),
    ];
    let has = blocks.into_iter().filter(|(flag, _)| flags & flag != 0);
    frame.len() > HEADER_LEN + has.map(|(_, len)| len).sum::<usize>()
}

/// Takes whole frames apart.
fn frames_of(mut bytes: &mut [u8]) -> Vec<&mut [u8]> {
    let mut frames = Vec::new();
    while let Some(Ok(header)) = bytes.first_chunk().map(Header::decode) {
        let (frame, rest) = bytes.split_at_mut(header.frame_len());
        frames.push(frame);
        bytes = rest;
    }
    frames
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ids and payloads that come out when replies 0 to 9 with their ids as payloads go in,
    /// one run after the other.
    fn made(faults: &str, runs: usize) -> (Vec<(u64, Vec<u8>)>, u64, FaultMeters) {
        let asked: Vec<Fault> = faults.split(' ').map(|fault| fault.parse().unwrap()).collect();
        let mut injector = Injector::of(&asked, false).unwrap();
        let meters = FaultMeters::default();
        let mut out = Vec::new();
        let mut dropped = 0;
        for run in 0..runs {
            let mut replies = Owed::default();
            for id in 0..10 / runs {
                let id = (run * 10 / runs + id) as u64;
                let head = Header::new(Kind::Reply, 0, id, 0, 8).encode();
                replies.push_small(&head, &id.to_be_bytes());
            }
            dropped += injector.apply(&mut replies, &meters);
            let mut bytes = Vec::new();
            let _ = replies.write_to(|pieces| {
                pieces.iter().for_each(|piece| bytes.extend_from_slice(piece));
                Ok(pieces.iter().map(|piece| piece.len()).sum())
            });
            out.extend(frames_of(&mut bytes).into_iter().map(|frame| {
                let id = u64::from_be_bytes(frame[ID].try_into().unwrap());
                (id, frame[HEADER_LEN..].to_vec())
            }));
        }
        (out, dropped, meters)
    }

    fn wrong(replies: &[(u64, Vec<u8>)]) -> Vec<u64> {
        let wrong = replies.iter().filter(|(id, payload)| *payload != id.to_be_bytes());
        wrong.map(|(id, _)| *id).collect()
    }

    #[test]
    fn each_fault_does_what_it_says_and_nothing_else() {
        let (replies, dropped, meters) = made("drop:0.2", 1);
        assert_eq!((replies.len(), dropped, wrong(&replies)), (8, 2, vec![]));
        assert_eq!(meters.snapshot(&["drop:0.2".parse().unwrap()]).unwrap().dropped, 2);
        let (replies, dropped, _) = made("dup:0.1", 1);
        assert_eq!((replies.len(), dropped, wrong(&replies)), (11, 0, vec![]));
        let (replies, dropped, _) = made("corrupt:0.5", 1);
        assert_eq!((replies.len(), dropped, wrong(&replies)), (10, 0, vec![1, 3, 5, 7, 9]));
        let (replies, dropped, _) = made("swap:0.2", 1);
        assert_eq!((replies.len(), dropped, wrong(&replies)), (10, 0, vec![5, 4]));
    }

    #[test]
    fn a_swap_waits_for_two_replies_that_leave_together() {
        let (replies, _, meters) = made("swap:1", 10);
        assert_eq!((replies.len(), wrong(&replies)), (10, vec![]));
        assert_eq!(meters.snapshot(&["swap:1".parse().unwrap()]).unwrap().swapped, 0);
    }

    #[test]
    fn only_a_payload_is_corrupted_and_not_the_blocks_before_it() {
        let mut injector = Injector::of(&["corrupt:1".parse().unwrap()], false).unwrap();
        let meters = FaultMeters::default();
        for (payload, expected) in [(&b""[..], &b""[..]), (b"abc", b"abC")] {
            let mut reply = Owed::default();
            let flags = FLAG_WANT_HELD | FLAG_WANT_STAGES;
            let blocks = HELD_LEN + STAGES_LEN;
            let head = Header::new(Kind::Reply, flags, 7, blocks, payload.len()).encode();
            reply.push_small(&head, &[&[0; HELD_LEN + STAGES_LEN], payload].concat());
            injector.apply(&mut reply, &meters);
            let mut bytes = Vec::new();
            let _ = reply.write_to(|pieces| {
                pieces.iter().for_each(|piece| bytes.extend_from_slice(piece));
                Ok(pieces.iter().map(|piece| piece.len()).sum())
            });
            assert_eq!(bytes[..HEADER_LEN], head);
            assert_eq!(bytes[HEADER_LEN..][..blocks], [0; HELD_LEN + STAGES_LEN]);
            assert_eq!(&bytes[HEADER_LEN + blocks..], expected);
        }
    }

    #[test]
    fn a_fault_is_a_kind_and_a_rate() {
        for text in ["drop:1", "dup:0.5", "swap:0.001", "corrupt:1", "early-ack:0.25"] {
            assert_eq!(text.parse::<Fault>().unwrap().to_string(), text);
        }
        for text in ["drop", "drop:", "drop:0", "drop:1.1", "drop:NaN", "lose:0.1", ":0.1"] {
            let why = text.parse::<Fault>().unwrap_err();
            assert!(why.contains("early-ack"), "{text}: {why}");
        }
    }
}

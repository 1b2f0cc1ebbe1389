//! Streams of answers, right and wrong, whole and in pieces.

use super::*;
use crate::call_frames::Frames;
use crate::keys::{KeyRange, Keys};
use crate::outcome::{Extras, Outcomes};
use echo_common::wire::native::{STAGES_LEN, Status, error_frame};
use proptest::prelude::*;

const CALLS: usize = 6;
const STAGES: Stages =
    Stages { decoded_ns: 1, queued_ns: 2, taken_ns: 3, served_ns: 4, written_ns: 5 };
/// The call that asks for its stages.
const ASKING: usize = 5;

/// What a server may send about one of the calls, or about none.
#[derive(Clone, Debug)]
enum Answer {
    Right(usize),
    WrongByte(usize, usize),
    WrongLength(usize, usize),
    WrongKind(usize, u8),
    WithFlags(usize),
    Error(usize, u16, Vec<u8>),
    Unknown(u64),
}

fn frames(payload: usize) -> CallFrames {
    CallFrames::new(payload, None, true)
}

fn started(calls: usize) -> (CallTable, Vec<u64>, Ledger) {
    let mut table = CallTable::new(calls, false);
    let ids = (0..calls).map(|call| table.start(0, true, call == ASKING)).collect();
    let mut ledger = Ledger::new(Extras { stages: true, open_loop: false });
    ledger.started(calls as u64, true, 0);
    (table, ids, ledger)
}

/// A correct reply: the call, sent back as it was but for its kind and what it has room for.
fn reply(frames: &CallFrames, id: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    frames.encode(id, None, &mut bytes);
    bytes[4] = Kind::Reply as u8;
    if wants_stages(id) {
        bytes[HEADER_LEN..HEADER_LEN + STAGES_LEN].copy_from_slice(&STAGES.encode());
    }
    bytes
}

fn bytes_of(answer: &Answer, frames: &CallFrames, ids: &[u64]) -> Vec<u8> {
    let right = |call: usize| reply(frames, ids[call]);
    match answer {
        Answer::Right(call) => right(*call),
        Answer::WrongByte(call, at) => {
            let mut bytes = right(*call);
            let payload = bytes.len() - HEADER_LEN;
            bytes[HEADER_LEN + at % payload] ^= 1;
            bytes
        }
        Answer::WrongLength(call, length) => {
            let header = Header::new(Kind::Reply, 0, ids[*call], 0, *length);
            let mut bytes = header.encode().to_vec();
            bytes.resize(HEADER_LEN + length, 7);
            bytes
        }
        Answer::WrongKind(call, kind) => {
            let mut bytes = right(*call);
            bytes[4] = *kind;
            bytes
        }
        Answer::WithFlags(call) => {
            let mut bytes = right(*call);
            bytes[5] = FLAG_WANT_STAGES;
            bytes
        }
        Answer::Error(call, status, text) => {
            let mut bytes = error_frame(ids[*call], Status::TooBusy, "");
            bytes[..4].copy_from_slice(&((BODY_MIN + text.len()) as u32).to_be_bytes());
            bytes[6..8].copy_from_slice(&status.to_be_bytes());
            bytes.extend_from_slice(text);
            bytes
        }
        Answer::Unknown(id) => reply(frames, *id),
    }
}

fn answers() -> impl Strategy<Value = Answer> {
    let call = 0..CALLS;
    prop_oneof![
        4 => call.clone().prop_map(Answer::Right),
        1 => (call.clone(), 0usize..1000).prop_map(|(c, at)| Answer::WrongByte(c, at)),
        1 => (call.clone(), 0usize..200).prop_map(|(c, len)| Answer::WrongLength(c, len)),
        1 => (call.clone(), 0u8..9).prop_map(|(c, kind)| Answer::WrongKind(c, kind)),
        1 => call.clone().prop_map(Answer::WithFlags),
        1 => (call, 0u16..9, prop::collection::vec(any::<u8>(), 0..600))
            .prop_map(|(c, status, text)| Answer::Error(c, status, text)),
        1 => (1u64..u64::MAX).prop_map(|id| Answer::Unknown(id | 1 << 40)),
    ]
}

/// Feeds `stream` cut at `cuts`, as a connection would: until it ends.
fn read(
    frames: &CallFrames,
    stream: &[u8],
    mut cuts: Vec<usize>,
) -> (Outcomes, Option<Ending>, usize) {
    let (mut table, _, mut ledger) = started(CALLS);
    let mut reader = ReplyReader::new();
    let mut ending = None;
    cuts.push(stream.len());
    cuts.sort_unstable();
    let mut at = 0;
    for cut in cuts {
        let piece = &stream[at..cut];
        at = cut;
        let mut to = Reading { table: &mut table, ledger: &mut ledger, now_ns: 1 };
        if let Err(end) = reader.feed(piece, frames, &mut to) {
            ending = Some(end);
            break;
        }
    }
    (ledger.outcomes, ending, table.open())
}

fn check_one(answer: &Answer, expected: fn(&Outcomes) -> u64) {
    let frames = frames(100);
    let (_, ids, _) = started(CALLS);
    let stream = bytes_of(answer, &frames, &ids);
    let (outcomes, ending, open) = read(&frames, &stream, vec![]);
    assert_eq!(ending, None, "{answer:?}");
    assert_eq!(expected(&outcomes), 1, "{answer:?}: {outcomes:?}");
    assert_eq!(outcomes.ended() + open as u64, CALLS as u64);
}

#[test]
fn each_answer_ends_its_call_in_its_outcome() {
    check_one(&Answer::Right(2), |o| o.ok);
    check_one(&Answer::WrongByte(2, 99), |o| o.mismatch);
    check_one(&Answer::WrongLength(2, 99), |o| o.mismatch);
    check_one(&Answer::WrongLength(2, 0), |o| o.mismatch);
    check_one(&Answer::WithFlags(2), |o| o.mismatch);
    check_one(&Answer::Error(2, 3, b"busy".to_vec()), Outcomes::error_reply);
    check_one(&Answer::Unknown(1 << 40), |o| o.unexpected_replies);
}

#[test]
fn a_damaged_kind_costs_the_call_and_not_the_connection() {
    for kind in [0, 1, 3, 4, 5, 0xfd, 0xff] {
        check_one(&Answer::WrongKind(1, kind), |o| o.mismatch);
    }
}

#[test]
fn what_cannot_be_framed_ends_the_connection() {
    let check = |stream: &[u8], expected: &str| {
        let (_, ending, open) = read(&frames(100), stream, vec![]);
        let text = ending.expect("an ending").to_string();
        assert!(text.contains(expected), "{text}");
        assert_eq!(open, CALLS);
    };
    let call = Header::new(Kind::Call, 0, 1 << 50, 0, 0).encode();
    check(&call, "kind Call");
    check(&[0, 0, 0, 11, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], "below the 12 bytes");
    check(&[0xff; HEADER_LEN], "kind 255 is unknown");
    check(&[0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], "the limit is");
    let refusal = error_frame(CONNECTION_ID, Status::Refused, "full\u{1b}[31m");
    check(&refusal, "refused the connection: full\\u{1b}[31m");
}

#[test]
fn without_verification_bytes_may_differ_but_not_the_length() {
    let frames = CallFrames::new(100, None, false);
    let (_, ids, _) = started(CALLS);
    let wrong = bytes_of(&Answer::WrongByte(0, 5), &frames, &ids);
    assert_eq!(read(&frames, &wrong, vec![]).0.ok, 1);
    let short = bytes_of(&Answer::WrongLength(0, 99), &frames, &ids);
    assert_eq!(read(&frames, &short, vec![]).0.mismatch, 1);
}

#[test]
fn a_body_is_compared_as_it_comes_and_not_kept() {
    let frames = frames(3 << 20);
    let (_, ids, _) = started(CALLS);
    let stream = reply(&frames, ids[0]);
    let (outcomes, ending, _) = read(&frames, &stream, (0..stream.len()).step_by(65_521).collect());
    assert_eq!((outcomes.ok, ending), (1, None));
}

proptest! {
    #[test]
    fn any_split_of_the_stream_gives_the_same_outcomes(
        payload in 1usize..300,
        answers in prop::collection::vec(answers(), 0..12),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let frames = frames(payload);
        let (_, ids, _) = started(CALLS);
        let stream: Vec<u8> =
            answers.iter().flat_map(|answer| bytes_of(answer, &frames, &ids)).collect();
        let whole = read(&frames, &stream, vec![]);
        let cuts = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        prop_assert_eq!(&read(&frames, &stream, cuts), &whole);
        let single_bytes = (0..stream.len()).collect();
        prop_assert_eq!(&read(&frames, &stream, single_bytes), &whole);
    }

    #[test]
    fn any_bytes_at_all_end_in_outcomes_or_an_ending(
        stream in prop::collection::vec(any::<u8>(), 0..400),
        small in prop::collection::vec(prop_oneof![Just(0u8), 0u8..5, 10u8..30], 0..400),
    ) {
        for stream in [stream, small] {
            let (outcomes, _, open) = read(&frames(8), &stream, vec![]);
            prop_assert_eq!(outcomes.ended() + open as u64, CALLS as u64);
        }
    }
}

/// A right reply to a call with a key, as the `number`th execution of handler 1.
fn keyed_reply(frames: &CallFrames, id: u64, number: u64) -> Vec<u8> {
    let mut payload = reply(&self::frames(frames.payload.len()), id).split_off(HEADER_LEN);
    let mut flags = FLAG_WANT_EXECUTION;
    let mut blocks = Execution { handler: 1, number }.encode().to_vec();
    if wants_stages(id) {
        payload.drain(..STAGES_LEN);
        flags |= FLAG_WANT_STAGES;
        blocks.splice(0..0, STAGES.encode());
    }
    let header = Header::new(Kind::Reply, flags, id, blocks.len(), payload.len());
    [&header.encode()[..], &blocks, &payload].concat()
}

proptest! {
    #[test]
    fn replies_with_executions_end_their_calls_however_they_are_cut(
        payload in 0usize..200,
        wrong in prop::option::of(0..CALLS),
        twice in prop::option::of(0..CALLS),
        sizes in prop::collection::vec(1usize..150, 1..10),
    ) {
        let frames = CallFrames::new(payload, None, true).with_keys();
        let (table, ids, mut ledger) = started(CALLS);
        let mut table = table.with_keys();
        let mut keys = Keys::new(KeyRange { first: 0, count: CALLS as u32 }, 0);
        ids.iter().for_each(|id| table.has_key(*id, keys.draw().index));
        ledger.keys = Some(Box::new(keys));
        let mut stream = Vec::new();
        for (call, &id) in ids.iter().enumerate() {
            let mut bytes = keyed_reply(&frames, id, call as u64 + 1);
            if wrong == Some(call) {
                // Without a payload the execution's number is wrong: it is 0 or beyond all others.
                *bytes.last_mut().unwrap() ^= 0x80;
            }
            stream.extend(bytes.repeat(1 + usize::from(twice == Some(call))));
        }
        let mut reader = ReplyReader::new();
        let mut rest = &stream[..];
        for size in sizes.iter().cycle() {
            let (piece, behind) = rest.split_at((*size).min(rest.len()));
            let mut to = Reading { table: &mut table, ledger: &mut ledger, now_ns: 5 };
            prop_assert_eq!(reader.feed(piece, &frames, &mut to), Ok(()));
            rest = behind;
            if rest.is_empty() {
                break;
            }
        }
        let mismatched = u64::from(wrong.is_some() && payload > 0);
        prop_assert_eq!(ledger.outcomes.ok, CALLS as u64 - mismatched);
        prop_assert_eq!(ledger.outcomes.mismatch, mismatched);
        let findings = &ledger.keys.as_ref().unwrap().findings;
        prop_assert_eq!(findings.checked, CALLS as u64 - mismatched);
        prop_assert_eq!(findings.duplicates, u64::from(twice.is_some()));
        prop_assert_eq!(ledger.outcomes.unexpected_replies, findings.duplicates);
        prop_assert_eq!(ledger.outcomes.key_violations, 0, "each key was called once");
    }
}

//! The native wire: the same bytes give the same frames, however they arrive.

use echo_common::wire::detect::{Detected, detect};
use echo_common::wire::native::{
    BODY_MIN, Execution, FRAME_MAX_DEFAULT, HEADER_LEN, Header, HeaderError, Held, Holding, Key,
    Kind, LENGTH_LEN, PREAMBLE, PREAMBLE_LEN, Status, error_frame,
};
use echo_common::wire::split::{LengthError, Split, split};
use proptest::collection::vec;
use proptest::prelude::*;

const KINDS: [Kind; 6] =
    [Kind::Call, Kind::Reply, Kind::Error, Kind::Stats, Kind::Replica, Kind::Join];

/// What a connection has seen so far: whole frames, and what is left behind them.
#[derive(Debug, Default, PartialEq)]
struct Incremental {
    frames: Vec<Vec<u8>>,
    rest: Vec<u8>,
    error: Option<LengthError>,
}

impl Incremental {
    fn feed(&mut self, chunk: &[u8], limit: usize) {
        self.rest.extend_from_slice(chunk);
        while self.error.is_none() {
            match split(&self.rest, limit) {
                Ok(Split::Frame(len)) => self.frames.push(self.rest.drain(..len).collect()),
                Ok(Split::NeedLength | Split::NeedBody { .. }) => return,
                Err(error) => self.error = Some(error),
            }
        }
    }

    fn of<'a>(chunks: impl IntoIterator<Item = &'a [u8]>, limit: usize) -> Incremental {
        let mut seen = Incremental::default();
        chunks.into_iter().for_each(|chunk| seen.feed(chunk, limit));
        seen
    }
}

/// Cuts `bytes` into pieces of the given sizes, over and over; a size of 0 is an empty arrival.
pub(crate) fn pieces<'a>(mut bytes: &'a [u8], sizes: &[usize]) -> Vec<&'a [u8]> {
    let mut out = Vec::new();
    for &size in sizes.iter().chain([&1]).cycle() {
        if bytes.is_empty() {
            break;
        }
        let (piece, behind) = bytes.split_at(size.min(bytes.len()));
        out.push(piece);
        bytes = behind;
    }
    out
}

prop_compose! {
    fn frame()(
        kind in prop::sample::select(&KINDS[..]),
        flags: u8,
        status: u16,
        id: u64,
        rest in vec(any::<u8>(), 0..70),
    ) -> Vec<u8> {
        let header = Header { status, ..Header::new(kind, flags, id, 0, rest.len()) };
        [&header.encode()[..], &rest[..]].concat()
    }
}

/// Any bytes, and bytes that begin like a small frame.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let near = (0u32..40, vec(any::<u8>(), 0..80))
        .prop_map(|(length, body)| [&length.to_be_bytes()[..], &body[..]].concat());
    prop_oneof![vec(any::<u8>(), 0..200), vec(near, 0..5).prop_map(|parts| parts.concat())]
}

/// Any bytes, and bytes that begin like one of the known conversations.
fn openings() -> impl Strategy<Value = Vec<u8>> {
    let begun = (
        prop::sample::select(vec![
            &PREAMBLE[..],
            b"GET / HTTP/1.1",
            b"ECHO\x02\0\0\0",
            b"hrpc\x09\0\0",
        ]),
        0..15usize,
    )
        .prop_map(|(opening, len)| opening[..len.min(opening.len())].to_vec());
    (begun, vec(any::<u8>(), 0..16)).prop_map(|(begun, behind)| [begun, behind].concat())
}

proptest! {
    #[test]
    fn frames_come_out_as_they_went_in_however_the_stream_is_cut(
        frames in vec(frame(), 0..12),
        sizes in vec(0usize..40, 0..20),
    ) {
        let stream = frames.concat();
        let seen = Incremental::of(pieces(&stream, &sizes), 128);
        prop_assert_eq!(seen, Incremental { frames, ..Incremental::default() });
    }

    #[test]
    fn any_bytes_end_in_the_same_frames_and_error_however_they_are_cut(
        bytes in bytes(),
        sizes in vec(0usize..20, 0..20),
        limit in 0usize..100,
    ) {
        let cut = Incremental::of(pieces(&bytes, &sizes), limit);
        let whole = Incremental::of([&bytes[..]], limit);
        prop_assert_eq!(&cut.frames, &whole.frames);
        prop_assert_eq!(&cut.error, &whole.error);
    }

    #[test]
    fn a_split_never_leaves_its_bounds(bytes in bytes(), limit in 0usize..100) {
        match split(&bytes, limit) {
            Ok(Split::NeedLength) => prop_assert!(bytes.len() < LENGTH_LEN),
            Ok(Split::NeedBody { total }) => {
                prop_assert!(total > bytes.len() && total <= limit + LENGTH_LEN);
            }
            Ok(Split::Frame(len)) => {
                prop_assert!(len >= HEADER_LEN && len <= bytes.len() && len <= limit + LENGTH_LEN);
            }
            Err(LengthError::TooLong { length, .. }) => prop_assert!(length as usize > limit),
            Err(LengthError::TooShort(length)) => prop_assert!((length as usize) < BODY_MIN),
        }
    }

    #[test]
    fn any_header_is_read_back_as_it_was_written(
        length in BODY_MIN as u32..,
        kind in prop::sample::select(&KINDS[..]),
        flags: u8,
        status: u16,
        id: u64,
    ) {
        let header = Header { length, kind, flags, status, id };
        prop_assert_eq!(Header::decode(&header.encode()), Ok(header));
    }

    #[test]
    fn keys_and_executions_are_read_back_as_they_were_written(
        key: u64, sequence: u64, handler: u32, number: u64,
    ) {
        let key = Key { key, sequence };
        prop_assert_eq!(Key::decode(&key.encode()), key);
        let execution = Execution { handler, number };
        prop_assert_eq!(Execution::decode(&execution.encode()), execution);
    }

    #[test]
    fn what_is_held_is_read_back_as_it_was_written(
        sequence: u64, holders: u16, needed: u16, since: u64, next: u64,
    ) {
        let held = Held { sequence, holders, needed };
        prop_assert_eq!(Held::decode(&held.encode()), held);
        let holding = Holding { since, next };
        prop_assert_eq!(Holding::decode(&holding.encode()), holding);
    }

    #[test]
    fn any_sixteen_bytes_are_a_header_that_writes_them_or_a_named_error(
        bytes: [u8; HEADER_LEN],
        kind in 0u8..10,
        short in 0u32..24,
    ) {
        let mut near = bytes;
        near[4] = kind;
        let mut small = near;
        small[..LENGTH_LEN].copy_from_slice(&short.to_be_bytes());
        for bytes in [bytes, near, small] {
            match Header::decode(&bytes) {
                Ok(header) => prop_assert_eq!(header.encode(), bytes),
                Err(HeaderError::TooShort(length)) => {
                    prop_assert!((length as usize) < BODY_MIN);
                    prop_assert_eq!(&length.to_be_bytes()[..], &bytes[..LENGTH_LEN]);
                }
                Err(HeaderError::UnknownKind(kind)) => {
                    prop_assert!(kind == bytes[4] && !(1..=6).contains(&kind));
                }
            }
        }
    }

    #[test]
    fn a_decided_opening_stays_decided_and_eight_bytes_always_decide(bytes in openings()) {
        let decided = detect(&bytes);
        prop_assert!(decided != Detected::NeedMore || bytes.len() < PREAMBLE_LEN);
        for n in 0..bytes.len() {
            let early = detect(&bytes[..n]);
            prop_assert!(early == Detected::NeedMore || early == decided, "{} of {:?}", n, bytes);
        }
    }

    #[test]
    fn an_error_frame_is_one_frame_whatever_its_text(id: u64, text: String, times in 0usize..40) {
        let text = text.repeat(times);
        let bytes = error_frame(id, Status::TooBusy, &text);
        prop_assert_eq!(split(&bytes, HEADER_LEN + 1024), Ok(Split::Frame(bytes.len())));
        let header = Header::decode(bytes.first_chunk().unwrap()).unwrap();
        prop_assert_eq!((header.kind, header.id), (Kind::Error, id));
        prop_assert_eq!(Status::from_wire(header.status), Some(Status::TooBusy));
        prop_assert!(text.as_bytes().starts_with(&bytes[HEADER_LEN..]));
        prop_assert_eq!(header.rest_len(), text.len().min(1024));
    }
}

#[test]
fn lengths_add_up_around_every_power_of_two() {
    let powers = (0..=24).map(|shift| 1usize << shift);
    let sizes = powers.flat_map(|power| [power - 1, power, power + 1]);
    for payload in sizes.filter(|&payload| payload + 64 <= FRAME_MAX_DEFAULT) {
        for (kind, extensions) in KINDS.into_iter().zip([0, 4, 16, 20, 8, 16]) {
            let header = Header::new(kind, 0xff, u64::MAX, extensions, payload);
            assert_eq!(header.rest_len(), extensions + payload);
            assert_eq!(header.frame_len(), HEADER_LEN + extensions + payload);
            assert_eq!(Header::decode(&header.encode()), Ok(header));
            let total = header.frame_len();
            assert_eq!(split(&header.encode()[..15], usize::MAX), Ok(Split::NeedBody { total }));
        }
    }
}

#[test]
fn a_plain_call_of_128_bytes_is_144_on_the_wire() {
    let header = Header::new(Kind::Call, 0, 0x0102_0304_0506_0708, 0, 128);
    assert_eq!(header.frame_len(), 144);
    let expected = [0, 0, 0, 140, 1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    assert_eq!(header.encode(), expected);
}

#[test]
fn a_key_and_an_execution_are_big_endian_words_side_by_side() {
    let key = Key { key: 0x0102_0304_0506_0708, sequence: 9 };
    assert_eq!(key.encode(), [1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 9]);
    let execution = Execution { handler: 0x0102_0304, number: 5 };
    assert_eq!(execution.encode(), [1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 5]);
}

#[test]
fn the_limit_is_the_last_length_taken_and_the_header_the_first() {
    let check = |length: u32, limit, expected| {
        assert_eq!(split(&length.to_be_bytes(), limit), expected, "{length} under {limit}");
    };
    let too_long = |length, limit| Err(LengthError::TooLong { length, limit });
    check(1024, 1024, Ok(Split::NeedBody { total: 1028 }));
    check(1025, 1024, too_long(1025, 1024));
    check(0x8000_0000, 1024, too_long(0x8000_0000, 1024));
    check(u32::MAX, FRAME_MAX_DEFAULT, too_long(u32::MAX, FRAME_MAX_DEFAULT));
    check(i32::MIN as u32, FRAME_MAX_DEFAULT, too_long(1 << 31, FRAME_MAX_DEFAULT));
    check(0, 1024, Err(LengthError::TooShort(0)));
    check(11, 1024, Err(LengthError::TooShort(11)));
    check(12, 1024, Ok(Split::NeedBody { total: 16 }));
    check(12, 12, Ok(Split::NeedBody { total: 16 }));
}

#[test]
fn every_status_keeps_its_number() {
    let known: Vec<u16> =
        (0..=u16::MAX).filter(|&value| Status::from_wire(value).is_some()).collect();
    assert_eq!(known, [1, 2, 3, 4, 5, 6, 7, 8]);
    assert!(known.iter().all(|&value| Status::from_wire(value).map(|s| s as u16) == Some(value)));
}

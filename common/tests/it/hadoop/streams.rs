//! Streams of any kind, cut anywhere: the same events, no panic, and the promises are kept.

use super::kit::{
    ID, Recording, SASL, SIMPLE, Server, call, context, delimited, packet, packet_of, pieces, ping,
    replies,
};
use echo_common::wire::hadoop::client::{ClientId, Received, Replies, ReplyError};
use echo_common::wire::hadoop::conversation::Ending;
use echo_common::wire::hadoop::header::{CallHeader, RpcKind, RpcOp};
use echo_common::wire::hadoop::preamble::{Opening, PREAMBLE_LEN, read};
use echo_common::wire::hadoop::reply::Status;
use echo_common::wire::hadoop::{context, fields, header, method, om, reply, sasl};
use proptest::collection::vec;
use proptest::prelude::*;

prop_compose! {
    /// Any call header, often a good one.
    fn any_header()(
        kind in prop_oneof![
            4 => Just(Some(RpcKind::ProtocolBuffer)),
            1 => prop::sample::select(vec![None, Some(RpcKind::Builtin), Some(RpcKind::Writable)]),
        ],
        op in prop_oneof![
            4 => Just(Some(RpcOp::FinalPacket)),
            1 => prop::sample::select(vec![None, Some(RpcOp::CloseConnection)]),
        ],
        call_id in prop_oneof![
            0..300i32,
            prop::sample::select(vec![-3, -4, -33, -1]),
            any::<i32>(),
        ],
        retry_count in prop_oneof![Just(0), Just(-1), any::<i32>()],
        id_len in 0..20usize,
        rest in vec(any::<u8>(), 0..30),
    ) -> Vec<u8> {
        let client_id = &[0xab; 20][..id_len];
        packet_of(&CallHeader { kind, op, call_id, client_id, retry_count }, &rest)
    }
}

fn sasl_packet(message: &[u8]) -> Vec<u8> {
    packet_of(&CallHeader::new(-33, &[], -1), &delimited(message))
}

/// One packet of a client: good ones, bad ones, and bytes that are none.
fn any_packet() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => (any::<u16>(), vec(any::<u8>(), 0..40))
            .prop_map(|(id, sent)| call(i32::from(id), &sent)),
        2 => Just(context()),
        2 => Just(ping()),
        1 => prop::sample::select(vec![&b"\x10\x01"[..], b"\x10\x02", b"\x10\x05"])
            .prop_map(sasl_packet),
        2 => any_header(),
        1 => vec(any::<u8>(), 0..20).prop_map(|inside| packet(&inside)),
        1 => vec(any::<u8>(), 0..12),
    ]
}

fn any_opening() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => Just(SIMPLE.to_vec()),
        3 => Just(SASL.to_vec()),
        1 => (any::<[u8; 3]>(), prop::sample::select(vec![&b"hrpc"[..], b"GET ", b"xrpc"]))
            .prop_map(|(rest, magic)| [magic, &rest].concat()),
        1 => vec(any::<u8>(), 0..12),
    ]
}

fn any_stream() -> impl Strategy<Value = Vec<u8>> {
    (any_opening(), any::<bool>(), vec(any_packet(), 0..8)).prop_map(
        |(opening, polite, packets)| {
            let context = if polite { context() } else { Vec::new() };
            [opening, context, packets.concat()].concat()
        },
    )
}

/// A recorded stream with some bytes changed, dropped or put in.
fn spoilt(streams: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let changes = vec((any::<prop::sample::Index>(), any::<u8>(), 0..3u8), 0..4);
    (prop::sample::select(streams), changes).prop_map(|(mut stream, changes)| {
        for (index, byte, kind) in changes {
            if stream.is_empty() {
                break;
            }
            let at = index.index(stream.len());
            match kind {
                0 => stream[at] = byte,
                1 => drop(stream.remove(at)),
                _ => stream.insert(at, byte),
            }
        }
        stream
    })
}

fn recorded_to_server() -> Vec<Vec<u8>> {
    Recording::all().iter().map(|recording| recording.to_server.concat()).collect()
}

fn recorded_to_client() -> Vec<Vec<u8>> {
    Recording::all().iter().map(|recording| recording.to_client.concat()).collect()
}

fn sizes() -> impl Strategy<Value = Vec<usize>> {
    vec(0usize..40, 0..20)
}

/// The promises of a conversation, whatever came.
fn check_promises(server: &Server) -> Result<(), TestCaseError> {
    let at = |kind: &str| server.events.iter().position(|event| event.starts_with(kind));
    if let Some(call) = at("Call") {
        let context = at("Context");
        prop_assert!(context.is_some_and(|context| context < call), "{:?}", server.events);
    }
    if at("Opened").is_none() {
        let told = server.events.len();
        prop_assert!(told <= 1, "{told} events without a preamble");
        return Ok(());
    }
    let answers = replies(&server.answers);
    prop_assert!(answers.is_some(), "an answer is no packet");
    let statuses: Vec<Status> = answers.iter().flatten().map(|(header, _)| header.status).collect();
    let fatal = statuses.iter().position(|&status| status == Status::Fatal);
    prop_assert!(fatal.is_none_or(|at| at + 1 == statuses.len()), "{:?}", statuses);
    prop_assert_eq!(fatal.is_some(), server.ending == Some(Ending::Fatal));
    for (header, body) in answers.iter().flatten() {
        let has_failed = header.status != Status::Success;
        prop_assert_eq!(has_failed, header.failure.code.is_some());
        prop_assert!(!has_failed || body.is_empty());
        prop_assert_eq!(header.server_version, Some(9));
    }
    Ok(())
}

fn check_cuts(stream: &[u8], sizes: &[usize]) -> Result<(), TestCaseError> {
    let whole = Server::fed([stream]);
    let cut = Server::fed(pieces(stream, sizes));
    prop_assert_eq!(&cut.events, &whole.events);
    prop_assert_eq!(&cut.answers, &whole.answers);
    prop_assert_eq!(cut.ending, whole.ending);
    check_promises(&whole)
}

/// Every reply and how it ended, however the bytes come.
fn received(client_id: ClientId, pieces: &[&[u8]]) -> (Vec<String>, Option<ReplyError>) {
    let mut replies = Replies::new(client_id);
    let (mut rest, mut seen) = (Vec::new(), Vec::new());
    for piece in pieces {
        rest.extend_from_slice(piece);
        loop {
            let consumed = match replies.receive(&rest) {
                Ok(Received::NeedMore { total }) => {
                    assert!(total > rest.len(), "{total} bytes asked for are there");
                    break;
                }
                Ok(Received::Reply(consumed, reply)) => {
                    seen.push(format!("{reply:?}"));
                    consumed
                }
                Ok(refused @ Received::OldRefusal { .. }) => {
                    seen.push(format!("{refused:?}"));
                    return (seen, None);
                }
                Err(error) => return (seen, Some(error)),
            };
            rest.drain(..consumed);
        }
    }
    (seen, None)
}

fn check_client_cuts(stream: &[u8], sizes: &[usize]) -> Result<(), TestCaseError> {
    prop_assert_eq!(received(ID, &[stream]), received(ID, &pieces(stream, sizes)));
    Ok(())
}

/// Every decoder there is, on the same bytes.
fn decode_all(bytes: &[u8]) {
    let _ = read(bytes);
    let _ = fields::check(bytes);
    let _ = header::CallHeader::decode(bytes);
    let _ = method::MethodHeader::decode(bytes);
    let _ = context::Context::decode(bytes);
    let _ = sasl::Sasl::decode(bytes);
    let _ = reply::ReplyHeader::decode(bytes);
    let _ = om::OmCall::decode(bytes);
    let _ = om::OmReply::decode(bytes);
    let _ = fields::delimited(bytes);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn the_events_of_a_stream_are_the_same_however_it_is_cut(
        stream in any_stream(),
        sizes in sizes(),
    ) {
        check_cuts(&stream, &sizes)?;
    }

    #[test]
    fn spoilt_recordings_keep_the_promises_too(
        stream in spoilt(recorded_to_server()),
        sizes in sizes(),
    ) {
        check_cuts(&stream, &sizes)?;
    }

    #[test]
    fn any_bytes_end_in_events_and_never_in_a_panic(
        bytes in vec(any::<u8>(), 0..200),
        sizes in sizes(),
    ) {
        check_cuts(&bytes, &sizes)?;
        check_cuts(&[SIMPLE, &bytes].concat(), &sizes)?;
        check_cuts(&[SIMPLE, &context(), &packet(&bytes)].concat(), &sizes)?;
        check_client_cuts(&bytes, &sizes)?;
        check_client_cuts(&packet(&bytes), &sizes)?;
        decode_all(&bytes);
    }

    #[test]
    fn spoilt_answers_end_in_replies_or_an_error(
        stream in spoilt(recorded_to_client()),
        sizes in sizes(),
    ) {
        check_client_cuts(&stream, &sizes)?;
    }

    #[test]
    fn a_preamble_is_decided_by_its_seven_bytes(bytes in vec(any::<u8>(), 0..64)) {
        let opening = read(&bytes);
        prop_assert_eq!(opening == Opening::NeedMore, bytes.len() < PREAMBLE_LEN);
        if bytes.len() >= PREAMBLE_LEN {
            prop_assert_eq!(read(&bytes[..PREAMBLE_LEN]), opening);
        }
    }
}

/// A decoder that looked at bytes more than once would take minutes here.
#[test]
fn the_time_to_decode_grows_with_the_bytes_and_not_faster() {
    let unknown: Vec<u8> = [0x7a, 0].repeat(2 << 20);
    let groups: Vec<u8> = [0x0b, 0x0c].repeat(2 << 20);
    let nested: Vec<u8> = [[0x0b; 100], [0x0c; 100]].concat().repeat(20_000);
    for bytes in [&unknown, &groups, &nested] {
        decode_all(bytes);
        let whole = packet_of(&CallHeader::new(0, &ID, 0), bytes);
        let server = Server::fed([SIMPLE, &context(), &whole]);
        assert_eq!(replies(&server.answers).unwrap().len(), 1);
    }
}

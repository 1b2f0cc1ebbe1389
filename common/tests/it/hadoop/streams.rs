//! Streams of any kind, cut anywhere: the same events, no panic, and the promises are kept.

use super::kit::{
    ID, Recording, SASL, SIMPLE, Server, call, context, delimited, packet, packet_of, ping, replies,
};
use super::promises::{check_conversation, check_packet, check_preamble, check_replies};
use echo_common::wire::hadoop::header::{CallHeader, RpcKind, RpcOp};
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn the_events_of_a_stream_are_the_same_however_it_is_cut(
        stream in any_stream(),
        sizes in sizes(),
    ) {
        check_conversation(&stream, &sizes);
    }

    #[test]
    fn spoilt_recordings_keep_the_promises_too(
        stream in spoilt(recorded_to_server()),
        sizes in sizes(),
    ) {
        check_conversation(&stream, &sizes);
    }

    #[test]
    fn any_bytes_end_in_events_and_never_in_a_panic(
        bytes in vec(any::<u8>(), 0..200),
        sizes in sizes(),
    ) {
        check_conversation(&bytes, &sizes);
        check_conversation(&[SIMPLE, &bytes].concat(), &sizes);
        check_packet(&bytes);
        check_replies(&bytes, &sizes);
        check_replies(&packet(&bytes), &sizes);
    }

    #[test]
    fn spoilt_answers_end_in_replies_or_an_error(
        stream in spoilt(recorded_to_client()),
        sizes in sizes(),
    ) {
        check_replies(&stream, &sizes);
    }

    #[test]
    fn a_preamble_is_decided_by_its_seven_bytes(bytes in vec(any::<u8>(), 0..64)) {
        check_preamble(&bytes);
    }
}

/// A decoder that looked at bytes more than once would take minutes here.
#[test]
fn the_time_to_decode_grows_with_the_bytes_and_not_faster() {
    let unknown: Vec<u8> = [0x7a, 0].repeat(2 << 20);
    let groups: Vec<u8> = [0x0b, 0x0c].repeat(2 << 20);
    let nested: Vec<u8> = [[0x0b; 100], [0x0c; 100]].concat().repeat(20_000);
    for bytes in [&unknown, &groups, &nested] {
        check_packet(bytes);
        let whole = packet_of(&CallHeader::new(0, &ID, 0), bytes);
        let server = Server::fed([SIMPLE, &context(), &whole]);
        assert_eq!(replies(&server.answers).unwrap().len(), 1);
    }
}

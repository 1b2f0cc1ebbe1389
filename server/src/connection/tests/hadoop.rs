//! Connections of Hadoop RPC, as seen by a test that is their reader.

use super::sim::{Edge, Sim};
use crate::fake::{Dice, for_each_seed};
use echo_common::wire::hadoop::call::Calls;
use echo_common::wire::hadoop::client::{CallTemplate, ClientId, put_context, put_ping};
use echo_common::wire::hadoop::context::Context;
use echo_common::wire::hadoop::header::CallHeader;
use echo_common::wire::hadoop::method::MethodHeader;
use echo_common::wire::hadoop::reply::ErrorCode;
use echo_common::wire::hadoop::testrpc;
use echo_common::wire::hadoop::{fields, packet, reply};
use echo_common::wire::native::Status;
use std::net::Shutdown;

const ID: ClientId = [3; 16];
/// Calls whose method header cannot be read have this id.
const UNREADABLE: i32 = 1_000_000;
/// A call that is well but for its rpcOp.
const REFUSED: i32 = 2_000_000;

/// How the peer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Stays,
    HalfCloses,
    Fatal,
    FatalAndHalfCloses,
    BadLength,
}

/// What a peer sends, and what must become of it.
#[derive(Default)]
struct Script {
    bytes: Vec<u8>,
    calls: i32,
    unreadable: usize,
}

fn packet_of(call_id: i32, rest: &[u8]) -> Vec<u8> {
    let mut header = Vec::new();
    CallHeader::new(call_id, &ID, 0).encode(&mut header);
    let mut out = Vec::new();
    packet::put_length(&mut out, 1 + header.len() + rest.len());
    out.push(header.len() as u8);
    out.extend_from_slice(&header);
    out.extend_from_slice(rest);
    out
}

fn script(dice: &mut Dice) -> Script {
    let mut script = Script { bytes: b"hrpc\x09\x00\x00".to_vec(), ..Script::default() };
    put_context(&mut script.bytes, &ID, &Context::default());
    let echo = MethodHeader { method: b"echo", protocol: b"p", version: 1 };
    let sleep = MethodHeader { method: b"sleep", protocol: testrpc::PROTOCOL, version: 1 };
    let templates = [&echo, &sleep].map(|method| CallTemplate::new(ID, method));
    for _ in 0..dice.within(0..80) {
        match dice.within(0..10) {
            0 => put_ping(&mut script.bytes, &ID),
            1 => {
                script.bytes.extend(packet_of(UNREADABLE, b"\xff"));
                script.unreadable += 1;
            }
            kind => {
                let length = match dice.within(0..20) {
                    0 => dice.within(0..140_000),
                    _ => dice.within(0..500),
                };
                templates[usize::from(kind == 2)].put(&mut script.bytes, script.calls, 0, length);
                script.bytes.extend(dice.bytes(length));
                script.calls += 1;
            }
        }
    }
    script
}

fn run(dice: &mut Dice, end: End) {
    let mut sim = Sim::new(dice);
    let Script { mut bytes, calls, unreadable } = script(dice);
    match end {
        End::Fatal | End::FatalAndHalfCloses => {
            let method = MethodHeader { method: b"echo", protocol: b"p", version: 1 };
            let mut refused = Vec::new();
            CallTemplate::new(ID, &method).put(&mut refused, REFUSED, 0, 0);
            // The value of rpcOp, field 2 behind field 1, behind two lengths.
            assert_eq!(refused[4 + 1..][..4], [0x08, 2, 0x10, 0]);
            refused[4 + 1 + 3] = 1;
            bytes.extend(refused);
            let late = dice.within(0..3000);
            bytes.extend(dice.bytes(late));
        }
        End::BadLength => bytes.extend_from_slice(&[0xff; 4]),
        End::Stays | End::HalfCloses => {}
    }
    let piece_max = [2, 50, 3000, 300_000][dice.within(0..4)].max(bytes.len() / 400);
    let mut sent = 0;
    sim.connection.listed = true;
    while sent < bytes.len() {
        match dice.within(0..8) {
            0 | 1 => {
                let piece = dice.within(1..piece_max + 1).min(bytes.len() - sent);
                sim.socket.arrive(&bytes[sent..sent + piece]);
                sent += piece;
                let closes = matches!(end, End::HalfCloses | End::FatalAndHalfCloses);
                let last = closes && sent == bytes.len();
                if last {
                    sim.socket.end();
                }
                sim.edges.push_back(Edge::Readable { read_closed: last });
            }
            2 => sim.answer(dice),
            3 => sim.drain(dice.within(1..100_000)),
            4 => sim.collect(),
            5 => sim.deliver_edge(),
            _ => sim.turn(),
        }
    }
    sim.come_to_rest(dice);
    let expected: Vec<u8> = (0..calls).flat_map(i32::to_be_bytes).collect();
    assert!(sim.out == expected, "other calls came out than went in");
    let failures = check_written(&sim.socket.written(), &expected);
    let errors = failures.iter().filter(|(call_id, _)| *call_id == UNREADABLE).count();
    assert_eq!(errors, unreadable);
    check_end(&sim, end, &failures, failures.len() - errors);
}

fn check_end(sim: &Sim, end: End, failures: &[(i32, Option<ErrorCode>)], fatals: usize) {
    match end {
        End::Stays => {
            assert!(!sim.closed && sim.refused.is_none() && fatals == 0);
            assert!(!sim.connection.paused, "reading was never resumed");
        }
        End::HalfCloses => assert!(sim.closed && sim.refused.is_none() && fatals == 0),
        End::Fatal | End::FatalAndHalfCloses => {
            assert_eq!((sim.refused, fatals), (Some(Status::Malformed), 1));
            let last = failures.last().expect("the FATAL");
            assert_eq!(*last, (REFUSED, Some(ErrorCode::FatalInvalidRpcHeader)));
            assert!(sim.closed || sim.socket.shut() == Some(Shutdown::Write));
        }
        End::BadLength => {
            assert_eq!((sim.refused, fatals), (Some(Status::Malformed), 0));
            assert_eq!(sim.socket.shut(), Some(Shutdown::Write));
        }
    }
}

/// Takes the written bytes apart: call ids, which are the replies here and come in their order, and
/// failures, which are returned. A FATAL must be the last of all.
fn check_written(mut written: &[u8], expected: &[u8]) -> Vec<(i32, Option<ErrorCode>)> {
    let mut replies = Vec::new();
    let mut failures = Vec::new();
    while !written.is_empty() {
        if expected[replies.len()..].starts_with(&written[..4]) {
            replies.extend_from_slice(&written[..4]);
            written = &written[4..];
            continue;
        }
        let Ok(packet::Split::Packet(packet)) = packet::split(written, u32::MAX) else {
            panic!("{} bytes that are neither reply nor failure", written.len());
        };
        let (header, _) = fields::delimited(packet).expect("a reply header");
        let header = reply::ReplyHeader::decode(header).expect("a reply header");
        failures.push((header.call_id, header.failure.code));
        written = &written[4 + packet.len()..];
        let is_last = header.status == reply::Status::Fatal;
        assert!(!is_last || written.is_empty(), "something behind a FATAL");
    }
    assert!(replies == expected, "a call was not answered");
    failures
}

#[test]
fn the_same_calls_come_out_whatever_the_pieces_and_the_bounds() {
    for_each_seed(256, |dice| run(dice, End::Stays));
}

#[test]
fn a_peer_that_half_closes_is_answered_and_then_ended() {
    for_each_seed(128, |dice| run(dice, End::HalfCloses));
}

#[test]
fn a_fatal_is_the_last_that_is_said() {
    for_each_seed(128, |dice| run(dice, End::Fatal));
    for_each_seed(128, |dice| run(dice, End::FatalAndHalfCloses));
}

#[test]
fn a_bad_length_ends_the_connection_behind_the_calls_before_it() {
    for_each_seed(128, |dice| run(dice, End::BadLength));
}

#[test]
fn any_packets_at_all_end_in_calls_or_a_refusal() {
    for_each_seed(256, |dice| {
        let mut sim = Sim::new(dice);
        sim.connection.listed = true;
        let mut bytes = b"hrpc\x09\x00\x00".to_vec();
        bytes[6] = [0, 0xdf][dice.within(0..2)];
        if dice.one_in(2) {
            put_context(&mut bytes, &ID, &Context::default());
        }
        for _ in 0..dice.within(0..20) {
            let length = dice.within(0..60);
            match dice.within(0..3) {
                0 => bytes.extend(packet_of(dice.within(0..80) as i32 - 40, &dice.bytes(length))),
                1 => {
                    packet::put_length(&mut bytes, length);
                    bytes.extend(dice.bytes(length));
                }
                _ => {
                    let method = MethodHeader { method: b"m", protocol: b"p", version: 1 };
                    let before = bytes.len();
                    CallTemplate::new(ID, &method).put(&mut bytes, 5, 0, 0);
                    // One byte of its header is another one.
                    bytes[before + 5 + dice.within(0..8)] = dice.within(0..256) as u8;
                }
            }
        }
        sim.socket.arrive(&bytes);
        sim.socket.end();
        sim.edges.push_back(Edge::Readable { read_closed: true });
        sim.come_to_rest(dice);
        assert!(sim.closed, "it stays open behind the end of its peer");
    });
}

#[test]
fn calls_that_sleep_are_runs_of_their_own() {
    for_each_seed(64, |dice| {
        let mut sim = Sim::new(dice);
        let bytes = script(dice).bytes;
        sim.connection.listed = true;
        sim.socket.arrive(&bytes);
        sim.edges.push_back(Edge::Readable { read_closed: false });
        for _ in 0..400 {
            sim.deliver_edge();
            sim.turn();
            for run in &sim.pending {
                let sleeps = |run: &crate::call::Calls| {
                    Calls::of(&run.frames).filter(|call| call.method.method == b"sleep").count()
                };
                assert_eq!(run.is_slow, sleeps(run) > 0);
                assert!(!run.is_slow || run.count == 1, "{} calls", run.count);
            }
            sim.answer(dice);
            sim.collect();
            sim.drain(1000);
        }
    });
}

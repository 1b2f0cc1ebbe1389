//! Native connections, as seen by a test that is their reader.

use super::*;
use crate::fake::{Dice, for_each_seed};
use echo_common::wire::native::{self, HEADER_LEN, Header, Kind, Status};
use std::net::Shutdown;

mod hadoop;
mod sim;
use sim::{Edge, FRAME_MAX, Sim};

/// How the peer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Stays,
    HalfCloses,
    HalfClosesInFrame,
    Resets,
    BreaksTheProtocol,
}

/// Frames of a peer: most are small, some are larger than a read, some ask for other replies.
fn frames(dice: &mut Dice) -> Vec<u8> {
    let mut out = Vec::new();
    for id in 0..dice.within(0..60) as u64 {
        let length = match dice.within(0..20) {
            0 => dice.within(0..FRAME_MAX - 100),
            1 => LARGE_FRAME - HEADER_LEN - 2 + dice.within(0..4),
            2 => 0,
            _ => dice.within(0..600),
        };
        let body = dice.bytes(length);
        let header = match dice.within(0..4) {
            0 if length >= native::RESP_SIZE_LEN => {
                let payload = length - native::RESP_SIZE_LEN;
                let flags = native::FLAG_RESP_SIZE;
                Header::new(Kind::Call, flags, id, native::RESP_SIZE_LEN, payload)
            }
            1 if dice.one_in(10) => Header::new(Kind::Stats, 0, id, 0, length),
            _ => Header::new(Kind::Call, 0, id, 0, length),
        };
        out.extend_from_slice(&header.encode());
        if header.flags != 0 {
            out.extend_from_slice(&(dice.within(0..5000) as u32).to_be_bytes());
            out.extend_from_slice(&body[native::RESP_SIZE_LEN..]);
        } else {
            out.extend_from_slice(&body);
        }
    }
    out
}

fn run(dice: &mut Dice, end: End) {
    let mut sim = Sim::new(dice);
    let expected = frames(dice);
    let mut script = [&native::PREAMBLE[..], &expected].concat();
    match end {
        End::HalfClosesInFrame => {
            script.extend_from_slice(&Header::new(Kind::Call, 0, 9, 0, 5000).encode());
            let more = dice.within(0..4000);
            script.extend(dice.bytes(more));
        }
        End::BreaksTheProtocol => {
            script.extend_from_slice(&u32::MAX.to_be_bytes());
            script.extend(dice.bytes(100));
        }
        _ => {}
    }
    let piece_max = [2, 50, 3000, 300_000][dice.within(0..4)].max(script.len() / 400);
    let reset_at = dice.within(0..script.len());
    let mut sent = 0;
    sim.connection.listed = true;
    while sent < script.len() {
        match dice.within(0..8) {
            0 | 1 => {
                let piece = dice.within(1..piece_max + 1).min(script.len() - sent);
                sim.socket.arrive(&script[sent..sent + piece]);
                sent += piece;
                let ends = matches!(end, End::HalfCloses | End::HalfClosesInFrame);
                let last = sent == script.len() && ends;
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
        if end == End::Resets && sent >= reset_at {
            sim.socket.reset();
            // It is seen by an event, or by the next read or write.
            let edge =
                if dice.one_in(2) { Edge::Error } else { Edge::Readable { read_closed: true } };
            sim.edges.push_back(edge);
            break;
        }
    }
    sim.come_to_rest(dice);
    verify(&sim, end, &expected);
}

fn verify(sim: &Sim, end: End, expected: &[u8]) {
    let meters = sim.intake.reader();
    assert_eq!(meters.calls.get() + meters.stats_calls.get(), sim.calls_out);
    if end == End::Resets {
        assert!(expected.starts_with(&sim.out), "other calls came out than went in");
        assert!(sim.closed, "a connection outlives its peer");
        return;
    }
    assert_eq!(sim.out.len(), expected.len(), "calls were lost, or are stuck");
    assert!(sim.out == expected, "other calls came out than went in");
    let written = sim.socket.written();
    let (replies, rest) = written.split_at(expected.len().min(written.len()));
    match end {
        End::Stays => {
            assert!(!sim.closed && sim.refused.is_none());
            assert!(!sim.connection.paused, "reading was never resumed");
            assert!(replies == expected && rest.is_empty());
        }
        End::HalfCloses | End::HalfClosesInFrame => {
            assert!(sim.closed && sim.refused.is_none(), "half-closed, answered, and still open");
            assert!(replies == expected && rest.is_empty());
        }
        End::BreaksTheProtocol => {
            assert_eq!(sim.refused, Some(Status::FrameTooLarge));
            assert!(written.len() > expected.len(), "the refusal did not leave");
            assert_eq!(sim.socket.shut(), Some(Shutdown::Write));
        }
        End::Resets => {}
    }
}

#[test]
fn the_same_calls_come_out_whatever_the_pieces_and_the_bounds() {
    for_each_seed(256, |dice| run(dice, End::Stays));
}

#[test]
fn a_peer_that_half_closes_is_answered_and_then_ended() {
    for_each_seed(128, |dice| run(dice, End::HalfCloses));
    for_each_seed(128, |dice| run(dice, End::HalfClosesInFrame));
}

#[test]
fn a_reset_ends_the_connection_wherever_it_comes() {
    for_each_seed(256, |dice| run(dice, End::Resets));
}

#[test]
fn a_broken_frame_ends_the_connection_behind_the_calls_before_it() {
    for_each_seed(256, |dice| run(dice, End::BreaksTheProtocol));
}

#[test]
fn any_bytes_at_all_end_in_calls_or_a_refusal() {
    for_each_seed(256, |dice| {
        let mut sim = Sim::new(dice);
        sim.connection.listed = true;
        let length = dice.within(0..3000);
        let mut bytes = dice.bytes(length);
        if dice.one_in(2) {
            bytes.splice(0..0, native::PREAMBLE);
            // A believable length word gets it further.
            let at = native::PREAMBLE_LEN;
            if bytes.len() > at + 6 {
                bytes[at..at + 3].fill(0);
                bytes[at + 4] = 1 + dice.within(0..5) as u8;
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
fn a_connection_that_is_stopped_answers_what_was_read_and_ends() {
    for_each_seed(256, |dice| {
        let mut sim = Sim::new(dice);
        let expected = frames(dice);
        let script = [&native::PREAMBLE[..], &expected].concat();
        sim.connection.listed = true;
        let early = dice.within(0..script.len() + 1);
        sim.socket.arrive(&script[..early]);
        sim.edges.push_back(Edge::Readable { read_closed: false });
        for _ in 0..dice.within(0..40) {
            match dice.within(0..4) {
                0 => sim.deliver_edge(),
                1 => sim.answer(dice),
                2 => sim.collect(),
                _ => sim.turn(),
            }
        }
        sim.connection.stop();
        sim.connection.listed = true;
        sim.edges.clear();
        sim.come_to_rest(dice);
        assert!(expected.starts_with(&sim.out), "other calls came out than went in");
        assert_eq!(sim.socket.written(), sim.out, "a call that was read was not answered");
        assert_eq!(sim.socket.shut(), Some(Shutdown::Write), "the peer is not told of the end");
    });
}

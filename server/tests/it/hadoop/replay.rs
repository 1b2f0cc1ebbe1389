//! The recordings of real clients, said to the program: it answers what the original answered.

use super::kit::{Answer, Recording, start};
use crate::kit::{Peer, Server, until};

/// The connection ended because the peer ended it, which no bytes say.
const ENDED_BY_THE_PEER: &[&str] = &["half-close", "cut-short"];
/// The recorded server had two methods more. Their calls fail here, and are left out.
const OTHER_METHODS: &[&str] = &["Unknown method slow ", "Unknown method fail "];

fn refusals(server: &Server) -> u64 {
    server.limit("frames_malformed") + server.limit("frames_oversize")
}

/// Whether `bytes` are answers in the form of version 9, and not of an older one or HTTP.
fn are_packets(mut bytes: &[u8]) -> bool {
    while let Some((length, rest)) = bytes.split_first_chunk() {
        let Some(rest) = rest.get(u32::from_be_bytes(*length) as usize..) else { return false };
        bytes = rest;
    }
    bytes.is_empty()
}

/// Says a recording in pieces of at most `piece` bytes; returns what came back.
fn say(server: &Server, recording: &Recording, piece: usize) -> Vec<u8> {
    let mut peer = Peer::silent(server.address);
    let before = refusals(server);
    for bytes in &recording.to_server {
        for piece in bytes.chunks(piece) {
            // The server may have closed already: then the rest says nothing.
            if std::io::Write::write_all(&mut peer.stream, piece).is_err() {
                break;
            }
        }
    }
    if recording.closed && !ENDED_BY_THE_PEER.contains(&&*recording.name) {
        let answered = peer.rest();
        assert_eq!(refusals(server), before + 1, "{}: refusals", recording.name);
        return answered;
    }
    let mut answered = Vec::new();
    let expected =
        if are_packets(&recording.to_client) { Answer::all(&recording.to_client).len() } else { 0 };
    for _ in 0..expected {
        answered.extend(peer.packet().expect("an answer, not an end"));
    }
    until("this connection and the asking one are open", || {
        server.stats()["connections_open"] == 2
    });
    peer.half_close();
    answered.extend(peer.rest());
    answered
}

/// Equal, but that a Java server puts a stack trace behind the first line of a text.
fn check_answer(name: &str, ours: &Answer, original: &Answer) -> bool {
    if OTHER_METHODS.iter().any(|method| ours.text.starts_with(method)) {
        return false;
    }
    let first_line = original.text.split("\n\tat ").next().unwrap_or_default();
    let original = Answer { text: first_line.to_owned(), ..original.clone() };
    assert_eq!(*ours, original, "{name}");
    true
}

fn check(recording: &Recording, answered: &[u8]) -> usize {
    let name = &*recording.name;
    let original = &recording.to_client;
    if !are_packets(original) {
        assert_eq!(answered, original, "{name}");
        return 1;
    }
    let sorted = |bytes: &[u8]| {
        let mut answers = Answer::all(bytes);
        // Several handlers answered, in any order.
        answers.sort_by_key(|answer| answer.call_id);
        answers
    };
    let (ours, originals) = (sorted(answered), sorted(original));
    if name == "half-close" {
        // The original drops the call of a peer that has shut its side.
        assert_eq!((ours.len(), originals.len()), (1, 0));
        return 1;
    }
    assert_eq!(ours.len(), originals.len(), "{name}: answers");
    let compared = ours.iter().zip(&originals);
    let compared = compared.filter(|(ours, original)| check_answer(name, ours, original)).count();
    let has_trace = original.windows(5).any(|part| part == b"\n\tat ");
    if originals.len() == 1 && !has_trace && compared == 1 {
        assert_eq!(answered, original, "{name}: byte for byte");
    }
    compared
}

#[test]
fn what_the_original_was_told_is_answered_as_it_answered() {
    let server = start(&[("--max-frame-size", "128MiB")]);
    let all = Recording::all();
    assert_eq!(all.len(), 42, "recordings");
    let mut compared = 0;
    for recording in &all {
        for piece in [usize::MAX, 1] {
            compared += check(recording, &say(&server, recording, piece));
        }
    }
    // Twice each: 24 whole answers, and those that stand beside others or have a trace.
    assert!(compared >= 96, "{compared} answers compared");
    server.stop();
}

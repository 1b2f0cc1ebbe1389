//! The recordings of real peers, said again: our server answers what the real one answered, our
//! client writes what the real one wrote and understands what it was told.

use super::kit::{BENCH, Recording, SIMPLE, Server, pieces, replies};
use echo_common::wire::hadoop::client::{self, CallTemplate, ClientId, Received, Replies};
use echo_common::wire::hadoop::context::Context;
use echo_common::wire::hadoop::echo;
use echo_common::wire::hadoop::method::MethodHeader;
use echo_common::wire::hadoop::reply::{ErrorCode, ReplyHeader, Status};

/// Recordings in which ours is meant to do better, and what it does instead.
const BETTER: &[(&str, &str)] =
    &[("half-close", "the original drops the call of a peer that has shut its side; ours answers")];

/// The connection ended because the peer ended it, which no bytes say.
const ENDED_BY_THE_PEER: &[&str] = &["half-close", "cut-short"];

fn sorted(bytes: &[u8]) -> Option<Vec<(ReplyHeader<'_>, &[u8])>> {
    let mut seen = replies(bytes)?;
    // Several handlers answered, in any order.
    seen.sort_by_key(|(header, _)| header.call_id);
    Some(seen)
}

/// Equal, but that a Java server puts a stack trace behind the first line of a text.
fn check_reply(name: &str, ours: (ReplyHeader, &[u8]), original: (ReplyHeader, &[u8])) {
    let (mut ours_header, ours_body) = ours;
    let (mut original_header, original_body) = original;
    let ours_text = ours_header.failure.text.take().unwrap_or_default();
    let original_text = original_header.failure.text.take().unwrap_or_default();
    assert_eq!(ours_header, original_header, "{name}");
    assert_eq!(ours_body, original_body, "{name}");
    let behind = original_text.strip_prefix(ours_text).unwrap_or_else(|| {
        let [ours, original] = [ours_text, original_text].map(String::from_utf8_lossy);
        panic!("{name}: `{ours}` where the original says `{original}`");
    });
    assert!(behind.is_empty() || behind.starts_with(b"\n\tat "), "{name}: more text");
}

fn check_answers(name: &str, ours: &[u8], original: &[u8]) {
    match (sorted(ours), sorted(original)) {
        (Some(ours), Some(original)) => {
            assert_eq!(ours.len(), original.len(), "{name}: answers");
            for (ours, original) in ours.into_iter().zip(original) {
                check_reply(name, ours, original);
            }
        }
        _ => assert_eq!(ours, original, "{name}"),
    }
}

fn check_recording(recording: &Recording, sizes: Option<&[usize]>) {
    let name = &*recording.name;
    let sent = recording.to_server.concat();
    let server = match sizes {
        None => Server::fed(recording.to_server.iter().map(Vec::as_slice)),
        Some(sizes) => Server::fed(pieces(&sent, sizes)),
    };
    if BETTER.iter().any(|(better, _)| *better == name) {
        assert!(recording.to_client.is_empty(), "{name}");
        assert_eq!(replies(&server.answers).unwrap().len(), 1, "{name}");
    } else {
        check_answers(name, &server.answers, &recording.to_client.concat());
    }
    if let Some(closed) = recording.closed
        && !ENDED_BY_THE_PEER.contains(&name)
    {
        assert_eq!(server.ending.is_some(), closed, "{name}: {:?}", server.ending);
    }
}

#[test]
fn what_the_original_was_told_is_answered_as_it_answered() {
    let all = Recording::all();
    assert_eq!(all.len(), 42, "recordings");
    for recording in &all {
        check_recording(recording, None);
    }
}

#[test]
fn the_answers_are_the_same_when_the_bytes_come_one_by_one() {
    for recording in &Recording::all() {
        check_recording(recording, Some(&[1]));
        check_recording(recording, Some(&[5, 3, 0, 11]));
    }
}

#[test]
fn whole_answers_without_a_stack_trace_are_the_originals_byte_for_byte() {
    let mut compared = 0;
    for recording in &Recording::all() {
        let original = recording.to_client.concat();
        let is_ordered = replies(&original).is_none_or(|seen| seen.len() < 2);
        let has_trace = original.windows(5).any(|part| part == b"\n\tat ");
        if original.is_empty() || !is_ordered || has_trace {
            continue;
        }
        let server = Server::fed(recording.to_server.iter().map(Vec::as_slice));
        assert_eq!(server.answers, original, "{}", recording.name);
        compared += 1;
    }
    assert_eq!(compared, 24);
}

/// What the recorded Java client sent, written by ours.
#[test]
fn the_session_of_a_real_client_is_written_byte_for_byte() {
    let recording = Recording::named("session");
    let sent = recording.to_server.concat();
    let client_id: ClientId = sent[20..36].try_into().unwrap();
    let mut ours = SIMPLE.to_vec();
    let (effective_user, protocol) = (Some(&b"alice"[..]), Some(BENCH));
    let context = Context { effective_user, real_user: None, protocol };
    client::put_context(&mut ours, &client_id, &context);
    let big = [b'x'; 300];
    let calls: [(&[u8], &[u8]); 6] = [
        (b"echo", b"hello"),
        (b"echo", b""),
        (b"echo", &big),
        (b"fail", b"boom"),
        (b"nope", b"boom"),
        (b"slow", b"zzz"),
    ];
    for (call_id, (method, payload)) in calls.into_iter().enumerate() {
        let header = MethodHeader { method, protocol: BENCH, version: 1 };
        let payload = (!payload.is_empty()).then_some(payload);
        let template = CallTemplate::new(client_id, &header);
        template.put(&mut ours, call_id as i32, 0, echo::encoded_len(payload));
        echo::encode(payload, &mut ours);
    }
    client::put_ping(&mut ours, &client_id);
    client::put_ping(&mut ours, &client_id);
    assert_eq!(ours, sent);
}

#[test]
fn a_client_understands_what_the_real_server_said() {
    let recording = Recording::named("session");
    let client_id: ClientId = recording.to_server.concat()[20..36].try_into().unwrap();
    let said = recording.to_client.concat();
    let mut replies = Replies::new(client_id);
    let (mut at, mut seen) = (0, Vec::new());
    while let Received::Reply(consumed, reply) = replies.receive(&said[at..]).unwrap() {
        seen.push(reply);
        at += consumed;
    }
    assert_eq!(at, said.len());
    let ids: Vec<i32> = seen.iter().map(|reply| reply.header.call_id).collect();
    assert_eq!(ids, [0, 1, 2, 3, 4, 5]);
    let payload = |index: usize| echo::decode(seen[index].message().unwrap()).unwrap();
    assert_eq!((payload(0), payload(1)), (Some(&b"hello"[..]), None));
    assert_eq!((payload(2), payload(5)), (Some(&[b'x'; 300][..]), Some(&b"zzz"[..])));
    let failure = |index: usize| {
        assert_eq!(seen[index].header.status, Status::Error);
        let failure = seen[index].header.failure;
        (failure.code, failure.class.map(String::from_utf8_lossy))
    };
    let no_method = "org.apache.hadoop.ipc.RpcNoSuchMethodException";
    assert_eq!(failure(3), (Some(ErrorCode::Application), Some("java.io.IOException".into())));
    assert_eq!(failure(4), (Some(ErrorCode::NoSuchMethod), Some(no_method.into())));
}

/// An independent client, whose protocol the server does not have.
#[test]
fn hdfs_native_gets_a_clean_error_and_its_connection_lives_on() {
    let server = Server::fed(Recording::named("hdfs-native").to_server.iter().map(Vec::as_slice));
    assert_eq!(server.ending, None);
    let seen = replies(&server.answers).unwrap();
    assert_eq!(seen.len(), 2);
    for (call_id, (header, body)) in seen.into_iter().enumerate() {
        assert_eq!((header.call_id, header.status), (call_id as i32, Status::Error));
        assert_eq!(header.failure.code, Some(ErrorCode::NoSuchProtocol));
        let text = b"Unknown protocol: org.apache.hadoop.hdfs.protocol.ClientProtocol";
        assert_eq!((header.failure.text, body), (Some(&text[..]), &[][..]));
    }
}

//! Whatever a Hadoop server does wrong is counted as what it was, and the client ends.

use super::peer::{Peer, Talk, failure, right, success};
use crate::kit::outcome;
use echo_common::wire::hadoop::reply::{ReplyTo, Status};
use serde_json::Value;

const BENCH: &str = "--service bench.EchoProtocol:1";
const IPC: &str = "org.apache.hadoop.ipc.";

/// Runs against a peer and expects the run to have failed with sums that hold.
fn failed(behaviour: impl Fn(Talk) + Send + Sync + 'static, arguments: &str) -> Value {
    let ended = Peer::start(behaviour).run(arguments);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(!ended.stderr.contains("panicked"), "{ended:?}");
    ended.json()
}

fn error<'a>(json: &'a Value, cause: &str) -> &'a Value {
    let errors = json["errors"].as_array().unwrap();
    errors
        .iter()
        .find(|error| error["cause"] == cause)
        .unwrap_or_else(|| panic!("no error {cause}: {errors:?}"))
}

#[test]
fn an_error_costs_its_call_and_the_connection_lives_on() {
    let behaviour = |mut talk: Talk| {
        while let Some(packet) = talk.next() {
            let to = packet.call();
            let class = ["RetriableException", "RpcNoSuchMethodException"];
            let sent = match packet.id() % 10 {
                at @ 3..=4 => {
                    let class = format!("{IPC}{}", class[at as usize - 3]);
                    failure(to.reply_to(), Status::Error, &class, "Server too busy\n\tat x.y(Z)")
                }
                _ => right(&packet),
            };
            if !talk.send(&sent) {
                return;
            }
        }
    };
    let json = failed(behaviour, &format!("-n 200 --clients 1 --in-flight 4 {BENCH}"));
    assert_eq!((outcome(&json, "ok"), outcome(&json, "error_reply")), (160, 40));
    let busy = error(&json, "RetriableException");
    assert_eq!((&busy["calls"], &busy["text"]), (&20.into(), &"Server too busy".into()));
    assert_eq!(error(&json, "RpcNoSuchMethodException")["calls"], 20);
    assert_eq!(json["connections_lost"], 0);
}

#[test]
fn a_fatal_ends_all_calls_of_its_connection_with_its_words() {
    let behaviour = |mut talk: Talk| {
        for _ in 0..4 {
            talk.next();
        }
        let to = ReplyTo { call_id: -3, client_id: &[], retry_count: -1 };
        let text = "User someone is not authorized";
        talk.send(&failure(to, Status::Fatal, "a.AuthorizationException", text));
    };
    let json = failed(behaviour, &format!("-n 100 --clients 1 --in-flight 4 {BENCH}"));
    assert_eq!((outcome(&json, "started"), outcome(&json, "connection_lost")), (4, 4));
    let refused = error(&json, "refused");
    assert!(refused["text"].as_str().unwrap().contains("AuthorizationException"), "{refused}");
    assert!(json["notes"][0].as_str().unwrap().ends_with("is not authorized"), "{json}");
    assert_eq!(json["window"]["ended_by"], "connections_lost");
}

/// Refused before the first call was made: the edge comes and goes while others are connecting.
#[test]
fn a_version_that_is_not_spoken_is_told_at_once() {
    let behaviour = |mut talk: Talk| {
        let old = [&[0xff; 8][..], b"\0\0\0\x03a.V\0\0\0\x0bspeak 5, no"].concat();
        talk.send(&old);
    };
    let json = failed(behaviour, &format!("-n 100 --clients 20 --timeout 50s {BENCH}"));
    assert_eq!(json["connections_lost"], 20);
    assert!(json["notes"][0].as_str().unwrap().contains("V: speak 5, no"), "{}", json["notes"]);
    assert!(json["elapsed_s"].as_f64().unwrap() < 40.0);
}

#[test]
fn an_ozone_manager_that_does_not_lead_is_told_with_the_one_that_does() {
    let behaviour = |mut talk: Talk| {
        while let Some(packet) = talk.next() {
            let class = "org.apache.hadoop.ozone.om.exceptions.OMNotLeaderException";
            let text = "OM:om1 is not the leader. Suggested leader is OM:om2[om2:9862].";
            talk.send(&failure(packet.call().reply_to(), Status::Error, class, text));
        }
    };
    let json = failed(behaviour, "-n 10 --clients 2");
    let text = error(&json, "OMNotLeaderException")["text"].as_str().unwrap();
    assert!(text.contains("does not lead, point --server at"), "{text}");
    assert!(text.ends_with("OM:om2[om2:9862]."), "{text}");
}

#[test]
fn replies_with_other_bytes_or_lengths_are_mismatches() {
    let behaviour = |mut talk: Talk| {
        while let Some(packet) = talk.next() {
            let call = packet.call();
            let mut message = call.message().unwrap().to_vec();
            match packet.id() % 10 {
                1 => *message.last_mut().unwrap() ^= 1,
                2 => message = b"\x0a\x03abc".to_vec(),
                3 => message = b"\x0a\x7f".to_vec(),
                4 => message.clear(),
                _ => {}
            }
            talk.send(&success(call.reply_to(), &message));
        }
    };
    let json = failed(behaviour, &format!("-n 100 --clients 1 {BENCH}"));
    assert_eq!((outcome(&json, "ok"), outcome(&json, "mismatch")), (60, 40));
    let json = failed(behaviour, &format!("-n 100 --clients 1 {BENCH} --verify none"));
    assert_eq!((outcome(&json, "ok"), outcome(&json, "mismatch")), (70, 30));
}

#[test]
fn what_is_no_reply_ends_the_connection_and_says_what_came() {
    let check = |bytes: &'static [u8], how: &str, expected: &str| {
        let behaviour = move |mut talk: Talk| {
            talk.next();
            talk.send(bytes);
            talk.next();
        };
        let json = failed(behaviour, &format!("-n 10 --clients 1 {how} {BENCH}"));
        let protocol = error(&json, "protocol");
        assert_eq!((&protocol["calls"], &protocol["connections"]), (&1.into(), &1.into()));
        assert!(json["notes"].to_string().contains(expected), "{}", json["notes"]);
    };
    check(b"HTTP/1.1 404 Not Found", "", "the limit is 134217728");
    check(b"\0\0\x04\x01x", "--max-reply-size 1k", "1025 bytes announced, the limit is 1024");
    check(b"\x80\0\0\0", "--max-reply-size 0", "announced, a length is 1 or more");
    check(b"\0\0\0\x01\0", "", "the reply header cannot be read");
}

#[test]
fn replies_that_nobody_waits_for_are_counted_apart() {
    let behaviour = |mut talk: Talk| {
        while let Some(packet) = talk.next() {
            let bytes = right(&packet);
            talk.send(&bytes);
            if packet.id() == 5 {
                talk.send(&bytes);
            }
        }
    };
    let json = failed(behaviour, &format!("-n 50 --clients 1 {BENCH}"));
    assert_eq!((outcome(&json, "ok"), &json["unexpected_replies"]), (50, &1.into()));
}

#[test]
fn a_call_without_an_answer_times_out_and_its_late_reply_is_counted_apart() {
    let behaviour = |mut talk: Talk| {
        let Some(first) = talk.next() else { return };
        let Some(second) = talk.next() else { return };
        talk.send(&right(&first));
        talk.send(&right(&second));
        talk.answer_all();
    };
    let json = failed(behaviour, &format!("-n 3 --clients 1 --timeout 100ms {BENCH}"));
    assert_eq!((outcome(&json, "timed_out"), outcome(&json, "ok")), (1, 2));
    assert_eq!(json["late_replies"], 1);
}

#[test]
fn a_connection_closed_in_mid_reply_is_said_so() {
    let behaviour = |mut talk: Talk| {
        if let Some(packet) = talk.next() {
            let bytes = right(&packet);
            talk.send(&bytes[..bytes.len() - 1]);
        }
    };
    let json = failed(behaviour, &format!("-n 3 --clients 1 {BENCH}"));
    assert_eq!(error(&json, "eof")["calls"], 1);
    assert!(json["notes"].to_string().contains("mid-reply"), "{}", json["notes"]);
}

//! The client asks the followers itself whether they hold what was acknowledged.

use crate::kit::{Client, ERROR, Ended, Peer, REPLY, STATS, Talk, frame};
use crate::pair::Pair;
use echo_common::wire::digest;
use serde_json::{Value, json};
use socket2::{Domain, Socket, Type};
use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

const RUN: &str = "--acks all --clients 2 -n 500 --format json";
const REPLICA: u8 = 5;
const JOIN: u8 = 6;

/// Whether the followers hold all, and the reason.
fn found(ended: &Ended) -> (Value, String) {
    let json = ended.json();
    let checks = json["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == "followers_hold");
    let check = check.unwrap_or_else(|| panic!("no such check: {checks:?}"));
    (check["ok"].clone(), check["text"].as_str().unwrap().to_owned())
}

/// A leader that waits for all of these followers.
fn leader_of(followers: &[SocketAddr], options: &str) -> Pair {
    let names: Vec<String> = followers.iter().map(ToString::to_string).collect();
    let holders = followers.len() + 1;
    let followers = names.join(",");
    Pair::serve(&format!("--handlers 2 --followers {followers} --min-insync {holders} {options}"))
}

#[test]
fn followers_that_hold_all_are_said_to_for_calls_and_records() {
    let followers = [Pair::serve("--handlers 2"), Pair::serve("--handlers 1 --readers 2")];
    let leader = leader_of(&followers.each_ref().map(|follower| follower.address), "");
    for shape in ["", "--in-flight 16 --warmup 50ms", "--payload 30000", "--stages 3"] {
        let ended = leader.call(&format!("{RUN} {shape}"));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let (ok, text) = found(&ended);
        assert_eq!(ok, true, "{shape}: {text}");
        assert_eq!(text, "2 in sync hold all 500 acknowledged calls, digests agree", "{shape}");
        let json = ended.json();
        let asked = json["followers"].as_array().unwrap();
        assert_eq!(asked.len(), 2);
        for (follower, pair) in asked.iter().zip(&followers) {
            assert_eq!(follower["address"], pair.address.to_string());
            assert_eq!((&follower["in_sync"], &follower["ok"]), (&json!(true), &json!(true)));
            assert_eq!(follower["holds"], follower["expected"]);
        }
    }
    let ended = leader.call(&format!("{RUN} --streams 5 --batch-bytes 512"));
    assert_eq!((ended.code, found(&ended).0), (Some(0), json!(true)), "{ended:?}");
    let text = leader.call("--acks all -n 100").stdout;
    assert!(text.contains("followers hold = ok: 2 in sync hold all 100"), "{text}");
}

#[test]
fn a_follower_that_is_behind_is_waited_for() {
    let slow = Pair::serve("--handlers 1 --handler-cost paced:2ms");
    let leader = Pair::serve(&format!("--handlers 1 --followers {} --min-insync 1", slow.address));
    // With one holder wanted the leader answers before its follower has joined.
    let joined = || found(&leader.call("--acks all -n 1 --format json")).0 == json!(true);
    assert!((0..100).any(|_| joined()), "it never joined");
    let ended = leader.call(&format!("{RUN} --in-flight 8"));
    assert_eq!((ended.code, found(&ended).0), (Some(0), json!(true)), "{ended:?}");
}

#[test]
fn what_cannot_be_compared_is_not_checked_and_no_failure() {
    let check = |ended: &Ended, why: &str| {
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let (ok, text) = found(ended);
        assert!(ok.is_null() && text.contains("not checked: ") && text.contains(why), "{text}");
    };
    let alone = Pair::serve("--handlers 1");
    check(&alone.call(RUN), "the server has no followers");
    check(&alone.call(&format!("{RUN} --server-stats off")), "--server-stats off");
    let silent = Pair::serve("--handlers 1 --no-remote-stats");
    check(&silent.call(RUN), "does not answer a stats call");
    let leader = leader_of(&[silent.address], "");
    check(&leader.call(RUN), "it refuses stats calls");
    // A port that is taken and does not listen.
    let nobody = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    nobody.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    let address = nobody.local_addr().unwrap().as_socket().unwrap();
    let lonely = Pair::serve(&format!("--handlers 1 --followers {address} --min-insync 1"));
    check(&lonely.call(RUN), "none of 1 followers is in sync");
    assert_eq!(alone.json("-n 10")["followers"], Value::Null);
}

/// What a follower that takes part in replication says that it holds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Says {
    TheTruth,
    /// A call that it acknowledged is not among them.
    AllButOne,
    /// A call that it acknowledged came with other bytes.
    OtherBytes,
    /// It was started anew and has not said so.
    Nothing,
    /// It stopped holding, and went on acknowledging.
    TheFirst,
    /// It does not say.
    Never,
    Garbage,
}

#[derive(Default)]
struct Held {
    epoch: u64,
    since: u64,
    next: u64,
    digest: u64,
}

/// A follower that acknowledges every call.
fn follower(says: Says) -> Peer {
    let held = Arc::new(Mutex::new(Held::default()));
    Peer::start(move |mut talk: Talk| {
        while let Some(call) = talk.next() {
            let word = |at: usize| u64::from_be_bytes(call.payload[at..at + 8].try_into().unwrap());
            let mut held = held.lock().unwrap();
            let written = match call.kind {
                // It is asked who it is, and how large calls may be.
                JOIN if call.id == 0 => {
                    let block = [1u64.to_be_bytes(), u64::MAX.to_be_bytes()].concat();
                    talk.frame(JOIN, 0, call.id, &block)
                }
                JOIN => {
                    *held = Held { epoch: word(0), since: call.id, next: call.id, digest: 0 };
                    let block = [call.id.to_be_bytes(), call.id.to_be_bytes()].concat();
                    talk.frame(JOIN, 0, call.id, &block)
                }
                REPLICA => {
                    assert_eq!((word(0), call.id), (held.epoch, held.next));
                    held.next += 1;
                    let digest = digest::of_call(call.id, &call.payload[8..]);
                    held.digest = held.digest.wrapping_add(digest);
                    talk.frame(REPLY, 0, call.id, &held.next.to_be_bytes())
                }
                STATS => match stats(says, &held) {
                    Some(stats) => talk.frame(STATS, 0, call.id, stats.as_bytes()),
                    None => {
                        std::thread::park();
                        false
                    }
                },
                kind => panic!("a frame of kind {kind}"),
            };
            if !written {
                return;
            }
        }
    })
}

fn stats(says: Says, held: &Held) -> Option<String> {
    let Held { epoch, since, next, digest } = *held;
    let all = next - since;
    let (next, count, digest) = match says {
        Says::TheTruth => (next, all, digest),
        Says::AllButOne => (next, all - 1, digest),
        Says::OtherBytes => (next, all, digest ^ 1),
        Says::TheFirst => (since + 1, 1, digest),
        Says::Nothing => return Some(json!({"holdings": []}).to_string()),
        Says::Never => return None,
        Says::Garbage => return Some("{\"holdings\": [{\"epoch\": \"\u{7}no digits\"}]}".into()),
    };
    let digest = format!("{digest:016x}");
    let epoch = format!("{epoch:016x}");
    let holding =
        json!({"epoch": epoch, "since": since, "next": next, "count": count, "digest": digest});
    Some(json!({"holdings": [holding]}).to_string())
}

#[test]
fn a_follower_that_lacks_what_it_acknowledged_fails_the_run() {
    let run = |says: Says| {
        let follower = follower(says);
        let ended = leader_of(&[follower.address], "").call(RUN);
        let (ok, text) = found(&ended);
        (says, ended.code, ok, text)
    };
    let cases = [
        (Says::TheTruth, Some(0), json!(true), "1 in sync holds all 500 acknowledged calls"),
        (Says::AllButOne, Some(1), json!(false), "it counts 499 calls of 500"),
        (Says::OtherBytes, Some(1), json!(false), "the digests differ"),
        (Says::Nothing, Some(1), json!(false), "it holds nothing of this server's calls"),
        (Says::TheFirst, Some(1), json!(false), "up to 1, and has acknowledged them up to 500"),
        (Says::Never, Some(0), Value::Null, "it cannot be asked"),
        (Says::Garbage, Some(0), Value::Null, "its stats cannot be read"),
    ];
    std::thread::scope(|scope| {
        for (says, code, ok, text) in cases {
            scope.spawn(move || {
                let found = run(says);
                assert_eq!((found.1, &found.2), (code, &ok), "{found:?}");
                assert!(found.3.contains(text), "{found:?}");
            });
        }
    });
}

/// A server that answers every call as held by all and says `stats` of itself.
fn leader(stats: Value) -> Peer {
    Peer::start(move |mut talk: Talk| {
        while let Some(call) = talk.next() {
            let bytes = match call.kind {
                STATS => frame(STATS, 0, call.id, stats.to_string().as_bytes()),
                _ => {
                    let held = [&7u64.to_be_bytes()[..], &[0, 2, 0, 2], &call.payload].concat();
                    let mut bytes = frame(REPLY, 0, call.id, &held);
                    bytes[5] = 0x40;
                    bytes
                }
            };
            if talk.stream.write_all(&bytes).is_err() {
                return;
            }
        }
    })
}

#[test]
fn a_leader_is_not_trusted_with_what_it_names() {
    let named = |address: &str| {
        let (since, next) = (1, 501);
        json!({
            "address": address, "in_sync": true, "since": since, "next": next, "digest": "00"
        })
    };
    let check = |followers: Vec<Value>, acknowledged: u64, code: i32, expected: &str| {
        let replication = json!({
            "epoch": "0a", "next": 501, "acknowledged": acknowledged, "followers": followers
        });
        let server = leader(json!({"replication": replication})).address;
        let ended = Client::start(&format!("--server {server} {RUN}")).end();
        let (_, text) = found(&ended);
        assert!(ended.code == Some(code) && text.contains(expected), "{text}: {ended:?}");
    };
    let calls_were_answered = "500 calls were answered, and the server acknowledged 0 meanwhile";
    // The same count before and after: nothing was acknowledged.
    check(vec![named("127.0.0.1:1")], 5000, 1, calls_were_answered);
    check((0..17).map(|_| named("127.0.0.1:1")).collect(), 0, 0, "names 17 followers");
    let refusing = Peer::start(|mut talk: Talk| {
        if let Some(call) = talk.next() {
            talk.frame(ERROR, 6, call.id, b"no");
        }
    });
    let replication = json!({
        "epoch": "0a", "next": 1, "acknowledged": 0,
        "followers": [named("localhost:80"), named(&refusing.address.to_string())]
    });
    let server = leader(json!({"replication": replication})).address;
    let ended = Client::start(&format!("--server {server} {RUN}")).end();
    let asked = &ended.json()["followers"];
    let texts = [0, 1].map(|at| asked[at]["text"].as_str().unwrap_or_default());
    assert!(texts[0].contains("gives no address"), "{asked}");
    assert!(texts[1].contains("it refuses stats calls"), "{asked}");
    assert_eq!((&asked[0]["ok"], &asked[1]["ok"]), (&Value::Null, &Value::Null), "{asked}");
}

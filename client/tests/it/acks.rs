//! Who must have a call before it is done: nobody, the server, or its followers, too.

use crate::kit::{Ended, Peer, REPLY, Talk, frame, outcome, run};
use crate::pair::Pair;
use serde_json::Value;
use std::io::Write;
use std::sync::{Arc, Mutex};

/// Plain calls, with keys and stage times, and records.
const SHAPES: [&str; 4] =
    ["--payload 50", "--keys 100", "--stages 2 --payload-resp 9", "--streams 3 --batch-bytes 256"];

fn check_of(json: &Value, name: &str) -> Value {
    let checks = json["checks"].as_array().unwrap();
    checks.iter().find(|check| check["name"] == name).unwrap()["ok"].clone()
}

/// A peer that answers with so many holders of two that are needed.
fn peer(holders: u16) -> Peer {
    Peer::start(move |mut talk: Talk| {
        while let Some(call) = talk.next() {
            assert_eq!(call.flags & 0x41, 0x41, "all, and how many hold it");
            let mut payload = 7u64.to_be_bytes().to_vec();
            payload.extend_from_slice(&holders.to_be_bytes());
            payload.extend_from_slice(&2u16.to_be_bytes());
            payload.extend_from_slice(&call.payload);
            let mut bytes = frame(REPLY, 0, call.id, &payload);
            bytes[5] = 0x40;
            if talk.stream.write_all(&bytes).is_err() {
                return;
            }
        }
    })
}

fn run_at(holders: u16, shape: &str) -> Ended {
    run(&peer(holders), &format!("--acks all --clients 2 -n 100 {shape}"))
}

#[test]
fn a_call_that_is_answered_before_it_is_held_fails_the_run_and_is_named() {
    for shape in ["", "--streams 3 --batch-bytes 256"] {
        let ended = run_at(2, shape);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert_eq!(ended.json()["early_acks"], 0, "{shape}");
        assert_eq!(check_of(&ended.json(), "acks_held"), true, "{shape}");
        let ended = run_at(1, shape);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        let json = ended.json();
        assert_eq!(json["early_acks"], json["outcomes"]["ok"], "{shape}: the reply is right");
        assert_eq!(check_of(&json, "acks_held"), false, "{shape}");
        let notes = json["notes"].to_string();
        assert!(notes.contains("answered when 1 held it, and 2 had to"), "{notes}");
        let id = json["faulty_calls"][0]["id"].as_u64().unwrap();
        assert!(notes.contains(&format!("call {id:#x} was")), "{notes}: as the lists say it");
    }
}

#[test]
fn a_reply_that_does_not_say_who_holds_the_call_is_wrong() {
    for shape in ["", "--streams 3 --batch-bytes 256"] {
        let ended = run(&Peer::echo(), &format!("--acks all --clients 1 -n 20 {shape}"));
        assert_eq!(ended.code, Some(1), "{ended:?}");
        let json = ended.json();
        assert_eq!(outcome(&json, "mismatch"), outcome(&json, "started"), "{shape}");
    }
}

#[test]
fn with_followers_all_is_answered_when_they_have_it() {
    let followers = [(); 2].map(|()| Pair::serve("--handlers 1"));
    let [a, b] = followers.each_ref().map(|follower| follower.address);
    let leader = Pair::serve(&format!("--handlers 2 --followers {a},{b} --min-insync 3"));
    for shape in SHAPES {
        if shape.contains("keys") {
            continue;
        }
        let json = leader.json(&format!("--acks all --clients 2 --in-flight 4 -n 500 {shape}"));
        assert_eq!(outcome(&json, "ok"), outcome(&json, "started"), "{shape}");
        assert_eq!(check_of(&json, "acks_held"), true, "{shape}");
    }
    let json = leader.json("--acks 1 -n 100");
    assert_eq!(json["early_acks"], Value::Null);
}

#[test]
fn where_no_call_was_answered_nothing_is_known_of_its_holders() {
    // Nobody listens on port 1 of this address.
    let leader = Pair::serve("--handlers 1 --followers 127.9.9.9:1 --ack-timeout 20ms");
    let json = leader.call("--acks all --clients 1 -n 3 --format json").json();
    assert_eq!((outcome(&json, "ok"), check_of(&json, "acks_held")), (0, Value::Null));
    let checks = json["checks"].to_string();
    assert!(checks.contains("no call was answered"), "{checks}");
}

#[test]
fn without_followers_the_server_alone_holds_a_call() {
    let pair = Pair::serve("--handlers 1 --dispatch keyed");
    for shape in SHAPES {
        let json = pair.json(&format!("--acks all --clients 2 -n 500 {shape}"));
        assert_eq!(check_of(&json, "acks_held"), true, "{shape}");
    }
}

#[test]
fn nobody_answers_what_is_done_when_it_is_written() {
    let pair = Pair::serve("--handlers 1");
    for shape in [
        "-n 20000 --record-size 64",
        "-n 5000 --rate 50k",
        "-n 3000 --net-delay 2ms",
        "-n 3000 --net-delay 1ms --net-delay-buffer 500",
        "--duration 200ms --rate 20k",
        "-n 300 --record-size 100k --batch-bytes 400k",
    ] {
        let json = pair.json(&format!("--acks 0 --streams 5 --clients 2 {shape}"));
        let records = &json["records"]["outcomes"];
        let of = |name: &str| records[name].as_u64().unwrap();
        assert_eq!(of("created"), of("ok") + of("unsent"), "{shape}");
        assert!(of("ok") > 0 && outcome(&json, "ok") == outcome(&json, "started"), "{shape}");
    }
}

#[test]
fn every_call_that_nobody_answers_arrives_whole() {
    let seen = Arc::new(Mutex::new(0));
    let to = Arc::clone(&seen);
    let peer = Peer::start(move |mut talk: Talk| {
        while let Some(call) = talk.next() {
            assert_eq!(call.flags, 0x20);
            *to.lock().unwrap() += call.payload.len() / 40;
        }
        talk.close();
    });
    let options = "--acks 0 --streams 3 --clients 1 --record-size 40 -n 5000 --net-delay 1ms";
    let json = run(&peer, options).json();
    assert_eq!(json["records"]["outcomes"]["ok"], 5000);
    while *seen.lock().unwrap() < 5000 {
        std::thread::yield_now();
    }
}

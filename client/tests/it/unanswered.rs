//! Plain calls that nobody answers: done when written, and read whole by the server all the same.

use crate::kit::{Client, Ended, Peer, Talk, outcome, run, with_peer};
use crate::pair::Pair;
use serde_json::Value;
use std::sync::{Arc, Mutex};

fn check_of(json: &Value, name: &str) -> Value {
    let checks = json["checks"].as_array().unwrap();
    checks.iter().find(|check| check["name"] == name).unwrap()["ok"].clone()
}

#[test]
fn the_server_reads_exactly_what_was_written_in_every_shape() {
    let pair = Pair::serve("--handlers 2");
    for (shape, n) in [
        ("", 20_000),
        ("--clients 1 --payload 0", 20_000),
        ("--clients 3 --workers 3 --payload 1", 5),
        ("--clients 4 --workers 2 --payload 40k", 2000),
        ("--clients 1 --payload 3MiB", 20),
        ("--clients 3 --rate 50k", 5000),
        ("--clients 3 --workers 2 --rate 50k --arrivals poisson", 5000),
        ("--clients 2 --rate 5k --payload 100k", 500),
        ("--clients 2 --net-delay 2ms", 20_000),
        ("--clients 2 --net-delay 1ms --net-delay-buffer 500", 3000),
        ("--clients 2 --net-delay 1ms --rate 20k", 2000),
        ("-t 3", 3000),
        ("--in-flight 7", 3000),
    ] {
        let json = pair.json(&format!("--acks 0 -n {n} {shape}"));
        assert_eq!((outcome(&json, "started"), outcome(&json, "ok")), (n, n), "{shape}");
        assert_eq!(json["server"]["calls"], n, "{shape}");
        for name in ["outcomes_add_up", "server_agrees", "server_read_all", "server_served_all"] {
            assert_eq!(check_of(&json, name), true, "{shape}: {}", json["checks"]);
        }
        assert_eq!(json["window"]["ended_by"], "count", "{shape}");
    }
}

#[test]
fn what_the_clock_ends_and_what_a_warm_up_sent_is_read_too() {
    let pair = Pair::serve("--handlers 1");
    for (shape, agrees) in [
        ("--duration 200ms", Value::Bool(true)),
        ("--duration 200ms --rate 20k", Value::Bool(true)),
        ("--duration 100ms --warmup 100ms", Value::Null),
        ("-n 5000 --warmup 50ms", Value::Null),
        ("--warmup 50ms --rate 20k -n 2000", Value::Null),
    ] {
        let json = pair.json(&format!("--acks 0 --clients 3 --workers 2 {shape}"));
        assert!(outcome(&json, "ok") > 0 && outcome(&json, "ok") == outcome(&json, "started"));
        assert_eq!(check_of(&json, "server_read_all"), true, "{shape}: {}", json["checks"]);
        assert_eq!(check_of(&json, "server_agrees"), agrees, "{shape}: {}", json["checks"]);
    }
}

#[test]
fn there_is_no_latency_and_the_report_says_why() {
    let pair = Pair::serve("--handlers 1");
    for shape in ["", "--rate 20k"] {
        let json = pair.json(&format!("--acks 0 -n 2000 {shape}"));
        for name in ["p50", "max", "mean"] {
            assert_eq!(json["latency_us"][name], Value::Null, "{shape}");
        }
        for name in ["response_us", "service_us", "delay_us"] {
            assert_eq!(json[name], Value::Null, "{shape}");
        }
        assert_eq!(json["settings"]["callers"], Value::Null);
        assert_eq!(json["settings"]["reply_payload_bytes"], Value::Null);
        assert_eq!(json["settings"]["verify"], "none");
        assert!(json["calls_per_s"].as_f64().unwrap() > 0.0, "{shape}");
        let text = pair.call(&format!("--acks 0 -n 2000 {shape}")).stdout;
        for part in ["latency = none: nothing is answered", "nothing checked", "callers = none"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}

/// The peer takes a call with two reads, so that the client is faster and finds the socket full.
#[test]
fn every_call_arrives_whole_and_in_order_through_a_socket_that_is_full() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let to = Arc::clone(&seen);
    let peer = Peer::start(move |mut talk: Talk| {
        let mut ids = Vec::new();
        while let Some(call) = talk.next() {
            assert_eq!((call.kind, call.flags, call.payload.len()), (1, 0x20, 1000));
            ids.push(call.id);
        }
        to.lock().unwrap().push(ids);
        talk.close();
    });
    let json = run(&peer, "--acks 0 --clients 2 --payload 1000 -n 40000").json();
    assert_eq!((outcome(&json, "ok"), peer.calls()), (40_000, 40_000));
    assert_eq!(check_of(&json, "server_read_all"), true);
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 2);
    for ids in seen.iter() {
        assert!(!ids.is_empty() && *ids == (0..ids.len() as u64).collect::<Vec<_>>());
    }
}

/// A peer that reads nothing, until the client leaves.
fn full() -> Peer {
    Peer::start(|talk: Talk| {
        std::thread::park();
        drop(talk);
    })
}

fn fails(ended: &Ended) -> Value {
    assert_eq!(ended.code, Some(1), "{ended:?}");
    ended.json()
}

#[test]
fn calls_that_a_socket_does_not_take_time_out_or_are_abandoned_and_nothing_is_held_without_end() {
    let json = fails(&run(&full(), "--acks 0 --clients 2 -n 10m --timeout 300ms"));
    let late = outcome(&json, "timed_out");
    assert!(late > 0 && outcome(&json, "started") == late + outcome(&json, "ok"), "{json}");
    assert!(late <= 2 * 1024, "no more than what was begun waits: {late}");
    assert_eq!(json["connections_lost"], 2);
    assert_eq!(check_of(&json, "server_read_all"), false);
    // With a schedule calls that are due wait for room, and are counted.
    let options = "--acks 0 --clients 1 --payload 100k --rate 10k --timeout 1s --duration 300ms";
    let json = fails(&run(&full(), options));
    assert!(json["open_loop"]["unsent"].as_u64().unwrap() > 0, "{}", json["open_loop"]);
    let (late, abandoned) = (outcome(&json, "timed_out"), outcome(&json, "abandoned"));
    assert!((1..=256).contains(&(late + abandoned)), "{}", json["outcomes"]);
}

/// They are `ok`, for they were written, and nobody says what became of them but the counters.
#[test]
fn calls_that_the_server_rejects_without_a_word_are_told_by_a_check() {
    let pair = Pair::serve("--handlers 1 --when-full reject --queue-capacity 1");
    for shape in ["", "--rate 100k"] {
        let json = pair.json(&format!("--acks 0 --clients 2 -n 20000 {shape}"));
        assert_eq!(outcome(&json, "ok"), 20_000, "{shape}");
        let checks = json["checks"].as_array().unwrap();
        let check = checks.iter().find(|check| check["name"] == "server_served_all").unwrap();
        let rejected = check["numbers"]["rejected"].as_f64().unwrap();
        assert!(check["ok"] == false && rejected > 0.0, "{shape}: {check}");
        assert!(check["text"].as_str().unwrap().starts_with("the server rejected"), "{check}");
        assert_eq!(check_of(&json, "server_read_all"), true, "{shape}");
    }
}

#[test]
fn a_server_that_does_not_end_its_connections_leaves_open_what_it_has_read() {
    let peer = Peer::start(|mut talk: Talk| {
        talk.read_to_end();
        std::thread::park();
    });
    let ended = run(&peer, "--acks 0 --clients 2 -n 1000 --timeout 100ms");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let json = ended.json();
    assert_eq!((outcome(&json, "ok"), check_of(&json, "server_read_all")), (1000, Value::Null));
}

#[test]
fn a_connection_that_the_server_ends_first_is_lost_and_its_reason_is_named() {
    let closing = Peer::start(|mut talk: Talk| {
        talk.next();
        talk.close();
    });
    let json = fails(&run(&closing, "--acks 0 --clients 2 --duration 10s"));
    assert_eq!(
        (&json["connections_lost"], &json["window"]["ended_by"]),
        (&Value::from(2), &Value::from("connections_lost"))
    );
    let small = Pair::serve("--handlers 1 --max-frame-size 1k");
    let json = fails(&small.call("--acks 0 --clients 1 -n 3 --payload 4k --format json"));
    let causes = json["errors"].to_string();
    assert!(causes.contains("frame_too_large"), "{causes}");
    let answering = run(&Peer::echo(), "--acks 0 --clients 1 -n 50");
    let json = fails(&answering);
    assert_eq!((outcome(&json, "ok"), &json["unexpected_replies"]), (50, &Value::from(50)));
}

#[test]
fn an_interrupted_run_adds_up_and_its_calls_are_read() {
    let peer = Peer::start(|mut talk: Talk| {
        while talk.next().is_some() {}
        talk.close();
    });
    for load in ["", "--rate 2000"] {
        let before = peer.calls();
        let client = Client::start(&with_peer(&peer, &format!("--acks 0 --duration 100s {load}")));
        while peer.calls() == before {
            std::thread::yield_now();
        }
        client.signal("INT");
        let ended = client.end();
        assert_eq!(ended.code, Some(130), "{ended:?}");
        let json = ended.json();
        assert!(outcome(&json, "ok") > 0, "{load}: {}", json["outcomes"]);
    }
}

#[test]
fn what_is_about_answers_is_refused_in_one_line() {
    for option in [
        "--stages 5",
        "--keys 100",
        "--protocol hadoop",
        "--payload-resp 5",
        "--think 1ms",
        "--callers turns",
    ] {
        let ended = Client::start(&format!("--acks 0 {option}")).end();
        assert_eq!(ended.code, Some(2), "{option}: {ended:?}");
        let name = option.split(' ').next().unwrap();
        let line = ended.stderr.lines().next().unwrap();
        assert!(line.contains("--acks 0 with") && line.contains(name), "{line}");
        assert!(line.contains("allowed with it: --acks 1, --acks all"), "{line}");
    }
}

#[test]
fn the_server_counts_the_records_that_nobody_answers_as_the_client_does() {
    let pair = Pair::serve("--handlers 1");
    let text = pair.call("--acks 0 --streams 5 -n 500").stdout;
    for part in ["loop = calls with records; nothing is answered", "payload = records, nothing is"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    for shape in ["-n 20000", "--duration 200ms", "-n 3000 --net-delay 2ms", "--rate 50k -n 5000"] {
        let json = pair.json(&format!("--acks 0 --streams 5 --clients 2 {shape}"));
        for name in ["server_agrees", "server_read_all"] {
            assert_eq!(check_of(&json, name), true, "{shape}: {}", json["checks"]);
        }
    }
}

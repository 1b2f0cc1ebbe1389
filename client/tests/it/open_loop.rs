//! Calls by a schedule: the rate that was asked for, latency from when calls were due, overload.

use crate::kit::{Client, Peer, Talk, outcome, run, with_peer};
use echo_common::clock::now_ns;
use serde_json::Value;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Lets time pass: how long a slow server takes.
fn pass(time: Duration) {
    let (_kept, never) = channel::<()>();
    let _ = never.recv_timeout(time);
}

/// Answers each call after `delay`, one at a time on each connection.
fn slow(delay: Duration) -> Peer {
    Peer::start(move |mut talk: Talk| {
        while let Some(call) = talk.next() {
            pass(delay);
            if talk.answer(&call).is_err() {
                return;
            }
        }
    })
}

fn number(json: &Value, list: &str, name: &str) -> f64 {
    json[list][name].as_f64().unwrap_or_else(|| panic!("no {list}.{name}: {json}"))
}

fn check_rate(arguments: &str, target: f64) {
    // A host that others fill for a moment makes calls late, which says nothing of the schedule.
    let mut runs = (0..3).map(|_| {
        let ended = run(&Peer::echo(), arguments);
        assert_eq!(ended.code, Some(0), "{arguments}: {ended:?}");
        ended.json()
    });
    let json = runs.find(|json| {
        let achieved = json["calls_per_s"].as_f64().unwrap();
        (achieved / target - 1.0).abs() < 0.05 && json["overloaded"] == false
    });
    let json = json.unwrap_or_else(|| panic!("{arguments}: {target} calls/s did not come about"));
    assert_eq!(json["target_per_s"], target);
    assert_eq!(json["loop"], "open");
    for part in ["response_us", "service_us", "delay_us"] {
        assert_eq!(json[part]["count"], json["outcomes"]["ok"], "{part}");
    }
    let sum = number(&json, "service_us", "mean") + number(&json, "delay_us", "mean");
    assert!((sum / number(&json, "response_us", "mean") - 1.0).abs() < 1e-6, "{json}");
}

#[test]
fn any_rate_comes_about_with_any_number_of_callers_and_threads() {
    check_rate("--rate 10 -t 12 -n 12", 10.0);
    check_rate("--rate 1 -t 100 -n 2", 1.0);
    check_rate("--rate 101 -t 100 -n 130", 101.0);
    check_rate("--rate 100 --clients 200 -n 110", 100.0);
    check_rate("--rate 400 --duration 1s --workers 3 --clients 7", 400.0);
    check_rate("--rate 300 --duration 1s --clients 20 -t 3 --warmup 200ms", 300.0);
}

#[test]
fn the_number_of_calls_is_exact_by_a_schedule_too() {
    for arguments in ["--arrivals uniform", "--arrivals poisson", "--workers 4 --clients 5"] {
        let peer = Peer::echo();
        let json = run(&peer, &format!("--rate 2k -n 777 {arguments}")).json();
        assert_eq!((outcome(&json, "ok"), peer.calls()), (777, 777), "{arguments}");
    }
}

#[test]
fn there_is_no_burst_at_the_start() {
    let arrivals = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&arrivals);
    let peer = Peer::start(move |mut talk: Talk| {
        while let Some(call) = talk.next() {
            log.lock().unwrap().push(now_ns());
            if talk.answer(&call).is_err() {
                return;
            }
        }
    });
    assert_eq!(run(&peer, "--rate 1000 -n 1000 --clients 3").code, Some(0));
    let mut arrivals = arrivals.lock().unwrap().clone();
    arrivals.sort_unstable();
    let early = arrivals.iter().filter(|&&at| at < arrivals[0] + 100_000_000).count();
    assert!(early < 500, "{early} calls in the first tenth of a second");
}

#[test]
fn calls_that_a_slow_server_holds_up_count_from_when_they_were_due() {
    // 200 calls/s are due, 100 are possible, and one is in flight at a time.
    let peer = slow(Duration::from_millis(10));
    let json = run(&peer, "--rate 200 -n 100 --clients 1 -t 1").json();
    let mean = |name: &str| number(&json, name, "mean") / 1e3;
    assert!(mean("service_us") >= 10.0, "{json}");
    assert!(mean("response_us") > 2.0 * mean("service_us"), "{json}");
    assert_eq!(json["latency_us"], json["response_us"]);
    assert!(number(&json, "open_loop", "held_back") > 50.0, "{json}");
    assert!(number(&json, "open_loop", "worst_lag_us") > 100_000.0, "{json}");
    assert_eq!(outcome(&json, "ok"), 100);
}

#[test]
fn a_server_that_cannot_keep_up_is_called_overloaded_first_of_all() {
    let peer = slow(Duration::from_millis(10));
    let arguments = "--rate 600 --duration 1s --clients 2 --timeout 100s";
    let json = run(&peer, &format!("{arguments} -t 2")).json();
    assert_eq!(json["overloaded"], true, "{json}");
    let checks = json["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == "rate_achieved").unwrap();
    assert_eq!(check["ok"], false, "{check}");
    assert!(number(&json, "open_loop", "unsent") > 300.0, "{json}");
    assert_eq!(json["open_loop"]["scheduled"], 600);
    let arguments = format!("--server {} --server-stats off {arguments} -t 50", peer.address);
    let text = Client::start(&arguments).end().stdout;
    let opening = text.lines().nth(2).unwrap();
    for part in ["target 600.00 calls/s", "achieved", "overloaded"] {
        assert!(opening.contains(part), "{text}");
    }
    for part in ["response", "= delay", "+ service", "held back", "backlog"] {
        assert!(text.contains(part), "{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_slow_server_that_keeps_up_is_not_called_overloaded() {
    let peer = slow(Duration::from_millis(150));
    let json = run(&peer, "--rate 60 --duration 1500ms --clients 40").json();
    assert_eq!((outcome(&json, "ok"), outcome(&json, "started")), (90, 90));
    assert_eq!(json["overloaded"], false, "{json}");
}

#[test]
fn a_lost_connection_leaves_the_schedule_to_the_others() {
    let peer = Peer::start(|mut talk: Talk| {
        while let Some(call) = talk.next() {
            if talk.number == 1 {
                return talk.reset();
            }
            if talk.answer(&call).is_err() {
                return;
            }
        }
    });
    let ended = run(&peer, "--rate 500 -n 300 --clients 4");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let json = ended.json();
    assert_eq!(outcome(&json, "started"), 300);
    assert_eq!(outcome(&json, "connection_lost"), 1);
}

#[test]
fn an_interrupted_schedule_owes_nothing_beyond_the_interrupt() {
    let (sender, first_call) = channel();
    let peer = Peer::start(move |mut talk: Talk| {
        while let Some(call) = talk.next() {
            let _ = sender.send(());
            if talk.answer(&call).is_err() {
                return;
            }
        }
    });
    let client = Client::start(&with_peer(&peer, "--rate 100 --duration 1h --clients 2"));
    first_call.recv().unwrap();
    client.signal("INT");
    let ended = client.end();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    let json = ended.json();
    assert_eq!(json["interrupted"], true);
    assert!(number(&json, "open_loop", "unsent") < 1000.0, "{json}");
}

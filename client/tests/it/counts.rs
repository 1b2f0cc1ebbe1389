//! Exactly as many calls as asked for, and each of them right.

use crate::kit::{Peer, outcome, run};

fn check_count(arguments: &str, expected: u64) {
    let peer = Peer::echo();
    let ended = run(&peer, arguments);
    assert_eq!(ended.code, Some(0), "{arguments}: {ended:?}");
    let json = ended.json();
    assert_eq!(outcome(&json, "started"), expected, "{arguments}");
    assert_eq!(outcome(&json, "ok"), expected, "{arguments}");
    assert_eq!(peer.calls(), expected, "{arguments}: the server's own count");
    for number in ["p50", "p999", "min", "max", "mean", "stddev"] {
        assert!(json["latency_us"][number].is_number(), "{arguments}: {number}");
    }
}

/// Counts that do not divide by connections, callers or workers were sent too often or not at all
/// by other tools.
#[test]
fn the_count_is_exact_however_it_is_divided() {
    check_count("-n 401 --clients 400", 401);
    check_count("-n 1 --clients 200", 1);
    check_count("-n 7 -t 3", 7);
    check_count("-n 29 --clients 30", 29);
    check_count("-n 1 --clients 30 -t 100", 1);
    check_count("-n 10007 --clients 30 --threads 7 --workers 3", 10_007);
    check_count("-n 10007 --clients 30 --in-flight 9 --workers 4", 10_007);
    check_count("--clients 1 -n 1", 1);
    check_count("--clients 1 --in-flight 64 -n 5", 5);
    check_count("", 1000);
}

#[test]
fn every_payload_size_comes_back_whole() {
    for payload in [0, 1, 63, 64, 4095, 4096, 4097, 16_384, 16_385, 65_535, 65_536, 1 << 20] {
        check_count(&format!("-n 23 --clients 3 --in-flight 2 --payload {payload}"), 23);
    }
}

#[test]
fn replies_may_be_asked_to_be_shorter_or_longer_than_calls() {
    for (payload, reply) in [(128, 0), (128, 7), (100, 1000), (0, 300), (0, 0), (70_000, 200_000)] {
        let arguments = format!("-n 30 --clients 2 --payload {payload} --payload-resp {reply}");
        check_count(&arguments, 30);
    }
}

/// Both sides writing and nobody reading was a deadlock in other tools.
#[test]
fn large_payloads_in_both_directions_do_not_block_each_other() {
    check_count("-n 24 --clients 2 --in-flight 8 --payload 8MiB", 24);
}

#[test]
fn callers_that_are_fewer_than_connections_use_them_all() {
    let peer = Peer::echo();
    let json = run(&peer, "-n 100 --clients 10 -t 3 --workers 2").json();
    assert_eq!(peer.connections.load(std::sync::atomic::Ordering::SeqCst), 10);
    assert_eq!(json["settings"]["callers_rotate"], true);
    let mean = json["little"]["mean_in_flight"].as_f64().unwrap();
    assert!(mean <= 3.0, "{mean} calls in flight by 3 callers");
}

#[test]
fn without_verification_only_lengths_count() {
    check_count("-n 100 --verify none", 100);
}

#[test]
fn callers_in_turn_and_callers_that_think_make_exactly_the_calls_asked_for() {
    check_count("-n 1003 --clients 10 -t 100 --callers turns --workers 3", 1003);
    check_count("-n 1003 --clients 10 -t 100 --callers turns --think 1ms", 1003);
    check_count("-n 103 --clients 10 -t 3 --think 1ms --workers 2", 103);
    check_count("-n 1003 --clients 30 -t 100 --think 1ms", 1003);
}

/// Each caller can make at most duration / think calls, and one more.
#[test]
fn callers_think_between_their_calls() {
    let peer = Peer::echo();
    let json = run(&peer, "--duration 300ms --clients 3 -t 6 --think 100ms").json();
    assert!((6..=24).contains(&outcome(&json, "ok")), "{}", json["outcomes"]);
    assert_eq!(json["settings"]["think_time_us"], 100_000);
    assert_eq!(json["options"]["think"], "100ms");
    assert!(json["little"]["mean_in_flight"].as_f64().unwrap() < 6.0, "{}", json["little"]);
}

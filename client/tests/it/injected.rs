//! Each fault that a server makes on purpose fails its own check, names its calls, and no other.

use crate::kit::{Ended, outcome};
use crate::pair::Pair;
use serde_json::Value;

const RUN: &str = "-n 400 --clients 2 --in-flight 8 --timeout 2s --format json";

/// What a run counts of each thing that can be wrong: mismatches, time-outs, unexpected replies and
/// calls that were acknowledged early. All else is in order.
fn found(ended: &Ended) -> [u64; 4] {
    let json = ended.json();
    for other in ["error_reply", "connection_lost", "abandoned"] {
        assert_eq!(outcome(&json, other), 0, "{other}: {json}");
    }
    let unexpected = json["unexpected_replies"].as_u64().unwrap();
    let early_acks = json["early_acks"].as_u64().unwrap_or(0);
    let [mismatch, timed_out] = ["mismatch", "timed_out"].map(|name| outcome(&json, name));
    // What came too early was a right reply, all the same.
    assert_eq!(outcome(&json, "ok") + mismatch + timed_out, 400, "{json}");
    [mismatch, timed_out, unexpected, early_acks]
}

/// Runs against a server with this fault, checks that it is named and announced.
fn with(fault: &str, named: &str, servers: &str, client: &str) -> [u64; 4] {
    let faults = format!("--handlers 1 --test-faults --inject {fault} {servers}");
    let ended = Pair::serve(&faults).call(&format!("{RUN} {client}"));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let json = ended.json();
    assert_eq!(json["server"]["faults"], fault);
    let calls = json["faulty_calls"].as_array().unwrap();
    assert!(!calls.is_empty(), "{json}");
    for call in calls {
        assert_eq!(call["what"], named, "{calls:?}");
        assert!(call["id"].is_u64() && call["connection"].is_u64() && call["worker"].is_u64());
    }
    found(&ended)
}

#[test]
fn a_dropped_reply_is_a_call_that_timed_out() {
    assert_eq!(with("drop:0.01", "timed_out", "", ""), [0, 4, 0, 0]);
}

#[test]
fn a_doubled_reply_is_one_that_nobody_expected() {
    let [mismatch, timed_out, unexpected, early] = with("dup:0.01", "unexpected_reply", "", "");
    // The run may have ended before the last one came.
    assert!((3..=4).contains(&unexpected), "{unexpected}");
    assert_eq!([mismatch, timed_out, early], [0; 3]);
}

#[test]
fn swapped_replies_are_mismatches_by_twos() {
    let [mismatch, rest @ ..] = with("swap:0.05", "mismatch", "", "");
    assert!(mismatch >= 2 && mismatch % 2 == 0, "{mismatch}");
    assert_eq!(rest, [0; 3]);
}

#[test]
fn a_corrupted_reply_is_a_mismatch() {
    assert_eq!(with("corrupt:0.01", "mismatch", "", ""), [4, 0, 0, 0]);
}

#[test]
fn a_call_that_was_acknowledged_early_is_none_that_ended_well() {
    let follower = Pair::serve("--handlers 1");
    let leader = format!("--followers {}", follower.address);
    assert_eq!(with("early-ack:0.01", "early_ack", &leader, "--acks all"), [0, 0, 0, 4]);
    // Calls that do not ask for all are not touched.
    let pair = Pair::serve(&format!("--test-faults --inject early-ack:1 {leader}"));
    let ended = pair.call(RUN);
    assert_eq!((ended.code, found(&ended)), (Some(0), [0; 4]));
}

#[test]
fn every_check_is_content_with_replication_as_it_should_be() {
    let followers = [Pair::serve("--handlers 1"), Pair::serve("--handlers 1")];
    let [one, two] = followers.each_ref().map(|follower| follower.address);
    let leader = Pair::serve(&format!("--followers {one},{two} --min-insync 3"));
    for shape in ["", "--stages 7", "--keys 100", "--keys 100 --stages 7", "--payload 30000"] {
        let ended = leader.call(&format!("{RUN} --acks all {shape}"));
        assert_eq!((ended.code, found(&ended)), (Some(0), [0; 4]), "{shape}: {ended:?}");
        let json = ended.json();
        assert_eq!(
            (&json["server"]["faults"], &json["faulty_calls"]),
            (&Value::Null, &Value::Array(vec![]))
        );
    }
    let text = leader.call("-n 100 --acks all").stdout;
    assert!(!text.contains("early ack") && !text.contains("faults"), "{text}");
}

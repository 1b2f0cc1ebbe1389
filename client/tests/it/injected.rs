//! Each fault that a server makes on purpose fails its own check, names its calls, and no other.

use crate::kit::{Ended, outcome};
use crate::pair::Pair;
use serde_json::Value;

/// Plain calls, and calls with records; about as many of both.
const PLAIN: &str = "-n 400 --clients 2 --in-flight 8";
const RECORDS: &str = "-n 4000 --streams 6 --record-size 40 --batch-bytes 200 --max-call-bytes 400 \
    --clients 2 --in-flight 8";

/// The checks that no busy host can fail.
const CHECKS: [&str; 7] = [
    "outcomes_add_up",
    "records_add_up",
    "records_in_order",
    "replies_in_order",
    "acks_held",
    "followers_hold",
    "keys_in_order",
];

/// What a report counts of each thing that can be wrong, those that are not nought.
fn wrong(json: &Value) -> Vec<&'static str> {
    let outcomes = &json["outcomes"];
    let records = &json["records"];
    let counts = [
        ("mismatch", &outcomes["mismatch"]),
        ("error_reply", &outcomes["error_reply"]),
        ("timed_out", &outcomes["timed_out"]),
        ("connection_lost", &outcomes["connection_lost"]),
        ("abandoned", &outcomes["abandoned"]),
        ("unexpected_replies", &json["unexpected_replies"]),
        ("late_replies", &json["late_replies"]),
        ("early_acks", &json["early_acks"]),
        ("overtaken_replies", &json["overtaken_replies"]),
        ("records missing", &records["outcomes"]["missing"]),
        ("records with wrong bytes", &records["outcomes"]["wrong_bytes"]),
        ("records twice", &records["duplicates"]),
        ("records of other calls", &records["foreign"]),
    ];
    let some = counts.into_iter().filter(|(_, count)| count.as_u64().is_some_and(|n| n > 0));
    some.map(|(name, _)| name).collect()
}

fn failed_checks(json: &Value) -> Vec<&str> {
    let checks = json["checks"].as_array().unwrap().iter();
    let failed = checks.filter(|check| check["ok"] == false);
    failed
        .map(|check| check["name"].as_str().unwrap())
        .filter(|name| CHECKS.contains(name))
        .collect()
}

/// What a fault does to a run, and to one of records.
struct Expected {
    /// What its calls are called.
    named: &'static str,
    plain: &'static [&'static str],
    plain_checks: &'static [&'static str],
    records: &'static [&'static str],
    records_checks: &'static [&'static str],
}

/// Runs both shapes against a server with this fault. A run ends when every call has; only where
/// replies are dropped does that take its time limit.
fn check(fault: &str, server: &str, acks: &str, expected: &Expected) {
    let client = if fault.starts_with("drop") { "--timeout 3s" } else { "" };
    let follower = Pair::serve("--handlers 1");
    let server = format!(
        "--handlers 1 --followers {} --test-faults --inject {fault} {server}",
        follower.address
    );
    let Expected { plain, plain_checks, records, records_checks, .. } = expected;
    for (shape, counts, checks) in
        [(PLAIN, plain, plain_checks), (RECORDS, records, records_checks)]
    {
        let pair = Pair::serve(&server);
        let ended = pair.call(&format!("{shape} --acks {acks} --format json {client}"));
        let what = format!("{fault}, acks={acks}, {shape}");
        assert_eq!(ended.code, Some(1), "{what}: {ended:?}");
        let json = ended.json();
        assert_eq!(wrong(&json), **counts, "{what}: {}", json["outcomes"]);
        assert_eq!(failed_checks(&json), **checks, "{what}: {}", json["checks"]);
        assert_eq!(json["server"]["faults"], fault, "{what}");
        check_names(&json, expected.named, shape == RECORDS);
    }
}

/// All calls that are named have this fault.
fn check_names(json: &Value, named: &str, carry_records: bool) {
    let calls = json["faulty_calls"].as_array().unwrap();
    assert!((1..=10).contains(&calls.len()), "{calls:?}");
    for call in calls {
        assert_eq!(call["what"], named, "{calls:?}");
        assert!(call["id"].is_u64() && call["connection"].is_u64() && call["worker"].is_u64());
        for of_record in ["stream", "record"] {
            assert_eq!(call[of_record].is_u64(), carry_records, "{of_record} of {call}");
        }
    }
}

const BOTH: [&str; 2] = ["1", "all"];

#[test]
fn a_dropped_reply_is_a_call_that_timed_out() {
    let expected = Expected {
        named: "timed_out",
        plain: &["timed_out"],
        plain_checks: &[],
        records: &["timed_out"],
        records_checks: &[],
    };
    BOTH.iter().for_each(|acks| check("drop:0.01", "", acks, &expected));
}

#[test]
fn a_doubled_reply_is_one_that_nobody_expected() {
    let expected = Expected {
        named: "unexpected_reply",
        plain: &["unexpected_replies"],
        plain_checks: &[],
        records: &["unexpected_replies"],
        records_checks: &[],
    };
    BOTH.iter().for_each(|acks| check("dup:0.02", "", acks, &expected));
}

#[test]
fn a_corrupted_reply_is_a_mismatch() {
    let expected = Expected {
        named: "mismatch",
        plain: &["mismatch"],
        plain_checks: &[],
        records: &["mismatch", "records with wrong bytes"],
        records_checks: &["records_add_up"],
    };
    BOTH.iter().for_each(|acks| check("corrupt:0.01", "", acks, &expected));
}

#[test]
fn swapped_replies_answer_each_others_calls_where_they_may_overtake_one_another() {
    let expected = Expected {
        named: "mismatch",
        plain: &["mismatch"],
        plain_checks: &[],
        records: &["mismatch", "records missing", "records of other calls"],
        records_checks: &["records_add_up"],
    };
    BOTH.iter().for_each(|acks| check("swap:0.05", "", acks, &expected));
}

#[test]
fn swapped_replies_overtake_one_another_where_order_is_promised() {
    let expected = Expected {
        named: "overtaken",
        plain: &["overtaken_replies"],
        plain_checks: &["replies_in_order"],
        records: &["overtaken_replies"],
        records_checks: &["records_in_order"],
    };
    for acks in BOTH {
        check("swap:0.05", "--calls-per-connection 1", acks, &expected);
    }
}

#[test]
fn a_call_that_was_acknowledged_early_is_none_that_ended_well() {
    let expected = Expected {
        named: "early_ack",
        plain: &["early_acks"],
        plain_checks: &["acks_held"],
        records: &["early_acks"],
        records_checks: &["acks_held"],
    };
    check("early-ack:0.01", "", "all", &expected);
    // Calls that do not ask for all are not touched.
    let follower = Pair::serve("--handlers 1");
    let leader = format!("--followers {}", follower.address);
    let pair = Pair::serve(&format!("--test-faults --inject early-ack:1 {leader}"));
    for shape in [PLAIN, RECORDS] {
        let json = pair.json(shape);
        assert_eq!((wrong(&json), failed_checks(&json)), (vec![], vec![]), "{shape}");
    }
}

/// Every fault is counted as often as it was made.
#[test]
fn faults_are_counted_exactly() {
    let count = |fault: &str| -> Ended {
        let pair = Pair::serve(&format!("--handlers 1 --test-faults --inject {fault}"));
        pair.call(&format!("{PLAIN} --format json --timeout 3s"))
    };
    assert_eq!(outcome(&count("drop:0.01").json(), "timed_out"), 4);
    assert_eq!(outcome(&count("corrupt:0.01").json(), "mismatch"), 4);
    let doubled = count("dup:0.01").json()["unexpected_replies"].as_u64().unwrap();
    // The run may have ended before the last one came.
    assert!((3..=4).contains(&doubled), "{doubled}");
    let swapped = outcome(&count("swap:0.05").json(), "mismatch");
    assert!(swapped >= 2 && swapped.is_multiple_of(2), "{swapped}");
}

#[test]
fn every_check_is_content_with_replication_as_it_should_be() {
    let followers = [Pair::serve("--handlers 1"), Pair::serve("--handlers 1")];
    let [one, two] = followers.each_ref().map(|follower| follower.address);
    for muted in ["", "--calls-per-connection 1"] {
        let leader = Pair::serve(&format!("--followers {one},{two} --min-insync 3 {muted}"));
        for shape in ["", "--stages 7", "--keys 100", "--keys 100 --stages 7", "--payload 30000"] {
            let json = leader.json(&format!("{PLAIN} --acks all {shape}"));
            assert_eq!((wrong(&json), failed_checks(&json)), (vec![], vec![]), "{shape}");
            assert_eq!(json["server"]["faults"], Value::Null);
            assert_eq!(json["faulty_calls"], Value::Array(vec![]));
        }
        let json = leader.json(&format!("{RECORDS} --acks all"));
        assert_eq!((wrong(&json), failed_checks(&json)), (vec![], vec![]), "{json}");
        let text = leader.call("-n 100 --acks all").stdout;
        assert!(!text.contains("early ack") && !text.contains("faults"), "{text}");
    }
}

//! Records, many to a call: each is counted once, in order, whatever carries it.

use crate::kit::{Call, Client, Ended, Peer, REPLY, Talk, outcome, run, with_peer};
use crate::pair::Pair;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The run of records of a report, checked for what holds for every one.
fn records(json: &Value) -> &Value {
    let records = &json["records"];
    let outcomes = records["outcomes"].as_object().unwrap();
    let count = |name: &str| outcomes[name].as_u64().unwrap();
    let sum: u64 = outcomes.keys().filter(|name| *name != "created").map(|name| count(name)).sum();
    assert_eq!(count("created"), sum, "{outcomes:?}");
    assert_eq!(records["latency_us"]["count"].as_u64().unwrap(), count("ok"));
    assert_eq!(records["accumulator_us"]["count"].as_u64().unwrap(), count("ok"));
    records
}

fn count(json: &Value, name: &str) -> u64 {
    records(json)["outcomes"][name].as_u64().unwrap_or_else(|| panic!("no {name}: {json}"))
}

fn check_of(json: &Value, name: &str) -> Value {
    let checks = json["checks"].as_array().unwrap();
    checks.iter().find(|check| check["name"] == name).unwrap()["ok"].clone()
}

/// Stream and sequence of each record in a call.
fn names(payload: &[u8], record_len: usize) -> Vec<(u64, u64)> {
    let word = |bytes: &[u8]| u64::from_be_bytes(bytes.try_into().unwrap());
    payload.chunks(record_len).map(|r| (word(&r[..8]), word(&r[8..16]))).collect()
}

#[test]
fn records_and_calls_are_counted_and_add_up_in_every_shape() {
    let pair = Pair::serve("--handlers 2 --calls-per-connection 1");
    for (shape, n) in [
        ("--streams 1 --clients 1", 5000),
        ("--streams 9 --clients 1 --in-flight 2 --record-size 64", 20_000),
        ("--streams 10 --clients 3 --workers 3 --record-size 16", 30_000),
        ("--streams 64 --clients 4 --record-size 1000 --batch-bytes 1000", 3000),
        ("--streams 5 --clients 10 --workers 2", 3),
        ("--streams 4 --clients 2 --record-size 100k --batch-bytes 200k --max-call-bytes 250k", 90),
        ("--streams 7 --clients 2 --buffer-bytes 2000 --record-size 200", 2000),
        ("--streams 9 --clients 2 --rate 50k", 5000),
        ("--streams 9 --clients 2 --rate 50k --arrivals poisson --stages 3", 5000),
        ("--streams 3 --clients 2 --verify none --warmup 50ms", 5000),
        ("--streams 3 --clients 2 --rate 50k --warmup 50ms", 5000),
    ] {
        let json = pair.json(&format!("-n {n} {shape}"));
        assert_eq!(count(&json, "ok"), n, "{shape}");
        for check in ["outcomes_add_up", "records_add_up", "records_in_order"] {
            assert_eq!(check_of(&json, check), true, "{shape}: {}", json["checks"]);
        }
        assert_eq!(json["window"]["ended_by"], "count", "{shape}");
        let figure = |name: &str| json["records"][name].as_f64().unwrap();
        let sent = figure("records_per_call") * outcome(&json, "started") as f64;
        if !shape.contains("warmup") {
            assert_eq!(sent.round() as u64, n, "{shape}");
        }
        let batched = figure("records_per_batch") * figure("batches_per_call");
        assert!((batched / figure("records_per_call") - 1.0).abs() < 1e-9, "{shape}");
    }
}

/// A call as it was read: its connection, and its records.
type Seen = (usize, Vec<(u64, u64)>);

#[test]
fn every_stream_is_in_order_on_its_connection_and_calls_keep_their_bounds() {
    const LEN: usize = 64;
    let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
    let to = Arc::clone(&seen);
    let peer = Peer::start(move |mut talk: Talk| {
        while let Some(call) = talk.next() {
            to.lock().unwrap().push((talk.number, names(&call.payload, LEN)));
            if talk.answer(&call).is_err() {
                return;
            }
        }
    });
    let options = "--streams 7 --clients 3 --record-size 64 --batch-bytes 700 -n 5000";
    let json = run(&peer, &format!("{options} --max-call-bytes 1500")).json();
    assert_eq!(count(&json, "ok"), 5000);
    let (mut next, mut home) = (BTreeMap::new(), BTreeMap::new());
    for (connection, call) in seen.lock().unwrap().iter() {
        assert!((1..=1500 / LEN).contains(&call.len()), "{}", call.len());
        let mut batches: BTreeMap<u64, usize> = BTreeMap::new();
        for &(stream, sequence) in call {
            let expected: &mut u64 = next.entry(stream).or_default();
            assert_eq!(sequence, *expected, "stream {stream}");
            *expected += 1;
            *batches.entry(stream).or_default() += 1;
            assert_eq!(home.entry(stream).or_insert(*connection), connection);
        }
        assert!(batches.values().all(|&records| records <= 700 / LEN), "{batches:?}");
    }
    assert_eq!(next.keys().copied().collect::<Vec<_>>(), (0..7).collect::<Vec<_>>());
    assert_eq!(next.values().sum::<u64>(), 5000);
}

#[test]
fn while_the_window_is_full_records_wait_and_the_next_call_is_larger() {
    // All are due within 100 ms, and a round trip takes at least 10 ms.
    let options = "--streams 9 --clients 1 --rate 20k -n 2000 --net-delay 5ms --in-flight 1";
    let json = run(&Peer::echo(), options).json();
    assert!(outcome(&json, "started") <= 14, "{}", json["outcomes"]);
    assert!(json["records"]["records_per_call"].as_f64().unwrap() > 100.0);
    let waited = json["records"]["accumulator_us"]["mean"].as_f64().unwrap();
    assert!(waited > 2000.0, "{waited}");
}

#[test]
fn a_run_that_the_clock_ends_says_what_it_did_not_send() {
    let pair = Pair::serve("--handlers 1");
    for shape in ["", "--rate 10k", "--rate 5m --buffer-bytes 10k"] {
        let json = pair.json(&format!("--duration 300ms --streams 4 --clients 2 {shape}"));
        assert_eq!(json["window"]["ended_by"], "duration", "{shape}");
        let unsent = count(&json, "unsent");
        assert_eq!(count(&json, "created"), count(&json, "ok") + unsent, "{shape}");
        let open = &json["records"]["open_loop"];
        if !shape.is_empty() {
            let figure = |name: &str| open[name].as_u64().unwrap();
            assert_eq!(figure("scheduled"), count(&json, "ok") + figure("unsent"), "{shape}");
        }
        if shape.contains("5m") {
            assert!(open["held_back"].as_u64().unwrap() > 0 && open["overloaded"] == true);
            assert_eq!(check_of(&json, "record_rate_achieved"), false);
        }
    }
}

#[test]
fn what_is_sent_in_the_measured_phase_is_measured_however_much_waited_before() {
    // The buffer holds more than the whole run can send.
    let options = "--streams 1 --clients 1 --in-flight 1 --batch-bytes 128 --net-delay 5ms";
    let json = run(&Peer::echo(), &format!("{options} --warmup 100ms --duration 300ms")).json();
    assert!(outcome(&json, "ok") > 0, "{}", json["outcomes"]);
    assert_eq!(count(&json, "created"), outcome(&json, "started"), "a record in each");
    let json = run(&Peer::echo(), &format!("{options} --warmup 100ms -n 7")).json();
    assert_eq!(count(&json, "ok"), 7);
}

/// A peer that answers what `change` makes of the payload of every connection's second call.
fn changing(change: impl Fn(&mut Vec<Vec<u8>>) + Send + Sync + 'static) -> Peer {
    Peer::start(move |mut talk: Talk| {
        for turn in 0.. {
            let Some(mut call) = talk.next() else { return };
            if turn == 1 {
                let mut records: Vec<Vec<u8>> =
                    call.payload.chunks(40).map(<[u8]>::to_vec).collect();
                change(&mut records);
                call.payload = records.concat();
            }
            if talk.answer(&call).is_err() {
                return;
            }
        }
    })
}

const SMALL: &str = "--streams 2 --clients 1 --record-size 40 --batch-bytes 200 -n 100";

fn check_fault(ended: &Ended, expected: &[(&str, u64)], says: &str) {
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let json = ended.json();
    assert_eq!(outcome(&json, "mismatch"), 1, "{}", json["outcomes"]);
    for name in ["wrong_bytes", "missing"] {
        let wanted = expected.iter().find(|(known, _)| *known == name).map_or(0, |known| known.1);
        assert_eq!(count(&json, name), wanted, "{says}: {name}");
    }
    for name in ["duplicates", "foreign", "out_of_order"] {
        let wanted = expected.iter().find(|(known, _)| *known == name).map_or(0, |known| known.1);
        assert_eq!(json["records"][name], wanted, "{says}: {name}");
    }
    assert_eq!(check_of(&json, "outcomes_add_up"), true);
    let notes = json["notes"].to_string();
    assert!(notes.contains("the reply to call ") && notes.contains(says), "{notes}");
}

#[test]
fn a_fault_in_a_reply_is_named_and_costs_only_its_records() {
    let check = |peer: Peer, expected: &[(&str, u64)], says: &str| {
        check_fault(&run(&peer, SMALL), expected, says);
    };
    check(changing(|r| r[2][30] ^= 1), &[("wrong_bytes", 1)], "with other bytes");
    check(changing(|r| drop(r.remove(3))), &[("missing", 1)], "a reply without record");
    check(changing(|r| r.push(r[0].clone())), &[("duplicates", 1)], "twice");
    check(changing(|r| r.swap(0, 1)), &[("out_of_order", 1)], "behind a later one");
    check(
        changing(|r| r[0][7] ^= 64),
        &[("foreign", 1), ("missing", 1)],
        "which the call does not have",
    );
}

#[test]
fn replies_that_overtake_one_another_are_seen_and_allowed() {
    let peer = Peer::start(|mut talk: Talk| {
        while let (Some(first), Some(second)) = (talk.next(), talk.next()) {
            if talk.answer(&second).and_then(|()| talk.answer(&first)).is_err() {
                return;
            }
        }
    });
    let options = "--streams 1 --clients 1 --in-flight 2 --record-size 40 --batch-bytes 200";
    let ended = run(&peer, &format!("{options} -n 100"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let json = ended.json();
    assert_eq!((count(&json, "ok"), &json["records"]["out_of_order"]), (100, &Value::from(50)));
    assert_eq!(check_of(&json, "records_in_order"), Value::Null);
}

#[test]
fn records_end_with_their_call_however_that_ends() {
    let check = |peer: Peer, options: &str, outcome_name: &str, failed: u64| {
        let ended = run(&peer, &format!("{SMALL} {options}"));
        assert_eq!(ended.code, Some(1), "{options}: {ended:?}");
        let json = ended.json();
        assert_eq!(count(&json, outcome_name), failed, "{options}: {}", json["records"]);
        json
    };
    let refusing = Peer::start(|mut talk: Talk| {
        for turn in 0.. {
            let Some(call) = talk.next() else { return };
            let done = match turn {
                1 => talk.frame(3, 3, call.id, b"too busy"),
                _ => talk.answer(&call).is_ok(),
            };
            if !done {
                return;
            }
        }
    });
    check(refusing, "", "error_reply", 10);
    let silent = Peer::start(|mut talk: Talk| while talk.next().is_some() {});
    check(silent, "--timeout 200ms --in-flight 3", "timed_out", 100);
    let closing = Peer::start(|mut talk: Talk| {
        talk.next();
        talk.close();
    });
    let json = check(closing, "--in-flight 1", "connection_lost", 10);
    assert_eq!(count(&json, "created"), 10, "those of a lost connection are not sent elsewhere");
    let twice = Peer::start(|mut talk: Talk| {
        while let Some(call) = talk.next() {
            if talk.answer(&call).and_then(|()| talk.answer(&call)).is_err() {
                return;
            }
        }
    });
    let ended = run(&twice, SMALL);
    assert_eq!((ended.code, count(&ended.json(), "ok")), (Some(1), 100), "{ended:?}");
    assert!(ended.json()["unexpected_replies"].as_u64().unwrap() >= 9);
}

#[test]
fn replies_arrive_in_any_pieces() {
    let peer = Peer::start(|mut talk: Talk| {
        use std::io::Write;
        while let Some(Call { id, payload, .. }) = talk.next() {
            let bytes = crate::kit::frame(REPLY, 0, id, &payload);
            for piece in bytes.chunks(1 + (id >> 32) as usize % 37) {
                if talk.stream.write_all(piece).is_err() {
                    return;
                }
            }
        }
    });
    let json =
        run(&peer, "--streams 3 --clients 2 --record-size 30 --batch-bytes 90 -n 500").json();
    assert_eq!(count(&json, "ok"), 500);
}

#[test]
fn an_interrupted_run_of_records_still_adds_up() {
    let peer = Peer::echo();
    let options = "--streams 4 --clients 2 --rate 1000 --duration 100s";
    let client = Client::start(&with_peer(&peer, options));
    while peer.calls() == 0 {
        std::thread::yield_now();
    }
    client.signal("INT");
    let ended = client.end();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(count(&ended.json(), "ok") > 0);
}

#[test]
fn options_of_records_are_refused_with_what_is_allowed() {
    let refused = |arguments: &str, expected: &[&str]| {
        let ended = Client::start(arguments).end();
        assert_eq!(ended.code, Some(2), "{arguments}: {ended:?}");
        for part in expected {
            assert!(ended.stderr.contains(part), "{arguments}: no {part:?} in {}", ended.stderr);
        }
    };
    refused("--streams 0", &["--streams", "allowed: 1 to"]);
    refused("--streams 1 --record-size 15", &["--record-size", "allowed: 16"]);
    refused("--record-size 20", &["--streams"]);
    refused("--streams 1 -t 5", &["--threads", "cannot be used with"]);
    refused("--streams 1 --payload 5", &["--payload", "cannot be used with"]);
    refused("--streams 1 --keys 5", &["--keys", "cannot be used with"]);
    refused("--streams 1 --batch-bytes 99", &["--batch-bytes 99", "allowed: at least 128"]);
    refused("--streams 1 --max-call-bytes 99", &["--max-call-bytes 99", "at least 128"]);
    refused("--streams 9 --buffer-bytes 1000", &["--buffer-bytes 1000", "at least 1152"]);
    refused("--streams 1 --protocol hadoop", &["--streams", "native"]);
    refused("--acks all --protocol hadoop", &["--acks", "native"]);
    refused("--acks 2", &["--acks", "all"]);
}

#[test]
fn people_see_records_and_calls_side_by_side() {
    let pair = Pair::serve("--handlers 1");
    let text = pair.call("-n 2000 --streams 4").stdout;
    for part in ["-- Records ", "= in accumulator", "always one more record", "payload = records"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let text = pair.call("-n 2000 --streams 4 --rate 20k").stdout;
    assert!(text.contains("open: 2,000 records due"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

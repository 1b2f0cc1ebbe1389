//! Calls with keys: one in flight for each, and every promise about them checked.

use crate::kit::{Call, Client, Peer, Talk, executed_reply, outcome, run};
use crate::pair::Pair;
use serde_json::Value;
use std::collections::HashMap;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A server that answers each call as executed by one handler, in the order of arrival; `change`
/// may say something else about the execution with this number.
fn answers(change: impl Fn(u64, &Call) -> (u32, u64) + Send + Sync + 'static) -> Peer {
    let executed = AtomicU64::new(0);
    Peer::start(move |mut talk: Talk| {
        while let Some(call) = talk.next() {
            let number = executed.fetch_add(1, Ordering::SeqCst) + 1;
            let (handler, number) = change(number, &call);
            if talk.stream.write_all(&executed_reply(&call, handler, number)).is_err() {
                return;
            }
        }
    })
}

fn keys_of(peer: &Peer, arguments: &str, code: i32) -> Value {
    let ended = run(peer, arguments);
    assert_eq!(ended.code, Some(code), "{ended:?}");
    ended.json()
}

#[test]
fn no_key_has_two_calls_in_flight_and_its_sequence_has_no_gap() {
    let open: Arc<Mutex<HashMap<u64, (u64, bool)>>> = Arc::default();
    let seen = Arc::clone(&open);
    let executed = AtomicU64::new(0);
    let peer = Peer::start(move |mut talk: Talk| {
        while let Some(call) = talk.next() {
            let (key, sequence) = call.key.expect("every call has a key");
            let before = seen.lock().unwrap().insert(key, (sequence, true)).unwrap_or((0, false));
            assert_eq!(before, (sequence - 1, false), "key {key}");
            // Others' calls come meanwhile.
            std::thread::yield_now();
            seen.lock().unwrap().insert(key, (sequence, false));
            let number = executed.fetch_add(1, Ordering::SeqCst) + 1;
            if talk.stream.write_all(&executed_reply(&call, 0, number)).is_err() {
                return;
            }
        }
    });
    let json = keys_of(&peer, "-n 4000 --clients 4 --in-flight 4 --keys 20 --workers 2", 0);
    let keys = &json["keys"];
    assert_eq!((&keys["keys"], &keys["used"]), (&20.into(), &20.into()));
    assert_eq!(keys["checked"], json["outcomes"]["ok"]);
    assert!(open.lock().unwrap().keys().all(|key| *key < 20));
}

#[test]
fn whatever_is_drawn_at_random_is_the_same_with_a_seed_and_another_with_another_one() {
    let drawn = |arguments: &str| {
        let calls = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&calls);
        let peer = Peer::start(move |mut talk: Talk| {
            while let Some(call) = talk.next() {
                seen.lock().unwrap().push((call.flags, call.key.map(|(key, _)| key)));
                if talk.answer(&call).is_err() {
                    return;
                }
            }
        });
        let json = run(&peer, &format!("--clients 1 -n 300 --verify none {arguments}")).json();
        let calls = calls.lock().unwrap().clone();
        assert_eq!(calls.len(), 300);
        (json["options"]["seed"].as_u64().unwrap(), calls)
    };
    for what in ["--keys 1k", "--stages 5"] {
        let [by_default, zero, one, again] =
            ["", "--seed 0", "--seed 1", "--seed 1"].map(|seed| drawn(&format!("{what} {seed}")));
        assert_eq!((by_default.0, one.0), (0, 1));
        assert!(by_default == zero && one == again && zero.1 != one.1, "{what}");
    }
}

#[test]
fn an_execution_out_of_order_fails_the_run_and_names_key_and_call() {
    // The 500th execution claims to be the first.
    let peer = answers(|number, _| (3, if number == 500 { 1 } else { number }));
    let json = keys_of(&peer, "-n 1000 --clients 2 --keys 10", 1);
    let keys = &json["keys"];
    assert_eq!(keys["order_violations"], 1, "{keys}");
    assert_eq!(keys["checked"], 1000);
    let violation = &keys["violations"][0];
    assert_eq!((&violation["kind"], &violation["execution"]), (&"order".into(), &1.into()));
    assert!(violation["key"].as_u64().unwrap() < 10 && violation["call_id"].is_u64());
    assert!(violation["execution_before"].as_u64().unwrap() > 1);
    let check = json["checks"].as_array().unwrap().iter().find(|c| c["name"] == "keys_in_order");
    assert_eq!(check.expect("a check")["ok"], false);

    let peer = answers(|number, _| (3, if number == 500 { 1 } else { number }));
    let arguments = format!("--server {} --server-stats off -n 1000 --keys 10", peer.address);
    let ended = Client::start(&arguments).end();
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.stdout.contains("violation = key ") && ended.stdout.contains("out of order"),
        "{ended:?}"
    );
    assert!(ended.stdout.lines().all(|line| line.chars().count() <= 80), "{ended:?}");
}

#[test]
fn a_key_that_changes_its_handler_fails_the_run() {
    let peer = answers(|number, call| {
        let key = call.key.expect("a key").0;
        ((key + u64::from(number > 300)) as u32, number)
    });
    let json = keys_of(&peer, "-n 600 --clients 3 --keys 5", 1);
    assert_eq!(json["keys"]["handler_changes"], 5, "{}", json["keys"]);
    assert_eq!(json["keys"]["order_violations"], 0);
    assert!(json["notes"].to_string().contains("--dispatch keyed"), "{}", json["notes"]);
}

#[test]
fn a_call_answered_twice_is_a_duplicate() {
    let executed = AtomicU64::new(0);
    let peer = Peer::start(move |mut talk: Talk| {
        while let Some(call) = talk.next() {
            let number = executed.fetch_add(1, Ordering::SeqCst) + 1;
            let reply = executed_reply(&call, 0, number);
            let twice = if number.is_multiple_of(50) { 2 } else { 1 };
            if talk.stream.write_all(&reply.repeat(twice)).is_err() {
                return;
            }
        }
    });
    let json = keys_of(&peer, "-n 101 --clients 1 --keys 7", 1);
    assert_eq!(json["keys"]["duplicates"], 2, "{}", json["keys"]);
    assert_eq!(json["unexpected_replies"], 2);
    assert_eq!(outcome(&json, "ok"), 101);
}

#[test]
fn a_call_that_is_never_answered_is_lost_and_its_key_goes_on() {
    let executed = AtomicU64::new(0);
    let peer = Peer::start(move |mut talk: Talk| {
        while let Some(call) = talk.next() {
            let number = executed.fetch_add(1, Ordering::SeqCst) + 1;
            let lost = number == 20;
            if !lost && talk.stream.write_all(&executed_reply(&call, 0, number)).is_err() {
                return;
            }
        }
    });
    // With as many keys as callers nobody could call any more if that key were gone.
    let json = keys_of(&peer, "-n 100 --clients 1 --keys 1 --timeout 100ms", 1);
    assert_eq!(json["keys"]["lost"], 1, "{}", json["keys"]);
    assert_eq!(json["keys"]["checked"], 99);
    assert_eq!(json["keys"]["order_violations"], 0);
}

#[test]
fn a_wrong_payload_and_a_reply_without_its_execution_are_mismatches() {
    let executed = AtomicU64::new(0);
    let peer = Peer::start(move |mut talk: Talk| {
        while let Some(call) = talk.next() {
            let number = executed.fetch_add(1, Ordering::SeqCst) + 1;
            let mut reply = executed_reply(&call, 0, number);
            match number {
                5 => *reply.last_mut().unwrap() ^= 1,
                6 => reply = crate::kit::right_reply(&call),
                _ => {}
            }
            if talk.stream.write_all(&reply).is_err() {
                return;
            }
        }
    });
    let json = keys_of(&peer, "-n 50 --clients 1 --keys 4", 1);
    assert_eq!(json["keys"]["wrong_payload"], 2, "{}", json["keys"]);
    assert_eq!((outcome(&json, "mismatch"), outcome(&json, "ok")), (2, 48));
}

#[test]
fn replies_with_executions_are_whole_however_they_are_cut() {
    let executed = AtomicU64::new(0);
    let peer = Peer::start(move |mut talk: Talk| {
        while let Some(call) = talk.next() {
            let number = executed.fetch_add(1, Ordering::SeqCst) + 1;
            for piece in executed_reply(&call, 1, number).chunks(1 + number as usize % 13) {
                if talk.stream.write_all(piece).is_err() {
                    return;
                }
            }
        }
    });
    let json = keys_of(&peer, "-n 60 --clients 2 --keys 9 --payload 30 --payload-resp 77", 0);
    assert_eq!(json["keys"]["checked"], 60);
}

#[test]
fn fewer_keys_than_calls_in_flight_are_refused() {
    for (arguments, callers) in
        [("--keys 9", 10), ("--keys 19 -t 20", 20), ("--keys 5 --clients 6 --rate 100", 6)]
    {
        let ended = Client::start(&format!("{arguments} --server 127.0.0.1:1")).end();
        assert_eq!(ended.code, Some(2), "{ended:?}");
        let allowed = format!("allowed: at least {callers} keys");
        assert!(ended.stderr.contains("--keys") && ended.stderr.contains(&allowed), "{ended:?}");
    }
}

#[test]
fn a_server_that_knows_no_keys_is_told_as_such() {
    let peer = Peer::start(|mut talk: Talk| {
        talk.next();
        talk.frame(crate::kit::ERROR, 1, u64::MAX, b"unknown flags 0x12");
        talk.close();
    });
    let json = keys_of(&peer, "-n 10 --clients 1 --keys 4", 1);
    assert!(json["notes"].to_string().contains("does not know keys"), "{}", json["notes"]);
    assert_eq!(json["keys"]["checked"], 0);
}

#[test]
fn the_servers_dispatch_by_key_keeps_every_promise() {
    for server in [
        "--dispatch keyed --handlers 4",
        "--dispatch keyed --handlers 3 --readers 2 --dispatch-batch 1",
        "--dispatch keyed --handlers 4 --dispatch-batch 64 --extend-reads on --serial-cost \
         paced:50us --log-read-cost paced:500us",
        "--dispatch keyed --handlers 2 --queue-capacity 3 --log-capacity 2 --handler-queue 1",
    ] {
        let pair = Pair::serve(server);
        for load in ["--clients 20", "--clients 5 --in-flight 8", "--clients 5 --rate 3000"] {
            let json = pair.json(&format!("-n 3000 --keys 1000 --workers 2 {load}"));
            let keys = &json["keys"];
            assert_eq!(keys["checked"], 3000, "{server} {load}: {keys}");
            for count in ["order_violations", "handler_changes", "duplicates", "lost"] {
                assert_eq!(keys[count], 0, "{server} {load}: {keys}");
            }
            let dispatch = &json["server"]["dispatch"];
            let batches: u64 = dispatch["batch_sizes"]
                .as_array()
                .unwrap()
                .iter()
                .map(|size| size[1].as_u64().unwrap())
                .sum();
            assert_eq!(dispatch["cycles"], batches, "{dispatch}");
            let handlers = json["server"]["handlers"].as_array().unwrap();
            assert!(handlers.iter().all(|handler| handler["calls"].as_u64().unwrap() > 0));
        }
    }
}

#[test]
fn handlers_that_share_a_queue_do_not_keep_a_key_and_the_run_says_so() {
    let pair = Pair::serve("--handlers 2 --handler-cost spin:50us");
    let ended = pair.call("-n 3000 --clients 10 --keys 20 --format json");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let json = ended.json();
    assert!(json["keys"]["handler_changes"].as_u64().unwrap() > 0, "{}", json["keys"]);
    assert_eq!(outcome(&json, "ok"), 3000, "the calls themselves were answered rightly");
}

#[test]
fn the_text_has_the_keys_and_the_servers_dispatch() {
    let pair = Pair::serve("--dispatch keyed --handlers 3 --dispatch-gap paced:200us");
    let ended = pair.call("-n 2000 --clients 10 --in-flight 3 --keys 100 --stages 5");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let text = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["-- Keys ", "0 order violations, 0 changes of handler", "keys in order = ok"] {
        assert!(text.contains(words), "{words}: {}", ended.stdout);
    }
    for words in ["dispatcher ", "batches = ", "gap = ", "backlog = ", "emulated: "] {
        assert!(text.contains(words), "{words}: {}", ended.stdout);
    }
    assert!(ended.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ended.stdout);
}

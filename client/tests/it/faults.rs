//! Whatever a server does wrong is counted as what it was, and the client ends.

use crate::kit::{CALL, ERROR, Peer, REPLY, Talk, frame, outcome, right_reply, run};
use serde_json::Value;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Runs against a peer and expects the run to have failed with sums that hold.
fn failed(behaviour: impl Fn(Talk) + Send + Sync + 'static, arguments: &str) -> Value {
    let ended = run(&Peer::start(behaviour), arguments);
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

fn answer_all(talk: &mut Talk) {
    while let Some(call) = talk.next() {
        if talk.answer(&call).is_err() {
            return;
        }
    }
}

#[test]
fn each_flipped_byte_is_one_mismatch() {
    let flips = Arc::new(AtomicU64::new(0));
    let flipped = Arc::clone(&flips);
    let seen = AtomicU64::new(0);
    let behaviour = move |mut talk: Talk| {
        while let Some(call) = talk.next() {
            let mut bytes = right_reply(&call);
            let number = seen.fetch_add(1, Ordering::SeqCst);
            if number % 50 == 7 {
                let payload = bytes.len() - 16;
                bytes[16 + number as usize % payload] ^= 0x20;
                flipped.fetch_add(1, Ordering::SeqCst);
            }
            if talk.stream.write_all(&bytes).is_err() {
                return;
            }
        }
    };
    let json = failed(behaviour, "-n 2000 --clients 5 --in-flight 4");
    assert_eq!(flips.load(Ordering::SeqCst), 40);
    assert_eq!(outcome(&json, "mismatch"), 40);
    assert_eq!(outcome(&json, "ok"), 1960);
}

#[test]
fn replies_that_were_swapped_are_two_mismatches() {
    let behaviour = |mut talk: Talk| {
        while let (Some(one), Some(two)) = (talk.next(), talk.next()) {
            talk.frame(REPLY, 0, one.id, &two.payload);
            talk.frame(REPLY, 0, two.id, &one.payload);
        }
    };
    let json = failed(behaviour, "-n 10 --clients 1 --in-flight 2");
    assert_eq!(outcome(&json, "mismatch"), 10);
}

#[test]
fn a_connection_lost_in_the_run_ends_its_calls_and_the_rest_goes_on() {
    let behaviour = |mut talk: Talk| {
        if talk.number != 3 {
            return answer_all(&mut talk);
        }
        for _ in 0..5 {
            let Some(call) = talk.next() else { return };
            let _ = talk.answer(&call);
        }
        // Two more calls are in flight now.
        talk.next();
        talk.close();
    };
    for (how, in_flight) in [("--in-flight 2", 2), ("-t 4", 1)] {
        let json = failed(behaviour, &format!("-n 3000 --clients 10 {how}"));
        let lost = outcome(&json, "connection_lost");
        assert!((1..=in_flight).contains(&lost), "{how}: {lost}");
        assert_eq!(outcome(&json, "ok"), 3000 - lost, "{how}: the rest did the work");
        assert_eq!(json["connections_lost"], 1);
        assert_eq!(error(&json, "eof")["calls"], lost);
    }
}

/// The only caller's answer and the end of its connection came in one read, and nobody called any
/// more: the run did not end.
#[test]
fn a_caller_that_rotates_outlives_connections_that_end_with_its_answer() {
    let behaviour = |mut talk: Talk| {
        if talk.number >= 6 {
            return answer_all(&mut talk);
        }
        if let Some(call) = talk.next() {
            let _ = talk.answer(&call);
        }
        talk.close();
    };
    for callers in [1, 3] {
        let json = failed(behaviour, &format!("-n 400 --clients 8 -t {callers}"));
        assert_eq!(json["connections_lost"], 6);
        assert_eq!(outcome(&json, "ok") + outcome(&json, "connection_lost"), 400);
        assert!(outcome(&json, "ok") >= 390);
    }
}

/// Their readable edge comes and goes before the first call is made, and there is no second.
#[test]
fn connections_that_end_while_others_are_still_set_up_are_lost_at_once() {
    let behaviour = |mut talk: Talk| {
        if talk.number >= 5 {
            return answer_all(&mut talk);
        }
        let _ = talk.stream.write_all(&[0, 0, 0]);
        talk.close();
    };
    let json = failed(behaviour, "-n 600 --clients 300 --workers 1 --timeout 50s");
    assert_eq!(json["connections_lost"], 5);
    assert_eq!(outcome(&json, "connection_lost"), 5);
    assert!(json["elapsed_s"].as_f64().unwrap() < 50.0);
}

#[test]
fn a_reset_is_told_from_an_end() {
    let behaviour = |mut talk: Talk| {
        talk.next();
        talk.reset();
    };
    let json = failed(behaviour, "-n 100 --clients 4");
    let reset = error(&json, "reset");
    assert_eq!(outcome(&json, "started"), 4, "without connections the run ends");
    assert_eq!(reset["calls"], 4);
    assert_eq!(reset["errno"], 104);
    assert!(reset["text"].as_str().unwrap().contains("reset by peer"));
}

#[test]
fn an_answer_that_never_comes_is_a_timeout_and_its_caller_goes_on() {
    let behaviour = |mut talk: Talk| {
        while let Some(call) = talk.next() {
            if call.id >> 32 != 0 && talk.answer(&call).is_err() {
                return;
            }
        }
    };
    let json = failed(behaviour, "-n 20 --clients 2 --in-flight 3 --timeout 150ms");
    assert_eq!(outcome(&json, "timed_out"), 6, "the first call of each slot");
    assert_eq!(outcome(&json, "ok"), 14);
    let waited = json["failure_latency_us"]["min"].as_f64().unwrap();
    assert!(waited >= 150_000.0, "{waited}");
    assert_eq!(json["latency_us"]["count"], 14, "failures are not in the latency");
    let ratio = json["little"]["ratio"].as_f64().unwrap();
    assert!((0.9..=1.1).contains(&ratio), "but they were in flight: {ratio}");
}

#[test]
fn a_late_reply_is_counted_apart() {
    let behaviour = |mut talk: Talk| {
        let Some(first) = talk.next() else { return };
        // The next call on this connection says that the first has timed out.
        let Some(second) = talk.next() else { return };
        let _ = talk.answer(&first);
        let _ = talk.answer(&second);
        answer_all(&mut talk);
    };
    let json = failed(behaviour, "-n 5 --clients 1 --timeout 100ms");
    assert_eq!(json["late_replies"], 1);
    assert_eq!(json["unexpected_replies"], 0);
    assert_eq!(outcome(&json, "timed_out"), 1);
    assert_eq!(outcome(&json, "ok"), 4);
}

#[test]
fn replies_that_nobody_waits_for_are_unexpected_and_the_run_has_failed() {
    let behaviour = |mut talk: Talk| {
        while let Some(call) = talk.next() {
            talk.frame(REPLY, 0, call.id ^ 1 << 50, &call.payload);
            let _ = talk.answer(&call);
            if call.id == 0 {
                let _ = talk.answer(&call);
            }
        }
    };
    let json = failed(behaviour, "-n 10 --clients 1");
    assert_eq!(outcome(&json, "ok"), 10);
    assert_eq!(json["unexpected_replies"], 11, "ten invented ids and one reply sent twice");
}

#[test]
fn error_replies_are_counted_by_status_with_the_servers_words() {
    let behaviour = |mut talk: Talk| {
        let mut number = 0;
        while let Some(call) = talk.next() {
            number += 1;
            let sent = match number % 5 {
                0 => talk.frame(ERROR, 3, call.id, b"queue full\x1b[31m"),
                1 => talk.frame(ERROR, 4, call.id, &[b'x'; 5000]),
                _ => talk.answer(&call).is_ok(),
            };
            if !sent {
                return;
            }
        }
    };
    let json = failed(behaviour, "-n 100 --clients 1");
    assert_eq!(outcome(&json, "error_reply"), 40);
    assert_eq!(outcome(&json, "ok"), 60);
    assert_eq!(error(&json, "too_busy")["calls"], 20);
    assert_eq!(error(&json, "too_busy")["text"], "queue full\\u{1b}[31m");
    assert_eq!(error(&json, "internal")["text"].as_str().unwrap().len(), 256);
}

#[test]
fn a_connection_that_the_server_refuses_is_lost_with_its_reason() {
    let behaviour = |mut talk: Talk| {
        if talk.number < 3 {
            return answer_all(&mut talk);
        }
        talk.frame(ERROR, 6, u64::MAX, b"3 connections are enough");
        talk.close();
    };
    let json = failed(behaviour, "-n 500 --clients 5");
    assert_eq!(json["connections_lost"], 2);
    let refused = error(&json, "refused");
    assert_eq!((&refused["connections"], &refused["status"]), (&2.into(), &6.into()));
    let notes = json["notes"].to_string();
    assert!(notes.contains("3 connections are enough"), "{notes}");
    assert_eq!(outcome(&json, "ok") + outcome(&json, "connection_lost"), 500);
}

#[test]
fn what_is_not_our_framing_costs_the_connection() {
    let garbage: [&[u8]; 4] =
        [b"HTTP/1.1 400 Bad Request\r\n\r\n", &[0; 16], &[0xff; 64], &frame(CALL, 0, 9, b"x")];
    for bytes in garbage.map(<[u8]>::to_vec) {
        let behaviour = move |mut talk: Talk| {
            talk.next();
            let _ = talk.stream.write_all(&bytes);
            talk.close();
        };
        let json = failed(behaviour, "-n 10 --clients 2");
        assert_eq!(outcome(&json, "connection_lost"), 2);
        assert_eq!(error(&json, "protocol")["calls"], 2);
        assert!(!json["notes"].as_array().unwrap().is_empty());
    }
}

#[test]
fn a31_five_ways_to_fail_in_one_run_are_five_rows_with_their_words() {
    let behaviour = |mut talk: Talk| {
        if talk.number == 4 {
            talk.frame(ERROR, 6, u64::MAX, b"no more");
            return talk.close();
        }
        talk.next();
        match talk.number {
            0 => talk.read_to_end(),
            1 => talk.reset(),
            2 => talk.close(),
            3 => {
                let _ = talk.stream.write_all(&[0xff; 64]);
                talk.close();
            }
            _ => answer_all(&mut talk),
        }
    };
    let json = failed(behaviour, "-n 200 --clients 6 --timeout 300ms");
    let causes = ["timeout", "reset", "eof", "protocol", "refused"];
    for cause in causes {
        assert!(error(&json, cause)["calls"].as_u64() >= Some(1), "{cause}: {json}");
    }
    assert_eq!(json["errors"].as_array().unwrap().len(), causes.len(), "{json}");
    assert_eq!(
        (&error(&json, "reset")["errno"], &json["connections_lost"]),
        (&104.into(), &4.into())
    );
    let not_ok = outcome(&json, "timed_out") + outcome(&json, "connection_lost");
    assert_eq!(outcome(&json, "started"), outcome(&json, "ok") + not_ok);
}

#[test]
fn half_a_header_and_then_silence_is_a_timeout() {
    let behaviour = |mut talk: Talk| {
        let Some(call) = talk.next() else { return };
        let _ = talk.stream.write_all(&right_reply(&call)[..9]);
        talk.read_to_end();
    };
    let json = failed(behaviour, "-n 2 --clients 2 --timeout 120ms");
    assert_eq!(outcome(&json, "timed_out"), 2);
}

/// The body comes to its end only after the call has timed out: one outcome, not two.
#[test]
fn a_reply_that_is_overtaken_by_its_timeout_is_late() {
    let behaviour = |mut talk: Talk| {
        let Some(first) = talk.next() else { return };
        let bytes = right_reply(&first);
        let (front, rest) = bytes.split_at(100);
        let _ = talk.stream.write_all(front);
        let Some(second) = talk.next() else { return };
        let _ = talk.stream.write_all(rest);
        let _ = talk.answer(&second);
        answer_all(&mut talk);
    };
    let json = failed(behaviour, "-n 3 --clients 1 --timeout 100ms");
    assert_eq!(outcome(&json, "timed_out"), 1);
    assert_eq!(json["late_replies"], 1);
    assert_eq!(outcome(&json, "ok"), 2);
}

#[test]
fn replies_in_single_bytes_are_whole() {
    let behaviour = |mut talk: Talk| {
        while let Some(call) = talk.next() {
            for byte in right_reply(&call) {
                if talk.stream.write_all(&[byte]).is_err() {
                    return;
                }
            }
        }
    };
    let ended = run(&Peer::start(behaviour), "-n 20 --clients 2 --payload 40");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(outcome(&ended.json(), "ok"), 20);
}

#[test]
fn the_first_failure_ends_the_run_if_that_is_wanted() {
    let behaviour = |mut talk: Talk| {
        while let Some(call) = talk.next() {
            let sent = match call.id >> 32 {
                5 => talk.frame(ERROR, 4, call.id, b""),
                _ => talk.answer(&call).is_ok(),
            };
            if !sent {
                return;
            }
        }
    };
    let json = failed(behaviour, "-n 1000000 --clients 1 --fail-fast");
    assert_eq!(outcome(&json, "started"), 6);
    assert_eq!(outcome(&json, "error_reply"), 1);
    assert_eq!(json["window"]["ended_by"], "failure");
    let json = failed(behaviour, "-n 20 --clients 1 --fail-at-end");
    assert_eq!(outcome(&json, "ok"), 19);
}

/// A server that stops reading: the client must end at its time limits, whatever it owes.
#[test]
fn a_server_that_reads_nothing_ends_in_timeouts() {
    // Neither read from nor closed as long as this process lives.
    let behaviour = |talk: Talk| std::mem::forget(talk.stream);
    let json = failed(behaviour, "-n 40 --clients 2 --in-flight 4 --payload 4MiB --timeout 200ms");
    assert_eq!(outcome(&json, "timed_out"), 40);
    assert_eq!(outcome(&json, "started"), 40);
}

/// It was said to have closed in good order: the write had used the reset up, and the read found
/// only an end.
#[test]
fn a_reset_is_named_whether_a_read_or_a_write_finds_it() {
    let read_some = |mut talk: Talk| {
        let _ = talk.stream.read(&mut [0; 1000]);
        talk.reset();
    };
    let long = "--clients 1 -n 1 --payload 8MiB";
    let records = "--clients 1 --streams 1 -n 4 --record-size 4MiB --batch-bytes 8MiB \
                   --max-call-bytes 8MiB";
    let checks = [
        "--clients 3 -n 30 --in-flight 5".to_owned(),
        long.to_owned(),
        format!("{long} --acks 0"),
        format!("{long} --net-delay 1ms"),
        records.to_owned(),
        format!("{records} --acks 0"),
    ];
    for arguments in checks {
        let ended = run(&Peer::start(read_some), &arguments);
        assert_eq!(ended.code, Some(1), "{arguments}: {ended:?}");
        let json = ended.json();
        let errors = json["errors"].as_array().unwrap();
        assert!(!errors.is_empty(), "{arguments}: {json}");
        assert!(errors.iter().all(|error| error["cause"] == "reset"), "{arguments}: {errors:?}");
    }
}

/// A server that sends calls, and that is what is said: their own, others, or what is no frame.
#[test]
fn calls_that_come_back_as_calls_are_no_answers() {
    let back = |id_xor: u64, cut: usize| {
        Peer::start(move |mut talk: Talk| {
            while let Some(call) = talk.next() {
                let payload = &call.payload[..call.payload.len().min(cut)];
                if !talk.frame(CALL, 0, call.id ^ id_xor, payload) {
                    return;
                }
            }
        })
    };
    for (id_xor, cut) in [(0, usize::MAX), (0, 5), (0x40, usize::MAX), (0x40, 5)] {
        for shape in ["--clients 2 --in-flight 3", "--rate 1000", "--streams 4", "--stages 1"] {
            let peer = back(id_xor, cut);
            let json = run(&peer, &format!("-n 20 {shape}")).json();
            let wrong = outcome(&json, "mismatch") + outcome(&json, "connection_lost");
            assert_eq!(wrong, outcome(&json, "started"), "{shape}: {}", json["outcomes"]);
            let causes = json["errors"].as_array().unwrap().iter().map(|error| &error["cause"]);
            let known = |cause: &Value| cause == "mismatch" || cause == "protocol";
            assert!(causes.into_iter().all(known), "{shape}: {}", json["errors"]);
        }
    }
}

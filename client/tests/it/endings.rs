//! How a run ends: by count, by the clock, by a signal, by the loss of the server.

use crate::kit::{Client, Ended, Peer, Talk, outcome, run, with_peer};
use std::process::Command;
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

/// A server that answers each call `delay` after it came, however many are in flight.
fn slow(delay: Duration) -> Peer {
    Peer::start(move |mut talk: Talk| {
        let mut writer = talk.twin();
        let (calls, due) = mpsc::channel();
        let answering = thread::spawn(move || {
            for call in due {
                pause(delay);
                if writer.answer(&call).is_err() {
                    return;
                }
            }
        });
        while let Some(call) = talk.next() {
            if calls.send(call).is_err() {
                break;
            }
        }
        drop(calls);
        answering.join().unwrap();
    })
}

/// Service time, made by waiting for something that never comes.
fn pause(delay: Duration) {
    let never: (mpsc::Sender<()>, Receiver<()>) = mpsc::channel();
    assert!(never.1.recv_timeout(delay).is_err());
}

/// A server that answers, and tells the test when it has read `calls` calls.
fn reporting(calls: u64) -> (Peer, Receiver<()>) {
    let (sender, receiver) = mpsc::channel();
    let sender = Mutex::new(Some(sender));
    let read = std::sync::atomic::AtomicU64::new(0);
    let peer = Peer::start(move |mut talk: Talk| {
        while let Some(call) = talk.next() {
            let number = 1 + read.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            if number == calls {
                // Dropped: the receiver sees the end.
                sender.lock().unwrap().take();
            }
            if talk.answer(&call).is_err() {
                return;
            }
        }
    });
    (peer, receiver)
}

fn wait_for(reached: &Receiver<()>) {
    let result = reached.recv_timeout(crate::kit::HANG);
    assert_eq!(result, Err(mpsc::RecvTimeoutError::Disconnected), "the calls never came");
}

/// Other tools counted the calls in flight at the end as errors, or not at all.
#[test]
fn calls_in_flight_when_time_is_up_are_waited_for_and_counted() {
    let peer = slow(Duration::from_millis(150));
    let ended = run(&peer, "--clients 4 --duration 400ms");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let json = ended.json();
    assert_eq!(json["elapsed_s"], 0.4);
    assert_eq!(json["window"]["ended_by"], "duration");
    let (ok, in_window) = (outcome(&json, "ok"), json["window"]["ok_replies"].as_u64().unwrap());
    assert_eq!(ok, peer.calls());
    assert_eq!(ok, in_window + 4, "each caller's last answer came after the end");
    assert_eq!(json["calls_per_s"].as_f64().unwrap(), in_window as f64 / 0.4);
}

#[test]
fn whichever_of_count_and_time_comes_first_ends_the_run() {
    let peer = Peer::echo();
    let json = run(&peer, "-n 100000000 --duration 300ms --clients 2").json();
    assert_eq!(json["window"]["ended_by"], "duration");
    assert!(outcome(&json, "ok") < 100_000_000);
    let json = run(&peer, "-n 10 --duration 60s --clients 2").json();
    assert_eq!(json["window"]["ended_by"], "count");
    assert_eq!(outcome(&json, "ok"), 10);
}

#[test]
fn very_short_runs_have_reports_without_nonsense() {
    let peer = Peer::echo();
    for arguments in ["--duration 1ms", "--duration 100ms", "-n 1", "-n 2 --clients 1"] {
        let ended = run(&peer, arguments);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        for nonsense in ["NaN", "nan", "inf", "18446744073709551615"] {
            assert!(!ended.stdout.contains(nonsense), "{arguments}: {nonsense}");
        }
        ended.json();
    }
}

#[test]
fn calls_of_the_warm_up_are_counted_apart() {
    let peer = Peer::echo();
    let json = run(&peer, "-n 500 --clients 3 --warmup 100ms").json();
    assert_eq!(outcome(&json, "started"), 500);
    let warm_up = json["warmup_calls"].as_u64().unwrap();
    assert!(warm_up > 0);
    assert_eq!(peer.calls(), 500 + warm_up);
    assert_eq!(json["latency_us"]["count"], 500);
}

fn check_interrupt(signal: &str, code: i32) {
    let (peer, reached) = reporting(50);
    let client = Client::start(&with_peer(&peer, "--duration 60s --clients 3"));
    wait_for(&reached);
    client.signal(signal);
    let ended = client.end();
    assert_eq!(ended.code, Some(code), "{ended:?}");
    let json = ended.json();
    assert_eq!(json["interrupted"], true);
    assert_eq!(json["signal"], format!("SIG{signal}"));
    assert_eq!(json["window"]["ended_by"], "signal");
    assert!(outcome(&json, "ok") >= 47);
    assert!(json["elapsed_s"].as_f64().unwrap() < 60.0);
    assert_eq!(outcome(&json, "abandoned"), 0, "a healthy server's answers are waited for");
}

#[test]
fn an_interrupted_run_still_has_its_whole_report() {
    check_interrupt("INT", 130);
    check_interrupt("TERM", 143);
}

#[test]
fn an_interrupt_in_the_warm_up_has_an_empty_report() {
    let (peer, reached) = reporting(50);
    let client = Client::start(&with_peer(&peer, "--duration 60s --warmup 60s --clients 3"));
    wait_for(&reached);
    client.signal("INT");
    let ended = client.end();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert_eq!(outcome(&ended.json(), "started"), 0);
}

/// Starts a run whose calls are never answered, and waits until they are in flight.
fn stuck(arguments: &str) -> (Client, Peer) {
    let (sender, started) = mpsc::channel::<()>();
    let sender = Mutex::new(Some(sender));
    let peer = Peer::start(move |mut talk: Talk| {
        talk.next();
        sender.lock().unwrap().take();
        talk.read_to_end();
    });
    let client = Client::start(&with_peer(&peer, arguments));
    wait_for(&started);
    (client, peer)
}

#[test]
fn calls_that_nobody_answers_after_an_interrupt_are_abandoned() {
    let (client, _peer) = stuck("--clients 1 --in-flight 2");
    client.signal("INT");
    let ended = client.end();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert_eq!(outcome(&ended.json(), "abandoned"), 2);
}

#[test]
fn a_second_signal_leaves_at_once() {
    let (client, _peer) = stuck("--clients 1");
    client.signal("TERM");
    client.signal("TERM");
    let ended = client.end();
    // The second may have come only after the first was served.
    assert!(ended.code == Some(143), "{ended:?}");
}

#[test]
fn a_server_that_dies_in_the_run_leaves_a_report_and_exit_code_1() {
    let peer = Peer::start(|mut talk: Talk| {
        for _ in 0..20 {
            let Some(call) = talk.next() else { return };
            let _ = talk.answer(&call);
        }
        talk.reset();
    });
    for end in ["-n 5m", "--duration 50s", "-n 5m --duration 50s"] {
        let ended = run(&peer, &format!("{end} --clients 5 --in-flight 3"));
        assert_eq!(ended.code, Some(1), "{ended:?}");
        let json = ended.json();
        assert_eq!(json["connections_lost"], 5);
        assert_eq!(json["window"]["ended_by"], "connections_lost");
        let elapsed = json["elapsed_s"].as_f64().unwrap();
        assert!(elapsed < 50.0, "the time that was not used is no part of the run: {elapsed}");
    }
}

/// A window that is cut off has neither the time of the schedule nor that of the last reply.
#[test]
fn a_run_that_ends_early_has_the_time_until_then_and_the_rate_of_it() {
    for arguments in ["--rate 0.2 -n 4", "--rate 0.1 -n 1", "--think 60s", "-n 10 --think 60s"] {
        let (peer, reached) = reporting(1);
        let client = Client::start(&with_peer(&peer, &format!("{arguments} --clients 1")));
        wait_for(&reached);
        pause(Duration::from_millis(300));
        client.signal("INT");
        check_cut(arguments, "signal", &client.end());
    }
    for arguments in ["--rate 0.1 -n 1", "--rate 0.1 --duration 50s", "--think 60s -n 10"] {
        let peer = Peer::start(|mut talk: Talk| {
            let Some(call) = talk.next() else { return };
            let _ = talk.answer(&call);
            pause(Duration::from_millis(300));
            talk.reset();
        });
        let ended = run(&peer, &format!("{arguments} --clients 1"));
        check_cut(arguments, "connections_lost", &ended);
    }
}

fn check_cut(arguments: &str, ended_by: &str, ended: &Ended) {
    let json = ended.json();
    assert_eq!(json["window"]["ended_by"], ended_by, "{arguments}");
    let elapsed = json["elapsed_s"].as_f64().unwrap();
    assert!((0.2..9.0).contains(&elapsed), "{arguments}: {elapsed}");
    let rate = json["calls_per_s"].as_f64().unwrap();
    assert!((rate * elapsed - 1.0).abs() < 1e-6, "{arguments}: one call: {json}");
    if arguments.contains("--rate") {
        let open = &json["open_loop"];
        assert_eq!((&open["scheduled"], &open["unsent"]), (&1.into(), &0.into()), "{open}");
        assert!(open["achieved_share"].is_null(), "{open}");
        assert!(check_named(&json, "rate_achieved").is_null(), "{json}");
    }
}

fn check_named<'a>(json: &'a serde_json::Value, name: &str) -> &'a serde_json::Value {
    let checks = json["checks"].as_array().unwrap();
    &checks.iter().find(|check| check["name"] == name).unwrap()["ok"]
}

#[test]
fn an_interrupt_at_a_stopped_server_does_not_wait_for_the_connect_timeout() {
    let full = crate::connecting::full_backlog();
    let arguments = format!("--server {} --server-stats off --connect-timeout 50s", full.address);
    let client = Client::start(&arguments);
    pause(Duration::from_millis(200));
    client.signal("INT");
    let ended = client.end();
    assert_eq!(ended.code, Some(130), "{ended:?}");
}

/// It stood at 100 % for as long as the last answers took.
#[test]
fn a_run_that_waits_for_its_last_answers_says_so() {
    let peer = slow(Duration::from_millis(600));
    let mut command = Command::new(crate::kit::PROGRAM);
    let address = peer.address.to_string();
    command.args(["--server", &address, "--server-stats", "off", "--clients", "1"]);
    command.args(["--duration", "100ms", "--interval", "20ms", "--progress", "line"]);
    let ended = Client::spawn(&mut command).end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let lines: Vec<&str> = ended.stderr.lines().collect();
    let draining = lines.iter().filter(|line| line.contains("draining")).count();
    assert!(0 < draining && draining < lines.len(), "{lines:?}");
    assert!(lines.last().unwrap().contains("100.00 % (0.1 of 0.1 s, draining)"), "{lines:?}");
}

#[test]
fn progress_elsewhere_than_on_a_terminal_is_plain_lines() {
    let (peer, reached) = reporting(50);
    let mut command = Command::new(crate::kit::PROGRAM);
    let address = peer.address.to_string();
    command.args(["--server", &address, "--duration", "450ms", "--interval", "100ms"]);
    let ended = Client::spawn(command.args(["--progress", "bar"])).end();
    wait_for(&reached);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!ended.stderr.contains(['\r', '\x1b']), "{ended:?}");
    let lines: Vec<&str> = ended.stderr.lines().collect();
    assert!(lines.len() >= 2, "{lines:?}");
    assert!(lines.iter().all(|line| line.contains(" calls/s, 0 failures")), "{lines:?}");
}

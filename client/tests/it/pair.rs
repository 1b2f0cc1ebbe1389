//! The client with the real server: what the two of them say together.

use crate::kit::{Client, Ended, HANG, PROGRAM, Peer, Talk, frame, outcome, run};
use clap::Parser;
use echo_common::clock::now_ns;
use echo_common::pinning;
use echo_common::wire::native::{FLAG_WANT_STAGES, STAGES_LEN};
use echo_server::options::Options;
use echo_server::server::{Server, Stopper};
use echo_server::snapshot::Snapshots;
use serde_json::Value;
use std::io::Write;
use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::thread;

/// A real server inside this process; it stops when it is dropped.
pub(crate) struct Pair {
    pub(crate) address: SocketAddr,
    snapshots: Arc<Snapshots>,
    stopper: Stopper,
}

impl Pair {
    /// A server with these options.
    pub(crate) fn serve(options: &str) -> Pair {
        let words = ["echo-server", "--listen", "127.0.0.1:0", "--pin", "none"];
        let words = words.into_iter().chain(options.split_whitespace());
        let plan = Options::parse_from(words).plan(&pinning::allowed_cpus()).unwrap();
        let server = Server::start(plan.config).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        let snapshots = server.snapshots();
        thread::spawn(move || server.join());
        Pair { address, snapshots, stopper }
    }

    pub(crate) fn call(&self, arguments: &str) -> Ended {
        Client::start(&format!("--server {} {arguments}", self.address)).end()
    }

    pub(crate) fn json(&self, arguments: &str) -> Value {
        let ended = self.call(&format!("--format json {arguments}"));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.json()
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        self.stopper.stop();
    }
}

const PARTS: [&str; 6] = ["decoded", "queued", "taken", "served", "written", "rest"];

#[test]
fn the_servers_stages_and_the_rest_are_the_latency_of_the_sampled_calls() {
    for server in ["--handlers 2", "--handlers 0", "--readers 3 --handlers 1 --reader-batch 1"] {
        let pair = Pair::serve(server);
        let json = pair.json("-n 4000 --clients 5 --in-flight 4 --stages 1");
        let stages = &json["stages_us"];
        assert_eq!(stages["count"], 4000, "{server}");
        let mean = |name: &str| stages[name]["mean"].as_f64().unwrap();
        let sum: f64 = PARTS.iter().map(|name| mean(name)).sum();
        assert!((sum / mean("total") - 1.0).abs() < 0.01, "{server}: {stages}");
        let all = json["latency_us"]["mean"].as_f64().unwrap();
        assert!((mean("total") / all - 1.0).abs() < 1e-6, "every call was sampled: {stages}");
        assert_eq!(stages["overruns"], 0, "{server}");
    }
}

#[test]
fn a_part_of_the_calls_is_sampled_and_every_reply_is_still_compared() {
    let pair = Pair::serve("--handlers 1");
    for shape in ["--payload 0", "--payload 40000", "--payload 10 --payload-resp 3000"] {
        let json = pair.json(&format!("-n 6000 --clients 4 --stages 10 {shape}"));
        let count = json["stages_us"]["count"].as_u64().unwrap();
        assert!((400..=800).contains(&count), "{shape}: {count}");
    }
    let text = pair.call("-n 100 --stages 1000000000").stdout;
    assert!(text.contains("none: no call was picked to ask"), "{text}");
    let text = pair.call("-n 2000 --stages 3").stdout;
    assert!(text.contains("-- Stages ") && text.contains("sampled calls"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_stage_that_costs_time_shows_it() {
    let pair = Pair::serve("--readers 1 --handlers 1 --handler-cost spin:2ms");
    let json = pair.json("-n 60 --clients 3 --stages 1");
    let stages = &json["stages_us"];
    assert!(stages["served"]["mean"].as_f64().unwrap() >= 2000.0, "{stages}");
    assert!(stages["taken"]["mean"].as_f64().unwrap() >= 1000.0, "others are before it: {stages}");
}

#[test]
fn an_older_server_that_refuses_stage_times_is_said_in_one_line() {
    let peer = Peer::start(|mut talk: Talk| {
        if talk.next().is_some() {
            talk.frame(3, 1, u64::MAX, b"flags 0x04 are not known here");
            talk.close();
        }
    });
    let ended = run(&peer, "-n 10 --clients 1 --stages 1");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let notes = ended.json()["notes"].to_string();
    assert!(notes.contains("run without --stages"), "{notes}");
}

#[test]
fn replies_without_stages_are_right_but_not_sampled() {
    let peer = Peer::start(|mut talk: Talk| {
        while let Some(call) = talk.next() {
            let room = if call.flags & FLAG_WANT_STAGES != 0 { STAGES_LEN } else { 0 };
            let bytes = frame(2, 0, call.id, &call.payload[room..]);
            if talk.stream.write_all(&bytes).is_err() {
                return;
            }
        }
    });
    let json = run(&peer, "-n 100 --stages 2").json();
    assert_eq!((outcome(&json, "ok"), &json["stages_us"]["count"]), (100, &Value::from(0)));
    assert_eq!(json["stages_us"]["rest"]["mean"], Value::Null);
}

/// It sends every frame back but for its kind, so that a reply has the room of its call as it was.
#[test]
fn room_that_a_server_does_not_fill_is_not_taken_for_stages() {
    let peer = Peer::start(|mut talk: Talk| {
        while let Some(call) = talk.next() {
            let mut bytes = frame(2, 0, call.id, &call.payload);
            bytes[5] = call.flags;
            if talk.stream.write_all(&bytes).is_err() {
                return;
            }
        }
    });
    let json = run(&peer, "-n 100 --stages 2").json();
    let stages = &json["stages_us"];
    assert!(
        stages["count"].as_u64() > Some(0) && stages["overruns"] == stages["count"],
        "{stages}"
    );
    let checks = json["checks"].as_array().expect("an array");
    let check = checks.iter().find(|check| check["name"] == "stages_add_up").expect("a check");
    assert_eq!(check["ok"], false, "{check}");
}

#[test]
fn whatever_is_said_about_an_emulated_server_says_so() {
    let pair = Pair::serve("--handlers 1 --handler-cost paced:1ms");
    assert_eq!(pair.json("-n 50")["emulated"], true);
    let mut command = Command::new(PROGRAM);
    command.args(["--server", &pair.address.to_string(), "-n", "400", "--clients", "1"]);
    let ended = Client::spawn(command.args(["--progress", "line", "--interval", "100ms"])).end();
    assert!(ended.stdout.lines().nth(2).unwrap().starts_with("emulated: "), "{ended:?}");
    assert!(ended.stdout.contains("handler paced:1ms"), "{ended:?}");
    assert!(ended.stderr.contains("emulated: "), "{ended:?}");
    assert_eq!(Pair::serve("--handlers 1").json("-n 50")["emulated"], false);
    assert_eq!(run(&Peer::echo(), "-n 5").json()["emulated"], Value::Null);
}

#[test]
fn a_stage_that_costs_far_more_than_all_else_is_named() {
    for (server, expected) in [
        ("--readers 1 --handlers 1 --reader-cost spin:1ms", "server-reader-bound"),
        ("--readers 1 --handlers 1 --handler-cost spin:1ms", "server-handler-bound"),
        ("--readers 1 --handlers 1 --reader-cost paced:2ms", "server-reader-bound"),
        ("--readers 1 --handlers 1 --handler-cost paced:2ms", "server-handler-bound"),
        // 128 bytes.
        ("--readers 1 --handlers 1 --handler-cost paced:1ms+8ms/KiB", "server-handler-bound"),
    ] {
        let json = Pair::serve(server).json("--duration 1200ms --clients 20");
        let verdict = &json["verdict"];
        // What burns CPU time, or must be woken soon, is the limit where others leave it some.
        let is_full = verdict["host_busy_share"].as_f64().unwrap_or(0.0) > 0.95;
        let kept_off = is_full && verdict["bound"] == "host-bound";
        assert!(verdict["bound"] == expected || kept_off, "{server}: {verdict}");
    }
}

#[test]
fn a_server_that_answers_late_because_it_is_overloaded_still_gives_its_counters() {
    let pair =
        Pair::serve("--readers 1 --handlers 1 --handler-cost spin:1ms --queue-capacity 5000");
    let json = pair.json("--rate 4000 --duration 1s --clients 4");
    assert_eq!(json["overloaded"], true, "{}", json["open_loop"]);
    assert_eq!(json["server"]["calls"], json["outcomes"]["started"]);
    assert_eq!(json["verdict"]["bound"], "server-handler-bound", "{}", json["verdict"]);
}

#[test]
fn a_rate_that_a_server_cannot_serve_is_overload_whatever_becomes_of_the_calls() {
    let paced = "--handlers 1 --handler-cost paced:2ms";
    for (server, client) in [
        ("--when-full reject --queue-capacity 10", "--duration 600ms"),
        ("", "--duration 600ms --timeout 50ms"),
        ("", "-n 100"),
        ("", "--duration 300ms"),
        ("", "--duration 300ms --streams 2 --record-size 100 --batch-bytes 100"),
    ] {
        let arguments = format!("--rate 2000 {client}");
        let pair = Pair::serve(&format!("{paced} {server}"));
        let json = pair.call(&format!("--format json {arguments}")).json();
        assert_eq!(json["overloaded"], true, "{server}, {client}: {}", json["checks"]);
        let checks = json["checks"].as_array().unwrap();
        let is_rate = |check: &&Value| check["name"].as_str().unwrap().contains("rate_achieved");
        let rate = checks.iter().find(is_rate).unwrap();
        assert_eq!(rate["ok"], false, "{server}, {client}: {rate}");
    }
}

/// Calls that take as long as the run, and longer.
#[test]
fn littles_law_holds_however_short_a_run_is_against_its_calls() {
    let pair = Pair::serve("--handlers 1 --handler-cost paced:1ms");
    for arguments in ["-t 500 --duration 250ms", "-t 500 --duration 250ms --timeout 300ms"] {
        let json = pair.call(&format!("--format json {arguments}")).json();
        let ratio = json["little"]["ratio"].as_f64().unwrap();
        assert!((ratio - 1.0).abs() < 0.01, "{arguments}: {}", json["little"]);
    }
}

#[test]
fn a_report_checks_itself() {
    let pair = Pair::serve("--handlers 1");
    let json = pair.json("-n 3000 --clients 4 --stages 7");
    let checks = json["checks"].as_array().unwrap();
    let ok = |name: &str| {
        let check = checks.iter().find(|check| check["name"] == name);
        check.unwrap_or_else(|| panic!("no check {name}: {checks:?}"))["ok"].clone()
    };
    for name in ["outcomes_add_up", "littles_law", "stages_add_up", "server_agrees"] {
        assert_eq!(ok(name), true, "{name}: {checks:?}");
    }
    let other = std::net::TcpStream::connect(pair.address).unwrap();
    let _second = std::net::TcpStream::connect(pair.address).unwrap();
    let text = pair.call("-n 3000 --rate 100k").stdout;
    drop(other);
    for part in ["-- Checks ", "rate achieved = ", "steady = ", "host quiet = "] {
        assert!(text.contains(part), "{text}");
    }
}

/// The check said NO, and the calls were those of another client that had come and gone.
#[test]
fn calls_of_others_that_came_and_went_are_no_disagreement() {
    for load in ["--rate 100", "--rate 100 --acks 0"] {
        let pair = Pair::serve("--handlers 1");
        let server = format!("--server {} --format json", pair.address);
        let client = Client::start(&format!("{server} --clients 2 --duration 60s {load}"));
        let until_ns = now_ns() + HANG.as_nanos() as u64;
        while pair.snapshots.take().calls == 0 {
            assert!(now_ns() < until_ns, "the client calls nobody");
            thread::yield_now();
        }
        pair.json("-n 500 --clients 3");
        client.signal("TERM");
        let json = client.end().json();
        let checks = json["checks"].as_array().unwrap();
        let of = |name: &str| checks.iter().find(|check| check["name"] == name).unwrap();
        assert!(json["server"]["calls"].as_u64().unwrap() > 500, "{}", json["server"]);
        assert_eq!(of("server_agrees")["ok"], Value::Null, "{checks:?}");
        // Three, and two for its stats calls.
        let text = of("server_agrees")["text"].as_str().unwrap();
        assert!(text.contains("other clients had 5 connections in between"), "{text}");
    }
}

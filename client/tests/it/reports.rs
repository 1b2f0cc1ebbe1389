//! What the report says, where it goes, and what happens if nobody takes it.

use crate::kit::{CALL, Client, PROGRAM, Peer, STATS, Talk, check_sums, outcome, run};
use serde_json::{Value, json};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

fn text_of(arguments: &str) -> String {
    let peer = Peer::echo();
    let ended = Client::start(&format!("--server {} {arguments}", peer.address)).end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.stdout
}

#[test]
fn the_text_begins_with_freons_block() {
    let text = text_of("-n 1234 --clients 3 --server-stats off");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].len() == 80 && lines[0].ends_with("===="), "{}", lines[0]);
    assert_eq!(lines[2], format!("-- Timers {}", "-".repeat(70)));
    assert_eq!(lines[3], "rpc-payload");
    assert_eq!(lines[4], "             count = 1234");
    assert!(lines[5].starts_with("         mean rate = "), "{}", lines[5]);
    assert!(lines[5].ends_with(" calls/second"), "{}", lines[5]);
    let names = ["min", "max", "mean", "stddev", "median"];
    for (line, name) in lines[6..11].iter().zip(names) {
        assert!(line.starts_with(&format!("{name:>18} = ")), "{line}");
        assert!(line.ends_with(" milliseconds"), "{line}");
    }
    for (line, name) in lines[11..16].iter().zip(["75%", "95%", "98%", "99%", "99.9%"]) {
        assert!(line.starts_with(&format!("{name:>18} <= ")), "{line}");
    }
    for line in ["Failures: 0", "Successful executions: 1234", "Total execution time (sec): 0"] {
        assert!(lines.contains(&line), "{line}");
    }
    assert!(!text.contains("-minute rate"), "a short run has no such rates");
}

#[test]
fn the_text_fits_eighty_columns_and_has_what_freon_leaves_out() {
    let text = text_of("-n 300 --clients 30 -t 7 --warmup 20ms");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for part in [
        "-- Outcomes ",
        "sum = 300 of 300 started",
        "closed: a caller calls again",
        "connections = 30",
        "callers = 7",
        "ratio ",
        "client per call",
        "-- Host ",
        "-- Verdict ",
        "worker-00",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    for nonsense in ["NaN", "inf"] {
        assert!(!text.contains(nonsense), "{text}");
    }
}

#[test]
fn one_caller_spends_all_its_time_in_calls() {
    let json = run(&Peer::echo(), "-n 5000 --clients 1").json();
    let rate = json["calls_per_s"].as_f64().unwrap();
    let mean = json["latency_us"]["mean"].as_f64().unwrap();
    let product = rate * mean / 1e6;
    assert!((0.95..=1.001).contains(&product), "{product}");
    let ratio = json["little"]["ratio"].as_f64().unwrap();
    assert!((0.98..=1.02).contains(&ratio), "{ratio}");
}

#[test]
fn percentiles_rise_between_minimum_and_maximum() {
    for count in ["1", "2", "3", "10", "1000"] {
        let json = run(&Peer::echo(), &format!("-n {count} --clients 2")).json();
        let figures = ["min", "p50", "p75", "p95", "p98", "p99", "p999", "max"]
            .map(|name| json["latency_us"][name].as_f64().unwrap());
        assert!(figures.windows(2).all(|pair| pair[0] <= pair[1]), "{figures:?}");
        assert!(figures[0] > 0.0);
    }
}

#[test]
fn the_fixed_names_are_there_and_missing_numbers_are_null() {
    let json = run(&Peer::echo(), "-n 10").json();
    for name in [
        "schema_version",
        "outcomes",
        "elapsed_s",
        "calls_per_s",
        "latency_us",
        "connect_us",
        "cpu_us_per_call",
        "stages_us",
        "verdict",
        "options",
        "host",
        "interrupted",
        "errors",
        "histogram",
        "server",
        "little",
    ] {
        assert!(json.get(name).is_some(), "{name}");
    }
    assert_eq!(json["schema_version"], 1);
    assert_eq!(json["server"], Value::Null, "it was not asked");
    assert_eq!(json["cpu_us_per_call"]["server"], Value::Null);
    assert!(json["cpu_us_per_call"]["client"].as_f64().unwrap() > 0.0);
    assert_eq!(json["verdict"]["bound"], "unknown", "ten calls tell nothing");
    assert_eq!(json["failure_latency_us"]["p50"], Value::Null);
    assert_eq!(json["options"]["server_stats"], "off");
    assert!(json["host"]["cpus_allowed"].is_string());
}

/// A server that counts two readers and says so when asked.
fn counting() -> Peer {
    let calls = AtomicU64::new(0);
    let asked = AtomicU64::new(0);
    Peer::start(move |mut talk: Talk| {
        while let Some(call) = talk.next() {
            if call.kind == CALL {
                calls.fetch_add(1, Ordering::SeqCst);
                if talk.answer(&call).is_err() {
                    return;
                }
                continue;
            }
            assert_eq!(call.kind, STATS);
            let (time, done) = (asked.fetch_add(1, Ordering::SeqCst), calls.load(Ordering::SeqCst));
            let snapshot = json!({
                "schema_version": 1, "uptime_ns": 1_000_000_000 * (time + 1),
                "cpu_ns": 5000 * done, "calls": done, "replies": done,
                "context_switches": {"voluntary": done, "involuntary": 0},
                "readers": [
                    {"name": "reader-00", "cpu_ns": 900_000_000 * time, "calls": done,
                     "wait_ns": 50_000_000 * time, "passes": done, "wakeups": done / 2,
                     "connections": 3},
                    {"name": "reader-01\u{1b}[2J", "cpu_ns": 0, "calls": 0},
                ],
                "handlers": [{"name": "handler-00", "cpu": 1, "cpu_ns": 100_000_000 * time,
                              "calls": done, "takes": done, "wakeups": 0}],
                "queue": {"depth": 0, "depth_max": 4, "capacity": 100, "full_waits": 0},
                "limits": {"owed_bytes": time, "\u{1b}]0;x": time}, "something_new": {"x": []},
            });
            talk.frame(STATS, 0, call.id, snapshot.to_string().as_bytes());
        }
    })
}

#[test]
fn the_servers_own_counters_over_the_window_are_in_the_report() {
    let peer = counting();
    let arguments = format!("--server {} --format json -n 1000 --clients 3", peer.address);
    let json = Client::start(&arguments).end().json();
    let server = &json["server"];
    assert_eq!(server["calls"], 1000);
    assert_eq!(json["cpu_us_per_call"]["server"], 5.0);
    assert_eq!(server["readers"][0]["busy_share"], 0.95);
    assert_eq!(server["readers"][0]["calls_per_wakeup"], 2.0);
    assert_eq!(server["readers"][1]["calls"], 0);
    assert_eq!(server["handlers"][0]["pinned_cpu"], 1);
    assert_eq!(server["limits"]["owed_bytes"], 1);
    assert!(json["host"]["cpu_ceiling_calls_per_s"].as_f64().unwrap() > 0.0);
    let arguments = format!("--server {} -n 1000 --clients 3 --warmup 50ms", peer.address);
    let text = Client::start(&arguments).end().stdout;
    assert!(text.contains("reader-00"), "{text}");
    assert!(!text.contains('\x1b'), "{text}");
}

#[test]
fn a_server_without_counters_is_no_failure() {
    // Answers with a reply, as one that does not know the kind; and one that never answers it.
    let mute = |mut talk: Talk| {
        while let Some(call) = talk.next() {
            if call.kind == CALL && talk.answer(&call).is_err() {
                return;
            }
        }
    };
    for peer in [Peer::echo(), Peer::start(mute)] {
        let arguments = format!("--server {} --format json -n 50 --clients 2", peer.address);
        let ended = Client::start(&arguments).end();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert_eq!(ended.json()["server"], Value::Null);
    }
}

#[test]
fn a_file_gets_the_whole_report_beside_the_text() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.json");
    let text = text_of(&format!("-n 40 --server-stats off -o {}", file.display()));
    assert!(text.contains("Successful executions: 40"));
    let json: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    check_sums(&json);
    assert_eq!(outcome(&json, "ok"), 40);
    let silent = text_of(&format!("-n 41 --format json -o {}", file.display()));
    assert_eq!(silent, "");
    let json: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(outcome(&json, "ok"), 41);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left over");
}

#[test]
fn a_place_that_takes_no_report_is_named() {
    let peer = Peer::echo();
    let arguments = format!("--server {} -n 5 -o /no/such/folder/report.json", peer.address);
    let ended = Client::start(&arguments).end();
    assert_eq!(ended.code, Some(74), "{ended:?}");
    assert!(ended.stderr.contains("/no/such/folder/report.json"), "{ended:?}");
    assert_eq!(peer.calls(), 0, "that is said before the run");
    let script = format!("exec \"$0\" --server {} -n 5 >/dev/full", peer.address);
    let ended = Client::spawn(Command::new("sh").args(["-c", &script, PROGRAM])).end();
    assert_eq!(ended.code, Some(74), "{ended:?}");
}

/// Runs a script in which `$0` is the client, and gives what it printed.
fn shell(script: &str) -> String {
    let ended = Client::spawn(Command::new("bash").args(["-c", script, PROGRAM])).end();
    assert!(!ended.stderr.contains("panicked"), "{ended:?}");
    ended.stdout
}

#[test]
fn nobody_reading_the_report_is_no_reason_to_panic() {
    let peer = Peer::echo();
    let run = format!("\"$0\" --server {} --server-stats off -n 50", peer.address);
    let code = |script: &str| shell(script).trim().to_owned();
    assert_eq!(code(&format!("{run} | true; echo ${{PIPESTATUS[0]}}")), "0");
    assert_eq!(code("\"$0\" --help | true; echo ${PIPESTATUS[0]}"), "0");
    assert_eq!(code(&format!("{run} >&-; echo $?")).lines().last(), Some("0"));
    assert_eq!(code(&format!("{run} 2>&- >/dev/null; echo $?")), "0");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    assert_eq!(code(&format!("{run} -o {} | true; echo ${{PIPESTATUS[0]}}", file.display())), "0");
    let json: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(outcome(&json, "ok"), 50);
}

#[test]
fn an_interval_without_answers_has_no_percentiles_and_the_rows_add_up() {
    let peer = Peer::start(|mut talk: Talk| {
        let mut served = 0;
        while let Some(call) = talk.next() {
            served += 1;
            if served == 50 {
                // Long enough for a whole interval without an answer.
                let (_kept, never) = std::sync::mpsc::channel::<()>();
                let _ = never.recv_timeout(std::time::Duration::from_millis(450));
            }
            if talk.answer(&call).is_err() {
                return;
            }
        }
    });
    let json = run(&peer, "-n 100 --clients 1 --interval 100ms").json();
    let rows = json["intervals"].as_array().unwrap();
    let empty: Vec<_> = rows.iter().filter(|row| row["calls"] == 0).collect();
    assert!(!empty.is_empty(), "{rows:?}");
    for row in rows {
        let figures = ["p50_us", "p99_us", "max_us"].map(|name| row[name].as_f64());
        if row["calls"] == 0 {
            assert_eq!(figures, [None; 3], "{row}");
        } else {
            let [p50, p99, max] = figures.map(Option::unwrap);
            assert!(p50 <= p99 && p99 <= max, "{row}");
        }
        assert!(row["end_s"].as_f64() > row["start_s"].as_f64(), "{row}");
    }
}

#[test]
fn histograms_are_exported_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (hgrm, hlog) = (folder.path().join("run.hgrm"), folder.path().join("run.hlog"));
    let (table, log) = (hgrm.display(), hlog.display());
    let files = format!("--hgrm {table} --hlog {log}");
    run(&Peer::echo(), &format!("-n 500 --clients 2 {files}")).json();
    let table = std::fs::read_to_string(&hgrm).unwrap();
    assert!(table.contains("Total count    =          500]"), "{table}");
    let log = std::fs::read_to_string(&hlog).unwrap();
    assert!(log.starts_with("#[Histogram log format version 1.3]\n"), "{log}");
    assert!(log.contains("#[StartTime: ") && log.contains(",HISTF"), "{log}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is left over");
    for option in ["--hgrm", "--hlog"] {
        let ended = run(&Peer::echo(), &format!("-n 5 {option} /no/such/folder/file"));
        assert_eq!(ended.code, Some(74), "{ended:?}");
    }
}

//! A server with followers, a rate that another point decides, and a follower that is stopped.

use crate::kit::{Place, command, header, lab, stderr, stdout, text};
use echo_common::clock::{now_ns, ns};
use serde_json::Value;
use std::process::Command;
use std::time::Duration;

const FILE: &str = r#"[client]
clients = 2
interval = "50ms"
[[group]]
name = "part"
mode = "real"
title = "At a part of it"
rounds = 1
duration = "300ms"
warmup = "50ms"
followers = 2
client = { arrivals = "poisson" }
rate = { share = 0.1, of = { group = "full", line = "acks=1", at = 1 } }
knob = { option = "client.in-flight", values = [5] }
lines = [
  { name = "acks=1" },
  { name = "acks=all", client = { acks = "all" } },
]
[[group]]
name = "full"
mode = "real"
title = "As fast as it goes"
rounds = 1
duration = "300ms"
warmup = "50ms"
followers = 2
knob = { option = "client.in-flight", values = [1] }
lines = [
  { name = "acks=1" },
  { name = "acks=all", client = { acks = "all" }, server = { min-insync = 3 } },
]
[[group]]
name = "pause"
mode = "paced"
title = "One follower stands still"
rounds = 1
duration = "2s"
warmup = "50ms"
followers = 2
server = { handler-cost = "paced:1ms" }
follower = { handlers = 1 }
pause = { follower = 2, at = "500ms", for = "800ms" }
knob = { option = "client.in-flight", values = [2] }
lines = [
  { name = "acks=1" },
  { name = "acks=all", client = { acks = "all" }, server = { min-insync = 3 } },
]
[[claim]]
text = "acks=1 goes on"
kind = "value"
metric = "pause.calls_during_per_s"
a = { group = "pause", line = "acks=1", at = 2 }
min = 1.0
[[claim]]
text = "acks=all waits for all"
kind = "value"
metric = "pause.calls_during_per_s"
a = { group = "pause", line = "acks=all", at = 2 }
max = 0.0
[[claim]]
text = "and goes on afterwards"
kind = "value"
metric = "pause.calls_after_per_s"
a = { group = "pause", line = "acks=all", at = 2 }
min = 1.0
[[claim]]
text = "Followers hold all that was answered"
kind = "value"
metric = "replicas.calls_held / outcomes.ok"
a = { group = "pause", line = "acks=all", at = 2 }
min = 1.0
"#;

fn acks(text: &str) -> String {
    header("acks", 503) + text
}

fn runs(place: &Place) -> Vec<Value> {
    let text = place.read("r/runs.jsonl");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn followers_a_matched_rate_and_a_pause_go_from_the_file_to_the_report() {
    let place = Place::new();
    let file = place.file("acks.toml", &acks(FILE));
    let ended = lab(&["run", &file, "--out", text(&place.path("r"))]);
    assert_eq!(ended.status.code(), Some(0), "{}{}", stdout(&ended), stderr(&ended));
    assert_eq!(stdout(&ended).matches("  holds  ").count(), 4, "{}", stdout(&ended));
    let runs = runs(&place);
    let groups: Vec<&str> = runs.iter().map(|run| run["group"].as_str().unwrap()).collect();
    assert_eq!(groups, ["full", "full", "part", "part", "pause", "pause"], "sources come first");
    let carried = runs.iter().find(|run| run["group"] == "full" && run["line"] == "acks=1");
    let carried = carried.unwrap()["report"]["calls_per_s"].as_f64().unwrap();
    for run in runs.iter().filter(|run| run["group"] == "part") {
        let rate = run["matched"]["per_s"].as_u64().unwrap();
        assert_eq!(rate, (carried * 0.1).round() as u64);
        let words: Vec<&str> =
            run["client"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert!(words.contains(&format!("--rate={rate}").as_str()), "{words:?}");
    }
    for run in &runs {
        assert_eq!(run["report"]["replicas"]["followers"], 2, "their digests agree");
        assert_eq!(run["followers"]["count"], 2);
    }
    let commands = place.read("r/commands.sh");
    for part in [
        "# echo-server --listen 127.0.0.1:9872\n",
        "# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --min-insync=3\n",
        "# rate: 10 % of what acks=1 at 1 (full) carried: ",
        "# 500ms into the measured part: kill -STOP follower 2, and kill -CONT it 800ms later\n",
    ] {
        assert!(commands.contains(part), "{part}: {commands}");
    }
    let summary = place.read("r/summary.md");
    assert!(summary.contains("| 10 % of what acks=1 at 1 (full) carried: "), "{summary}");
    let (_, pauses) = summary.split_once("| calls/s before | in the pause | afterwards |").unwrap();
    let row = pauses.lines().find(|line| line.starts_with("| acks=all | 2 | ")).unwrap();
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    assert!(cells[4] == "0" && cells[5] != "0", "{row}");
}

/// What cannot be said is said to be so, and the rest is measured.
#[test]
fn a_point_whose_rate_has_no_sound_source_is_not_measured_and_says_why() {
    let place = Place::new();
    // Every call takes longer than it may.
    let slow = "server = { handler-cost = \"paced:400ms\", handlers = 1 }, \
                client = { timeout = \"100ms\" }";
    let full = FILE.split_once("[[group]]\nname = \"pause\"").unwrap().0;
    let full = full.replace("mode = \"real\"", "mode = \"paced\"");
    let (before, after) = full.split_once("[[group]]\nname = \"full\"").unwrap();
    let after = after.replacen("  { name = \"acks=1\" },", "  { name = \"acks=all\" },", 1);
    let after = after.replacen(
        "  { name = \"acks=all\", client = { acks = \"all\" }, server = { min-insync = 3 } },",
        &format!("  {{ name = \"acks=1\", {slow} }},"),
        1,
    );
    let claim = "[[claim]]\ntext = \"It is as fast\"\nkind = \"value\"\nmin = 1.0\n\
                 a = { group = \"part\", line = \"acks=1\", at = 5 }\n";
    let file = place
        .file("acks.toml", &acks(&format!("{before}[[group]]\nname = \"full\"{after}{claim}")));
    let ended = lab(&["run", &file, "--out", text(&place.path("r"))]);
    assert_eq!(ended.status.code(), Some(1), "{}{}", stdout(&ended), stderr(&ended));
    let said = stdout(&ended);
    assert!(said.contains("not measured       It is as fast"), "{said}");
    let why = "its rate is 10 % of what acks=1 at 1 (full) carries, which has no sound run";
    assert!(said.contains(&format!("seen {why}; wanted at least 1")), "{said}");
    let (mut made, mut not_made) = (0, 0);
    for run in runs(&place) {
        let is_part = run["group"] == "part";
        assert_eq!(run["not_made"] == true, is_part, "{run}");
        *if is_part { &mut not_made } else { &mut made } += 1;
    }
    assert_eq!((made, not_made), (2, 2));
    let again = lab(&["report", text(&place.path("r"))]);
    assert_eq!(again.status.code(), Some(1), "{}", stderr(&again));
}

/// A stopped follower does not hear a signal that asks it to end, and a killed lab ends nothing.
#[test]
fn however_the_lab_is_ended_in_a_pause_it_leaves_no_process_behind() {
    for (signal, code) in [("-INT", Some(130)), ("-TERM", Some(143)), ("-KILL", None)] {
        let place = Place::new();
        let (head, pause) = FILE.split_once("[[group]]\nname = \"pause\"").unwrap();
        let (head, _) = head.split_once("[[group]]").unwrap();
        let (pause, _) = pause.split_once("[[claim]]").unwrap();
        let pause = pause.replace("duration = \"2s\"", "duration = \"5m\"");
        let pause = pause.replace("at = \"500ms\", for = \"800ms\"", "at = \"0s\", for = \"5m\"");
        let file =
            place.file("acks.toml", &acks(&format!("{head}[[group]]\nname = \"pause\"{pause}")));
        let running = command(&["run", &file, "--out", text(&place.path("r"))]).spawn().unwrap();
        let lab = running.id();
        let children = until("a follower is stopped", || {
            let children = children_of(lab);
            let stopped = children.iter().filter(|(_, stopped)| *stopped).count();
            (children.len() == 4 && stopped == 1).then_some(children)
        });
        assert!(Command::new("kill").args([signal, &lab.to_string()]).status().unwrap().success());
        let ended = running.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), code, "{}", stderr(&ended));
        until("all have ended", || {
            (!children.iter().any(|(pid, _)| is_running(*pid))).then_some(())
        });
    }
}

/// Looks until it is there.
fn until<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let until_ns = now_ns() + ns(Duration::from_secs(120));
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(now_ns() < until_ns, "not seen: {what}");
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

/// Whether it is one of the programs and lives; a dead one may wait for who adopted it.
fn is_running(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_ascii_whitespace().next());
    stat.contains("(echo-") && state != Some("Z")
}

/// The living children of a process, and whether each is stopped.
fn children_of(parent: u32) -> Vec<(u32, bool)> {
    let one = |entry: std::fs::DirEntry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        // Behind the name, which is in brackets: the state and the parent.
        let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
        let (state, of) = (fields.next()?, fields.next()?.parse::<u32>().ok()?);
        (of == parent && state != "Z").then_some((pid, state == "T"))
    };
    std::fs::read_dir("/proc").unwrap().flatten().filter_map(one).collect()
}

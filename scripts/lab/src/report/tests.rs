//! The report of a fixed input: every number in it was worked out by hand or follows from the input
//! by a tested function.

use super::*;
use crate::experiment::{Peer, Scalar};
use crate::folder::About;
use crate::predict::Predicted;
use crate::run::{Followers, Record};
use serde_json::{Value, json};

const FILE: &str = r#"name = "fixed"
title = "A fixed experiment"
question = "Does the report say what the runs say?"
[[group]]
name = "g"
mode = "paced"
title = "Two readers"
rounds = 3
duration = "1s"
warmup = "500ms"
knob = { option = "server.readers", values = [1, 2], label = "readers" }
twin = { line = "x", at = 1 }
model = "readers"
lines = [{ name = "x" }]
[[claim]]
text = "Two do twice as much as one"
kind = "ratio"
a = { group = "g", at = 2 }
b = { group = "g", at = 1 }
near = 2.0
tolerance = 0.05
[[claim]]
text = "Two do three times as much"
kind = "ratio"
a = { group = "g", at = 2 }
b = { group = "g", at = 1 }
metric = "calls_per_s / 1"
min = 3.0
[[panel]]
title = "Throughput"
kind = "curve"
group = "g"
axis = "calls per second"
model = true
[[panel]]
title = "Latency"
kind = "percentiles"
group = "g"
at = [1]
[[panel]]
title = "Over time"
kind = "timeline"
group = "g"
at = [2]
[[panel]]
title = "Stages"
kind = "stages"
group = "g"
[[panel]]
title = "Nothing of this was measured"
kind = "several"
group = "g"
metrics = [{ name = "n", metric = "nowhere" }]
"#;

fn report(rate: f64) -> Value {
    let stage = |mean: f64| json!({"mean": mean});
    let interval = |i: u32| {
        let start = f64::from(i) * 0.2;
        json!({"start_s": start, "end_s": start + 0.2, "calls_per_s": rate, "p99_us": 900.0})
    };
    json!({
        "program": "echo-client", "calls_per_s": rate, "warmup_calls": 50, "warmup_failed": 0,
        "outcomes": {"started": 1000, "ok": 1000},
        "latency_us": {"mean": 200.0, "p99": 900.0},
        "histogram": [[100.0, 500], [200.0, 400], [900.0, 100]],
        "stages_us": {
            "decoded": stage(1.0), "queued": stage(2.0), "taken": stage(3.0),
            "served": stage(4.0), "written": stage(5.0), "rest": stage(185.0),
        },
        "verdict": {"others_cpu_share": 0.01},
        "samples": {"host_busy_share": 0.5, "steal_share": 0.0},
        "intervals": (0..5).map(interval).collect::<Vec<_>>(),
    })
}

/// Three rounds at 1 reader (100, 110, 120), at 2 (200, 220, 240), and the twin 5 % above.
fn content() -> Content {
    let scalar = |n: u32| serde_json::from_value::<Scalar>(json!(n)).unwrap();
    let mut runs = Vec::new();
    for round in 1..=3 {
        let base = 90.0 + 10.0 * f64::from(round);
        for (at, twin, rate) in [(1, false, base), (2, false, 2.0 * base), (1, true, 1.05 * base)] {
            runs.push(Record {
                order: runs.len() + 1,
                group: "g".into(),
                line: "x".into(),
                peer: Peer::Echo,
                at: scalar(at),
                twin,
                round,
                server: vec![format!("--readers={at}")],
                client: vec!["--clients=10".into()],
                followers: Followers::default(),
                matched: None,
                pause: None,
                not_made: false,
                server_calls: Some(1050),
                problem: None,
                report: report(rate),
            });
        }
    }
    let predicted = |at, calls_per_s| Predicted {
        group: "g".into(),
        line: "x".into(),
        at: scalar(at),
        calls_per_s,
        response_us: Some(1.0),
        binds: "readers".into(),
        knee: None,
    };
    Content {
        about: About {
            schema_version: 1,
            name: "fixed".into(),
            began: "2026-11-30T12:00:00Z".into(),
            ended: Some("2026-11-30T12:01:00Z".into()),
            commit: Some("abc1234".into()),
            programs: vec!["echo-server 0.1.0".into(), "echo-client 0.1.0".into()],
            command: "cargo lab run fixed".into(),
            host: json!({"cpu_model": "a CPU", "cpus_online": 2, "cpus_allowed": "0-1"}),
            runs_planned: 9,
            ..About::default()
        },
        experiment: FILE.into(),
        predicted: vec![predicted(1, 100.0), predicted(2, 200.0)],
        gate: vec![runs[0].clone()],
        runs,
    }
}

fn blocks(content: &Content) -> (Experiment, Vec<block::Block>) {
    let path = Path::new("experiment.toml");
    let experiment = read(path, &content.experiment, &Known::default(), false).unwrap();
    let blocks = document::document(&experiment, content, &findings(&experiment, content));
    (experiment, blocks)
}

#[test]
fn the_summary_of_a_fixed_input_is_as_it_was() {
    let (experiment, blocks) = blocks(&content());
    insta::assert_snapshot!(markdown::page(&experiment.title, &blocks));
}

#[test]
fn the_page_has_every_chart_that_has_numbers_and_none_that_has_not() {
    let (experiment, blocks) = blocks(&content());
    let page = html::page(&experiment.title, &blocks);
    assert_eq!(page.matches("<figure>").count(), 4);
    assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
    assert!(!page.contains("<figcaption>Nothing"));
    for bad in ["NaN", "inf", "http://", "https://", "<script"] {
        let inside = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!inside.contains(bad), "{bad}");
    }
}

#[test]
fn what_was_not_sound_is_named_and_makes_no_figures() {
    let mut content = content();
    content.runs[0].problem = Some("the client made 5 calls and the server counted 4".into());
    content.about.interrupted = Some("Interrupt".into());
    let (experiment, blocks) = blocks(&content);
    let page = markdown::page(&experiment.title, &blocks);
    assert!(page.contains("the server counted 4"), "{page}");
    assert!(page.contains("Interrupted (Interrupt): only what was finished"), "{page}");
    assert!(page.contains("| x | 1 | 2 | 115 (110 to 120) |"), "{page}");
}

#[test]
fn a_group_whose_calls_carry_records_says_how_many_came_back() {
    let mut content = content();
    let records = json!({"records_per_s": 5000.0, "latency_us": {"p95": 70.0}});
    content.runs.iter_mut().for_each(|run| run.report["records"] = records.clone());
    let page = |content: &Content| {
        let (experiment, blocks) = blocks(content);
        markdown::page(&experiment.title, &blocks)
    };
    let closed = page(&content);
    assert!(
        closed.contains("| calls/s | records/s | calls: mean us | calls: p99 us |"),
        "{closed}"
    );
    assert!(closed.contains("| 110 (100 to 120) | 5,000 | 200 | 900 |"), "{closed}");
    content.experiment = FILE.replace("twin =", "client = { rate = 5000 }\ntwin =");
    let open = page(&content);
    assert!(open.contains("| records/s | records: p95 us | calls: mean us |"), "{open}");
    assert!(open.contains("| 5,000 | 70 | 200 | 900 |"), "{open}");
}

/// The server's window may be longer than the client's: what is used, each measures in its own.
#[test]
fn how_full_the_host_was_is_no_rate_of_one_window_by_a_ceiling_of_another() {
    let text = |used: f64| {
        let mut content = content();
        content.experiment = FILE.replace("mode = \"paced\"", "mode = \"real\"");
        for run in &mut content.runs {
            let report = &mut run.report;
            report["cpu_us_per_call"] = json!({"client": 1000.0, "server": 4000.0});
            report["host"] = json!({
                "cpus_online": 2, "cpu_ceiling_calls_per_s": 400.0,
                "client_cpu_share": 0.2, "server_cpu_share": used - 0.2,
            });
        }
        let (experiment, blocks) = blocks(&content);
        markdown::page(&experiment.title, &blocks)
    };
    let bound = "2 CPUs / (1000.00 us + 4000.00 us) = 400 calls/s (middle of the group's runs); in \
                 the middle run both used";
    let (free, full) = (text(0.5), text(0.95));
    assert!(
        free.contains(&format!("{bound} 50 % of the CPUs. The host is not used up.")),
        "{free}"
    );
    assert!(full.contains(&format!("{bound} 95 % of the CPUs. The host is the limit")), "{full}");
}

#[test]
fn commands_name_each_setting_once() {
    let commands = commands::commands(&content()).unwrap();
    assert_eq!(commands.matches("# echo-server --readers=1\n").count(), 1, "{commands}");
    assert_eq!(commands.matches("# echo-server").count(), 2, "{commands}");
}

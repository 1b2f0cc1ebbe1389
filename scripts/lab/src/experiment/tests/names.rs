//! Every name in a file that cannot be: one line with its place and what is allowed.

use super::super::*;
use super::known;
use std::path::Path;

/// Every kind of name once.
const ALL: &str = r#"name = "e"
title = "T"
question = "Q?"
[server]
handlers = 2
[client]
threads = 100
[[group]]
name = "real"
mode = "real"
title = "R"
followers = 1
follower = { strict-pin = true }
pause = { follower = 1, at = "1s", for = "500ms" }
model = "readers"
knob = { option = "server.readers", values = [1, 2, 10] }
twin = { line = "twin", at = 1 }
lines = [
  { name = "ten", client = { clients = 10 } },
  { name = "twin", peer = "echo" },
]
quick = { rounds = 1, lines = ["ten"] }
[[group]]
name = "part"
mode = "paced"
title = "P"
knob = { option = "client.clients", values = [1] }
rate = { share = 0.5, of = { group = "real", line = "ten", at = 1 } }
[[group]]
name = "virtual"
mode = "simulated"
title = "V"
knob = { option = "simulate.readers", values = [1, 2] }
[[group]]
name = "keyed"
mode = "simulated"
title = "K"
knob = { option = "simulate.batch", values = [1, 2] }
[[claim]]
text = "ratio"
kind = "ratio"
metric = "latency_us.p99"
a = { group = "real", line = "ten", at = 10 }
b = { group = "virtual", at = 1 }
min = 3.0
[[claim]]
text = "trend"
kind = "trend"
metric = "1e6 * max(server.readers[].busy_share) / cpu_us_per_call.server"
direction = "falls"
a = { group = "real", line = "ten" }
[[claim]]
text = "moves"
kind = "knee_moves"
a = { group = "real" }
lines = ["ten", "twin"]
[[claim]]
text = "fit"
kind = "fit"
a = { group = "keyed" }
metric = "serial_busy_share"
law = "batch"
min = 0.9
[[claim]]
text = "every"
kind = "every_run"
metric = "keys.lost"
max = 0.0
[[panel]]
title = "curve"
kind = "curve"
group = "real"
lines = ["ten"]
metric = "records.records_per_s"
base = { group = "real", lines = ["twin"] }
[[panel]]
title = "several"
kind = "several"
group = "virtual"
unit = "share"
metrics = [
  { name = "busiest reader", metric = "readers.busiest_share" },
]
[[panel]]
title = "each"
kind = "each"
group = "real"
lines = ["ten"]
at = [1]
metric = "sum(server.handlers[].calls)"
"#;

fn parse(text: &str) -> Result<Experiment, FileError> {
    let mut known = known();
    known.simulate.as_mut().unwrap().insert("batch".to_owned());
    read(Path::new("x.toml"), text, &known, false)
}

#[test]
fn a_name_that_cannot_be_is_refused_where_it_stands_with_what_is_allowed() {
    parse(ALL).unwrap();
    let cases = [
        // Fields.
        (
            "title = \"T\"",
            "titel = \"T\"",
            "unknown field `titel`, expected one of `name`, `title`",
        ),
        ("[server]", "[srever]", "unknown field `srever`, expected"),
        ("followers = 1", "folowers = 1", "unknown field `folowers`, expected"),
        ("pause = { follower = 1", "pause = { folower = 1", "unknown field `folower`, expected"),
        (
            "option = \"server.readers\"",
            "opt = \"server.readers\"",
            "unknown field `opt`, expected",
        ),
        ("twin = { line", "twin = { lin", "unknown field `lin`, expected"),
        ("{ name = \"ten\"", "{ nam = \"ten\"", "unknown field `nam`, expected"),
        ("quick = { rounds", "quick = { round", "unknown field `round`, expected"),
        ("rate = { share", "rate = { shar", "unknown field `shar`, expected"),
        ("of = { group", "of = { grup", "unknown field `grup`, expected"),
        ("min = 3.0", "minimum = 3.0", "unknown field `minimum`, expected"),
        ("b = { group", "b = { gruop", "unknown field `gruop`, expected"),
        ("unit = \"share\"", "unti = \"share\"", "unknown field `unti`, expected"),
        ("{ name = \"busiest reader\"", "{ nmae = \"x\"", "unknown field `nmae`, expected"),
        ("base = { group", "base = { grop", "unknown field `grop`, expected"),
        // Options.
        ("handlers = 2", "handler = 2", "echo-server has no option \"handler\"; allowed: handlers"),
        ("threads = 100", "thread = 1", "echo-client has no option \"thread\"; allowed: clients"),
        ("strict-pin = true", "strict = true", "echo-server has no option \"strict\"; allowed"),
        ("\"server.readers\"", "\"server.reader\"", "no option \"reader\"; allowed: handlers"),
        ("\"server.readers\"", "\"srever.readers\"", "allowed here: server.OPTION or client"),
        ("{ clients = 10 }", "{ client = 10 }", "echo-client has no option \"client\"; allowed"),
        ("\"simulate.readers\"", "\"simulate.reader\"", "the simulator has no option \"reader\""),
        // Kinds.
        ("mode = \"paced\"", "mode = \"pased\"", "mode \"pased\"; allowed: real, paced, simulated"),
        ("model = \"readers\"", "model = \"raeders\"", "no model \"raeders\"; allowed: readers"),
        ("peer = \"echo\"", "peer = \"ehco\"", "allowed: echo, hadoop"),
        ("kind = \"trend\"", "kind = \"trent\"", "kind \"trent\"; allowed: ratio, every_ratio"),
        ("\"falls\"", "\"fals\"", "direction \"fals\"; allowed: falls, rises"),
        ("law = \"batch\"", "law = \"bach\"", "law \"bach\"; allowed: batch"),
        ("kind = \"curve\"", "kind = \"kurve\"", "kind \"kurve\"; allowed: curve, heat"),
        ("unit = \"share\"", "unit = \"shares\"", "unit \"shares\"; allowed: calls/s, us, share"),
        // Groups and lines.
        ("twin = { line = \"twin\"", "twin = { line = \"twim\"", "allowed: ten | twin"),
        ("1, lines = [\"ten\"]", "1, lines = [\"tem\"]", "no line \"tem\" in group \"real\""),
        ("of = { group = \"real\"", "of = { group = \"rael\"", "no group \"rael\"; allowed: real"),
        (
            "\"ten\", at = 1 } }",
            "\"tem\", at = 1 } }",
            "no line \"tem\" in group \"real\"; allowed",
        ),
        ("b = { group = \"virtual\"", "b = { group = \"virtal\"", "no group \"virtal\"; allowed"),
        ("line = \"ten\", at = 10", "line = \"tem\", at = 10", "no line \"tem\" in group \"real\""),
        ("lines = [\"ten\", \"twin\"]", "lines = [\"ten\", \"twim\"]", "no line \"twim\""),
        ("group = \"virtual\"\nunit", "group = \"virtal\"\nunit", "no group \"virtal\"; allowed"),
        ("lines = [\"ten\"]\nmetric", "lines = [\"tem\"]\nmetric", "no line \"tem\" in group"),
        ("base = { group = \"real\"", "base = { group = \"rael\"", "no group \"rael\"; allowed"),
        ("lines = [\"twin\"] }", "lines = [\"twim\"] }", "no line \"twim\" in group \"real\""),
    ];
    assert_all(&cases);
}

#[test]
fn a_metric_that_no_report_has_is_refused_with_the_nearest_ones() {
    let measured = "the report of a measured run has no number";
    for (old, new, path, nearest) in [
        ("\"latency_us.p99\"", "\"latency_us.p98.5\"", "latency_us.p98.5", "latency_us.p98"),
        ("\"latency_us.p99\"", "\"latency.p99\"", "latency.p99", "latency_us.p99"),
        ("\"latency_us.p99\"", "\"latency_us\"", "latency_us", "latency_us.max"),
        ("\"latency_us.p99\"", "\"server.costs\"", "server.costs", "server.calls"),
        ("readers[].busy", "reader[].busy", "server.reader[].busy_share", "server.readers[].busy"),
        ("readers[].busy_share", "readers[].busy", "server.readers[].busy", "server.readers[]."),
        ("call.server", "call.sever", "cpu_us_per_call.sever", "cpu_us_per_call.server"),
        ("keys.lost", "keys.losst", "keys.losst", "keys.lost"),
        (
            "records.records_per_s",
            "record.records_per_s",
            "record.records_per_s",
            "records.records",
        ),
        (
            "handlers[].calls",
            "handlers[].cals",
            "server.handlers[].cals",
            "server.handlers[].calls",
        ),
    ] {
        assert_all(&[(old, new, &format!("{measured} {path}; nearest: ")), (old, new, nearest)]);
    }
    assert_all(&[
        (
            "serial_busy_share",
            "serial_share",
            "a simulated dispatch by key has no number serial_share",
        ),
        ("serial_busy_share", "readers.busy_share", "a simulated dispatch by key has no number"),
        (
            "readers.busiest_share",
            "readers.busy_share2",
            "a simulated run has no number readers.bu",
        ),
        ("\"latency_us.p99\"", "\"warmup_calls\"", "of a simulated run has no number warmup_calls"),
        ("sum(server", "som(server", "an unknown function in metric"),
    ]);
}

/// What is there in some runs only may be named: that it was not measured is said after the run.
#[test]
fn a_metric_of_some_runs_only_may_be_named_of_any() {
    for metric in ["records.mb_per_s", "pause.calls_during_per_s", "server.limits.idle_closed"] {
        parse(&ALL.replacen("keys.lost", metric, 1)).unwrap();
    }
}

/// Each replaces a part of the file; expected is one line that names the place where it stands.
fn assert_all(cases: &[(&str, &str, &str)]) {
    let wrong: Vec<String> = cases.iter().filter_map(|case| complaint(*case)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn complaint((old, new, wrong): (&str, &str, &str)) -> Option<String> {
    let (before, _) = ALL.split_once(old).unwrap_or_else(|| panic!("there is no {old}"));
    let Err(error) = parse(&ALL.replacen(old, new, 1)) else {
        return Some(format!("{new} was taken"));
    };
    let text = error.to_string();
    let line = before.matches('\n').count() + 1;
    let is_one_line = !text.contains('\n') && text.starts_with(&format!("x.toml:{line}: "));
    (!is_one_line || !text.contains(wrong)).then(|| format!("{new}, line {line}: {text}"))
}

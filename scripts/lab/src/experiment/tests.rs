//! Experiment files, good and bad.

mod replicas;

use super::*;
use std::path::Path;

const GOOD: &str = r#"name = "e"
title = "T"
question = "Q?"
[server]
handlers = 2
[[group]]
name = "g"
mode = "paced"
title = "G"
rounds = 3
client = { threads = 100 }
knob = { option = "server.readers", values = [1, 2, 10] }
twin = { line = "ten", at = 1 }
model = "readers"
quick = { rounds = 1, values = [1, 10], lines = ["ten"] }
lines = [
  { name = "ten", client = { clients = 10 } },
  { name = "thirty", client = { clients = 30, threads = 400 } },
]
[[claim]]
text = "C"
kind = "ratio"
a = { group = "g", line = "ten", at = 10 }
b = { group = "g", line = "ten", at = 1 }
min = 3.0
[[panel]]
title = "P"
kind = "curve"
group = "g"
"#;

fn known() -> Known {
    let names = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
    Known {
        server: names(&["readers", "handlers", "strict-pin"]),
        client: names(&["clients", "threads"]),
        simulate: names(&["readers"]),
        models: names(&["readers"]),
    }
}

fn parse(text: &str, quick: bool) -> Result<Experiment, FileError> {
    read(Path::new("x.toml"), text, &known(), quick)
}

#[test]
fn options_come_from_the_nearest_place_and_the_knob_last() {
    let experiment = parse(GOOD, false).unwrap();
    let points = experiment.groups[0].points();
    assert_eq!(points.len(), 7);
    assert_eq!(points[0].options.arguments(Side::Server), ["--handlers=2", "--readers=1"]);
    assert_eq!(points[5].options.arguments(Side::Client), ["--clients=30", "--threads=400"]);
    assert!(points[6].twin && points[6].at.is(&points[0].at));
    assert_eq!(points[6].options, points[0].options);
}

#[test]
fn the_quick_form_has_fewer_points_and_the_same_claims() {
    let experiment = parse(GOOD, true).unwrap();
    let group = &experiment.groups[0];
    assert_eq!((group.rounds, group.lines.len(), group.points().len()), (1, 1, 3));
    assert_eq!((experiment.claims.len(), experiment.panels.len()), (1, 1));
}

#[test]
fn what_is_measured_with_another_server_can_be_left_out() {
    let text = GOOD.replacen("clients = 10 }", "clients = 10 }, peer = \"hadoop\"", 1);
    let mut experiment = parse(&text, false).unwrap();
    assert!(experiment.needs(Peer::Hadoop) && !parse(GOOD, false).unwrap().needs(Peer::Hadoop));
    experiment.leave_out(Peer::Hadoop);
    let group = &experiment.groups[0];
    assert_eq!((group.lines.len(), group.points().len()), (1, 3));
    assert!(group.twin.is_none(), "it went with its line");
    experiment.leave_out(Peer::Echo);
    assert!(experiment.groups.is_empty());
}

#[test]
fn a_switch_is_one_word_when_it_is_on_and_none_when_it_is_off() {
    let with = |value: &str| {
        let text = GOOD.replace("handlers = 2", &format!("strict-pin = {value}"));
        parse(&text, false).unwrap().groups[0].points()[0].options.arguments(Side::Server)
    };
    assert_eq!(with("true"), ["--readers=1", "--strict-pin"]);
    assert_eq!(with("false"), ["--readers=1"]);
}

/// Replaces a part of the good file and expects one line that names the place.
fn check(old: &str, new: &str, line: usize, wrong: &str) {
    assert!(GOOD.contains(old), "{old}");
    let error = parse(&GOOD.replacen(old, new, 1), false).unwrap_err();
    let text = error.to_string();
    assert!(text.contains(wrong), "{new}: {text}");
    assert_eq!(error.line, line, "{new}: {text}");
    assert!(!text.contains('\n') && text.starts_with("x.toml:"), "{text}");
}

#[test]
fn a_bad_file_gives_one_line_with_the_place() {
    check("handlers = 2", "handler = 2", 5, "no option \"handler\"; allowed: handlers");
    check("handlers = 2", "listen = \"x\"", 5, "set by the lab itself");
    check("handlers = 2", "handlers = [2]", 5, "a number, a text");
    check("server.readers", "server.reader", 12, "no option \"reader\"");
    check("server.readers", "simulate.readers", 12, "server.OPTION or client.OPTION");
    check("server.readers", "readers", 12, "server.OPTION or client.OPTION");
    check("[1, 2, 10]", "[]", 12, "values is empty");
    check("[1, 2, 10]", "[1, 2, 1]", 12, "1 comes twice");
    check("values = [1, 2, 10]", "value = [1]", 12, "unknown field `value`");
    check("rounds = 3", "rounds = 0", 10, "1 to 1000");
    check("rounds = 3", "rounds = \"x\"", 10, "invalid type");
    check("rounds = 3", "duration = \"3\"", 10, "duration: ");
    check("mode = \"paced\"", "mode = \"pacd\"", 8, "real, paced, simulated");
    check("name = \"g\"", "name = \"g g\"", 7, "letters, digits");
    check("line = \"ten\", at = 1 }\nmodel", "line = \"te\", at = 1 }\nmodel", 13, "twin names");
    check("at = 1 }\nmodel", "at = 3 }\nmodel", 13, "the twin is at 3");
    check("model = \"readers\"", "model = \"reader\"", 14, "no model \"reader\"");
    let hadoop = "clients = 10 }, peer = \"hadoop\"";
    let hadoop = format!("{hadoop}, server = {{ strict-pin = true }}");
    check("clients = 10 }", &hadoop, 17, "Hadoop's server has no option \"strict-pin\"");
    check("clients = 10 }", "clients = 10 }, peer = \"x\"", 17, "allowed: echo, hadoop");
    check("name = \"thirty\"", "name = \"ten\"", 18, "two lines \"ten\"");
    check("kind = \"ratio\"", "kind = \"ration\"", 22, "ratio, value, flat");
    check("kind = \"ratio\"", "kind = \"ratio\"\nshare = 0.5", 22, "has no share");
    check("min = 3.0", "min = 3.0\nmax = 2.0", 22, "at least 3 and at most 2");
    check("kind = \"ratio\"", "kind = \"fit\"", 22, "has no b");
    check("min = 3.0", "law = \"batch\"", 22, "has no law");
    check("kind = \"ratio\"", "kind = \"less\"", 22, "of kind less has no min");
    check("kind = \"ratio\"", "kind = \"every_run\"", 22, "of kind every_run has no a");
    check("kind = \"ratio\"", "kind = \"drains\"", 22, "of kind drains has no min");
    check("kind = \"ratio\"", "kind = \"knee_moves\"", 22, "of kind knee_moves has no b");
    check("min = 3.0", "lines = [\"ten\"]", 22, "of kind ratio has no lines");
    check("min = 3.0", "", 22, "what is wanted?");
    check("min = 3.0", "near = 3.0", 22, "tolerance is missing");
    check("min = 3.0", "near = 3.0\ntolerance = -1.0", 26, "0 and more");
    check("line = \"ten\", at = 10", "line = \"tin\", at = 10", 23, "ten | thirty");
    check("line = \"ten\", at = 10", "at = 10", 23, "which line is meant");
    check("line = \"ten\", at = 10", "line = \"ten\", at = 7", 23, "7 is no value");
    check("line = \"ten\", at = 10", "line = \"ten\"", 23, "needs a value of the knob");
    check("a = { group = \"g\"", "a = { group = \"h\"", 23, "no group \"h\"; allowed: g");
    check("kind = \"curve\"", "kind = \"curv\"", 28, "curve, several");
    check("kind = \"curve\"", "kind = \"curve\"\nunit = \"ms\"", 29, "calls/s, us, share");
    check("kind = \"curve\"", "kind = \"curve\"\nmetric = \"a..b\"", 29, "no path");
    check("kind = \"curve\"", "kind = \"several\"", 28, "metrics is missing");
    check("kind = \"curve\"", "kind = \"each\"", 28, "allowed here is a list");
    check("kind = \"curve\"", "kind = \"backlog\"", 28, "which line is meant");
    check("kind = \"curve\"", "kind = \"batch_sizes\"", 28, "which line is meant");
    check("kind = \"curve\"", "kind = \"stages\"", 28, "which line is meant");
    check("name = \"e\"", "name = \"e", 1, "");
    check("min = 3.0", "min = nan", 25, "no number to compare with");
    check("min = 3.0", "max = inf", 25, "no number to compare with");
    check("min = 3.0", "near = 3.0\ntolerance = inf", 26, "0 and more");
    check("[1, 2, 10]", "[1, 2, nan]", 12, "no number to measure at");
}

/// What a group says twice would be believed once: the knob under its own name, and emulated time
/// under the heading "measured on this host".
#[test]
fn a_group_that_contradicts_itself_is_refused() {
    check("{ threads = 100 }", "{ threads = 1 }\nserver = { readers = 3 }", 12, "is the knob");
    check("{ clients = 10 }", "{ }, server = { readers = 3 }", 17, "is the knob");
    let real = "mode = \"real\"\nserver = { handlers = \"paced:1ms\" }";
    check("mode = \"paced\"", real, 9, "paced:1ms emulates a stage");
    let knob = "[\"spin:1us\", \"paced:1us\"]";
    let text = GOOD.replace("mode = \"paced\"", "mode = \"real\"").replace("[1, 2, 10]", knob);
    let error = parse(&text.replace("at = 1 }\nmodel", "at = \"spin:1us\" }\nmodel"), false);
    assert!(error.unwrap_err().to_string().contains("emulates a stage"));
}

#[test]
fn a_quick_form_of_nothing_is_refused() {
    let text = GOOD.replace("quick = { rounds = 1, values = [1, 10]", "quick = { run = false");
    let error = parse(&text, true).unwrap_err().to_string();
    assert!(error.contains("--quick leaves no group"), "{error}");
    assert!(parse(&text, false).is_ok());
}

#[test]
fn claims_that_contradict_each_other_are_refused() {
    let second = "[[claim]]\ntext = \"D\"\nkind = \"ratio\"\n\
                  a = { group = \"g\", line = \"ten\", at = 10 }\n\
                  b = { group = \"g\", line = \"ten\", at = 1 }\nmax = 2.0\n";
    let error = parse(&format!("{GOOD}{second}"), false).unwrap_err();
    assert!(error.to_string().contains("contradicts the claim \"C\""), "{error}");
    let wider = second.replace("max = 2.0", "max = 4.0");
    assert_eq!(parse(&format!("{GOOD}{wider}"), false).unwrap().claims.len(), 2);
}

#[test]
fn an_experiment_without_groups_measures_nothing_and_is_refused() {
    let error = parse("name = \"e\"\ntitle = \"T\"\nquestion = \"Q\"\n", false).unwrap_err();
    assert!(error.to_string().contains("nothing would be measured"), "{error}");
}

#[test]
fn a_claim_about_several_lines_needs_two_that_are_there() {
    let moves = |lines: &str| {
        let claim = format!("kind = \"knee_moves\"\nlines = {lines}\na = {{ group = \"g\" }}\n");
        let from = GOOD.find("kind = \"ratio\"").unwrap();
        let to = GOOD.find("[[panel]]").unwrap();
        parse(&format!("{}{claim}{}", &GOOD[..from], &GOOD[to..]), false)
    };
    assert_eq!(moves("[\"ten\", \"thirty\"]").unwrap().claims.len(), 1);
    assert!(moves("[\"ten\"]").unwrap_err().to_string().contains("two lines or more"));
    assert!(moves("[\"ten\", \"tin\"]").unwrap_err().to_string().contains("ten | thirty"));
}

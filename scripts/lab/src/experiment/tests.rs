//! Experiment files, good and bad.

mod names;
mod replicas;

use super::made_up::assert_refused;
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
        reports: Some(Reports::known().unwrap()),
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
    assert_refused(parse(&GOOD.replacen(old, new, 1), false), new, line, wrong);
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
    check(
        "line = \"ten\", at = 1 }\nmodel",
        "line = \"te\", at = 1 }\nmodel",
        13,
        "no line \"te\"",
    );
    check(
        "at = 1 }\nmodel",
        "at = 3 }\nmodel",
        13,
        "3 is no value of the twin's line; allowed: 1, 2, 10",
    );
    check("model = \"readers\"", "model = \"reader\"", 14, "no model \"reader\"");
    let hadoop = "clients = 10 }, peer = \"hadoop\"";
    let hadoop = format!("{hadoop}, server = {{ strict-pin = true }}");
    check("clients = 10 }", &hadoop, 17, "Hadoop's server has no option \"strict-pin\"");
    check("clients = 10 }", "clients = 10 }, peer = \"x\"", 17, "allowed: echo, hadoop");
    check("name = \"thirty\"", "name = \"ten\"", 18, "two lines \"ten\"");
    check("kind = \"ratio\"", "kind = \"ration\"", 22, "ratio, every_ratio, trend, value");
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
    check(
        "line = \"ten\", at = 10",
        "line = \"ten\", at = 7",
        23,
        "7 is no value of line \"ten\"; allowed: 1, 2, 10",
    );
    check("line = \"ten\", at = 10", "line = \"ten\"", 23, "needs a value of the knob");
    check("a = { group = \"g\"", "a = { group = \"h\"", 23, "no group \"h\"; allowed: g");
    check("kind = \"curve\"", "kind = \"curv\"", 28, "curve, heat, several");
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

#[test]
fn a_panel_of_ratios_names_a_base_that_is_there() {
    let heat = |more: &str| format!("kind = \"heat\"\n{more}");
    let panel = |kind: &str, line: usize, wrong: &str| check("kind = \"curve\"", kind, line, wrong);
    panel(&heat(""), 28, "their base is missing; allowed: base = { at = VALUE }");
    panel(&heat("base = { at = 7 }"), 29, "7 is no value of line \"ten\"");
    panel(&heat("base = { }"), 29, "line \"ten\" would be divided by itself");
    panel(&heat("base = { group = \"h\" }"), 29, "no group \"h\"; allowed: g");
    panel(&heat("base = { group = \"g\" }"), 29, "would be divided by itself");
    panel(&heat("base = { lines = [\"ten\"] }"), 29, "names 1 lines; allowed: 2, as are shown");
    panel(&heat("base = { lines = [\"ten\", \"ten\"] }"), 29, "\"ten\" would be divided by itself");
    panel(&heat("base = { lines = [\"thirty\", \"tin\"] }"), 29, "ten | thirty");
    panel(&heat("base = { line = \"ten\" }"), 29, "unknown field `line`");
    panel(
        &heat("at = [7]\nbase = { at = 1 }"),
        29,
        "7 is no value of a line of the map; allowed: 1",
    );
    panel(&heat("unit = \"us\"\nbase = { at = 1 }"), 28, "kind heat with a base has no unit");
    panel("kind = \"curve\"\nmodel = true\nbase = { at = 1 }", 28, "with a base has no model");
    panel("kind = \"curve\"\nat = [1]", 28, "of kind curve has no at; allowed: lines, metric");
    panel("kind = \"stages\"\nbase = { at = 1 }", 28, "kind stages with a base has no base");
    let metric = "kind = \"curve\"\nmodel = true\nmetric = \"latency_us.p99\"";
    panel(metric, 28, "the model says nothing of latency_us.p99");
    let lines = "kind = \"timeline\"\nlines = [\"ten\", \"thirty\"]";
    panel(lines, 28, "several lines are shown at one value of the knob: at = [x]");
    panel(&format!("{lines}\nat = [7]"), 29, "7 is no value of line \"ten\"");
    let without = GOOD.replace("model = \"readers\"\n", "");
    let text = without.replace("kind = \"curve\"", "kind = \"curve\"\nmodel = true");
    let error = parse(&text, false).unwrap_err().to_string();
    assert!(error.contains("group \"g\" has no model to draw"), "{error}");
}

/// The base of another group, the lines in their order, and the value of the knob.
#[test]
fn a_base_is_one_point_for_each_that_is_shown() {
    let second = GOOD[GOOD.find("[[group]]").unwrap()..GOOD.find("[[claim]]").unwrap()]
        .replace("name = \"g\"", "name = \"h\"");
    let base = |base: &str| {
        let panel = format!("kind = \"heat\"\nbase = {base}");
        let text = GOOD.replacen("kind = \"curve\"", &panel, 1);
        let experiment =
            parse(&text.replacen("[[claim]]", &format!("{second}[[claim]]"), 1), false);
        let PanelKind::Heat { base, .. } = experiment.unwrap().panels.remove(0).kind else {
            panic!("it is a map");
        };
        base
    };
    let at = |number: u32| Scalar::of(&toml::Value::Integer(number.into())).unwrap();
    let point = base("{ group = \"h\", lines = [\"thirty\", \"ten\"] }").of(0, &at(2)).unwrap();
    assert_eq!((point.line.group.as_str(), point.line.line.as_str()), ("h", "thirty"));
    assert!(point.at.is(&at(2)));
    let point = base("{ at = 1 }").of(1, &at(10)).unwrap();
    assert_eq!((point.line.group.as_str(), point.line.line.as_str()), ("g", "thirty"));
    assert!(point.at.is(&at(1)) && base("{ at = 1 }").of(2, &at(10)).is_none());
}

#[test]
fn a_claim_about_a_ratio_along_the_knob_names_lines_and_values_of_both() {
    let claim = |text: &str| {
        let from = GOOD.find("kind = \"ratio\"").unwrap();
        let to = GOOD.find("[[panel]]").unwrap();
        parse(&format!("{}{text}\n{}", &GOOD[..from], &GOOD[to..]), false)
    };
    let (a, b) =
        ("a = { group = \"g\", line = \"ten\" }", "b = { group = \"g\", line = \"thirty\" }");
    let trend = |more: &str| claim(&format!("kind = \"trend\"\n{a}\n{more}"));
    let every = |more: &str| claim(&format!("kind = \"every_ratio\"\n{a}\n{b}\n{more}"));
    assert!(trend("direction = \"falls\"").is_ok());
    assert!(trend(&format!("{b}\ndirection = \"rises\"\ntolerance = 0.1")).is_ok());
    assert!(every("values = [1, 10]\nmin = 1.5\nmax = 3.0").is_ok());
    let refused = |parsed: Result<Experiment, FileError>, wrong: &str| {
        let text = parsed.unwrap_err().to_string();
        assert!(text.contains(wrong) && !text.contains('\n'), "{text}");
    };
    refused(trend(""), "the direction is missing; allowed: falls, rises");
    refused(trend("direction = \"down\""), "direction \"down\"; allowed: falls, rises");
    refused(trend("direction = \"falls\"\nvalues = [1]"), "a trend needs two numbers or more");
    refused(trend("direction = \"falls\"\nvalues = [1, 3]"), "3 is no value of line");
    refused(trend("direction = \"falls\"\nmin = 1.0"), "of kind trend has no min");
    refused(every("values = [1, 3]\nmin = 1.0"), "3 is no value of line");
    refused(every(""), "what is wanted?");
    refused(every("min = 1.0\nmodel = true"), "of kind every_ratio has no model");
    let at = a.replace(" }", ", at = 1 }");
    let text = format!("kind = \"every_ratio\"\n{at}\n{b}\nmin = 1.0");
    refused(claim(&text), "at: this kind looks at whole lines; allowed: values");
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

/// A claim or a panel that names what is not there would be found when somebody wants to run it.
#[test]
fn every_experiment_beside_the_lab_is_read_in_both_forms() {
    let names = crate::predict::MODELS.iter().map(|name| (*name).to_owned()).collect();
    let reports = Some(Reports::known().unwrap());
    let known = Known { models: Some(names), reports, ..Known::default() };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../experiments");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        for quick in [false, true] {
            if let Err(error) = read(&path, &text, &known, quick) {
                panic!("{error}");
            }
        }
        count += 1;
    }
    assert!(count >= 4, "{count} files");
}

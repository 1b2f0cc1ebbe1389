//! Small experiments from the file to the report.

use crate::kit::{Place, command, lab, small, stderr, stdout, text};
use std::io::{BufRead, BufReader, Read};
use std::process::Command;

const CLAIMS: &str = "[[claim]]\ntext = \"Every call counts\"\nkind = \"value\"\n\
    a = { group = \"g\", at = 1 }\nmin = 1.0\n";

#[test]
fn an_experiment_leaves_a_folder_with_everything_that_repeats_it() {
    let place = Place::new();
    let file = place.file("small.toml", &small(2, CLAIMS));
    let ended = lab(&["run", &file, "--out", text(&place.path("r"))]);
    assert_eq!(ended.status.code(), Some(0), "{}{}", stdout(&ended), stderr(&ended));
    assert!(stdout(&ended).contains("holds              Every call counts"), "{}", stdout(&ended));
    assert_eq!(place.read("r/runs.jsonl").lines().count(), 6, "two points and a twin, twice");
    let summary = place.read("r/summary.md");
    for part in ["## Verdicts", "| Every call counts | holds |", "X <= C / (D_client + D_server)"] {
        assert!(summary.contains(part), "{part}: {summary}");
    }
    let page = place.read("r/report.html");
    assert_eq!(page.matches("<figure>").count(), 2);
    assert!(place.read("r/commands.sh").contains("# echo-server --readers=2\n"));
    assert_eq!(place.read("r/experiment.toml"), small(2, CLAIMS));
    assert!(place.read("r/prediction.json").contains("\"calls_per_s\""));
    let same = lab(&["compare", text(&place.path("r")), text(&place.path("r"))]);
    assert_eq!(same.status.code(), Some(0), "{}", stdout(&same));
    assert!(stdout(&same).ends_with("verdict: no difference\n"), "{}", stdout(&same));
    let again = lab(&["report", text(&place.path("r"))]);
    assert_eq!(again.status.code(), Some(0));
    assert_eq!(place.read("r/summary.md"), summary, "the report follows from the folder alone");
}

#[test]
fn a_claim_that_does_not_hold_ends_with_1() {
    let place = Place::new();
    let file = place.file("small.toml", &small(1, &CLAIMS.replace("min = 1.0", "max = 1.0")));
    let ended = lab(&["run", &file, "--out", text(&place.path("r"))]);
    assert_eq!(ended.status.code(), Some(1), "{}", stderr(&ended));
    assert!(stdout(&ended).contains("does not hold"), "{}", stdout(&ended));
}

#[test]
fn an_interrupt_keeps_what_was_finished() {
    let place = Place::new();
    let file = place.file("small.toml", &small(1000, CLAIMS));
    let mut running = command(&["run", &file, "--out", text(&place.path("r"))]).spawn().unwrap();
    let mut said = BufReader::new(running.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains(" 2 of 3000") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "it ended before two runs were done");
    }
    let pid = running.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    let ended = running.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130), "{rest}");
    assert!(rest.contains("interrupted; what was finished is kept"), "{rest}");
    assert!(place.read("r/runs.jsonl").lines().count() >= 2);
    let summary = place.read("r/summary.md");
    assert!(summary.contains("Interrupted (Interrupt): only what was finished"), "{summary}");
}

#[test]
fn a_server_that_refuses_its_options_is_quoted() {
    let place = Place::new();
    let bad =
        small(1, "").replace("values = [1, 2]", "values = [0]").replace("at = 1 }", "at = 0 }");
    let file = place.file("small.toml", &bad);
    let ended = lab(&["run", &file, "--out", text(&place.path("r"))]);
    assert_eq!(ended.status.code(), Some(2));
    let said = stderr(&ended);
    assert!(said.contains("echo-server refuses its options: invalid value '0'"), "{said}");
}

#[test]
fn a_gate_that_fails_makes_no_figure_and_ends_with_1() {
    let place = Place::new();
    let bad = small(1, "").replace("[client]", "[server]\nallow = \"10.0.0.0/8\"\n[client]");
    let file = place.file("small.toml", &bad);
    let ended = lab(&["run", &file, "--out", text(&place.path("r"))]);
    assert_eq!(ended.status.code(), Some(1), "{}", stderr(&ended));
    assert!(stderr(&ended).contains("the correctness gate failed, nothing was measured"));
    assert!(!place.path("r/runs.jsonl").exists());
}

#[test]
fn output_that_cannot_be_written_ends_with_74_and_a_closed_pipe_is_no_fault() {
    let demands = ["--reader-us", "28.4", "--duration", "20ms"];
    let words = [&["simulate"][..], &demands].concat();
    let full = || std::fs::File::options().write(true).open("/dev/full").unwrap();
    let ended = command(&words).stdout(full()).output().unwrap();
    assert_eq!(ended.status.code(), Some(74), "{}", stderr(&ended));
    assert!(stderr(&ended).contains("cannot write standard output: "), "{}", stderr(&ended));
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let ended = command(&words).stdout(writer).output().unwrap();
    assert_eq!((ended.status.code(), stderr(&ended).as_str()), (Some(0), ""));
    let place = Place::new();
    let file = place.file("small.toml", &small(1, ""));
    let ended = lab(&["run", &file, "--out", &file]);
    assert_eq!(ended.status.code(), Some(74), "{}", stderr(&ended));
}

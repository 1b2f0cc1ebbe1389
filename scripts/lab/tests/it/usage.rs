//! What is wrong is said in one line, with the place.

use crate::kit::{Place, lab, small, stderr, text};

const MISTYPED: &str = "kind = \"curve\"\nmetric = \"latency_us.p9\"";

#[test]
fn a_bad_experiment_ends_with_2_and_one_line_that_names_the_place() {
    let place = Place::new();
    for (old, new, line, wrong) in [
        ("server.readers", "server.reeders", 17, "echo-server has no option \"reeders\""),
        ("stages = 10", "stage = 10", 6, "echo-client has no option \"stage\""),
        ("values = [1, 2]", "values = []", 17, "values is empty"),
        ("mode = \"real\"", "mode = \"reel\"", 10, "allowed: real, paced, simulated"),
        ("rounds = 1", "rounds = ", 12, ""),
        ("kind = \"stages\"", MISTYPED, 26, "no number latency_us.p9; nearest: latency_us."),
    ] {
        let bad = small(1, "").replacen(old, new, 1);
        let file = place.file("bad.toml", &bad);
        let out = place.path("never");
        let ended = lab(&["run", &file, "--out", text(&out)]);
        assert_eq!(ended.status.code(), Some(2), "{new}: {}", stderr(&ended));
        let said = stderr(&ended);
        let last = said.trim_end().lines().last().unwrap();
        assert!(last.contains(&format!("bad.toml:{line}: ")), "{new}: {said}");
        assert!(last.contains(wrong), "{new}: {said}");
        assert!(!out.exists(), "nothing was begun");
    }
}

#[test]
fn an_unknown_name_tells_which_experiments_there_are() {
    let ended = lab(&["run", "raeders"]);
    assert_eq!(ended.status.code(), Some(2));
    assert!(stderr(&ended).contains("or one of "), "{}", stderr(&ended));
    assert!(stderr(&ended).contains("readers"), "{}", stderr(&ended));
}

#[test]
fn a_folder_that_holds_something_is_not_overwritten() {
    let place = Place::new();
    let file = place.file("small.toml", &small(1, ""));
    let ended = lab(&["run", &file, "--out", text(&place.path("."))]);
    assert_eq!(ended.status.code(), Some(2));
    assert!(stderr(&ended).contains("is not empty; results are never overwritten"));
}

/// Neither a crash nor an internal error, whatever is given to be compared.
#[test]
fn what_is_no_result_ends_with_2_and_one_line() {
    let place = Place::new();
    let garbage = place.file("garbage.json", "{\"half");
    let list = place.file("list.json", "[]");
    let other = place.file("other.json", "{\"program\": \"echo-client\"}");
    let here = text(&place.path(".")).to_owned();
    let missing = text(&place.path("missing")).to_owned();
    for words in [
        ["compare", &garbage, &garbage],
        ["compare", &list, &list],
        ["compare", &other, &other],
        ["compare", &here, &here],
        ["compare", &here, &list],
        ["compare", &missing, &here],
        ["run", &here, "--quick"],
        ["run", "", "--quick"],
    ] {
        let ended = lab(&words);
        assert_eq!(ended.status.code(), Some(2), "{words:?}: {}", stderr(&ended));
        assert_eq!(stderr(&ended).lines().count(), 1, "{words:?}: {}", stderr(&ended));
    }
    assert_eq!(lab(&["report", &here]).status.code(), Some(2));
}

#[test]
fn a_folder_without_the_programs_is_named() {
    let place = Place::new();
    let file = place.file("small.toml", &small(1, ""));
    let ended = lab(&["run", &file, "--programs", text(&place.path("."))]);
    assert_eq!(ended.status.code(), Some(2));
    assert!(stderr(&ended).contains("allowed: a folder that holds"), "{}", stderr(&ended));
}

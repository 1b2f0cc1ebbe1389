//! Lines that want Hadoop's own server.

use crate::kit::{Place, command, small, stderr, stdout, text};

const CLAIM: &str = "[[claim]]\ntext = \"Both are fast\"\nkind = \"ratio\"\n\
    a = { group = \"g\", line = \"theirs\", at = 1 }\n\
    b = { group = \"g\", line = \"ours\", at = 1 }\nmin = 0.1\n";

/// The small experiment with a line for each server.
fn both() -> String {
    let lines = "values = [1, 2] }\nlines = [\n  { name = \"ours\" },\n  \
                 { name = \"theirs\", peer = \"hadoop\" },\n]\n";
    let (old, stages) = ("values = [1, 2] }\n", "[[panel]]\ntitle = \"Stages\"");
    let file = small(1, CLAIM).replacen(old, lines, 1);
    let (before, after) = file.split_once(stages).unwrap();
    format!("{before}{}", &after[after.find("[[claim]]").unwrap()..])
}

#[test]
fn without_jars_they_are_said_to_be_not_measured_and_the_rest_is_measured() {
    let place = Place::new();
    let file = place.file("both.toml", &both());
    let mut lab = command(&["run", &file, "--out", text(&place.path("r"))]);
    let ended = lab.env_remove("HADOOP_JARS").output().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{}{}", stdout(&ended), stderr(&ended));
    assert_eq!(place.read("r/runs.jsonl").lines().count(), 3, "two points of ours and a twin");
    let said = stdout(&ended);
    assert!(said.contains("not measured       Both are fast"), "{said}");
    assert!(said.contains("seen HADOOP_JARS is not set; wanted at least 0.1"), "{said}");
    let summary = place.read("r/summary.md");
    assert!(summary.contains("| theirs | not measured: HADOOP_JARS is not set |"), "{summary}");
}

#[test]
fn a_folder_without_jars_ends_with_2_and_one_line_that_names_it() {
    let place = Place::new();
    let file = place.file("both.toml", &both());
    let out = place.path("never");
    let mut lab = command(&["run", &file, "--out", text(&out)]);
    let ended = lab.env("HADOOP_JARS", place.path(".")).output().unwrap();
    assert_eq!(ended.status.code(), Some(2), "{}", stderr(&ended));
    let said = stderr(&ended);
    let last = said.trim_end().lines().last().unwrap();
    assert!(last.starts_with("lab: hadoop-server: HADOOP_JARS=") && !out.exists(), "{said}");
    assert!(last.ends_with("allowed: a folder that has"), "{said}");
}

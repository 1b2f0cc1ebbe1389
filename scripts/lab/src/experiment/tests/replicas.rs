//! Followers, rates of other points and pauses: what a file may say of them.

use super::super::made_up::assert_refused;
use super::super::*;
use std::path::Path;
use std::time::Duration;

const FILE: &str = r#"name = "e"
title = "T"
question = "Q?"
[[group]]
name = "part"
mode = "paced"
title = "P"
duration = "3s"
followers = 2
follower = { handlers = 3 }
pause = { follower = 2, at = "1s", for = "500ms" }
knob = { option = "client.in-flight", values = [1, 5] }
lines = [
  { name = "one", client = { acks = "1" }, rate = { share = 0.7, of = { OF, at = 5 } } },
  { name = "all", client = { acks = "all" }, followers = 3, rate = { share = 0.7, of = { OF } } },
]
quick = { duration = "2s", values = [5] }
[[group]]
name = "full"
mode = "paced"
title = "F"
knob = { option = "client.in-flight", values = [1, 2, 5] }
lines = [{ name = "one", client = { acks = "1" } }, { name = "other" }]
quick = { values = [2, 5] }
"#;

fn good() -> String {
    FILE.replace("OF", "group = \"full\", line = \"one\"")
}

fn parse(text: &str, quick: bool) -> Result<Experiment, FileError> {
    read(Path::new("x.toml"), text, &Known::default(), quick)
}

#[test]
fn followers_rates_and_pauses_are_read_and_the_nearest_place_wins() {
    let experiment = parse(&good(), false).unwrap();
    let points = experiment.groups[0].points();
    let first = &points[0];
    assert_eq!((first.followers, points[2].followers), (2, 3));
    assert_eq!(first.options.arguments(Side::Follower), ["--handlers=3"]);
    let pause = first.pause.unwrap();
    assert_eq!((pause.follower, pause.at), (2, Duration::from_secs(1)));
    assert_eq!(pause.length, Duration::from_millis(500));
    let source = |point: &Point| {
        let rate = point.rate.as_ref().unwrap();
        (rate.share, rate.point.line.group.clone(), rate.point.at.to_string())
    };
    assert_eq!(source(first), (0.7, "full".to_owned(), "5".to_owned()));
    assert_eq!(source(&points[2]), (0.7, "full".to_owned(), "1".to_owned()), "the same value");
    assert_eq!(experiment.groups[0].loop_words(), "open loop");
    let full = experiment.groups[1].points();
    assert!(full.iter().all(|point| point.followers == 0 && point.rate.is_none()));
}

#[test]
fn a_group_is_measured_behind_those_that_decide_its_rates() {
    for quick in [false, true] {
        let experiment = parse(&good(), quick).unwrap();
        let names = |groups: Vec<&Group>| -> Vec<String> {
            groups.into_iter().map(|group| group.name.clone()).collect()
        };
        assert_eq!(names(experiment.in_order()), ["full", "part"]);
        assert_eq!(names(experiment.groups.iter().collect()), ["part", "full"], "as in the file");
    }
}

/// Replaces a part of the good file and expects one line that names the place.
fn check(old: &str, new: &str, line: usize, wrong: &str) {
    assert!(good().contains(old), "{old}");
    assert_refused(parse(&good().replacen(old, new, 1), false), new, line, wrong);
}

#[test]
fn followers_that_cannot_be_are_refused() {
    check("followers = 2", "followers = 17", 9, "allowed are 0 to 16");
    check("followers = 2", "followers = -1", 9, "");
    check("followers = 2", "followers = 0", 14, "\"one\" has options of followers and none");
    check("handlers = 3", "listen = \"x\"", 10, "--listen is set by the lab itself");
    check("handlers = 3", "followers = \"x\"", 10, "--followers is set by the lab itself");
    check(
        "client.in-flight\", values = [1, 5]",
        "follower.handlers\", values = [1, 5]",
        10,
        "is the knob",
    );
    check("mode = \"paced\"", "mode = \"simulated\"", 12, "allowed here: simulate.NAME");
    let hadoop = "{ name = \"one\", peer = \"hadoop\",";
    check("{ name = \"one\",", hadoop, 14, "Hadoop's server has no followers");
    let real = "mode = \"real\"\nserver = { }";
    let text = good().replacen("mode = \"paced\"", real, 1).replace("= 3 }", "= \"paced:1ms\" }");
    assert!(parse(&text, false).unwrap_err().to_string().contains("emulates a stage"));
}

#[test]
fn a_rate_of_nothing_or_of_itself_is_refused() {
    let of = "group = \"full\", line = \"one\", at = 5";
    check("share = 0.7", "share = 1.5", 14, "share: allowed is above 0 and up to 1");
    check(of, "group = \"fall\", at = 5", 14, "no group \"fall\"");
    check(of, "group = \"full\", at = 5", 14, "which line is meant");
    check(of, "group = \"full\", line = \"one\", at = 3", 14, "3 is no value of line \"one\"");
    check("values = [1, 2, 5]", "values = [2, 5]", 15, "1 is no value of line \"one\"");
    check(of, "group = \"part\", line = \"all\", at = 5", 14, "that of another group");
    check("{ acks = \"1\" }, rate", "{ rate = 5 }, rate", 14, "option rate is given, too");
    let back =
        "{ name = \"one\", rate = { share = 0.5, of = { group = \"part\", line = \"all\" } },";
    let text = good().replacen("[{ name = \"one\",", &format!("[{back}"), 1);
    let text = text.replace("values = [1, 2, 5]", "values = [1, 5]");
    let error = parse(&text, false).unwrap_err().to_string();
    assert!(error.contains("rates go in a circle: groups part, full"), "{error}");
}

#[test]
fn a_quick_form_without_a_rates_source_is_refused_in_either_form() {
    for (old, new) in [
        ("quick = { values = [2, 5] }", "quick = { values = [1, 2] }"),
        ("quick = { values = [2, 5] }", "quick = { lines = [\"other\"] }"),
        ("quick = { values = [2, 5] }", "quick = { run = false }"),
    ] {
        for quick in [false, true] {
            let error = parse(&good().replacen(old, new, 1), quick).unwrap_err();
            let wrong = "--quick leaves out full, one, 5, and part takes a rate from it";
            assert!(error.to_string().contains(wrong), "{new}: {error}");
            assert_eq!(error.line, 5);
        }
    }
}

#[test]
fn a_pause_lies_in_the_measured_part_of_both_forms_and_names_a_follower() {
    check("follower = 2,", "follower = 3,", 11, "there is no follower 3 of 2");
    check("follower = 2,", "follower = 0,", 11, "there is no follower 0 of 2");
    check("at = \"1s\"", "at = \"2600ms\"", 11, "it ends 3s100ms into the measured part");
    check("at = \"1s\"", "at = \"1\"", 11, "at: ");
    check("for = \"500ms\"", "for = \"0s\"", 11, "for: ");
    check("quick = { duration = \"2s\"", "quick = { duration = \"1s\"", 11, "which is 1s long");
}

//! README.md and `--help` name the same options.

use crate::kit::Client;
use std::collections::BTreeSet;

/// Names of options, as in `--name`, that stand in the first cell of a table's rows.
fn in_readme(chapter: &str) -> BTreeSet<String> {
    let readme = include_str!("../../../README.md");
    let (_, rest) = readme.split_once(chapter).expect("the chapter");
    let chapter = rest.split("\n## ").next().expect("its end");
    let cells = chapter.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
    let words = cells.flat_map(|cell| cell.split(['`', ' ', ',']));
    words.filter_map(|word| word.strip_prefix("--")).map(str::to_owned).collect()
}

/// Names of options that begin a line.
fn in_help(help: &str) -> BTreeSet<String> {
    let first = help.lines().filter_map(|line| {
        let line = line.trim_start();
        let line = if line.starts_with("--") { line } else { line.get(4..)? };
        let indented = line.strip_prefix("--")?;
        indented.split(|c: char| !c.is_ascii_lowercase() && c != '-').next()
    });
    first.filter(|name| !["help", "version"].contains(name)).map(str::to_owned).collect()
}

#[test]
fn every_option_is_in_the_table_and_the_table_has_no_other() {
    let ended = Client::start("--help").end();
    assert_eq!(ended.code, Some(0));
    let (there, here) = (in_help(&ended.stdout), in_readme("## Options of echo-client"));
    assert!(there.len() > 20, "{there:?}");
    assert_eq!(there, here, "--help (left) and README.md (right)");
}

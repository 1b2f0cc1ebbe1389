//! The table of limits against the options and the counters.

use crate::meters::LimitMeters;
use crate::options::Options;
use clap::{CommandFactory, Parser};
use echo_common::wire::hadoop::fault::Package;

#[test]
fn every_row_names_an_option_its_value_and_a_counter() {
    let options = Options::try_parse_from(["echo-server"]).expect("defaults");
    let table = options.plan(&[0]).expect("defaults fit").config.limits_table();
    let command = Options::command();
    let counters: Vec<&str> = LimitMeters::default().all().map(|(name, _)| name).collect();
    assert!(table.lines().count() > 13, "{table}");
    let mut option = "";
    for row in table.lines().skip(1) {
        let columns: Vec<&str> = row.split("  ").filter(|column| !column.is_empty()).collect();
        // An indented row is more about the option before it.
        option = columns[0].strip_prefix("--").unwrap_or(option);
        assert!(columns[0].starts_with("--") || row.starts_with(' '), "{row}");
        let known = command.get_arguments().any(|argument| argument.get_long() == Some(option));
        assert!(known, "{option} is no option");
        let counter = columns[2].trim();
        assert!(counter.starts_with('(') || counters.contains(&counter), "no counter {counter}");
    }
}

#[test]
fn queues_that_nothing_goes_through_are_said_not_to_be_used() {
    let check = |arguments: &str, used: [bool; 3]| {
        let arguments = ["echo-server"].into_iter().chain(arguments.split_whitespace());
        let options = Options::try_parse_from(arguments).expect("legal");
        let table = options.plan(&[0]).expect("they fit").config.limits_table();
        for (option, used) in
            ["--queue-capacity", "--log-capacity", "--handler-queue"].iter().zip(used)
        {
            let row = table.lines().find(|row| row.starts_with(option)).expect("a row");
            assert_eq!(!row.contains("not used"), used, "{row}");
        }
    };
    check("", [true, false, false]);
    check("--handlers 0", [false; 3]);
    check("--dispatch keyed", [true; 3]);
}

#[test]
fn every_time_that_is_off_is_never() {
    let arguments = [
        "echo-server",
        "--handshake-timeout=off",
        "--frame-timeout=0",
        "--idle-timeout=off",
        "--write-stall-timeout=off",
    ];
    let options = Options::try_parse_from(arguments).expect("legal");
    let read = options.plan(&[0]).expect("they fit").config.limits.read(Package::Ipc);
    for limit in [
        read.handshake_timeout_ns,
        read.frame_timeout_ns,
        read.idle_timeout_ns,
        read.write_stall_timeout_ns,
    ] {
        assert_eq!(limit, u64::MAX);
    }
}

//! The lines of counters.

use super::*;
use crate::admission::Admission;
use crate::call_queue::{CallQueue, WhenFull};
use crate::cost::StageCosts;
use crate::meters::Meters;
use crate::ordered_log::OrderedLog;
use crate::snapshot::Snapshots;
use std::collections::HashSet;
use std::sync::Arc;

fn snapshot() -> Snapshot {
    let meters = Arc::new(Meters::new(2, 2));
    let queue = Arc::new(CallQueue::new(10, 2, 2, WhenFull::Wait, 0));
    let admission = Admission::new(1, None, vec![]);
    let log = Some(Arc::new(OrderedLog::new(10)));
    Snapshots::new(meters, Some(queue), log, admission, true, StageCosts::default()).take()
}

#[test]
fn nothing_at_all_is_zero_and_not_nonsense() {
    let now = snapshot();
    for text in [line(&now, &now), summary(&now)] {
        for nonsense in ["NaN", "nan", "inf"] {
            assert!(!text.contains(nonsense), "{nonsense} in {text}");
        }
    }
    assert_eq!(line(&now, &now).lines().count(), 1);
}

#[test]
fn rates_are_of_the_time_between_the_snapshots() {
    let before = snapshot();
    let mut now = before.clone();
    now.uptime_ns += 2_000_000_000;
    now.calls += 5_000_000;
    now.readers[0].cpu_ns += 1_000_000_000;
    now.readers[0].calls += 300;
    now.readers[0].wakeups += 100;
    let text = line(&before, &now);
    assert!(text.starts_with("2,500,000 calls/s"), "{text}");
    assert!(text.contains(" 50 % (3.0) 0 % (0.0)"), "{text}");
}

#[test]
fn the_stages_of_a_dispatch_by_key_are_in_the_line() {
    let before = snapshot();
    let mut now = before.clone();
    now.uptime_ns += 1_000_000_000;
    let keyed = now.keyed.as_mut().expect("there is a log");
    keyed.serial.cpu_ns += 250_000_000;
    keyed.dispatcher.paced_ns += 900_000_000;
    keyed.dispatcher.calls += 300;
    keyed.calls_on_serial += 100;
    keyed.cycles += 4;
    keyed.backlog = 1234;
    let text = line(&before, &now);
    assert!(text.contains("serial 25 %, dispatcher 90 % busy, batches of 100.0, backlog 1,234"));
    let mut quiet = before.clone();
    quiet.keyed = None;
    assert!(!line(&quiet, &quiet).contains("dispatcher"));
}

#[test]
fn what_was_rejected_is_not_served() {
    let mut last = snapshot();
    last.calls = 1000;
    assert!(summary(&last).starts_with("served 1,000 calls in "), "{}", summary(&last));
    last.queue.as_mut().expect("a queue").rejected = 999;
    let text = summary(&last);
    assert!(text.starts_with("served 1 call, rejected 999, in "), "{text}");
}

#[test]
fn the_summary_has_every_counter_once_as_name_and_number() {
    let last = snapshot();
    let text = summary(&last);
    let counters = text.lines().find_map(|line| line.strip_prefix("counters:")).expect("counters");
    let mut names = HashSet::new();
    for pair in counters.split_whitespace() {
        let (name, count) = pair.split_once('=').expect("name=count");
        count.parse::<u64>().expect("a number");
        assert!(names.insert(name), "{name} twice");
    }
    for name in last.limits.keys().copied().chain(["calls", "stats_calls", "replies"]) {
        assert!(names.contains(name), "{name} is missing");
    }
}

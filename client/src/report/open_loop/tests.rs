//! What is said of a schedule, by what came of it.

use super::*;

/// A run at 1,000 calls/s, and what shall be said of it.
struct Case {
    arrivals: Arrivals,
    rate: f64,
    answered: Answered,
    backlog: [u64; 2],
}

fn case(rate: f64, seconds: f64, ok: u64, backlog: [u64; 2]) -> Case {
    let due = (rate * seconds).ceil() as u64;
    let answered = Answered { due, seconds, ok, ..Answered::default() };
    Case { arrivals: Arrivals::Uniform, rate, answered, backlog }
}

fn figures(case: &Case) -> OpenLoopFigures {
    let Case { arrivals, rate, answered, backlog } = *case;
    let pace = Pace { calls_per_s: rate, arrivals, workers: 2, calls: None, seed: 0 };
    let half = |count: u64| [count / 2, count - count / 2];
    let (early, late) = (half(backlog[0]), half(backlog[1]));
    let workers = [0, 1].map(|worker| ScheduleResult {
        backlog: [early[worker], late[worker]],
        ..ScheduleResult::default()
    });
    OpenLoopFigures::of(&pace, workers.into_iter(), &answered)
}

fn check(case: &Case, reached: Option<bool>, overloaded: bool, words: &str) {
    let figures = figures(case);
    let text = figures.words("calls", "right replies");
    assert_eq!((figures.is_reached(), figures.overloaded), (reached, overloaded), "{figures:?}");
    assert!(text.contains(words), "{words}: {text}");
}

#[test]
fn a_rate_that_the_server_did_not_keep_up_is_never_called_reached() {
    // However short the run is: a server that can do 1,000 calls/s.
    let behind = |rate, seconds, ok, backlog| {
        check(&case(rate, seconds, ok, backlog), Some(false), true, "did not keep up");
    };
    behind(3000.0, 3.0, 3000, [4000, 6000]);
    behind(1500.0, 0.2, 200, [67, 100]);
    behind(1100.0, 1.0, 1000, [67, 100]);
    behind(1200.0, 1.0, 1000, [333, 400]);
    behind(950.0, 5.0, 4500, [166, 250]);
    // -n 100 at 3,000 calls/s: the window lasts until the last reply.
    let count = Case {
        answered: Answered { due: 100, seconds: 0.1, ok: 100, ..Answered::default() },
        ..case(3000.0, 0.1, 100, [45, 67])
    };
    check(&count, Some(false), true, "33.3 %");
}

#[test]
fn refused_calls_and_those_without_a_reply_in_time_are_overload_without_a_backlog() {
    let base = case(3000.0, 3.0, 3000, [10, 10]);
    let with = |answered| Case { answered, ..case(3000.0, 3.0, 3000, [10, 10]) };
    let rejected = with(Answered { rejected: 6000, ..base.answered });
    check(&rejected, Some(false), true, "6,000 refused as too busy");
    let late = with(Answered { ok: 234, timed_out: 8766, ..base.answered });
    check(&late, Some(false), true, "8,766 timed out");
    // What was lost in other ways is no overload, and no reached rate either.
    check(&base, Some(false), false, "33.3 %");
}

#[test]
fn a_server_that_takes_its_time_is_not_overloaded() {
    let slow = case(60.0, 1.5, 81, [9, 9]);
    let answered = Answered { mean_s: Some(0.15), ..slow.answered };
    check(&Case { answered, ..slow }, Some(false), false, "did not pile up");
    check(&case(1000.0, 5.0, 5000, [1, 1]), Some(true), false, "100.0 %");
    check(&case(1000.0, 5.0, 4960, [40, 40]), Some(true), false, "99.2 %");
}

/// Seen with --net-delay 100ms and --in-flight 1: every record went with the next call of its
/// connection, and twice as many were due when a call came back as when it had just gone.
#[test]
fn records_that_wait_for_their_connections_next_call_do_not_pile_up() {
    let with = |case: Case, mean_s, call_s, in_flight| {
        let rounds = Some(Rounds { call_s, room: 128.0 * (in_flight + 1.0) });
        Case { answered: Answered { mean_s: Some(mean_s), rounds, ..case.answered }, ..case }
    };
    let words = "did not pile up";
    check(&with(case(500.0, 2.0, 808, [160, 192]), 0.291, 0.2, 5.0), Some(false), false, words);
    check(&with(case(500.0, 1.0, 303, [131, 197]), 0.300, 0.2, 1.0), Some(false), false, words);
    // A call of 128 records each 400 ms is too little, however few calls there were to see it.
    let words = "did not keep up";
    check(&with(case(500.0, 3.0, 641, [616, 731]), 1.228, 0.4, 1.0), Some(false), true, words);
    check(&with(case(1000.0, 1.0, 130, [540, 870]), 0.7, 0.4, 1.0), Some(false), true, words);
    // Room for all, and a server that takes longer and longer over them.
    let slow = with(case(10e3, 3.0, 15_000, [10_000, 15_000]), 0.75, 0.01, 500.0);
    check(&slow, Some(false), true, words);
}

#[test]
fn a_backlog_that_is_more_than_latency_explains_is_overload_from_the_first_second_on() {
    // 1,020 calls/s for a second, of 1,000 that the server can do: too little to see it grow.
    let near = case(1020.0, 1.0, 1000, [13, 20]);
    let answered = Answered { mean_s: Some(0.01), ..near.answered };
    check(&Case { answered, ..near }, Some(false), true, "20 due and not answered");
}

#[test]
fn what_one_call_or_chance_explains_is_said() {
    check(&case(0.5, 5.0, 3, [0, 0]), Some(true), false, "one call makes 40.0 %");
    check(&case(10.0, 1.0, 9, [1, 1]), Some(true), false, "one call makes 10.0 %");
    check(&case(0.2, 1.0, 1, [0, 0]), None, false, "not checked");
    check(&case(1000.0, 3.0, 3600, [0, 0]), Some(false), false, "120.0 %");
    let poisson = |due, ok, backlog| Case {
        arrivals: Arrivals::Poisson,
        answered: Answered { due, seconds: 5.0, ok, ..Answered::default() },
        ..case(1000.0, 5.0, ok, backlog)
    };
    check(&poisson(4850, 4848, [3, 2]), Some(true), false, "three standard deviations");
    check(&poisson(5000, 1650, [2200, 3350]), Some(false), true, "33.0 %");
    // Within what chance explains of the target, but not of what chance brought.
    check(&poisson(5100, 4850, [166, 250]), Some(false), true, "did not keep up");
}

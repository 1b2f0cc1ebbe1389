//! A follower that is stopped for a while in the measured part of a run, and what its clients saw
//! of it: calls per second before, meanwhile and afterwards.
//!
//! The lab knows when it stopped the follower, but not to the millisecond when the client's
//! measured part began: not before the client was started and its warm-up was over, and not so late
//! that the measured part could not have ended with the client. An interval of the client's counts
//! only if it lies on one side of both signals whichever moment between the two it was.

use crate::experiment::Pause;
use crate::process::Server;
use echo_common::clock;
use serde::Serialize;
use serde_json::Value;
use std::time::Duration;

/// A pause that is to come, goes on, or is over. Dropping it ends it.
pub(super) struct Pausing<'a> {
    server: &'a Server,
    plan: Pause,
    /// The measured part does not begin before this.
    begin_ns: u64,
    /// Before and after the signal, each.
    stopped_ns: Option<(u64, u64)>,
    resumed_ns: Option<(u64, u64)>,
    failure: Option<String>,
}

/// What the client saw; null where no interval was wholly there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct PauseFigures {
    follower: u32,
    /// Into the measured part, at the earliest, and what may have to be added.
    stopped_s: f64,
    resumed_s: f64,
    unsure_s: f64,
    calls_before_per_s: Option<f64>,
    /// Without the first interval, in which calls end that were under way.
    calls_during_per_s: Option<f64>,
    calls_after_per_s: Option<f64>,
    intervals_during: usize,
}

impl<'a> Pausing<'a> {
    /// Of a run whose client was started at `started_ns` and warms up so long.
    pub(super) fn new(
        server: &'a Server,
        plan: Pause,
        started_ns: u64,
        warmup: Duration,
    ) -> Pausing<'a> {
        let begin_ns = started_ns.saturating_add(clock::ns(warmup));
        Pausing { server, plan, begin_ns, stopped_ns: None, resumed_ns: None, failure: None }
    }

    /// Does what is due at `now_ns`; when the next thing is.
    pub(super) fn look(&mut self, now_ns: u64) -> u64 {
        let stop_ns = self.begin_ns.saturating_add(clock::ns(self.plan.at));
        match (self.stopped_ns, self.resumed_ns) {
            (None, _) if now_ns < stop_ns => stop_ns,
            (None, _) => {
                let stopped = self.server.pause();
                self.failure = stopped.err().map(|error| error.to_string());
                let after_ns = clock::now_ns();
                self.stopped_ns = Some((now_ns, after_ns));
                after_ns.saturating_add(clock::ns(self.plan.length))
            }
            (Some((_, stopped_ns)), None) => {
                let resume_ns = stopped_ns.saturating_add(clock::ns(self.plan.length));
                if now_ns < resume_ns {
                    return resume_ns;
                }
                self.resume(now_ns);
                u64::MAX
            }
            (Some(_), Some(_)) => u64::MAX,
        }
    }

    /// Ends the pause if it goes on. What the client saw of it, from its report; or what was wrong.
    pub(super) fn figures(mut self, report: &Value, ended_ns: u64) -> Result<PauseFigures, String> {
        self.resume(ended_ns);
        if let Some(failure) = self.failure.take() {
            return Err(format!("follower {}: {failure}", self.plan.follower));
        }
        let (Some(stopped), Some(resumed)) = (self.stopped_ns, self.resumed_ns) else {
            return Err("the client ended before the pause began".to_owned());
        };
        let window_s = report.pointer("/window/seconds").and_then(Value::as_f64).unwrap_or(0.0);
        let elapsed_s = report["elapsed_s"].as_f64().unwrap_or(0.0).max(window_s);
        let latest_ns = ended_ns.saturating_sub((elapsed_s * 1e9) as u64).max(self.begin_ns);
        let since = |begin_ns: u64, at_ns: u64| (at_ns as f64 - begin_ns as f64) / 1e9;
        let span = |(before_ns, after_ns): (u64, u64)| Span {
            earliest_s: since(latest_ns, before_ns),
            latest_s: since(self.begin_ns, after_ns),
        };
        let unsure_s = since(self.begin_ns, latest_ns);
        let spans = (span(stopped), span(resumed), window_s);
        Ok(figures(self.plan.follower, &intervals(report), spans, unsure_s))
    }

    fn resume(&mut self, now_ns: u64) {
        if self.stopped_ns.is_some() && self.resumed_ns.is_none() {
            if let Err(error) = self.server.resume() {
                self.failure.get_or_insert(error.to_string());
            }
            self.resumed_ns = Some((now_ns, clock::now_ns().max(now_ns)));
        }
    }
}

impl Drop for Pausing<'_> {
    fn drop(&mut self) {
        self.resume(clock::now_ns());
    }
}

/// When a signal came, in the client's time.
#[derive(Clone, Copy)]
struct Span {
    earliest_s: f64,
    latest_s: f64,
}

/// One of the client's intervals.
#[derive(Clone, Copy)]
struct Interval {
    start_s: f64,
    end_s: f64,
    calls: f64,
}

fn intervals(report: &Value) -> Vec<Interval> {
    let number = |row: &Value, name: &str| row.get(name).and_then(Value::as_f64);
    let one = |row: &Value| {
        let (start_s, end_s) = (number(row, "start_s")?, number(row, "end_s")?);
        Some(Interval { start_s, end_s, calls: number(row, "calls")? })
    };
    report["intervals"].as_array().into_iter().flatten().filter_map(one).collect()
}

fn figures(
    follower: u32,
    rows: &[Interval],
    (stopped, resumed, window_s): (Span, Span, f64),
    unsure_s: f64,
) -> PauseFigures {
    let before = rows.iter().filter(|row| row.end_s <= stopped.earliest_s);
    let inside =
        |row: &&Interval| row.start_s >= stopped.latest_s && row.end_s <= resumed.earliest_s;
    let during = rows.iter().filter(inside).skip(1);
    let after = |row: &&Interval| row.start_s >= resumed.latest_s && row.end_s <= window_s;
    PauseFigures {
        follower,
        stopped_s: stopped.earliest_s,
        resumed_s: resumed.earliest_s,
        unsure_s,
        calls_before_per_s: rate(before),
        calls_during_per_s: rate(during.clone()),
        calls_after_per_s: rate(rows.iter().filter(after)),
        intervals_during: during.count(),
    }
}

fn rate<'a>(rows: impl Iterator<Item = &'a Interval>) -> Option<f64> {
    let (mut calls, mut seconds) = (0.0, 0.0);
    for row in rows {
        calls += row.calls;
        seconds += row.end_s - row.start_s;
    }
    (seconds > 0.0).then(|| calls / seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Ten calls in each tenth of a second, but none from 1.0 to 2.0.
    fn rows() -> Vec<Interval> {
        let row = |tenth: u32| {
            let start_s = f64::from(tenth) / 10.0;
            let calls = if (10..20).contains(&tenth) { 0.0 } else { 10.0 };
            Interval { start_s, end_s: start_s + 0.1, calls }
        };
        (0..30).map(row).collect()
    }

    #[test]
    fn only_intervals_on_one_side_of_both_signals_count() {
        let at = |earliest_s: f64, latest_s: f64| Span { earliest_s, latest_s };
        let found = figures(1, &rows(), (at(0.95, 1.05), at(1.95, 2.05), 3.0), 0.1);
        assert!((found.calls_before_per_s.unwrap() - 100.0).abs() < 1e-6, "{found:?}");
        assert_eq!((found.calls_during_per_s, found.intervals_during), (Some(0.0), 7));
        assert!((found.calls_after_per_s.unwrap() - 100.0).abs() < 1e-6, "{found:?}");
        // The first interval behind the signal has what was under way.
        let found = figures(1, &rows(), (at(0.85, 0.85), at(1.95, 1.95), 3.0), 0.0);
        assert_eq!((found.calls_during_per_s, found.intervals_during), (Some(0.0), 9));
    }

    #[test]
    fn a_pause_without_a_whole_interval_has_no_rate() {
        let at = |s: f64| Span { earliest_s: s, latest_s: s };
        let found = figures(1, &rows(), (at(0.05), at(0.25), 3.0), 0.0);
        assert_eq!((found.calls_before_per_s, found.calls_during_per_s), (None, None));
        let found = figures(1, &[], (at(0.0), at(9.0), 3.0), 0.0);
        assert_eq!((found.calls_during_per_s, found.calls_after_per_s), (None, None));
    }

    #[test]
    fn the_intervals_are_those_of_the_report() {
        let report = json!({"intervals": [{"start_s": 0.0, "end_s": 0.5, "calls": 7},
            {"start_s": 0.5, "end_s": null, "calls": 1}]});
        let found = intervals(&report);
        assert_eq!((found.len(), found[0].end_s, found[0].calls), (1, 0.5, 7.0));
        assert!(intervals(&json!({})).is_empty());
    }
}

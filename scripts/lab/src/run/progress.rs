//! A line on standard error for each run, with the time that is left.

use echo_common::clock::{elapsed_ns, now_ns};
use echo_common::quantity::{format_duration, grouped};
use std::time::Duration;

/// How far an experiment is.
pub(super) struct Progress {
    runs: usize,
    done: usize,
    /// What the runs that are left were expected to take, and those that are done.
    planned_left: Duration,
    planned_done: Duration,
    started_ns: u64,
}

impl Progress {
    /// `planned` is what all `runs` together are expected to take.
    pub(super) fn new(runs: usize, planned: Duration) -> Progress {
        let planned_done = Duration::ZERO;
        Progress { runs, done: 0, planned_left: planned, planned_done, started_ns: now_ns() }
    }

    /// One run has ended that was expected to take `planned`.
    pub(super) fn step(&mut self, planned: Duration, what: &str, came: &str) {
        self.done += 1;
        self.planned_left = self.planned_left.saturating_sub(planned);
        self.planned_done += planned;
        let (done, runs) = (self.done, self.runs);
        eprintln!("lab: {done:>4} of {runs}: {what}: {came}{}", self.left());
    }

    /// So many runs that were expected to take `planned` each are not made.
    pub(super) fn leave_out(&mut self, runs: u32, planned: Duration, what: &str, why: &str) {
        self.runs = self.runs.saturating_sub(runs as usize);
        self.planned_left = self.planned_left.saturating_sub(planned * runs);
        eprintln!("lab: not measured: {what}: {why}");
    }

    fn left(&self) -> String {
        if self.done >= self.runs || self.planned_done.is_zero() {
            return String::new();
        }
        let elapsed = Duration::from_nanos(elapsed_ns(self.started_ns, now_ns()));
        let pace = elapsed.as_secs_f64() / self.planned_done.as_secs_f64();
        let left = self.planned_left.as_secs_f64() * pace;
        format!("; {} left", format_duration(Duration::from_secs(left.ceil() as u64)))
    }
}

/// A rate for people.
pub(super) fn rate(calls_per_s: Option<f64>) -> String {
    calls_per_s.map_or("no rate".to_owned(), |rate| format!("{} calls/s", grouped(rate as u64)))
}

//! Progress on standard error while the run goes on, fed by main from the workers' counters: no
//! call ever waits for it.

use crate::notice;
use crate::options;
use crate::plan::Plan;
use crate::timeline::Counts;
use echo_common::clock::{self, now_ns};
use echo_common::quantity::grouped;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;

/// How often a bar is drawn.
const BAR_NS: u64 = 200_000_000;
/// A bar counts in these, whatever the run counts in.
const BAR_LENGTH: u64 = 10_000;

/// Shows how far the run is.
pub(crate) struct Progress {
    form: Form,
    goal: Goal,
    period_ns: u64,
    next_ns: u64,
    /// When the measured phase began; warm-up before.
    start_ns: Option<u64>,
    last: (u64, Counts),
    emulated: bool,
    /// Nothing more is started.
    draining: bool,
}

enum Form {
    Nothing,
    Lines,
    Bar(ProgressBar),
}

/// What the run is on its way to; the one that is nearer is shown.
#[derive(Clone, Copy)]
struct Goal {
    calls: Option<u64>,
    duration_ns: Option<u64>,
}

impl Progress {
    /// Progress in the manner that the options ask for.
    pub(crate) fn new(plan: &Plan) -> Progress {
        let form = match plan.options.progress {
            options::Progress::None => Form::Nothing,
            options::Progress::Line => Form::Lines,
            options::Progress::Auto | options::Progress::Bar if is_terminal() => Form::Bar(bar()),
            options::Progress::Auto | options::Progress::Bar => Form::Lines,
        };
        let period_ns = match form {
            Form::Nothing => u64::MAX,
            Form::Lines => clock::ns(plan.options.interval),
            Form::Bar(_) => BAR_NS,
        };
        let now = now_ns();
        Progress {
            form,
            goal: Goal { calls: plan.calls, duration_ns: plan.options.duration.map(clock::ns) },
            period_ns,
            next_ns: now.saturating_add(period_ns),
            start_ns: None,
            last: (now, Counts::default()),
            emulated: false,
            draining: false,
        }
    }

    /// The measured phase begins; `emulated` says that its rates are no real ones.
    pub(crate) fn begin(&mut self, start_ns: u64, emulated: bool) {
        self.emulated = emulated;
        self.start_ns = Some(start_ns);
        self.last = (start_ns, Counts::default());
        self.next_ns = start_ns.saturating_add(self.period_ns);
    }

    /// Nothing more is started; what is in flight is waited for.
    pub(crate) fn drain(&mut self) {
        self.draining = true;
    }

    /// When to show something next.
    pub(crate) fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// Shows the counts, if it is time to.
    pub(crate) fn show(&mut self, now_ns: u64, counts: Counts) {
        if now_ns < self.next_ns {
            return;
        }
        self.next_ns = now_ns.saturating_add(self.period_ns);
        let (share, text) = match self.start_ns {
            None => (0.0, "warm-up".to_owned()),
            Some(start) => {
                let elapsed = now_ns.saturating_sub(start);
                let (share, done) = self.goal.reached(elapsed, counts.ok + counts.failed);
                let seconds = now_ns.saturating_sub(self.last.0) as f64 / 1e9;
                let answered = counts.ok.saturating_sub(self.last.1.ok);
                let rate = if seconds > 0.0 { answered as f64 / seconds } else { 0.0 };
                let text = format!(
                    "{}{:.2} % ({done}{}) {} calls/s, {} failures",
                    if self.emulated { "emulated: " } else { "" },
                    share * 100.0,
                    if self.draining { ", draining" } else { "" },
                    grouped(rate.round() as u64),
                    grouped(counts.failed)
                );
                (share, text)
            }
        };
        self.last = (now_ns, counts);
        match &self.form {
            Form::Nothing => {}
            Form::Lines => notice::line(text),
            Form::Bar(bar) => {
                bar.set_position((share * BAR_LENGTH as f64) as u64);
                bar.set_message(text);
            }
        }
    }

    /// Leaves the terminal as it was.
    pub(crate) fn close(&mut self) {
        self.next_ns = u64::MAX;
        if let Form::Bar(bar) = &self.form {
            bar.finish_and_clear();
        }
    }
}

impl Goal {
    /// The share of the way that is done, 0 to 1, and in words.
    fn reached(&self, elapsed_ns: u64, ended: u64) -> (f64, String) {
        let by_time = self.duration_ns.map(|duration| {
            let (done, all) = (elapsed_ns.min(duration) as f64 / 1e9, duration as f64 / 1e9);
            (done / all, format!("{done:.1} of {all:.1} s"))
        });
        let by_count = self.calls.map(|calls| {
            let share = ended as f64 / calls as f64;
            (share, format!("{} of {}", grouped(ended), grouped(calls)))
        });
        match (by_count, by_time) {
            (Some(count), Some(time)) if time.0 > count.0 => time,
            (Some(count), _) => count,
            (None, Some(time)) => time,
            (None, None) => (0.0, grouped(ended)),
        }
    }
}

/// Whether standard error is a place for a line that is drawn again and again.
fn is_terminal() -> bool {
    let set = |name: &str| std::env::var(name).unwrap_or_default();
    let ci = set("CI");
    std::io::stderr().is_terminal() && set("TERM") != "dumb" && (ci.is_empty() || ci == "false")
}

fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template("[{bar:20}] {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ");
    ProgressBar::with_draw_target(Some(BAR_LENGTH), ProgressDrawTarget::stderr_with_hz(10))
        .with_style(style)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearer_of_two_goals_is_shown() {
        let goal = Goal { calls: Some(5_000_000), duration_ns: Some(10_000_000_000) };
        let (share, text) = goal.reached(1_000_000_000, 617_000);
        assert_eq!(text, "617,000 of 5,000,000");
        assert!((share - 0.1234).abs() < 1e-9);
        assert_eq!(goal.reached(9_000_000_000, 617_000).1, "9.0 of 10.0 s");
        let timed = Goal { calls: None, ..goal };
        assert_eq!(timed.reached(20_000_000_000, 1).0, 1.0);
    }
}

//! How busy a worker was during the measured window.

use crate::control::View;
use echo_common::cpu_time::{self, ThreadTimes};

/// A worker's use of its time between the first and the last turn inside the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) elapsed_ns: u64,
    /// On a CPU.
    pub(crate) run_ns: u64,
    /// Ready to run, without a CPU: the client's own lag.
    pub(crate) wait_ns: u64,
    /// How often another thread's turn came while this one could have gone on.
    pub(crate) involuntary_switches: u64,
    /// Turns of the event loop.
    pub(crate) turns: u64,
    /// Connections served in them.
    pub(crate) passes: u64,
}

/// Kept by a worker; reads the scheduler's counters twice in a run.
#[derive(Debug)]
pub(crate) struct LoadMeter {
    turns: u64,
    passes: u64,
    begin: Option<Mark>,
    load: Option<Load>,
}

#[derive(Clone, Copy, Debug)]
struct Mark {
    now_ns: u64,
    times: Option<ThreadTimes>,
    involuntary_switches: u64,
    turns: u64,
    passes: u64,
}

impl LoadMeter {
    pub(crate) fn new() -> LoadMeter {
        LoadMeter { turns: 0, passes: 0, begin: None, load: None }
    }

    /// Counts a connection served.
    #[inline]
    pub(crate) fn pass(&mut self) {
        self.passes += 1;
    }

    /// Counts a turn of the event loop at `now_ns`, and notices the window's two ends.
    #[inline]
    pub(crate) fn turn(&mut self, view: &View, now_ns: u64) {
        self.turns += 1;
        if self.begin.is_none() && now_ns >= view.start_ns {
            self.begin = Some(self.mark(now_ns));
        } else if self.load.is_none() && now_ns >= view.end_ns {
            self.load = self.since_begin(now_ns);
        }
    }

    /// The load of the window; until now, if its end was not seen.
    pub(crate) fn close(&mut self, now_ns: u64) -> Option<Load> {
        self.load.or_else(|| self.since_begin(now_ns))
    }

    fn since_begin(&self, now_ns: u64) -> Option<Load> {
        let begin = self.begin?;
        let end = self.mark(now_ns);
        let (from, to) = (begin.times?, end.times?);
        Some(Load {
            elapsed_ns: end.now_ns.saturating_sub(begin.now_ns),
            run_ns: to.run_ns.saturating_sub(from.run_ns),
            wait_ns: to.wait_ns.saturating_sub(from.wait_ns),
            involuntary_switches: end
                .involuntary_switches
                .saturating_sub(begin.involuntary_switches),
            turns: end.turns - begin.turns,
            passes: end.passes - begin.passes,
        })
    }

    fn mark(&self, now_ns: u64) -> Mark {
        let me = cpu_time::current_thread_id();
        Mark {
            now_ns,
            times: cpu_time::thread_times(me),
            involuntary_switches: cpu_time::context_switches(me).map_or(0, |switches| switches.1),
            turns: self.turns,
            passes: self.passes,
        }
    }
}

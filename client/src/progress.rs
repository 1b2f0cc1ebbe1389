//! Progress on standard error while the run goes on. Fed by main from the workers' counters.

use crate::plan::Plan;
use crate::timeline::Counts;

/// Shows how far the run is.
pub(crate) struct Progress {}

impl Progress {
    /// Progress in the manner that the options ask for.
    pub(crate) fn new(_plan: &Plan) -> Progress {
        Progress {}
    }
    /// When to show something next.
    pub(crate) fn next_ns(&self) -> u64 {
        u64::MAX
    }
    /// Shows the counts, if it is time to.
    pub(crate) fn show(&mut self, _now_ns: u64, _counts: Counts) {}
    /// Leaves the terminal as it was.
    pub(crate) fn close(&mut self) {}
}

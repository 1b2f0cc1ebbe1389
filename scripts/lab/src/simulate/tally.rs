//! Response times of the calls that ended in the measured part of a run.

use crate::stats::quantile_of_sorted;
use serde::Serialize;

/// Response times in microseconds, over all calls that ended in the measured part.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ResponseTimes {
    /// The arithmetic mean.
    pub mean: f64,
    /// The median.
    pub p50: f64,
    /// 95 % take at most this.
    pub p95: f64,
    /// 99 % take at most this.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

#[derive(Debug, Default)]
pub(super) struct Tally {
    times_us: Vec<f64>,
}

impl Tally {
    pub(super) fn add(&mut self, response_ns: u64) {
        self.times_us.push(response_ns as f64 / 1e3);
    }

    pub(super) fn count(&self) -> usize {
        self.times_us.len()
    }

    /// None if no call ended.
    pub(super) fn response_times(mut self) -> Option<ResponseTimes> {
        self.times_us.sort_by(f64::total_cmp);
        let max = *self.times_us.last()?;
        let at = |p| quantile_of_sorted(&self.times_us, p);
        Some(ResponseTimes {
            mean: self.times_us.iter().sum::<f64>() / self.times_us.len() as f64,
            p50: at(0.5),
            p95: at(0.95),
            p99: at(0.99),
            max,
        })
    }
}

//! Predicted against measured.

use super::answer::Answer;
use super::calibrate::Run;
use serde::Serialize;

/// Throughput may be off by this share, the mean response time by that one.
pub(super) const RATE_OFF_MAX: f64 = 0.10;
pub(super) const RESPONSE_OFF_MAX: f64 = 0.25;

/// One run beside its prediction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Check {
    pub(super) readers: u64,
    pub(super) predicted_calls_per_s: f64,
    pub(super) measured_calls_per_s: f64,
    /// Predicted by measured, less 1.
    pub(super) rate_off: f64,
    pub(super) predicted_mean_us: f64,
    pub(super) measured_mean_us: f64,
    pub(super) response_off: f64,
    /// Whether it was predicted before it was measured; the calibration itself was not.
    pub(super) ahead: bool,
    /// Whether the host was busy with something else: then there is no result.
    pub(super) disturbed: bool,
}

impl Check {
    /// None if so many readers were not considered.
    pub(super) fn of(run: &Run, answer: &Answer, ahead: bool) -> Option<Check> {
        let predicted = &answer.row(run.readers)?.predicted;
        let predicted_mean_us = predicted.response_s * 1e6;
        Some(Check {
            readers: run.readers,
            predicted_calls_per_s: predicted.calls_per_s,
            measured_calls_per_s: run.calls_per_s,
            rate_off: predicted.calls_per_s / run.calls_per_s - 1.0,
            predicted_mean_us,
            measured_mean_us: run.mean_us,
            response_off: predicted_mean_us / run.mean_us - 1.0,
            ahead,
            disturbed: run.is_disturbed(),
        })
    }

    /// Whether both errors are small enough, on a host that had nothing else to do.
    pub(super) fn holds(&self) -> bool {
        !self.disturbed
            && self.rate_off.abs() <= RATE_OFF_MAX
            && self.response_off.abs() <= RESPONSE_OFF_MAX
    }
}

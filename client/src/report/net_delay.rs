//! The emulated network of a run.

use crate::plan::Plan;
use crate::run::RunResult;
use echo_common::quantity::{format_duration, format_size, grouped};
use serde::Serialize;
use std::time::Duration;

/// What was between client and server that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct NetDelayFigures {
    /// How long every byte was held at least, on its way out as on its way back.
    pub(crate) one_way_us: f64,
    /// Bytes of a connection that could be held on one way.
    pub(crate) buffer_bytes: usize,
    /// How often that was not enough.
    pub(crate) buffer_full: u64,
}

impl NetDelayFigures {
    /// In words.
    pub(super) fn words(&self) -> String {
        let one_way = format_duration(Duration::from_nanos((self.one_way_us * 1e3) as u64));
        format!(
            "emulated network delay: every byte is held {one_way} on its way out and {one_way} on \
             its way back, by a timer in this client; {} of a connection on one way at most, which \
             was not enough {} times",
            format_size(self.buffer_bytes as u64),
            grouped(self.buffer_full)
        )
    }

    /// None without --net-delay.
    pub(super) fn of(plan: &Plan, run: &RunResult) -> Option<NetDelayFigures> {
        let delay = plan.net_delay?;
        Some(NetDelayFigures {
            one_way_us: delay.one_way_ns as f64 / 1e3,
            buffer_bytes: delay.held_max,
            buffer_full: run.workers.iter().map(|worker| worker.result.net_delay_full).sum(),
        })
    }
}

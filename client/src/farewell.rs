//! The end of a run whose calls nobody answers (acks=0). Closing a socket says nothing about what
//! the server has read, and may even take it away again; so the client shuts its way out and waits
//! for the server's end, which comes behind everything that the server has read.

use crate::connection::Lost;
use crate::outcome::LostKind;
use crate::worker::Job;

/// The least time that the server is given.
const WAIT_MIN_NS: u64 = 1_000_000_000;

/// Where a worker's leave from its connections stands.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Farewell {
    /// Until when the next step is waited for; none while there is something to write.
    until_ns: Option<u64>,
    /// Nothing more is written on any connection.
    is_shut: bool,
}

impl Farewell {
    /// Everything is written, though an emulated network may hold some of it. Says once that the
    /// ways out are to be shut. Each step has as much time as a call.
    pub(crate) fn step(&mut self, holds: bool, now_ns: u64, job: &Job) -> bool {
        let shuts = !holds && !self.is_shut;
        if shuts || self.until_ns.is_none() {
            let under_way_ns = job.net_delay.map_or(0, |delay| 2 * delay.one_way_ns);
            let wait_ns = job.timeout_ns.max(WAIT_MIN_NS) + under_way_ns;
            self.until_ns = Some(now_ns.saturating_add(wait_ns));
        }
        self.is_shut |= shuts;
        shuts
    }

    /// When what has not come is not waited for any more; `u64::MAX` before the first step.
    pub(crate) fn until_ns(self) -> u64 {
        self.until_ns.unwrap_or(u64::MAX)
    }

    /// Whether this is the end that is waited for, and no loss.
    pub(crate) fn is_end(self, lost: &Lost) -> bool {
        self.is_shut && lost.kind == LostKind::Eof && lost.text.is_none()
    }
}

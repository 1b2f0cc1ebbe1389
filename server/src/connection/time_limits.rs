//! A connection's time limits: which runs, since when, and what is not held against the peer.

use super::{Connection, Phase};
use crate::limits::ReadLimits;
use crate::refusal::Refusal;

/// Which time limit a connection ran into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expired {
    Handshake,
    Frame,
    Idle,
    WriteStall,
    Linger,
}

/// How long a refused peer has to read the refusal before the connection is closed under it.
const LINGER_NS: u64 = 500_000_000;

impl Connection {
    /// A time limit that runs since this turn, cheap enough to ask after each.
    pub(crate) fn running_limit(&self, limits: &ReadLimits) -> Option<(u64, u64)> {
        if let Phase::Lingering { since_ns } = self.phase {
            return Some((since_ns, LINGER_NS));
        }
        if self.frame_since_ns != 0 {
            return Some((self.frame_since_ns, limits.frame_timeout_ns));
        }
        (limits.idle_timeout_ns != u64::MAX).then_some((self.active_ns, limits.idle_timeout_ns))
    }

    /// When the next time limit of this connection strikes, and which; `u64::MAX` if none runs.
    pub(crate) fn deadline(&mut self, limits: &ReadLimits, now_ns: u64) -> (u64, Expired) {
        let mut first = (u64::MAX, Expired::Idle);
        let mut consider = |since_ns: u64, limit_ns: u64, expired| {
            let at = since_ns.saturating_add(limit_ns);
            if at < first.0 {
                first = (at, expired);
            }
        };
        if let Phase::Lingering { since_ns } = self.phase {
            consider(since_ns, LINGER_NS, Expired::Linger);
        }
        if self.blocked {
            match self.outbox.blocked_since() {
                Some(since_ns) => {
                    consider(since_ns, limits.write_stall_timeout_ns, Expired::WriteStall);
                }
                None => self.blocked = false,
            }
        }
        if self.phase == Phase::Taking {
            if !self.greeted {
                consider(self.opened_ns, limits.handshake_timeout_ns, Expired::Handshake);
            }
            if self.frame_since_ns != 0 {
                consider(self.frame_since_ns, limits.frame_timeout_ns, Expired::Frame);
            } else if limits.idle_timeout_ns != u64::MAX && self.greeted {
                let answered_ns = self.outbox.idle_since().unwrap_or(now_ns);
                self.active_ns = self.active_ns.max(answered_ns);
                consider(self.active_ns, limits.idle_timeout_ns, Expired::Idle);
            }
        }
        first
    }

    /// What the peer is told when its frame has stayed incomplete for too long.
    pub(crate) fn frame_timeout(&self) -> Refusal {
        self.conversation.frame_timeout()
    }

    /// The reader could not read for so long: limits that run on what the peer sends run longer.
    pub(crate) fn excuse(&mut self, kept_ns: u64) {
        self.opened_ns += kept_ns;
        self.active_ns += kept_ns;
        if self.frame_since_ns != 0 {
            self.frame_since_ns += kept_ns;
        }
        if let Phase::Lingering { since_ns } = &mut self.phase {
            *since_ns += kept_ns;
        }
    }
}

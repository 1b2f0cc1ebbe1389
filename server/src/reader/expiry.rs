//! A reader's time limits at work: which connections they end, and what is not held against them.

use super::Reader;
use crate::connection::Expired;

/// A reader that was kept from reading this long holds it against no peer: what the peer has sent
/// meanwhile lies in the kernel, or could not even be sent.
const EXCUSED_FROM_NS: u64 = 20_000_000;

impl Reader {
    /// Something else than reading took so long. Under plain load this happens again and again for
    /// moments, which count: otherwise time would stand still while the reader is busy.
    pub(super) fn note_kept(&mut self, kept_ns: u64) {
        if kept_ns >= EXCUSED_FROM_NS {
            self.state.kept_ns += kept_ns;
        }
    }

    /// What kept this pass from reading moves the limits of all connections, also of those that it
    /// read: they were read as of its beginning.
    pub(super) fn excuse(&mut self) {
        let kept_ns = std::mem::take(&mut self.state.kept_ns);
        if kept_ns > 0 {
            for (_, entry) in &mut self.state.connections {
                entry.connection.excuse(kept_ns);
            }
        }
    }

    pub(super) fn check_deadlines(&mut self) {
        let now_ns = self.intake.now_ns;
        if !self.state.deadlines.start_scan(now_ns) {
            return;
        }
        let mut due = Vec::new();
        for (slot, entry) in &mut self.state.connections {
            let (at_ns, expired) = entry.connection.deadline(&self.intake.limits, now_ns);
            if at_ns <= now_ns {
                due.push((slot, expired));
            } else {
                self.state.deadlines.note(at_ns, 0);
            }
        }
        self.state.deadlines.end_scan(now_ns);
        for (slot, expired) in due {
            self.expire(slot, expired);
        }
    }

    fn expire(&mut self, slot: usize, expired: Expired) {
        let peer = self.state.connections[slot].peer;
        let limits = self.intake.limited();
        let why = match expired {
            Expired::Frame => {
                let refusal = self.state.connections[slot].connection.frame_timeout();
                return self.refuse(slot, refusal);
            }
            Expired::Linger => return self.close(slot),
            Expired::Handshake => {
                limits.handshake_timeouts.add(1);
                "no whole frame came within --handshake-timeout"
            }
            Expired::Idle => {
                limits.idle_closed.add(1);
                "it was silent for --idle-timeout"
            }
            Expired::WriteStall => {
                limits.write_stalls.add(1);
                "it took none of the bytes owed to it for --write-stall-timeout"
            }
        };
        self.complaints.write(why, format_args!("connection from {peer} ended: {why}"));
        self.close(slot);
    }
}

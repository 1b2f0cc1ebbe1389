//! How much a follower is sent at once. It may be too busy for some of it (its queue is full, and
//! it has `--when-full reject`): when all that was sent is answered it is sent again, after a pause
//! and less at a time, on the same connection.

use echo_common::clock;
use std::time::Duration;

/// The pause before something is sent again, and the longest; each is twice the one before, until
/// something was taken.
const PAUSE_MIN: Duration = Duration::from_millis(1);
const PAUSE_MAX: Duration = Duration::from_millis(64);

/// See the module's text.
#[derive(Debug)]
pub(super) struct Pace {
    /// Bytes of calls under way: at most, and at most for now.
    window: usize,
    allowed: usize,
    /// Frames that were not answered yet.
    due: u64,
    /// One of those was refused.
    refused: bool,
    /// Nothing was taken since something was refused.
    stalled: bool,
    pause: Duration,
    /// Nothing is sent before; 0 for no pause.
    resume_ns: u64,
}

impl Pace {
    pub(super) fn new(window: usize) -> Pace {
        let (due, refused, stalled, resume_ns) = (0, false, false, 0);
        Pace { window, allowed: window, due, refused, stalled, pause: PAUSE_MIN, resume_ns }
    }

    /// A frame was sent that is to be answered.
    pub(super) fn sent(&mut self) {
        self.due += 1;
    }

    /// An answer came, to any frame.
    pub(super) fn answered(&mut self) {
        self.due = self.due.saturating_sub(1);
    }

    /// The answer took `bytes` off the way.
    pub(super) fn taken(&mut self, bytes: usize) {
        self.stalled = false;
        self.pause = PAUSE_MIN;
        self.allowed = self.allowed.saturating_add(bytes / 8 + 1).min(self.window);
    }

    /// The answer was that the follower is too busy.
    pub(super) fn too_busy(&mut self) {
        self.refused = true;
    }

    /// Whether what was refused is to be sent again from now on, once for each time.
    pub(super) fn rewinds(&mut self, now_ns: u64) -> bool {
        if !self.refused || self.due > 0 {
            return false;
        }
        (self.refused, self.stalled) = (false, true);
        self.allowed = (self.allowed / 2).max(1);
        self.resume_ns = now_ns.saturating_add(clock::ns(self.pause));
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        true
    }

    /// Whether more may be sent while `bytes` are under way.
    pub(super) fn allows(&mut self, bytes: usize, now_ns: u64) -> bool {
        if self.resume_ns <= now_ns {
            self.resume_ns = 0;
        }
        self.resume_ns == 0 && !self.refused && bytes < self.allowed
    }

    /// Whether every frame was answered.
    pub(super) fn is_quiet(&self) -> bool {
        self.due == 0
    }

    /// Whether something that was refused was not taken yet.
    pub(super) fn is_stalled(&self) -> bool {
        self.stalled
    }

    /// When the pause ends, if there is one.
    pub(super) fn resume_ns(&self) -> Option<u64> {
        (self.resume_ns > 0).then_some(self.resume_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_is_sent_again_when_all_is_answered_after_a_growing_pause_and_by_less() {
        let mut pace = Pace::new(1000);
        let mut pauses = Vec::new();
        let mut now_ns = 1;
        for _ in 0..12 {
            assert!(pace.allows(0, now_ns));
            pace.sent();
            pace.sent();
            pace.answered();
            pace.too_busy();
            assert!(!pace.allows(0, now_ns) && !pace.rewinds(now_ns), "one answer is due");
            pace.answered();
            assert!(pace.rewinds(now_ns) && !pace.rewinds(now_ns) && pace.is_stalled());
            let resume_ns = pace.resume_ns().expect("a pause");
            assert!(!pace.allows(0, resume_ns - 1));
            pauses.push((resume_ns - now_ns) / 1_000_000);
            now_ns = resume_ns;
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 64, 64, 64, 64, 64]);
        assert!(pace.allows(0, now_ns) && !pace.allows(1, now_ns), "one call at a time");
        pace.taken(800);
        assert!(!pace.is_stalled() && pace.allows(100, now_ns) && !pace.allows(102, now_ns));
        (0..20).for_each(|_| pace.taken(800));
        assert!(pace.allows(999, now_ns) && !pace.allows(1000, now_ns));
    }
}

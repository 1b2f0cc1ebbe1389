//! A reader's time limits: one number, the earliest moment at which any of its connections might
//! run into a limit. Setting a limit lowers it; when the moment comes, one scan over the
//! connections finds those that are due and the next moment. Nothing is paid per call.

use std::time::Duration;

/// Scans are at least this far apart, so that many limits close together cost one scan. A limit
/// fires at most this much late.
const SCAN_EVERY_NS: u64 = 20_000_000;

/// See the module's text.
#[derive(Debug)]
pub(crate) struct Deadlines {
    earliest_ns: u64,
}

impl Deadlines {
    pub(crate) fn new() -> Deadlines {
        Deadlines { earliest_ns: u64::MAX }
    }

    /// A limit may strike at `since_ns + limit_ns`; with a limit of `u64::MAX`, never.
    #[inline]
    pub(crate) fn note(&mut self, since_ns: u64, limit_ns: u64) {
        self.earliest_ns = self.earliest_ns.min(since_ns.saturating_add(limit_ns));
    }

    /// How long a poll may sleep; `None` while no limit runs.
    pub(crate) fn sleep(&self, now_ns: u64) -> Option<Duration> {
        let never = self.earliest_ns == u64::MAX;
        (!never).then(|| Duration::from_nanos(self.earliest_ns.saturating_sub(now_ns)))
    }

    /// Whether a scan is due. Starts the search for the next moment: the scan notes every limit
    /// that still runs.
    pub(crate) fn start_scan(&mut self, now_ns: u64) -> bool {
        let due = self.earliest_ns <= now_ns;
        if due {
            self.earliest_ns = u64::MAX;
        }
        due
    }

    /// Ends a scan.
    pub(crate) fn end_scan(&mut self, now_ns: u64) {
        self.earliest_ns = self.earliest_ns.max(now_ns.saturating_add(SCAN_EVERY_NS));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_runs_means_sleep_for_ever() {
        let mut deadlines = Deadlines::new();
        assert_eq!(deadlines.sleep(5), None);
        deadlines.note(5, u64::MAX);
        assert_eq!(deadlines.sleep(5), None);
        assert!(!deadlines.start_scan(u64::MAX - 1));
    }

    proptest! {
        #[test]
        fn a_limit_is_never_seen_early_and_at_most_one_scan_late(
            limits in prop::collection::vec((0u64..1 << 40, 0u64..1 << 40), 1..20),
        ) {
            let mut deadlines = Deadlines::new();
            for (since, limit) in &limits {
                deadlines.note(*since, *limit);
            }
            let first = limits.iter().map(|(since, limit)| since + limit).min().unwrap();
            prop_assert!(first == 0 || !deadlines.start_scan(first - 1));
            prop_assert!(deadlines.start_scan(first));
            for (since, limit) in limits.iter().filter(|(since, limit)| since + limit > first) {
                deadlines.note(*since, *limit);
            }
            deadlines.end_scan(first);
            let next = limits.iter().map(|(s, l)| s + l).filter(|at| *at > first).min();
            if let Some(next) = next {
                prop_assert!(deadlines.start_scan(next.max(first + SCAN_EVERY_NS)));
            }
        }
    }
}

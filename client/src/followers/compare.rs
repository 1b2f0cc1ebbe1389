//! One follower against what its leader says of it. No sockets in here.

use crate::remote_stats::{FollowerCounters, HoldingCounters};
use echo_common::quantity::grouped;

/// What the leader says, asked before the follower.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected<'a> {
    pub(super) named: &'a FollowerCounters,
    /// The number of the leader's next call.
    pub(super) next: u64,
}

/// What came of the comparison at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// It holds what it should.
    Same,
    /// It does not hold what it has acknowledged.
    Lacks(String),
    /// It does not hold all that there is, which may still come.
    Behind(String),
    /// What it holds cannot be compared with what the leader knows of it.
    Unclear(String),
    /// It was not asked, or did not answer.
    NotAsked(String),
}

impl Finding {
    /// Whether the follower holds what it should, and in words, if nothing better comes. `still`
    /// says that nothing moves any more.
    pub(super) fn close(self, still: bool) -> (Option<bool>, String) {
        match self {
            Finding::Same => (Some(true), "it holds what it should".to_owned()),
            Finding::Lacks(text) => (Some(false), text),
            Finding::Behind(text) if still => (Some(false), text),
            Finding::Behind(text) => (None, format!("{text}, and more keep coming")),
            Finding::Unclear(text) | Finding::NotAsked(text) => (None, text),
        }
    }
}

/// Compares; the follower may hold more than the leader knew when it was asked.
pub(super) fn compare(expected: &Expected<'_>, held: Option<&HoldingCounters>) -> Finding {
    let Expected { named, next } = *expected;
    let Some(held) = held else {
        return Finding::Lacks("it holds nothing of this server's calls".to_owned());
    };
    if held.since != named.since {
        let text = format!(
            "it holds calls from {} on, and should from {} on",
            grouped(held.since),
            grouped(named.since)
        );
        return Finding::Lacks(text);
    }
    if held.next < named.next {
        let text = format!(
            "it holds calls up to {}, and has acknowledged them up to {}",
            grouped(held.next.saturating_sub(1)),
            grouped(named.next - 1)
        );
        return Finding::Lacks(text);
    }
    let all = held.next.saturating_sub(held.since);
    if held.count < all {
        let text = format!("it counts {} calls of {}", grouped(held.count), grouped(all));
        return Finding::Lacks(text);
    }
    if held.next < next {
        let lacking = grouped(next - held.next);
        return Finding::Behind(format!("it lacks the last {lacking} calls"));
    }
    if held.next > next || held.count > all {
        return Finding::Unclear("more calls came than the server knew of when asked".to_owned());
    }
    match named.digest {
        None => Finding::Unclear("the server does not say what it should hold".to_owned()),
        Some(digest) if digest == held.digest => Finding::Same,
        Some(_) => Finding::Lacks("it holds other calls: the digests differ".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remote_stats::Hex;

    const DIGEST: Hex = Hex(0xaa);

    /// The leader is at call 101, its follower holds 11 to 100.
    fn leader(digest: Option<Hex>) -> FollowerCounters {
        FollowerCounters {
            address: "127.0.0.1:1".to_owned(),
            in_sync: true,
            since: 11,
            next: 101,
            digest,
        }
    }

    fn held(since: u64, next: u64, count: u64, digest: Hex) -> HoldingCounters {
        HoldingCounters { epoch: Hex(1), since, next, count, digest }
    }

    /// What is found when nothing moves any more, and while it does.
    fn check(
        named: &FollowerCounters,
        next: u64,
        held: Option<HoldingCounters>,
    ) -> [Option<bool>; 2] {
        let finding = compare(&Expected { named, next }, held.as_ref());
        [true, false].map(|still| finding.clone().close(still).0)
    }

    #[test]
    fn a_follower_that_holds_what_it_should_is_content_and_any_other_is_not() {
        let (yes, no, unknown) = ([Some(true); 2], [Some(false); 2], [None; 2]);
        let named = leader(Some(DIGEST));
        let check = |held, expected| assert_eq!(check(&named, 101, held), expected);
        check(Some(held(11, 101, 90, DIGEST)), yes);
        check(Some(held(11, 101, 90, Hex(0xab))), no);
        check(Some(held(12, 101, 89, DIGEST)), no);
        check(Some(held(10, 101, 91, DIGEST)), no);
        check(Some(held(11, 100, 89, DIGEST)), no);
        check(Some(held(11, 101, 89, DIGEST)), no);
        check(Some(held(11, 0, 0, DIGEST)), no);
        check(None, no);
        check(Some(held(11, 102, 91, DIGEST)), unknown);
        check(Some(held(11, 101, 91, DIGEST)), unknown);
    }

    #[test]
    fn what_may_still_come_is_missing_only_when_nothing_moves_any_more() {
        let behind = held(11, 101, 90, DIGEST);
        assert_eq!(check(&leader(None), 150, Some(behind.clone())), [Some(false), None]);
        assert_eq!(check(&leader(None), 101, Some(behind)), [None, None], "no digest to compare");
    }
}

//! Whether the followers hold what was acknowledged (acks=all). At the end of a run the client asks
//! the server, and every follower that it says is in sync, for their stats, and compares: what the
//! leader says that a follower holds, with what the follower says.
//!
//! A follower may still be receiving: calls of another client, or calls that were answered before
//! all had them. So the client asks again while that goes on, and for a while when nothing moves
//! any more. Nothing that comes is trusted: answers are bounded in size and time, followers in
//! number, and their addresses are numbers, not names.

mod compare;

use crate::remote_stats::{
    self, FollowerCounters, Hex, HoldingCounters, ReplicationCounters, Snapshot,
};
use compare::{Expected, Finding, compare};
use echo_common::clock::now_ns;
use serde::Serialize;
use std::net::SocketAddr;

/// Followers that are asked; a server has no more.
const FOLLOWERS_MAX: usize = 16;
/// Nothing has moved for so long: what a follower does not hold by then, it lacks.
const STILL_NS: u64 = 2_000_000_000;
/// No question is begun later.
const TOTAL_NS: u64 = 5_000_000_000;
/// Between two rounds.
const PAUSE_NS: u64 = 50_000_000;
/// One follower may take so long to answer, and half of it to be connected to.
const ANSWER_NS: u64 = 2_000_000_000;

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Checked {
    /// Nothing could be compared, for this reason.
    Not(String),
    /// The followers, by what the leader said.
    Followers(Comparison),
}

/// Leader and followers side by side.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Comparison {
    /// Calls that the leader acknowledged since the run began, and those that were answered well
    /// here. Other clients may have added some.
    pub(crate) acknowledged: u64,
    pub(crate) answered: u64,
    /// Where the leader's numbers stood when the run began, as far as that is known.
    pub(crate) first: u64,
    pub(crate) followers: Vec<Follower>,
}

/// One follower.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Follower {
    pub(crate) address: String,
    /// Whether the leader says so. The others are not asked.
    pub(crate) in_sync: bool,
    /// Whether it holds what it should; none if that is not known.
    pub(crate) ok: Option<bool>,
    /// The same in words.
    pub(crate) text: String,
    /// By the leader.
    pub(crate) expected: Holding,
    /// By itself; none if it could not be asked, or holds nothing of this leader's.
    pub(crate) holds: Option<Holding>,
}

/// What is held: every call from `since` up to, and without, `next`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Holding {
    pub(crate) since: u64,
    pub(crate) next: u64,
    pub(crate) count: u64,
    /// None while the leader knows it of no such set.
    pub(crate) digest: Option<Hex>,
}

/// What the run knows.
pub(crate) struct Asked<'a> {
    /// The server.
    pub(crate) addresses: &'a [SocketAddr],
    /// Before the measured phase.
    pub(crate) before: Option<&'a Snapshot>,
    /// Calls that were answered well, and not before they were held.
    pub(crate) answered: u64,
}

impl Comparison {
    /// Whether the leader acknowledged at least what was answered, and all followers in sync hold
    /// what they should; none if that is not known.
    pub(crate) fn ok(&self) -> Option<bool> {
        let mut of_followers = self.in_sync().map(|follower| follower.ok);
        if self.acknowledged < self.answered || of_followers.clone().any(|ok| ok == Some(false)) {
            return Some(false);
        }
        let known = self.in_sync().next().is_some() && of_followers.all(|ok| ok == Some(true));
        known.then_some(true)
    }

    pub(crate) fn in_sync(&self) -> impl Iterator<Item = &Follower> + Clone {
        self.followers.iter().filter(|follower| follower.in_sync)
    }
}

impl Checked {
    /// The followers, if they were compared.
    pub(crate) fn followers(self) -> Option<Vec<Follower>> {
        match self {
            Checked::Not(_) => None,
            Checked::Followers(comparison) => Some(comparison.followers),
        }
    }

    /// See [`Comparison::ok`].
    pub(crate) fn ok(&self) -> Option<bool> {
        match self {
            Checked::Not(_) => None,
            Checked::Followers(comparison) => comparison.ok(),
        }
    }
}

/// Asks until all is as it should be or nothing moves any more. `pause` waits so many nanoseconds;
/// false means that there is no time for more.
pub(crate) fn check(asked: &Asked<'_>, mut pause: impl FnMut(u64) -> bool) -> Checked {
    let begin_ns = now_ns();
    let (mut still_until_ns, mut last) = (begin_ns + STILL_NS, Vec::new());
    loop {
        let round = match Round::ask(asked, begin_ns + TOTAL_NS) {
            Ok(round) => round,
            Err(why) => return Checked::Not(why),
        };
        let now = now_ns();
        let moved = round.moved(&last);
        if moved && !round.lacks() {
            still_until_ns = now + STILL_NS;
        }
        let over = now >= still_until_ns.min(begin_ns + TOTAL_NS);
        if over || round.is_well() {
            return Checked::Followers(round.close(now >= still_until_ns));
        }
        last = round.numbers();
        if !pause(PAUSE_NS) {
            return Checked::Not("the run was interrupted".to_owned());
        }
    }
}

/// Everybody's answers of one round.
struct Round {
    comparison: Comparison,
    findings: Vec<Finding>,
    /// The number of the leader's next call.
    next: u64,
}

impl Round {
    fn ask(asked: &Asked<'_>, until_ns: u64) -> Result<Round, String> {
        let leader = remote_stats::ask(asked.addresses)
            .ok_or_else(|| "the server does not answer a stats call".to_owned())?;
        let replication =
            leader.replication.ok_or_else(|| "the server has no followers".to_owned())?;
        let before = asked.before.and_then(|before| before.replication.as_ref());
        if before.is_some_and(|before| before.epoch != replication.epoch) {
            return Err("the server was started anew in between".to_owned());
        }
        if replication.followers.len() > FOLLOWERS_MAX {
            let count = replication.followers.len();
            return Err(format!("the server names {count} followers, more than {FOLLOWERS_MAX}"));
        }
        let (mut followers, mut findings) = (Vec::new(), Vec::new());
        for named in &replication.followers {
            let (follower, finding) = ask_follower(named, &replication, until_ns);
            followers.push(follower);
            findings.push(finding);
        }
        let comparison = Comparison {
            acknowledged: replication
                .acknowledged
                .saturating_sub(before.map_or(0, |before| before.acknowledged)),
            answered: asked.answered,
            first: before.map_or(1, |before| before.next),
            followers,
        };
        Ok(Round { comparison, findings, next: replication.next })
    }

    fn is_well(&self) -> bool {
        let settled = |finding: &Finding| matches!(finding, Finding::Same | Finding::NotAsked(_));
        self.findings.iter().all(settled)
            && self.comparison.acknowledged >= self.comparison.answered
    }

    fn lacks(&self) -> bool {
        self.findings.iter().any(|finding| matches!(finding, Finding::Lacks(_)))
    }

    /// Where everybody stands.
    fn numbers(&self) -> Vec<u64> {
        let held = self.comparison.followers.iter();
        let held = held.map(|follower| follower.holds.as_ref().map_or(0, |held| held.count));
        held.chain([self.next]).collect()
    }

    fn moved(&self, last: &[u64]) -> bool {
        !last.is_empty() && self.numbers() != last
    }

    /// The last round: `still` says that nothing has moved for a while.
    fn close(mut self, still: bool) -> Comparison {
        for (follower, finding) in self.comparison.followers.iter_mut().zip(self.findings) {
            (follower.ok, follower.text) = finding.close(still);
        }
        self.comparison
    }
}

fn ask_follower(
    named: &FollowerCounters,
    leader: &ReplicationCounters,
    until_ns: u64,
) -> (Follower, Finding) {
    let address: Option<SocketAddr> = named.address.parse().ok();
    let expected = Expected { named, next: leader.next };
    let answer = match address {
        _ if !named.in_sync => Err("not in sync".to_owned()),
        None => Err("the server gives no address of it".to_owned()),
        Some(address) => {
            let until_ns = until_ns.min(now_ns() + ANSWER_NS);
            remote_stats::ask_until(&address, until_ns)
                .map_err(|error| format!("it cannot be asked: {error}"))
        }
    };
    let answer = answer.map(|stats| holding_of(stats, leader.epoch));
    let (holds, finding) = match answer {
        Ok(holds) => {
            let finding = compare(&expected, holds.as_ref());
            (holds.map(Holding::from), finding)
        }
        Err(why) => (None, Finding::NotAsked(why)),
    };
    let follower = Follower {
        address: address.map_or_else(|| "?".to_owned(), |address| address.to_string()),
        in_sync: named.in_sync,
        ok: None,
        text: String::new(),
        expected: Holding {
            since: named.since,
            next: named.next,
            count: named.next.saturating_sub(named.since),
            digest: named.digest,
        },
        holds,
    };
    (follower, finding)
}

/// What a follower holds of the leader with this epoch.
fn holding_of(stats: Snapshot, epoch: Hex) -> Option<HoldingCounters> {
    stats.holdings.into_iter().find(|holding| holding.epoch == epoch)
}

impl From<HoldingCounters> for Holding {
    fn from(holding: HoldingCounters) -> Holding {
        let HoldingCounters { since, next, count, digest, .. } = holding;
        Holding { since, next, count, digest: Some(digest) }
    }
}

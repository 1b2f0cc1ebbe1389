//! What this server holds for leaders that replicate their calls to it.
//!
//! A leader numbers its calls from 1 and has an epoch of its own, drawn when it started. For each
//! epoch a follower keeps which numbers it holds, how many those are and the sum of their digests.
//! A call that comes again is not counted again: numbers below `next` are held, those above it that
//! came early are kept in a set until what is missing between has come.

use crate::meters::LimitMeters;
use crate::sync::{Mutex, lock};
use echo_common::wire::digest;
use echo_common::wire::native::{Holding, Status};
use serde::{Serialize, Serializer};
use std::collections::{BTreeSet, VecDeque};
use std::fmt;

/// Leaders remembered. For a new one the one is forgotten that has gone, and joined longest ago;
/// while all are connected none is taken.
pub(crate) const EPOCHS_MAX: usize = 16;
/// Calls held beyond a gap. More than a leader has under way, whose calls come in order and are
/// mixed up only by the handlers.
const AHEAD_MAX: usize = 1 << 16;

/// See the module's text. One per server.
#[derive(Debug)]
pub struct Holdings {
    /// The epoch that this server has as a leader.
    own_epoch: u64,
    /// The one that joined last is the last one.
    epochs: Mutex<VecDeque<Epoch>>,
}

/// Whether a leader is still there.
struct Connected(Box<dyn Fn() -> bool + Send>);

impl fmt::Debug for Connected {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}", (self.0)())
    }
}

#[derive(Debug)]
struct Epoch {
    epoch: u64,
    connected: Connected,
    since: u64,
    next: u64,
    /// Held beyond `next`.
    ahead: BTreeSet<u64>,
    count: u64,
    digest: u64,
    repeated: u64,
}

/// What is held of one leader's calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EpochSnapshot {
    /// The leader's epoch.
    #[serde(serialize_with = "as_hex")]
    pub epoch: u64,
    /// The first call held.
    pub since: u64,
    /// The first call that is missing.
    pub next: u64,
    /// Calls held, those beyond `next` too.
    pub count: u64,
    /// The sum of their digests.
    #[serde(serialize_with = "as_hex")]
    pub digest: u64,
    /// Calls that came again.
    pub repeated: u64,
}

/// As hexadecimal digits: not every reader of JSON has whole numbers of 64 bits.
pub(crate) fn as_hex<S: Serializer>(value: &u64, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&format!("{value:016x}"))
}

/// Why a call of a leader is not held.
pub(crate) type NotHeld = (Status, &'static str);

impl Holdings {
    /// Of a server that leads in `own_epoch`.
    pub fn new(own_epoch: u64) -> Holdings {
        Holdings { own_epoch, epochs: Mutex::default() }
    }

    /// The epoch that this server has as a leader.
    pub(crate) fn own_epoch(&self) -> u64 {
        self.own_epoch
    }

    /// A leader goes on, or begins, at call `from`. What is held since `since` stays, if the leader
    /// knows it so. A gap before `from` would never be filled: then holding begins anew there.
    /// `connected` says whether this leader is still there.
    pub(crate) fn join(
        &self,
        (epoch, since, from): (u64, u64, u64),
        connected: impl Fn() -> bool + Send + 'static,
        meters: &LimitMeters,
    ) -> Result<Holding, NotHeld> {
        if epoch == self.own_epoch {
            return Err((Status::Refused, "a server cannot be its own follower"));
        }
        let mut epochs = lock(&self.epochs);
        let known = epochs.iter().position(|known| known.epoch == epoch);
        let known = known.and_then(|at| epochs.remove(at));
        if epochs.len() == EPOCHS_MAX {
            let Some(gone) = epochs.iter().position(|known| !(known.connected.0)()) else {
                meters.leaders_refused.add(1);
                return Err((Status::Refused, "as many leaders as it follows are connected to it"));
            };
            epochs.remove(gone);
            meters.leaders_forgotten.add(1);
        }
        let goes_on = known.filter(|known| known.since == since && known.next >= from);
        let mut entry = goes_on.unwrap_or_else(|| Epoch::new(epoch, from));
        entry.connected = Connected(Box::new(connected));
        let holding = Holding { since: entry.since, next: entry.next };
        epochs.push_back(entry);
        Ok(holding)
    }

    /// Holds a call, once. Returns the first number that is missing now.
    pub(crate) fn hold(&self, epoch: u64, sequence: u64, payload: &[u8]) -> Result<u64, NotHeld> {
        let digest = digest::of_call(sequence, payload);
        let mut epochs = lock(&self.epochs);
        match epochs.iter_mut().rev().find(|known| known.epoch == epoch) {
            Some(known) => known.hold(sequence, digest),
            None => Err((Status::Refused, "the leader has not joined")),
        }
    }

    /// What is held now, by epoch.
    pub fn snapshot(&self) -> Vec<EpochSnapshot> {
        let epochs = lock(&self.epochs);
        let snapshot = |known: &Epoch| EpochSnapshot {
            epoch: known.epoch,
            since: known.since,
            next: known.next,
            count: known.count,
            digest: known.digest,
            repeated: known.repeated,
        };
        epochs.iter().map(snapshot).collect()
    }
}

impl Epoch {
    fn new(epoch: u64, since: u64) -> Epoch {
        let ahead = BTreeSet::new();
        let connected = Connected(Box::new(|| false));
        Epoch { epoch, connected, since, next: since, ahead, count: 0, digest: 0, repeated: 0 }
    }

    fn hold(&mut self, sequence: u64, digest: u64) -> Result<u64, NotHeld> {
        if sequence < self.next || self.ahead.contains(&sequence) {
            self.repeated += 1;
            return Ok(self.next);
        }
        if sequence == self.next {
            self.next += 1;
            while self.ahead.first() == Some(&self.next) {
                self.ahead.pop_first();
                self.next += 1;
            }
        } else if self.ahead.len() == AHEAD_MAX {
            return Err((Status::TooBusy, "too many calls beyond one that is missing"));
        } else {
            self.ahead.insert(sequence);
        }
        self.count += 1;
        self.digest = self.digest.wrapping_add(digest);
        Ok(self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    const LEADER: u64 = 7;

    fn join(holdings: &Holdings, epoch: u64, since: u64, from: u64) -> Result<Holding, NotHeld> {
        holdings.join((epoch, since, from), || false, &LimitMeters::default())
    }

    fn sum(sequences: impl Iterator<Item = u64>) -> u64 {
        sequences.fold(0, |sum, sequence| sum.wrapping_add(digest::of_call(sequence, b"call")))
    }

    #[test]
    fn a_leader_that_comes_again_goes_on_and_one_with_a_gap_begins_anew() {
        let holdings = Holdings::new(1);
        assert_eq!(join(&holdings, LEADER, 0, 5), Ok(Holding { since: 5, next: 5 }));
        (5..8).for_each(|sequence| assert!(holdings.hold(LEADER, sequence, b"call").is_ok()));
        assert_eq!(join(&holdings, LEADER, 5, 6), Ok(Holding { since: 5, next: 8 }));
        assert_eq!(join(&holdings, LEADER, 5, 8), Ok(Holding { since: 5, next: 8 }));
        assert_eq!(join(&holdings, LEADER, 5, 9), Ok(Holding { since: 9, next: 9 }));
        assert_eq!(holdings.snapshot()[0].count, 0);
        assert!(holdings.hold(LEADER, 9, b"call").is_ok());
        assert_eq!(
            join(&holdings, LEADER, 8, 9),
            Ok(Holding { since: 9, next: 9 }),
            "unknown to it"
        );
        assert_eq!(holdings.snapshot()[0].count, 0);
    }

    #[test]
    fn a_leader_beyond_the_bound_displaces_one_that_has_gone_and_never_one_that_is_there() {
        let (holdings, meters) = (Holdings::new(1), LimitMeters::default());
        let gone = Arc::new(AtomicU64::new(0));
        let join = |epoch: u64| {
            let gone = Arc::clone(&gone);
            let is_there = move || gone.load(Ordering::Relaxed) != epoch;
            holdings.join((epoch, 0, 1), is_there, &meters)
        };
        (100..100 + EPOCHS_MAX as u64).for_each(|epoch| assert!(join(epoch).is_ok()));
        assert_eq!(join(500).unwrap_err().0, Status::Refused);
        assert!(join(100).is_ok(), "one that is known comes again");
        gone.store(110, Ordering::Relaxed);
        assert!(join(500).is_ok());
        assert_eq!(holdings.snapshot().len(), EPOCHS_MAX);
        assert_eq!(holdings.hold(110, 1, b"call").unwrap_err().0, Status::Refused);
        let others = (100..110).chain(111..116).chain([500]);
        others.for_each(|epoch| assert!(holdings.hold(epoch, 1, b"call").is_ok(), "{epoch}"));
        assert_eq!((meters.leaders_refused.get(), meters.leaders_forgotten.get()), (1, 1));
    }

    #[test]
    fn what_cannot_be_held_is_refused() {
        let holdings = Holdings::new(1);
        assert_eq!(join(&holdings, 1, 0, 1).unwrap_err().0, Status::Refused);
        join(&holdings, LEADER, 0, 1).unwrap();
        for sequence in 2..2 + AHEAD_MAX as u64 {
            assert_eq!(holdings.hold(LEADER, sequence, b""), Ok(1));
        }
        assert_eq!(holdings.hold(LEADER, u64::MAX, b"").unwrap_err().0, Status::TooBusy);
        assert_eq!(holdings.hold(LEADER, 1, b""), Ok(2 + AHEAD_MAX as u64));
    }

    proptest! {
        #[test]
        fn calls_are_counted_once_in_whatever_order_and_however_often_they_come(
            order in Just((10u64..60).collect::<Vec<_>>()).prop_shuffle(),
            again in prop::collection::vec(10u64..60, 0..60),
        ) {
            let holdings = Holdings::new(1);
            join(&holdings, LEADER, 0, 10).unwrap();
            let mut next = 10;
            for (at, sequence) in order.iter().enumerate() {
                next = holdings.hold(LEADER, *sequence, b"call").unwrap();
                prop_assert!((10..next).all(|held| order[..=at].contains(&held)));
                prop_assert!(!order[..=at].contains(&next));
                if let Some(again) = again.get(at).filter(|again| order[..=at].contains(again)) {
                    prop_assert_eq!(holdings.hold(LEADER, *again, b"call"), Ok(next));
                }
            }
            prop_assert_eq!(next, 60);
            let held = &holdings.snapshot()[0];
            prop_assert_eq!((held.since, held.next, held.count), (10, 60, 50));
            prop_assert_eq!(held.digest, sum(10..60));
        }
    }
}

//! The leader's calls between their hand-over and the last follower that still needs them: numbers
//! from 1, without gaps, in the order of hand-over. No sockets in here.
//!
//! ```text
//!    base ......... answered ......... next
//!    | only for followers | waits for holders |
//! ```

use bytes::Bytes;
use echo_common::wire::digest;
use std::collections::VecDeque;

/// What is known of a call.
struct Entry<W> {
    payload: Bytes,
    digest: u64,
    bytes: usize,
    /// Who is to be answered; none once that has been done.
    waiting: Option<W>,
}

/// See the module's text. `W` is what waits for the call's holders.
pub(crate) struct ReplicaLog<W> {
    entries: VecDeque<Entry<W>>,
    base: u64,
    answered: u64,
    /// The sum of the digests of all calls, those that have left the log too.
    digest: u64,
}

impl<W> ReplicaLog<W> {
    pub(crate) fn new() -> ReplicaLog<W> {
        ReplicaLog { entries: VecDeque::new(), base: 1, answered: 1, digest: 0 }
    }

    /// Numbers a call.
    pub(crate) fn push(&mut self, payload: Bytes, bytes: usize, waiting: Option<W>) {
        let digest = digest::of_call(self.next(), &payload);
        self.digest = self.digest.wrapping_add(digest);
        self.entries.push_back(Entry { payload, digest, bytes, waiting });
    }

    /// The first call that is still here.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// The number that the next call will have.
    pub(crate) fn next(&self) -> u64 {
        self.base + self.entries.len() as u64
    }

    /// The first call that is not answered: all below it are.
    pub(crate) fn answered(&self) -> u64 {
        self.answered
    }

    /// Calls that wait for their holders.
    pub(crate) fn waiting(&self) -> u64 {
        self.next() - self.answered
    }

    /// Whether calls are kept only because some follower has not acknowledged them.
    pub(crate) fn keeps_answered(&self) -> bool {
        self.answered > self.base
    }

    /// The payload of a call that is here.
    pub(crate) fn payload(&self, sequence: u64) -> Option<&Bytes> {
        let at = usize::try_from(sequence.checked_sub(self.base)?).ok()?;
        self.entries.get(at).map(|entry| &entry.payload)
    }

    /// The sum of the digests of all calls below `sequence`, which is not below the base.
    pub(crate) fn digest_below(&self, sequence: u64) -> u64 {
        let at = (sequence - self.base) as usize;
        let from = self.entries.iter().skip(at);
        from.fold(self.digest, |digest, entry| digest.wrapping_sub(entry.digest))
    }

    /// Calls below `held` have enough holders: gives whoever waits for them with their numbers.
    pub(crate) fn answer_below(&mut self, held: u64, mut answer: impl FnMut(u64, W)) {
        while self.answered < held.min(self.next()) {
            self.answer_first(&mut answer);
        }
    }

    /// The first call that is not answered will never have its holders.
    pub(crate) fn give_up_first(&mut self, mut answer: impl FnMut(u64, W)) {
        if self.answered < self.next() {
            self.answer_first(&mut answer);
        }
    }

    /// Calls that waited too long, as `is_over` says of the first, the second...
    pub(crate) fn give_up(&mut self, is_over: impl Fn(&W) -> bool, mut answer: impl FnMut(u64, W)) {
        while let Some(entry) = self.entries.get((self.answered - self.base) as usize) {
            if entry.waiting.as_ref().is_some_and(|waiting| !is_over(waiting)) {
                return;
            }
            self.answer_first(&mut answer);
        }
    }

    /// Who waits longest.
    pub(crate) fn first_waiting(&self) -> Option<&W> {
        let from = self.entries.iter().skip((self.answered - self.base) as usize);
        from.filter_map(|entry| entry.waiting.as_ref()).next()
    }

    /// Forgets calls that are answered, up to `needed`, the first that some follower still needs.
    /// Returns the bytes that they counted.
    pub(crate) fn trim(&mut self, needed: u64) -> usize {
        let mut bytes = 0;
        while self.base < self.answered.min(needed) {
            let Some(entry) = self.entries.pop_front() else { break };
            self.base += 1;
            bytes += entry.bytes;
        }
        bytes
    }

    fn answer_first(&mut self, answer: &mut impl FnMut(u64, W)) {
        let sequence = self.answered;
        self.answered += 1;
        let entry = &mut self.entries[(sequence - self.base) as usize];
        if let Some(waiting) = entry.waiting.take() {
            answer(sequence, waiting);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn log(calls: u64) -> ReplicaLog<u64> {
        let mut log = ReplicaLog::new();
        (1..=calls).for_each(|call| log.push(Bytes::from_static(b"call"), 10, Some(call)));
        log
    }

    fn answered(log: &mut ReplicaLog<u64>, held: u64) -> Vec<u64> {
        let mut all = Vec::new();
        log.answer_below(held, |sequence, call| {
            assert_eq!(sequence, call);
            all.push(call);
        });
        all
    }

    #[test]
    fn calls_are_answered_in_order_once_and_kept_while_a_follower_needs_them() {
        let mut log = log(5);
        assert_eq!(answered(&mut log, 3), [1, 2]);
        assert_eq!(answered(&mut log, 3), [0; 0]);
        assert_eq!(answered(&mut log, 2), [0; 0]);
        assert!(log.keeps_answered());
        assert_eq!(log.trim(2), 10);
        assert_eq!((log.base(), log.next(), log.waiting()), (2, 6, 3));
        assert_eq!(log.trim(u64::MAX), 10, "what waits stays");
        assert!(!log.keeps_answered());
        assert!(log.payload(2).is_none() && log.payload(3).is_some() && log.payload(6).is_none());
        assert_eq!(answered(&mut log, u64::MAX), [3, 4, 5]);
        assert_eq!(log.trim(u64::MAX), 30);
        assert_eq!((log.base(), log.waiting(), log.first_waiting()), (6, 0, None));
    }

    #[test]
    fn calls_that_wait_too_long_are_given_up_from_the_front() {
        let mut log = log(5);
        let mut given_up = Vec::new();
        log.give_up(|call| *call < 4, |_, call| given_up.push(call));
        assert_eq!(given_up, [1, 2, 3]);
        assert_eq!(log.first_waiting(), Some(&4));
        assert_eq!(answered(&mut log, 6), [4, 5]);
    }

    proptest! {
        #[test]
        fn the_digest_below_a_call_does_not_hang_on_what_has_left(
            calls in 1u64..40, held in 0u64..50, needed in 0u64..50,
        ) {
            let mut log = log(calls);
            let sum = |below: u64| (1..below).fold(0u64, |sum, sequence| {
                sum.wrapping_add(digest::of_call(sequence, b"call"))
            });
            answered(&mut log, held);
            log.trim(needed);
            for sequence in log.base()..=log.next() {
                prop_assert_eq!(log.digest_below(sequence), sum(sequence));
            }
        }
    }
}

//! Call ids as Hadoop's clients count them: 31 bits, from 0 on, one counter for each client id.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Gives the calls of one connection their ids, each larger than the one before until they wrap.
#[derive(Debug)]
pub(crate) struct Sequence {
    next: u32,
    /// The counter of connections that share a client id; each of them adds to it.
    /// Relaxed: the number itself is all that is shared.
    shared: Option<Arc<AtomicU32>>,
}

/// Ids are below.
const IDS: u32 = 1 << 31;

impl Sequence {
    /// Counts for one connection.
    pub(crate) fn own() -> Sequence {
        Sequence { next: 0, shared: None }
    }

    /// Counts with the others that have this counter.
    pub(crate) fn shared(counter: Arc<AtomicU32>) -> Sequence {
        Sequence { next: 0, shared: Some(counter) }
    }

    /// The next id.
    #[inline]
    pub(super) fn take(&mut self) -> u32 {
        let id = match &self.shared {
            None => self.next,
            Some(counter) => counter.fetch_add(1, Ordering::Relaxed) % IDS,
        };
        self.next = (id + 1) % IDS;
        id
    }

    /// Whether `id` comes before the next one: it, or one that another connection has got, was
    /// given out not long ago.
    pub(super) fn is_past(&self, id: u64) -> bool {
        let Some(id) = u32::try_from(id).ok().filter(|&id| id < IDS) else {
            return false;
        };
        (1..IDS / 2).contains(&(self.next.wrapping_sub(id) % IDS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_wrap_to_zero_after_the_largest_of_31_bits() {
        let mut own = Sequence { next: IDS - 1, shared: None };
        assert_eq!([own.take(), own.take(), own.take()], [i32::MAX as u32, 0, 1]);
        let counter = Arc::new(AtomicU32::new(u32::MAX));
        let mut shared = Sequence::shared(counter);
        assert_eq!([shared.take(), shared.take(), shared.take()], [i32::MAX as u32, 0, 1]);
    }

    #[test]
    fn past_ids_are_told_from_those_to_come_across_the_wrap() {
        let mut sequence = Sequence { next: IDS - 1, shared: None };
        sequence.take();
        sequence.take();
        for past in [IDS - 5, IDS - 1, 0] {
            assert!(sequence.is_past(u64::from(past)), "{past}");
        }
        for not in [1, 2, u64::from(IDS), u64::from(u32::MAX), u64::MAX] {
            assert!(!sequence.is_past(not), "{not}");
        }
        assert!(!Sequence::own().is_past(0));
    }

    #[test]
    fn connections_that_share_a_counter_share_out_its_numbers() {
        let counter = Arc::new(AtomicU32::new(0));
        let mut one = Sequence::shared(Arc::clone(&counter));
        let mut two = Sequence::shared(counter);
        assert_eq!([one.take(), two.take(), two.take(), one.take()], [0, 1, 2, 3]);
    }
}

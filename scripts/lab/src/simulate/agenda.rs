//! What will happen, in the order of virtual time.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Events with their times, and the clock that goes from one to the next. Times are nanoseconds
/// since the beginning. Events of one time happen in the order in which they were entered, which
/// makes a run repeatable.
#[derive(Debug)]
pub struct Agenda<E> {
    heap: BinaryHeap<Reverse<Entry<E>>>,
    now_ns: u64,
    entered: u64,
}

#[derive(Debug)]
struct Entry<E> {
    at_ns: u64,
    number: u64,
    event: E,
}

impl<E> Default for Agenda<E> {
    fn default() -> Agenda<E> {
        Agenda { heap: BinaryHeap::new(), now_ns: 0, entered: 0 }
    }
}

impl<E> Agenda<E> {
    /// The time of the event that happened last.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Enters an event `delay_ns` from now.
    pub fn enter(&mut self, delay_ns: u64, event: E) {
        self.enter_at(self.now_ns.saturating_add(delay_ns), event);
    }

    /// Enters an event for a time that is not past; a past one counts as now.
    pub fn enter_at(&mut self, at_ns: u64, event: E) {
        let at_ns = at_ns.max(self.now_ns);
        self.heap.push(Reverse(Entry { at_ns, number: self.entered, event }));
        self.entered += 1;
    }

    /// The next event up to `until_ns`, to which the clock goes; none if there is none, and the
    /// clock then stands at `until_ns`.
    pub fn next(&mut self, until_ns: u64) -> Option<E> {
        match self.heap.peek() {
            Some(Reverse(entry)) if entry.at_ns <= until_ns => {
                let Reverse(entry) = self.heap.pop()?;
                self.now_ns = entry.at_ns;
                Some(entry.event)
            }
            _ => {
                self.now_ns = self.now_ns.max(until_ns);
                None
            }
        }
    }
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Entry<E>) -> Ordering {
        (self.at_ns, self.number).cmp(&(other.at_ns, other.number))
    }
}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Entry<E>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Entry<E>) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Entry<E> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_happen_in_time_and_equal_times_in_the_order_of_entry() {
        let mut agenda = Agenda::default();
        agenda.enter(30, 'd');
        agenda.enter(10, 'a');
        agenda.enter(20, 'b');
        agenda.enter(20, 'c');
        let happened: String = std::iter::from_fn(|| agenda.next(100)).collect();
        assert_eq!(happened, "abcd");
        assert_eq!(agenda.now_ns(), 100);
    }

    #[test]
    fn what_lies_behind_the_end_does_not_happen_and_the_past_is_now() {
        let mut agenda = Agenda::default();
        agenda.enter(50, 'x');
        assert_eq!(agenda.next(49), None);
        assert_eq!(agenda.now_ns(), 49);
        agenda.enter_at(3, 'y');
        assert_eq!(agenda.next(49), Some('y'));
        assert_eq!(agenda.now_ns(), 49);
        assert_eq!(agenda.next(50), Some('x'));
    }
}

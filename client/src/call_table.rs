//! The calls of one connection that wait for their reply.
//!
//! A call id is `generation << 32 | slot`. The slot finds the call by index; the generation moves
//! on each time the slot is given up, so that a reply to a call that has ended is told from a
//! reply to the slot's present call. The highest bit of the slot's half says that the call asks
//! for its stage times: its frame can be made from its id alone.

/// What the table knew of a call that has just ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EndedCall {
    /// Where its latency counts from: when it was due, in an open loop, else when it was sent.
    pub(crate) due_ns: u64,
    pub(crate) sent_ns: u64,
    /// Whether it was started in the measured phase (not in the warm-up).
    pub(crate) measured: bool,
}

/// What an id that came from the server refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A call that waited; it has ended now and its slot is free.
    Open(EndedCall),
    /// A call that had timed out before.
    Late,
    /// Never given out, or answered before.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Free,
    WarmUp,
    Measured,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    due_ns: u64,
    generation: u32,
    state: State,
    wants_stages: bool,
}

/// Calls in flight on one connection; never more than `capacity`.
#[derive(Debug)]
pub(crate) struct CallTable {
    slots: Box<[Slot]>,
    free: Vec<u32>,
    /// By slot, when its call was sent, if that is not when it was due. Empty in a closed loop.
    sent_ns: Box<[u64]>,
    /// Timed-out calls whose reply may still come.
    overdue: u64,
}

impl CallTable {
    /// Room for `capacity` calls in flight, which in an open loop are sent after they are due.
    pub(crate) fn new(capacity: usize, open_loop: bool) -> CallTable {
        let slot = Slot { due_ns: 0, generation: 0, state: State::Free, wants_stages: false };
        let last = u32::try_from(capacity).expect("the plan bounds calls in flight");
        assert!(last <= WANTS_STAGES, "the plan bounds calls in flight");
        CallTable {
            slots: vec![slot; capacity].into_boxed_slice(),
            free: (0..last).rev().collect(),
            sent_ns: vec![0; if open_loop { capacity } else { 0 }].into_boxed_slice(),
            overdue: 0,
        }
    }

    /// How many more calls may be started.
    #[inline]
    pub(crate) fn free(&self) -> usize {
        self.free.len()
    }

    /// How many calls wait for their reply.
    #[inline]
    pub(crate) fn open(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Enters a call and returns its id. There must be a free slot.
    #[inline]
    pub(crate) fn start(&mut self, due_ns: u64, measured: bool, wants_stages: bool) -> u64 {
        let slot = self.free.pop().expect("calls are started only into free slots");
        let entry = &mut self.slots[slot as usize];
        entry.due_ns = due_ns;
        entry.state = if measured { State::Measured } else { State::WarmUp };
        entry.wants_stages = wants_stages;
        entry.id(slot)
    }

    /// Notes when the call `id` is sent, in an open loop.
    pub(crate) fn sent(&mut self, id: u64, sent_ns: u64) {
        self.sent_ns[slot_of(id)] = sent_ns;
    }

    /// Whether `id` is a call that waits.
    pub(crate) fn is_open(&self, id: u64) -> bool {
        self.slots
            .get(slot_of(id))
            .is_some_and(|slot| slot.state != State::Free && slot.id(slot_of(id) as u32) == id)
    }

    /// Ends the call `id`, if it waits.
    #[inline]
    pub(crate) fn end(&mut self, id: u64) -> Found {
        let index = slot_of(id);
        let Some(slot) = self.slots.get_mut(index) else {
            return Found::Unknown;
        };
        if slot.id(index as u32) == id && slot.state != State::Free {
            let ended = give_up(slot, self.sent_ns.get(index));
            self.free.push(index as u32);
            return Found::Open(ended);
        }
        self.closed_before(id)
    }

    /// Ends every call sent at or before `sent_until_ns`; `ended` is given each with its id.
    pub(crate) fn expire(&mut self, sent_until_ns: u64, mut ended: impl FnMut(u64, EndedCall)) {
        for (index, slot) in self.slots.iter_mut().enumerate() {
            let sent_ns = self.sent_ns.get(index);
            if slot.state != State::Free && *sent_ns.unwrap_or(&slot.due_ns) <= sent_until_ns {
                let id = slot.id(index as u32);
                ended(id, give_up(slot, sent_ns));
                self.free.push(index as u32);
            }
        }
    }

    /// Notes that `calls` ended without a reply that may still come.
    pub(crate) fn expect_late(&mut self, calls: u64) {
        self.overdue += calls;
    }

    #[cold]
    fn closed_before(&mut self, id: u64) -> Found {
        let age = self.slots[slot_of(id)].generation.wrapping_sub(generation_of(id));
        let was_given_out = (1..1 << 31).contains(&age);
        if was_given_out && self.overdue > 0 {
            self.overdue -= 1;
            return Found::Late;
        }
        Found::Unknown
    }
}

impl Slot {
    /// The id of the call in this slot, which is the slot number `index`.
    #[inline]
    fn id(&self, index: u32) -> u64 {
        let flag = if self.wants_stages { WANTS_STAGES } else { 0 };
        u64::from(self.generation) << 32 | u64::from(flag | index)
    }
}

/// Whether the call `id` asks for its stage times.
#[inline]
pub(crate) fn wants_stages(id: u64) -> bool {
    id as u32 & WANTS_STAGES != 0
}

/// The bit of an id that says so.
const WANTS_STAGES: u32 = 1 << 31;

#[inline]
fn give_up(slot: &mut Slot, sent_ns: Option<&u64>) -> EndedCall {
    let due_ns = slot.due_ns;
    let sent_ns = *sent_ns.unwrap_or(&due_ns);
    let ended = EndedCall { due_ns, sent_ns, measured: slot.state == State::Measured };
    slot.state = State::Free;
    slot.generation = slot.generation.wrapping_add(1);
    ended
}

#[inline]
fn slot_of(id: u64) -> usize {
    (id as u32 & !WANTS_STAGES) as usize
}

#[inline]
fn generation_of(id: u64) -> u32 {
    (id >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_ends_its_call_once() {
        let mut table = CallTable::new(2, false);
        let id = table.start(5, true, false);
        assert_eq!(table.open(), 1);
        assert_eq!(table.end(id), Found::Open(EndedCall { due_ns: 5, sent_ns: 5, measured: true }));
        assert_eq!(table.end(id), Found::Unknown);
        assert_eq!(table.free(), 2);
    }

    #[test]
    fn a_slot_used_again_has_another_id() {
        let mut table = CallTable::new(1, false);
        let first = table.start(1, false, false);
        table.end(first);
        let second = table.start(2, false, false);
        assert_ne!(first, second);
        assert_eq!(table.end(first), Found::Unknown);
        assert!(table.is_open(second));
    }

    #[test]
    fn only_a_timed_out_call_can_be_late() {
        let mut table = CallTable::new(1, false);
        let id = table.start(10, true, false);
        table.expire(9, |_, _| panic!("not due"));
        let mut timed_out = Vec::new();
        table.expire(10, |id, call| timed_out.push((id, call.sent_ns)));
        assert_eq!(timed_out, [(id, 10)]);
        table.expect_late(1);
        assert_eq!(table.end(id + (7 << 32)), Found::Unknown, "an id never given out");
        assert_eq!(table.end(id), Found::Late);
        assert_eq!(table.end(id), Found::Unknown, "a second reply to it");
    }

    #[test]
    fn ids_that_were_never_given_out_are_unknown() {
        let mut table = CallTable::new(3, false);
        for id in [0, 2, 3, 1 << 32, u64::MAX] {
            assert_eq!(table.end(id), Found::Unknown, "{id}");
        }
    }

    #[test]
    fn generations_wrap() {
        let mut table = CallTable::new(1, false);
        table.slots[0].generation = u32::MAX;
        let last = table.start(0, true, false);
        assert!(matches!(table.end(last), Found::Open(_)));
        let next = table.start(0, true, false);
        assert_eq!(next, 0);
        assert_eq!(table.end(last), Found::Unknown);
        assert!(matches!(table.end(next), Found::Open(_)));
    }

    #[test]
    fn a_call_that_asks_for_stages_is_known_by_its_id() {
        let mut table = CallTable::new(2, false);
        let (plain, asking) = (table.start(1, true, false), table.start(2, true, true));
        assert_eq!((wants_stages(plain), wants_stages(asking)), (false, true));
        let flipped = |id: u64| id ^ u64::from(WANTS_STAGES);
        assert_eq!(table.end(flipped(plain)), Found::Unknown, "not the id that was given out");
        assert!(!table.is_open(flipped(asking)) && table.is_open(asking));
        assert!(matches!(table.end(asking), Found::Open(call) if call.sent_ns == 2));
    }

    #[test]
    fn a_call_sent_late_counts_from_when_it_was_due_and_expires_from_when_it_was_sent() {
        let mut table = CallTable::new(2, true);
        let id = table.start(10, true, false);
        table.sent(id, 50);
        table.expire(49, |_, _| panic!("it was sent later"));
        let late = EndedCall { due_ns: 10, sent_ns: 50, measured: true };
        assert_eq!(table.end(id), Found::Open(late));
    }
}

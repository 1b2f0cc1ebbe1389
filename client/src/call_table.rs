//! The calls of one connection that wait for their reply.
//!
//! In the native framing a call id is `generation << 32 | slot`. The slot finds the call by index;
//! the generation moves on each time the slot is given up, so that a reply to a call that has
//! ended is told from a reply to the slot's present call. The highest bit of the slot's half says
//! that the call asks for its stage times: its frame can be made from its id alone.
//!
//! In Hadoop's framing ids are counted (`sequence.rs`), and the slots are a ring: an id's place is
//! its remainder. With more slots than calls in flight an id whose place is still taken is rare;
//! it is left out, and the next one is tried.

mod order;
mod sequence;

pub(crate) use sequence::Sequence;

use crate::keys::NO_KEY;
use order::Order;
use std::collections::VecDeque;

/// What the table knew of a call that has just ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EndedCall {
    /// Where its latency counts from: when it was due, in an open loop, else when it was sent.
    pub(crate) due_ns: u64,
    pub(crate) sent_ns: u64,
    /// Whether it was started in the measured phase (not in the warm-up).
    pub(crate) measured: bool,
    /// The index of its key, or [`NO_KEY`].
    pub(crate) key: u32,
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
    /// The present or, of a free slot, the next generation; in a ring the id of the last call.
    generation: u32,
    state: State,
    wants_stages: bool,
}

/// Calls in flight on one connection; never more than `capacity`.
#[derive(Debug)]
pub(crate) struct CallTable {
    slots: Box<[Slot]>,
    numbering: Numbering,
    capacity: usize,
    open: usize,
    /// By slot, when its call was sent, if that is not when it was due. Empty in a closed loop.
    sent_ns: Box<[u64]>,
    /// By slot, the index of its call's key. Empty without keys.
    keys: Box<[u32]>,
    /// Timed-out calls whose reply may still come.
    overdue: u64,
}

/// Where ids come from.
#[derive(Debug)]
enum Numbering {
    /// From the slots, of which these are free.
    Slots { free: Vec<u32> },
    /// The same, where the order of replies is looked at.
    InOrder { free: Vec<u32>, order: Order },
    /// From a counter; the slots are a ring, a power of two of them.
    Ring(Sequence),
}

impl CallTable {
    /// Room for `capacity` calls in flight, which in an open loop are sent after they are due.
    pub(crate) fn new(capacity: usize, open_loop: bool) -> CallTable {
        let last = u32::try_from(capacity).expect("the plan bounds calls in flight");
        assert!(last <= WANTS_STAGES, "the plan bounds calls in flight");
        let numbering = Numbering::Slots { free: (0..last).rev().collect() };
        CallTable::with(capacity, capacity, open_loop, numbering)
    }

    /// The same, with the ids of `sequence`.
    pub(crate) fn counted(capacity: usize, open_loop: bool, sequence: Sequence) -> CallTable {
        // At most two thirds of the places are taken.
        let slots = (capacity + capacity.div_ceil(2)).next_power_of_two();
        CallTable::with(capacity, slots, open_loop, Numbering::Ring(sequence))
    }

    fn with(capacity: usize, slots: usize, open_loop: bool, numbering: Numbering) -> CallTable {
        let slot = Slot { due_ns: 0, generation: 0, state: State::Free, wants_stages: false };
        CallTable {
            slots: vec![slot; slots].into_boxed_slice(),
            numbering,
            capacity,
            open: 0,
            sent_ns: vec![0; if open_loop { slots } else { 0 }].into_boxed_slice(),
            keys: Box::default(),
            overdue: 0,
        }
    }

    /// The same, where replies must come in the order of calls. Not for counted ids.
    pub(crate) fn in_order(mut self) -> CallTable {
        self.numbering = match self.numbering {
            Numbering::Slots { free } => {
                Numbering::InOrder { free, order: Order::new(self.slots.len()) }
            }
            other => other,
        };
        self
    }

    /// Takes out the calls whose reply came behind that of a later one, where that is looked at.
    #[inline]
    pub(crate) fn take_overtaken(&mut self) -> Vec<u64> {
        match &mut self.numbering {
            Numbering::InOrder { order, .. } => order.take_overtaken(),
            Numbering::Slots { .. } | Numbering::Ring(_) => Vec::new(),
        }
    }

    /// The same for calls with keys.
    pub(crate) fn with_keys(mut self) -> CallTable {
        self.keys = vec![NO_KEY; self.slots.len()].into_boxed_slice();
        self
    }

    /// Notes the key of the call `id`.
    #[inline]
    pub(crate) fn has_key(&mut self, id: u64, key: u32) {
        let index = self.index_of(id);
        self.keys[index] = key;
    }

    /// How many more calls may be started.
    #[inline]
    pub(crate) fn free(&self) -> usize {
        self.capacity - self.open
    }

    /// How many calls wait for their reply.
    #[inline]
    pub(crate) fn open(&self) -> usize {
        self.open
    }

    /// Enters a call and returns its id. There must be a free slot.
    #[inline(always)]
    pub(crate) fn start(&mut self, due_ns: u64, measured: bool, wants_stages: bool) -> u64 {
        assert!(self.open < self.capacity, "calls are started only into free slots");
        self.open += 1;
        let state = if measured { State::Measured } else { State::WarmUp };
        match &mut self.numbering {
            Numbering::Slots { free } => {
                let slot = free.pop().expect("a slot is free while fewer are open than there are");
                let entry = &mut self.slots[slot as usize];
                *entry = Slot { due_ns, state, wants_stages, ..*entry };
                entry.id(slot)
            }
            Numbering::InOrder { free, order } => {
                let slot = free.pop().expect("a slot is free while fewer are open than there are");
                order.started(slot as usize);
                let entry = &mut self.slots[slot as usize];
                *entry = Slot { due_ns, state, wants_stages, ..*entry };
                entry.id(slot)
            }
            Numbering::Ring(sequence) => loop {
                let id = sequence.take();
                let index = id as usize & (self.slots.len() - 1);
                let entry = &mut self.slots[index];
                if entry.state == State::Free {
                    *entry = Slot { due_ns, generation: id, state, wants_stages };
                    break u64::from(id);
                }
            },
        }
    }

    /// Enters `calls` calls at once, which do not ask for their stage times; adds their ids to
    /// `ids`. There must be so many free slots.
    pub(crate) fn start_all(
        &mut self,
        calls: usize,
        due_ns: u64,
        measured: bool,
        ids: &mut VecDeque<u64>,
    ) {
        let Numbering::Slots { free } = &mut self.numbering else {
            return ids.extend((0..calls).map(|_| self.start(due_ns, measured, false)));
        };
        assert!(calls <= free.len(), "calls are started only into free slots");
        let left = free.len() - calls;
        let state = if measured { State::Measured } else { State::WarmUp };
        ids.extend(free[left..].iter().rev().map(|&slot| {
            let entry = &mut self.slots[slot as usize];
            *entry = Slot { due_ns, state, wants_stages: false, ..*entry };
            entry.id(slot)
        }));
        free.truncate(left);
        self.open += calls;
    }

    /// Notes when the call `id` is sent, in an open loop.
    pub(crate) fn sent(&mut self, id: u64, sent_ns: u64) {
        let index = self.index_of(id);
        self.sent_ns[index] = sent_ns;
    }

    /// Whether `id` is a call that waits.
    pub(crate) fn is_open(&self, id: u64) -> bool {
        let index = self.index_of(id);
        self.slots
            .get(index)
            .is_some_and(|slot| slot.state != State::Free && self.numbering.id(slot, index) == id)
    }

    /// Ends the call `id`, if it waits. What tells the numberings apart is looked at once.
    #[inline(always)]
    pub(crate) fn end(&mut self, id: u64) -> Found {
        let (index, ended) = match &mut self.numbering {
            Numbering::Slots { free } => {
                let index = slot_of(id);
                let Some(slot) = self.slots.get_mut(index) else {
                    return Found::Unknown;
                };
                if slot.state == State::Free || slot.id(index as u32) != id {
                    return self.closed_before(id);
                }
                slot.generation = slot.generation.wrapping_add(1);
                free.push(index as u32);
                (index, slot.end(self.sent_ns.get(index)))
            }
            Numbering::InOrder { .. } => return self.end_in_order(id),
            Numbering::Ring(_) => {
                let index = id as usize & (self.slots.len() - 1);
                let slot = &mut self.slots[index];
                if slot.state == State::Free || u64::from(slot.generation) != id {
                    return self.closed_before(id);
                }
                (index, slot.end(self.sent_ns.get(index)))
            }
        };
        self.open -= 1;
        Found::Open(EndedCall { key: key_at(&self.keys, index), ..ended })
    }

    /// [`Self::end`], and the order of replies is noted.
    #[inline(never)]
    fn end_in_order(&mut self, id: u64) -> Found {
        if !self.is_open(id) {
            return self.closed_before(id);
        }
        let index = slot_of(id);
        let (slot, sent_ns) = (&mut self.slots[index], self.sent_ns.get(index));
        let ended = self.numbering.give_up(slot, index, sent_ns);
        if let Numbering::InOrder { order, .. } = &mut self.numbering {
            order.answered(index, id);
        }
        self.open -= 1;
        Found::Open(EndedCall { key: key_at(&self.keys, index), ..ended })
    }

    /// Ends every call sent at or before `sent_until_ns`; `ended` is given each with its id.
    pub(crate) fn expire(&mut self, sent_until_ns: u64, mut ended: impl FnMut(u64, EndedCall)) {
        for (index, slot) in self.slots.iter_mut().enumerate() {
            let sent_ns = self.sent_ns.get(index);
            if slot.state != State::Free && *sent_ns.unwrap_or(&slot.due_ns) <= sent_until_ns {
                let id = self.numbering.id(slot, index);
                let call = self.numbering.give_up(slot, index, sent_ns);
                ended(id, EndedCall { key: key_at(&self.keys, index), ..call });
                self.open -= 1;
            }
        }
    }

    /// Notes that `calls` ended without a reply that may still come.
    pub(crate) fn expect_late(&mut self, calls: u64) {
        self.overdue += calls;
    }

    #[cold]
    fn closed_before(&mut self, id: u64) -> Found {
        if self.overdue > 0 && self.was_given_out(id) {
            self.overdue -= 1;
            return Found::Late;
        }
        Found::Unknown
    }

    /// Whether a call that has ended had this id.
    pub(crate) fn was_given_out(&self, id: u64) -> bool {
        match &self.numbering {
            Numbering::Ring(sequence) => sequence.is_past(id),
            Numbering::Slots { .. } | Numbering::InOrder { .. } => {
                self.slots.get(slot_of(id)).is_some_and(|slot| {
                    let age = slot.generation.wrapping_sub(generation_of(id));
                    (1..1 << 31).contains(&age)
                })
            }
        }
    }

    #[inline]
    fn index_of(&self, id: u64) -> usize {
        match self.numbering {
            Numbering::Slots { .. } | Numbering::InOrder { .. } => slot_of(id),
            Numbering::Ring(_) => id as usize & (self.slots.len() - 1),
        }
    }
}

#[inline]
fn key_at(keys: &[u32], index: usize) -> u32 {
    keys.get(index).copied().unwrap_or(NO_KEY)
}

impl Numbering {
    /// The id of the call in `slot`, the one at `index`.
    #[inline]
    fn id(&self, slot: &Slot, index: usize) -> u64 {
        match self {
            Numbering::Slots { .. } | Numbering::InOrder { .. } => slot.id(index as u32),
            Numbering::Ring(_) => u64::from(slot.generation),
        }
    }

    /// Frees `slot`, the one at `index`.
    #[inline]
    fn give_up(&mut self, slot: &mut Slot, index: usize, sent_ns: Option<&u64>) -> EndedCall {
        if let Numbering::Slots { free } | Numbering::InOrder { free, .. } = self {
            slot.generation = slot.generation.wrapping_add(1);
            free.push(index as u32);
        }
        slot.end(sent_ns)
    }
}

impl Slot {
    /// Ends the call in this slot; its key is not known here.
    #[inline(always)]
    fn end(&mut self, sent_ns: Option<&u64>) -> EndedCall {
        let due_ns = self.due_ns;
        let sent_ns = *sent_ns.unwrap_or(&due_ns);
        let measured = self.state == State::Measured;
        self.state = State::Free;
        EndedCall { due_ns, sent_ns, measured, key: NO_KEY }
    }

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

/// The slot of a call; no two calls in flight of a connection have the same.
#[inline]
pub(crate) fn slot_of(id: u64) -> usize {
    (id as u32 & !WANTS_STAGES) as usize
}

#[inline]
fn generation_of(id: u64) -> u32 {
    (id >> 32) as u32
}

#[cfg(test)]
mod tests;

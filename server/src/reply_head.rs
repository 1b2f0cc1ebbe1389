//! The head of a reply that carries more than its call's id: its header, and the blocks that the
//! call asked for, in the order of their flags.

use echo_common::wire::native::{
    EXECUTION_LEN, Execution, FLAG_WANT_EXECUTION, FLAG_WANT_HELD, FLAG_WANT_STAGES, HEADER_LEN,
    HELD_LEN, Header, Held, Kind, STAGES_LEN, Stages,
};

const HEAD_MAX: usize = HEADER_LEN + STAGES_LEN + EXECUTION_LEN + HELD_LEN;

/// See the module's text.
#[derive(Clone, Copy)]
pub(crate) struct ReplyHead {
    bytes: [u8; HEAD_MAX],
    len: usize,
    id: u64,
    flags: u8,
}

impl ReplyHead {
    pub(crate) fn new(id: u64) -> ReplyHead {
        ReplyHead { bytes: [0; HEAD_MAX], len: HEADER_LEN, id, flags: 0 }
    }

    pub(crate) fn add_stages(&mut self, stages: &Stages) {
        debug_assert_eq!(self.flags, 0, "stages are the first block");
        self.add(FLAG_WANT_STAGES, &stages.encode());
    }

    pub(crate) fn add_execution(&mut self, execution: &Execution) {
        self.add(FLAG_WANT_EXECUTION, &execution.encode());
    }

    /// Adds the last block; returns where in the head it is.
    pub(crate) fn add_held(&mut self, held: &Held) -> usize {
        let at = self.len;
        self.add(FLAG_WANT_HELD, &held.encode());
        at
    }

    fn add(&mut self, flag: u8, block: &[u8]) {
        self.flags |= flag;
        self.bytes[self.len..self.len + block.len()].copy_from_slice(block);
        self.len += block.len();
    }

    /// The head of a reply with so many bytes of payload.
    pub(crate) fn of(&self, payload: usize) -> ReplyHead {
        let blocks = self.len - HEADER_LEN;
        let header = Header::new(Kind::Reply, self.flags, self.id, blocks, payload);
        let mut head = *self;
        head.bytes[..HEADER_LEN].copy_from_slice(&header.encode());
        head
    }
}

impl AsRef<[u8]> for ReplyHead {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

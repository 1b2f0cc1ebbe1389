//! What a reply brings between its header and its payload.

use crate::call_frames::BLOCKS_MAX;
use echo_common::wire::native::{
    EXECUTION_LEN, Execution, FLAG_WANT_EXECUTION, FLAG_WANT_HELD, FLAG_WANT_STAGES, HELD_LEN,
    Held, STAGES_LEN, Stages,
};

/// The blocks of a reply, as far as they came.
#[derive(Debug)]
pub(super) struct Blocks {
    bytes: [u8; BLOCKS_MAX],
    known: usize,
    pub(super) len: usize,
    flags: u8,
}

impl Blocks {
    pub(super) fn of(flags: u8) -> Blocks {
        let stages = if flags & FLAG_WANT_STAGES != 0 { STAGES_LEN } else { 0 };
        let execution = if flags & FLAG_WANT_EXECUTION != 0 { EXECUTION_LEN } else { 0 };
        let held = if flags & FLAG_WANT_HELD != 0 { HELD_LEN } else { 0 };
        let len = stages + execution + held;
        Blocks { bytes: [0; BLOCKS_MAX], known: 0, len, flags }
    }

    /// Takes what belongs to the blocks, and returns the rest.
    pub(super) fn take<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let (front, rest) = bytes.split_at(bytes.len().min(self.len - self.known));
        self.bytes[self.known..self.known + front.len()].copy_from_slice(front);
        self.known += front.len();
        rest
    }

    pub(super) fn stages(&self) -> Option<Stages> {
        let has = self.flags & FLAG_WANT_STAGES != 0;
        self.bytes.first_chunk().filter(|_| has).map(Stages::decode)
    }

    pub(super) fn execution(&self) -> Option<Execution> {
        let has = self.flags & FLAG_WANT_EXECUTION != 0;
        let held = if self.flags & FLAG_WANT_HELD != 0 { HELD_LEN } else { 0 };
        let block = self.bytes[..self.len - held].last_chunk();
        block.filter(|_| has).map(Execution::decode)
    }

    pub(super) fn held(&self) -> Option<Held> {
        let has = self.flags & FLAG_WANT_HELD != 0;
        self.bytes[..self.len].last_chunk().filter(|_| has).map(Held::decode)
    }
}

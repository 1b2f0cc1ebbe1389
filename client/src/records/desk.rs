//! What a worker lends to the connection it serves: what it counts with, and what its calls are
//! made of.

use super::accumulator::Accumulator;
use super::call::Content;
use super::record::Shape;
use super::tally::Tally;
use crate::call_table::EndedCall;
use crate::control::View;
use crate::outcome::{Failure, Ledger};
use crate::stages::Sampler;

/// See the module's text.
pub(super) struct Desk<'a> {
    pub(super) shape: &'a Shape,
    /// Flags of every call.
    pub(super) flags: u8,
    /// Whether every byte is compared, or only the length.
    pub(super) compares: bool,
    pub(super) call_bytes_max: usize,
    pub(super) ledger: Ledger,
    pub(super) tally: Tally,
    pub(super) accumulator: Accumulator,
    pub(super) sampler: Sampler,
    pub(super) view: View,
    pub(super) read_buffer: Box<[u8]>,
    /// Of calls that have ended; no more than there were calls in flight.
    pub(super) spare: Vec<Content>,
    /// What was wrong with the first replies that were.
    pub(super) wrong: Vec<String>,
}

impl Desk<'_> {
    /// A call with what waits on connection `index`. Where there is always one more record, `grant`
    /// says how many it may have, and whether they are measured; none if it may have none.
    pub(super) fn next_call(
        &mut self,
        index: usize,
        grant: impl FnOnce(usize) -> (usize, bool),
    ) -> Option<Content> {
        let mut call = self.spare.pop().unwrap_or_default();
        self.accumulator.fill(index, &mut call);
        if self.accumulator.is_endless() {
            let (granted, measured) = grant(call.records);
            call.cut(granted, measured);
            self.tally.created(granted as u64, measured);
        }
        if call.records == 0 {
            self.recycle(call);
            return None;
        }
        Some(call)
    }

    pub(super) fn failed(
        &mut self,
        content: Content,
        call: EndedCall,
        failure: Failure,
        now_ns: u64,
    ) {
        self.ledger.failed(call, failure, now_ns);
        self.tally.failed(&content, failure);
        // An error reply is no answer to the records.
        self.accumulator.ended(&content, false);
        self.recycle(content);
    }

    pub(super) fn recycle(&mut self, mut content: Content) {
        content.clear();
        self.spare.push(content);
    }

    pub(super) fn note_wrong(&mut self, text: String) {
        if self.wrong.len() < 4 {
            self.wrong.push(text);
        }
    }
}

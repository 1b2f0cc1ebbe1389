//! Doors for `benches/` to the private steps of a call's path; nothing else goes through them.

use crate::frame_check::check;
use crate::handler::echo;
use crate::limits::ReadLimits;
use crate::outbox::{Appended, Flushed, Outbox};
use crate::owed::Owed;
use bytes::BytesMut;
use echo_common::wire::native::FRAME_MAX_DEFAULT;

/// Splits and checks whole frames as a reader does; returns how many and what they are charged.
pub fn check_frames(frames: &[u8]) -> (u32, usize) {
    let limits = ReadLimits::of_frames(FRAME_MAX_DEFAULT);
    let (mut at, mut count, mut weight) = (0, 0, 0);
    while let Ok(Some(call)) = check(&frames[at..], &limits, 0) {
        at += call.length;
        weight += call.weight;
        count += 1;
    }
    (count, weight)
}

/// Replies on their way to an outbox.
#[derive(Default)]
pub struct Replies(Owed);

impl Replies {
    /// Adds a reply, copying it.
    pub fn push(&mut self, header: &[u8], body: &[u8]) {
        self.0.push_small(header, body);
    }

    /// Adds the replies that calls become where they are.
    pub fn push_in_place(&mut self, mut frames: BytesMut) {
        echo::push(&mut frames, &mut self.0, Default::default);
    }

    /// Bytes added.
    pub fn bytes(&self) -> usize {
        self.0.len()
    }

    /// Forgets them; keeps the buffer.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Leaves through `outbox` as the answer to `calls` calls that were charged `weight`; gets a
    /// buffer back.
    pub fn leave(&mut self, outbox: &Outbox, calls: u32, weight: usize) -> Flushed {
        let appended = outbox.append(&mut self.0, calls, weight);
        assert_eq!(appended, Appended::Flush, "nobody else writes here");
        outbox.flush(&mut self.0)
    }
}

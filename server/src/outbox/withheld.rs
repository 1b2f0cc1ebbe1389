//! A reply that leaves behind the next one, because `--inject swap` wants it so. Only where one
//! call of a connection is served at a time, and only while the next one is known to be there: so
//! the reply is late, and not lost.

use super::{Appended, Outbox};
use crate::owed::Owed;
use crate::sync::lock;

impl Outbox {
    /// The reader says whether it has the whole of another call behind the one that it passes on.
    pub(crate) fn note_followed(&self, is_followed: bool) {
        lock(&self.state).is_followed = is_followed;
    }

    /// Takes over the reply to the one call in flight, which was charged `weight`: it goes with the
    /// next append. None, and nothing done, if no call follows or a reply is held back already.
    pub(crate) fn withhold(&self, reply: &mut Owed, weight: usize) -> Option<Appended> {
        let mut state = lock(&self.state);
        if !state.is_followed || state.withheld.is_some() || state.closed || state.in_flight != 1 {
            return None;
        }
        state.in_flight = 0;
        state.in_flight_bytes -= weight;
        state.withheld = Some(std::mem::take(reply));
        // An append of nothing: whoever flushes it lets the reader go on.
        Some(self.append_locked(state, &mut Owed::default()))
    }
}

#[cfg(test)]
mod tests {
    use crate::fake::FakeSocket;
    use crate::mailbox::{ConnectionId, Mailbox, Wake};
    use crate::outbox::{Appended, FlowLimits, Outbox};
    use crate::owed::Owed;
    use crate::sync::Arc;

    struct Sleepless;

    impl Wake for Sleepless {
        fn wake(&self) {}
    }

    fn muted() -> Outbox {
        let flow = FlowLimits { calls_max: 1, owed_bytes_max: 1 << 20, notes_idle: false };
        let mailbox = Arc::new(Mailbox::new(1, Box::new(Sleepless)));
        Outbox::new(Box::new(FakeSocket::new(1)), ConnectionId(1), mailbox, flow)
    }

    fn reply(name: &[u8]) -> Owed {
        let mut reply = Owed::default();
        reply.push_small(name, &[]);
        reply
    }

    #[test]
    fn a_reply_is_held_back_while_another_call_is_known_to_follow_and_leaves_behind_its_reply() {
        let outbox = muted();
        outbox.begin(1, 10);
        assert_eq!(outbox.withhold(&mut reply(b"first"), 10), None, "nothing follows");
        outbox.note_followed(true);
        let mut first = reply(b"first");
        assert_eq!(outbox.withhold(&mut first, 10), Some(Appended::Flush));
        assert!(first.is_empty());
        outbox.flush(&mut Owed::default());
        assert_eq!(outbox.begin(1, 10).calls, 0, "there was room for the next one");
        assert_eq!(outbox.withhold(&mut reply(b"second"), 10), None, "one is held back already");
        outbox.append(&mut reply(b"second"), 1, 10);
        assert_eq!((outbox.owed_bytes(), outbox.close()), (11, 2));
    }

    #[test]
    fn a_reply_that_is_held_back_when_its_connection_ends_is_counted() {
        let outbox = muted();
        outbox.begin(1, 10);
        outbox.note_followed(true);
        assert!(outbox.withhold(&mut reply(b"first"), 10).is_some());
        assert_eq!(outbox.close(), 1);
        assert_eq!(outbox.close(), 0);
    }
}

//! Calls whose acknowledgement is not that of a plain call: acks=0 without a reply, acks=all by way
//! of the replicator; and the calls of a leader that this server follows.

use super::{Executor, encode};
use crate::call::{Calls, charge, extensions_len};
use crate::fault_injection::Injector;
use crate::holdings::Holdings;
use crate::meters::{Meters, OutMeters};
use crate::owed::{KEPT_MIN, Owed};
use crate::replica_inbox::{NotTaken, ReplicaInbox};
use crate::replicator::{Answer, HeldCall};
use crate::service::Reply;
use bytes::Bytes;
use echo_common::wire::native::{
    EPOCH_LEN, FLAG_ACKS_ALL, FLAG_NO_REPLY, FLAG_WANT_HELD, HOLDING_LEN, Header, Held,
    Introduction, Kind, Status, WHO_ID, error_frame,
};
use std::sync::Arc;

/// Flags of calls that go this way.
pub(super) const FLAGS: u8 = FLAG_ACKS_ALL | FLAG_NO_REPLY | FLAG_WANT_HELD;

/// What an executor needs for it.
pub(crate) struct Acking {
    /// Absent without followers: then acks=all is acks=1.
    pub(crate) inbox: Option<Arc<ReplicaInbox<HeldCall>>>,
    /// How many must hold a call; 1 without followers.
    pub(crate) needed: u16,
    pub(crate) holdings: Arc<Holdings>,
    /// The longest payload of a leader's call that is held.
    pub(crate) payload_max: usize,
    pub(crate) meters: Arc<Meters>,
    pub(crate) injector: Option<Injector>,
    /// Calls of this batch for the replicator.
    held: Vec<HeldCall>,
    run: RunCounts,
}

/// What became of calls of one run beside those that are answered at once.
#[derive(Clone, Copy, Default)]
struct RunCounts {
    /// Calls that go to the replicator, and what the connection was charged for them.
    held: u32,
    held_weight: usize,
    /// Calls that get no reply.
    omitted: u32,
}

impl Acking {
    pub(crate) fn new(
        inbox: Option<Arc<ReplicaInbox<HeldCall>>>,
        needed: u16,
        (holdings, payload_max): (Arc<Holdings>, usize),
        meters: Arc<Meters>,
        injector: Option<Injector>,
    ) -> Acking {
        let (held, run) = (Vec::new(), RunCounts::default());
        Acking { inbox, needed, holdings, payload_max, meters, injector, held, run }
    }
}

impl RunCounts {
    #[inline]
    fn any(self) -> bool {
        self.held > 0 || self.omitted > 0
    }
}

impl Executor {
    /// Takes a served call further that has one of [`FLAGS`].
    #[cold]
    pub(super) fn acknowledge(
        &mut self,
        calls: &Calls,
        frames: &Bytes,
        call: &Header,
        rest: &[u8],
        reply: Reply<'_>,
        replies: &mut Owed,
    ) {
        if call.flags & FLAG_NO_REPLY != 0 {
            self.acking.run.omitted += 1;
            return;
        }
        let failed = matches!(reply, Reply::Failed(..));
        let replicated = self.acking.inbox.is_some() && call.flags & FLAG_ACKS_ALL != 0 && !failed;
        let mut own = Owed::default();
        let target = if replicated { &mut own } else { replies };
        let mut head = self.reply_head(calls, call, &reply, target);
        let needed = if call.flags & FLAG_ACKS_ALL != 0 { self.acking.needed } else { 1 };
        let asked = call.flags & FLAG_WANT_HELD != 0;
        let held_at = asked.then(|| head.add_held(&Held { sequence: 0, holders: 1, needed }));
        encode(frames, call, reply, target, |length| head.of(length));
        if !replicated {
            return;
        }
        let body = &rest[extensions_len(call)..];
        // It may wait for long: neither reply nor payload is to keep others' bytes.
        own.compact();
        let payload = if body.len() < KEPT_MIN {
            Bytes::copy_from_slice(body)
        } else {
            frames.slice_ref(body)
        };
        let weight = charge(call, rest);
        self.acking.run.held += 1;
        self.acking.run.held_weight += weight;
        let outbox = Arc::clone(&calls.outbox);
        let (id, read_ns) = (call.id, calls.read_ns);
        let answer = Answer { outbox, id, weight, reply: own, held_at, read_ns };
        self.acking.held.push(HeldCall { payload, answer: Some(answer) });
    }

    /// Answers a call with an error, unless it wants no reply.
    pub(super) fn refuse_one(
        &mut self,
        call: &Header,
        status: Status,
        text: &str,
        replies: &mut Owed,
    ) {
        if call.kind == Kind::Call && call.flags & FLAG_NO_REPLY != 0 {
            self.acking.run.omitted += 1;
        } else {
            replies.push_small(&error_frame(call.id, status, text), &[]);
        }
    }

    /// The replies to a run leave; those of calls that go to the replicator are not among them.
    #[inline]
    pub(super) fn leave(&mut self, mut calls: Calls, mut replies: Owed, meters: &OutMeters) {
        if let Some(injector) = &mut self.acking.injector {
            meters.omitted.add(injector.apply(&mut replies, &self.acking.meters.faults));
        }
        if self.acking.run.any() {
            let run = std::mem::take(&mut self.acking.run);
            meters.omitted.add(u64::from(run.omitted));
            calls.count -= run.held;
            calls.weight -= run.held_weight;
            if let Some((_, count)) =
                self.arrivals.as_mut().and_then(|arrivals| arrivals.last_mut())
            {
                *count -= run.held;
            }
            if calls.count == 0 {
                return;
            }
        }
        if let Some(injector) = &mut self.acking.injector
            && calls.count == 1
            && injector.lets_overtake(&mut replies, &self.acking.meters.faults, |reply| {
                self.responder.withhold(&calls.outbox, reply, calls.weight)
            })
        {
            return;
        }
        self.responder.append(calls, replies, meters);
    }

    /// Gives the calls of this batch to the replicator, and answers those that it does not take.
    pub(super) fn replicate(&mut self, meters: &OutMeters) {
        let Some(inbox) = self.acking.inbox.as_ref().filter(|_| !self.acking.held.is_empty())
        else {
            return;
        };
        if let Some(injector) = &mut self.acking.injector {
            // Whatever else is done to these replies is done where they leave.
            let faults = &self.acking.meters.faults;
            for call in &mut self.acking.held {
                if injector.acks_early(faults)
                    && let Some(mut answer) = call.answer.take()
                {
                    meters.omitted.add(injector.apply_to_one(&mut answer.reply, faults));
                    self.responder.answer(answer, meters);
                }
            }
        }
        let Err(why) = inbox.offer(&mut self.acking.held) else { return };
        let (status, text) = match why {
            NotTaken::Full => {
                (Status::TooBusy, "too many calls wait for followers (--replica-backlog)")
            }
            NotTaken::Stopping => (Status::Stopping, "the server stops"),
        };
        for mut answer in self.acking.held.drain(..).filter_map(|call| call.answer) {
            self.acking.meters.replicator.refused.add(1);
            answer.fail(status, text);
            self.responder.answer(answer, meters);
        }
    }

    /// Holds a call of a leader, or lets the leader join.
    #[cold]
    pub(super) fn follow(&mut self, calls: &Calls, call: &Header, rest: &[u8], replies: &mut Owed) {
        let (epoch, rest) = rest.split_at(EPOCH_LEN);
        let epoch = word(epoch);
        let holdings = &self.acking.holdings;
        let refused = if call.kind == Kind::Join {
            let head = Header::new(Kind::Join, 0, call.id, 0, HOLDING_LEN).encode();
            if call.id == WHO_ID {
                let (server, payload_max) = (holdings.own_epoch(), self.acking.payload_max as u64);
                return replies.push_small(&head, &Introduction { server, payload_max }.encode());
            }
            let leader = Arc::downgrade(&calls.outbox);
            let connected = move || leader.upgrade().is_some_and(|outbox| !outbox.has_ended());
            let limits = &self.acking.meters.limits;
            match holdings.join((epoch, word(rest), call.id), connected, limits) {
                Ok(holding) => return replies.push_small(&head, &holding.encode()),
                Err(refused) => refused,
            }
        } else {
            self.cost.pay(calls.read_ns, rest.len());
            match holdings.hold(epoch, call.id, rest) {
                Ok(next) => {
                    let head = Header::new(Kind::Reply, 0, call.id, 0, HELD_BELOW_LEN);
                    return replies.push_small(&head.encode(), &next.to_be_bytes());
                }
                Err(refused) => refused,
            }
        };
        replies.push_small(&error_frame(call.id, refused.0, refused.1), &[]);
    }
}

/// Bytes of the number below which a follower holds all calls.
const HELD_BELOW_LEN: usize = 8;

/// The first word of bytes that were checked to have one.
fn word(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(*bytes.first_chunk().expect("the reader has checked the length"))
}

//! The replicator: one event loop that forwards calls with acks=all to the followers over pipelined
//! connections, and answers them when enough followers hold them. No handler waits.
//!
//! Handlers hand calls over through a [`ReplicaInbox`], already served and with their replies. Here
//! they are numbered ([`ReplicaLog`]) and sent along each [`Link`]; a follower's acknowledgement
//! covers every call up to a number. A call that too few hold for `--ack-timeout` is answered with
//! an error, and so is one that waits while the server stops and too few followers are in sync;
//! followers may hold it all the same.

use crate::complaints::Complaints;
use crate::fault_injection::Injector;
use crate::meters::Meters;
use crate::outbox::Outbox;
use crate::owed::Owed;
use crate::replica_inbox::{Charged, Orders, ReplicaInbox};
use crate::replica_link::{Link, LinkConfig, Phase};
use crate::replica_log::ReplicaLog;
use crate::replication::{Replication, ReplicatorMeters};
use crate::responder::Responder;
use bytes::Bytes;
use echo_common::clock;
use echo_common::quantity::format_duration;
use echo_common::wire::native::{Held, Status, error_frame};
use mio::{Events, Poll, Token};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// The token of the inbox's waker; links have their numbers.
pub(crate) const INBOX: Token = Token(usize::MAX);
const EVENTS_PER_POLL: usize = 64;
/// What a call counts beside its payload.
const OVERHEAD: usize = 256;

/// A served call on its way to the followers.
pub(crate) struct HeldCall {
    pub(crate) payload: Bytes,
    /// None if it was answered already.
    pub(crate) answer: Option<Answer>,
}

/// The reply to a call, and where it goes.
pub(crate) struct Answer {
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) id: u64,
    /// What the connection's bounds were charged.
    pub(crate) weight: usize,
    pub(crate) reply: Owed,
    /// Where in the reply its [`Held`] block is, if it has one.
    pub(crate) held_at: Option<usize>,
    pub(crate) read_ns: u64,
}

struct Waiting {
    answer: Answer,
    until_ns: u64,
}

impl Charged for HeldCall {
    fn bytes(&self) -> usize {
        self.payload.len() + OVERHEAD
    }
}

impl Answer {
    /// Fills in how safe the call is.
    pub(crate) fn fill_in(&mut self, held: &Held) {
        if let Some(at) = self.held_at {
            self.reply.patch_front(at, &held.encode());
        }
    }

    /// Replaces the reply by an error.
    pub(crate) fn fail(&mut self, status: Status, text: &str) {
        self.reply.clear();
        self.held_at = None;
        self.reply.push_small(&error_frame(self.id, status, text), &[]);
    }
}

/// The event loop's state.
pub(crate) struct Replicator {
    poll: Poll,
    inbox: Arc<ReplicaInbox<HeldCall>>,
    plan: Replication,
    log: ReplicaLog<Waiting>,
    links: Vec<Link>,
    responder: Responder,
    meters: Arc<Meters>,
    complaints: Arc<Complaints>,
    /// Makes faults (`--inject`), if any are asked for.
    injector: Option<Injector>,
    /// Whether it is counted how long calls are in the server.
    time_calls: bool,
    collected: Vec<HeldCall>,
    orders: Orders,
    /// Replies of this pass that an injector is to see together.
    leaving: Vec<Answer>,
    now_ns: u64,
}

impl Replicator {
    pub(crate) fn new(
        poll: Poll,
        inbox: Arc<ReplicaInbox<HeldCall>>,
        plan: Replication,
        epoch: u64,
        meters: Arc<Meters>,
        complaints: Arc<Complaints>,
        time_calls: bool,
    ) -> Replicator {
        let timeout_ns = clock::ns(plan.follower_timeout);
        let config = LinkConfig { epoch, window: plan.window, timeout_ns };
        let link = |(number, address): (usize, &_)| Link::new(*address, Token(number), config);
        let links = plan.followers.iter().enumerate().map(link).collect();
        meters.replicator.begin(&plan.followers);
        Replicator {
            poll,
            inbox,
            plan,
            log: ReplicaLog::new(),
            links,
            responder: Responder::default(),
            meters,
            complaints,
            injector: None,
            time_calls,
            collected: Vec::new(),
            orders: Orders::Serve,
            leaving: Vec::new(),
            now_ns: clock::now_ns(),
        }
    }

    /// The same, and faults are made.
    pub(crate) fn with_faults(self, injector: Option<Injector>) -> Replicator {
        Replicator { injector, ..self }
    }

    fn meters(&self) -> &ReplicatorMeters {
        &self.meters.replicator
    }

    /// Runs until the server stops.
    pub(crate) fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(EVENTS_PER_POLL);
        loop {
            match self.poll.poll(&mut events, self.sleep()) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                Err(_) => events.clear(),
                Ok(()) => {}
            }
            self.now_ns = clock::now_ns();
            for event in &events {
                match event.token() {
                    INBOX => self.open_inbox(),
                    Token(number) => self.links[number].on_event(event),
                }
            }
            self.drive_links();
            self.answer();
            self.answer_while_stopping();
            self.let_go();
            self.forget();
            self.responder.flush(&self.meters.replicator.out);
            self.meters().note(&self.log, &self.links);
            if self.orders == Orders::End {
                return Ok(());
            }
        }
    }

    /// How long the poll may sleep.
    fn sleep(&self) -> Option<Duration> {
        let links = self.links.iter().map(|link| link.due_ns(&self.log));
        let first = self.log.first_waiting().map(|waiting| waiting.until_ns);
        let due_ns = links.chain(first).min().unwrap_or(u64::MAX);
        let sleep_ns = due_ns.saturating_sub(clock::now_ns());
        (due_ns < u64::MAX).then(|| Duration::from_nanos(sleep_ns))
    }

    /// Numbers the calls that handlers handed over, and looks whether the server stops.
    fn open_inbox(&mut self) {
        let mut calls = std::mem::take(&mut self.collected);
        self.orders = self.inbox.collect(&mut calls);
        let until_ns = self.now_ns.saturating_add(clock::ns(self.plan.ack_timeout));
        for call in calls.drain(..) {
            let bytes = call.bytes();
            let waiting = call.answer.map(|answer| Waiting { answer, until_ns });
            self.log.push(call.payload, bytes, waiting);
        }
        self.collected = calls;
    }

    fn drive_links(&mut self) {
        for number in 0..self.links.len() {
            let joins = self.links[number].joins;
            let result = self.drive_link(number);
            let link = &mut self.links[number];
            if let Some((call, bytes)) = link.passed_over.take() {
                self.meters.replicator.let_go.add(1);
                let what = format_args!(
                    "follower {} cannot hold call {call} of {bytes} bytes (its --max-frame-size): \
                     it begins anew behind it",
                    link.address
                );
                self.complaints.write("follower let go", what);
            }
            if let Err(error) = result {
                self.meters.replicator.links_lost.add(1);
                let why = error.to_string();
                // Once until it is in sync or fails otherwise.
                if link.complaint != why {
                    self.complaints
                        .write("follower", format_args!("follower {}: {why}", link.address));
                    link.complaint = why;
                }
            } else if link.joins > joins {
                link.complaint.clear();
                let since = link.needs().unwrap_or_default();
                let what = format_args!("follower {} is in sync at call {since}", link.address);
                self.complaints.write("follower in sync", what);
            }
        }
    }

    /// Drives one link. A server that another link leads to, too, must not join twice: it would
    /// count as two.
    fn drive_link(&mut self, number: usize) -> io::Result<()> {
        let (registry, now_ns) = (self.poll.registry(), self.now_ns);
        self.links[number].drive(&self.log, registry, now_ns)?;
        let Phase::Introduced = self.links[number].phase() else { return Ok(()) };
        let server = self.links[number].server();
        let others = self.links.iter().enumerate().filter(|(other, _)| *other != number);
        let double = others.map(|(_, link)| link).find(|link| link.server() == server);
        if let Some(double) = double {
            let what = format!("it is the server at {}, too, and counts once", double.address);
            self.links[number].leave(now_ns);
            return Err(io::Error::other(what));
        }
        self.links[number].drive(&self.log, registry, now_ns)
    }

    /// Answers calls that enough hold, then those that too few can hold or that have waited too
    /// long.
    fn answer(&mut self) {
        self.answer_held();
        while self.refuse_too_large() {
            self.answer_held();
        }
        self.answer_wrongly();
        let (now_ns, needed) = (self.now_ns, self.plan.min_insync);
        if self.log.first_waiting().is_some_and(|waiting| waiting.until_ns <= now_ns) {
            let text = format!(
                "fewer than {needed} held the call within {} (--min-insync, --ack-timeout)",
                format_duration(self.plan.ack_timeout)
            );
            let timed_out =
                self.give_up(|waiting| waiting.until_ns <= now_ns, Status::TooFewHolders, &text);
            self.meters.replicator.timed_out.add(timed_out);
        }
    }

    /// Answers the first call that waits with an error if a follower in sync can never hold it, and
    /// too few others in sync can. Returns whether it did.
    fn refuse_too_large(&mut self) -> bool {
        let sequence = self.log.answered();
        let Some(bytes) = self.log.payload(sequence).map(Bytes::len) else { return false };
        if !self.links.iter().any(|link| link.stops_at(sequence, bytes)) {
            return false;
        }
        let in_sync = self.links.iter().filter(|link| link.held_below().is_some());
        let able = 1 + in_sync.filter(|link| link.can_hold(bytes)).count();
        let needed = usize::from(self.plan.min_insync);
        if able >= needed {
            return false;
        }
        let text = format!(
            "the payload of {bytes} bytes is too large for followers: {able} in sync can hold it, \
             {needed} must (--min-insync, their --max-frame-size)"
        );
        let meters = &self.meters.replicator;
        self.log.give_up_first(|_, Waiting { mut answer, .. }| {
            answer.fail(Status::FrameTooLarge, &text);
            self.responder.answer(answer, &meters.out);
        });
        meters.too_large.add(1);
        true
    }

    fn answer_held(&mut self) {
        let mut held: Vec<u64> = self.links.iter().filter_map(Link::held_below).collect();
        held.sort_unstable_by(|a, b| b.cmp(a));
        let followers = usize::from(self.plan.min_insync) - 1;
        let below = match followers {
            0 => self.log.next(),
            _ => held.get(followers - 1).copied().unwrap_or(0),
        };
        let needed = self.plan.min_insync;
        let meters = &self.meters.replicator;
        let now_ns = clock::now_ns();
        self.log.answer_below(below, |sequence, Waiting { mut answer, .. }| {
            let holders = 1 + held.iter().filter(|below| **below > sequence).count() as u16;
            assert!(holders >= needed, "call {sequence} is held by {holders} of {needed}");
            answer.fill_in(&Held { sequence, holders, needed });
            meters.acknowledged.add(1);
            if self.time_calls {
                meters.out.times.add(clock::elapsed_ns(answer.read_ns, now_ns), 1);
            }
            match self.injector {
                None => self.responder.answer(answer, &meters.out),
                Some(_) => self.leaving.push(answer),
            }
        });
    }

    /// Answers what an injector is to see first.
    fn answer_wrongly(&mut self) {
        let Some(injector) = &mut self.injector else { return };
        let (faults, out) = (&self.meters.faults, &self.meters.replicator.out);
        injector.swap(&mut self.leaving, faults);
        for mut answer in self.leaving.drain(..) {
            let Answer { outbox, reply, weight, .. } = &mut answer;
            out.omitted.add(injector.apply_to_one(reply, faults));
            let withheld = injector.lets_overtake(reply, faults, |reply| {
                self.responder.withhold(outbox, reply, *weight)
            });
            if !withheld {
                self.responder.answer(answer, out);
            }
        }
    }

    /// Answers what a server that stops has no time for: calls that wait while too few followers
    /// are in sync, in the end all of them.
    fn answer_while_stopping(&mut self) {
        match self.orders {
            Orders::Serve => {}
            Orders::Drain => {
                let needed = usize::from(self.plan.min_insync);
                let holders = 1 + self.links.iter().filter_map(Link::held_below).count();
                if holders < needed {
                    let text = format!(
                        "the server stops, and too few followers are in sync: {needed} must \
                         hold the call, {holders} can (--min-insync)"
                    );
                    self.give_up(|_| true, Status::TooFewHolders, &text);
                }
            }
            Orders::End => {
                self.give_up(|_| true, Status::Stopping, "the server stops");
            }
        }
    }

    /// Answers calls with an error, from the front; returns how many that were.
    fn give_up(&mut self, is_over: impl Fn(&Waiting) -> bool, status: Status, text: &str) -> u64 {
        let mut count = 0;
        self.log.give_up(is_over, |_, Waiting { mut answer, .. }| {
            answer.fail(status, text);
            count += 1;
            self.responder.answer(answer, &self.meters.replicator.out);
        });
        count
    }

    /// Followers that are so far behind that no call finds room any more are let go: they join
    /// anew, at the calls that still wait.
    fn let_go(&mut self) {
        if !self.log.keeps_answered() || self.inbox.waiting_bytes() < self.plan.backlog / 2 {
            return;
        }
        let base = self.log.base();
        for link in self.links.iter_mut().filter(|link| link.needs() == Some(base)) {
            self.meters.replicator.let_go.add(1);
            let what = format_args!("follower {} is let go: too far behind", link.address);
            self.complaints.write("follower let go", what);
            link.leave(self.now_ns);
        }
    }

    /// Forgets calls that nobody waits for and no follower needs.
    fn forget(&mut self) {
        let needed = self.links.iter().filter_map(Link::needs).min().unwrap_or(u64::MAX);
        let bytes = self.log.trim(needed);
        self.inbox.release(bytes);
    }
}

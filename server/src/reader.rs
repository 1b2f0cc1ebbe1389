//! A reader: one event loop that owns many connections for their whole life.
//!
//! Each pass reads each ready connection once and puts all calls found into the call queue in one
//! operation; without handlers it serves them itself.

use crate::call_queue::CallQueue;
use crate::complaints::Complaints;
use crate::connection::{Connection, Turn};
use crate::deadlines::Deadlines;
use crate::handler::Executor;
use crate::intake::Intake;
use crate::mailbox::{ConnectionId, Delivery, Fresh, Mailbox, Notice};
use crate::meters::ReaderMeters;
use crate::outbox::{FlowLimits, Outbox};
use crate::reader_cost::ReaderCost;
use crate::sync::yield_now;
use echo_common::clock;
use echo_common::wire::native::Status;
use mio::{Events, Interest, Poll, Token};
use slab::Slab;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// The token of the mailbox's waker; no connection has it, its slot number would be too large.
pub(crate) const MAILBOX: Token = Token(usize::MAX);
/// The token of the timer of a paced cost.
pub(crate) const PACER: Token = Token(usize::MAX - 1);
const SLOT_BITS: u32 = 32;
/// A pass is handed over in parts of about this many bytes, a part of a core's second-level cache.
const PASS_BYTES: usize = 256 << 10;
const EVENTS_PER_POLL: usize = 1024;

mod expiry;
mod refusing;

struct Entry {
    connection: Connection,
    generation: u32,
    peer: SocketAddr,
    /// Given back when the connection is dropped.
    _slot: crate::admission::Slot,
}

/// See the module's text.
pub(crate) struct Reader {
    pub(crate) poll: Poll,
    pub(crate) mailbox: Arc<Mailbox>,
    pub(crate) intake: Intake,
    pub(crate) executor: Executor,
    /// Absent without handlers.
    pub(crate) queue: Option<Arc<CallQueue>>,
    pub(crate) flow: FlowLimits,
    pub(crate) complaints: Arc<Complaints>,
    pub(crate) cost: ReaderCost,
    pub(crate) state: ReaderState,
}

/// What a reader starts with empty.
pub(crate) struct ReaderState {
    connections: Slab<Entry>,
    generation: u32,
    /// Connections with something to do, each once.
    ready: VecDeque<ConnectionId>,
    deadlines: Deadlines,
    delivery: Delivery,
    stopping: bool,
    /// Time that this pass spent on paying for calls, serving them or waiting for the queue.
    kept_ns: u64,
    /// The last put of this pass woke nobody.
    yield_due: bool,
}

impl Default for ReaderState {
    fn default() -> ReaderState {
        ReaderState {
            connections: Slab::new(),
            generation: 0,
            ready: VecDeque::new(),
            deadlines: Deadlines::new(),
            delivery: Delivery::default(),
            stopping: false,
            kept_ns: 0,
            yield_due: false,
        }
    }
}

fn id_of(slot: usize, generation: u32) -> ConnectionId {
    ConnectionId((generation as usize) << SLOT_BITS | slot)
}

impl Reader {
    fn meters(&self) -> &ReaderMeters {
        self.intake.reader()
    }

    /// Runs until the server stops and the last connection has ended.
    pub(crate) fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(EVENTS_PER_POLL);
        loop {
            self.poll(&mut events)?;
            self.intake.now_ns = clock::now_ns();
            for event in &events {
                match event.token() {
                    MAILBOX => self.open_mailbox(),
                    // The calls that are due go on with those of this pass.
                    PACER => {}
                    _ => self.on_event(event),
                }
            }
            self.turns()?;
            self.hand_over()?;
            self.excuse();
            self.give_way();
            self.check_deadlines();
            if self.state.stopping && self.state.connections.is_empty() {
                let forgotten = self.cost.forget();
                self.meters().out.undeliverable.add(forgotten);
                return Ok(());
            }
        }
    }

    fn poll(&mut self, events: &mut Events) -> io::Result<()> {
        let may_sleep = self.state.ready.is_empty();
        let timeout = if may_sleep {
            self.state.deadlines.sleep(self.intake.now_ns)
        } else {
            Some(Duration::ZERO)
        };
        self.meters().polls.add(1);
        match self.poll.poll(events, timeout) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            Err(_) => events.clear(),
            Ok(()) => {}
        }
        if may_sleep && !events.is_empty() {
            self.meters().wakeups.add(1);
        }
        Ok(())
    }

    fn find(&mut self, id: ConnectionId) -> Option<(usize, &mut Connection)> {
        let slot = id.0 & ((1 << SLOT_BITS) - 1);
        let entry = self.state.connections.get_mut(slot)?;
        (id_of(slot, entry.generation) == id).then_some((slot, &mut entry.connection))
    }

    fn list(&mut self, slot: usize) {
        let entry = &mut self.state.connections[slot];
        if !std::mem::replace(&mut entry.connection.listed, true) {
            self.state.ready.push_back(id_of(slot, entry.generation));
        }
    }

    fn on_event(&mut self, event: &mio::event::Event) {
        // An event may come for a connection that has ended in this pass: then there is none.
        let Some((slot, connection)) = self.find(ConnectionId(event.token().0)) else { return };
        if connection.on_event(event) {
            self.close(slot);
            return;
        }
        let has_work = connection.readable;
        if event.is_writable() {
            let outbox = Arc::clone(&connection.outbox);
            self.executor.responder().writable(&outbox, &self.intake.reader().out);
        }
        if has_work {
            self.list(slot);
        }
    }

    fn open_mailbox(&mut self) {
        let mut delivery = std::mem::take(&mut self.state.delivery);
        self.mailbox.collect(&mut delivery);
        for fresh in delivery.fresh.drain(..) {
            self.welcome(fresh);
        }
        for notice in delivery.notices.drain(..) {
            self.on_notice(notice);
        }
        if delivery.cut {
            self.cut_all();
        } else if delivery.stopping && !self.state.stopping {
            self.stop();
        }
        self.state.delivery = delivery;
    }

    fn welcome(&mut self, fresh: Fresh) {
        let Fresh { mut stream, peer, slot: admitted } = fresh;
        if self.state.stopping {
            return;
        }
        let vacant = self.state.connections.vacant_entry();
        let slot = vacant.key();
        self.state.generation = self.state.generation.wrapping_add(1);
        let generation = self.state.generation;
        let id = id_of(slot, generation);
        let both = Interest::READABLE | Interest::WRITABLE;
        if self.poll.registry().register(&mut stream, Token(id.0), both).is_err() {
            // The kernel has no room to watch one more socket: that costs this connection only.
            self.intake.limited().accept_failures.add(1);
            self.meters().connections_opened.add(1);
            self.meters().connections_closed.add(1);
            return;
        }
        let outbox = Outbox::new(Box::new(stream), id, Arc::clone(&self.mailbox), self.flow);
        let connection = Connection::new(Arc::new(outbox), self.intake.now_ns);
        vacant.insert(Entry { connection, generation, peer, _slot: admitted });
        self.meters().connections_opened.add(1);
        let limit_ns = self.intake.limits.handshake_timeout_ns;
        self.state.deadlines.note(self.intake.now_ns, limit_ns);
        self.list(slot);
    }

    fn on_notice(&mut self, notice: Notice) {
        let now_ns = self.intake.now_ns;
        let stall_ns = self.intake.limits.write_stall_timeout_ns;
        let (Notice::Resume(id) | Notice::Armed(id) | Notice::Finished(id) | Notice::Broken(id)) =
            notice;
        let Some((slot, connection)) = self.find(id) else { return };
        match notice {
            Notice::Resume(_) => {
                connection.resume();
                self.list(slot);
            }
            Notice::Armed(_) => {
                connection.blocked = true;
                self.state.deadlines.note(now_ns, stall_ns);
            }
            Notice::Finished(_) => {
                let turn = connection.finished(now_ns);
                self.after_turn(slot, turn);
            }
            Notice::Broken(_) => self.close(slot),
        }
    }

    /// One turn for every connection that has something to do.
    fn turns(&mut self) -> io::Result<()> {
        for _ in 0..self.state.ready.len() {
            let Some(id) = self.state.ready.pop_front() else { break };
            // A connection that ended while it was listed leaves its id behind.
            let Some((slot, _)) = self.find(id) else { continue };
            let entry = &mut self.state.connections[slot];
            entry.connection.listed = false;
            let turn = entry.connection.turn(&mut self.intake);
            self.answer(slot);
            self.after_turn(slot, turn);
            if self.hands_over_early() {
                self.hand_over()?;
            }
        }
        Ok(())
    }

    /// Whether the calls read so far go on before the pass is complete: while their bytes are in
    /// the cache, or because each is paid for by itself.
    fn hands_over_early(&self) -> bool {
        self.intake.pass_bytes >= PASS_BYTES || self.cost.is_some()
    }

    fn after_turn(&mut self, slot: usize, turn: Turn) {
        let limits = &self.intake.limits;
        let connection = &mut self.state.connections[slot].connection;
        if let Some((since_ns, limit_ns)) = connection.running_limit(limits) {
            self.state.deadlines.note(since_ns, limit_ns);
        }
        match turn {
            Turn::Wait => {}
            Turn::Again => self.list(slot),
            Turn::Close => self.close(slot),
            Turn::Refuse(refusal) => self.refuse(slot, refusal),
            Turn::Farewell(bytes) => self.bid_farewell(slot, &bytes),
        }
    }

    fn close(&mut self, slot: usize) {
        let entry = self.state.connections.remove(slot);
        let dropped = entry.connection.outbox.close();
        self.meters().out.undeliverable.add(u64::from(dropped));
        self.meters().connections_closed.add(1);
    }

    /// All calls of the pass leave in one operation.
    fn hand_over(&mut self) -> io::Result<()> {
        // A wait for the queue is timed by itself.
        let timed = self.cost.is_some() || self.queue.is_none();
        let since_ns = if timed { clock::now_ns() } else { 0 };
        let mut kept_ns = 0;
        self.intake.hand_out();
        self.cost.pay(&mut self.intake.calls)?;
        if self.intake.calls.is_empty() {
            return Ok(());
        }
        self.intake.pass_bytes = 0;
        let stamped = self.stamp();
        self.meters().passes.add(1);
        let mut calls = std::mem::take(&mut self.intake.calls);
        match &self.queue {
            None => self.executor.serve(calls.drain(..), stamped, &self.intake.reader().out),
            Some(queue) => {
                let put = queue.put(self.intake.number(), &mut calls);
                if let Some(blocked_ns) = put.blocked_ns {
                    self.intake.limited().queue_full_waits.add(1);
                    self.meters().blocked_ns.add(blocked_ns);
                    kept_ns = blocked_ns;
                }
                // A queue that waits gives calls back only when it is closed: the drain was cut.
                let why = if queue.rejects() { Status::TooBusy } else { Status::Stopping };
                self.state.yield_due = !put.woke;
                self.reject(&mut calls, why);
            }
        }
        self.intake.calls = calls;
        if timed {
            kept_ns = clock::elapsed_ns(since_ns, clock::now_ns());
        }
        self.note_kept(kept_ns);
        Ok(())
    }

    /// Gives the processor away once after a pass that woke nobody, so that a handler on the same
    /// core serves it now, and the next pass finds more than a few calls. Not while connections are
    /// known to have more.
    fn give_way(&mut self) {
        if std::mem::take(&mut self.state.yield_due) && self.state.ready.is_empty() {
            let since_ns = clock::now_ns();
            yield_now();
            let yielded_ns = clock::elapsed_ns(since_ns, clock::now_ns());
            self.meters().thread.yielded_ns.add(yielded_ns);
        }
    }

    /// The calls of the pass go on now; those whose stages are asked for note it. Returns whether
    /// there are any.
    fn stamp(&mut self) -> bool {
        // Held calls of a paced cost come out in later passes than they were read in.
        let stamped = std::mem::take(&mut self.intake.stamped) || self.cost.is_some();
        if stamped {
            let now_ns = clock::now_ns();
            for stamps in self.intake.calls.iter_mut().filter_map(|run| run.stamps.as_mut()) {
                stamps.queued_ns = now_ns;
                if self.cost.is_some() {
                    stamps.decoded_ns = now_ns;
                }
            }
        }
        stamped
    }

    /// No more is read; every connection ends as soon as its calls are answered.
    fn stop(&mut self) {
        self.state.stopping = true;
        let slots: Vec<usize> = self.state.connections.iter().map(|(slot, _)| slot).collect();
        for slot in slots {
            self.state.connections[slot].connection.stop();
            self.list(slot);
        }
    }

    /// Draining took too long: what is left is closed as it is.
    fn cut_all(&mut self) {
        self.state.stopping = true;
        let slots: Vec<usize> = self.state.connections.iter().map(|(slot, _)| slot).collect();
        self.intake.limited().drain_cut.add(slots.len() as u64);
        for slot in slots {
            self.close(slot);
        }
    }
}

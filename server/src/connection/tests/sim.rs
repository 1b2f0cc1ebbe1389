//! A connection over a socket that does everything the kernel may do, from one seed. Whoever has
//! a [`Sim`] is the reader: it carries edges and notices, gives turns, and answers calls.

use super::super::*;
use crate::fake::{Dice, FakeSocket};
use crate::limits::ReadLimits;
use crate::mailbox::{ConnectionId, Delivery, Mailbox, Notice, Wake};
use crate::meters::Meters;
use crate::outbox::{Appended, FlowLimits};
use crate::owed::Owed;
use echo_common::wire::hadoop;
use echo_common::wire::hadoop::conversation::Rules;
use echo_common::wire::hadoop::fault::Package;
use echo_common::wire::native::{HEADER_LEN, Status};
use echo_common::wire::split::{Split, split};
use std::collections::VecDeque;

/// The longest frame that is taken.
pub(super) const FRAME_MAX: usize = 150_000;

struct Sleepless;

impl Wake for Sleepless {
    fn wake(&self) {}
}

/// The reader's part, and the handlers'.
pub(super) struct Sim {
    pub(super) socket: FakeSocket,
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) connection: Connection,
    pub(super) intake: Intake,
    pub(super) flow: FlowLimits,
    /// Runs that were submitted and not answered.
    pub(super) pending: VecDeque<Calls>,
    /// Frames that came out.
    pub(super) out: Vec<u8>,
    pub(super) calls_out: u64,
    pub(super) refused: Option<Status>,
    pub(super) closed: bool,
    pub(super) edges: VecDeque<Edge>,
}

pub(super) enum Edge {
    Readable { read_closed: bool },
    Writable,
    Error,
}

impl Sim {
    pub(super) fn new(dice: &mut Dice) -> Sim {
        let socket = FakeSocket::new(dice.within(0..1 << 30) as u64);
        let mailbox = Arc::new(Mailbox::new(1, Box::new(Sleepless)));
        let flow = FlowLimits {
            calls_max: [1, 3, 100][dice.within(0..3)],
            owed_bytes_max: [1, 2000, 300_000][dice.within(0..3)],
            notes_idle: false,
        };
        let limits = ReadLimits {
            hadoop: Some(Rules { packet_max: FRAME_MAX as u32, package: Package::Ipc }),
            reader_batch: [1, 5, 1000][dice.within(0..3)],
            ..ReadLimits::of_frames(FRAME_MAX)
        };
        let transport = Box::new(socket.clone());
        let outbox = Outbox::new(transport, ConnectionId(1), Arc::clone(&mailbox), flow);
        Sim {
            socket,
            mailbox,
            connection: Connection::new(Arc::new(outbox), 1),
            intake: Intake::new(limits, Arc::new(Meters::new(1, 1)), 0),
            flow,
            pending: VecDeque::new(),
            out: Vec::new(),
            calls_out: 0,
            refused: None,
            closed: false,
            edges: VecDeque::new(),
        }
    }

    pub(super) fn turn(&mut self) {
        if self.closed || !std::mem::take(&mut self.connection.listed) {
            return;
        }
        self.intake.now_ns += 1000;
        let turn = self.connection.turn(&mut self.intake);
        let answers = std::mem::take(&mut self.intake.answers);
        self.tell(&answers);
        self.intake.hand_out();
        let mut taken = 0;
        while let Some(run) = self.intake.calls.pop_front() {
            assert!(run.count > 0, "an empty run");
            taken += run.count;
            match &run.hadoop {
                None => self.out.extend_from_slice(&run.frames),
                Some(_) => ids(&run).for_each(|id| self.out.extend_from_slice(&id)),
            }
            self.pending.push_back(run);
        }
        assert!(taken <= self.intake.limits.reader_batch, "{taken} calls in one turn");
        self.calls_out += u64::from(taken);
        self.check_bounds();
        self.after(turn);
    }

    pub(super) fn check_bounds(&self) {
        let calls: u32 = self.pending.iter().map(|run| run.count).sum();
        assert!(calls <= self.flow.calls_max, "{calls} calls in flight");
        let bytes: usize = self.pending.iter().map(|run| run.weight).sum();
        // The last call may go beyond.
        let most = self.flow.owed_bytes_max + FRAME_MAX + HEADER_LEN;
        assert!(bytes <= most, "{bytes} bytes in flight");
    }

    pub(super) fn after(&mut self, turn: Turn) {
        match turn {
            Turn::Wait => {}
            Turn::Again => self.connection.listed = true,
            Turn::Close => self.close(),
            Turn::Farewell(bytes) => {
                assert!(self.pending.is_empty(), "a farewell before all that is owed");
                self.tell(&bytes);
                let turn = self.connection.end(self.intake.now_ns);
                self.after(turn);
            }
            Turn::Refuse(mut refusal) => {
                assert_eq!(self.refused, None, "refused twice");
                self.refused = Some(refusal.status);
                if !refusal.is_last {
                    self.tell(&std::mem::take(&mut refusal.frame));
                }
                let turn = self.connection.end_with(refusal.frame, self.intake.now_ns);
                self.after(turn);
            }
        }
    }

    /// Sends something that is no reply to a call of a run.
    fn tell(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let mut frame = Owed::default();
        frame.push_unanswered(bytes);
        let outbox = &self.connection.outbox;
        if outbox.append_refusal(&mut frame) == Appended::Flush {
            outbox.flush(&mut Owed::default());
        }
    }

    pub(super) fn close(&mut self) {
        if !std::mem::replace(&mut self.closed, true) {
            self.connection.outbox.close();
        }
    }

    /// A handler answers a run, or the first part of it.
    pub(super) fn answer(&mut self, dice: &mut Dice) {
        let Some(mut run) = self.pending.pop_front() else { return };
        if run.count > 1 && dice.one_in(2) {
            let first = run.split_front(1 + dice.within(0..run.count as usize - 1) as u32);
            self.pending.push_front(run);
            run = first;
        }
        let mut replies = Owed::default();
        if run.hadoop.is_some() {
            ids(&run).for_each(|id| replies.push_small(&id, &[]));
        } else {
            let mut rest = &run.frames[..];
            for _ in 0..run.count {
                let Ok(Split::Frame(length)) = split(rest, FRAME_MAX) else {
                    panic!("a run that is not whole frames");
                };
                replies.push_small(&rest[..length], &[]);
                rest = &rest[length..];
            }
            assert!(rest.is_empty(), "a run with something behind its last frame");
        }
        assert_eq!(replies.replies(), run.count, "calls of a run");
        if run.outbox.append(&mut replies, run.count, run.weight) == Appended::Flush {
            run.outbox.flush(&mut Owed::default());
        }
    }

    pub(super) fn deliver_edge(&mut self) {
        let Some(edge) = self.edges.pop_front() else { return };
        if self.closed {
            return;
        }
        match edge {
            Edge::Readable { read_closed } => {
                self.connection.readable = true;
                self.connection.read_closed |= read_closed;
                self.connection.listed = true;
            }
            Edge::Writable => {
                self.connection.outbox.writable(&mut Owed::default());
            }
            Edge::Error => self.close(),
        }
    }

    pub(super) fn collect(&mut self) {
        let mut delivery = Delivery::default();
        self.mailbox.collect(&mut delivery);
        for notice in delivery.notices {
            if self.closed {
                continue;
            }
            match notice {
                Notice::Resume(_) => {
                    self.connection.resume();
                    self.connection.listed = true;
                }
                Notice::Armed(_) => self.connection.blocked = true,
                Notice::Finished(_) => {
                    let turn = self.connection.finished(self.intake.now_ns);
                    self.after(turn);
                }
                Notice::Broken(_) => self.close(),
            }
        }
    }

    pub(super) fn drain(&mut self, room: usize) {
        if self.socket.drain(room) {
            self.edges.push_back(Edge::Writable);
        }
    }

    pub(super) fn come_to_rest(&mut self, dice: &mut Dice) {
        for _ in 0..200_000 {
            self.drain(usize::MAX / 1_000_000);
            self.deliver_edge();
            self.collect();
            self.turn();
            self.answer(dice);
            let busy = self.connection.listed && !self.closed;
            if !busy && self.pending.is_empty() && self.edges.is_empty() {
                self.collect();
                if !self.connection.listed || self.closed {
                    return;
                }
            }
        }
        panic!("it never comes to rest");
    }
}

/// What a call of Hadoop RPC is known by here, and answered with.
fn ids(run: &Calls) -> impl Iterator<Item = [u8; 4]> {
    hadoop::call::Calls::of(&run.frames).map(|call| call.header.call_id.to_be_bytes())
}

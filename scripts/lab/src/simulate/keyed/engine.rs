//! The two threads of the keyed dispatcher.

use super::{Load, Outcome, Setup};
use crate::simulate::agenda::Agenda;
use crate::simulate::law::{Chance, Spread};
use crate::simulate::tally::Tally;
use std::collections::VecDeque;

/// When a call was sent.
type Sent = u64;

/// What the serial thread does, in the order of its queue.
enum Task {
    Confirm(Sent),
    /// A read goes on.
    Extend,
    /// The dispatch of an extended read.
    Dispatch,
    Stall,
}

enum Event {
    Arrival,
    Stall,
    SerialDone(Task),
    /// The dispatcher has read.
    Read,
    /// The dispatcher has dispatched.
    Dispatched,
    /// The hand-over was taken.
    Taken,
    Returns(Sent),
}

pub(super) struct Engine<'a> {
    setup: &'a Setup,
    agenda: Agenda<Event>,
    chance: Chance,
    serial: VecDeque<Task>,
    serial_works: bool,
    confirmed: VecDeque<Sent>,
    /// What the present read holds.
    read: Vec<Sent>,
    /// The dispatcher may read.
    idle: bool,
    sent: u64,
    dispatched: u64,
    tally: Tally,
    serial_ns: u64,
    dispatcher_ns: u64,
    reads: u64,
    reads_extended: u64,
    calls_read: u64,
    backlog_max: u64,
    from_ns: u64,
    until_ns: u64,
}

impl<'a> Engine<'a> {
    pub(super) fn new(setup: &'a Setup) -> Engine<'a> {
        let from_ns = (setup.warmup_s * 1e9) as u64;
        Engine {
            setup,
            agenda: Agenda::default(),
            chance: Chance::new(setup.seed),
            serial: VecDeque::new(),
            serial_works: false,
            confirmed: VecDeque::new(),
            read: Vec::new(),
            idle: true,
            sent: 0,
            dispatched: 0,
            tally: Tally::default(),
            serial_ns: 0,
            dispatcher_ns: 0,
            reads: 0,
            reads_extended: 0,
            calls_read: 0,
            backlog_max: 0,
            from_ns,
            until_ns: from_ns + (setup.measured_s * 1e9) as u64,
        }
    }

    pub(super) fn run(mut self) -> Outcome {
        match self.setup.load {
            Load::Closed(calls) => (0..calls).for_each(|_| self.send()),
            Load::Open(_) => self.agenda.enter(0, Event::Arrival),
        }
        if self.setup.stall_every_us > 0.0 {
            self.agenda.enter(ns(self.setup.stall_every_us), Event::Stall);
        }
        self.serial_next();
        while let Some(event) = self.agenda.next(self.until_ns) {
            match event {
                Event::Arrival => self.arrival(),
                Event::Stall => {
                    self.serial.push_front(Task::Stall);
                    self.agenda.enter(ns(self.setup.stall_every_us), Event::Stall);
                }
                Event::SerialDone(task) => self.serial_done(task),
                Event::Read => self.after_read(),
                Event::Dispatched => self.after_dispatch(),
                Event::Taken => self.idle = true,
                Event::Returns(sent_ns) => self.returns(sent_ns),
            }
            self.serial_next();
            self.read_next();
        }
        self.outcome()
    }

    fn measures(&self) -> bool {
        self.agenda.now_ns() >= self.from_ns
    }

    fn arrival(&mut self) {
        let Load::Open(calls_per_s) = self.setup.load else { return };
        let gap_ns = self.chance.time_ns(1e6 / calls_per_s, Spread::Exponential);
        self.agenda.enter(gap_ns.max(1), Event::Arrival);
        self.send();
    }

    fn send(&mut self) {
        self.sent += 1;
        self.serial.push_back(Task::Confirm(self.agenda.now_ns()));
        if self.measures() {
            self.backlog_max = self.backlog_max.max(self.sent - self.dispatched);
        }
    }

    fn returns(&mut self, sent_ns: Sent) {
        if self.measures() {
            self.tally.add(self.agenda.now_ns() - sent_ns);
        }
        if matches!(self.setup.load, Load::Closed(_)) {
            self.send();
        }
    }

    fn serial_next(&mut self) {
        if self.serial_works {
            return;
        }
        let Some(task) = self.serial.pop_front() else { return };
        self.serial_works = true;
        let setup = self.setup;
        let cost_us = match task {
            Task::Confirm(_) => setup.serial_us,
            Task::Extend => setup.read_us + setup.read_call_us * f64::from(self.take()),
            Task::Dispatch => setup.dispatch_call_us * self.read.len() as f64,
            Task::Stall => setup.stall_us,
        };
        if self.measures() && !matches!(task, Task::Stall) {
            self.serial_ns += ns(cost_us);
        }
        self.agenda.enter(ns(cost_us), Event::SerialDone(task));
    }

    fn serial_done(&mut self, task: Task) {
        self.serial_works = false;
        match task {
            Task::Confirm(sent_ns) => self.confirmed.push_back(sent_ns),
            Task::Extend if self.falls_short() => self.serial.push_back(Task::Extend),
            Task::Extend => self.serial.push_front(Task::Dispatch),
            Task::Dispatch => self.after_dispatch(),
            Task::Stall => {}
        }
    }

    /// An idle dispatcher reads as soon as something is confirmed.
    fn read_next(&mut self) {
        if !self.idle || self.confirmed.is_empty() {
            return;
        }
        self.idle = false;
        let cost_us = self.setup.read_us + self.setup.read_call_us * f64::from(self.take());
        self.dispatcher_works(cost_us, Event::Read);
    }

    /// Takes what is confirmed, as far as the batch goes, into the read; returns how much.
    fn take(&mut self) -> u32 {
        let room = self.setup.batch as usize - self.read.len();
        let taken = room.min(self.confirmed.len());
        self.read.extend(self.confirmed.drain(..taken));
        taken as u32
    }

    /// Whether the read has room, and there is something to fill it with.
    fn falls_short(&self) -> bool {
        self.read.len() < self.setup.batch as usize && !self.confirmed.is_empty()
    }

    fn after_read(&mut self) {
        let extends = self.setup.extend && self.falls_short();
        if self.measures() {
            self.reads += 1;
            self.reads_extended += u64::from(extends);
        }
        if extends {
            self.serial.push_back(Task::Extend);
        } else {
            let cost_us = self.setup.dispatch_call_us * self.read.len() as f64;
            self.dispatcher_works(cost_us, Event::Dispatched);
        }
    }

    fn dispatcher_works(&mut self, cost_us: f64, then: Event) {
        if self.measures() {
            self.dispatcher_ns += ns(cost_us);
        }
        self.agenda.enter(ns(cost_us), then);
    }

    fn after_dispatch(&mut self) {
        if self.measures() {
            self.calls_read += self.read.len() as u64;
        }
        self.dispatched += self.read.len() as u64;
        for sent_ns in self.read.drain(..) {
            let back_ns = self.chance.time_ns(self.setup.return_us, Spread::Exponential);
            self.agenda.enter(back_ns, Event::Returns(sent_ns));
        }
        self.agenda.enter(ns(self.setup.gap_us), Event::Taken);
    }

    fn outcome(self) -> Outcome {
        let measured_ns = (self.until_ns - self.from_ns) as f64;
        // The last piece of work may end behind the end.
        let share = |busy_ns: u64| (busy_ns as f64 / measured_ns).min(1.0);
        let per_read = |count: u64| (self.reads > 0).then(|| count as f64 / self.reads as f64);
        Outcome {
            calls_per_s: self.tally.count() as f64 / (measured_ns / 1e9),
            serial_busy_share: share(self.serial_ns),
            dispatcher_busy_share: share(self.dispatcher_ns),
            batch_mean: per_read(self.calls_read),
            extended_share: per_read(self.reads_extended),
            backlog_max: self.backlog_max,
            response_us: self.tally.response_times(),
        }
    }
}

fn ns(us: f64) -> u64 {
    (us * 1e3).round() as u64
}

//! The way of a call through the pipeline. What threads do with their cores is in `threads.rs`.

use super::threads::{Role, State, Thread, Use};
use super::{Load, Outcome, Setup};
use crate::simulate::agenda::Agenda;
use crate::simulate::cores::{CoreId, Cores, ThreadId};
use crate::simulate::law::{Chance, Spread};
use crate::simulate::tally::Tally;
use std::collections::VecDeque;

/// One call on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    caller: u32,
    connection: u32,
    /// When it was started, or due.
    since_ns: u64,
    /// When it came to the stage where it is.
    pub(super) arrived_ns: u64,
    pub(super) replied: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// A caller has thought.
    Due { caller: u32 },
    /// The next call of the schedule.
    Arrival,
    /// The thread on this core has run for so long.
    Slice { core: CoreId, ran_ns: u64 },
    /// A virtual server lets a reader's call go.
    Paced(Call),
    /// A virtual server lets a handler go on.
    Rested(ThreadId),
    /// A reply is at the client.
    Reply(Call),
}

pub(super) struct Engine<'a> {
    pub(super) setup: &'a Setup,
    pub(super) agenda: Agenda<Event>,
    pub(super) chance: Chance,
    /// Workers, readers, handlers, in this order.
    pub(super) threads: Vec<Thread>,
    workers: usize,
    readers: usize,
    pub(super) cores: Cores,
    pub(super) queue: VecDeque<Call>,
    /// The handler that was woken and has not looked yet.
    pub(super) waking: Option<ThreadId>,
    next_connection: u32,
    started: u64,
    ended: u64,
    tally: Tally,
    from_ns: u64,
    until_ns: u64,
}

impl<'a> Engine<'a> {
    pub(super) fn new(setup: &'a Setup) -> Engine<'a> {
        let (workers, readers) = (setup.workers as usize, setup.readers as usize);
        let handlers = setup.handlers as usize;
        let stage = |role, cost, count| (0..count).map(move |_| Thread::new(role, cost));
        let threads: Vec<Thread> = stage(Role::Worker, setup.client, workers)
            .chain(stage(Role::Reader, setup.reader, readers))
            .chain(stage(Role::Handler, setup.handler, handlers))
            .collect();
        let shared_cores = setup.cores.map_or(threads.len(), |cores| cores as usize);
        let apart = |thread: &Thread| setup.client_apart && thread.role == Role::Worker;
        let machines = threads.iter().map(|thread| usize::from(apart(thread))).collect();
        let from_ns = seconds_ns(setup.warmup_s);
        Engine {
            setup,
            agenda: Agenda::default(),
            chance: Chance::new(setup.seed),
            workers,
            readers,
            cores: Cores::new(&[shared_cores, workers], machines),
            threads,
            queue: VecDeque::new(),
            waking: None,
            next_connection: 0,
            started: 0,
            ended: 0,
            tally: Tally::default(),
            from_ns,
            until_ns: from_ns.saturating_add(seconds_ns(setup.measured_s)),
        }
    }

    pub(super) fn run(mut self) -> Outcome {
        match self.setup.load {
            Load::Closed { callers, .. } => {
                (0..callers).for_each(|caller| self.agenda.enter(0, Event::Due { caller }));
            }
            Load::Open { .. } => self.agenda.enter(0, Event::Arrival),
        }
        let mut measuring = false;
        while let Some(event) = self.agenda.next(self.until_ns) {
            if !measuring && self.agenda.now_ns() >= self.from_ns {
                measuring = true;
                self.threads.iter_mut().for_each(|thread| thread.used = Use::default());
            }
            self.on_event(event);
            self.assign_cores();
        }
        self.outcome()
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Due { caller } => {
                let call = self.next_call(caller);
                self.hand_to_client(call);
            }
            Event::Arrival => self.arrival(),
            Event::Slice { core, ran_ns } => self.slice_ended(core, ran_ns),
            Event::Paced(call) => self.put_in_queue(call),
            Event::Rested(thread) => self.rested(thread),
            Event::Reply(call) => self.hand_to_client(call),
        }
    }

    fn arrival(&mut self) {
        let Load::Open { calls_per_s, poisson } = self.setup.load else { return };
        let spread = if poisson { Spread::Exponential } else { Spread::Deterministic };
        let gap_ns = self.chance.time_ns(1e6 / calls_per_s, spread);
        self.agenda.enter(gap_ns.max(1), Event::Arrival);
        let call = self.next_call(0);
        self.hand_to_client(call);
    }

    /// A caller begins its next call.
    fn next_call(&mut self, caller: u32) -> Call {
        let clients = self.setup.clients;
        let stays = matches!(self.setup.load,
            Load::Closed { callers, turns: false, .. } if callers >= clients);
        let connection = if stays { caller % clients } else { self.next_connection };
        self.next_connection = (self.next_connection + 1) % clients;
        self.started += 1;
        let now_ns = self.agenda.now_ns();
        Call { caller, connection, since_ns: now_ns, arrived_ns: now_ns, replied: false }
    }

    /// A call to send, or a reply to read.
    fn hand_to_client(&mut self, call: Call) {
        if self.setup.client.is_free() {
            self.through_client(call);
        } else {
            self.hand_to_thread(call.connection as usize % self.workers, call);
        }
    }

    pub(super) fn through_client(&mut self, call: Call) {
        if !call.replied {
            self.hand_to_reader(call);
            return;
        }
        self.ended += 1;
        let now_ns = self.agenda.now_ns();
        if now_ns >= self.from_ns {
            self.tally.add(now_ns - call.since_ns);
        }
        let Load::Closed { think_us, .. } = self.setup.load else { return };
        if think_us > 0.0 || self.setup.client.is_free() {
            self.agenda.enter((think_us * 1e3) as u64, Event::Due { caller: call.caller });
        } else {
            // The worker that has read the reply sends the next call in the same pass.
            let next = self.next_call(call.caller);
            self.hand_to_reader(next);
        }
    }

    fn hand_to_reader(&mut self, call: Call) {
        let serves = self.setup.handlers == 0 && !self.setup.handler.is_free();
        if self.setup.reader.is_free() && !serves {
            self.put_in_queue(call);
        } else {
            self.hand_to_thread(self.workers + call.connection as usize % self.readers, call);
        }
    }

    fn hand_to_thread(&mut self, thread: ThreadId, mut call: Call) {
        call.arrived_ns = self.agenda.now_ns();
        self.threads[thread].inbox.push_back(call);
        self.wake(thread);
    }

    pub(super) fn put_in_queue(&mut self, mut call: Call) {
        if self.setup.handlers == 0 || self.setup.handler.is_free() {
            self.reply(call);
            return;
        }
        call.arrived_ns = self.agenda.now_ns();
        self.queue.push_back(call);
        self.wake_handler();
    }

    /// One at a time: the one that comes wakes the next if calls are left.
    pub(super) fn wake_handler(&mut self) {
        let mut handlers = self.workers + self.readers..self.threads.len();
        let asleep = handlers.find(|&handler| self.threads[handler].state == State::Asleep);
        if let (None, Some(handler)) = (self.waking, asleep) {
            self.waking = Some(handler);
            self.wake(handler);
        }
    }

    pub(super) fn reply(&mut self, mut call: Call) {
        call.replied = true;
        let delay_ns = self.chance.time_ns(self.setup.delay_us, self.setup.delay_spread);
        self.agenda.enter(delay_ns, Event::Reply(call));
    }

    fn outcome(self) -> Outcome {
        let seconds = (self.until_ns - self.from_ns) as f64 / 1e9;
        let uses = |role| {
            let of_role = self.threads.iter().filter(move |thread| thread.role == role);
            of_role.map(|thread| thread.used).collect::<Vec<Use>>()
        };
        let stage = |role| Use::of_stage(&uses(role), seconds);
        let shared = self.threads.iter();
        let shared = shared.filter(|t| !(self.setup.client_apart && t.role == Role::Worker));
        let cpu_s: f64 = shared.map(|thread| thread.used.cpu_ns as f64 / 1e9).sum();
        let calls = self.tally.count() as u64;
        Outcome {
            calls,
            calls_per_s: calls as f64 / seconds,
            client: stage(Role::Worker),
            readers: stage(Role::Reader),
            handlers: stage(Role::Handler),
            cores_busy_share: self
                .setup
                .cores
                .map(|cores| (cpu_s / (f64::from(cores) * seconds)).min(1.0)),
            left_inside: self.started - self.ended,
            response_us: self.tally.response_times(),
        }
    }
}

fn seconds_ns(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1e9) as u64
}

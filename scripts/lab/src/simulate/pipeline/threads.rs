//! What threads do with their cores: passes, what they cost, and who runs next.

use super::engine::{Call, Engine, Event};
use super::{StageCost, StageUse};
use crate::simulate::cores::{CoreId, ThreadId};
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Has nothing to do.
    Asleep,
    /// Wants a core, or has one.
    Awake,
    /// Stands for a virtual server.
    Resting,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Worker,
    Reader,
    Handler,
}

#[derive(Debug)]
pub(super) struct Thread {
    pub(super) role: Role,
    pub(super) state: State,
    /// What came for it; handlers have the queue instead.
    pub(super) inbox: VecDeque<Call>,
    pub(super) used: Use,
    cost: StageCost,
    /// Taken in this pass and not begun.
    pass: VecDeque<Call>,
    /// Begun.
    step: Vec<Call>,
    /// CPU time that the step still needs.
    left_ns: u64,
    /// CPU time since it was given its core.
    ran_ns: u64,
    /// When its virtual server is free.
    free_at_ns: u64,
}

/// What a thread did in the measured part.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Use {
    pub(super) cpu_ns: u64,
    virtual_ns: u64,
    passes: u64,
    calls: u64,
}

impl Thread {
    pub(super) fn new(role: Role, cost: StageCost) -> Thread {
        Thread {
            role,
            state: State::Asleep,
            inbox: VecDeque::new(),
            used: Use::default(),
            cost,
            pass: VecDeque::new(),
            step: Vec::new(),
            left_ns: 0,
            ran_ns: 0,
            free_at_ns: 0,
        }
    }
}

impl Use {
    pub(super) fn of_stage(threads: &[Use], seconds: f64) -> StageUse {
        let sum = |field: fn(&Use) -> u64| threads.iter().map(field).sum::<u64>();
        let (calls, passes) = (sum(|used| used.calls), sum(|used| used.passes));
        if calls == 0 || passes == 0 {
            return StageUse::default();
        }
        // The last slice before the measured part ends inside of it, so that a share may pass 1.
        let busy =
            |used: &Use| (used.cpu_ns.max(used.virtual_ns) as f64 / (seconds * 1e9)).min(1.0);
        let shares = threads.iter().map(busy);
        StageUse {
            busy_share: Some(shares.clone().sum::<f64>() / threads.len() as f64),
            busiest_share: shares.max_by(f64::total_cmp),
            cpu_us_per_call: Some(sum(|used| used.cpu_ns) as f64 / 1e3 / calls as f64),
            calls_per_pass: Some(calls as f64 / passes as f64),
        }
    }
}

impl Engine<'_> {
    /// There is something for this thread. One that is awake will see it by itself.
    pub(super) fn wake(&mut self, thread: ThreadId) {
        if self.threads[thread].state == State::Asleep {
            self.threads[thread].state = State::Awake;
            self.cores.enter(thread);
        }
    }

    /// Gives free cores to threads that want them.
    pub(super) fn assign_cores(&mut self) {
        while let Some((core, thread)) = self.cores.assign() {
            self.threads[thread].ran_ns = 0;
            self.go_on(core, thread);
        }
    }

    pub(super) fn slice_ended(&mut self, core: CoreId, ran_ns: u64) {
        let thread_id = self.cores.running_on(core);
        let thread = &mut self.threads[thread_id];
        thread.used.cpu_ns += ran_ns;
        thread.ran_ns += ran_ns;
        thread.left_ns -= ran_ns;
        if thread.left_ns > 0 {
            return self.give_way_or_go_on(core, thread_id, self.quantum_is_used(thread_id));
        }
        let (role, cost) = (thread.role, thread.cost);
        if role == Role::Handler && cost.paced_us > 0.0 {
            let rest_ns = self.virtual_finish_ns(thread_id, cost);
            self.threads[thread_id].state = State::Resting;
            self.agenda.enter_at(rest_ns, Event::Rested(thread_id));
            return self.cores.release(core);
        }
        self.deliver(thread_id);
        let ends_pass = self.threads[thread_id].pass.is_empty();
        self.give_way_or_go_on(core, thread_id, ends_pass || self.quantum_is_used(thread_id));
    }

    /// A handler's virtual server has finished.
    pub(super) fn rested(&mut self, thread: ThreadId) {
        self.deliver(thread);
        self.threads[thread].state = State::Awake;
        self.cores.enter(thread);
    }

    /// At the end of a pass, and of its time, a thread goes behind those that want its core.
    fn give_way_or_go_on(&mut self, core: CoreId, thread: ThreadId, gives_way: bool) {
        if gives_way && self.cores.is_wanted(core) {
            self.cores.release(core);
            self.cores.enter(thread);
        } else {
            if gives_way {
                self.threads[thread].ran_ns = 0;
            }
            self.go_on(core, thread);
        }
    }

    fn quantum_is_used(&self, thread: ThreadId) -> bool {
        self.threads[thread].ran_ns >= self.quantum_ns()
    }

    fn quantum_ns(&self) -> u64 {
        ((self.setup.quantum_us * 1e3) as u64).max(1)
    }

    /// The thread has a core: it goes on with its step, begins one, or sleeps.
    fn go_on(&mut self, core: CoreId, thread: ThreadId) {
        if self.threads[thread].step.is_empty() && !self.begin_step(thread) {
            self.threads[thread].state = State::Asleep;
            return self.cores.release(core);
        }
        let quantum_ns = self.quantum_ns();
        let thread = &self.threads[thread];
        let rest_ns = quantum_ns.saturating_sub(thread.ran_ns).max(1);
        let ran_ns = thread.left_ns.min(rest_ns);
        self.agenda.enter(ran_ns, Event::Slice { core, ran_ns });
    }

    /// Begins the next calls of the pass, or the next pass; false if there is nothing to do.
    fn begin_step(&mut self, id: ThreadId) -> bool {
        let setup = self.setup;
        let thread = &mut self.threads[id];
        if thread.pass.is_empty() {
            let (from, most) = match thread.role {
                Role::Worker => (&mut thread.inbox, usize::MAX),
                Role::Reader => (&mut thread.inbox, setup.reader_batch as usize),
                Role::Handler => (&mut self.queue, setup.handler_batch as usize),
            };
            let taken = most.min(from.len());
            thread.pass.extend(from.drain(..taken));
            if self.waking == Some(id) {
                self.waking = None;
            }
            if taken == 0 {
                return false;
            }
            thread.used.passes += 1;
            thread.left_ns = (thread.cost.pass_us * 1e3) as u64;
        }
        let at_once = match thread.role {
            Role::Worker => usize::MAX,
            Role::Reader => setup.hand_over as usize,
            // A virtual server lets calls go one by one.
            Role::Handler if thread.cost.paced_us > 0.0 => 1,
            Role::Handler => usize::MAX,
        };
        let at_once = at_once.min(thread.pass.len());
        thread.step.extend(thread.pass.drain(..at_once));
        let cost = thread.cost;
        // A call that is sent after thinking is paid for when its reply is read.
        let paid = |call: &&Call| thread.role != Role::Worker || call.replied;
        let calls = thread.step.iter().filter(paid).count();
        let serves = thread.role == Role::Reader && setup.handlers == 0;
        for _ in 0..calls {
            thread.left_ns += self.chance.time_ns(cost.call_us, cost.spread);
            if serves {
                thread.left_ns += self.chance.time_ns(setup.handler.call_us, setup.handler.spread);
            }
        }
        thread.used.calls += calls as u64;
        if thread.role == Role::Handler && !self.queue.is_empty() {
            self.wake_handler();
        }
        true
    }

    /// Hands on what a step has finished.
    fn deliver(&mut self, id: ThreadId) {
        let mut step = std::mem::take(&mut self.threads[id].step);
        let (role, cost) = (self.threads[id].role, self.threads[id].cost);
        for call in step.drain(..) {
            match role {
                Role::Worker => self.through_client(call),
                Role::Reader if cost.paced_us > 0.0 => {
                    let free_ns = self.threads[id].free_at_ns.max(call.arrived_ns);
                    let due_ns = self.occupy(id, free_ns, cost);
                    self.agenda.enter_at(due_ns, Event::Paced(call));
                }
                Role::Reader => self.put_in_queue(call),
                Role::Handler => self.reply(call),
            }
        }
        // Its room is used again.
        self.threads[id].step = step;
    }

    /// When a handler's virtual server lets the one call of the step go.
    fn virtual_finish_ns(&mut self, id: ThreadId, cost: StageCost) -> u64 {
        let arrived_ns = self.threads[id].step.iter().map(|call| call.arrived_ns).max();
        let free_ns = self.threads[id].free_at_ns.max(arrived_ns.unwrap_or(0));
        self.occupy(id, free_ns, cost)
    }

    /// A virtual server begins a call at `from_ns`; returns when it ends.
    fn occupy(&mut self, id: ThreadId, from_ns: u64, cost: StageCost) -> u64 {
        let service_ns = self.chance.time_ns(cost.paced_us, cost.spread);
        let thread = &mut self.threads[id];
        thread.used.virtual_ns += service_ns;
        thread.free_at_ns = from_ns + service_ns;
        thread.free_at_ns
    }
}

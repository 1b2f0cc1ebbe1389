//! Cores that threads take turns on: a run queue in order of arrival, and a quantum after which a
//! thread goes to its end if others wait. A wake-up does not push a running thread aside. Linux is
//! cleverer in both; what matters here is that nobody runs without a core, and nobody for ever.
//!
//! Threads of a machine of their own have cores of their own.

use std::collections::VecDeque;

/// A thread by its number.
pub(super) type ThreadId = usize;
/// A core by its number.
pub(super) type CoreId = usize;

/// Cores that the same threads share.
#[derive(Debug, Default)]
struct Machine {
    free: Vec<CoreId>,
    ready: VecDeque<ThreadId>,
}

#[derive(Debug)]
pub(super) struct Cores {
    /// Of each core, whose it is; of each thread, too.
    machine_of_core: Vec<usize>,
    machine_of_thread: Vec<usize>,
    machines: Vec<Machine>,
    running: Vec<Option<ThreadId>>,
}

impl Cores {
    /// `cores` says how many each machine has, `machine_of_thread` where each thread lives.
    pub(super) fn new(cores: &[usize], machine_of_thread: Vec<usize>) -> Cores {
        let mut machine_of_core = Vec::new();
        let mut machines = Vec::new();
        for (machine, &count) in cores.iter().enumerate() {
            let first = machine_of_core.len();
            machine_of_core.resize(first + count, machine);
            machines.push(Machine {
                free: (first..first + count).rev().collect(),
                ready: VecDeque::new(),
            });
        }
        let running = vec![None; machine_of_core.len()];
        Cores { machine_of_core, machine_of_thread, machines, running }
    }

    /// A thread wants to run.
    pub(super) fn enter(&mut self, thread: ThreadId) {
        self.machines[self.machine_of_thread[thread]].ready.push_back(thread);
    }

    /// Gives a free core to the thread that has waited longest for it, if there are both.
    pub(super) fn assign(&mut self) -> Option<(CoreId, ThreadId)> {
        let both = |machine: &&mut Machine| !machine.free.is_empty() && !machine.ready.is_empty();
        let machine = self.machines.iter_mut().find(both)?;
        let (core, thread) = (machine.free.pop()?, machine.ready.pop_front()?);
        self.running[core] = Some(thread);
        Some((core, thread))
    }

    /// Who runs on a core that was assigned.
    pub(super) fn running_on(&self, core: CoreId) -> ThreadId {
        self.running[core].expect("only cores that were assigned are asked for")
    }

    /// The thread on it leaves it.
    pub(super) fn release(&mut self, core: CoreId) {
        self.running[core] = None;
        self.machines[self.machine_of_core[core]].free.push(core);
    }

    /// Whether some thread waits for such a core.
    pub(super) fn is_wanted(&self, core: CoreId) -> bool {
        !self.machines[self.machine_of_core[core]].ready.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_cores_in_the_order_in_which_they_wanted_them() {
        let mut cores = Cores::new(&[1, 1], vec![0, 0, 1]);
        [0, 1, 2].into_iter().for_each(|thread| cores.enter(thread));
        assert_eq!(cores.assign(), Some((0, 0)));
        assert_eq!(cores.assign(), Some((1, 2)), "the other machine's core is its own");
        assert_eq!(cores.assign(), None);
        assert!(cores.is_wanted(0) && !cores.is_wanted(1));
        assert_eq!(cores.running_on(1), 2);
        cores.release(0);
        assert_eq!(cores.assign(), Some((0, 1)));
        assert!(!cores.is_wanted(0));
    }
}

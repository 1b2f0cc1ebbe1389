//! What a reader pays for each call before it passes it on, see [`crate::cost`].

use crate::call::Calls;
use crate::cost::{Cost, Mode, Sampler, VirtualServer, spin};
use echo_common::clock;
use echo_common::timer::Timer;
use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use std::collections::VecDeque;
use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// A reader's cost, if it has one.
pub(crate) enum ReaderCost {
    None,
    Spin(Sampler),
    Paced(Pacer),
}

/// Calls that a virtual server has not finished yet.
pub(crate) struct Pacer {
    server: VirtualServer,
    /// In the order of their release.
    held: VecDeque<(u64, Calls)>,
    timer: Timer,
}

impl ReaderCost {
    /// `token` is what the poll behind `registry` reports when held calls are due.
    pub(crate) fn new(
        cost: Option<Cost>,
        seed: u64,
        registry: &Registry,
        token: Token,
    ) -> io::Result<ReaderCost> {
        let Some(cost) = cost else { return Ok(ReaderCost::None) };
        if cost.mode == Mode::Spin {
            return Ok(ReaderCost::Spin(Sampler::new(cost, seed)));
        }
        let timer = Timer::new()?;
        registry.register(&mut SourceFd(&timer.as_raw_fd()), token, Interest::READABLE)?;
        let server = VirtualServer::new(cost, seed);
        Ok(ReaderCost::Paced(Pacer { server, held: VecDeque::new(), timer }))
    }

    /// Whether calls are to be paid for one connection at a time, as they are read.
    pub(crate) fn is_some(&self) -> bool {
        !matches!(self, ReaderCost::None)
    }

    /// Forgets calls that are still held; returns how many. For the end, when every connection has
    /// ended before them.
    pub(crate) fn forget(&mut self) -> u64 {
        match self {
            ReaderCost::None | ReaderCost::Spin(_) => 0,
            ReaderCost::Paced(pacer) => {
                pacer.held.drain(..).map(|(_, run)| u64::from(run.count)).sum()
            }
        }
    }

    /// Pays for everything in `calls`: what may go on is left there.
    pub(crate) fn pay(&mut self, calls: &mut VecDeque<Calls>) -> io::Result<()> {
        match self {
            ReaderCost::None => Ok(()),
            ReaderCost::Spin(sampler) => {
                let count: u32 = calls.iter().map(|run| run.count).sum();
                spin((0..count).map(|_| sampler.next_ns()).sum());
                Ok(())
            }
            ReaderCost::Paced(pacer) => pacer.exchange(calls),
        }
    }
}

impl Pacer {
    /// Takes in what was read, one call at a time, and gives out what is due.
    fn exchange(&mut self, calls: &mut VecDeque<Calls>) -> io::Result<()> {
        self.timer.acknowledge();
        for mut run in calls.drain(..) {
            while run.count > 1 {
                let first = run.split_front(1);
                self.held.push_back((self.server.finish_ns(first.read_ns), first));
            }
            self.held.push_back((self.server.finish_ns(run.read_ns), run));
        }
        let now_ns = clock::now_ns();
        while self.held.front().is_some_and(|(due_ns, _)| *due_ns <= now_ns) {
            calls.extend(self.held.pop_front().map(|(_, run)| run));
        }
        match self.held.front() {
            None => Ok(()),
            Some((due_ns, _)) => {
                self.timer.set(Duration::from_nanos(clock::elapsed_ns(now_ns, *due_ns)))
            }
        }
    }
}

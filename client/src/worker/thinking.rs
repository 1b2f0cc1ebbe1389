//! Callers that think: each waits a while between the end of its call and its next one.

use super::{Job, Worker};
use echo_common::clock::now_ns;
use echo_common::timer::Timer;
use mio::unix::SourceFd;
use mio::{Interest, Poll};
use std::collections::VecDeque;
use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// The callers of a worker that think. All think equally long, so that the first to begin is the
/// first to end.
#[derive(Debug)]
pub(super) struct Thinking {
    think_ns: u64,
    pauses: VecDeque<Pause>,
    timer: Timer,
    /// When the timer will fire; `u64::MAX` if it is not set.
    armed_ns: u64,
}

/// Callers whose calls ended together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pause {
    until_ns: u64,
    callers: u64,
    /// Theirs, unless callers go from connection to connection.
    connection: Option<usize>,
}

impl Thinking {
    /// None if callers do not think. The timer is registered with `poll`.
    pub(super) fn begin(job: &Job, poll: &Poll) -> io::Result<Option<Box<Thinking>>> {
        if job.think_ns == 0 {
            return Ok(None);
        }
        let timer = Timer::new()?;
        let mut source = SourceFd(&timer.as_raw_fd());
        poll.registry().register(&mut source, super::TIMER, Interest::READABLE)?;
        Ok(Some(Box::new(Thinking {
            think_ns: job.think_ns,
            pauses: VecDeque::new(),
            timer,
            armed_ns: u64::MAX,
        })))
    }

    /// `callers` begin to think.
    pub(super) fn pause(&mut self, connection: Option<usize>, callers: u64, now_ns: u64) {
        let until_ns = now_ns.saturating_add(self.think_ns);
        self.pauses.push_back(Pause { until_ns, callers, connection });
    }

    /// The timer has fired.
    pub(super) fn fired(&mut self) {
        self.timer.acknowledge();
        self.armed_ns = u64::MAX;
    }

    /// Sets the timer to the end of the first pause.
    fn arm(&mut self) -> io::Result<()> {
        let Some(Pause { until_ns, .. }) = self.pauses.front().copied() else {
            return Ok(());
        };
        if until_ns == self.armed_ns {
            return Ok(());
        }
        self.armed_ns = until_ns;
        self.timer.set(Duration::from_nanos(until_ns.saturating_sub(now_ns())))
    }

    fn next_over(&mut self, now_ns: u64) -> Option<Pause> {
        let over = self.pauses.front().is_some_and(|pause| pause.until_ns <= now_ns);
        over.then(|| self.pauses.pop_front()).flatten()
    }
}

impl Worker<'_> {
    /// Sees to it that the end of the first pause ends the poll.
    pub(super) fn arm_thinking(&mut self) -> io::Result<()> {
        let may_start = self.may_start();
        match &mut self.thinking {
            Some(thinking) if may_start => thinking.arm(),
            _ => Ok(()),
        }
    }

    /// Lets the callers that have thought call again.
    pub(super) fn end_pauses(&mut self) {
        let now = self.now_ns;
        while let Some(pause) = self.thinking.as_mut().and_then(|t| t.next_over(now)) {
            match (pause.connection, &mut self.rotation) {
                (Some(index), _) => {
                    self.start(index, pause.callers, now);
                }
                (None, Some(rotation)) => rotation.callers_came_back(pause.callers),
                (None, None) => unreachable!("callers without a connection go round"),
            }
        }
        if self.thinking.is_some() {
            self.rotate();
        }
    }
}

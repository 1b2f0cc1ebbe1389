//! The wish to end, as something that a wait can wait for.

use echo_common::clock::now_ns;
use echo_common::signals::{self, Signal};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, OnceLock};

/// Raised by the first SIGINT or SIGTERM. Clones belong together.
#[derive(Clone, Debug)]
pub struct Stop {
    /// Its other end is dropped when the stop is raised, which every poll sees from then on.
    pipe: Arc<PipeReader>,
    signal: Arc<OnceLock<Signal>>,
    /// Of a stop that nobody raises.
    _never: Option<Arc<PipeWriter>>,
}

impl Stop {
    /// Raised by signals from now on; a second signal ends the process at once. Once per process.
    pub fn on_signals() -> io::Result<Stop> {
        let (reader, writer) = io::pipe()?;
        let signal = Arc::new(OnceLock::new());
        let raised = Arc::clone(&signal);
        signals::on_termination(move |signal| {
            // Told before it acts; this is the only one who sets it.
            let _ = raised.set(signal);
            drop(writer);
        })?;
        Ok(Stop { pipe: Arc::new(reader), signal, _never: None })
    }

    /// Never raised.
    pub fn never() -> io::Result<Stop> {
        let (reader, writer) = io::pipe()?;
        let signal = Arc::new(OnceLock::new());
        Ok(Stop { pipe: Arc::new(reader), signal, _never: Some(Arc::new(writer)) })
    }

    /// The signal, once it has come.
    pub fn signal(&self) -> Option<Signal> {
        self.signal.get().copied()
    }

    /// Waits until `until_ns`; whether the stop was raised before.
    pub(crate) fn rest(&self, until_ns: u64) -> io::Result<bool> {
        Ok(self.wait(self.pipe.as_fd(), until_ns)? != Waited::TimeUp)
    }

    /// Waits until `what` is readable or at its end, `until_ns` has come, or the stop is raised.
    pub(super) fn wait(&self, what: BorrowedFd<'_>, until_ns: u64) -> io::Result<Waited> {
        loop {
            let left_ns = until_ns.saturating_sub(now_ns());
            let timeout = Timespec {
                tv_sec: i64::try_from(left_ns / 1_000_000_000).unwrap_or(i64::MAX),
                tv_nsec: i64::try_from(left_ns % 1_000_000_000).unwrap_or(0),
            };
            let pipe = self.pipe.as_fd();
            let mut fds = [
                PollFd::from_borrowed_fd(what, PollFlags::IN),
                PollFd::from_borrowed_fd(pipe, PollFlags::IN),
            ];
            match poll(&mut fds, Some(&timeout)) {
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
                Ok(_) => {}
            }
            if !fds[0].revents().is_empty() {
                return Ok(Waited::Ready);
            }
            if !fds[1].revents().is_empty() {
                return Ok(Waited::Stopped);
            }
            if now_ns() >= until_ns {
                return Ok(Waited::TimeUp);
            }
        }
    }
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waited {
    /// What was waited for is there.
    Ready,
    TimeUp,
    Stopped,
}

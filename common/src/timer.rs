//! A timer that wakes a poll to the microsecond, where a poll's own timeout counts milliseconds.
//!
//! A Linux `timerfd` (timerfd_create(2)): its descriptor becomes readable when the time has come.
//! Unlike sleeps and poll timeouts it is not subject to the thread's timer slack of 50 us.

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::io;
use std::time::Duration;

/// See the module's text.
#[derive(Debug)]
pub struct Timer {
    fd: OwnedFd,
}

impl Timer {
    /// A timer that is not set.
    pub fn new() -> io::Result<Timer> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        Ok(Timer { fd: timerfd_create(TimerfdClockId::Monotonic, flags)? })
    }

    /// Makes the descriptor readable once, `after` from now; replaces what was set before.
    pub fn set(&self, after: Duration) -> io::Result<()> {
        // All zeros would mean "never", so the shortest wait is one nanosecond.
        let after = after.max(Duration::from_nanos(1));
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let value = Timespec {
            tv_sec: i64::try_from(after.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(after.subsec_nanos()),
        };
        let spec = Itimerspec { it_interval: zero, it_value: value };
        timerfd_settime(&self.fd, TimerfdTimerFlags::empty(), &spec)?;
        Ok(())
    }

    /// Takes note that the timer has fired, so that an edge-triggered poll sees the next time.
    /// Returns whether it had.
    pub fn acknowledge(&self) -> bool {
        rustix::io::read(&self.fd, &mut [0; 8]).is_ok()
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl AsRawFd for Timer {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use rustix::event::{PollFd, PollFlags, poll};

    fn wait(timer: &Timer) -> bool {
        let limit = Timespec { tv_sec: 5, tv_nsec: 0 };
        let mut fds = [PollFd::new(timer, PollFlags::IN)];
        poll(&mut fds, Some(&limit)).unwrap() == 1
    }

    #[test]
    fn a_timer_fires_once_and_never_early() {
        let timer = Timer::new().unwrap();
        assert!(!timer.acknowledge(), "not set, not fired");
        let start_ns = clock::now_ns();
        timer.set(Duration::from_millis(2)).unwrap();
        assert!(wait(&timer));
        assert!(clock::elapsed_ns(start_ns, clock::now_ns()) >= 2_000_000);
        assert!(timer.acknowledge());
        assert!(!timer.acknowledge(), "it fires once");
    }

    #[test]
    fn no_wait_at_all_still_fires() {
        let timer = Timer::new().unwrap();
        timer.set(Duration::ZERO).unwrap();
        assert!(wait(&timer));
    }
}

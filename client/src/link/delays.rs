//! What the delayed connections of a worker share. All bytes are held equally long, so that what
//! was put in first is due first, whatever the connection: one queue, one timer, and everything
//! that is due by then goes on at one wake-up.

use super::NetDelay;
use echo_common::clock::now_ns;
use echo_common::timer::Timer;
use mio::unix::SourceFd;
use mio::{Interest, Poll, Token};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::os::fd::AsRawFd;
use std::rc::Rc;
use std::time::Duration;

/// The poll token of the timer that announces due bytes.
pub(crate) const DELAY_TIMER: Token = Token(usize::MAX - 2);
/// Bytes of one read from a socket at most.
const READ_LEN: usize = 64 << 10;

/// Which way held bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Out,
    Back,
}

/// Something that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Due {
    at_ns: u64,
    connection: usize,
    way: Way,
}

/// The worker's side.
#[derive(Debug)]
pub(crate) struct Delays {
    shared: Rc<Shared>,
    timer: Timer,
    /// When the timer will fire; `u64::MAX` if it is not set.
    armed_ns: u64,
}

/// The connections' side.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) delay: NetDelay,
    /// Times never fall; one entry for each piece on a line, so that lines bound it.
    queue: RefCell<VecDeque<Due>>,
    pub(super) scratch: RefCell<Box<[u8]>>,
    /// How often a line was full.
    full: Cell<u64>,
}

impl Delays {
    /// None without a delay. The timer is registered with `poll`.
    pub(crate) fn begin(delay: Option<NetDelay>, poll: &Poll) -> io::Result<Option<Delays>> {
        let Some(delay) = delay else {
            return Ok(None);
        };
        let timer = Timer::new()?;
        let mut source = SourceFd(&timer.as_raw_fd());
        poll.registry().register(&mut source, DELAY_TIMER, Interest::READABLE)?;
        Ok(Some(Delays { shared: Rc::new(Shared::new(delay)), timer, armed_ns: u64::MAX }))
    }

    pub(super) fn shared(&self) -> Rc<Shared> {
        Rc::clone(&self.shared)
    }

    /// The timer has fired.
    pub(crate) fn fired(&mut self) {
        self.timer.acknowledge();
        self.armed_ns = u64::MAX;
    }

    /// Sets the timer to what is due first.
    pub(crate) fn arm(&mut self) -> io::Result<()> {
        let Some(at_ns) = self.shared.queue.borrow().front().map(|due| due.at_ns) else {
            return Ok(());
        };
        if at_ns == self.armed_ns {
            return Ok(());
        }
        self.armed_ns = at_ns;
        self.timer.set(Duration::from_nanos(at_ns.saturating_sub(now_ns())))
    }

    /// The next that is due at `now_ns`: a connection, and the way that its bytes go.
    pub(crate) fn next_due(&mut self, now_ns: u64) -> Option<(usize, Way)> {
        let mut queue = self.shared.queue.borrow_mut();
        let due = *queue.front().filter(|due| due.at_ns <= now_ns)?;
        // Pieces of one connection that came together are taken together.
        while queue.front().is_some_and(|next| {
            next.at_ns <= now_ns && (next.connection, next.way) == (due.connection, due.way)
        }) {
            queue.pop_front();
        }
        Some((due.connection, due.way))
    }

    /// How often a line was full.
    pub(crate) fn full(&self) -> u64 {
        self.shared.full.get()
    }
}

impl Shared {
    pub(super) fn new(delay: NetDelay) -> Shared {
        Shared {
            delay,
            queue: RefCell::new(VecDeque::new()),
            scratch: RefCell::new(vec![0; READ_LEN].into_boxed_slice()),
            full: Cell::new(0),
        }
    }

    /// Enters bytes that are held from `now_ns` on; returns when they are due.
    pub(super) fn enter(&self, connection: usize, way: Way, now_ns: u64) -> u64 {
        let mut queue = self.queue.borrow_mut();
        // Clock readings of one turn may come in another order than the lines are filled.
        let least_ns = queue.back().map_or(0, |due| due.at_ns);
        let at_ns = now_ns.saturating_add(self.delay.one_way_ns).max(least_ns);
        queue.push_back(Due { at_ns, connection, way });
        at_ns
    }

    pub(super) fn note_full(&self) {
        self.full.set(self.full.get() + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_to_be_held_is_the_first_to_go_on() {
        let poll = Poll::new().unwrap();
        let delay = NetDelay { one_way_ns: 100, held_max: 10 };
        let mut delays = Delays::begin(Some(delay), &poll).unwrap().unwrap();
        let shared = delays.shared();
        for (connection, way, now) in
            [(1, Way::Out, 5), (1, Way::Out, 6), (2, Way::Back, 7), (1, Way::Out, 3)]
        {
            shared.enter(connection, way, now);
        }
        assert_eq!(delays.next_due(104), None);
        assert_eq!(delays.next_due(105), Some((1, Way::Out)), "the second is not due");
        assert_eq!(delays.next_due(106), Some((1, Way::Out)));
        assert_eq!(delays.next_due(200), Some((2, Way::Back)));
        assert_eq!(delays.next_due(200), Some((1, Way::Out)), "no time before the one ahead");
        assert_eq!(delays.next_due(200), None);
    }
}

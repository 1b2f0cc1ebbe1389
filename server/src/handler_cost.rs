//! What a handler pays for each call before the service runs, see [`crate::cost`].

use crate::cost::{Cost, Mode, Sampler, VirtualServer, spin};
use echo_common::clock;
use std::num::NonZeroU64;
use std::time::Duration;

/// A handler's cost, if it has one.
pub(crate) enum HandlerCost {
    None,
    Spin(Sampler),
    Paced(VirtualServer),
}

impl HandlerCost {
    pub(crate) fn new(cost: Option<Cost>, seed: u64) -> HandlerCost {
        match cost {
            None => HandlerCost::None,
            Some(cost) if cost.mode == Mode::Spin => HandlerCost::Spin(Sampler::new(cost, seed)),
            Some(cost) => HandlerCost::Paced(VirtualServer::new(cost, seed)),
        }
    }

    pub(crate) fn is_some(&self) -> bool {
        !matches!(self, HandlerCost::None)
    }

    /// Called once by the handler's thread: short sleeps shall not be rounded up by 50 us.
    pub(crate) fn settle(&self) {
        if matches!(self, HandlerCost::Paced(_)) {
            settle_for_sleeps();
        }
    }

    /// Pays for one call that arrived at `arrived_ns`, with so many bytes of payload.
    #[inline]
    pub(crate) fn pay(&mut self, arrived_ns: u64, payload: usize) {
        match self {
            HandlerCost::None => {}
            HandlerCost::Spin(sampler) => spin(sampler.next_of_ns(payload)),
            HandlerCost::Paced(server) => sleep_until(server.finish_of_ns(arrived_ns, payload)),
        }
    }
}

/// Makes the calling thread's sleeps end on time.
pub(crate) fn settle_for_sleeps() {
    // Where this is refused, calls are released later but not more seldom.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}

/// The thread stands for the virtual server, or for a call that sleeps, and does nothing else
/// meanwhile.
pub(crate) fn sleep_until(due_ns: u64) {
    loop {
        let left_ns = clock::elapsed_ns(clock::now_ns(), due_ns);
        if left_ns == 0 {
            return;
        }
        std::thread::park_timeout(Duration::from_nanos(left_ns));
    }
}

//! The rooms of `--dispatch keyed`, which stand between the call queue and the handlers:
//!
//! ```text
//! readers -> call queue -> serial -> ordered log -> dispatcher -> each handler's queue -> handlers
//! ```
//!
//! Each stage ends when what it takes from is closed and empty, and then closes what it gives to.

use crate::call_queue::{CallQueue, WhenFull};
use crate::cost::StageCosts;
use crate::dispatcher::{Dispatcher, Dispatching};
use crate::handler_shares::HandlerShares;
use crate::limits::Limits;
use crate::meters::{Meters, ThreadMeter};
use crate::ordered_log::{OrderedLog, ReadLimit};
use crate::serial_stage::{SerialStage, SerialState};
use crate::stage_clock::{StageClock, Stalls, WorkCost};
use crate::threads::{Report, settle, spawn, tell};
use echo_common::clock;
use std::io;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

/// Threads that the rooms need.
pub(crate) const THREADS: usize = 2;

/// How calls are dispatched by their key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyedDispatch {
    /// What one batch takes at most.
    pub limit: ReadLimit,
    /// Whether a short read goes on at the serial stage.
    pub extend_reads: bool,
}

/// See the module's text.
pub(crate) struct KeyedRooms {
    pub(crate) log: Arc<OrderedLog>,
    /// By handler.
    pub(crate) queues: Arc<[Arc<CallQueue>]>,
}

impl KeyedRooms {
    pub(crate) fn new(limits: &Limits, handlers: usize) -> KeyedRooms {
        // Nobody is rejected here any more: a full queue holds the dispatcher back.
        let queue = |_| Arc::new(CallQueue::new(limits.handler_queue, 1, 1, WhenFull::Wait, 0));
        KeyedRooms {
            log: Arc::new(OrderedLog::new(limits.log_capacity)),
            queues: (0..handlers).map(queue).collect(),
        }
    }

    /// Starts both threads, which take from `queue`.
    pub(crate) fn start(
        &self,
        dispatch: KeyedDispatch,
        costs: &StageCosts,
        queue: &Arc<CallQueue>,
        meters: &Arc<Meters>,
        reports: &mpsc::Sender<Report>,
    ) -> io::Result<[JoinHandle<()>; THREADS]> {
        let shared = [costs.log_read, costs.log_call, costs.dispatch];
        let extends = dispatch.extend_reads;
        let on_serial = if extends { shared } else { [None; 3] };
        let serial = SerialStage {
            queue: Arc::clone(queue),
            log: Arc::clone(&self.log),
            cost: WorkCost::new(costs.serial, SEEDS),
            clock: StageClock::new(&[&[costs.serial][..], &on_serial[..]].concat()),
            stalls: costs.stall.map(|stall| Stalls::new(stall, clock::now_ns())),
            work: self.dispatching(dispatch, costs, meters, SEEDS + 1),
            state: SerialState::default(),
        };
        let dispatcher = Dispatcher {
            log: Arc::clone(&self.log),
            queue: Arc::clone(queue),
            extends_reads: extends,
            gap: WorkCost::new(costs.gap, SEEDS + 8),
            clock: StageClock::new(&[&[costs.gap][..], &shared[..]].concat()),
            work: self.dispatching(dispatch, costs, meters, SEEDS + 9),
        };
        Ok([
            start(meters, reports, |meters| &meters.keyed.serial.thread, move || serial.run())?,
            start(
                meters,
                reports,
                |meters| &meters.keyed.dispatcher.thread,
                move || dispatcher.run(),
            )?,
        ])
    }

    fn dispatching(
        &self,
        dispatch: KeyedDispatch,
        costs: &StageCosts,
        meters: &Arc<Meters>,
        seed: u64,
    ) -> Dispatching {
        Dispatching {
            limit: dispatch.limit,
            read_cost: WorkCost::new(costs.log_read, seed),
            call_cost: WorkCost::new(costs.log_call, seed + 1),
            dispatch_cost: WorkCost::new(costs.dispatch, seed + 2),
            shares: HandlerShares::new(Arc::clone(&self.queues)),
            meters: Arc::clone(meters),
        }
    }
}

/// Seeds of these stages' costs begin here, apart from the readers' and the handlers'.
const SEEDS: u64 = 1 << 33;

fn start(
    meters: &Arc<Meters>,
    reports: &mpsc::Sender<Report>,
    thread: fn(&Meters) -> &ThreadMeter,
    body: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let (meters, reports) = (Arc::clone(meters), reports.clone());
    spawn(thread(&meters).name.clone(), reports.clone(), move || {
        settle(thread(&meters), None, &reports);
        body();
        thread(&meters).ended();
        tell(&reports, Report::Ended);
        Ok(())
    })
}

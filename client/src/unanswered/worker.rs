//! The event loop of calls that nobody answers.

mod events;
mod sending;

use super::one_way::OneWay;
use crate::connect::Connected;
use crate::connection::{Desk, Lost, keep_note};
use crate::control::{Phase, View};
use crate::conversation;
use crate::crew::RunEvent;
use crate::event_loop::EventLoop;
use crate::farewell::Farewell;
use crate::flow::Flow;
use crate::interval_clock::IntervalClock;
use crate::link::{Delays, Link};
use crate::load::LoadMeter;
use crate::outcome::{Failure, LostKind};
use crate::stages::Sampler;
use crate::worker::{Job, OpenLoop, WorkerResult};
use echo_common::clock::now_ns;
use mio::{Events, Poll};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::sync::mpsc::Sender;
use std::time::Duration;

const EVENTS_PER_TURN: usize = 1024;
/// Bytes of calls that are started on a connection at once; one call may have more.
const BATCH_BYTES: usize = 64 << 10;
/// And how many there are: a connection whose socket is full keeps their ids.
const BATCH_CALLS: usize = 512;
/// Batches of one connection in a turn; then the others have theirs.
const BATCHES_PER_TURN: usize = 4;

/// The event loop's state.
pub(crate) struct UnansweredWorker<'a> {
    job: &'a Job,
    index: usize,
    poll: Poll,
    connections: Vec<Option<OneWay<'a>>>,
    open_connections: usize,
    /// Without a schedule: connections whose sockets take more, as far as is known; each once.
    ready: VecDeque<usize>,
    /// Calls of a batch.
    batch: u64,
    open_loop: Option<Box<OpenLoop>>,
    delays: Option<Delays>,
    /// Connections with bytes to read that no edge will announce again.
    unfinished: Vec<usize>,
    farewell: Farewell,
    view: View,
    budget_used_up: bool,
    now_ns: u64,
    next_scan_ns: u64,
    intervals: IntervalClock,
    desk: Desk,
    flow: Flow,
    load: LoadMeter,
    notes: Vec<String>,
}

impl<'a> UnansweredWorker<'a> {
    /// A worker whose connections are registered with `poll` under their index.
    pub(crate) fn new(
        job: &'a Job,
        index: usize,
        poll: Poll,
        connected: Vec<Connected>,
        events: Sender<RunEvent>,
    ) -> io::Result<UnansweredWorker<'a>> {
        let delays = Delays::begin(job.net_delay, &poll)?;
        let unfinished =
            connected.iter().enumerate().filter(|(_, c)| c.readable).map(|(i, _)| i).collect();
        let one_way = |(at, c): (usize, Connected)| {
            let link = Link::new(c.stream, at, delays.as_ref());
            Some(OneWay::new(link, &job.framing, conversation::number(index, at)))
        };
        let connections: Vec<_> = connected.into_iter().enumerate().map(one_way).collect();
        Ok(UnansweredWorker {
            job,
            index,
            open_loop: OpenLoop::begin(job, index, &poll)?,
            poll,
            open_connections: connections.len(),
            ready: (0..connections.len()).collect(),
            batch: (BATCH_BYTES / sending::call_len(&job.framing)).clamp(1, BATCH_CALLS) as u64,
            connections,
            delays,
            unfinished,
            farewell: Farewell::default(),
            view: job.control.view(),
            budget_used_up: false,
            now_ns: now_ns(),
            next_scan_ns: 0,
            intervals: IntervalClock::new(index, job.interval_ns, events),
            desk: Desk::new(job.extras, Sampler::new(None, index as u64)),
            flow: Flow::new(),
            load: LoadMeter::new(),
            notes: Vec::new(),
        })
    }

    /// Calls until the run is over and the server has read every call.
    pub(crate) fn run(mut self) -> io::Result<WorkerResult> {
        let mut events = Events::with_capacity(EVENTS_PER_TURN);
        loop {
            self.send_due();
            self.fill();
            self.publish();
            if self.is_over() {
                return Ok(self.close());
            }
            self.load.turn(&self.view, self.now_ns);
            self.arm_timers()?;
            match self.poll.poll(&mut events, Some(self.poll_timeout())) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => events.clear(),
                Err(error) => return Err(error),
            }
            self.take(&events);
            self.now_ns = now_ns();
            self.deliver_due(self.now_ns);
            self.intervals.turn(self.view.start_ns, self.now_ns, &mut self.desk.ledger);
            self.scan();
        }
    }

    fn close(mut self) -> WorkerResult {
        let load = self.load.close(self.now_ns);
        let schedule = self.open_loop.take().map(|open| open.close(&self.view, self.standing()));
        for connection in self.connections.iter_mut().flatten() {
            connection.end_all(Failure::Abandoned, self.now_ns, &mut self.desk.ledger);
        }
        self.flow.close(self.now_ns, &self.view);
        self.desk.ledger.settle();
        self.publish();
        let outcomes = &self.desk.ledger.outcomes;
        assert_eq!(outcomes.started, outcomes.ended(), "every call has one outcome: {outcomes:?}");
        self.intervals.close(&mut self.desk.ledger);
        WorkerResult {
            ledger: self.desk.ledger,
            flow: self.flow,
            load,
            schedule,
            net_delay_full: self.delays.as_ref().map_or(0, Delays::full),
            unheard: self.open_connections as u64,
            ended_ns: self.now_ns,
            notes: self.notes,
        }
    }

    /// A connection that takes no bytes may still hold some: the reason for its end, perhaps.
    fn broken(&mut self, index: usize, error: &io::Error) {
        let Some(connection) = &mut self.connections[index] else {
            return;
        };
        let end = connection.read(true, &mut self.desk).0;
        self.lose(index, end.after_failed_write(error));
    }

    /// A connection has ended, as it should at the end of the run or not.
    fn lose(&mut self, index: usize, lost: Lost) {
        if self.farewell.is_end(&lost) {
            self.connections[index] = None;
            self.open_connections -= 1;
            return;
        }
        self.desk.ledger.connection_lost(lost.kind);
        self.drop_connection(index, Failure::Lost(lost.kind), lost.text);
    }

    /// Ends a connection and the calls that it still owed.
    fn drop_connection(&mut self, index: usize, failure: Failure, text: Option<String>) {
        let Some(mut connection) = self.connections[index].take() else {
            return;
        };
        self.open_connections -= 1;
        let ended = connection.end_all(failure, self.now_ns, &mut self.desk.ledger);
        self.flow.ended(ended, 0, self.now_ns, &self.view);
        self.ready.retain(|ready| *ready != index);
        keep_note(&mut self.notes, text);
        self.stop_at_failure();
    }

    fn stop_at_failure(&mut self) {
        if self.job.fail_fast && !self.desk.ledger.outcomes.all_well() {
            self.job.control.stop(self.job.timeout_ns);
            self.see();
        }
    }

    /// Gives up connections whose sockets take nothing for too long: behind a call of which bytes
    /// were written there is no way on.
    fn scan(&mut self) {
        let now = self.now_ns;
        if now < self.next_scan_ns {
            return;
        }
        self.next_scan_ns = now + self.job.scan_period_ns();
        for index in 0..self.connections.len() {
            let since_ns = self.connections[index].as_ref().and_then(OneWay::waiting_since_ns);
            if since_ns.is_some_and(|since_ns| now.saturating_sub(since_ns) >= self.job.timeout_ns)
            {
                let text = "a connection took no more bytes and was given up".to_owned();
                self.desk.ledger.connection_lost(LostKind::Os(Errno::TIMEDOUT.raw_os_error()));
                self.drop_connection(index, Failure::TimedOut, Some(text));
            }
        }
    }

    fn may_start(&self) -> bool {
        match self.view.phase {
            Phase::WarmUp => true,
            Phase::Measured => !self.budget_used_up && self.now_ns < self.view.end_ns,
            Phase::Draining => false,
        }
    }

    /// Whether there is nothing left to do. When all is written, takes leave of the server first.
    fn is_over(&mut self) -> bool {
        let leave = self.view.phase != Phase::WarmUp && self.now_ns >= self.view.leave_ns;
        if self.open_connections == 0 || leave || self.now_ns >= self.farewell.until_ns() {
            return true;
        }
        if self.may_start() || self.flow.in_flight() > 0 {
            return false;
        }
        let holds = self.connections.iter().flatten().any(OneWay::holds);
        if self.farewell.step(holds, self.now_ns, self.job) {
            for index in 0..self.connections.len() {
                let ended = self.connections[index].as_ref().map_or(Ok(()), OneWay::end_writing);
                if let Err(error) = ended {
                    self.broken(index, &error);
                }
            }
        }
        self.open_connections == 0
    }

    /// Sees to it that what is due next ends the poll.
    fn arm_timers(&mut self) -> io::Result<()> {
        self.arm_delays()?;
        let may_start = self.may_start();
        match &mut self.open_loop {
            Some(open_loop) if may_start => open_loop.arm(&self.view),
            _ => Ok(()),
        }
    }

    /// Until the next thing that no event announces.
    fn poll_timeout(&self) -> Duration {
        let more = match &self.open_loop {
            Some(open_loop) => open_loop.is_behind(self.now_ns),
            None => !self.ready.is_empty(),
        };
        if !self.unfinished.is_empty() || more && self.may_start() {
            return Duration::ZERO;
        }
        let until_ns = self.next_scan_ns.min(self.intervals.end_ns()).min(self.farewell.until_ns());
        self.view.sleep(self.now_ns, until_ns)
    }

    fn publish(&self) {
        let published = &self.job.control.published[self.index];
        published.note(&self.desk.ledger.outcomes, self.flow.in_flight());
    }
}

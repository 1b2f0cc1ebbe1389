//! The event loop of records: as that of plain calls, but a call is made of what waits.

mod clockwork;
mod events;

use super::accumulator::{Accumulator, WorkerPlace};
use super::connection::Connection;
use super::desk::Desk;
use super::record::Shape;
use super::settings::Settings;
use super::tally::Tally;
use crate::connect::Connected;
use crate::connection::{Lost, ReadEnd, keep_note};
use crate::control::Phase;
use crate::conversation::number;
use crate::crew::RunEvent;
use crate::event_loop::EventLoop;
use crate::farewell::Farewell;
use crate::flow::Flow;
use crate::interval_clock::IntervalClock;
use crate::link::{Delays, Link};
use crate::load::LoadMeter;
use crate::outcome::{Failure, Ledger};
use crate::read_pass;
use crate::worker::{Job, ScheduleResult, TIMER, WorkerResult};
use echo_common::clock::now_ns;
use echo_common::timer::Timer;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::sync::mpsc::Sender;

const EVENTS_PER_TURN: usize = 1024;
/// Bytes of calls put together before they are written.
const OWED_MAX: usize = 256 << 10;
/// Writes of a connection in one go; calls that nobody answers would never end otherwise.
const ROUNDS_PER_PUMP: usize = 16;

/// The event loop's state.
struct RecordWorker<'a> {
    job: &'a Job,
    settings: Settings,
    index: usize,
    poll: Poll,
    connections: Vec<Option<Connection>>,
    open_connections: usize,
    delays: Option<Delays>,
    farewell: Farewell,
    /// Announces the next record that is due.
    timer: Timer,
    armed_ns: u64,
    /// Connections with bytes that no edge will announce again.
    unfinished: Vec<usize>,
    budget_used_up: bool,
    /// Read once per turn of the loop.
    now_ns: u64,
    next_scan_ns: u64,
    intervals: IntervalClock,
    marks_taken: usize,
    backlog: [u64; 2],
    desk: Desk<'a>,
    flow: Flow,
    load: LoadMeter,
    notes: Vec<String>,
}

/// A worker thread and what it was given.
pub(crate) struct RecordStart {
    pub(crate) index: usize,
    pub(crate) workers: usize,
    pub(crate) all_connections: usize,
    /// Calls in flight on a connection, at most.
    pub(crate) window: usize,
    pub(crate) poll: Poll,
    pub(crate) connected: Vec<Connected>,
    pub(crate) events: Sender<RunEvent>,
}

/// Calls with records until the run is over and every call has ended.
pub(crate) fn run(job: &Job, settings: Settings, start: RecordStart) -> io::Result<WorkerResult> {
    let shape = Shape::new(settings.record_len);
    RecordWorker::new(job, settings, &shape, start)?.run()
}

impl<'a> RecordWorker<'a> {
    /// A worker whose connections are registered with its poll under their index.
    fn new(
        job: &'a Job,
        settings: Settings,
        shape: &'a Shape,
        start: RecordStart,
    ) -> io::Result<RecordWorker<'a>> {
        let RecordStart { index, workers, all_connections, window, poll, connected, events } =
            start;
        let delays = Delays::begin(job.net_delay, &poll)?;
        let timer = Timer::new()?;
        poll.registry().register(&mut SourceFd(&timer.as_raw_fd()), TIMER, Interest::READABLE)?;
        let unfinished =
            connected.iter().enumerate().filter(|(_, c)| c.readable).map(|(i, _)| i).collect();
        let connections: Vec<_> = connected
            .into_iter()
            .enumerate()
            .map(|(at, c)| {
                let link = Link::new(c.stream, at, delays.as_ref());
                let new = Connection::new(link, number(index, at), window);
                Some(if job.control.expects_order() { new.in_order() } else { new })
            })
            .collect();
        let place = WorkerPlace { index, workers, connections: connections.len(), all_connections };
        let accumulator = Accumulator::new(&settings, place, job.control.origin_ns());
        let view = job.control.view();
        Ok(RecordWorker {
            settings,
            index,
            poll,
            open_connections: connections.len(),
            connections,
            delays,
            farewell: Farewell::default(),
            timer,
            armed_ns: u64::MAX,
            unfinished,
            budget_used_up: false,
            now_ns: now_ns(),
            next_scan_ns: 0,
            marks_taken: 0,
            backlog: [0; 2],
            intervals: IntervalClock::new(index, job.interval_ns, events),
            desk: Desk {
                shape,
                flags: job.flags,
                compares: job.compares,
                call_bytes_max: settings.call_bytes_max as usize,
                ledger: Ledger::new(job.extras),
                tally: Tally::new(),
                accumulator,
                sampler: job.sampler(index),
                view,
                read_buffer: read_pass::buffer(),
                spare: Vec::new(),
                wrong: Vec::new(),
            },
            job,
            flow: Flow::new(),
            load: LoadMeter::new(),
            notes: Vec::new(),
        })
    }

    fn run(mut self) -> io::Result<WorkerResult> {
        let mut events = Events::with_capacity(EVENTS_PER_TURN);
        self.supply();
        self.publish();
        while !self.is_over() {
            self.load.turn(&self.desk.view, self.now_ns);
            self.arm_timers()?;
            match self.poll.poll(&mut events, Some(self.poll_timeout())) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            self.take(&events);
            self.now_ns = now_ns();
            self.deliver_due(self.now_ns);
            self.intervals.turn(self.desk.view.start_ns, self.now_ns, &mut self.desk.ledger);
            self.look_at_backlog();
            self.supply();
            self.scan();
            self.publish();
        }
        Ok(self.close())
    }

    fn close(mut self) -> WorkerResult {
        let load = self.load.close(self.now_ns);
        let schedule = self.close_schedule();
        let unheard = if self.is_unanswered() { self.open_connections as u64 } else { 0 };
        for connection in self.connections.iter_mut().flatten() {
            connection.end_all(u64::MAX, Failure::Abandoned, self.now_ns, &mut self.desk);
        }
        for index in 0..self.connections.len() {
            self.desk.tally.totals.unsent += self.desk.accumulator.lose(index);
        }
        self.flow.close(self.now_ns, &self.desk.view);
        self.desk.tally.settle();
        self.desk.ledger.settle();
        self.desk.ledger.asked_stages(self.desk.sampler.picked());
        self.publish();
        let outcomes = &self.desk.ledger.outcomes;
        assert_eq!(outcomes.started, outcomes.ended(), "every call has one outcome: {outcomes:?}");
        self.intervals.close(&mut self.desk.ledger);
        let mut ledger = self.desk.ledger;
        ledger.records = Some(Box::new(self.desk.tally));
        self.notes.append(&mut self.desk.wrong);
        WorkerResult {
            ledger,
            flow: self.flow,
            load,
            schedule,
            net_delay_full: self.delays.as_ref().map_or(0, Delays::full),
            unheard,
            ended_ns: self.now_ns,
            notes: self.notes,
        }
    }

    /// Reads, and enters what ended; none if the connection is gone.
    fn receive(&mut self, index: usize, closed: bool) -> Option<ReadEnd> {
        let connection = self.connections[index].as_mut()?;
        let open_before = connection.open();
        let before = self.desk.ledger.answered();
        let (end, now_ns) = connection.read(closed, &mut self.desk);
        let calls_ended = (open_before - connection.open()) as u64;
        let answered = self.desk.ledger.note_answers(before, now_ns);
        self.flow.ended(calls_ended, answered, now_ns, &self.desk.view);
        self.now_ns = now_ns;
        if calls_ended > 0 {
            self.create();
            self.stop_at_failure();
        }
        Some(end)
    }

    /// Lets records come into being, and calls with them.
    fn supply(&mut self) {
        self.create();
        while let Some(index) = self.desk.accumulator.stirred() {
            self.pump(index);
        }
    }

    /// Lets records come into being.
    fn create(&mut self) {
        // Read behind the clock: what is due in the window is known to be.
        self.see();
        if !self.may_create() {
            return;
        }
        let Desk { accumulator, tally, view, .. } = &mut self.desk;
        let control = &self.job.control;
        let all = accumulator.create(self.now_ns, |due_ns| {
            let measured = due_ns >= view.start_ns;
            let granted = !measured || !control.budget.take(1).is_empty();
            tally.created(u64::from(granted), measured);
            (granted, measured)
        });
        self.budget_used_up |= !all;
    }

    /// Starts as many calls on a connection as its window and the records that wait allow.
    fn pump(&mut self, index: usize) {
        let mut rounds = ROUNDS_PER_PUMP;
        while let Some(connection) = &mut self.connections[index] {
            let mut started = 0;
            // What the link did not take goes first: what is kept of it stays bounded.
            let behind = connection.owed() > 0;
            while !behind
                && self.desk.may_send(self.now_ns)
                && connection.owed() < OWED_MAX
                && connection.has_room()
                && self.desk.accumulator.is_ready(index)
            {
                let (budget, phase) = (&self.job.control.budget, self.desk.view.phase);
                let used_up = &mut self.budget_used_up;
                let call = self.desk.next_call(index, |wanted| match phase {
                    Phase::Measured if *used_up => (0, true),
                    Phase::Measured => {
                        let granted = budget.take(wanted as u64).count();
                        *used_up = granted < wanted;
                        (granted, true)
                    }
                    Phase::WarmUp | Phase::Draining => (wanted, false),
                });
                let Some(call) = call else { break };
                connection.start(call, self.now_ns, &mut self.desk);
                started += 1;
            }
            self.flow.started(started, self.now_ns, &self.desk.view);
            if connection.owed() == 0 {
                return;
            }
            let open_before = connection.open();
            let before = self.desk.ledger.answered();
            let flushed = connection.flush(&mut self.desk);
            let blocked = connection.owed() > 0;
            let written = (open_before - connection.open()) as u64;
            if written > 0 {
                self.now_ns = now_ns();
                let ok = self.desk.ledger.note_answers(before, self.now_ns);
                self.flow.ended(written, ok, self.now_ns, &self.desk.view);
                self.create();
            }
            match flushed {
                Err(error) => return self.broken(index, &error),
                Ok(()) if blocked => return,
                Ok(()) => {}
            }
            rounds -= 1;
            if rounds == 0 {
                return self.unfinished.push(index);
            }
        }
    }

    /// A connection that takes no bytes may still hold some: the reason for its end, perhaps.
    fn broken(&mut self, index: usize, error: &io::Error) {
        if let Some(end) = self.receive(index, true) {
            self.lose(index, end.after_failed_write(error));
        }
    }

    /// Ends a connection, every call on it and its streams.
    fn lose(&mut self, index: usize, lost: Lost) {
        let Some(mut connection) = self.connections[index].take() else {
            return;
        };
        let (open, now) = (connection.open() as u64, self.now_ns);
        self.open_connections -= 1;
        if self.farewell.is_end(&lost) {
            return;
        }
        connection.end_all(u64::MAX, Failure::Lost(lost.kind), now, &mut self.desk);
        self.desk.ledger.connection_lost(lost.kind);
        self.desk.tally.totals.unsent += self.desk.accumulator.lose(index);
        self.flow.ended(open, 0, now, &self.desk.view);
        keep_note(&mut self.notes, lost.text);
        self.stop_at_failure();
    }

    fn stop_at_failure(&mut self) {
        if self.job.fail_fast && !self.desk.ledger.outcomes.all_well() {
            self.job.control.stop(self.job.timeout_ns);
            self.see();
        }
    }
}

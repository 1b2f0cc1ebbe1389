//! One event loop: it owns its share of the connections and of the callers for the whole run.

mod clockwork;
mod events;
mod open_loop;
mod thinking;

use crate::callers::{Callers, Rotation};
use crate::connect::Connected;
use crate::connection::{Connection, Desk, Lost, ReadEnd, keep_note};
use crate::control::{Control, Phase, View};
use crate::conversation::{self, Framing};
use crate::crew::RunEvent;
use crate::event_loop::EventLoop;
use crate::flow::Flow;
use crate::interval_clock::IntervalClock;
use crate::keys::{KeyRange, Keys};
use crate::link::{Delays, Link, NetDelay};
use crate::load::{Load, LoadMeter};
use crate::outcome::{Extras, Failure, Ledger};
use crate::pacing::Pace;
use crate::records;
use crate::stages::{Sampler, random_from};
use echo_common::clock::now_ns;
use mio::{Events, Poll};
pub(crate) use open_loop::{OpenLoop, SENDS_PER_TURN, ScheduleResult, Standing, TIMER};
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use thinking::Thinking;

const EVENTS_PER_TURN: usize = 1024;

/// What every worker of a run needs to know.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) framing: Framing,
    pub(crate) control: Arc<Control>,
    pub(crate) timeout_ns: u64,
    pub(crate) fail_fast: bool,
    pub(crate) extras: Extras,
    /// Flags of every native call.
    pub(crate) flags: u8,
    /// Whether the bytes of replies are compared.
    pub(crate) compares: bool,
    /// Records in calls, instead of plain ones.
    pub(crate) records: Option<records::Settings>,
    /// One call in this many asks for its stage times.
    pub(crate) stages: Option<u64>,
    /// The schedule of an open loop.
    pub(crate) pace: Option<Pace>,
    /// What is drawn at random follows from it.
    pub(crate) seed: u64,
    /// Between the end of a call and its caller's next one, in a closed loop.
    pub(crate) think_ns: u64,
    /// The keys of each worker's calls; none without --keys.
    pub(crate) keys: Vec<KeyRange>,
    /// An emulated network between client and server.
    pub(crate) net_delay: Option<NetDelay>,
    /// Parts of the latencies go to main this often.
    pub(crate) interval_ns: u64,
}

impl Job {
    /// What picks the calls of worker `index` that ask for their stage times.
    pub(crate) fn sampler(&self, index: usize) -> Sampler {
        Sampler::new(self.stages, random_from(self.seed, index as u64))
    }

    /// Between two looks for what has timed out.
    pub(crate) fn scan_period_ns(&self) -> u64 {
        (self.timeout_ns / 8).clamp(1_000_000, 1_000_000_000)
    }
}

/// What a worker hands back.
#[derive(Debug)]
pub(crate) struct WorkerResult {
    pub(crate) ledger: Ledger,
    pub(crate) flow: Flow,
    pub(crate) load: Option<Load>,
    /// In an open loop.
    pub(crate) schedule: Option<ScheduleResult>,
    /// How often an emulated network could hold no more.
    pub(crate) net_delay_full: u64,
    /// Connections whose end the server did not confirm, of those on which nothing is answered.
    pub(crate) unheard: u64,
    /// When it had nothing left to do.
    pub(crate) ended_ns: u64,
    /// What lost connections had to say.
    pub(crate) notes: Vec<String>,
}

/// The event loop's state.
pub(crate) struct Worker<'a> {
    job: &'a Job,
    index: usize,
    poll: Poll,
    connections: Vec<Option<Connection<'a>>>,
    open_connections: usize,
    rotation: Option<Rotation>,
    open_loop: Option<Box<OpenLoop>>,
    thinking: Option<Box<Thinking>>,
    delays: Option<Delays>,
    /// Connections with bytes that no edge will announce again.
    unfinished: Vec<usize>,
    view: View,
    budget_used_up: bool,
    /// Read once per turn of the loop.
    now_ns: u64,
    next_scan_ns: u64,
    intervals: IntervalClock,
    desk: Desk,
    flow: Flow,
    load: LoadMeter,
    notes: Vec<String>,
}

/// What a pass of reading brought.
struct Received {
    end: ReadEnd,
    calls_ended: u64,
    now_ns: u64,
}

impl<'a> Worker<'a> {
    /// A worker whose connections are registered with `poll` under their index.
    pub(crate) fn new(
        job: &'a Job,
        index: usize,
        poll: Poll,
        connected: Vec<Connected>,
        callers: &Callers,
        delays: Option<Delays>,
        events: Sender<RunEvent>,
    ) -> Worker<'a> {
        let window = |index: usize| match callers {
            Callers::PerConnection(windows) => windows[index],
            Callers::Rotating(_) => 1,
            Callers::InTurn(callers) => *callers,
        };
        let count = connected.len();
        let mut desk = Desk::new(job.extras, job.sampler(index));
        let keys = job.keys.get(index);
        desk.ledger.keys = keys.map(|range| Box::new(Keys::new(*range, job.seed)));
        let unfinished =
            connected.iter().enumerate().filter(|(_, c)| c.readable).map(|(i, _)| i).collect();
        Worker {
            job,
            index,
            poll,
            connections: connected
                .into_iter()
                .enumerate()
                .map(|(at, c)| {
                    let number = conversation::number(index, at);
                    let open_loop = job.pace.is_some();
                    let link = Link::new(c.stream, at, delays.as_ref());
                    let new = Connection::new(link, &job.framing, number, window(at), open_loop);
                    Some(if job.control.expects_order() { new.in_order() } else { new })
                })
                .collect(),
            open_connections: count,
            rotation: Rotation::of(callers, count),
            open_loop: None,
            thinking: None,
            delays,
            unfinished,
            view: job.control.view(),
            budget_used_up: false,
            now_ns: now_ns(),
            next_scan_ns: 0,
            intervals: IntervalClock::new(index, job.interval_ns, events),
            desk,
            flow: Flow::new(),
            load: LoadMeter::new(),
            notes: Vec::new(),
        }
    }

    /// Calls until the run is over and every call has ended.
    pub(crate) fn run(mut self) -> io::Result<WorkerResult> {
        let mut events = Events::with_capacity(EVENTS_PER_TURN);
        self.see();
        self.open_loop = OpenLoop::begin(self.job, self.index, &self.poll)?;
        self.thinking = Thinking::begin(self.job, &self.poll)?;
        self.start_everywhere();
        self.publish();
        while !self.is_finished() {
            self.load.turn(&self.view, self.now_ns);
            self.arm_timer()?;
            self.arm_thinking()?;
            self.arm_delays()?;
            match self.poll.poll(&mut events, Some(self.poll_timeout())) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            self.take(&events);
            self.now_ns = now_ns();
            self.deliver_due(self.now_ns);
            self.intervals.turn(self.view.start_ns, self.now_ns, &mut self.desk.ledger);
            self.send_due();
            self.end_pauses();
            self.scan();
            self.publish();
        }
        let load = self.load.close(self.now_ns);
        let schedule = self.close_schedule();
        self.give_up();
        self.desk.ledger.settle();
        self.desk.ledger.asked_stages(self.desk.sampler.picked());
        self.publish();
        let outcomes = &self.desk.ledger.outcomes;
        assert_eq!(outcomes.started, outcomes.ended(), "every call has one outcome: {outcomes:?}");
        self.intervals.close(&mut self.desk.ledger);
        Ok(WorkerResult {
            ledger: self.desk.ledger,
            flow: self.flow,
            load,
            schedule,
            net_delay_full: self.delays.as_ref().map_or(0, Delays::full),
            unheard: 0,
            ended_ns: self.now_ns,
            notes: self.notes,
        })
    }

    /// Reads what came on a connection and lets its free callers call again.
    fn pass(&mut self, index: usize, closed: bool) {
        self.load.pass();
        let Some(Received { end, calls_ended, now_ns }) = self.receive(index, closed) else {
            return;
        };
        match end {
            ReadEnd::Drained => {}
            ReadEnd::More => self.unfinished.push(index),
            ReadEnd::Lost(lost) => return self.lose(index, lost, calls_ended, now_ns),
        }
        if calls_ended > 0 {
            self.resume(index, calls_ended, now_ns);
        }
    }

    /// Reads, and enters what ended; none if the connection is gone.
    #[inline]
    fn receive(&mut self, index: usize, closed: bool) -> Option<Received> {
        let connection = self.connections[index].as_mut()?;
        let open_before = connection.open();
        let before = self.desk.ledger.answered();
        let (end, now_ns) = connection.read(closed, &mut self.desk);
        let calls_ended = (open_before - connection.open()) as u64;
        let answered = self.desk.ledger.note_answers(before, now_ns);
        self.flow.ended(calls_ended, answered, now_ns, &self.view);
        Some(Received { end, calls_ended, now_ns })
    }

    /// `callers` callers of a connection are free.
    #[inline]
    fn resume(&mut self, index: usize, callers: u64, now_ns: u64) {
        if self.job.fail_fast && !self.desk.ledger.outcomes.all_well() {
            self.stop_run();
        }
        match (&mut self.rotation, &mut self.thinking) {
            (None, _) if self.open_loop.is_some() => {}
            (None, None) => {
                self.start(index, callers, now_ns);
            }
            (None, Some(thinking)) => thinking.pause(Some(index), callers, now_ns),
            (Some(rotation), None) => rotation.came_back(callers, index),
            (Some(rotation), Some(thinking)) => {
                rotation.came_back(0, index);
                thinking.pause(None, callers, now_ns);
            }
        }
    }

    /// Starts up to `callers` calls on a connection, as many as it and the budget allow, and writes
    /// them at once.
    fn start(&mut self, index: usize, callers: u64, now_ns: u64) -> u64 {
        let Some(connection) = &mut self.connections[index] else {
            return 0;
        };
        let wanted = callers.min(connection.free() as u64);
        let (granted, measured) = match self.view.phase {
            Phase::WarmUp => (wanted, false),
            Phase::Measured if !self.budget_used_up && now_ns < self.view.end_ns => {
                let calls = self.job.control.budget.take(wanted);
                (calls.end - calls.start, true)
            }
            Phase::Measured | Phase::Draining => return 0,
        };
        self.budget_used_up = granted < wanted;
        if granted == 0 {
            return 0;
        }
        connection.start(granted, measured, now_ns, &mut self.desk);
        self.flow.started(granted, now_ns, &self.view);
        self.flush(index);
        granted
    }

    /// Gives idle callers to idle connections, the longest idle first.
    #[inline]
    fn rotate(&mut self) {
        if self.open_loop.is_some() {
            return;
        }
        while let Some(index) = self.rotation.as_mut().and_then(Rotation::next) {
            if self.connections[index].is_none() {
                continue;
            }
            let started = self.start(index, 1, now_ns()) > 0;
            if let Some(rotation) = &mut self.rotation {
                rotation.tried(index, started);
            }
            if !started {
                return;
            }
        }
    }

    fn start_everywhere(&mut self) {
        if self.open_loop.is_some() {
            return;
        }
        if self.rotation.is_some() {
            return self.rotate();
        }
        let now = now_ns();
        for index in 0..self.connections.len() {
            self.start(index, u64::MAX, now);
        }
    }

    fn flush(&mut self, index: usize) {
        let Some(connection) = &mut self.connections[index] else {
            return;
        };
        if let Err(error) = connection.flush(&mut self.desk) {
            self.broken(index, &error);
        }
    }

    /// A connection that takes no bytes may still hold some: the reason for its end, perhaps.
    fn broken(&mut self, index: usize, error: &io::Error) {
        let Some(Received { end, calls_ended, now_ns }) = self.receive(index, true) else {
            return;
        };
        self.lose(index, end.after_failed_write(error), calls_ended, now_ns);
    }

    /// Ends a connection and every call on it. Callers of its own end with it; those that rotate
    /// go on elsewhere, the ones whose `calls_ended` by an answer just before, too.
    fn lose(&mut self, index: usize, lost: Lost, calls_ended: u64, now_ns: u64) {
        let Some(mut connection) = self.connections[index].take() else {
            return;
        };
        let open = connection.open() as u64;
        self.open_connections -= 1;
        connection.end_all(Failure::Lost(lost.kind), now_ns, &mut self.desk.ledger);
        self.desk.ledger.connection_lost(lost.kind);
        self.flow.ended(open, 0, now_ns, &self.view);
        keep_note(&mut self.notes, lost.text);
        if self.job.fail_fast {
            self.stop_run();
        }
        match (&mut self.rotation, &mut self.thinking) {
            (None, _) => {}
            (Some(rotation), None) => rotation.callers_came_back(calls_ended + open),
            (Some(_), Some(thinking)) => thinking.pause(None, calls_ended + open, now_ns),
        }
    }

    fn stop_run(&mut self) {
        self.job.control.stop(self.job.timeout_ns);
        self.see();
    }

    /// Ends what nobody waits for any more.
    fn give_up(&mut self) {
        let now = self.now_ns;
        for connection in self.connections.iter_mut().flatten() {
            connection.end_all(Failure::Abandoned, now, &mut self.desk.ledger);
        }
        self.flow.close(now, &self.view);
    }

    fn publish(&self) {
        let published = &self.job.control.published[self.index];
        published.note(&self.desk.ledger.outcomes, self.flow.in_flight());
    }
}

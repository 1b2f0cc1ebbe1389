//! One run, from connect to what the report is made of.

use crate::budget::Budget;
use crate::connect_error::ConnectError;
use crate::control::Control;
use crate::conversation::Framing;
use crate::crew::{self, Crew, RunEvent, WorkerError};
use crate::followers::{self, Asked, Checked};
use crate::histogram_log::HistogramLog;
use crate::intervals::{Interval, Intervals};
use crate::latency::Latency;
use crate::notice;
use crate::options::{Acks, Switch};
use crate::outcome::{Extras, Ledger};
use crate::plan::Plan;
use crate::progress::Progress;
use crate::remote_stats::{self, Snapshot};
use crate::timeline::Timeline;
use crate::worker::{Job, WorkerResult};
use echo_common::clock::{self, now_ns};
use echo_common::cpu_time;
use echo_common::host::{self, HostLoad};
use echo_common::signals::{self, Signal};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

/// How long answers are waited for after an interrupt.
const INTERRUPT_DRAIN_NS: u64 = 1_000_000_000;
/// The least wait for answers after the end of a timed run.
const DRAIN_MIN_NS: u64 = 1_000_000_000;

/// What a run leaves behind.
pub(crate) struct RunResult {
    /// Of all workers.
    pub(crate) ledger: Ledger,
    pub(crate) workers: Vec<NamedResult>,
    pub(crate) connect_latency: Latency,
    /// Calls of one connection that the server serves at once, as it said at the start.
    pub(crate) calls_per_connection: Option<u64>,
    /// The measured window; `end_ns` is where it was cut off by the clock or a signal.
    pub(crate) start_ns: u64,
    pub(crate) end_ns: Option<u64>,
    /// When the last worker ended.
    pub(crate) ended_ns: u64,
    /// At the begin and the end of the measured phase.
    pub(crate) before: Reading,
    pub(crate) after: Reading,
    /// Of the server when all was over, if its count is not complete before.
    pub(crate) last: Option<Snapshot>,
    /// Under --acks all.
    pub(crate) followers: Option<Checked>,
    pub(crate) timeline: Timeline,
    pub(crate) intervals: Vec<Interval>,
    /// Of --hlog, whole but not in its place.
    pub(crate) histogram_log: Option<HistogramLog>,
    pub(crate) interrupted: Option<Signal>,
}

impl RunResult {
    /// Whether nothing went wrong, as far as is known.
    pub(crate) fn is_well(&self) -> bool {
        let followers = self.followers.as_ref().and_then(Checked::ok);
        self.ledger.outcomes.all_well() && followers != Some(false)
    }
}

/// A worker's result with the thread's name; the ledgers are merged, its totals stay.
pub(crate) struct NamedResult {
    pub(crate) name: String,
    pub(crate) result: WorkerResult,
}

/// Counters of everybody concerned at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    pub(crate) now_ns: u64,
    pub(crate) client_cpu_ns: u64,
    pub(crate) host: Option<HostLoad>,
    pub(crate) server: Option<Snapshot>,
    /// Why it did not answer, if it was asked.
    pub(crate) no_server: Option<String>,
}

/// Why there is nothing to report.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Worker(#[from] WorkerError),
    #[error("{0}: {1}")]
    System(&'static str, io::Error),
    #[error("ended by a signal before the connections were set up")]
    Interrupted(Signal),
}

/// Runs the plan.
pub(crate) fn run(
    plan: &Arc<Plan>,
    histogram_log: Option<HistogramLog>,
) -> Result<RunResult, RunError> {
    let system = |what| move |error| RunError::System(what, error);
    let (polls, wakers) = crew::polls(plan.workers).map_err(system("cannot make event loops"))?;
    let control = Arc::new(Control::new(Budget::new(plan.count()), wakers));
    let job = Arc::new(Job {
        framing: Framing::new(plan),
        control: Arc::clone(&control),
        timeout_ns: clock::ns(plan.options.timeout),
        fail_fast: plan.options.fail_fast,
        extras: extras(plan),
        flags: plan.flags(),
        compares: plan.verify(),
        records: plan.records,
        stages: plan.options.stages,
        pace: plan.pace,
        seed: plan.options.seed,
        keys: plan.keys(),
        think_ns: clock::ns(plan.options.think),
        net_delay: plan.net_delay,
        interval_ns: clock::ns(plan.options.interval),
    });
    let (sender, events) = mpsc::channel();
    let (at_signal, signal_events) = (Arc::clone(&control), sender.clone());
    signals::on_termination(move |signal| {
        // Told before it acts: workers that have nothing to wait for end at once, and their ends
        // must not overtake the reason.
        let heard = signal_events.send(RunEvent::Signal(signal));
        at_signal.stop(INTERRUPT_DRAIN_NS);
        if heard.is_err() {
            leave_soon(signal);
        }
    })
    .map_err(system("cannot wait for signals"))?;
    let mut crew =
        Crew::start(plan, &job, polls, &sender).map_err(system("cannot start a worker"))?;
    let connect_latency = barrier(plan, &events, &mut crew)?;
    let mut stage = Stage {
        plan,
        control: &control,
        crew,
        events,
        results: Vec::new(),
        calls_per_connection: None,
        interrupted: None,
        timeline: Timeline::new(),
        intervals: Intervals::new(plan.options.interval, plan.workers, histogram_log),
        progress: Progress::new(plan),
    };
    let (before, after) = stage.play()?;
    let followers = plan.asks_holders().then(|| stage.check_followers(before.server.as_ref()));
    Ok(RunResult { followers, ..stage.finish(connect_latency, before, after) })
}

/// The run is over, and what it came to is being written, perhaps to a pipe that nobody empties.
fn leave_soon(signal: Signal) {
    let (_kept, never) = mpsc::channel::<()>();
    // Nothing comes: the process ends meanwhile, or is ended here.
    let _ = never.recv_timeout(Duration::from_nanos(INTERRUPT_DRAIN_NS));
    notice::error("ended by a signal before everything was written");
    signals::leave(signal);
}

/// What the ledgers of the run keep.
fn extras(plan: &Plan) -> Extras {
    Extras { stages: plan.options.stages.is_some(), open_loop: plan.pace.is_some() }
}

/// Waits until every worker has all its connections; gives the connect times.
fn barrier(plan: &Plan, events: &Receiver<RunEvent>, crew: &mut Crew) -> Result<Latency, RunError> {
    let mut latency = Latency::new();
    let mut connected = 0;
    let mut failures = Vec::new();
    let mut waiting = plan.workers;
    loop {
        // Connections are missing without a failure only after a signal, which is on its way.
        if waiting == 0 && (connected == plan.connections || !failures.is_empty()) {
            break;
        }
        match events.recv() {
            Ok(RunEvent::Ready(summary)) => {
                waiting -= 1;
                connected += summary.connected;
                failures.extend(summary.failures);
                latency.add(&summary.latency);
            }
            Ok(RunEvent::Signal(signal)) => return Err(RunError::Interrupted(signal)),
            // Nobody has called anything.
            Ok(RunEvent::Part(..)) => {}
            Ok(RunEvent::Ended(worker)) => {
                crew.join(worker)?;
            }
            Err(_) => unreachable!("the signal thread's closure keeps a sender"),
        }
    }
    if connected == plan.connections {
        return Ok(latency);
    }
    Err(ConnectError::new(plan, connected, failures).into())
}

/// A run between the barrier and the last answer.
struct Stage<'a> {
    plan: &'a Plan,
    control: &'a Control,
    crew: Crew,
    events: Receiver<RunEvent>,
    results: Vec<NamedResult>,
    calls_per_connection: Option<u64>,
    interrupted: Option<Signal>,
    timeline: Timeline,
    intervals: Intervals,
    progress: Progress,
}

/// What ends a wait besides its time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    /// The end of all workers, or a signal.
    SignalOrEnd,
    /// The end of all workers.
    End,
}

impl Stage<'_> {
    /// Warm-up, measured phase, last answers. Returns the readings around the measured phase.
    fn play(&mut self) -> Result<(Reading, Reading), RunError> {
        let options = &self.plan.options;
        let drain_ns = clock::ns(options.timeout).max(DRAIN_MIN_NS);
        let warmup_ns = clock::ns(options.warmup);
        let asks = options.server_stats == Switch::On;
        if warmup_ns > 0 {
            let server = asks.then(|| remote_stats::ask(&self.plan.addresses)).flatten();
            self.hear_promise(server.as_ref());
            self.control.warm_up();
            self.crew.go();
            self.wait(now_ns().saturating_add(warmup_ns), Until::SignalOrEnd)?;
        }
        let mut before = self.reading(asks);
        if warmup_ns > 0
            && let Some(why) = &mut before.no_server
        {
            why.push_str(", behind the calls of the warm-up");
        }
        if warmup_ns == 0 {
            self.hear_promise(before.server.as_ref());
        }
        self.control.measure(options.duration.map(clock::ns), drain_ns);
        let start_ns = self.control.view().start_ns;
        self.timeline.begin(start_ns, self.control.progress());
        self.intervals.begin(start_ns);
        let emulated = before.server.as_ref().is_some_and(|server| server.emulated);
        self.progress.begin(start_ns, emulated || self.plan.net_delay.is_some());
        self.crew.go();
        self.wait(self.control.view().end_ns, Until::SignalOrEnd)?;
        self.progress.drain();
        self.timeline.end_window(now_ns(), self.control.progress());
        // Without the first half the second is of no use.
        let mut after = self.reading(before.server.is_some());
        self.wait(u64::MAX, Until::End)?;
        // Behind a backlog there was no answer in time; there is one now, for a longer window.
        if before.server.is_some() && after.server.is_none() {
            after.server = remote_stats::ask(&self.plan.addresses);
        }
        Ok((before, after))
    }

    /// What the server says of its order before anything is called is what it is held to.
    fn hear_promise(&mut self, server: Option<&Snapshot>) {
        self.calls_per_connection = server.and_then(|server| server.calls_per_connection);
        if self.calls_per_connection == Some(1) {
            self.control.expect_order();
        }
    }

    /// Hears and shows what goes on, up to `until_ns` at most.
    fn wait(&mut self, until_ns: u64, until: Until) -> Result<(), RunError> {
        loop {
            let now = now_ns();
            self.tick(now);
            let over = until == Until::SignalOrEnd && self.interrupted.is_some();
            if over || now >= until_ns || self.results.len() == self.plan.workers {
                return Ok(());
            }
            let next = until_ns.min(self.timeline.next_ns()).min(self.progress.next_ns());
            match self.events.recv_timeout(Duration::from_nanos(next.saturating_sub(now))) {
                Ok(RunEvent::Signal(signal)) => {
                    // The signal thread does so, too, but perhaps only after the next step here.
                    self.control.stop(INTERRUPT_DRAIN_NS);
                    self.interrupted = Some(signal);
                }
                Ok(RunEvent::Part(worker, part)) => self.intervals.deliver(worker, part),
                Ok(RunEvent::Ended(worker)) => self.ended(worker)?,
                Ok(RunEvent::Ready(_)) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    unreachable!("the signal thread's closure keeps a sender")
                }
            }
        }
    }

    /// Whether the followers hold what was acknowledged.
    fn check_followers(&mut self, before: Option<&Snapshot>) -> Checked {
        let plan = self.plan;
        if plan.options.server_stats == Switch::Off {
            return Checked::Not("--server-stats off".to_owned());
        }
        if self.interrupted.is_some() {
            return Checked::Not("the run was interrupted".to_owned());
        }
        let outcomes = self.results.iter().map(|worker| &worker.result.ledger.outcomes);
        // A reply that said itself that it came too early has a check of its own.
        let answered = outcomes.map(|outcomes| outcomes.ok.saturating_sub(outcomes.early_acks));
        let asked = Asked { addresses: &plan.addresses, before, answered: answered.sum() };
        followers::check(&asked, |pause_ns| {
            if let Ok(RunEvent::Signal(signal)) =
                self.events.recv_timeout(Duration::from_nanos(pause_ns))
            {
                self.interrupted = Some(signal);
            }
            self.interrupted.is_none()
        })
    }

    fn ended(&mut self, worker: usize) -> Result<(), RunError> {
        let name = self.crew.name(worker).to_owned();
        if let Some(result) = self.crew.join(worker)? {
            self.results.push(NamedResult { name, result });
        }
        Ok(())
    }

    fn tick(&mut self, now_ns: u64) {
        let due = now_ns >= self.timeline.next_ns() || now_ns >= self.progress.next_ns();
        if due {
            let progress = self.control.progress();
            self.timeline.sample(now_ns, progress);
            self.progress.show(now_ns, progress);
        }
    }

    fn reading(&self, of_server: bool) -> Reading {
        let asked = of_server.then(|| remote_stats::ask_or_why(&self.plan.addresses));
        let (server, no_server) = match asked {
            None => (None, None),
            Some(Ok(snapshot)) => (Some(snapshot), None),
            Some(Err(why)) => (None, Some(why)),
        };
        Reading {
            now_ns: now_ns(),
            client_cpu_ns: cpu_time::process_cpu_ns(),
            host: host::load(),
            server,
            no_server,
        }
    }

    /// What nobody answers may be under way when the window ends.
    fn last_snapshot(&self, before: &Reading) -> Option<Snapshot> {
        let unanswered = self.plan.options.acks == Acks::None && before.server.is_some();
        unanswered.then(|| remote_stats::ask(&self.plan.addresses)).flatten()
    }

    fn finish(mut self, connect_latency: Latency, before: Reading, after: Reading) -> RunResult {
        self.progress.close();
        let last = self.last_snapshot(&before);
        self.results.sort_by(|a, b| a.name.cmp(&b.name));
        let mut ledger = Ledger::new(extras(self.plan));
        for worker in &self.results {
            ledger.add(&worker.result.ledger);
        }
        let totals = self.control.progress();
        let view = self.control.view();
        let ended_ns =
            self.results.iter().map(|w| w.result.ended_ns).max().unwrap_or(view.start_ns);
        self.timeline.close(ended_ns, totals);
        let (intervals, latency, histogram_log) = self.intervals.close(ended_ns);
        ledger.latency = latency;
        RunResult {
            intervals,
            histogram_log,
            ledger,
            workers: self.results,
            connect_latency,
            calls_per_connection: self.calls_per_connection,
            start_ns: view.start_ns,
            end_ns: (view.end_ns != u64::MAX).then_some(view.end_ns),
            ended_ns,
            last,
            before,
            after,
            followers: None,
            timeline: self.timeline,
            interrupted: self.interrupted,
        }
    }
}

//! The worker threads: start them, hold them at the barrier until every connection stands, and
//! join them.

use crate::connect::{self, ConnectFailure, Target, WAKER};
use crate::control::Control;
use crate::conversation;
use crate::intervals::Part;
use crate::latency::Latency;
use crate::link::Delays;
use crate::notice;
use crate::plan::{Plan, Share};
use crate::records::{self, RecordStart};
use crate::unanswered::UnansweredWorker;
use crate::worker::{Job, Worker, WorkerResult};
use echo_common::pinning;
use echo_common::signals::Signal;
use mio::{Poll, Waker};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

/// What main hears while a run goes on.
pub(crate) enum RunEvent {
    /// A worker stands at the barrier, with all its connections or without.
    Ready(ConnectSummary),
    /// What a worker recorded in an interval.
    Part(usize, Part),
    /// A worker's thread has ended, in whatever way.
    Ended(usize),
    /// A signal asked the run to end.
    Signal(Signal),
}

/// A worker's part of the connect phase.
pub(crate) struct ConnectSummary {
    pub(crate) connected: usize,
    pub(crate) failures: Vec<ConnectFailure>,
    pub(crate) latency: Latency,
}

/// Why a worker did not finish.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkerError {
    /// A system call that must not fail did.
    #[error("thread {0} failed: {1}")]
    Failed(String, io::Error),
    /// A bug; the panic's own message went to standard error.
    #[error("thread {0} died")]
    Died(String),
}

/// All workers of a run.
pub(crate) struct Crew {
    workers: Vec<Member>,
}

struct Member {
    name: String,
    go: Option<Sender<()>>,
    thread: Option<JoinHandle<io::Result<Option<WorkerResult>>>>,
}

/// What a worker thread is started with.
struct Start {
    index: usize,
    job: Arc<Job>,
    plan: Arc<Plan>,
    share: Share,
    poll: Poll,
    events: Sender<RunEvent>,
    go: Receiver<()>,
}

/// A poll for each worker, and the wakers for `Control`.
pub(crate) fn polls(workers: usize) -> io::Result<(Vec<Poll>, Vec<Waker>)> {
    let mut polls = Vec::with_capacity(workers);
    let mut wakers = Vec::with_capacity(workers);
    for _ in 0..workers {
        let poll = Poll::new()?;
        wakers.push(Waker::new(poll.registry(), WAKER)?);
        polls.push(poll);
    }
    Ok((polls, wakers))
}

impl Crew {
    /// Starts the workers; they connect and then wait for `go`.
    pub(crate) fn start(
        plan: &Arc<Plan>,
        job: &Arc<Job>,
        polls: Vec<Poll>,
        events: &Sender<RunEvent>,
    ) -> io::Result<Crew> {
        let mut workers = Vec::new();
        for (index, poll) in polls.into_iter().enumerate() {
            let name = format!("worker-{index:02}");
            let (go, at_barrier) = mpsc::channel();
            let start = Start {
                index,
                job: Arc::clone(job),
                plan: Arc::clone(plan),
                share: plan.share(index),
                poll,
                events: events.clone(),
                go: at_barrier,
            };
            let thread = thread::Builder::new().name(name.clone()).spawn(move || work(start))?;
            workers.push(Member { name, go: Some(go), thread: Some(thread) });
        }
        Ok(Crew { workers })
    }

    pub(crate) fn name(&self, index: usize) -> &str {
        &self.workers[index].name
    }

    /// Opens the barrier.
    pub(crate) fn go(&mut self) {
        for worker in &mut self.workers {
            if let Some(go) = worker.go.take() {
                // A worker that is gone will be seen by its `Ended`.
                let _ = go.send(());
            }
        }
    }

    /// Takes the result of a worker that has ended; none if it never started to call.
    pub(crate) fn join(&mut self, index: usize) -> Result<Option<WorkerResult>, WorkerError> {
        let member = &mut self.workers[index];
        let Some(thread) = member.thread.take() else {
            return Ok(None);
        };
        match thread.join() {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(error)) => Err(WorkerError::Failed(member.name.clone(), error)),
            Err(_panic) => Err(WorkerError::Died(member.name.clone())),
        }
    }
}

/// Says that a thread has ended even if it panics.
struct EndNotice {
    index: usize,
    events: Sender<RunEvent>,
}

impl Drop for EndNotice {
    fn drop(&mut self) {
        // Main may have left already; then nobody needs to know.
        let _ = self.events.send(RunEvent::Ended(self.index));
    }
}

fn work(start: Start) -> io::Result<Option<WorkerResult>> {
    let Start { index, job, plan, share, mut poll, events, go } = start;
    let _notice = EndNotice { index, events: events.clone() };
    if let Some(&cpu) = plan.pins.get(index)
        && let Err(error) = pinning::pin_current_thread(cpu)
    {
        notice::warning(format_args!("worker-{index:02} runs unpinned: {error}"));
    }
    let control: &Control = &job.control;
    let opening = |connection| job.framing.opening(conversation::number(index, connection));
    let target = Target {
        addresses: &plan.addresses,
        timeout: plan.options.connect_timeout,
        opening: &opening,
    };
    let phase = connect::connect_all(&mut poll, target, share.connections, control)?;
    if !phase.failures.is_empty() {
        control.fail_connecting();
    }
    let summary = ConnectSummary {
        connected: phase.connected.len(),
        failures: phase.failures,
        latency: phase.latency,
    };
    if events.send(RunEvent::Ready(summary)).is_err() || go.recv().is_err() {
        return Ok(None);
    }
    if let Some(settings) = job.records {
        let start = RecordStart {
            index,
            workers: plan.workers,
            all_connections: plan.connections,
            window: plan.in_flight_per_connection(),
            poll,
            connected: phase.connected,
            events,
        };
        return records::run(&job, settings, start).map(Some);
    }
    if plan.is_unanswered() {
        let worker = UnansweredWorker::new(&job, index, poll, phase.connected, events)?;
        return worker.run().map(Some);
    }
    let delays = Delays::begin(job.net_delay, &poll)?;
    Worker::new(&job, index, poll, phase.connected, &share.callers, delays, events).run().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crew_of(work: impl FnOnce() -> io::Result<Option<WorkerResult>> + Send + 'static) -> Crew {
        let name = "worker-00".to_owned();
        let thread = thread::Builder::new().name(name.clone()).spawn(work).unwrap();
        Crew { workers: vec![Member { name, go: None, thread: Some(thread) }] }
    }

    #[test]
    fn a_worker_that_does_not_finish_is_named() {
        let died = crew_of(|| panic!("on purpose, for a test")).join(0).unwrap_err();
        assert_eq!(died.to_string(), "thread worker-00 died");
        let failed = crew_of(|| Err(io::ErrorKind::OutOfMemory.into())).join(0).unwrap_err();
        assert_eq!(failed.to_string(), "thread worker-00 failed: out of memory");
    }

    #[test]
    fn main_hears_of_a_worker_that_panics() {
        let (events, heard) = mpsc::channel();
        let crew = crew_of(move || {
            let _notice = EndNotice { index: 7, events };
            panic!("on purpose, for a test")
        });
        assert!(matches!(heard.recv(), Ok(RunEvent::Ended(7))));
        drop(crew);
    }
}

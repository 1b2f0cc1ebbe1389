//! Builds the rooms, starts and joins the threads, and knows the order of draining: listener,
//! readers (whose connections wait for their replies), call queue, handlers, replicator.

use crate::admission::Admission;
use crate::call_queue::CallQueue;
use crate::complaints::{Complaints, say};
use crate::fault_injection;
use crate::handler::{self, Executor};
use crate::handler_cost::HandlerCost;
use crate::intake::Intake;
use crate::keyed::KeyedRooms;
use crate::listener::{self, Listener};
use crate::mailbox::Mailbox;
use crate::meters::Meters;
use crate::reader::{MAILBOX, PACER, Reader, ReaderState};
use crate::reader_cost::ReaderCost;
use crate::replicas::ReplicaRooms;
use crate::snapshot::{Snapshot, Snapshots};
use crate::threads::{Report, join, settle, spawn, tell};
use echo_common::clock;
use mio::{Poll, Waker};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;
use thiserror::Error;

pub use crate::config::Config;

/// Why a server did not start or did not end well.
#[derive(Debug, Error)]
pub enum ServerError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// The reason.
        source: io::Error,
    },
    /// The system refused something that every server needs.
    #[error("cannot start: {0}")]
    Start(#[from] io::Error),
    /// A thread could not be pinned and `strict_pin` was asked.
    #[error("{0}")]
    Pin(String),
    /// A thread died. The others cannot make up for it.
    #[error("thread {name} died: {why}")]
    ThreadDied {
        /// The thread.
        name: String,
        /// Its last words.
        why: String,
    },
}

/// A running server.
pub struct Server {
    address: SocketAddr,
    snapshots: Arc<Snapshots>,
    readers: Vec<Arc<Mailbox>>,
    queue: Option<Arc<CallQueue>>,
    keyed: Option<KeyedRooms>,
    replicas: ReplicaRooms,
    drain_timeout: Option<Duration>,
    stopper: Stopper,
    reports: mpsc::Receiver<Report>,
    threads: Threads,
    /// Threads that have ended, the listener apart. Readers are the first: all others end after the
    /// call queue is closed.
    ended: usize,
}

/// Stops a server, from any thread, any number of times.
#[derive(Clone)]
pub struct Stopper {
    stopping: Arc<AtomicBool>,
    listener: Arc<Waker>,
    reports: mpsc::Sender<Report>,
}

impl Stopper {
    /// Starts the drain; returns at once.
    pub fn stop(&self) {
        // Both fail only when the server has ended already.
        self.stopping.store(true, Ordering::Release);
        let _ = self.listener.wake();
        let _ = self.reports.send(Report::Stop);
    }
}

#[derive(Default)]
struct Threads {
    listener: Option<JoinHandle<()>>,
    /// Readers, handlers, and what stands between them.
    workers: Vec<JoinHandle<()>>,
}

impl Server {
    /// Opens the socket and starts every thread.
    pub fn start(config: Config) -> Result<Server, ServerError> {
        assert!(config.readers > 0, "a server needs a reader");
        let address = config.address;
        let socket = listener::open(address, config.limits.backlog, config.buffers)
            .map_err(|source| ServerError::Listen { address, source })?;
        let address = socket.local_addr()?;
        let meters = Arc::new(Meters::new(config.readers, config.handlers));
        let complaints = Complaints::new(Arc::clone(&meters));
        let limits = &config.limits;
        let admission = Admission::new(
            limits.max_connections,
            limits.max_connections_per_peer,
            config.allow.clone(),
        );
        let keyed = config.keyed.map(|_| KeyedRooms::new(limits, config.handlers));
        let takers = if keyed.is_some() { 1 } else { config.handlers };
        let queue = (config.handlers > 0).then(|| {
            Arc::new(CallQueue::new(
                limits.queue_capacity,
                config.readers,
                takers,
                limits.when_full,
                config.backlog_max(),
            ))
        });
        let replicas = ReplicaRooms::new(config.replication.as_ref())?;
        let snapshots = Snapshots::new(
            Arc::clone(&meters),
            queue.clone(),
            keyed.as_ref().map(|rooms| Arc::clone(&rooms.log)),
            Arc::clone(&admission),
            config.remote_stats,
            config.costs,
        );
        let snapshots = snapshots.and_replicas(&replicas, config.faults.clone());
        let snapshots = Arc::new(snapshots.and_calls_per_connection(limits.calls_per_connection));
        let (reports, received) = mpsc::channel();
        let poll = Poll::new()?;
        let stopper = Stopper {
            stopping: Arc::default(),
            listener: Arc::new(Waker::new(poll.registry(), listener::STOP)?),
            reports: reports.clone(),
        };
        let mut server = Server {
            address,
            snapshots,
            readers: Vec::new(),
            queue,
            keyed,
            replicas,
            drain_timeout: limits.drain_timeout,
            stopper,
            reports: received,
            threads: Threads::default(),
            ended: 0,
        };
        server.start_readers(&config, &meters, &complaints)?;
        server.start_handlers(&config, &meters)?;
        server.start_keyed(&config, &meters)?;
        let reports_to = &server.stopper.reports;
        let replicator = server.replicas.start(&config, &meters, &complaints, reports_to)?;
        server.threads.workers.extend(replicator);
        server.await_started(server.threads.workers.len(), config.strict_pin)?;
        let listener = Listener {
            poll,
            socket,
            admission,
            readers: server.readers.clone(),
            assign: config.assign,
            meters,
            complaints,
            stopping: Arc::clone(&server.stopper.stopping),
            handed: vec![0; config.readers],
            next_reader: 0,
        };
        let thread = spawn("listener".into(), reports, move || listener.run())?;
        server.threads.listener = Some(thread);
        Ok(server)
    }

    fn start_readers(
        &mut self,
        config: &Config,
        meters: &Arc<Meters>,
        complaints: &Arc<Complaints>,
    ) -> Result<(), ServerError> {
        for number in 0..config.readers {
            let poll = Poll::new()?;
            let waker = Waker::new(poll.registry(), MAILBOX)?;
            let mailbox = Arc::new(Mailbox::new(config.limits.reader_inbox, Box::new(waker)));
            self.readers.push(Arc::clone(&mailbox));
            // Without handlers their cost is paid on the readers, too.
            let served_here = config.costs.handler.filter(|_| config.handlers == 0);
            let seed = number as u64;
            let limits = config.limits.read(config.hadoop.package);
            let cost = ReaderCost::new(config.costs.reader, seed, poll.registry(), PACER)?;
            let mut intake = Intake::new(limits, Arc::clone(meters), number);
            intake.looks_ahead = fault_injection::overtakes(config);
            let reader = Reader {
                poll,
                mailbox,
                cost,
                intake,
                executor: self.executor(
                    config,
                    meters,
                    HandlerCost::new(served_here, seed),
                    number,
                ),
                queue: self.queue.clone(),
                flow: config.limits.flow(),
                complaints: Arc::clone(complaints),
                state: ReaderState::default(),
            };
            let meters = Arc::clone(meters);
            let cpu = config.reader_cpus.get(number).copied();
            let reports = self.stopper.reports.clone();
            let name = meters.readers[number].thread.name.clone();
            let thread = spawn(name, reports.clone(), move || {
                settle(&meters.readers[number].thread, cpu, &reports);
                reader.run()?;
                meters.readers[number].thread.ended();
                tell(&reports, Report::Ended);
                Ok(())
            })?;
            self.threads.workers.push(thread);
        }
        Ok(())
    }

    fn start_handlers(&mut self, config: &Config, meters: &Arc<Meters>) -> Result<(), ServerError> {
        for number in 0..config.handlers {
            let Some((queue, taker)) = self.door_of(number) else { return Ok(()) };
            let seed = HANDLER_SEEDS + number as u64;
            let cost = HandlerCost::new(config.costs.handler, seed);
            let executor = self.executor(config, meters, cost, number);
            let meters = Arc::clone(meters);
            let cpu = config.handler_cpus.get(number).copied();
            let reports = self.stopper.reports.clone();
            let name = meters.handlers[number].thread.name.clone();
            let thread = spawn(name, reports.clone(), move || {
                settle(&meters.handlers[number].thread, cpu, &reports);
                handler::run(taker, &queue, executor, &meters.handlers[number]);
                meters.handlers[number].thread.ended();
                tell(&reports, Report::Ended);
                Ok(())
            })?;
            self.threads.workers.push(thread);
        }
        Ok(())
    }

    /// What a handler takes from, and its number there.
    fn door_of(&self, handler: usize) -> Option<(Arc<CallQueue>, usize)> {
        match &self.keyed {
            Some(rooms) => Some((Arc::clone(&rooms.queues[handler]), 0)),
            None => Some((self.queue.clone()?, handler)),
        }
    }

    fn start_keyed(&mut self, config: &Config, meters: &Arc<Meters>) -> Result<(), ServerError> {
        if let (Some(rooms), Some(dispatch), Some(queue)) = (&self.keyed, config.keyed, &self.queue)
        {
            let reports = &self.stopper.reports;
            let threads = rooms.start(dispatch, &config.costs, queue, meters, reports)?;
            self.threads.workers.extend(threads);
        }
        Ok(())
    }

    fn executor(
        &self,
        config: &Config,
        meters: &Arc<Meters>,
        cost: HandlerCost,
        number: usize,
    ) -> Executor {
        let acking = self.replicas.acking(meters, config);
        let (service, hadoop) = (Arc::clone(&config.service), Arc::clone(&config.hadoop));
        let snapshots = Arc::clone(&self.snapshots);
        Executor::new(service, snapshots, cost, hadoop, acking, config.time_calls, number)
    }

    /// Waits until every thread has said where it runs; says which could not be pinned.
    fn await_started(&mut self, threads: usize, strict_pin: bool) -> Result<(), ServerError> {
        let mut started = 0;
        while started < threads {
            match self.reports.recv() {
                Ok(Report::Started(Ok(()))) => started += 1,
                Ok(Report::Started(Err(why))) if strict_pin => return Err(ServerError::Pin(why)),
                Ok(Report::Started(Err(why))) => {
                    say(why);
                    started += 1;
                }
                Ok(Report::Died(error)) => return Err(error),
                Ok(Report::Stop | Report::Ended) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// Where the server listens, with the real port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The counters.
    pub fn snapshots(&self) -> Arc<Snapshots> {
        Arc::clone(&self.snapshots)
    }

    /// A handle that stops the server.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Waits until the server is stopped, drains it, and returns the final counters; or fails at
    /// once when a thread dies.
    pub fn join(mut self) -> Result<Snapshot, ServerError> {
        while !matches!(self.next_report(None)?, Some(Report::Stop)) {}
        // The listener may wait for a full inbox, which only this or its reader ends.
        self.readers.iter().for_each(|reader| reader.stop());
        self.replicas.drain();
        if let Some(listener) = self.threads.listener.take() {
            join(listener);
        }
        let until_ns = self.drain_timeout.map(from_now);
        let drained = self.await_ended(self.readers.len(), until_ns)?;
        if !drained {
            self.readers.iter().for_each(|reader| reader.cut());
        }
        if let Some(queue) = &self.queue {
            queue.close();
        }
        self.replicas.stop();
        // A handler may be inside a call that nobody waits for any more: it is left behind.
        let cut_ns = from_now(CUT_TIME);
        let until_ns = if drained { until_ns.map(|ns| ns.max(cut_ns)) } else { Some(cut_ns) };
        if self.await_ended(self.threads.workers.len(), until_ns)? {
            self.threads.workers.drain(..).for_each(join);
        }
        Ok(self.snapshots.take())
    }

    /// The next report, or `None` when `timeout` is over; a thread's death is an error.
    fn next_report(&self, timeout: Option<Duration>) -> Result<Option<Report>, ServerError> {
        let report = match timeout {
            None => self.reports.recv().ok(),
            Some(timeout) => self.reports.recv_timeout(timeout).ok(),
        };
        match report {
            Some(Report::Died(error)) => Err(error),
            other => Ok(other),
        }
    }

    /// Waits until so many threads have ended; returns whether that was in time.
    fn await_ended(&mut self, threads: usize, until_ns: Option<u64>) -> Result<bool, ServerError> {
        while self.ended < threads {
            let left = until_ns
                .map(|until_ns| Duration::from_nanos(clock::elapsed_ns(clock::now_ns(), until_ns)));
            match self.next_report(left)? {
                Some(Report::Ended) => self.ended += 1,
                Some(_) => {}
                None => return Ok(false),
            }
        }
        Ok(true)
    }
}

fn from_now(time: Duration) -> u64 {
    clock::now_ns().saturating_add(clock::ns(time))
}

/// Seeds of the handlers' costs begin here, apart from the readers'.
const HANDLER_SEEDS: u64 = 1 << 32;

/// How long threads may take to end after a cut.
const CUT_TIME: Duration = Duration::from_millis(500);

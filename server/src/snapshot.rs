//! The server's counters at one moment, as a value: what a stats call is answered with, and what
//! the stats lines and the final summary are made of.

use crate::admission::Admission;
use crate::call_queue::CallQueue;
use crate::call_times::CallTimesSum;
use crate::cost::StageCosts;
use crate::fault_injection::{Fault, FaultsSnapshot};
use crate::holdings::{EpochSnapshot, Holdings};
use crate::keyed_meters::KeyedSnapshot;
use crate::meters::{Meters, OutMeters};
use crate::ordered_log::OrderedLog;
use crate::replicas::ReplicaRooms;
use crate::replication::ReplicationSnapshot;
use echo_common::{clock, cpu_time};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Version of the JSON shape; raised when a field changes its meaning.
const SCHEMA_VERSION: u32 = 1;

/// Counters since the start of the server. Times in nanoseconds.
#[derive(Clone, Debug, Serialize)]
pub struct Snapshot {
    /// Version of this shape; raised when a field changes its meaning.
    pub schema_version: u32,
    /// Whether some stage has a paced cost: then rates and times are no real ones.
    pub emulated: bool,
    /// The synthetic costs of the stages, if there are any.
    pub costs: Option<String>,
    /// Since the server started.
    pub uptime_ns: u64,
    /// CPU time of the whole process, user and system.
    pub cpu_ns: u64,
    /// Context switches of the whole process.
    pub context_switches: ContextSwitches,
    /// Calls read, stats calls apart.
    pub calls: u64,
    /// Stats calls read.
    pub stats_calls: u64,
    /// Calls of both kinds that are in the server now: read, and neither answered nor dropped. At
    /// the end these are calls that handlers were still inside of when the drain was cut.
    pub calls_in_server: u64,
    /// Replies (error replies too) that sockets took, see [`OutMeters::replies`].
    pub replies: u64,
    /// Replies dropped because their connection had ended.
    pub replies_undeliverable: u64,
    /// Calls that got no reply: they asked for none (acks=0), or `--inject drop` took it.
    pub replies_omitted: u64,
    /// Calls that the service failed on by panicking.
    pub handler_panics: u64,
    /// Bytes read.
    pub bytes_in: u64,
    /// Bytes written.
    pub bytes_out: u64,
    /// Read system calls.
    pub reads: u64,
    /// Write system calls.
    pub writes: u64,
    /// Polls of the readers, those that did not sleep too.
    pub polls: u64,
    /// Connections open now.
    pub connections_open: usize,
    /// Connections admitted since the start.
    pub connections_admitted: u64,
    /// Calls of one connection that are served at once, at most (`--calls-per-connection`). At 1
    /// the replies of a connection come in the order of its calls.
    pub calls_per_connection: u32,
    /// By reader.
    pub readers: Vec<ReaderSnapshot>,
    /// By handler.
    pub handlers: Vec<HandlerSnapshot>,
    /// The call queue; absent without handlers.
    pub queue: Option<QueueSnapshot>,
    /// The stages of `--dispatch keyed`; absent without it.
    pub keyed: Option<KeyedSnapshot>,
    /// What this server does as a leader; absent without followers.
    pub replication: Option<ReplicationSnapshot>,
    /// What it holds of other leaders' calls.
    pub holdings: Vec<EpochSnapshot>,
    /// Faults that it makes on purpose; absent without `--inject`.
    pub faults: Option<FaultsSnapshot>,
    /// How often each limit acted.
    pub limits: BTreeMap<&'static str, u64>,
}

/// Context switches of the process.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct ContextSwitches {
    /// A thread slept.
    pub voluntary: u64,
    /// A thread was preempted or yielded.
    pub involuntary: u64,
}

/// One reader.
#[derive(Clone, Debug, Serialize)]
pub struct ReaderSnapshot {
    /// Thread name.
    pub name: String,
    /// The CPU it is pinned to.
    pub cpu: Option<usize>,
    /// CPU time.
    pub cpu_ns: u64,
    /// Time runnable without a CPU, except where the thread gave its own away.
    pub wait_ns: u64,
    /// Calls read.
    pub calls: u64,
    /// Passes that found calls.
    pub passes: u64,
    /// Polls that might sleep and came back with events.
    pub wakeups: u64,
    /// Connections that it serves now.
    pub connections: u64,
    /// Time waiting for room in the call queue.
    pub blocked_ns: u64,
}

/// One handler.
#[derive(Clone, Debug, Serialize)]
pub struct HandlerSnapshot {
    /// Thread name.
    pub name: String,
    /// The CPU it is pinned to.
    pub cpu: Option<usize>,
    /// CPU time.
    pub cpu_ns: u64,
    /// Time runnable without a CPU, except where the thread gave its own away.
    pub wait_ns: u64,
    /// Calls served.
    pub calls: u64,
    /// Takes from the queue.
    pub takes: u64,
    /// Takes that slept first.
    pub wakeups: u64,
}

/// The call queue.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct QueueSnapshot {
    /// Calls waiting now.
    pub depth: usize,
    /// Most calls that ever waited.
    pub depth_max: usize,
    /// The bound.
    pub capacity: usize,
    /// Puts that waited for room.
    pub full_waits: u64,
    /// Calls refused because it was full.
    pub rejected: u64,
}

/// Takes snapshots of one server.
pub struct Snapshots {
    started_ns: u64,
    meters: Arc<Meters>,
    queue: Option<Arc<CallQueue>>,
    log: Option<Arc<OrderedLog>>,
    admission: Arc<Admission>,
    remote: bool,
    costs: StageCosts,
    calls_per_connection: u32,
    holdings: Arc<Holdings>,
    /// On a leader.
    min_insync: Option<u16>,
    faults: Vec<Fault>,
}

impl Snapshots {
    /// The parts that are looked at; `remote` says whether clients may ask, too.
    pub fn new(
        meters: Arc<Meters>,
        queue: Option<Arc<CallQueue>>,
        log: Option<Arc<OrderedLog>>,
        admission: Arc<Admission>,
        remote: bool,
        costs: StageCosts,
    ) -> Snapshots {
        Snapshots {
            started_ns: clock::now_ns(),
            meters,
            queue,
            log,
            admission,
            remote,
            costs,
            calls_per_connection: u32::MAX,
            holdings: Arc::new(Holdings::new(0)),
            min_insync: None,
            faults: Vec::new(),
        }
    }

    /// Looks at replication, too, and at the faults that are made.
    pub(crate) fn and_replicas(self, rooms: &ReplicaRooms, faults: Vec<Fault>) -> Snapshots {
        let holdings = Arc::clone(&rooms.holdings);
        Snapshots { holdings, min_insync: rooms.min_insync(), faults, ..self }
    }

    /// Says how many calls of a connection are served at once.
    pub(crate) fn and_calls_per_connection(self, calls_per_connection: u32) -> Snapshots {
        Snapshots { calls_per_connection, ..self }
    }

    /// Whether stats calls are answered.
    pub fn is_remote(&self) -> bool {
        self.remote
    }

    /// The counters as JSON, on one line.
    pub fn json(&self) -> String {
        serde_json::to_string(&self.take()).expect("a snapshot has only string keys and numbers")
    }

    /// How long calls were in the server, of all threads.
    pub fn call_times(&self) -> CallTimesSum {
        CallTimesSum::of(self.meters.out().map(|out| &out.times))
    }

    /// The counters now.
    pub fn take(&self) -> Snapshot {
        let meters = &self.meters;
        let out = |field: fn(&OutMeters) -> u64| meters.out().map(field).sum::<u64>();
        let switches = cpu_time::process_context_switches().unwrap_or_default();
        // Ends before beginnings: what happens meanwhile is in the server, and not below zero.
        let replies = out(|out| out.replies.get());
        let replies_undeliverable = out(|out| out.undeliverable.get());
        let replies_omitted = out(|out| out.omitted.get());
        let faults = meters.faults.snapshot(&self.faults);
        let doubled = faults.as_ref().map_or(0, |faults| faults.doubled);
        let calls = meters.calls();
        let stats_calls = meters.readers.iter().map(|reader| reader.stats_calls.get()).sum();
        Snapshot {
            schema_version: SCHEMA_VERSION,
            emulated: self.costs.are_emulated(),
            costs: self.costs.describe(),
            uptime_ns: clock::elapsed_ns(self.started_ns, clock::now_ns()),
            cpu_ns: cpu_time::process_cpu_ns(),
            context_switches: ContextSwitches {
                voluntary: switches.voluntary,
                involuntary: switches.involuntary,
            },
            replies,
            replies_undeliverable,
            replies_omitted,
            handler_panics: out(|out| out.panics.get()),
            bytes_out: out(|out| out.bytes.get()),
            writes: out(|out| out.writes.get()),
            calls,
            stats_calls,
            calls_in_server: (calls + stats_calls + doubled)
                .saturating_sub(replies + replies_undeliverable + replies_omitted),
            bytes_in: meters.readers.iter().map(|reader| reader.bytes_in.get()).sum(),
            reads: meters.readers.iter().map(|reader| reader.reads.get()).sum(),
            polls: meters.readers.iter().map(|reader| reader.polls.get()).sum(),
            connections_open: self.admission.open(),
            connections_admitted: self.admission.admitted(),
            calls_per_connection: self.calls_per_connection,
            readers: self.readers(),
            handlers: self.handlers(),
            queue: self.queue.as_deref().map(|queue| self.queue(queue)),
            keyed: self.log.as_deref().map(|log| meters.keyed.snapshot(log, &meters.limits)),
            replication: self.min_insync.map(|min_insync| {
                meters.replicator.snapshot(self.holdings.own_epoch(), min_insync)
            }),
            holdings: self.holdings.snapshot(),
            faults,
            limits: meters.limits.all().collect(),
        }
    }

    fn readers(&self) -> Vec<ReaderSnapshot> {
        let one = |reader: &crate::meters::ReaderMeters| {
            let times = reader.thread.wanted();
            let opened = reader.connections_opened.get();
            ReaderSnapshot {
                name: reader.thread.name.clone(),
                cpu: reader.thread.pinned(),
                cpu_ns: times.run_ns,
                wait_ns: times.wait_ns,
                calls: reader.calls.get(),
                passes: reader.passes.get(),
                wakeups: reader.wakeups.get(),
                connections: opened.saturating_sub(reader.connections_closed.get()),
                blocked_ns: reader.blocked_ns.get(),
            }
        };
        self.meters.readers.iter().map(|reader| one(reader)).collect()
    }

    fn handlers(&self) -> Vec<HandlerSnapshot> {
        let one = |handler: &crate::meters::HandlerMeters| {
            let times = handler.thread.wanted();
            HandlerSnapshot {
                name: handler.thread.name.clone(),
                cpu: handler.thread.pinned(),
                cpu_ns: times.run_ns,
                wait_ns: times.wait_ns,
                calls: handler.calls.get(),
                takes: handler.takes.get(),
                wakeups: handler.wakeups.get(),
            }
        };
        self.meters.handlers.iter().map(|handler| one(handler)).collect()
    }

    fn queue(&self, queue: &CallQueue) -> QueueSnapshot {
        let (depth, depth_max) = queue.depth();
        QueueSnapshot {
            depth,
            depth_max,
            capacity: queue.capacity(),
            full_waits: self.meters.limits.queue_full_waits.get(),
            rejected: self.meters.limits.calls_rejected.get(),
        }
    }
}

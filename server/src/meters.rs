//! Counters. On the path of a call each has one writer, so a bump is a plain load and store;
//! readers of the counters see each number whole, and old by at most a few instructions.

use crate::call_times::CallTimes;
use crate::fault_injection::FaultMeters;
use crate::keyed_meters::KeyedMeters;
use crate::replication::ReplicatorMeters;
use crossbeam_utils::CachePadded;
use echo_common::cpu_time;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

/// A counter that one thread writes and any thread reads. Relaxed: it publishes nothing else.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds `n`; only for the counter's one writer.
    #[inline]
    pub fn add(&self, n: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
    }

    /// The count so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A counter off the path of a call, which any thread may write.
#[derive(Debug, Default)]
pub struct SharedCounter(AtomicU64);

impl SharedCounter {
    /// Adds `n`.
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// The count so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Which kernel thread runs a role, so that its CPU time can be read from outside.
#[derive(Debug)]
pub struct ThreadMeter {
    /// Thread name, as profilers show it.
    pub name: String,
    /// Kernel thread id; 0 until the thread runs.
    tid: AtomicI32,
    /// The CPU that the thread is pinned to, once it is known to be.
    pinned: OnceLock<usize>,
    /// Time for which the thread gave its processor away, in nanoseconds; written by the thread.
    pub yielded_ns: Counter,
    /// The thread's times at its end; the kernel forgets them with the thread.
    last: OnceLock<cpu_time::ThreadTimes>,
}

impl ThreadMeter {
    /// A meter for a thread that is still to start.
    pub fn new(name: String) -> ThreadMeter {
        assert!(name.len() <= 15, "the kernel cuts thread names at 15 bytes: {name}");
        let (pinned, last) = (OnceLock::new(), OnceLock::new());
        let yielded_ns = Counter::default();
        ThreadMeter { name, tid: AtomicI32::new(0), pinned, yielded_ns, last }
    }

    /// Called once by the thread itself.
    pub fn started(&self, pinned: Option<usize>) {
        if let Some(cpu) = pinned {
            // Set once; a second call would be a bug that the reports cannot be harmed by.
            let _ = self.pinned.set(cpu);
        }
        self.tid.store(cpu_time::current_thread_id(), Ordering::Relaxed);
    }

    /// The CPU that the thread was pinned to and found on.
    pub fn pinned(&self) -> Option<usize> {
        self.pinned.get().copied()
    }

    /// Called by the thread itself when it has done its work.
    pub fn ended(&self) {
        // Set once, as above.
        let _ = self.last.set(self.times());
    }

    /// Its [`times`](Self::times) without the waits after it gave its processor away: those are
    /// part of the hand-off, and no sign that the thread had more to do than it could.
    pub fn wanted(&self) -> cpu_time::ThreadTimes {
        let times = self.times();
        let wait_ns = times.wait_ns.saturating_sub(self.yielded_ns.get());
        cpu_time::ThreadTimes { wait_ns, ..times }
    }

    /// CPU and run-queue time so far; zeros before the thread runs and where the kernel keeps none.
    pub fn times(&self) -> cpu_time::ThreadTimes {
        if let Some(last) = self.last.get() {
            return *last;
        }
        match self.tid.load(Ordering::Relaxed) {
            0 => cpu_time::ThreadTimes::default(),
            tid => {
                // It may have ended since the look above.
                let times = cpu_time::thread_times(tid).or_else(|| self.last.get().copied());
                times.unwrap_or_default()
            }
        }
    }
}

/// What one reader counts; the reader is the only writer.
#[derive(Debug)]
pub struct ReaderMeters {
    /// The thread.
    pub thread: ThreadMeter,
    /// Calls read, decoded and taken over.
    pub calls: Counter,
    /// Stats calls, which are not in `calls`.
    pub stats_calls: Counter,
    /// Passes over ready connections that found at least one call.
    pub passes: Counter,
    /// Polls that were allowed to sleep and came back with events.
    pub wakeups: Counter,
    /// Polls, those that did not sleep too.
    pub polls: Counter,
    /// Read system calls.
    pub reads: Counter,
    /// Bytes read.
    pub bytes_in: Counter,
    /// Connections open now (gauge; may be read between two updates).
    pub connections_opened: Counter,
    /// Connections that have ended.
    pub connections_closed: Counter,
    /// Time spent waiting for room in the call queue, in nanoseconds.
    pub blocked_ns: Counter,
    /// What this thread wrote.
    pub out: OutMeters,
}

/// What one handler counts; the handler is the only writer.
#[derive(Debug)]
pub struct HandlerMeters {
    /// The thread.
    pub thread: ThreadMeter,
    /// Calls served.
    pub calls: Counter,
    /// Takes from the call queue.
    pub takes: Counter,
    /// Takes that had to sleep first.
    pub wakeups: Counter,
    /// What this thread wrote.
    pub out: OutMeters,
}

/// What one thread wrote to sockets.
#[derive(Debug, Default)]
pub struct OutMeters {
    /// Replies that sockets took. Those gathered in one buffer count when all of it is gone, so
    /// that a connection that breaks in between has rather too few here.
    pub replies: Counter,
    /// Replies (error replies too) dropped because their connection had ended.
    pub undeliverable: Counter,
    /// Calls without a reply: they asked for none, or `--inject drop` took it.
    pub omitted: Counter,
    /// Bytes that sockets took.
    pub bytes: Counter,
    /// Write system calls.
    pub writes: Counter,
    /// Calls that the service failed on, by panicking.
    pub panics: Counter,
    /// How long calls were in the server; counted only where somebody can see it.
    pub times: CallTimes,
}

impl OutMeters {
    /// Notes a flush.
    #[inline]
    pub fn note(&self, flushed: crate::outbox::Flushed) {
        self.replies.add(flushed.replies);
        self.undeliverable.add(flushed.undeliverable);
        self.bytes.add(flushed.bytes);
        self.writes.add(flushed.writes);
    }
}

impl ReaderMeters {
    fn new(name: String) -> CachePadded<ReaderMeters> {
        CachePadded::new(ReaderMeters {
            thread: ThreadMeter::new(name),
            calls: Counter::default(),
            stats_calls: Counter::default(),
            passes: Counter::default(),
            wakeups: Counter::default(),
            polls: Counter::default(),
            reads: Counter::default(),
            bytes_in: Counter::default(),
            connections_opened: Counter::default(),
            connections_closed: Counter::default(),
            blocked_ns: Counter::default(),
            out: OutMeters::default(),
        })
    }
}

impl HandlerMeters {
    fn new(name: String) -> CachePadded<HandlerMeters> {
        CachePadded::new(HandlerMeters {
            thread: ThreadMeter::new(name),
            calls: Counter::default(),
            takes: Counter::default(),
            wakeups: Counter::default(),
            out: OutMeters::default(),
        })
    }
}

macro_rules! limit_meters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// How often each limit acted. The names are those of the stats call and the final line.
        #[derive(Debug, Default)]
        pub struct LimitMeters {
            $($(#[$doc])* pub $name: SharedCounter,)*
        }

        impl LimitMeters {
            /// Every counter with its name, in a fixed order.
            pub fn all(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name.get()),)*].into_iter()
            }
        }
    };
}

limit_meters! {
    /// Connections closed at once because `--max-connections` were open.
    connections_refused,
    /// Connections closed at once because of `--max-connections-per-peer`.
    peer_connections_refused,
    /// Connections closed at once because no `--allow` network holds the peer.
    not_allowed,
    /// Pauses of accepting, which failed for want of descriptors or memory, or again and again.
    accept_pauses,
    /// Connections that were gone before they were accepted, or at once after.
    accept_failures,
    /// Hand-overs to a reader that had to wait because its inbox was full.
    inbox_waits,
    /// Frames whose length word was above `--max-frame-size`, or asked for such a reply.
    frames_oversize,
    /// Openings and frames that are not the protocol.
    frames_malformed,
    /// Connections that sent no whole frame within `--handshake-timeout`.
    handshake_timeouts,
    /// Connections whose frame stayed incomplete for `--frame-timeout`.
    frame_timeouts,
    /// Connections that were silent for `--idle-timeout`.
    idle_closed,
    /// Connections whose peer took no bytes for `--write-stall-timeout`.
    write_stalls,
    /// Pauses of reading because of `--calls-per-connection` or `--max-owed-bytes`.
    reading_paused,
    /// Calls answered "server too busy" because the call queue was full (`--when-full reject`).
    calls_rejected,
    /// Puts that waited for room in the call queue (`--when-full wait`).
    queue_full_waits,
    /// Appends that waited for room in the ordered log (`--log-capacity`).
    log_full_waits,
    /// Shares of a batch that waited for room in their handler's queue (`--handler-queue`).
    handler_queue_waits,
    /// Leaders that were forgotten because another joined, and there is a bound.
    leaders_forgotten,
    /// Leaders that were not let in because as many as are followed were connected.
    leaders_refused,
    /// Connections cut because draining took longer than `--drain-timeout`.
    drain_cut,
    /// Log lines left out because too many of one kind came.
    log_lines_suppressed,
}

/// All counters of a server.
#[derive(Debug)]
pub struct Meters {
    /// One per reader.
    pub readers: Vec<CachePadded<ReaderMeters>>,
    /// One per handler.
    pub handlers: Vec<CachePadded<HandlerMeters>>,
    /// What only `--dispatch keyed` counts.
    pub keyed: KeyedMeters,
    /// What only a server with followers counts.
    pub replicator: ReplicatorMeters,
    /// Faults that `--inject` made.
    pub faults: FaultMeters,
    /// The limits.
    pub limits: LimitMeters,
}

impl Meters {
    /// Counters for so many threads.
    pub fn new(readers: usize, handlers: usize) -> Meters {
        Meters {
            readers: (0..readers).map(|i| ReaderMeters::new(format!("reader-{i:02}"))).collect(),
            handlers: (0..handlers)
                .map(|i| HandlerMeters::new(format!("handler-{i:02}")))
                .collect(),
            keyed: KeyedMeters::default(),
            replicator: ReplicatorMeters::default(),
            faults: FaultMeters::default(),
            limits: LimitMeters::default(),
        }
    }

    /// What every thread that writes has counted of it.
    pub fn out(&self) -> impl Iterator<Item = &OutMeters> {
        let readers = self.readers.iter().map(|reader| &reader.out);
        let handlers = self.handlers.iter().map(|handler| &handler.out);
        readers.chain(handlers).chain([&self.replicator.out])
    }

    /// Calls read so far, stats calls apart.
    pub fn calls(&self) -> u64 {
        self.readers.iter().map(|reader| reader.calls.get()).sum()
    }
}

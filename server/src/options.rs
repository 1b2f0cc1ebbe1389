//! Command line and environment, checked once, before any socket is opened.

use crate::call_queue::WhenFull;
use crate::cost::{Cost, StageCosts};
use crate::limits::Limits;
use crate::listener::{Assign, SocketBuffers};
use crate::server::Config;
use crate::service::Echo;
use clap::builder::BoolishValueParser;
use clap::{Parser, ValueEnum};
use echo_common::quantity::{self, count_in, counted, duration_in, size_in};
use echo_common::wire::hadoop::packet::PACKET_MAX_DEFAULT;
use echo_common::wire::native::FRAME_MAX_DEFAULT;
use echo_common::{address, open_files, pinning};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

mod effects;
mod hadoop;
mod help;
pub use hadoop::HadoopOptions;
use help::{CONNECTIONS, COSTS, EXIT_CODES, THREADS, TIME, TOLD};

/// The port of Ozone's OM.
pub const PORT: u16 = 9862;
/// The port of the metrics, if none is given.
pub const METRICS_PORT: u16 = 9863;
/// Descriptors kept back from connections, at least: the listening socket and its poll, signals,
/// files that are read for the counters.
const RESERVED_FILES: u64 = 64;
/// Of these, what is needed beside the readers' three each: poll, waker and timer.
const FILES_BESIDE_READERS: u64 = 16;

/// Stats lines come at least this often and at most that often.
const STATS_EVERY_MIN: Duration = Duration::from_millis(100);
const STATS_EVERY_MAX: Duration = Duration::from_secs(24 * 3600);

/// Which threads are pinned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Pin {
    /// No thread.
    None,
    /// Handlers; readers go where the scheduler puts them.
    Handlers,
    /// Readers and handlers.
    All,
}

/// RPC echo server with a threaded reader pool and pinned handlers.
#[derive(Debug, Parser)]
#[command(name = "echo-server", version, about, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Options {
    /// Address to listen on: HOST:PORT, HOST or :PORT, IPv6 in brackets. Port 0 takes any free
    /// port; the IPv6 wildcard takes IPv4 too.
    #[arg(
        long,
        env = "ECHO_SERVER_LISTEN",
        default_value = "127.0.0.1:9862",
        allow_hyphen_values = true,
        help_heading = CONNECTIONS
    )]
    pub listen: String,
    /// Reader threads, 1 to 1024 (Hadoop's ipc.server.read.threadpool.size).
    #[arg(long, env = "ECHO_SERVER_READERS", default_value = "1", help_heading = THREADS)]
    #[arg(value_parser = count_in(1..=1024), allow_hyphen_values = true)]
    pub readers: u64,
    /// Handler threads, 0 to 4096; 0 serves calls on the readers [default: CPUs available].
    #[arg(long, env = "ECHO_SERVER_HANDLERS", value_parser = count_in(0..=4096))]
    #[arg(allow_hyphen_values = true, help_heading = THREADS)]
    pub handlers: Option<u64>,
    /// Which threads are pinned to a CPU each, inside the allowed CPUs; `--pin` alone means all
    /// [default: handlers].
    #[arg(long, env = "ECHO_SERVER_PIN", default_missing_value = "all", num_args = 0..=1)]
    #[arg(help_heading = THREADS)]
    pub pin: Option<Pin>,
    /// CPUs to pin to, in order, such as 0-3,6 [default: every allowed CPU].
    #[arg(long, env = "ECHO_SERVER_CPUS", value_name = "LIST", allow_hyphen_values = true)]
    #[arg(help_heading = THREADS)]
    pub cpus: Option<String>,
    /// End at start if a thread cannot be pinned, instead of running it unpinned.
    #[arg(long, env = "ECHO_SERVER_STRICT_PIN", value_parser = BoolishValueParser::new())]
    #[arg(help_heading = THREADS)]
    pub strict_pin: bool,
    /// How connections are dealt to readers.
    #[arg(
        long,
        env = "ECHO_SERVER_ASSIGN",
        default_value = "round-robin",
        allow_hyphen_values = true,
        help_heading = THREADS
    )]
    pub assign: Assign,
    /// Most calls taken from one connection per pass; 1 is Hadoop's way.
    #[arg(long, env = "ECHO_SERVER_READER_BATCH", default_value = "1024", help_heading = THREADS)]
    #[arg(value_parser = count_in(1..=1_000_000), allow_hyphen_values = true)]
    pub reader_batch: u64,
    /// Calls that may wait for a handler [default: 100 per handler, but 1000 at least].
    #[arg(long, env = "ECHO_SERVER_QUEUE_CAPACITY", value_parser = count_in(1..=100_000_000))]
    #[arg(allow_hyphen_values = true, help_heading = THREADS)]
    pub queue_capacity: Option<u64>,
    /// When the queue is full: `wait` stops the reader, `reject` answers "server too busy"
    /// [default: wait].
    #[arg(long, env = "ECHO_SERVER_WHEN_FULL", allow_hyphen_values = true, help_heading = THREADS)]
    pub when_full: Option<WhenFull>,
    /// Calls of one connection in the server at once; 1 is Kafka's muting.
    #[arg(long, alias = "max-in-flight", env = "ECHO_SERVER_CALLS_PER_CONNECTION")]
    #[arg(default_value = "1024", value_parser = count_in(1..=1_000_000))]
    #[arg(allow_hyphen_values = true, help_heading = THREADS)]
    pub calls_per_connection: u64,
    /// Connections open at once; more are closed [default: 10000, or what descriptors allow].
    #[arg(long, env = "ECHO_SERVER_MAX_CONNECTIONS", value_parser = count_in(1..=10_000_000))]
    #[arg(allow_hyphen_values = true, help_heading = CONNECTIONS)]
    pub max_connections: Option<u64>,
    /// Connections open at once from one address [default: no bound].
    #[arg(long, env = "ECHO_SERVER_MAX_CONNECTIONS_PER_PEER", help_heading = CONNECTIONS)]
    #[arg(value_parser = count_in(1..=10_000_000), allow_hyphen_values = true)]
    pub max_connections_per_peer: Option<u64>,
    /// End at start if descriptors do not suffice for --max-connections, instead of lowering it.
    #[arg(long, env = "ECHO_SERVER_STRICT_LIMITS", value_parser = BoolishValueParser::new())]
    #[arg(help_heading = CONNECTIONS)]
    pub strict_limits: bool,
    /// Largest frame: bytes that follow the length word, 12 of them header, up to 1GiB; for
    /// Hadoop RPC ipc.maximum.data.length [default: 16MiB and 64 bytes; 128MiB for Hadoop RPC].
    #[arg(long, env = "ECHO_SERVER_MAX_FRAME_SIZE", value_parser = size_in(12..=1 << 30))]
    #[arg(allow_hyphen_values = true, help_heading = CONNECTIONS)]
    pub max_frame_size: Option<u64>,
    /// Bytes of one connection in the server, calls in flight and replies it does not take;
    /// reading pauses there.
    #[arg(long, env = "ECHO_SERVER_MAX_OWED_BYTES", default_value = "4MiB")]
    #[arg(value_parser = size_in(1..=1 << 40), allow_hyphen_values = true)]
    #[arg(help_heading = CONNECTIONS)]
    pub max_owed_bytes: u64,
    /// Accepted connections that may wait for one reader; then accepting waits.
    #[arg(long, env = "ECHO_SERVER_READER_INBOX", default_value = "100")]
    #[arg(value_parser = count_in(1..=1_000_000), allow_hyphen_values = true)]
    #[arg(help_heading = CONNECTIONS)]
    pub reader_inbox: u64,
    /// Connections that the kernel may hold before they are accepted.
    #[arg(long, env = "ECHO_SERVER_BACKLOG", default_value = "1024", help_heading = CONNECTIONS)]
    #[arg(value_parser = count_in(1..=65_535), allow_hyphen_values = true)]
    pub backlog: u64,
    /// From accept to the first whole frame, or off.
    #[arg(long, env = "ECHO_SERVER_HANDSHAKE_TIMEOUT", default_value = "10s", help_heading = TIME)]
    #[arg(value_parser = quantity::optional_duration, allow_hyphen_values = true)]
    pub handshake_timeout: std::option::Option<Duration>,
    /// For a frame to become whole, or off.
    #[arg(long, env = "ECHO_SERVER_FRAME_TIMEOUT", default_value = "60s", help_heading = TIME)]
    #[arg(value_parser = quantity::optional_duration, allow_hyphen_values = true)]
    pub frame_timeout: std::option::Option<Duration>,
    /// Without a call, with nothing in flight and nothing owed, or off.
    #[arg(long, env = "ECHO_SERVER_IDLE_TIMEOUT", default_value = "off", help_heading = TIME)]
    #[arg(value_parser = quantity::optional_duration, allow_hyphen_values = true)]
    pub idle_timeout: std::option::Option<Duration>,
    /// While the peer takes none of the bytes owed to it, or off.
    #[arg(long, env = "ECHO_SERVER_WRITE_STALL_TIMEOUT", default_value = "60s")]
    #[arg(value_parser = quantity::optional_duration, allow_hyphen_values = true)]
    #[arg(help_heading = TIME)]
    pub write_stall_timeout: std::option::Option<Duration>,
    /// From the signal to the end, whatever is still owed, or off.
    #[arg(long, env = "ECHO_SERVER_DRAIN_TIMEOUT", default_value = "10s", help_heading = TIME)]
    #[arg(value_parser = quantity::optional_duration, allow_hyphen_values = true)]
    pub drain_timeout: std::option::Option<Duration>,
    /// Only these networks may connect, such as 10.0.0.0/8; repeatable [default: all].
    #[arg(
        long,
        env = "ECHO_SERVER_ALLOW",
        value_name = "CIDR",
        value_delimiter = ',',
        allow_hyphen_values = true,
        help_heading = CONNECTIONS
    )]
    pub allow: Vec<ipnet::IpNet>,
    /// Kernel send buffer of each connection (SO_SNDBUF) [default: the kernel's].
    #[arg(long, env = "ECHO_SERVER_SEND_BUFFER", value_parser = size_in(1..=1 << 30))]
    #[arg(allow_hyphen_values = true, help_heading = CONNECTIONS)]
    pub send_buffer: Option<u64>,
    /// Kernel receive buffer of each connection (SO_RCVBUF) [default: the kernel's].
    #[arg(long, env = "ECHO_SERVER_RECEIVE_BUFFER", value_parser = size_in(1..=1 << 30))]
    #[arg(allow_hyphen_values = true, help_heading = CONNECTIONS)]
    pub receive_buffer: Option<u64>,
    /// Print a line of counters on stderr every so often, such as 1s [default: off].
    #[arg(long, env = "ECHO_SERVER_STATS", value_name = "EVERY")]
    #[arg(value_parser = duration_in(STATS_EVERY_MIN..=STATS_EVERY_MAX))]
    #[arg(allow_hyphen_values = true, help_heading = TOLD)]
    pub stats: Option<Duration>,
    /// Answer GET /metrics (OpenMetrics text, for Prometheus) on this address, in the form of
    /// --listen; --allow holds there, too [default: off].
    #[arg(long, env = "ECHO_SERVER_METRICS", value_name = "ADDR", allow_hyphen_values = true)]
    #[arg(help_heading = TOLD)]
    pub metrics: Option<String>,
    /// Do not answer the client's stats calls.
    #[arg(long, env = "ECHO_SERVER_NO_REMOTE_STATS", value_parser = BoolishValueParser::new())]
    #[arg(help_heading = TOLD)]
    pub no_remote_stats: bool,
    /// Hadoop RPC.
    #[command(flatten)]
    pub hadoop: HadoopOptions,
    /// What a reader pays for each call: spin:TIME burns CPU, paced:TIME emulates a server of its
    /// own; then :det, :exp or :lognormal:CV [default: nothing].
    #[arg(long, env = "ECHO_SERVER_READER_COST", value_name = "COST")]
    #[arg(value_parser = Cost::without_payload, help_heading = COSTS)]
    pub reader_cost: Option<Cost>,
    /// What a handler pays for each call, in the same form; TIME may be TIME+TIME/KiB, which grows
    /// with the call's payload [default: nothing].
    #[arg(long, env = "ECHO_SERVER_HANDLER_COST", value_name = "COST", help_heading = COSTS)]
    pub handler_cost: Option<Cost>,
    /// How calls are dispatched.
    #[command(flatten)]
    pub keyed: KeyedOptions,
    /// How calls are replicated, and what is done wrong.
    #[command(flatten)]
    pub replication: ReplicationOptions,
    /// Print every limit with its value and counter, and end.
    #[arg(long, help_heading = TOLD)]
    pub show_limits: bool,
}

mod keyed;
mod replication;
pub use keyed::{Dispatch, KeyedOptions, Switch};
pub use replication::ReplicationOptions;

/// Options checked against this machine: what to run, and what to say first.
pub struct Plan {
    /// What to run.
    pub config: Config,
    /// Interval of the stats lines.
    pub stats: Option<Duration>,
    /// Where to answer scrapers, and whom.
    pub metrics: Option<(SocketAddr, Vec<ipnet::IpNet>)>,
    /// Lines for stderr: placement, and whatever was adjusted.
    pub notes: Vec<String>,
}

impl Options {
    /// Checks the options against the CPUs and descriptors of this process. The error is one line.
    pub fn plan(&self, allowed_cpus: &[usize]) -> Result<Plan, String> {
        let mut notes = Vec::new();
        let address = first_address("--listen", &self.listen, PORT)?;
        let metrics = self.metrics.as_deref();
        let metrics =
            metrics.map(|text| first_address("--metrics", text, METRICS_PORT)).transpose()?;
        for address in [Some(address), metrics].into_iter().flatten() {
            if !address::is_loopback(&address) && self.allow.is_empty() {
                notes.push(format!(
                    "warning: {address} can be reached from other machines and there is no \
                     --allow list"
                ));
            }
        }
        let usable = pinning::usable_cpus(allowed_cpus);
        let readers = self.readers as usize;
        let handlers = self.handlers.map_or(usable, |handlers| handlers as usize);
        let cpus = self.cpus(allowed_cpus)?;
        self.check_effects(handlers)?;
        let keyed = self.keyed.dispatch(handlers)?;
        let between = if keyed.is_some() { crate::keyed::THREADS } else { 0 };
        let threads = readers + handlers + between;
        if threads > usable {
            notes.push(format!(
                "{threads} threads ({}, {}{}) share {}",
                counted(readers as u64, "reader"),
                counted(handlers as u64, "handler"),
                if between > 0 { ", serial stage, dispatcher" } else { "" },
                counted(usable as u64, "CPU"),
            ));
        }
        let reader_cpus = match self.pin() {
            Pin::All => pinning::plan(&cpus, readers),
            Pin::None | Pin::Handlers => Vec::new(),
        };
        let handler_cpus = match self.pin() {
            Pin::None => Vec::new(),
            Pin::Handlers | Pin::All => pinning::plan(&cpus, handlers),
        };
        notes.extend(placement("reader", readers, &reader_cpus));
        notes.extend(placement("handler", handlers, &handler_cpus));
        notes.extend(keyed.as_ref().map(|keyed| keyed::note(keyed, handlers)));
        let (reader, handler) = (self.reader_cost, self.handler_cost);
        let costs = StageCosts { reader, handler, ..StageCosts::default() };
        let costs = self.keyed.costs(costs)?;
        notes.extend(costs.describe().map(|costs| format!("synthetic costs per call: {costs}")));
        let limits = self.limits(handlers, &mut notes)?;
        let replication = self.replication.replication()?;
        let faults = self.replication.faults()?;
        notes.extend(replication::notes(replication.as_ref(), &faults));
        let config = Config {
            address,
            readers,
            handlers,
            reader_cpus,
            handler_cpus,
            strict_pin: self.strict_pin,
            assign: self.assign,
            limits,
            allow: self.allow.clone(),
            buffers: SocketBuffers {
                send: self.send_buffer.map(|size| size as usize),
                receive: self.receive_buffer.map(|size| size as usize),
            },
            remote_stats: !self.no_remote_stats,
            service: Arc::new(Echo),
            hadoop: Arc::new(self.hadoop.served(self.max_packet_size() as usize)),
            costs,
            time_calls: metrics.is_some(),
            keyed,
            replication,
            faults,
        };
        let metrics = metrics.map(|address| (address, self.allow.clone()));
        Ok(Plan { config, stats: self.stats, metrics, notes })
    }

    fn pin(&self) -> Pin {
        self.pin.unwrap_or(Pin::Handlers)
    }

    fn when_full(&self) -> WhenFull {
        self.when_full.unwrap_or(WhenFull::Wait)
    }

    fn max_packet_size(&self) -> u32 {
        self.max_frame_size.map_or(PACKET_MAX_DEFAULT, |size| size as u32)
    }

    fn cpus(&self, allowed: &[usize]) -> Result<Vec<usize>, String> {
        let Some(list) = &self.cpus else { return Ok(allowed.to_vec()) };
        let cpus = pinning::parse_cpu_list(list).map_err(|error| format!("--cpus: {error}"))?;
        pinning::check_inside(&cpus, allowed).map_err(|error| format!("--cpus: {error}"))?;
        Ok(cpus)
    }

    fn limits(&self, handlers: usize, notes: &mut Vec<String>) -> Result<Limits, String> {
        let default_capacity = (QUEUE_PER_HANDLER * handlers as u64).max(QUEUE_DEFAULT_MIN);
        Ok(Limits {
            max_connections: self.max_connections(notes)?,
            max_connections_per_peer: self.max_connections_per_peer.map(|max| max as usize),
            max_frame_size: self.max_frame_size.map_or(FRAME_MAX_DEFAULT, |size| size as usize),
            max_packet_size: self.hadoop.is_on().then(|| self.max_packet_size()),
            calls_per_connection: self.calls_per_connection as u32,
            max_owed_bytes: self.max_owed_bytes as usize,
            reader_batch: self.reader_batch as u32,
            queue_capacity: self.queue_capacity.unwrap_or(default_capacity) as usize,
            when_full: self.when_full(),
            log_capacity: self.keyed.log_capacity(),
            handler_queue: self.keyed.handler_queue(),
            reader_inbox: self.reader_inbox as usize,
            backlog: self.backlog as u32,
            handshake_timeout: self.handshake_timeout,
            frame_timeout: self.frame_timeout,
            idle_timeout: self.idle_timeout,
            write_stall_timeout: self.write_stall_timeout,
            drain_timeout: self.drain_timeout,
        })
    }

    /// Raises the soft limit of open files, and fits `--max-connections` under it.
    fn max_connections(&self, notes: &mut Vec<String>) -> Result<usize, String> {
        let files = open_files::raise().unwrap_or_else(|_| open_files::limits());
        let reserved = RESERVED_FILES.max(FILES_BESIDE_READERS + 3 * self.readers);
        let most = files.soft.saturating_sub(reserved).max(1);
        let asked = self.max_connections.unwrap_or(MAX_CONNECTIONS.min(most));
        if asked <= most {
            return Ok(asked as usize);
        }
        let what = format!(
            "--max-connections {asked} needs {} open files, the limit is {}",
            asked + reserved,
            files.soft
        );
        if self.strict_limits {
            return Err(what);
        }
        notes.push(format!("warning: {what}; lowered to {most}"));
        Ok(most as usize)
    }
}

/// The first address behind what was given for `option`.
fn first_address(option: &str, text: &str, port: u16) -> Result<SocketAddr, String> {
    let addresses =
        address::resolve(text, port).map_err(|error| format!("{option} {text}: {error}"))?;
    addresses.first().copied().ok_or_else(|| format!("{option} {text}: no address"))
}

/// Default of `--max-connections`, where descriptors allow it.
const MAX_CONNECTIONS: u64 = 10_000;
/// Hadoop's `ipc.server.handler.queue.size`.
const QUEUE_PER_HANDLER: u64 = 100;
/// What Hadoop has with its ten handlers. With few handlers, 100 for each are less than one pass of
/// a busy reader, which then sleeps in each: 0.89 of the raw pair's calls/s with a queue of 200 and
/// 0.94 with 1000 (30 connections, 32 calls in flight on each).
const QUEUE_DEFAULT_MIN: u64 = 1000;

/// Says which CPUs a role's threads are pinned to.
fn placement(role: &str, threads: usize, cpus: &[usize]) -> Option<String> {
    if threads == 0 {
        return Some(format!("no {role}s: calls are served on the readers"));
    }
    let threads = counted(threads as u64, role);
    if cpus.is_empty() {
        return Some(format!("{threads}, not pinned"));
    }
    let mut distinct = cpus.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let cpus = if distinct.len() == 1 { "CPU" } else { "CPUs" };
    Some(format!("{threads}, pinned to {cpus} {}", pinning::format_cpu_list(&distinct)))
}

#[cfg(test)]
mod tests;

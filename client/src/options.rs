//! The options of echo-client. Their words are fixed; what they mean together is `plan.rs`.

mod records;

use crate::hadoop::Service;
use clap::builder::BoolishValueParser;
use clap::{ArgAction, Parser, ValueEnum};
use echo_common::quantity::{count_in, duration_in, rate, size_in};
pub use records::RecordOptions;
use std::path::PathBuf;
use std::time::Duration;

/// Load client for echo-server, in the manner of Ozone's `freon ome`.
///
/// Opens connections, keeps a fixed number of calls in flight on them (a closed loop)
/// or sends them at a fixed rate (an open loop, with --rate), checks every
/// reply byte for byte and reports in freon's form, with what freon leaves out.
#[derive(Clone, Debug, Parser)]
#[command(name = "echo-client", version, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Options {
    /// The server's address.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9862")]
    #[arg(help = "The server: HOST:PORT, [IPV6]:PORT, HOST, :PORT or PORT")]
    #[arg(env = "ECHO_CLIENT_SERVER", help_heading = LOAD)]
    pub server: String,

    /// Connections
    #[arg(long, value_name = "COUNT", default_value = "10", allow_hyphen_values = true)]
    #[arg(value_parser = count_in(1..=CLIENTS_MAX))]
    #[arg(env = "ECHO_CLIENT_CLIENTS", help_heading = LOAD)]
    pub clients: u64,

    /// Callers: calls in flight over all connections together. They are dealt evenly; with fewer
    /// callers than connections each goes on to another connection after every call, as freon's do.
    /// Without this option --in-flight decides
    #[arg(short = 't', long, visible_alias = "thread", value_name = "COUNT")]
    #[arg(value_parser = count_in(1..=CALLERS_MAX), conflicts_with = "in_flight")]
    #[arg(env = "ECHO_CLIENT_THREADS", allow_hyphen_values = true, help_heading = LOAD)]
    pub threads: Option<u64>,

    /// Calls in flight on a connection, at most [default: 1; 1024 with --rate; 5 with --streams]
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true)]
    #[arg(value_parser = count_in(1..=IN_FLIGHT_MAX))]
    #[arg(env = "ECHO_CLIENT_IN_FLIGHT", help_heading = LOAD)]
    pub in_flight: Option<u64>,

    /// Calls in all, exactly [default: 1000 if there is no --duration]
    #[arg(short = 'n', long, visible_alias = "number-of-tests", value_name = "COUNT")]
    #[arg(value_parser = count_in(1..=u64::MAX), allow_hyphen_values = true)]
    #[arg(env = "ECHO_CLIENT_CALLS", help_heading = LOAD)]
    pub calls: Option<u64>,

    /// Start no call after this time; with -n, whichever comes first ends the run. Answers that are
    /// still due are waited for, up to --timeout
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    #[arg(value_parser = duration_in(MILLISECOND..=DURATION_MAX))]
    #[arg(env = "ECHO_CLIENT_DURATION", help_heading = LOAD)]
    pub duration: Option<Duration>,

    /// Where a caller's next call goes: to its own connection, or to the next one in turn as
    /// freon's do, so that all connections get equally many calls. Fewer callers than connections
    /// go from one to another in any case
    #[arg(long, value_name = "HOW", default_value = "fixed", conflicts_with = "rate")]
    #[arg(env = "ECHO_CLIENT_CALLERS", help_heading = LOAD)]
    pub callers: CallerOrder,

    /// How long a caller waits after the end of its call until it calls again (a closed loop with
    /// think time)
    #[arg(long, value_name = "TIME", default_value = "0", allow_hyphen_values = true)]
    #[arg(value_parser = duration_in(Duration::ZERO..=THINK_MAX), conflicts_with = "rate")]
    #[arg(env = "ECHO_CLIENT_THINK", help_heading = LOAD)]
    pub think: Duration,

    /// Calls per second, sent by a schedule whether the earlier ones have been answered or not (an
    /// open loop); latency counts from when a call was due. -t or --in-flight then only bound what
    /// may be in flight: calls that find no room are sent late, and the report says how late
    #[arg(long, value_name = "RATE", value_parser = rate, allow_hyphen_values = true)]
    #[arg(env = "ECHO_CLIENT_RATE", help_heading = LOAD)]
    pub rate: Option<f64>,

    /// How --rate spaces the calls: evenly, or at random as independent callers would
    #[arg(long, value_name = "HOW", default_value = "uniform", requires = "rate")]
    #[arg(env = "ECHO_CLIENT_ARRIVALS", help_heading = LOAD)]
    pub arrivals: Arrivals,

    /// What is drawn at random (Poisson arrivals, keys, the calls of --stages) follows from this
    #[arg(long, value_name = "NUMBER", default_value = "0", allow_hyphen_values = true)]
    #[arg(value_parser = count_in(0..=SEED_MAX), env = "ECHO_CLIENT_SEED", help_heading = LOAD)]
    pub seed: u64,

    /// Call this long before the measured phase; those calls are counted apart and are not in -n
    #[arg(long, value_name = "TIME", default_value = "0", allow_hyphen_values = true)]
    #[arg(value_parser = duration_in(Duration::ZERO..=DURATION_MAX))]
    #[arg(env = "ECHO_CLIENT_WARMUP", help_heading = LOAD)]
    pub warmup: Duration,

    /// Bytes of a call's payload
    #[arg(long, visible_alias = "payload-req", value_name = "SIZE", default_value = "128")]
    #[arg(value_parser = size_in(0..=PAYLOAD_MAX), allow_hyphen_values = true)]
    #[arg(env = "ECHO_CLIENT_PAYLOAD", help_heading = LOAD)]
    pub payload: u64,

    /// Bytes that each reply shall have [default: as many as the call]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    #[arg(value_parser = size_in(0..=PAYLOAD_MAX))]
    #[arg(env = "ECHO_CLIENT_PAYLOAD_RESP", help_heading = LOAD)]
    pub payload_resp: Option<u64>,

    /// When a call is done: when its last byte was written (0: nothing is answered and nothing
    /// checked, and without --streams -t and --in-flight mean nothing), when the server has
    /// answered it (1), or when enough followers had it before (all; at the end the client asks
    /// the followers that the server names what they hold)
    #[arg(long, value_name = "WHOSE", default_value = "1")]
    #[arg(env = "ECHO_CLIENT_ACKS", help_heading = LOAD)]
    pub acks: Acks,

    /// Records, many to a call.
    #[command(flatten)]
    pub records: RecordOptions,

    /// Emulate a network: hold every byte for so long on its way to the server, and as long on its
    /// way back, so that a round trip takes twice this time more. Done by the client on a timer and
    /// for both directions of every connection; setting connections up is not delayed
    #[arg(long, value_name = "TIME", default_value = "0", allow_hyphen_values = true)]
    #[arg(value_parser = duration_in(Duration::ZERO..=NET_DELAY_MAX))]
    #[arg(env = "ECHO_CLIENT_NET_DELAY", help_heading = LOAD)]
    pub net_delay: Duration,

    /// Bytes of a connection that --net-delay holds on each way at most; more wait at their sender,
    /// and the report says how often
    #[arg(long, value_name = "SIZE", default_value = "16MiB", allow_hyphen_values = true)]
    #[arg(value_parser = size_in(1..=NET_DELAY_BUFFER_MAX), requires = "net_delay")]
    #[arg(env = "ECHO_CLIENT_NET_DELAY_BUFFER", help_heading = LIMITS)]
    pub net_delay_buffer: u64,

    /// Compare every byte of every reply, or only its id and length
    #[arg(long, value_name = "HOW", default_value = "full")]
    #[arg(env = "ECHO_CLIENT_VERIFY", help_heading = LOAD)]
    pub verify: Verify,

    /// How to speak with the server: echo-server's own framing, or Hadoop RPC version 9 (SIMPLE
    /// authentication), as with an Ozone Manager
    #[arg(long, value_name = "NAME", default_value = "native")]
    #[arg(env = "ECHO_CLIENT_PROTOCOL", help_heading = PROTOCOL)]
    pub protocol: Protocol,

    /// Hadoop: what to call. `om` is an Ozone Manager's EchoRPC as `freon ome` calls it, `test` the
    /// TestRpcService of Hadoop's own benchmark, NAME:VERSION the method `echo` of that protocol,
    /// one bytes or string field numbered 1 both ways [default: om]
    #[arg(long, value_name = "SERVICE", env = "ECHO_CLIENT_SERVICE", help_heading = PROTOCOL)]
    pub service: Option<Service>,

    /// Hadoop: whom to call as [default: HADOOP_USER_NAME, or the login name]
    #[arg(long, value_name = "NAME", value_parser = user)]
    #[arg(env = "ECHO_CLIENT_USER", help_heading = PROTOCOL)]
    pub user: Option<String>,

    /// Hadoop: a client id and a counter of calls for each connection, or one of both for all, as
    /// the clients of one Java process have [default: own]
    #[arg(long, value_name = "WHOSE", env = "ECHO_CLIENT_CLIENT_ID", help_heading = PROTOCOL)]
    pub client_id: Option<ClientIds>,

    /// Hadoop: what an `om` returns: as many bytes as it is asked for, whose length alone can be
    /// checked, or the call's payload (echo-server --hadoop-echo payload) [default: size]
    #[arg(long, value_name = "WHAT", env = "ECHO_CLIENT_HADOOP_ECHO", help_heading = PROTOCOL)]
    pub hadoop_echo: Option<HadoopEcho>,

    /// Hadoop: the longest reply that is taken, headers included; 0 for any. A longer one ends its
    /// connection [default: 128MiB]
    #[arg(long, value_name = "SIZE", value_parser = size_in(0..=PACKET_MAX))]
    #[arg(env = "ECHO_CLIENT_MAX_REPLY_SIZE", allow_hyphen_values = true, help_heading = PROTOCOL)]
    pub max_reply_size: Option<u64>,

    /// One call in so many asks the server how long it spent in each of its stages [default: none];
    /// the report sets the rest, network and client, beside them
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true)]
    #[arg(value_parser = count_in(1..=STAGES_MAX))]
    #[arg(env = "ECHO_CLIENT_STAGES", help_heading = REPORT)]
    pub stages: Option<u64>,

    /// Give each call one of so many keys, at random, and never two calls in flight the same. The
    /// server says who executed each: the run fails unless the calls of every key were executed
    /// once, in order, by one handler (echo-server --dispatch keyed)
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true)]
    #[arg(value_parser = count_in(1..=KEYS_MAX))]
    #[arg(env = "ECHO_CLIENT_KEYS", help_heading = LOAD)]
    pub keys: Option<u64>,

    /// How long a call may take; then it has failed, its caller goes on, and a late reply is
    /// counted apart. Noticed at most an eighth of this time late
    #[arg(long, value_name = "TIME", default_value = "30s", allow_hyphen_values = true)]
    #[arg(value_parser = duration_in(MILLISECOND..=TIMEOUT_MAX))]
    #[arg(env = "ECHO_CLIENT_TIMEOUT", help_heading = LIMITS)]
    pub timeout: Duration,

    /// How long setting up a connection may take
    #[arg(long, value_name = "TIME", default_value = "5s", allow_hyphen_values = true)]
    #[arg(value_parser = duration_in(MILLISECOND..=TIMEOUT_MAX))]
    #[arg(env = "ECHO_CLIENT_CONNECT_TIMEOUT", help_heading = LIMITS)]
    pub connect_timeout: Duration,

    /// Go on after failures. This is the default; the word is freon's
    #[arg(short = 'f', long, action = ArgAction::SetTrue, conflicts_with = "fail_fast")]
    #[arg(value_parser = BoolishValueParser::new())]
    #[arg(env = "ECHO_CLIENT_FAIL_AT_END", help_heading = LIMITS)]
    #[arg(value_parser = BoolishValueParser::new())]
    pub fail_at_end: bool,

    /// Start nothing more after the first failure
    #[arg(long, action = ArgAction::SetTrue)]
    #[arg(value_parser = BoolishValueParser::new())]
    #[arg(env = "ECHO_CLIENT_FAIL_FAST", help_heading = LIMITS)]
    #[arg(value_parser = BoolishValueParser::new())]
    pub fail_fast: bool,

    /// Threads that do the calling [default: half of the usable CPUs, at least 1]; never more than
    /// connections or callers
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true)]
    #[arg(value_parser = count_in(1..=WORKERS_MAX))]
    #[arg(env = "ECHO_CLIENT_WORKERS", help_heading = PLACEMENT)]
    pub workers: Option<u64>,

    /// CPUs for the workers, such as 0-3,5; each worker is pinned to one of them [default: not
    /// pinned]
    #[arg(long, value_name = "CPUS", env = "ECHO_CLIENT_PIN", help_heading = PLACEMENT)]
    pub pin: Option<String>,

    /// Form of the report
    #[arg(long, value_name = "FORM", default_value = "text")]
    #[arg(env = "ECHO_CLIENT_FORMAT", help_heading = REPORT)]
    pub format: Format,

    /// Write the report as JSON to this file, too; it appears whole or not at all. With --format
    /// json nothing goes to standard output then
    #[arg(short = 'o', long, value_name = "FILE", env = "ECHO_CLIENT_OUTPUT")]
    #[arg(help_heading = REPORT)]
    pub output: Option<PathBuf>,

    /// Write the latencies' percentiles as HdrHistogram's table, in microseconds, to this file, too
    #[arg(long, value_name = "FILE", env = "ECHO_CLIENT_HGRM", help_heading = REPORT)]
    pub hgrm: Option<PathBuf>,

    /// Write the latencies of each --interval as HdrHistogram's interval log (version 1.3,
    /// nanoseconds) to this file, too
    #[arg(long, value_name = "FILE", env = "ECHO_CLIENT_HLOG", help_heading = REPORT)]
    pub hlog: Option<PathBuf>,

    /// Progress on standard error: a bar on a terminal and lines elsewhere (auto), or as said
    #[arg(long, value_name = "HOW", default_value = "auto")]
    #[arg(env = "ECHO_CLIENT_PROGRESS", help_heading = REPORT)]
    pub progress: Progress,

    /// Time between two lines of progress, and between two entries of the report's intervals
    #[arg(long, value_name = "TIME", default_value = "1s", allow_hyphen_values = true)]
    #[arg(value_parser = duration_in(INTERVAL_MIN..=INTERVAL_MAX))]
    #[arg(env = "ECHO_CLIENT_INTERVAL", help_heading = REPORT)]
    pub interval: Duration,

    /// Ask the server for its counters before and after the measured phase, on a connection of its
    /// own; without an answer those figures are missing from the report
    #[arg(long, value_name = "ON|OFF", default_value = "on")]
    #[arg(env = "ECHO_CLIENT_SERVER_STATS", help_heading = REPORT)]
    pub server_stats: Switch,
}

/// Who must have a call before it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Serialize)]
pub enum Acks {
    /// Nobody: it is not answered.
    #[value(name = "0")]
    #[serde(rename = "0")]
    None,
    /// The server.
    #[value(name = "1")]
    #[serde(rename = "1")]
    One,
    /// The server and enough of its followers.
    #[value(name = "all")]
    #[serde(rename = "all")]
    All,
}

/// The framings that are spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// echo-server's own.
    Native,
    /// Hadoop RPC version 9.
    Hadoop,
}

/// Who has a client id of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ClientIds {
    /// Each connection.
    Own,
    /// All connections have the same.
    Shared,
}

/// What an Ozone Manager's echo returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HadoopEcho {
    /// As many bytes as it is asked for: every real one.
    Size,
    /// The payload of the call.
    Payload,
}

/// How replies are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verify {
    /// Id, length and every byte.
    Full,
    /// Id and length.
    None,
}

/// Where a caller's next call goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CallerOrder {
    /// To the caller's own connection.
    Fixed,
    /// To the next connection in turn.
    Turns,
}

/// How the calls of an open loop are spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// At equal distances.
    Uniform,
    /// At exponentially distributed distances.
    Poisson,
}

/// The report's form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// For people, in freon's form.
    Text,
    /// For programs.
    Json,
}

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Progress {
    /// A bar on a terminal, lines elsewhere.
    Auto,
    /// A bar, if standard error is a terminal.
    Bar,
    /// One line each --interval.
    Line,
    /// Nothing.
    None,
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Switch {
    /// Do it.
    On,
    /// Leave it.
    Off,
}

const LOAD: &str = "Load";
const PROTOCOL: &str = "Protocol";
const LIMITS: &str = "Limits and failures";
const PLACEMENT: &str = "Placement";
const REPORT: &str = "Report";

const EXIT_CODES: &str = "\
Counts: 5000000, 5_000_000, 5m (millions), 1e6. Sizes: 128, 4k = 4KiB, 1MiB.
Times: 500us, 30s, 1m30s.
Every option can be given as an environment variable ECHO_CLIENT_..., as shown.

Exit codes: 0 every call was answered rightly; 1 some were not; 2 usage; 69 cannot connect;
70 internal error; 71 not enough open files; 74 an output cannot be written;
130, 143 ended by SIGINT, SIGTERM (the report is printed, a second signal leaves at once).";

const CLIENTS_MAX: u64 = 1_000_000;
const CALLERS_MAX: u64 = 10_000_000;
const IN_FLIGHT_MAX: u64 = 100_000;
const STAGES_MAX: u64 = 1_000_000_000;
/// 28 bytes each.
const KEYS_MAX: u64 = 10_000_000;
const WORKERS_MAX: u64 = 1024;
const SEED_MAX: u64 = u32::MAX as u64;
/// What the u32 length word of a frame leaves beside headers.
const PAYLOAD_MAX: u64 = (4 << 30) - 64;
/// What the length word of a Hadoop packet can say.
const PACKET_MAX: u64 = (2 << 30) - 1;
/// Longest user name, so that a fresh socket takes the connection context whole.
const USER_MAX: usize = 1024;
const MILLISECOND: Duration = Duration::from_millis(1);
const DURATION_MAX: Duration = Duration::from_secs(365 * 24 * 3600);
const NET_DELAY_MAX: Duration = Duration::from_secs(10);
const NET_DELAY_BUFFER_MAX: u64 = 1 << 30;
const THINK_MAX: Duration = Duration::from_secs(60);
const TIMEOUT_MAX: Duration = Duration::from_secs(24 * 3600);
const INTERVAL_MIN: Duration = Duration::from_millis(10);
const INTERVAL_MAX: Duration = Duration::from_secs(3600);

fn user(text: &str) -> Result<String, String> {
    match text.len() {
        1..=USER_MAX => Ok(text.to_owned()),
        len => Err(format!("a name of {len} bytes; allowed: 1 to {USER_MAX}")),
    }
}

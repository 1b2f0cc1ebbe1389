//! The server's own counters, asked for on a connection of their own before and after the measured
//! phase. A server that does not answer this is no failure: the figures are missing then.

use echo_common::clock::now_ns;
use echo_common::quantity::format_duration;
use echo_common::wire::native::{HEADER_LEN, Header, Kind, PREAMBLE};
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::num::ParseIntError;
use std::time::Duration;

/// Each step of asking may take this long.
const STEP_TIMEOUT: Duration = Duration::from_secs(1);
/// All of it may take this long, however slowly bytes trickle in.
const TOTAL_NS: u64 = 2_000_000_000;
/// A snapshot of some thousand threads.
const SNAPSHOT_MAX: usize = 4 << 20;

/// The counters of a server at one moment. What it does not send is absent or 0.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Snapshot {
    /// Whether some stage has a paced cost, so that rates and times are no real ones.
    pub(crate) emulated: bool,
    /// The synthetic costs of its stages.
    pub(crate) costs: Option<String>,
    pub(crate) uptime_ns: u64,
    pub(crate) cpu_ns: Option<u64>,
    pub(crate) context_switches: Option<Switches>,
    pub(crate) calls: u64,
    pub(crate) replies: u64,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    /// System calls of these kinds; absent if the server does not count them.
    pub(crate) reads: Option<u64>,
    pub(crate) writes: Option<u64>,
    pub(crate) polls: Option<u64>,
    pub(crate) connections_open: u64,
    /// Since its start.
    pub(crate) connections_admitted: Option<u64>,
    /// Calls of one connection that it serves at once, at most. At 1 their replies come in order.
    pub(crate) calls_per_connection: Option<u64>,
    pub(crate) readers: Vec<ThreadCounters>,
    pub(crate) handlers: Vec<ThreadCounters>,
    /// Absent on a server without handlers.
    pub(crate) queue: Option<QueueCounters>,
    /// Only of a server that dispatches by key.
    pub(crate) keyed: Option<KeyedCounters>,
    pub(crate) limits: BTreeMap<String, u64>,
    /// Only of a server that has followers.
    pub(crate) replication: Option<ReplicationCounters>,
    /// What it holds of other leaders' calls.
    pub(crate) holdings: Vec<HoldingCounters>,
    /// Faults that it makes on purpose.
    pub(crate) faults: Option<Faults>,
}

/// What a server does wrong because it was told to.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Faults {
    pub(crate) inject: Vec<String>,
}

/// What a leader says of its followers. Its calls are numbered from 1.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ReplicationCounters {
    /// Drawn when it started.
    pub(crate) epoch: Hex,
    /// The number that the next call will have.
    pub(crate) next: u64,
    /// Calls that were answered because enough held them.
    pub(crate) acknowledged: u64,
    pub(crate) followers: Vec<FollowerCounters>,
}

/// A follower as its leader sees it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct FollowerCounters {
    pub(crate) address: String,
    pub(crate) in_sync: bool,
    /// It holds every call from here up to, and without, `next`.
    pub(crate) since: u64,
    pub(crate) next: u64,
    /// Of all these; known while it holds all calls.
    pub(crate) digest: Option<Hex>,
}

/// What a follower says that it holds of one leader's calls.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct HoldingCounters {
    pub(crate) epoch: Hex,
    pub(crate) since: u64,
    pub(crate) next: u64,
    pub(crate) count: u64,
    pub(crate) digest: Hex,
}

/// A number of 64 bits, which comes as hexadecimal digits: not every reader of JSON has it whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Hex(pub(crate) u64);

impl TryFrom<String> for Hex {
    type Error = ParseIntError;

    fn try_from(digits: String) -> Result<Hex, ParseIntError> {
        u64::from_str_radix(&digits, 16).map(Hex)
    }
}

impl Serialize for Hex {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{:016x}", self.0))
    }
}

/// How often threads gave up a CPU.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Switches {
    pub(crate) voluntary: u64,
    pub(crate) involuntary: u64,
}

/// One reader or handler since its start.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ThreadCounters {
    pub(crate) name: String,
    /// The CPU it is pinned to.
    pub(crate) cpu: Option<u64>,
    pub(crate) cpu_ns: u64,
    /// Ready to run, without a CPU.
    pub(crate) wait_ns: u64,
    pub(crate) calls: u64,
    /// Passes of a reader over a connection, takes of a handler from the queue.
    #[serde(alias = "passes", alias = "takes")]
    pub(crate) batches: u64,
    pub(crate) wakeups: u64,
    /// Readers only.
    pub(crate) connections: Option<u64>,
    pub(crate) blocked_ns: Option<u64>,
}

/// The call queue.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct QueueCounters {
    pub(crate) depth_max: u64,
    pub(crate) capacity: u64,
    pub(crate) full_waits: u64,
    pub(crate) rejected: u64,
}

/// The stages of a dispatch by key.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct KeyedCounters {
    pub(crate) serial: StageCounters,
    pub(crate) dispatcher: StageCounters,
    pub(crate) cycles: u64,
    /// Batches by size: a power of two, and how many had up to so many calls.
    pub(crate) batch_sizes: Vec<(u64, u64)>,
    pub(crate) batch_max: u64,
    pub(crate) gap_ns: u64,
    pub(crate) held_back: u64,
    pub(crate) held_back_ns: u64,
    pub(crate) extended_reads: u64,
    pub(crate) calls_on_serial: u64,
    pub(crate) backlog: u64,
    pub(crate) backlog_max: u64,
    pub(crate) log_full_waits: u64,
    pub(crate) stalls: u64,
}

/// The serial stage or the dispatcher.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct StageCounters {
    pub(crate) name: String,
    pub(crate) cpu_ns: u64,
    pub(crate) wait_ns: u64,
    /// Time that paced costs took.
    pub(crate) paced_ns: u64,
    pub(crate) calls: u64,
    pub(crate) wakeups: u64,
    pub(crate) blocked_ns: u64,
}

/// Asks the server behind `addresses` for a snapshot; none if it has no answer to that.
pub(crate) fn ask(addresses: &[SocketAddr]) -> Option<Snapshot> {
    ask_or_why(addresses).ok()
}

/// The same, or why there is no answer, in words.
pub(crate) fn ask_or_why(addresses: &[SocketAddr]) -> Result<Snapshot, String> {
    let deadline = now_ns().saturating_add(TOTAL_NS);
    let mut why = "the server has no address".to_owned();
    for address in addresses {
        match ask_until(address, deadline) {
            Ok(snapshot) => return Ok(snapshot),
            Err(error) if error.kind() == ErrorKind::TimedOut => {
                why = format!(
                    "the stats call got no answer within {}",
                    format_duration(STEP_TIMEOUT)
                );
            }
            Err(error) => why = format!("the stats call got no answer: {error}"),
        }
    }
    Err(why)
}

/// Asks the server at `address`, until then at most; the error is in words for people.
pub(crate) fn ask_until(address: &SocketAddr, deadline_ns: u64) -> io::Result<Snapshot> {
    let left = Duration::from_nanos(deadline_ns.saturating_sub(now_ns())).min(STEP_TIMEOUT);
    if left.is_zero() {
        return Err(ErrorKind::TimedOut.into());
    }
    let mut stream = TcpStream::connect_timeout(address, left)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(STEP_TIMEOUT))?;
    stream.set_write_timeout(Some(STEP_TIMEOUT))?;
    let mut question = PREAMBLE.to_vec();
    question.extend_from_slice(&Header::new(Kind::Stats, 0, 0, 0, 0).encode());
    stream.write_all(&question)?;
    let mut head = [0; HEADER_LEN];
    read_until(&mut stream, &mut head, deadline_ns)?;
    let header = Header::decode(&head).map_err(io::Error::other)?;
    if header.kind == Kind::Error {
        return Err(io::Error::other("it refuses stats calls"));
    }
    if header.kind != Kind::Stats || header.rest_len() > SNAPSHOT_MAX {
        return Err(io::Error::other("what it answers is no answer to a stats call"));
    }
    let mut body = vec![0; header.rest_len()];
    read_until(&mut stream, &mut body, deadline_ns)?;
    // Not in the parser's words, which quote the peer's.
    serde_json::from_slice(&body).map_err(|_| io::Error::other("its stats cannot be read"))
}

/// Fills `buffer`, unless the time is over first.
fn read_until(stream: &mut TcpStream, buffer: &mut [u8], deadline_ns: u64) -> io::Result<()> {
    let mut filled = 0;
    while filled < buffer.len() {
        if now_ns() >= deadline_ns {
            return Err(ErrorKind::TimedOut.into());
        }
        match stream.read(&mut buffer[filled..]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(bytes) => filled += bytes,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // What a read that took too long says is not for people.
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return Err(ErrorKind::TimedOut.into());
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

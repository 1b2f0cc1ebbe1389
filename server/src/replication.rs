//! What a server is told about replication, and what it says about it: the plan, the counters of
//! the `replicator`, and both at one moment.

use crate::holdings::as_hex;
use crate::meters::{Counter, OutMeters, SharedCounter, ThreadMeter};
use crate::replica_link::{Link, Phase};
use crate::replica_log::ReplicaLog;
use crate::sync::{Mutex, lock};
use echo_common::quantity::{format_duration, format_size};
use serde::Serialize;
use std::net::SocketAddr;
use std::time::Duration;

/// How calls are replicated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replication {
    /// The followers.
    pub followers: Vec<SocketAddr>,
    /// How many must hold a call with acks=all before it is answered, the leader included.
    pub min_insync: u16,
    /// How long such a call may wait for that.
    pub ack_timeout: Duration,
    /// How long a follower may owe an answer.
    pub follower_timeout: Duration,
    /// Bytes sent to one follower and not acknowledged.
    pub window: usize,
    /// Bytes of calls that wait, or that some follower has not acknowledged.
    pub backlog: usize,
}

impl Replication {
    /// One line per bound, to follow the others, see [`crate::config::Config::limits_table`].
    pub fn table(&self) -> String {
        let rows = [
            ("--ack-timeout", format_duration(self.ack_timeout), "ack_timeouts"),
            ("--follower-timeout", format_duration(self.follower_timeout), "follower_links_lost"),
            ("--replica-window", format_size(self.window as u64), "(the backlog's)"),
            (
                "--replica-backlog",
                format_size(self.backlog as u64),
                "replicas_refused, followers_let_go",
            ),
        ];
        let row = |(option, value, counter)| format!("{option:<28}  {value:<12}  {counter}\n");
        rows.map(row).concat()
    }
}

/// What the replicator counts; it is the only writer, but for `refused`.
#[derive(Debug)]
pub struct ReplicatorMeters {
    /// The thread.
    pub thread: ThreadMeter,
    /// What it wrote.
    pub out: OutMeters,
    /// Calls that were answered because enough held them.
    pub acknowledged: Counter,
    /// Calls that waited `--ack-timeout` for that.
    pub timed_out: Counter,
    /// Calls that found `--replica-backlog` used up; written by handlers.
    pub refused: SharedCounter,
    /// Calls that too few followers can hold, because of their `--max-frame-size`.
    pub too_large: Counter,
    /// Followers that were let go because they were behind when it was, or that began anew behind
    /// a call that is too large for them.
    pub let_go: Counter,
    /// Connections to followers that were lost, or never came to be.
    pub links_lost: Counter,
    /// The followers now.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    waiting: u64,
    followers: Vec<FollowerSnapshot>,
}

/// Replication at one moment.
#[derive(Clone, Debug, Serialize)]
pub struct ReplicationSnapshot {
    /// This leader's epoch, drawn at its start.
    #[serde(serialize_with = "as_hex")]
    pub epoch: u64,
    /// How many must hold a call, the leader included.
    pub min_insync: u16,
    /// The number that the next call will have.
    pub next: u64,
    /// Calls that wait for holders.
    pub waiting: u64,
    /// Calls answered because enough held them.
    pub acknowledged: u64,
    /// Calls that waited too long for that.
    pub timed_out: u64,
    /// Calls that found no room to wait.
    pub refused: u64,
    /// Calls that were too large for too many followers.
    pub too_large: u64,
    /// Followers let go because they were behind, or begun anew behind a call too large for them.
    pub let_go: u64,
    /// Connections to followers that were lost, or never came to be.
    pub links_lost: u64,
    /// By follower.
    pub followers: Vec<FollowerSnapshot>,
}

/// One follower.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FollowerSnapshot {
    /// Where it is.
    pub address: String,
    /// Whether it holds every call from `since` to `next`, and will be sent the others.
    pub in_sync: bool,
    /// The first call that it holds.
    pub since: u64,
    /// The first call that it does not hold.
    pub next: u64,
    /// The sum of the digests of what it should hold; known while it holds all calls.
    #[serde(serialize_with = "as_optional_hex")]
    pub digest: Option<u64>,
    /// How often it came to be in sync.
    pub joins: u64,
}

fn as_optional_hex<S: serde::Serializer>(value: &Option<u64>, to: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => as_hex(value, to),
        None => to.serialize_none(),
    }
}

impl Default for ReplicatorMeters {
    fn default() -> ReplicatorMeters {
        ReplicatorMeters {
            thread: ThreadMeter::new("replicator".into()),
            out: OutMeters::default(),
            acknowledged: Counter::default(),
            timed_out: Counter::default(),
            refused: SharedCounter::default(),
            too_large: Counter::default(),
            let_go: Counter::default(),
            links_lost: Counter::default(),
            state: Mutex::default(),
        }
    }
}

impl ReplicatorMeters {
    /// A replicator with these followers begins.
    pub(crate) fn begin(&self, followers: &[SocketAddr]) {
        let followers = followers.iter().map(|address| FollowerSnapshot {
            address: address.to_string(),
            in_sync: false,
            since: 0,
            next: 0,
            digest: None,
            joins: 0,
        });
        *lock(&self.state) = State { next: 1, waiting: 0, followers: followers.collect() };
    }

    /// The replicator says how things are, once per pass.
    pub(crate) fn note<W>(&self, log: &ReplicaLog<W>, links: &[Link]) {
        let mut state = lock(&self.state);
        state.next = log.next();
        state.waiting = log.waiting();
        for (follower, link) in state.followers.iter_mut().zip(links) {
            let (since, next) = match link.phase() {
                Phase::InSync { since, next } => (since, next),
                _ => (0, 0),
            };
            follower.in_sync = since > 0;
            (follower.since, follower.next) = (since, next);
            follower.digest = link.digest(log);
            follower.joins = link.joins;
        }
    }

    /// All of it now.
    pub(crate) fn snapshot(&self, epoch: u64, min_insync: u16) -> ReplicationSnapshot {
        let state = lock(&self.state);
        ReplicationSnapshot {
            epoch,
            min_insync,
            next: state.next,
            waiting: state.waiting,
            acknowledged: self.acknowledged.get(),
            timed_out: self.timed_out.get(),
            refused: self.refused.get(),
            too_large: self.too_large.get(),
            let_go: self.let_go.get(),
            links_lost: self.links_lost.get(),
            followers: state.followers.clone(),
        }
    }
}

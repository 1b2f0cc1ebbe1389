//! Everything a server is made of, as a value.

use crate::cost::StageCosts;
use crate::fault_injection::Fault;
use crate::hadoop::Hadoop;
use crate::keyed::KeyedDispatch;
use crate::limits::Limits;
use crate::listener::{Assign, SocketBuffers};
use crate::replication::Replication;
use crate::service::Service;
use std::net::SocketAddr;
use std::sync::Arc;

/// Everything a server is made of.
pub struct Config {
    /// Where to listen; port 0 takes any free port.
    pub address: SocketAddr,
    /// Reader threads, at least 1.
    pub readers: usize,
    /// Handler threads; 0 serves calls on the readers.
    pub handlers: usize,
    /// CPU of each reader; empty leaves them unpinned.
    pub reader_cpus: Vec<usize>,
    /// CPU of each handler; empty leaves them unpinned.
    pub handler_cpus: Vec<usize>,
    /// Whether a thread that cannot be pinned ends the start.
    pub strict_pin: bool,
    /// How connections are dealt to readers.
    pub assign: Assign,
    /// The bounds.
    pub limits: Limits,
    /// Networks that may connect; empty for all.
    pub allow: Vec<ipnet::IpNet>,
    /// Kernel buffers of accepted sockets.
    pub buffers: SocketBuffers,
    /// Whether stats calls are answered.
    pub remote_stats: bool,
    /// What is served.
    pub service: Arc<dyn Service>,
    /// How Hadoop RPC is served, where [`Limits::max_packet_size`] lets it be spoken.
    pub hadoop: Arc<Hadoop>,
    /// Synthetic costs of the stages.
    pub costs: StageCosts,
    /// Whether it is counted how long calls are in the server, which costs a clock read per batch.
    pub time_calls: bool,
    /// How calls are replicated; none answers acks=all like acks=1.
    pub replication: Option<Replication>,
    /// Faults that are made on purpose.
    pub faults: Vec<Fault>,
    /// How calls are dispatched by their key; none lets all handlers take from one queue.
    pub keyed: Option<KeyedDispatch>,
}

/// With a service that costs far less than a wake-up, so many runs may wait for each handler that
/// is awake: about 35 us of work, most of it one write each. Waking another one takes 3 us on the
/// same core and 25 us across cores here, and then both move each other's cache lines. 10 readers,
/// 10 handlers, 30 x 1, 2 cores, x floor: 0.75 with 0, 0.84 with 16.
const BACKLOG_OF_CHEAP_CALLS: usize = 16;

impl Config {
    /// One line for each bound, those of replication behind the others (for `--show-limits`).
    pub fn limits_table(&self) -> String {
        let replication = self.replication.as_ref().map_or_else(String::new, |plan| plan.table());
        self.limits.table(self.handlers, self.keyed.is_some()) + &replication
    }

    /// Runs that may wait for each handler that is awake before another one is woken.
    pub(crate) fn backlog_max(&self) -> usize {
        let cheap = self.costs.handler.is_none() && self.service.batch_max() > 1;
        if cheap { BACKLOG_OF_CHEAP_CALLS } else { 0 }
    }
}

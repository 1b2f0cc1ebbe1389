//! What the server promises, seen from its socket, its output and its process.

mod admission;
mod faults_injected;
mod flags;
mod framing;
mod hadoop;
mod keyed;
mod kit;
mod life;
mod metrics;
mod options;
mod queue_and_flow;
mod readme;
mod replication;
mod slow_peers;
mod stages;
mod time_limits;

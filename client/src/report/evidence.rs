//! What the verdict rests on: the shares of everybody who could be the limit.

use super::server::ServerFigures;
use super::verdict::Evidence;
use super::{HostFigures, WorkerFigures};
use crate::plan::Plan;
use echo_common::host::Host;

/// All of it but for the run's length and rate.
pub(super) fn evidence(
    plan: &Plan,
    workers: &[WorkerFigures],
    server: Option<&ServerFigures>,
    host: &HostFigures,
) -> Evidence {
    let emulated = server.map_or((None, None), ServerFigures::emulated_shares);
    let busiest_reader = server.and_then(ServerFigures::busiest_reader);
    Evidence {
        client_busy_share: most(workers.iter().map(|worker| worker.busy_share)),
        client_cpu_share: most(workers.iter().map(|worker| worker.cpu_share)),
        client_confined: is_confined(plan, &host.host),
        reader_busy_share: busiest_reader.and_then(|reader| reader.busy_share),
        reader_cpu_share: busiest_reader.and_then(|reader| reader.cpu_share),
        handler_busy_share: server.and_then(|s| s.handlers_mean(|h| h.busy_share)),
        handler_cpu_share: server.and_then(|s| s.handlers_mean(|h| h.cpu_share)),
        reader_emulated_share: emulated.0,
        handler_emulated_share: emulated.1,
        host_busy_share: host.load.as_ref().and_then(|load| load.busy_share),
        others_cpu_share: host.others_share(),
        steal_share: host.load.as_ref().and_then(|load| load.steal_share),
        cpu_ceiling_calls_per_s: host.cpu_ceiling_calls_per_s,
        ..Evidence::default()
    }
}

/// Whether the client was given, or took, fewer CPUs than the host has.
fn is_confined(plan: &Plan, host: &Host) -> bool {
    let mut pins = plan.pins.clone();
    pins.sort_unstable();
    pins.dedup();
    let may_use = if pins.is_empty() { plan.allowed_cpus.len() } else { pins.len() };
    let quota = host.cgroup_cpu_quota.unwrap_or(f64::MAX);
    host.cpus_online.is_some_and(|online| may_use < online || quota < online as f64)
}

fn most(shares: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    shares.flatten().max_by(f64::total_cmp)
}

//! What the verdict rests on: the shares of everybody who could be the limit.

use super::dispatch::DispatchFigures;
use super::server::ServerFigures;
use super::verdict::{CAPACITIES, Evidence};
use super::{HostFigures, WorkerFigures, ratio};
use crate::plan::Plan;
use echo_common::address;
use echo_common::host::Host;
use std::collections::{BTreeMap, BTreeSet};

/// All of it but for the run's length; `payload` is what a call carries on average, in bytes.
pub(super) fn evidence(
    plan: &Plan,
    calls_per_s: Option<f64>,
    payload: Option<f64>,
    workers: &[WorkerFigures],
    server: Option<&ServerFigures>,
    host: &HostFigures,
) -> Evidence {
    let emulated =
        server.map_or((None, None), |server| server.emulated_shares(calls_per_s, payload));
    let dispatch = server.and_then(|server| server.dispatch.as_ref());
    let serial = dispatch.and_then(|dispatch| dispatch.serial.real_shares());
    let dispatcher = dispatch.and_then(|dispatch| dispatch.dispatcher.real_shares());
    let busiest_reader = server.and_then(ServerFigures::busiest_reader);
    Evidence {
        calls_per_s,
        client_busy_share: most(workers.iter().map(|worker| worker.busy_share)),
        client_cpu_share: most(workers.iter().map(|worker| worker.cpu_share)),
        client_confined: is_confined(plan, &host.host),
        client_cpus_share: client_cpus_share(plan, workers, server),
        reader_busy_share: busiest_reader.and_then(|reader| reader.busy_share),
        reader_cpu_share: busiest_reader.and_then(|reader| reader.cpu_share),
        handler_busy_share: server.and_then(|s| s.handlers_mean(|h| h.busy_share)),
        handler_cpu_share: server.and_then(|s| s.handlers_mean(|h| h.cpu_share)),
        reader_emulated_share: emulated.0,
        handler_emulated_share: emulated.1,
        serial_busy_share: serial.map(|shares| shares.0),
        serial_cpu_share: serial.map(|shares| shares.1),
        dispatcher_busy_share: dispatcher.map(|shares| shares.0),
        dispatcher_cpu_share: dispatcher.map(|shares| shares.1),
        serial_emulated_share: dispatch.and_then(|dispatch| dispatch.serial.emulated_share),
        dispatcher_emulated_share: dispatch.and_then(DispatchFigures::dispatcher_emulated_share),
        host_busy_share: host.load.as_ref().and_then(|load| load.busy_share),
        others_cpu_share: host.others_share(),
        steal_share: host.load.as_ref().and_then(|load| load.steal_share),
        cpu_ceiling_calls_per_s: host.cpu_ceiling_calls_per_s,
        pair_cpu_share: host.pair_share(),
        limits_acted: server.map(limits_acted).unwrap_or_default(),
        server_calls: server.map(|server| server.calls),
        ..Evidence::default()
    }
}

/// What kept calls out of the server.
fn limits_acted(server: &ServerFigures) -> BTreeMap<String, u64> {
    let is_capacity = |name: &str| CAPACITIES.iter().any(|limit| limit.0 == name);
    let limits = server.limits.iter().filter(|(name, _)| is_capacity(name));
    limits.map(|(name, &acted)| (name.clone(), acted)).collect()
}

/// What is used of the CPUs that the workers may use, as far as one can tell: by them and by the
/// server's handlers that are pinned there.
fn client_cpus_share(
    plan: &Plan,
    workers: &[WorkerFigures],
    server: Option<&ServerFigures>,
) -> Option<f64> {
    let cpus = if plan.pins.is_empty() { &plan.allowed_cpus } else { &plan.pins };
    let cpus: BTreeSet<u64> = cpus.iter().map(|&cpu| cpu as u64).collect();
    let here = plan.addresses.iter().all(address::is_loopback);
    let beside = server.filter(|_| here)?.handlers.iter();
    let beside = beside.filter(|handler| handler.pinned_cpu.is_some_and(|c| cpus.contains(&c)));
    let by_handlers: f64 = beside.filter_map(|handler| handler.cpu_share).sum();
    let by_workers: f64 = workers.iter().filter_map(|worker| worker.cpu_share).sum();
    ratio(by_handlers + by_workers, cpus.len() as f64)
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

//! The periodic line of counters and the final summary, both from snapshots.

use crate::keyed_meters::{KeyedSnapshot, StageSnapshot};
use crate::snapshot::Snapshot;
use echo_common::quantity::{counted, grouped};
use std::fmt::Write;

/// Runnable or running, as a share of the time that passed: 1 means that the thread never slept.
fn busy(cpu_ns: u64, wait_ns: u64, elapsed_ns: u64) -> f64 {
    if elapsed_ns == 0 { 0.0 } else { (cpu_ns + wait_ns) as f64 / elapsed_ns as f64 }
}

fn per(count: u64, events: u64) -> f64 {
    if events == 0 { 0.0 } else { count as f64 / events as f64 }
}

/// What must be known before any figure.
fn label(now: &Snapshot) -> String {
    let faults = now.faults.as_ref().map(|faults| faults.inject.join(", "));
    let faults = faults.map_or_else(String::new, |faults| format!("faults injected ({faults}): "));
    faults + if now.emulated { "emulated: " } else { "" }
}

/// What happened between two snapshots, on one line.
pub fn line(before: &Snapshot, now: &Snapshot) -> String {
    let elapsed_ns = now.uptime_ns - before.uptime_ns;
    let rate = (now.calls - before.calls) as f64 / (elapsed_ns as f64 / 1e9);
    let rate = grouped(rate as u64);
    let connections = counted(now.connections_open as u64, "connection");
    let mut out = format!("{}{rate} calls/s, {connections}", label(now));
    out += "; readers busy (calls per wake-up):";
    for (reader, was) in now.readers.iter().zip(&before.readers) {
        let busy = busy(
            reader.cpu_ns - was.cpu_ns,
            reader.wait_ns.saturating_sub(was.wait_ns),
            elapsed_ns,
        );
        let calls = per(reader.calls - was.calls, reader.wakeups - was.wakeups);
        // Writing to a string cannot fail.
        let _ = write!(out, " {:.0} % ({calls:.1})", 100.0 * busy);
    }
    if let Some(queue) = &now.queue {
        let _ = write!(out, "; queue {} of {}", queue.depth, queue.capacity);
    }
    if let (Some(keyed), Some(was)) = (&now.keyed, &before.keyed) {
        out += &dispatch(keyed, was, elapsed_ns);
    }
    if let Some(replication) = &now.replication {
        let in_sync = replication.followers.iter().filter(|follower| follower.in_sync).count();
        let followers = counted(replication.followers.len() as u64, "follower");
        let waiting = counted(replication.waiting, "call");
        let _ = write!(out, "; {in_sync} of {followers} in sync, {waiting} waiting");
    }
    if !now.handlers.is_empty() {
        out += "; handlers busy:";
        for (handler, was) in now.handlers.iter().zip(&before.handlers) {
            let cpu_ns = handler.cpu_ns - was.cpu_ns;
            let busy = busy(cpu_ns, handler.wait_ns.saturating_sub(was.wait_ns), elapsed_ns);
            let _ = write!(out, " {:.0} %", 100.0 * busy);
        }
    }
    out
}

/// The stages of a dispatch by key.
fn dispatch(now: &KeyedSnapshot, was: &KeyedSnapshot, elapsed_ns: u64) -> String {
    let busy = |stage: &StageSnapshot, before: &StageSnapshot| {
        // On an emulated clock the host's own times take none.
        let share = match stage.paced_ns - before.paced_ns {
            0 => {
                let wait_ns = stage.wait_ns.saturating_sub(before.wait_ns);
                busy(stage.cpu_ns - before.cpu_ns, wait_ns, elapsed_ns)
            }
            paced_ns => busy(paced_ns, 0, elapsed_ns),
        };
        100.0 * share.min(1.0)
    };
    let dispatched = |keyed: &KeyedSnapshot| keyed.dispatcher.calls + keyed.calls_on_serial;
    format!(
        "; serial {:.0} %, dispatcher {:.0} % busy, batches of {:.1}, backlog {} (at most {})",
        busy(&now.serial, &was.serial),
        busy(&now.dispatcher, &was.dispatcher),
        per(dispatched(now) - dispatched(was), now.cycles - was.cycles),
        grouped(now.backlog as u64),
        grouped(now.backlog_max as u64),
    )
}

/// Everything that was counted from start to end.
pub fn summary(last: &Snapshot) -> String {
    let seconds = last.uptime_ns as f64 / 1e9;
    // A call that was rejected was read, and answered, but not served.
    let rejected = last.queue.as_ref().map_or(0, |queue| queue.rejected);
    let apart =
        if rejected > 0 { format!(", rejected {},", grouped(rejected)) } else { String::new() };
    let mut out = format!(
        "{}served {}{apart} in {seconds:.1} s: {} sent, {} undeliverable, {}, {} CPU per call",
        label(last),
        counted(last.calls.saturating_sub(rejected), "call"),
        grouped(last.replies) + if last.replies == 1 { " reply" } else { " replies" },
        grouped(last.replies_undeliverable),
        counted(last.handler_panics, "handler panic"),
        cpu_per_call(last),
    );
    out += "\ncounters:";
    let _ = write!(
        out,
        " calls={} stats_calls={} replies={} replies_undeliverable={} replies_omitted={} \
         calls_in_server={} \
         handler_panics={} \
         bytes_in={} bytes_out={} reads={} writes={}",
        last.calls,
        last.stats_calls,
        last.replies,
        last.replies_undeliverable,
        last.replies_omitted,
        last.calls_in_server,
        last.handler_panics,
        last.bytes_in,
        last.bytes_out,
        last.reads,
        last.writes,
    );
    if let Some(keyed) = &last.keyed {
        let _ = write!(
            out,
            " cycles={} extended_reads={} calls_on_serial={} stalls={}",
            keyed.cycles, keyed.extended_reads, keyed.calls_on_serial, keyed.stalls,
        );
    }
    if let Some(replication) = &last.replication {
        let _ = write!(
            out,
            " replicated={} acknowledged={} ack_timeouts={} replicas_refused={} \
             replicas_too_large={} followers_let_go={} follower_links_lost={}",
            replication.next - 1,
            replication.acknowledged,
            replication.timed_out,
            replication.refused,
            replication.too_large,
            replication.let_go,
            replication.links_lost,
        );
    }
    if let Some(faults) = &last.faults {
        let _ = write!(
            out,
            " faults_dropped={} faults_doubled={} faults_swapped={} faults_corrupted={} \
             faults_acked_early={}",
            faults.dropped, faults.doubled, faults.swapped, faults.corrupted, faults.acked_early,
        );
    }
    for (name, count) in &last.limits {
        let _ = write!(out, " {name}={count}");
    }
    out
}

fn cpu_per_call(last: &Snapshot) -> String {
    match last.calls {
        0 => "n/a us".to_owned(),
        calls => format!("{:.2} us", last.cpu_ns as f64 / 1e3 / calls as f64),
    }
}

#[cfg(test)]
mod tests;

//! Why a run could not begin: one line with the address, the reason, and what can be done.

use crate::connect::{ConnectFailure, is_out_of_descriptors};
use crate::plan::Plan;
use echo_common::open_files;
use rustix::io::Errno;
use std::io;
use std::net::SocketAddr;

/// Connections could not be set up.
#[derive(Debug, thiserror::Error)]
#[error("cannot connect to {address}: {reason} ({failed} of {wanted} connections failed{rest})")]
pub(crate) struct ConnectError {
    address: SocketAddr,
    reason: String,
    failed: usize,
    wanted: usize,
    rest: String,
    out_of_descriptors: bool,
}

impl ConnectError {
    /// From the failures of all workers, at least one.
    pub(crate) fn new(plan: &Plan, connected: usize, failures: Vec<ConnectFailure>) -> Self {
        let failed = failures.len();
        let first = failures.into_iter().next().expect("a connect error has a failure");
        let not_tried = plan.connections.saturating_sub(connected + failed);
        ConnectError {
            address: first.address,
            reason: reason(&first.error, plan.connections, files_needed(plan)),
            failed,
            wanted: plan.connections,
            rest: if not_tried > 0 { format!(", {not_tried} not tried") } else { String::new() },
            out_of_descriptors: is_out_of_descriptors(&first.error),
        }
    }

    /// Whether this side lacked file descriptors.
    pub(crate) fn is_out_of_descriptors(&self) -> bool {
        self.out_of_descriptors
    }
}

/// The operating system's words, and what they mean here where that is not plain.
fn reason(error: &io::Error, connections: usize, files_needed: u64) -> String {
    let is = |errno: Errno| error.raw_os_error() == Some(errno.raw_os_error());
    if is(Errno::ADDRNOTAVAIL) {
        return format!(
            "{error}: no local port is free{}",
            local_port_range().map_or(String::new(), |range| format!(
                "; the kernel hands out ports {range} (net.ipv4.ip_local_port_range)"
            ))
        );
    }
    if is_out_of_descriptors(error) {
        let limit = open_files::limits().soft;
        return format!(
            "{error}: the limit on open files is {limit}, {connections} connections need about \
             {files_needed}; raise it with `ulimit -n`"
        );
    }
    error.to_string()
}

/// Descriptors of a run: connections, the workers' polls and wakers, and what any process has open.
pub(crate) fn files_needed(plan: &Plan) -> u64 {
    (plan.connections + 2 * plan.workers + 10) as u64
}

fn local_port_range() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    let mut ports = text.split_ascii_whitespace();
    Some(format!("{} to {}", ports.next()?, ports.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_connect_error_has_words_of_its_own() {
        let errors = [
            (Errno::CONNREFUSED, "refused"),
            (Errno::TIMEDOUT, "timed out"),
            (Errno::HOSTUNREACH, "No route to host"),
            (Errno::NETUNREACH, "unreachable"),
            (Errno::CONNRESET, "reset"),
            (Errno::ADDRNOTAVAIL, "ip_local_port_range"),
            (Errno::ADDRINUSE, "in use"),
            (Errno::ACCESS, "Permission denied"),
            (Errno::MFILE, "100 connections need about 132"),
            (Errno::NFILE, "limit on open files"),
        ];
        let mut seen = std::collections::BTreeSet::new();
        for (errno, expected) in errors {
            let text = reason(&errno.into(), 100, 132);
            assert!(text.contains(expected), "{text}");
            assert!(text.contains(&format!("os error {}", errno.raw_os_error())), "{text}");
            assert!(seen.insert(text.clone()), "twice: {text}");
        }
    }
}

//! echo-server as a process.

use super::running::Running;
use super::stop::Waited;
use super::{ProcessError, Programs};
use crate::experiment::Peer;
use echo_common::clock::{self, now_ns};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Read;
use std::os::fd::AsFd;
use std::process::ChildStdout;
use std::time::Duration;

/// How long the server may take until it says where it listens.
const START_LIMIT: Duration = Duration::from_secs(20);
/// Its first line is shorter than this.
const LINE_MAX: usize = 1024;

/// A server that listens. Dropping it kills it; [`Server::stop`] lets it drain.
#[derive(Debug)]
pub struct Server {
    running: Running,
    address: String,
    /// Kept open: a closed pipe would be an error to the server.
    _stdout: ChildStdout,
}

/// What a server said at its end.
#[derive(Clone, Debug)]
pub struct ServerEnd {
    /// The counters of its last line, such as `calls`.
    pub counters: BTreeMap<String, u64>,
    /// What it wrote to standard error.
    pub log: String,
}

impl Server {
    /// Starts a server on a free port of the loopback address, with these options besides, and
    /// waits until it listens.
    pub fn start<A: AsRef<OsStr>>(
        programs: &Programs,
        options: impl IntoIterator<Item = A>,
    ) -> Result<Server, ProcessError> {
        Server::start_of(programs, Peer::Echo, options)
    }

    /// The same with Hadoop's server, which behaves alike.
    pub fn start_of<A: AsRef<OsStr>>(
        programs: &Programs,
        peer: Peer,
        options: impl IntoIterator<Item = A>,
    ) -> Result<Server, ProcessError> {
        let listen = ["--listen", "127.0.0.1:0"].map(|word| OsStr::new(word).to_owned());
        let options = options.into_iter().map(|option| option.as_ref().to_owned());
        let (mut running, mut stdout) =
            Running::start(programs.of_peer(peer), listen.into_iter().chain(options))?;
        let until_ns = now_ns().saturating_add(clock::ns(START_LIMIT));
        let mut line = Vec::new();
        while !line.contains(&b'\n') && line.len() < LINE_MAX {
            let waited = programs.stop().wait(stdout.as_fd(), until_ns);
            match waited.map_err(|error| ProcessError::System("cannot wait", error))? {
                Waited::Ready => {}
                Waited::TimeUp => return Err(running.too_long(START_LIMIT)),
                Waited::Stopped => return Err(programs.interrupted()),
            }
            let mut bytes = [0; LINE_MAX];
            match stdout.read(&mut bytes) {
                Ok(0) => {
                    let status = running.end()?;
                    let refused = running.refused(status).filter(|_| peer == Peer::Echo);
                    return Err(refused.unwrap_or_else(|| no_address(peer, running.last_words())));
                }
                Ok(count) => line.extend_from_slice(&bytes[..count]),
                Err(error) => return Err(ProcessError::System("cannot read from a pipe", error)),
            }
        }
        let line = String::from_utf8_lossy(&line).into_owned();
        let first = line.lines().next().unwrap_or("");
        match first.strip_prefix("listening on ") {
            Some(address) => {
                Ok(Server { running, address: address.trim().to_owned(), _stdout: stdout })
            }
            None => Err(no_address(peer, format!("its first line is {first:?}"))),
        }
    }

    /// Where it listens, as the client's `--server` takes it.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.running.pid()
    }

    /// Stops it where it is, as if its host did not run it.
    pub fn pause(&self) -> Result<(), ProcessError> {
        self.running.signal(Signal::STOP)
    }

    /// Lets it go on; nothing happens if it was not paused.
    pub fn resume(&self) -> Result<(), ProcessError> {
        self.running.signal(Signal::CONT)
    }

    /// Lets it answer what it has and end; returns what it counted.
    pub fn stop(mut self) -> Result<ServerEnd, ProcessError> {
        let status = self.running.end()?;
        if !status.success() {
            return Err(self.running.ended(status));
        }
        let log = self.running.log();
        Ok(ServerEnd { counters: counters(&log), log })
    }
}

fn no_address(peer: Peer, why: String) -> ProcessError {
    ProcessError::NoAddress(peer.program().to_owned(), why)
}

/// The numbers of the line `counters: calls=5 replies=5 ...`, the last one.
fn counters(log: &str) -> BTreeMap<String, u64> {
    let line = log.lines().rev().find_map(|line| line.strip_prefix("counters:"));
    let pair = |word: &str| {
        let (name, value) = word.split_once('=')?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    line.unwrap_or("").split_ascii_whitespace().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_counters_count_and_other_words_are_passed_over() {
        let log = "counters: calls=1\necho-server: x=9\ncounters: calls=7 odd= replies=8 y\nend\n";
        let expected = BTreeMap::from([("calls".to_owned(), 7), ("replies".to_owned(), 8)]);
        assert_eq!(counters(log), expected);
        assert_eq!(counters("nothing"), BTreeMap::new());
    }
}

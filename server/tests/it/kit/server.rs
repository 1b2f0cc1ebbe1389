//! The real program, started for one test.

use super::{PATIENCE, Peer, Proc, timed, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Small limits, so that cases are quick, but on time long ones, because a busy host is slow: tests
/// of time limits have their own. What a test sets replaces the value here.
const STANDARD: &[(&str, &str)] = &[
    ("--listen", "127.0.0.1:0"),
    ("--readers", "2"),
    ("--handlers", "2"),
    ("--pin", "none"),
    ("--max-connections", "256"),
    ("--max-frame-size", "1MiB"),
    ("--queue-capacity", "1024"),
    ("--max-in-flight", "128"),
    ("--max-owed-bytes", "2MiB"),
    ("--handshake-timeout", "30s"),
    ("--frame-timeout", "30s"),
    ("--idle-timeout", "60s"),
    ("--write-stall-timeout", "30s"),
    ("--drain-timeout", "10s"),
];

/// The standard options with `changes`; an option with the value `-` stands alone.
pub(crate) fn arguments(changes: &[(&str, &str)]) -> Vec<String> {
    // A server without handlers has no queue to bound.
    let unused = |name| name == "--queue-capacity" && changes.contains(&("--handlers", "0"));
    let kept = STANDARD.iter().filter(|(name, _)| changes.iter().all(|(new, _)| new != name));
    let kept = kept.filter(|(name, _)| !unused(*name));
    let mut out = Vec::new();
    for (name, value) in kept.chain(changes) {
        out.push((*name).to_owned());
        if *value != "-" {
            out.push((*value).to_owned());
        }
    }
    out
}

/// The server's program with its output piped.
pub(crate) fn command(arguments: &[String]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_echo-server"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A running server. Dropping it kills it.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    lines: Receiver<String>,
    seen: Vec<String>,
}

/// A server that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// The exit code; absent when a signal ended it.
    pub(crate) code: Option<i32>,
    /// Its stderr.
    pub(crate) lines: Vec<String>,
    /// The final `counters:` line; empty if there was none.
    pub(crate) counters: BTreeMap<String, u64>,
}

impl Ended {
    #[track_caller]
    pub(crate) fn counter(&self, name: &str) -> u64 {
        *self.counters.get(name).unwrap_or_else(|| panic!("no counter {name} in {self:?}"))
    }

    #[track_caller]
    pub(crate) fn check(&self, expected: &[(&str, u64)]) {
        for (name, count) in expected {
            assert_eq!(self.counter(name), *count, "{name} in {:?}", self.counters);
        }
    }
}

impl Server {
    /// The standard server with other options.
    pub(crate) fn start(changes: &[(&str, &str)]) -> Server {
        Server::start_command(command(&arguments(changes)))
    }

    pub(crate) fn start_command(mut command: Command) -> Server {
        let mut child = command.spawn().expect("the server's binary");
        let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
        // The pipe's other end goes with the command, so that its end can be seen.
        drop(command);
        let lines = match child.stderr.take() {
            Some(stderr) => follow(stderr),
            None => channel().1,
        };
        let mut first = String::new();
        stdout.read_line(&mut first).expect("stdout of the server");
        let address = first.strip_prefix("listening on ").and_then(|rest| rest.trim().parse().ok());
        let Some(address) = address else {
            child.kill().expect("our own child");
            let lines: Vec<String> = lines.iter().collect();
            panic!("the server's first line is {first:?}, its stderr {lines:?}");
        };
        Server { child, address, lines, seen: Vec::new() }
    }

    pub(crate) fn proc(&self) -> Proc {
        Proc::of(self.child.id())
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Lines on stderr so far.
    pub(crate) fn said(&mut self) -> &[String] {
        self.seen.extend(self.lines.try_iter());
        &self.seen
    }

    /// The server's counters now, asked over a connection of its own.
    #[track_caller]
    pub(crate) fn stats(&self) -> Value {
        Peer::open(self.address).stats()
    }

    /// A counter of a limit, now.
    #[track_caller]
    pub(crate) fn limit(&self, name: &str) -> u64 {
        self.stats()["limits"][name].as_u64().unwrap_or_else(|| panic!("no counter {name}"))
    }

    /// Waits until `name` has counted to `count`.
    #[track_caller]
    pub(crate) fn await_limit(&self, name: &str, count: u64) {
        until(&format!("{name} = {count}"), || self.limit(name) >= count);
        assert_eq!(self.limit(name), count, "{name}");
    }

    /// Waits until no connection is open but the asking one.
    #[track_caller]
    pub(crate) fn await_rest(&self) {
        self.await_rest_but(0);
    }

    /// The same, with `others` that stay.
    #[track_caller]
    pub(crate) fn await_rest_but(&self, others: u64) {
        until("all connections closed", || self.stats()["connections_open"] == 1 + others);
    }

    /// SIGSTOP, and waits until every thread stands still: the signal reaches one thread first,
    /// which on a busy host may take its time to tell the others.
    #[track_caller]
    pub(crate) fn pause(&self) {
        self.signal(Signal::STOP);
        until("all threads stopped", || self.proc().is_stopped());
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("our own child");
    }

    /// SIGTERM, and a good end.
    #[track_caller]
    pub(crate) fn stop(self) -> Ended {
        self.signal(Signal::TERM);
        let ended = self.wait();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(!ended.counters.is_empty(), "no counters in {ended:?}");
        let panicked = ended.lines.iter().find(|line| line.contains("panicked"));
        assert_eq!(panicked, None, "{ended:?}");
        let answered = ended.counter("replies") + ended.counter("replies_undeliverable");
        let answered = answered + ended.counter("replies_omitted");
        let doubled = ended.counters.get("faults_doubled").unwrap_or(&0);
        let asked = ended.counter("calls") + ended.counter("stats_calls") + doubled;
        assert_eq!(asked, answered, "calls and what became of them: {ended:?}");
        ended
    }

    /// Waits for its end.
    #[track_caller]
    pub(crate) fn wait(mut self) -> Ended {
        let mut lines = std::mem::take(&mut self.seen);
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => lines.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("the server does not end: {lines:?}"),
            }
        }
        let status = self.child.wait().expect("our own child");
        let counters = lines.iter().find_map(|line| line.strip_prefix("counters:"));
        let counters = counters.unwrap_or_default().split_whitespace().map(|pair| {
            let (name, count) = pair.split_once('=').expect("name=count");
            (name.to_owned(), count.parse().expect("a count"))
        });
        Ended { code: status.code(), counters: counters.collect(), lines }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn follow(from: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            // A test that is done does not read on.
            let _ = sender.send(line);
        }
    });
    lines
}

/// A run that ends by itself: exit code, stdout, stderr, time.
pub(crate) fn run(arguments: &[&str]) -> (Option<i32>, String, String, Duration) {
    let arguments: Vec<String> = arguments.iter().map(|&text| text.to_owned()).collect();
    let (output, took) = timed(|| command(&arguments).output().expect("the server's binary"));
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr), took)
}

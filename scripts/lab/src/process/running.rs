//! A child process that its owner ends; if the owner is killed itself, the system does.

use super::stop::{Stop, Waited};
use super::{ProcessError, bound};
use echo_common::clock::{self, now_ns};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::ffi::OsStr;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStdout, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Bytes of standard error that are kept, the last ones.
const LOG_MAX: usize = 256 << 10;
/// The exit code of both programs when they refuse their options.
const USAGE: i32 = 2;
/// How long a program may take to end after SIGTERM; its own limits are shorter.
const END_LIMIT: Duration = Duration::from_secs(20);

/// One started program. Dropping it kills it.
#[derive(Debug)]
pub(super) struct Running {
    name: String,
    child: Child,
    /// Readable when the process has ended; signals through it cannot hit another process.
    handle: OwnedFd,
    status: Option<ExitStatus>,
    log: Arc<Mutex<Vec<u8>>>,
    log_thread: Option<thread::JoinHandle<()>>,
}

impl Running {
    /// Starts `program`; its standard output is for the caller, its standard error is kept.
    pub(super) fn start<A: AsRef<OsStr>>(
        program: &Path,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<(Running, ChildStdout), ProcessError> {
        let name =
            program.file_name().map_or_else(String::new, |name| name.to_string_lossy().into());
        let refuse = |source| ProcessError::Start { program: name.clone(), source };
        let mut command = bound::command(program, arguments);
        command.process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for (variable, _) in std::env::vars_os() {
            let text = variable.to_string_lossy();
            if text.starts_with("ECHO_SERVER_") || text.starts_with("ECHO_CLIENT_") {
                command.env_remove(&variable);
            }
        }
        let mut child = command.spawn().map_err(refuse)?;
        let stdout = child.stdout.take().expect("it was asked for");
        let stderr = child.stderr.take().expect("it was asked for");
        let handle = match pidfd_open(Pid::from_child(&child), PidfdFlags::empty()) {
            Ok(handle) => handle,
            Err(error) => {
                // Both fail only if it has ended already.
                let _ = child.kill();
                let _ = child.wait();
                return Err(refuse(error.into()));
            }
        };
        let log = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&log);
        let log_thread = thread::spawn(move || keep_tail(stderr, &kept));
        let log_thread = Some(log_thread);
        Ok((Running { name, child, handle, status: None, log, log_thread }, stdout))
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it wrote to standard error: all of it once it has ended, the last part if it was much.
    pub(super) fn log(&mut self) -> String {
        if self.status.is_some()
            && let Some(thread) = self.log_thread.take()
        {
            // The thread only copies bytes; were it to panic, what it copied would be kept.
            let _ = thread.join();
        }
        let bytes = self.log.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The line of the log that says why it ended: its last error, else its last line.
    pub(super) fn last_words(&mut self) -> String {
        let log = self.log();
        why(&log).to_owned()
    }

    /// Waits until it has ended, `until_ns` at most. None if it has not.
    pub(super) fn wait(
        &mut self,
        until_ns: u64,
        stop: &Stop,
    ) -> Result<Option<ExitStatus>, ProcessError> {
        if self.status.is_none() {
            let waited = stop.wait(self.handle.as_fd(), until_ns);
            match waited.map_err(|error| ProcessError::System("cannot wait", error))? {
                Waited::Ready => self.reap()?,
                Waited::TimeUp => {}
                Waited::Stopped => {
                    let signal = stop.signal().expect("it is set before the stop is raised");
                    return Err(ProcessError::Interrupted(signal));
                }
            }
        }
        Ok(self.status)
    }

    /// Sends it a signal; fails if it has ended.
    pub(super) fn signal(&self, signal: Signal) -> Result<(), ProcessError> {
        let failed = |error: rustix::io::Errno| {
            ProcessError::System("cannot pause a program or let it go on", error.into())
        };
        pidfd_send_signal(&self.handle, signal).map_err(failed)
    }

    /// Asks it to end and waits for that, also if the lab itself is to end.
    pub(super) fn end(&mut self) -> Result<ExitStatus, ProcessError> {
        let system = |error| ProcessError::System("cannot end a program", error);
        if let Some(status) = self.status {
            return Ok(status);
        }
        // They fail only if it has just ended. One that was paused does not hear the first alone.
        let _ = pidfd_send_signal(&self.handle, Signal::TERM);
        let _ = pidfd_send_signal(&self.handle, Signal::CONT);
        let until_ns = now_ns().saturating_add(clock::ns(END_LIMIT));
        let patient = Stop::never().map_err(system)?;
        match self.wait(until_ns, &patient)? {
            Some(status) => Ok(status),
            None => Err(self.too_long(END_LIMIT)),
        }
    }

    /// Kills it, and says why.
    pub(super) fn too_long(&mut self, limit: Duration) -> ProcessError {
        self.kill();
        ProcessError::TooLong { program: self.name.clone(), limit }
    }

    /// The error that an ending is if one of the two programs did not take its options.
    pub(super) fn refused(&mut self, status: ExitStatus) -> Option<ProcessError> {
        let refused = status.code() == Some(USAGE);
        refused
            .then(|| ProcessError::Refused { program: self.name.clone(), why: self.last_words() })
    }

    /// The error that an ending with something else than 0 is.
    pub(super) fn ended(&mut self, status: ExitStatus) -> ProcessError {
        let ending = match (status.code(), status.signal()) {
            (Some(code), _) => code.to_string(),
            // Nothing that it wrote before says why another one ended it.
            (None, signal) => {
                let ending = format!("signal {}", signal.unwrap_or(0));
                let why = "it was killed".to_owned();
                return ProcessError::Ended { program: self.name.clone(), ending, why };
            }
        };
        ProcessError::Ended { program: self.name.clone(), ending, why: self.last_words() }
    }

    fn reap(&mut self) -> Result<(), ProcessError> {
        let status = self.child.wait();
        self.status =
            Some(status.map_err(|error| ProcessError::System("cannot wait for a program", error))?);
        Ok(())
    }

    fn kill(&mut self) {
        if self.status.is_none() {
            // Both fail only if it has ended already, which is what is wanted.
            let _ = self.child.kill();
            let _ = self.reap();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The programs' options are refused with an `error:` line that a hint to their help follows.
fn why(log: &str) -> &str {
    let mut lines = log.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    let error = lines.clone().find_map(|line| line.strip_prefix("error: "));
    error.or_else(|| lines.next()).unwrap_or("it said nothing")
}

/// Reads to the end and keeps the last part.
fn keep_tail(mut from: impl Read, kept: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 4096];
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            // A pipe that cannot be read says nothing more.
            Err(_) => return,
        };
        let mut kept = kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        kept.extend_from_slice(&buffer[..count]);
        let excess = kept.len().saturating_sub(LOG_MAX);
        if excess > 0 {
            kept.drain(..excess);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_the_error_and_not_the_hint_after_it() {
        let check = |log: &str, expected: &str| assert_eq!(why(log), expected, "{log}");
        let refused = "error: invalid value '-2'\n\nFor more information, try '--help'.\n";
        check(refused, "invalid value '-2'");
        check("started\n  cannot listen  \n\n", "cannot listen");
        check("\n", "it said nothing");
    }
}

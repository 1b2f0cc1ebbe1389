//! echo-client as a process.

use super::running::Running;
use super::{ProcessError, Programs};
use echo_common::clock::{self, now_ns};
use serde_json::Value;
use std::ffi::OsStr;
use std::io::Read;
use std::process::ChildStdout;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// What [`client`] lets a run take: longer than any that an experiment asks for.
const CLIENT_LIMIT: Duration = Duration::from_secs(15 * 60);
/// A report is far smaller than this.
const REPORT_MAX: u64 = 64 << 20;
/// The client's exit code when some calls were not answered rightly; its report is whole.
const SOME_FAILED: i32 = 1;

/// A client that runs. Dropping it kills it.
#[derive(Debug)]
pub struct Client {
    running: Running,
    report: Option<JoinHandle<Vec<u8>>>,
}

/// What a client said at its end.
#[derive(Clone, Debug)]
pub struct ClientEnd {
    /// 0, or 1 if some calls were not answered rightly.
    pub code: i32,
    /// Its report, the client's JSON form.
    pub report: Value,
    /// What it wrote to standard error.
    pub log: String,
}

/// Runs a client with these options against `address`; gives its report. Anything but an end with 0
/// is an error.
pub fn client<A: AsRef<OsStr>>(
    programs: &Programs,
    address: &str,
    options: impl IntoIterator<Item = A>,
) -> Result<Value, ProcessError> {
    let end =
        Client::start(programs, address, options)?.finish(programs, CLIENT_LIMIT, || u64::MAX)?;
    if end.code == 0 {
        return Ok(end.report);
    }
    let outcomes = end.report.get("outcomes").map_or_else(String::new, Value::to_string);
    Err(ProcessError::Ended {
        program: "echo-client".to_owned(),
        ending: end.code.to_string(),
        why: format!("some calls were not answered rightly: {outcomes}"),
    })
}

impl Client {
    /// Starts a client with these options against `address`.
    pub fn start<A: AsRef<OsStr>>(
        programs: &Programs,
        address: &str,
        options: impl IntoIterator<Item = A>,
    ) -> Result<Client, ProcessError> {
        let own = ["--server", address, "--format", "json", "--progress", "none"];
        let own = own.map(|word| OsStr::new(word).to_owned());
        let options = options.into_iter().map(|option| option.as_ref().to_owned());
        let (running, stdout) = Running::start(programs.client(), own.into_iter().chain(options))?;
        Ok(Client { running, report: Some(thread::spawn(move || read_all(stdout))) })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.running.pid()
    }

    /// Waits for its end, up to `limit`; calls `look` meanwhile, which says when it is to be called
    /// again.
    pub fn finish(
        mut self,
        programs: &Programs,
        limit: Duration,
        mut look: impl FnMut() -> u64,
    ) -> Result<ClientEnd, ProcessError> {
        let until_ns = now_ns().saturating_add(clock::ns(limit));
        let mut next_ns = look();
        let status = loop {
            if let Some(status) = self.running.wait(next_ns.min(until_ns), programs.stop())? {
                break status;
            }
            if now_ns() >= until_ns {
                return Err(self.running.too_long(limit));
            }
            next_ns = look();
        };
        let code = match status.code() {
            Some(code @ (0 | SOME_FAILED)) => code,
            _ => {
                let refused = self.running.refused(status);
                return Err(refused.unwrap_or_else(|| self.running.ended(status)));
            }
        };
        let thread = self.report.take().expect("finish takes the client");
        let bytes = thread.join().unwrap_or_default();
        let report = serde_json::from_slice(&bytes)
            .map_err(|error| ProcessError::Report(error.to_string()))?;
        Ok(ClientEnd { code, report, log: self.running.log() })
    }
}

fn read_all(stdout: ChildStdout) -> Vec<u8> {
    let mut bytes = Vec::new();
    // What was read before an error is no whole report, and will be refused as that.
    let _ = stdout.take(REPORT_MAX).read_to_end(&mut bytes);
    bytes
}

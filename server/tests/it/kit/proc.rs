//! What the kernel says about a process.

use std::fs;
use std::time::Duration;

/// One process, by its id.
pub(crate) struct Proc(u32);

impl Proc {
    pub(crate) fn of(pid: u32) -> Proc {
        Proc(pid)
    }

    fn status(&self, field: &str) -> String {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0)).expect("alive");
        let line = status.lines().find_map(|line| line.strip_prefix(field));
        line.expect("a field of the status file").trim_start_matches(':').trim().to_owned()
    }

    fn kib(&self, field: &str) -> u64 {
        self.status(field).trim_end_matches(" kB").parse().expect("a size")
    }

    /// Memory in use, in KiB.
    pub(crate) fn rss_kib(&self) -> u64 {
        self.kib("VmRSS")
    }

    /// The most memory that was ever in use, in KiB.
    pub(crate) fn rss_peak_kib(&self) -> u64 {
        self.kib("VmHWM")
    }

    pub(crate) fn threads(&self) -> u64 {
        self.status("Threads").parse().expect("a count")
    }

    /// Open descriptors.
    pub(crate) fn files(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.0)).expect("alive").count()
    }

    /// CPU time so far, in the kernel's ticks of 10 ms.
    pub(crate) fn cpu(&self) -> Duration {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0)).expect("alive");
        // The name, in parentheses, may hold blanks.
        let (_, fields) = stat.rsplit_once(')').expect("a name");
        let ticks = |field: usize| -> u64 {
            fields.split_whitespace().nth(field).expect("a field").parse().expect("ticks")
        };
        Duration::from_millis(10 * (ticks(11) + ticks(12)))
    }

    /// Whether a signal has stopped every thread.
    pub(crate) fn is_stopped(&self) -> bool {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.0)).expect("alive");
        tasks.flatten().all(|task| {
            let stat = fs::read_to_string(task.path().join("stat")).expect("alive");
            stat.rsplit_once(") ").is_some_and(|(_, fields)| fields.starts_with('T'))
        })
    }

    /// Name and allowed CPUs of each thread.
    pub(crate) fn placement(&self) -> Vec<(String, String)> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.0)).expect("alive");
        let one = |task: std::io::Result<fs::DirEntry>| {
            let status = fs::read_to_string(task.expect("a thread").path().join("status"));
            let status = status.expect("a living thread");
            let field = |name| {
                let line = status.lines().find_map(|line| line.strip_prefix(name));
                line.expect("a field").trim().to_owned()
            };
            (field("Name:"), field("Cpus_allowed_list:"))
        };
        tasks.map(one).collect()
    }
}

//! CPU time and context switches of this process and its threads.

use rustix::time::{ClockId, Timespec, clock_gettime};

/// CPU time that this process used, ended threads included. Costs a system call.
pub fn process_cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ProcessCPUTime))
}

/// CPU time that the calling thread used. Costs a system call.
pub fn thread_cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}

/// The kernel's id of the calling thread, by which others can look it up.
pub fn current_thread_id() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// What the scheduler counted for one thread since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadTimes {
    /// Time on a CPU.
    pub run_ns: u64,
    /// Time ready to run, waiting for a CPU.
    pub wait_ns: u64,
    /// How often it was put on a CPU.
    pub slices: u64,
}

/// The times of a living thread of this process; `None` when it is gone or nobody counts.
pub fn thread_times(tid: i32) -> Option<ThreadTimes> {
    parse_schedstat(&task_file(tid, "schedstat")?)
}

/// How often threads gave up a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContextSwitches {
    /// Because they waited for something.
    pub voluntary: u64,
    /// Because another thread's turn came.
    pub involuntary: u64,
}

/// The context switches of a living thread of this process, (voluntary, involuntary).
pub fn context_switches(tid: i32) -> Option<(u64, u64)> {
    let found = parse_status(&task_file(tid, "status")?)?;
    Some((found.voluntary, found.involuntary))
}

/// The context switches of all living threads of this process; those of ended ones are not in it.
pub fn process_context_switches() -> Option<ContextSwitches> {
    let mut total = ContextSwitches::default();
    for entry in std::fs::read_dir("/proc/self/task").ok()? {
        // A thread may end between the listing and the reading.
        let Ok(status) = std::fs::read_to_string(entry.ok()?.path().join("status")) else {
            continue;
        };
        let found = parse_status(&status)?;
        total.voluntary += found.voluntary;
        total.involuntary += found.involuntary;
    }
    Some(total)
}

fn task_file(tid: i32, name: &str) -> Option<String> {
    std::fs::read_to_string(format!("/proc/self/task/{tid}/{name}")).ok()
}

fn nanoseconds(time: Timespec) -> u64 {
    // Both parts of a CPU clock are never negative.
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn parse_schedstat(text: &str) -> Option<ThreadTimes> {
    let mut fields = text.split_ascii_whitespace().map(|field| field.parse().ok());
    let times =
        ThreadTimes { run_ns: fields.next()??, wait_ns: fields.next()??, slices: fields.next()?? };
    // A kernel without the counters prints three zeros, and no living thread has run zero times.
    (times != ThreadTimes::default()).then_some(times)
}

fn parse_status(text: &str) -> Option<ContextSwitches> {
    let field = |name: &str| -> Option<u64> {
        text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
    };
    Some(ContextSwitches {
        voluntary: field("voluntary_ctxt_switches:")?,
        involuntary: field("nonvoluntary_ctxt_switches:")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedstat_has_three_numbers_or_nothing() {
        let times = ThreadTimes { run_ns: 556864, wait_ns: 12, slices: 1 };
        assert_eq!(parse_schedstat("556864 12 1\n"), Some(times));
        for text in ["", "1 2", "1 2 x", "0 0 0\n", "-1 2 3"] {
            assert_eq!(parse_schedstat(text), None, "{text:?}");
        }
    }

    #[test]
    fn status_has_both_kinds_of_switches_or_nothing() {
        let text = "Name:\tx\nvoluntary_ctxt_switches:\t42\nnonvoluntary_ctxt_switches:\t7\n";
        let found = ContextSwitches { voluntary: 42, involuntary: 7 };
        assert_eq!(parse_status(text), Some(found));
        assert_eq!(parse_status("voluntary_ctxt_switches:\t42\n"), None);
    }
}

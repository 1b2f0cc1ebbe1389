//! The machine that figures come from, and how busy it was. What cannot be read is `None`.

use crate::{cgroup, pinning};
use serde::Serialize;
use std::fs;

/// What does not change during a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Host {
    /// The kernel's release.
    pub kernel: Option<String>,
    /// The CPU's model name.
    pub cpu_model: Option<String>,
    /// CPUs that are switched on.
    pub cpus_online: Option<usize>,
    /// CPUs that this process may use, such as `0-3,5`.
    pub cpus_allowed: String,
    /// CPUs that the control group's quota grants; none without a quota.
    pub cgroup_cpu_quota: Option<f64>,
    /// The frequency governor of the first allowed CPU.
    pub governor: Option<String>,
    /// Whether the CPU says that it is a virtual one.
    pub hypervisor: Option<bool>,
    /// Memory of the machine.
    pub memory_bytes: Option<u64>,
}

/// Describes this host; `allowed` is what [`pinning::allowed_cpus`] gave in `main`.
pub fn describe(allowed: &[usize]) -> Host {
    let cpuinfo = read("/proc/cpuinfo").unwrap_or_default();
    let governor = allowed.first().and_then(|cpu| {
        read(&format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"))
    });
    Host {
        kernel: read("/proc/sys/kernel/osrelease").map(trimmed),
        cpu_model: parse_cpu_model(&cpuinfo),
        cpus_online: read("/sys/devices/system/cpu/online")
            .and_then(|list| pinning::parse_kernel_list(&list))
            .map(|cpus| cpus.len()),
        cpus_allowed: pinning::format_cpu_list(allowed),
        cgroup_cpu_quota: cgroup::cpu_quota(),
        governor: governor.map(trimmed),
        hypervisor: parse_hypervisor(&cpuinfo),
        memory_bytes: read("/proc/meminfo").and_then(|text| parse_memory(&text)),
    }
}

/// Counters of the whole host since it was started, read at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HostLoad {
    /// Time that CPUs worked, summed over CPUs.
    pub busy_ms: u64,
    /// Time that CPUs had nothing to do, or waited for a disk.
    pub idle_ms: u64,
    /// Time that the hypervisor gave to somebody else.
    pub steal_ms: u64,
    /// Time in which some task waited for a CPU.
    pub psi_cpu_some_us: Option<u64>,
    /// Context switches.
    pub context_switches: Option<u64>,
    /// Tasks that run or want to, at that moment.
    pub procs_running: Option<u64>,
    /// How often our control group was stopped because its CPU quota was used up.
    pub cgroup_throttled: Option<u64>,
}

/// What happened on the host between two readings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HostChange {
    /// Share of all CPU time spent working, 0 to 1; none when no time passed.
    pub busy_share: Option<f64>,
    /// Share of all CPU time spent idle.
    pub idle_share: Option<f64>,
    /// Share of all CPU time that the hypervisor took.
    pub steal_share: Option<f64>,
    /// Time in which some task waited for a CPU.
    pub psi_cpu_some_us: Option<u64>,
    /// Context switches.
    pub context_switches: Option<u64>,
    /// How often our control group was stopped because its CPU quota was used up.
    pub cgroup_throttled: Option<u64>,
}

/// Reads the host's counters; `None` where there is no `/proc/stat`.
pub fn load() -> Option<HostLoad> {
    let mut load = parse_stat(&read("/proc/stat")?, rustix::param::clock_ticks_per_second())?;
    load.psi_cpu_some_us = read("/proc/pressure/cpu").and_then(|text| parse_pressure(&text));
    load.cgroup_throttled = cgroup::throttled();
    Some(load)
}

impl HostLoad {
    /// The change since an `earlier` reading.
    pub fn since(&self, earlier: &HostLoad) -> HostChange {
        // Single counters of /proc/stat may step back, the idle ones above all.
        let busy = self.busy_ms.saturating_sub(earlier.busy_ms);
        let idle = self.idle_ms.saturating_sub(earlier.idle_ms);
        let steal = self.steal_ms.saturating_sub(earlier.steal_ms);
        let total = busy + idle + steal;
        let share = |part: u64| (total > 0).then(|| part as f64 / total as f64);
        HostChange {
            busy_share: share(busy),
            idle_share: share(idle),
            steal_share: share(steal),
            psi_cpu_some_us: grown(self.psi_cpu_some_us, earlier.psi_cpu_some_us),
            context_switches: grown(self.context_switches, earlier.context_switches),
            cgroup_throttled: grown(self.cgroup_throttled, earlier.cgroup_throttled),
        }
    }
}

fn grown(now: Option<u64>, earlier: Option<u64>) -> Option<u64> {
    Some(now?.saturating_sub(earlier?))
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok()
}

fn trimmed(text: String) -> String {
    text.trim().to_string()
}

/// The value of the first line of the form `name : value`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then_some(value.trim())
    })
}

fn parse_cpu_model(cpuinfo: &str) -> Option<String> {
    field(cpuinfo, "model name").filter(|name| !name.is_empty()).map(str::to_string)
}

fn parse_hypervisor(cpuinfo: &str) -> Option<bool> {
    let flags = field(cpuinfo, "flags")?;
    Some(flags.split_ascii_whitespace().any(|flag| flag == "hypervisor"))
}

fn parse_memory(meminfo: &str) -> Option<u64> {
    let kib: u64 = field(meminfo, "MemTotal")?.strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

fn parse_stat(stat: &str, ticks_per_second: u64) -> Option<HostLoad> {
    let number = |name: &str| -> Option<u64> {
        stat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
    };
    let cpu = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    // user nice system idle iowait irq softirq steal; guest time is in user already.
    let ticks: Vec<u64> = cpu
        .split_ascii_whitespace()
        .take(8)
        .map(|ticks| ticks.parse().ok())
        .collect::<Option<_>>()?;
    let &[user, nice, system, idle, iowait, irq, softirq, steal] = ticks.first_chunk()?;
    let ms = |ticks: &[u64]| {
        let sum: u128 = ticks.iter().copied().map(u128::from).sum();
        u64::try_from(sum * 1000 / u128::from(ticks_per_second.max(1))).unwrap_or(u64::MAX)
    };
    Some(HostLoad {
        busy_ms: ms(&[user, nice, system, irq, softirq]),
        idle_ms: ms(&[idle, iowait]),
        steal_ms: ms(&[steal]),
        psi_cpu_some_us: None,
        context_switches: number("ctxt "),
        procs_running: number("procs_running "),
        cgroup_throttled: None,
    })
}

fn parse_pressure(text: &str) -> Option<u64> {
    let some = text.lines().find(|line| line.starts_with("some "))?;
    some.split(' ').find_map(|part| part.strip_prefix("total=")?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPUINFO: &str = "processor\t: 0\nmodel name\t: AMD EPYC\n\
                           flags\t\t: fpu hypervisor sse\n\nprocessor\t: 1\nmodel name\t: other\n";
    const STAT: &str = "cpu  10 20 30 400 50 6 4 7 99 99\ncpu0 1 1 1 1 1 1 1 1 1 1\n\
                        ctxt 12345\nbtime 1\nprocs_running 3\n";

    #[test]
    fn the_host_is_read_from_the_kernels_tables() {
        assert_eq!(parse_cpu_model(CPUINFO).as_deref(), Some("AMD EPYC"));
        assert_eq!(parse_hypervisor(CPUINFO), Some(true));
        assert_eq!(parse_hypervisor("flags : fpu\n"), Some(false));
        assert_eq!(parse_memory("MemTotal:       2048 kB\nMemFree: 1 kB\n"), Some(2 << 20));
    }

    #[test]
    fn what_is_not_there_is_none_rather_than_a_guess() {
        assert_eq!(parse_cpu_model("processor : 0\nmodel name :\n"), None);
        assert_eq!(parse_hypervisor("Features : fp asimd\n"), None);
        assert_eq!(parse_memory("MemTotal: much kB\n"), None);
        assert_eq!(parse_stat("cpu  1 2 3\n", 100), None);
        assert_eq!(parse_stat("cpu  1 2 3 4 5 6 7 x\n", 100), None);
        assert_eq!(parse_stat("", 100), None);
        assert_eq!(parse_pressure("full avg10=0.00 total=5\n"), None);
    }

    #[test]
    fn host_time_is_busy_idle_or_stolen() {
        let load = parse_stat(STAT, 100).unwrap();
        assert_eq!((load.busy_ms, load.idle_ms, load.steal_ms), (700, 4500, 70));
        assert_eq!((load.context_switches, load.procs_running), (Some(12345), Some(3)));
        let pressure = "some avg10=0.25 avg60=0.41 avg300=0.48 total=6042021\nfull total=0\n";
        assert_eq!(parse_pressure(pressure), Some(6_042_021));
    }

    #[test]
    fn shares_add_up_and_no_time_has_none() {
        let earlier = HostLoad { busy_ms: 100, idle_ms: 100, ..HostLoad::default() };
        let later = HostLoad { busy_ms: 400, idle_ms: 150, steal_ms: 50, ..HostLoad::default() };
        let change = later.since(&earlier);
        assert_eq!(change.busy_share, Some(0.75));
        assert_eq!(change.idle_share, Some(0.125));
        assert_eq!(change.steal_share, Some(0.125));
        assert_eq!(change.psi_cpu_some_us, None);
        assert_eq!(later.since(&later).busy_share, None);
        assert_eq!(earlier.since(&later).busy_share, None);
    }
}

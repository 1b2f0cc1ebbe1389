//! What the lab sees of a run from outside: CPU of both processes and their threads, the host's
//! load, its frequency. Read from /proc a few times a second; what cannot be read is null.

use echo_common::clock::now_ns;
use echo_common::host::{self, HostLoad};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

/// Looks at the processes of a run and the host until it is asked for the result.
pub(super) struct Sampler {
    processes: Vec<(&'static str, u32)>,
    first: Option<Look>,
    last: Option<Look>,
    moments: Vec<Moment>,
}

/// Everything at one moment.
#[derive(Clone)]
struct Look {
    at_ns: u64,
    host: Option<HostLoad>,
    mhz: Option<f64>,
    /// By process and thread id.
    threads: BTreeMap<(&'static str, u32), Thread>,
}

#[derive(Clone, Debug, Default)]
struct Thread {
    name: String,
    run_ns: u64,
    wait_ns: u64,
    involuntary: u64,
}

/// What is seen between two looks. Shares of the host are of all CPUs, those of processes in CPUs.
#[derive(Clone, Debug, Serialize)]
struct Moment {
    end_s: f64,
    server_cpus: f64,
    client_cpus: f64,
    follower_cpus: f64,
    host_busy_share: Option<f64>,
    steal_share: Option<f64>,
    psi_cpu_some_share: Option<f64>,
    mhz: Option<f64>,
}

/// All of it, for the run's report.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Samples {
    seconds: f64,
    threads: Vec<ThreadShare>,
    involuntary_switches: BTreeMap<&'static str, u64>,
    host_busy_share: Option<f64>,
    steal_share: Option<f64>,
    psi_cpu_some_share: Option<f64>,
    mhz: Option<f64>,
    measured: Option<Measured>,
    moments: Vec<Moment>,
}

/// The moments that lie in the run's measured part.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Measured {
    seconds: f64,
    server_cpus: f64,
    client_cpus: f64,
    follower_cpus: f64,
}

#[derive(Clone, Debug, Serialize)]
struct ThreadShare {
    process: &'static str,
    name: String,
    cpu_share: f64,
    wait_share: f64,
    involuntary_switches: u64,
}

impl Sampler {
    pub(super) fn new(server: u32, client: u32, followers: &[u32]) -> Sampler {
        let followers = followers.iter().map(|pid| ("follower", *pid));
        let processes = [("server", server), ("client", client)].into_iter().chain(followers);
        let processes = processes.collect();
        let mut sampler = Sampler { processes, first: None, last: None, moments: Vec::new() };
        sampler.look();
        sampler
    }

    /// Takes one look.
    pub(super) fn look(&mut self) {
        let mut threads = BTreeMap::new();
        for &(process, pid) in &self.processes {
            for (id, thread) in threads_of(pid) {
                threads.insert((process, id), thread);
            }
        }
        let look = Look { at_ns: now_ns(), host: host::load(), mhz: mhz(), threads };
        let Some(first) = &self.first else {
            self.first = Some(look.clone());
            self.last = Some(look);
            return;
        };
        if let Some(last) = &self.last {
            let end_s = seconds(first, &look);
            self.moments.push(moment(last, &look, end_s));
        }
        self.last = Some(look);
    }

    /// What was seen; none if there was no time to see anything. `window` is the measured part.
    pub(super) fn result(self, window: Option<(Duration, Duration)>) -> Option<Samples> {
        let (first, last) = (self.first?, self.last?);
        let seconds = seconds(&first, &last);
        if seconds <= 0.0 {
            return None;
        }
        let mut involuntary_switches = BTreeMap::new();
        let mut threads = Vec::new();
        for ((process, id), thread) in &last.threads {
            let before = first.threads.get(&(*process, *id)).cloned().unwrap_or_default();
            let involuntary = thread.involuntary.saturating_sub(before.involuntary);
            *involuntary_switches.entry(*process).or_default() += involuntary;
            let share = |now: u64, then: u64| now.saturating_sub(then) as f64 / 1e9 / seconds;
            threads.push(ThreadShare {
                process,
                name: thread.name.clone(),
                cpu_share: share(thread.run_ns, before.run_ns),
                wait_share: share(thread.wait_ns, before.wait_ns),
                involuntary_switches: involuntary,
            });
        }
        let change = last.host.zip(first.host).map(|(last, first)| last.since(&first));
        Some(Samples {
            seconds,
            threads,
            involuntary_switches,
            host_busy_share: change.and_then(|change| change.busy_share),
            steal_share: change.and_then(|change| change.steal_share),
            psi_cpu_some_share: change
                .and_then(|change| change.psi_cpu_some_us)
                .map(|us| us as f64 / 1e6 / seconds),
            mhz: last.mhz,
            measured: window.and_then(|window| measured(&self.moments, window)),
            moments: self.moments,
        })
    }
}

/// Of the moments that lie in the window as a whole; none if none does.
fn measured(moments: &[Moment], (from, to): (Duration, Duration)) -> Option<Measured> {
    let mut begin_s = 0.0;
    let mut sum = Measured { seconds: 0.0, server_cpus: 0.0, client_cpus: 0.0, follower_cpus: 0.0 };
    for moment in moments {
        let seconds = moment.end_s - begin_s;
        if begin_s >= from.as_secs_f64() && moment.end_s <= to.as_secs_f64() {
            sum.seconds += seconds;
            sum.server_cpus += moment.server_cpus * seconds;
            sum.client_cpus += moment.client_cpus * seconds;
            sum.follower_cpus += moment.follower_cpus * seconds;
        }
        begin_s = moment.end_s;
    }
    (sum.seconds > 0.0).then(|| Measured {
        server_cpus: sum.server_cpus / sum.seconds,
        client_cpus: sum.client_cpus / sum.seconds,
        follower_cpus: sum.follower_cpus / sum.seconds,
        ..sum
    })
}

fn seconds(from: &Look, to: &Look) -> f64 {
    to.at_ns.saturating_sub(from.at_ns) as f64 / 1e9
}

fn moment(from: &Look, to: &Look, end_s: f64) -> Moment {
    let seconds = seconds(from, to).max(1e-9);
    let cpus = |process: &str| {
        let threads = to.threads.iter().filter(|((of, _), _)| *of == process);
        let grown = |(key, thread): (&(&'static str, u32), &Thread)| {
            let before = from.threads.get(key).map_or(0, |thread| thread.run_ns);
            thread.run_ns.saturating_sub(before)
        };
        threads.map(grown).sum::<u64>() as f64 / 1e9 / seconds
    };
    let change = to.host.zip(from.host).map(|(to, from)| to.since(&from));
    Moment {
        end_s,
        server_cpus: cpus("server"),
        client_cpus: cpus("client"),
        follower_cpus: cpus("follower"),
        host_busy_share: change.and_then(|change| change.busy_share),
        steal_share: change.and_then(|change| change.steal_share),
        psi_cpu_some_share: change
            .and_then(|change| change.psi_cpu_some_us)
            .map(|us| us as f64 / 1e6 / seconds),
        mhz: to.mhz,
    }
}

/// The living threads of a process. One may end between the listing and the reading.
fn threads_of(pid: u32) -> Vec<(u32, Thread)> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    let one = |path: std::path::PathBuf| {
        let id = path.file_name()?.to_str()?.parse().ok()?;
        let times = fs::read_to_string(path.join("schedstat")).ok()?;
        let status = fs::read_to_string(path.join("status")).unwrap_or_default();
        Some((id, parse_thread(&times, &status)?))
    };
    tasks.flatten().filter_map(|task| one(task.path())).collect()
}

fn parse_thread(schedstat: &str, status: &str) -> Option<Thread> {
    let mut times = schedstat.split_ascii_whitespace().map(str::parse);
    let (run_ns, wait_ns) = (times.next()?.ok()?, times.next()?.ok()?);
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|line| line.strip_prefix(':')).map(str::trim)
    };
    let involuntary = field("nonvoluntary_ctxt_switches").and_then(|count| count.parse().ok());
    Some(Thread {
        name: field("Name").unwrap_or("?").to_owned(),
        run_ns,
        wait_ns,
        involuntary: involuntary.unwrap_or(0),
    })
}

/// The present frequency of the first CPU.
fn mhz() -> Option<f64> {
    let khz = fs::read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq");
    if let Some(khz) = khz.ok().and_then(|khz| khz.trim().parse::<f64>().ok()) {
        return Some(khz / 1e3);
    }
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = cpuinfo.lines().find(|line| line.starts_with("cpu MHz"))?;
    line.split(':').nth(1)?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_read_from_the_kernels_tables() {
        let status = "Name:\treader-00\nState:\tS\nnonvoluntary_ctxt_switches:\t7\n";
        let thread = parse_thread("123 45 6\n", status).unwrap();
        assert_eq!((thread.name.as_str(), thread.run_ns), ("reader-00", 123));
        assert_eq!((thread.wait_ns, thread.involuntary), (45, 7));
        assert!(parse_thread("", status).is_none());
        assert!(parse_thread("x y", status).is_none());
    }

    #[test]
    fn only_whole_moments_of_the_measured_part_count() {
        let moment = |end_s, cpus| Moment {
            end_s,
            server_cpus: cpus,
            client_cpus: 2.0 * cpus,
            follower_cpus: 0.0,
            host_busy_share: None,
            steal_share: None,
            psi_cpu_some_share: None,
            mhz: None,
        };
        let moments = [moment(1.0, 9.0), moment(1.5, 1.0), moment(2.5, 0.25), moment(3.5, 9.0)];
        let check = |from, to, expected: Option<(f64, f64)>| {
            let found = measured(&moments, (Duration::from_secs(from), Duration::from_secs(to)));
            assert_eq!(found.map(|found| (found.seconds, found.server_cpus)), expected);
        };
        check(1, 3, Some((1.5, 0.5)));
        check(0, 1, Some((1.0, 9.0)));
        check(4, 9, None);
    }

    #[test]
    fn a_process_that_is_gone_has_no_threads_and_one_that_runs_has() {
        let own = std::process::id();
        assert!(!threads_of(own).is_empty());
        let mut sampler = Sampler::new(own, u32::MAX, &[]);
        sampler.look();
        let samples = sampler.result(None).unwrap();
        assert!(samples.threads.iter().all(|thread| thread.process == "server"));
        assert_eq!(samples.moments.len(), 1);
    }
}

//! The CPUs that we may use, and which thread goes where.
//!
//! A new thread inherits the mask of the one that starts it. So [`allowed_cpus`] is asked once in
//! `main`, before anything is pinned, `main` itself is never pinned, and each thread pins itself.

use crate::cgroup;
use core_affinity::CoreId;
use std::collections::HashSet;
use thiserror::Error;

/// CPU ids from here on cannot be pinned: the kernel call's fixed mask ends there.
pub const CPU_ID_END: usize = 1024;

/// What is wrong with a list of CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CpuListError {
    /// The text is not a list.
    #[error("`{part}` is not a CPU or a range of CPUs; allowed: a list such as 0-3,5")]
    Malformed {
        /// The part between commas that was not understood, at most 32 characters, escaped.
        part: String,
    },
    /// A range that runs backwards.
    #[error("the range {first}-{last} runs backwards; allowed: a list such as 0-3,5")]
    Backwards {
        /// Where the range begins.
        first: usize,
        /// Where it ends.
        last: usize,
    },
    /// An id that no mask can hold.
    #[error("CPU {cpu} is too large; allowed: 0 to {}", CPU_ID_END - 1)]
    TooLarge {
        /// The id that was given.
        cpu: usize,
    },
    /// The same CPU more than once.
    #[error("CPU {cpu} is listed twice; allowed: each CPU once, such as 0-3,5")]
    Twice {
        /// The repeated id.
        cpu: usize,
    },
    /// A CPU that this process may not run on.
    #[error("CPU {cpu} is outside the CPUs of this process; allowed: {allowed}")]
    Outside {
        /// The first such CPU.
        cpu: usize,
        /// The process's list.
        allowed: String,
    },
}

/// Why a thread is not pinned.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PinError {
    /// An id that no mask can hold.
    #[error("CPU {cpu} cannot be pinned: ids end at {}", CPU_ID_END - 1)]
    TooLarge {
        /// The id that was asked for.
        cpu: usize,
    },
    /// The kernel refused, or did something else than it was asked for.
    #[error("the thread was not pinned to CPU {cpu}, it may run on {mask}")]
    Refused {
        /// The id that was asked for.
        cpu: usize,
        /// The thread's mask as it is now.
        mask: String,
    },
}

/// The CPUs that this process may use, ascending. Ask once, in `main`, before anything is pinned.
///
/// Never empty. Where masks cannot be read it is as many as the standard library believes in.
pub fn allowed_cpus() -> Vec<usize> {
    let mask = current_mask();
    if !mask.is_empty() {
        return mask;
    }
    (0..std::thread::available_parallelism().map_or(1, usize::from)).collect()
}

/// The CPUs that the calling thread may use, ascending; empty where that cannot be read.
pub fn current_mask() -> Vec<usize> {
    let ids = core_affinity::get_core_ids().unwrap_or_default();
    if !ids.is_empty() {
        return ids.into_iter().map(|core| core.id).collect();
    }
    // A kernel for more than 1024 CPUs refuses the fixed mask, but it prints the list.
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.and_then(parse_kernel_list).unwrap_or_default()
}

/// Reads a list as the kernel prints it, in which ids may be beyond what can be pinned.
pub(crate) fn parse_kernel_list(text: &str) -> Option<Vec<usize>> {
    read_list(text, usize::from(u16::MAX)).ok()
}

/// Reads a list such as `0-3,5`; the order is kept, because threads are placed in it.
pub fn parse_cpu_list(text: &str) -> Result<Vec<usize>, CpuListError> {
    read_list(text, CPU_ID_END)
}

/// The list in the form that [`parse_cpu_list`] reads: `0-3,5`.
pub fn format_cpu_list(cpus: &[usize]) -> String {
    let mut out = String::new();
    for run in cpus.chunk_by(|a, b| a.checked_add(1) == Some(*b)) {
        if !out.is_empty() {
            out.push(',');
        }
        match run {
            [one] => out.push_str(&one.to_string()),
            [first, .., last] => out.push_str(&format!("{first}-{last}")),
            [] => {}
        }
    }
    out
}

/// Names the first CPU of `list` that is not in `allowed`.
pub fn check_inside(list: &[usize], allowed: &[usize]) -> Result<(), CpuListError> {
    match list.iter().find(|cpu| !allowed.contains(cpu)) {
        None => Ok(()),
        Some(&cpu) => Err(CpuListError::Outside { cpu, allowed: format_cpu_list(allowed) }),
    }
}

/// Thread `i` goes to CPU `plan[i]`: in the order of the list, and round again when it is used up.
///
/// A longer plan begins with the shorter one. Empty when there is no CPU to choose from.
pub fn plan(cpus: &[usize], threads: usize) -> Vec<usize> {
    cpus.iter().copied().cycle().take(threads).collect()
}

/// Pins the calling thread to one CPU and reads the mask back.
pub fn pin_current_thread(cpu: usize) -> Result<(), PinError> {
    if cpu >= CPU_ID_END {
        return Err(PinError::TooLarge { cpu });
    }
    // The result says only whether the call went through; the mask says what holds.
    core_affinity::set_for_current(CoreId { id: cpu });
    let mask = current_mask();
    if mask == [cpu] {
        return Ok(());
    }
    let mask = if mask.is_empty() { "unknown CPUs".to_string() } else { format_cpu_list(&mask) };
    Err(PinError::Refused { cpu, mask })
}

/// How many CPUs' worth of time this process can get: the mask, cut by the control group's quota
/// (rounded up), at least 1.
pub fn usable_cpus(allowed: &[usize]) -> usize {
    usable_under(allowed.len(), cgroup::cpu_quota())
}

fn usable_under(allowed: usize, quota: Option<f64>) -> usize {
    // A float cast saturates, so that an absurd quota means "no limit".
    let granted = quota.map_or(usize::MAX, |cpus| cpus.ceil() as usize);
    allowed.min(granted).max(1)
}

fn read_list(text: &str, id_end: usize) -> Result<Vec<usize>, CpuListError> {
    let mut cpus: Vec<usize> = Vec::new();
    let mut seen = HashSet::new();
    for part in text.trim().split(',') {
        let (first, last) = match part.split_once('-') {
            Some((first, last)) => (read_id(first, part)?, read_id(last, part)?),
            None => (read_id(part, part)?, read_id(part, part)?),
        };
        if first.max(last) >= id_end {
            return Err(CpuListError::TooLarge { cpu: first.max(last) });
        }
        if first > last {
            return Err(CpuListError::Backwards { first, last });
        }
        for cpu in first..=last {
            if !seen.insert(cpu) {
                return Err(CpuListError::Twice { cpu });
            }
            cpus.push(cpu);
        }
    }
    Ok(cpus)
}

fn read_id(text: &str, part: &str) -> Result<usize, CpuListError> {
    let text = text.trim();
    let malformed = || CpuListError::Malformed {
        part: part.trim().chars().take(32).collect::<String>().escape_debug().to_string(),
    };
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(malformed());
    }
    // Only digits, so that what does not fit is too large.
    Ok(text.parse().unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quota_cuts_the_mask_but_leaves_one_cpu() {
        let check = |allowed, quota, expected| {
            assert_eq!(usable_under(allowed, quota), expected, "{allowed} CPUs, quota {quota:?}");
        };
        check(8, None, 8);
        check(8, Some(1.0), 1);
        check(8, Some(1.5), 2);
        check(8, Some(0.1), 1);
        check(8, Some(64.0), 8);
        check(8, Some(f64::MAX), 8);
        check(0, None, 1);
    }

    #[test]
    fn the_kernels_list_may_name_cpus_that_cannot_be_pinned() {
        assert_eq!(parse_kernel_list("\t0-1,2047\n"), Some(vec![0, 1, 2047]));
        assert_eq!(parse_kernel_list("\n"), None);
    }
}

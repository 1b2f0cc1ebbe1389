//! The CPU quota of the control group that this process runs in, version 1 or 2.
//!
//! Every group from ours up to the root may set a quota; the least one holds.

use std::path::{Path, PathBuf};

/// CPUs that the quota grants, such as 1.5; `None` without a quota.
pub fn cpu_quota() -> Option<f64> {
    quota_of(&groups(read), read)
}

/// How often the group was stopped because its quota was used up; `None` where it is not counted.
pub fn throttled() -> Option<u64> {
    groups(read)
        .iter()
        .find_map(|group| parse_throttled(&read(&group.directories[0].join("cpu.stat"))?))
}

fn read(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// One hierarchy that may limit CPUs: our directory in it, then its parents.
#[derive(Debug, PartialEq, Eq)]
struct Group {
    version: Version,
    /// Never empty.
    directories: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    V1,
    V2,
}

fn groups(read: impl Fn(&Path) -> Option<String>) -> Vec<Group> {
    let membership = read(Path::new("/proc/self/cgroup")).unwrap_or_default();
    let mounts = read(Path::new("/proc/self/mountinfo")).unwrap_or_default();
    mounts.lines().filter_map(|line| group_of_mount(line, &membership)).collect()
}

/// The group behind one line of mountinfo, when that line mounts a hierarchy that may limit CPUs.
fn group_of_mount(mount: &str, membership: &str) -> Option<Group> {
    let (place, kind) = mount.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let (root, mount_point) = (place.next()?, Path::new(place.next()?));
    let mut kind = kind.split(' ');
    let version = match kind.next()? {
        "cgroup2" => Version::V2,
        "cgroup" if kind.nth(1)?.split(',').any(|option| option == "cpu") => Version::V1,
        _ => return None,
    };
    let ours = membership.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let matches = match version {
            Version::V1 => controllers.split(',').any(|controller| controller == "cpu"),
            Version::V2 => controllers.is_empty(),
        };
        matches.then_some(path)
    })?;
    // Inside a container the mount shows only the subtree from `root` on. A path outside it
    // means that we see the mount from another name space: then only the mount itself is ours.
    let below = Path::new(ours).strip_prefix(root).unwrap_or(Path::new(""));
    let below =
        if below.components().any(|part| part.as_os_str() == "..") { Path::new("") } else { below };
    let directories = below.ancestors().map(|part| mount_point.join(part)).collect();
    Some(Group { version, directories })
}

fn quota_of(groups: &[Group], read: impl Fn(&Path) -> Option<String>) -> Option<f64> {
    let quotas = groups.iter().flat_map(|group| {
        let version = group.version;
        group.directories.iter().map(move |directory| (version, directory))
    });
    let quotas = quotas.filter_map(|(version, directory)| match version {
        Version::V2 => parse_cpu_max(&read(&directory.join("cpu.max"))?),
        Version::V1 => parse_cfs(
            &read(&directory.join("cpu.cfs_quota_us"))?,
            &read(&directory.join("cpu.cfs_period_us"))?,
        ),
    });
    quotas.reduce(f64::min)
}

/// `150000 100000` is one CPU and a half, `max 100000` no quota.
fn parse_cpu_max(text: &str) -> Option<f64> {
    let (quota, period) = text.trim().split_once(' ')?;
    parse_cfs(quota, period)
}

fn parse_cfs(quota: &str, period: &str) -> Option<f64> {
    let quota: u64 = quota.trim().parse().ok()?;
    let period: u64 = period.trim().parse().ok()?;
    (quota > 0 && period > 0).then(|| quota as f64 / period as f64)
}

fn parse_throttled(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("nr_throttled ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[(&str, &str)], expected: Option<f64>) {
        let read = |path: &Path| {
            let found = files.iter().find(|(name, _)| Path::new(name) == path);
            found.map(|(_, text)| text.to_string())
        };
        assert_eq!(quota_of(&groups(read), read), expected, "{files:?}");
    }

    const V2_MOUNT: &str = "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n";
    const V1_MOUNT: &str = "31 24 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
         32 24 0:28 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n";

    #[test]
    fn the_least_quota_on_the_way_to_the_root_holds() {
        let mounted = [
            ("/proc/self/mountinfo", V2_MOUNT),
            ("/proc/self/cgroup", "0::/a/b\n"),
            ("/sys/fs/cgroup/a/cpu.max", "150000 100000\n"),
        ];
        let with = |inner| [&mounted[..], &[("/sys/fs/cgroup/a/b/cpu.max", inner)]].concat();
        check(&with("max 100000\n"), Some(1.5));
        check(&with("50000 100000\n"), Some(0.5));
        check(&with("400000 100000\n"), Some(1.5));
    }

    #[test]
    fn version_one_is_read_in_its_own_hierarchy() {
        let mounted = [
            ("/proc/self/mountinfo", V1_MOUNT),
            ("/proc/self/cgroup", "4:cpuset:/z\n1:cpu,cpuacct:/a\n"),
        ];
        let with = |quota| {
            let files = [
                ("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", quota),
                ("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n"),
            ];
            [&mounted[..], &files[..]].concat()
        };
        check(&with("200000\n"), Some(2.0));
        check(&with("-1\n"), None);
    }

    #[test]
    fn a_container_sees_its_group_at_the_mount_itself() {
        let mount = "30 24 0:26 /docker/x /sys/fs/cgroup rw - cgroup2 cgroup rw\n";
        for ours in ["0::/docker/x\n", "0::/../../y\n", "0::/elsewhere\n"] {
            check(
                &[
                    ("/proc/self/mountinfo", mount),
                    ("/proc/self/cgroup", ours),
                    ("/sys/fs/cgroup/cpu.max", "100000 100000\n"),
                ],
                Some(1.0),
            );
        }
    }

    #[test]
    fn nothing_readable_means_no_quota() {
        check(&[], None);
        check(&[("/proc/self/mountinfo", "rubbish\n - \n"), ("/proc/self/cgroup", "::")], None);
        for text in ["", "max", "0 100000", "5 0", "x y", "-5 100000"] {
            assert_eq!(parse_cpu_max(text), None, "{text}");
        }
    }

    #[test]
    fn throttling_is_read_from_cpu_stat() {
        assert_eq!(parse_throttled("usage_usec 5\nnr_periods 9\nnr_throttled 7\n"), Some(7));
        assert_eq!(parse_throttled("usage_usec 5\n"), None);
    }
}

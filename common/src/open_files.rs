//! The limit on open files: sockets count, and the soft limit is often only 1024.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io;

/// The limits on open files of this process; no limit is `u64::MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFiles {
    /// The limit in force.
    pub soft: u64,
    /// What the soft limit may be raised to.
    pub hard: u64,
    /// The soft limit as it was found.
    pub was_soft: u64,
}

/// The limits as they are.
pub fn limits() -> OpenFiles {
    let found = getrlimit(Resource::Nofile);
    let soft = found.current.unwrap_or(u64::MAX);
    OpenFiles { soft, hard: found.maximum.unwrap_or(u64::MAX), was_soft: soft }
}

/// Raises the soft limit to the hard one. The error leaves the limit as it was.
pub fn raise() -> io::Result<OpenFiles> {
    let found = limits();
    if found.soft < found.hard {
        let maximum = getrlimit(Resource::Nofile).maximum;
        setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?;
    }
    Ok(OpenFiles { was_soft: found.soft, ..limits() })
}

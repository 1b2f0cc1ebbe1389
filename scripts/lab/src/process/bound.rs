//! A child that ends with the lab, however the lab ends: also by SIGKILL, or by a second Ctrl-C.
//!
//! The system sees to it if the child asks for it (`PR_SET_PDEATHSIG`), and neither program needs
//! to know: the lab starts itself, asks, and becomes the program. Asking between fork and exec
//! would need unsafe code.

use crate::options::BoundOptions;
use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// The lab's own program file, also after a build has put another one in its place.
const LAB: &str = "/proc/self/exe";
/// The lab's hidden command.
pub(crate) const BOUND: &str = "bound";

/// Starts `program` with these arguments, to end when the thread that starts it does: it has to
/// outlive the child.
pub(super) fn command<A: AsRef<OsStr>>(
    program: &Path,
    arguments: impl IntoIterator<Item = A>,
) -> Command {
    let mut command = Command::new(LAB);
    command.args([BOUND, &std::process::id().to_string(), "--"]).arg(program).args(arguments);
    command
}

/// The child's side: becomes the program, and comes back only with an error.
pub fn run(options: &BoundOptions) -> Result<u8> {
    set_parent_process_death_signal(Some(Signal::KILL)).context("cannot be bound to the lab")?;
    // It may have ended before the system knew whose end it is.
    if getppid().map(Pid::as_raw_pid) != Some(options.lab) {
        bail!("the lab has ended");
    }
    let error = Command::new(&options.program).args(&options.arguments).exec();
    Err(error).with_context(|| format!("{} cannot be started", options.program.display()))
}

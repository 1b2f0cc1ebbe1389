//! Lines for people on standard error. A closed standard error is no reason to stop a run.

use std::fmt::Display;
use std::io::Write;

/// Something that went wrong.
pub(crate) fn error(text: impl Display) {
    line(format_args!("error: {text}"));
}

/// Something to know about the run.
pub(crate) fn warning(text: impl Display) {
    line(format_args!("warning: {text}"));
}

/// A line as it is.
pub(crate) fn line(text: impl Display) {
    // Nobody is left to be told that this could not be said.
    let _ = writeln!(std::io::stderr(), "{text}");
}

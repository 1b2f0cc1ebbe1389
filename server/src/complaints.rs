//! Log lines on stderr, at most one a second of each kind, so that a flood of bad peers is not a
//! flood of lines. What is left out is counted.

use crate::meters::Meters;
use echo_common::clock;
use std::collections::HashMap;
use std::fmt::Display;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

const EVERY_NS: u64 = 1_000_000_000;

#[derive(Default)]
struct Last {
    at_ns: Option<u64>,
    suppressed: u64,
}

/// Writes complaints.
pub struct Complaints {
    last: Mutex<HashMap<&'static str, Last>>,
    meters: Arc<Meters>,
}

impl Complaints {
    /// Counts what it leaves out in `meters`.
    pub fn new(meters: Arc<Meters>) -> Arc<Complaints> {
        Arc::new(Complaints { last: Mutex::default(), meters })
    }

    /// Writes one line, or leaves it out because one of this kind came less than a second ago.
    /// `what` must not hold bytes of a peer as they came.
    pub fn write(&self, kind: &'static str, what: impl Display) {
        let now_ns = clock::now_ns();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let last = last.entry(kind).or_default();
        if last.at_ns.is_some_and(|at| clock::elapsed_ns(at, now_ns) < EVERY_NS) {
            last.suppressed += 1;
            self.meters.limits.log_lines_suppressed.add(1);
            return;
        }
        last.at_ns = Some(now_ns);
        let more = match std::mem::take(&mut last.suppressed) {
            0 => String::new(),
            more => format!(" ({more} more like this were left out)"),
        };
        say(format_args!("{what}{more}"));
    }
}

/// Writes one line to stderr. A closed stderr is nobody's loss.
pub fn say(what: impl Display) {
    let _ = writeln!(std::io::stderr(), "echo-server: {what}");
}

//! The server's limits on calls in it, in words.

use super::Evidence;
use echo_common::quantity::grouped;

/// A limit that acted on one call in so many shaped the run.
const LIMIT_ACTED: u64 = 10_000;

/// The server's limits that acted often enough to shape the run, in words.
pub(super) fn limits_that_acted(e: &Evidence) -> Option<String> {
    let calls = e.server_calls.unwrap_or(0);
    let often = |acted: u64| acted > 0 && acted.saturating_mul(LIMIT_ACTED) >= calls;
    let limits = e.limits_acted.iter().filter(|(_, acted)| often(**acted));
    let (mut text, mut refuses) = (String::new(), false);
    for (name, &acted) in limits {
        let (what, option) = match CAPACITIES.iter().find(|limit| limit.0 == name) {
            Some(&(_, what, option)) => (what, option),
            None => continue,
        };
        if !text.is_empty() {
            text.push_str(", and ");
        }
        refuses |= name == REJECTED;
        let times =
            if acted == 1 { "once".to_owned() } else { format!("{} times", grouped(acted)) };
        text.push_str(&format!("{what} {times} ({name}; {option})"));
    }
    let then = if refuses { "more calls are refused" } else { "more calls wait there" };
    (!text.is_empty()).then(|| format!("{text}: {then}"))
}

const REJECTED: &str = "calls_rejected";
/// The server's counters of what keeps calls out of it, in words, and the options that say how
/// many calls it is.
pub(in crate::report) const CAPACITIES: [(&str, &str, &str); 5] = [
    (REJECTED, "the call queue was full and refused calls", "--queue-capacity"),
    ("queue_full_waits", "readers waited for room in the call queue", "--queue-capacity"),
    (
        "reading_paused",
        "connections with all their calls in the server were not read",
        "--calls-per-connection, --max-owed-bytes",
    ),
    ("log_full_waits", "the serial stage waited for room in the log", "--log-capacity"),
    ("handler_queue_waits", "batches waited for room at a handler", "--handler-queue"),
];

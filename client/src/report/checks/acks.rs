//! The checks of who must have a call before it is done.

use super::{Check, check};
use crate::followers::{Checked, Comparison};
use crate::plan::Plan;
use crate::run::RunResult;
use echo_common::quantity::grouped;

/// Calls that nobody answers, at the end of their run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unanswered {
    connections: u64,
    lost: u64,
    /// Connections whose end the server did not confirm in time.
    unheard: u64,
    /// From the last write to the last of the server's ends, or until none was waited for any more.
    wait_ns: u64,
    /// Calls that the server read and rejected because its queue was full, if it says.
    rejected: Option<u64>,
}

impl Unanswered {
    pub(super) fn of(plan: &Plan, run: &RunResult) -> Unanswered {
        let last_ns = run.ledger.last_ok_ns.unwrap_or(run.ended_ns);
        Unanswered {
            connections: plan.connections as u64,
            lost: run.ledger.outcomes.connections_lost.values().sum(),
            unheard: run.workers.iter().map(|worker| worker.result.unheard).sum(),
            wait_ns: run.ended_ns.saturating_sub(last_ns),
            rejected: rejected(run),
        }
    }
}

/// From before the run to when all was over.
fn rejected(run: &RunResult) -> Option<u64> {
    let [before, last] = [&run.before.server, &run.last].map(|server| {
        let server = server.as_ref()?;
        server.limits.get("calls_rejected").copied()
    });
    last?.checked_sub(before?)
}

pub(super) fn held(early: u64, answered: u64) -> Check {
    let text = match early {
        0 if answered == 0 => "no call was answered".to_owned(),
        0 => "every call was held by as many as had to before it was answered".to_owned(),
        _ => format!("{} calls were answered before enough followers held them", grouped(early)),
    };
    let ok = (early > 0 || answered > 0).then_some(early == 0);
    check("acks_held", ok, text, &[("early_acks", Some(early as f64))])
}

/// Whether the server had read everything when the client left.
pub(super) fn server_read_all(found: &Unanswered) -> Check {
    let Unanswered { connections, lost, unheard, wait_ns, .. } = *found;
    let wait_ms = wait_ns as f64 / 1e6;
    let (ok, text) = if lost > 0 {
        let (lost, all) = (grouped(lost), grouped(connections));
        let text =
            format!("{lost} of {all} connections were lost, perhaps with bytes on their way");
        (Some(false), text)
    } else if unheard > 0 {
        let text = format!(
            "{} of {} connections were not ended by the server in the {:.1} s that were \
             waited after the last write: what it has read of them is not known",
            grouped(unheard),
            grouped(connections),
            wait_ns as f64 / 1e9
        );
        (None, text)
    } else {
        let text = format!(
            "the server ended every connection behind its last call, {wait_ms:.1} ms after the \
             last write"
        );
        (Some(true), text)
    };
    let numbers = [("unheard", Some(unheard as f64)), ("wait_ms", Some(wait_ms))];
    check("server_read_all", ok, text, &numbers)
}

/// Whether the server served what it read: a call that it rejects is gone without a word.
pub(super) fn server_served_all(found: &Unanswered, alone: bool) -> Check {
    let (ok, text) = match found.rejected {
        None => (None, "the server's counters are not known".to_owned()),
        Some(0) => (Some(true), "the server rejected none of the calls that it read".to_owned()),
        Some(_) if !alone => (None, "the server has, or had, other clients".to_owned()),
        Some(rejected) => {
            let rejected = grouped(rejected);
            let text =
                format!("the server rejected {rejected} of them, because its queue was full");
            (Some(false), text)
        }
    };
    let numbers = [("rejected", found.rejected.map(|calls| calls as f64))];
    check("server_served_all", ok, text, &numbers)
}

/// Whether the followers hold what was acknowledged.
pub(super) fn followers_hold(checked: &Checked) -> Check {
    match checked {
        Checked::Not(why) => check("followers_hold", None, format!("not checked: {why}"), &[]),
        Checked::Followers(comparison) => {
            let numbers = [
                ("answered", Some(comparison.answered as f64)),
                ("acknowledged", Some(comparison.acknowledged as f64)),
                ("followers", Some(comparison.followers.len() as f64)),
                ("in_sync", Some(comparison.in_sync().count() as f64)),
            ];
            check("followers_hold", comparison.ok(), words(comparison), &numbers)
        }
    }
}

fn words(comparison: &Comparison) -> String {
    let Comparison { acknowledged, answered, first, followers } = comparison;
    let in_sync = comparison.in_sync().count();
    if in_sync == 0 {
        return format!("not checked: none of {} followers is in sync", followers.len());
    }
    if acknowledged < answered {
        return format!(
            "{} calls were answered, and the server acknowledged {} meanwhile",
            grouped(*answered),
            grouped(*acknowledged)
        );
    }
    if let Some(follower) = comparison.in_sync().find(|follower| follower.ok == Some(false)) {
        return format!("follower {}: {}", follower.address, follower.text);
    }
    if let Some(follower) = comparison.in_sync().find(|follower| follower.ok.is_none()) {
        return format!("not checked: follower {}: {}", follower.address, follower.text);
    }
    let late = comparison.in_sync().map(|follower| follower.expected.since).max();
    let what = match late.filter(|since| since > first) {
        None => format!("all {} acknowledged calls", grouped(*answered)),
        Some(since) => format!("every call since they came to be so, at {}", grouped(since)),
    };
    let lost = match followers.len() - in_sync {
        0 => String::new(),
        _ => format!("of {} ", followers.len()),
    };
    let hold = if in_sync == 1 { "holds" } else { "hold" };
    format!("{in_sync} {lost}in sync {hold} {what}, digests agree")
}

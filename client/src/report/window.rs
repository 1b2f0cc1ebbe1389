//! The window of a run: when it ended and why, the replies that count, and what was in flight.

use super::{EndedBy, Little, Window, ratio};
use crate::options::Arrivals;
use crate::pacing::Pace;
use crate::plan::Plan;
use crate::run::RunResult;

/// A schedule's times are rounded to nanoseconds.
const ROUNDING_S: f64 = 1e-6;

/// The time over which calls per second are counted, and the replies that count.
pub(super) fn window(plan: &Plan, run: &RunResult) -> Window {
    let ledger = &run.ledger;
    let schedule = plan.schedule();
    let least_s = schedule.as_ref().and_then(schedule_s);
    // Where the clock, a signal, a failure or the loss of all connections cut the run off.
    let lost: u64 = ledger.outcomes.connections_lost.values().sum();
    let lost_ns = (lost >= plan.connections as u64).then_some(run.ended_ns);
    let cut_ns = run.end_ns.into_iter().chain(lost_ns).min();
    let cut_s = cut_ns.map(|cut| cut.saturating_sub(run.start_ns) as f64 / 1e9);
    let is_schedule_cut = cut_s.zip(least_s).is_some_and(|(cut, least)| cut + ROUNDING_S < least);
    let count_reached = plan.is_count_reached(ledger)
        && ledger.last_end_ns <= run.end_ns.or(ledger.last_end_ns)
        && !is_schedule_cut;
    let ended_by = match run.interrupted {
        Some(_) => EndedBy::Signal,
        None if plan.options.fail_fast && !ledger.outcomes.all_well() => EndedBy::Failure,
        None if count_reached => EndedBy::Count,
        None if run.end_ns.is_some_and(|end| run.ended_ns >= end) => EndedBy::Duration,
        None => EndedBy::ConnectionsLost,
    };
    let in_window: u64 = run.workers.iter().map(|w| w.result.flow.ok_in_window()).sum();
    let Some(cut_ns) = cut_ns.filter(|_| !count_reached) else {
        // In an open loop the time before the first call and behind the last one is its own, too.
        let (begin, least) = match &schedule {
            Some(_) => (Some(run.start_ns), least_s.filter(|_| count_reached)),
            None => (ledger.first_start_ns, None),
        };
        let span_s = |end| span_s(begin, end).max(least.unwrap_or(0.0));
        return Window {
            ended_by,
            cut: false,
            seconds: span_s(ledger.last_ok_ns.or(ledger.last_end_ns)),
            elapsed_s: span_s(ledger.last_end_ns),
            ok_replies: ledger.outcomes.ok,
            warmup_replies: 0,
            ok_replies_after: 0,
        };
    };
    let seconds = cut_ns.min(run.ended_ns).saturating_sub(run.start_ns) as f64 / 1e9;
    let late_ok = ledger.edges.late_ok();
    let measured = ledger.outcomes.ok.saturating_sub(late_ok);
    Window {
        ended_by,
        cut: true,
        seconds,
        elapsed_s: seconds,
        ok_replies: in_window,
        warmup_replies: match ledger.outcomes.warmup_ok {
            0 => 0,
            _ => in_window.saturating_sub(measured),
        },
        ok_replies_after: late_ok,
    }
}

/// The length of a schedule that its number of calls ends, if it does not depend on chance.
fn schedule_s(pace: &Pace) -> Option<f64> {
    let span_ns = pace.span_ns().filter(|_| pace.arrivals == Arrivals::Uniform);
    span_ns.map(|ns| ns as f64 / 1e9)
}

fn span_s(from_ns: Option<u64>, to_ns: Option<u64>) -> f64 {
    match (from_ns, to_ns) {
        (Some(from), Some(to)) => to.saturating_sub(from) as f64 / 1e9,
        _ => 0.0,
    }
}

/// Both sides over the window: calls in flight by what the workers counted at each moment, and by
/// the latency of each call, of which only the part inside counts.
pub(super) fn little(
    plan: &Plan,
    run: &RunResult,
    window: &Window,
    ok_mean_us: Option<f64>,
) -> Little {
    let area: u128 = run.workers.iter().map(|w| w.result.flow.area_call_ns()).sum();
    let mean_in_flight = ratio(area as f64 / 1e9, window.elapsed_s);
    let ok = run.ledger.outcomes.ok as f64;
    let ok_s = ok_mean_us.map_or(0.0, |mean_us| ok * mean_us / 1e6);
    let inside_s = run.ledger.edges.inside_s(ok_s);
    // What nobody answers has no latency.
    let x_times_r = ratio(inside_s, window.elapsed_s).filter(|_| !plan.is_unanswered());
    let ratio = x_times_r.zip(mean_in_flight).and_then(|(xr, n)| ratio(xr, n));
    Little { mean_in_flight, x_times_r, ratio }
}

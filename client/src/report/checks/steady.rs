//! Whether a run went on as it began.

use super::super::{Window, ratio};
use super::{Check, check};
use crate::run::RunResult;
use crate::timeline::Thirds;
use echo_common::quantity::grouped;

/// The first and the last third of a steady run differ by no more.
const THIRDS_MAX: f64 = 0.05;
/// Differences that chance explains, in standard deviations.
const CHANCE: f64 = 2.0;
/// By this share chance alone may make a third differ, or there are too few calls to tell.
const TOO_FEW: f64 = 0.5;

/// A window that was cut is looked at until its end, whether anything was answered then or not.
pub(super) fn thirds(run: &RunResult, window: &Window) -> Option<Thirds> {
    let end_ns = match window.cut {
        true => run.start_ns.saturating_add((window.seconds * 1e9) as u64),
        false => run.ledger.last_ok_ns?,
    };
    run.timeline.thirds(run.start_ns, end_ns)
}

pub(super) fn steady(thirds: Option<Thirds>) -> Check {
    let Some(Thirds { first_per_s, last_per_s, calls: (first, last) }) = thirds else {
        return check("steady", None, "the run was too short to tell".to_owned(), &[]);
    };
    let change = ratio(last - first, first);
    // Two counts with the same mean differ by so much by chance, in calls.
    let chance = CHANCE * (first + last).sqrt();
    let differs = (last - first).abs() > (THIRDS_MAX * first).max(chance);
    // Where chance alone could halve the rate, no difference says nothing.
    let too_few = chance >= TOO_FEW * first.max(last);
    let ok = if differs { Some(false) } else { (!too_few).then_some(true) };
    let rates =
        format!("{} and {} calls/s", grouped(last_per_s as u64), grouped(first_per_s as u64));
    let text = match (ok, change) {
        (None, _) => format!(
            "too few calls to tell: {first:.0} answered in the first third, {last:.0} in the last"
        ),
        (_, None) => "not steady: nothing was answered in the first third".to_owned(),
        (Some(false), _) if last < 0.5 => {
            format!("not steady: nothing was answered in the last third ({rates})")
        }
        (Some(true), Some(change)) => {
            format!("last third {:+.1} % against the first", change * 100.0)
        }
        (Some(false), Some(change)) => format!(
            "not steady: the last third was {:+.1} % against the first ({rates})",
            change * 100.0
        ),
    };
    let numbers = [
        ("first_third_per_s", Some(first_per_s)),
        ("last_third_per_s", Some(last_per_s)),
        ("change", change),
    ];
    check("steady", ok, text, &numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_of(first: f64, last: f64, expected: Option<bool>, words: &str) {
        let thirds =
            Thirds { first_per_s: first / 2.0, last_per_s: last / 2.0, calls: (first, last) };
        let check = steady(Some(thirds));
        assert_eq!(check.ok, expected, "{first} and {last}: {}", check.text);
        assert!(check.text.contains(words), "{}", check.text);
    }

    #[test]
    fn a_fall_to_nothing_is_never_steady() {
        for first in [6.0, 40.0, 5_000.0, 1e9] {
            check_of(first, 0.0, Some(false), "nothing was answered in the last third");
            check_of(0.0, first, Some(false), "nothing was answered in the first third");
        }
        check_of(2.0, 0.0, None, "too few calls to tell: 2 answered in the first third, 0 in");
        check_of(0.0, 0.0, None, "too few calls");
    }

    #[test]
    fn what_chance_explains_is_steady_only_where_it_does_not_explain_everything() {
        check_of(5_000.0, 4_800.0, Some(true), "-4.0 %");
        check_of(5_000.0, 4_600.0, Some(false), "-8.0 %");
        check_of(100.0, 90.0, Some(true), "-10.0 %");
        check_of(100.0, 60.0, Some(false), "-40.0 %");
        check_of(10.0, 9.0, None, "too few calls to tell");
        assert_eq!(steady(None).ok, None);
    }
}

//! Claims of the read-batch experiment: a decline and where it begins, what no
//! run may show, and how long a backlog takes to go.

use super::{Judged, calls_per_s, meets};
use crate::drain::{self, Stalled};
use crate::experiment::{LineOf, PointOf, Scalar, Side, Wanted};
use crate::metric::Metric;
use crate::model::batch;
use crate::results::Results;
use crate::stats::bootstrap::Resampling;
use crate::stats::{knee, median, rounds};
use crate::words;
use echo_common::quantity::duration;

/// The metric at one point is less than at another, by more than runs of one setting differ.
pub(super) fn less(results: &Results<'_>, metric: &Metric, at: &PointOf, than: &PointOf) -> Judged {
    let wish = "less, by more than equal runs differ".to_owned();
    let pairs = results.pairs(metric, than, at);
    let noise = results.noise(metric, &at.line.group);
    let Some(compared) = rounds::compare_paired(&pairs, noise, Resampling::default()) else {
        return Judged::missing(wish, "a run is missing");
    };
    let number = compared.ratio.estimate;
    let mut seen = format!("x {number:.2}");
    if pairs.len() > 1 {
        seen.push_str(&format!(" ({:.2} to {:.2})", compared.ratio.low, compared.ratio.high));
    }
    if let Some(noise) = noise {
        seen.push_str(&format!("; equal runs differ by x {noise:.2}"));
    }
    let mut judged = Judged::new(compared.verdict == rounds::Verdict::Smaller, number, seen, wish);
    if compared.verdict == rounds::Verdict::NoDifference {
        judged.verdict = super::Verdict::NoDifference;
    }
    judged
}

/// The last value of the knob at which a line still reaches this share of its best grows from line
/// to line.
pub(super) fn knee_moves(results: &Results<'_>, lines: &[LineOf], share: f64) -> Judged {
    let wish = "grows from line to line".to_owned();
    let last = |line: &LineOf| {
        let curve = results.curve(&calls_per_s(), line);
        let point = |m: &crate::results::Measured| Some((m.at.number()?, m.summary.median));
        let points: Vec<(f64, f64)> = curve.iter().filter_map(point).collect();
        let found = knee::last_at_share(&points, share).filter(|_| points.len() >= 3);
        found.map(|found| (line.line.clone(), found))
    };
    let found: Vec<(String, f64)> = lines.iter().filter_map(last).collect();
    if found.len() < lines.len() || found.len() < 2 {
        return Judged::missing(wish, "a line with three points is missing");
    }
    let grows = found.windows(2).all(|pair| pair[0].1 < pair[1].1);
    let seen: Vec<String> = found.iter().map(|(line, at)| format!("{at} ({line})")).collect();
    let seen = format!("{} of the best up to {}", words::percent(share), seen.join(", "));
    Judged::new(grows, found[found.len() - 1].1 / found[0].1, seen, wish)
}

/// What every run of every measured group says, those that count for nothing else included.
pub(super) fn every_run(results: &Results<'_>, metric: &Metric, wanted: Wanted) -> Judged {
    let measured = || results.runs.iter().filter(|run| run.is_measured());
    let numbers: Vec<f64> = measured().filter_map(|run| metric.of(&run.report)).collect();
    let wish = meets(wanted, 0.0, None).1;
    let silent = measured().count() - numbers.len();
    if numbers.is_empty() || silent > 0 {
        return Judged::missing(
            wish,
            format!("{silent} of {} runs do not say", measured().count()),
        );
    }
    let fails = |number: &&f64| meets(wanted, **number, None).0 != Some(true);
    let failing = numbers.iter().filter(fails).count();
    let sum: f64 = numbers.iter().sum();
    let seen = format!("{} in {} runs; {failing} runs off", words::number(sum), numbers.len());
    Judged::new(failing == 0, sum, seen, wish)
}

/// A backlog that a stall left is gone when lambda s / (X - lambda) says, X being what another
/// line carries at the same value of the knob.
pub(super) fn drains(
    results: &Results<'_>,
    line: &LineOf,
    capacity: &LineOf,
    tolerance: f64,
) -> Judged {
    let wish = format!("lambda s / (X - lambda) within {}", words::percent(tolerance));
    let carried = results.curve(&calls_per_s(), capacity);
    let mut found = Vec::new();
    let mut left_out = Vec::new();
    for at in results.values(line) {
        let Some(stalled) = stalled(results, line, at) else { continue };
        let Some(x) = carried.iter().find(|m| m.at.is(at)) else { continue };
        let predicted_s = batch::drain_s(stalled.stall_s, stalled.rate, x.summary.median);
        if predicted_s + stalled.stall_s >= stalled.every_s {
            left_out.push(at.to_string());
            continue;
        }
        let measured = drain::of_runs(results, line, at, stalled);
        let Some(measured_s) = median(&measured) else { continue };
        found.push((at.clone(), predicted_s, measured_s, measured.len()));
    }
    let error =
        |(_, predicted, measured, _): &(Scalar, f64, f64, usize)| measured / predicted - 1.0;
    let Some(worst) = found.iter().max_by(|a, b| error(a).abs().total_cmp(&error(b).abs())) else {
        return Judged::missing(wish, "no stall was seen to drain before the next");
    };
    let one = |(at, predicted, measured, count): &(Scalar, f64, f64, usize)| {
        let ms = |s: f64| words::number(s * 1e3);
        format!("{at}: {} ms for {} ms ({count} stalls)", ms(*measured), ms(*predicted))
    };
    let mut seen = found.iter().map(one).collect::<Vec<_>>().join("; ");
    if !left_out.is_empty() {
        seen.push_str(&format!("; does not drain before the next stall: {}", left_out.join(", ")));
    }
    Judged::new(error(worst).abs() <= tolerance, error(worst), seen, wish)
}

/// What the options of a point say of its stalls.
fn stalled(results: &Results<'_>, line: &LineOf, at: &Scalar) -> Option<Stalled> {
    let group = results.experiment.group(&line.group)?;
    let point = group.points().into_iter().find(|p| p.line == line.line && p.at.is(at))?;
    let time = |option: &str| {
        let text = point.options.get(Side::Server, option)?.to_string();
        duration(&text).ok().map(|time| time.as_secs_f64())
    };
    Some(Stalled {
        rate: point.options.get(Side::Client, "rate")?.number()?,
        stall_s: time("stall")?,
        every_s: time("stall-every")?,
    })
}

#[cfg(test)]
mod tests;

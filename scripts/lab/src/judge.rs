//! Claims against results. A claim holds, does not hold, shows no difference, or was not measured;
//! whichever it is, its number stands beside it.

mod batch;
mod ratios;

use crate::experiment::{Claim, Law, LineOf, PointOf, Scalar, Test, Wanted};
use crate::metric::Metric;
use crate::results::Results;
use crate::stats::bootstrap::Resampling;
use crate::stats::{fit, knee, median, rounds};
use crate::words;
use serde::Serialize;

/// What may be said of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is as claimed.
    Holds,
    /// It is not.
    DoesNotHold,
    /// A difference was claimed, and none was seen beyond what equal runs differ by.
    NoDifference,
    /// Some run that it needs is missing, or not sound.
    NotMeasured,
}

impl Verdict {
    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::DoesNotHold => "does not hold",
            Verdict::NoDifference => "no difference seen",
            Verdict::NotMeasured => "not measured",
        }
    }
}

/// A claim and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The claim.
    pub claim: String,
    /// What may be said.
    pub verdict: Verdict,
    /// The number that says so.
    pub number: Option<f64>,
    /// The same in words.
    pub seen: String,
    /// What was wanted, in words.
    pub wanted: String,
}

/// Judges one claim.
pub fn judge(claim: &Claim, results: &Results<'_>) -> Finding {
    let judged = match &claim.test {
        Test::Ratio { metric, over, under, wanted } => ratio(results, metric, over, under, *wanted),
        Test::EveryRatio { metric, over, under, values, wanted } => {
            ratios::every(results, metric, (over, under), values, *wanted)
        }
        Test::Trend { metric, line, by, values, direction, tolerance } => {
            let along = ratios::Along { metric, line, by: by.as_ref(), values };
            ratios::trend(results, &along, *direction, *tolerance)
        }
        Test::Value { metric, at, wanted } => value(results, metric, at, *wanted),
        Test::Flat { metric, line, values, tolerance } => {
            flat(results, metric, line, values, *tolerance)
        }
        Test::Equal { metric, a, b, tolerance } => equal(results, metric, a, b, *tolerance),
        Test::WithinModel { line, tolerance } => within_model(results, line, *tolerance),
        Test::Fit { metric, line, values, law, r_squared_min } => {
            fitted(results, metric, (line, values), *law, *r_squared_min)
        }
        Test::Knee { line, share, wanted } => find_knee(results, line, *share, *wanted),
        Test::Less { metric, at, than } => batch::less(results, metric, at, than),
        Test::KneeMoves { lines, share } => batch::knee_moves(results, lines, *share),
        Test::EveryRun { metric, wanted } => batch::every_run(results, metric, *wanted),
        Test::Drains { line, capacity, tolerance } => {
            batch::drains(results, line, capacity, *tolerance)
        }
    };
    let Judged { verdict, number, mut seen, wanted } = judged;
    let left_out = claim.test.lines().into_iter().find_map(|line| results.left_out(line));
    if let (Verdict::NotMeasured, Some(why)) = (verdict, left_out) {
        why.clone_into(&mut seen);
    }
    let claim = claim.text.clone();
    Finding { claim, verdict, number, seen, wanted }
}

struct Judged {
    verdict: Verdict,
    number: Option<f64>,
    seen: String,
    wanted: String,
}

impl Judged {
    fn missing(wanted: String, what: impl Into<String>) -> Judged {
        Judged { verdict: Verdict::NotMeasured, number: None, seen: what.into(), wanted }
    }

    fn new(holds: bool, number: f64, seen: String, wanted: String) -> Judged {
        let verdict = if holds { Verdict::Holds } else { Verdict::DoesNotHold };
        Judged { verdict, number: Some(number), seen, wanted }
    }
}

/// Whether a number is as wanted, and the wish in words; `model` is what the model says.
fn meets(wanted: Wanted, number: f64, model: Option<f64>) -> (Option<bool>, String) {
    match wanted {
        Wanted::Band { min, max } => {
            let inside = min.is_none_or(|min| number >= min) && max.is_none_or(|max| number <= max);
            let text = |n: f64| words::number(n);
            let words = match (min, max) {
                (Some(min), Some(max)) => format!("{} to {}", text(min), text(max)),
                (Some(min), None) => format!("at least {}", text(min)),
                (None, Some(max)) => format!("at most {}", text(max)),
                (None, None) => "anything".to_owned(),
            };
            (Some(inside), words)
        }
        Wanted::Model { tolerance } => {
            let within = model.map(|model| (number / model - 1.0).abs() <= tolerance);
            let said = model.map_or("the model says nothing".to_owned(), |model| {
                format!("the model's {} within {}", words::number(model), words::percent(tolerance))
            });
            (within, said)
        }
    }
}

fn ratio(
    results: &Results<'_>,
    metric: &Metric,
    over: &PointOf,
    under: &PointOf,
    wanted: Wanted,
) -> Judged {
    let predicted = |point: &PointOf| results.predicted(&point.line, &point.at);
    let model = predicted(over).zip(predicted(under)).map(|(a, b)| a.calls_per_s / b.calls_per_s);
    let pairs = results.pairs(metric, under, over);
    let noise = results.noise(metric, &over.line.group);
    let Some(compared) = rounds::compare_paired(&pairs, noise, Resampling::default()) else {
        return Judged::missing(meets(wanted, f64::NAN, model).1, "a run is missing");
    };
    let number = compared.ratio.estimate;
    let (holds, wish) = meets(wanted, number, model);
    let mut seen = format!("x {number:.2}");
    if pairs.len() > 1 {
        seen.push_str(&format!(" ({:.2} to {:.2})", compared.ratio.low, compared.ratio.high));
    }
    let Some(holds) = holds else { return Judged::missing(wish, seen) };
    let mut judged = Judged::new(holds, number, seen, wish);
    // Equal is not as wanted, and equal is all that can be said.
    let one = meets(wanted, 1.0, model).0;
    if one == Some(false) && compared.verdict == rounds::Verdict::NoDifference {
        judged.verdict = Verdict::NoDifference;
    }
    if let Some(noise) = noise {
        judged.seen.push_str(&format!("; equal runs differ by x {noise:.2}"));
    }
    judged
}

fn value(results: &Results<'_>, metric: &Metric, at: &PointOf, wanted: Wanted) -> Judged {
    let model = results.predicted(&at.line, &at.at).map(|predicted| predicted.calls_per_s);
    let Some(summary) = results.summary(metric, at) else {
        return Judged::missing(meets(wanted, f64::NAN, model).1, "the run is missing");
    };
    let (holds, wish) = meets(wanted, summary.median, model);
    let seen = words::with_ends(&summary);
    match holds {
        Some(holds) => Judged::new(holds, summary.median, seen, wish),
        None => Judged::missing(wish, seen),
    }
}

fn flat(
    results: &Results<'_>,
    metric: &Metric,
    line: &LineOf,
    values: &[Scalar],
    tolerance: f64,
) -> Judged {
    let wish = format!("largest by smallest at most {:.2}", 1.0 + tolerance);
    let wanted = |at: &Scalar| values.iter().any(|value| value.is(at));
    if let Some(missing) = missing(results, metric, line, wanted) {
        return Judged::missing(wish, missing);
    }
    let curve = results.curve(metric, line);
    let medians: Vec<f64> =
        curve.iter().filter(|m| wanted(&m.at)).map(|m| m.summary.median).collect();
    let least = medians.iter().copied().reduce(f64::min);
    let most = medians.iter().copied().reduce(f64::max);
    match least.zip(most) {
        Some((least, most)) if medians.len() >= 2 && least > 0.0 => {
            let number = most / least;
            let noise = results.noise(metric, &line.group).unwrap_or(1.0);
            let seen = format!("x {number:.2} over {} values of the knob", medians.len());
            Judged::new(number <= (1.0 + tolerance).max(noise), number, seen, wish)
        }
        _ => Judged::missing(wish, "fewer than two values of the knob were measured"),
    }
}

fn equal(results: &Results<'_>, metric: &Metric, a: &LineOf, b: &LineOf, tolerance: f64) -> Judged {
    let wish = format!("equal within {}", words::percent(tolerance));
    let in_a = |at: &Scalar| results.has(a, at);
    let in_b = |at: &Scalar| results.has(b, at);
    let gap = missing(results, metric, a, in_b).or_else(|| missing(results, metric, b, in_a));
    if let Some(missing) = gap {
        return Judged::missing(wish, missing);
    }
    let of_b = results.curve(metric, b);
    let pair = |m: &crate::results::Measured| {
        let other = of_b.iter().find(|other| other.at.is(&m.at))?;
        let ratio = other.summary.median / m.summary.median;
        ratio.is_finite().then(|| (m.at.clone(), ratio))
    };
    let ratios: Vec<(Scalar, f64)> = results.curve(metric, a).iter().filter_map(pair).collect();
    let off = |ratio: f64| ratio.max(1.0 / ratio);
    let worst = ratios.iter().max_by(|x, y| off(x.1).total_cmp(&off(y.1)));
    let Some((at, worst)) = worst else {
        return Judged::missing(wish, "no point of both lines was measured");
    };
    let noise = results.noise(metric, &a.group).unwrap_or(1.0);
    let seen = format!("x {worst:.2} at {at}, the farthest of {} points", ratios.len());
    Judged::new(off(*worst) <= (1.0 + tolerance).max(noise), *worst, seen, wish)
}

fn within_model(results: &Results<'_>, line: &LineOf, tolerance: f64) -> Judged {
    let wish = format!("every point within {} of the model", words::percent(tolerance));
    let metric = calls_per_s();
    if let Some(missing) = missing(results, &metric, line, |_| true) {
        return Judged::missing(wish, missing);
    }
    let off = |m: &crate::results::Measured| {
        let predicted = results.predicted(line, &m.at)?.calls_per_s;
        let error = m.summary.median / predicted - 1.0;
        error.is_finite().then(|| (m.at.clone(), error))
    };
    let errors: Vec<(Scalar, f64)> = results.curve(&metric, line).iter().filter_map(off).collect();
    let worst = errors.iter().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
    let Some((at, worst)) = worst else {
        return Judged::missing(wish, "no point was both predicted and measured");
    };
    let sizes: Vec<f64> = errors.iter().map(|(_, error)| error.abs()).collect();
    let middle = median(&sizes).unwrap_or(f64::NAN);
    let seen = format!(
        "at worst {} (at {at}), in the middle {}",
        words::signed_percent(*worst),
        words::percent(middle)
    );
    Judged::new(worst.abs() <= tolerance, *worst, seen, wish)
}

fn fitted(
    results: &Results<'_>,
    metric: &Metric,
    (line, values): (&LineOf, &[Scalar]),
    law: Law,
    r_squared_min: f64,
) -> Judged {
    let wish = format!("R squared at least {r_squared_min}");
    let asked = |at: &Scalar| values.iter().any(|value| value.is(at));
    if let Some(missing) = missing(results, metric, line, asked) {
        return Judged::missing(wish, missing);
    }
    let curve = results.curve(metric, line);
    let wanted = |m: &&crate::results::Measured| asked(&m.at);
    let point = |m: &crate::results::Measured| Some((m.at.number()?, m.summary.median));
    let points: Vec<(f64, f64)> = curve.iter().filter(wanted).filter_map(point).collect();
    let us = |seconds: f64| words::number(seconds * 1e6);
    let found = match law {
        Law::Batch => fit::batch(&points).map(|fit| {
            let seen = format!("g = {} us, c = {} us", us(fit.gap_s), us(fit.call_s));
            (fit.r_squared, seen)
        }),
        Law::Window => fit::window(&points).map(|fit| {
            let knee = fit.knee.map_or("none".to_owned(), words::number);
            (fit.r_squared, format!("cycle {} us, knee {knee}", us(fit.cycle_s)))
        }),
    };
    match found {
        Some((r_squared, seen)) => {
            let seen = format!("R squared {r_squared:.3}: {seen}");
            Judged::new(r_squared >= r_squared_min, r_squared, seen, wish)
        }
        None => Judged::missing(wish, "too few points for a fit"),
    }
}

fn find_knee(results: &Results<'_>, line: &LineOf, share: f64, wanted: Wanted) -> Judged {
    let metric = calls_per_s();
    if let Some(missing) = missing(results, &metric, line, |_| true) {
        return Judged::missing("a knee".to_owned(), missing);
    }
    let curve = results.curve(&metric, line);
    let point = |m: &crate::results::Measured| Some((m.at.number()?, m.summary.median));
    let points: Vec<(f64, f64)> = curve.iter().filter_map(point).collect();
    let said = |x: &(f64, f64)| {
        let at = curve.iter().find(|m| m.at.number() == Some(x.0))?;
        Some((x.0, results.predicted(line, &at.at)?.calls_per_s))
    };
    let predicted: Option<Vec<(f64, f64)>> = points.iter().map(said).collect();
    let model = predicted.and_then(|predicted| knee::first_at_share(&predicted, share));
    let Some(number) = knee::first_at_share(&points, share).filter(|_| points.len() >= 3) else {
        return Judged::missing("a knee".to_owned(), "fewer than three points were measured");
    };
    let seen = format!("{number}: there {} of the best are reached", words::percent(share));
    let (holds, wish) = match wanted {
        Wanted::Band { .. } => meets(wanted, number, model),
        Wanted::Model { tolerance } => (
            model.map(|model| (number - model).abs() <= tolerance),
            model.map_or("the model says nothing".to_owned(), |model| {
                format!("the model's {model}, {tolerance} more or less")
            }),
        ),
    };
    match holds {
        Some(holds) => Judged::new(holds, number, seen, wish),
        None => Judged::missing(wish, seen),
    }
}

/// The first point of a line that a claim needs and that no sound run measured, in words: what
/// was not measured could have been the one that is otherwise.
fn missing(
    results: &Results<'_>,
    metric: &Metric,
    line: &LineOf,
    needed: impl Fn(&Scalar) -> bool,
) -> Option<String> {
    let gap = results.gaps(metric, line).into_iter().find(|at| needed(at))?;
    Some(format!("{}, {gap} was not measured", line.line))
}

fn calls_per_s() -> Metric {
    "calls_per_s".parse().expect("it is a path")
}

#[cfg(test)]
mod tests;

//! Claims about the ratio of two lines along the knob: every value of it is as wanted, or it falls,
//! or rises.

use super::{Judged, Verdict, missing, ratio};
use crate::experiment::{Direction, LineOf, PointOf, Scalar, Wanted};
use crate::metric::Metric;
use crate::results::Results;
use crate::stats::bootstrap::Resampling;
use crate::stats::rounds;
use crate::words;

/// The ratio of one line to another at every value; the worst one stands for all.
pub(super) fn every(
    results: &Results<'_>,
    metric: &Metric,
    (over, under): (&LineOf, &LineOf),
    values: &[Scalar],
    wanted: Wanted,
) -> Judged {
    let wish = super::meets(wanted, f64::NAN, None).1;
    let asked = |at: &Scalar| values.iter().any(|value| value.is(at));
    let gap = |line: &LineOf| missing(results, metric, line, asked);
    if let Some(missing) = gap(over).or_else(|| gap(under)) {
        return Judged::missing(wish, missing);
    }
    let point = |line: &LineOf, at: &Scalar| PointOf { line: line.clone(), at: at.clone() };
    let one = |at: &Scalar| {
        let judged = ratio(results, metric, &point(over, at), &point(under, at), wanted);
        judged.number.map(|number| (number, judged))
    };
    // The short form of an experiment has fewer of them.
    let both = values.iter().filter(|at| results.has(over, at) && results.has(under, at));
    let judged = both.clone().filter_map(|at| one(at).map(|(number, judged)| (at, number, judged)));
    let mut found: Vec<(&Scalar, f64, Judged)> = judged.collect();
    if found.len() < both.count() || found.is_empty() {
        return Judged::missing(wish, "no ratio could be made of some runs");
    }
    let off = found.iter().filter(|(_, _, judged)| judged.verdict != Verdict::Holds).count();
    let count = found.len();
    let rank = |(_, number, judged): &(&Scalar, f64, Judged)| {
        let verdict = match judged.verdict {
            Verdict::Holds | Verdict::NotMeasured => 2,
            Verdict::NoDifference => 1,
            Verdict::DoesNotHold => 0,
        };
        (verdict, margin(wanted, *number))
    };
    found.sort_by(|a, b| {
        let (a, b) = (rank(a), rank(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    let (at, number, worst) = found.swap_remove(0);
    let others = match off {
        0 => "all as wanted".to_owned(),
        off => format!("{off} not as wanted"),
    };
    let seen = format!("at {at}, the worst of {count} values: {}; {others}", worst.seen);
    Judged { verdict: worst.verdict, number: Some(number), seen, wanted: wish }
}

/// How far inside of what is wanted a number lies; outside it is below zero.
fn margin(wanted: Wanted, number: f64) -> f64 {
    match wanted {
        Wanted::Band { min, max } => {
            let above = min.map_or(f64::INFINITY, |min| number - min);
            let below = max.map_or(f64::INFINITY, |max| max - number);
            above.min(below)
        }
        Wanted::Model { .. } => 0.0,
    }
}

/// A line along the knob, or its ratio to another one.
pub(super) struct Along<'a> {
    pub(super) metric: &'a Metric,
    pub(super) line: &'a LineOf,
    pub(super) by: Option<&'a LineOf>,
    pub(super) values: &'a [Scalar],
}

/// One value of the knob: its number, and that of every round.
struct Step {
    at: Scalar,
    number: f64,
    rounds: Vec<(u32, f64)>,
}

/// Whether the line goes one way. What goes the other way between two values must lie within what
/// equal runs differ by, and the way from the first to the last must not.
pub(super) fn trend(
    results: &Results<'_>,
    along: &Along<'_>,
    direction: Direction,
    tolerance: f64,
) -> Judged {
    let way = match direction {
        Direction::Falls => "falls",
        Direction::Rises => "rises",
    };
    let wish = format!("{way} along the knob, by more than equal runs differ");
    let steps = match along.steps(results) {
        Ok(steps) => steps,
        Err(missing) => return Judged::missing(wish, missing),
    };
    let noise = along.noise(results, tolerance);
    let fewest = steps.iter().map(|step| step.rounds.len()).min().unwrap_or(0);
    let (Some(first), Some(last)) = (steps.first(), steps.last()) else {
        return Judged::missing(wish, "no value of the knob was measured");
    };
    if steps.len() < 2 {
        return Judged::missing(wish, "fewer than two values of the knob were measured");
    }
    if noise.is_none() && fewest < 2 {
        let wrong = "one round and no twin: what equal runs differ by was not measured";
        return Judged::missing(wish, wrong);
    }
    let Some(whole) = compare(first, last, noise) else {
        return Judged::missing(wish, "runs of the same rounds are missing");
    };
    let (onward, back) = match direction {
        Direction::Falls => (rounds::Verdict::Smaller, rounds::Verdict::Larger),
        Direction::Rises => (rounds::Verdict::Larger, rounds::Verdict::Smaller),
    };
    let said = steps.iter().map(|step| step.words(along.by.is_some()));
    let mut seen = said.collect::<Vec<_>>().join(", ");
    seen.push_str(&format!("; last by first x {:.2}", whole.ratio.estimate));
    if fewest > 1 {
        seen.push_str(&format!(" ({:.2} to {:.2})", whole.ratio.low, whole.ratio.high));
    }
    if let Some(noise) = noise {
        seen.push_str(&format!("; equal ones differ by x {noise:.2}"));
    }
    let turned = turned(&steps, noise, back, direction);
    if let Some((from, to)) = turned {
        seen.push_str(&format!("; from {} to {} it does not", from.at, to.at));
    }
    let holds = turned.is_none() && whole.verdict == onward;
    let mut judged = Judged::new(holds, whole.ratio.estimate, seen, wish);
    if turned.is_none() && whole.verdict == rounds::Verdict::NoDifference {
        judged.verdict = Verdict::NoDifference;
    }
    judged
}

/// The first value that is behind the best one before it, by more than equal runs differ: small
/// steps back must not add up unseen.
fn turned(
    steps: &[Step],
    noise: Option<f64>,
    back: rounds::Verdict,
    direction: Direction,
) -> Option<(&Step, &Step)> {
    let mut best = steps.first()?;
    for step in &steps[1..] {
        if compare(best, step, noise).is_some_and(|compared| compared.verdict == back) {
            return Some((best, step));
        }
        let farther = match direction {
            Direction::Falls => step.number < best.number,
            Direction::Rises => step.number > best.number,
        };
        if farther {
            best = step;
        }
    }
    None
}

/// Of the rounds that both have.
fn compare(a: &Step, b: &Step, noise: Option<f64>) -> Option<rounds::Comparison> {
    let pair = |(round, a): &(u32, f64)| {
        b.rounds.iter().find(|(other, _)| other == round).map(|(_, b)| (*a, *b))
    };
    let pairs: Vec<(f64, f64)> = a.rounds.iter().filter_map(pair).collect();
    rounds::compare_paired(&pairs, noise, Resampling::default())
}

impl Step {
    fn words(&self, is_ratio: bool) -> String {
        let number = if is_ratio { words::ratio(self.number) } else { words::number(self.number) };
        format!("{number} at {}", self.at)
    }
}

impl Along<'_> {
    /// In the order of the knob, or the first value that is missing.
    fn steps(&self, results: &Results<'_>) -> Result<Vec<Step>, String> {
        let asked = |at: &Scalar| self.values.iter().any(|value| value.is(at));
        let lines = [self.line].into_iter().chain(self.by);
        if let Some(gap) = lines.clone().find_map(|l| missing(results, self.metric, l, asked)) {
            return Err(gap);
        }
        let shared = self.values.iter().filter(|at| lines.clone().all(|l| results.has(l, at)));
        let one = |at: &Scalar| {
            self.step(results, at).ok_or_else(|| format!("there is no number at {at}"))
        };
        let mut steps = shared.map(one).collect::<Result<Vec<Step>, String>>()?;
        let place = |step: &Step| step.at.number().unwrap_or(f64::INFINITY);
        steps.sort_by(|a, b| place(a).total_cmp(&place(b)));
        Ok(steps)
    }

    fn step(&self, results: &Results<'_>, at: &Scalar) -> Option<Step> {
        let point = |line: &LineOf| PointOf { line: line.clone(), at: at.clone() };
        let over = point(self.line);
        let of_over = results.by_round(self.metric, &over);
        let at = at.clone();
        let Some(by) = self.by else {
            let number = results.summary(self.metric, &over)?.median;
            return Some(Step { at, number, rounds: of_over });
        };
        let under = point(by);
        let of_under = results.by_round(self.metric, &under);
        let pair = |(round, over): (u32, f64)| {
            of_under.iter().find(|(other, _)| *other == round).map(|(_, n)| (round, over / n))
        };
        let rounds = of_over.into_iter().filter_map(pair).collect();
        let number = results.ratio(self.metric, &over, &under)?.median;
        Some(Step { at, number, rounds })
    }

    /// By which factor two numbers differ whose settings are equal. Between two ratios lie two runs
    /// of the one line and two of the other, and each pair brings the noise of its group.
    fn noise(&self, results: &Results<'_>, tolerance: f64) -> Option<f64> {
        let of = |line: &LineOf| results.noise(self.metric, &line.group);
        let parts = [Some(self.line), self.by].into_iter().flatten().filter_map(of);
        let squares = parts.map(|noise| noise.ln().powi(2)).reduce(|a, b| a + b);
        let measured = squares.map(|sum| sum.sqrt().exp());
        let given = (tolerance > 0.0).then_some(1.0 + tolerance);
        [measured, given].into_iter().flatten().reduce(f64::max)
    }
}

#[cfg(test)]
mod tests;

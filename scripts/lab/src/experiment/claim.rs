//! Claims as data: what is compared, and what is wanted of it.

use super::{Experiment, Group, Line, Mode, Scalar};
use crate::metric::Metric;

/// A statement that the results are checked against.
#[derive(Clone, Debug)]
pub struct Claim {
    /// In words.
    pub text: String,
    /// The check.
    pub test: Test,
}

/// A line of a group, by names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineOf {
    /// The group.
    pub group: String,
    /// The line.
    pub line: String,
}

/// A point of a line.
#[derive(Clone, Debug, PartialEq)]
pub struct PointOf {
    /// The line.
    pub line: LineOf,
    /// The knob's value.
    pub at: Scalar,
}

/// How a claim is checked.
#[derive(Clone, Debug)]
pub enum Test {
    /// The metric at one point by that at another.
    Ratio {
        /// What is compared.
        metric: Metric,
        /// The upper one.
        over: PointOf,
        /// The lower one.
        under: PointOf,
        /// What is wanted of the ratio.
        wanted: Wanted,
    },
    /// The metric of one line by that of another, at every one of these values of the knob.
    EveryRatio {
        /// What is compared.
        metric: Metric,
        /// The upper one.
        over: LineOf,
        /// The lower one.
        under: LineOf,
        /// Where both are looked at.
        values: Vec<Scalar>,
        /// What is wanted of every ratio.
        wanted: Wanted,
    },
    /// Along the knob a line, or its ratio to another one, falls or rises: not strictly, but from
    /// the first to the last by more than equal runs differ.
    Trend {
        /// What is looked at.
        metric: Metric,
        /// The line.
        line: LineOf,
        /// What it is divided by.
        by: Option<LineOf>,
        /// Over these values.
        values: Vec<Scalar>,
        /// Which way.
        direction: Direction,
        /// Numbers that are no farther apart, as a share, are equal whatever equal runs do.
        tolerance: f64,
    },
    /// The metric at one point.
    Value {
        /// What is looked at.
        metric: Metric,
        /// Where.
        at: PointOf,
        /// What is wanted of it.
        wanted: Wanted,
    },
    /// The metric hardly changes along the knob.
    Flat {
        /// What is looked at.
        metric: Metric,
        /// Where.
        line: LineOf,
        /// Over these values.
        values: Vec<Scalar>,
        /// The largest may be so much above the smallest, as a share.
        tolerance: f64,
    },
    /// Two lines do not differ at any value of the knob that both have.
    Equal {
        /// What is compared.
        metric: Metric,
        /// One line.
        a: LineOf,
        /// The other.
        b: LineOf,
        /// The ratio may be so far from 1, as a share.
        tolerance: f64,
    },
    /// The whole line is near the model's.
    WithinModel {
        /// The line.
        line: LineOf,
        /// Each point may be so far off, as a share.
        tolerance: f64,
    },
    /// A law goes through the line.
    Fit {
        /// What is fitted.
        metric: Metric,
        /// The line.
        line: LineOf,
        /// Over these values.
        values: Vec<Scalar>,
        /// Which.
        law: Law,
        /// The share of the spread that it explains, at least: R squared.
        r_squared_min: f64,
    },
    /// Where the line stops to rise.
    Knee {
        /// The line.
        line: LineOf,
        /// It has arrived at this share of its best.
        share: f64,
        /// What is wanted of the knob's value there.
        wanted: Wanted,
    },
    /// The metric at one point is less than at another, beyond what equal runs differ by.
    Less {
        /// What is compared.
        metric: Metric,
        /// Where it is less.
        at: PointOf,
        /// Where it is more.
        than: PointOf,
    },
    /// From line to line, larger values of the knob still reach this share of the line's best.
    KneeMoves {
        /// In the order in which it grows.
        lines: Vec<LineOf>,
        /// The share.
        share: f64,
    },
    /// Every measured run of all groups has it.
    EveryRun {
        /// What is looked at.
        metric: Metric,
        /// What is wanted of it.
        wanted: Wanted,
    },
    /// What a stall left is gone when the spare capacity says.
    Drains {
        /// An open loop with stalls.
        line: LineOf,
        /// What the server carries at the same value of the knob.
        capacity: LineOf,
        /// The time may be so far off, as a share.
        tolerance: f64,
    },
}

/// Which way a line goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Down.
    Falls,
    /// Up.
    Rises,
}

/// Laws that can be fitted, see [`crate::stats::fit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    /// X(B) = B / (g + B c): a batch with a gap.
    Batch,
    /// X(k) = min(k / (RTT + S), m / S): a window of calls in flight.
    Window,
}

/// What is wanted of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wanted {
    /// It lies between these, where they are given; one is.
    Band {
        /// The least.
        min: Option<f64>,
        /// The greatest.
        max: Option<f64>,
    },
    /// It is near what the model says: so far off as a share, for a knee in steps of the knob.
    Model {
        /// How far off.
        tolerance: f64,
    },
}

impl Wanted {
    /// Whether two wishes cannot both come true.
    pub(super) fn contradicts(&self, other: &Wanted) -> bool {
        let (Wanted::Band { min: a_min, max: a_max }, Wanted::Band { min: b_min, max: b_max }) =
            (self, other)
        else {
            return false;
        };
        let below = |max: &Option<f64>, min: &Option<f64>| match (max, min) {
            (Some(max), Some(min)) => max < min,
            _ => false,
        };
        below(a_max, b_min) || below(b_max, a_min)
    }
}

impl Test {
    /// The lines that it looks at.
    pub fn lines(&self) -> Vec<&LineOf> {
        match self {
            Test::Ratio { over, under, .. } => vec![&over.line, &under.line],
            Test::EveryRatio { over, under, .. } => vec![over, under],
            Test::Trend { line, by, .. } => [line].into_iter().chain(by).collect(),
            Test::Value { at, .. } => vec![&at.line],
            Test::Equal { a, b, .. } => vec![a, b],
            Test::Flat { line, .. }
            | Test::WithinModel { line, .. }
            | Test::Fit { line, .. }
            | Test::Knee { line, .. } => vec![line],
            Test::Less { at, than, .. } => vec![&at.line, &than.line],
            Test::KneeMoves { lines, .. } => lines.iter().collect(),
            Test::EveryRun { .. } => Vec::new(),
            Test::Drains { line, capacity, .. } => vec![line, capacity],
        }
    }

    /// The same; all that are measured for one that looks at every run.
    pub(super) fn measured_lines(&self, experiment: &Experiment) -> Vec<LineOf> {
        if !matches!(self, Test::EveryRun { .. }) {
            return self.lines().into_iter().cloned().collect();
        }
        let measured = experiment.groups.iter().filter(|group| group.mode != Mode::Simulated);
        let of = |group: &Group, line: &Line| LineOf {
            group: group.name.clone(),
            line: line.name.clone(),
        };
        measured.flat_map(|group| group.lines.iter().map(move |line| of(group, line))).collect()
    }

    /// What it looks at, if a band is wanted of it: two tests of one subject may contradict.
    pub(super) fn subject(&self) -> Option<(String, Wanted)> {
        let point = |p: &PointOf| format!("{}/{}/{}", p.line.group, p.line.line, p.at);
        match self {
            Test::Ratio { metric, over, under, wanted } => {
                Some((format!("{metric} {} {}", point(over), point(under)), *wanted))
            }
            Test::Value { metric, at, wanted } => {
                Some((format!("{metric} {}", point(at)), *wanted))
            }
            Test::Knee { line, share, wanted } => {
                Some((format!("knee {share} {}/{}", line.group, line.line), *wanted))
            }
            Test::EveryRatio { .. }
            | Test::Trend { .. }
            | Test::Flat { .. }
            | Test::Equal { .. }
            | Test::WithinModel { .. }
            | Test::Fit { .. }
            | Test::Less { .. }
            | Test::KneeMoves { .. }
            | Test::EveryRun { .. }
            | Test::Drains { .. } => None,
        }
    }
}

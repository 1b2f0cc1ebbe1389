//! Charts as data.

use super::{LineOf, PointOf, Scalar};
use crate::metric::Metric;

/// One chart.
#[derive(Clone, Debug)]
pub struct Panel {
    /// Its heading.
    pub title: String,
    /// What it shows.
    pub kind: PanelKind,
    /// The group that it shows.
    pub group: String,
    /// A sentence below it.
    pub note: Option<String>,
}

/// What a chart shows.
#[derive(Clone, Debug)]
pub enum PanelKind {
    /// A metric against the knob, one curve per line, with bars from the least to the greatest.
    Curve {
        /// What is drawn.
        metric: Metric,
        /// The vertical axis in words.
        axis: String,
        /// Its unit.
        unit: Unit,
        /// By name.
        lines: Vec<String>,
        /// With the model's curves.
        model: bool,
        /// Drawn is the ratio to this.
        base: Option<Base>,
    },
    /// The ratio of a metric to a base as a map: a row for each line, a column for each value.
    Heat {
        /// What is divided.
        metric: Metric,
        /// The numbers in words.
        what: String,
        /// The rows, by name.
        lines: Vec<String>,
        /// The columns.
        values: Vec<Scalar>,
        /// By what.
        base: Base,
    },
    /// Several metrics of one line against the knob.
    Several {
        /// The line.
        line: LineOf,
        /// What is drawn, named.
        metrics: Vec<(String, Metric)>,
        /// The vertical axis in words.
        axis: String,
        /// Its unit.
        unit: Unit,
    },
    /// Mean time in each stage against the knob, stacked.
    Stages {
        /// The line.
        line: LineOf,
    },
    /// Latency by percentile on a stretched axis, one curve per point.
    Percentiles {
        /// The line.
        line: LineOf,
        /// The points.
        at: Vec<Scalar>,
    },
    /// Calls per second, or the 99th percentile, over the time of a run: of one line at several
    /// points, or of several lines at one.
    Timeline {
        /// The lines.
        lines: Vec<LineOf>,
        /// The points.
        at: Vec<Scalar>,
        /// True: the 99th percentile.
        p99: bool,
    },
    /// How many of the batches had how many calls, one colour per point.
    BatchSizes {
        /// The line.
        line: LineOf,
        /// The points.
        at: Vec<Scalar>,
    },
    /// A number of each element of a list, such as each handler, at one point.
    Each {
        /// The line.
        line: LineOf,
        /// The point.
        at: Scalar,
        /// The list: a metric that takes a function of it.
        metric: Metric,
        /// The vertical axis in words.
        axis: String,
    },
    /// Calls that were due and not answered over the time of an open loop, one curve per point.
    Backlog {
        /// The line.
        line: LineOf,
        /// The points.
        at: Vec<Scalar>,
    },
}

impl PanelKind {
    /// The lines that it shows of `group`, and those that it divides by.
    pub(super) fn lines(&self, group: &str) -> Vec<LineOf> {
        let of_group = |lines: &[String]| -> Vec<LineOf> {
            let line = |line: &String| LineOf { group: group.to_owned(), line: line.clone() };
            lines.iter().map(line).collect()
        };
        match self {
            PanelKind::Curve { lines, base, .. } => {
                let base = base.iter().flat_map(|base| base.lines.clone());
                of_group(lines).into_iter().chain(base).collect()
            }
            PanelKind::Heat { lines, base, .. } => [of_group(lines), base.lines.clone()].concat(),
            PanelKind::Timeline { lines, .. } => lines.clone(),
            PanelKind::Several { line, .. }
            | PanelKind::Stages { line }
            | PanelKind::Percentiles { line, .. }
            | PanelKind::BatchSizes { line, .. }
            | PanelKind::Each { line, .. }
            | PanelKind::Backlog { line, .. } => vec![line.clone()],
        }
    }
}

/// What the numbers of some lines are divided by: those of the same lines at one value of the knob,
/// or those of other lines, each at the same value.
#[derive(Clone, Debug, PartialEq)]
pub struct Base {
    /// One for each line that is shown, in its order.
    pub lines: Vec<LineOf>,
    /// The value of the knob; without it, that of the point.
    pub at: Option<Scalar>,
}

impl Base {
    /// What the point at `at` of the `index`-th line is divided by.
    pub fn of(&self, index: usize, at: &Scalar) -> Option<PointOf> {
        let line = self.lines.get(index)?.clone();
        Some(PointOf { line, at: self.at.as_ref().unwrap_or(at).clone() })
    }
}

/// What an axis counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Calls per second.
    CallsPerS,
    /// Microseconds.
    Us,
    /// A share of 0 to 1, drawn in per cent.
    Share,
    /// A plain number.
    Count,
}

impl Unit {
    pub(super) fn named(name: &str) -> Option<Unit> {
        Some(match name {
            "calls/s" => Unit::CallsPerS,
            "us" => Unit::Us,
            "share" => Unit::Share,
            "count" => Unit::Count,
            _ => return None,
        })
    }
}

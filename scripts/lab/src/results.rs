//! The runs of an experiment, asked for numbers: by point, by round, along a line, beside what was
//! predicted.

use crate::experiment::{Experiment, Group, LineOf, Peer, PointOf, Scalar};
use crate::folder::Content;
use crate::metric::Metric;
use crate::predict::Predicted;
use crate::run::Record;
use crate::stats::bootstrap::Resampling;
use crate::stats::{Summary, median, rounds};

/// An experiment and what came of it.
#[derive(Clone, Copy, Debug)]
pub struct Results<'a> {
    /// What was run.
    pub experiment: &'a Experiment,
    /// The measurements.
    pub runs: &'a [Record],
    /// The models' numbers.
    pub predicted: &'a [Predicted],
    /// Why nothing was measured with Hadoop's server, if so.
    pub no_hadoop: Option<&'a str>,
}

/// A point of a line with its numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The knob's value.
    pub at: Scalar,
    /// Over the rounds.
    pub summary: Summary,
}

impl<'a> Results<'a> {
    /// Those of a folder.
    pub fn of(experiment: &'a Experiment, content: &'a Content) -> Results<'a> {
        let Content { runs, predicted, about, .. } = content;
        Results { experiment, runs, predicted, no_hadoop: about.no_hadoop.as_deref() }
    }

    /// The sound runs of a line at a value of its knob, in the order of time.
    pub(crate) fn sound(
        &self,
        line: &'a LineOf,
        at: &'a Scalar,
    ) -> impl Iterator<Item = &'a Record> + use<'a> {
        let of_point = |run: &&Record| run.is_of(&line.group, &line.line, at);
        self.runs.iter().filter(of_point).filter(|run| run.problem.is_none())
    }

    /// The number of every sound run of a point, with its round.
    pub fn by_round(&self, metric: &Metric, point: &PointOf) -> Vec<(u32, f64)> {
        let LineOf { group, line } = &point.line;
        let of_point = self.runs.iter().filter(|run| run.is_of(group, line, &point.at));
        of_point.filter_map(|run| Some((run.round, run.number(metric)?))).collect()
    }

    /// Over the rounds.
    pub fn summary(&self, metric: &Metric, point: &PointOf) -> Option<Summary> {
        let numbers: Vec<f64> = self.by_round(metric, point).into_iter().map(|(_, n)| n).collect();
        Summary::of(&numbers)
    }

    /// Two points of the same rounds, in pairs.
    pub fn pairs(&self, metric: &Metric, a: &PointOf, b: &PointOf) -> Vec<(f64, f64)> {
        let of_b = self.by_round(metric, b);
        let pair = |(round, a): (u32, f64)| {
            of_b.iter().find(|(other, _)| *other == round).map(|(_, b)| (a, *b))
        };
        self.by_round(metric, a).into_iter().filter_map(pair).collect()
    }

    /// The ratio of the medians of two points, with the least and the greatest ratio of two runs of
    /// one round; none if either has no number, or they make none.
    pub fn ratio(&self, metric: &Metric, over: &PointOf, under: &PointOf) -> Option<Summary> {
        let median = self.summary(metric, over)?.median / self.summary(metric, under)?.median;
        let pairs = self.pairs(metric, under, over).into_iter();
        let by_round = pairs.map(|(under, over)| over / under).filter(|ratio| ratio.is_finite());
        let by_round: Vec<f64> = by_round.collect();
        let rounds = Summary::of(&by_round).or_else(|| Summary::of(&[median]))?;
        median.is_finite().then_some(Summary { median, ..rounds })
    }

    /// The values of the knob that a line has, in the file's order.
    pub fn values(&self, line: &LineOf) -> &'a [Scalar] {
        let found = self.experiment.group(&line.group).and_then(|group| group.line(&line.line));
        found.map_or(&[][..], |line| line.values.as_slice())
    }

    /// The points of a line that have numbers, in the file's order.
    pub fn curve(&self, metric: &Metric, line: &LineOf) -> Vec<Measured> {
        let values = self.values(line);
        let one = |at: &Scalar| {
            let point = PointOf { line: line.clone(), at: at.clone() };
            Some(Measured { at: at.clone(), summary: self.summary(metric, &point)? })
        };
        values.iter().filter_map(one).collect()
    }

    /// Whether a line has this value of the knob.
    pub fn has(&self, line: &LineOf, at: &Scalar) -> bool {
        self.values(line).iter().any(|value| value.is(at))
    }

    /// The values of a line without a number.
    pub fn gaps(&self, metric: &Metric, line: &LineOf) -> Vec<Scalar> {
        let measured = self.curve(metric, line);
        let is_gap = |at: &&Scalar| !measured.iter().any(|m| m.at.is(at));
        self.values(line).iter().filter(is_gap).cloned().collect()
    }

    /// What two equal settings of the group differed by, as a factor of 1 or more.
    pub fn noise(&self, metric: &Metric, group: &str) -> Option<f64> {
        let group = self.experiment.group(group)?;
        let pairs = self.twin_pairs(metric, group);
        if pairs.len() < 2 {
            // One pair says how far apart two runs were, not how far they can be.
            return pairs.first().map(|(a, b)| (a / b).max(b / a));
        }
        rounds::noise(&pairs, Resampling::default())
    }

    fn twin_pairs(&self, metric: &Metric, group: &Group) -> Vec<(f64, f64)> {
        let Some((line, at)) = &group.twin else { return Vec::new() };
        let line = LineOf { group: group.name.clone(), line: group.lines[*line].name.clone() };
        let first = self.by_round(metric, &PointOf { line, at: at.clone() });
        let twins = self.runs.iter().filter(|run| run.twin && run.group == group.name);
        let pair = |run: &Record| {
            let again = run.number(metric)?;
            first.iter().find(|(round, _)| *round == run.round).map(|(_, once)| (*once, again))
        };
        twins.filter_map(pair).collect()
    }

    /// Why a line, or a point of it, was left out, if it was.
    pub fn left_out(&self, line: &LineOf) -> Option<&'a str> {
        let found = self.experiment.group(&line.group)?.line(&line.line)?;
        let of_line = |run: &&Record| run.group == line.group && run.line == line.line;
        let mut not_made = self.runs.iter().filter(|run| run.not_made).filter(of_line);
        let why = not_made.find_map(|run| run.problem.as_deref());
        why.or(self.no_hadoop.filter(|_| found.peer == Peer::Hadoop))
    }

    /// What the model says of a point.
    pub fn predicted(&self, line: &LineOf, at: &Scalar) -> Option<&'a Predicted> {
        let of_line = |p: &&Predicted| p.group == line.group && p.line == line.line;
        self.predicted.iter().find(|p| of_line(p) && p.at.is(at))
    }

    /// The middle of a metric over all sound runs of a group.
    pub fn median_of_group(&self, metric: &Metric, group: &str) -> Option<f64> {
        self.median_of_sums(std::slice::from_ref(metric), group)
    }

    /// The same of the sum of some metrics in each run; a run that lacks one is left out.
    pub fn median_of_sums(&self, metrics: &[Metric], group: &str) -> Option<f64> {
        let of_group = self.runs.iter().filter(|run| run.group == group);
        let sum = |run: &Record| metrics.iter().map(|metric| run.number(metric)).sum();
        let sums: Vec<f64> = of_group.filter_map(sum).collect();
        median(&sums)
    }
}

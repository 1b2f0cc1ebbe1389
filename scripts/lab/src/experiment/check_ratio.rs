//! Checks of claims that look at the ratio of two lines along the knob.

use super::check::Check;
use super::claim::{Direction, LineOf, Test};
use super::file;
use super::place::FileError;
use super::{Experiment, Scalar};
use crate::metric::Metric;
use toml::Spanned;

impl Check<'_> {
    pub(super) fn every_ratio(
        &self,
        claim: &file::Claim,
        metric: Metric,
        experiment: &Experiment,
    ) -> Result<Test, FileError> {
        let over = self.line(experiment, &claim.a, &claim.kind, "a")?;
        let under = self.line(experiment, &claim.b, &claim.kind, "b")?;
        let values = self.values_of_both(claim, experiment, &over, &under)?;
        let wanted = self.wanted(claim, experiment)?;
        Ok(Test::EveryRatio { metric, over, under, values, wanted })
    }

    pub(super) fn trend(
        &self,
        claim: &file::Claim,
        metric: Metric,
        experiment: &Experiment,
    ) -> Result<Test, FileError> {
        let line = self.line(experiment, &claim.a, &claim.kind, "a")?;
        let by = match &claim.b {
            Some(_) => Some(self.line(experiment, &claim.b, &claim.kind, "b")?),
            None => None,
        };
        let values = self.values_of_both(claim, experiment, &line, by.as_ref().unwrap_or(&line))?;
        if values.len() < 2 || values.iter().any(|value| value.number().is_none()) {
            let at = claim.values.as_ref().map_or_else(|| claim.kind.span(), Spanned::span);
            return self.refuse(at, "values: a trend needs two numbers or more");
        }
        let direction = match claim.direction.as_ref().map(|d| (d.get_ref().as_str(), d.span())) {
            Some(("falls", _)) => Direction::Falls,
            Some(("rises", _)) => Direction::Rises,
            Some((other, at)) => {
                return self.refuse(at, format!("direction {other:?}; allowed: falls, rises"));
            }
            None => {
                let wrong = "the direction is missing; allowed: falls, rises";
                return self.refuse(claim.kind.span(), wrong);
            }
        };
        let tolerance = match claim.tolerance {
            Some(_) => self.tolerance(claim)?,
            None => 0.0,
        };
        Ok(Test::Trend { metric, line, by, values, direction, tolerance })
    }

    /// The values of a claim, or those that both lines have; both have all of them.
    fn values_of_both(
        &self,
        claim: &file::Claim,
        experiment: &Experiment,
        a: &LineOf,
        b: &LineOf,
    ) -> Result<Vec<Scalar>, FileError> {
        let knob = |line: &LineOf| {
            experiment.group(&line.group).map(|group| (group.knob.of, group.knob.option.as_str()))
        };
        if knob(a) != knob(b) {
            let wrong = format!("groups {:?} and {:?} have different knobs", a.group, b.group);
            return self.refuse(claim.kind.span(), wrong);
        }
        let at = |selector: &Option<Spanned<file::Selector>>| {
            selector.as_ref().and_then(|spanned| spanned.as_ref().at.as_ref().map(Spanned::span))
        };
        if let Some(at) = at(&claim.a).or_else(|| at(&claim.b)) {
            return self.refuse(at, "at: this kind looks at whole lines; allowed: values");
        }
        let of = |line: &LineOf| {
            let group = experiment.group(&line.group);
            group.map(|group| group.values_of(std::slice::from_ref(&line.line))).unwrap_or_default()
        };
        let of_b = of(b);
        let in_b = |value: &Scalar| of_b.iter().any(|other| other.is(value));
        let values = self.claim_values(claim, experiment, a)?;
        let Some(named) = &claim.values else {
            let both: Vec<Scalar> = values.into_iter().filter(in_b).collect();
            return match both.is_empty() {
                false => Ok(both),
                true => self.refuse(claim.kind.span(), "a and b have no value in common"),
            };
        };
        self.values_are_of(&format!("line {:?}", b.line), &of_b, &values, named.span())?;
        Ok(values)
    }
}

//! Checks of claims: every kind has its fields, every name means something, no two contradict.

use super::check::Check;
use super::claim::{Claim, Law, LineOf, PointOf, Test, Wanted};
use super::file;
use super::place::FileError;
use super::{Experiment, Scalar};
use crate::stats::knee;
use toml::Spanned;

const KINDS: &str = "ratio, every_ratio, trend, value, flat, equal, within_model, knee, fit, \
    less, knee_moves, every_run, drains";

impl Check<'_> {
    pub(super) fn claims(
        &self,
        claims: &[Spanned<file::Claim>],
        experiment: &Experiment,
    ) -> Result<Vec<Claim>, FileError> {
        let mut checked: Vec<Claim> = Vec::new();
        for spanned in claims {
            let claim = self.claim(spanned, experiment)?;
            if let Some((subject, wanted)) = claim.test.subject()
                && let Some(other) = checked.iter().find(|other| {
                    let same = other.test.subject().filter(|(theirs, _)| *theirs == subject);
                    same.is_some_and(|(_, theirs)| theirs.contradicts(&wanted))
                })
            {
                let wrong = format!("this claim contradicts the claim {:?}", other.text);
                return self.refuse(spanned.as_ref().kind.span(), wrong);
            }
            checked.push(claim);
        }
        Ok(checked)
    }

    fn claim(
        &self,
        spanned: &Spanned<file::Claim>,
        experiment: &Experiment,
    ) -> Result<Claim, FileError> {
        let claim = spanned.as_ref();
        let metric = self.metric(claim.metric.as_ref())?;
        let kind = claim.kind.get_ref().as_str();
        self.fields_fit(claim, kind)?;
        let a = |this: &Self| this.line(experiment, &claim.a, &claim.kind, "a");
        let b = |this: &Self| this.line(experiment, &claim.b, &claim.kind, "b");
        let test = match kind {
            "ratio" => Test::Ratio {
                metric,
                over: self.point(experiment, &claim.a, &claim.kind, "a")?,
                under: self.point(experiment, &claim.b, &claim.kind, "b")?,
                wanted: self.wanted(claim, experiment)?,
            },
            "every_ratio" => self.every_ratio(claim, metric, experiment)?,
            "trend" => self.trend(claim, metric, experiment)?,
            "value" => Test::Value {
                metric,
                at: self.point(experiment, &claim.a, &claim.kind, "a")?,
                wanted: self.wanted(claim, experiment)?,
            },
            "flat" => {
                let line = a(self)?;
                let values = self.claim_values(claim, experiment, &line)?;
                Test::Flat { metric, line, values, tolerance: self.tolerance(claim)? }
            }
            "equal" => {
                Test::Equal { metric, a: a(self)?, b: b(self)?, tolerance: self.tolerance(claim)? }
            }
            "within_model" => {
                self.has_model(claim, experiment)?;
                Test::WithinModel { line: a(self)?, tolerance: self.tolerance(claim)? }
            }
            "fit" => {
                let line = a(self)?;
                let values = self.claim_values(claim, experiment, &line)?;
                let (law, r_squared_min) = (self.law(claim)?, self.r_squared_min(claim)?);
                Test::Fit { metric, line, values, law, r_squared_min }
            }
            "knee" => Test::Knee {
                line: a(self)?,
                share: self.share(&claim.share, "share")?.unwrap_or(knee::ARRIVED),
                wanted: self.wanted(claim, experiment)?,
            },
            "less" => Test::Less {
                metric,
                at: self.point(experiment, &claim.a, &claim.kind, "a")?,
                than: self.point(experiment, &claim.b, &claim.kind, "b")?,
            },
            "knee_moves" => Test::KneeMoves {
                lines: self.claim_lines(claim, experiment)?,
                share: self.share(&claim.share, "share")?.unwrap_or(knee::ARRIVED),
            },
            "every_run" => Test::EveryRun { metric, wanted: self.wanted(claim, experiment)? },
            "drains" => Test::Drains {
                line: a(self)?,
                capacity: b(self)?,
                tolerance: self.tolerance(claim)?,
            },
            other => {
                let wrong = format!("kind {other:?}; allowed: {KINDS}");
                return self.refuse(claim.kind.span(), wrong);
            }
        };
        if let Some(text) = &claim.metric {
            self.numbers_exist(text, &test.measured_lines(experiment), experiment)?;
        }
        Ok(Claim { text: claim.text.clone(), test })
    }

    /// A field that a kind has no use for would be believed to act.
    fn fields_fit(&self, claim: &file::Claim, kind: &str) -> Result<(), FileError> {
        let has: &[(&str, bool)] = &[
            ("a", claim.a.is_some()),
            ("metric", claim.metric.is_some()),
            ("b", claim.b.is_some()),
            ("values", claim.values.is_some()),
            ("min", claim.min.is_some()),
            ("max", claim.max.is_some()),
            ("near", claim.near.is_some()),
            ("tolerance", claim.tolerance.is_some()),
            ("model", claim.model.is_some()),
            ("share", claim.share.is_some()),
            ("law", claim.law.is_some()),
            ("lines", claim.lines.is_some()),
            ("direction", claim.direction.is_some()),
        ];
        let uses: &[&str] = match kind {
            "ratio" => &["a", "metric", "b", "min", "max", "near", "tolerance", "model"],
            "every_ratio" => &["a", "metric", "b", "values", "min", "max", "near", "tolerance"],
            "trend" => &["a", "metric", "b", "values", "direction", "tolerance"],
            "value" => &["a", "metric", "min", "max", "near", "tolerance", "model"],
            "flat" => &["a", "metric", "values", "tolerance"],
            "equal" => &["a", "metric", "b", "tolerance"],
            "within_model" => &["a", "tolerance"],
            "fit" => &["a", "metric", "values", "law", "min"],
            "knee" => &["a", "min", "max", "near", "tolerance", "model", "share"],
            "less" => &["a", "metric", "b"],
            "knee_moves" => &["a", "lines", "share"],
            "every_run" => &["metric", "min", "max", "near", "tolerance"],
            "drains" => &["a", "b", "tolerance"],
            _ => return Ok(()),
        };
        match has.iter().find(|(name, given)| *given && !uses.contains(name)) {
            Some((name, _)) => {
                let wrong = format!("a claim of kind {kind} has no {name}; allowed: {uses:?}");
                self.refuse(claim.kind.span(), wrong.replace(['[', ']', '"'], ""))
            }
            None => Ok(()),
        }
    }

    pub(super) fn wanted(
        &self,
        claim: &file::Claim,
        experiment: &Experiment,
    ) -> Result<Wanted, FileError> {
        for field in [&claim.min, &claim.max, &claim.near].into_iter().flatten() {
            if !field.as_ref().is_finite() {
                let wrong = format!("{} is no number to compare with", field.as_ref());
                return self.refuse(field.span(), wrong);
            }
        }
        let number = |field: &Option<Spanned<f64>>| field.as_ref().map(|field| *field.as_ref());
        let (min, max, near) = (number(&claim.min), number(&claim.max), number(&claim.near));
        let band = min.is_some() || max.is_some();
        let model = claim.model == Some(true);
        match (band, near, model) {
            (true, None, false) if claim.tolerance.is_none() => {
                if let (Some(min), Some(max)) = (min, max)
                    && min > max
                {
                    let wrong = format!("no number is at least {min} and at most {max}");
                    return self.refuse(claim.kind.span(), wrong);
                }
                Ok(Wanted::Band { min, max })
            }
            (false, Some(near), false) => {
                let off = near.abs() * self.tolerance(claim)?;
                Ok(Wanted::Band { min: Some(near - off), max: Some(near + off) })
            }
            (false, None, true) => {
                self.has_model(claim, experiment)?;
                Ok(Wanted::Model { tolerance: self.tolerance(claim)? })
            }
            _ => self.refuse(
                claim.kind.span(),
                "what is wanted? allowed: min and max or one of them; near with tolerance; or \
                 model = true with tolerance",
            ),
        }
    }

    fn law(&self, claim: &file::Claim) -> Result<Law, FileError> {
        let allowed = "allowed: batch, for B / (g + B c), or window, for min(k / (RTT + S), m / S)";
        match claim.law.as_ref().map(|law| (law.get_ref().as_str(), law.span())) {
            Some(("batch", _)) => Ok(Law::Batch),
            Some(("window", _)) => Ok(Law::Window),
            Some((other, at)) => self.refuse(at, format!("law {other:?}; {allowed}")),
            None => self.refuse(claim.kind.span(), format!("the law is missing; {allowed}")),
        }
    }

    fn r_squared_min(&self, claim: &file::Claim) -> Result<f64, FileError> {
        match &claim.min {
            Some(min) if (0.0..=1.0).contains(min.get_ref()) => Ok(*min.get_ref()),
            Some(min) => self.refuse(min.span(), "min: the R squared of a fit is 0 to 1"),
            None => self.refuse(claim.kind.span(), "min is missing: the least R squared"),
        }
    }

    fn has_model(&self, claim: &file::Claim, experiment: &Experiment) -> Result<(), FileError> {
        let Some(a) = &claim.a else { return Ok(()) };
        let group = self.group_of(experiment, &a.as_ref().group)?;
        if group.model.is_none() {
            let wrong = format!("group {:?} has no model to compare with", group.name);
            return self.refuse(a.span(), wrong);
        }
        Ok(())
    }

    pub(super) fn tolerance(&self, claim: &file::Claim) -> Result<f64, FileError> {
        match &claim.tolerance {
            None => self.refuse(claim.kind.span(), "the tolerance is missing, such as 0.1"),
            Some(tolerance) if (0.0..f64::INFINITY).contains(tolerance.as_ref()) => {
                Ok(*tolerance.as_ref())
            }
            Some(tolerance) => self.refuse(tolerance.span(), "tolerance: allowed is 0 and more"),
        }
    }

    /// A number above 0 and up to 1.
    pub(super) fn share(
        &self,
        share: &Option<Spanned<f64>>,
        name: &str,
    ) -> Result<Option<f64>, FileError> {
        match share.as_ref().map(|share| (*share.as_ref(), share.span())) {
            None => Ok(None),
            Some((share, _)) if share > 0.0 && share <= 1.0 => Ok(Some(share)),
            Some((_, at)) => self.refuse(at, format!("{name}: allowed is above 0 and up to 1")),
        }
    }

    /// Two lines or more of the group that `a` names.
    fn claim_lines(
        &self,
        claim: &file::Claim,
        experiment: &Experiment,
    ) -> Result<Vec<LineOf>, FileError> {
        let (Some(a), Some(lines)) = (&claim.a, &claim.lines) else {
            let wrong = "a group and its lines are missing: a = { group = ... }, lines = [...]";
            return self.refuse(claim.kind.span(), wrong);
        };
        if lines.as_ref().len() < 2 {
            return self.refuse(lines.span(), "lines: allowed are two lines or more");
        }
        let group = self.group_of(experiment, &a.as_ref().group)?;
        let one = |name: &Spanned<String>| {
            let line = self.line_of(group, Some(name), name.span())?;
            Ok(LineOf { group: group.name.clone(), line })
        };
        lines.as_ref().iter().map(one).collect()
    }

    pub(super) fn claim_values(
        &self,
        claim: &file::Claim,
        experiment: &Experiment,
        line: &LineOf,
    ) -> Result<Vec<Scalar>, FileError> {
        let group = experiment.group(&line.group);
        let of_line = group.and_then(|group| group.line(&line.line)).map(|line| &line.values);
        let of_line = of_line.map_or(&[][..], Vec::as_slice);
        let Some(values) = &claim.values else {
            return Ok(of_line.to_vec());
        };
        let found = self.values(values)?;
        self.values_are_of(&format!("line {:?}", line.line), of_line, &found, values.span())?;
        Ok(found)
    }

    pub(super) fn line(
        &self,
        experiment: &Experiment,
        selector: &Option<Spanned<file::Selector>>,
        claim: &Spanned<String>,
        name: &str,
    ) -> Result<LineOf, FileError> {
        let Some(spanned) = selector else {
            let wrong = format!("the claim's {name} is missing: {{ group = ..., line = ... }}");
            return self.refuse(claim.span(), wrong);
        };
        let selector = spanned.as_ref();
        let group = self.group_of(experiment, &selector.group)?;
        let line = self.line_of(group, selector.line.as_ref(), spanned.span())?;
        Ok(LineOf { group: group.name.clone(), line })
    }

    fn point(
        &self,
        experiment: &Experiment,
        selector: &Option<Spanned<file::Selector>>,
        claim: &Spanned<String>,
        name: &str,
    ) -> Result<PointOf, FileError> {
        let line = self.line(experiment, selector, claim, name)?;
        let spanned = selector.as_ref();
        let at = spanned.and_then(|spanned| spanned.as_ref().at.as_ref());
        let Some(at) = at else {
            let wrong = format!("the claim's {name} needs a value of the knob: at = ...");
            return self.refuse(spanned.map_or_else(|| claim.span(), Spanned::span), wrong);
        };
        let value = self.scalar(at)?;
        let group = experiment.group(&line.group);
        let of_line = group.and_then(|group| group.line(&line.line)).map(|line| &line.values);
        let of_line = of_line.map_or(&[][..], Vec::as_slice);
        let values = std::slice::from_ref(&value);
        self.values_are_of(&format!("line {:?}", line.line), of_line, values, at.span())?;
        Ok(PointOf { line, at: value })
    }
}

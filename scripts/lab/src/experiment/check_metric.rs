//! Checks of metrics: that they can be read, and that there are such numbers.

use super::check::Check;
use super::place::FileError;
use super::{Experiment, LineOf};
use crate::metric::Metric;
use toml::Spanned;

/// What an experiment is about unless it says otherwise.
pub(super) const METRIC: &str = "calls_per_s";

impl Check<'_> {
    pub(super) fn metric(&self, text: Option<&Spanned<String>>) -> Result<Metric, FileError> {
        let Some(text) = text else {
            return Ok(METRIC.parse().expect("the default metric is a path"));
        };
        match text.as_ref().parse() {
            Ok(metric) => Ok(metric),
            Err(error) => self.refuse(text.span(), error.to_string()),
        }
    }

    /// Whether reports of these lines have every number of the metric. One that is there in some
    /// runs only, such as that of records, may still be missing: that is said after the run.
    pub(super) fn numbers_exist(
        &self,
        text: &Spanned<String>,
        lines: &[LineOf],
        experiment: &Experiment,
    ) -> Result<(), FileError> {
        let Some(reports) = &self.known.reports else { return Ok(()) };
        let paths = self.metric(Some(text))?.paths();
        for line in lines {
            let Some(group) = experiment.group(&line.group) else { continue };
            let (fields, run) = reports.of(group, &line.line);
            if let Some(path) = paths.iter().find(|path| !fields.has(path)) {
                let nearest = fields.nearest(path).join(", ");
                let wrong = format!("the report of {run} has no number {path}; nearest: {nearest}");
                return self.refuse(text.span(), wrong);
            }
        }
        Ok(())
    }
}

//! Checks of panels.

use super::check::Check;
use super::file;
use super::panel::{Panel, PanelKind, Unit};
use super::place::FileError;
use super::{Experiment, Group, LineOf, Scalar};
use toml::Spanned;

const KINDS: &str = "curve, several, stages, percentiles, timeline, timeline_p99, batch_sizes, \
    each, backlog";

impl Check<'_> {
    pub(super) fn panels(
        &self,
        panels: &[Spanned<file::Panel>],
        experiment: &Experiment,
    ) -> Result<Vec<Panel>, FileError> {
        panels.iter().map(|panel| self.panel(panel, experiment)).collect()
    }

    fn panel(
        &self,
        spanned: &Spanned<file::Panel>,
        experiment: &Experiment,
    ) -> Result<Panel, FileError> {
        let panel = spanned.as_ref();
        let group = self.group_of(experiment, &panel.group)?;
        let at = |this: &Self| this.panel_at(panel, group);
        let kind = match panel.kind.get_ref().as_str() {
            "curve" => {
                let lines = match &panel.lines {
                    None => group.lines.iter().map(|line| line.name.clone()).collect(),
                    Some(lines) => {
                        let name = |l: &Spanned<String>| self.line_of(group, Some(l), l.span());
                        lines.iter().map(name).collect::<Result<_, _>>()?
                    }
                };
                let metric = self.metric(panel.metric.as_ref())?;
                let (axis, unit) = (self.axis(panel, &metric.to_string()), self.unit(panel)?);
                let model = panel.model == Some(true) && group.model.is_some();
                PanelKind::Curve { metric, axis, unit, lines, model }
            }
            "several" => {
                let mut metrics = Vec::new();
                for named in &panel.metrics {
                    let named = named.get_ref();
                    metrics.push((named.name.clone(), self.metric(Some(&named.metric))?));
                }
                if metrics.is_empty() {
                    let wrong = "metrics is missing: [{ name = ..., metric = ... }]";
                    return self.refuse(panel.kind.span(), wrong);
                }
                let (axis, unit) = (self.axis(panel, "share"), self.unit(panel)?);
                PanelKind::Several { line: self.panel_line(panel, group)?, metrics, axis, unit }
            }
            "stages" => PanelKind::Stages { line: self.panel_line(panel, group)? },
            "percentiles" => {
                PanelKind::Percentiles { line: self.panel_line(panel, group)?, at: at(self)? }
            }
            kind @ ("timeline" | "timeline_p99") => PanelKind::Timeline {
                line: self.panel_line(panel, group)?,
                at: at(self)?,
                p99: kind == "timeline_p99",
            },
            "batch_sizes" => {
                PanelKind::BatchSizes { line: self.panel_line(panel, group)?, at: at(self)? }
            }
            "backlog" => PanelKind::Backlog { line: self.panel_line(panel, group)?, at: at(self)? },
            "each" => self.panel_each(panel, group)?,
            other => {
                let wrong = format!("kind {other:?}; allowed: {KINDS}");
                return self.refuse(panel.kind.span(), wrong);
            }
        };
        Ok(Panel {
            title: panel.title.clone(),
            kind,
            group: group.name.clone(),
            note: panel.note.clone(),
        })
    }

    fn panel_each(&self, panel: &file::Panel, group: &Group) -> Result<PanelKind, FileError> {
        let metric = self.metric(panel.metric.as_ref())?;
        if !metric.is_of_list() {
            let at = panel.metric.as_ref().map_or_else(|| panel.kind.span(), Spanned::span);
            let wrong = "metric: allowed here is a list, such as sum(server.handlers[].calls)";
            return self.refuse(at, wrong);
        }
        let mut at = self.panel_at(panel, group)?;
        let (Some(at), true) = (at.pop(), at.is_empty()) else {
            return self
                .refuse(panel.kind.span(), "a panel of this kind shows one value: at = [x]");
        };
        let (line, axis) = (self.panel_line(panel, group)?, self.axis(panel, &metric.to_string()));
        Ok(PanelKind::Each { line, at, metric, axis })
    }

    fn axis(&self, panel: &file::Panel, otherwise: &str) -> String {
        panel.axis.clone().unwrap_or_else(|| otherwise.to_owned())
    }

    fn unit(&self, panel: &file::Panel) -> Result<Unit, FileError> {
        let Some(name) = &panel.unit else { return Ok(Unit::CallsPerS) };
        match Unit::named(name.as_ref()) {
            Some(unit) => Ok(unit),
            None => {
                let wrong = format!("unit {:?}; allowed: calls/s, us, share, count", name.as_ref());
                self.refuse(name.span(), wrong)
            }
        }
    }

    /// The one line of a panel that shows one.
    fn panel_line(&self, panel: &file::Panel, group: &Group) -> Result<LineOf, FileError> {
        let lines = panel.lines.as_deref().unwrap_or(&[]);
        if lines.len() > 1 {
            return self.refuse(lines[1].span(), "a panel of this kind shows one line");
        }
        let line = self.line_of(group, lines.first(), panel.kind.span())?;
        Ok(LineOf { group: group.name.clone(), line })
    }

    fn panel_at(&self, panel: &file::Panel, group: &Group) -> Result<Vec<Scalar>, FileError> {
        let line = self.panel_line(panel, group)?;
        let of_line = group.line(&line.line).map_or(&[][..], |line| line.values.as_slice());
        let Some(at) = &panel.at else { return Ok(of_line.to_vec()) };
        let values = self.values(at)?;
        match values.iter().find(|value| !of_line.iter().any(|other| other.is(value))) {
            Some(value) => {
                let wrong = format!("{value} is no value of line {:?}", line.line);
                self.refuse(at.span(), wrong)
            }
            None => Ok(values),
        }
    }
}

//! Checks of panels.

use super::check::Check;
use super::check_metric::METRIC;
use super::check_values::stranger;
use super::file;
use super::panel::{Base, Panel, PanelKind, Unit};
use super::place::FileError;
use super::{Experiment, Group, LineOf, Scalar};
use toml::Spanned;

const KINDS: &str = "curve, heat, several, stages, percentiles, timeline, timeline_p99, \
    batch_sizes, each, backlog";

/// What a ratio may be to.
const BASES: &str = "allowed: base = { at = VALUE }, { group = NAME } or { lines = [NAMES] }";

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
        self.panel_fields_fit(panel)?;
        let at = |this: &Self| this.panel_at(panel, group);
        let kind = match panel.kind.get_ref().as_str() {
            "curve" => self.panel_curve(panel, group, experiment)?,
            "heat" => self.panel_heat(panel, group, experiment)?,
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
            "timeline" => self.panel_timeline(panel, group, false)?,
            "timeline_p99" => self.panel_timeline(panel, group, true)?,
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
        let named = panel.metrics.iter().map(|named| &named.get_ref().metric);
        for text in panel.metric.iter().chain(named) {
            self.numbers_exist(text, &kind.lines(&group.name), experiment)?;
        }
        Ok(Panel {
            title: panel.title.clone(),
            kind,
            group: group.name.clone(),
            note: panel.note.clone(),
        })
    }

    /// A field that a kind has no use for would be believed to act.
    fn panel_fields_fit(&self, panel: &file::Panel) -> Result<(), FileError> {
        let has: &[(&str, bool)] = &[
            ("lines", panel.lines.is_some()),
            ("metric", panel.metric.is_some()),
            ("metrics", !panel.metrics.is_empty()),
            ("axis", panel.axis.is_some()),
            ("unit", panel.unit.is_some()),
            ("model", panel.model.is_some()),
            ("at", panel.at.is_some()),
            ("base", panel.base.is_some()),
        ];
        let kind = panel.kind.get_ref().as_str();
        let uses: &[&str] = match kind {
            "curve" if panel.base.is_some() => &["lines", "metric", "axis", "base"],
            "curve" => &["lines", "metric", "axis", "unit", "model", "base"],
            "heat" => &["lines", "metric", "axis", "at", "base"],
            "several" => &["lines", "metrics", "axis", "unit"],
            "stages" => &["lines"],
            "percentiles" | "timeline" | "timeline_p99" | "batch_sizes" | "backlog" => {
                &["lines", "at"]
            }
            "each" => &["lines", "metric", "axis", "at"],
            _ => return Ok(()),
        };
        match has.iter().find(|(name, given)| *given && !uses.contains(name)) {
            Some((name, _)) => {
                let with = if panel.base.is_some() { " with a base" } else { "" };
                let uses = uses.join(", ");
                let wrong = format!("a panel of kind {kind}{with} has no {name}; allowed: {uses}");
                self.refuse(panel.kind.span(), wrong)
            }
            None => Ok(()),
        }
    }

    fn panel_curve(
        &self,
        panel: &file::Panel,
        group: &Group,
        experiment: &Experiment,
    ) -> Result<PanelKind, FileError> {
        let lines = self.panel_lines(panel, group)?;
        let metric = self.metric(panel.metric.as_ref())?;
        let model = panel.model == Some(true);
        if model && (group.model.is_none() || metric.to_string() != METRIC) {
            let wrong = match &group.model {
                None => format!("group {:?} has no model to draw", group.name),
                Some(_) => format!("the model says nothing of {metric}; allowed: {METRIC}"),
            };
            return self.refuse(panel.kind.span(), wrong);
        }
        let base = match &panel.base {
            Some(base) => Some(self.base(base, (group, &lines), experiment)?),
            None => None,
        };
        let unit = if base.is_some() { Unit::Count } else { self.unit(panel)? };
        let axis = self.axis(panel, &metric.to_string());
        Ok(PanelKind::Curve { metric, axis, unit, lines, model, base })
    }

    fn panel_heat(
        &self,
        panel: &file::Panel,
        group: &Group,
        experiment: &Experiment,
    ) -> Result<PanelKind, FileError> {
        let lines = self.panel_lines(panel, group)?;
        let metric = self.metric(panel.metric.as_ref())?;
        let Some(base) = &panel.base else {
            let wrong = format!("a map shows ratios, and their base is missing; {BASES}");
            return self.refuse(panel.kind.span(), wrong);
        };
        let base = self.base(base, (group, &lines), experiment)?;
        let all = group.values_of(&lines);
        let values = match &panel.at {
            None => all,
            Some(at) => {
                let values = self.values(at)?;
                self.values_are_of("a line of the map", &all, &values, at.span())?;
                values
            }
        };
        let what = self.axis(panel, &format!("{metric}, ratio"));
        Ok(PanelKind::Heat { metric, what, lines, values, base })
    }

    /// The lines that are named, or all of the group.
    fn panel_lines(&self, panel: &file::Panel, group: &Group) -> Result<Vec<String>, FileError> {
        let Some(lines) = &panel.lines else {
            return Ok(group.lines.iter().map(|line| line.name.clone()).collect());
        };
        lines.iter().map(|name| self.line_of(group, Some(name), name.span())).collect()
    }

    /// What these lines of a group are divided by.
    fn base(
        &self,
        spanned: &Spanned<file::Base>,
        (group, lines): (&Group, &[String]),
        experiment: &Experiment,
    ) -> Result<Base, FileError> {
        let base = spanned.as_ref();
        let of = match &base.group {
            Some(name) => self.group_of(experiment, name)?,
            None => group,
        };
        if (of.knob.of, &of.knob.option) != (group.knob.of, &group.knob.option) {
            let wrong = format!("group {:?} has another knob than {:?}", of.name, group.name);
            return self.refuse(spanned.span(), wrong);
        }
        let names = match &base.lines {
            Some(names) if names.as_ref().len() == lines.len() => names
                .as_ref()
                .iter()
                .map(|name| self.line_of(of, Some(name), name.span()))
                .collect::<Result<Vec<_>, _>>()?,
            Some(names) => {
                let (shown, named) = (lines.len(), names.as_ref().len());
                let wrong = format!("the base names {named} lines; allowed: {shown}, as are shown");
                return self.refuse(names.span(), wrong);
            }
            None => lines.to_vec(),
        };
        let at = base.at.as_ref().map(|at| self.scalar(at)).transpose()?;
        for (line, name) in lines.iter().zip(&names) {
            let values = of.line(name).map_or(&[][..], |line| line.values.as_slice());
            let own = group.values_of(std::slice::from_ref(line));
            let wrong = match stranger(&format!("line {name:?}"), values, at.as_slice()) {
                _ if of.line(name).is_none() => {
                    let there: Vec<&str> = of.lines.iter().map(|line| line.name.as_str()).collect();
                    let there = there.join(" | ");
                    format!("there is no line {name:?} in group {:?}; allowed: {there}", of.name)
                }
                Some(wrong) => wrong,
                None if at.is_some() => continue,
                None if of.name == group.name && name == line => {
                    format!("line {name:?} would be divided by itself; {BASES}")
                }
                None if !own.iter().any(|at| values.iter().any(|value| value.is(at))) => {
                    format!("lines {line:?} and {name:?} have no value of the knob in common")
                }
                _ => continue,
            };
            return self.refuse(spanned.span(), wrong);
        }
        let group = of.name.clone();
        let lines = names.into_iter().map(|line| LineOf { group: group.clone(), line }).collect();
        Ok(Base { lines, at })
    }

    fn panel_timeline(
        &self,
        panel: &file::Panel,
        group: &Group,
        p99: bool,
    ) -> Result<PanelKind, FileError> {
        let named = panel.lines.as_deref().unwrap_or(&[]);
        if named.len() < 2 {
            let lines = vec![self.panel_line(panel, group)?];
            return Ok(PanelKind::Timeline { lines, at: self.panel_at(panel, group)?, p99 });
        }
        let at = match &panel.at {
            Some(at) if at.as_ref().len() == 1 => self.values(at)?,
            _ => {
                let wrong = "several lines are shown at one value of the knob: at = [x]";
                return self.refuse(panel.kind.span(), wrong);
            }
        };
        let mut lines = Vec::new();
        for name in named {
            let line = self.line_of(group, Some(name), name.span())?;
            let values = group.values_of(std::slice::from_ref(&line));
            self.values_are_of(&format!("line {line:?}"), &values, &at, name.span())?;
            lines.push(LineOf { group: group.name.clone(), line });
        }
        Ok(PanelKind::Timeline { lines, at, p99 })
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
        self.values_are_of(&format!("line {:?}", line.line), of_line, &values, at.span())?;
        Ok(values)
    }
}

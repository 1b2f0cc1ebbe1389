//! Rates that are a share of what another point carried in the same run: which point that is, and
//! in which order groups have to be measured for it.

use super::check::Check;
use super::check_values::stranger;
use super::file::{self, File};
use super::place::FileError;
use super::{Experiment, Group, Line, LineOf, Mode, PointOf, Scalar, Side};
use std::ops::Range;
use toml::Spanned;

/// A line's rate.
#[derive(Clone, Debug, PartialEq)]
pub struct MatchedRate {
    /// Above 0 and up to 1.
    pub share: f64,
    /// Of what that line carried.
    pub of: LineOf,
    /// There; at the same value of the knob without it.
    pub at: Option<Scalar>,
}

/// A point's rate.
#[derive(Clone, Debug, PartialEq)]
pub struct RateOf {
    /// Above 0 and up to 1.
    pub share: f64,
    /// Of what that point carried.
    pub point: PointOf,
}

impl MatchedRate {
    /// Of the point at this value of the knob.
    pub(super) fn at(&self, at: &Scalar) -> RateOf {
        let at = self.at.as_ref().unwrap_or(at).clone();
        RateOf { share: self.share, point: PointOf { line: self.of.clone(), at } }
    }
}

impl Experiment {
    /// The groups in the order in which they are measured: that of the file, but behind every
    /// group that decides a rate of theirs.
    pub fn in_order(&self) -> Vec<&Group> {
        let mut left: Vec<&Group> = self.groups.iter().collect();
        let mut order = Vec::with_capacity(left.len());
        while !left.is_empty() {
            let waits = |group: &Group| {
                let mut sources = sources(group);
                sources.any(|source| left.iter().any(|other| other.name == source.line.group))
            };
            // A circle was refused when the file was read.
            let Some(next) = left.iter().position(|group| !waits(group)) else { break };
            order.push(left.remove(next));
        }
        order
    }
}

/// The points that decide the rates of a group.
pub(super) fn sources(group: &Group) -> impl Iterator<Item = PointOf> {
    let points = group.points().into_iter();
    points.filter_map(|point| point.rate.map(|rate| rate.point))
}

impl Check<'_> {
    /// Finds the sources of all rates in the full form, and what is wrong with them.
    pub(super) fn rates(&self, file: &File, full: &mut Experiment) -> Result<(), FileError> {
        let mut found = Vec::new();
        for (written, group) in file.group.iter().zip(&full.groups) {
            for (index, line) in group.lines.iter().enumerate() {
                let Some(rate) = rate_of(written.as_ref(), line) else { continue };
                found.push((group.name.clone(), index, self.rate(rate, full, (group, line))?));
            }
        }
        for (name, index, rate) in found {
            let group = full.groups.iter_mut().find(|group| group.name == name);
            group.expect("it was found by this name").lines[index].rate = Some(rate);
        }
        if full.in_order().len() < full.groups.len() {
            let done: Vec<String> = full.in_order().iter().map(|g| g.name.clone()).collect();
            let mut left = full.groups.iter().filter(|group| !done.contains(&group.name));
            let names: Vec<&str> = left.clone().map(|group| group.name.as_str()).collect();
            let first = left.next().map_or(0..0, |group| place(file, group));
            let wrong = format!("rates go in a circle: groups {}", names.join(", "));
            return self.refuse(first, wrong);
        }
        Ok(())
    }

    fn rate(
        &self,
        rate: &Spanned<file::Rate>,
        full: &Experiment,
        (group, line): (&Group, &Line),
    ) -> Result<MatchedRate, FileError> {
        let file::Rate { share, of } = rate.as_ref();
        let refuse = |wrong: String| self.refuse(rate.span(), wrong);
        let is_knob = group.knob.of == Side::Client && group.knob.option == "rate";
        if is_knob || line.rate().is_some() {
            return refuse("rate: the client's option rate is given, too".to_owned());
        }
        let (selector, at) = (of.as_ref(), of.span());
        let source = self.group_of(full, &selector.group)?;
        if source.name == group.name || [source.mode, group.mode].contains(&Mode::Simulated) {
            return refuse("rate: allowed is that of another group, both measured".to_owned());
        }
        let name = self.line_of(source, selector.line.as_ref(), at.clone())?;
        let values = &source.line(&name).expect("line_of has found it").values;
        let at = selector.at.as_ref().map(|at| self.scalar(at)).transpose()?;
        let needed = at.as_ref().map_or(line.values.as_slice(), std::slice::from_ref);
        if let Some(wrong) = stranger(&format!("line {name:?}"), values, needed) {
            return refuse(format!("rate: {wrong}"));
        }
        let share = self.share(&Some(share.clone()), "share")?.expect("one was given");
        let of = LineOf { group: source.name.clone(), line: name };
        Ok(MatchedRate { share, of, at })
    }

    /// Whether the quick form keeps the source of every rate.
    pub(super) fn rates_are_kept(&self, file: &File, quick: &[Group]) -> Result<(), FileError> {
        for group in quick {
            for source in sources(group) {
                let found = quick.iter().find(|group| group.name == source.line.group);
                let line = found.and_then(|group| group.line(&source.line.line));
                if line.is_some_and(|line| line.values.iter().any(|value| value.is(&source.at))) {
                    continue;
                }
                let LineOf { group: of, line } = &source.line;
                let wrong = format!(
                    "--quick leaves out {of}, {line}, {}, and {} takes a rate from it",
                    source.at, group.name
                );
                return self.refuse(place(file, group), wrong);
            }
        }
        Ok(())
    }
}

/// What the file says of a line's rate.
fn rate_of<'a>(group: &'a file::Group, line: &Line) -> Option<&'a Spanned<file::Rate>> {
    let written = group.lines.iter().find(|l| l.as_ref().name.as_ref() == &line.name);
    written.and_then(|line| line.as_ref().rate.as_ref()).or(group.rate.as_ref())
}

fn place(file: &File, group: &Group) -> Range<usize> {
    let mut written = file.group.iter().map(|group| &group.as_ref().name);
    written.find(|name| name.as_ref() == &group.name).map_or(0..0, Spanned::span)
}

//! An experiment as data: groups of points that are measured in turns, claims about them, charts of
//! them. Read from a TOML file and checked as a whole; an error names the file and the line.

mod check;
mod check_claim;
mod check_group;
mod check_metric;
mod check_panel;
mod check_ratio;
mod check_values;
mod claim;
mod file;
#[cfg(test)]
mod made_up;
mod matched;
mod panel;
mod peer;
mod place;
mod point;
mod replicas;

pub use check::read;
pub use claim::{Claim, Direction, Law, LineOf, PointOf, Test, Wanted};
#[cfg(test)]
pub(crate) use made_up::{made_up, made_up_form};
pub use matched::{MatchedRate, RateOf};
pub use panel::{Base, Panel, PanelKind, Unit};
pub use peer::Peer;
pub use place::FileError;
#[cfg(test)]
pub(crate) use point::simulate_options;
pub use point::{OptionSet, Point, Scalar};
pub use replicas::Pause;

use crate::fields::Reports;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::time::Duration;

/// What the programs' options and the models are called; what a file may name.
///
/// Without a set, everything is known: a file that was checked when it was run.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Long options of echo-server, without dashes.
    pub server: Option<BTreeSet<String>>,
    /// Long options of echo-client, without dashes.
    pub client: Option<BTreeSet<String>>,
    /// What the simulator may be told.
    pub simulate: Option<BTreeSet<String>>,
    /// Names of models.
    pub models: Option<BTreeSet<String>>,
    /// The numbers of reports, for metrics.
    pub reports: Option<Reports>,
}

/// A whole experiment, in its full or its quick form.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Short, for folders.
    pub name: String,
    /// For headings.
    pub title: String,
    /// What it asks.
    pub question: String,
    /// Whether this is the quick form.
    pub quick: bool,
    /// Calls of each run of the correctness gate.
    pub gate_calls: u64,
    /// In the order in which they are measured.
    pub groups: Vec<Group>,
    /// To be checked.
    pub claims: Vec<Claim>,
    /// To be drawn.
    pub panels: Vec<Panel>,
}

/// How a group's numbers come about. Every output names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Measured as it is, on this host.
    Real,
    /// Measured on this host, with a stage that emulates CPUs which the host does not have.
    Paced,
    /// Computed in virtual time.
    Simulated,
}

impl Mode {
    /// For labels.
    pub fn words(self) -> &'static str {
        match self {
            Mode::Real => "measured on this host",
            Mode::Paced => "emulated stage time, measured on this host",
            Mode::Simulated => "simulated in virtual time",
        }
    }
}

/// Points that are measured together, in turns.
#[derive(Clone, Debug)]
pub struct Group {
    /// Short, for selectors and file names.
    pub name: String,
    /// For headings.
    pub title: String,
    /// What a reader of the figures must know.
    pub note: String,
    /// How its numbers come about.
    pub mode: Mode,
    /// How often each point is measured.
    pub rounds: u32,
    /// The measured part of a run.
    pub duration: Duration,
    /// Before it, not counted.
    pub warmup: Duration,
    /// What is varied.
    pub knob: Knob,
    /// One for each setting of everything else; never empty.
    pub lines: Vec<Line>,
    /// The point that is measured twice in each round.
    pub twin: Option<(usize, Scalar)>,
    /// The model that predicts this group.
    pub model: Option<String>,
}

/// The option along the horizontal axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Knob {
    /// Whose option it is.
    pub of: Side,
    /// Its name without dashes.
    pub option: String,
    /// In words, for axes.
    pub label: String,
}

/// Whom an option is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// echo-server.
    Server,
    /// echo-client.
    Client,
    /// The simulator.
    Simulate,
    /// The echo-servers that follow the measured one.
    Follower,
}

/// One setting of everything but the knob.
#[derive(Clone, Debug)]
pub struct Line {
    /// For legends and selectors.
    pub name: String,
    /// Whose server it is measured with.
    pub peer: Peer,
    /// Options of the file, the group and the line, the nearest one wins.
    pub options: OptionSet,
    /// How many servers follow the measured one.
    pub followers: u32,
    /// Its rate, if another point decides it.
    pub rate: Option<MatchedRate>,
    /// A follower that is stopped for a while.
    pub pause: Option<Pause>,
    /// Values of the knob, in the file's order; never empty.
    pub values: Vec<Scalar>,
}

impl Experiment {
    /// Whether some line is measured with that server.
    pub fn needs(&self, peer: Peer) -> bool {
        self.groups.iter().flat_map(|group| &group.lines).any(|line| line.peer == peer)
    }

    /// Leaves out what is measured with that server.
    pub fn leave_out(&mut self, peer: Peer) {
        for group in &mut self.groups {
            group.keep(|line| line.peer != peer);
        }
        self.groups.retain(|group| !group.lines.is_empty());
    }

    /// The group of this name.
    pub fn group(&self, name: &str) -> Option<&Group> {
        self.groups.iter().find(|group| group.name == name)
    }
}

impl Line {
    /// Calls per second of an open loop, if they are given; none if the loop is closed, or another
    /// point decides.
    pub fn rate(&self) -> Option<f64> {
        self.options.get(Side::Client, "rate").and_then(Scalar::number)
    }

    /// What its latencies are counted from.
    pub fn latency_words(&self) -> &'static str {
        match self.is_open() {
            true => "open loop: from when a call was due to its reply",
            false => "closed loop: from the sending of a call to its reply",
        }
    }

    /// Whether its calls are due by a schedule.
    pub fn is_open(&self) -> bool {
        self.rate().is_some() || self.rate.is_some()
    }
}

impl Group {
    /// How calls come to be made.
    pub fn loop_words(&self) -> &'static str {
        let mut open = self.lines.iter().map(Line::is_open);
        match (open.clone().any(|open| open), open.all(|open| open)) {
            (_, true) => "open loop",
            (true, false) => "open loop and closed loop",
            (false, false) => "closed loop",
        }
    }

    /// The line of this name.
    pub fn line(&self, name: &str) -> Option<&Line> {
        self.lines.iter().find(|line| line.name == name)
    }

    /// The values of the knob that some lines have, each once, in the file's order.
    pub fn values_of(&self, lines: &[String]) -> Vec<Scalar> {
        let mut values: Vec<Scalar> = Vec::new();
        for value in lines.iter().filter_map(|name| self.line(name)).flat_map(|line| &line.values) {
            if !values.iter().any(|other| other.is(value)) {
                values.push(value.clone());
            }
        }
        values
    }

    /// Keeps some of the lines; the twin goes with its line.
    pub fn keep(&mut self, wanted: impl Fn(&Line) -> bool) {
        let twin = self.twin.take().map(|(index, at)| (self.lines[index].name.clone(), at));
        self.lines.retain(wanted);
        self.twin = twin.and_then(|(name, at)| {
            let index = self.lines.iter().position(|line| line.name == name)?;
            self.lines[index].values.iter().any(|value| value.is(&at)).then_some((index, at))
        });
    }

    /// All points, the twin last.
    pub fn points(&self) -> Vec<Point> {
        let of_line = |line: &Line| {
            let point = |at: &Scalar| self.point(line, at, false);
            line.values.iter().map(point).collect::<Vec<_>>()
        };
        let mut points: Vec<Point> = self.lines.iter().flat_map(of_line).collect();
        if let Some((line, at)) = &self.twin {
            points.push(self.point(&self.lines[*line], at, true));
        }
        points
    }

    fn point(&self, line: &Line, at: &Scalar, twin: bool) -> Point {
        let mut options = line.options.clone();
        options.set(self.knob.of, &self.knob.option, at.clone());
        Point {
            group: self.name.clone(),
            line: line.name.clone(),
            peer: line.peer,
            at: at.clone(),
            twin,
            options,
            followers: line.followers,
            rate: line.rate.as_ref().map(|rate| rate.at(at)),
            pause: line.pause,
        }
    }
}

#[cfg(test)]
mod tests;

//! An experiment file as it is written: TOML, every word checked for its place. What the words mean
//! together is checked by `check.rs`.

use serde::Deserialize;
use std::collections::BTreeMap;
use toml::{Spanned, Value};

/// Options of a program by their long name, without dashes.
pub(super) type OptionValues = BTreeMap<String, Spanned<Value>>;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) name: Spanned<String>,
    pub(super) title: String,
    /// What the experiment asks, in a sentence or two.
    pub(super) question: String,
    /// Options of all groups.
    #[serde(default)]
    pub(super) server: OptionValues,
    #[serde(default)]
    pub(super) client: OptionValues,
    /// Calls of the correctness gate.
    pub(super) gate_calls: Option<Spanned<u64>>,
    #[serde(default)]
    pub(super) group: Vec<Spanned<Group>>,
    #[serde(default)]
    pub(super) claim: Vec<Spanned<Claim>>,
    #[serde(default)]
    pub(super) panel: Vec<Spanned<Panel>>,
}

/// Points that are measured together, in turns.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Group {
    pub(super) name: Spanned<String>,
    pub(super) mode: Spanned<String>,
    pub(super) title: String,
    #[serde(default)]
    pub(super) note: String,
    pub(super) rounds: Option<Spanned<u32>>,
    pub(super) duration: Option<Spanned<String>>,
    pub(super) warmup: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) server: OptionValues,
    #[serde(default)]
    pub(super) client: OptionValues,
    #[serde(default)]
    pub(super) simulate: OptionValues,
    /// How many servers the measured one replicates to, and their options.
    pub(super) followers: Option<Spanned<u32>>,
    #[serde(default)]
    pub(super) follower: OptionValues,
    pub(super) rate: Option<Spanned<Rate>>,
    pub(super) pause: Option<Spanned<Pause>>,
    pub(super) knob: Spanned<Knob>,
    #[serde(default)]
    pub(super) lines: Vec<Spanned<Line>>,
    pub(super) twin: Option<Spanned<Twin>>,
    pub(super) model: Option<Spanned<String>>,
    /// What `--quick` changes.
    pub(super) quick: Option<Spanned<Quick>>,
}

/// The option that is varied along the horizontal axis.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Knob {
    /// `server.readers`, `client.in-flight`, `simulate.readers`, ...
    pub(super) option: Spanned<String>,
    pub(super) values: Spanned<Vec<Spanned<Value>>>,
    /// In words, for axes.
    pub(super) label: Option<String>,
}

/// A second knob, drawn as one line: any options under a name.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    pub(super) name: Spanned<String>,
    #[serde(default)]
    pub(super) server: OptionValues,
    #[serde(default)]
    pub(super) client: OptionValues,
    #[serde(default)]
    pub(super) simulate: OptionValues,
    pub(super) followers: Option<Spanned<u32>>,
    #[serde(default)]
    pub(super) follower: OptionValues,
    pub(super) rate: Option<Spanned<Rate>>,
    pub(super) pause: Option<Spanned<Pause>>,
    /// Whose server: `echo` without it, or `hadoop`.
    pub(super) peer: Option<Spanned<String>>,
    /// Values of the knob for this line, if not those of the group.
    pub(super) values: Option<Spanned<Vec<Spanned<Value>>>>,
}

/// A rate that is a share of what another point carried in the same run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rate {
    pub(super) share: Spanned<f64>,
    /// Of that line; without `at`, at the same value of the knob.
    pub(super) of: Spanned<Selector>,
}

/// A follower that is stopped for a while in the measured part.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pause {
    /// The how-manieth, from 1.
    pub(super) follower: Spanned<u32>,
    pub(super) at: Spanned<String>,
    #[serde(rename = "for")]
    pub(super) length: Spanned<String>,
}

/// The point that is measured twice in each round: what the two differ by is noise.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Twin {
    pub(super) line: Option<Spanned<String>>,
    pub(super) at: Spanned<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Quick {
    /// False leaves the group out.
    pub(super) run: Option<bool>,
    pub(super) rounds: Option<Spanned<u32>>,
    pub(super) duration: Option<Spanned<String>>,
    pub(super) warmup: Option<Spanned<String>>,
    /// Of the knob; lines with values of their own keep those.
    pub(super) values: Option<Spanned<Vec<Spanned<Value>>>>,
    /// Lines to keep.
    pub(super) lines: Option<Vec<Spanned<String>>>,
}

/// A statement to be checked. Which fields belong to which kind: `claim.rs`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Claim {
    pub(super) text: String,
    pub(super) kind: Spanned<String>,
    pub(super) metric: Option<Spanned<String>>,
    pub(super) a: Option<Spanned<Selector>>,
    pub(super) b: Option<Spanned<Selector>>,
    pub(super) values: Option<Spanned<Vec<Spanned<Value>>>>,
    pub(super) min: Option<Spanned<f64>>,
    pub(super) max: Option<Spanned<f64>>,
    pub(super) near: Option<Spanned<f64>>,
    pub(super) tolerance: Option<Spanned<f64>>,
    /// Wanted is what the model predicts.
    pub(super) model: Option<bool>,
    /// Of a fit: `batch` or `window`.
    pub(super) law: Option<Spanned<String>>,
    /// Of a knee: it is where this share of the best is reached.
    pub(super) share: Option<Spanned<f64>>,
    /// Of a trend: `falls` or `rises`.
    pub(super) direction: Option<Spanned<String>>,
    /// Of a knee that moves: the lines of a's group, in the order in which it grows.
    pub(super) lines: Option<Spanned<Vec<Spanned<String>>>>,
}

/// A line of a group, and a value of the knob.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Selector {
    pub(super) group: Spanned<String>,
    pub(super) line: Option<Spanned<String>>,
    pub(super) at: Option<Spanned<Value>>,
}

/// One chart.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Panel {
    pub(super) title: String,
    pub(super) kind: Spanned<String>,
    pub(super) group: Spanned<String>,
    pub(super) note: Option<String>,
    /// Lines to draw; all without it.
    pub(super) lines: Option<Vec<Spanned<String>>>,
    pub(super) metric: Option<Spanned<String>>,
    /// Several metrics of one line.
    #[serde(default)]
    pub(super) metrics: Vec<Spanned<Named>>,
    /// In words, for the vertical axis.
    pub(super) axis: Option<String>,
    pub(super) unit: Option<Spanned<String>>,
    /// Draw the model's curve, too.
    pub(super) model: Option<bool>,
    /// Values of the knob, where a chart shows single points.
    pub(super) at: Option<Spanned<Vec<Spanned<Value>>>>,
    /// Draw the ratio to this.
    pub(super) base: Option<Spanned<Base>>,
}

/// What the numbers of a panel are divided by; what it does not name is as in the panel.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Base {
    pub(super) group: Option<Spanned<String>>,
    /// One for each line of the panel, in its order.
    pub(super) lines: Option<Spanned<Vec<Spanned<String>>>>,
    pub(super) at: Option<Spanned<Value>>,
}

/// A metric under a name.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) metric: Spanned<String>,
}

//! One point of an experiment: where it lies, and the options that make it.

use super::{Pause, Peer, RateOf, Side};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A value of an option: its text, and its number if it is one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Scalar(toml::Value);

impl Scalar {
    /// None if it is a list, a table or a date.
    pub(super) fn of(value: &toml::Value) -> Option<Scalar> {
        use toml::Value::{Boolean, Float, Integer, String};
        matches!(value, Boolean(_) | Float(_) | Integer(_) | String(_))
            .then(|| Scalar(value.clone()))
    }

    /// A whole number.
    pub fn whole(number: u32) -> Scalar {
        Scalar(toml::Value::Integer(i64::from(number)))
    }

    /// Its number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self.0 {
            toml::Value::Integer(number) => Some(number as f64),
            toml::Value::Float(number) => Some(number),
            _ => None,
        }
    }

    /// The same value, whether written 10 or 10.0.
    pub fn is(&self, other: &Scalar) -> bool {
        match (self.number(), other.number()) {
            (Some(a), Some(b)) => a == b,
            _ => self.0 == other.0,
        }
    }

    /// As one word of a command line for `option`; none for a switch that is off.
    fn argument(&self, option: &str) -> Option<String> {
        match &self.0 {
            toml::Value::Boolean(on) => on.then(|| format!("--{option}")),
            _ => Some(format!("--{option}={self}")),
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            toml::Value::String(text) => to.write_str(text),
            toml::Value::Integer(number) => write!(to, "{number}"),
            toml::Value::Float(number) => write!(to, "{number}"),
            toml::Value::Boolean(on) => write!(to, "{on}"),
            other => write!(to, "{other:?}"),
        }
    }
}

/// Options of the programs and of the simulator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OptionSet(BTreeMap<(Side, String), Scalar>);

impl OptionSet {
    /// Sets one; what was set before is replaced.
    pub fn set(&mut self, side: Side, option: &str, value: Scalar) {
        self.0.insert((side, option.to_owned()), value);
    }

    /// Leaves one out.
    pub fn remove(&mut self, side: Side, option: &str) {
        self.0.remove(&(side, option.to_owned()));
    }

    /// One value.
    pub fn get(&self, side: Side, option: &str) -> Option<&Scalar> {
        self.0.get(&(side, option.to_owned()))
    }

    /// All of one side.
    pub fn of(&self, side: Side) -> impl Iterator<Item = (&str, &Scalar)> {
        let mine = self.0.iter().filter(move |((of, _), _)| *of == side);
        mine.map(|((_, option), value)| (option.as_str(), value))
    }

    /// The words of a program's command line.
    pub fn arguments(&self, side: Side) -> Vec<String> {
        self.of(side).filter_map(|(option, value)| value.argument(option)).collect()
    }
}

/// One point.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Its group.
    pub group: String,
    /// Its line.
    pub line: String,
    /// Whose server.
    pub peer: Peer,
    /// The knob's value.
    pub at: Scalar,
    /// Whether it is the second measurement of one and the same setting.
    pub twin: bool,
    /// Everything that makes it.
    pub options: OptionSet,
    /// How many servers follow the measured one.
    pub followers: u32,
    /// Its rate, if another point decides it.
    pub rate: Option<RateOf>,
    /// A follower that is stopped for a while.
    pub pause: Option<Pause>,
}

impl Point {
    /// For progress and file names: `paced, 10 clients, readers 5`.
    pub fn words(&self, knob: &str) -> String {
        let again = if self.twin { " again" } else { "" };
        format!("{}, {}, {knob} {}{again}", self.group, self.line, self.at)
    }

    /// For file names: only letters that are safe there.
    pub fn slug(&self) -> String {
        let text = format!("{}-{}-{}", self.group, self.line, self.at);
        let mut slug = String::new();
        for c in text.chars() {
            let c = if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
            if c != '-' || !slug.ends_with('-') {
                slug.push(c);
            }
        }
        if self.twin { format!("{slug}-again") } else { slug }
    }
}

/// Options of the simulator from TOML values.
#[cfg(test)]
pub(crate) fn simulate_options(pairs: &[(&str, &str)]) -> OptionSet {
    let mut options = OptionSet::default();
    for (option, value) in pairs {
        let table: toml::Table = toml::from_str(&format!("x = {value}")).unwrap();
        options.set(Side::Simulate, option, Scalar::of(&table["x"]).unwrap());
    }
    options
}

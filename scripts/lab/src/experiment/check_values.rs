//! Checks of values of the knob: what names one, names one that is measured.

use super::Scalar;
use super::check::Check;
use super::place::FileError;
use std::ops::Range;

impl Check<'_> {
    /// Whether all values are among those of `line`, which is said as it is in an error.
    pub(super) fn values_are_of(
        &self,
        line: &str,
        of_line: &[Scalar],
        values: &[Scalar],
        at: Range<usize>,
    ) -> Result<(), FileError> {
        match stranger(line, of_line, values) {
            None => Ok(()),
            Some(wrong) => self.refuse(at, wrong),
        }
    }
}

/// What is wrong if one of the values is not among those of `line`.
pub(super) fn stranger(line: &str, of_line: &[Scalar], values: &[Scalar]) -> Option<String> {
    let value = values.iter().find(|value| !of_line.iter().any(|other| other.is(value)))?;
    let allowed: Vec<String> = of_line.iter().map(Scalar::to_string).collect();
    Some(format!("{value} is no value of {line}; allowed: {}", allowed.join(", ")))
}

//! The knob along the horizontal axis.

use crate::chart::{Axis, Scale};
use crate::experiment::{Group, Scalar};

/// More values of a knob than this do not get a tick each.
const TICKS_MAX: usize = 20;
/// What spans so much is drawn by powers of ten.
const DECADES_FROM: f64 = 50.0;

/// The knob's values along the horizontal axis: by their number, or side by side.
pub(super) struct KnobAxis {
    pub(super) axis: Axis,
    values: Vec<Scalar>,
    numeric: bool,
}

impl KnobAxis {
    pub(super) fn of(group: &Group) -> KnobAxis {
        KnobAxis::with(group, DECADES_FROM)
    }

    /// By powers of ten as soon as the largest value is `decades_from` times the least.
    pub(super) fn with(group: &Group, decades_from: f64) -> KnobAxis {
        let names: Vec<String> = group.lines.iter().map(|line| line.name.clone()).collect();
        let values = group.values_of(&names);
        let numbers: Option<Vec<f64>> = values.iter().map(Scalar::number).collect();
        let (scale, numeric) = match numbers {
            Some(numbers) => {
                let most = numbers.iter().copied().fold(0.0, f64::max);
                let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
                let few = numbers.len() <= TICKS_MAX;
                let wide = least > 0.0 && most / least > decades_from;
                let scale = match wide {
                    true if few => Scale::log_at(numbers),
                    true => Scale::log_around(least, most),
                    false if few && most > 0.0 => Scale::At { to: most * 1.04, ticks: numbers },
                    false => Scale::from_zero(most),
                };
                (scale, true)
            }
            None => (Scale::Names(values.iter().map(Scalar::to_string).collect()), false),
        };
        KnobAxis { axis: Axis { label: group.knob.label.clone(), scale }, values, numeric }
    }

    pub(super) fn place(&self, at: &Scalar) -> Option<f64> {
        if self.numeric {
            return at.number();
        }
        self.values.iter().position(|value| value.is(at)).map(|index| index as f64)
    }

    /// Places and names of the values if there are so few that no line goes through them.
    pub(super) fn few(&self) -> Option<Vec<(f64, String)>> {
        let one = |at: &Scalar| Some((self.place(at)?, at.to_string()));
        let all: Option<Vec<(f64, String)>> = self.values.iter().map(one).collect();
        all.filter(|values| values.len() <= 2)
    }
}

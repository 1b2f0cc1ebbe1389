//! Checks of what a group says in two places, and must say alike.

use super::check::Check;
use super::file::{self, File, OptionValues};
use super::place::FileError;
use super::{Group, Knob, Line, Mode, Scalar, Side};
use toml::{Spanned, Value};

impl Check<'_> {
    /// The knob is set by the knob alone, and emulated time is called so.
    pub(super) fn group_agrees(
        &self,
        file: &File,
        group: &file::Group,
        checked: &Group,
    ) -> Result<(), FileError> {
        let lines = group.lines.iter().map(Spanned::as_ref);
        let of_lines = lines.flat_map(|line: &file::Line| {
            [
                (Side::Server, &line.server),
                (Side::Client, &line.client),
                (Side::Simulate, &line.simulate),
                (Side::Follower, &line.follower),
            ]
        });
        let own = [
            (Side::Server, &group.server),
            (Side::Client, &group.client),
            (Side::Simulate, &group.simulate),
            (Side::Follower, &group.follower),
        ];
        let own: Vec<(Side, &OptionValues)> = own.into_iter().chain(of_lines).collect();
        for (side, options) in &own {
            self.leaves_the_knob_alone(*side, options, &checked.knob)?;
        }
        if checked.mode != Mode::Real {
            return Ok(());
        }
        let lines = group.lines.iter().filter_map(|line| line.as_ref().values.as_ref());
        let values = [&group.knob.as_ref().values].into_iter().chain(lines);
        let of_knob = values.flat_map(|values| values.as_ref());
        let own = own.iter().flat_map(|(_, options)| options.values());
        // What the whole file sets is wrong in this group, though it is written elsewhere.
        for value in file.server.values().chain(own).chain(of_knob) {
            self.is_real(value)?;
        }
        Ok(())
    }

    /// The point that is measured twice: its line by index, its value of the knob.
    pub(super) fn twin(
        &self,
        group: &file::Group,
        lines: &[Line],
    ) -> Result<Option<(usize, Scalar)>, FileError> {
        let Some(twin) = &group.twin else { return Ok(None) };
        // Without a name it is the first.
        let index = match &twin.as_ref().line {
            Some(name) => self.line_among(group.name.as_ref(), lines, Some(name), name.span())?,
            None => 0,
        };
        let at = self.scalar(&twin.as_ref().at)?;
        let (values, span) = (std::slice::from_ref(&at), twin.as_ref().at.span());
        self.values_are_of("the twin's line", &lines[index].values, values, span)?;
        Ok(Some((index, at)))
    }

    fn leaves_the_knob_alone(
        &self,
        side: Side,
        options: &OptionValues,
        knob: &Knob,
    ) -> Result<(), FileError> {
        match options.get(&knob.option).filter(|_| side == knob.of) {
            Some(value) => {
                let wrong = format!("{} is the knob; its values are set there alone", knob.option);
                self.refuse(value.span(), wrong)
            }
            None => Ok(()),
        }
    }

    fn is_real(&self, value: &Spanned<Value>) -> Result<(), FileError> {
        match value.as_ref() {
            Value::String(cost) if cost.starts_with("paced:") => self.refuse(
                value.span(),
                format!("{cost} emulates a stage; allowed in a group of mode real: spin:TIME"),
            ),
            _ => Ok(()),
        }
    }
}

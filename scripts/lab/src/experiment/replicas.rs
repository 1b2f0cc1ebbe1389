//! The followers of a measured server, and the pause of one of them.

use super::check::Check;
use super::file::{self, OptionValues};
use super::place::FileError;
use super::{Group, Knob, Line, Mode, Peer, Side};
use echo_common::quantity::{duration_in, format_duration};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use toml::Spanned;

/// As many as echo-server takes.
const FOLLOWERS_MAX: u32 = 16;
const TIME_MAX: Duration = Duration::from_secs(3600);

/// A follower that is stopped and goes on, in the measured part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// The how-manieth, from 1.
    pub follower: u32,
    /// Into the measured part.
    pub at: Duration,
    /// So long.
    pub length: Duration,
}

/// What a group or a line says of followers.
pub(super) struct Wishes<'a> {
    pub(super) followers: &'a Option<Spanned<u32>>,
    pub(super) options: &'a OptionValues,
    pub(super) pause: &'a Option<Spanned<file::Pause>>,
}

impl<'a> From<&'a file::Group> for Wishes<'a> {
    fn from(group: &'a file::Group) -> Wishes<'a> {
        let file::Group { followers, follower: options, pause, .. } = group;
        Wishes { followers, options, pause }
    }
}

impl<'a> From<&'a file::Line> for Wishes<'a> {
    fn from(line: &'a file::Line) -> Wishes<'a> {
        let file::Line { followers, follower: options, pause, .. } = line;
        Wishes { followers, options, pause }
    }
}

impl Check<'_> {
    /// Puts what is wished for into a line.
    pub(super) fn replicas(
        &self,
        wishes: &Wishes<'_>,
        mode: Mode,
        line: &mut Line,
    ) -> Result<(), FileError> {
        if let Some(followers) = wishes.followers {
            if mode == Mode::Simulated {
                return self.refuse(followers.span(), "a simulated group has no followers");
            }
            if *followers.as_ref() > FOLLOWERS_MAX {
                let wrong = format!("followers: allowed are 0 to {FOLLOWERS_MAX}");
                return self.refuse(followers.span(), wrong);
            }
            line.followers = *followers.as_ref();
        }
        self.options(&mut line.options, Side::Follower, wishes.options)?;
        if let Some(pause) = wishes.pause {
            line.pause = Some(self.pause(pause.as_ref())?);
        }
        Ok(())
    }

    fn pause(&self, pause: &file::Pause) -> Result<Pause, FileError> {
        let time = |text: &Spanned<String>, name: &str, least: Duration| match duration_in(
            least..=TIME_MAX,
        )(
            text.as_ref()
        ) {
            Ok(time) => Ok(time),
            Err(error) => self.refuse(text.span(), format!("{name}: {error}")),
        };
        Ok(Pause {
            follower: *pause.follower.as_ref(),
            at: time(&pause.at, "at", Duration::ZERO)?,
            length: time(&pause.length, "for", Duration::from_millis(1))?,
        })
    }

    /// Whether a group's followers, their options and their pauses fit together, in its full or its
    /// quick form.
    pub(super) fn replicas_agree(
        &self,
        file: &file::Group,
        group: &Group,
    ) -> Result<(), FileError> {
        for line in &group.lines {
            let written = file.lines.iter().find(|l| l.as_ref().name.as_ref() == &line.name);
            let place = written.map_or_else(|| file.name.span(), |l| l.as_ref().name.span());
            if let Some(wrong) = disagreement(line, &group.knob) {
                return self.refuse(place, wrong);
            }
            let of_line = written.and_then(|l| l.as_ref().pause.as_ref());
            let (Some(pause), Some(at)) = (line.pause, of_line.or(file.pause.as_ref())) else {
                continue;
            };
            if !(1..=line.followers).contains(&pause.follower) {
                let (wanted, there) = (pause.follower, line.followers);
                let wrong = format!("pause: there is no follower {wanted} of {there}");
                return self.refuse(at.span(), wrong);
            }
            if pause.at + pause.length > group.duration {
                let wrong = format!(
                    "pause: it ends {} into the measured part, which is {} long",
                    format_duration(pause.at + pause.length),
                    format_duration(group.duration)
                );
                return self.refuse(at.span(), wrong);
            }
        }
        Ok(())
    }
}

/// Why a line cannot be measured as it stands.
fn disagreement(line: &Line, knob: &Knob) -> Option<String> {
    let name = &line.name;
    if line.followers > 0 && line.peer == Peer::Hadoop {
        return Some(format!("line {name:?}: Hadoop's server has no followers"));
    }
    let told = line.options.of(Side::Follower).next().is_some() || knob.of == Side::Follower;
    if told && line.followers == 0 {
        return Some(format!(
            "line {name:?} has options of followers and none of those; allowed: followers = 1 to \
             {FOLLOWERS_MAX}"
        ));
    }
    None
}

//! From the file's words to an experiment that can be run, or to the first thing that is wrong.

use super::file::{self, File, OptionValues};
use super::place::{FileError, Source};
use super::point::{OptionSet, Scalar};
use super::replicas::Wishes;
use super::{Experiment, Group, Knob, Known, Line, Mode, Peer, Side};
use echo_common::quantity::duration_in;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;
use toml::Spanned;

const GATE_CALLS: u64 = 100_003;
const GATE_CALLS_MAX: u64 = 100_000_000;
const ROUNDS: u32 = 5;
const ROUNDS_MAX: u32 = 1000;
const DURATION: Duration = Duration::from_secs(3);
const WARMUP: Duration = Duration::from_millis(500);
const DURATION_MAX: Duration = Duration::from_secs(3600);
/// Options that the lab sets itself.
const OWN_SERVER: [&str; 2] = ["listen", "followers"];
const OWN_CLIENT: [&str; 7] =
    ["server", "format", "progress", "output", "duration", "warmup", "calls"];

/// Reads `text`, the content of `path`; `quick` chooses the short form.
pub fn read(path: &Path, text: &str, known: &Known, quick: bool) -> Result<Experiment, FileError> {
    let source = Source::new(path, text);
    let file: File = toml::from_str(text).map_err(|error| source.syntax(&error))?;
    let check = Check { source: &source, known };
    check.experiment(&file, quick)
}

/// What every check needs.
pub(super) struct Check<'a> {
    pub(super) source: &'a Source<'a>,
    pub(super) known: &'a Known,
}

impl Check<'_> {
    fn experiment(&self, file: &File, quick: bool) -> Result<Experiment, FileError> {
        self.name(&file.name)?;
        if file.group.is_empty() {
            return self.refuse(0..0, "there is no [[group]]: nothing would be measured");
        }
        let gate_calls = match &file.gate_calls {
            None => GATE_CALLS,
            Some(calls) if (1..=GATE_CALLS_MAX).contains(calls.as_ref()) => *calls.as_ref(),
            Some(calls) => {
                return self.refuse(calls.span(), "gate_calls: allowed are 1 to 100,000,000");
            }
        };
        let mut groups = Vec::new();
        for spanned in &file.group {
            let group = self.group(file, spanned.as_ref())?;
            if groups.iter().any(|other: &Group| other.name == group.name) {
                let wrong = format!("there are two groups {:?}", group.name);
                return self.refuse(spanned.as_ref().name.span(), wrong);
            }
            self.group_agrees(file, spanned.as_ref(), &group)?;
            groups.push(group);
        }
        let mut experiment = Experiment {
            name: file.name.as_ref().clone(),
            title: file.title.clone(),
            question: file.question.clone(),
            quick,
            gate_calls,
            groups,
            claims: Vec::new(),
            panels: Vec::new(),
        };
        self.rates(file, &mut experiment)?;
        let quick_groups = self.quick_groups(file, &experiment.groups)?;
        experiment.claims = self.claims(&file.claim, &experiment)?;
        experiment.panels = self.panels(&file.panel, &experiment)?;
        if quick {
            if quick_groups.is_empty() {
                return self.refuse(0..0, "--quick leaves no group: nothing would be measured");
            }
            experiment.groups = quick_groups;
        }
        Ok(experiment)
    }

    fn group(&self, file: &File, group: &file::Group) -> Result<Group, FileError> {
        self.name(&group.name)?;
        let mode = match group.mode.get_ref().as_str() {
            "real" => Mode::Real,
            "paced" => Mode::Paced,
            "simulated" => Mode::Simulated,
            other => {
                let wrong = format!("mode {other:?}; allowed: real, paced, simulated");
                return self.refuse(group.mode.span(), wrong);
            }
        };
        let knob = self.knob(group.knob.as_ref(), mode)?;
        let values = self.values(&group.knob.as_ref().values)?;
        let mut shared = OptionSet::default();
        if mode != Mode::Simulated {
            self.options(&mut shared, Side::Server, &file.server)?;
            self.options(&mut shared, Side::Client, &file.client)?;
        }
        self.all_options(&mut shared, mode, [&group.server, &group.client, &group.simulate])?;
        let (name, options) = (group.name.as_ref().clone(), shared);
        let (followers, rate, pause) = (0, None, None);
        let mut whole = Line { name, peer: Peer::Echo, options, followers, rate, pause, values };
        self.replicas(&Wishes::from(group), mode, &mut whole)?;
        let mut lines = Vec::new();
        for spanned in &group.lines {
            let line = self.group_line(spanned.as_ref(), (mode, &knob), &whole)?;
            if lines.iter().any(|other: &Line| other.name == line.name) {
                let wrong = format!("there are two lines {:?}", line.name);
                return self.refuse(spanned.as_ref().name.span(), wrong);
            }
            lines.push(line);
        }
        if lines.is_empty() {
            lines.push(whole);
        }
        let twin = self.twin(group, &lines)?;
        Ok(Group {
            name: group.name.as_ref().clone(),
            title: group.title.clone(),
            note: group.note.clone(),
            mode,
            rounds: self.rounds(&group.rounds)?.unwrap_or(ROUNDS),
            duration: self.time(&group.duration, "duration")?.unwrap_or(DURATION),
            warmup: self.time(&group.warmup, "warmup")?.unwrap_or(WARMUP),
            knob,
            lines,
            twin,
            model: self.model(&group.model)?,
        })
    }

    fn group_line(
        &self,
        line: &file::Line,
        (mode, knob): (Mode, &Knob),
        whole: &Line,
    ) -> Result<Line, FileError> {
        let mut found = Line { name: line.name.as_ref().clone(), ..whole.clone() };
        let sides = [&line.server, &line.client, &line.simulate];
        self.all_options(&mut found.options, mode, sides)?;
        if let Some(own) = &line.values {
            found.values = self.values(own)?;
        }
        if line.name.as_ref().trim().is_empty() {
            return self.refuse(line.name.span(), "a line without a name");
        }
        self.replicas(&Wishes::from(line), mode, &mut found)?;
        found.peer = self.peer(line, &found.options, knob)?;
        Ok(found)
    }

    /// The groups of the short form.
    fn quick_groups(&self, file: &File, full: &[Group]) -> Result<Vec<Group>, FileError> {
        let mut quick = Vec::new();
        for (written, group) in file.group.iter().map(Spanned::as_ref).zip(full) {
            self.replicas_agree(written, group)?;
            let short = self.quick(written, group)?;
            short.iter().try_for_each(|short| self.replicas_agree(written, short))?;
            quick.extend(short);
        }
        self.rates_are_kept(file, &quick)?;
        Ok(quick)
    }

    /// The group's short form; none if it is left out.
    fn quick(&self, file: &file::Group, group: &Group) -> Result<Option<Group>, FileError> {
        let Some(quick) = &file.quick else { return Ok(Some(group.clone())) };
        let quick = quick.as_ref();
        let mut short = group.clone();
        short.rounds = self.rounds(&quick.rounds)?.unwrap_or(group.rounds);
        short.duration = self.time(&quick.duration, "duration")?.unwrap_or(group.duration);
        short.warmup = self.time(&quick.warmup, "warmup")?.unwrap_or(group.warmup);
        if let Some(values) = &quick.values {
            let values = self.values(values)?;
            for line in &mut short.lines {
                let own = |l: &Spanned<file::Line>| l.as_ref().name.as_ref() == &line.name;
                let has_own = |l: &Spanned<file::Line>| l.as_ref().values.is_some();
                if !file.lines.iter().any(|l| own(l) && has_own(l)) {
                    line.values.clone_from(&values);
                }
            }
        }
        if let Some(kept) = &quick.lines {
            for name in kept {
                self.line_of(group, Some(name), name.span())?;
            }
        }
        let kept = |line: &Line| match &quick.lines {
            Some(kept) => kept.iter().any(|name| name.as_ref() == &line.name),
            None => true,
        };
        short.keep(kept);
        Ok((quick.run != Some(false) && !short.lines.is_empty()).then_some(short))
    }

    fn knob(&self, knob: &file::Knob, mode: Mode) -> Result<Knob, FileError> {
        let text = knob.option.as_ref();
        let (side, option) = text.split_once('.').unwrap_or(("", text));
        let of = match (side, mode) {
            ("server", Mode::Real | Mode::Paced) => Side::Server,
            ("client", Mode::Real | Mode::Paced) => Side::Client,
            ("follower", Mode::Real | Mode::Paced) => Side::Follower,
            ("simulate", Mode::Simulated) => Side::Simulate,
            _ => {
                let allowed = match mode {
                    Mode::Simulated => "simulate.NAME",
                    Mode::Real | Mode::Paced => "server.OPTION or client.OPTION",
                };
                let wrong = format!("knob {text:?}; allowed here: {allowed}");
                return self.refuse(knob.option.span(), wrong);
            }
        };
        self.option_name(of, option, knob.option.span())?;
        let label = knob.label.clone().unwrap_or_else(|| option.to_owned());
        Ok(Knob { of, option: option.to_owned(), label })
    }

    fn all_options(
        &self,
        into: &mut OptionSet,
        mode: Mode,
        [server, client, simulate]: [&OptionValues; 3],
    ) -> Result<(), FileError> {
        let (wrong, allowed): (Vec<&OptionValues>, _) = match mode {
            Mode::Simulated => (vec![server, client], "simulate"),
            Mode::Real | Mode::Paced => (vec![simulate], "server and client"),
        };
        if let Some(value) = wrong.iter().flat_map(|options| options.values()).next() {
            let wrong = format!("not in a group of this mode; allowed here: {allowed}");
            return self.refuse(value.span(), wrong);
        }
        self.options(into, Side::Server, server)?;
        self.options(into, Side::Client, client)?;
        self.options(into, Side::Simulate, simulate)
    }

    pub(super) fn options(
        &self,
        into: &mut OptionSet,
        side: Side,
        options: &OptionValues,
    ) -> Result<(), FileError> {
        for (option, value) in options {
            self.option_name(side, option, value.span())?;
            into.set(side, option, self.scalar(value)?);
        }
        Ok(())
    }

    fn option_name(&self, side: Side, option: &str, at: Range<usize>) -> Result<(), FileError> {
        let (own, known, who): (&[&str], _, _) = match side {
            Side::Server | Side::Follower => {
                (&OWN_SERVER, &self.known.server, "echo-server has no option")
            }
            Side::Client => (&OWN_CLIENT, &self.known.client, "echo-client has no option"),
            Side::Simulate => (&[], &self.known.simulate, "the simulator has no option"),
        };
        if own.contains(&option) {
            return self.refuse(at, format!("--{option} is set by the lab itself"));
        }
        match unknown(known, option) {
            Some(allowed) => self.refuse(at, format!("{who} {option:?}; allowed: {allowed}")),
            None => Ok(()),
        }
    }
}

impl Check<'_> {
    pub(super) fn refuse<T>(
        &self,
        at: Range<usize>,
        wrong: impl Into<String>,
    ) -> Result<T, FileError> {
        Err(self.source.error(at, wrong))
    }

    fn name(&self, name: &Spanned<String>) -> Result<(), FileError> {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if !name.as_ref().is_empty() && name.as_ref().chars().all(word) {
            return Ok(());
        }
        let wrong = format!("name {:?}; allowed: letters, digits, - and _", name.as_ref());
        self.refuse(name.span(), wrong)
    }

    pub(super) fn scalar(&self, value: &Spanned<toml::Value>) -> Result<Scalar, FileError> {
        match Scalar::of(value.as_ref()) {
            Some(scalar) if scalar.number().is_some_and(|number| !number.is_finite()) => {
                self.refuse(value.span(), format!("{scalar} is no number to measure at"))
            }
            Some(scalar) => Ok(scalar),
            None => self.refuse(value.span(), "allowed here: a number, a text, true or false"),
        }
    }

    /// Values of the knob: one at least, none twice.
    pub(super) fn values(
        &self,
        values: &Spanned<Vec<Spanned<toml::Value>>>,
    ) -> Result<Vec<Scalar>, FileError> {
        let mut scalars: Vec<Scalar> = Vec::new();
        for value in values.as_ref() {
            let scalar = self.scalar(value)?;
            if scalars.iter().any(|other| other.is(&scalar)) {
                return self.refuse(value.span(), format!("the value {scalar} comes twice"));
            }
            scalars.push(scalar);
        }
        if scalars.is_empty() {
            return self.refuse(values.span(), "values is empty; allowed: one value or more");
        }
        Ok(scalars)
    }

    fn rounds(&self, rounds: &Option<Spanned<u32>>) -> Result<Option<u32>, FileError> {
        match rounds {
            None => Ok(None),
            Some(rounds) if (1..=ROUNDS_MAX).contains(rounds.as_ref()) => {
                Ok(Some(*rounds.as_ref()))
            }
            Some(rounds) => self.refuse(rounds.span(), "rounds: allowed are 1 to 1000"),
        }
    }

    fn time(
        &self,
        text: &Option<Spanned<String>>,
        name: &str,
    ) -> Result<Option<Duration>, FileError> {
        let Some(text) = text else { return Ok(None) };
        match duration_in(Duration::from_millis(1)..=DURATION_MAX)(text.as_ref()) {
            Ok(time) => Ok(Some(time)),
            Err(error) => self.refuse(text.span(), format!("{name}: {error}")),
        }
    }

    fn model(&self, model: &Option<Spanned<String>>) -> Result<Option<String>, FileError> {
        let Some(name) = model else { return Ok(None) };
        match unknown(&self.known.models, name.get_ref()) {
            Some(allowed) => {
                let wrong = format!("there is no model {:?}; allowed: {allowed}", name.get_ref());
                self.refuse(name.span(), wrong)
            }
            None => Ok(Some(name.get_ref().clone())),
        }
    }

    /// The name of a line of `group`: the one that is given, or the only one that there is.
    pub(super) fn line_of(
        &self,
        group: &Group,
        name: Option<&Spanned<String>>,
        at: Range<usize>,
    ) -> Result<String, FileError> {
        let index = self.line_among(&group.name, &group.lines, name, at)?;
        Ok(group.lines[index].name.clone())
    }

    /// The same, while the group is made of these lines: which of them.
    pub(super) fn line_among(
        &self,
        group: &str,
        lines: &[Line],
        name: Option<&Spanned<String>>,
        at: Range<usize>,
    ) -> Result<usize, FileError> {
        let found = match name {
            Some(name) => lines.iter().position(|line| &line.name == name.as_ref()),
            None => (lines.len() == 1).then_some(0),
        };
        if let Some(index) = found {
            return Ok(index);
        }
        let said = name.map_or("which line is meant".to_owned(), |name| {
            format!("there is no line {:?} in group {group:?}", name.as_ref())
        });
        let names: Vec<&str> = lines.iter().map(|line| line.name.as_str()).collect();
        self.refuse(at, format!("{said}; allowed: {}", names.join(" | ")))
    }

    /// The group of this name.
    pub(super) fn group_of<'e>(
        &self,
        experiment: &'e Experiment,
        name: &Spanned<String>,
    ) -> Result<&'e Group, FileError> {
        match experiment.group(name.as_ref()) {
            Some(group) => Ok(group),
            None => {
                let names: Vec<&str> =
                    experiment.groups.iter().map(|group| group.name.as_str()).collect();
                let wrong =
                    format!("there is no group {:?}; allowed: {}", name.as_ref(), names.join(", "));
                self.refuse(name.span(), wrong)
            }
        }
    }
}

/// What is allowed instead, if `name` is not among what is known.
fn unknown(known: &Option<BTreeSet<String>>, name: &str) -> Option<String> {
    let known = known.as_ref().filter(|known| !known.contains(name))?;
    Some(known.iter().map(String::as_str).collect::<Vec<_>>().join(", "))
}

//! `lab run`: one experiment from its file to its report. First the correctness gate, then the
//! models' predictions, then the measurements, interleaved over rounds; each run is written to the
//! result folder when it ends, so that an interrupt keeps what was finished.

mod calibrate;
mod matched;
mod order;
mod pair;
mod pause;
mod progress;
mod record;
mod replicas;
mod sampler;
mod simulated;

pub use matched::Matched;
pub use record::{Followers, Record};
pub use simulated::{
    is_keyed, keyed_setup, options as simulate_options, reports as simulated_reports,
};

use crate::experiment::{self, Experiment, FileError, Group, Known, Mode, Peer, Point, Side};
use crate::fields::Reports;
use crate::folder::{About, Folder, host_value};
use crate::options::RunOptions;
use crate::predict;
use crate::process::{ProcessError, Program, Programs, Stop};
use crate::report;
use anyhow::{Context, Result};
use echo_common::{date, host, pinning};
use matched::Sources;
use pair::Length;
use progress::{Progress, rate};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use thiserror::Error;

/// What a run takes beside its measured time: starting, connecting, ending two processes.
const RUN_OVERHEAD: Duration = Duration::from_millis(250);
/// The same for each follower.
const FOLLOWER_OVERHEAD: Duration = Duration::from_millis(50);
/// Where experiments are looked for by name, and results go, seen from the lab's sources.
const EXPERIMENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../experiments");
const RESULTS: &str = "target/lab";

/// Calls were lost, wrong or counted differently by the two sides. Exit code 1.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the correctness gate failed, nothing was measured: {0}")]
pub struct GateFailed(String);

/// Runs an experiment as told; returns the exit code.
pub fn run(options: &RunOptions) -> Result<u8> {
    let stop = Stop::on_signals().context("cannot wait for signals")?;
    let path = find(&options.experiment)?;
    let text = fs::read_to_string(&path).map_err(|error| unreadable(&path, &error))?;
    eprintln!("lab: looking for the programs (they are built if need be)");
    let programs = Programs::find(options.programs.as_deref(), stop)?;
    let known = known(&programs)?;
    let mut experiment = experiment::read(&path, &text, &known, options.quick)?;
    let hadoop = hadoop(&programs, &mut experiment)?;
    let now = date::now();
    let suffix = if options.quick { "-quick" } else { "" };
    let name = format!("{}{suffix}", experiment.name);
    let folder = Folder::create(options.out.as_deref(), Path::new(RESULTS), &name, &now)?;
    folder.write("experiment.toml", &text)?;
    let mut about = About { command: command(options), ..about(&programs, &experiment, now)? };
    match hadoop {
        Hadoop::Found(version) => about.programs.push(version),
        Hadoop::Missing(why) => about.no_hadoop = Some(why),
        Hadoop::NotNeeded => {}
    }
    folder.write_about(&about)?;
    let mut session = Session { programs, experiment, folder, about };
    let outcome = session.all();
    session.close(outcome)
}

/// Whether there is a server of Hadoop's for the lines that want one.
enum Hadoop {
    NotNeeded,
    Found(String),
    Missing(String),
}

/// Gets Hadoop's server ready if it is needed; without it, its lines are left out.
fn hadoop(programs: &Programs, experiment: &mut Experiment) -> Result<Hadoop, ProcessError> {
    if !experiment.needs(Peer::Hadoop) {
        return Ok(Hadoop::NotNeeded);
    }
    if let Some(version) = programs.hadoop()? {
        return Ok(Hadoop::Found(version));
    }
    let why = "HADOOP_JARS is not set";
    eprintln!("lab: {why}: nothing is measured with Hadoop's server");
    experiment.leave_out(Peer::Hadoop);
    Ok(Hadoop::Missing(why.to_owned()))
}

/// What the names in an experiment may be.
fn known(programs: &Programs) -> Result<Known> {
    let names = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
    Ok(Known {
        server: Some(programs.options_of(Program::Server)?),
        client: Some(programs.options_of(Program::Client)?),
        simulate: Some(simulate_options().map(str::to_owned).collect()),
        models: names(&predict::MODELS),
        reports: Some(Reports::known()?),
    })
}

/// A file, or the name of one of the experiments beside the lab.
fn find(named: &str) -> Result<PathBuf> {
    let path = PathBuf::from(named);
    if path.is_file() {
        return Ok(path);
    }
    let by_name = Path::new(EXPERIMENTS).join(format!("{named}.toml"));
    if by_name.is_file() && !named.is_empty() {
        return Ok(by_name);
    }
    let files = fs::read_dir(EXPERIMENTS).into_iter().flatten().flatten();
    let stem = |entry: fs::DirEntry| {
        let path = entry.path();
        let is_toml = path.extension().is_some_and(|extension| extension == "toml");
        is_toml.then(|| path.file_stem().map(|stem| stem.to_string_lossy().into_owned())).flatten()
    };
    let mut names: Vec<String> = files.filter_map(stem).collect();
    names.sort();
    let said = if path.is_dir() { "it is a folder" } else { "there is no such file" };
    let wrong = match names.as_slice() {
        [] => format!("{said}; allowed: a file"),
        names => format!("{said}; allowed: a file, or one of {}", names.join(", ")),
    };
    Err(FileError { file: named.to_owned(), line: 1, wrong }.into())
}

fn unreadable(path: &Path, error: &std::io::Error) -> FileError {
    let file = path.display().to_string();
    FileError { file, line: 1, wrong: format!("cannot be read: {error}") }
}

fn about(programs: &Programs, experiment: &Experiment, began: String) -> Result<About> {
    let say = |program| programs.say(program, "--version").map(|text| text.trim().to_owned());
    let measured = experiment.groups.iter().filter(|group| group.mode != Mode::Simulated);
    Ok(About {
        name: experiment.name.clone(),
        quick: experiment.quick,
        began,
        commit: commit(),
        programs: vec![say(Program::Server)?, say(Program::Client)?],
        host: host_value(&host::describe(&pinning::allowed_cpus())),
        runs_planned: measured.map(|group| group.points().len() * group.rounds as usize).sum(),
        ..About::default()
    })
}

/// What makes the same run elsewhere: without the folders of this host.
fn command(options: &RunOptions) -> String {
    let quick = if options.quick { " --quick" } else { "" };
    format!("cargo lab run {}{quick}", options.experiment)
}

/// The sources' state, if they are under git and git is there.
fn commit() -> Option<String> {
    let mut git = Command::new("git");
    git.args(["-C", env!("CARGO_MANIFEST_DIR"), "describe", "--always", "--dirty"]);
    let output = git.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// An experiment that runs.
struct Session {
    programs: Programs,
    experiment: Experiment,
    folder: Folder,
    about: About,
}

impl Session {
    fn all(&mut self) -> Result<()> {
        eprintln!("lab: results go to {}", self.folder.path().display());
        self.gate()?;
        let calibration = calibrate::calibrate(&self.programs, &self.experiment)?;
        let cores = pinning::usable_cpus(&pinning::allowed_cpus()) as u64;
        let predicted = predict::predict(&self.experiment, calibration.as_ref(), cores);
        self.folder.write_predicted(&predicted)?;
        let measured = self.experiment.groups.iter().filter(|group| group.mode != Mode::Simulated);
        let time = |group: &Group| expected(group) * group.rounds * group.points().len() as u32;
        let planned = measured.map(time).sum();
        let mut progress = Progress::new(self.about.runs_planned, planned);
        let mut sources = Sources::of(&self.experiment);
        let mut order = 0;
        for group in self.experiment.in_order() {
            match group.mode {
                Mode::Simulated => self.simulate(group, calibration.as_ref(), &mut order)?,
                Mode::Real | Mode::Paced => {
                    self.measure(group, &mut sources, &mut progress, &mut order)?;
                }
            }
        }
        Ok(())
    }

    /// Nothing is measured before both programs have counted the same calls, every one answered
    /// rightly, at both ends of each group. Rates that other points decide are not known yet: as
    /// fast as it goes, then.
    fn gate(&self) -> Result<()> {
        let mut gate = Vec::new();
        for group in self.experiment.groups.iter().filter(|group| group.mode != Mode::Simulated) {
            for mut point in ends(group) {
                if point.rate.is_some() {
                    // How calls come says nothing without a rate, and is refused.
                    point.options.remove(Side::Client, "arrivals");
                }
                let length = Length::of_gate(group, self.experiment.gate_calls);
                let record = pair::run(&self.programs, &point, length)?;
                let words = point.words(&group.knob.label);
                if let Some(problem) = &record.problem {
                    return Err(GateFailed(format!("{words}: {problem}")).into());
                }
                eprintln!("lab: gate: {words}: both sides counted the same, every byte right");
                gate.push(record);
                self.folder.write_gate(&gate)?;
            }
        }
        Ok(())
    }

    fn measure(
        &self,
        group: &Group,
        sources: &mut Sources,
        progress: &mut Progress,
        order: &mut usize,
    ) -> Result<()> {
        let mut points = Vec::new();
        for mut point in group.points() {
            match sources.settle(&mut point) {
                Ok(matched) => points.push((point, matched)),
                Err(why) => {
                    progress.leave_out(group.rounds, expected(group), &words(group, &point), &why);
                    self.folder.add(&Record::not_made(&point, why))?;
                }
            }
        }
        for round in 0..group.rounds {
            for index in order::of_round(points.len(), round, group.rounds) {
                let (point, matched) = &points[index];
                let mut record = pair::run(&self.programs, point, Length::of(group))?;
                *order += 1;
                (record.order, record.round) = (*order, round + 1);
                record.matched.clone_from(matched);
                self.folder.add(&record)?;
                sources.note(&record);
                let came = match &record.problem {
                    None => rate(record.report["calls_per_s"].as_f64()),
                    Some(problem) => problem.clone(),
                };
                progress.step(expected(group), &words(group, point), &came);
            }
        }
        Ok(())
    }

    fn simulate(
        &self,
        group: &Group,
        calibration: Option<&predict::Calibration>,
        order: &mut usize,
    ) -> Result<()> {
        for point in group.points() {
            if let Some(signal) = self.programs.stop().signal() {
                return Err(ProcessError::Interrupted(signal).into());
            }
            *order += 1;
            let mut record = simulated::run(&point, calibration)?;
            record.order = *order;
            let came = rate(record.report["calls_per_s"].as_f64());
            eprintln!("lab: simulated: {}: {came}", point.words(&group.knob.label));
            self.folder.add(&record)?;
        }
        Ok(())
    }

    /// Writes the report of what there is, and says it.
    fn close(mut self, outcome: Result<()>) -> Result<u8> {
        self.about.ended = Some(date::now());
        let mut code = None;
        if let Err(error) = &outcome {
            match error.downcast_ref::<ProcessError>() {
                Some(ProcessError::Interrupted(signal)) => {
                    self.about.interrupted = Some(format!("{signal:?}"));
                    code = Some(signal.exit_code());
                    eprintln!("lab: interrupted; what was finished is kept");
                }
                _ => self.about.failure = Some(format!("{error:#}")),
            }
        }
        let written =
            self.folder.write_about(&self.about).and_then(|()| report::write(&self.folder));
        let all_well = match written {
            // A full disk stops the measurement and the report alike; the first error says why.
            Err(_) if outcome.is_err() && code.is_none() => false,
            written => written?,
        };
        match (outcome, code) {
            (Err(_), Some(code)) => Ok(code),
            (Err(error), None) => Err(error),
            (Ok(()), _) => Ok(if all_well { 0 } else { crate::CLAIM_FAILED }),
        }
    }
}

/// What a run of the group takes.
fn expected(group: &Group) -> Duration {
    let followers = group.lines.iter().map(|line| line.followers).max().unwrap_or(0);
    group.duration + group.warmup + RUN_OVERHEAD + FOLLOWER_OVERHEAD * followers
}

fn words(group: &Group, point: &Point) -> String {
    point.words(&group.knob.label)
}

/// The first line of each server at the first and the last value of the knob.
fn ends(group: &Group) -> Vec<Point> {
    let mut ends = Vec::new();
    for peer in [Peer::Echo, Peer::Hadoop] {
        let Some(line) = group.lines.iter().find(|line| line.peer == peer) else { continue };
        let of_line = |point: &Point| point.line == line.name && !point.twin;
        let mut points: Vec<Point> = group.points().into_iter().filter(of_line).collect();
        if points.len() > 2 {
            points.drain(1..points.len() - 1);
        }
        ends.append(&mut points);
    }
    ends
}

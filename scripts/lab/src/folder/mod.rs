//! A result folder: everything that a run of an experiment left behind, written as it comes, so
//! that what was finished stays when the lab is interrupted, and never edited afterwards.
//!
//! ```text
//! experiment.toml   the file as it was
//! lab.json          what was run: version, host, dates, options
//! prediction.json   what the models said, written before the measurement
//! gate.json         the correctness gate
//! runs.jsonl        one line for each run, in the order of time
//! summary.md, report.html, commands.sh
//! ```
//!
//! A file that was packed with gzip afterwards, such as `runs.jsonl.gz`, is read as if it were not.

use crate::output::Unwritten;
use crate::predict::Predicted;
use crate::run::Record;
use crate::usage::Usage;
use anyhow::{Context, Result, bail};
use echo_common::host::Host;
use flate2::read::MultiGzDecoder;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};

/// Version of the folder's layout; raised when something changes its meaning.
const SCHEMA_VERSION: u32 = 1;
/// Folders of one second that may stand side by side.
const SAME_SECOND_MAX: u32 = 99;

/// What was run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct About {
    /// Of this layout.
    pub schema_version: u32,
    /// The experiment's name.
    pub name: String,
    /// Whether it was the quick form.
    pub quick: bool,
    /// When it began, and when it ended or was last known to run.
    pub began: String,
    /// The same of its end.
    pub ended: Option<String>,
    /// The signal that ended it early.
    pub interrupted: Option<String>,
    /// What went wrong with the lab, if that ended it.
    pub failure: Option<String>,
    /// `git describe` of the sources, if they are under git.
    pub commit: Option<String>,
    /// What the programs say of themselves.
    pub programs: Vec<String>,
    /// The lab's command line.
    pub command: String,
    /// The machine, as the lab saw it.
    pub host: Value,
    /// Why nothing was measured with Hadoop's server, if that was wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_hadoop: Option<String>,
    /// Runs that were planned, the gate not counted.
    pub runs_planned: usize,
}

/// A folder that is being filled, or was.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
}

/// All that a folder holds.
#[derive(Clone, Debug)]
pub struct Content {
    /// What was run.
    pub about: About,
    /// The text of the experiment.
    pub experiment: String,
    /// The models' numbers.
    pub predicted: Vec<Predicted>,
    /// The gate's runs.
    pub gate: Vec<Record>,
    /// The measurements.
    pub runs: Vec<Record>,
}

impl Folder {
    /// Makes a new folder in `parent`, named by date and experiment; or `given`, which must be
    /// empty or not there.
    pub fn create(given: Option<&Path>, parent: &Path, name: &str, date: &str) -> Result<Folder> {
        if let Some(path) = given {
            fs::create_dir_all(path).with_context(|| unwritten(path))?;
            if fs::read_dir(path).with_context(|| unwritten(path))?.next().is_some() {
                let wrong = "the folder is not empty; results are never overwritten";
                return Err(Usage(format!("--out {}: {wrong}", path.display())).into());
            }
            return Ok(Folder { path: path.to_owned() });
        }
        fs::create_dir_all(parent).with_context(|| unwritten(parent))?;
        let stem = format!("{}-{name}", date.replace(':', ""));
        for number in 1..=SAME_SECOND_MAX {
            let path = match number {
                1 => parent.join(&stem),
                _ => parent.join(format!("{stem}-{number}")),
            };
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Folder { path }),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => continue,
                Err(error) => {
                    return Err(error).with_context(|| unwritten(&path));
                }
            }
        }
        bail!("{} has too many folders of {date}", parent.display());
    }

    /// A folder that was filled before.
    pub fn open(path: &Path) -> Result<Folder> {
        if !path.join("lab.json").is_file() {
            let wrong = format!("{} is no result folder: it has no lab.json", path.display());
            return Err(Usage(wrong).into());
        }
        Ok(Folder { path: path.to_owned() })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file of it, whole or not at all.
    pub fn write(&self, name: &str, text: &str) -> Result<()> {
        let (part, path) = (self.path.join(format!("{name}.part")), self.path.join(name));
        let written = fs::write(&part, text).and_then(|()| fs::rename(&part, &path));
        if written.is_err() {
            // Half a file helps nobody; that it cannot be removed either is not what went wrong.
            let _ = fs::remove_file(&part);
        }
        written.with_context(|| unwritten(&path))
    }

    /// Writes what was run.
    pub fn write_about(&self, about: &About) -> Result<()> {
        let about = About { schema_version: SCHEMA_VERSION, ..about.clone() };
        self.write("lab.json", &format!("{}\n", serde_json::to_string_pretty(&about)?))
    }

    /// Writes the models' numbers.
    pub fn write_predicted(&self, predicted: &[Predicted]) -> Result<()> {
        self.write("prediction.json", &format!("{}\n", serde_json::to_string_pretty(predicted)?))
    }

    /// Writes the gate's runs.
    pub fn write_gate(&self, gate: &[Record]) -> Result<()> {
        self.write("gate.json", &format!("{}\n", serde_json::to_string(gate)?))
    }

    /// Adds a run.
    pub fn add(&self, record: &Record) -> Result<()> {
        let path = self.path.join("runs.jsonl");
        let line = format!("{}\n", serde_json::to_string(record)?);
        let add = || -> io::Result<()> {
            let mut file: File = OpenOptions::new().create(true).append(true).open(&path)?;
            let length = file.metadata()?.len();
            // One write, so that an end in between leaves no half a line; a full disk does.
            file.write_all(line.as_bytes()).inspect_err(|_| {
                // The lines before it stay readable; the write's error is the one to tell.
                let _ = file.set_len(length);
            })
        };
        add().with_context(|| unwritten(&path))
    }

    /// A file of it as it was written, packed or not; none if it is not there.
    fn text(&self, name: &str) -> Result<Option<String>> {
        let read = |path: &Path, packed: bool| {
            let mut text = String::new();
            match File::open(path).and_then(|file| match packed {
                true => MultiGzDecoder::new(file).read_to_string(&mut text),
                false => BufReader::new(file).read_to_string(&mut text),
            }) {
                Ok(_) => Ok(Some(text)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
                Err(error) => {
                    Err(error).with_context(|| Usage(format!("cannot read {}", path.display())))
                }
            }
        };
        match read(&self.path.join(name), false)? {
            Some(text) => Ok(Some(text)),
            None => read(&self.path.join(format!("{name}.gz")), true),
        }
    }

    /// Everything in it. Files that an early end left out are empty.
    pub fn read(&self) -> Result<Content> {
        let text = |name: &str| self.text(name);
        let wrong = |name: &str| {
            Usage(format!("{} is not as it was written", self.path.join(name).display()))
        };
        let about = text("lab.json")?.with_context(|| wrong("lab.json"))?;
        let about: About = serde_json::from_str(&about).with_context(|| wrong("lab.json"))?;
        if about.schema_version != SCHEMA_VERSION {
            let version = about.schema_version;
            let path = self.path.display();
            let wrong = format!("{path} has layout {version}; this lab knows {SCHEMA_VERSION}");
            return Err(Usage(wrong).into());
        }
        let list = |name| Ok::<_, anyhow::Error>(text(name)?.unwrap_or_else(|| "[]".to_owned()));
        let runs = text("runs.jsonl")?.unwrap_or_default();
        let run = |line: &str| serde_json::from_str(line).with_context(|| wrong("runs.jsonl"));
        Ok(Content {
            about,
            experiment: text("experiment.toml")?.with_context(|| wrong("experiment.toml"))?,
            predicted: serde_json::from_str(&list("prediction.json")?)
                .with_context(|| wrong("prediction.json"))?,
            gate: serde_json::from_str(&list("gate.json")?).with_context(|| wrong("gate.json"))?,
            runs: runs.lines().map(run).collect::<Result<_>>()?,
        })
    }
}

fn unwritten(path: &Path) -> Unwritten {
    Unwritten(path.display().to_string())
}

/// The machine as JSON.
pub fn host_value(host: &Host) -> Value {
    serde_json::to_value(host).unwrap_or(Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;

    #[test]
    fn a_packed_file_is_read_as_if_it_were_not_and_a_broken_one_is_named() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::create(Some(place.path()), place.path(), "x", "now").unwrap();
        assert_eq!(folder.text("runs.jsonl").unwrap(), None);
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(b"one\ntwo\n").unwrap();
        let packed = packed.finish().unwrap();
        fs::write(place.path().join("runs.jsonl.gz"), &packed).unwrap();
        assert_eq!(folder.text("runs.jsonl").unwrap().unwrap(), "one\ntwo\n");
        fs::write(place.path().join("runs.jsonl.gz"), &packed[..packed.len() / 2]).unwrap();
        let error = folder.text("runs.jsonl").unwrap_err();
        assert!(format!("{error:#}").contains("runs.jsonl.gz"), "{error:#}");
        folder.write("runs.jsonl", "plain").unwrap();
        assert_eq!(folder.text("runs.jsonl").unwrap().unwrap(), "plain");
    }
}

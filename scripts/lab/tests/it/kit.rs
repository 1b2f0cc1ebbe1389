//! Starts the lab and small experiments for it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A place for files of one test.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Place {
        Place { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file and gives its path.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }
}

/// The lab with these arguments, not started.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lab"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs the lab to its end.
pub(crate) fn lab(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// How an experiment file begins.
pub(crate) fn header(name: &str, gate_calls: u32) -> String {
    format!("name = \"{name}\"\ntitle = \"T\"\nquestion = \"Q?\"\ngate_calls = {gate_calls}\n")
}

/// An experiment of two short points; `more` goes to its end.
pub(crate) fn small(rounds: u32, more: &str) -> String {
    let header = header("small", 503);
    format!(
        "{header}\
         [client]\nstages = 10\ninterval = \"100ms\"\n\
         [[group]]\nname = \"g\"\nmode = \"real\"\ntitle = \"G\"\nrounds = {rounds}\n\
         duration = \"200ms\"\nwarmup = \"50ms\"\nmodel = \"readers\"\ntwin = {{ at = 1 }}\n\
         knob = {{ option = \"server.readers\", values = [1, 2] }}\n\
         [[panel]]\ntitle = \"Throughput\"\nkind = \"curve\"\ngroup = \"g\"\nmodel = true\n\
         [[panel]]\ntitle = \"Stages\"\nkind = \"stages\"\ngroup = \"g\"\n{more}"
    )
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

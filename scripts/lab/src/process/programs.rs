//! Where the programs are.

use super::ProcessError;
use super::running::Running;
use super::stop::Stop;
use crate::experiment::Peer;
use echo_common::clock::{self, now_ns};
use serde_json::Value;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// How long a program may take to print its help.
const HELP_LIMIT: Duration = Duration::from_secs(20);
/// How long Hadoop's server may take to be compiled.
const BUILD_LIMIT: Duration = Duration::from_secs(180);
/// Compiles and starts Hadoop's server.
const HADOOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../hadoop/serve.sh");

/// One of the two programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Program {
    /// echo-server.
    Server,
    /// echo-client.
    Client,
}

/// Both programs, and the wish to end that every wait for them heeds.
#[derive(Clone, Debug)]
pub struct Programs {
    server: PathBuf,
    client: PathBuf,
    stop: Stop,
}

impl Programs {
    /// The programs in `folder`; without one they are built from the sources that the lab itself
    /// was built from, in the same profile.
    pub fn find(folder: Option<&Path>, stop: Stop) -> Result<Programs, ProcessError> {
        let Some(folder) = folder else {
            return Programs::build(stop);
        };
        let [server, client] = ["echo-server", "echo-client"].map(|name| folder.join(name));
        for program in [&server, &client] {
            if !program.is_file() {
                return Err(ProcessError::Missing(program.display().to_string()));
            }
        }
        Ok(Programs { server, client, stop })
    }

    fn build(stop: Stop) -> Result<Programs, ProcessError> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
        let mut command = Command::new(&cargo);
        command.args(["build", "-q", "--locked", "-p", "echo-server", "-p", "echo-client"]);
        if !cfg!(debug_assertions) {
            command.arg("--release");
        }
        command.args(["--message-format", "json-render-diagnostics", "--manifest-path"]);
        command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
        // Its messages are for the user, and a Ctrl-C ends it, too.
        let built = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
        let built = built.map_err(|error| ProcessError::Build(format!("cargo: {error}")))?;
        if let Some(signal) = stop.signal() {
            return Err(ProcessError::Interrupted(signal));
        }
        if !built.status.success() {
            return Err(ProcessError::Build(format!("cargo ended with {}", built.status)));
        }
        let messages = String::from_utf8_lossy(&built.stdout);
        let path = |name: &str| {
            executable(&messages, name)
                .ok_or_else(|| ProcessError::Build(format!("cargo named no {name}")))
        };
        Ok(Programs { server: path("echo-server")?, client: path("echo-client")?, stop })
    }

    /// Path of echo-server.
    pub fn server(&self) -> &Path {
        &self.server
    }

    /// Path of echo-client.
    pub fn client(&self) -> &Path {
        &self.client
    }

    /// Path of that server.
    pub(super) fn of_peer(&self, peer: Peer) -> &Path {
        match peer {
            Peer::Echo => &self.server,
            Peer::Hadoop => Path::new(HADOOP),
        }
    }

    /// Gets Hadoop's server ready and asks it who it is. None if no jars are given.
    pub fn hadoop(&self) -> Result<Option<String>, ProcessError> {
        if std::env::var_os("HADOOP_JARS").is_none_or(|folder| folder.is_empty()) {
            return Ok(None);
        }
        match self.ask(Path::new(HADOOP), "--version", BUILD_LIMIT) {
            Ok(text) => Ok(Some(text.trim().to_owned())),
            Err(ProcessError::Ended { why, .. } | ProcessError::Refused { why, .. }) => {
                Err(ProcessError::Hadoop(why))
            }
            Err(error) => Err(error),
        }
    }

    /// The wish to end.
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    /// The long options that a program knows, without their dashes.
    pub fn options_of(&self, program: Program) -> Result<BTreeSet<String>, ProcessError> {
        let help = self.say(program, "--help")?;
        Ok(options_in(&help))
    }

    /// What a program prints when asked by one option, such as `--version`.
    pub fn say(&self, program: Program, option: &str) -> Result<String, ProcessError> {
        let path = match program {
            Program::Server => &self.server,
            Program::Client => &self.client,
        };
        self.ask(path, option, HELP_LIMIT)
    }

    fn ask(&self, path: &Path, option: &str, limit: Duration) -> Result<String, ProcessError> {
        let (mut running, stdout) = Running::start(path, [OsStr::new(option)])?;
        let mut text = String::new();
        // A program that has nothing to say is found out below.
        let _ = stdout.take(1 << 20).read_to_string(&mut text);
        let until_ns = now_ns().saturating_add(clock::ns(limit));
        match running.wait(until_ns, &self.stop)? {
            None => Err(running.too_long(limit)),
            Some(status) if !status.success() => Err(running.ended(status)),
            Some(_) => Ok(text),
        }
    }

    /// Waits until `until_ns`, unless the lab is to end.
    pub fn rest(&self, until_ns: u64) -> Result<(), ProcessError> {
        match self.stop.rest(until_ns) {
            Ok(false) => Ok(()),
            Ok(true) => Err(self.interrupted()),
            Err(error) => Err(ProcessError::System("cannot wait", error)),
        }
    }

    pub(super) fn interrupted(&self) -> ProcessError {
        let signal = self.stop.signal().expect("it is set before the stop is raised");
        ProcessError::Interrupted(signal)
    }
}

/// The path of a program in cargo's messages.
fn executable(messages: &str, name: &str) -> Option<PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let path = |message: Value| {
        let of_it = message["target"]["name"] == name;
        message["executable"].as_str().filter(|_| of_it).map(PathBuf::from)
    };
    messages.filter_map(path).next_back()
}

/// Lines of a help text that begin with an option define it.
fn options_in(help: &str) -> BTreeSet<String> {
    let words = |line: &str| {
        let line = line.trim_start();
        if !line.starts_with('-') {
            return Vec::new();
        }
        // Two blanks part the option from what is said of it.
        let option = line.split("  ").next().unwrap_or(line);
        let words = option.split([' ', ',', '=', '[', '<']);
        words.filter_map(|word| word.strip_prefix("--")).map(str::to_owned).collect()
    };
    // Prose may begin with an option, too, and ends otherwise.
    let option = |word: &String| {
        let clean = word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        clean && !word.is_empty() && !["help", "version"].contains(&word.as_str())
    };
    help.lines().flat_map(words).filter(option).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_are_read_from_the_help() {
        let help = "Usage: x [OPTIONS]\n\n      --readers <N>  more than --nothing\n  \
                    -t, --threads <COUNT>\n          [aliases: --thread]\n      --pin [<PIN>]\n  \
                    \x20       --x; and so on\n  -h, --help\n";
        let options: Vec<_> = options_in(help).into_iter().collect();
        assert_eq!(options, ["pin", "readers", "threads"]);
    }

    #[test]
    fn cargos_messages_name_the_program() {
        let messages = "noise\n\
                        {\"target\":{\"name\":\"echo-server\"},\"executable\":null}\n\
                        {\"target\":{\"name\":\"echo-server\"},\"executable\":\"/t/server\"}\n";
        assert_eq!(executable(messages, "echo-server"), Some(PathBuf::from("/t/server")));
        assert_eq!(executable(messages, "echo-client"), None);
    }
}

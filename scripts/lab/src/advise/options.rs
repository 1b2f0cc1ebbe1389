//! The options of `lab advise`.

use super::answer::Question;
use super::demands::{Circumstances, Demands, Origin, StageDemand};
use crate::model::readers::CallerOrder;
use crate::simulate::numbers::microseconds;
use crate::simulate::options::{CallerOrder as CallerOrderOption, Format};
use clap::Args;
use echo_common::quantity::{count_in, duration_in, rate, size_in};
use std::path::PathBuf;
use std::time::Duration;

/// Say how many readers a target takes, what binds next, or why no number works.
///
/// Without --reader-us both programs are run on this host and each stage is measured, at light load
/// and saturated, with one reader. With it nothing is run: the demands are those given, in
/// microseconds of CPU for each call.
#[derive(Clone, Debug, Args)]
pub struct AdviseOptions {
    /// Calls per second that shall be carried
    #[arg(long, value_name = "RATE", value_parser = rate, allow_hyphen_values = true)]
    pub target: f64,
    /// The 99 % latency that is allowed at the target [default: any]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    #[arg(value_parser = duration_in(Duration::from_micros(1)..=Duration::from_secs(60)))]
    pub p99: Option<Duration>,
    /// CPUs for both programs [default: those of this host; with --reader-us: enough]
    #[arg(long, value_name = "COUNT", value_parser = count_in(1..=4096))]
    #[arg(allow_hyphen_values = true)]
    pub cores: Option<u64>,
    /// The client has a machine of its own and takes nothing of --cores
    #[arg(long)]
    pub client_apart: bool,
    /// Connections
    #[arg(long, value_name = "COUNT", default_value = "30", value_parser = count_in(1..=100_000))]
    #[arg(allow_hyphen_values = true)]
    pub clients: u64,
    /// Callers: calls in flight over all connections
    #[arg(short = 't', long, value_name = "COUNT", default_value = "100")]
    #[arg(value_parser = count_in(1..=100_000), allow_hyphen_values = true)]
    pub threads: u64,
    /// Where a caller's next call goes, as echo-client's option of this name
    #[arg(long, value_name = "HOW", default_value = "fixed")]
    pub callers: CallerOrderOption,
    /// Consider 1 to so many readers
    #[arg(long, value_name = "COUNT", default_value = "10", value_parser = count_in(1..=256))]
    #[arg(allow_hyphen_values = true)]
    pub readers_max: u64,

    /// CPU time of a reader for each call, in microseconds: run nothing
    #[arg(long, value_name = "US", value_parser = microseconds, allow_hyphen_values = true)]
    #[arg(conflicts_with_all = ["check", "server_options"])]
    pub reader_us: Option<f64>,
    /// CPU time of a reader for each pass, whatever is in it
    #[arg(long, value_name = "US", default_value = "0", value_parser = microseconds)]
    #[arg(allow_hyphen_values = true, requires = "reader_us")]
    pub reader_pass_us: f64,
    /// CPU time of a handler for each call
    #[arg(long, value_name = "US", default_value = "0", value_parser = microseconds)]
    #[arg(allow_hyphen_values = true, requires = "reader_us")]
    pub handler_us: f64,
    /// Handler threads [default: 100]
    #[arg(long, value_name = "COUNT", value_parser = count_in(0..=4096))]
    #[arg(allow_hyphen_values = true, requires = "reader_us")]
    pub handlers: Option<u64>,
    /// CPU time of the client for each call
    #[arg(long, value_name = "US", default_value = "0", value_parser = microseconds)]
    #[arg(allow_hyphen_values = true, requires = "reader_us")]
    pub client_us: f64,
    /// What else a call waits for, and nobody queues for
    #[arg(long, value_name = "US", default_value = "0", value_parser = microseconds)]
    #[arg(allow_hyphen_values = true, requires = "reader_us")]
    pub delay_us: f64,

    /// Measure the advised number of readers, too, and print the error of the prediction
    #[arg(long)]
    pub check: bool,
    /// How long each run is measured
    #[arg(long, value_name = "TIME", default_value = "2s", allow_hyphen_values = true)]
    #[arg(value_parser = duration_in(Duration::from_millis(200)..=Duration::from_secs(600)))]
    pub duration: Duration,
    /// Bytes of a call's payload in the runs
    #[arg(long, value_name = "SIZE", default_value = "128", value_parser = size_in(0..=1 << 24))]
    #[arg(allow_hyphen_values = true)]
    pub payload: u64,
    /// The folder of echo-server and echo-client [default: built from the sources]
    #[arg(long, value_name = "FOLDER")]
    pub programs: Option<PathBuf>,
    /// Form of what is printed
    #[arg(long, value_name = "FORM", default_value = "text")]
    pub format: Format,
    /// Write the prediction as JSON to this file, too: before anything is checked
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Options of the server under test, behind --; --readers is the lab's
    #[arg(last = true, value_name = "SERVER OPTIONS")]
    pub server_options: Vec<String>,
}

impl AdviseOptions {
    /// The question, for a host of `cpus` CPUs.
    pub fn question(&self, cpus: u64) -> Question {
        let cores = match (self.cores, self.reader_us) {
            (None, None) => Some(cpus),
            (cores, _) => cores,
        };
        Question {
            target_per_s: self.target,
            p99_us: self.p99.map(|time| time.as_secs_f64() * 1e6),
            circumstances: Circumstances {
                cores,
                client_apart: self.client_apart,
                clients: self.clients,
                callers: self.threads,
                caller_order: match self.callers {
                    CallerOrderOption::Fixed => CallerOrder::Fixed,
                    CallerOrderOption::Turns => CallerOrder::Turns,
                },
            },
            readers_max: self.readers_max,
        }
    }

    /// The demands that were given; none if they are to be measured.
    pub fn given(&self) -> Option<Demands> {
        let reader_us = self.reader_us?;
        Some(Demands {
            origin: Origin::Given,
            reader: StageDemand::given(reader_us, self.reader_pass_us),
            handler: StageDemand::given(self.handler_us, 0.0),
            client: StageDemand::given(self.client_us, 0.0),
            handlers: self.handlers.unwrap_or(HANDLERS),
            workers: 1,
            delay_us: self.delay_us,
            light_p99_us: None,
        })
    }

    /// Refuses options of the server that the lab sets itself. The error is one line.
    pub fn refuse_taken(&self) -> Result<(), String> {
        let taken = ["--readers", "--listen", "--no-remote-stats"];
        let is_taken = |word: &&String| {
            let name = word.split('=').next().unwrap_or(word);
            taken.contains(&name)
        };
        match self.server_options.iter().find(is_taken) {
            Some(word) => Err(format!(
                "{word} behind --: the lab needs a say in that; allowed: every option of \
                 echo-server but {}",
                taken.join(", ")
            )),
            None => Ok(()),
        }
    }
}

/// Enough not to be in the way: Hadoop's usual number.
const HANDLERS: u64 = 100;

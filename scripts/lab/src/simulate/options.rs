//! The options of `lab simulate`.

use super::law::Spread;
use super::numbers::{list_in, microseconds};
use super::pipeline::{Load, Setup, StageCost};
use clap::{Args, ValueEnum};
use echo_common::quantity::{count_in, duration_in, rate};
use std::time::Duration;

/// The form of what is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// Where a caller's next call goes, as echo-client's `--callers`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CallerOrder {
    /// To its own connection.
    Fixed,
    /// To the next connection in turn.
    Turns,
}

/// Calls of an open loop, as echo-client's `--arrivals`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Arrivals {
    /// At equal distances.
    Uniform,
    /// At exponential distances.
    Poisson,
}

/// Run the pair in virtual time: what it would do on other cores, from what each stage takes.
///
/// Cores are shared by all threads of both programs, the client's too, in order of arrival and with
/// a quantum. Times without a unit are microseconds.
#[derive(Clone, Debug, Args)]
pub struct SimulateOptions {
    /// CPUs that all threads share; several make several rows [default: enough]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, value_parser = list_in(1..=4096))]
    pub cores: Option<std::vec::Vec<u32>>,
    /// Reader threads, such as 1-10; several make several rows
    #[arg(long, value_name = "LIST", default_value = "1")]
    #[arg(value_parser = list_in(1..=1024), allow_hyphen_values = true)]
    pub readers: std::vec::Vec<u32>,
    /// Handler threads; 0 serves calls on the readers
    #[arg(long, value_name = "COUNT", default_value = "2")]
    #[arg(value_parser = count_in(0..=4096), allow_hyphen_values = true)]
    pub handlers: u64,
    /// Worker threads of the client
    #[arg(long, value_name = "COUNT", default_value = "1")]
    #[arg(value_parser = count_in(1..=1024), allow_hyphen_values = true)]
    pub workers: u64,
    /// Connections
    #[arg(long, value_name = "COUNT", default_value = "10")]
    #[arg(value_parser = count_in(1..=1_000_000), allow_hyphen_values = true)]
    pub clients: u64,
    /// Callers: calls in flight over all connections [default: one on each connection]
    #[arg(short = 't', long, value_name = "COUNT")]
    #[arg(value_parser = count_in(1..=10_000_000), allow_hyphen_values = true)]
    pub threads: Option<u64>,
    /// Where a caller's next call goes: to its own connection, or to the next in turn as freon's do
    #[arg(long, value_name = "HOW", default_value = "fixed", conflicts_with = "rate")]
    pub callers: CallerOrder,
    /// How long a caller waits between its calls
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        default_value = "0",
        conflicts_with = "rate"
    )]
    #[arg(value_parser = duration_in(Duration::ZERO..=Duration::from_secs(60)))]
    pub think: Duration,
    /// Calls per second by a schedule instead (an open loop)
    #[arg(long, value_name = "RATE")]
    #[arg(value_parser = rate, conflicts_with = "threads", allow_hyphen_values = true)]
    pub rate: Option<f64>,
    /// How --rate spaces the calls
    #[arg(long, value_name = "HOW", default_value = "poisson")]
    pub arrivals: Arrivals,
    /// The client has a machine of its own and takes no turn on --cores
    #[arg(long)]
    pub client_apart: bool,

    /// CPU time of a reader for each call
    #[arg(long, value_name = "US", default_value = "0")]
    #[arg(value_parser = microseconds, allow_hyphen_values = true)]
    pub reader_us: f64,
    /// CPU time of a reader for each pass (wake-up, poll, reading), whatever is in it
    #[arg(long, value_name = "US", default_value = "0")]
    #[arg(value_parser = microseconds, allow_hyphen_values = true)]
    pub reader_pass_us: f64,
    /// A virtual reader that lets a call go so often and uses no CPU (emulated)
    #[arg(long, value_name = "US", default_value = "0")]
    #[arg(value_parser = microseconds, allow_hyphen_values = true)]
    pub reader_paced_us: f64,
    /// CPU time of a handler for each call
    #[arg(long, value_name = "US", default_value = "0")]
    #[arg(value_parser = microseconds, allow_hyphen_values = true)]
    pub handler_us: f64,
    /// CPU time of a handler for each take
    #[arg(long, value_name = "US", default_value = "0")]
    #[arg(value_parser = microseconds, allow_hyphen_values = true)]
    pub handler_pass_us: f64,
    /// A virtual handler that lets a call go so often and uses no CPU (emulated)
    #[arg(long, value_name = "US", default_value = "0")]
    #[arg(value_parser = microseconds, allow_hyphen_values = true)]
    pub handler_paced_us: f64,
    /// CPU time of the client for each call
    #[arg(long, value_name = "US", default_value = "0")]
    #[arg(value_parser = microseconds, allow_hyphen_values = true)]
    pub client_us: f64,
    /// CPU time of the client for each turn of its loop
    #[arg(long, value_name = "US", default_value = "0")]
    #[arg(value_parser = microseconds, allow_hyphen_values = true)]
    pub client_pass_us: f64,
    /// What else a call waits for, and nobody queues for: the network, mostly
    #[arg(long, value_name = "US", default_value = "0")]
    #[arg(value_parser = microseconds, allow_hyphen_values = true)]
    pub delay_us: f64,
    /// How the times of the stages spread: det, exp or lognormal:CV
    #[arg(long, value_name = "SPREAD", default_value = "det")]
    pub spread: Spread,
    /// How the delay spreads
    #[arg(long, value_name = "SPREAD", default_value = "exp")]
    pub delay_spread: Spread,

    /// Calls that a reader takes in one pass, at most; 1 is Hadoop's way
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true, default_value = "1024")]
    #[arg(value_parser = count_in(1..=1_000_000))]
    pub reader_batch: u64,
    /// Calls that a reader hands over together, at most; 1 is right for readers that burn CPU for
    /// each call
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true, default_value = "1024")]
    #[arg(value_parser = count_in(1..=1_000_000))]
    pub hand_over: u64,
    /// Calls that a handler takes at once, at most
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true, default_value = "64")]
    #[arg(value_parser = count_in(1..=1_000_000))]
    pub handler_batch: u64,
    /// How long a thread may run while others wait for its core
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, default_value = "1ms")]
    #[arg(value_parser = duration_in(Duration::from_micros(1)..=Duration::from_secs(1)))]
    pub quantum: Duration,

    /// Virtual time before anything is counted
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, default_value = "200ms")]
    #[arg(value_parser = duration_in(Duration::ZERO..=Duration::from_secs(3600)))]
    pub warmup: Duration,
    /// Virtual time that is counted
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, default_value = "1s")]
    #[arg(value_parser = duration_in(Duration::from_millis(1)..=Duration::from_secs(3600)))]
    pub duration: Duration,
    /// The same seed gives the same figures
    #[arg(long, value_name = "COUNT", default_value = "1")]
    #[arg(value_parser = count_in(0..=u64::MAX), allow_hyphen_values = true)]
    pub seed: u64,
    /// Form of what is printed
    #[arg(long, value_name = "FORM", default_value = "text")]
    pub format: Format,
}

impl SimulateOptions {
    /// One setup for each row, cores by readers. The error is one line.
    pub fn setups(&self) -> Result<Vec<Setup>, String> {
        let cores: Vec<Option<u32>> = match &self.cores {
            Some(cores) => cores.iter().map(|&cores| Some(cores)).collect(),
            None => vec![None],
        };
        let setups = cores
            .into_iter()
            .flat_map(|cores| self.readers.iter().map(move |&readers| self.setup(cores, readers)));
        let setups: Vec<Setup> = setups.collect();
        setups.iter().try_for_each(Setup::check)?;
        Ok(setups)
    }

    fn setup(&self, cores: Option<u32>, readers: u32) -> Setup {
        let stage = |call_us, pass_us, paced_us| StageCost {
            pass_us,
            call_us,
            paced_us,
            spread: self.spread,
        };
        let load = match self.rate {
            Some(calls_per_s) => {
                Load::Open { calls_per_s, poisson: self.arrivals == Arrivals::Poisson }
            }
            None => Load::Closed {
                callers: count(self.threads.unwrap_or(self.clients)),
                think_us: self.think.as_secs_f64() * 1e6,
                turns: self.callers == CallerOrder::Turns,
            },
        };
        Setup {
            cores,
            quantum_us: self.quantum.as_secs_f64() * 1e6,
            workers: count(self.workers),
            client_apart: self.client_apart,
            clients: count(self.clients),
            readers,
            handlers: count(self.handlers),
            reader_batch: count(self.reader_batch),
            hand_over: count(self.hand_over),
            handler_batch: count(self.handler_batch),
            client: stage(self.client_us, self.client_pass_us, 0.0),
            reader: stage(self.reader_us, self.reader_pass_us, self.reader_paced_us),
            handler: stage(self.handler_us, self.handler_pass_us, self.handler_paced_us),
            delay_us: self.delay_us,
            delay_spread: self.delay_spread,
            load,
            warmup_s: self.warmup.as_secs_f64(),
            measured_s: self.duration.as_secs_f64(),
            seed: self.seed,
        }
    }
}

/// Every count was bounded when it was read.
fn count(value: u64) -> u32 {
    u32::try_from(value).expect("the option's range ends below")
}

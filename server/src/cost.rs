//! Synthetic costs of a stage: what a call takes there beyond the echo itself.
//!
//! `spin` burns CPU: it shows the true limits of this host. `paced` uses none: it lets a call go no
//! earlier than a single server of that speed would, which emulates processors that this host does
//! not have; every output of a server with a paced cost says "emulated".

use crate::stage_clock::Stall;
use echo_common::{cpu_time, quantity};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand_distr::{Distribution, Exp, LogNormal};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use thiserror::Error;

/// How a cost is paid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// By burning CPU time of the stage's thread.
    Spin,
    /// By waiting for a virtual single server.
    Paced,
}

/// How single costs spread around their mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spread {
    /// All alike.
    Deterministic,
    /// Exponential: coefficient of variation 1.
    Exponential,
    /// Log-normal with this coefficient of variation.
    LogNormal(f64),
}

/// A stage's cost per call, as an option: `MODE:TIME[:SPREAD]`, such as `spin:28us`,
/// `paced:200us:exp` or `spin:1ms:lognormal:0.5`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// How it is paid.
    pub mode: Mode,
    /// Mean per call.
    pub mean: Duration,
    /// The spread around the mean.
    pub spread: Spread,
}

/// Why a cost was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{wrong}; allowed is {ALLOWED}")]
pub struct CostError {
    wrong: String,
}

const ALLOWED: &str = "spin:TIME or paced:TIME, then nothing, :det, :exp or :lognormal:CV, \
    with TIME up to 10s and CV above 0 and up to 10";
const MEAN_MAX: Duration = Duration::from_secs(10);
const CV_MAX: f64 = 10.0;

impl FromStr for Cost {
    type Err = CostError;

    fn from_str(text: &str) -> Result<Cost, CostError> {
        let refuse = |wrong: String| CostError { wrong };
        let mut parts = text.split(':');
        let mode = match parts.next() {
            Some("spin") => Mode::Spin,
            Some("paced") => Mode::Paced,
            _ => return Err(refuse("the mode is neither spin nor paced".into())),
        };
        let time = parts.next().ok_or_else(|| refuse("the time is missing".into()))?;
        let mean = quantity::duration(time).map_err(|error| refuse(error.to_string()))?;
        if mean.is_zero() || mean > MEAN_MAX {
            return Err(refuse(format!("a time of {time} is out of range")));
        }
        let spread = match (parts.next(), parts.next()) {
            (None | Some("det"), None) => Spread::Deterministic,
            (Some("exp"), None) => Spread::Exponential,
            (Some("lognormal"), Some(cv)) => match cv.parse() {
                Ok(cv) if cv > 0.0 && cv <= CV_MAX => Spread::LogNormal(cv),
                _ => return Err(refuse(format!("a coefficient of variation of {cv:?}"))),
            },
            _ => return Err(refuse("the spread is none that is known".into())),
        };
        match parts.next() {
            None => Ok(Cost { mode, mean, spread }),
            Some(_) => Err(refuse("something is left over behind the spread".into())),
        }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = match self.mode {
            Mode::Spin => "spin",
            Mode::Paced => "paced",
        };
        write!(to, "{mode}:{}", quantity::format_duration(self.mean))?;
        match self.spread {
            Spread::Deterministic => Ok(()),
            Spread::Exponential => to.write_str(":exp"),
            Spread::LogNormal(cv) => write!(to, ":lognormal:{cv}"),
        }
    }
}

/// The costs of a server's stages.
#[derive(Clone, Copy, Debug, Default)]
pub struct StageCosts {
    /// Paid by a reader for each call, before the call queue sees it.
    pub reader: Option<Cost>,
    /// Paid by a handler for each call, before the service runs.
    pub handler: Option<Cost>,
    /// Paid by the serial stage for each call; this and the following with `--dispatch keyed` only.
    pub serial: Option<Cost>,
    /// Paid for each read of the ordered log.
    pub log_read: Option<Cost>,
    /// Paid for each call read from the ordered log.
    pub log_call: Option<Cost>,
    /// Paid for each call dispatched.
    pub dispatch: Option<Cost>,
    /// Paid by the dispatcher between a dispatch and the next read.
    pub gap: Option<Cost>,
    /// Stalls of the serial stage.
    pub stall: Option<Stall>,
}

impl StageCosts {
    fn named(&self) -> [(&'static str, Option<Cost>); 7] {
        [
            ("reader", self.reader),
            ("handler", self.handler),
            ("serial", self.serial),
            ("log read", self.log_read),
            ("log call", self.log_call),
            ("dispatch", self.dispatch),
            ("gap", self.gap),
        ]
    }

    /// Whether some stage is emulated.
    pub fn are_emulated(&self) -> bool {
        let costs = self.named();
        costs.iter().filter_map(|(_, cost)| *cost).any(|cost| cost.mode == Mode::Paced)
    }

    /// For people: `reader spin:28us, handler paced:1ms (emulated)`.
    pub fn describe(&self) -> Option<String> {
        let name = |(role, cost): (&str, Option<Cost>)| {
            cost.map(|cost| match cost.mode {
                Mode::Spin => format!("{role} {cost}"),
                Mode::Paced => format!("{role} {cost} (emulated)"),
            })
        };
        let stall = self.stall.map(|stall| {
            let [length, every] = [stall.length, stall.every].map(quantity::format_duration);
            format!("serial stalls {length} every {every}")
        });
        let named: Vec<String> = self.named().into_iter().filter_map(name).chain(stall).collect();
        (!named.is_empty()).then(|| named.join(", "))
    }
}

enum Law {
    Always(f64),
    Exponential(Exp<f64>),
    LogNormal(LogNormal<f64>),
}

/// One thread's source of single costs.
pub(crate) struct Sampler {
    law: Law,
    random: SmallRng,
}

impl Sampler {
    /// Threads differ by `seed`, runs do not.
    pub(crate) fn new(cost: Cost, seed: u64) -> Sampler {
        let mean_ns = cost.mean.as_nanos() as f64;
        let law = match cost.spread {
            Spread::Deterministic => Law::Always(mean_ns),
            Spread::Exponential => {
                Law::Exponential(Exp::new(1.0 / mean_ns).expect("the mean is positive"))
            }
            Spread::LogNormal(cv) => Law::LogNormal(
                LogNormal::from_mean_cv(mean_ns, cv).expect("mean and variation are positive"),
            ),
        };
        Sampler { law, random: SmallRng::seed_from_u64(seed) }
    }

    /// The next call's cost, in nanoseconds.
    pub(crate) fn next_ns(&mut self) -> u64 {
        let ns = match &self.law {
            Law::Always(ns) => *ns,
            Law::Exponential(law) => law.sample(&mut self.random),
            Law::LogNormal(law) => law.sample(&mut self.random),
        };
        ns as u64
    }
}

/// Burns `ns` of the calling thread's CPU time, however often it is put aside meanwhile.
pub(crate) fn spin(ns: u64) {
    let until_ns = cpu_time::thread_cpu_ns().saturating_add(ns);
    while cpu_time::thread_cpu_ns() < until_ns {
        std::hint::spin_loop();
    }
}

/// A virtual single server: it serves in order of arrival, and is never idle while a call waits.
///
/// Being late in noticing a call's end costs the call, not the rate: the next one began when the
/// virtual server was free and not when somebody looked.
pub(crate) struct VirtualServer {
    sampler: Sampler,
    free_at_ns: u64,
}

impl VirtualServer {
    pub(crate) fn new(cost: Cost, seed: u64) -> VirtualServer {
        VirtualServer { sampler: Sampler::new(cost, seed), free_at_ns: 0 }
    }

    /// When a call that arrived at `arrived_ns` is done.
    pub(crate) fn finish_ns(&mut self, arrived_ns: u64) -> u64 {
        self.free_at_ns = self.free_at_ns.max(arrived_ns).saturating_add(self.sampler.next_ns());
        self.free_at_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, mode: Mode, mean_us: u64, spread: Spread) {
        let cost = Cost { mode, mean: Duration::from_micros(mean_us), spread };
        assert_eq!(text.parse(), Ok(cost), "{text}");
        assert_eq!(cost.to_string().parse(), Ok(cost), "{cost}");
    }

    #[test]
    fn costs_are_read_as_written() {
        check("spin:28us", Mode::Spin, 28, Spread::Deterministic);
        check("paced:200us:det", Mode::Paced, 200, Spread::Deterministic);
        check("paced:1ms:exp", Mode::Paced, 1000, Spread::Exponential);
        check("spin:2ms:lognormal:0.5", Mode::Spin, 2000, Spread::LogNormal(0.5));
    }

    #[test]
    fn anything_else_names_what_is_allowed() {
        for text in [
            "",
            "spin",
            "28us",
            "burn:1us",
            "spin:",
            "spin:-1us",
            "spin:0",
            "spin:11s",
            "spin:28",
            "spin:1us:",
            "spin:1us:normal",
            "spin:1us:lognormal",
            "spin:1us:lognormal:0",
            "spin:1us:lognormal:nan",
            "spin:1us:lognormal:11",
            "spin:1us:exp:2",
            "spin:1us:det:det:det",
        ] {
            let error = text.parse::<Cost>().unwrap_err().to_string();
            assert!(error.contains("allowed is spin:TIME"), "{text}: {error}");
        }
    }

    #[test]
    fn samples_have_the_mean_and_the_variation_asked_for() {
        for (text, cv) in
            [("spin:50us", 0.0), ("spin:50us:exp", 1.0), ("spin:50us:lognormal:0.5", 0.5)]
        {
            let mut sampler = Sampler::new(text.parse().unwrap(), 7);
            let n = 200_000;
            let samples: Vec<f64> = (0..n).map(|_| sampler.next_ns() as f64).collect();
            let mean = samples.iter().sum::<f64>() / f64::from(n);
            let variance = samples.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(n);
            assert!((mean / 50_000.0 - 1.0).abs() < 0.02, "{text}: mean {mean}");
            assert!(
                (variance.sqrt() / mean - cv).abs() < 0.03,
                "{text}: {}",
                variance.sqrt() / mean
            );
        }
    }

    #[test]
    fn a_virtual_server_is_busy_while_calls_wait_and_idle_otherwise() {
        let mut server = VirtualServer::new("paced:10us".parse().unwrap(), 1);
        assert_eq!(server.finish_ns(1_000), 11_000);
        assert_eq!(server.finish_ns(1_000), 21_000, "waits for the first");
        assert_eq!(server.finish_ns(50_000), 60_000, "finds the server idle");
    }

    #[test]
    fn spinning_burns_cpu_time() {
        let before_ns = cpu_time::thread_cpu_ns();
        spin(3_000_000);
        assert!(cpu_time::thread_cpu_ns() - before_ns >= 3_000_000);
    }
}

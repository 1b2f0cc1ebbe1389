//! Synthetic costs of a stage: what a call takes there beyond the echo itself.
//!
//! `spin` burns CPU: it shows the true limits of this host. `paced` uses none: it lets a call go no
//! earlier than a single server of that speed would, which emulates processors that this host does
//! not have; every output of a server with a paced cost says "emulated".

use crate::stage_clock::Stall;
use echo_common::growing_time::GrowingTime;
use echo_common::quantity;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use thiserror::Error;

mod single;
pub(crate) use single::{Sampler, VirtualServer, spin};

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

/// A stage's cost per call, as an option: `MODE:TIME[+TIME/KiB][:SPREAD]`, such as `spin:28us`,
/// `paced:200us:exp`, `paced:400us+8us/KiB` or `spin:1ms:lognormal:0.5`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// How it is paid.
    pub mode: Mode,
    /// Mean of a call, by its payload; at stages that do not look at payloads it does not grow.
    pub mean: GrowingTime,
    /// The spread of the whole around the mean.
    pub spread: Spread,
}

/// Why a cost was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{wrong}; allowed is {ALLOWED}")]
pub struct CostError {
    wrong: String,
}

const ALLOWED: &str = "spin:TIME or paced:TIME, then nothing, :det, :exp or :lognormal:CV, \
    with TIME up to 10s and CV above 0 and up to 10; what a handler pays may be \
    TIME+TIME/KiB of payload, and one of the two 0";
const TIME_MAX: Duration = Duration::from_secs(10);
const CV_MAX: f64 = 10.0;

impl FromStr for Cost {
    type Err = CostError;

    fn from_str(text: &str) -> Result<Cost, CostError> {
        let mut parts = text.split(':');
        let mode = match parts.next() {
            Some("spin") => Mode::Spin,
            Some("paced") => Mode::Paced,
            _ => return Err(refuse("the mode is neither spin nor paced")),
        };
        let time = parts.next().ok_or_else(|| refuse("the time is missing"))?;
        let mean = time.parse::<GrowingTime>().map_err(|error| refuse(error.wrong()))?;
        if mean.is_zero() || mean.fixed.max(mean.per_kib) > TIME_MAX {
            return Err(refuse(format!("a time of {time} is out of range")));
        }
        let spread = match (parts.next(), parts.next()) {
            (None | Some("det"), None) => Spread::Deterministic,
            (Some("exp"), None) => Spread::Exponential,
            (Some("lognormal"), Some(cv)) => match cv.parse() {
                Ok(cv) if cv > 0.0 && cv <= CV_MAX => Spread::LogNormal(cv),
                _ => return Err(refuse(format!("a coefficient of variation of {cv:?}"))),
            },
            _ => return Err(refuse("the spread is none that is known")),
        };
        match parts.next() {
            None => Ok(Cost { mode, mean, spread }),
            Some(_) => Err(refuse("something is left over behind the spread")),
        }
    }
}

fn refuse(wrong: impl Into<String>) -> CostError {
    CostError { wrong: wrong.into() }
}

impl Cost {
    /// The cost of a stage that does not look at payloads, as an option: all calls cost alike.
    pub fn without_payload(text: &str) -> Result<Cost, CostError> {
        let cost: Cost = text.parse()?;
        if cost.mean.per_kib.is_zero() {
            return Ok(cost);
        }
        Err(refuse("this stage does not look at payloads, so that it cannot pay for each KiB"))
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = match self.mode {
            Mode::Spin => "spin",
            Mode::Paced => "paced",
        };
        write!(to, "{mode}:{}", self.mean)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, mode: Mode, fixed_us: u64, per_kib_us: u64, spread: Spread) {
        let [fixed, per_kib] = [fixed_us, per_kib_us].map(Duration::from_micros);
        let cost = Cost { mode, mean: GrowingTime { fixed, per_kib }, spread };
        assert_eq!(text.parse(), Ok(cost), "{text}");
        assert_eq!(cost.to_string().parse(), Ok(cost), "{cost}");
    }

    #[test]
    fn costs_are_read_as_written() {
        check("spin:28us", Mode::Spin, 28, 0, Spread::Deterministic);
        check("paced:200us:det", Mode::Paced, 200, 0, Spread::Deterministic);
        check("paced:1ms:exp", Mode::Paced, 1000, 0, Spread::Exponential);
        check("spin:2ms:lognormal:0.5", Mode::Spin, 2000, 0, Spread::LogNormal(0.5));
        check("paced:400us+8us/KiB", Mode::Paced, 400, 8, Spread::Deterministic);
        check("spin:0+8us/KiB:exp", Mode::Spin, 0, 8, Spread::Exponential);
        check("spin:1us+0/KiB", Mode::Spin, 1, 0, Spread::Deterministic);
        check("paced:0+1ms/KiB:lognormal:2", Mode::Paced, 0, 1000, Spread::LogNormal(2.0));
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
            "spin:+1us/KiB",
            "spin:1us+",
            "spin:1us+1us",
            "spin:1us+1us/MiB",
            "spin:1us+11s/KiB",
            "spin:1us+-1us/KiB",
            "spin:1us/KiB",
            "spin:0+0/KiB",
            "spin:1us+1us/KiB+1us/KiB",
            "spin:1us:exp+1us/KiB",
        ] {
            let error = text.parse::<Cost>().unwrap_err().to_string();
            assert!(error.contains("allowed is spin:TIME"), "{text}: {error}");
            assert_eq!(error.matches("allowed").count(), 1, "{text}: {error}");
        }
    }

    #[test]
    fn a_stage_that_does_not_look_at_payloads_cannot_pay_for_them() {
        assert_eq!(Cost::without_payload("spin:1us"), "spin:1us".parse());
        let error = Cost::without_payload("spin:1us+1us/KiB").unwrap_err().to_string();
        assert!(error.contains("does not look at payloads"), "{error}");
    }

    #[test]
    fn what_is_emulated_is_said_with_all_its_parts() {
        let handler = Some("paced:400us+8us/KiB:exp".parse().unwrap());
        let costs = StageCosts { handler, ..StageCosts::default() };
        assert!(costs.are_emulated());
        let text = "handler paced:400us+8us/KiB:exp (emulated)";
        assert_eq!(costs.describe().as_deref(), Some(text));
    }
}

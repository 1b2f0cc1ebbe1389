//! A point of a simulated group: the simulator is told what the experiment says, and its outcome
//! gets the names of a client's report.

mod keyed;

pub use keyed::is_meant as is_keyed;
pub use keyed::setup as keyed_setup;

use super::record::Record;
use crate::experiment::{OptionSet, Point, Scalar, Side};
use crate::predict::Calibration;
use crate::simulate::keyed as dispatch_by_key;
use crate::simulate::law::Spread;
use crate::simulate::pipeline::{self, Load, Outcome, Setup, StageCost};
use anyhow::{Context, Result, bail};
use echo_common::quantity::duration;
use serde_json::{Value, json};

/// What a group may tell the simulators.
pub fn options() -> impl Iterator<Item = &'static str> {
    PIPELINE.into_iter().chain(keyed::OPTIONS).chain(["stall-every"])
}

/// Of the pair with handlers on one queue. Times per stage without a value are those measured on
/// this host; everything else is as in the ticket.
const PIPELINE: [&str; 15] = [
    "callers",
    "callers-turn",
    "client-us",
    "clients",
    "cores",
    "delay-us",
    "handler-us",
    "handlers",
    "measured",
    "reader-batch",
    "reader-us",
    "readers",
    "spread",
    "think",
    "workers",
];

/// Virtual time before anything is counted.
const WARMUP_S: f64 = 0.2;
const SEED: u64 = 11_225;

/// Simulates one point.
pub(super) fn run(point: &Point, calibration: Option<&Calibration>) -> Result<Record> {
    let words = || format!("simulation of {}, {}, {}", point.group, point.line, point.at);
    let mut record = Record::from(point);
    if keyed::is_meant(&point.options) {
        let setup = keyed::setup(&point.options).with_context(words)?;
        let outcome = dispatch_by_key::run(&setup).map_err(anyhow::Error::msg);
        record.report = keyed::report(&setup, &outcome.with_context(words)?);
        return Ok(record);
    }
    let setup = setup(&point.options, calibration).with_context(words)?;
    let outcome = pipeline::run(&setup).map_err(anyhow::Error::msg).with_context(words)?;
    record.report = report(&setup, &outcome);
    Ok(record)
}

/// A short report of each simulator, that of the pair and that of the dispatch by key: what their
/// fields are called.
pub fn reports() -> Result<[Value; 2]> {
    let ticket = Setup::ticket(1, 1);
    let load = Load::Closed { callers: 1, think_us: 0.0, turns: false };
    let setup = Setup { load, warmup_s: 0.0, measured_s: 0.01, ..ticket };
    let pair = report(&setup, &pipeline::run(&setup).map_err(anyhow::Error::msg)?);
    let setup = dispatch_by_key::Setup::ticket(1, false);
    let setup = dispatch_by_key::Setup { warmup_s: 0.0, measured_s: 0.01, ..setup };
    let outcome = dispatch_by_key::run(&setup).map_err(anyhow::Error::msg)?;
    Ok([pair, keyed::report(&setup, &outcome)])
}

/// What a group tells a simulator.
struct Given<'a>(&'a OptionSet);

impl Given<'_> {
    fn number(&self, name: &str, otherwise: f64) -> Result<f64> {
        match self.0.get(Side::Simulate, name) {
            None => Ok(otherwise),
            Some(value) => value.number().with_context(|| format!("{name} {value} is no number")),
        }
    }

    fn count(&self, name: &str, otherwise: u32) -> Result<u32> {
        let number = self.number(name, f64::from(otherwise))?;
        if number.fract() != 0.0 || !(0.0..=f64::from(u32::MAX)).contains(&number) {
            bail!("{name} {number}; allowed: a whole number");
        }
        Ok(number as u32)
    }

    fn time_s(&self, name: &str, otherwise: f64) -> Result<f64> {
        match self.0.get(Side::Simulate, name) {
            None => Ok(otherwise),
            Some(value) => duration(&value.to_string())
                .map(|time| time.as_secs_f64())
                .map_err(|error| anyhow::anyhow!("{name}: {error}")),
        }
    }
}

fn setup(options: &OptionSet, calibration: Option<&Calibration>) -> Result<Setup> {
    let given = Given(options);
    let get = |name: &str| options.get(Side::Simulate, name);
    let number = |name: &str, otherwise: f64| given.number(name, otherwise);
    let count = |name: &str, otherwise: u32| given.count(name, otherwise);
    let time_s = |name: &str, otherwise: f64| given.time_s(name, otherwise);
    let spread: Spread = match get("spread") {
        None => Spread::Deterministic,
        Some(value) => value.to_string().parse().map_err(anyhow::Error::msg)?,
    };
    let cost = |name: &str, measured: fn(&Calibration) -> f64| -> Result<StageCost> {
        let us = match (get(name), calibration) {
            (Some(_), _) => number(name, 0.0)?,
            (None, Some(calibration)) => measured(calibration),
            (None, None) => bail!("{name} is not given, and was not measured on this host"),
        };
        Ok(StageCost::per_call(us, spread))
    };
    let ticket = Setup::ticket(count("readers", 1)?, count("clients", 10)?);
    Ok(Setup {
        cores: get("cores").map(|_| count("cores", 1)).transpose()?,
        workers: count("workers", ticket.workers)?,
        handlers: count("handlers", ticket.handlers)?,
        reader_batch: count("reader-batch", ticket.reader_batch)?,
        client: cost("client-us", |c| c.client_us)?,
        reader: cost("reader-us", |c| c.reader_us)?,
        handler: cost("handler-us", |c| c.handler_us)?,
        delay_us: number("delay-us", 0.0)?,
        load: Load::Closed {
            callers: count("callers", 100)?,
            think_us: time_s("think", 0.0)? * 1e6,
            turns: !get("callers-turn").is_some_and(is_off),
        },
        warmup_s: WARMUP_S,
        measured_s: time_s("measured", 1.0)?,
        seed: SEED,
        ..ticket
    })
}

fn is_off(value: &Scalar) -> bool {
    value.to_string() == "false"
}

/// The outcome under the names of a client's report.
fn report(setup: &Setup, outcome: &Outcome) -> Value {
    json!({
        "simulated": true,
        "calls_per_s": outcome.calls_per_s,
        "latency_us": outcome.response_us,
        "outcomes": {"started": outcome.calls, "ok": outcome.calls},
        "client": outcome.client,
        "readers": outcome.readers,
        "handlers": outcome.handlers,
        "cores_busy_share": outcome.cores_busy_share,
        "setup": setup,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::simulate_options;

    #[test]
    fn without_a_calibration_every_stages_time_must_be_given() {
        let given =
            simulate_options(&[("reader-us", "28.4"), ("handler-us", "0"), ("client-us", "0")]);
        let setup = setup(&given, None).unwrap();
        assert_eq!(setup.reader, StageCost::per_call(28.4, Spread::Deterministic));
        let missing = simulate_options(&[("reader-us", "28.4"), ("handler-us", "0")]);
        let error = super::setup(&missing, None).unwrap_err().to_string();
        assert_eq!(error, "client-us is not given, and was not measured on this host");
    }

    #[test]
    fn a_simulated_run_has_the_names_of_a_report() {
        let given = simulate_options(&[
            ("reader-us", "28.4"),
            ("handler-us", "0"),
            ("client-us", "0"),
            ("delay-us", "720"),
            ("measured", "'100ms'"),
        ]);
        let setup = setup(&given, None).unwrap();
        let report = report(&setup, &pipeline::run(&setup).unwrap());
        assert!(report["calls_per_s"].as_f64().unwrap() > 30_000.0, "{report}");
        assert!(report["latency_us"]["p99"].as_f64().is_some());
        assert!(report["readers"]["busiest_share"].as_f64().unwrap() > 0.9);
    }
}

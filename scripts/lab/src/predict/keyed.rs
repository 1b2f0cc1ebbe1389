//! What is said of a dispatch by key before it is measured: the cycle's law, or the same system in
//! virtual time, which knows of extended reads and of how many calls there are.

use super::{Predicted, seconds};
use crate::experiment::{Mode, OptionSet, Point, Scalar, Side};
use crate::model::batch::Cycle;
use crate::simulate::keyed::{self, Load, Setup};
use echo_common::quantity::{duration, size};

/// From the dispatch of a call until its caller's next one is in line, beside the time for which
/// the caller thinks: handlers, replies, client and readers of an idle host.
const RETURN_US: f64 = 200.0;
/// Of a frame with a key, beside its payload.
const FRAME_BYTES: f64 = 32.0;
/// As the programs have it.
const PAYLOAD: f64 = 128.0;
const CLIENTS: f64 = 10.0;
const BATCH: f64 = 500.0;
const BATCH_BYTES: f64 = 5_242_880.0;
/// A stage that is busy for so much of the time limits.
const BUSY: f64 = 0.97;

/// X(B) = min(1 / a, B / (g + B c)), from the costs alone.
pub(super) fn cycle(mode: Mode, point: &Point) -> Option<Predicted> {
    let setup = setup(mode, &point.options)?;
    let cycle = Cycle {
        gap_s: (setup.gap_us + setup.read_us) / 1e6,
        call_s: (setup.read_call_us + setup.dispatch_call_us) / 1e6,
        serial_s: setup.serial_us / 1e6,
    };
    let carried = cycle.calls_per_s(f64::from(setup.batch));
    let (calls_per_s, response_us) = match setup.load {
        Load::Closed(calls) => (carried, Some(f64::from(calls) / carried * 1e6)),
        // Its waiting is not in the law.
        Load::Open(rate) => (carried.min(rate), None),
    };
    let serial_binds = calls_per_s * cycle.serial_s > BUSY;
    Some(predicted(point, calls_per_s, response_us, serial_binds))
}

/// The simulation of the point.
pub(super) fn simulated(mode: Mode, point: &Point) -> Option<Predicted> {
    let outcome = keyed::run(&setup(mode, &point.options)?).ok()?;
    let response_us = outcome.response_us.map(|times| times.mean);
    Some(predicted(point, outcome.calls_per_s, response_us, outcome.serial_busy_share > BUSY))
}

fn predicted(
    point: &Point,
    calls_per_s: f64,
    response_us: Option<f64>,
    serial_binds: bool,
) -> Predicted {
    Predicted {
        group: point.group.clone(),
        line: point.line.clone(),
        at: point.at.clone(),
        calls_per_s,
        response_us,
        binds: if serial_binds { "serial stage" } else { "dispatcher's cycle" }.to_owned(),
        knee: None,
    }
}

/// The system that the options describe; none if its costs are not paced, and so not known.
fn setup(mode: Mode, options: &OptionSet) -> Option<Setup> {
    if mode == Mode::Simulated {
        return crate::run::keyed_setup(options).ok();
    }
    let paced = |option: &str| paced_us(options, option);
    let number = |side, option: &str| options.get(side, option).and_then(Scalar::number);
    let bytes = |side, option: &str| match options.get(side, option) {
        Some(value) => size(&value.to_string()).ok().map(|bytes| bytes as f64),
        None => None,
    };
    let frame = bytes(Side::Client, "payload").unwrap_or(PAYLOAD) + FRAME_BYTES;
    let fitting = bytes(Side::Server, "dispatch-max-bytes").unwrap_or(BATCH_BYTES) / frame;
    let batch = number(Side::Server, "dispatch-batch").unwrap_or(BATCH).min(fitting.floor());
    let clients = number(Side::Client, "clients").unwrap_or(CLIENTS);
    let calls = number(Side::Client, "threads")
        .or_else(|| Some(number(Side::Client, "in-flight")? * clients))
        .unwrap_or(clients);
    let extend = options.get(Side::Server, "extend-reads").map(Scalar::to_string);
    let serial_us = paced("serial-cost")?;
    // Twenty cycles of the largest batch, a second at least.
    let span_s = (batch * serial_us / 1e6 * 20.0).max(1.0);
    Some(Setup {
        serial_us,
        read_us: paced("log-read-cost")?,
        read_call_us: paced("log-call-cost")?,
        dispatch_call_us: paced("dispatch-cost")?,
        gap_us: paced("dispatch-gap")?,
        return_us: RETURN_US + seconds(options, Side::Client, "think").unwrap_or(0.0) * 1e6,
        stall_every_us: seconds(options, Side::Server, "stall-every").unwrap_or(0.0) * 1e6,
        stall_us: seconds(options, Side::Server, "stall").unwrap_or(0.0) * 1e6,
        load: match number(Side::Client, "rate") {
            Some(rate) => Load::Open(rate),
            None => Load::Closed(calls as u32),
        },
        warmup_s: span_s,
        measured_s: span_s * 4.0,
        ..Setup::ticket(batch.max(1.0) as u32, extend.as_deref() == Some("on"))
    })
}

/// The mean of a paced cost of the server; none if it is missing or burns CPU time.
fn paced_us(options: &OptionSet, option: &str) -> Option<f64> {
    let cost = options.get(Side::Server, option)?.to_string();
    let time = cost.strip_prefix("paced:")?.split(':').next()?;
    duration(time).ok().map(|time| time.as_secs_f64() * 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::made_up;

    /// The ticket's costs, five times as long.
    const FILE: &str = r#"[[group]]
name = "g"
mode = "paced"
title = "G"
client = { clients = 500, in-flight = 4, think = "10ms" }
knob = { option = "server.dispatch-batch", values = [10, 100, 500, 1000] }
lines = [
  { name = "off" },
  { name = "on", server = { extend-reads = "on" } },
  { name = "large", client = { payload = "64KiB" } },
  { name = "spin", server = { serial-cost = "spin:44.5us" } },
]
[group.server]
serial-cost = "paced:44.5us"
log-read-cost = "paced:75us"
log-call-cost = "paced:4.5us"
dispatch-cost = "paced:39.5us"
dispatch-gap = "paced:500us"
"#;

    fn rates(line: &str, how: fn(Mode, &Point) -> Option<Predicted>) -> Vec<f64> {
        let experiment = made_up(FILE);
        let points = experiment.groups[0].points();
        let points = points.iter().filter(|point| point.line == line);
        points.filter_map(|point| how(Mode::Paced, point)).map(|p| p.calls_per_s).collect()
    }

    fn close(found: &[f64], expected: &[f64], share: f64) {
        let near = |(found, expected): (&f64, &f64)| (found / expected - 1.0).abs() <= share;
        assert!(
            found.len() == expected.len() && found.iter().zip(expected).all(near),
            "found {found:?}, expected {expected:?}"
        );
    }

    /// 10 / (575 + 440 us) and so on; at 1,000 the serial stage binds: 1 / 44.5 us = 22,472.
    #[test]
    fn the_law_and_virtual_time_agree_where_nothing_is_extended() {
        let expected = [9_852.2, 20_100.5, 22_148.4, 22_434.1];
        close(&rates("off", cycle), &expected, 1e-4);
        close(&rates("off", simulated), &expected, 0.02);
    }

    #[test]
    fn virtual_time_knows_of_extended_reads_and_the_law_does_not() {
        let (off, on) = (rates("off", simulated), rates("on", simulated));
        close(&on[..3], &off[..3], 0.03);
        assert!(on[3] < 0.6 * off[3], "{on:?}");
        close(&rates("on", cycle), &rates("off", cycle), 1e-9);
    }

    /// 79 frames of 65,568 bytes are in 5 MiB.
    #[test]
    fn a_batch_of_long_calls_ends_with_the_bytes() {
        let at_79 = 79.0 / (575e-6 + 79.0 * 44e-6);
        close(&rates("large", cycle), &[9_852.2, at_79, at_79, at_79], 1e-4);
    }

    #[test]
    fn of_costs_that_are_not_paced_nothing_is_said() {
        assert!(rates("spin", cycle).is_empty() && rates("spin", simulated).is_empty());
    }
}

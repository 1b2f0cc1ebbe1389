//! A simulated point of the dispatch by key, see [`crate::simulate::keyed`].

use super::Given;
use crate::experiment::{OptionSet, Scalar, Side};
use crate::simulate::keyed::{Load, Outcome, Setup};
use anyhow::{Result, bail};
use serde_json::{Value, json};

/// What only this simulator may be told; `batch` chooses it. Everything else is as in the ticket.
pub(super) const OPTIONS: [&str; 11] = [
    "batch",
    "calls",
    "dispatch-call-us",
    "extend",
    "gap-us",
    "rate",
    "read-call-us",
    "read-us",
    "return-us",
    "serial-us",
    "stall",
];
/// Of the other simulator; this one has its own.
const SHARED: [&str; 2] = ["measured", "stall-every"];

/// Whether the options are those of a dispatch by key.
pub fn is_meant(options: &OptionSet) -> bool {
    options.get(Side::Simulate, "batch").is_some()
}

/// The system that the options describe.
pub fn setup(options: &OptionSet) -> Result<Setup> {
    if let Some((other, _)) = options
        .of(Side::Simulate)
        .find(|(option, _)| !OPTIONS.contains(option) && !SHARED.contains(option))
    {
        bail!("{other}: the dispatch by key (batch is given) has no such option");
    }
    let given = Given(options);
    let extend = match given.0.get(Side::Simulate, "extend").map(Scalar::to_string).as_deref() {
        None | Some("off") => false,
        Some("on") => true,
        Some(other) => bail!("extend {other}; allowed: on, off"),
    };
    let ticket = Setup::ticket(given.count("batch", 500)?, extend);
    let load = match options.get(Side::Simulate, "rate") {
        Some(_) => Load::Open(given.number("rate", 0.0)?),
        None => Load::Closed(given.count("calls", 2000)?),
    };
    let setup = Setup {
        serial_us: given.number("serial-us", ticket.serial_us)?,
        read_us: given.number("read-us", ticket.read_us)?,
        read_call_us: given.number("read-call-us", ticket.read_call_us)?,
        dispatch_call_us: given.number("dispatch-call-us", ticket.dispatch_call_us)?,
        gap_us: given.number("gap-us", ticket.gap_us)?,
        return_us: given.number("return-us", ticket.return_us)?,
        stall_every_us: given.time_s("stall-every", 0.0)? * 1e6,
        stall_us: given.time_s("stall", 0.0)? * 1e6,
        measured_s: given.time_s("measured", ticket.measured_s)?,
        load,
        ..ticket
    };
    setup.check().map_err(anyhow::Error::msg)?;
    Ok(setup)
}

/// The outcome under the names of a client's report.
pub(super) fn report(setup: &Setup, outcome: &Outcome) -> Value {
    json!({
        "simulated": true,
        "calls_per_s": outcome.calls_per_s,
        "latency_us": outcome.response_us,
        "serial_busy_share": outcome.serial_busy_share,
        "dispatcher_busy_share": outcome.dispatcher_busy_share,
        "calls_per_batch": outcome.batch_mean,
        "extended_share": outcome.extended_share,
        "backlog_max": outcome.backlog_max,
        "setup": setup,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::simulate_options;
    use crate::simulate::keyed;

    #[test]
    fn a_batch_chooses_the_dispatch_by_key_and_the_rest_is_the_tickets() {
        let given = simulate_options(&[("batch", "100"), ("extend", "'on'")]);
        assert!(is_meant(&given) && !is_meant(&simulate_options(&[("readers", "1")])));
        assert_eq!(setup(&given).unwrap(), Setup::ticket(100, true));
        let report = report(&setup(&given).unwrap(), &keyed::run(&setup(&given).unwrap()).unwrap());
        let rate = report["calls_per_s"].as_f64().unwrap();
        assert!((rate / 99_756.0 - 1.0).abs() < 0.03, "{report}");
        assert!(report["latency_us"]["p99"].as_f64().is_some());
    }

    #[test]
    fn what_the_dispatch_by_key_has_not_is_refused_in_one_line() {
        for (option, value, wrong) in [
            ("readers", "1", "readers: the dispatch by key"),
            ("extend", "'maybe'", "extend maybe; allowed: on, off"),
            ("calls", "0.5", "calls 0.5; allowed: a whole number"),
            ("gap-us", "-1", "a time of -1 us"),
        ] {
            let given = simulate_options(&[("batch", "100"), (option, value)]);
            let error = setup(&given).unwrap_err().to_string();
            assert!(error.starts_with(wrong) && !error.contains('\n'), "{error}");
        }
    }
}

//! What a call costs on this host, for the models: a short run with the settings of the first real
//! group.

use super::pair::{self, Length};
use super::simulated::is_keyed;
use crate::experiment::{Experiment, Group, Mode, Peer, Point};
use crate::metric::Metric;
use crate::predict::Calibration;
use crate::process::{ProcessError, Programs};
use serde_json::Value;
use std::time::Duration;

const LENGTH: Length =
    Length::Time { duration: Duration::from_millis(1500), warmup: Duration::from_millis(500) };

/// Calibrates; none if nobody needs it, nothing real is measured, or the programs do not say what
/// is needed.
pub(super) fn calibrate(
    programs: &Programs,
    experiment: &Experiment,
) -> Result<Option<Calibration>, ProcessError> {
    if !experiment.groups.iter().any(is_for) {
        return Ok(None);
    }
    let Some(group) = experiment.groups.iter().find(|group| group.mode == Mode::Real) else {
        return Ok(None);
    };
    let mut points = group.points().into_iter();
    let Some(point) = points.find(|point| point.peer == Peer::Echo) else { return Ok(None) };
    let point = Point { pause: None, ..point };
    let record = pair::run(programs, &point, LENGTH)?;
    let found = record.problem.is_none().then(|| of(&record.report)).flatten();
    match found {
        Some(found) => eprintln!(
            "lab: calibrated: {:.2} us of CPU per call in a reader, {:.2} us in the rest of the \
             server, {:.2} us in the client",
            found.reader_us, found.handler_us, found.client_us
        ),
        None => eprintln!("lab: not calibrated: the run gave no CPU times per call"),
    }
    Ok(found)
}

/// Whether a group's numbers come from what calls cost here.
fn is_for(group: &Group) -> bool {
    match group.mode {
        Mode::Simulated => !group.points().iter().all(|point| is_keyed(&point.options)),
        Mode::Real => group.model.as_deref() == Some("readers"),
        Mode::Paced => false,
    }
}

fn of(report: &Value) -> Option<Calibration> {
    let number = |text: &str| text.parse::<Metric>().ok()?.of(report);
    let server_us = number("cpu_us_per_call.server")?;
    let reader_us =
        number("sum(server.readers[].cpu_share) * server.window_s * 1e6 / server.calls")?;
    Some(Calibration {
        reader_us,
        handler_us: (server_us - reader_us).max(0.0),
        client_us: number("cpu_us_per_call.client")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_servers_cpu_time_is_split_into_readers_and_the_rest() {
        let report = json!({
            "cpu_us_per_call": {"server": 5.0, "client": 4.0},
            "server": {"readers": [{"cpu_share": 0.5}], "window_s": 2.0, "calls": 500_000},
        });
        let expected = Calibration { reader_us: 2.0, handler_us: 3.0, client_us: 4.0 };
        assert_eq!(of(&report), Some(expected));
        assert_eq!(of(&json!({})), None);
    }
}

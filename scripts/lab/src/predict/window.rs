//! What is said of calls in flight before they are measured: X(k) = min(k / (RTT + S), m / S), out
//! of the emulated network and the paced handler.

use super::{Knee, Predicted, paced_us, seconds};
use crate::experiment::{Group, Mode, Point, Scalar, Side};
use crate::model::laws;

/// As the programs have it.
const CLIENTS: f64 = 10.0;
const CALLS_PER_CONNECTION: f64 = 1024.0;

/// The law of a point; none if its times are not known, or if it is no closed loop.
///
/// What loopback adds to both times, tens of microseconds, is left out: the law says what the
/// constants say.
pub(super) fn law(group: &Group, point: &Point) -> Option<Predicted> {
    let Constants { clients, in_flight, at_once, handlers, rtt_s, service_s } =
        constants(group.mode, point)?;
    let serves = (clients * at_once).min(handlers);
    let calls_per_s = laws::window(clients * in_flight, rtt_s, service_s, serves);
    let most = laws::most_calls_per_s(service_s, serves);
    let binds = match calls_per_s < most * (1.0 - 1e-9) {
        true => "round trip",
        false if serves < handlers => "calls of a connection at once",
        false => "handlers",
    };
    let by_window = group.knob.of == Side::Client && group.knob.option == "in-flight";
    let at = laws::window_knee(rtt_s, service_s, serves) / clients;
    Some(Predicted {
        group: point.group.clone(),
        line: point.line.clone(),
        at: point.at.clone(),
        calls_per_s,
        response_us: Some(clients * in_flight / calls_per_s * 1e6),
        binds: binds.to_owned(),
        knee: by_window.then_some(Knee { at, calls_per_s: most }),
    })
}

/// What the law is made of.
struct Constants {
    clients: f64,
    /// Of a connection.
    in_flight: f64,
    /// Calls of a connection that the server works on.
    at_once: f64,
    handlers: f64,
    rtt_s: f64,
    service_s: f64,
}

fn constants(mode: Mode, point: &Point) -> Option<Constants> {
    let options = &point.options;
    let number = |side, option: &str| options.get(side, option).and_then(Scalar::number);
    let set = |side, option: &str| options.get(side, option).is_some();
    let waits_for_more = options
        .get(Side::Client, "acks")
        .is_some_and(|acks| acks.to_string() == "all" || acks.to_string() == "0");
    let other_stage = ["reader-cost", "serial-cost", "dispatch-cost"];
    let no_such_loop = point.rate.is_some()
        || set(Side::Client, "rate")
        || set(Side::Client, "threads")
        || set(Side::Client, "think")
        || waits_for_more
        || other_stage.iter().any(|option| set(Side::Server, option));
    // With times that spread, the law is a bound and no prediction.
    let cost = options.get(Side::Server, "handler-cost")?.to_string();
    let constant = matches!(cost.split(':').nth(2), None | Some("det"));
    if mode != Mode::Paced || no_such_loop || !constant {
        return None;
    }
    let one_way_s = match set(Side::Client, "net-delay") {
        true => seconds(options, Side::Client, "net-delay")?,
        false => 0.0,
    };
    let per_connection = number(Side::Server, "calls-per-connection");
    let known = Constants {
        clients: number(Side::Client, "clients").unwrap_or(CLIENTS),
        in_flight: number(Side::Client, "in-flight").unwrap_or(1.0),
        at_once: per_connection.unwrap_or(CALLS_PER_CONNECTION),
        // As many as CPUs without the option, which the file does not say.
        handlers: number(Side::Server, "handlers")?,
        rtt_s: 2.0 * one_way_s,
        service_s: paced_us(options, "handler-cost")? / 1e6,
    };
    let counts = [known.clients, known.in_flight, known.at_once, known.handlers];
    (counts.iter().all(|count| *count >= 1.0) && known.service_s > 0.0).then_some(known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Known, read};
    use std::path::Path;

    const FILE: &str = r#"name = "e"
title = "T"
question = "Q?"
[[group]]
name = "g"
mode = "paced"
title = "G"
server = { handlers = 16, handler-cost = "paced:2ms", calls-per-connection = 1 }
client = { clients = 1 }
knob = { option = "client.in-flight", values = [1, 2, 5, 16] }
lines = [
  { name = "quarter", client = { net-delay = "250us" } },
  { name = "one", client = { net-delay = "1ms" } },
  { name = "four", client = { net-delay = "4ms" } },
  { name = "side by side", client = { net-delay = "4ms" }, server = { calls-per-connection = 99 } },
  { name = "two connections", client = { net-delay = "4ms", clients = 2 } },
  { name = "three handlers", client = { net-delay = "1ms" }, server = { handlers = 3,
    calls-per-connection = 9 } },
  { name = "spreads", server = { handler-cost = "paced:2ms:exp" } },
  { name = "burns", server = { handler-cost = "spin:2ms" } },
  { name = "open", client = { rate = 100 } },
  { name = "matched", rate = { share = 0.7, of = { group = "other" } } },
  { name = "acks", client = { acks = "all" } },
  { name = "by bytes", server = { handler-cost = "paced:400us+8us/KiB" } },
]
[[group]]
name = "other"
mode = "paced"
title = "O"
knob = { option = "client.in-flight", values = [1, 2, 5, 16] }
"#;

    fn of(line: &str) -> Vec<Predicted> {
        let experiment = read(Path::new("x.toml"), FILE, &Known::default(), false).unwrap();
        let group = &experiment.groups[0];
        let points = group.points().into_iter().filter(|point| point.line == line);
        points.filter_map(|point| law(group, &point)).collect()
    }

    /// At 1, 2, 5 and 16 in flight, and where the law bends.
    fn check(line: &str, rates: [f64; 4], knee: f64) {
        let found = of(line);
        let close = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-9;
        assert_eq!(found.len(), 4, "{line}");
        for (found, expected) in found.iter().zip(rates) {
            assert!(close(found.calls_per_s, expected), "{line}: {found:?}, expected {expected}");
        }
        let found = found[0].knee.unwrap();
        assert!(close(found.at, knee), "{line}: {found:?}, expected {knee}");
    }

    /// S = 2 ms, so that one call at a time makes 500 in a second; the round trip is twice the
    /// delay of one way.
    #[test]
    fn the_law_has_its_knee_at_one_and_the_ratio_of_the_times() {
        check("quarter", [400.0, 500.0, 500.0, 500.0], 1.25);
        check("one", [250.0, 500.0, 500.0, 500.0], 2.0);
        check("four", [100.0, 200.0, 500.0, 500.0], 5.0);
        check("side by side", [100.0, 200.0, 500.0, 1600.0], 80.0);
        check("two connections", [200.0, 400.0, 1000.0, 1000.0], 5.0);
        check("three handlers", [250.0, 500.0, 1250.0, 1500.0], 6.0);
        let binds = |line: &str, at: usize| of(line)[at].binds.clone();
        assert_eq!(binds("four", 1), "round trip");
        assert_eq!(binds("four", 3), "calls of a connection at once");
        assert_eq!(binds("three handlers", 3), "handlers");
        assert!((of("four")[3].response_us.unwrap() - 32_000.0).abs() < 1e-6, "N / X");
    }

    #[test]
    fn of_times_that_are_not_known_nothing_is_said() {
        for line in ["spreads", "burns", "open", "matched", "acks", "by bytes"] {
            assert!(of(line).is_empty(), "{line}");
        }
    }
}

//! What is said of calls in flight before they are measured: X(k) = min(k / (RTT + S), m / S), out
//! of the emulated network and what handlers are told to take; S has the followers' part, where a
//! call waits for them.

use super::{Knee, Predicted, seconds};
use crate::experiment::{Group, Mode, Point, Scalar, Side};
use crate::model::laws;
use echo_common::growing_time::GrowingTime;
use echo_common::quantity::size;

/// As the programs have it.
const CLIENTS: f64 = 10.0;
const CALLS_PER_CONNECTION: f64 = 1024.0;
const PAYLOAD: f64 = 128.0;
const RECORD: f64 = 128.0;
const BATCH_BYTES: f64 = 16_384.0;
const CALL_BYTES: f64 = 1_048_576.0;
const MIN_INSYNC: f64 = 2.0;

/// The law of a point; none if its times are not known, or if it is no closed loop.
///
/// What loopback adds to all times, tens of microseconds, is left out: the law says what the
/// constants say.
pub(super) fn law(group: &Group, point: &Point) -> Option<Predicted> {
    let Constants { clients, in_flight, at_once, leader, follower, rtt_s } =
        Options(point).constants(group.mode)?;
    let inside_s = leader.service_s + follower.service_s;
    let by_turns = laws::most_calls_per_s(inside_s, clients * at_once);
    let limits = [
        ("calls of a connection at once", by_turns),
        ("handlers", laws::most_calls_per_s(leader.service_s, leader.handlers)),
        ("followers", laws::most_calls_per_s(follower.service_s, follower.handlers)),
    ];
    let (whose, most) = limits.into_iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let offered = laws::most_calls_per_s(rtt_s + inside_s, clients * in_flight);
    let calls_per_s = offered.min(most);
    let binds = if offered < most * (1.0 - 1e-9) { "round trip" } else { whose };
    let by_window = group.knob.of == Side::Client && group.knob.option == "in-flight";
    let at = most * (rtt_s + inside_s) / clients;
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
    /// Calls of a connection that are in the server, their followers' part included.
    at_once: f64,
    leader: Stage,
    follower: Stage,
    rtt_s: f64,
}

struct Stage {
    handlers: f64,
    service_s: f64,
}

/// What a point says of itself.
struct Options<'a>(&'a Point);

impl Options<'_> {
    fn constants(&self, mode: Mode) -> Option<Constants> {
        let other_stage = ["reader-cost", "serial-cost", "dispatch-cost"];
        let no_such_loop = self.0.rate.is_some()
            || self.0.pause.is_some()
            || ["rate", "threads", "think"].iter().any(|option| self.has(Side::Client, option))
            || other_stage.iter().any(|option| self.has(Side::Server, option));
        if mode != Mode::Paced || no_such_loop {
            return None;
        }
        let clients = self.number(Side::Client, "clients", CLIENTS)?;
        let at_once = self.number(Side::Server, "calls-per-connection", CALLS_PER_CONNECTION)?;
        let bytes = self.call_bytes(clients)?;
        let one_way_s = match self.has(Side::Client, "net-delay") {
            true => seconds(&self.0.options, Side::Client, "net-delay")?,
            false => 0.0,
        };
        let constants = Constants {
            clients,
            in_flight: self.number(Side::Client, "in-flight", 1.0)?,
            at_once,
            // As many as CPUs without the option, which the file does not say.
            leader: Stage {
                handlers: self.number(Side::Server, "handlers", 0.0)?,
                service_s: self.service_s(Side::Server, bytes)?,
            },
            follower: self.follower(bytes, clients * at_once)?,
            rtt_s: 2.0 * one_way_s,
        };
        let counts = [clients, constants.in_flight, at_once, constants.leader.handlers];
        counts.iter().all(|count| *count >= 1.0).then_some(constants)
    }

    /// What a call waits for behind the leader's handler.
    fn follower(&self, bytes: f64, at_once: f64) -> Option<Stage> {
        let acks = self.0.options.get(Side::Client, "acks").map(Scalar::to_string);
        let nothing = Stage { handlers: 1.0, service_s: 0.0 };
        match acks.as_deref() {
            None | Some("1") => return Some(nothing),
            Some("all") => {}
            // Nobody waits for a reply.
            Some(_) => return None,
        }
        if self.0.followers == 0 || self.number(Side::Server, "min-insync", MIN_INSYNC)? < 2.0 {
            return Some(nothing);
        }
        // With one call in the server, one handler is as good as any number.
        let otherwise = if at_once <= 1.0 { 1.0 } else { 0.0 };
        let handlers = self.number(Side::Follower, "handlers", otherwise)?;
        let service_s = self.service_s(Side::Follower, bytes)?;
        (handlers >= 1.0).then_some(Stage { handlers, service_s })
    }

    /// What a handler takes for a call of so many bytes; none if it burns CPU time, or if times
    /// spread: the law is a bound then, and no prediction.
    fn service_s(&self, side: Side, bytes: f64) -> Option<f64> {
        let cost = self.0.options.get(side, "handler-cost")?.to_string();
        let mut parts = cost.strip_prefix("paced:")?.split(':');
        let time: GrowingTime = parts.next()?.parse().ok()?;
        let constant = matches!(parts.next(), None | Some("det"));
        let service_s = time.fixed.as_secs_f64() + time.per_kib.as_secs_f64() * bytes / 1024.0;
        (constant && service_s > 0.0).then_some(service_s)
    }

    /// Bytes in a call. With records, and without a rate, there is always one more of them: a call
    /// has a full batch of every stream of its connection.
    fn call_bytes(&self, clients: f64) -> Option<f64> {
        if !self.has(Side::Client, "streams") {
            return self.bytes("payload", PAYLOAD);
        }
        let streams = self.number(Side::Client, "streams", 1.0)?;
        let record = self.bytes("record-size", RECORD)?;
        let batch = (self.bytes("batch-bytes", BATCH_BYTES)? / record).floor() * record;
        let most = self.bytes("max-call-bytes", CALL_BYTES)?;
        Some((streams / clients * batch).min(most))
    }

    fn has(&self, side: Side, option: &str) -> bool {
        self.0.options.get(side, option).is_some()
    }

    /// None if there is something else than a number.
    fn number(&self, side: Side, option: &str, otherwise: f64) -> Option<f64> {
        self.0.options.get(side, option).map_or(Some(otherwise), Scalar::number)
    }

    /// Of an option of the client.
    fn bytes(&self, option: &str, otherwise: f64) -> Option<f64> {
        match self.0.options.get(Side::Client, option) {
            Some(value) => size(&value.to_string()).ok().map(|bytes| bytes as f64),
            None => Some(otherwise),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::made_up;

    const FILE: &str = r#"[[group]]
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
  { name = "acks=0", client = { acks = 0 } },
  { name = "by bytes", client = { payload = "200KiB" },
    server = { handler-cost = "paced:400us+8us/KiB" } },
  { name = "records", client = { streams = 64, record-size = "1KiB" },
    server = { handler-cost = "paced:952us+1us/KiB" } },
  { name = "acks=all", followers = 2, client = { acks = "all", net-delay = "1ms" },
    follower = { handler-cost = "paced:500us" } },
  { name = "slow followers", followers = 2, client = { acks = "all" },
    server = { calls-per-connection = 99 },
    follower = { handler-cost = "paced:2ms", handlers = 2 } },
  { name = "of no known cost", followers = 2, client = { acks = "all" } },
]
[[group]]
name = "other"
mode = "paced"
title = "O"
knob = { option = "client.in-flight", values = [1, 2, 5, 16] }
"#;

    fn of(line: &str) -> Vec<Predicted> {
        let experiment = made_up(FILE);
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
        check("by bytes", [500.0; 4], 1.0);
        check("records", [1000.0 / 1.976; 4], 1.0);
        let binds = |line: &str, at: usize| of(line)[at].binds.clone();
        assert_eq!(binds("four", 1), "round trip");
        assert_eq!(binds("four", 3), "calls of a connection at once");
        assert_eq!(binds("three handlers", 3), "handlers");
        assert!((of("four")[3].response_us.unwrap() - 32_000.0).abs() < 1e-6, "N / X");
    }

    /// The connection's turn is 2.5 ms long then, and its cycle 4.5 ms.
    #[test]
    fn what_followers_take_is_a_part_of_the_turn() {
        check("acks=all", [1.0 / 4.5e-3, 400.0, 400.0, 400.0], 1.8);
        check("slow followers", [250.0, 500.0, 1000.0, 1000.0], 4.0);
        assert_eq!(of("slow followers")[3].binds, "followers");
    }

    #[test]
    fn of_times_that_are_not_known_nothing_is_said() {
        for line in ["spreads", "burns", "open", "matched", "acks=0", "of no known cost"] {
            assert!(of(line).is_empty(), "{line}");
        }
    }
}

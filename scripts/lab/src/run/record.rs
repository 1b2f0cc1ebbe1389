//! What one run of one point left behind.

use super::matched::Matched;
use crate::experiment::{Pause, Peer, Point, Scalar, Side};
use crate::metric::Metric;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One run: where it belongs, how it was made, what came of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// The how-manieth run it was, from 1.
    pub order: usize,
    /// Its group.
    pub group: String,
    /// Its line.
    pub line: String,
    /// Whose server.
    #[serde(default)]
    pub peer: Peer,
    /// The knob's value.
    pub at: Scalar,
    /// The second measurement of one setting in a round.
    pub twin: bool,
    /// From 1.
    pub round: u32,
    /// Options of the server.
    pub server: Vec<String>,
    /// Options of the client.
    pub client: Vec<String>,
    /// Of each of the servers that followed it.
    #[serde(default, skip_serializing_if = "Followers::are_none")]
    pub followers: Followers,
    /// Where its rate came from, if another point decided it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matched: Option<Matched>,
    /// A follower was stopped for a while.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<Pause>,
    /// It stands for a point that was not measured; the problem says why.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_made: bool,
    /// Calls that the server counted in all.
    pub server_calls: Option<u64>,
    /// Why its figures are not used.
    pub problem: Option<String>,
    /// The client's report; with `samples`, what the lab saw meanwhile.
    pub report: Value,
}

/// The servers that followed the measured one: how many, and the options of each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Followers {
    /// How many.
    pub count: u32,
    /// Options of each.
    pub options: Vec<String>,
}

impl Followers {
    /// Whether there were none.
    pub fn are_none(&self) -> bool {
        self.count == 0
    }
}

impl Record {
    /// Stands for a point that was not measured.
    pub(super) fn not_made(point: &Point, why: String) -> Record {
        Record { not_made: true, problem: Some(why), ..Record::from(point) }
    }

    /// Whether this is a measurement of that point; the twin is one of its own.
    pub fn is_of(&self, group: &str, line: &str, at: &Scalar) -> bool {
        !self.twin && self.group == group && self.line == line && self.at.is(at)
    }

    /// Whether it is a run of the programs, sound or not.
    pub fn is_measured(&self) -> bool {
        !self.not_made && self.report.get("simulated").is_none()
    }

    /// The number, if the run is sound and has it.
    pub fn number(&self, metric: &Metric) -> Option<f64> {
        if self.problem.is_some() { None } else { metric.of(&self.report) }
    }
}

/// What is wrong with a run, if anything: calls that did not end well, sums that do not add up, a
/// server that counted otherwise.
pub(super) fn problem(report: &Value, code: i32, server_calls: Option<u64>) -> Option<String> {
    let number = |pointer: &str| report.pointer(pointer).and_then(Value::as_u64);
    let found = report.get("outcomes").and_then(Value::as_object);
    let (Some(outcomes), Some(started), Some(ok), Some(warmup)) =
        (found, number("/outcomes/started"), number("/outcomes/ok"), number("/warmup_calls"))
    else {
        return Some("the report does not say what became of the calls".to_owned());
    };
    let parts = outcomes.iter().filter(|(name, _)| *name != "started");
    let sum: u64 = parts.filter_map(|(_, count)| count.as_u64()).sum();
    if sum != started {
        return Some(format!("{started} calls were started and {sum} ended"));
    }
    if let Some(broken) = keys_broken(report) {
        return Some(broken);
    }
    if ok != started || code != 0 {
        return Some(format!("{} of {started} calls were not answered rightly", started - ok));
    }
    if started == 0 {
        return Some("no call was made".to_owned());
    }
    let sent = started + warmup;
    match server_calls {
        Some(counted) if counted != sent => {
            Some(format!("the client made {sent} calls and the server counted {counted}"))
        }
        None => Some("the server did not say how many calls it counted".to_owned()),
        Some(_) => None,
    }
}

/// What calls with keys were promised and did not get: their order above all.
fn keys_broken(report: &Value) -> Option<String> {
    let count = |name: &str| report["keys"].get(name).and_then(Value::as_u64).unwrap_or(0);
    let broken: Vec<String> =
        ["order_violations", "handler_changes", "duplicates", "lost", "wrong_payload"]
            .into_iter()
            .filter(|name| count(name) > 0)
            .map(|name| format!("{} {}", count(name), name.replace('_', " ")))
            .collect();
    (!broken.is_empty()).then(|| format!("calls with keys: {}", broken.join(", ")))
}

impl From<&Point> for Record {
    fn from(point: &Point) -> Record {
        Record {
            order: 0,
            group: point.group.clone(),
            line: point.line.clone(),
            peer: point.peer,
            at: point.at.clone(),
            twin: point.twin,
            round: 1,
            server: Vec::new(),
            client: Vec::new(),
            followers: Followers {
                count: point.followers,
                options: point.options.arguments(Side::Follower),
            },
            matched: None,
            pause: point.pause,
            not_made: false,
            server_calls: None,
            problem: None,
            report: Value::Null,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_record_of_an_older_lab_is_read_and_one_without_followers_says_nothing_of_them() {
        let old = r#"{"order": 1, "group": "g", "line": "l", "at": 5, "twin": false, "round": 1,
            "server": [], "client": [], "server_calls": 7, "problem": null, "report": {}}"#;
        let record: Record = serde_json::from_str(old).unwrap();
        assert!(record.followers.are_none() && record.matched.is_none() && !record.not_made);
        let text = serde_json::to_string(&record).unwrap();
        assert!(["followers", "matched", "pause", "not_made"].iter().all(|n| !text.contains(n)));
    }

    fn report(started: u64, ok: u64, lost: u64, warmup: u64) -> Value {
        let outcomes = json!({"started": started, "ok": ok, "connection_lost": lost});
        json!({"outcomes": outcomes, "warmup_calls": warmup})
    }

    #[test]
    fn a_run_whose_keys_were_out_of_order_says_so() {
        let mut report = report(10, 10, 0, 0);
        report["keys"] = json!({"order_violations": 0, "duplicates": 0, "lost": 0});
        assert_eq!(problem(&report, 0, Some(10)), None);
        report["keys"] = json!({"order_violations": 3, "duplicates": 1, "checked": 9});
        let wrong = "calls with keys: 3 order violations, 1 duplicates";
        assert_eq!(problem(&report, 1, Some(10)).as_deref(), Some(wrong));
    }

    #[test]
    fn a_run_counts_only_if_both_sides_counted_the_same_calls() {
        let check = |report: Value, code, server, expected: Option<&str>| {
            assert_eq!(problem(&report, code, server).as_deref(), expected);
        };
        check(report(10, 10, 0, 5), 0, Some(15), None);
        let wrong = "the client made 15 calls and the server counted 14";
        check(report(10, 10, 0, 5), 0, Some(14), Some(wrong));
        check(report(10, 9, 0, 0), 0, Some(10), Some("10 calls were started and 9 ended"));
        let wrong = "1 of 10 calls were not answered rightly";
        check(report(10, 9, 1, 0), 1, Some(10), Some(wrong));
        check(report(0, 0, 0, 0), 0, Some(0), Some("no call was made"));
        let wrong = "the server did not say how many calls it counted";
        check(report(10, 10, 0, 0), 0, None, Some(wrong));
    }
}

//! Two reports of echo-client. One run each: its intervals stand in for rounds, which they are not
//! quite, so that a difference must also be larger than equal runs are assumed to differ by.

use super::{Compared, NOISE_ASSUMED, Row, hosts_differ, like_enough, shown};
use crate::stats::bootstrap::Resampling;
use crate::stats::rounds;
use crate::usage::Usage;
use anyhow::{Context, Result};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Options that do not change what is measured.
const HARMLESS: [&str; 7] = ["server", "format", "output", "hgrm", "hlog", "progress", "interval"];

pub(super) fn compare(a: &Path, b: &Path, anyway: bool) -> Result<Compared> {
    let (report_a, report_b) = (read(a)?, read(b)?);
    let mut notes = like_enough(&shown(a), &shown(b), differences(&report_a, &report_b), anyway)?;
    let (rate_a, rate_b) = (rate(&report_a, a)?, rate(&report_b, b)?);
    let (parts_a, parts_b) = (intervals(&report_a), intervals(&report_b));
    let enough = parts_a.len() >= 3 && parts_b.len() >= 3;
    let (x, y) = if enough { (parts_a, parts_b) } else { (vec![rate_a], vec![rate_b]) };
    let how = Resampling::default();
    let comparison = rounds::compare(&x, &y, Some(NOISE_ASSUMED), how)
        .with_context(|| Usage("a rate is zero, so that there is no ratio".to_owned()))?;
    notes.push(format!(
        "one run each; equal runs are assumed to differ by up to x {NOISE_ASSUMED}: lab run \
         measures it"
    ));
    for (name, report) in [("A", &report_a), ("B", &report_b)] {
        let started = report.pointer("/outcomes/started").and_then(Value::as_u64);
        if report.pointer("/outcomes/ok").and_then(Value::as_u64) != started {
            notes.push(format!("{name}: some calls were not answered rightly"));
        }
    }
    let name = "calls_per_s".to_owned();
    Ok(Compared {
        rows: vec![Row { name, a: rate_a, b: rate_b, comparison, decides: true }],
        notes,
    })
}

fn read(path: &Path) -> Result<Value> {
    let text = fs::read_to_string(path)
        .with_context(|| Usage(format!("cannot read {}", path.display())))?;
    let wrong = || Usage(format!("{} is no report of echo-client in JSON", path.display()));
    let report: Value = serde_json::from_str(&text).with_context(wrong)?;
    if report["program"] != "echo-client" {
        return Err(wrong().into());
    }
    Ok(report)
}

fn rate(report: &Value, path: &Path) -> Result<f64> {
    report["calls_per_s"].as_f64().with_context(|| Usage(format!("{} has no rate", path.display())))
}

/// Rates of the intervals, the last one left out: it is shorter.
fn intervals(report: &Value) -> Vec<f64> {
    let intervals = report["intervals"].as_array().map_or(&[][..], Vec::as_slice);
    let rates = intervals.iter().filter_map(|interval| interval["calls_per_s"].as_f64());
    let mut rates: Vec<f64> = rates.filter(|rate| *rate > 0.0).collect();
    rates.pop();
    rates
}

fn differences(a: &Value, b: &Value) -> Vec<String> {
    let mut why = hosts_differ(&a["host"], &b["host"]);
    let empty = serde_json::Map::new();
    let options = |report: &'_ Value| report["options"].as_object().cloned();
    let (of_a, of_b) =
        (options(a).unwrap_or_else(|| empty.clone()), options(b).unwrap_or_else(|| empty.clone()));
    for (name, value) in &of_a {
        let other = of_b.get(name).unwrap_or(&Value::Null);
        if value != other && !HARMLESS.contains(&name.as_str()) {
            why.push(format!("--{}: {value} and {other}", name.replace('_', "-")));
        }
    }
    for field in ["schema_version", "loop"] {
        if a[field] != b[field] {
            why.push(format!("{field}: {} and {}", a[field], b[field]));
        }
    }
    let threads = |report: &Value, kind: &str| report["server"][kind].as_array().map(Vec::len);
    for kind in ["readers", "handlers"] {
        let (x, y) = (threads(a, kind), threads(b, kind));
        if x != y {
            why.push(format!("{kind} of the server: {x:?} and {y:?}"));
        }
    }
    if a["server"]["costs"] != b["server"]["costs"] {
        let (x, y) = (&a["server"]["costs"], &b["server"]["costs"]);
        why.push(format!("synthetic costs of the server: {x} and {y}"));
    }
    why
}

//! Tables of a report.

use super::block::{Cell, Table};
use crate::experiment::{Group, LineOf, Mode, Peer};
use crate::folder::Content;
use crate::judge::Finding;
use crate::metric::Metric;
use crate::results::Results;
use crate::run::Record;
use crate::stats::{Summary, median};
use crate::words;
use serde_json::Value;

/// A run is named when it is so far from the median of its point.
const OUTLIER: f64 = 0.15;
/// Of calls that carry records.
const RECORDS: &str = "records.records_per_s";

pub(super) fn verdicts(findings: &[Finding]) -> Table {
    let mut table = Table::new(&["claim", "verdict", "seen", "wanted"]);
    for finding in findings {
        table.rows.push(vec![
            Cell::text(&finding.claim),
            Cell::Verdict(finding.verdict),
            Cell::text(&finding.seen),
            Cell::text(&finding.wanted),
        ]);
    }
    table
}

/// Every point of a group: the main figures, and what was predicted.
pub(super) fn points(group: &Group, results: &Results<'_>) -> Table {
    let modelled = results.predicted.iter().any(|predicted| predicted.group == group.name);
    // Where calls carry records, these are what the experiment is about; the times beside them are
    // those of calls, and those of records mean something at a rate alone.
    let records = results.median_of_group(&metric(RECORDS), &group.name).is_some();
    let at_a_rate = records && group.loop_words() == "open loop";
    let mut columns = vec!["line", group.knob.label.as_str(), "runs", "calls/s"];
    columns.extend(records.then_some("records/s"));
    columns.extend(at_a_rate.then_some("records: p95 us"));
    columns.extend(match records {
        true => ["calls: mean us", "calls: p99 us"],
        false => ["mean us", "p99 us"],
    });
    if group.mode == Mode::Real {
        columns.extend(["server CPU us/call", "client CPU us/call"]);
    }
    if modelled {
        columns.extend(["predicted calls/s", "error", "what binds (predicted)"]);
    }
    let mut table = Table::new(&columns);
    // Hadoop's server does not say what it used; the lab has seen it from outside. Lines of one
    // table are looked at in one way.
    let server_us = match group.lines.iter().any(|line| line.peer == Peer::Hadoop) {
        false => "cpu_us_per_call.server",
        true => "1e6 * samples.measured.server_cpus / calls_per_s",
    };
    for line in &group.lines {
        let of = LineOf { group: group.name.clone(), line: line.name.clone() };
        if let Some(why) = results.left_out(&of) {
            let mut row = vec![Cell::text(&line.name), Cell::text(format!("not measured: {why}"))];
            row.resize_with(columns.len(), || Cell::text(""));
            table.rows.push(row);
        }
        for measured in results.curve(&metric("calls_per_s"), &of) {
            let middle = |text: &str| {
                let curve = results.curve(&metric(text), &of);
                let found = curve.iter().find(|other| other.at.is(&measured.at));
                let number = found.map(|found| words::number(found.summary.median));
                Cell::number(words::or_missing(number))
            };
            let mut row = vec![
                Cell::text(&line.name),
                Cell::number(measured.at.to_string()),
                Cell::number(measured.summary.count.to_string()),
                Cell::number(words::with_ends(&measured.summary)),
            ];
            row.extend(records.then(|| middle(RECORDS)));
            row.extend(at_a_rate.then(|| middle("records.latency_us.p95")));
            row.extend([middle("latency_us.mean"), middle("latency_us.p99")]);
            if group.mode == Mode::Real {
                row.extend([middle(server_us), middle("cpu_us_per_call.client")]);
            }
            if modelled {
                let predicted = results.predicted(&of, &measured.at);
                let error = predicted.map(|p| measured.summary.median / p.calls_per_s - 1.0);
                let rate = predicted.map(|p| words::number(p.calls_per_s));
                row.extend([
                    Cell::number(words::or_missing(rate)),
                    Cell::number(words::or_missing(error.map(words::signed_percent))),
                    Cell::text(predicted.map_or("", |p| p.binds.as_str())),
                ]);
            }
            table.rows.push(row);
        }
    }
    table
}

/// What was counted by whom.
pub(super) fn correctness(content: &Content) -> Table {
    let mut table =
        Table::new(&["runs", "calls made", "answered rightly", "counted by servers", "not sound"]);
    let measured = |run: &&Record| run.is_measured();
    let count = |run: &Record, pointer: &str| {
        run.report.pointer(pointer).and_then(Value::as_u64).unwrap_or(0)
    };
    let mut row = |name: &str, runs: &[&Record]| {
        let sum = |of: &dyn Fn(&Record) -> u64| runs.iter().map(|run| of(run)).sum::<u64>() as f64;
        let made = |run: &Record| count(run, "/outcomes/started") + count(run, "/warmup_calls");
        let right = |run: &Record| {
            let warm = count(run, "/warmup_calls") - count(run, "/warmup_failed");
            count(run, "/outcomes/ok") + warm
        };
        let not_sound = runs.iter().filter(|run| run.problem.is_some()).count();
        table.rows.push(vec![
            Cell::text(name),
            Cell::number(words::number(sum(&made))),
            Cell::number(words::number(sum(&right))),
            Cell::number(words::number(sum(&|run| run.server_calls.unwrap_or(0)))),
            Cell::number(not_sound.to_string()),
        ]);
    };
    row(&format!("gate: {}", content.gate.len()), &content.gate.iter().collect::<Vec<_>>());
    let runs: Vec<&Record> = content.runs.iter().filter(measured).collect();
    row(&format!("measured: {}", runs.len()), &runs);
    table
}

/// The machine and what it did meanwhile.
pub(super) fn host(content: &Content) -> Table {
    let mut table = Table::new(&["host", ""]);
    let mut row = |name: &str, text: String| {
        table.rows.push(vec![Cell::text(name), Cell::text(text)]);
    };
    let host = &content.about.host;
    let text = |name: &str| match &host[name] {
        Value::Null => "n/a".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    row("CPU", text("cpu_model"));
    row("CPUs online, allowed", format!("{}, {}", text("cpus_online"), text("cpus_allowed")));
    row("CPU quota of the control group", text("cgroup_cpu_quota"));
    row("virtual", text("hypervisor"));
    row("governor", text("governor"));
    row("kernel", text("kernel"));
    let share = |name: &str, metric: &str, table: &mut Table| {
        let spread = spread(content, metric);
        let text = spread.map(|s| {
            let text = words::percent;
            format!("{} (at most {})", text(s.median), text(s.max))
        });
        table.rows.push(vec![Cell::text(name), Cell::text(words::or_missing(text))]);
    };
    share("CPUs busy, middle of all runs", "samples.host_busy_share", &mut table);
    share("of it by other programs", OTHERS, &mut table);
    share("stolen by the hypervisor", "samples.steal_share", &mut table);
    share("some thread waited for a CPU", "samples.psi_cpu_some_share", &mut table);
    for (name, metric) in [
        ("involuntary switches of the server per run", "samples.involuntary_switches.server"),
        ("involuntary switches of the client per run", "samples.involuntary_switches.client"),
        ("frequency (MHz)", "samples.mhz"),
    ] {
        let text = spread(content, metric).map(|s| words::with_ends(&s));
        table.rows.push(vec![Cell::text(name), Cell::text(words::or_missing(text))]);
    }
    table
}

const OTHERS: &str = "verdict.others_cpu_share";

/// A metric over all sound measured runs.
pub(super) fn spread(content: &Content, text: &str) -> Option<Summary> {
    let metric = metric(text);
    let numbers: Vec<f64> = content.runs.iter().filter_map(|run| run.number(&metric)).collect();
    Summary::of(&numbers)
}

/// Runs that were not sound, or lie far from the others of their point.
pub(super) fn outliers(content: &Content) -> Table {
    let mut table = Table::new(&["run", "round", "point", "calls/s", "what"]);
    let rate = metric("calls_per_s");
    for run in &content.runs {
        let same = |other: &&Record| {
            other.twin == run.twin && other.group == run.group && other.line == run.line
        };
        let same = content.runs.iter().filter(same).filter(|other| other.at.is(&run.at));
        let rates: Vec<f64> = same.filter_map(|other| other.number(&rate)).collect();
        let off = run.number(&rate).zip(median(&rates)).map(|(rate, middle)| rate / middle - 1.0);
        let what = match (&run.problem, off) {
            (Some(problem), _) => problem.clone(),
            (None, Some(off)) if off.abs() > OUTLIER => {
                format!("{} from the median of its point", words::signed_percent(off))
            }
            _ => continue,
        };
        let again = if run.twin { " again" } else { "" };
        table.rows.push(vec![
            Cell::number(run.order.to_string()),
            Cell::number(run.round.to_string()),
            Cell::text(format!("{}, {}, {}{again}", run.group, run.line, run.at)),
            Cell::number(words::or_missing(run.number(&rate).map(words::number))),
            Cell::text(what),
        ]);
    }
    table
}

fn metric(text: &str) -> Metric {
    text.parse().expect("the report's own metrics are paths")
}

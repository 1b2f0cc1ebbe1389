//! Comparisons of fixed inputs.

use super::*;
use crate::stats::bootstrap::Interval;
use serde_json::{Value, json};
use std::path::PathBuf;

fn report(rate: f64, change: impl FnOnce(&mut Value)) -> Value {
    let interval = |i: u32| json!({"calls_per_s": rate * (1.0 + 0.01 * f64::from(i % 3))});
    let mut report = json!({
        "program": "echo-client", "calls_per_s": rate, "loop": "closed",
        "outcomes": {"started": 10, "ok": 10},
        "options": {"clients": 10, "output": "x"},
        "host": {"cpu_model": "x", "cpus_online": 2},
        "server": {"readers": [{}], "handlers": [{}, {}], "costs": null},
        "intervals": (0..10).map(interval).collect::<Vec<_>>(),
    });
    change(&mut report);
    report
}

fn compare_reports(a: Value, b: Value, anyway: bool) -> Result<u8> {
    let folder = tempfile::tempdir()?;
    let write = |name: &str, report: Value| -> Result<PathBuf> {
        let path = folder.path().join(name);
        std::fs::write(&path, report.to_string())?;
        Ok(path)
    };
    let (a, b) = (write("a.json", a)?, write("b.json", b)?);
    compare(&CompareOptions { a, b, anyway })
}

#[test]
fn the_exit_code_says_which_is_slower() {
    let code = |a, b| compare_reports(report(a, |_| {}), report(b, |_| {}), false).unwrap();
    assert_eq!(code(100_000.0, 101_000.0), 0);
    assert_eq!(code(100_000.0, 95_000.0), 0, "inside what equal runs differ by");
    assert_eq!(code(100_000.0, 70_000.0), SLOWER);
    assert_eq!(code(70_000.0, 100_000.0), FASTER);
}

#[test]
fn unlike_runs_are_refused_unless_told() {
    type Change = fn(&mut Value);
    let changes: [(&str, Change); 6] = [
        ("schema_version: null and 9", |r| r["schema_version"] = json!(9)),
        ("--clients: 10 and 30", |r| r["options"]["clients"] = json!(30)),
        ("host cpu_model: \"x\" and \"y\"", |r| r["host"]["cpu_model"] = json!("y")),
        ("loop: \"closed\" and \"open\"", |r| r["loop"] = json!("open")),
        ("readers of the server", |r| r["server"]["readers"] = json!([{}, {}])),
        ("synthetic costs", |r| r["server"]["costs"] = json!("handler spin:5us")),
    ];
    for (wrong, change) in changes {
        let (a, b) = (report(1e5, |_| {}), report(1e5, change));
        let error = compare_reports(a.clone(), b.clone(), false).unwrap_err();
        assert!(error.is::<Unlike>() && error.to_string().contains(wrong), "{error}");
        assert_eq!(compare_reports(a, b, true).unwrap(), 0);
    }
    let output = report(1e5, |r| r["options"]["output"] = json!("elsewhere"));
    assert_eq!(compare_reports(report(1e5, |_| {}), output, false).unwrap(), 0);
}

#[test]
fn only_rows_that_decide_make_the_verdict() {
    let row = |verdict, decides| Row {
        name: "x".into(),
        a: 1.0,
        b: 2.0,
        comparison: Comparison {
            ratio: Interval { low: 1.9, estimate: 2.0, high: 2.1 },
            noise: Some(1.1),
            verdict,
        },
        decides,
    };
    let whole = |rows| Compared { rows, notes: vec!["n".into()] };
    let none = whole(vec![row(Verdict::NoDifference, true), row(Verdict::Smaller, false)]);
    assert_eq!(code(&none), 0);
    assert!(text(&none, "a", "b").ends_with("note: n\n\nverdict: no difference\n"));
    let both = whole(vec![row(Verdict::Larger, true), row(Verdict::Smaller, true)]);
    assert_eq!(code(&both), SLOWER);
}

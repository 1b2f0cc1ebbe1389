//! What a run has to say, as a value. Text and JSON are views of it.

use crate::plan::Plan;
use crate::run::RunResult;

pub(crate) fn json(plan: &Plan, run: &mut RunResult) -> serde_json::Value {
    let o = run.ledger.outcomes.clone();
    let elapsed = match run.end_ns {
        Some(end) if plan.options.duration.is_some() => end.saturating_sub(run.start_ns),
        _ => run
            .ledger
            .last_end_ns
            .unwrap_or(0)
            .saturating_sub(run.ledger.first_start_ns.unwrap_or(0)),
    } as f64
        / 1e9;
    let ok_in: u64 = run.workers.iter().map(|w| w.result.flow.ok_in_window()).sum();
    serde_json::json!({
        "schema_version": 1,
        "outcomes": {"started": o.started, "ok": o.ok, "mismatch": o.mismatch, "error_reply": o.error_reply(),
          "timed_out": o.timed_out, "connection_lost": o.connection_lost(), "abandoned": o.abandoned},
        "elapsed_s": elapsed,
        "calls_per_s": ok_in as f64 / elapsed,
        "latency_us": run.ledger.latency.summary(),
        "connect_us": run.connect_latency.summary(),
    })
}

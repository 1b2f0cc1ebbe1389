//! The text of a run of records.

use super::tables::{TABLE_HEAD, rate, row};
use super::{decimal, share};
use crate::report::page::Page;
use crate::report::records::RecordFigures;
use crate::report::{Figures, Report};
use echo_common::quantity::{format_size, grouped};

/// Counted by record and by call, and where their time went.
pub(super) fn records(page: &mut Page, report: &Report, records: &RecordFigures) {
    page.section("Records");
    page.line(TABLE_HEAD);
    let rows = [
        ("record latency", records.latency_us),
        ("= in accumulator", records.accumulator_us),
        ("+ call, by calls", report.latency_us),
    ];
    for (name, f) in rows {
        let Figures { mean, p50, p95, p99, max, .. } = f;
        page.line(row(name, [mean, p50, p95, p99, max]));
    }
    page.line("");
    let totals = &records.outcomes;
    page.field(
        "records",
        format!(
            "{} created = {} ok + {} failed + {} unsent; {} lost, {} with wrong bytes, {} twice, \
             {} of other calls; {} behind a later one",
            grouped(totals.created),
            grouped(totals.ok),
            grouped(totals.failed()),
            grouped(totals.unsent),
            grouped(totals.missing),
            grouped(totals.wrong_bytes),
            grouped(records.duplicates),
            grouped(records.foreign),
            grouped(records.out_of_order)
        ),
    );
    page.field(
        "rate",
        format!(
            "{} records/second = {} MB/second (MB: 1,000,000 bytes) in {} calls/second",
            rate(records.records_per_s),
            decimal(records.mb_per_s),
            rate(report.calls_per_s)
        ),
    );
    page.field(
        "calls",
        format!(
            "{} bytes = {} records on average, in {} batches of {} records",
            rate(records.bytes_per_call),
            decimal(records.records_per_call),
            decimal(records.batches_per_call),
            decimal(records.records_per_batch)
        ),
    );
    page.field(
        "bounds",
        format!(
            "{} streams; records of {}, batches of {}, calls of {}, a buffer of {}",
            grouped(records.streams as u64),
            format_size(records.record_bytes as u64),
            format_size(records.batch_bytes_max),
            format_size(records.call_bytes_max),
            format_size(records.buffer_bytes)
        ),
    );
    page.field("loop", loop_words(records));
}

fn loop_words(records: &RecordFigures) -> String {
    let Some(open) = &records.open_loop else {
        return "there is always one more record: their latency is that of the full buffer, not \
            the server's; compare latencies at a --rate"
            .to_owned();
    };
    format!(
        "open: {} records due, target {} records/second, achieved {}{}; {} never sent, {} held \
         back by the buffer, worst lag {:.3} ms; latency is from when a record was due",
        grouped(open.scheduled),
        rate(Some(open.target_per_s)),
        share(open.achieved_share),
        if open.overloaded { ": overloaded" } else { "" },
        grouped(open.unsent),
        grouped(open.held_back),
        open.worst_lag_us / 1e3
    )
}

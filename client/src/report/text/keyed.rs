//! The keys of a run, and the server's dispatch by key.

use super::{counted, decimal, printable, share};
use crate::keys::{KeyViolation, KeyViolationKind};
use crate::report::dispatch::{DispatchFigures, StageLoad};
use crate::report::keys::KeyFigures;
use crate::report::page::Page;
use echo_common::quantity::grouped;

/// Order, loss, duplicates and payloads, each as a number.
pub(super) fn keys(page: &mut Page, keys: &KeyFigures) {
    page.section("Keys");
    page.field(
        "keys",
        format!(
            "{}, {} of them called; of each at most one call in flight",
            grouped(keys.keys),
            grouped(keys.used)
        ),
    );
    page.field(
        "order",
        format!(
            "{} executions compared; {}, {}",
            grouped(keys.checked),
            counted(keys.order_violations, "order violation"),
            counted(keys.handler_changes, "change") + " of handler"
        ),
    );
    page.field(
        "calls",
        format!(
            "{} lost, {} answered twice, {} with a wrong payload",
            grouped(keys.lost),
            grouped(keys.duplicates),
            grouped(keys.wrong_payload)
        ),
    );
    for violation in &keys.violations {
        page.field("violation", describe(violation));
    }
}

/// One violation, for people.
pub(super) fn describe(violation: &KeyViolation) -> String {
    let KeyViolation { key, sequence, call_id, handler, execution, .. } = violation;
    let what = match violation.kind {
        KeyViolationKind::Order => "out of order",
        KeyViolationKind::Handler => "on another handler",
    };
    format!(
        "key {key}, call {call_id} (number {sequence} of this key) was executed {what}: execution \
         {execution} on handler {handler} after execution {} on handler {}",
        violation.execution_before, violation.handler_before
    )
}

/// The stages between the server's call queue and its handlers.
pub(super) fn dispatch(page: &mut Page, dispatch: &DispatchFigures) {
    page.line("");
    page.line(format!(
        "{:<16}{:>16}{:>10}{:>10}{:>14}{:>14}",
        "stage", "calls", "busy", "on CPU", "calls/wake-up", "emulated"
    ));
    for stage in [&dispatch.serial, &dispatch.dispatcher] {
        page.line(stage_row(stage));
    }
    page.line("");
    page.field(
        "batches",
        format!(
            "{} read and dispatched, {} calls each on average; by size: {}",
            grouped(dispatch.cycles),
            decimal(dispatch.calls_per_batch),
            sizes(&dispatch.batch_sizes)
        ),
    );
    let us = |value: Option<f64>| value.map_or("n/a".to_owned(), |us| format!("{us:.1} us"));
    page.field(
        "gap",
        format!(
            "{} from a dispatch to the next read; held back by full handler queues {}, {} of the \
             time",
            us(dispatch.gap_us_per_cycle),
            counted(dispatch.held_back, "time"),
            share(dispatch.held_back_share)
        ),
    );
    page.field(
        "extended",
        format!(
            "{}; {} of the calls dispatched on the serial stage",
            counted(dispatch.extended_reads, "read"),
            share(dispatch.on_serial_share)
        ),
    );
    page.field(
        "backlog",
        format!(
            "{} confirmed and not read at the end, at most {} since the server's start; log full \
             {}, {}",
            grouped(dispatch.backlog),
            grouped(dispatch.backlog_max),
            counted(dispatch.log_full_waits, "time"),
            counted(dispatch.stalls, "stall")
        ),
    );
}

fn stage_row(stage: &StageLoad) -> String {
    format!(
        "{:<16}{:>16}{:>10}{:>10}{:>14}{:>14}",
        printable(&stage.name, 15),
        grouped(stage.calls),
        share(stage.busy_share),
        share(stage.cpu_share),
        decimal(stage.calls_per_wakeup),
        share(stage.emulated_share)
    )
}

/// `up to 256: 12, up to 512: 3,400`.
fn sizes(batch_sizes: &[(u64, u64)]) -> String {
    let sizes = batch_sizes.iter();
    let each = sizes.map(|(size, count)| format!("up to {}: {}", grouped(*size), grouped(*count)));
    let all: Vec<String> = each.collect();
    if all.is_empty() { "none".to_owned() } else { all.join(", ") }
}

//! The checks of records.

use super::super::records::RecordFigures;
use super::{Check, achieved, check};
use echo_common::quantity::grouped;

/// `in_turn` says that a connection has one call under way at most.
pub(super) fn checks(records: &RecordFigures, in_turn: bool) -> Vec<Check> {
    let mut checks = vec![add_up(records), in_order(records, in_turn)];
    checks.extend(
        records.open_loop.as_ref().map(|open_loop| Check {
            name: "record_rate_achieved",
            ..achieved(open_loop, "records")
        }),
    );
    checks
}

fn add_up(records: &RecordFigures) -> Check {
    let totals = &records.outcomes;
    let strange = records.duplicates + records.foreign + totals.wrong_bytes + totals.missing;
    let ok = totals.created == totals.ended() && strange == 0;
    let text = format!(
        "{} created, {} ended; {} lost, {} twice, {} of other calls, {} with wrong bytes",
        grouped(totals.created),
        grouped(totals.ended()),
        grouped(totals.missing),
        grouped(records.duplicates),
        grouped(records.foreign),
        grouped(totals.wrong_bytes)
    );
    let numbers = [
        ("created", totals.created),
        ("ended", totals.ended()),
        ("missing", totals.missing),
        ("duplicates", records.duplicates),
        ("foreign", records.foreign),
        ("wrong_bytes", totals.wrong_bytes),
    ];
    check("records_add_up", Some(ok), text, &numbers.map(|(name, n)| (name, Some(n as f64))))
}

/// Replies may overtake one another where a server serves several calls of a connection at once.
fn in_order(records: &RecordFigures, in_turn: bool) -> Check {
    let late = records.out_of_order;
    let (ok, text) = match late {
        0 => (Some(true), "no record came back behind a later one of its stream".to_owned()),
        _ if in_turn => (
            Some(false),
            format!("{} records came back behind a later one of their stream", grouped(late)),
        ),
        _ => (
            None,
            format!(
                "{} records came back behind a later one of their stream, as they may from a \
                 server that serves several calls of a connection at once (echo-server \
                 --calls-per-connection 1 does not)",
                grouped(late)
            ),
        ),
    };
    check("records_in_order", ok, text, &[("out_of_order", Some(late as f64))])
}

//! The checks of records.

use super::super::records::RecordFigures;
use super::{Check, Order, achieved, check};
use echo_common::quantity::grouped;

/// Those of every run of records.
pub(super) fn checks(records: &RecordFigures, order: Order) -> Vec<Check> {
    let mut checks = vec![add_up(records), in_order(records, order)];
    checks.extend(records.open_loop.as_ref().map(|open_loop| Check {
        name: "record_rate_achieved",
        ..achieved(open_loop, "records", "done rightly")
    }));
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
fn in_order(records: &RecordFigures, order: Order) -> Check {
    let (late, overtaken) = (records.out_of_order, order.overtaken);
    let told = format!("{} records came back behind a later one of their stream", grouped(late));
    let (ok, text) = match (late, overtaken, order.served_at_once) {
        (0, None | Some(0), _) => {
            (Some(true), "no record came back behind a later one of its stream".to_owned())
        }
        (_, Some(overtaken), _) => (
            Some(false),
            format!(
                "{told}, {} replies behind that of a later call of their connection, and the \
                 server serves one at a time",
                grouped(overtaken)
            ),
        ),
        _ if order.in_turn => (Some(false), told),
        (_, _, Some(at_once)) => (
            None,
            format!(
                "{told}, as they may: the server serves up to {} calls of a connection at once \
                 (echo-server --calls-per-connection 1 does not)",
                grouped(at_once)
            ),
        ),
        _ => (
            None,
            format!(
                "{told}; not checked: the server did not say whether it serves several calls of a \
                 connection at once"
            ),
        ),
    };
    let overtaken = overtaken.map(|replies| replies as f64);
    let numbers = [("out_of_order", Some(late as f64)), ("overtaken", overtaken)];
    check("records_in_order", ok, text, &numbers)
}

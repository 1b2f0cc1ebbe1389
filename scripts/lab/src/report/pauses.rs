//! What clients saw of followers that were stopped for a while.

use super::block::{Block, Cell, Table};
use crate::experiment::{Group, LineOf};
use crate::metric::Metric;
use crate::results::Results;
use crate::words;

/// A table of them; none if no follower was stopped.
pub(super) fn of_group(group: &Group, results: &Results<'_>) -> Option<Block> {
    let knob = group.knob.label.as_str();
    let mut table = Table::new(&["line", knob, "calls/s before", "in the pause", "afterwards"]);
    for line in group.lines.iter().filter(|line| line.pause.is_some()) {
        let of = LineOf { group: group.name.clone(), line: line.name.clone() };
        let curve = |when: &str| {
            let metric: Result<Metric, _> = format!("pause.calls_{when}_per_s").parse();
            results.curve(&metric.expect("it is a path"), &of)
        };
        let parts = [curve("before"), curve("during"), curve("after")];
        for at in line.values.iter().filter(|at| parts[0].iter().any(|m| m.at.is(at))) {
            let rates = parts.iter().map(|part| {
                let found = part.iter().find(|measured| measured.at.is(at));
                words::or_missing(found.map(|found| words::with_ends(&found.summary)))
            });
            let mut row = vec![Cell::text(&line.name), Cell::number(at.to_string())];
            row.extend(rates.map(Cell::number));
            table.rows.push(row);
        }
    }
    (!table.rows.is_empty()).then_some(Block::Table(table))
}

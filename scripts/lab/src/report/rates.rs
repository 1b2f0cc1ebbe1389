//! The rates of a group that other points decided.

use super::block::{Block, Cell, Table};
use crate::experiment::Group;
use crate::results::Results;
use crate::run::{Matched, Record};
use crate::words;

/// A table of them; none if all rates were given.
pub(super) fn of_group(group: &Group, results: &Results<'_>) -> Option<Block> {
    let columns = ["line", group.knob.label.as_str(), "rate", "is"];
    let mut table = Table::new(&columns);
    let runs = results.runs.iter().filter(|run| run.group == group.name && !run.twin);
    let matched: Vec<(&Record, &Matched)> =
        runs.filter_map(|run| Some((run, run.matched.as_ref()?))).collect();
    for line in &group.lines {
        let of_line: Vec<_> = matched.iter().filter(|(run, _)| run.line == line.name).collect();
        let mut seen: Vec<&Matched> = Vec::new();
        for (_, matched) in &of_line {
            if !seen.contains(matched) {
                seen.push(matched);
            }
        }
        for rate in seen {
            let values = line.values.iter().filter(|at| {
                of_line.iter().any(|(run, matched)| *matched == rate && run.at.is(at))
            });
            let values: Vec<String> = values.map(ToString::to_string).collect();
            let per_s = words::number(f64::from(rate.per_s));
            table.rows.push(vec![
                Cell::text(&line.name),
                Cell::text(values.join(", ")),
                Cell::number(format!("{per_s} {}/s", rate.unit)),
                Cell::text(rate.words()),
            ]);
        }
    }
    (!table.rows.is_empty()).then_some(Block::Table(table))
}

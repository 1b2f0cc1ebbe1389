//! The report as Markdown, for a ticket: charts become the tables behind them.

use super::block::{Block, Cell, Table};
use std::fmt::Write;

pub(super) fn page(title: &str, blocks: &[Block]) -> String {
    let mut out = format!("# {title}\n");
    all(&mut out, blocks);
    out
}

fn all(out: &mut String, blocks: &[Block]) {
    for block in blocks {
        out.push('\n');
        match block {
            Block::Heading(text) => _ = writeln!(out, "## {text}"),
            Block::Subheading(text) => _ = writeln!(out, "### {text}"),
            Block::Paragraph(text) => _ = writeln!(out, "{text}"),
            Block::Label(text) => _ = writeln!(out, "**{text}**"),
            Block::Table(rows) => table(out, rows),
            Block::Figure(figure) => {
                let _ = writeln!(out, "**{}**\n", figure.title);
                match figure.numbers.rows.is_empty() {
                    true => out.push_str("Drawn in report.html.\n"),
                    false => table(out, &figure.numbers),
                }
                if let Some(note) = &figure.note {
                    let _ = writeln!(out, "\n{note}");
                }
            }
            // Who wants to look for it finds the file in the folder.
            Block::Details(..) => _ = out.pop(),
            Block::Code(text) => _ = writeln!(out, "```text\n{}\n```", text.trim_end()),
        }
    }
}

fn table(out: &mut String, table: &Table) {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let clean = |text: &str| text.replace('|', "\\|").replace('\n', " ");
    out.push_str(&line(table.columns.iter().map(|column| clean(column)).collect()));
    let numeric = |column: usize| {
        table.rows.iter().all(|row| matches!(row.get(column), Some(Cell::Number(_))))
    };
    let rule = |column| if numeric(column) { "---:".to_owned() } else { "---".to_owned() };
    out.push_str(&line((0..table.columns.len()).map(rule).collect()));
    for row in &table.rows {
        out.push_str(&line(row.iter().map(|cell| clean(cell.plain())).collect()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_keeps_its_columns_whatever_is_in_it() {
        let mut numbers = Table::new(&["a|b", "n"]);
        numbers.rows.push(vec![Cell::text("x|y\nz"), Cell::number("1")]);
        let page = page("T", &[Block::Table(numbers)]);
        assert_eq!(page, "# T\n\n| a\\|b | n |\n| --- | ---: |\n| x\\|y z | 1 |\n");
    }
}

//! The report as one HTML file that needs nothing from the network.

use super::block::{Block, Cell, Figure, Table};
use super::style::STYLE;
use crate::chart::escape;
use crate::judge::Verdict;
use std::fmt::Write;

pub(super) fn page(title: &str, blocks: &[Block]) -> String {
    let title = escape(title);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
    );
    all(&mut out, blocks);
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

fn all(out: &mut String, blocks: &[Block]) {
    let mut in_grid = false;
    for block in blocks {
        let figure = matches!(block, Block::Figure(_));
        if figure != in_grid {
            out.push_str(if figure { "<div class=\"grid\">\n" } else { "</div>\n" });
            in_grid = figure;
        }
        one(out, block);
    }
    if in_grid {
        out.push_str("</div>\n");
    }
}

fn one(out: &mut String, block: &Block) {
    let _ = match block {
        Block::Heading(text) => writeln!(out, "<h2>{}</h2>", escape(text)),
        Block::Subheading(text) => writeln!(out, "<h3>{}</h3>", escape(text)),
        Block::Paragraph(text) => writeln!(out, "<p>{}</p>", escape(text)),
        Block::Label(text) => writeln!(out, "<p class=\"notice\">{}</p>", escape(text)),
        Block::Code(text) => writeln!(out, "<pre>{}</pre>", escape(text.trim_end())),
        Block::Table(rows) => {
            table(out, rows);
            Ok(())
        }
        Block::Figure(shown) => {
            figure(out, shown);
            Ok(())
        }
        Block::Details(title, inner) => {
            let _ = writeln!(out, "<details><summary>{}</summary>", escape(title));
            all(out, inner);
            writeln!(out, "</details>")
        }
    };
}

fn table(out: &mut String, table: &Table) {
    // On a phone, verdicts are read one below the other.
    let has_verdict = |row: &Vec<Cell>| row.iter().any(|cell| matches!(cell, Cell::Verdict(_)));
    let class = if table.rows.iter().any(has_verdict) { "cards" } else { "plain" };
    let _ = write!(out, "<div class=\"wide\"><table class=\"{class}\">\n<thead><tr>");
    for (index, column) in table.columns.iter().enumerate() {
        let numeric = |row: &Vec<Cell>| matches!(row.get(index), Some(Cell::Number(_)));
        let class = if table.rows.iter().all(numeric) { " class=\"n\"" } else { "" };
        let _ = write!(out, "<th{class}>{}</th>", escape(column));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for (cell, column) in row.iter().zip(&table.columns) {
            let column = escape(column);
            let _ = match cell {
                Cell::Text(text) => {
                    write!(out, "<td data-is=\"{column}\">{}</td>", escape(text))
                }
                Cell::Number(text) => write!(out, "<td class=\"n\">{}</td>", escape(text)),
                Cell::Verdict(verdict) => {
                    let class = match verdict {
                        Verdict::Holds => "yes",
                        Verdict::DoesNotHold => "no",
                        Verdict::NoDifference | Verdict::NotMeasured => "open",
                    };
                    let words = verdict.words();
                    write!(out, "<td><span class=\"badge {class}\">{words}</span></td>")
                }
            };
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}

fn figure(out: &mut String, figure: &Figure) {
    let _ = writeln!(
        out,
        "<figure>\n<figcaption>{}</figcaption>\n{}",
        escape(&figure.title),
        figure.svg
    );
    if !figure.legend.is_empty() {
        out.push_str("<ul class=\"legend\">");
        for entry in &figure.legend {
            let _ = write!(out, "<li>{}{}</li>", entry.key(), escape(&entry.name));
        }
        out.push_str("</ul>\n");
    }
    if let Some(note) = &figure.note {
        let _ = writeln!(out, "<p class=\"note\">{}</p>", escape(note));
    }
    out.push_str("</figure>\n");
}

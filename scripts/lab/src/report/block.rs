//! What a report is made of, whichever way it is shown.

use crate::chart::Entry;
use crate::judge::Verdict;

/// One part of a report.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Block {
    /// A chapter.
    Heading(String),
    /// A chapter within one.
    Subheading(String),
    Paragraph(String),
    /// A remark that must not be missed, such as "emulated".
    Label(String),
    Table(Table),
    Figure(Box<Figure>),
    /// Something that is only read when it is looked for.
    Details(String, Vec<Block>),
    /// Text as it is.
    Code(String),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Table {
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Vec<Cell>>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    Text(String),
    /// Aligned with the other numbers of its column.
    Number(String),
    Verdict(Verdict),
}

/// A chart, and what it shows as numbers for where it cannot be drawn.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Figure {
    pub(super) title: String,
    pub(super) svg: String,
    pub(super) legend: Vec<Entry>,
    pub(super) note: Option<String>,
    pub(super) numbers: Table,
}

impl Table {
    pub(super) fn new(columns: &[&str]) -> Table {
        let columns = columns.iter().map(|column| (*column).to_owned()).collect();
        Table { columns, rows: Vec::new() }
    }
}

impl Cell {
    pub(super) fn text(text: impl Into<String>) -> Cell {
        Cell::Text(text.into())
    }

    pub(super) fn number(text: impl Into<String>) -> Cell {
        Cell::Number(text.into())
    }

    /// As it is shown without colours.
    pub(super) fn plain(&self) -> &str {
        match self {
            Cell::Text(text) | Cell::Number(text) => text,
            Cell::Verdict(verdict) => verdict.words(),
        }
    }
}

//! The report for programs: one object, a line for each of its fields.

use super::Report;
use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use std::io::{self, Write};

/// The report as JSON. There is no NaN in it: a number that is none is null.
pub(crate) fn json(report: &Report) -> String {
    let mut bytes = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut bytes, FieldPerLine { depth: 0 });
    report
        .serialize(&mut serializer)
        .expect("a report has only string keys, and memory takes every byte");
    bytes.push(b'\n');
    String::from_utf8(bytes).expect("serde_json writes UTF-8")
}

/// Lines for the outermost object's fields, so that a report can be read and compared, but not for
/// the thousands of numbers inside.
struct FieldPerLine {
    depth: usize,
}

impl Formatter for FieldPerLine {
    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth += 1;
        writer.write_all(b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
        writer.write_all(if self.depth == 0 { b"\n}" } else { b"}" })
    }

    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        writer.write_all(match (self.depth, first) {
            (1, true) => b"\n  ",
            (1, false) => b",\n  ",
            (_, true) => b"",
            (_, false) => b", ",
        })
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

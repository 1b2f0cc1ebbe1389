//! The report for programs: one object, a line for each of its fields.

use super::Report;
use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use std::io::{self, Write};

/// The report as JSON. There is no NaN in it: a number that is none is null.
pub(crate) fn json(report: &Report) -> String {
    render(report)
}

fn render(value: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut bytes, FieldPerLine { depth: 0 });
    value
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use std::collections::BTreeMap;

    #[derive(Serialize)]
    struct Sample {
        counts: Vec<u64>,
        numbers: [f64; 3],
        inner: BTreeMap<&'static str, Option<u64>>,
        empty: BTreeMap<u8, u8>,
    }

    #[test]
    fn large_counts_are_exact_and_what_is_no_number_is_null() {
        let counts = vec![u32::MAX.into(), (1 << 53) + 1, u64::MAX];
        let text = render(&Sample {
            counts: counts.clone(),
            numbers: [f64::NAN, f64::INFINITY, 0.1],
            inner: BTreeMap::from([("a", None), ("b", Some(1))]),
            empty: BTreeMap::new(),
        });
        assert_eq!(text.lines().count(), 6, "a line for each field: {text}");
        let value: Value = serde_json::from_str(&text).unwrap();
        let read: Vec<u64> =
            value["counts"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
        assert_eq!(read, counts);
        assert_eq!(value["numbers"], serde_json::json!([null, null, 0.1]));
        assert_eq!(value["inner"]["a"], Value::Null);
    }
}

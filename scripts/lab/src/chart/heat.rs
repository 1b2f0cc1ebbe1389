//! A heat map of ratios: a field for each row and column, coloured by how far its number lies from
//! one. Every field has its number, and one that was not measured is hatched, so that nothing is
//! told by colour alone.

use super::{Entry, Key, SIZE, escape, half_width, open_of};
use crate::words;
use std::fmt::Write;

/// Ratios by row and column.
#[derive(Clone, Debug, PartialEq)]
pub struct Heat {
    /// What the columns are, in words.
    pub x: String,
    /// What the numbers are, in words.
    pub what: String,
    /// Above the columns, from left to right.
    pub columns: Vec<String>,
    /// From the top: a name, and a ratio for every column; none where nothing was measured.
    pub rows: Vec<(String, Vec<Option<f64>>)>,
}

/// Colours that a field may have, the middle one for what is about equal.
pub const CLASSES: usize = BOUNDS.len() + 1;
/// Between the colours: every ratio below one has its inverse, nearly, above one.
const BOUNDS: [f64; 8] = [0.4, 0.6, 0.8, 0.95, 1.05, 1.25, 1.7, 2.5];

const TOP: f64 = 26.0;
const RIGHT: f64 = 8.0;
/// A row, and the bar that explains the colours.
const ROW: f64 = 36.0;
const BAR: (f64, f64) = (38.0, 16.0);
/// Below the rows: the columns' names, what they are, the bar with its words.
const BELOW: (f64, f64, f64) = (17.0, 36.0, 50.0);
/// A letter of a row's name at the size that it has on a phone.
const LETTER: f64 = 8.4;
/// Letters of a row's name that stay on one line, and that one line may have.
const NAME_SHORT: usize = 16;
const NAME_MAX: usize = 19;

impl Heat {
    /// The drawing. `title` is read out where it cannot be seen.
    pub fn svg(&self, title: &str) -> String {
        let names: Vec<Vec<String>> = self.rows.iter().map(|(name, _)| wrapped(name)).collect();
        let letters = names.iter().flatten().map(|line| line.chars().count()).max().unwrap_or(0);
        let left = letters as f64 * LETTER + 12.0;
        let width = (SIZE.0 - RIGHT - left) / self.columns.len().max(1) as f64;
        let bottom = TOP + self.rows.len() as f64 * ROW;
        let mut out = open_of(title, bottom + BELOW.2 + BAR.1 + 20.0);
        let _ = write!(out, "<text class=\"label\" x=\"2\" y=\"14\">{}</text>", escape(&self.what));
        for (index, ((name, numbers), lines)) in self.rows.iter().zip(&names).enumerate() {
            let top = TOP + index as f64 * ROW;
            row_name(&mut out, name, lines, (left - 8.0, top));
            for (place, number) in numbers.iter().enumerate() {
                let column = self.columns.get(place).map_or("", String::as_str);
                let corner = (left + place as f64 * width, top);
                field(&mut out, *number, corner, width, &format!("{name}, {} {column}", self.x));
            }
        }
        self.column_names(&mut out, (left, width, bottom));
        bar(&mut out, bottom + BELOW.2);
        out.push_str("</svg>");
        out
    }

    fn column_names(&self, out: &mut String, (left, width, bottom): (f64, f64, f64)) {
        let mut free_from = f64::NEG_INFINITY;
        for (place, name) in self.columns.iter().enumerate() {
            let middle = left + (place as f64 + 0.5) * width;
            if middle - half_width(name) < free_from {
                continue;
            }
            free_from = middle + half_width(name);
            text(out, "tick", (middle, bottom + BELOW.0), "middle", name);
        }
        let middle = (left + SIZE.0 - RIGHT) / 2.0;
        text(out, "label", (middle, bottom + BELOW.1), "middle", &self.x);
    }

    /// What the page shall say, beside the bar in the drawing.
    pub fn legend(&self) -> Vec<Entry> {
        let gap = self.rows.iter().any(|(_, numbers)| numbers.contains(&None));
        let entry = Entry { colour: 0, key: Key::Hatched, name: "not measured".to_owned() };
        gap.then_some(entry).into_iter().collect()
    }
}

fn row_name(out: &mut String, name: &str, lines: &[String], (right, top): (f64, f64)) {
    let _ = write!(out, "<g><title>{}</title>", escape(name));
    let first = top + ROW / 2.0 + 4.5 - (lines.len() - 1) as f64 * 7.5;
    for (index, line) in lines.iter().enumerate() {
        text(out, "tick", (right, first + index as f64 * 15.0), "end", line);
    }
    out.push_str("</g>");
}

/// One field with its number, or hatched; what it stands for is read out.
fn field(out: &mut String, number: Option<f64>, corner: (f64, f64), width: f64, name: &str) {
    let (x, y) = (corner.0 + 1.0, corner.1 + 1.0);
    let size = (width - 2.0, ROW - 2.0);
    let Some(number) = number else {
        let drawn = hatched((x, y), size);
        let _ = write!(out, "<g><title>{}: not measured</title>{drawn}</g>", escape(name));
        return;
    };
    let (class, shown) = (class_of(number), words::ratio(number));
    let on = if is_far(class) { "far" } else { "near" };
    // As large as there is room for, on a phone, too.
    let font = (size.0 / (shown.len() as f64 * 0.66)).clamp(7.0, 15.0);
    let _ = write!(
        out,
        "<g><title>{}: x {shown}</title><rect class=\"h{class}\" x=\"{x:.1}\" y=\"{y:.1}\" \
         width=\"{:.1}\" height=\"{:.1}\"/><text class=\"{on}\" x=\"{:.1}\" y=\"{:.1}\" \
         font-size=\"{font:.1}\" text-anchor=\"middle\">{shown}</text></g>",
        escape(name),
        size.0,
        size.1,
        x + size.0 / 2.0,
        y + size.1 / 2.0 + font * 0.36
    );
}

/// A field in stripes: nothing was measured.
pub(super) fn hatched((x, y): (f64, f64), (width, height): (f64, f64)) -> String {
    let mut lines = String::new();
    let stripes = ((width + height) / 7.0).ceil() as usize;
    for d in (1..stripes).map(|stripe| stripe as f64 * 7.0).filter(|d| *d < width + height) {
        let from = (0f64.max(d - height), d.min(height));
        let to = (d.min(width), 0f64.max(d - width));
        let _ =
            write!(lines, "M{:.1} {:.1}L{:.1} {:.1}", x + from.0, y + from.1, x + to.0, y + to.1);
    }
    format!(
        "<rect class=\"gap\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
         height=\"{height:.1}\"/><path class=\"gap\" d=\"{lines}\"/>"
    )
}

/// The colours with the ratios between them, from less to more.
fn bar(out: &mut String, top: f64) {
    let left = (SIZE.0 - CLASSES as f64 * BAR.0) / 2.0;
    text(out, "tick", (left - 8.0, top + BAR.1 - 4.0), "end", "less");
    text(out, "tick", (SIZE.0 - left + 8.0, top + BAR.1 - 4.0), "start", "more");
    for class in 0..CLASSES {
        let _ = write!(
            out,
            "<rect class=\"h{class}\" x=\"{:.1}\" y=\"{top:.1}\" width=\"{}\" height=\"{}\"/>",
            left + class as f64 * BAR.0,
            BAR.0,
            BAR.1
        );
    }
    let _ = write!(
        out,
        "<text class=\"near\" x=\"{}\" y=\"{:.1}\" font-size=\"12\" \
         text-anchor=\"middle\">equal</text>",
        SIZE.0 / 2.0,
        top + BAR.1 - 4.0
    );
    for (index, bound) in BOUNDS.iter().enumerate() {
        let at = left + (index + 1) as f64 * BAR.0;
        text(out, "small", (at, top + BAR.1 + 14.0), "middle", &bound.to_string());
    }
}

fn text(out: &mut String, class: &str, (x, y): (f64, f64), anchor: &str, text: &str) {
    let text = escape(text);
    let _ = write!(
        out,
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
    );
}

/// The colour's number: the least have 0.
fn class_of(number: f64) -> usize {
    BOUNDS.iter().filter(|bound| number >= **bound).count()
}

/// Whether numbers on this colour are written in the other shade: it is one of the strong ones.
pub fn is_far(class: usize) -> bool {
    class.abs_diff(CLASSES / 2) >= 3
}

/// A name on one line or two, parted between words where both are about as long.
fn wrapped(name: &str) -> Vec<String> {
    let words: Vec<&str> = name.split_whitespace().collect();
    let length = |words: &[&str]| words.join(" ").chars().count();
    let longer = |at: &usize| length(&words[..*at]).max(length(&words[*at..]));
    let parted = match length(&words) > NAME_SHORT {
        true => (1..words.len()).min_by_key(longer).unwrap_or(words.len()),
        false => words.len(),
    };
    let mut lines = vec![words[..parted].join(" ")];
    lines.extend((parted < words.len()).then(|| words[parted..].join(" ")));
    for line in &mut lines {
        if line.chars().count() > NAME_MAX {
            *line = line.chars().take(NAME_MAX - 1).chain(['…']).collect();
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heat() -> Heat {
        Heat {
            x: "calls in flight".into(),
            what: "throughput by that with 1 <in flight>".into(),
            columns: vec!["1".into(), "2".into(), "16".into()],
            rows: vec![
                ("64 B".into(), vec![Some(1.0), Some(1.93), None]),
                ("RTT/S = 0.25, one at a time".into(), vec![Some(1.0), Some(0.31), Some(12.5)]),
            ],
        }
    }

    #[test]
    fn a_field_has_its_number_and_colour_and_one_without_a_number_is_hatched() {
        let svg = heat().svg("t");
        for part in [
            "64 B, calls in flight 1: x 1.00</title><rect class=\"h4\"",
            "64 B, calls in flight 2: x 1.93</title><rect class=\"h7\"",
            "64 B, calls in flight 16: not measured</title><rect class=\"gap\"",
            "one at a time, calls in flight 2: x 0.31</title><rect class=\"h0\"",
            ">12.5</text>",
            ">RTT/S = 0.25,</text>",
            "&lt;in flight&gt;",
        ] {
            assert!(svg.contains(part), "{part} in {svg}");
        }
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        assert_eq!(heat().legend().len(), 1);
        let mut whole = heat();
        whole.rows.remove(0);
        assert!(whole.legend().is_empty(), "nothing is hatched, and nothing is said of it");
    }

    #[test]
    fn every_ratio_has_a_colour_and_equal_ones_that_of_the_middle() {
        for (number, class) in [(0.0, 0), (0.39, 0), (0.9, 3), (0.95, 4), (1.04, 4), (1.05, 5)] {
            assert_eq!(class_of(number), class, "{number}");
        }
        assert_eq!((class_of(2.5), class_of(1e9), CLASSES), (8, 8, 9));
    }

    #[test]
    fn a_long_name_takes_two_lines_and_is_cut_behind_them() {
        assert_eq!(wrapped("64 B"), ["64 B"]);
        assert_eq!(wrapped("RTT/S = 1, one at a time"), ["RTT/S = 1,", "one at a time"]);
        assert_eq!(wrapped("1 KiB, acks=all by acks=1"), ["1 KiB, acks=all", "by acks=1"]);
        let long = wrapped("a name of far more than two lines of a margin that is no wider");
        assert_eq!(long.len(), 2);
        assert!(long[1].ends_with('…') && long[1].chars().count() == NAME_MAX, "{long:?}");
        assert_eq!(wrapped(""), [""]);
    }
}

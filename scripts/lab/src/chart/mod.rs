//! Charts as inline SVG, 480 wide so that text stays readable on a phone. Colours come from the
//! page's style sheet by class, so that one drawing serves dark, light and paper; lines differ in
//! their marks, too. Legends are the page's business: see [`Chart::legend`].

mod bars;
pub mod heat;
mod legend;
mod scale;
mod stacked;

pub use bars::{BarSeries, Bars};
pub use heat::Heat;
pub use legend::{Entry, Key};
pub use scale::Scale;
pub use stacked::Stacked;

use std::fmt::Write;

/// Width and height of every drawing, in its own units.
pub const SIZE: (f64, f64) = (480.0, 290.0);
/// Room for axes: left, right, top, bottom.
const MARGIN: (f64, f64, f64, f64) = (48.0, 12.0, 26.0, 42.0);
/// Colours that the style sheet has; more lines begin anew with other marks.
pub const COLOURS: usize = 6;

/// An axis: what it counts, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// In words, with the unit.
    pub label: String,
    /// Its scale.
    pub scale: Scale,
}

/// One line, or one set of points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// For the legend.
    pub name: String,
    /// Its colour and mark; a model has those of what it predicts.
    pub colour: usize,
    /// Dashed and without marks: a prediction.
    pub dashed: bool,
    /// Whether points are marked.
    pub marked: bool,
    /// From left to right.
    pub points: Vec<Mark>,
}

/// One point, with the bar from the least to the greatest.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mark {
    /// Along the horizontal axis.
    pub x: f64,
    /// Along the vertical one.
    pub y: f64,
    /// The bar's ends.
    pub bar: Option<(f64, f64)>,
}

/// A chart of lines.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Horizontal.
    pub x: Axis,
    /// Vertical.
    pub y: Axis,
    /// The lines; drawn in order.
    pub series: Vec<Series>,
    /// Stretches of the horizontal axis that are shaded, such as the warm-up.
    pub shaded: Vec<(f64, f64, String)>,
    /// Where a law bends: each with the colour of its line.
    pub knees: Vec<(usize, Mark)>,
    /// A height that the lines are held against, such as that of equal numbers.
    pub level: Option<f64>,
}

impl Chart {
    /// Lines and their axes, and nothing else.
    pub fn new(x: Axis, y: Axis, series: Vec<Series>) -> Chart {
        Chart { x, y, series, shaded: Vec::new(), knees: Vec::new(), level: None }
    }

    /// The drawing. `title` is read out where it cannot be seen.
    pub fn svg(&self, title: &str) -> String {
        let mut out = open(title);
        for (from, to, label) in &self.shaded {
            let (left, right) = (self.place_x(*from), self.place_x(*to));
            let (_, _, top, bottom) = frame();
            let _ = write!(
                out,
                "<rect class=\"shade\" x=\"{left:.1}\" y=\"{top}\" width=\"{:.1}\" \
                 height=\"{:.1}\"/><text class=\"small\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                right - left,
                bottom - top,
                left + 3.0,
                top + 12.0,
                escape(label)
            );
        }
        axes(&mut out, &self.x, &self.y);
        if let Some(level) = self.level {
            let (left, right, _, _) = frame();
            let at = self.place_y(level);
            let _ = write!(out, "<path class=\"level\" d=\"M{left} {at:.1}H{right}\"/>");
        }
        for series in &self.series {
            self.bars(&mut out, series);
        }
        for series in &self.series {
            self.line(&mut out, series);
        }
        for (colour, knee) in &self.knees {
            let (x, y, class) = (self.place_x(knee.x), self.place_y(knee.y), class(*colour));
            let (at, ring) = (short(knee.x), ring(x, y));
            let _ = write!(
                out,
                "<path class=\"ring {class}\" d=\"{ring}\"><title>knee at {at}</title></path>"
            );
        }
        out.push_str("</svg>");
        out
    }

    /// What the page shall say about the lines.
    pub fn legend(&self) -> Vec<Entry> {
        let key = |series: &Series| match (series.dashed, series.marked) {
            (true, _) => Key::Dashed,
            (false, true) => Key::Marked,
            (false, false) => Key::Line,
        };
        let entry = |series: &Series| Entry {
            colour: series.colour,
            key: key(series),
            name: series.name.clone(),
        };
        self.series.iter().map(entry).collect()
    }

    fn place_x(&self, x: f64) -> f64 {
        let (left, right, _, _) = frame();
        left + self.x.scale.place(x) * (right - left)
    }

    fn place_y(&self, y: f64) -> f64 {
        let (_, _, top, bottom) = frame();
        bottom - self.y.scale.place(y) * (bottom - top)
    }

    fn bars(&self, out: &mut String, series: &Series) {
        let class = class(series.colour);
        for mark in &series.points {
            let Some((low, high)) = mark.bar.filter(|(low, high)| low < high) else { continue };
            let (x, low, high) = (self.place_x(mark.x), self.place_y(low), self.place_y(high));
            let _ = write!(
                out,
                "<path class=\"bar {class}\" d=\"M{x:.1} {low:.1}V{high:.1}M{:.1} {low:.1}h6M{:.1} \
                 {high:.1}h6\"/>",
                x - 3.0,
                x - 3.0
            );
        }
    }

    fn line(&self, out: &mut String, series: &Series) {
        let class = class(series.colour);
        let mut path = String::new();
        for (index, mark) in series.points.iter().enumerate() {
            let letter = if index == 0 { 'M' } else { 'L' };
            let _ = write!(path, "{letter}{:.1} {:.1}", self.place_x(mark.x), self.place_y(mark.y));
        }
        let dashed = if series.dashed { " dashed" } else { "" };
        let _ = write!(out, "<path class=\"line {class}{dashed}\" d=\"{path}\"/>");
        if !series.marked {
            return;
        }
        for mark in &series.points {
            let (x, y) = (self.place_x(mark.x), self.place_y(mark.y));
            let _ = write!(
                out,
                "<path class=\"mark {class}\" d=\"{}\"><title>{}: {} at {}</title></path>",
                shape(series.colour, x, y),
                escape(&series.name),
                short(mark.y),
                short(mark.x)
            );
        }
    }
}

/// A mark of its own for each colour, for those who do not see colours.
fn shape(colour: usize, x: f64, y: f64) -> String {
    let r = 3.6;
    match colour % COLOURS {
        0 => format!("M{:.1} {y:.1}a{r} {r} 0 1 0 7.2 0a{r} {r} 0 1 0 -7.2 0Z", x - r),
        1 => format!("M{:.1} {:.1}h6.4v6.4h-6.4Z", x - 3.2, y - 3.2),
        2 => format!("M{x:.1} {:.1}l4.2 7h-8.4Z", y - 4.4),
        3 => format!("M{x:.1} {:.1}l4.6 4.6l-4.6 4.6l-4.6 -4.6Z", y - 4.6),
        4 => format!("M{x:.1} {:.1}l4.2 -7h-8.4Z", y + 4.4),
        _ => format!("M{:.1} {:.1}h8.4v2.8h-8.4Z", x - 4.2, y - 1.4),
    }
}

/// Around a place on a line, wide enough to be seen behind a mark.
fn ring(x: f64, y: f64) -> String {
    format!("M{:.1} {y:.1}a6 6 0 1 0 12 0a6 6 0 1 0 -12 0Z", x - 6.0)
}

/// Left, right, top and bottom of the field inside the axes.
fn frame() -> (f64, f64, f64, f64) {
    let (left, right, top, bottom) = MARGIN;
    (left, SIZE.0 - right, top, SIZE.1 - bottom)
}

fn open(title: &str) -> String {
    open_of(title, SIZE.1)
}

fn open_of(title: &str, height: f64) -> String {
    let width = SIZE.0;
    let title = escape(title);
    format!(
        "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{title}\" \
         xmlns=\"http://www.w3.org/2000/svg\">"
    )
}

fn axes(out: &mut String, x: &Axis, y: &Axis) {
    let (left, right, top, bottom) = frame();
    for (number, text) in y.scale.ticks() {
        let at = bottom - y.scale.place(number) * (bottom - top);
        let _ = write!(
            out,
            "<path class=\"rule\" d=\"M{left} {at:.1}H{right}\"/><text class=\"tick\" x=\"{}\" \
             y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            left - 6.0,
            at + 4.0,
            escape(&text)
        );
    }
    for (number, text) in spaced(&x.scale, right - left) {
        let at = left + x.scale.place(number) * (right - left);
        // A long text under the last tick would be cut off in the middle.
        let middle = at.min(SIZE.0 - half_width(&text));
        let _ = write!(
            out,
            "<path class=\"axis\" d=\"M{at:.1} {bottom}v4\"/><text class=\"tick\" \
             x=\"{middle:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            bottom + 17.0,
            escape(&text)
        );
    }
    let _ = write!(
        out,
        "<path class=\"axis\" d=\"M{left} {top}V{bottom}H{right}\"/><text class=\"label\" x=\"2\" \
         y=\"14\">{}</text><text class=\"label\" x=\"{:.1}\" y=\"{:.1}\" \
         text-anchor=\"middle\">{}</text>",
        escape(&y.label),
        (left + right) / 2.0,
        SIZE.1 - 6.0,
        escape(&x.label)
    );
}

/// The ticks that have room beside each other; the first and the last stay.
fn spaced(scale: &Scale, width: f64) -> Vec<(f64, String)> {
    let mut kept: Vec<(f64, String)> = Vec::new();
    let ticks = scale.ticks();
    let place = |number: f64| scale.place(number) * width;
    let last_from = ticks.last().map(|(number, text)| place(*number) - half_width(text));
    let mut free_from = f64::NEG_INFINITY;
    for (index, (number, text)) in ticks.iter().enumerate() {
        let (at, half) = (place(*number), half_width(text));
        let is_end = index == 0 || index + 1 == ticks.len();
        let has_room = at - half >= free_from && last_from.is_none_or(|last| at + half <= last);
        if is_end || has_room {
            free_from = at + half;
            kept.push((*number, text.clone()));
        }
    }
    kept
}

/// Half of what a tick's text takes, with a little room.
fn half_width(text: &str) -> f64 {
    text.chars().count() as f64 * 3.6 + 3.0
}

fn class(colour: usize) -> String {
    format!("s{}", colour % COLOURS)
}

/// A number in a tooltip.
fn short(number: f64) -> String {
    let digits = match number.abs() {
        size if size >= 100.0 || number.fract() == 0.0 => 0,
        size if size >= 1.0 => 2,
        _ => 4,
    };
    format!("{number:.digits$}")
}

/// A number beside a mark: three digits or four.
fn in_short(number: f64) -> String {
    match number.abs() {
        size if size >= 1e6 => format!("{:.2}M", number / 1e6),
        size if size >= 1e5 => format!("{:.0}k", number / 1e3),
        size if size >= 1e4 => format!("{:.1}k", number / 1e3),
        size if size >= 100.0 || number == 0.0 => format!("{number:.0}"),
        size if size >= 10.0 => format!("{number:.1}"),
        _ => format!("{number:.2}"),
    }
}

/// Text that may stand in XML.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart() -> Chart {
        let mark = |x: f64, y: f64| Mark { x, y, bar: Some((y - 1.0, y + 1.0)) };
        Chart {
            x: Axis { label: "readers".into(), scale: Scale::Linear { from: 0.0, to: 10.0 } },
            y: Axis { label: "calls/s".into(), scale: Scale::from_zero(20.0) },
            series: vec![Series {
                name: "a < b".into(),
                marked: true,
                points: vec![mark(1.0, 5.0), mark(10.0, 19.0)],
                ..Series::default()
            }],
            shaded: vec![(0.0, 1.0, "warm-up".into())],
            knees: vec![(0, mark(10.0, 19.0))],
            level: Some(1.0),
        }
    }

    #[test]
    fn a_drawing_has_axes_marks_bars_and_no_raw_brackets() {
        let svg = chart().svg("t & t");
        for part in ["readers", "calls/s", "a &lt; b", "t &amp; t", "class=\"shade\""] {
            assert!(svg.contains(part), "{part} in {svg}");
        }
        assert_eq!(svg.matches("class=\"mark s0\"").count(), 2);
        assert_eq!(svg.matches("class=\"bar s0\"").count(), 2);
        assert_eq!((svg.matches("\"level\"").count(), svg.matches("\"ring s0\"").count()), (1, 1));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }

    #[test]
    fn ticks_that_would_overlap_are_left_out() {
        let names = (0..20).map(|i| format!("a long name {i}")).collect();
        assert!(spaced(&Scale::Names(names), 420.0).len() < 6);
        let numbers = Scale::Names((1..=10).map(|i| i.to_string()).collect());
        assert_eq!(spaced(&numbers, 420.0).len(), 10);
        let ticks = vec![1.0, 3.0, 9.0, 27.0, 1_000_000.0, 1_000_001.0];
        let scale = Scale::LogAt { from: 1.0, to: 1e6 + 1.0, ticks };
        let texts: Vec<String> = spaced(&scale, 420.0).into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts.len(), 5, "one of the last two: {texts:?}");
    }
}

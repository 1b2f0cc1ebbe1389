//! Bars side by side, in groups: what is counted by size, or for each of a few.

use super::{Axis, Entry, Key, Mark, Scale, axes, class, escape, frame, in_short, open};
use std::fmt::Write;

/// Groups of bars.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    /// Horizontal, in words.
    pub x: String,
    /// Vertical, in words with the unit.
    pub y: String,
    /// Under each group.
    pub names: Vec<String>,
    /// One bar of each group.
    pub series: Vec<BarSeries>,
}

/// The bars of one colour.
#[derive(Clone, Debug, PartialEq)]
pub struct BarSeries {
    /// For the legend.
    pub name: String,
    /// Its colour.
    pub colour: usize,
    /// How high they are in each group, with the ends of what was seen; none where nothing was.
    pub heights: Vec<Option<Mark>>,
}

impl BarSeries {
    /// Bars of numbers that are known for each group.
    pub fn of(name: String, colour: usize, numbers: Vec<f64>) -> BarSeries {
        let height = |y| Some(Mark { y, ..Mark::default() });
        BarSeries { name, colour, heights: numbers.into_iter().map(height).collect() }
    }
}

/// Share of its place that a group fills.
const GROUP: f64 = 0.84;
/// Bars so wide have their numbers above them.
const NUMBERED: f64 = 36.0;

impl Bars {
    /// The drawing.
    pub fn svg(&self, title: &str) -> String {
        let heights = self.series.iter().flat_map(|series| &series.heights).flatten();
        let top_of = |mark: &Mark| mark.bar.map_or(mark.y, |(_, high)| high.max(mark.y));
        let most = heights.map(top_of).fold(0.0, f64::max);
        let x = Axis { label: self.x.clone(), scale: Scale::Names(self.names.clone()) };
        let y = Axis { label: self.y.clone(), scale: Scale::from_zero(most) };
        let mut out = open(title);
        axes(&mut out, &x, &y);
        let (left, right, top, bottom) = frame();
        let group = (right - left) / self.names.len().max(1) as f64 * GROUP;
        let width = group / self.series.len().max(1) as f64;
        for (index, series) in self.series.iter().enumerate() {
            for (place, (height, under)) in series.heights.iter().zip(&self.names).enumerate() {
                let Some(height) = height else { continue };
                let middle = left + x.scale.place(place as f64) * (right - left);
                let from = middle - group / 2.0 + index as f64 * width;
                let at = |number: f64| bottom - y.scale.place(number) * (bottom - top);
                let _ = write!(
                    out,
                    "<rect class=\"fill {}\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" \
                     height=\"{:.1}\"><title>{}, {}: {:.1}</title></rect>",
                    class(series.colour),
                    at(height.y),
                    (width - 0.6).max(0.4),
                    bottom - at(height.y),
                    escape(&series.name),
                    escape(under),
                    height.y
                );
                let centre = from + width / 2.0;
                let mut above = at(height.y);
                if let Some((low, high)) = height.bar.filter(|(low, high)| low < high) {
                    above = at(high);
                    let _ = write!(
                        out,
                        "<path class=\"ends\" d=\"M{centre:.1} {:.1}V{above:.1}\"/>",
                        at(low)
                    );
                }
                if width >= NUMBERED {
                    let _ = write!(
                        out,
                        "<text class=\"small\" x=\"{centre:.1}\" y=\"{:.1}\" \
                         text-anchor=\"middle\">{}</text>",
                        above - 4.0,
                        in_short(height.y)
                    );
                }
            }
        }
        out.push_str("</svg>");
        out
    }

    /// What the page shall say about the bars.
    pub fn legend(&self) -> Vec<Entry> {
        let entry = |series: &BarSeries| Entry {
            colour: series.colour,
            key: Key::Filled,
            name: series.name.clone(),
        };
        self.series.iter().map(entry).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_has_a_bar_of_each_series() {
        let bars = Bars {
            x: "calls in a batch".into(),
            y: "share".into(),
            names: vec!["1 to 2".into(), "3 to 4".into()],
            series: vec![
                BarSeries::of("a".into(), 0, vec![10.0, 0.0]),
                BarSeries::of("b".into(), 1, vec![5.0, 20.0]),
            ],
        };
        let svg = bars.svg("t");
        assert_eq!(svg.matches("<rect class=\"fill s0\"").count(), 2);
        assert!(svg.contains("b, 3 to 4: 20.0") && !svg.contains("NaN"), "{svg}");
        assert_eq!(bars.legend().len(), 2);
    }

    #[test]
    fn what_was_not_measured_has_no_bar_and_what_was_seen_has_its_ends() {
        let mark = Mark { y: 57_000.0, bar: Some((50_000.0, 60_000.0)), ..Mark::default() };
        let series = BarSeries { name: "a".into(), colour: 0, heights: vec![Some(mark), None] };
        let names = vec!["1".into(), "10".into()];
        let svg = Bars { x: "x".into(), y: "y".into(), names, series: vec![series] }.svg("t");
        assert_eq!(svg.matches("<rect").count(), 1);
        assert_eq!(svg.matches("class=\"ends\"").count(), 1);
        assert!(svg.contains(">57.0k</text>"), "{svg}");
    }
}

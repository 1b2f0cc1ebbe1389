//! Bars side by side, in groups: what is counted by size, or for each of a few.

use super::{Axis, Entry, Key, Scale, axes, class, escape, frame, open};
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
    /// One bar of each group: its name, its colour and a number for every group.
    pub series: Vec<(String, usize, Vec<f64>)>,
}

/// Share of its place that a group fills.
const GROUP: f64 = 0.84;

impl Bars {
    /// The drawing.
    pub fn svg(&self, title: &str) -> String {
        let numbers = self.series.iter().flat_map(|(_, _, numbers)| numbers);
        let most = numbers.copied().fold(0.0, f64::max);
        let x = Axis { label: self.x.clone(), scale: Scale::Names(self.names.clone()) };
        let y = Axis { label: self.y.clone(), scale: Scale::from_zero(most) };
        let mut out = open(title);
        axes(&mut out, &x, &y);
        let (left, right, top, bottom) = frame();
        let group = (right - left) / self.names.len().max(1) as f64 * GROUP;
        let width = group / self.series.len().max(1) as f64;
        for (index, (name, colour, numbers)) in self.series.iter().enumerate() {
            for (place, (number, under)) in numbers.iter().zip(&self.names).enumerate() {
                let middle = left + x.scale.place(place as f64) * (right - left);
                let from = middle - group / 2.0 + index as f64 * width;
                let height = y.scale.place(*number) * (bottom - top);
                let _ = write!(
                    out,
                    "<rect class=\"fill {}\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" \
                     height=\"{height:.1}\"><title>{}, {}: {number:.1}</title></rect>",
                    class(*colour),
                    bottom - height,
                    (width - 0.6).max(0.4),
                    escape(name),
                    escape(under)
                );
            }
        }
        out.push_str("</svg>");
        out
    }

    /// What the page shall say about the bars.
    pub fn legend(&self) -> Vec<Entry> {
        let entry = |(name, colour, _): &(String, usize, Vec<f64>)| Entry {
            colour: *colour,
            key: Key::Filled,
            name: name.clone(),
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
            series: vec![("a".into(), 0, vec![10.0, 0.0]), ("b".into(), 1, vec![5.0, 20.0])],
        };
        let svg = bars.svg("t");
        assert_eq!(svg.matches("<rect class=\"fill s0\"").count(), 2);
        assert!(svg.contains("b, 3 to 4: 20.0") && !svg.contains("NaN"), "{svg}");
        assert_eq!(bars.legend().len(), 2);
    }
}

//! Bars made of parts: where the time of a call goes.

use super::{Axis, Entry, Key, Scale, axes, class, escape, frame, open};
use std::fmt::Write;

/// Stacked bars side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Stacked {
    /// Horizontal, in words.
    pub x: String,
    /// Vertical, in words with the unit.
    pub y: String,
    /// Under each bar.
    pub names: Vec<String>,
    /// The parts from below, each with a number for every bar.
    pub parts: Vec<(String, Vec<f64>)>,
}

/// Share of its place that a bar fills.
const BAR: f64 = 0.62;

impl Stacked {
    /// The drawing.
    pub fn svg(&self, title: &str) -> String {
        let total = |bar: usize| self.parts.iter().filter_map(|(_, n)| n.get(bar)).sum::<f64>();
        let most = (0..self.names.len()).map(total).fold(0.0, f64::max);
        let x = Axis { label: self.x.clone(), scale: Scale::Names(self.names.clone()) };
        let y = Axis { label: self.y.clone(), scale: Scale::from_zero(most) };
        let mut out = open(title);
        axes(&mut out, &x, &y);
        let (left, right, top, bottom) = frame();
        let width = (right - left) / self.names.len().max(1) as f64 * BAR;
        for (bar, name) in self.names.iter().enumerate() {
            let middle = left + x.scale.place(bar as f64) * (right - left);
            let mut below = 0.0;
            for (colour, (part, numbers)) in self.parts.iter().enumerate() {
                let number = numbers.get(bar).copied().unwrap_or(0.0);
                let place = |n: f64| bottom - y.scale.place(n) * (bottom - top);
                let (from, to) = (place(below), place(below + number));
                below += number;
                let _ = write!(
                    out,
                    "<rect class=\"fill {}\" x=\"{:.1}\" y=\"{to:.1}\" width=\"{width:.1}\" \
                     height=\"{:.1}\"><title>{}, {}: {number:.1}</title></rect>",
                    class(colour),
                    middle - width / 2.0,
                    from - to,
                    escape(part),
                    escape(name)
                );
            }
        }
        out.push_str("</svg>");
        out
    }

    /// What the page shall say about the parts.
    pub fn legend(&self) -> Vec<Entry> {
        let entry = |(colour, (name, _)): (usize, &(String, Vec<f64>))| Entry {
            colour,
            key: Key::Filled,
            name: name.clone(),
        };
        self.parts.iter().enumerate().map(entry).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_stand_on_each_other() {
        let stacked = Stacked {
            x: "readers".into(),
            y: "us".into(),
            names: vec!["1".into(), "2".into()],
            parts: vec![("queued".into(), vec![10.0, 5.0]), ("served".into(), vec![10.0])],
        };
        let svg = stacked.svg("t");
        assert_eq!(svg.matches("<rect class=\"fill s0\"").count(), 2);
        assert!(svg.contains("queued, 1: 10.0") && svg.contains("served, 2: 0.0"));
        assert_eq!(stacked.legend().len(), 2);
    }
}

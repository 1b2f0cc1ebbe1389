//! What a page says beside a drawing: a small drawing and a name for each thing in it.

use super::{class, heat, ring, shape};

/// An entry of a legend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The colour's number.
    pub colour: usize,
    /// What is drawn beside the text.
    pub key: Key,
    /// The text.
    pub name: String,
}

/// What an entry of a legend stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A line.
    Line,
    /// A line with marks.
    Marked,
    /// A dashed line: a prediction.
    Dashed,
    /// A filled field.
    Filled,
    /// A ring around the place where a law bends.
    Knee,
    /// A hatched field: not measured.
    Hatched,
}

impl Entry {
    /// A small drawing of what the entry stands for.
    pub fn key(&self) -> String {
        let class = class(self.colour);
        let line = format!("<path class=\"line {class}\" d=\"M0 7h24\"/>");
        let drawn = match self.key {
            Key::Line => line,
            Key::Marked => {
                let mark = shape(self.colour, 12.0, 7.0);
                format!("{line}<path class=\"mark {class}\" d=\"{mark}\"/>")
            }
            Key::Dashed => format!("<path class=\"line dashed {class}\" d=\"M0 7h24\"/>"),
            Key::Filled => {
                format!("<rect class=\"fill {class}\" x=\"5\" width=\"14\" height=\"14\"/>")
            }
            Key::Knee => format!("<path class=\"ring {class}\" d=\"{}\"/>", ring(12.0, 7.0)),
            Key::Hatched => heat::hatched((2.0, 0.5), (20.0, 13.0)),
        };
        format!("<svg class=\"key\" viewBox=\"0 0 24 14\" aria-hidden=\"true\">{drawn}</svg>")
    }
}

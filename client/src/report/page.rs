//! Text in lines of at most 80 columns, with names where freon puts them.

use std::fmt::Display;

/// Columns of a line.
pub(super) const WIDTH: usize = 80;
/// Names end here, as in the block that freon prints.
pub(super) const NAME_WIDTH: usize = 18;

/// Lines of at most 80 columns.
pub(super) struct Page {
    pub(super) out: String,
}

impl Page {
    pub(super) fn line(&mut self, text: impl Display) {
        let text = text.to_string();
        self.out.push_str(text.trim_end());
        self.out.push('\n');
    }

    pub(super) fn section(&mut self, title: &str) {
        self.line("");
        self.rule(title);
    }

    pub(super) fn rule(&mut self, title: &str) {
        self.line(format!("-- {title} {}", "-".repeat(WIDTH - title.len() - 4)));
    }

    /// `name = text`, with the text broken between words where a line is full.
    pub(super) fn field(&mut self, name: &str, text: impl Display) {
        let text = text.to_string();
        let mut line = format!("{name:>NAME_WIDTH$} =");
        for word in text.split(' ') {
            if line.chars().count() + 1 + word.chars().count() > WIDTH {
                self.line(&line);
                line = " ".repeat(NAME_WIDTH + 2);
            }
            line.push(' ');
            line.push_str(word);
        }
        self.line(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_goes_on_in_the_next_line() {
        let mut page = Page { out: String::new() };
        page.section("Title");
        page.field("name", "words ".repeat(20));
        let lines: Vec<&str> = page.out.lines().collect();
        assert_eq!(lines[1], format!("-- Title {}", "-".repeat(71)));
        assert!(lines[2].starts_with("              name = words words"));
        assert!(lines[3].starts_with("                     words"));
        assert!(lines.iter().all(|line| line.len() <= WIDTH && !line.ends_with(' ')));
    }
}

//! Experiments that only tests know.

use super::{Experiment, FileError, Known, read};
use std::path::Path;

/// Reads a file of these groups, claims and panels.
pub(crate) fn made_up(text: &str) -> Experiment {
    made_up_form(text, false)
}

/// The same in its full or its quick form.
pub(crate) fn made_up_form(text: &str, quick: bool) -> Experiment {
    let text = format!("name = \"e\"\ntitle = \"T\"\nquestion = \"Q?\"\n{text}");
    read(Path::new("x.toml"), &text, &Known::default(), quick).unwrap()
}

/// Expects one line that names the place.
pub(super) fn assert_refused(
    parsed: Result<Experiment, FileError>,
    what: &str,
    line: usize,
    wrong: &str,
) {
    let text = parsed.unwrap_err().to_string();
    assert!(text.contains(wrong), "{what}: {text}");
    assert!(text.starts_with(&format!("x.toml:{line}: ")), "{what}, line {line}: {text}");
    assert!(!text.contains('\n'), "{text}");
}

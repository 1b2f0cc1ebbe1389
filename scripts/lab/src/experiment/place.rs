//! Errors that name their place in the file, in one line.

use std::ops::Range;
use std::path::Path;
use thiserror::Error;

/// What is wrong with an experiment file, and where: `readers.toml:12: ...`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}:{line}: {wrong}")]
pub struct FileError {
    /// As it was named.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// What is wrong, and what is allowed.
    pub wrong: String,
}

/// The text that spans point into.
pub(super) struct Source<'a> {
    pub(super) file: String,
    pub(super) text: &'a str,
}

impl Source<'_> {
    pub(super) fn new<'a>(path: &Path, text: &'a str) -> Source<'a> {
        Source { file: path.display().to_string(), text }
    }

    /// An error at the line on which `span` begins.
    pub(super) fn error(&self, span: Range<usize>, wrong: impl Into<String>) -> FileError {
        let before = self.text.as_bytes().iter().take(span.start);
        let line = before.filter(|&&byte| byte == b'\n').count() + 1;
        FileError { file: self.file.clone(), line, wrong: wrong.into() }
    }

    /// What the TOML reader found.
    pub(super) fn syntax(&self, error: &toml::de::Error) -> FileError {
        let wrong = error.message().replace('\n', "; ");
        self.error(error.span().unwrap_or(0..0), wrong)
    }
}

//! What was asked for makes no sense.

use thiserror::Error;

/// One line that names the option, what was wrong and what is allowed. Exit code 2.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Usage(pub String);

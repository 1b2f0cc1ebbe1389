//! What the lab writes for its user: standard output and files.

use std::io::{self, ErrorKind, Write};
use thiserror::Error;

/// Something could not be written; the system's word for why is its source. Exit code 74.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("cannot write {0}")]
pub struct Unwritten(pub String);

/// Prints to standard output. Who has closed it (`| head -1`) has read enough: that is no error.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(anyhow::Error::new(error).context(Unwritten("standard output".to_owned())))
        }
        _ => Ok(()),
    }
}

//! Where the report goes: standard output, or a file that appears whole or not at all.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// The report could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the report to {place}: {error}")]
pub(crate) struct OutputError {
    place: String,
    error: io::Error,
}

/// Prints to standard output. A reader that has seen enough (`| head -1`) is no error.
pub(crate) fn print(text: &str) -> Result<(), OutputError> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(OutputError { place: "standard output".to_owned(), error })
        }
        _ => Ok(()),
    }
}

/// Whether a report can be written to `path` later: its folder is there and takes files.
pub(crate) fn check(path: &Path) -> Result<(), OutputError> {
    let failed = |error| OutputError { place: path.display().to_string(), error };
    match Destination::of(path).map_err(failed)? {
        Destination::AsItIs => {
            OpenOptions::new().write(true).open(path).map_err(failed)?;
        }
        Destination::Replace { folder, .. } => {
            tempfile::Builder::new().prefix(PREFIX).tempfile_in(folder).map_err(failed)?;
        }
    }
    Ok(())
}

/// Writes the whole of `text` to `path`, or leaves what was there.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), OutputError> {
    let mut draft = Draft::begin(path)?;
    let written = draft.write_all(text.as_bytes());
    draft.finish(written.err())
}

/// A file that is being written and appears at its place when it is finished.
#[derive(Debug)]
pub(crate) struct Draft {
    path: PathBuf,
    target: Target,
}

#[derive(Debug)]
enum Target {
    AsItIs(BufWriter<File>),
    Replace { new: BufWriter<NamedTempFile>, file: PathBuf },
}

impl Draft {
    /// Begins what will be at `path`.
    pub(crate) fn begin(path: &Path) -> Result<Draft, OutputError> {
        let failed = |error| OutputError { place: path.display().to_string(), error };
        let target = match Destination::of(path).map_err(failed)? {
            Destination::AsItIs => {
                let file = OpenOptions::new().write(true).open(path).map_err(failed)?;
                Target::AsItIs(BufWriter::new(file))
            }
            Destination::Replace { folder, file } => {
                // The same permissions as any new file of this user: the umask takes its part.
                let new = tempfile::Builder::new()
                    .prefix(PREFIX)
                    .permissions(Permissions::from_mode(0o666))
                    .tempfile_in(folder)
                    .map_err(failed)?;
                Target::Replace { new: BufWriter::new(new), file }
            }
        };
        Ok(Draft { path: path.to_owned(), target })
    }

    /// Puts the file in its place, unless something `failed` on the way.
    pub(crate) fn finish(self, failed: Option<io::Error>) -> Result<(), OutputError> {
        let result = match failed {
            Some(error) => Err(error),
            None => self.target.finish(),
        };
        result.map_err(|error| OutputError { place: self.path.display().to_string(), error })
    }
}

impl Target {
    fn finish(self) -> io::Result<()> {
        match self {
            Target::AsItIs(mut file) => file.flush(),
            Target::Replace { new, file } => {
                let new = new.into_inner().map_err(io::IntoInnerError::into_error)?;
                new.as_file().sync_all()?;
                new.persist(file).map_err(|error| error.error)?;
                Ok(())
            }
        }
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.target {
            Target::AsItIs(file) => file.write(bytes),
            Target::Replace { new, .. } => new.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.target {
            Target::AsItIs(file) => file.flush(),
            Target::Replace { new, .. } => new.flush(),
        }
    }
}

const PREFIX: &str = ".echo-client-";

enum Destination {
    /// A device or a pipe, which must not be replaced by a file.
    AsItIs,
    /// A file, behind any links that lead to it.
    Replace { folder: PathBuf, file: PathBuf },
}

impl Destination {
    fn of(path: &Path) -> io::Result<Destination> {
        let file = match fs::metadata(path) {
            Ok(found) if found.is_dir() => return Err(ErrorKind::IsADirectory.into()),
            Ok(found) if !found.is_file() => return Ok(Destination::AsItIs),
            Ok(_) => fs::canonicalize(path)?,
            Err(error) if error.kind() == ErrorKind::NotFound => path.to_owned(),
            Err(error) => return Err(error),
        };
        let folder = match file.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        Ok(Destination::Replace { folder, file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        for text in ["a longer first report", "short"] {
            check(&path).unwrap();
            write(&path, text).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_keeps_pointing_to_the_file_that_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("real"), folder.path().join("link"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write(&link, "new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn a_device_is_written_to_and_not_replaced() {
        let null = Path::new("/dev/null");
        check(null).unwrap();
        write(null, "x").unwrap();
        assert!(!fs::metadata(null).unwrap().is_file());
    }

    #[test]
    fn a_place_that_takes_no_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path().join("missing/report"), folder.path().to_owned()] {
            for result in [check(&path), write(&path, "x")] {
                let error = result.unwrap_err().to_string();
                assert!(error.contains(&path.display().to_string()), "{error}");
            }
        }
    }
}

//! Where the report goes: standard output, or a file that appears whole or not at all.

use crate::notice;
use rustix::fs::{OFlags, fcntl_getfl};
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// The report could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to {place}: {error}")]
pub(crate) struct OutputError {
    place: String,
    error: io::Error,
}

impl OutputError {
    fn of_standard_output(error: io::Error) -> OutputError {
        OutputError { place: "standard output".to_owned(), error }
    }

    fn new(path: &Path, error: io::Error) -> OutputError {
        OutputError { place: path.display().to_string(), error }
    }
}

/// Prints to standard output. A reader that has seen enough (`| head -1`) is no error.
pub(crate) fn print(text: &str) -> Result<(), OutputError> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(OutputError::of_standard_output(error))
        }
        _ => Ok(()),
    }
}

/// Refuses a standard output that was not opened for writing: std drops what goes there, and says
/// that all went well.
pub(crate) fn check_standard_output() -> Result<(), OutputError> {
    let failed = OutputError::of_standard_output;
    let flags = fcntl_getfl(io::stdout()).map_err(|error| failed(error.into()))?;
    match flags & OFlags::ACCMODE {
        OFlags::RDONLY => Err(failed(io::Error::other("it is not open for writing"))),
        _ => Ok(()),
    }
}

/// Whether standard output may have been closed: where it was, std has opened /dev/null, for
/// reading as well, before the program began. A shell's `>/dev/null` is open for writing only, but
/// Python and Node start a program whose output they do not want just like that.
pub(crate) fn standard_output_may_be_closed() -> bool {
    let flags = fcntl_getfl(io::stdout()).unwrap_or(OFlags::empty());
    flags & OFlags::ACCMODE == OFlags::RDWR && standard_output_is_null()
}

fn standard_output_is_null() -> bool {
    let id = |found: &Metadata| found.file_type().is_char_device().then(|| found.rdev());
    match (standard_output(), fs::metadata("/dev/null")) {
        (Ok(stdout), Ok(null)) => id(&stdout).is_some() && id(&stdout) == id(&null),
        _ => false,
    }
}

fn standard_output() -> io::Result<Metadata> {
    File::from(io::stdout().as_fd().try_clone_to_owned()?).metadata()
}

/// Where an output will go, looked at before the run.
#[derive(Debug)]
pub(crate) struct Place {
    path: PathBuf,
    identity: Identity,
    /// A pipe or a device is opened once: its reader must not see an end before the end.
    opened: Option<File>,
}

/// By which two spellings of one place are known.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Identity {
    File(PathBuf),
    /// Device and inode of a pipe or a socket.
    Pipe(u64, u64),
    /// A device, which may be written to by many.
    Device,
}

impl Place {
    /// The place that `path` names.
    pub(crate) fn find(path: &Path) -> Result<Place, OutputError> {
        let failed = |error| OutputError::new(path, error);
        let identity = match Destination::of(path).map_err(failed)? {
            Destination::AsItIs(found) if found.file_type().is_char_device() => Identity::Device,
            Destination::AsItIs(found) => Identity::Pipe(found.dev(), found.ino()),
            Destination::Replace { folder, file, .. } => {
                let folder = fs::canonicalize(folder).map_err(failed)?;
                Identity::File(folder.join(file.file_name().unwrap_or_default()))
            }
        };
        Ok(Place { path: path.to_owned(), identity, opened: None })
    }

    /// Whether what is written to one of them would replace or disturb the other's.
    pub(crate) fn is_same(&self, other: &Place) -> bool {
        self.identity == other.identity && self.identity != Identity::Device
    }

    /// Whether standard output goes to the file that would be replaced here.
    pub(crate) fn is_standard_output(&self) -> bool {
        let Identity::File(file) = &self.identity else { return false };
        let ids = |found: Metadata| (found.dev(), found.ino());
        match (standard_output(), fs::metadata(file)) {
            (Ok(stdout), Ok(file)) => ids(stdout) == ids(file),
            _ => false,
        }
    }

    /// Opens a pipe or a device; of a file, tries whether its folder takes one. A pipe that nobody
    /// reads is waited for, as the shell does.
    pub(crate) fn open(&mut self) -> Result<(), OutputError> {
        let failed = |error| OutputError::new(&self.path, error);
        match Destination::of(&self.path).map_err(failed)? {
            Destination::AsItIs(found) => {
                let waiting = found.file_type().is_fifo().then(|| reader_of(&self.path)).flatten();
                let file = OpenOptions::new().write(true).open(&self.path).map_err(failed)?;
                drop(waiting);
                self.opened = Some(file);
            }
            Destination::Replace { folder, .. } => {
                tempfile::Builder::new().prefix(PREFIX).tempfile_in(folder).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// Writes the whole of `text`, or leaves what was there.
    pub(crate) fn write(self, text: &str) -> Result<(), OutputError> {
        let mut draft = self.begin()?;
        let written = draft.write_all(text.as_bytes());
        draft.finish(written.err())
    }

    /// Begins what will be here.
    pub(crate) fn begin(self) -> Result<Draft, OutputError> {
        let Place { path, opened, .. } = self;
        let target = match opened {
            Some(file) => Ok(Target::AsItIs(BufWriter::new(file))),
            None => Target::replacing(&path),
        };
        match target {
            Ok(target) => Ok(Draft { path, target }),
            Err(error) => Err(OutputError::new(&path, error)),
        }
    }
}

/// Holds a pipe's reader while the pipe is opened to wait for room; says so if there is none yet.
fn reader_of(path: &Path) -> Option<File> {
    let at_once = i32::try_from(OFlags::NONBLOCK.bits()).ok()?;
    let file = OpenOptions::new().write(true).custom_flags(at_once).open(path).ok();
    if file.is_none() {
        notice::line(format_args!("waiting until {} is read", path.display()));
    }
    file
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
    /// Puts the file in its place, unless something `failed` on the way.
    pub(crate) fn finish(self, failed: Option<io::Error>) -> Result<(), OutputError> {
        let result = match failed {
            Some(error) => Err(error),
            None => self.target.finish(),
        };
        result.map_err(|error| OutputError::new(&self.path, error))
    }
}

impl Target {
    /// A new file beside the place of `path`. It has the mode of what is there; what is new has
    /// the same permissions as any new file of this user, less what the umask takes.
    fn replacing(path: &Path) -> io::Result<Target> {
        let Destination::Replace { folder, file, mode } = Destination::of(path)? else {
            return Err(io::Error::other("a file when the run began, and none any more"));
        };
        let new = tempfile::Builder::new()
            .prefix(PREFIX)
            .permissions(Permissions::from_mode(mode.unwrap_or(0o666)))
            .tempfile_in(folder)?;
        if let Some(mode) = mode {
            new.as_file().set_permissions(Permissions::from_mode(mode))?;
        }
        Ok(Target::Replace { new: BufWriter::new(new), file })
    }

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
    AsItIs(Metadata),
    /// A file, behind any links that lead to it, and the mode of what is there.
    Replace { folder: PathBuf, file: PathBuf, mode: Option<u32> },
}

impl Destination {
    fn of(path: &Path) -> io::Result<Destination> {
        let (file, mode) = match fs::metadata(path) {
            Ok(found) if found.is_dir() => return Err(ErrorKind::IsADirectory.into()),
            Ok(found) if !found.is_file() => return Ok(Destination::AsItIs(found)),
            Ok(found) => (fs::canonicalize(path)?, Some(found.mode() & 0o777)),
            Err(error) if error.kind() == ErrorKind::NotFound => (path.to_owned(), None),
            Err(error) => return Err(error),
        };
        let folder = match file.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        Ok(Destination::Replace { folder, file, mode })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &Path) -> Result<(), OutputError> {
        Place::find(path)?.open()
    }

    fn write(path: &Path, text: &str) -> Result<(), OutputError> {
        let mut place = Place::find(path)?;
        place.open()?;
        place.write(text)
    }

    #[test]
    fn a_file_that_is_replaced_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        for mode in [0o600, 0o644, 0o666, 0o640] {
            fs::write(&path, "old").unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            write(&path, "new").unwrap();
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, mode);
            assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        }
    }

    #[test]
    fn one_place_is_known_by_all_its_spellings() {
        let folder = tempfile::tempdir().unwrap();
        let (here, link) = (folder.path().join("a"), folder.path().join("link"));
        let again = folder.path().join("sub/../a");
        fs::create_dir(folder.path().join("sub")).unwrap();
        let same = |one: &Path, other: &Path| {
            Place::find(one).unwrap().is_same(&Place::find(other).unwrap())
        };
        assert!(same(&here, &again), "before it is there");
        fs::write(&here, "x").unwrap();
        std::os::unix::fs::symlink(&here, &link).unwrap();
        assert!(same(&here, &again) && same(&link, &here));
        assert!(!same(&here, &folder.path().join("b")));
        assert!(!same(Path::new("/dev/null"), Path::new("/dev/null")), "it loses nothing more");
    }

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

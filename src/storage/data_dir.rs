//! The data directory of an embedded store, and who lives in it.
//!
//! Several processes may share one directory. Each holds a shared lock on the file `lock`; the one
//! that finds nobody else holds it alone while it starts, and may meanwhile do what only a sole
//! owner may: give the leases of a process that was killed back to the queue at once instead of
//! waiting until they run out. The lock goes with the process, however it ends.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::error::StoreError;

/// The file of the lock.
pub(super) const LOCK: &str = "lock";
/// The file of the embedded database; files whose names begin so belong to it.
pub(super) const DATABASE: &str = "halfspace.sqlite";
/// The directory of the local blobs.
pub(super) const BLOBS: &str = "blobs";

/// An open data directory. Dropping it gives up the lock.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    lock: File,
    alone: bool,
}

impl DataDir {
    /// Opens the directory, made for its owner only when there is none, and locks it: alone if
    /// nobody else lives in it, else shared. While another process is starting alone, waits for its
    /// [`DataDir::share`].
    ///
    /// Blocks its thread.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] or [`StoreError::Full`] when the directory cannot be made, read
    /// or locked.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        make_private_directory(path)?;
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true);
        let lock = private(&mut options).open(path.join(LOCK))?;
        let alone = match lock.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => {
                lock.lock_shared()?;
                false
            }
            Err(TryLockError::Error(error)) => return Err(error.into()),
        };
        Ok(Self {
            path: path.to_owned(),
            lock,
            alone,
        })
    }

    /// Whether no other process lives in the directory, and none can come in before
    /// [`DataDir::share`].
    #[must_use]
    pub fn alone(&self) -> bool {
        self.alone
    }

    /// Lets other processes in. To be called when all is done that only a sole owner may do.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the lock cannot be changed.
    pub fn share(&mut self) -> Result<(), StoreError> {
        if self.alone {
            // Linux changes the kind of a lock in one step. Where another system does not, a
            // process that slips in between may release the leases of this one; they are fenced, so
            // work is done twice at worst.
            self.lock.lock_shared()?;
            self.alone = false;
        }
        Ok(())
    }

    /// The directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file of the embedded database.
    #[must_use]
    pub fn database_path(&self) -> PathBuf {
        Self::database_in(&self.path)
    }

    /// Where the embedded database of a directory is.
    #[must_use]
    pub fn database_in(path: &Path) -> PathBuf {
        path.join(DATABASE)
    }

    /// Where the local blobs of a directory are.
    #[must_use]
    pub fn blobs_in(path: &Path) -> PathBuf {
        path.join(BLOBS)
    }

    /// Whether there is an embedded database in a directory, which is left as it is.
    ///
    /// # Errors
    /// When one cannot tell.
    pub fn holds_database(path: &Path) -> Result<bool, StoreError> {
        Ok(Self::database_in(path).try_exists()?)
    }

    /// The directory of the local blobs.
    #[must_use]
    pub fn blobs_path(&self) -> PathBuf {
        Self::blobs_in(&self.path)
    }

    /// Room for what has no name and does not stay.
    #[must_use]
    pub fn scratch(&self) -> Scratch {
        Scratch {
            directory: self.path.clone(),
        }
    }
}

/// Room for files that nobody can name, so that nothing is left of them when whoever wrote them is
/// done, or dead.
#[derive(Clone, Debug)]
pub struct Scratch {
    directory: PathBuf,
}

impl Scratch {
    /// Room below a directory that is there.
    #[must_use]
    pub fn below(directory: &Path) -> Self {
        let directory = directory.to_owned();
        Self { directory }
    }

    /// A new file, empty, open to read and to write; gone when it is closed.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn file(&self) -> io::Result<File> {
        tempfile::tempfile_in(&self.directory)
    }
}

/// Makes a directory and those above it, for their owner only. One that is there keeps its mode.
pub(super) fn make_private_directory(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Files that these options make are for their owner only.
pub(super) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_alone_and_the_second_is_not() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("a").join("b");
        let mut first = DataDir::open(&path).unwrap();
        assert!(first.alone());
        first.share().unwrap();
        assert!(!first.alone());
        let second = DataDir::open(&path).unwrap();
        assert!(!second.alone());
        drop(first);
        assert!(!DataDir::open(&path).unwrap().alone());
        drop(second);
        assert!(DataDir::open(&path).unwrap().alone());
    }

    #[test]
    fn the_second_comes_in_when_the_first_shares() {
        let parent = tempfile::tempdir().unwrap();
        let mut first = DataDir::open(parent.path()).unwrap();
        std::thread::scope(|scope| {
            let second = scope.spawn(|| DataDir::open(parent.path()).unwrap().alone());
            first.share().unwrap();
            assert!(!second.join().unwrap());
        });
    }

    #[cfg(unix)]
    #[test]
    fn directory_and_files_are_for_their_owner_only() {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("data");
        let _open = DataDir::open(&path).unwrap();
        assert_eq!(mode(&path), 0o700);
        assert_eq!(mode(&path.join("lock")), 0o600);
    }

    #[test]
    fn a_scratch_file_cannot_be_seen() {
        use std::io::{Read, Seek, Write};
        let parent = tempfile::tempdir().unwrap();
        let open = DataDir::open(parent.path()).unwrap();
        let seen = || std::fs::read_dir(parent.path()).unwrap().count();
        let before = seen();
        let mut file = open.scratch().file().unwrap();
        file.write_all(b"some").unwrap();
        file.rewind().unwrap();
        let mut read = String::new();
        file.read_to_string(&mut read).unwrap();
        assert_eq!((read.as_str(), seen()), ("some", before));
    }

    #[test]
    fn a_file_in_its_place_is_an_error() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("data");
        std::fs::write(&path, b"not a directory").unwrap();
        assert!(matches!(
            DataDir::open(&path),
            Err(StoreError::Unavailable(_))
        ));
    }
}

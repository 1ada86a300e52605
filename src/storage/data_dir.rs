//! The data directory of an embedded store, and the lock of the processes that share it.
//!
//! Each process holds a shared lock on the file `lock`. While a process starts and finds no other, it holds the lock
//! exclusively, and may then return the leases of a killed process to the queue without waiting for their expiry. The
//! lock ends with the process, however that ends.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::error::StoreError;

/// The lock file.
pub(super) const LOCK: &str = "lock";
/// The file of the embedded database. Files whose names begin with this name belong to the database.
pub(super) const DATABASE: &str = "halfspace.sqlite";
/// The directory of the local blobs.
pub(super) const BLOBS: &str = "blobs";

/// An open data directory, whose lock is released when it is dropped.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    lock: File,
    alone: bool,
}

/// Adds the path to an error of a file.
pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

impl DataDir {
    /// Opens and locks the directory, exclusively if no other process uses it and shared otherwise. If another
    /// process holds the exclusive lock, this waits for its [`DataDir::share`]. A missing directory is created with
    /// access for its owner only.
    ///
    /// Blocks its thread.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] or [`StoreError::Full`] when the directory cannot be created, read or locked.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        make_private_directory(path)?;
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true);
        let lock = path.join(LOCK);
        let lock = private(&mut options).open(&lock).map_err(at(&lock))?;
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

    /// Whether no other process uses the directory, and none can open it before [`DataDir::share`].
    #[must_use]
    pub fn alone(&self) -> bool {
        self.alone
    }

    /// Admits other processes. First do everything that only a sole process may do.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the lock cannot be changed.
    pub fn share(&mut self) -> Result<(), StoreError> {
        if self.alone {
            // Linux changes the kind of a lock in one step. On other systems another process may take the
            // lock in between and release the leases of this process. Leases are fenced, so at worst some
            // work is done twice.
            self.lock.lock_shared()?;
            self.alone = false;
        }
        Ok(())
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file of the embedded database.
    #[must_use]
    pub fn database_path(&self) -> PathBuf {
        Self::database_in(&self.path)
    }

    /// The file of the embedded database in a directory.
    #[must_use]
    pub fn database_in(path: &Path) -> PathBuf {
        path.join(DATABASE)
    }

    /// The directory of the local blobs in a directory.
    #[must_use]
    pub fn blobs_in(path: &Path) -> PathBuf {
        path.join(BLOBS)
    }

    /// Whether a directory contains an embedded database. Does not open the database.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn holds_database(path: &Path) -> Result<bool, StoreError> {
        Ok(Self::database_in(path).try_exists()?)
    }

    /// The directory of the local blobs.
    #[must_use]
    pub fn blobs_path(&self) -> PathBuf {
        Self::blobs_in(&self.path)
    }

    /// A place for temporary files without names.
    #[must_use]
    pub fn scratch(&self) -> ScratchDir {
        ScratchDir {
            directory: self.path.clone(),
        }
    }
}

/// A place for temporary files without names, which the system deletes when they are closed or the process dies.
#[derive(Clone, Debug)]
pub struct ScratchDir {
    directory: PathBuf,
}

impl ScratchDir {
    /// Temporary files in an existing directory.
    #[must_use]
    pub fn below(directory: &Path) -> Self {
        let directory = directory.to_owned();
        Self { directory }
    }

    /// A new empty file, open for reading and writing, which is deleted when closed.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn file(&self) -> io::Result<File> {
        tempfile::tempfile_in(&self.directory)
    }
}

/// Creates a directory and its ancestors with access for their owner only. An existing one keeps its mode.
pub(super) fn make_private_directory(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Restricts new files of these options to their owner.
pub(super) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_dir_is_alone_only_in_the_first_process() {
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
    fn data_dir_opens_a_second_time_when_the_first_shares() {
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
    fn data_dir_is_accessible_to_its_owner_only() {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("data");
        let _open = DataDir::open(&path).unwrap();
        assert_eq!(mode(&path), 0o700);
        assert_eq!(mode(&path.join("lock")), 0o600);
    }

    #[test]
    fn data_dir_scratch_file_has_no_name() {
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
    fn data_dir_refuses_a_file_in_its_place() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("data");
        std::fs::write(&path, b"not a directory").unwrap();
        assert!(matches!(
            DataDir::open(&path),
            Err(StoreError::Unavailable(_))
        ));
    }
}

//! A consistent copy of an embedded store, taken while other processes use the store.
//!
//! The backup copies the blobs, then the database, and then the blobs that only the copied database names. A blob is
//! written before its row and deleted after it. If a row of the copy names a blob that the backup never saw, its job
//! or dataset appeared and disappeared meanwhile, and the row is deleted from the copy. The copy therefore holds
//! everything that was acknowledged before the backup began and not deleted since. The backup locks nothing.
//!
//! The copy is built under another name and gets its own only when all of it is on disk.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::blobs::Blobs;
use super::blobs::opening::MARK;
use super::data_dir::{BLOBS, DATABASE, LOCK, make_private_directory, private};
use super::error::StoreError;
use super::sqlite::backup::{self as database, DatabaseCopy};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Backup {
    /// Number of blobs.
    pub blobs: u64,
    /// Bytes of these blobs.
    pub bytes: u64,
    /// Number of jobs and datasets that appeared and disappeared during the backup and are not in the copy.
    pub passed: u64,
    /// Blobs that rows name but the store has lost: the store is damaged, and so is the copy.
    pub lost: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The store is not embedded.
    #[error("--database-url: {0}")]
    NotEmbedded(String),
    /// The blobs are not beside the database.
    #[error(
        "--blob-url: a backup copies only a data directory that contains its blobs; with their own \
         tools, copy the database first and the blobs afterwards"
    )]
    BlobsElsewhere,
    /// The setting names no place for blobs.
    #[error("--blob-url: the URL is not a location for blobs")]
    BlobUrl,
    /// The directory contains no store.
    #[error("--data-dir {0}: the directory has no embedded store")]
    NoStore(String),
    /// Another version of the program wrote the store.
    #[error(
        "--data-dir {directory}: the store has schema version {found}, but this program has \
         {supported}; use the program version that serves the store"
    )]
    Schema {
        directory: String,
        found: i64,
        supported: i64,
    },
    /// The store cannot be read.
    #[error("--data-dir {directory}: {source}")]
    Store {
        directory: String,
        source: StoreError,
    },
    /// The target directory is unsuitable.
    #[error("{directory}: {reason}")]
    Target {
        directory: String,
        reason: &'static str,
    },
    /// The copy cannot be written.
    #[error("{directory}: {source}")]
    Write {
        directory: String,
        source: StoreError,
    },
}

/// Copies the store in `data_dir` to the directory `target`, which must be missing or empty. The copy is a data
/// directory that the server can open.
///
/// Some steps block the thread.
///
/// # Errors
/// The reason of the failure. There is then no copy under the name `target`, unless the disk failed at the last
/// rename and again when that was undone.
pub async fn backup(data_dir: &Path, target: &Path) -> Result<Backup, BackupError> {
    if !data_dir.join(DATABASE).is_file() {
        return Err(BackupError::NoStore(shown(data_dir)));
    }
    let (parent, unfinished) = places(data_dir, target)?;
    let unwritten = |source: io::Error| BackupError::Write {
        directory: shown(&unfinished),
        source: source.into(),
    };
    make_private_directory(&unfinished).map_err(unwritten)?;
    // Held until the end. A second backup to the same target is refused meanwhile.
    let _lock = lock(&unfinished)?;
    clear(&unfinished)?;
    let filled = Filling::new(data_dir, &unfinished).fill().await;
    let published = filled.and_then(|backup| {
        publish(&unfinished, target, &parent).map_err(unwritten)?;
        Ok(backup)
    });
    if published.is_err() {
        // The next backup to the same target removes any remaining files.
        let _ = fs::remove_dir_all(&unfinished);
    }
    published
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn refused(path: &Path, reason: &'static str) -> BackupError {
    BackupError::Target {
        directory: shown(path),
        reason,
    }
}

/// The parent directory of the copy, and the directory in which the copy is built.
fn places(data_dir: &Path, target: &Path) -> Result<(PathBuf, PathBuf), BackupError> {
    let Some(name) = target.file_name() else {
        return Err(refused(target, "the directory of the copy needs a name"));
    };
    match fs::read_dir(target).map(|mut entries| entries.next().is_none()) {
        Ok(true) => {}
        Ok(false) => return Err(refused(target, "the directory is not empty")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            return Err(refused(target, "the path is not a directory"));
        }
        Err(error) => return Err(unreadable(target, error)),
    }
    let parent = match target.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => return Err(refused(target, "the directory of the copy needs a name")),
    };
    make_private_directory(parent).map_err(|error| unreadable(target, error))?;
    let whole = |path: &Path| fs::canonicalize(path).map_err(|error| unreadable(path, error));
    let parent = whole(parent)?;
    if parent.starts_with(whole(data_dir)?) {
        return Err(refused(
            target,
            "the directory is inside the data directory",
        ));
    }
    let mut unfinished = name.to_owned();
    unfinished.push(".incomplete");
    let unfinished = parent.join(unfinished);
    Ok((parent, unfinished))
}

fn unreadable(path: &Path, error: io::Error) -> BackupError {
    BackupError::Write {
        directory: shown(path),
        source: error.into(),
    }
}

fn lock(unfinished: &Path) -> Result<File, BackupError> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true);
    let opened = private(&mut options).open(unfinished.join(LOCK));
    let lock = opened.map_err(|error| unreadable(unfinished, error))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => {
            let reason = "another backup to the same directory is running";
            Err(refused(unfinished, reason))
        }
        Err(TryLockError::Error(error)) => Err(unreadable(unfinished, error)),
    }
}

/// Removes the remains of an interrupted backup and nothing else.
fn clear(unfinished: &Path) -> Result<(), BackupError> {
    let cleared = || -> io::Result<bool> {
        let mut found = Vec::new();
        for entry in fs::read_dir(unfinished)? {
            let entry = entry?;
            let name = entry.file_name();
            let known = name.to_str().unwrap_or_default();
            match known == BLOBS || known.starts_with(DATABASE) {
                true => found.push(entry),
                false if known == LOCK => {}
                false => return Ok(false),
            }
        }
        for entry in found {
            match entry.file_type()?.is_dir() {
                true => fs::remove_dir_all(entry.path())?,
                false => fs::remove_file(entry.path())?,
            }
        }
        Ok(true)
    };
    match cleared() {
        Ok(true) => Ok(()),
        Ok(false) => Err(refused(unfinished, "the directory contains other files")),
        Err(error) => Err(unreadable(unfinished, error)),
    }
}

/// Puts the whole copy on disk and renames it to its target. If the rename is not known to be durable, the
/// rename is undone.
fn publish(unfinished: &Path, target: &Path, parent: &Path) -> io::Result<()> {
    sync_directories(unfinished)?;
    let parent = File::open(parent)?;
    fs::rename(unfinished, target)?;
    parent.sync_all().inspect_err(|_| {
        // If this rename fails as well, the target still holds a whole copy for now.
        let _ = fs::rename(target, unfinished);
    })
}

fn sync_directories(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_directories(&entry.path())?;
        }
    }
    File::open(directory)?.sync_all()
}

/// A copy in progress.
struct Filling<'a> {
    data_dir: &'a Path,
    unfinished: &'a Path,
    backup: Backup,
    /// Keys of the copied blobs.
    copied: BTreeSet<String>,
}

impl<'a> Filling<'a> {
    fn new(data_dir: &'a Path, unfinished: &'a Path) -> Self {
        Self {
            data_dir,
            unfinished,
            backup: Backup::default(),
            copied: BTreeSet::new(),
        }
    }

    async fn fill(mut self) -> Result<Backup, BackupError> {
        let source = self.data_dir.join(DATABASE);
        let target = self.unfinished.join(DATABASE);
        self.check_schema(&source).await?;
        self.copy_listed().await?;
        self.make_database(&target)?;
        let copied = database::copy(&source, &target).await;
        copied.map_err(|error| self.of_database(error))?;
        self.check_schema(&target).await?;
        let mut copy = DatabaseCopy::open(&target)
            .await
            .map_err(|error| self.unwritten(error))?;
        let named = copy
            .data_keys()
            .await
            .map_err(|error| self.unwritten(error))?;
        for key in &named {
            let cells = Blobs::cells_key(key);
            if !self.copied.contains(key) && !self.copy_blob(key)? {
                self.settle_gone(&source, &mut copy, key).await?;
            } else if !self.copied.contains(&cells) {
                self.copy_blob(&cells)?;
            }
        }
        copy.close().await.map_err(|error| self.unwritten(error))?;
        self.remove_unnamed(&named)?;
        let synced = File::open(&target).and_then(|file| file.sync_all());
        synced.map_err(|error| self.unwritten(error.into()))?;
        self.backup.blobs = self.copied.len() as u64;
        Ok(self.backup)
    }

    /// Handles a row of the copy whose blob no longer exists.
    async fn settle_gone(
        &mut self,
        source: &Path,
        copy: &mut DatabaseCopy,
        key: &str,
    ) -> Result<(), BackupError> {
        let named = database::names(source, key).await;
        if named.map_err(|error| self.of_store(error))? {
            self.backup.lost.push(key.to_owned());
            return Ok(());
        }
        let removed = copy.remove_rows_of(key).await;
        self.backup.passed += removed.map_err(|error| self.unwritten(error))?;
        Ok(())
    }

    /// Copies the blobs that exist now.
    async fn copy_listed(&mut self) -> Result<(), BackupError> {
        let directory = self.data_dir.join(BLOBS);
        if !directory.is_dir() {
            return Ok(());
        }
        let blobs = Blobs::local(&directory).map_err(|error| self.of_store(error))?;
        // The mark names the database of the blobs. No row names the mark.
        self.copy_file(MARK)?;
        for prefix in ["datasets", "jobs"] {
            let listed = blobs.list(prefix).await;
            for blob in listed.map_err(|error| self.of_store(error))? {
                self.copy_blob(&blob.key)?;
            }
        }
        Ok(())
    }

    /// Copies one blob to disk. Returns whether the blob still exists.
    fn copy_blob(&mut self, key: &str) -> Result<bool, BackupError> {
        let Some(bytes) = self.copy_file(key)? else {
            return Ok(false);
        };
        self.backup.bytes += bytes;
        self.copied.insert(key.to_owned());
        Ok(true)
    }

    /// Copies one file of the blobs to disk. Returns its size if the file still exists.
    fn copy_file(&self, key: &str) -> Result<Option<u64>, BackupError> {
        let mut source = match File::open(self.data_dir.join(BLOBS).join(key)) {
            Ok(source) => source,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.of_store(error.into())),
        };
        let target = self.unfinished.join(BLOBS).join(key);
        let mut copied = || -> io::Result<u64> {
            if let Some(directory) = target.parent() {
                make_private_directory(directory)?;
            }
            let mut options = OpenOptions::new();
            let mut target = private(options.create_new(true).write(true)).open(&target)?;
            let bytes = io::copy(&mut source, &mut target)?;
            target.sync_all()?;
            Ok(bytes)
        };
        let bytes = copied().map_err(|error| self.unwritten(error.into()))?;
        Ok(Some(bytes))
    }

    /// Creates the empty file for the copy of the database, readable by its owner only.
    fn make_database(&self, target: &Path) -> Result<(), BackupError> {
        let mut options = OpenOptions::new();
        let made = private(options.create_new(true).write(true)).open(target);
        made.map_err(|error| self.unwritten(error.into()))?;
        Ok(())
    }

    /// Removes the blobs that no row of the copy names. Their jobs ended during the backup.
    fn remove_unnamed(&mut self, named: &[String]) -> Result<(), BackupError> {
        let named: BTreeSet<&str> = named.iter().map(String::as_str).collect();
        let root = self.unfinished.join(BLOBS);
        let is_named = |key: &str| named.contains(&*Blobs::key_of_data(key));
        let unnamed = self.copied.iter().filter(|key| !is_named(key));
        let unnamed: Vec<String> = unnamed.cloned().collect();
        for key in unnamed {
            let path = root.join(&key);
            let removed = || -> io::Result<u64> {
                let bytes = path.metadata()?.len();
                fs::remove_file(&path)?;
                Ok(bytes)
            };
            self.backup.bytes -= removed().map_err(|error| self.unwritten(error.into()))?;
            self.copied.remove(&key);
            // Removes empty parent directories. The first directory that is not empty ends the loop.
            let above = path.ancestors().skip(1);
            let inside = above.take_while(|above| *above != root);
            let _ = inside.map(fs::remove_dir).find(Result::is_err);
        }
        Ok(())
    }

    async fn check_schema(&self, database: &Path) -> Result<(), BackupError> {
        let version = database::schema_version(database).await;
        let supported = database::supported_version();
        match version.map_err(|error| self.of_store(error))? {
            Some(found) if found == supported => Ok(()),
            Some(found) => Err(BackupError::Schema {
                directory: shown(self.data_dir),
                found,
                supported,
            }),
            None => Err(BackupError::NoStore(shown(self.data_dir))),
        }
    }

    fn of_store(&self, source: StoreError) -> BackupError {
        BackupError::Store {
            directory: shown(self.data_dir),
            source,
        }
    }

    fn unwritten(&self, source: StoreError) -> BackupError {
        BackupError::Write {
            directory: shown(self.unfinished),
            source,
        }
    }

    /// Classifies an error of the copy from one database to the other. A full disk is an error of the target.
    fn of_database(&self, error: StoreError) -> BackupError {
        match error {
            StoreError::Full(_) => self.unwritten(error),
            _ => self.of_store(error),
        }
    }
}

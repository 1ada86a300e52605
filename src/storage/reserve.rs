//! Disk space reserved for writes that must succeed when the disk is full.
//!
//! SQLite needs space in its log even to delete a row, so a file of [`BYTES`] without content lies beside the
//! embedded database. When a cancel, a deletion or the end of a job finds the disk full, the file is emptied and the
//! write retried. From then on the store refuses new data, which would consume the freed space, until the whole file
//! fits on the disk again.
//!
//! The file itself is the state, which makes it the same for all processes of a directory. If the file has its full
//! length, the space is reserved; if it is empty, the space has been released. If it is missing, it never fitted on the
//! disk: then nothing is reserved and nothing is refused.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::data_dir::private;
use super::error::StoreError;

/// Size of the reserve. SQLite's log grows to 4 MiB before SQLite copies it into the database. The copy may
/// lengthen the database by as much. The other half is for writes in the meantime.
pub(in crate::storage) const BYTES: u64 = 16 << 20;

/// Minimum time between two attempts to restore the file.
const ATTEMPT_INTERVAL: Duration = Duration::from_secs(1);

/// The reserved disk space of one database.
#[derive(Debug)]
pub(in crate::storage) struct Reserve {
    path: PathBuf,
    attempted_at: Mutex<Option<Instant>>,
}

impl Reserve {
    /// The reserve of the database in this file. No file is created yet.
    pub fn beside(database: &Path) -> Self {
        let mut path = database.as_os_str().to_owned();
        path.push("-reserve");
        Self {
            path: path.into(),
            attempted_at: Mutex::default(),
        }
    }

    /// Fills the file if the disk has enough space.
    pub fn make(&self) {
        let is_new = !self.path.exists();
        let Err(error) = self.fill() else {
            return;
        };
        tracing::warn!(%error, bytes = BYTES, "the disk has no space for the reserve");
        if is_new {
            // An empty file would mean that new data is refused.
            let _ = std::fs::remove_file(&self.path);
        }
    }

    /// Releases the disk space. Returns whether there is a reserve file, so that a retry makes sense.
    pub fn release(&self) -> bool {
        let given_up = || -> io::Result<bool> {
            let file = OpenOptions::new().write(true).open(&self.path)?;
            file.lock()?;
            let is_first = file.metadata()?.len() > 0;
            file.set_len(0)?;
            Ok(is_first)
        };
        match given_up() {
            Ok(true) => {
                tracing::warn!("the disk is full: the store accepts only writes that free space");
                true
            }
            Ok(false) => true,
            Err(_) => false,
        }
    }

    /// Whether the space was released and has not been restored.
    pub fn is_given_up(&self) -> bool {
        std::fs::metadata(&self.path).is_ok_and(|found| found.len() == 0)
    }

    /// Whether the space is reserved, or no reserve exists. Tries to restore a released reserve, at most once
    /// per second.
    pub fn is_kept(&self) -> bool {
        if !self.is_given_up() {
            return true;
        }
        if !self.may_attempt() || self.fill().is_err() {
            return false;
        }
        tracing::info!("the disk has free space again");
        true
    }

    /// The error of refused inserts while the reserve is released.
    pub fn refusal() -> StoreError {
        StoreError::Full("the remaining disk space is reserved for cancels and deletions".into())
    }

    fn may_attempt(&self) -> bool {
        let mut attempted_at = self
            .attempted_at
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let is_time = attempted_at.is_none_or(|at| at.elapsed() >= ATTEMPT_INTERVAL);
        if is_time {
            *attempted_at = Some(Instant::now());
        }
        is_time
    }

    fn fill(&self) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        let file = private(&mut options).open(&self.path)?;
        match file.try_lock() {
            Ok(()) => {}
            // Another process fills the file and will be done by the next attempt.
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        if file.metadata()?.len() == BYTES {
            return Ok(());
        }
        allocate(&file).inspect_err(|_| {
            // The space of a partial file is of use to other writers.
            let _ = file.set_len(0);
        })
    }
}

/// Allocates the space without writing.
#[cfg(target_os = "linux")]
fn allocate(file: &File) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::io::Errno;
    match fallocate(file, FallocateFlags::empty(), 0, BYTES) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => fill_up(file),
        done => Ok(done?),
    }
}

#[cfg(not(target_os = "linux"))]
fn allocate(file: &File) -> io::Result<()> {
    fill_up(file)
}

/// Fills the file by writing. The file reaches its full length only at the end.
fn fill_up(mut file: &File) -> io::Result<()> {
    use std::io::{Seek, Write};
    file.set_len(0)?;
    file.rewind()?;
    let part = vec![0xA5; 1 << 20];
    for _ in 0..BYTES >> 20 {
        file.write_all(&part)?;
    }
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn length(reserve: &Reserve) -> u64 {
        std::fs::metadata(&reserve.path).unwrap().len()
    }

    #[tokio::test]
    async fn reserve_is_released_and_made_again() {
        let directory = tempfile::tempdir().unwrap();
        let reserve = Reserve::beside(&directory.path().join("db"));
        assert!(!reserve.release());
        assert!(reserve.is_kept(), "nothing is kept, and nothing refused");
        reserve.make();
        assert_eq!(length(&reserve), BYTES);
        assert!(reserve.release() && reserve.release());
        assert_eq!(length(&reserve), 0);
        let other = Reserve::beside(&directory.path().join("db"));
        assert!(reserve.is_kept());
        assert!(other.is_kept());
        assert_eq!(length(&reserve), BYTES);
        reserve.release();
        // The last attempt was a moment ago.
        assert!(!reserve.is_kept());
        *reserve.attempted_at.lock().unwrap() = None;
        assert!(reserve.is_kept());
    }

    #[test]
    fn reserve_file_can_be_filled_by_writing() {
        let file = tempfile::tempfile().unwrap();
        fill_up(&file).unwrap();
        assert_eq!(file.metadata().unwrap().len(), BYTES);
    }
}

//! Room that is kept on the disk for what has to work when the disk is full.
//!
//! SQLite needs room in its log even to delete a row. So a file of [`BYTES`] lies beside the embedded
//! database and holds nothing. When a cancel, a deletion or the end of a job finds the disk full,
//! the file is emptied and the write is tried again; from then on nothing new is taken in, or it would
//! eat up what was freed, until there is room for the whole file again.
//!
//! The file itself is the state, so that all processes of a directory see the same: whole; emptied; or
//! not there, where there never was room for it, and then nothing is kept and nothing refused.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::data_dir::private;
use super::error::StoreError;

/// How much is kept: the log, which is folded into the database at 4 MiB; as much for the database,
/// which the folding may make longer; and as much again for what is written meanwhile.
pub(in crate::storage) const BYTES: u64 = 16 << 20;

/// Between two attempts to make the file whole again.
const ATTEMPT_INTERVAL: Duration = Duration::from_secs(1);

/// The room kept for one database.
#[derive(Debug)]
pub(in crate::storage) struct Reserve {
    path: PathBuf,
    attempted_at: Mutex<Option<Instant>>,
}

impl Reserve {
    /// The reserve of the database in this file. Nothing is made yet.
    pub fn beside(database: &Path) -> Self {
        let mut path = database.as_os_str().to_owned();
        path.push("-reserve");
        Self {
            path: path.into(),
            attempted_at: Mutex::default(),
        }
    }

    /// Makes the file whole, if there is room for it.
    pub fn make(&self) {
        let is_new = !self.path.exists();
        let Err(error) = self.fill() else {
            return;
        };
        tracing::warn!(%error, bytes = BYTES, "there is no room for a reserve on the disk");
        if is_new {
            // Emptied, it would mean that nothing new may be taken in.
            let _ = std::fs::remove_file(&self.path);
        }
    }

    /// Frees the room; whether there is a reserve, so that it helps to try again.
    pub fn give_up(&self) -> bool {
        let given_up = || -> io::Result<bool> {
            let file = OpenOptions::new().write(true).open(&self.path)?;
            file.lock()?;
            let is_first = file.metadata()?.len() > 0;
            file.set_len(0)?;
            Ok(is_first)
        };
        match given_up() {
            Ok(true) => {
                tracing::warn!(
                    "the disk is full: only what frees room is taken in until there is some"
                );
                true
            }
            Ok(false) => true,
            Err(_) => false,
        }
    }

    /// Whether the room is there, or is not kept at all; if it was given up, tries now and then to
    /// have it back.
    pub fn is_kept(&self) -> bool {
        let is_given_up = || std::fs::metadata(&self.path).is_ok_and(|found| found.len() == 0);
        if !is_given_up() {
            return true;
        }
        if !self.may_attempt() || self.fill().is_err() {
            return false;
        }
        tracing::info!("the disk has room again");
        true
    }

    /// What is refused while the room is not there.
    pub fn refusal() -> StoreError {
        StoreError::Full("what is left of the disk is kept for cancels and deletions".into())
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
            // Another process is at it, and will be done when somebody looks again.
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        if file.metadata()?.len() == BYTES {
            return Ok(());
        }
        allocate(&file).inspect_err(|_| {
            // What there was room for is of use to others.
            let _ = file.set_len(0);
        })
    }
}

/// Takes the room without writing to it.
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

/// Writes the file full; its length is that of a whole one only at the end.
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
    async fn the_room_is_given_up_and_taken_back() {
        let directory = tempfile::tempdir().unwrap();
        let reserve = Reserve::beside(&directory.path().join("db"));
        assert!(!reserve.give_up());
        assert!(reserve.is_kept(), "nothing is kept, and nothing refused");
        reserve.make();
        assert_eq!(length(&reserve), BYTES);
        assert!(reserve.give_up() && reserve.give_up());
        assert_eq!(length(&reserve), 0);
        let other = Reserve::beside(&directory.path().join("db"));
        assert!(reserve.is_kept());
        assert!(other.is_kept());
        assert_eq!(length(&reserve), BYTES);
        reserve.give_up();
        // It was attempted a moment ago.
        assert!(!reserve.is_kept());
        *reserve.attempted_at.lock().unwrap() = None;
        assert!(reserve.is_kept());
    }

    #[test]
    fn a_file_is_written_full_where_room_cannot_be_taken_otherwise() {
        let file = tempfile::tempfile().unwrap();
        fill_up(&file).unwrap();
        assert_eq!(file.metadata().unwrap().len(), BYTES);
    }
}

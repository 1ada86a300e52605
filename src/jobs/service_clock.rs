//! Service time: the age of records, measured without trust in the time of day.
//!
//! The time of day may jump, because a clock battery is empty or an operator mistypes a year, and records carry such
//! times. Service time instead is the time for which some process ran, by monotonic clocks. For each hour of it, every
//! process stores the earliest time of day that its clock showed (`Store::note_time`). If a record's time is earlier
//! than every clock reading of, say, the last thirty days of service, then it is certainly older than thirty days of
//! service. A sweep deletes a record only if it is certainly older than the retention.
//!
//! While no process runs, nothing ages, so a service that was off keeps its records longer. A record that a fast
//! clock dated into the future stays until the clocks arrive there.

use std::sync::Arc;
use std::time::Duration;

use crate::records::Timestamp;
use crate::storage::{Store, StoreError, TimeNote};

use super::ids::Ids;

/// Smaller jumps are not logged.
const TOLERANCE_MS: i64 = 60_000;

/// Clock readings are kept for two days beyond the longest retention.
const REMEMBERED_MS: u64 = 2 * 86_400_000;

/// The clock of a process, compared with the readings that are stored.
pub(super) struct ServiceClock {
    store: Arc<Store>,
    ids: Arc<Ids>,
    retention_days: u32,
    /// The clock readings of the last note.
    last: tokio::sync::Mutex<Option<ClockReading>>,
}

#[derive(Clone, Copy, Debug)]
struct ClockReading {
    /// Service time in milliseconds, as stored.
    observed_ms: u64,
    /// Monotonic clock.
    elapsed: Duration,
    /// Time of day.
    reading: Timestamp,
}

impl ServiceClock {
    pub(super) fn new(store: Arc<Store>, ids: Arc<Ids>, retention_days: u32) -> Self {
        Self {
            store,
            ids,
            retention_days,
            last: tokio::sync::Mutex::default(),
        }
    }

    /// Whether the clock has jumped since the last note.
    pub(super) async fn has_jumped(&self) -> bool {
        let seen = *self.last.lock().await;
        seen.is_some_and(|seen| self.jump_since(&seen).abs() > TOLERANCE_MS)
    }

    /// Milliseconds by which the time of day has moved more than the monotonic clock.
    fn jump_since(&self, seen: &ClockReading) -> i64 {
        let passed = self.ids.elapsed().saturating_sub(seen.elapsed);
        let passed = i64::try_from(passed.as_millis()).unwrap_or(i64::MAX);
        let went = self.ids.now().milliseconds() - seen.reading.milliseconds();
        went.saturating_sub(passed)
    }

    /// Stores the service time and the earliest clock reading since the last note.
    ///
    /// # Errors
    /// Those of the store. The next note then includes the reading.
    pub(super) async fn note(&self) -> Result<(), StoreError> {
        let mut last = self.last.lock().await;
        let (elapsed, reading) = (self.ids.elapsed(), self.ids.now());
        let observed_ms = match &*last {
            Some(seen) => {
                let jump = self.jump_since(seen);
                if jump.abs() > TOLERANCE_MS {
                    let (seconds, was) = (jump / 1_000, seen.reading);
                    tracing::warn!(%was, now = %reading, seconds, "the clock jumped; retention is not affected");
                }
                let passed = elapsed.saturating_sub(seen.elapsed).as_millis();
                seen.observed_ms + u64::try_from(passed).unwrap_or(u64::MAX)
            }
            None => {
                self.compare_with_last_reading(reading).await?;
                self.store.observed_time().await?
            }
        };
        let earliest = self.ids.take_earliest();
        let kept_ms = u64::from(self.retention_days) * 86_400_000 + REMEMBERED_MS;
        let note = TimeNote {
            observed_ms,
            earliest,
            kept_ms,
        };
        let noted = self.store.note_time(&note).await;
        if noted.is_err() {
            self.ids.see(earliest);
        }
        *last = Some(ClockReading {
            observed_ms: noted?,
            elapsed,
            reading,
        });
        Ok(())
    }

    /// Warns at the start if the clock is before, or far after, the last stored reading.
    async fn compare_with_last_reading(&self, now: Timestamp) -> Result<(), StoreError> {
        let Some(last) = self.store.earliest_reading(0).await? else {
            return Ok(());
        };
        let seconds = (now.milliseconds() - last.milliseconds()) / 1_000;
        if seconds < -TOLERANCE_MS / 1_000 {
            tracing::warn!(was = %last, %now, "the clock is behind its last stored reading; retention is not affected");
        } else if seconds / 86_400 > i64::from(self.retention_days) {
            tracing::warn!(
                was = %last, %now,
                "the clock is ahead of its last stored reading by more than --retention-days: if the service \
                 was not off for so long, the clock is wrong; retention is not affected"
            );
        }
        Ok(())
    }
}

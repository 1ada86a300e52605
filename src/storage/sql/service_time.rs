//! Statements of service time and clock readings, and the repair of leases after a clock jump. Service time is the time
//! for which some process of the service ran.

use super::super::error::Result;
use super::super::history::{self, Facts};
use super::super::terms::{SECONDS_AHEAD_MAX, TimeNote};
use super::database::{Transaction, statement};
use super::rows;
use super::store::Store;
use crate::records::Timestamp;

const HOUR_MS: u64 = 3_600_000;

impl Store {
    /// Stores the service time and the earliest clock reading of the present hour of service. Returns the
    /// greatest service time that any process has stored.
    pub async fn note_time(&self, note: &TimeNote) -> Result<u64> {
        self.with_reserve(|| async move {
            let mut transaction = self.database.begin().await?;
            let insert = statement(
                "INSERT INTO service_time (one, observed) VALUES (1, $1) ON CONFLICT (one) DO NOTHING",
            );
            let observed_ms = rows::signed(note.observed_ms)?;
            transaction.execute(insert.bind(observed_ms)).await?;
            let select = statement("SELECT observed FROM service_time {for update}");
            let found = transaction.one(select).await?;
            let observed_ms = rows::unsigned(&found, "observed")?.max(note.observed_ms);
            let update = statement("UPDATE service_time SET observed = $1");
            let update = update.bind(rows::signed(observed_ms)?);
            transaction.execute(update).await?;
            keep_reading(&mut transaction, observed_ms, note.earliest).await?;
            let delete = statement("DELETE FROM clock_readings WHERE hour < $1");
            let forgotten = hour(observed_ms.saturating_sub(note.kept_ms))?;
            transaction.execute(delete.bind(forgotten)).await?;
            transaction.commit().await?;
            Ok(observed_ms)
        })
        .await
    }

    /// The stored service time in milliseconds.
    pub async fn observed_time(&self) -> Result<u64> {
        let select = statement("SELECT observed FROM service_time");
        let found = self.database.optional(select).await?;
        found.map_or(Ok(0), |row| rows::unsigned(&row, "observed"))
    }

    /// The earliest clock reading of any process in the last `within_ms` of service time, extended to whole hours, or
    /// `None` if the service has not run for so long.
    pub async fn earliest_reading(&self, within_ms: u64) -> Result<Option<Timestamp>> {
        let Some(since) = self.observed_time().await?.checked_sub(within_ms) else {
            return Ok(None);
        };
        let select =
            statement("SELECT MIN(earliest) AS earliest FROM clock_readings WHERE hour >= $1");
        let found = self.database.one(select.bind(hour(since)?)).await?;
        let earliest: Option<i64> = found.get("earliest")?;
        Ok(earliest.map(Timestamp::from_milliseconds))
    }

    /// Shortens leases and delays that end more than [`SECONDS_AHEAD_MAX`] from now to `lease_seconds`, and returns
    /// their number: they were written before the clock of the database jumped.
    pub async fn shorten_leases(&self, lease_seconds: u32) -> Result<u64> {
        let write = || async move {
            let mut transaction = self.database.begin().await?;
            let mut shortened = 0;
            for text in [
                "UPDATE jobs SET lease_until = {now} + $1 WHERE status = 'running' \
                 AND lease_until > {now} + $2",
                "UPDATE jobs SET not_before = {now} + $1 WHERE status = 'queued' AND waits = FALSE \
                 AND not_before > {now} + $2",
                "UPDATE callbacks SET due_at = {now} + $1 WHERE due_at > {now} + $2",
            ] {
                let update = statement(text).bind(lease_seconds).bind(SECONDS_AHEAD_MAX);
                shortened += transaction.execute(update).await?;
            }
            transaction.commit().await?;
            Ok(shortened)
        };
        let facts = || Facts {
            seconds: Some(lease_seconds),
            ..Facts::of("shorten-leases")
        };
        history::recorded(facts, self.with_reserve(write)).await
    }
}

async fn keep_reading(
    transaction: &mut Transaction,
    observed_ms: u64,
    earliest: Timestamp,
) -> Result<()> {
    let insert = statement(
        "INSERT INTO clock_readings (hour, earliest) VALUES ($1, $2) \
         ON CONFLICT (hour) DO UPDATE SET earliest = CASE \
         WHEN excluded.earliest < clock_readings.earliest THEN excluded.earliest \
         ELSE clock_readings.earliest END",
    )
    .bind(hour(observed_ms)?)
    .bind(earliest.milliseconds());
    transaction.execute(insert).await.map(|_| ())
}

fn hour(milliseconds: u64) -> Result<i64> {
    rows::signed(milliseconds / HOUR_MS)
}

//! Times in milliseconds, and the clock that gives them.
//!
//! A time is written in RFC 3339 with milliseconds and `Z`. The system clock is never read here: code that needs the
//! time takes a [`Clock`] as a parameter.

use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use time::format_description::BorrowedFormatItem;
use time::format_description::well_known::Rfc3339;
use time::macros::format_description;
use time::{OffsetDateTime, UtcDateTime};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type};

/// A point in time, in milliseconds since the start of 1970 (UTC), within the years 0 to 9999 because RFC 3339 can
/// write no others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// 0000-01-01T00:00:00.000Z.
const EARLIEST: i64 = -62_167_219_200_000;
/// 9999-12-31T23:59:59.999Z.
const LATEST: i64 = 253_402_300_799_999;

/// RFC 3339 with exactly three digits of the second.
const WRITTEN: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");

impl Timestamp {
    /// The time `milliseconds` after the start of 1970, clamped to the years 0 to 9999.
    #[must_use]
    pub fn from_milliseconds(milliseconds: i64) -> Self {
        Self(milliseconds.clamp(EARLIEST, LATEST))
    }

    /// Milliseconds since the start of 1970.
    #[must_use]
    pub fn milliseconds(self) -> i64 {
        self.0
    }

    /// Parses an RFC 3339 text. Fractions of a millisecond are cut off.
    ///
    /// # Errors
    /// The text is not RFC 3339.
    pub fn parse(text: &str) -> Result<Self, time::error::Parse> {
        let parsed = OffsetDateTime::parse(text, &Rfc3339)?;
        let milliseconds = parsed.unix_timestamp_nanos().div_euclid(1_000_000);
        // Times with four-digit years are far within i64. Saturation makes this clear without a proof.
        Ok(Self::from_milliseconds(
            i64::try_from(milliseconds).unwrap_or(i64::MAX),
        ))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moment = UtcDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000_000)
            .map_err(|_| fmt::Error)?;
        f.write_str(&moment.format(WRITTEN).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

impl utoipa::PartialSchema for Timestamp {
    fn schema() -> RefOr<Schema> {
        let format = SchemaFormat::KnownFormat(KnownFormat::DateTime);
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(format))
            .into()
    }
}

impl utoipa::ToSchema for Timestamp {}

pub trait Clock: Send + Sync {
    /// The current time, which may jump forwards and backwards as system clocks do.
    fn now(&self) -> Timestamp;

    /// How long the clock has run, or somewhat less. It neither decreases nor jumps.
    fn elapsed(&self) -> Duration;
}

/// A clock for tests, which stands still until it is moved.
#[derive(Debug)]
pub struct ManualClock {
    reading: AtomicI64,
    elapsed_ms: AtomicU64,
}

impl ManualClock {
    #[must_use]
    pub fn new(start: Timestamp) -> Self {
        Self {
            reading: AtomicI64::new(start.milliseconds()),
            elapsed_ms: AtomicU64::new(0),
        }
    }

    /// Lets time pass and returns the new time.
    pub fn advance_milliseconds(&self, milliseconds: u64) -> Timestamp {
        self.elapsed_ms.fetch_add(milliseconds, Ordering::SeqCst);
        self.jump_milliseconds(i64::try_from(milliseconds).unwrap_or(i64::MAX))
    }

    /// Moves the clock forwards or backwards without letting time pass. Returns the new time.
    pub fn jump_milliseconds(&self, milliseconds: i64) -> Timestamp {
        let before = self.reading.fetch_add(milliseconds, Ordering::SeqCst);
        Timestamp::from_milliseconds(before.saturating_add(milliseconds))
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_milliseconds(self.reading.load(Ordering::SeqCst))
    }

    fn elapsed(&self) -> Duration {
        Duration::from_millis(self.elapsed_ms.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamp_is_written_with_milliseconds_and_z() {
        for (milliseconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (1_700_000_000_007, "2023-11-14T22:13:20.007Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (i64::MIN, "0000-01-01T00:00:00.000Z"),
            (i64::MAX, "9999-12-31T23:59:59.999Z"),
        ] {
            let timestamp = Timestamp::from_milliseconds(milliseconds);
            assert_eq!(timestamp.to_string(), text);
            assert_eq!(Timestamp::parse(text).unwrap(), timestamp);
            let json = serde_json::to_string(&timestamp).unwrap();
            assert_eq!(serde_json::from_str::<Timestamp>(&json).unwrap(), timestamp);
        }
    }

    #[test]
    fn timestamp_reads_other_offsets_and_cuts_finer_digits() {
        let expected = Timestamp::from_milliseconds(1_700_000_000_007);
        for text in [
            "2023-11-15T00:13:20.0079999+02:00",
            "2023-11-14T22:13:20.007Z",
        ] {
            assert_eq!(Timestamp::parse(text).unwrap(), expected);
        }
        assert!(Timestamp::parse("2023-11-14").is_err());
        assert!(Timestamp::parse("yesterday").is_err());
    }

    #[test]
    fn the_manual_clock_stands_still_until_moved() {
        let clock = ManualClock::new(Timestamp::from_milliseconds(5));
        assert_eq!(clock.now(), clock.now());
        assert_eq!(clock.advance_milliseconds(10), clock.now());
        assert_eq!(clock.now().milliseconds(), 15);
        assert_eq!(clock.jump_milliseconds(-10).milliseconds(), 5);
        assert_eq!(clock.elapsed(), Duration::from_millis(10));
    }
}

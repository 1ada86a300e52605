//! Ids of stored things: a prefix for the kind and a UUIDv7 as 32 lower-case hex digits.
//!
//! A UUIDv7 begins with a timestamp, so ids are ordered by their time of creation, to the millisecond, both as values
//! and as text. Lists and the queue rely on this order. The caller supplies the time and the random bytes of an id;
//! this module reads neither a clock nor a random generator.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use uuid::{Builder, Uuid, Variant, Version};

use super::time::Timestamp;

/// A kind of stored thing, which determines the prefix of an [`Id`].
pub trait Kind: Copy + fmt::Debug + Ord + Send + Sync + 'static {
    /// The prefix with the underscore, such as `job_`.
    const PREFIX: &'static str;
    /// The noun for such a thing in a sentence.
    const NOUN: &'static str;
    /// The name of the id's schema in the OpenAPI document.
    const SCHEMA: &'static str;
}

/// Marks the ids of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JobKind {}

impl Kind for JobKind {
    const PREFIX: &'static str = "job_";
    const NOUN: &'static str = "job";
    const SCHEMA: &'static str = "JobId";
}

/// Marks the ids of models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ModelKind {}

impl Kind for ModelKind {
    const PREFIX: &'static str = "mdl_";
    const NOUN: &'static str = "model";
    const SCHEMA: &'static str = "ModelId";
}

/// Marks the ids of datasets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DatasetKind {}

impl Kind for DatasetKind {
    const PREFIX: &'static str = "ds_";
    const NOUN: &'static str = "dataset";
    const SCHEMA: &'static str = "DatasetId";
}

/// Marks the ids of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SessionKind {}

impl Kind for SessionKind {
    const PREFIX: &'static str = "ses_";
    const NOUN: &'static str = "session";
    const SCHEMA: &'static str = "SessionId";
}

/// Marks the ids of API keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ApiKeyKind {}

impl Kind for ApiKeyKind {
    const PREFIX: &'static str = "key_";
    const NOUN: &'static str = "key";
    const SCHEMA: &'static str = "ApiKeyId";
}

/// The id of a job: `job_` and 32 hex digits.
pub type JobId = Id<JobKind>;
/// The id of a model: `mdl_` and 32 hex digits.
pub type ModelId = Id<ModelKind>;
/// The id of a dataset: `ds_` and 32 hex digits.
pub type DatasetId = Id<DatasetKind>;
/// The id of a session: `ses_` and 32 hex digits.
pub type SessionId = Id<SessionKind>;
/// The id of an API key: `key_` and 32 hex digits.
pub type ApiKeyId = Id<ApiKeyKind>;

/// The id of a thing of kind `K`. Ids are ordered by their time of creation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id<K> {
    uuid: Uuid,
    kind: PhantomData<K>,
}

impl<K: Kind> Id<K> {
    /// Makes an id from a time and 10 random bytes, of which 74 bits are kept. A time before 1970 counts as 1970.
    #[must_use]
    pub fn new(timestamp: Timestamp, random: [u8; 10]) -> Self {
        let milliseconds = u64::try_from(timestamp.milliseconds()).unwrap_or(0);
        Self {
            uuid: Builder::from_unix_timestamp_millis(milliseconds, &random).into_uuid(),
            kind: PhantomData,
        }
    }

    /// The time from which the id was made.
    #[must_use]
    pub fn made_at(self) -> Timestamp {
        // The first 48 bits of a UUIDv7 are milliseconds.
        Timestamp::from_milliseconds((self.uuid.as_u128() >> 80) as i64)
    }
}

impl<K: Kind> fmt::Display for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", K::PREFIX, self.uuid.simple())
    }
}

/// The same text as `Display`, so that logs show ids in their usual form.
impl<K: Kind> fmt::Debug for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not an id of the expected kind. The error does not repeat it, because it comes from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the id must be `{prefix}` followed by the 32 lower-case hexadecimal digits of a UUIDv7")]
pub struct ParseIdError {
    /// The expected prefix.
    pub prefix: &'static str,
}

impl<K: Kind> FromStr for Id<K> {
    type Err = ParseIdError;

    /// Accepts exactly the text that `Display` writes. Each thing therefore has one id text.
    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let error = ParseIdError { prefix: K::PREFIX };
        let body = text.strip_prefix(K::PREFIX).ok_or(error)?;
        let lower_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if body.len() != 32 || !body.bytes().all(lower_hex) {
            return Err(error);
        }
        let uuid = Uuid::try_parse(body).map_err(|_| error)?;
        let is_v7 = uuid.get_version() == Some(Version::SortRand);
        if !is_v7 || uuid.get_variant() != Variant::RFC4122 {
            return Err(error);
        }
        Ok(Self {
            uuid,
            kind: PhantomData,
        })
    }
}

impl<K: Kind> Serialize for Id<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, K: Kind> Deserialize<'de> for Id<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl<K: Kind> Id<K> {
    /// A regular expression for ids, as strict as parsing: the digits of the version 7 and of the variant are fixed.
    #[must_use]
    pub fn pattern() -> String {
        format!(
            "^{}[0-9a-f]{{12}}7[0-9a-f]{{3}}[89ab][0-9a-f]{{15}}$",
            K::PREFIX
        )
    }
}

impl<K: Kind> utoipa::PartialSchema for Id<K> {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .pattern(Some(Self::pattern()))
            .into()
    }
}

impl<K: Kind> utoipa::ToSchema for Id<K> {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed(K::SCHEMA)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job_id(milliseconds: i64, byte: u8) -> JobId {
        JobId::new(Timestamp::from_milliseconds(milliseconds), [byte; 10])
    }

    #[test]
    fn id_survives_the_round_trip() {
        for byte in [0, 0x5a, 0xff] {
            let id = job_id(1_700_000_000_000, byte);
            let text = id.to_string();
            assert_eq!(text.len(), 36);
            assert!(text.starts_with("job_018bcfe56800"));
            assert_eq!(text.parse(), Ok(id));
            let json = serde_json::to_string(&id).unwrap();
            assert_eq!(json, format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<JobId>(&json).unwrap(), id);
            assert_eq!(id.made_at().milliseconds(), 1_700_000_000_000);
        }
    }

    #[test]
    fn ids_are_in_order_of_time() {
        let ids = [
            job_id(-5, 9),
            job_id(1, 0xff),
            job_id(2, 0),
            job_id(1_700_000_000_000, 3),
        ];
        assert!(ids.is_sorted());
        assert!(ids.map(|id| id.to_string()).is_sorted());
    }

    #[test]
    fn id_accepts_only_the_canonical_spelling() {
        let good = job_id(1_700_000_000_000, 0x33).to_string();
        let body = &good[4..];
        let hyphenated = Uuid::try_parse(body).unwrap().hyphenated().to_string();
        let version_4 = format!("job_{}4{}", &body[..12], &body[13..]);
        let wrong_variant = format!("job_{}f{}", &body[..16], &body[17..]);
        for bad in [
            "",
            "job_",
            body,
            &format!("mdl_{body}"),
            &format!("job_{}", body.to_uppercase()),
            &format!("job_{hyphenated}"),
            &format!("{good}0"),
            &format!(" {good}"),
            &good[..35],
            "job_zz8bcfe5680070003333333333333333",
            "job_é18bcfe5680073333333333333333333",
            &version_4,
            &wrong_variant,
        ] {
            assert_eq!(
                bad.parse::<JobId>(),
                Err(ParseIdError { prefix: "job_" }),
                "{bad}"
            );
        }
        assert!(good.parse::<ModelId>().is_err());
    }

    #[test]
    fn id_schema_accepts_what_parsing_accepts() {
        use utoipa::PartialSchema;
        let schema = serde_json::to_value(JobId::schema()).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let good = job_id(1_700_000_000_000, 0x33).to_string();
        for changed in 0..=good.len() {
            for digit in ["", "0", "4", "7", "a", "f", "A", "-"] {
                let mut text = good.clone();
                text.replace_range(changed..(changed + 1).min(good.len()), digit);
                let parsed = text.parse::<JobId>();
                assert_eq!(
                    validator.is_valid(&text.clone().into()),
                    parsed.is_ok(),
                    "{text}"
                );
            }
        }
    }
}

//! The addresses of sources: the setting that allows prefixes, and the URL of one object.
//!
//! A URL is taken as it is written. Nothing in it is decoded, so a key that could mean two things is refused.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use crate::storage::blobs::url::{Bucket, demand_bucket_name};

/// Maximum length of a key in bytes, by the rules of S3.
const KEY_BYTES_MAX: usize = 1024;

/// One value of the setting, unparsed: a wrong one may contain a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct SourcesSetting(String);

/// The keys of a bucket that may be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePrefix {
    pub bucket: String,
    /// Ends with `/`, so that it covers whole segments only. Empty for the whole bucket.
    keys: String,
}

/// An object within an allowed prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceUrl {
    pub bucket: String,
    pub key: String,
}

impl SourcesSetting {
    /// Parses the setting. A prefix without `/` at the end gets one.
    ///
    /// # Errors
    /// The mistake in the setting, without any part of the setting.
    pub fn prefix(&self) -> Result<SourcePrefix, String> {
        let (bucket, keys) = parts(&self.0)?;
        let keys = keys.strip_suffix('/').unwrap_or(keys);
        if keys.is_empty() {
            let (bucket, keys) = (bucket.to_owned(), String::new());
            return Ok(SourcePrefix { bucket, keys });
        }
        demand_key(keys)?;
        Ok(SourcePrefix {
            bucket: bucket.to_owned(),
            keys: format!("{keys}/"),
        })
    }
}

impl SourcePrefix {
    fn allows(&self, url: &SourceUrl) -> bool {
        self.bucket == url.bucket && url.key.starts_with(&self.keys)
    }

    /// Whether the prefix reaches into the blobs of a store.
    pub fn overlaps(&self, blobs: &Bucket) -> bool {
        let own = match blobs.prefix.as_str() {
            "" => String::new(),
            prefix => format!("{prefix}/"),
        };
        self.bucket == blobs.name && (own.starts_with(&self.keys) || self.keys.starts_with(&own))
    }
}

impl SourceUrl {
    /// Reads the address of an object.
    ///
    /// # Errors
    /// What is wrong with the address, or that it is outside all prefixes. The text does not repeat the address, which
    /// may contain a secret.
    pub fn within(text: &str, prefixes: &[SourcePrefix]) -> Result<Self, String> {
        let (bucket, key) = parts(text)?;
        if key.is_empty() {
            return Err(
                "the address ends after the bucket; name an object: s3://bucket/key".to_owned(),
            );
        }
        demand_key(key)?;
        let url = Self {
            bucket: bucket.to_owned(),
            key: key.to_owned(),
        };
        if prefixes.iter().any(|prefix| prefix.allows(&url)) {
            return Ok(url);
        }
        let allowed: Vec<_> = prefixes.iter().map(ToString::to_string).collect();
        Err(format!(
            "the object is outside the prefixes that the operator allows with --sources: {}",
            allowed.join(", ")
        ))
    }
}

/// The bucket and the key of an address.
fn parts(text: &str) -> Result<(&str, &str), String> {
    let Some(rest) = text.strip_prefix("s3://") else {
        return Err("the address must be s3://bucket/key; nothing else is fetched".to_owned());
    };
    let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
    if bucket.contains('@') {
        return Err(
            "the address must not contain credentials; the service reads a bucket with its own"
                .to_owned(),
        );
    }
    if let Some(extra) = rest.chars().find(|extra| "?#".contains(*extra)) {
        return Err(format!(
            "unexpected {extra:?}: the address of an object has no query and no fragment"
        ));
    }
    demand_bucket_name(bucket)?;
    Ok((bucket, key))
}

/// Checks a key, or a prefix without its last `/`.
fn demand_key(key: &str) -> Result<(), String> {
    // Object stores and their proxies differ in what they make of these.
    if let Some(extra) = key
        .chars()
        .find(|extra| extra.is_control() || "%\\".contains(*extra))
    {
        return Err(format!(
            "unexpected {extra:?}: a key is taken as it is written, without percent-encoding"
        ));
    }
    if key
        .split('/')
        .any(|segment| ["", ".", ".."].contains(&segment))
    {
        return Err("a key has segments between single /, none of which is `.` or `..`".to_owned());
    }
    match key.len() {
        ..=KEY_BYTES_MAX => Ok(()),
        _ => Err(format!("a key has at most {KEY_BYTES_MAX} bytes")),
    }
}

impl fmt::Display for SourcePrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s3://{}/{}", self.bucket, self.keys)
    }
}

impl FromStr for SourcesSetting {
    type Err = Infallible;

    /// Accepts any text, because an error of the command-line parser would show the whole text.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

/// Displays only a valid setting.
impl fmt::Display for SourcesSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.prefix() {
            Ok(prefix) => prefix.fmt(f),
            Err(_) => f.write_str("..."),
        }
    }
}

impl fmt::Debug for SourcesSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(text: &str) -> SourcesSetting {
        text.parse().unwrap()
    }

    fn prefixes(texts: &[&str]) -> Vec<SourcePrefix> {
        texts
            .iter()
            .map(|text| setting(text).prefix().unwrap())
            .collect()
    }

    #[test]
    fn source_prefix_ends_at_a_segment() {
        let allowed = prefixes(&["s3://bucket/data", "s3://other/", "s3://third/a b/c=1/"]);
        for url in [
            "s3://bucket/data/x.csv",
            "s3://bucket/data/a/b.parquet",
            "s3://other/x",
            "s3://third/a b/c=1/ü+.csv",
        ] {
            assert!(SourceUrl::within(url, &allowed).is_ok(), "{url}");
        }
        for url in [
            "s3://bucket/database/x.csv",
            "s3://bucket/data",
            "s3://bucket/Data/x.csv",
            "s3://bucket2/data/x.csv",
            "s3://third/a b/c=10/x",
        ] {
            let told = SourceUrl::within(url, &allowed).unwrap_err();
            assert!(told.contains("--sources"), "{url}: {told}");
        }
    }

    #[test]
    fn source_url_that_could_mean_two_things_is_refused() {
        let allowed = prefixes(&["s3://bucket/data"]);
        let long = format!("s3://bucket/data/{}", "a".repeat(1024));
        for (url, named) in [
            ("", "s3://bucket/key"),
            ("bucket/data/x", "s3://bucket/key"),
            ("S3://bucket/data/x", "s3://bucket/key"),
            ("http://bucket/data/x", "s3://bucket/key"),
            ("file:///data/x", "s3://bucket/key"),
            ("s3://", "name of a bucket"),
            ("s3://bucket", "name an object"),
            ("s3://bucket/", "name an object"),
            ("s3://Bucket/data/x", "name of a bucket"),
            ("s3://bucket:9000/data/x", "name of a bucket"),
            ("s3://ada:s3cret@bucket/data/x", "credentials"),
            ("s3://bucket/data/x?versionId=s3cret", "query"),
            ("s3://bucket/data/x#s3cret", "fragment"),
            ("s3://bucket/data/../s3cret", "`..`"),
            ("s3://bucket/data/./x", "`..`"),
            ("s3://bucket/data/%2e%2e/s3cret", "percent"),
            ("s3://bucket/data/%2E%2E%2Fs3cret", "percent"),
            ("s3://bucket/data%2Fx", "percent"),
            ("s3://bucket/data\\..\\s3cret", "percent"),
            ("s3://bucket/data//x", "single /"),
            ("s3://bucket/data/", "single /"),
            ("s3://bucket/data/x\ny", "percent"),
            (long.as_str(), "1024"),
        ] {
            let told = SourceUrl::within(url, &allowed).unwrap_err();
            assert!(told.contains(named), "{url}: {told}");
            assert!(!told.contains("s3cret"), "{told}");
        }
    }

    #[test]
    fn sources_setting_error_does_not_show_the_setting() {
        for wrong in [
            "",
            "s3://",
            "s3cret/x",
            "s3://ada:s3cret@bucket/data/",
            "s3://bucket/data/?s3cret",
            "s3://bucket/a/../s3cret/",
            "s3://bucket//s3cret/",
        ] {
            let told = setting(wrong).prefix().unwrap_err();
            assert!(!told.contains("s3cret"), "{told}");
            assert_eq!(format!("{:?}", setting(wrong)), "...");
        }
        assert_eq!(
            format!("{}", setting("s3://bucket/data")),
            "s3://bucket/data/"
        );
    }

    #[test]
    fn source_prefix_never_reaches_the_blobs() {
        let blobs = |name: &str, prefix: &str| Bucket {
            name: name.to_owned(),
            prefix: prefix.to_owned(),
        };
        let allowed = prefixes(&["s3://bucket/data/in/"]).remove(0);
        for (place, overlaps) in [
            (blobs("bucket", ""), true),
            (blobs("bucket", "data"), true),
            (blobs("bucket", "data/in"), true),
            (blobs("bucket", "data/in/deep"), true),
            (blobs("bucket", "data/i"), false),
            (blobs("bucket", "blobs"), false),
            (blobs("other", "data"), false),
        ] {
            assert_eq!(allowed.overlaps(&place), overlaps, "{place}");
        }
        assert!(prefixes(&["s3://bucket"])[0].overlaps(&blobs("bucket", "blobs")));
    }
}

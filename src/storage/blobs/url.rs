//! The setting that selects the place of the blobs.
//!
//! A valid setting contains no secret, but an invalid one may. It is therefore stored unparsed, parsed only here, and
//! never displayed if invalid.

use std::convert::Infallible;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The setting, unparsed.
#[derive(Clone, PartialEq, Eq)]
pub struct BlobUrl(String);

/// The place of the blobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlobLocation {
    /// The folder `blobs` of the data directory.
    DataDir,
    /// Another folder.
    Folder(PathBuf),
    /// An object store with the S3 protocol.
    Bucket(Bucket),
}

/// A bucket, and the common prefix of all blobs in the bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    pub name: String,
    /// Segments separated by `/`. Empty for the whole bucket.
    pub prefix: String,
}

/// Maximum length of a prefix in characters. S3 limits an object key to 1,024 bytes, so every key below the
/// prefix fits.
const PREFIX_CHARACTERS_MAX: usize = 400;

impl BlobUrl {
    /// The setting of the folder in the data directory.
    pub fn in_data_dir() -> Self {
        Self("folder".to_owned())
    }

    /// Parses the setting.
    ///
    /// # Errors
    /// The mistake in the setting, without any part of the setting.
    pub fn place(&self) -> Result<BlobLocation, String> {
        if self.0 == "folder" {
            return Ok(BlobLocation::DataDir);
        }
        if let Some(path) = self.0.strip_prefix("file://") {
            return folder(path);
        }
        match self.0.strip_prefix("s3://") {
            Some(rest) => Bucket::parse(rest).map(BlobLocation::Bucket),
            None => Err("the value must be folder, file:///... or s3://bucket/prefix".to_owned()),
        }
    }
}

fn folder(path: &str) -> Result<BlobLocation, String> {
    let path = Path::new(path);
    if !path.is_absolute() {
        return Err("an absolute path must follow file://".to_owned());
    }
    Ok(BlobLocation::Folder(path.to_owned()))
}

impl Bucket {
    /// Parses the text after `s3://`.
    fn parse(text: &str) -> Result<Self, String> {
        if let Some(extra) = text.chars().find(|extra| "@?#".contains(*extra)) {
            return Err(format!(
                "unexpected {extra:?} in s3://bucket/prefix; set credentials with \
                 AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and the address of the server with \
                 AWS_ENDPOINT_URL"
            ));
        }
        let (name, prefix) = text.split_once('/').unwrap_or((text, ""));
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        demand_bucket_name(name)?;
        let of_segment = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let is_segment =
            |segment: &str| !["", ".", ".."].contains(&segment) && segment.bytes().all(of_segment);
        let is_prefix = prefix.is_empty()
            || (prefix.len() <= PREFIX_CHARACTERS_MAX && prefix.split('/').all(is_segment));
        if !is_prefix {
            return Err(format!(
                "the prefix after the bucket has segments of the characters a-z, A-Z, 0-9, -, _ \
                 and ., separated by single /, and at most {PREFIX_CHARACTERS_MAX} characters"
            ));
        }
        Ok(Self {
            name: name.to_owned(),
            prefix: prefix.to_owned(),
        })
    }
}

/// Checks the name of a bucket, by the rules of S3.
///
/// # Errors
/// The rules, without the name.
pub(in crate::storage) fn demand_bucket_name(name: &str) -> Result<(), String> {
    let of_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let inside = |byte: u8| of_name(byte) || byte == b'-' || byte == b'.';
    let ends = name.bytes().next().zip(name.bytes().next_back());
    let is_name = (3..=63).contains(&name.len())
        && name.bytes().all(inside)
        && ends.is_some_and(|(first, last)| of_name(first) && of_name(last));
    match is_name {
        true => Ok(()),
        false => Err(
            "the name of a bucket has 3 to 63 of the characters a-z, 0-9, - and ., and begins \
             and ends with a letter or a digit"
                .to_owned(),
        ),
    }
}

/// The form of the setting.
impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s3://{}/{}", self.name, self.prefix)
    }
}

impl FromStr for BlobUrl {
    type Err = Infallible;

    /// Accepts any text, because an error of the command-line parser would show the whole text.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

/// Displays only a valid setting.
impl fmt::Display for BlobUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place() {
            Ok(_) => f.write_str(&self.0),
            Err(_) => f.write_str("..."),
        }
    }
}

impl fmt::Debug for BlobUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> BlobUrl {
        text.parse().unwrap()
    }

    #[test]
    fn blob_url_is_read_as_its_location() {
        assert_eq!(read("folder").place(), Ok(BlobLocation::DataDir));
        let folder = BlobLocation::Folder("/srv/blobs".into());
        assert_eq!(read("file:///srv/blobs").place(), Ok(folder));
        for (text, name, prefix) in [
            ("s3://half", "half", ""),
            ("s3://half/", "half", ""),
            ("s3://half.space-1/a", "half.space-1", "a"),
            ("s3://half/a/B_2.c/", "half", "a/B_2.c"),
        ] {
            let Ok(BlobLocation::Bucket(bucket)) = read(text).place() else {
                panic!("{text}");
            };
            assert_eq!((&*bucket.name, &*bucket.prefix), (name, prefix));
            assert_eq!(format!("{:?}", read(text)), text);
        }
    }

    #[test]
    fn blob_url_error_does_not_show_the_url() {
        let long = format!("s3://half/{}", "a".repeat(401));
        for wrong in [
            "",
            "blobs",
            "/srv/s3cret",
            "file://srv/s3cret",
            "http://s3cret/half",
            "s3://",
            "s3:///s3cret",
            "s3://ab",
            "s3://S3cret",
            "s3://-half",
            "s3://half_space",
            "s3://ada:s3cret@half/a",
            "s3://half?secret=s3cret",
            "s3://half/a#s3cret",
            "s3://half//s3cret",
            "s3://half/../s3cret",
            "s3://half/s3cret a",
            long.as_str(),
        ] {
            let told = read(wrong).place().unwrap_err();
            assert!(!told.contains("s3cret"), "{told}");
            assert_eq!(format!("{:?}", read(wrong)), "...");
        }
    }
}

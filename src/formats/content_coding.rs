//! Content codings: compressed bodies as plain streams, with one limit on what comes out.

use std::io::{self, BufReader, ErrorKind, Read};

use flate2::bufread::MultiGzDecoder;
use zstd::stream::read::Decoder as ZstdDecoder;

use super::Limits;
use super::error::{Fault, FormatError, FormatErrorKind, excerpt};

/// The largest zstd window that is read, as a power of two: 8 MiB.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;

/// Bytes asked of the source at once.
const READ_BYTES: usize = 64 * 1024;

/// How a body is compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContentCoding {
    /// It is not.
    #[default]
    Identity,
    /// RFC 1952, any number of members.
    Gzip,
    /// RFC 8878, any number of frames, windows up to 8 MiB.
    Zstd,
}

impl ContentCoding {
    /// Reads the value of a Content-Encoding header.
    ///
    /// # Errors
    /// [`FormatErrorKind::UnknownCoding`] for several codings, or one that is not read.
    pub fn from_header(value: &str) -> Result<Self, FormatError> {
        match value.trim().to_ascii_lowercase().as_str() {
            "identity" | "" => Ok(Self::Identity),
            "gzip" | "x-gzip" => Ok(Self::Gzip),
            "zstd" => Ok(Self::Zstd),
            other => {
                let shown = excerpt(other.as_bytes());
                let detail = format!(
                    "The content coding {shown} is not read here; use one of gzip, zstd, identity."
                );
                Err(Fault::new(FormatErrorKind::UnknownCoding, detail).into())
            }
        }
    }
}

/// A body with its coding undone; ends with an error once the limit is passed.
///
/// Its errors are `io::Error`s that `FormatError::from` turns to what they are: `TooLarge`,
/// `Truncated`, `BadCoding`, or the source's own.
pub struct Decoder<R: Read> {
    coded: Coded<R>,
    passed: u64,
    bytes_max: u64,
    limit_name: &'static str,
}

enum Coded<R: Read> {
    Identity(R),
    Gzip(Box<MultiGzDecoder<BufReader<Source<R>>>>),
    Zstd(Box<ZstdDecoder<'static, BufReader<Source<R>>>>),
}

/// Undoes a coding; at most `limits.body_bytes_max` bytes come out.
///
/// # Errors
/// When the decompressor cannot be set up.
pub fn decoder<R: Read>(
    coding: ContentCoding,
    reader: R,
    limits: &Limits,
) -> Result<Decoder<R>, FormatError> {
    let source = |reader| BufReader::with_capacity(READ_BYTES, Source { reader });
    let coded = match coding {
        ContentCoding::Identity => Coded::Identity(reader),
        ContentCoding::Gzip => Coded::Gzip(Box::new(MultiGzDecoder::new(source(reader)))),
        ContentCoding::Zstd => {
            let mut decoder = ZstdDecoder::with_buffer(source(reader))?;
            decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
            Coded::Zstd(Box::new(decoder))
        }
    };
    Ok(Decoder {
        coded,
        passed: 0,
        bytes_max: limits.body_bytes_max,
        limit_name: limits.body_limit_name,
    })
}

impl<R: Read> Read for Decoder<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match &mut self.coded {
            Coded::Identity(reader) => reader.read(buffer)?,
            Coded::Gzip(decoder) => decoder.read(buffer).map_err(|e| explain(e, "gzip"))?,
            Coded::Zstd(decoder) => decoder.read(buffer).map_err(|e| explain(e, "zstd"))?,
        };
        self.passed += read as u64;
        if self.passed > self.bytes_max {
            let what = "The body is too large (counted after decompression)";
            return Err(Fault::too_large(what, self.limit_name, self.bytes_max).into_io());
        }
        Ok(read)
    }
}

/// Tells what a decompressor raised of itself from what its source did.
fn explain(error: io::Error, coding: &str) -> io::Error {
    if error.kind() == ErrorKind::Interrupted {
        return error;
    }
    let error = match error.downcast::<SourceError>() {
        Ok(SourceError(source)) => return source,
        Err(error) => error,
    };
    let fault = if error.kind() == ErrorKind::UnexpectedEof {
        let detail = format!("The {coding} body ends before its end mark; it was cut off.");
        Fault::new(FormatErrorKind::Truncated, detail)
    } else {
        let window = match coding {
            "zstd" => " (windows up to 8 MiB are read)",
            _ => "",
        };
        let detail = format!("The body is no valid {coding}{window}: {error}.");
        Fault::new(FormatErrorKind::BadCoding, detail)
    };
    fault.into_io()
}

/// Marks errors of the compressed body's source, so that a connection that breaks is not taken
/// for a body that was cut off.
struct Source<R> {
    reader: R,
}

#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct SourceError(io::Error);

impl<R: Read> Read for Source<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reader
            .read(buffer)
            .map_err(|error| match error.kind() {
                ErrorKind::Interrupted => error,
                kind => io::Error::new(kind, SourceError(error)),
            })
    }
}

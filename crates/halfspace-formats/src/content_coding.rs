//! Content codings: decompresses gzip and zstd bodies while they are read.
//!
//! A few compressed bytes can expand to a great many, and many compressed bytes to nothing at all. So there are limits
//! on the decompressed bytes, on their ratio to the compressed bytes, and on compressed bytes that give no content.

use std::io::{self, BufReader, ErrorKind, Read};

use flate2::bufread::MultiGzDecoder;
use halfspace_core::memory;
use zstd::stream::read::Decoder as ZstdDecoder;

use super::error::{Fault, FormatError, FormatErrorKind, excerpt};
use super::options::ParseLimits;

/// Largest accepted zstd window, as a power of two: 8 MiB.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;

/// Bytes per read of the source.
const READ_BYTES: usize = 64 * 1024;

/// Largest number of decompressed bytes between two checks of the memory and the time of the work. A few compressed
/// bytes may decompress to gibibytes, so we count the bytes that the parser sees.
const PIECE_BYTES: usize = 64 * 1024;

/// Compressed bytes that may decompress to nothing.
const FRAME_BYTES_FREE: u64 = 1 << 20;

/// Largest number of compressed bytes per decompressed byte. A gzip member with one byte of content has 21.
const FRAME_RATIO_MAX: u64 = 32;

/// Compression of a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContentCoding {
    /// No compression.
    #[default]
    Identity,
    /// RFC 1952, with any number of members.
    Gzip,
    /// RFC 8878, with any number of frames and with windows up to 8 MiB.
    Zstd,
}

impl ContentCoding {
    /// The compression of a file that begins with these bytes. No text begins so.
    pub fn of_bytes(begin: &[u8]) -> Self {
        match begin {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            _ => Self::Identity,
        }
    }

    /// Parses the value of a Content-Encoding header.
    ///
    /// # Errors
    /// [`FormatErrorKind::UnknownCoding`] for several codings or an unsupported coding.
    pub fn from_header(value: &str) -> Result<Self, FormatError> {
        match value.trim().to_ascii_lowercase().as_str() {
            "identity" | "" => Ok(Self::Identity),
            "gzip" | "x-gzip" => Ok(Self::Gzip),
            "zstd" => Ok(Self::Zstd),
            other => {
                let shown = excerpt(other.as_bytes());
                let detail = format!(
                    "The content coding {shown} is not supported; use one of gzip, zstd, identity."
                );
                Err(Fault::new(FormatErrorKind::UnknownCoding, detail).into())
            }
        }
    }
}

/// Refuses a text that begins with the bytes of a compressed file: one inside another, in a stream of lines, or of
/// another compression.
///
/// # Errors
/// [`FormatErrorKind::UnknownCoding`] with what to send.
pub(crate) fn refuse_compressed(begin: &[u8]) -> Result<(), Fault> {
    let (name, remedy) = match (ContentCoding::of_bytes(begin), begin) {
        (ContentCoding::Gzip, _) => (
            "gzip",
            "send the file inside it, or a stream with `Content-Encoding: gzip`",
        ),
        (ContentCoding::Zstd, _) => (
            "zstd",
            "send the file inside it, or a stream with `Content-Encoding: zstd`",
        ),
        (_, [b'P', b'K', 3, 4, ..]) => (
            "zip",
            "send the file inside it; a workbook has the type XLSX",
        ),
        (_, [b'P', b'A', b'R', b'1', ..]) => {
            ("Parquet", "send it as `application/vnd.apache.parquet`")
        }
        _ => return Ok(()),
    };
    let detail = format!("The text begins with the bytes of a {name} file; {remedy}.");
    Err(Fault::new(FormatErrorKind::UnknownCoding, detail))
}

/// A decompressed body. A read fails once a limit is exceeded, or once the work on this thread has run out of memory
/// or time.
///
/// The errors are `io::Error`s, which `FormatError::from` converts to `TooLarge`, `Truncated`, `BadCoding`,
/// or the error of the source.
pub struct Decoder<R: Read> {
    coded: Coded<R>,
    passed: u64,
    limits: DecoderLimits,
}

/// The limits of [`ParseLimits`] that apply to a body as a whole.
struct DecoderLimits {
    body_bytes_max: u64,
    body_limit_name: &'static str,
    decompression_ratio_max: u64,
    decompressed_bytes_free: u64,
}

enum Coded<R: Read> {
    Identity(R),
    Gzip(Box<MultiGzDecoder<BufReader<CompressedReader<R>>>>),
    Zstd(Box<ZstdDecoder<'static, BufReader<CompressedReader<R>>>>),
}

/// Decompresses a body to at most `limits.body_bytes_max` bytes. Beyond `limits.decompressed_bytes_free` bytes, at
/// most `limits.decompression_ratio_max` bytes may come from each compressed byte.
///
/// # Errors
/// When the decompressor cannot be set up.
pub fn decoder<R: Read>(
    coding: ContentCoding,
    reader: R,
    limits: &ParseLimits,
) -> Result<Decoder<R>, FormatError> {
    let source = |reader| {
        let source = CompressedReader {
            reader,
            read: 0,
            passed: 0,
            body_bytes_max: limits.body_bytes_max,
            body_limit_name: limits.body_limit_name,
        };
        BufReader::with_capacity(READ_BYTES, source)
    };
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
        limits: DecoderLimits {
            body_bytes_max: limits.body_bytes_max,
            body_limit_name: limits.body_limit_name,
            decompression_ratio_max: limits.decompression_ratio_max,
            decompressed_bytes_free: limits.decompressed_bytes_free,
        },
    })
}

impl<R: Read> Read for Decoder<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let piece = buffer.len().min(PIECE_BYTES);
        let buffer = &mut buffer[..piece];
        let read = match &mut self.coded {
            Coded::Identity(reader) => reader.read(buffer)?,
            Coded::Gzip(decoder) => {
                decoder.get_mut().get_mut().passed = self.passed;
                decoder.read(buffer).map_err(|e| explain(e, "gzip"))?
            }
            Coded::Zstd(decoder) => {
                decoder.get_mut().get_mut().passed = self.passed;
                decoder.read(buffer).map_err(|e| explain(e, "zstd"))?
            }
        };
        self.passed += read as u64;
        let checked = self.check().and_then(|()| Ok(memory::check()?));
        checked.map_err(Fault::into_io)?;
        Ok(read)
    }
}

impl<R: Read> Decoder<R> {
    fn check(&self) -> Result<(), Fault> {
        let limits = &self.limits;
        if self.passed > limits.body_bytes_max {
            let what = "The body is too large (counted after decompression)";
            let (name, limit) = (limits.body_limit_name, limits.body_bytes_max);
            return Err(Fault::too_large(what, name, limit));
        }
        let Some(consumed) = self.coded.consumed() else {
            return Ok(());
        };
        let ratio_max = limits.decompression_ratio_max;
        let is_free = self.passed <= limits.decompressed_bytes_free;
        if is_free || self.passed <= consumed.saturating_mul(ratio_max) {
            return Ok(());
        }
        let what = format!(
            "{consumed} compressed bytes expand to {} bytes or more; above {} bytes the ratio is \
             limited",
            self.passed, limits.decompressed_bytes_free
        );
        Err(Fault::too_large(
            &what,
            "decompression_ratio_max",
            ratio_max,
        ))
    }
}

impl<R: Read> Coded<R> {
    /// The number of compressed bytes that were decompressed, or `None` without compression.
    fn consumed(&self) -> Option<u64> {
        let source = match self {
            Self::Identity(_) => return None,
            Self::Gzip(decoder) => decoder.get_ref(),
            Self::Zstd(decoder) => decoder.get_ref(),
        };
        Some(source.get_ref().read - source.buffer().len() as u64)
    }
}

/// Separates errors of the decompressor from errors of its source.
fn explain(error: io::Error, coding: &str) -> io::Error {
    if error.kind() == ErrorKind::Interrupted {
        return error;
    }
    let error = match error.downcast::<SourceError>() {
        Ok(SourceError(source)) => return source,
        Err(error) => error,
    };
    let fault = if error.kind() == ErrorKind::UnexpectedEof {
        let detail = format!(
            "The {coding} body is truncated: its end mark is missing. Send the whole body."
        );
        Fault::new(FormatErrorKind::Truncated, detail)
    } else {
        let window = match coding {
            "zstd" => " (supported windows: up to 8 MiB)",
            _ => "",
        };
        let detail = format!(
            "The body is not valid {coding}{window}: {error}. Compress the body, or omit `Content-Encoding`."
        );
        Fault::new(FormatErrorKind::BadCoding, detail)
    };
    fault.into_io()
}

/// Counts the compressed bytes and marks errors of the source, so that a broken connection is not mistaken for a
/// truncated body.
struct CompressedReader<R> {
    reader: R,
    read: u64,
    /// Decompressed bytes before this read.
    passed: u64,
    body_bytes_max: u64,
    body_limit_name: &'static str,
}

#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct SourceError(io::Error);

impl<R: Read> Read for CompressedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self
            .reader
            .read(buffer)
            .map_err(|error| match error.kind() {
                ErrorKind::Interrupted => error,
                kind => io::Error::new(kind, SourceError(error)),
            })?;
        self.read += read as u64;
        let checked = self.check();
        checked.map_err(|fault| io::Error::other(SourceError(fault.into_io())))?;
        Ok(read)
    }
}

impl<R> CompressedReader<R> {
    /// Limits the compressed bytes too, since frames may be empty.
    fn check(&self) -> Result<(), Fault> {
        let read = self.read.saturating_sub(FRAME_BYTES_FREE);
        let limit = self.body_bytes_max;
        // Compression makes random bytes longer by less than this margin.
        if read > limit.saturating_add(limit / 256) {
            let what = "The compressed body is too long";
            return Err(Fault::too_large(what, self.body_limit_name, limit));
        }
        if read / FRAME_RATIO_MAX > self.passed {
            let detail = format!(
                "The compressed body consists of almost empty frames: {} compressed bytes hold {} \
                 bytes.",
                self.read, self.passed
            );
            return Err(Fault::new(FormatErrorKind::BadCoding, detail));
        }
        Ok(())
    }
}

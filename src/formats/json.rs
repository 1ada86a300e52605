//! JSON documents read as a stream, with a pointer in every error.
//!
//! Typed faults come up from the visitors, and limits go down to them, through
//! `json_scope`: `Deserialize` itself has room for neither.

use std::io::{BufReader, Read};

use serde::de::DeserializeOwned;
use serde_json::error::Category;
use serde_path_to_error::{Path, Segment};

use super::Limits;
use super::error::{Fault, FormatError, FormatErrorKind, Place};
use super::json_depth::DepthReader;
use super::json_scope as scope;

/// Bytes asked of the source at once.
const READ_BYTES: usize = 256 * 1024;

/// Bytes of a body that an error repeats at a time.
const SHOWN_BYTES_MAX: usize = 256;

/// Reads one JSON document.
///
/// Faults of the document carry the pointer of the value at fault; faults of the text (`Syntax`,
/// `Truncated`, `TooDeep`) carry line and column; byte limits are [`super::decoder`]'s.
///
/// `T` must not buffer data forms (`serde`'s `untagged`, `flatten` and internal tags do): the
/// buffering would hold the body in memory and lose the pointer.
///
/// # Errors
/// What is wrong with the document, or the fault of its source.
pub fn from_reader<T: DeserializeOwned>(
    reader: impl Read,
    limits: &Limits,
) -> Result<T, FormatError> {
    let reader = DepthReader::new(reader, limits.json_depth_max);
    let reader = BufReader::with_capacity(READ_BYTES, reader);
    let mut document = serde_json::Deserializer::from_reader(reader);
    let (parsed, raised) = scope::within(limits, || {
        serde_path_to_error::deserialize::<_, T>(&mut document)
    });
    let value = parsed.map_err(|error| {
        let pointer = pointer(error.path());
        explain(error.into_inner(), pointer, raised)
    })?;
    let ended = document.end();
    ended.map_err(|error| explain(error, String::new(), None))?;
    Ok(value)
}

/// The error of a document that `serde_json` gave up at `pointer`.
fn explain(
    error: serde_json::Error,
    pointer: String,
    raised: Option<(Fault, String)>,
) -> FormatError {
    let (line, column) = (error.line() as u64, error.column().max(1) as u64);
    let place = Place::Line { line, column };
    match error.classify() {
        Category::Io => std::io::Error::from(error).into(),
        Category::Eof => {
            let detail = format!("The JSON ends early, at {place}: {}.", message(&error));
            Fault::new(FormatErrorKind::Truncated, detail).placed(Some(place))
        }
        Category::Syntax => {
            let detail = format!("This is not JSON, at {place}: {}.", message(&error));
            Fault::new(FormatErrorKind::Syntax, detail).placed(Some(place))
        }
        Category::Data => {
            let place = |below: &str| Some(Place::Pointer(format!("{pointer}{below}")));
            match raised {
                Some((fault, below)) => fault.placed(place(&below)),
                None => {
                    let detail = format!("The value does not fit: {}.", message(&error));
                    Fault::new(FormatErrorKind::Schema, detail).placed(place(""))
                }
            }
        }
    }
}

/// What `serde_json` says, without the place, which is told apart, and of a bounded length,
/// since it repeats field names and values of the body.
pub(super) fn message(error: &serde_json::Error) -> String {
    let mut message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    if message.ends_with(&place) {
        message.truncate(message.len() - place.len());
    }
    if message.len() > SHOWN_BYTES_MAX {
        message.truncate(message.floor_char_boundary(SHOWN_BYTES_MAX));
        message.push_str("...");
    }
    message
}

/// The RFC 6901 pointer of a path; it stops above a key of excessive length.
fn pointer(path: &Path) -> String {
    let mut pointer = String::new();
    for segment in path {
        match segment {
            Segment::Seq { index } => push_token(&mut pointer, &index.to_string()),
            Segment::Map { key } if key.len() > SHOWN_BYTES_MAX => break,
            Segment::Map { key } => push_token(&mut pointer, key),
            Segment::Enum { variant } => push_token(&mut pointer, variant),
            Segment::Unknown => {}
        }
    }
    pointer
}

/// Appends one reference token, escaped.
fn push_token(pointer: &mut String, token: &str) {
    pointer.push('/');
    pointer.push_str(&token.replace('~', "~0").replace('/', "~1"));
}

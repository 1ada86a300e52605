//! JSON documents read as a stream, with a pointer in every error.
//!
//! Typed faults come up from the visitors, and limits go down to them, through
//! `json_scope`: `Deserialize` itself has room for neither.

use std::fmt;
use std::io::{BufReader, Read};
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::error::Category;
use serde_path_to_error::{Path, Segment, Track};

use super::Limits;
use super::error::{Fault, FormatError, FormatErrorKind, Place};
use super::json_depth::DepthReader;
use super::json_scope as scope;

/// Bytes asked of the source at once.
const READ_BYTES: usize = 256 * 1024;

/// Bytes of a body that an error repeats at a time.
const SHOWN_BYTES_MAX: usize = 256;

/// Reads one JSON document, an object.
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
    read(reader, limits, None)
}

/// Reads one JSON document, an object with a tensor of examples of `n` features in it: see
/// [`super::TensorList`].
///
/// # Errors
/// As for [`from_reader`].
pub fn from_reader_of_tensors<T: DeserializeOwned>(
    reader: impl Read,
    limits: &Limits,
    n: usize,
) -> Result<T, FormatError> {
    read(reader, limits, Some(n))
}

fn read<T: DeserializeOwned>(
    reader: impl Read,
    limits: &Limits,
    n: Option<usize>,
) -> Result<T, FormatError> {
    let reader = DepthReader::new(reader, limits.json_depth_max);
    let reader = BufReader::with_capacity(READ_BYTES, reader);
    let mut document = serde_json::Deserializer::from_reader(reader);
    let (parsed, raised) = scope::within(limits, n, || {
        let mut track = Track::new();
        let document = serde_path_to_error::Deserializer::new(&mut document, &mut track);
        object::<_, T>(document).map_err(|error| (error, track.path()))
    });
    let value = parsed.map_err(|(error, path)| explain(error, pointer(&path), raised))?;
    let ended = document.end();
    ended.map_err(|error| explain(error, String::new(), None))?;
    Ok(value)
}

/// Reads an object: serde would take an array for a struct as well, its fields in their order.
pub fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(value: D) -> Result<T, D::Error> {
    value.deserialize_map(Object(PhantomData))
}

struct Object<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Object<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
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

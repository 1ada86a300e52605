//! JSON documents read as a stream, with the place of every fault.
//!
//! serde's `Deserialize` takes no context and returns no typed errors. The limits therefore reach the visitors of a
//! document through `scope`, and typed faults come back the same way.
//!
//! A pull parser would need no `scope`, but `struson` 0.6 takes 0.35 s for the numbers of a document of 28 MB (100,000
//! examples of 30 real values), and we read the same document into examples in 0.19 s with `serde_json`.

pub(crate) mod data_forms;
pub(crate) mod depth;
pub(crate) mod examples;
pub(crate) mod fields;
pub(crate) mod generated;
pub(crate) mod rows;
pub(crate) mod scope;
pub(crate) mod target;
pub(crate) mod window;

use std::fmt;
use std::io::{BufReader, Read};
use std::marker::PhantomData;

use halfspace_core::memory;
use memchr::{memchr_iter, memchr2_iter};
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::error::Category;
use serde_path_to_error::{Path, Segment, Track};

use crate::building::label_names::LabelNames;
use crate::charset::Charset;
use crate::classes::LabelRule;
use crate::content_coding::refuse_compressed;
use crate::error::{Fault, FormatError, FormatErrorKind, Place};
use crate::options::{Options, ParseLimits};
use crate::plain_words::plain_words;
use crate::readers::json::depth::DepthReader;
use crate::readers::json::scope::{Meaning, TensorScope};
use crate::readers::json::window::{Window, WindowReader};
use crate::utf8_reader::Utf8Reader;

/// Bytes per read of the source. A buffer is first filled with zeros, so a long one would delay small documents.
const READ_BYTES: usize = 16 * 1024;

/// Documents below this size are parsed as a slice, which is several times faster than a stream.
const SLICE_BYTES: usize = 512 * 1024;

/// Largest number of bytes of the body that an error repeats in one piece.
const SHOWN_BYTES_MAX: usize = 256;

/// Reads one JSON document, which must be an object.
///
/// A fault of the document has the pointer of the faulty value. A fault of the text (`Syntax`, `Truncated`,
/// `TooDeep`) has line and column. The byte limits are up to [`crate::decoder`].
///
/// `T` must not buffer data forms, as `serde`'s `untagged`, `flatten` and internal tags do, because the buffer would
/// hold the body in memory and lose the pointer.
///
/// # Errors
/// The fault of the document, or the error of its source.
pub fn from_reader<T: DeserializeOwned>(
    reader: impl Read,
    limits: &ParseLimits,
) -> Result<T, FormatError> {
    from_reader_of_labels(reader, limits, &LabelRule::New)
}

/// Reads one JSON document like [`from_reader`], with this rule for the labels in its data.
///
/// # Errors
/// As for [`from_reader`].
pub fn from_reader_of_labels<T: DeserializeOwned>(
    reader: impl Read,
    limits: &ParseLimits,
    labels: &LabelRule,
) -> Result<T, FormatError> {
    let meaning = Meaning::of_labels(LabelNames::beside(labels, None)?);
    let Whole(document) = from_reader_with(reader, None, limits, meaning)?;
    Ok(document)
}

/// Reads one JSON document, which need not be an object. These options say what charset it is in, and what labels,
/// names and texts in its data mean.
///
/// # Errors
/// As for [`from_reader`].
pub fn from_reader_of_any<T: DeserializeOwned>(
    reader: impl Read,
    options: &Options,
) -> Result<T, FormatError> {
    let meaning = Meaning::of(options)?;
    from_reader_with(reader, options.charset, &options.limits, meaning)
}

/// Reads one JSON document like [`from_reader_of_any`]. Its data have this meaning.
fn from_reader_with<T: DeserializeOwned>(
    reader: impl Read,
    charset: Option<Charset>,
    limits: &ParseLimits,
    meaning: Meaning,
) -> Result<T, FormatError> {
    let reader = Utf8Reader::new(reader, charset, limits);
    let mut reader = DepthReader::new(reader, limits.json_depth_max);
    let mut begun = Vec::new();
    reader
        .by_ref()
        .take(SLICE_BYTES as u64)
        .read_to_end(&mut begun)?;
    refuse_compressed(&begun)?;
    if begun.len() < SLICE_BYTES {
        memory::need(value_bytes(&begun))?;
        let document = serde_json::Deserializer::from_slice(&begun);
        return read(document, limits, meaning, None);
    }
    let reader = begun
        .as_slice()
        .chain(BufReader::with_capacity(READ_BYTES, reader));
    let document = serde_json::Deserializer::from_reader(reader);
    read(document, limits, meaning, None)
}

/// Bounds the memory of a document as a tree of values. A map of one member is the costliest value of its length.
fn value_bytes(text: &[u8]) -> u64 {
    const MAP_BYTES: usize = 1024;
    const VALUE_BYTES: usize = 64;
    let values = memchr2_iter(b',', b'[', text).count();
    let maps = memchr_iter(b'{', text).count();
    (MAP_BYTES * maps + VALUE_BYTES * values + text.len()) as u64
}

/// Reads one JSON document, an object that contains a tensor of examples with `n` features: see
/// [`crate::TensorList`].
///
/// # Errors
/// As for [`from_reader`].
pub fn from_reader_of_tensors<T: DeserializeOwned>(
    reader: impl Read,
    limits: &ParseLimits,
    n: usize,
) -> Result<T, FormatError> {
    let window = Window::shared(READ_BYTES);
    let reader = WindowReader::new(reader, window.clone(), limits.json_depth_max);
    let document = serde_json::Deserializer::from_reader(reader);
    let tensor = TensorScope { n, window };
    let Whole(document) = read(document, limits, Meaning::of_labels(None), Some(tensor))?;
    Ok(document)
}

/// A document that is an object.
struct Whole<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Whole<T> {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        object(value).map(Self)
    }
}

fn read<'de, T: DeserializeOwned>(
    mut document: serde_json::Deserializer<impl serde_json::de::Read<'de>>,
    limits: &ParseLimits,
    meaning: Meaning,
    tensor: Option<TensorScope>,
) -> Result<T, FormatError> {
    let window = tensor.as_ref().map(|tensor| tensor.window.clone());
    let (parsed, raised) = scope::within(limits, meaning, tensor, || {
        let mut track = Track::new();
        let document = serde_path_to_error::Deserializer::new(&mut document, &mut track);
        T::deserialize(document).map_err(|error| (error, track.path()))
    });
    let place = |error: &serde_json::Error| {
        let (line, column) = (error.line() as u64, error.column() as u64);
        let window = window.as_ref().map(|window| window.borrow());
        window.map_or((line, column), |window| window.place(line, column))
    };
    let hidden = || {
        let window = window.as_ref().map(|window| window.borrow());
        window.map_or(0, |window| window.elements_hidden)
    };
    let value = parsed.map_err(|(error, path)| {
        let place = place(&error);
        explain(error, place, pointer(&path, hidden()), raised)
    })?;
    let ended = document.end();
    ended.map_err(|error| {
        let place = place(&error);
        explain(error, place, String::new(), None)
    })?;
    Ok(value)
}

/// Reads an object. By itself, `serde` would also accept an array that lists the fields in order.
pub fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(value: D) -> Result<T, D::Error> {
    value.deserialize_map(Object(PhantomData))
}

/// Refuses the part at `below`, a pointer from the value being read, because it does not match the schema.
pub fn refuse<E: serde::de::Error>(below: &str, detail: &str) -> E {
    scope::raise_below(Fault::new(FormatErrorKind::Schema, detail), below)
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

/// Makes the error of a document that `serde_json` refused at this line and column, in the value at `pointer`.
fn explain(
    error: serde_json::Error,
    (line, column): (u64, u64),
    pointer: String,
    raised: Option<(Fault, String)>,
) -> FormatError {
    let column = column.max(1);
    let place = Place::Line { line, column };
    match error.classify() {
        Category::Io => std::io::Error::from(error).into(),
        Category::Eof => {
            let detail = format!(
                "The JSON ends early, at {place}: {}. Send the whole document.",
                message(&error)
            );
            Fault::new(FormatErrorKind::Truncated, detail).placed(Some(place))
        }
        Category::Syntax => {
            let detail = format!("The body is not JSON, at {place}: {}.", message(&error));
            Fault::new(FormatErrorKind::Syntax, detail).placed(Some(place))
        }
        Category::Data => {
            let place = |below: &str| Some(Place::Pointer(format!("{pointer}{below}")));
            match raised {
                Some((fault, below)) => fault.placed(place(&below)),
                None => {
                    let detail =
                        format!("The value does not match the schema: {}.", message(&error));
                    Fault::new(FormatErrorKind::Schema, detail).placed(place(""))
                }
            }
        }
    }
}

/// The message of `serde_json` without its place, which the error states separately. Its length is bounded, because
/// it repeats field names and values of the body.
pub(crate) fn message(error: &serde_json::Error) -> String {
    let mut message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    if message.ends_with(&place) {
        message.truncate(message.len() - place.len());
    }
    if message.len() > SHOWN_BYTES_MAX {
        message.truncate(message.floor_char_boundary(SHOWN_BYTES_MAX));
        message.push_str("...");
    }
    plain_words(&message)
}

/// The RFC 6901 pointer of a path, up to the first key of excessive length. If the path ends in a list, `hidden` is
/// the number of its earlier elements that the parser did not see.
fn pointer(path: &Path, hidden: usize) -> String {
    let mut pointer = String::new();
    let mut segments = path.iter().peekable();
    while let Some(segment) = segments.next() {
        match segment {
            Segment::Seq { index } => {
                let hidden = if segments.peek().is_none() { hidden } else { 0 };
                push_token(&mut pointer, &(index + hidden).to_string());
            }
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

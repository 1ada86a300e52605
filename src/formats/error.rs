//! What can be wrong with data that came from outside, and where it stands.
//!
//! Knows nothing of HTTP: whoever answers a client maps [`FormatErrorKind`] to a status.

use std::fmt;
use std::io;

use thiserror::Error;

use crate::memory::NoMemory;

/// Where in a body something stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Both from 1; the column counts bytes, a byte order mark not among them.
    Line {
        /// The line.
        line: u64,
        /// The byte in that line.
        column: u64,
    },
    /// An RFC 6901 JSON pointer.
    Pointer(String),
    /// A byte of a binary body, from 0.
    Byte(u64),
    /// A value of a binary table; both from 1, labels counted among the columns.
    Cell {
        /// The row.
        row: u64,
        /// The column.
        column: u64,
    },
}

impl Place {
    /// The same place seen from a document that holds this one at `prefix`; any other place stays as
    /// it is.
    #[must_use]
    pub fn under(self, prefix: &str) -> Self {
        match self {
            Self::Pointer(pointer) => Self::Pointer(format!("{prefix}{pointer}")),
            other => other,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { line, column } => write!(f, "line {line}, column {column}"),
            Self::Pointer(pointer) => f.write_str(pointer),
            Self::Byte(offset) => write!(f, "byte {offset}"),
            Self::Cell { row, column } => write!(f, "row {row}, column {column}"),
        }
    }
}

/// What kind of fault a body has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FormatErrorKind {
    /// The text does not follow the format's grammar.
    Syntax,
    /// JSON whose shape is not the one asked for: a field that is unknown, missing, given twice or
    /// of another type.
    Schema,
    /// A field is of the right type and outside its range.
    OutOfRange,
    /// Examples of different lengths.
    UnequalLength,
    /// A tensor that does not hold what its shape says.
    WrongShape,
    /// No example, or no feature.
    EmptyData,
    /// A character of a bit string, or a padding bit, that may not stand there.
    BadBit,
    /// A value that is no finite number.
    BadValue,
    /// A value that makes examples real where Boolean ones are asked for.
    NotBoolean,
    /// A label other than 1, -1 and 0.
    BadLabel,
    /// Labels 0 and -1 in one body.
    MixedLabels,
    /// Lines of different kinds in one body.
    MixedLines,
    /// A sparse index that is no number from 1 to n.
    BadIndex,
    /// Sparse indices that do not ascend.
    IndexOrder,
    /// Base64 that does not decode.
    BadBase64,
    /// Something that the format has and that is not read here.
    Unsupported,
    /// An option of the request that the format or this body cannot meet.
    BadOption,
    /// A limit is passed.
    TooLarge {
        /// The limit's name.
        limit: &'static str,
        /// The limit's value.
        value: u64,
    },
    /// JSON nested deeper than the limit.
    TooDeep {
        /// The deepest nesting that is read.
        limit: usize,
    },
    /// The body ends too early.
    Truncated,
    /// The compressed body is damaged.
    BadCoding,
    /// A content coding that is not read here.
    UnknownCoding,
    /// The body could not be read for a reason of its source.
    Io,
    /// The source has no more bytes for now, and is not at its end.
    NotYet,
    /// The stored form of the examples is larger than what was reserved for it.
    NotReserved,
    /// The examples could not be kept while they were read.
    Spool(io::ErrorKind),
    /// There is no memory for the examples.
    NoMemory(NoMemory),
}

impl FormatErrorKind {
    /// The stable name of the kind.
    pub fn code(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::Schema => "schema",
            Self::OutOfRange => "out-of-range",
            Self::UnequalLength => "unequal-length",
            Self::WrongShape => "wrong-shape",
            Self::EmptyData => "empty-data",
            Self::BadBit => "bad-bit",
            Self::BadValue => "bad-value",
            Self::NotBoolean => "wrong-data",
            Self::BadLabel => "bad-label",
            Self::MixedLabels => "mixed-labels",
            Self::MixedLines => "mixed-lines",
            Self::BadIndex => "bad-index",
            Self::IndexOrder => "index-order",
            Self::BadBase64 => "bad-base64",
            Self::Unsupported => "unsupported",
            Self::BadOption => "bad-option",
            Self::TooLarge { .. } => "too-large",
            Self::TooDeep { .. } => "too-deep",
            Self::Truncated => "truncated",
            Self::BadCoding => "bad-coding",
            Self::UnknownCoding => "unknown-coding",
            Self::Io => "io",
            Self::NotYet => "not-yet",
            Self::NotReserved => "too-many-bytes",
            Self::Spool(_) => "spool",
            Self::NoMemory(_) => "no-memory",
        }
    }
}

/// A body that cannot be read as data.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}{detail}", place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default())]
pub struct FormatError {
    /// What kind of fault.
    pub kind: FormatErrorKind,
    /// Where, when the fault has one place.
    pub place: Option<Place>,
    /// What was wrong and what would be right, as a sentence.
    pub detail: String,
}

/// A fault whose place its finder does not know.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{detail}")]
pub(crate) struct Fault {
    pub(crate) kind: FormatErrorKind,
    pub(crate) detail: String,
}

impl Fault {
    pub(crate) fn new(kind: FormatErrorKind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            detail: detail.into(),
        }
    }

    /// A limit that is passed; `what` says by what.
    pub(crate) fn too_large(what: &str, limit: &'static str, value: u64) -> Self {
        let kind = FormatErrorKind::TooLarge { limit, value };
        Self::new(kind, format!("{what}; the limit {limit} is {value}."))
    }

    /// A character of a bit string that is none of its two.
    pub(crate) fn bad_bit(text: &[u8], at: usize) -> Self {
        let rest = String::from_utf8_lossy(&text[at..text.len().min(at + 4)]);
        let shown = rest.chars().next().unwrap_or_default();
        let detail = format!(
            "`{}` is no bit; a bit string is made of 0 and 1.",
            shown.escape_debug()
        );
        Self::new(FormatErrorKind::BadBit, detail)
    }

    /// The error at a line and a byte offset (from 0) in it.
    pub(crate) fn at(self, line: u64, offset: usize) -> FormatError {
        let column = offset as u64 + 1;
        self.placed(Some(Place::Line { line, column }))
    }

    pub(crate) fn placed(self, place: Option<Place>) -> FormatError {
        FormatError {
            kind: self.kind,
            place,
            detail: self.detail,
        }
    }

    /// Wraps the fault so that it survives a trip through somebody else's `Read`.
    pub(crate) fn into_io(self) -> io::Error {
        io::Error::other(self)
    }
}

impl From<NoMemory> for Fault {
    fn from(full: NoMemory) -> Self {
        Self::new(FormatErrorKind::NoMemory(full), full.to_string())
    }
}

impl From<NoMemory> for FormatError {
    fn from(full: NoMemory) -> Self {
        Fault::from(full).into()
    }
}

impl From<Fault> for FormatError {
    fn from(fault: Fault) -> Self {
        fault.placed(None)
    }
}

impl From<io::Error> for FormatError {
    /// Brings back a fault that one of this module's readers raised, or a whole error that a
    /// caller's reader did; anything else is [`FormatErrorKind::Io`].
    fn from(error: io::Error) -> Self {
        let error = match error.downcast::<Self>() {
            Ok(format_error) => return format_error,
            Err(error) => error,
        };
        match error.downcast::<Fault>() {
            Ok(fault) => fault.into(),
            Err(error) => {
                let kind = match error.kind() {
                    io::ErrorKind::WouldBlock => FormatErrorKind::NotYet,
                    _ => FormatErrorKind::Io,
                };
                Fault::new(kind, format!("The body could not be read: {error}.")).into()
            }
        }
    }
}

/// A few characters of what was found, safe to show in a message.
pub(crate) fn excerpt(text: &[u8]) -> String {
    const SHOWN: usize = 24;
    let shown = String::from_utf8_lossy(&text[..text.len().min(SHOWN)]);
    let more = if text.len() > SHOWN { "..." } else { "" };
    format!("`{}{more}`", shown.escape_debug())
}

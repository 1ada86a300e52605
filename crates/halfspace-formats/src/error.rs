//! Errors in bodies of data, with the place of the fault in the body.
//!
//! This module does not know HTTP. The HTTP layer maps each [`FormatErrorKind`] to a code.

use std::fmt;
use std::io;

use thiserror::Error;

use halfspace_core::memory::NoMemory;

use crate::remedy::{Remedy, list_item};

/// A place in a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A byte of a text. Line and column count from 1. The column counts bytes, without a byte order mark.
    Line {
        /// The line.
        line: u64,
        /// The byte in the line.
        column: u64,
    },
    /// An RFC 6901 JSON pointer.
    Pointer(String),
    /// A byte of a binary body, or of a text that is not in its charset. Counted from 0.
    Byte(u64),
    /// A value of a binary table. Row and column count from 1, and a label column counts too.
    Cell {
        /// The row.
        row: u64,
        /// The column.
        column: u64,
    },
    /// A cell of a workbook, such as `Sheet1!C7`.
    SheetCell(String),
}

impl Place {
    /// Moves a JSON pointer into an outer document, which contains the inner one at `prefix`. Other places stay as
    /// they are.
    #[must_use]
    pub fn under(self, prefix: &str) -> Self {
        match self {
            Self::Pointer(pointer) => Self::Pointer(format!("{prefix}{pointer}")),
            other => other,
        }
    }

    /// The place, to put before a message. The whole document needs none.
    fn before(&self) -> String {
        match self {
            Self::Pointer(text) if text.is_empty() => String::new(),
            place => format!("{place}: "),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { line, column } => write!(f, "line {line}, column {column}"),
            Self::Pointer(text) | Self::SheetCell(text) => f.write_str(text),
            Self::Byte(offset) => write!(f, "byte {offset}"),
            Self::Cell { row, column } => write!(f, "row {row}, column {column}"),
        }
    }
}

/// Kind of a fault in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormatErrorKind {
    /// The text does not follow the format's grammar.
    Syntax,
    /// JSON of the wrong shape: a field is unknown, missing, duplicate or of another type.
    Schema,
    /// A field of the right type has a value out of range.
    OutOfRange,
    /// Examples have different lengths.
    UnequalLength,
    /// A tensor does not match its shape.
    WrongShape,
    /// There is no example or no feature.
    EmptyData,
    /// A character of a bit string is not 0 or 1, or a padding bit is not 0.
    BadBit,
    /// A value is not a finite number, or its declared type does not allow the value.
    BadValue,
    /// A value makes the examples real although the request asks for Boolean ones.
    NotBoolean,
    /// A label is neither 1, -1 or 0 nor the name of a class, or is missing.
    BadLabel,
    /// A model or a session does not know the class of a label.
    UnknownLabel,
    /// Labels 0 and -1 occur in one body.
    MixedLabels,
    /// Lines of different kinds occur in one body.
    MixedLines,
    /// A sparse index is not a number, or is out of range.
    BadIndex,
    /// Sparse indices do not ascend.
    IndexOrder,
    /// The name of a feature is empty, too long, or occurs twice in an example with different values, or only some
    /// features have names.
    BadName,
    /// Base64 cannot be decoded.
    BadBase64,
    /// The body uses an unsupported feature of the format.
    Unsupported,
    /// The format or this body cannot meet an option of the request.
    BadOption,
    /// An option does not fit the columns or values of the table, or the table needs an option.
    TableOption,
    /// A limit is exceeded.
    TooLarge {
        /// The limit's name.
        limit: &'static str,
        /// The limit's value.
        value: u64,
    },
    /// JSON nests deeper than the limit.
    TooDeep {
        /// The deepest nesting that is allowed.
        limit: usize,
    },
    /// The body ends too early.
    Truncated,
    /// The compressed body is damaged.
    BadCoding,
    /// The content coding is not supported.
    UnknownCoding,
    /// The source of the body failed.
    Io,
    /// The source has no more bytes for now but has not ended.
    NotYet,
    /// The stored form of the examples needs more bytes than could be reserved.
    NotReserved,
    /// The spool failed while the body was read.
    Spool(io::ErrorKind),
    /// There is no memory for the examples.
    NoMemory(NoMemory),
}

impl FormatErrorKind {
    /// Whether the content of the body is at fault, and not the transfer, a limit or the service.
    pub fn is_of_content(self) -> bool {
        !matches!(
            self,
            Self::TooLarge { .. }
                | Self::TooDeep { .. }
                | Self::Truncated
                | Self::BadCoding
                | Self::UnknownCoding
                | Self::Io
                | Self::NotYet
                | Self::NotReserved
                | Self::Spool(_)
                | Self::NoMemory(_)
        )
    }
}

/// A body that cannot be read as data.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}{detail}", place.as_ref().map(Place::before).unwrap_or_default())]
pub struct FormatError {
    /// Kind of the fault.
    pub kind: FormatErrorKind,
    /// Place of the fault, if the fault has one place.
    pub place: Option<Place>,
    /// A sentence on the fault and the expected form.
    pub detail: String,
    /// What may mend the fault, the likeliest first.
    pub(crate) remedies: Vec<Remedy>,
}

impl FormatError {
    /// The fault without its place.
    pub(crate) fn unplaced(self) -> Fault {
        Fault {
            kind: self.kind,
            detail: self.detail,
            remedies: self.remedies,
        }
    }

    /// Moves the place into an outer document: see [`Place::under`].
    #[must_use]
    pub fn under(self, prefix: &str) -> Self {
        Self {
            place: self.place.map(|place| place.under(prefix)),
            ..self
        }
    }
}

/// A fault without a place, which the caller adds.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{detail}")]
pub(crate) struct Fault {
    pub(crate) kind: FormatErrorKind,
    pub(crate) detail: String,
    pub(crate) remedies: Vec<Remedy>,
}

impl Fault {
    pub(crate) fn new(kind: FormatErrorKind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            detail: detail.into(),
            remedies: Vec::new(),
        }
    }

    /// Adds an option that may mend the fault. The likeliest comes first.
    #[must_use]
    pub(crate) fn mended_by(self, option: &'static str, value: impl Into<String>) -> Self {
        self.with(Remedy::Option(option, value.into()))
    }

    /// Adds a kind of the column that the fault is about.
    #[must_use]
    pub(crate) fn mended_by_kind(self, kind: &'static str) -> Self {
        self.with(Remedy::Kind(kind))
    }

    /// Adds the reading of these words as missing cells. A word that is not UTF-8 cannot be stated.
    #[must_use]
    pub(crate) fn mended_as_missing<'w>(self, words: impl IntoIterator<Item = &'w [u8]>) -> Self {
        let item = |word| str::from_utf8(word).map(list_item);
        let items: Result<Vec<String>, _> = words.into_iter().map(item).collect();
        match items {
            Ok(items) => self.mended_by("missing_values", items.join(",")),
            Err(_) => self,
        }
    }

    /// Adds an option, unless the fault has it.
    #[must_use]
    pub(crate) fn with(mut self, remedy: Remedy) -> Self {
        if !self.remedies.contains(&remedy) {
            self.remedies.push(remedy);
        }
        self
    }

    /// Makes the fault of an exceeded limit. `what` is the first clause of the message.
    pub(crate) fn too_large(what: &str, limit: &'static str, value: u64) -> Self {
        let kind = FormatErrorKind::TooLarge { limit, value };
        Self::new(kind, format!("{what}; the limit {limit} is {value}."))
    }

    /// Makes the fault of a character of a bit string other than 0 and 1.
    pub(crate) fn bad_bit(text: &[u8], at: usize) -> Self {
        let rest = &text[at..text.len().min(at + 4)];
        let shown = match rest.utf8_chunks().next() {
            Some(chunk) if !chunk.valid().is_empty() => chunk.valid().chars().next(),
            _ => None,
        };
        let length = shown.map_or(1, char::len_utf8).min(rest.len());
        let detail = format!(
            "{} is not a bit; a bit string consists of 0 and 1.",
            excerpt(&rest[..length])
        );
        Self::new(FormatErrorKind::BadBit, detail)
    }

    /// Makes the fault of a failed spool, or returns the fault that the error wraps.
    pub(crate) fn unspooled(error: io::Error) -> Self {
        let error = match error.downcast::<Self>() {
            Ok(fault) => return fault,
            Err(error) => error,
        };
        let detail = format!("The examples cannot be written: {error}.");
        Self::new(FormatErrorKind::Spool(error.kind()), detail)
    }

    /// Adds a line and a byte offset in that line, from 0.
    pub(crate) fn at(self, line: u64, offset: usize) -> FormatError {
        let column = offset as u64 + 1;
        self.placed(Some(Place::Line { line, column }))
    }

    pub(crate) fn placed(self, place: Option<Place>) -> FormatError {
        FormatError {
            kind: self.kind,
            place,
            detail: self.detail,
            remedies: self.remedies,
        }
    }

    /// Wraps the fault in an [`io::Error`], so that it passes through the `Read` of another crate.
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
    /// Recovers a fault that a reader of this module raised, or a whole error of the caller's reader. Any other error
    /// becomes [`FormatErrorKind::NotYet`] for `WouldBlock`, else [`FormatErrorKind::Io`].
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

/// The first bytes of a text in quotes, escaped for a message.
pub(crate) fn excerpt(text: &[u8]) -> String {
    const SHOWN: usize = 24;
    let mut shown = text.len().min(SHOWN);
    // Do not cut a character in half.
    while shown > SHOWN - 4 && shown < text.len() && text[shown] & 0xc0 == 0x80 {
        shown -= 1;
    }
    let more = if shown < text.len() { "..." } else { "" };
    let shown = legible(&text[..shown], |valid| {
        // Backticks stand around the text, so its quotes need no escape.
        let escaped = valid.escape_debug().to_string();
        escaped.replace("\\\"", "\"").replace("\\'", "'")
    });
    format!("`{shown}{more}`")
}

/// Names for a message, of which at most `most` are listed.
pub(crate) fn listed(names: impl IntoIterator<Item = String>, most: usize) -> String {
    let mut names = names.into_iter();
    let mut shown: Vec<String> = names.by_ref().take(most).collect();
    if names.next().is_some() {
        shown.push("...".to_owned());
    }
    shown.join(", ")
}

/// A text for people to read. A byte that is not UTF-8 becomes its code, such as `\xfc`, so that two texts never look
/// alike. A text that names something goes through [`name`] instead.
pub(crate) fn legible(text: &[u8], valid: impl Fn(&str) -> String) -> String {
    let mut shown = String::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        shown += &valid(chunk.valid());
        for byte in chunk.invalid() {
            shown += &format!("\\x{byte:02x}");
        }
    }
    shown
}

/// The text of a name of a column, a value or a class.
///
/// # Errors
/// A byte that is not UTF-8. If we replaced it, two different names could become one.
pub(crate) fn name(text: &[u8]) -> Result<&str, Fault> {
    str::from_utf8(text).map_err(|error| {
        let detail = not_utf8(text, error.valid_up_to());
        let fault = Fault::new(
            FormatErrorKind::Syntax,
            format!("{} {detail}.", excerpt(text)),
        );
        fault.mended_by("charset", LIKELY_CHARSET)
    })
}

/// The charset that a text most often has that is not UTF-8.
pub(crate) const LIKELY_CHARSET: &str = "windows-1252";

/// The end of a sentence about a text whose byte `at`, from 0, is not UTF-8.
pub(crate) fn not_utf8(text: &[u8], at: usize) -> String {
    let byte = text.get(at).copied().unwrap_or_default();
    format!(
        "is not UTF-8: its byte {} is 0x{byte:02X}; name the charset of the text, as in `charset={LIKELY_CHARSET}`, or \
         convert it to UTF-8",
        at + 1
    )
}

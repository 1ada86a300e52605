//! The list of formats with their readers, and the reading of a body by its format.

use std::io::Read;

use crate::building::parsed_rows::ParsedRows;
use crate::error::FormatError;
use crate::json::data_forms::DataForm;
use crate::options::Options;
use crate::parsed::Parsed;
use crate::stored::spool::Spool;
use crate::tables::preview::Preview;
use crate::text::write_examples::TextFormat;

/// Reads a whole body of one format. Examples beyond the memory budget go to the spool, if there is one. A preview sees
/// the rows of a table.
type Parse = fn(
    &mut dyn Read,
    &Options,
    Option<Spool>,
    Option<&Preview>,
) -> Result<Parsed<ParsedRows>, FormatError>;

/// A format with its reader.
struct FormatEntry {
    format: Format,
    media_type: &'static str,
    file_extensions: &'static [&'static str],
    parse: Parse,
}

const fn entry(
    format: Format,
    media_type: &'static str,
    file_extensions: &'static [&'static str],
    parse: Parse,
) -> FormatEntry {
    FormatEntry {
        format,
        media_type,
        file_extensions,
        parse,
    }
}

/// Every format, in the order of [`Format`].
const FORMATS: &[FormatEntry] = &[
    entry(
        Format::Ndjson,
        "application/x-ndjson",
        &["ndjson", "jsonl"],
        crate::text::ndjson::parse,
    ),
    entry(Format::Csv, "text/csv", &["csv"], crate::text::csv::parse),
    entry(
        Format::Libsvm,
        "text/x-libsvm",
        &["libsvm", "svm", "train", "test"],
        crate::text::libsvm::parse,
    ),
    entry(
        Format::Json,
        "application/json",
        &["json"],
        crate::json::data_forms::parse,
    ),
    entry(
        Format::Arff,
        "text/x-arff",
        &["arff"],
        crate::text::arff::parse,
    ),
    entry(
        Format::Npy,
        "application/x-npy",
        &["npy"],
        crate::binary::npy::parse,
    ),
    entry(
        Format::Octets,
        "application/octet-stream",
        &["bin"],
        crate::binary::octets::parse,
    ),
    entry(
        Format::Xlsx,
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        &["xlsx"],
        crate::xlsx::parse,
    ),
    entry(
        Format::Tsv,
        "text/tab-separated-values",
        &["tsv", "tab"],
        crate::text::csv::parse_tabs,
    ),
];

const _: () = {
    let mut index = 0;
    while index < FORMATS.len() {
        assert!(
            FORMATS[index].format as usize == index,
            "the order of Format"
        );
        index += 1;
    }
};

/// Format of a body with data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One JSON object or bit string per line.
    Ndjson,
    /// Comma-separated values.
    Csv,
    /// `label index:value ...`, indices from 1.
    Libsvm,
    /// One JSON document with a [`DataForm`].
    Json,
    /// Weka's attributes and rows. A nominal attribute becomes one feature per declared value.
    Arff,
    /// A two-dimensional NumPy array.
    Npy,
    /// Packed bits, each row padded to whole bytes.
    Octets,
    /// A workbook of Office Open XML. One sheet is read as a table.
    Xlsx,
    /// CSV with tabs between fields, unless the request states another delimiter.
    Tsv,
}

impl Format {
    /// Returns the format of a Content-Type. Parameters such as `; charset=utf-8` are ignored.
    pub fn from_media_type(content_type: &str) -> Option<Self> {
        let essence = content_type.split(';').next().unwrap_or_default().trim();
        let mut formats = FORMATS.iter();
        let named = formats.find(|entry| entry.media_type.eq_ignore_ascii_case(essence));
        named.map(|entry| entry.format)
    }

    /// Returns the format of a file by the extension of the name.
    ///
    /// ```
    /// use halfspace_formats::Format;
    ///
    /// assert_eq!(Format::from_file_name("Data.CSV"), Some(Format::Csv));
    /// assert_eq!(Format::from_file_name("csv"), None);
    /// ```
    pub fn from_file_name(name: &str) -> Option<Self> {
        let (_, extension) = name.rsplit_once('.')?;
        let is_own = |known: &&str| known.eq_ignore_ascii_case(extension);
        let mut formats = FORMATS.iter();
        let named = formats.find(|entry| entry.file_extensions.iter().any(is_own));
        named.map(|entry| entry.format)
    }

    /// Returns the media type of the format.
    pub fn media_type(self) -> &'static str {
        self.entry().media_type
    }

    /// Whether a body writes out every feature, so that examples in memory take a small multiple of their
    /// text. In ARFF one word can stand for a million features, and XLSX is compressed.
    pub fn is_dense(self) -> bool {
        !matches!(self, Self::Libsvm | Self::Arff | Self::Xlsx)
    }

    /// Whether a body is bytes instead of text.
    pub fn is_binary(self) -> bool {
        matches!(self, Self::Npy | Self::Octets | Self::Xlsx)
    }

    /// Whether labels stand in a column that a body may lack. A prediction reads such labels only when the
    /// request asks for them.
    pub fn has_label_column(self) -> bool {
        matches!(
            self,
            Self::Csv | Self::Tsv | Self::Arff | Self::Npy | Self::Xlsx
        )
    }

    /// Whether the number of features per example does not follow from the body.
    pub fn leaves_n_open(self) -> bool {
        matches!(self, Self::Libsvm | Self::Octets)
    }

    /// Returns every accepted media type.
    pub fn media_types() -> impl Iterator<Item = &'static str> {
        FORMATS.iter().map(|entry| entry.media_type)
    }

    /// Returns every known file extension.
    pub fn file_extensions() -> impl Iterator<Item = &'static str> {
        FORMATS
            .iter()
            .flat_map(|entry| entry.file_extensions)
            .copied()
    }

    fn entry(self) -> &'static FormatEntry {
        &FORMATS[self as usize]
    }
}

impl TextFormat {
    /// Returns the media type of the format.
    pub fn media_type(self) -> &'static str {
        let format = match self {
            Self::Json => Format::Json,
            Self::Ndjson => Format::Ndjson,
            Self::Csv => Format::Csv,
            Self::Libsvm => Format::Libsvm,
        };
        format.media_type()
    }
}

/// Reads a body as data: examples or, in JSON, also a specification of generated data or the id of a dataset.
///
/// # Errors
/// As for [`parse`].
pub fn read(
    format: Format,
    mut reader: impl Read,
    options: &Options,
) -> Result<DataForm, FormatError> {
    if format == Format::Json {
        return crate::json::data_forms::read(&mut reader, options);
    }
    let parsed = parse(format, reader, options)?;
    let assume = options.assume;
    Ok(DataForm::Sample { parsed, assume })
}

/// Reads a body of examples into memory.
///
/// # Errors
/// The fault of the body with its place, or [`FormatErrorKind::Io`] if the source fails.
pub fn parse(
    format: Format,
    mut reader: impl Read,
    options: &Options,
) -> Result<Parsed, FormatError> {
    let parsed = (format.entry().parse)(&mut reader, options, None, None)?;
    Ok(parsed.in_memory())
}

/// Reads a body of examples of any length. Examples beyond the memory budget go to the spool. Examples in
/// JSON always stay in memory.
///
/// # Errors
/// As for [`parse`], or [`FormatErrorKind::Spool`].
pub fn gather(
    format: Format,
    mut reader: impl Read,
    options: &Options,
    spool: Spool,
) -> Result<Parsed<ParsedRows>, FormatError> {
    (format.entry().parse)(&mut reader, options, Some(spool), None)
}

/// Reads a body of examples like [`gather`], and shows its content to the preview.
///
/// # Errors
/// As for [`gather`].
pub fn gather_shown(
    format: Format,
    mut reader: impl Read,
    options: &Options,
    spool: Option<Spool>,
    preview: &Preview,
) -> Result<Parsed<ParsedRows>, FormatError> {
    (format.entry().parse)(&mut reader, options, spool, Some(preview))
}

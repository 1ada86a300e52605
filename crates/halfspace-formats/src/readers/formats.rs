//! The table of formats with their readers, and the functions that read a body of any format.

use std::io::Read;

use thiserror::Error;

use crate::building::parsed::Parsed;
use crate::building::parsed_rows::ParsedRows;
use crate::charset::Charset;
use crate::error::{Fault, FormatError, FormatErrorKind};
use crate::options::{FormatOption, LabelsColumn, Options};
use crate::readers::json::data_forms::DataForm;
use crate::readers::text::write_examples::TextFormat;
use crate::stored::spool::Spool;
use crate::tables::preview::Preview;
use crate::utf8_reader::Utf8Reader;

/// Reads a whole body of one format. Examples beyond the memory budget go to the spool, if there is one, and a
/// preview gets to see the rows of a table.
type Parse = fn(
    &mut dyn Read,
    &Options,
    Option<Spool>,
    Option<&Preview>,
) -> Result<Parsed<ParsedRows>, FormatError>;

/// A format with its reader.
struct FormatEntry {
    format: Format,
    /// The name in errors about options.
    name: &'static str,
    media_type: &'static str,
    file_extensions: &'static [&'static str],
    /// The options that the format refuses. JSON and NDJSON refuse more of them for data that are no table.
    lacks: &'static [&'static [FormatOption]],
    /// Where labels may be, unless the reader of tables decides this.
    labels: Option<LabelPlaces>,
    parse: Parse,
}

/// The values of the option `labels` that a format accepts.
struct LabelPlaces {
    accepts: fn(&LabelsColumn) -> bool,
    refusal: &'static str,
}

impl FormatEntry {
    /// Whether a body may be a table.
    fn is_table(&self) -> bool {
        self.lacks
            .iter()
            .all(|lacked| lacked[0].name != FormatOption::COLUMNS[0].name)
    }

    /// Refuses an option that the format lacks.
    fn check(&self, options: &Options) -> Result<(), Fault> {
        for lacked in self.lacks {
            options.refuse(self.name, lacked)?;
        }
        if !self.is_table() {
            options.check_scales(self.name)?;
        }
        match (&self.labels, &options.labels) {
            (Some(places), Some(labels)) if !(places.accepts)(labels) => {
                return Err(Fault::new(FormatErrorKind::BadOption, places.refusal));
            }
            _ => {}
        }
        options.check_labels(self.format != Format::Octets)
    }
}

/// Every format, in the order of [`Format`].
const FORMATS: &[FormatEntry] = &[
    FormatEntry {
        format: Format::Ndjson,
        name: "NDJSON",
        media_type: "application/x-ndjson",
        file_extensions: &["ndjson", "jsonl"],
        lacks: &[&FormatOption::NOT_OF_OBJECTS],
        labels: None,
        parse: crate::readers::text::ndjson::parse,
    },
    FormatEntry {
        format: Format::Csv,
        name: "CSV",
        media_type: "text/csv",
        file_extensions: &["csv"],
        lacks: &[&[
            FormatOption::BIT_ORDER,
            FormatOption::SHEET,
            FormatOption::FIRST_INDEX,
        ]],
        labels: None,
        parse: crate::readers::text::csv::parse,
    },
    FormatEntry {
        format: Format::Libsvm,
        name: "LIBSVM",
        media_type: "text/x-libsvm",
        file_extensions: &["libsvm", "svm", "train", "test"],
        lacks: &[
            &[
                FormatOption::HEADER,
                FormatOption::BIT_ORDER,
                FormatOption::DELIMITER,
                FormatOption::COMMENT,
                FormatOption::SHEET,
            ],
            &FormatOption::COLUMNS,
            &FormatOption::TEXTS,
        ],
        labels: Some(LabelPlaces {
            accepts: |labels| matches!(labels, LabelsColumn::First | LabelsColumn::None),
            refusal: "LIBSVM labels come first; the option `labels` must be `first` or `none`.",
        }),
        parse: crate::readers::text::libsvm::parse,
    },
    FormatEntry {
        format: Format::Json,
        name: "JSON",
        media_type: "application/json",
        file_extensions: &["json"],
        lacks: &[&FormatOption::NOT_OF_OBJECTS],
        labels: None,
        parse: crate::readers::json::data_forms::parse,
    },
    FormatEntry {
        format: Format::Arff,
        name: "ARFF",
        media_type: "text/x-arff",
        file_extensions: &["arff"],
        lacks: &[&FormatOption::NOT_OF_OBJECTS],
        labels: None,
        parse: crate::readers::text::arff::parse,
    },
    FormatEntry {
        format: Format::Npy,
        name: ".npy",
        media_type: "application/x-npy",
        file_extensions: &["npy"],
        lacks: &[
            &FormatOption::NOT_OF_OBJECTS,
            &FormatOption::COLUMNS,
            &[FormatOption::VOCABULARY, FormatOption::CHARSET],
            &FormatOption::EXTRACTION,
        ],
        labels: Some(LabelPlaces {
            accepts: |labels| {
                use LabelsColumn::{First, Last, None};
                matches!(labels, First | Last | None)
            },
            refusal: "The columns of .npy have no names; the option `labels` must be `first`, `last` or `none`.",
        }),
        parse: crate::readers::binary::npy::parse,
    },
    FormatEntry {
        format: Format::Octets,
        name: "a body of octets",
        media_type: "application/octet-stream",
        file_extensions: &["bin"],
        lacks: &[
            &[
                FormatOption::HEADER,
                FormatOption::DELIMITER,
                FormatOption::COMMENT,
                FormatOption::SHEET,
                FormatOption::POSITIVE,
                FormatOption::VOCABULARY,
                FormatOption::FIRST_INDEX,
                FormatOption::CHARSET,
            ],
            &FormatOption::COLUMNS,
            &FormatOption::EXTRACTION,
        ],
        labels: Some(LabelPlaces {
            accepts: |labels| matches!(labels, LabelsColumn::None | LabelsColumn::Appended),
            refusal: "Octets have no columns; the option `labels` must be `none` or `appended`.",
        }),
        parse: crate::readers::binary::octets::parse,
    },
    FormatEntry {
        format: Format::Xlsx,
        name: "XLSX",
        media_type: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        file_extensions: &["xlsx"],
        lacks: &[&[
            FormatOption::BIT_ORDER,
            FormatOption::DELIMITER,
            FormatOption::COMMENT,
            FormatOption::FIRST_INDEX,
            FormatOption::CHARSET,
        ]],
        labels: None,
        parse: crate::readers::xlsx::parse,
    },
    FormatEntry {
        format: Format::Tsv,
        name: "CSV",
        media_type: "text/tab-separated-values",
        file_extensions: &["tsv", "tab"],
        lacks: &[&[
            FormatOption::BIT_ORDER,
            FormatOption::SHEET,
            FormatOption::FIRST_INDEX,
        ]],
        labels: None,
        parse: crate::readers::text::csv::parse_tabs,
    },
    FormatEntry {
        format: Format::Vw,
        name: "the format of Vowpal Wabbit",
        media_type: "text/x-vw",
        file_extensions: &["vw"],
        lacks: &[
            &FormatOption::NOT_OF_OBJECTS,
            &FormatOption::COLUMNS,
            &FormatOption::TEXTS,
        ],
        labels: Some(LabelPlaces {
            accepts: |labels| matches!(labels, LabelsColumn::First | LabelsColumn::None),
            refusal: "Labels of Vowpal Wabbit come first; the option `labels` must be `first` or `none`.",
        }),
        parse: crate::readers::text::vw::parse,
    },
    FormatEntry {
        format: Format::Parquet,
        name: "Parquet",
        media_type: "application/vnd.apache.parquet",
        file_extensions: &["parquet"],
        lacks: &[&FormatOption::NOT_OF_OBJECTS, &[FormatOption::CHARSET]],
        labels: None,
        parse: crate::readers::parquet::parse,
    },
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
    /// `label index:value ...`.
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
    /// `label |namespace feature:value ...`, as Vowpal Wabbit reads.
    Vw,
    /// A file of Apache Parquet. Its flat columns are read as a table.
    Parquet,
}

impl Format {
    /// The format of a Content-Type. Its parameters are ignored: see [`Charset::label_in`](crate::Charset::label_in).
    pub fn from_media_type(content_type: &str) -> Option<Self> {
        let essence = content_type.split(';').next().unwrap_or_default().trim();
        let mut formats = FORMATS.iter();
        let named = formats.find(|entry| entry.media_type.eq_ignore_ascii_case(essence));
        named.map(|entry| entry.format)
    }

    /// The format of a file by the extension of the name.
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

    /// What to send instead of a format that is not read, by its Content-Type or the name of a file: a sentence after a
    /// blank.
    pub fn instead_of(type_or_name: &str) -> Option<&'static str> {
        let essence = type_or_name.split(';').next().unwrap_or_default().trim();
        let (_, extension) = essence.rsplit_once('.').unwrap_or(("", essence));
        let is_arrow = essence.starts_with("application/vnd.apache.arrow.")
            || ["arrow", "arrows", "feather", "ipc"]
                .iter()
                .any(|known| known.eq_ignore_ascii_case(extension));
        is_arrow.then_some(" Write a table of Arrow as Parquet.")
    }

    /// The media type of the format.
    pub fn media_type(self) -> &'static str {
        self.entry().media_type
    }

    /// Whether a body writes out every feature, so that examples in memory take a small multiple of their text. In
    /// ARFF one word can stand for a million features, and XLSX and Parquet are compressed, so none of them is dense.
    pub fn is_dense(self) -> bool {
        !matches!(self, Self::Libsvm | Self::Arff | Self::Xlsx | Self::Parquet)
    }

    /// Whether a body is bytes instead of text.
    pub fn is_binary(self) -> bool {
        matches!(self, Self::Npy | Self::Octets | Self::Xlsx | Self::Parquet)
    }

    /// Whether the labels have a column that a body may leave out. A prediction reads such labels only if the request
    /// asks for them.
    pub fn has_label_column(self) -> bool {
        matches!(
            self,
            Self::Csv | Self::Tsv | Self::Arff | Self::Npy | Self::Xlsx | Self::Parquet
        )
    }

    /// Whether a body does not tell the number of features per example.
    pub fn leaves_n_open(self) -> bool {
        matches!(self, Self::Libsvm | Self::Octets)
    }

    /// Every accepted media type.
    pub fn media_types() -> impl Iterator<Item = &'static str> {
        FORMATS.iter().map(|entry| entry.media_type)
    }

    /// Every known file extension.
    pub fn file_extensions() -> impl Iterator<Item = &'static str> {
        FORMATS
            .iter()
            .flat_map(|entry| entry.file_extensions)
            .copied()
    }

    fn entry(self) -> &'static FormatEntry {
        &FORMATS[self as usize]
    }

    fn parse(
        self,
        reader: &mut dyn Read,
        options: &Options,
        spool: Option<Spool>,
        preview: Option<&Preview>,
    ) -> Result<Parsed<ParsedRows>, FormatError> {
        let entry = self.entry();
        entry.check(options)?;
        // The reader of JSON documents decodes them itself, wherever they stand.
        if self.is_binary() || self == Self::Json {
            return (entry.parse)(reader, options, spool, preview);
        }
        let mut reader = Utf8Reader::new(reader, options.charset, &options.limits);
        (entry.parse)(&mut reader, options, spool, preview)
    }
}

/// Why the Content-Type of a text cannot tell its charset.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CharsetFault {
    /// There is no such charset.
    #[error("{0}")]
    Unknown(String),
    /// The option states another one.
    #[error("{0}")]
    Contradiction(String),
}

impl Options {
    /// Takes the charset of a text from its Content-Type.
    ///
    /// # Errors
    /// An unknown charset, or one that contradicts the option `charset`.
    pub fn take_charset(&mut self, content_type: &str) -> Result<(), CharsetFault> {
        let format = Format::from_media_type(content_type);
        let is_text = format.is_some_and(|format| !format.is_binary());
        // Clients add the parameter to any type, also to one of bytes.
        let Some(label) = Charset::label_in(content_type).filter(|_| is_text) else {
            return Ok(());
        };
        let stated = Charset::of(label).map_err(CharsetFault::Unknown)?;
        match self.charset {
            None if stated == Charset::UTF_8 => Ok(()),
            None => {
                self.charset = Some(stated);
                Ok(())
            }
            Some(own) if own.name() == stated.name() => Ok(()),
            Some(own) => Err(CharsetFault::Contradiction(format!(
                "`{}` contradicts the Content-Type, which states `{}`; state one charset",
                own.name(),
                stated.name()
            ))),
        }
    }
}

impl TextFormat {
    /// The media type of the format.
    pub fn media_type(self) -> &'static str {
        let format = match self {
            Self::Json => Format::Json,
            Self::Ndjson => Format::Ndjson,
            Self::Csv => Format::Csv,
            Self::Libsvm => Format::Libsvm,
            Self::Vw => Format::Vw,
        };
        format.media_type()
    }
}

/// Reads a body as data. These are examples or, in JSON, possibly a specification of generated data or the id of a
/// dataset.
///
/// # Errors
/// As for [`parse`].
pub fn read(
    format: Format,
    mut reader: impl Read,
    options: &Options,
) -> Result<DataForm, FormatError> {
    if format == Format::Json {
        format.entry().check(options)?;
        return crate::readers::json::data_forms::read(&mut reader, options, None);
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
    let parsed = format.parse(&mut reader, options, None, None)?;
    Ok(parsed.in_memory())
}

/// Reads a part of a text that is UTF-8 already.
///
/// # Errors
/// As for [`parse`].
pub(crate) fn parse_utf8(
    format: Format,
    mut text: &[u8],
    options: &Options,
) -> Result<Parsed, FormatError> {
    let entry = format.entry();
    entry.check(options)?;
    let parsed = (entry.parse)(&mut text, options, None, None)?;
    Ok(parsed.in_memory())
}

/// Reads a body of examples of any length. Examples beyond the memory budget go to the spool, except in JSON, where
/// all of them stay in memory.
///
/// # Errors
/// As for [`parse`], or [`FormatErrorKind::Spool`].
pub fn gather(
    format: Format,
    mut reader: impl Read,
    options: &Options,
    spool: Spool,
) -> Result<Parsed<ParsedRows>, FormatError> {
    format.parse(&mut reader, options, Some(spool), None)
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
    format.parse(&mut reader, options, spool, Some(preview))
}

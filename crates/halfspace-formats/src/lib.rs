//! Readers and writers of examples: bytes in, packed data out, errors with their place in the body.
//!
//! A body of examples arrives as a stream of bytes in one of several formats. This crate turns the stream into
//! the [`Data`] that the learners of [`halfspace_core`] read. The crate owns the line formats (NDJSON, CSV,
//! LIBSVM, ARFF), XLSX workbooks, the JSON forms of data, the binary formats (`.npy`, octets, tensors), the
//! content codings, the stored form with its digest, and the spool for rows beyond the memory budget. The crate
//! does not know the source of the bytes or the request that sent them.
//!
//! Every reader takes a synchronous [`std::io::Read`]. Memory holds the packed examples, one read buffer and
//! one line or row, but not the whole body. A JSON document below 512 KiB, the strings of the JSON form `packed`
//! and, without a [`Spool`], a workbook are held whole. With a [`Spool`] memory does not hold all examples either.
//! Every reader passes its values to one `SampleBuilder`, which alone decides whether the data are Boolean or real.
//!
//! A fault names its place: a line and a column in text, a pointer in JSON, a row in a binary body, a cell in a
//! workbook.
//!
//! ```
//! use halfspace_formats::{Format, Options, Place, parse};
//!
//! let table = "label,warm,wet\n1,1,0\n-1,0,1\n";
//! let parsed = parse(Format::Csv, table.as_bytes(), &Options::default())?;
//! assert_eq!(parsed.data.examples(), 2);
//! assert_eq!(parsed.feature_names, Some(vec!["warm".to_owned(), "wet".to_owned()]));
//!
//! let table = "label,warm,wet\n1,1\n";
//! let error = parse(Format::Csv, table.as_bytes(), &Options::default()).unwrap_err();
//! assert!(matches!(error.place, Some(Place::Line { line: 2, .. })));
//! # Ok::<(), halfspace_formats::FormatError>(())
//! ```
//!
//! A new format takes one file with a function of the type `Parse`, one variant of [`Format`] and one line in
//! `FORMATS`.

#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod binary;
mod building;
mod content_coding;
mod error;
mod extent;
pub mod json;
mod option_text;
mod plain_words;
pub mod programs;
mod stored;
mod tables;
mod text;
mod xlsx;

use std::io::Read;
use std::sync::Arc;

pub use binary::npy_header::npy_header;
pub use binary::packed::BitOrder;
pub use binary::tensor::{TensorList, read_tensor_octets};
pub use binary::tensor_datatype::Datatype;
pub use building::classes::{Classes, LabelRule, Relabelling, occurring};
pub use building::parsed_rows::ParsedRows;
pub use building::store_pass::{Stored, storing_bytes};
pub use content_coding::{ContentCoding, Decoder, decoder};
pub use error::{FormatError, FormatErrorKind, Place};
pub use extent::{Extent, extent};
pub use halfspace_core::learners::engine::assume::Assume;
pub use halfspace_core::learners::sample::repetitions::{EXAMPLES_MAX, RepetitionCounts};
pub use json::data_forms::DataForm;
pub use json::generated::{GeneratedSpec, SamplingMethod};
pub use json::rows::JsonRows;
pub use json::target::{BinaryWeightsSpec, LITERALS_MAX, TargetSpec};
pub use option_text::OPTION_NAMES;
pub use plain_words::plain_words;
pub use stored::block_range::RowRange;
pub use stored::blocks::{
    BlocksError, BlocksHeader, LabelsKind, RowsKind, read_blocks, write_blocks,
};
pub use stored::digest::digest;
pub use stored::layout::Layout;
pub use stored::read_at::ReadAt;
pub use stored::spool::{NotReserved, Spool, SpoolFile};
pub use stored::stored_examples::{Buffers, StoredExamples};
pub use tables::cell::DecimalMark;
pub use tables::encoding::{
    ColumnEncoding, ColumnKind, IgnoredColumn, LabelEncoding, MissingCells, StatedColumn,
    StatedLabel, TableEncoding,
};
pub use tables::options::{
    BINS_DEFAULT, BINS_MAX, KindName, Missing, Numbers, TableOptions, Unknown,
};
pub use tables::preview::{
    ColumnRole, LabelCount, PREVIEW_COLUMNS_MAX, Preview, PreviewColumn, Previewed,
};
pub use text::line_steps::{LineStep, LineSteps};
pub use text::ndjson::{NdjsonPortions, Portion, Supply};
pub use text::write_examples::{TextFormat, push_csv_line, write_csv_header, write_examples};

use error::Fault;
use halfspace_core::learners::sample::data::Data;

/// Reads a whole body of one format. Examples beyond the memory budget go to the spool, if there is one.
type Parse = fn(&mut dyn Read, &Options, Option<Spool>) -> Result<Parsed<ParsedRows>, FormatError>;

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
        text::ndjson::parse,
    ),
    entry(Format::Csv, "text/csv", &["csv"], text::csv::parse),
    entry(
        Format::Libsvm,
        "text/x-libsvm",
        &["libsvm", "svm", "train", "test"],
        text::libsvm::parse,
    ),
    entry(
        Format::Json,
        "application/json",
        &["json"],
        json::data_forms::parse,
    ),
    entry(Format::Arff, "text/x-arff", &["arff"], text::arff::parse),
    entry(
        Format::Npy,
        "application/x-npy",
        &["npy"],
        binary::npy::parse,
    ),
    entry(
        Format::Octets,
        "application/octet-stream",
        &["bin"],
        binary::octets::parse,
    ),
    entry(
        Format::Xlsx,
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        &["xlsx"],
        xlsx::parse,
    ),
    entry(
        Format::Tsv,
        "text/tab-separated-values",
        &["tsv", "tab"],
        text::csv::parse_tabs,
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

/// Position of the label of an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LabelsColumn {
    /// The first column.
    First,
    /// The last column.
    Last,
    /// No labels.
    None,
    /// One bit after the bits of each row.
    Appended,
    /// The column of this name.
    Named(String),
}

/// Whether the first row of a table is a header of names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Header {
    /// The first row is a header if no field is a number or if one field names the label column.
    #[default]
    Auto,
    /// The first row is a header.
    True,
    /// The first row is an example.
    False,
}

/// Meaning of examples without labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnlabelledMeans {
    /// Half-space examples: each is positive.
    #[default]
    HalfSpace,
    /// Unlabelled data: the class of each example is unknown.
    Nothing,
}

/// Limits on one body. An error names the exceeded limit by its field. The limits of the examples and of the
/// body have configured names instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseLimits {
    /// Features per example.
    pub n_max: usize,
    /// Bytes per line.
    pub line_bytes_max: usize,
    /// Bytes that the examples may take, packed or as doubles. The limit counts bytes in memory, or stored
    /// bytes if there is a spool.
    pub state_bytes_max: u64,
    /// Name of the setting behind `state_bytes_max`, for errors.
    pub state_limit_name: &'static str,
    /// Bytes of a body after decompression, counted by [`decoder`].
    pub body_bytes_max: u64,
    /// Name of the setting behind `body_bytes_max`, for errors.
    pub body_limit_name: &'static str,
    /// Decompressed bytes per compressed byte, on average.
    pub decompression_ratio_max: u64,
    /// Decompressed bytes up to which the ratio is not checked.
    pub decompressed_bytes_free: u64,
    /// Depth of nested arrays and objects in JSON.
    pub json_depth_max: usize,
}

impl ParseLimits {
    /// The default limits.
    pub const DEFAULT: Self = Self {
        n_max: 1 << 20,
        line_bytes_max: 32 << 20,
        state_bytes_max: 1 << 30,
        state_limit_name: "state_bytes_max",
        body_bytes_max: 4 << 30,
        body_limit_name: "body_bytes_max",
        decompression_ratio_max: 1000,
        decompressed_bytes_free: 16 << 20,
        json_depth_max: 32,
    };
}

impl Default for ParseLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Properties of a body that the request states beyond the media type.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Position of the labels. `None` is the default of the format: the column with the name of a label in tables,
    /// first in LIBSVM, last in ARFF and `.npy`, no labels in octets. A table without names has no default.
    pub labels: Option<LabelsColumn>,
    /// Whether a CSV table begins with a row of names.
    pub header: Header,
    /// Features per example, if known. Dense examples must have exactly this number.
    pub n: Option<usize>,
    /// Required kind of the features. `None` lets the values decide. Octets and JSON ignore this option.
    pub values: Option<RowsKind>,
    /// First bit of an octet. `None` means the most significant bit.
    pub bit_order: Option<BitOrder>,
    /// Meaning of examples without labels. JSON ignores this option, since its forms state the meaning.
    pub unlabelled: UnlabelledMeans,
    /// Who says what the labels mean.
    pub label_rule: LabelRule,
    /// Columns, kinds and codings of a table.
    pub table: TableOptions,
    /// Distribution that the sender declares for the examples.
    pub assume: Option<Assume>,
    /// Limits of the read.
    pub limits: ParseLimits,
    /// Preview that the reader fills.
    pub preview: Option<Preview>,
}

impl Options {
    /// Refuses the option `header` for a format without a header.
    fn refuse_header(&self, format: &str) -> Result<(), Fault> {
        if self.header == Header::Auto {
            return Ok(());
        }
        let detail = format!(
            "The option `header` is for CSV only; {format} has no such header. Omit the option."
        );
        Err(Fault::new(FormatErrorKind::BadOption, detail))
    }

    /// Refuses the option `delimiter` for a table without text between cells.
    fn refuse_delimiter(&self, format: &str) -> Result<(), Fault> {
        if self.table.delimiter.is_none() {
            return Ok(());
        }
        let detail = format!(
            "The option `delimiter` is for CSV only; {format} has no delimiter. Omit the option."
        );
        Err(Fault::new(FormatErrorKind::BadOption, detail))
    }

    /// Refuses the option `sheet` for a table without sheets.
    fn refuse_sheet(&self, format: &str) -> Result<(), Fault> {
        if self.table.sheet.is_none() {
            return Ok(());
        }
        let detail = format!(
            "The option `sheet` is for XLSX only; {format} has no sheets. Omit the option."
        );
        Err(Fault::new(FormatErrorKind::BadOption, detail))
    }

    /// Refuses the option `labels` for a format that names its labels.
    fn refuse_labels(&self, format: &str) -> Result<(), Fault> {
        if self.labels.is_none() {
            return Ok(());
        }
        let detail = format!(
            "The option `labels` is for tables only; {format} marks its labels. Omit the option."
        );
        Err(Fault::new(FormatErrorKind::BadOption, detail))
    }

    /// Refuses the option `bit_order` for a format without packed bytes.
    fn refuse_bit_order(&self, format: &str) -> Result<(), Fault> {
        if self.bit_order.is_none() {
            return Ok(());
        }
        let detail = format!(
            "The option `bit_order` is for octets only; {format} has no packed bits. Omit the option."
        );
        Err(Fault::new(FormatErrorKind::BadOption, detail))
    }

    /// Checks the number of features per example against the requested n.
    fn check_n(&self, features: usize) -> Result<(), Fault> {
        match self.n.filter(|&n| n != features) {
            None => Ok(()),
            Some(n) => {
                let detail =
                    format!("The examples have {features} features, but the option n is {n}.");
                Err(Fault::new(FormatErrorKind::UnequalLength, detail))
            }
        }
    }
}

/// Content of a body: the examples, in memory or in a spool, and facts about their spelling.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed<D = Data> {
    /// The examples.
    pub data: D,
    /// Place of the first value that made the data real instead of Boolean. Inside a [`DataForm`] the pointer
    /// begins at the form: see [`Place::under`].
    pub first_real: Option<Place>,
    /// Value that a 0 bit of Boolean data had in the body: 0 or -1. A conversion of the bits to real numbers
    /// must use this value.
    pub zero_bit_value: f64,
    /// Names of the features, if the body has names.
    pub feature_names: Option<Vec<String>>,
    /// Names of the labels -1 and +1. Absent if there are no labels, or if they are bits that no value stood for.
    pub classes: Option<Classes>,
    /// The error for labels that only a model can read, and their place. The rule [`LabelRule::Later`] alone admits
    /// them.
    pub foreign: Option<Box<FormatError>>,
    /// The encoding of a table.
    pub table: Option<Arc<TableEncoding>>,
}

impl Parsed {
    /// Wraps data that no body was read for. Bits mean 0 and 1, and features and classes have no names.
    pub fn of(data: Data) -> Self {
        Self {
            data,
            first_real: None,
            zero_bit_value: 0.0,
            feature_names: None,
            classes: None,
            foreign: None,
            table: None,
        }
    }
}

impl Parsed<ParsedRows> {
    /// Unwraps data that were read without a spool.
    fn in_memory(self) -> Parsed {
        self.with(|data| match data {
            ParsedRows::Memory(data) => data,
            ParsedRows::Spooled(_) | ParsedRows::Stored(_) => {
                unreachable!("rows leave memory only where there is a spool")
            }
        })
    }
}

impl From<Parsed> for Parsed<ParsedRows> {
    fn from(parsed: Parsed) -> Self {
        parsed.with(ParsedRows::Memory)
    }
}

impl<D> Parsed<D> {
    /// Returns the names of the labels -1 and +1, unless the labels are 1 and -1, or 1 and 0.
    pub fn class_names(&self) -> Option<[String; 2]> {
        self.classes.as_ref().and_then(Classes::names)
    }

    /// Converts the examples and keeps the other fields.
    fn with<E>(self, keep: impl FnOnce(D) -> E) -> Parsed<E> {
        Parsed {
            data: keep(self.data),
            first_real: self.first_real,
            zero_bit_value: self.zero_bit_value,
            feature_names: self.feature_names,
            classes: self.classes,
            foreign: self.foreign,
            table: self.table,
        }
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
        return json::data_forms::read(&mut reader, options);
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
    let parsed = (format.entry().parse)(&mut reader, options, None)?;
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
    (format.entry().parse)(&mut reader, options, Some(spool))
}

#[cfg(test)]
mod tests;

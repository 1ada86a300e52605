//! Formats: bytes in, data out, errors with their place in the body.
//!
//! Everything reads a synchronous `std::io::Read` as a stream: memory holds the packed examples,
//! one read buffer and one line or row, never the body. With a [`Spool`] it does not hold all
//! examples either. Every reader feeds one `SampleBuilder`, which alone decides whether the data
//! are Boolean or real. Nothing here knows where the bytes come from or who asked.
//!
//! To add a format: one file with a function of the type `Parse`, one variant of [`Format`], one
//! line in `FORMATS`.

mod arff;
mod arff_header;
mod arff_scanner;
mod block_range;
mod blocks;
mod content_coding;
mod csv;
mod digest;
mod error;
mod extent;
mod gathered;
mod generated;
pub mod json;
mod json_data;
mod json_depth;
mod json_examples;
mod json_scope;
mod labels;
mod layout;
mod libsvm;
mod line_steps;
mod lines;
mod ndjson;
mod npy;
mod npy_header;
mod numbers;
mod octets;
mod packed;
mod parts;
mod read_at;
mod row_reader;
mod rows;
mod sample_builder;
mod spool;
mod store;
mod stored_examples;
mod target;
mod tensor;
mod tensor_datatype;
mod words;
mod write_examples;

use std::io::Read;

pub use crate::learners::repetitions::{EXAMPLES_MAX, RepetitionCounts};
pub use block_range::RowRange;
pub use blocks::{BlocksError, BlocksHeader, LabelsKind, RowsKind, read_blocks, write_blocks};
pub use content_coding::{ContentCoding, Decoder, decoder};
pub use digest::digest;
pub use error::{FormatError, FormatErrorKind, Place};
pub use extent::{Extent, extent};
pub use gathered::{Gathered, Stored};
pub use generated::{GeneratedSpec, Sampling};
pub use json_data::{Assume, DataForm};
pub use layout::Layout;
pub use line_steps::{LineStep, LineSteps};
pub use ndjson::{NdjsonPortions, Portion, Supply};
pub use packed::BitOrder;
pub use read_at::ReadAt;
pub use spool::{NotReserved, Spool, SpoolFile};
pub use stored_examples::{Buffers, StoredExamples};
pub use target::{BinaryWeightsSpec, LITERALS_MAX, TargetSpec};
pub use tensor::{TensorList, read_tensor_octets};
pub use tensor_datatype::Datatype;
pub use write_examples::{TextFormat, write_examples};

use crate::learners::data::Data;
use error::Fault;

/// Reads a whole body of one format; examples go to the spool, if there is one, when memory has no
/// room for them.
type Parse = fn(&mut dyn Read, &Options, Option<Spool>) -> Result<Parsed<Gathered>, FormatError>;

/// Every format with its media type and its reader, in the order of [`Format`].
const FORMATS: &[(Format, &str, Parse)] = &[
    (Format::Ndjson, "application/x-ndjson", ndjson::parse),
    (Format::Csv, "text/csv", csv::parse),
    (Format::Libsvm, "text/x-libsvm", libsvm::parse),
    (Format::Json, "application/json", json_data::parse),
    (Format::Arff, "text/x-arff", arff::parse),
    (Format::Npy, "application/x-npy", npy::parse),
    (Format::Octets, "application/octet-stream", octets::parse),
];

const _: () = {
    let mut index = 0;
    while index < FORMATS.len() {
        assert!(FORMATS[index].0 as usize == index, "the order of Format");
        index += 1;
    }
};

/// A format that data are accepted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A JSON object or a bit string a line.
    Ndjson,
    /// Comma-separated values.
    Csv,
    /// `label index:value ...`, indices from 1.
    Libsvm,
    /// One JSON document holding a [`DataForm`].
    Json,
    /// Weka's attributes and rows; a nominal attribute is a feature a value.
    Arff,
    /// A two-dimensional NumPy array.
    Npy,
    /// Packed bits, each row padded to whole bytes.
    Octets,
}

impl Format {
    /// The format of a Content-Type; parameters such as `; charset=utf-8` are passed over.
    pub fn from_media_type(content_type: &str) -> Option<Self> {
        let essence = content_type.split(';').next().unwrap_or_default().trim();
        let named =
            |(_, media_type, _): &&(Self, &str, Parse)| media_type.eq_ignore_ascii_case(essence);
        FORMATS.iter().find(named).map(|(format, _, _)| *format)
    }

    /// The media type that names the format.
    pub fn media_type(self) -> &'static str {
        self.entry().1
    }

    /// Whether every feature is written out, so that examples in memory take a small multiple of
    /// their text. In ARFF one word can stand for a million features.
    pub fn is_dense(self) -> bool {
        !matches!(self, Self::Libsvm | Self::Arff)
    }

    /// Whether labels stand in a column that a body may well go without, so that a prediction
    /// looks for them only when it is told to.
    pub fn has_label_column(self) -> bool {
        matches!(self, Self::Csv | Self::Arff | Self::Npy)
    }

    /// Whether a body does not tell how many features an example has.
    pub fn leaves_n_open(self) -> bool {
        matches!(self, Self::Libsvm | Self::Octets)
    }

    /// Every media type that is read.
    pub fn media_types() -> impl Iterator<Item = &'static str> {
        FORMATS.iter().map(|(_, media_type, _)| *media_type)
    }

    fn entry(self) -> &'static (Self, &'static str, Parse) {
        &FORMATS[self as usize]
    }
}

/// Where the label of an example stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LabelsColumn {
    /// In the first column.
    First,
    /// In the last column.
    Last,
    /// Nowhere.
    None,
    /// One bit after the bits of each row.
    Appended,
    /// In the column of this name.
    Named(String),
}

/// Whether a table begins with a row of names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Header {
    /// It does when no field of the first row is a number, or one names the label column.
    #[default]
    Auto,
    /// It does.
    True,
    /// It does not.
    False,
}

/// What examples without labels are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnlabelledMeans {
    /// Half-space examples: each is positive.
    #[default]
    HalfSpace,
    /// Data of which nothing is said.
    Nothing,
}

/// How much is read; every limit appears by its field's name in the error that it raises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Features an example.
    pub n_max: usize,
    /// Bytes in a line.
    pub line_bytes_max: usize,
    /// Bytes that the examples may take, packed or as doubles: in memory, or stored when there is a
    /// spool.
    pub state_bytes_max: u64,
    /// What the limit of the examples is called where it was set.
    pub state_limit_name: &'static str,
    /// Bytes of a body after decompression; [`decoder`] counts them.
    pub body_bytes_max: u64,
    /// What the limit of a body is called where it was set.
    pub body_limit_name: &'static str,
    /// Bytes that one byte of a compressed body may become on average.
    pub decompression_ratio_max: u64,
    /// Decompressed bytes up to which that ratio is not looked at.
    pub decompressed_bytes_free: u64,
    /// Nested arrays and objects in JSON.
    pub json_depth_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            n_max: 1 << 20,
            line_bytes_max: 32 << 20,
            state_bytes_max: 1 << 30,
            state_limit_name: "state_bytes_max",
            body_bytes_max: 4 << 30,
            body_limit_name: "body_bytes_max",
            decompression_ratio_max: 1000,
            decompressed_bytes_free: 16 << 20,
            json_depth_max: 32,
        }
    }
}

/// What a request says of its body beyond the media type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Where labels stand; `None` is the format's own default (CSV and LIBSVM: first; ARFF and
    /// `.npy`: last; octets: nowhere).
    pub labels: Option<LabelsColumn>,
    /// Whether a CSV table begins with names.
    pub header: Header,
    /// Features an example, when known: dense examples must have exactly as many.
    pub n: Option<usize>,
    /// What the features are, when known; bits, in JSON too, are what they are.
    pub values: Option<RowsKind>,
    /// Which bit of an octet comes first; `None` is the most significant.
    pub bit_order: Option<BitOrder>,
    /// What examples without labels are; JSON says it itself.
    pub unlabelled: UnlabelledMeans,
    /// What the sender declares of the examples' distribution.
    pub assume: Option<Assume>,
    /// How much is read.
    pub limits: Limits,
}

impl Options {
    /// Refuses a header where the format has none.
    fn refuse_header(&self, format: &str) -> Result<(), Fault> {
        if self.header == Header::Auto {
            return Ok(());
        }
        let detail = format!("The option header is for CSV; {format} has no such header.");
        Err(Fault::new(FormatErrorKind::BadOption, detail))
    }

    /// Refuses a place of labels where the format says itself which they are.
    fn refuse_labels(&self, format: &str) -> Result<(), Fault> {
        if self.labels.is_none() {
            return Ok(());
        }
        let detail = format!("The option labels is for tables; {format} names its labels.");
        Err(Fault::new(FormatErrorKind::BadOption, detail))
    }

    /// Refuses an order of bits where the format has no bytes of bits.
    fn refuse_bit_order(&self, format: &str) -> Result<(), Fault> {
        if self.bit_order.is_none() {
            return Ok(());
        }
        let detail =
            format!("The option bit_order is for octets; {format} has no bits in bytes to order.");
        Err(Fault::new(FormatErrorKind::BadOption, detail))
    }

    /// Checks that a body whose examples have so many features is of the n asked for.
    fn check_n(&self, features: usize) -> Result<(), Fault> {
        match self.n.filter(|&n| n != features) {
            None => Ok(()),
            Some(n) => {
                let detail =
                    format!("The examples have {features} features, but the n asked for is {n}.");
                Err(Fault::new(FormatErrorKind::UnequalLength, detail))
            }
        }
    }
}

/// A body read as data: in memory, or wherever there was room.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed<D = Data> {
    /// The examples.
    pub data: D,
    /// Where the first value stood that made the data real rather than Boolean. Inside a
    /// [`DataForm`] the pointer begins at the form: see [`Place::under`].
    pub first_real: Option<Place>,
    /// What a 0 bit of Boolean data was written as: 0, or -1. Whoever needs the values as real
    /// numbers after all takes it from here.
    pub zero_bit_value: f64,
    /// The names of the features, when the body gave them.
    pub feature_names: Option<Vec<String>>,
    /// What the labels -1 and +1 were written as, when they had names.
    pub class_names: Option<[String; 2]>,
}

impl Parsed {
    /// Data that no body was read for: bits that mean 0 and 1, or reals, without names.
    pub fn of(data: Data) -> Self {
        Self {
            data,
            first_real: None,
            zero_bit_value: 0.0,
            feature_names: None,
            class_names: None,
        }
    }
}

impl Parsed<Gathered> {
    /// What was read without a spool.
    fn in_memory(self) -> Parsed {
        self.with(|data| match data {
            Gathered::Memory(data) => data,
            Gathered::Spooled(_) => unreachable!("rows are spooled where there is a spool"),
        })
    }
}

impl From<Parsed> for Parsed<Gathered> {
    fn from(parsed: Parsed) -> Self {
        parsed.with(Gathered::Memory)
    }
}

impl<D> Parsed<D> {
    /// The same, the examples kept otherwise.
    fn with<E>(self, keep: impl FnOnce(D) -> E) -> Parsed<E> {
        Parsed {
            data: keep(self.data),
            first_real: self.first_real,
            zero_bit_value: self.zero_bit_value,
            feature_names: self.feature_names,
            class_names: self.class_names,
        }
    }
}

/// Reads a body as data, sent along or to be drawn.
///
/// # Errors
/// As for [`parse`].
pub fn read(
    format: Format,
    mut reader: impl Read,
    options: &Options,
) -> Result<DataForm, FormatError> {
    if format == Format::Json {
        return json_data::read(&mut reader, options);
    }
    let parsed = parse(format, reader, options)?;
    let assume = options.assume;
    Ok(DataForm::Sample { parsed, assume })
}

/// Reads a body as data sent along.
///
/// # Errors
/// What is wrong with the body, with its place, or the [`FormatErrorKind::Io`] of its source.
pub fn parse(
    format: Format,
    mut reader: impl Read,
    options: &Options,
) -> Result<Parsed, FormatError> {
    let parsed = (format.entry().2)(&mut reader, options, None)?;
    Ok(parsed.in_memory())
}

/// Reads a body of any length as data sent along: what memory has no room for goes to the spool.
/// Examples in JSON are held in memory all the same.
///
/// # Errors
/// As for [`parse`], or [`FormatErrorKind::Spool`].
pub fn gather(
    format: Format,
    mut reader: impl Read,
    options: &Options,
    spool: Spool,
) -> Result<Parsed<Gathered>, FormatError> {
    (format.entry().2)(&mut reader, options, Some(spool))
}

#[cfg(test)]
mod tests;

//! Readers and writers of examples: they turn bytes into data for the learners, and an error names its place in the
//! body.
//!
//! A body of examples arrives as a stream of bytes in one of several formats. This crate turns it into the
//! [`Data`](halfspace_core::learners::sample::data::Data) that the learners of [`halfspace_core`] read. It covers the
//! line formats (NDJSON, CSV, LIBSVM, ARFF), XLSX workbooks, Parquet, the JSON forms of data, the binary formats
//! (`.npy`, octets, tensors), the content codings and the charsets of texts, the stored form with its digest, and the
//! spool, a temporary file for rows beyond the memory budget. It does not know where the bytes come from, or which
//! request sent them.
//!
//! Every reader takes a synchronous [`std::io::Read`]. It holds the examples, one read buffer and one line or row in
//! memory, but not the whole body. The exceptions are a JSON document below 512 KiB, the rows of a JSON table, the
//! strings of the JSON form `packed`, the pages of Parquet that are being read and, without a [`Spool`], a workbook, a
//! file of Parquet and the coded cells of a table whose encoding is not known yet. If you pass a [`Spool`], the
//! examples need not all fit in memory either.
//!
//! Every reader passes its values to a `SampleBuilder`, or to a `SparseBuilder` for rows of active features. These
//! builders alone decide whether the data are Boolean or real.
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
//! To add a format, write one file with a function of the type `Parse`, one variant of [`Format`] and one entry in
//! `formats.rs`, which also says which options the format lacks. The reader of a table passes typed cells to a
//! `TableBuilder`.

#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod building;
mod cell;
mod charset;
mod classes;
mod content_coding;
mod dates;
mod encoding;
mod error;
mod extent;
mod numbers;
mod option_text;
mod options;
mod plain_words;
mod readers;
mod remedy;
mod repairs;
mod stored;
mod tables;
mod texts;
mod utf8_reader;
mod vocabulary;
mod written_number;

pub use building::label_names::{CLASSES_MAX, LabelCount, classes_alone};
pub use building::parsed::Parsed;
pub use building::parsed_rows::ParsedRows;
pub use building::sparse_builder::NAMES_WITHOUT_VALUES;
pub use building::store_pass::{Stored, storing_bytes};
pub use cell::{Content, Family, MISSING, MISSING_AMONG_NUMBERS};
pub use charset::Charset;
pub use classes::{Classes, LabelRule, Recoding, is_missing, occurring};
pub use content_coding::{ContentCoding, Decoder, decoder};
pub use dates::{DateOrder, DatePart};
pub use encoding::options::{
    BINS_DEFAULT, BINS_MAX, Numbers, Roles, Scaling, StatedWeights, TableOptions, Unknown,
};
pub use encoding::{
    ColumnEncoding, ColumnKind, IgnoredColumn, KindName, LabelEncoding, Missing, MissingCells,
    NamedCells, Scale, StatedColumn, StatedLabel, TableEncoding, WeightsColumn, Written,
};
pub use error::{FormatError, FormatErrorKind, Place};
pub use extent::{Extent, extent};
pub use halfspace_core::learners::engine::assume::Assume;
pub use halfspace_core::learners::sample::repetitions::{EXAMPLES_MAX, RepetitionCounts};
pub use numbers::DecimalMark;
pub use option_text::{OPTION_NAMES, is_list, name_list, row_option_names};
pub use options::{
    BitOrder, FirstIndex, Header, LabelsColumn, Options, ParseLimits, UnlabelledMeans,
};
pub use plain_words::plain_words;
pub use readers::binary::npy_header::npy_header;
pub use readers::binary::tensor::{TensorList, read_tensor_octets};
pub use readers::binary::tensor_datatype::Datatype;
pub use readers::formats::{CharsetFault, Format, gather, gather_shown, parse, read};
pub use readers::json;
pub use readers::json::data_forms::DataForm;
pub use readers::json::generated::GeneratedSpec;
pub use readers::json::rows::JsonRows;
pub use readers::json::target::{BinaryWeightsSpec, LITERALS_MAX, TargetSpec};
pub use readers::raw_cells::{check_cells, encode_again, encode_examples, encode_for};
pub use readers::text::line_steps::{LineStep, LineSteps};
pub use readers::text::ndjson_portions::{NdjsonPortions, Portion, Supply};
pub use readers::text::write_examples::{
    TextFormat, Unwritten, push_csv_line, write_csv_header, write_examples,
};
pub use repairs::{Defect, Repair, Shape, TRIED_BYTES_MAX, advice, repaired};
pub use stored::block_range::RowRange;
pub use stored::blocks::{NamedData, WeightedData, read_blocks, write_blocks};
pub use stored::digest::digest;
pub use stored::header::{BlocksError, LabelsKind, RowsKind};
pub use stored::layout::{Layout, Units, stored_bytes};
pub use stored::raw_cells::{CellKeeper, RawCells};
pub use stored::read_at::{ReadAt, ReadFrom};
pub use stored::spool::{NotReserved, Spool, SpoolFile};
pub use stored::stored_examples::{Buffers, StoredExamples};
pub use tables::preview::{Preview, Previewed};
pub use tables::seen_table::{ColumnRole, PREVIEW_COLUMNS_MAX, PreviewColumn};
pub use texts::{EXAMPLE_NAMES_MAX, Extraction, Lengths, Occurrences, TextVersion};
pub use vocabulary::{NAME_BYTES_MAX, Renumbering, Vocabulary};
pub use written_number::WrittenNumber;

#[cfg(test)]
mod tests;

//! Tests of the rules and of bad input, with the exact place of each fault.

mod arff;
mod bad_parquet;
mod bad_workbooks;
mod binary;
mod blocks;
mod budgets;
mod charsets;
mod coding;
mod corpus;
mod fitting;
mod indices;
mod json;
mod label_words;
mod lines;
mod many_labels;
mod named_tables;
mod names;
mod number_columns;
mod parquet_tables;
mod parquet_writer;
mod portions;
mod preview;
mod properties;
mod raw_cells;
mod read_again;
mod repairs;
mod spellings;
mod spool;
mod tables;
mod tensors;
mod texts;
mod vw;
mod weights;
mod workbooks;

use halfspace_core::bits::SparseRow;
use halfspace_core::learners::sample::data::{Data, DenseFeatures, Features, Labels};

use super::{
    BitOrder, Format, FormatError, FormatErrorKind, Header, LabelsColumn, Options, ParseLimits,
    Parsed, Place, UnlabelledMeans,
};
use corpus::parse;

fn read(format: Format, body: &str) -> Result<Parsed, FormatError> {
    parse(format, body.as_bytes(), &Options::default())
}

/// The options for a table without names, whose label comes first.
fn first_label(format: Format, options: &Options) -> Options {
    let is_open =
        matches!(format, Format::Csv | Format::Tsv | Format::Xlsx) && options.labels.is_none();
    Options {
        labels: if is_open {
            Some(LabelsColumn::First)
        } else {
            options.labels.clone()
        },
        ..options.clone()
    }
}

/// Rows as bit strings, or as lists of numbers.
fn rows(data: &Data) -> Vec<String> {
    match data.features().packed().expect("memory") {
        DenseFeatures::Boolean(matrix) => {
            let row = |row| matrix.row(row).to_bit_string();
            (0..matrix.rows()).map(row).collect()
        }
        DenseFeatures::Real(matrix) => {
            let row = |row| format!("{:?}", matrix.row(row));
            (0..matrix.rows()).map(row).collect()
        }
    }
}

/// Labels as a bit string, or the kind of data without labels.
fn labels(data: &Data) -> String {
    match data.labels() {
        Labels::Labelled(codes) => codes.signs().expect("two classes").to_bit_string(),
        Labels::HalfSpace => "half-space".to_owned(),
        Labels::Unlabelled => "unlabelled".to_owned(),
    }
}

/// Options as a query states them.
fn options(query: &str) -> Options {
    let stated: Vec<&str> = query.split('&').filter(|one| !one.is_empty()).collect();
    options_of(&stated)
}

/// Options from their names and values, such as `bins=2`.
fn options_of(stated: &[&str]) -> Options {
    let mut options = Options::default();
    for option in stated {
        let (name, text) = option.split_once('=').unwrap();
        assert_eq!(options.set(name, text), Ok(true), "{option}");
    }
    options
}

/// The names of each row, with the values that are not 1.
fn named_rows(parsed: &Parsed) -> Vec<Vec<String>> {
    let Features::Sparse(rows) = parsed.data.features() else {
        panic!("sparse rows");
    };
    let names: Vec<&str> = parsed.vocabulary.as_ref().expect("names").names().collect();
    let name = |(id, value): (usize, f64)| match value {
        1.0 => names[id].to_owned(),
        value => format!("{}: {value}", names[id]),
    };
    let named = |row: SparseRow<'_>| row.entries().map(name).collect();
    (0..rows.rows()).map(|row| named(rows.row(row))).collect()
}

fn at(line: u64, column: u64) -> Place {
    Place::Line { line, column }
}

/// Checks that a body is the same table as a CSV text.
fn same_as_csv(format: Format, body: &[u8], csv: &str, options: &Options) {
    let text = parse(Format::Csv, csv.as_bytes(), options).expect(csv);
    let mut read = parse(format, body, options).expect(csv);
    // Only the places differ.
    assert_eq!(read.first_real.is_some(), text.first_real.is_some());
    read.first_real.clone_from(&text.first_real);
    assert_eq!(read, text, "{csv}");
    assert_eq!(read.digest(), text.digest());
}

#[test]
fn media_types_name_formats() {
    let cases = [
        ("application/x-ndjson", Some(Format::Ndjson)),
        ("text/csv; charset=utf-8", Some(Format::Csv)),
        ("text/tab-separated-values", Some(Format::Tsv)),
        ("Text/X-LibSVM", Some(Format::Libsvm)),
        ("application/json;charset=utf-8", Some(Format::Json)),
        ("text/x-arff", Some(Format::Arff)),
        ("application/x-npy", Some(Format::Npy)),
        ("application/octet-stream", Some(Format::Octets)),
        (
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            Some(Format::Xlsx),
        ),
        ("application/vnd.apache.parquet", Some(Format::Parquet)),
        ("text/plain", None),
        ("", None),
    ];
    for (media_type, format) in cases {
        assert_eq!(Format::from_media_type(media_type), format, "{media_type}");
    }
    for media_type in Format::media_types() {
        let format = Format::from_media_type(media_type).expect("its own name");
        assert_eq!(format.media_type(), media_type);
    }
}

#[test]
fn options_are_refused_by_the_formats_that_lack_them() {
    let cases = [
        (
            Format::Ndjson,
            "bit_order=big",
            "octets only; NDJSON has no packed bits.",
        ),
        (
            Format::Csv,
            "bit_order=big",
            "octets only; CSV has no packed bits.",
        ),
        (Format::Csv, "sheet=a", "XLSX only; CSV has no sheets."),
        (Format::Tsv, "sheet=a", "XLSX only; CSV has no sheets."),
        (
            Format::Libsvm,
            "header=true",
            "CSV only; LIBSVM has no such header.",
        ),
        (
            Format::Libsvm,
            "bit_order=big",
            "octets only; LIBSVM has no packed bits.",
        ),
        (
            Format::Json,
            "bit_order=big",
            "octets only; JSON has no packed bits.",
        ),
        (
            Format::Json,
            "labels=appended",
            "tables only; JSON marks its labels.",
        ),
        (
            Format::Arff,
            "header=false",
            "CSV only; ARFF has no such header.",
        ),
        (
            Format::Arff,
            "bit_order=big",
            "octets only; ARFF has no packed bits.",
        ),
        (
            Format::Npy,
            "header=true",
            "CSV only; .npy has no such header.",
        ),
        (
            Format::Npy,
            "bit_order=big",
            "octets only; .npy has no packed bits.",
        ),
        (
            Format::Octets,
            "header=true",
            "CSV only; a body of octets has no such header.",
        ),
        (
            Format::Xlsx,
            "bit_order=big",
            "octets only; XLSX has no packed bits.",
        ),
        (
            Format::Xlsx,
            "delimiter=;",
            "CSV only; XLSX has no delimiter.",
        ),
    ];
    let refusal = |format: Format, option: &str| {
        let (name, text) = option.split_once('=').unwrap();
        let mut options = Options::default();
        assert_eq!(options.set(name, text), Ok(true));
        let error = crate::parse(format, [].as_slice(), &options).expect_err(option);
        assert_eq!(
            (error.kind, error.place),
            (FormatErrorKind::BadOption, None)
        );
        (name.to_owned(), error.detail)
    };
    for (format, option, reason) in cases {
        let (name, detail) = refusal(format, option);
        assert_eq!(
            detail,
            format!("The option `{name}` is for {reason} Omit the option.")
        );
    }
    let labels = [
        (
            Format::Libsvm,
            "last",
            "LIBSVM labels come first; the option `labels` must be `first` or `none`.",
        ),
        (
            Format::Npy,
            "class",
            "The columns of .npy have no names; the option `labels` must be `first`, `last` or `none`.",
        ),
        (
            Format::Octets,
            "first",
            "Octets have no columns; the option `labels` must be `none` or `appended`.",
        ),
    ];
    for (format, place, detail) in labels {
        assert_eq!(refusal(format, &format!("labels={place}")).1, detail);
    }
}

#[test]
fn error_pointers_move_under_a_prefix() {
    let pointer = Place::Pointer("/labelled/examples/3".to_owned());
    let moved = Place::Pointer("/train/data/labelled/examples/3".to_owned());
    assert_eq!(pointer.under("/train/data"), moved);
    for other in [at(1, 2), Place::Byte(3), Place::Cell { row: 1, column: 2 }] {
        assert_eq!(other.clone().under("/train"), other);
    }
}

//! Writer of examples as text, which the readers of the line formats read back as the same data.
//!
//! NDJSON and JSON write Boolean rows as bit strings if a 0 bit means 0, and as lists of -1 and 1 if it means -1. They
//! write features with names as lists of the names, or as objects if there are values other than 1. CSV and LIBSVM
//! write the label first. The label is the name of the class, except that LIBSVM, whose new data have numbers as
//! labels, writes 1 or -1 where these can only mean the labels themselves.
//!
//! To read CSV or LIBSVM without labels, use `labels=none`. LIBSVM leaves out zeros, so its reader may need the option
//! `n`.
//!
//! Lines of CSV are written here and not with `csv` 1.4, which quotes a cell for its delimiters, quotes and line breaks
//! only. Our reader ignores blanks around a cell, so a name that begins or ends with one needs quotes too.

use std::borrow::Cow;
use std::fmt::Write;

use serde_json::Number;

use halfspace_core::bits::{BitVector, SparseRow, words_for};
use halfspace_core::learners::sample::data::{Data, Features, Labels};

use crate::building::labels::label_name;
use crate::classes::Classes;
use crate::readers::text::vw;
use crate::vocabulary::Vocabulary;

/// Format of written examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFormat {
    /// Items of a JSON list.
    Json,
    /// See [`Format::Ndjson`](crate::Format::Ndjson).
    Ndjson,
    /// See [`Format::Csv`](crate::Format::Csv).
    Csv,
    /// See [`Format::Libsvm`](crate::Format::Libsvm).
    Libsvm,
    /// See [`Format::Vw`](crate::Format::Vw). Only names can be written.
    Vw,
}

/// Why examples are not written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unwritten {
    /// The text would be longer than it may be.
    TooLong,
    /// The format cannot have this name of a feature or a class.
    Name(String),
}

impl TextFormat {
    /// All text formats.
    pub const ALL: [Self; 5] = [Self::Json, Self::Ndjson, Self::Csv, Self::Libsvm, Self::Vw];
}

/// Writes examples as text of at most `bytes_max` bytes. JSON text is the items of a list without its brackets. Without
/// `classes` the labels are 1 and -1. Only JSON, NDJSON and the format of Vowpal Wabbit write the names of a
/// vocabulary.
///
/// # Errors
/// A longer text, or a name that the format cannot have.
pub fn write_examples(
    data: &Data,
    classes: Option<&Classes>,
    vocabulary: Option<&Vocabulary>,
    zero_bit_value: i8,
    format: TextFormat,
    bytes_max: u64,
) -> Result<String, Unwritten> {
    let mut text = String::new();
    let labels = data.labels();
    let names = label_texts(labels, classes, format);
    for row in 0..data.examples() {
        let label = match labels {
            Labels::Labelled(codes) => Some(names[codes.get(row) as usize].as_str()),
            Labels::HalfSpace | Labels::Unlabelled => None,
        };
        let values = match data.features() {
            Features::Boolean(matrix) => Values::Bits(matrix.row(row), zero_bit_value),
            Features::Real(matrix) => Values::Real(matrix.row(row)),
            Features::Sparse(matrix) => Values::Sparse(matrix.row(row), matrix.n(), zero_bit_value),
        };
        // Writing to a string does not fail.
        let _ = match format {
            TextFormat::Ndjson => push_object(&mut text, &values, vocabulary, label, "\n"),
            TextFormat::Json => {
                let end = if row + 1 < data.examples() { "," } else { "" };
                push_object(&mut text, &values, vocabulary, label, end)
            }
            TextFormat::Csv => push_csv(&mut text, &values, label),
            TextFormat::Libsvm => push_libsvm(&mut text, &values, label),
            TextFormat::Vw => Ok(push_vw(&mut text, &values, vocabulary, label)?),
        };
        if text.len() as u64 > bytes_max {
            return Err(Unwritten::TooLong);
        }
    }
    Ok(text)
}

/// The text of the label of each code.
fn label_texts(labels: &Labels, classes: Option<&Classes>, format: TextFormat) -> Vec<String> {
    let signs = ["-1", "1"].map(str::to_owned).to_vec();
    let Some((classes, names)) = classes.and_then(|classes| Some((classes, classes.names()?)))
    else {
        return signs;
    };
    let texts = names.iter().map(String::as_str);
    match format {
        TextFormat::Csv => texts.map(|name| csv_cell(name).into_owned()).collect(),
        TextFormat::Libsvm | TextFormat::Vw
            if labels.signs().is_some() && classes.reads_signs() =>
        {
            signs
        }
        TextFormat::Libsvm => texts.map(libsvm_token).collect(),
        TextFormat::Vw => names,
        TextFormat::Json | TextFormat::Ndjson => texts
            .map(|name| serde_json::Value::from(name).to_string())
            .collect(),
    }
}

/// Writes the row of names above examples in CSV. The label comes first.
pub fn write_csv_header(features: &[String], has_label: bool) -> String {
    let label = has_label.then(|| label_name(features));
    let names = label.iter().chain(features);
    let mut line = String::new();
    push_csv_line(&mut line, names.map(String::as_str));
    line
}

/// Appends texts as one line of CSV, quoted where necessary.
pub fn push_csv_line<'t>(text: &mut String, cells: impl IntoIterator<Item = &'t str>) {
    for (at, cell) in cells.into_iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        text.push_str(&csv_cell(cell));
    }
    text.push('\n');
}

/// A cell of CSV, quoted where necessary.
fn csv_cell(cell: &str) -> Cow<'_, str> {
    match cell.contains([',', '"', '\n', '\r']) || cell.trim() != cell {
        true => format!("\"{}\"", cell.replace('"', "\"\"")).into(),
        false => cell.into(),
    }
}

/// A name without the characters that end a label of LIBSVM. It cannot become the name of the other class, because
/// that is then a number.
fn libsvm_token(name: &str) -> String {
    name.replace([' ', '\t', '\r', '\n', ':', '#'], "_")
}

/// The features of one example.
enum Values<'a> {
    /// Bits, and the value that a 0 bit had in the body.
    Bits(BitVector, i8),
    Real(&'a [f64]),
    /// A sparse row, its number of features, and the value of a 0 bit if the row is Boolean.
    Sparse(SparseRow<'a>, usize, i8),
}

impl Values<'_> {
    fn n(&self) -> usize {
        match self {
            Self::Bits(bits, _) => bits.n(),
            Self::Real(values) => values.len(),
            Self::Sparse(_, n, _) => *n,
        }
    }

    /// Writes value `j`, counted from 0.
    fn push(&self, text: &mut String, j: usize) -> std::fmt::Result {
        let value = match self {
            Self::Bits(bits, _) if bits.get(j) => return text.write_str("1"),
            Self::Bits(_, zero) => return write!(text, "{zero}"),
            Self::Real(values) => values[j],
            Self::Sparse(row, _, zero) => match (row.ids.binary_search(&(j as u32)), row.values) {
                (Ok(_), None) => return text.write_str("1"),
                (Err(_), None) => return write!(text, "{zero}"),
                (Ok(at), Some(values)) => values[at],
                (Err(_), Some(_)) => 0.0,
            },
        };
        match Number::from_f64(value) {
            Some(number) => write!(text, "{number}"),
            // Stored values are finite.
            None => text.write_str("0"),
        }
    }

    /// The coordinates whose value is not 0. For a sparse row this takes only the time of its active features.
    fn nonzero(&self) -> Box<dyn Iterator<Item = usize> + '_> {
        match self {
            Self::Bits(_, -1) | Self::Sparse(SparseRow { values: None, .. }, _, -1) => {
                Box::new(0..self.n())
            }
            Self::Bits(bits, _) => Box::new((0..bits.n()).filter(|&j| bits.get(j))),
            Self::Real(values) => Box::new((0..values.len()).filter(|&j| values[j] != 0.0)),
            Self::Sparse(row, ..) => {
                let active = row.entries().filter(|(_, value)| *value != 0.0);
                Box::new(active.map(|(j, _)| j))
            }
        }
    }
}

fn push_object(
    text: &mut String,
    values: &Values,
    vocabulary: Option<&Vocabulary>,
    label: Option<&str>,
    end: &str,
) -> std::fmt::Result {
    text.push_str("{\"x\":");
    match (values, vocabulary) {
        (Values::Sparse(row, ..), Some(vocabulary)) => push_names(text, *row, vocabulary)?,
        (Values::Bits(bits, 0), _) => write!(text, "\"{}\"", bits.to_bit_string())?,
        (Values::Sparse(row @ SparseRow { values: None, .. }, n, 0), None) => {
            let mut words = vec![0; words_for(*n)];
            row.pack(&mut words);
            let bits = BitVector::from_words(*n, words);
            write!(text, "\"{}\"", bits.to_bit_string())?;
        }
        (values, _) => {
            for j in 0..values.n() {
                text.push(if j == 0 { '[' } else { ',' });
                values.push(text, j)?;
            }
            text.push(']');
        }
    }
    if let Some(label) = label {
        write!(text, ",\"y\":{label}")?;
    }
    write!(text, "}}{end}")
}

/// Writes the names of the active features, with values unless the row is Boolean.
fn push_names(text: &mut String, row: SparseRow<'_>, vocabulary: &Vocabulary) -> std::fmt::Result {
    let named = |(id, value): (usize, f64)| (vocabulary.name(id as u32).unwrap_or_default(), value);
    let names = row.entries().map(named);
    let [open, close] = if row.values.is_some() {
        ['{', '}']
    } else {
        ['[', ']']
    };
    text.push(open);
    for (at, (name, value)) in names.enumerate() {
        if at > 0 {
            text.push(',');
        }
        write!(text, "{}", serde_json::Value::from(name))?;
        // Stored values are finite.
        if let (Some(_), Some(number)) = (row.values, Number::from_f64(value)) {
            write!(text, ":{number}")?;
        }
    }
    text.push(close);
    Ok(())
}

fn push_csv(text: &mut String, values: &Values, label: Option<&str>) -> std::fmt::Result {
    if let Some(label) = label {
        write!(text, "{label},")?;
    }
    for j in 0..values.n() {
        if j > 0 {
            text.push(',');
        }
        values.push(text, j)?;
    }
    writeln!(text)
}

/// Writes one line. Without label and values it would be blank, and the reader takes no blank line for an example. So
/// such a line names its first feature, with the value 0.
fn push_libsvm(text: &mut String, values: &Values, label: Option<&str>) -> std::fmt::Result {
    let begun = text.len();
    if let Some(label) = label {
        write!(text, "{label}")?;
    }
    for j in values.nonzero() {
        if text.len() > begun {
            text.push(' ');
        }
        write!(text, "{}:", j + 1)?;
        values.push(text, j)?;
    }
    if text.len() == begun {
        text.push_str("1:0");
    }
    writeln!(text)
}

/// Writes one line for Vowpal Wabbit. Names of one namespace stand together.
fn push_vw(
    text: &mut String,
    values: &Values,
    vocabulary: Option<&Vocabulary>,
    label: Option<&str>,
) -> Result<(), Unwritten> {
    if let Some(label) = label {
        if !vw::is_label(label) {
            return Err(Unwritten::Name(label.to_owned()));
        }
        text.push_str(label);
        text.push(' ');
    }
    text.push('|');
    let (Values::Sparse(row, ..), Some(vocabulary)) = (values, vocabulary) else {
        text.push('\n');
        return Ok(());
    };
    let mut begun = None;
    for (id, value) in row.entries() {
        let name = vocabulary.name(id as u32).unwrap_or_default();
        let Some((namespace, feature)) = vw::written(name) else {
            return Err(Unwritten::Name(name.to_owned()));
        };
        if begun.as_ref() != Some(&namespace) {
            if begun.is_some() {
                text.push_str(" |");
            }
            text.push_str(&namespace);
            begun = Some(namespace);
        }
        text.push(' ');
        text.push_str(&feature);
        if value != 1.0
            && let Some(number) = Number::from_f64(value)
        {
            // Writing to a string does not fail.
            let _ = write!(text, ":{number}");
        }
    }
    text.push('\n');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, LabelRule, LabelsColumn, Options, Parsed, UnlabelledMeans, parse};

    fn read(format: Format, text: &str, options: &Options) -> Parsed {
        parse(format, text.as_bytes(), options).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    /// Bodies of each kind of data, as the writer spells them.
    const BODIES: [&str; 6] = [
        "{\"x\":\"1011\",\"y\":1}\n{\"x\":\"0000\",\"y\":-1}\n",
        "{\"x\":[-1,1,-1],\"y\":1}\n{\"x\":[1,1,1],\"y\":-1}\n",
        "{\"x\":\"100\"}\n{\"x\":\"000\"}\n{\"x\":\"011\"}\n",
        "{\"x\":[-1,1]}\n{\"x\":[1,-1]}\n",
        "{\"x\":[0.5,0.0,-1e+300],\"y\":1}\n{\"x\":[1.0,0.1,0.0],\"y\":-1}\n",
        "{\"x\":[0.0,-7.25]}\n{\"x\":[0.0,0.0]}\n",
    ];

    #[test]
    fn written_examples_are_read_back_as_the_same_data() {
        for body in BODIES {
            let parsed = read(Format::Ndjson, body, &Options::default());
            let zero = parsed.zero_bit_value as i8;
            let write =
                |format| write_examples(&parsed.data, None, None, zero, format, 1 << 20).unwrap();
            assert_eq!(write(TextFormat::Ndjson), body);
            let labelled = parsed.data.labels().are_given();
            let options = Options {
                labels: Some(match labelled {
                    true => LabelsColumn::First,
                    false => LabelsColumn::None,
                }),
                n: Some(parsed.data.n()),
                ..Options::default()
            };
            for (written, format) in [
                (TextFormat::Csv, Format::Csv),
                (TextFormat::Libsvm, Format::Libsvm),
            ] {
                let text = write(written);
                let again = read(format, &text, &options);
                assert_eq!(again.data, parsed.data, "{text}");
            }
            let csv = read(Format::Csv, &write(TextFormat::Csv), &options);
            assert_eq!(csv.zero_bit_value, parsed.zero_bit_value);
            let items = format!("[{}]", write(TextFormat::Json));
            let items: Vec<serde_json::Value> = serde_json::from_str(&items).unwrap();
            assert_eq!(items.len(), parsed.data.examples());
        }
    }

    #[test]
    fn classes_named_by_numbers_are_written_by_their_names() {
        let csv = "a,b,y\n1,0,2\n1,1,2\n0,1,1\n0,0,1\n";
        let parsed = read(Format::Csv, csv, &Options::default());
        let classes = parsed.classes.clone().unwrap();
        let options = Options {
            label_rule: LabelRule::Of(classes.clone()),
            n: Some(2),
            ..Options::default()
        };
        for rows in [0..4, 0..2, 2..4] {
            let page = parsed.data.rows(rows);
            for (written, format) in [
                (TextFormat::Ndjson, Format::Ndjson),
                (TextFormat::Libsvm, Format::Libsvm),
            ] {
                let text =
                    write_examples(&page, Some(&classes), None, 0, written, 1 << 20).unwrap();
                assert_eq!(read(format, &text, &options).data, page, "{text}");
            }
        }
        let rest = Classes::new(None, "2".to_owned());
        let text = write_examples(
            &parsed.data,
            Some(&rest),
            None,
            0,
            TextFormat::Libsvm,
            1 << 20,
        )
        .unwrap();
        assert!(text.contains("not_2"), "{text}");
        let words = Classes::new(Some("no".to_owned()), "yes".to_owned());
        let text = write_examples(
            &parsed.data,
            Some(&words),
            None,
            0,
            TextFormat::Ndjson,
            1 << 20,
        )
        .unwrap();
        assert!(text.starts_with("{\"x\":\"10\",\"y\":\"yes\"}\n"), "{text}");
    }

    #[test]
    fn written_text_is_never_longer_than_its_limit() {
        let options = Options {
            unlabelled: UnlabelledMeans::Nothing,
            ..Options::default()
        };
        let parsed = read(Format::Ndjson, "\"10\"\n\"11\"\n", &options);
        let write =
            |bytes_max| write_examples(&parsed.data, None, None, 0, TextFormat::Csv, bytes_max);
        assert_eq!(write(8).as_deref(), Ok("1,0\n1,1\n"));
        assert_eq!(write(7), Err(Unwritten::TooLong));
    }
}

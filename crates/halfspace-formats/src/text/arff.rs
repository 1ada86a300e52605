//! ARFF, the format of Weka, with attributes and rows.
//!
//! A file with nominal attributes is a table like a CSV file: the declarations give the kinds of the columns, and a
//! missing value is a missing cell. A file of numbers is read as numbers, since a sparse row may stand for a million
//! of them. The class is the last attribute unless the options name another one. The first of two declared values of
//! a class is +1. A class with the values 1 and -1, or 1 and 0, is read as in other formats instead.
//!
//! In a sparse row omitted values are 0, which means the first value of a nominal attribute. Dense and sparse
//! rows of one file are therefore the same data. Source: the `ARFF` page of the `Weka` manual.

use std::io::Read;
use std::sync::Arc;

use halfspace_core::bits::words_for;

use crate::building::labels::bad_label;
use crate::building::parsed_rows::ParsedRows;
use crate::building::sample_builder::SampleBuilder;
use crate::error::{Fault, FormatError, FormatErrorKind, Place, excerpt};
use crate::stored::spool::Spool;
use crate::tables::cell::{Cell, DecimalMark};
use crate::tables::columns::TableColumns;
use crate::tables::encoding::{DESCRIPTION_BYTES_MAX, LabelEncoding, MissingCells};
use crate::tables::options::{KindName, TableOptions};
use crate::tables::table_builder::TableBuilder;
use crate::text::arff_header::{self, Attribute, AttributeKind, Nominal};
use crate::text::arff_scanner::{Misplaced, Scanner, Word};
use crate::text::lines::LineReader;
use crate::text::numbers::parse_number;
use crate::{LabelsColumn, Options, Parsed};

pub(crate) fn parse(
    reader: &mut dyn Read,
    options: &Options,
    spool: Option<Spool>,
) -> Result<Parsed<ParsedRows>, FormatError> {
    options.refuse_header("ARFF")?;
    options.refuse_bit_order("ARFF")?;
    let mut lines = LineReader::new(reader, options.limits.line_bytes_max);
    let attributes = arff_header::read(&mut lines, &options.limits)?;
    match is_table(&attributes, options)? {
        true => read_table(&mut lines, &attributes, options, spool),
        false => read_numbers(&mut lines, &attributes, options, spool),
    }
}

/// Whether an attribute beside the class is nominal, or the request has options of tables.
fn is_table(attributes: &[Attribute], options: &Options) -> Result<bool, Fault> {
    let table = TableOptions {
        numbers_only: false,
        ..options.table.clone()
    };
    if table != TableOptions::default() {
        return Ok(true);
    }
    let class = class_index(attributes, options.labels.as_ref())?;
    let mut features = attributes
        .iter()
        .enumerate()
        .filter(|(at, _)| Some(*at) != class);
    Ok(features.any(|(_, attribute)| matches!(attribute.kind, AttributeKind::Nominal(_))))
}

/// Returns the position of the class among the attributes.
fn class_index(
    attributes: &[Attribute],
    labels: Option<&LabelsColumn>,
) -> Result<Option<usize>, Fault> {
    match labels {
        None | Some(LabelsColumn::Last) => Ok(Some(attributes.len() - 1)),
        Some(LabelsColumn::First) => Ok(Some(0)),
        Some(LabelsColumn::None) => Ok(None),
        Some(LabelsColumn::Appended) => {
            let detail = "labels=appended is for octets only; in ARFF an attribute holds the \
                          labels.";
            Err(Fault::new(FormatErrorKind::BadOption, detail))
        }
        Some(LabelsColumn::Named(name)) => {
            let found = attributes
                .iter()
                .position(|attribute| attribute.name == *name);
            let missing = || {
                let detail = format!("No attribute is named {}.", excerpt(name.as_bytes()));
                Fault::new(FormatErrorKind::BadOption, detail)
            };
            found.map(Some).ok_or_else(missing)
        }
    }
}

/// Returns the values of +1 and -1 of a class with two declared values.
fn declared_labels(nominal: &Nominal) -> Option<[&[u8]; 2]> {
    let mut values = nominal.values();
    let (Some(first), Some(second), None) = (values.next(), values.next(), values.next()) else {
        return None;
    };
    let is_negative = |value| value == 0.0 || value == -1.0;
    Some(match (parse_number(first), parse_number(second)) {
        (Ok(other), Ok(1.0)) if is_negative(other) => [second, first],
        _ => [first, second],
    })
}

/// A row: the given values with their attributes, in ascending order. In a dense row every attribute is given.
#[derive(Default)]
struct ArffRow<'l> {
    /// Byte of the line at which the row begins.
    start: usize,
    given: Vec<(usize, Word<'l>)>,
}

impl<'l> ArffRow<'l> {
    /// Reads a line. Returns none for a line without a row.
    fn read(line: &'l [u8], attributes: usize) -> Result<Option<Self>, Misplaced> {
        let mut scanner = Scanner::new(line);
        if scanner.peek().is_none() {
            return Ok(None);
        }
        let start = scanner.place();
        let mut row = Self {
            start,
            given: Vec::new(),
        };
        match scanner.take(b'{') {
            true => row.read_sparse(&mut scanner, attributes)?,
            false => row.read_dense(&mut scanner, attributes)?,
        }
        let after = scanner.place();
        let has_more = scanner.take(b',');
        if scanner.peek() == Some(b'{') {
            let detail = "The row has a weight. Weights are not supported; remove the weight.";
            let fault = Fault::new(FormatErrorKind::Unsupported, detail);
            return Err((scanner.place(), fault));
        }
        if has_more {
            let detail =
                format!("The row has more values than the {attributes} declared attributes.");
            return Err((after, Fault::new(FormatErrorKind::UnequalLength, detail)));
        }
        scanner.end_after("the row")?;
        Ok(Some(row))
    }

    fn read_dense(
        &mut self,
        scanner: &mut Scanner<'l>,
        attributes: usize,
    ) -> Result<(), Misplaced> {
        self.given.reserve_exact(attributes);
        for at in 0..attributes {
            if at > 0 && !scanner.take(b',') {
                let place = scanner.place();
                if scanner.peek().is_some() {
                    let detail = "A comma is missing between two values.";
                    return Err((place, Fault::new(FormatErrorKind::Syntax, detail)));
                }
                let detail = format!(
                    "The row has {at} values, but the header declares {attributes} attributes."
                );
                return Err((place, Fault::new(FormatErrorKind::UnequalLength, detail)));
            }
            self.given.push((at, scanner.word()?));
        }
        Ok(())
    }

    /// Reads `index value, index value}`.
    fn read_sparse(
        &mut self,
        scanner: &mut Scanner<'l>,
        attributes: usize,
    ) -> Result<(), Misplaced> {
        if scanner.take(b'}') {
            return Ok(());
        }
        loop {
            let word = scanner.word()?;
            let next = self.given.last().map_or(0, |(at, _)| at + 1);
            let at = read_index(&word, next, attributes).map_err(|fault| (word.start, fault))?;
            self.given.push((at, scanner.word()?));
            if scanner.take(b'}') {
                return Ok(());
            }
            if !scanner.take(b',') {
                let detail = "A sparse row must have the form `{index value, index value}` \
                              with indices from 0.";
                let fault = Fault::new(FormatErrorKind::Syntax, detail);
                return Err((scanner.place(), fault));
            }
        }
    }
}

fn read_index(word: &Word<'_>, next: usize, attributes: usize) -> Result<usize, Fault> {
    let digits = word.text.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(&word.text).ok().filter(|_| digits);
    let index = text.and_then(|text| text.parse::<usize>().ok());
    match index.filter(|&index| index < attributes) {
        None => {
            let (shown, last) = (excerpt(&word.text), attributes - 1);
            let detail = format!("{shown} is not an index; indices go from 0 to {last}.");
            Err(Fault::new(FormatErrorKind::BadIndex, detail))
        }
        Some(index) if index < next => {
            let earlier = next - 1;
            let detail = format!("Index {index} follows index {earlier}; indices must ascend.");
            Err(Fault::new(FormatErrorKind::IndexOrder, detail))
        }
        Some(index) => Ok(index),
    }
}

/// Calls `take` for each row.
fn for_each_row<R: Read>(
    lines: &mut LineReader<R>,
    attributes: usize,
    mut take: impl FnMut(u64, ArffRow<'_>) -> Result<(), FormatError>,
) -> Result<(), FormatError> {
    while let Some(line) = lines.next_line()? {
        if line.text.is_empty() {
            lines.pass_empty_lines(u64::MAX);
            continue;
        }
        let number = line.number;
        let row = ArffRow::read(line.text, attributes);
        if let Some(row) = row.map_err(|(offset, fault)| fault.at(number, offset))? {
            take(number, row)?;
        }
    }
    Ok(())
}

/// Reads the rows as a table whose columns have the declared kinds.
fn read_table<R: Read>(
    lines: &mut LineReader<R>,
    attributes: &[Attribute],
    options: &Options,
    spool: Option<Spool>,
) -> Result<Parsed<ParsedRows>, FormatError> {
    let declared = attributes
        .iter()
        .filter_map(|attribute| match &attribute.kind {
            AttributeKind::Numeric => None,
            AttributeKind::Nominal(nominal) => {
                Some((attribute.name.clone(), declared_kind(nominal)))
            }
        });
    let mut stated = options.clone();
    // The kinds of the request come last and win.
    stated.table.kinds = declared
        .chain(options.table.kinds.iter().cloned())
        .collect();
    if stated.labels.is_none() && stated.table.encoding.is_none() {
        stated.labels = Some(LabelsColumn::Last);
    }
    let names = attributes.iter().map(|attribute| attribute.name.clone());
    let mut table = TableBuilder::new(&stated, Some(names.collect()), attributes.len(), spool)?;
    if let Some(class) = table.label()
        && let AttributeKind::Nominal(nominal) = &attributes[class].kind
        && let Some([positive, negative]) = declared_labels(nominal)
    {
        table.declare_labels(positive, negative);
    }
    for_each_row(lines, attributes.len(), |line, row| {
        for (at, word) in &row.given {
            check_declared(word, &attributes[*at]).map_err(|fault| fault.at(line, word.start))?;
        }
        let mut given: Vec<Option<&Word<'_>>> = vec![None; attributes.len()];
        row.given
            .iter()
            .for_each(|(at, word)| given[*at] = Some(word));
        let cell =
            |at: usize| given[at].map_or_else(|| absent(&attributes[at]), |word| &*word.text);
        let place = |at: usize| Place::Line {
            line,
            column: given[at].map_or(row.start, |word| word.start) as u64 + 1,
        };
        table.row(cell, place)
    })?;
    table.finish()
}

/// The kind of a column with the declared values. Two spellings of one truth value are one bit.
fn declared_kind(nominal: &Nominal) -> KindName {
    let cells: Vec<Cell> = nominal
        .values()
        .map(|value| Cell::of(value, DecimalMark::Point))
        .collect();
    let is_pair = match cells.as_slice() {
        [Cell::Flag(one, a), Cell::Flag(other, b)] => one == other && a != b,
        [Cell::Number(a), Cell::Number(b)] => a.max(*b) == 1.0 && [0.0, -1.0].contains(&a.min(*b)),
        _ => false,
    };
    if is_pair {
        KindName::Boolean
    } else {
        KindName::Nominal
    }
}

/// The value that a sparse row omits.
fn absent(attribute: &Attribute) -> &[u8] {
    match &attribute.kind {
        AttributeKind::Numeric => b"0",
        AttributeKind::Nominal(nominal) => nominal.values().next().unwrap_or_default(),
    }
}

/// Refuses a value that the attribute does not have. A question mark is a missing value.
fn check_declared(word: &Word<'_>, attribute: &Attribute) -> Result<(), Fault> {
    if &*word.text == b"?" {
        return Ok(());
    }
    match &attribute.kind {
        AttributeKind::Numeric => match parse_number(&word.text) {
            Ok(_) => Ok(()),
            Err(fault) => Err(fault.of_value(&word.text)),
        },
        AttributeKind::Nominal(nominal) => match nominal.find(&word.text) {
            Some(_) => Ok(()),
            None => Err(undeclared(word, &attribute.name)),
        },
    }
}

fn undeclared(word: &Word<'_>, name: &str) -> Fault {
    let (shown, name) = (excerpt(&word.text), excerpt(name.as_bytes()));
    let detail = format!("{shown} is not among the declared values of the attribute {name}.");
    Fault::new(FormatErrorKind::BadValue, detail)
}

/// Reads the rows of a file whose features are all numbers. The cost of omitted values is per word.
fn read_numbers<R: Read>(
    lines: &mut LineReader<R>,
    attributes: &[Attribute],
    options: &Options,
    spool: Option<Spool>,
) -> Result<Parsed<ParsedRows>, FormatError> {
    let class = class_index(attributes, options.labels.as_ref())?;
    let declared = class
        .map(|class| two_labels(&attributes[class]))
        .transpose()?
        .flatten();
    let n = attributes.len() - usize::from(class.is_some());
    if n == 0 {
        let detail = "The class is the only attribute; data need at least one feature.";
        return Err(Fault::new(FormatErrorKind::EmptyData, detail).into());
    }
    options.check_n(n)?;
    let builder = SampleBuilder::dense(&options.limits, Some(n), spool)?;
    let mut builder = builder.of_kind(options.values)?;
    let zeros = vec![0; words_for(n)];
    for_each_row(lines, attributes.len(), |line, row| {
        let place = |start: usize| Place::Line {
            line,
            column: start as u64 + 1,
        };
        let placed = |start: usize| move |fault: Fault| fault.at(line, start);
        let (mut next, mut label) = (0, None);
        for (at, word) in &row.given {
            let misplaced = placed(word.start);
            if Some(*at) == class {
                label = Some(
                    read_label(word, declared, &attributes[*at], &mut builder)
                        .map_err(misplaced)?,
                );
                continue;
            }
            let feature = at - usize::from(class.is_some_and(|class| class < *at));
            if next < feature
                && builder
                    .bits_at(&zeros, next..feature)
                    .map_err(placed(row.start))?
            {
                builder.note_first_real(place(row.start));
            }
            let value = read_number(word, &attributes[*at].name).map_err(misplaced)?;
            if builder.value(value).map_err(misplaced)? {
                builder.note_first_real(place(word.start));
            }
            next = feature + 1;
        }
        if next < n
            && builder
                .bits_at(&zeros, next..n)
                .map_err(placed(row.start))?
        {
            builder.note_first_real(place(row.start));
        }
        if class.is_some() && label.is_none() {
            label = Some(match declared {
                Some([positive, _]) => {
                    class.is_some_and(|class| absent(&attributes[class]) == positive)
                }
                None => builder.label(0.0).map_err(placed(row.start))?,
            });
        }
        builder.end_row(label).map_err(placed(row.start))
    })?;
    let mut parsed = builder.finish(options.unlabelled)?;
    let names: Vec<String> = attributes
        .iter()
        .map(|attribute| attribute.name.clone())
        .collect();
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    let label = class.map(|class| LabelEncoding {
        column: names[class].clone(),
        index: class as u32 + 1,
        positive: declared.map_or_else(|| "1".to_owned(), |[positive, _]| text(positive)),
        negative: Some(declared.map_or_else(|| "-1".to_owned(), |[_, negative]| text(negative))),
    });
    let labels = Some(options.labels.clone().unwrap_or(LabelsColumn::Last));
    let columns = TableColumns::new(
        Some(names),
        attributes.len(),
        labels.as_ref(),
        &TableOptions::default(),
    )?;
    let kind = parsed.data.header().kind;
    let encoding =
        columns.describe_plain(label, kind, parsed.zero_bit_value, MissingCells::default());
    parsed.feature_names = Some(encoding.feature_names());
    parsed.class_names = encoding.label.as_ref().and_then(LabelEncoding::class_names);
    if encoding.description_bytes() <= DESCRIPTION_BYTES_MAX {
        parsed.table = Some(Arc::new(encoding));
    }
    Ok(parsed)
}

/// Returns the values of +1 and -1 of a class, or none for a numeric class.
fn two_labels(class: &Attribute) -> Result<Option<[&[u8]; 2]>, FormatError> {
    let AttributeKind::Nominal(nominal) = &class.kind else {
        return Ok(None);
    };
    let labels = declared_labels(nominal).ok_or_else(|| {
        let detail = format!(
            "The class {} has {} values; a class must have two. Say which value means +1, as in `positive=VALUE`, \
             name another attribute with labels=, or use labels=none.",
            excerpt(class.name.as_bytes()),
            nominal.values().len()
        );
        Fault::new(FormatErrorKind::BadLabel, detail).at(class.line, class.offset)
    })?;
    Ok(Some(labels))
}

fn read_label(
    word: &Word<'_>,
    declared: Option<[&[u8]; 2]>,
    class: &Attribute,
    builder: &mut SampleBuilder,
) -> Result<bool, Fault> {
    match declared {
        Some([positive, _]) if *word.text == *positive => Ok(true),
        Some([_, negative]) if *word.text == *negative => Ok(false),
        Some(_) => Err(undeclared(word, &class.name)),
        None => match parse_number(&word.text) {
            Ok(label) => builder.label(label),
            Err(_) => Err(bad_label(&word.to_text())),
        },
    }
}

fn read_number(word: &Word<'_>, name: &str) -> Result<f64, Fault> {
    if &*word.text == b"?" && !word.is_quoted {
        let detail = format!(
            "The value of {} is missing; `missing=drop` leaves such rows out, and `numbers=thermometer` makes a feature \
             of missing values.",
            excerpt(name.as_bytes())
        );
        return Err(Fault::new(FormatErrorKind::BadValue, detail));
    }
    parse_number(&word.text).map_err(|fault| fault.of_value(&word.text))
}

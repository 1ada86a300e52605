//! ARFF, the format of Weka, with attributes and rows.
//!
//! An ARFF file is a table like a CSV file, but its declarations give the names and the kinds of the columns and the
//! values of nominal columns. The class is the last attribute unless the options name another one. If it declares two
//! values, the first is +1, except that a class with the values 1 and -1, or 1 and 0, is read as in other formats.
//!
//! As in Weka, blanks separate values like commas, so that a value with blanks stands in quotes, and a comma may also
//! stand before the end of a row or of declared values. Two commas without a value between them are refused, however:
//! Weka would read `1,,2` as two values.
//!
//! In a sparse row omitted values are 0, which means the first value of a nominal attribute. So dense and sparse rows
//! of one file are the same data. Sources: the `ARFF` page of the `Weka` manual, and
//! `ArffLoader.java` of Weka 3.8.
//!
//! We do not use the crate `arff` 0.3 of 2018. It wants the whole text in memory, and ordinary files defeat it: it
//! refuses the UCI file `kr-vs-kp` for the CR LF at its line ends, and cuts a quoted value at the comma inside. It
//! panics on a sparse row and on a type of three letters, and never returns from a file that ends in a comment without
//! a line feed.

use std::io::Read;

use halfspace_core::memory::{self, NoMemory};

use crate::building::parsed::Parsed;
use crate::building::parsed_rows::ParsedRows;
use crate::cell::Cell;
use crate::encoding::KindName;
use crate::error::{Fault, FormatError, FormatErrorKind, Place, excerpt};
use crate::numbers::DecimalMark;
use crate::numbers::parse_number;
use crate::options::{LabelsColumn, Options};
use crate::readers::text::arff_header::{self, Attribute, AttributeKind};
use crate::readers::text::arff_scanner::{Misplaced, Scanner, Word, ends_plain_word};
use crate::readers::text::lines::LineReader;
use crate::stored::spool::Spool;
use crate::tables::preview::Preview;
use crate::tables::table_builder::TableBuilder;

pub(crate) fn parse(
    reader: &mut dyn Read,
    options: &Options,
    spool: Option<Spool>,
    preview: Option<&Preview>,
) -> Result<Parsed<ParsedRows>, FormatError> {
    TableBuilder::check(options)?;
    let mut lines = LineReader::new(reader, options.limits.line_bytes_max);
    let attributes = arff_header::read(&mut lines, &options.limits)?;
    let options = with_declared_kinds(options, &attributes)?;
    let names = attributes.iter();
    let names = names.map(|attribute| Ok::<_, FormatError>(attribute.name.clone()));
    let names = Some(memory::collect(names)?);
    let mut table = TableBuilder::new(&options, names, attributes.len(), None, spool, preview)?;
    declare_values(&mut table, &attributes)?;
    let (class, decimal) = (table.label(), options.table.decimal.unwrap_or_default());
    let may_label = |text: &[u8]| {
        let is_declared = |class: usize| read_word(text, &attributes[class], true, decimal).is_ok();
        !text.iter().copied().any(ends_plain_word) && class.is_none_or(is_declared)
    };
    for_each_line(&mut lines, |line, text| {
        let start = Place::Line { line, column: 1 };
        if table.bare_line(text, b',', may_label, start)? {
            return Ok(());
        }
        let row = ArffRow::read(text, attributes.len());
        let Some(mut row) = row.map_err(|(offset, fault)| fault.at(line, offset))? else {
            return Ok(());
        };
        for GivenWord { at, word, number } in &mut row.given {
            let is_class = class == Some(*at);
            if table.declares_missing(&word.text) {
                continue;
            }
            match read_word(&word.text, &attributes[*at], is_class, decimal) {
                Ok(read) => *number = read,
                Err(fault) => table.refuse(fault.at(line, word.start))?,
            }
        }
        let given = |at: usize| match row.is_sparse {
            false => Some(&row.given[at]),
            true => {
                let found = row.given.binary_search_by_key(&at, |given| given.at);
                found.ok().map(|found| &row.given[found])
            }
        };
        let cell = |at: usize| given(at).map_or_else(|| absent(&attributes[at]), GivenWord::cell);
        let place = |at: usize| Place::Line {
            line,
            column: given(at).map_or(row.start, |given| given.word.start) as u64 + 1,
        };
        match row.is_sparse {
            false => table.row(cell, place),
            true => {
                let columns: Vec<usize> = row.given.iter().map(|given| given.at).collect();
                table.sparse_row(&columns, cell, place)
            }
        }
    })?;
    table.finish()
}

/// Adds the declared kinds and the position of the class to the options. What the request states takes precedence.
fn with_declared_kinds(options: &Options, attributes: &[Attribute]) -> Result<Options, NoMemory> {
    let declared = attributes
        .iter()
        .filter_map(|attribute| match &attribute.kind {
            AttributeKind::Numeric => None,
            AttributeKind::Nominal(nominal) => Some((attribute.name.clone(), nominal.kind())),
            AttributeKind::Text => Some((attribute.name.clone(), KindName::Text)),
        });
    let mut stated = options.clone();
    if stated.labels.is_none() && stated.table.encoding.is_none() {
        stated.labels = Some(LabelsColumn::Last);
    }
    let declared = memory::collect(declared.map(Ok::<_, NoMemory>))?;
    let names = attributes.iter().map(|attribute| attribute.name.clone());
    Ok(stated.with_declared(declared, names.collect()))
}

/// Gives each nominal column its declared values.
fn declare_values(
    table: &mut TableBuilder<'_>,
    attributes: &[Attribute],
) -> Result<(), FormatError> {
    for (at, attribute) in attributes.iter().enumerate() {
        let AttributeKind::Nominal(nominal) = &attribute.kind else {
            continue;
        };
        let declared = table.declare_values(at, nominal.values());
        declared.map_err(|fault| fault.at(attribute.line, attribute.offset))?;
    }
    Ok(())
}

/// A row: the values that it gives with their attributes, in ascending order.
struct ArffRow<'l> {
    /// Byte of the line at which the row begins.
    start: usize,
    given: Vec<GivenWord<'l>>,
    /// Whether attributes may be omitted.
    is_sparse: bool,
}

/// A word of a row.
struct GivenWord<'l> {
    /// The attribute, from 0.
    at: usize,
    word: Word<'l>,
    /// The number, if the attribute of the word has numbers.
    number: Option<f64>,
}

impl<'l> GivenWord<'l> {
    fn new(at: usize, word: Word<'l>) -> Self {
        Self {
            at,
            word,
            number: None,
        }
    }

    fn cell(&self) -> Cell<&[u8]> {
        let text = &*self.word.text;
        match self.number {
            Some(number) => Cell::Number(number, Some(text)),
            None => Cell::Text(text),
        }
    }
}

impl<'l> ArffRow<'l> {
    /// Reads a line. None if it has no row.
    fn read(line: &'l [u8], attributes: usize) -> Result<Option<Self>, Misplaced> {
        let mut scanner = Scanner::new(line);
        if scanner.peek().is_none() {
            return Ok(None);
        }
        let start = scanner.place();
        let mut row = Self {
            start,
            given: Vec::new(),
            is_sparse: scanner.take(b'{'),
        };
        match row.is_sparse {
            true => row.read_sparse(&mut scanner, attributes)?,
            false => row.read_dense(&mut scanner, attributes)?,
        }
        let after = scanner.place();
        // A comma may end a row too.
        scanner.take(b',');
        match scanner.peek() {
            Some(b'{') => {
                let detail = "The row has a weight. Weights are not supported; remove the weight.";
                let fault = Fault::new(FormatErrorKind::Unsupported, detail);
                Err((scanner.place(), fault))
            }
            Some(byte) if byte != b'}' && !row.is_sparse => {
                let detail = format!(
                    "The row has more values than the {attributes} declared attributes; declare an `@attribute` for \
                     each value, or quote a value with commas or blanks."
                );
                Err((after, Fault::new(FormatErrorKind::UnequalLength, detail)))
            }
            _ => scanner.end_after("the row").map(|()| Some(row)),
        }
    }

    /// Reads `value, value` or `value value`.
    fn read_dense(
        &mut self,
        scanner: &mut Scanner<'l>,
        attributes: usize,
    ) -> Result<(), Misplaced> {
        let needed = memory::need_of::<GivenWord<'_>>(attributes);
        needed.map_err(|full| (scanner.place(), full.into()))?;
        self.given.reserve_exact(attributes);
        for at in 0..attributes {
            let place = scanner.place();
            // There are blanks between two values, if there is no comma: a word does not go on behind a quote.
            if at > 0 {
                scanner.take(b',');
            }
            if scanner.peek().is_none() {
                let detail = format!(
                    "The row has {at} values, but the header declares {attributes} attributes; write `?` for a missing \
                     value."
                );
                return Err((place, Fault::new(FormatErrorKind::UnequalLength, detail)));
            }
            self.given.push(GivenWord::new(at, scanner.word()?));
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
            let next = self.given.last().map_or(0, |given| given.at + 1);
            let at = read_index(&word, next, attributes).map_err(|fault| (word.start, fault))?;
            let pushed = memory::push(&mut self.given, GivenWord::new(at, scanner.word()?));
            pushed.map_err(|full| (scanner.place(), full.into()))?;
            scanner.take(b',');
            if scanner.take(b'}') {
                return Ok(());
            }
            if scanner.peek().is_none() {
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

/// Calls `take` for each line that is not empty.
fn for_each_line<R: Read>(
    lines: &mut LineReader<R>,
    mut take: impl FnMut(u64, &[u8]) -> Result<(), FormatError>,
) -> Result<(), FormatError> {
    while let Some(line) = lines.next_line()? {
        if line.text.is_empty() {
            lines.pass_empty_lines(u64::MAX);
            continue;
        }
        take(line.number, line.text)?;
    }
    Ok(())
}

/// The value that a sparse row leaves out.
fn absent(attribute: &Attribute) -> Cell<&[u8]> {
    match &attribute.kind {
        AttributeKind::Numeric => Cell::Number(0.0, None),
        AttributeKind::Nominal(nominal) => {
            nominal.values().next().map_or(Cell::Missing, Cell::Text)
        }
        AttributeKind::Text => Cell::Missing,
    }
}

/// Reads the number of a word in a column of numbers. Other words in such a column, and classes that were not
/// declared, are refused. The table itself knows the values of its nominal columns. A question mark is a missing
/// value.
fn read_word(
    text: &[u8],
    attribute: &Attribute,
    is_class: bool,
    decimal: DecimalMark,
) -> Result<Option<f64>, Fault> {
    match &attribute.kind {
        _ if text == b"?" => Ok(None),
        AttributeKind::Numeric => match parse_number(text) {
            // With a decimal comma the table itself reads the text, as it does for CSV.
            Ok(number) => Ok(Some(number).filter(|_| decimal == DecimalMark::Point)),
            Err(fault) => Err(fault.of_value(text)),
        },
        AttributeKind::Nominal(nominal) if is_class && nominal.find(text).is_none() => {
            let (shown, name) = (excerpt(text), excerpt(attribute.name.as_bytes()));
            let detail = format!(
                "{shown} is not among the declared values of the attribute {name}; add it to the `@attribute` line."
            );
            Err(Fault::new(FormatErrorKind::BadValue, detail))
        }
        AttributeKind::Nominal(_) | AttributeKind::Text => Ok(None),
    }
}

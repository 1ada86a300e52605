//! CSV (RFC 4180): one example per line, with a label column and numbers.
//!
//! A quoted field must end on its line, since every field is a number or a name. Blanks around a field are
//! ignored, and so are blank lines.

use std::collections::HashSet;
use std::io::Read;
use std::ops::Range;

use csv_core::ReadRecordResult;
use memchr::memchr;

use crate::building::labels::bad_label;
use crate::building::parsed_rows::ParsedRows;
use crate::building::sample_builder::SampleBuilder;
use crate::error::{Fault, FormatError, FormatErrorKind, Place};
use crate::stored::spool::Spool;
use crate::text::lines::{Line, LineReader};
use crate::text::numbers::{NumberFault, parse_number};
use crate::{Header, LabelsColumn, Options, Parsed};

/// A fault and its byte in the line, from 0.
type Misplaced = (usize, Fault);

pub(crate) fn parse(
    reader: &mut dyn Read,
    options: &Options,
    spool: Option<Spool>,
) -> Result<Parsed<ParsedRows>, FormatError> {
    options.refuse_bit_order("CSV")?;
    if options.labels == Some(LabelsColumn::Appended) {
        let detail = "labels=appended is for octets only; in CSV a column holds the labels.";
        return Err(Fault::new(FormatErrorKind::BadOption, detail).into());
    }
    let mut lines = LineReader::new(reader, options.limits.line_bytes_max);
    let builder = SampleBuilder::dense(&options.limits, options.n, spool)?;
    let mut builder = builder.of_kind(options.values)?;
    let mut fields = Fields::new();
    let mut table: Option<CsvLayout> = None;
    while let Some(line) = lines.next_line()? {
        if line.text.trim_ascii().is_empty() {
            lines.pass_empty_lines(u64::MAX);
            continue;
        }
        let placed = |(offset, fault): Misplaced| fault.at(line.number, offset);
        fields
            .split(line.text, options.limits.n_max)
            .map_err(placed)?;
        let Some(table) = &table else {
            let begun = CsvLayout::begin(&fields, options).map_err(placed)?;
            if begun.names.is_none() {
                begun
                    .read_row(&fields, line, &mut builder)
                    .map_err(placed)?;
            }
            table = Some(begun);
            continue;
        };
        table
            .read_row(&fields, line, &mut builder)
            .map_err(placed)?;
    }
    let mut parsed = builder.finish(options.unlabelled)?;
    parsed.feature_names = table.and_then(CsvLayout::feature_names);
    Ok(parsed)
}

/// Fields of one line. The buffers are reused.
struct Fields {
    quoted: bool,
    reader: csv_core::Reader,
    /// Text of the fields if the line has quotes. Otherwise the fields are slices of the line.
    unquoted: Vec<u8>,
    /// End of each field in that text.
    ends: Vec<usize>,
    line: Vec<u8>,
    /// Range of each field in the line, including quotes.
    ranges: Vec<Range<usize>>,
}

impl Fields {
    fn new() -> Self {
        Self {
            quoted: false,
            reader: csv_core::Reader::new(),
            unquoted: Vec::new(),
            ends: Vec::new(),
            line: Vec::new(),
            ranges: Vec::new(),
        }
    }

    /// Splits a line of at most `n_max` fields and a label. The limit is needed because a field takes more
    /// memory than its comma.
    fn split(&mut self, line: &[u8], n_max: usize) -> Result<(), Misplaced> {
        self.line.clear();
        self.line.extend_from_slice(line);
        self.ranges.clear();
        self.quoted = memchr(b'"', line).is_some();
        if self.quoted {
            return self.split_quoted(n_max);
        }
        // Fields are short, so a separate search for each comma would cost more.
        let mut start = 0;
        for (at, &byte) in line.iter().enumerate() {
            if byte == b',' {
                self.check_count(at, n_max)?;
                self.ranges.push(start..at);
                start = at + 1;
            }
        }
        self.ranges.push(start..line.len());
        Ok(())
    }

    /// Splits a line with quotes. `csv_core` defines the dialect, and this function finds the places.
    fn split_quoted(&mut self, n_max: usize) -> Result<(), Misplaced> {
        let mut start = 0;
        let mut quoted = false;
        let mut opened = 0;
        for (at, &byte) in self.line.iter().enumerate() {
            match byte {
                b'"' => {
                    quoted = !quoted;
                    opened = at;
                }
                b',' if !quoted => {
                    self.check_count(at, n_max)?;
                    self.ranges.push(start..at);
                    start = at + 1;
                }
                _ => {}
            }
        }
        self.ranges.push(start..self.line.len());
        let fail = |at, detail: &str| Err((at, Fault::new(FormatErrorKind::Syntax, detail)));
        if quoted {
            return fail(opened, "The quote is not closed on this line.");
        }
        if !self.unquote() {
            return fail(0, "A quote is inside a field; quote the whole field.");
        }
        Ok(())
    }

    /// Reads the text of the fields. Returns false if `csv_core` finds another number of fields.
    fn unquote(&mut self) -> bool {
        // No field becomes longer without its quotes.
        self.unquoted.resize(self.line.len(), 0);
        self.ends.resize(self.ranges.len(), 0);
        self.reader.reset();
        let (mut read, mut written, mut ended) = (0, 0, 0);
        loop {
            let (result, bytes, text, fields) = self.reader.read_record(
                &self.line[read..],
                &mut self.unquoted[written..],
                &mut self.ends[ended..],
            );
            read += bytes;
            written += text;
            ended += fields;
            match result {
                // The next call has empty input, which ends the record.
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::Record => return ended == self.ranges.len(),
                _ => return false,
            }
        }
    }

    /// Refuses the field after the comma at `at` if the line is at the limit.
    fn check_count(&self, at: usize, n_max: usize) -> Result<(), Misplaced> {
        if self.ranges.len() < n_max {
            return Ok(());
        }
        let what = "The line has too many columns";
        Err((at + 1, Fault::too_large(what, "n_max", n_max as u64)))
    }

    fn len(&self) -> usize {
        self.ranges.len()
    }

    fn get(&self, index: usize) -> &[u8] {
        let field = match self.quoted {
            true => {
                let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
                &self.unquoted[start..self.ends[index]]
            }
            false => &self.line[self.ranges[index].clone()],
        };
        match field {
            // Most fields are one character, and trimming would cost more than this test.
            [byte] if !byte.is_ascii_whitespace() => field,
            _ => field.trim_ascii(),
        }
    }

    /// Returns the byte of the line at which the text of a field begins.
    fn start(&self, index: usize) -> usize {
        let range = self.ranges[index].clone();
        let text = &self.line[range.clone()];
        let blanks = text.len() - text.trim_ascii_start().len();
        if blanks == text.len() {
            range.start
        } else {
            range.start + blanks
        }
    }

    fn is_number(&self, index: usize) -> bool {
        parse_number(self.get(index)) != Err(NumberFault::NotANumber)
    }
}

/// Structure of the table, as the first line determines it.
struct CsvLayout {
    names: Option<Vec<String>>,
    /// Column of the labels, from 0.
    label: Option<usize>,
    columns: usize,
}

impl CsvLayout {
    fn begin(fields: &Fields, options: &Options) -> Result<Self, Misplaced> {
        let columns = fields.len();
        let named = match &options.labels {
            Some(LabelsColumn::Named(name)) => Some(name.as_str()),
            _ => None,
        };
        let text = |index| String::from_utf8_lossy(fields.get(index)).into_owned();
        let has_header = match options.header {
            Header::True => true,
            Header::False => false,
            Header::Auto => {
                // A first row with some numbers is faulty data instead of names, and must not vanish.
                let no_number = !(0..columns).any(|index| fields.is_number(index));
                no_number || named.is_some_and(|name| (0..columns).any(|i| text(i) == name))
            }
        };
        let names = has_header.then(|| names(fields)).transpose()?;
        let label = match (&options.labels, named) {
            (_, Some(name)) => Some(find_column(names.as_deref(), name).map_err(|f| (0, f))?),
            (Some(LabelsColumn::None), _) => None,
            (Some(LabelsColumn::Last), _) => Some(columns - 1),
            _ => Some(0),
        };
        Ok(Self {
            names,
            label,
            columns,
        })
    }

    fn read_row(
        &self,
        fields: &Fields,
        line: Line<'_>,
        builder: &mut SampleBuilder,
    ) -> Result<(), Misplaced> {
        self.check_columns(fields)?;
        let mut label = None;
        for index in 0..fields.len() {
            let text = fields.get(index);
            let misplaced = |fault| (fields.start(index), fault);
            if self.label == Some(index) {
                let read = match parse_number(text) {
                    Ok(value) => builder.label(value),
                    Err(_) => Err(bad_label(&String::from_utf8_lossy(text))),
                };
                label = Some(read.map_err(misplaced)?);
                continue;
            }
            let value = parse_number(text).map_err(|fault| misplaced(fault.of_value(text)))?;
            if builder.value(value).map_err(misplaced)? {
                let column = fields.start(index) as u64 + 1;
                let line = line.number;
                builder.note_first_real(Place::Line { line, column });
            }
        }
        builder.end_row(label).map_err(|fault| (0, fault))
    }

    /// Checks that a line has as many columns as the first line.
    fn check_columns(&self, fields: &Fields) -> Result<(), Misplaced> {
        let (found, expected) = (fields.len(), self.columns);
        if found == expected {
            return Ok(());
        }
        let at = match fields.ranges.get(expected) {
            Some(surplus) => surplus.start,
            None => fields.line.len(),
        };
        let detail =
            format!("The line has {found} columns, but the lines before it have {expected}.");
        Err((at, Fault::new(FormatErrorKind::UnequalLength, detail)))
    }

    fn feature_names(self) -> Option<Vec<String>> {
        let mut names = self.names?;
        if let Some(label) = self.label {
            names.remove(label);
        }
        Some(names)
    }
}

/// Returns the names of a header line. Duplicate names are refused, since one column could be mistaken for
/// another.
fn names(fields: &Fields) -> Result<Vec<String>, Misplaced> {
    let mut seen = HashSet::new();
    let name = |index: usize| {
        let wrong = |detail: String| {
            let fault = Fault::new(FormatErrorKind::Schema, detail);
            (fields.start(index), fault)
        };
        let name = str::from_utf8(fields.get(index))
            .map_err(|_| wrong(format!("The name of column {} is not UTF-8.", index + 1)))?;
        if !name.is_empty() && !seen.insert(name) {
            return Err(wrong(format!("The name {name:?} occurs twice.")));
        }
        Ok(name.to_owned())
    };
    (0..fields.len()).map(name).collect()
}

fn find_column(names: Option<&[String]>, name: &str) -> Result<usize, Fault> {
    let fail = |detail: String| Err(Fault::new(FormatErrorKind::BadOption, detail));
    let Some(names) = names else {
        return fail(format!(
            "The label column `{name}` needs a header, but the body has no header."
        ));
    };
    let mut found = (0..names.len()).filter(|&index| names[index] == name);
    match (found.next(), found.next()) {
        (Some(index), None) => Ok(index),
        (Some(_), Some(_)) => fail(format!("Several columns are named `{name}`.")),
        _ => fail(format!("No column of the header is named `{name}`.")),
    }
}

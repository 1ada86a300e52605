//! CSV (RFC 4180): one example a line, a label column, numbers.
//!
//! A field may be quoted but not run over a line's end, since every field is a number or a name.
//! Blanks around a field are passed over, and so are blank lines.

use std::collections::HashSet;
use std::io::Read;
use std::ops::Range;

use csv_core::ReadRecordResult;
use memchr::memchr;

use super::error::{Fault, FormatError, FormatErrorKind, Place};
use super::gathered::Gathered;
use super::labels::bad_label;
use super::lines::{Line, LineReader};
use super::numbers::{NumberFault, parse_number};
use super::sample_builder::SampleBuilder;
use super::spool::Spool;
use super::{Header, LabelsColumn, Options, Parsed};

/// A fault and the byte of its line, from 0, where it stands.
type Misplaced = (usize, Fault);

pub(super) fn parse(
    reader: &mut dyn Read,
    options: &Options,
    spool: Option<Spool>,
) -> Result<Parsed<Gathered>, FormatError> {
    options.refuse_bit_order("CSV")?;
    if options.labels == Some(LabelsColumn::Appended) {
        let detail = "The labels `appended` are for octets; in CSV they stand in a column.";
        return Err(Fault::new(FormatErrorKind::BadOption, detail).into());
    }
    let mut lines = LineReader::new(reader, options.limits.line_bytes_max);
    let builder = SampleBuilder::dense(&options.limits, options.n, spool)?;
    let mut builder = builder.of_kind(options.values)?;
    let mut fields = Fields::new();
    let mut table: Option<Table> = None;
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
            let begun = Table::begin(&fields, options).map_err(placed)?;
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
    parsed.feature_names = table.and_then(Table::feature_names);
    Ok(parsed)
}

/// The fields of one line; the buffers are reused.
struct Fields {
    quoted: bool,
    reader: csv_core::Reader,
    /// The fields' text when the line has quotes; otherwise they are slices of the line.
    unquoted: Vec<u8>,
    /// Where in that text each field ends.
    ends: Vec<usize>,
    line: Vec<u8>,
    /// Where each field stands in the line, quotes included.
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

    /// Splits a line of at most `n_max` fields and a label: what a field costs is more than a comma.
    fn split(&mut self, line: &[u8], n_max: usize) -> Result<(), Misplaced> {
        self.line.clear();
        self.line.extend_from_slice(line);
        self.ranges.clear();
        self.quoted = memchr(b'"', line).is_some();
        if self.quoted {
            return self.split_quoted(n_max);
        }
        // Fields are short, so that a search for each comma by itself would cost more.
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

    /// Splits a line with quotes: the dialect is that of `csv_core`, the places are counted here.
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
            return fail(0, "A quote stands inside a field; quote whole fields.");
        }
        Ok(())
    }

    /// Reads the fields' text; false when there are others than were counted.
    fn unquote(&mut self) -> bool {
        // Without its quotes no field is longer.
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
                // The end is told by nothing more.
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::Record => return ended == self.ranges.len(),
                _ => return false,
            }
        }
    }

    /// Refuses the field after the comma at `at` when there are enough.
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
            // One character is most often the whole field, and trimming costs more than it.
            [byte] if !byte.is_ascii_whitespace() => field,
            _ => field.trim_ascii(),
        }
    }

    /// The byte of the line where a field's text begins.
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

/// What the first line settles.
struct Table {
    names: Option<Vec<String>>,
    /// Which column holds the labels, from 0.
    label: Option<usize>,
    columns: usize,
}

impl Table {
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
                // A row with some numbers is data with a fault, not names: it must not vanish.
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

    /// Every line has as many columns as the first.
    fn check_columns(&self, fields: &Fields) -> Result<(), Misplaced> {
        let (found, expected) = (fields.len(), self.columns);
        if found == expected {
            return Ok(());
        }
        let at = match fields.ranges.get(expected) {
            Some(surplus) => surplus.start,
            None => fields.line.len(),
        };
        let detail = format!("The line has {found} columns, but the lines before it {expected}.");
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

/// The names that a line has. Data whose columns cannot be told apart by them would be taken for what
/// they are not.
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
            return Err(wrong(format!("The name {name:?} stands twice.")));
        }
        Ok(name.to_owned())
    };
    (0..fields.len()).map(name).collect()
}

fn find_column(names: Option<&[String]>, name: &str) -> Result<usize, Fault> {
    let fail = |detail: String| Err(Fault::new(FormatErrorKind::BadOption, detail));
    let Some(names) = names else {
        return fail(format!(
            "The label column `{name}` needs a header, and there is none."
        ));
    };
    let mut found = (0..names.len()).filter(|&index| names[index] == name);
    match (found.next(), found.next()) {
        (Some(index), None) => Ok(index),
        (Some(_), Some(_)) => fail(format!("Several columns are named `{name}`.")),
        _ => fail(format!("No column of the header is named `{name}`.")),
    }
}

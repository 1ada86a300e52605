//! CSV (RFC 4180) and its dialects: one row of a table per line, between commas, semicolons, tabs, bars or blanks.
//!
//! A line break inside quotes belongs to the field. Blanks around a field are ignored, and so are blank lines and
//! comments.

use std::borrow::Cow;
use std::io::Read;
use std::ops::Range;

use csv_core::ReadRecordResult;
use halfspace_core::memory;
use memchr::{memchr, memchr_iter, memrchr};

use crate::building::parsed::Parsed;
use crate::building::parsed_rows::ParsedRows;
use crate::cell::Cell;
use crate::encoding::options::DELIMITERS;
use crate::error::{Fault, FormatError, FormatErrorKind, Place};
use crate::options::Options;
use crate::readers::text::lines::LineReader;
use crate::stored::spool::Spool;
use crate::tables::header;
use crate::tables::preview::Preview;
use crate::tables::table_builder::TableBuilder;

/// A fault and its byte in the line, from 0.
type Misplaced = (usize, Fault);

/// The delimiter that stands for any number of blanks.
const BLANKS: u8 = b' ';

pub(crate) fn parse(
    reader: &mut dyn Read,
    options: &Options,
    spool: Option<Spool>,
    preview: Option<&Preview>,
) -> Result<Parsed<ParsedRows>, FormatError> {
    parse_delimited(reader, options, options.table.delimiter, spool, preview)
}

/// Reads a body of the media type of tab-separated values.
pub(crate) fn parse_tabs(
    reader: &mut dyn Read,
    options: &Options,
    spool: Option<Spool>,
    preview: Option<&Preview>,
) -> Result<Parsed<ParsedRows>, FormatError> {
    let delimiter = options.table.delimiter.unwrap_or(b'\t');
    parse_delimited(reader, options, Some(delimiter), spool, preview)
}

fn parse_delimited(
    reader: &mut dyn Read,
    options: &Options,
    stated: Option<u8>,
    spool: Option<Spool>,
    preview: Option<&Preview>,
) -> Result<Parsed<ParsedRows>, FormatError> {
    TableBuilder::check(options)?;
    let mut lines = LineReader::new(reader, options.limits.line_bytes_max);
    let mut spool = Some(spool);
    let mut fields: Option<Fields> = None;
    let mut table: Option<(TableBuilder<'_>, usize)> = None;
    while let Some(line) = lines.next_line()? {
        if line.text.trim_ascii().is_empty() || options.table.is_comment(line.text) {
            lines.pass_empty_lines(u64::MAX);
            continue;
        }
        let number = line.number;
        let start = Place::Line {
            line: number,
            column: 1,
        };
        if let (Some((table, _)), Some(fields)) = (&mut table, &fields)
            && table.bare_line(line.text, fields.delimiter, |_| true, start)?
        {
            continue;
        }
        let mut text = Cow::Borrowed(line.text);
        let quoted = memchr(b'"', &text).is_some();
        if quoted && ends_in_quotes(&text) {
            let ending = line.ending;
            text = Cow::Owned(whole_record(
                text.into_owned(),
                ending,
                &mut lines,
                options,
            )?);
        }
        let fields = fields.get_or_insert_with(|| Fields::of(&text, stated, preview));
        if fields.are_between_blanks {
            separate(text.to_mut());
        }
        let placed =
            |(offset, fault): Misplaced| fault.placed(Some(place_in(&text, number, offset)));
        fields
            .split(&text, quoted, options.limits.n_max)
            .map_err(placed)?;
        let (table, columns) = match &mut table {
            Some(table) => table,
            none => {
                let spool = spool.take().flatten();
                let (begun, is_header) = begin(fields, options, number, spool, preview)?;
                let begun = none.insert((begun, fields.len()));
                if is_header {
                    continue;
                }
                begun
            }
        };
        fields.check_columns(*columns).map_err(placed)?;
        let place = |column| place_in(&fields.line, number, fields.start(column));
        table.text_row(|column| fields.get(column), place)?;
    }
    match table {
        Some((table, _)) => table.finish(),
        None => {
            let detail = "The data have no examples; send at least one.";
            Err(Fault::new(FormatErrorKind::EmptyData, detail).into())
        }
    }
}

/// Starts the table with its first record, which begins at this line. Returns whether the record has the names of the
/// columns.
fn begin<'o>(
    fields: &Fields,
    options: &'o Options,
    line: u64,
    spool: Option<Spool>,
    preview: Option<&'o Preview>,
) -> Result<(TableBuilder<'o>, bool), FormatError> {
    let columns = fields.len();
    let names = header::names(columns, |at| Cell::Text(fields.get(at)), options);
    let names = names.map_err(|(at, fault)| {
        let place = place_in(&fields.line, line, fields.start(at));
        fault.placed(Some(place))
    })?;
    let is_header = names.is_some();
    let start = Place::Line { line, column: 1 };
    let table = TableBuilder::new(options, names, columns, Some(start), spool, preview)?;
    Ok((table, is_header))
}

/// Whether a quote is open at the end of a text.
fn ends_in_quotes(text: &[u8]) -> bool {
    !memchr_iter(b'"', text).count().is_multiple_of(2)
}

/// Appends the lines after an open quote, up to its end or the end of the body. `ending` is the line ending of the
/// text.
fn whole_record(
    mut text: Vec<u8>,
    ending: &'static [u8],
    lines: &mut LineReader<&mut dyn Read>,
    options: &Options,
) -> Result<Vec<u8>, FormatError> {
    text.extend_from_slice(ending);
    while let Some(line) = lines.next_line()? {
        let limit = options.limits.line_bytes_max;
        if text.len() + line.text.len() > limit {
            let fault = Fault::too_large(
                "A quote is open, and the row is too long",
                "line_bytes_max",
                limit as u64,
            );
            return Err(fault.at(line.number, 0));
        }
        memory::need(2 * (text.len() + line.text.len()) as u64)?;
        text.extend_from_slice(line.text);
        if ends_in_quotes(line.text) {
            return Ok(text);
        }
        text.extend_from_slice(line.ending);
    }
    Ok(text)
}

/// The place of a byte in a record that begins with line `first`.
fn place_in(text: &[u8], first: u64, offset: usize) -> Place {
    let before = &text[..offset];
    let start = memrchr(b'\n', before).map_or(0, |at| at + 1);
    Place::Line {
        line: first + memchr_iter(b'\n', before).count() as u64,
        column: (offset - start) as u64 + 1,
    }
}

/// The byte between fields: whichever of `,`, `;`, tab and `|` the first line has most often outside quotes. A line
/// without any of them has blanks between its words.
fn delimiter(line: &[u8]) -> u8 {
    let mut quoted = false;
    let mut counts = [(b',', 0), (b';', 0), (b'\t', 0), (b'|', 0)];
    for &byte in line {
        quoted ^= byte == b'"';
        for (delimiter, count) in &mut counts {
            *count += usize::from(byte == *delimiter && !quoted);
        }
    }
    // If counts are equal, the first is taken.
    let [first, rest @ ..] = counts;
    let (found, count) = rest.into_iter().fold(
        first,
        |best, next| if next.1 > best.1 { next } else { best },
    );
    match count == 0 && line.trim_ascii().contains(&b' ') {
        true => BLANKS,
        false => found,
    }
}

/// Puts a tab in place of the first blank behind each field, so that every byte keeps its place.
fn separate(line: &mut [u8]) {
    let (mut quoted, mut is_within) = (false, false);
    let end = line.trim_ascii_end().len();
    for byte in &mut line[..end] {
        quoted ^= *byte == b'"';
        if quoted || !matches!(byte, b' ' | b'\t') {
            is_within = true;
        } else {
            *byte = if is_within { b'\t' } else { b' ' };
            is_within = false;
        }
    }
}

/// The fields of one line. The buffers are reused.
struct Fields {
    /// The first byte of the first record.
    first: Option<u8>,
    delimiter: u8,
    /// Whether lines have any number of blanks between their fields, in place of which [`separate`] puts tabs.
    are_between_blanks: bool,
    quoted: bool,
    reader: csv_core::Reader,
    /// Text of the fields if the line has quotes. Otherwise they are slices of the line.
    unquoted: Vec<u8>,
    /// End of each field in that text.
    ends: Vec<usize>,
    line: Vec<u8>,
    /// Range of each field in the line, including quotes.
    ranges: Vec<Range<usize>>,
}

impl Fields {
    /// The fields of records like the first one, unless the request states what stands between them.
    fn of(first: &[u8], stated: Option<u8>, preview: Option<&Preview>) -> Self {
        let delimiter = stated.unwrap_or_else(|| delimiter(first));
        if let Some(preview) = preview {
            preview.delimited_by(delimiter);
        }
        Self {
            first: first.first().copied(),
            ..Self::new(delimiter)
        }
    }

    fn new(stated: u8) -> Self {
        let are_between_blanks = stated == BLANKS;
        let delimiter = if are_between_blanks { b'\t' } else { stated };
        Self {
            first: None,
            delimiter,
            are_between_blanks,
            quoted: false,
            reader: csv_core::ReaderBuilder::new().delimiter(delimiter).build(),
            unquoted: Vec::new(),
            ends: Vec::new(),
            line: Vec::new(),
            ranges: Vec::new(),
        }
    }

    /// Splits a record, which may have quotes, into at most `n_max` fields and a label. It needs the limit because a
    /// field takes more memory than its comma.
    fn split(&mut self, line: &[u8], quoted: bool, n_max: usize) -> Result<(), Misplaced> {
        if line.len() > self.line.capacity() {
            // These are the copy, its text without quotes, and a range and an end for each field, in vectors that may
            // double.
            let fields = line.len().min(n_max) + 1;
            let needed = memory::need(3 * line.len() as u64);
            let needed = needed.and_then(|()| memory::need_of::<[usize; 8]>(fields));
            needed.map_err(|full| (0, full.into()))?;
        }
        self.line.clear();
        self.line.extend_from_slice(line);
        self.ranges.clear();
        self.quoted = quoted;
        if quoted {
            return self.split_quoted(n_max);
        }
        // Fields are short, so a separate search for each comma would cost more.
        let mut start = 0;
        for (at, &byte) in line.iter().enumerate() {
            if byte == self.delimiter {
                self.check_count(at, n_max)?;
                self.ranges.push(start..at);
                start = at + 1;
            }
        }
        self.ranges.push(start..line.len());
        Ok(())
    }

    /// Splits a line with quotes. `csv_core` defines the dialect, and this function only finds the positions.
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
                byte if byte == self.delimiter && !quoted => {
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
            return fail(opened, "The quote is not closed.");
        }
        if !self.unquote() {
            return fail(0, "A quote is inside a field; quote the whole field.");
        }
        Ok(())
    }

    /// Reads the text of the fields. Returns false if `csv_core` finds another number of fields.
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
                // The next call gets empty input, which ends the record.
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::Record => {
                    return ended == self.ranges.len() && read == self.line.len();
                }
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
            // Most fields are one character, for which trimming would cost more than this test.
            [byte] if !byte.is_ascii_whitespace() => field,
            _ => field.trim_ascii(),
        }
    }

    /// The byte of the line at which the text of a field begins.
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

    /// Checks that the line has as many columns as the first line.
    fn check_columns(&self, expected: usize) -> Result<(), Misplaced> {
        let found = self.len();
        if found == expected {
            return Ok(());
        }
        let at = match self.ranges.get(expected) {
            Some(surplus) => surplus.start,
            None => self.line.len(),
        };
        let between = match self.are_between_blanks {
            true => {
                " If the fields do not stand between blanks, name the delimiter, as in `delimiter=,`."
            }
            false => "",
        };
        let detail = format!(
            "The line has {found} columns, but the lines before it have {expected}; write a cell for each column, \
             perhaps an empty one.{between}"
        );
        Err((
            at,
            self.read_otherwise(Fault::new(FormatErrorKind::UnequalLength, detail)),
        ))
    }

    /// Adds what else the line or the first one may be: a comment, or a row with another delimiter.
    fn read_otherwise(&self, fault: Fault) -> Fault {
        let marks = [self.line.first().copied(), self.first];
        let is_mark = |mark: &u8| b"#%!*".contains(mark);
        let marks = marks.into_iter().flatten().filter(is_mark);
        let fault = marks.fold(fault, |fault, mark| {
            fault.mended_by("comment", char::from(mark))
        });
        let stands = |byte: &u8| *byte != self.delimiter && self.line.contains(byte);
        let others = DELIMITERS.into_iter().filter(|(_, byte)| stands(byte));
        others.fold(fault, |fault, (spelling, _)| {
            fault.mended_by("delimiter", spelling)
        })
    }
}

//! The cells of a sheet, one row at a time.
//!
//! Cells without a value are skipped, so gaps in a sheet cost nothing. This module does not know tables.

use std::ops::Range;

use super::cell_name::{COLUMNS_MAX, parse, parse_range};
use super::strings::{SharedStrings, rich_text, unescaped};
use super::styles::Styles;
use super::xml::{XmlPart, too_long};
use crate::cell::Cell;
use crate::dates;
use crate::error::{Fault, FormatError, FormatErrorKind, Place, excerpt};
use crate::numbers::DecimalMark;
use crate::numbers::{EXACT_MAX, parse_number};
use crate::options::Options;

/// Reader of the rows with values.
pub(super) struct SheetReader<'a, 'p, 'o> {
    xml: XmlPart<'p, 'o>,
    pub(super) name: &'a str,
    styles: &'a Styles,
    strings: &'a mut SharedStrings,
    line_bytes_max: usize,
    decimal: DecimalMark,
    /// The day on which the days of dates begin, counted from 1899-12-30.
    first_day: f64,
    /// Whether the reader is inside the element with the rows.
    is_in_rows: bool,
    value: Vec<u8>,
}

/// The values of a row.
#[derive(Default)]
pub(super) struct SheetRow {
    /// The number of the row, from 1.
    pub(super) number: u64,
    /// The cells with a value, with their columns, from 1.
    pub(super) cells: Vec<(usize, Cell<Range<usize>>)>,
    /// The texts of all cells.
    pub(super) text: Vec<u8>,
    /// The bytes that the row would take as a line of CSV, without the commas. A number counts as the workbook writes
    /// it.
    pub(super) bytes: usize,
}

impl SheetRow {
    /// The columns between the first and the last value, from 1.
    pub(super) fn columns(&self) -> Range<usize> {
        let columns = || self.cells.iter().map(|(column, _)| *column);
        columns().next().unwrap_or(1)..columns().next_back().unwrap_or(1) + 1
    }
}

/// The attributes of a cell, and the elements inside it.
struct RawCell {
    kind: CellKind,
    style: usize,
    has_formula: bool,
    has_value: bool,
}

/// The type of the value of a cell.
#[derive(Clone, Copy)]
enum CellKind {
    Number,
    /// The number of a shared string.
    Shared,
    Text,
    Boolean,
    Error,
    Date,
    Unknown,
}

impl CellKind {
    fn of(kind: Option<&str>) -> Self {
        match kind {
            None | Some("n") => Self::Number,
            Some("s") => Self::Shared,
            Some("str" | "inlineStr") => Self::Text,
            Some("b") => Self::Boolean,
            Some("e") => Self::Error,
            Some("d") => Self::Date,
            Some(_) => Self::Unknown,
        }
    }
}

impl<'a, 'p, 'o> SheetReader<'a, 'p, 'o> {
    /// Starts before the first row of a part with a sheet.
    pub(super) fn new(
        xml: XmlPart<'p, 'o>,
        name: &'a str,
        options: &Options,
        styles: &'a Styles,
        first_day: f64,
        strings: &'a mut SharedStrings,
    ) -> Self {
        Self {
            xml,
            name,
            styles,
            strings,
            line_bytes_max: options.limits.line_bytes_max,
            decimal: options.table.decimal.unwrap_or_default(),
            first_day,
            is_in_rows: false,
            value: Vec::new(),
        }
    }

    /// The seconds of a date that is given in days. The days before March 1900 are one less, because the spreadsheet
    /// programs keep a leap day that this year did not have.
    fn date(&self, days: f64) -> Option<f64> {
        const LEAP_DAY: f64 = 60.0;
        let is_before = self.first_day == 0.0 && (1.0..LEAP_DAY).contains(&days);
        let days = days + self.first_day + f64::from(u8::from(is_before));
        dates::of_days(days).filter(|_| days >= 0.0)
    }

    /// Reads the next row with a value into `row`. Returns false after the last row.
    ///
    /// # Errors
    /// When the part is wrong.
    pub(super) fn next_row(&mut self, row: &mut SheetRow) -> Result<bool, FormatError> {
        while !self.is_in_rows {
            if !self.xml.child()? {
                return Ok(false);
            }
            match self.xml.name() {
                b"sheetData" => self.is_in_rows = true,
                _ => self.xml.skip()?,
            }
        }
        while self.xml.child()? {
            if self.xml.name() != b"row" {
                self.xml.skip()?;
                continue;
            }
            self.read_row(row)?;
            if !row.cells.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Passes each range of merged cells to `see`, and reads the rest of the part. These ranges come after the rows.
    ///
    /// # Errors
    /// When the part is wrong, or the first error of `see`.
    pub(super) fn for_each_merge(
        &mut self,
        mut see: impl FnMut(&str, [(u64, usize); 2]) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        while self.xml.child()? {
            if self.xml.name() != b"mergeCells" {
                self.xml.skip()?;
                continue;
            }
            while self.xml.child()? {
                let [name] = self.xml.attributes(["ref"])?;
                let name = name.unwrap_or_default();
                let Some(range) = parse_range(&name) else {
                    return Err(self.xml.wrong("a merged range is no range of cells"));
                };
                see(&name, range)?;
                self.xml.skip()?;
            }
        }
        self.xml.end()
    }

    fn read_row(&mut self, row: &mut SheetRow) -> Result<(), FormatError> {
        let after = row.number;
        let [number] = self.xml.attributes(["r"])?;
        let number = number.map(|number| number.parse::<u32>()).transpose();
        let Ok(number) = number else {
            return Err(self.xml.wrong("the number of a row is no number"));
        };
        row.cells.clear();
        row.text.clear();
        row.bytes = 0;
        row.number = number.map_or(after + 1, u64::from);
        // If a row has no number, the first cell with a name gives it.
        let mut is_numbered = number.is_some();
        let mut last = 0;
        while self.xml.child()? {
            if self.xml.name() != b"c" {
                self.xml.skip()?;
                continue;
            }
            let [name, style, kind] = self.xml.attributes(["r", "s", "t"])?;
            let column = match name {
                None => last + 1,
                Some(name) => match parse(&name) {
                    Some((number, column)) if number == row.number || !is_numbered => {
                        row.number = number;
                        is_numbered = true;
                        column
                    }
                    _ => return Err(self.xml.wrong("a cell does not have a name in its row")),
                },
            };
            if column <= last || column > COLUMNS_MAX {
                return Err(self.xml.wrong("the cells of a row do not ascend"));
            }
            last = column;
            let style = style.and_then(|style| style.parse().ok()).unwrap_or(0);
            let mut cell = RawCell {
                kind: CellKind::of(kind.as_deref()),
                style,
                has_formula: false,
                has_value: false,
            };
            self.read_cell(&mut cell)?;
            let number = row.number;
            let placed =
                |fault: Fault| fault.placed(Some(Place::in_sheet(self.name, number, column)));
            let start = row.text.len();
            let cell = self.append(&cell, &mut row.text).map_err(placed)?;
            row.bytes += match &cell {
                Cell::Number(..) => self.value.len(),
                Cell::Refused(_) => 0,
                _ => row.text.len() - start,
            };
            if cell != Cell::Missing {
                row.cells.push((column, cell));
            }
            if row.bytes + row.cells.len() > self.line_bytes_max {
                return Err(placed(too_long(self.line_bytes_max)));
            }
        }
        match row.number > after {
            true => Ok(()),
            false => Err(self.xml.wrong("the rows do not ascend")),
        }
    }

    /// Reads the elements of a cell. The text of the value is then in `self.value`.
    fn read_cell(&mut self, cell: &mut RawCell) -> Result<(), FormatError> {
        self.value.clear();
        while self.xml.child()? {
            match self.xml.name() {
                b"v" => {
                    cell.has_value = true;
                    self.xml.text(&mut self.value)?;
                }
                b"is" => rich_text(&mut self.xml, &mut self.value)?,
                b"f" => {
                    cell.has_formula = true;
                    self.xml.skip()?;
                }
                _ => self.xml.skip()?,
            }
        }
        Ok(())
    }

    /// Returns the cell that was read last, and appends its text to the text of the row.
    fn append(&mut self, cell: &RawCell, text: &mut Vec<u8>) -> Result<Cell<Range<usize>>, Fault> {
        let value = self.value.trim_ascii();
        let wrong = |detail: String| Err(Fault::new(FormatErrorKind::Syntax, detail));
        let start = text.len();
        match cell.kind {
            // The stored value of a formula may be an empty text.
            CellKind::Text if cell.has_value || !value.is_empty() => {
                text.extend_from_slice(unescaped(&mut self.value));
            }
            _ if value.is_empty() && cell.has_formula => {
                let reason = "has a formula without a stored value, which a spreadsheet program adds to the file";
                text.extend_from_slice(reason.as_bytes());
                return Ok(Cell::Refused(start..text.len()));
            }
            _ if value.is_empty() => {}
            CellKind::Number if !self.styles.is_date(cell.style) => {
                let number = parse_number(value).map_err(|fault| fault.of_value(value))?;
                if number.abs() >= EXACT_MAX as f64 {
                    text.extend_from_slice(value);
                    return Ok(Cell::Number(number, Some(start..text.len())));
                }
                if self.decimal == DecimalMark::Point || number.fract() == 0.0 {
                    return Ok(Cell::Number(number, None));
                }
                // The table reads numbers and texts with a comma alike.
                text.extend(number.to_string().replace('.', ",").bytes());
            }
            CellKind::Number | CellKind::Date => {
                let date = match cell.kind {
                    CellKind::Date => str::from_utf8(value).ok().and_then(dates::iso),
                    _ => parse_number(value).ok().and_then(|days| self.date(days)),
                };
                return match date {
                    Some(seconds) => Ok(Cell::Date(seconds)),
                    None => wrong(format!("{} is no date.", excerpt(value))),
                };
            }
            // A formula says so that there is no value, as other programs do with this text.
            CellKind::Error if value == b"#N/A" => text.extend_from_slice(value),
            CellKind::Error => {
                text.extend(format!("has the error {}", excerpt(value)).bytes());
                return Ok(Cell::Refused(start..text.len()));
            }
            CellKind::Shared => {
                let index = str::from_utf8(value)
                    .ok()
                    .and_then(|index| index.parse().ok());
                if !self.strings.append(index.unwrap_or(u64::MAX), text)? {
                    let (shown, count) = (excerpt(value), self.strings.count);
                    return wrong(format!(
                        "The workbook has no shared string {shown}, but {count} strings from 0."
                    ));
                }
            }
            CellKind::Boolean => {
                let (is_true, word): (_, &[u8]) = match value {
                    b"1" | b"true" => (true, b"TRUE"),
                    b"0" | b"false" => (false, b"FALSE"),
                    _ => return wrong(format!("{} is no truth value.", excerpt(value))),
                };
                text.extend_from_slice(word);
                return Ok(Cell::Boolean(is_true, start..text.len()));
            }
            CellKind::Text | CellKind::Unknown => {
                return wrong("The type of the cell is unknown.".to_owned());
            }
        }
        Ok(match text.len() > start {
            true => Cell::Text(start..text.len()),
            false => Cell::Missing,
        })
    }
}

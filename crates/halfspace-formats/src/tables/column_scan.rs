//! One pass over the cells of a column: the distinct values and their numbers of cells, from which the kind of the
//! column follows.
//!
//! A cell is kept as the code of its value. A column with more than [`VALUES_MAX`] values must hold numbers, and its
//! later cells are kept as numbers.

use std::collections::HashMap;

use halfspace_core::memory;

use super::cell::{Cell, DecimalMark};
use super::options::KindName;
use crate::error::{Fault, FormatErrorKind, excerpt};

/// The largest number of values of a column that is kept by codes. A missing cell counts as a value.
pub(crate) const VALUES_MAX: usize = 256;

/// The largest size of a value, in bytes.
const VALUE_BYTES_MAX: usize = 1024;

/// No value of this text has occurred.
const NO_CODE: u16 = u16::MAX;

/// A value of a column.
pub(crate) struct ColumnValue {
    pub(crate) text: Box<[u8]>,
    pub(crate) cell: Cell,
    /// The number of cells. Bare letters are not counted.
    pub(crate) cells: u64,
    /// The first row with the value, from 1.
    pub(crate) first_row: u64,
}

/// The form in which a cell is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum KeptCell {
    Code(u8),
    /// A number, or NaN for a missing cell.
    Number(f64),
}

/// The cells of a column so far.
pub(crate) struct ColumnScan {
    /// The values in the order of their first rows. The index of a value is its code.
    pub(crate) values: Vec<ColumnValue>,
    codes: HashMap<Box<[u8]>, u8>,
    /// The codes of the values of one byte, and of the empty text.
    short_codes: Box<[u16; VALUES_MAX]>,
    empty_code: u16,
    /// Whether the later cells are kept as numbers.
    pub(crate) is_numbers: bool,
    /// The missing cells that are not kept by a code, and the first row with one.
    missing_numbers: u64,
    missing_row: u64,
    kind: Option<KindName>,
    decimal: Option<DecimalMark>,
    /// Whether the table declares all values of the column.
    is_declared: bool,
}

impl ColumnScan {
    /// Starts a column of the kind and the decimal mark that the request states.
    pub(crate) fn new(kind: Option<KindName>, decimal: Option<DecimalMark>) -> Self {
        Self {
            values: Vec::new(),
            codes: HashMap::new(),
            short_codes: Box::new([NO_CODE; VALUES_MAX]),
            empty_code: NO_CODE,
            is_numbers: false,
            missing_numbers: 0,
            missing_row: 0,
            kind,
            decimal,
            is_declared: false,
        }
    }

    /// Counts a cell whose value has occurred, and returns the code of the value.
    ///
    /// Most cells take this path. A code alone stays in a register. A [`KeptCell`] goes through memory.
    #[inline]
    pub(crate) fn push_known(&mut self, text: &[u8]) -> Option<u8> {
        let code = match text {
            [byte] => u8::try_from(self.short_codes[usize::from(*byte)]).ok(),
            [] => u8::try_from(self.empty_code).ok(),
            _ if self.is_numbers => None,
            _ => self.codes.get(text).copied(),
        }?;
        self.values[usize::from(code)].cells += 1;
        Some(code)
    }

    /// Returns the code of a letter or a digit whose value has occurred. The cell is not counted, because only missing
    /// cells must be.
    #[inline]
    pub(crate) fn code_of(&self, letter: u8) -> Option<u8> {
        u8::try_from(self.short_codes[usize::from(letter)]).ok()
    }

    /// Reads the cell of row `row`, from 1.
    ///
    /// # Errors
    /// When the column has too many values, or the cell is ambiguous. The fault does not name the column.
    pub(crate) fn push(&mut self, text: &[u8], row: u64) -> Result<KeptCell, Fault> {
        match self.push_known(text) {
            Some(code) => Ok(KeptCell::Code(code)),
            None => self.push_new(text, row),
        }
    }

    /// Adds the values of the column. Other values are refused from now on.
    ///
    /// # Errors
    /// As for [`Self::push`].
    pub(crate) fn declare<'v>(
        &mut self,
        values: impl Iterator<Item = &'v [u8]>,
    ) -> Result<(), Fault> {
        for text in values {
            self.push(text, u64::MAX)?;
        }
        self.values.iter_mut().for_each(|value| value.cells = 0);
        self.is_declared = true;
        Ok(())
    }

    /// Reads a number of an earlier row, whose spelling is no longer known.
    ///
    /// # Errors
    /// As for [`Self::push`].
    pub(crate) fn push_number(&mut self, number: f64, row: u64) -> Result<KeptCell, Fault> {
        match self.is_numbers {
            true => Ok(KeptCell::Number(number)),
            false => self.push(number.to_string().as_bytes(), row),
        }
    }

    fn push_new(&mut self, text: &[u8], row: u64) -> Result<KeptCell, Fault> {
        // Of a short row every cell may be a new value.
        memory::check()?;
        let cell = self.read(text)?;
        if self.is_declared && cell != Cell::Missing {
            let detail = format!("does not declare the value {}", excerpt(text));
            return Err(Fault::new(FormatErrorKind::BadValue, detail));
        }
        if !self.is_numbers && self.values.len() == VALUES_MAX {
            self.become_numbers(cell)?;
        }
        if self.is_numbers {
            return match cell {
                Cell::Number(number) => Ok(KeptCell::Number(number)),
                Cell::Missing => {
                    if self.missing_numbers == 0 && self.missing().1 == 0 {
                        self.missing_row = row;
                    }
                    self.missing_numbers += 1;
                    Ok(KeptCell::Number(f64::NAN))
                }
                Cell::Flag(..) | Cell::Text => Err(too_many(text)),
            };
        }
        let code = self.values.len() as u8;
        if text.len() > VALUE_BYTES_MAX {
            let detail = format!(
                "has the value {}, which is longer than {VALUE_BYTES_MAX} bytes",
                excerpt(text)
            );
            return Err(Fault::new(FormatErrorKind::BadValue, detail));
        }
        match text {
            [byte] => self.short_codes[usize::from(*byte)] = code.into(),
            [] => self.empty_code = code.into(),
            _ => drop(self.codes.insert(text.into(), code)),
        }
        self.values.push(ColumnValue {
            text: text.into(),
            cell,
            cells: 1,
            first_row: row,
        });
        Ok(KeptCell::Code(code))
    }

    /// Reads the spelling of a cell under the stated kind and decimal mark.
    fn read(&self, text: &[u8]) -> Result<Cell, Fault> {
        let cell = Cell::of(text, self.decimal.unwrap_or_default());
        if self.kind == Some(KindName::Nominal) {
            return Ok(match cell {
                Cell::Missing => Cell::Missing,
                _ => Cell::Text,
            });
        }
        if self.decimal.is_none()
            && let Some(fault) = decimal_comma(text)
        {
            return Err(fault);
        }
        Ok(cell)
    }

    /// Keeps later cells as numbers, because the column has too many values for codes.
    fn become_numbers(&mut self, next: Cell) -> Result<(), Fault> {
        let number = |cell: &Cell| matches!(cell, Cell::Number(_) | Cell::Missing);
        let words = self.values.iter().filter(|value| !number(&value.cell));
        if let Some(word) = words.min_by_key(|value| value.first_row) {
            return Err(too_many(&word.text));
        }
        if !number(&next) || self.kind == Some(KindName::Boolean) {
            return Err(too_many(b""));
        }
        self.short_codes.fill(NO_CODE);
        self.empty_code = NO_CODE;
        self.is_numbers = true;
        Ok(())
    }

    /// Whether the column has no value and no missing cell.
    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the number of missing cells and the first row with one, or zeros.
    pub(crate) fn missing(&self) -> (u64, u64) {
        let coded = self
            .values
            .iter()
            .filter(|value| value.cell == Cell::Missing);
        let (cells, row) = coded.fold((0, 0), |(cells, row), value| {
            let first = if row == 0 {
                value.first_row
            } else {
                value.first_row.min(row)
            };
            (cells + value.cells, first)
        });
        let first = if row == 0 { self.missing_row } else { row };
        (cells + self.missing_numbers, first)
    }
}

/// Returns the fault of a text that may be a number with a decimal comma, if the request names no decimal mark.
pub(crate) fn decimal_comma(text: &[u8]) -> Option<Fault> {
    let is_number =
        text.contains(&b',') && matches!(Cell::of(text, DecimalMark::Comma), Cell::Number(_));
    is_number.then(|| {
        let detail = format!(
            "has the value {}, which may be a number with a decimal comma; say `decimal=,`, or \
             `decimal=.` if the value is text",
            excerpt(text)
        );
        Fault::new(FormatErrorKind::TableOption, detail)
    })
}

/// Makes the fault of a column with more values than codes that are not all numbers.
fn too_many(word: &[u8]) -> Fault {
    let such = match word {
        b"" => String::new(),
        word => format!(", among them the text {}", excerpt(word)),
    };
    let detail = format!("has more than {VALUES_MAX} different values{such}");
    Fault::new(FormatErrorKind::BadValue, detail)
}

//! Rows of a table whose cells are numbers and become features unchanged, and the kinds of their columns.
//!
//! A given encoding may restrict a feature to the two numbers of a bit. Without an encoding, a later cell may turn
//! the numbers into words, so the rows remember whether this would lose a spelling.

use std::cell::RefCell;

use halfspace_core::bits::BLOCK_ROWS;

use super::bare_line::BareLine;
use super::columns::InColumn;
use crate::building::parsed::Parsed;
use crate::building::parsed_rows::ParsedRows;
use crate::building::sample_builder::SampleBuilder;
use crate::cell::Cell;
use crate::error::{Fault, FormatError, FormatErrorKind, Place};

/// Rows whose cells are numbers that are the features.
pub(crate) struct PlainRows {
    pub(crate) builder: SampleBuilder,
    /// The columns of the features in order.
    pub(crate) columns: Vec<usize>,
    /// For each feature of a given encoding, the number that its bit 0 stands for, if it is a bit.
    pub(crate) lows: Option<Vec<Option<f64>>>,
    /// Whether the kinds of the columns are open, so that the spelling of a number may matter later.
    pub(crate) is_open: bool,
    /// Whether some number was spelled longer than necessary. This spelling is not kept.
    pub(crate) is_respelled: bool,
}

impl PlainRows {
    /// Whether the feature may have this value under the given encoding.
    pub(crate) fn allows(&self, feature: usize, value: f64) -> bool {
        let low = self.lows.as_ref().and_then(|lows| lows[feature]);
        low.is_none_or(|low| value == 1.0 || value == low)
    }
}

/// Sets a row of `n` bare numbers. If the row must be read cell by cell, it changes nothing and returns false.
/// `values` and `words` are reused buffers.
pub(crate) fn set_row(
    plain: &mut PlainRows,
    line: &BareLine<'_>,
    n: usize,
    values: &mut Vec<f64>,
    words: &mut Vec<u64>,
) -> bool {
    if !plain.builder.takes_rows(n) {
        return false;
    }
    let takes_zero = |low: &Option<f64>| low.is_none_or(|low| low == 0.0);
    let lows = plain.lows.as_ref();
    if plain.builder.takes_bits()
        && lows.is_none_or(|lows| lows.iter().all(takes_zero))
        && line.bits(n, words)
    {
        plain.builder.set_bits(words);
        return true;
    }
    let are_allowed = |values: &[f64]| {
        plain.lows.is_none() || (0..n).all(|feature| plain.allows(feature, values[feature]))
    };
    if !line.numbers(n, values) || !are_allowed(values) {
        return false;
    }
    if plain.is_open && !plain.is_respelled {
        plain.is_respelled = line.are_respelled(values);
    }
    plain.builder.set_numbers(values)
}

/// The value of the bit 0 for each feature of a table of numbers, or none if the feature is not a bit. A value that
/// makes the data real changes only the kind of its own column.
pub(crate) fn low_values(
    parsed: &mut Parsed<ParsedRows>,
) -> Result<Vec<Option<&'static str>>, FormatError> {
    let header = parsed.data.header();
    let (n, zero) = (header.n, parsed.zero_bit_value);
    if !header.is_real {
        return Ok(vec![Some(if zero < 0.0 { "-1" } else { "0" }); n]);
    }
    let bits: RefCell<Vec<usize>> = RefCell::new((0..n).collect());
    let prune = |values: &[f64]| {
        let is_bit = |&feature: &usize| values[feature] == 0.0 || values[feature] == 1.0;
        bits.borrow_mut().retain(is_bit);
    };
    // A few rows suffice to rule out most columns of numbers.
    let rows = &mut parsed.data;
    rows.first_rows(zero, BLOCK_ROWS, |values, _| prune(values))?;
    if !bits.borrow().is_empty() {
        rows.for_each_row(zero, |values, _| {
            prune(values);
            Ok(())
        })?;
    }
    let mut lows = vec![None; n];
    for feature in bits.into_inner() {
        lows[feature] = Some("0");
    }
    Ok(lows)
}

/// Reads a row whose cells are numbers. `given` lists the features that may differ from 0 and their columns, in
/// ascending order. If a cell is no number that its feature can take, the result is this feature, and a part of the
/// row has been read.
pub(crate) fn plain_row<'c>(
    plain: &mut PlainRows,
    given: Option<&[(usize, usize)]>,
    cell: &impl Fn(usize) -> Cell<&'c [u8]>,
    label: Option<u32>,
    place: &impl Fn(usize) -> Place,
) -> Result<Option<usize>, InColumn> {
    let mut next = 0;
    let count = given.map_or(plain.columns.len(), <[_]>::len);
    for index in 0..count {
        let (feature, at) =
            given.map_or_else(|| (index, plain.columns[index]), |given| given[index]);
        let cell = cell(at);
        let value = match cell.number() {
            Ok(value) if plain.allows(feature, value) => value,
            _ => return Ok(Some(feature)),
        };
        if plain.is_open && cell.is_code() {
            return Ok(Some(feature));
        }
        plain.is_respelled |= plain.is_open && cell.is_respelled(value);
        let (builder, columns) = (&mut plain.builder, &plain.columns);
        let in_column = |fault| (at, with_thermometer(fault));
        if builder.zeros(feature - next).map_err(in_column)? {
            builder.note_first_real(place(columns[next]));
        }
        if builder.value(value).map_err(in_column)? {
            builder.note_first_real(place(at));
        }
        next = feature + 1;
    }
    let at_end = |fault| (0, fault);
    let (builder, columns) = (&mut plain.builder, &plain.columns);
    if builder.zeros(columns.len() - next).map_err(at_end)? {
        builder.note_first_real(place(columns[next]));
    }
    builder.end_row(label).map_err(at_end)?;
    Ok(None)
}

/// Adds the option that makes numbers Boolean to the fault of a number.
fn with_thermometer(mut fault: Fault) -> Fault {
    if fault.kind == FormatErrorKind::NotBoolean {
        fault.detail += " `numbers=thermometer` makes numbers Boolean.";
    }
    fault
}

//! `NumPy`'s `.npy`: one two-dimensional array of truth values, integers or floats, with one row per example.
//!
//! The labels are the last column unless the options say otherwise.

use std::io::Read;
use std::ops::Range;

use halfspace_core::memory;

use crate::building::label_names::LabelNames;
use crate::building::parsed::Parsed;
use crate::building::parsed_rows::ParsedRows;
use crate::building::sample_builder::SampleBuilder;
use crate::classes::check_digits;
use crate::error::{Fault, FormatError, FormatErrorKind, Place};
use crate::numbers::{EXACT_MAX, shortest};
use crate::options::{LabelsColumn, Options};
use crate::readers::binary::npy_header::{self, NpyHeader, ValueKind};
use crate::readers::binary::row_reader::RowReader;
use crate::stored::spool::Spool;
use crate::tables::preview::Preview;

/// Difference between a byte 0 or 1 and the character of that bit.
const TO_CHARACTER: u8 = b'0';

pub(crate) fn parse(
    reader: &mut dyn Read,
    options: &Options,
    spool: Option<Spool>,
    _: Option<&Preview>,
) -> Result<Parsed<ParsedRows>, FormatError> {
    let header = npy_header::read(reader)?;
    parse_values(reader, &header, options, spool)
}

/// Reads the values that follow a header, which are the rest of the body.
pub(crate) fn parse_values(
    reader: &mut dyn Read,
    header: &NpyHeader,
    options: &Options,
    spool: Option<Spool>,
) -> Result<Parsed<ParsedRows>, FormatError> {
    let table = NpyLayout::new(header, options)?;
    let builder = SampleBuilder::new(&options.limits, Some(table.features.len()), spool)?;
    let positive = options.table.positive.as_deref();
    let labels = LabelNames::beside(&options.label_rule, positive)?;
    // Rows go straight to their target only if their labels need no other code at the end.
    let are_coded = table.label.is_none() || labels.as_ref().is_none_or(LabelNames::are_coded);
    let builder = match are_coded {
        true => builder.of_rows(header.rows, options.unlabelled),
        false => builder,
    };
    let mut builder = builder.of_kind(options.values)?.of_labels(labels);
    let row_bytes = table.columns * table.kind.bytes();
    // A row, and its values.
    memory::need(2 * row_bytes as u64)?;
    let mut rows = RowReader::new(reader, row_bytes, header.bytes);
    let (mut text, mut values) = (Vec::new(), Vec::new());
    for row in 1..=header.rows {
        let Some((_, bytes)) = rows.next_row()? else {
            let end = rows.offset() + rows.left() as u64;
            let detail = format!(
                "The body ends before the end of row {row} of {}.",
                header.rows
            );
            let fault = Fault::new(FormatErrorKind::Truncated, detail);
            return Err(fault.placed(Some(Place::Byte(end))));
        };
        table.read_row(row, bytes, &mut text, &mut values, &mut builder)?;
    }
    if rows.has_more()? {
        let detail = format!(
            "The body continues after the last of its {} rows.",
            header.rows
        );
        let fault = Fault::new(FormatErrorKind::Syntax, detail);
        return Err(fault.placed(Some(Place::Byte(rows.offset()))));
    }
    Ok(builder.finish(options.unlabelled)?)
}

/// Structure of a row.
struct NpyLayout {
    kind: ValueKind,
    columns: usize,
    /// Column of the labels, from 0.
    label: Option<usize>,
    /// Columns of the features.
    features: Range<usize>,
}

impl NpyLayout {
    fn new(header: &NpyHeader, options: &Options) -> Result<Self, Fault> {
        let empty = |detail: &str| Err(Fault::new(FormatErrorKind::EmptyData, detail));
        if header.rows == 0 || header.columns == 0 {
            return empty("The array is empty; data need at least one example and one feature.");
        }
        let labels = options.labels.as_ref().unwrap_or(&LabelsColumn::Last);
        let columns_max = options.limits.n_max + usize::from(*labels != LabelsColumn::None);
        let columns = usize::try_from(header.columns).unwrap_or(usize::MAX);
        if columns > columns_max {
            let what = format!("The array has {columns} columns");
            return Err(Fault::too_large(
                &what,
                "n_max",
                options.limits.n_max as u64,
            ));
        }
        let (label, features) = match labels {
            LabelsColumn::First => (Some(0), 1..columns),
            LabelsColumn::None => (None, 0..columns),
            // The list of formats refuses the other values.
            _ => (Some(columns - 1), 0..columns - 1),
        };
        if features.is_empty() {
            return empty(
                "The only column of the array holds the labels; add a feature, or use labels=none.",
            );
        }
        options.check_n(features.len())?;
        Ok(Self {
            kind: header.kind,
            columns,
            label,
            features,
        })
    }

    /// Reads row `row`, counted from 1. `text` and `values` are reused buffers.
    fn read_row(
        &self,
        row: u64,
        bytes: &[u8],
        text: &mut Vec<u8>,
        values: &mut Vec<f64>,
        builder: &mut SampleBuilder,
    ) -> Result<(), FormatError> {
        let cell = |column: usize| {
            let column = column as u64 + 1;
            Place::Cell { row, column }
        };
        let value = |column: usize| {
            let size = self.kind.bytes();
            let value = value(self.kind, &bytes[column * size..][..size]);
            value.map_err(|fault| fault.placed(Some(cell(column))))
        };
        let mut label = None;
        if let Some(column) = self.label {
            let number = value(column)?;
            let read =
                check_digits(number).and_then(|()| builder.label(shortest(number).as_bytes()));
            label = read.map_err(|fault| fault.placed(Some(cell(column))))?;
        }
        // Without a way out of the loop, the compiler takes many bytes at once.
        let all_bits = |bytes: &[u8]| bytes.iter().fold(0, |all, byte| all | byte) <= 1;
        if self.kind.bytes() == 1 && all_bits(&bytes[self.features.clone()]) {
            text.clear();
            let features = &bytes[self.features.clone()];
            text.extend(features.iter().map(|&byte| byte + TO_CHARACTER));
            let real = builder.bits(text).map_err(|(at, fault)| {
                let column = self.features.start + at;
                fault.placed(Some(cell(column)))
            })?;
            if let Some(at) = real {
                builder.note_first_real(cell(self.features.start + at));
            }
        } else if !(self.numbers(bytes, values) && builder.set_numbers(values)) {
            for column in self.features.clone() {
                let became_real = builder.value(value(column)?);
                if became_real.map_err(|fault| fault.placed(Some(cell(column))))? {
                    builder.note_first_real(cell(column));
                }
            }
        }
        let ended = builder.end_row(label);
        ended.map_err(|fault| fault.placed(Some(cell(0))))
    }

    /// Reads all features of a row. Returns false if a value is not finite or has no exact double.
    fn numbers(&self, bytes: &[u8], values: &mut Vec<f64>) -> bool {
        let size = self.kind.bytes();
        let bytes = &bytes[self.features.start * size..self.features.end * size];
        values.clear();
        match self.kind {
            ValueKind::Float64 => {
                let eights = bytes.as_chunks().0;
                values.extend(eights.iter().map(|&eight| f64::from_le_bytes(eight)));
            }
            ValueKind::Float32 => {
                let fours = bytes.as_chunks().0;
                values.extend(
                    fours
                        .iter()
                        .map(|&four| f64::from(f32::from_le_bytes(four))),
                );
            }
            _ => {
                let read = |bytes| value(self.kind, bytes).ok();
                values.extend(bytes.chunks_exact(size).map_while(read));
            }
        }
        values.len() == self.features.len() && values.iter().all(|value| value.is_finite())
    }
}

/// The value that the bytes hold. There must be as many as the kind has.
fn value(kind: ValueKind, bytes: &[u8]) -> Result<f64, Fault> {
    let mut eight = [0; 8];
    eight[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(eight);
    match kind {
        ValueKind::Bool if bits > 1 => {
            let detail = format!("A truth value has the byte {bits}; it must be 0 or 1.");
            Err(Fault::new(FormatErrorKind::BadValue, detail))
        }
        ValueKind::Bool | ValueKind::Uint8 | ValueKind::Uint16 | ValueKind::Uint32 => {
            Ok(bits as f64)
        }
        ValueKind::Uint64 => exact(bits, bits as f64, &bits),
        ValueKind::Int8 => Ok(f64::from(bits as i8)),
        ValueKind::Int16 => Ok(f64::from(bits as i16)),
        ValueKind::Int32 => Ok(f64::from(bits as i32)),
        ValueKind::Int64 => {
            let value = bits as i64;
            exact(value.unsigned_abs(), value as f64, &value)
        }
        ValueKind::Float32 => Ok(f32::from_bits(bits as u32).into()),
        ValueKind::Float64 => Ok(f64::from_bits(bits)),
    }
}

/// A whole number as a double if the double is exact.
fn exact(size: u64, value: f64, shown: &dyn std::fmt::Display) -> Result<f64, Fault> {
    if size <= EXACT_MAX {
        return Ok(value);
    }
    let detail = format!("{shown} is beyond 2^53, where doubles are not exact; send float64.");
    Err(Fault::new(FormatErrorKind::BadValue, detail))
}

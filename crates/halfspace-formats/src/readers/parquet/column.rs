//! A column of a row group, decoded in batches to cells of a table.
//!
//! Values become cells only when a row is read, so that a batch holds numbers as doubles and texts as references.

use std::sync::Arc;

use halfspace_core::memory;
use parquet::basic::{Repetition, Type};
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{
    BoolType, DataType, DoubleType, FloatType, Int32Type, Int64Type, Int96Type,
};
use parquet::schema::types::{ColumnDescPtr, ColumnDescriptor, ColumnPath, Type as SchemaType};

use super::footer::Chunk;
use super::numbers::{SpelledNumbers, big_endian, half, uuid};
use super::pages::{Pages, SharedFile, unwrapped};
use super::schema::{Meaning, Physical, Stored};
use super::texts::{SharedTexts, Texts, text};
use crate::cell::Cell;
use crate::dates;
use crate::error::{Fault, FormatError, FormatErrorKind};
use crate::numbers::EXACT_MAX;

const INFINITE: &[u8] = b"has an infinite value, and a value is a finite number";
const FAR: &[u8] = b"has a date whose year has more than four digits";
const TIME: &[u8] = b"has times of day, which need the format of a number or of text";

/// The reader of a column, and the cells of its last batch.
pub(super) struct ColumnCells {
    reader: Option<Reader>,
    stored: Option<Stored>,
    levels: Vec<i16>,
    batch: Batch,
}

/// The cells of a batch.
enum Batch {
    /// No cell has a value.
    Missing,
    /// A value that a table cannot hold in every row.
    Refused(&'static str),
    /// Numbers as they are, NaN for a missing one.
    Numbers(Vec<f64>),
    Spelled(SpelledNumbers),
    /// 1 for true, 0 for false, and 2 for a missing value.
    Booleans(Vec<u8>),
    /// Numbers of texts, none for a missing value.
    Texts {
        numbers: Vec<Option<u32>>,
        parts: Vec<Arc<Texts>>,
    },
    /// The seconds of dates, NaN for a missing one, and an infinity beyond the years of tables.
    Dates(Vec<f64>),
    /// Whether a row has a value, which a table cannot hold for this reason.
    RefusedRows(Vec<bool>, &'static [u8]),
}

/// A reader of values with its buffer.
struct Values<T: DataType> {
    reader: ColumnReaderImpl<T>,
    values: Vec<T::T>,
}

enum Reader {
    Boolean(Values<BoolType>),
    Int32(Values<Int32Type>),
    Int64(Values<Int64Type>),
    Int96(Values<Int96Type>),
    Float(Values<FloatType>),
    Double(Values<DoubleType>),
    Bytes(Values<Int32Type>, SharedTexts),
}

impl ColumnCells {
    /// A column that is not read, or that no table can hold.
    pub(super) fn unread(refusal: Option<&'static str>) -> Self {
        Self {
            reader: None,
            stored: None,
            levels: Vec::new(),
            batch: refusal.map_or(Batch::Missing, Batch::Refused),
        }
    }

    /// Starts before the first value of a chunk.
    ///
    /// # Errors
    /// When the crate has no such column.
    pub(super) fn open(
        file: SharedFile,
        stored: Stored,
        chunk: Chunk,
    ) -> Result<Self, FormatError> {
        Ok(Self {
            reader: Some(Reader::open(file, stored, chunk)?),
            stored: Some(stored),
            levels: Vec::new(),
            batch: Batch::Missing,
        })
    }

    /// Decodes the next `rows` cells, and returns how many bytes their values have.
    ///
    /// # Errors
    /// When the column has fewer values, or they are damaged.
    pub(super) fn load(&mut self, rows: usize) -> Result<u64, FormatError> {
        let (Some(reader), Some(stored)) = (&mut self.reader, self.stored) else {
            return Ok(0);
        };
        let levels = stored.is_optional.then_some(&mut self.levels);
        reader.load(rows, levels, stored, &mut self.batch)?;
        memory::check()?;
        Ok(self.batch.bytes())
    }

    /// The cells of the batch, if all of them are finite numbers in their shortest spelling.
    pub(super) fn numbers(&self) -> Option<&[f64]> {
        match &self.batch {
            Batch::Numbers(numbers) if numbers.iter().all(|number| number.is_finite()) => {
                Some(numbers)
            }
            _ => None,
        }
    }

    /// Whether a table can hold all cells of the batch.
    pub(super) fn is_sound(&self) -> bool {
        match &self.batch {
            Batch::Refused(_) => false,
            Batch::Numbers(numbers) => !numbers.iter().any(|number| number.is_infinite()),
            Batch::Dates(dates) => !dates.iter().any(|date| date.is_infinite()),
            Batch::RefusedRows(present, _) => !present.contains(&true),
            _ => true,
        }
    }

    /// The cell of a row of the batch.
    #[inline]
    pub(super) fn cell(&self, row: usize) -> Cell<&[u8]> {
        match &self.batch {
            Batch::Missing => Cell::Missing,
            Batch::Refused(reason) => Cell::Refused(reason.as_bytes()),
            Batch::Numbers(numbers) => match numbers[row] {
                number if number.is_finite() => Cell::Number(number, None),
                number if number.is_nan() => Cell::Missing,
                _ => Cell::Refused(INFINITE),
            },
            Batch::Spelled(numbers) => match (numbers.values[row], numbers.text(row)) {
                (number, _) if number.is_nan() => Cell::Missing,
                (number, []) => Cell::Number(number, None),
                (number, text) => Cell::Number(number, Some(text)),
            },
            Batch::Booleans(values) => match values[row] {
                0 => Cell::Boolean(false, b"false"),
                1 => Cell::Boolean(true, b"true"),
                _ => Cell::Missing,
            },
            Batch::Texts { numbers, parts } => match numbers[row] {
                None => Cell::Missing,
                Some(number) => match text(parts, number as usize) {
                    [] => Cell::Missing,
                    text => Cell::Text(text),
                },
            },
            Batch::Dates(dates) => match dates[row] {
                date if date.is_nan() => Cell::Missing,
                date if date.is_infinite() => Cell::Refused(FAR),
                date => Cell::Date(date),
            },
            Batch::RefusedRows(present, reason) if present[row] => Cell::Refused(reason),
            Batch::RefusedRows(..) => Cell::Missing,
        }
    }
}

impl Batch {
    /// The bytes of all values. Whatever has a fixed length counts as a number.
    fn bytes(&self) -> u64 {
        let fixed = |rows: usize| (rows * size_of::<f64>()) as u64;
        match self {
            Self::Missing | Self::Refused(_) => 0,
            Self::Numbers(numbers) => fixed(numbers.len()),
            Self::Spelled(numbers) => fixed(numbers.values.len()),
            Self::Booleans(values) => values.len() as u64,
            Self::Dates(dates) => fixed(dates.len()),
            Self::RefusedRows(present, _) => fixed(present.len()),
            Self::Texts { numbers, parts } => {
                let length = |&number: &u32| text(parts, number as usize).len() as u64;
                numbers.iter().flatten().map(length).sum()
            }
        }
    }
}

/// The type of a column in the crate. Byte arrays are read as their numbers.
fn described(stored: Stored) -> Result<ColumnDescPtr, FormatError> {
    let kind = match stored.physical {
        Physical::Boolean => Type::BOOLEAN,
        Physical::Int32 | Physical::Bytes | Physical::Fixed(_) => Type::INT32,
        Physical::Int64 => Type::INT64,
        Physical::Int96 => Type::INT96,
        Physical::Float => Type::FLOAT,
        Physical::Double => Type::DOUBLE,
    };
    let repetition = match stored.is_optional {
        true => Repetition::OPTIONAL,
        false => Repetition::REQUIRED,
    };
    let kind = SchemaType::primitive_type_builder("values", kind).with_repetition(repetition);
    let kind = Arc::new(kind.build().map_err(unwrapped)?);
    let levels = i16::from(stored.is_optional);
    let path = ColumnPath::from("values");
    Ok(Arc::new(ColumnDescriptor::new(kind, levels, 0, path)))
}

impl Reader {
    fn open(file: SharedFile, stored: Stored, chunk: Chunk) -> Result<Self, FormatError> {
        let texts = match stored.physical {
            Physical::Bytes | Physical::Fixed(_) => Some(SharedTexts::default()),
            _ => None,
        };
        let kind = described(stored)?;
        let pages = Box::new(Pages::new(file, stored, chunk, texts.clone()));
        Ok(match (stored.physical, texts) {
            (Physical::Boolean, _) => Self::Boolean(Values::new(kind, pages)),
            (Physical::Int64, _) => Self::Int64(Values::new(kind, pages)),
            (Physical::Int96, _) => Self::Int96(Values::new(kind, pages)),
            (Physical::Float, _) => Self::Float(Values::new(kind, pages)),
            (Physical::Double, _) => Self::Double(Values::new(kind, pages)),
            (_, Some(texts)) => Self::Bytes(Values::new(kind, pages), texts),
            (_, None) => Self::Int32(Values::new(kind, pages)),
        })
    }

    /// Decodes the next rows into a batch.
    fn load(
        &mut self,
        rows: usize,
        mut levels: Option<&mut Vec<i16>>,
        stored: Stored,
        batch: &mut Batch,
    ) -> Result<(), FormatError> {
        match self {
            Self::Boolean(column) => {
                let values = column.read(rows, &mut levels)?;
                batch.set_booleans(values, levels.as_deref());
            }
            Self::Float(column) => {
                let values = column.read(rows, &mut levels)?;
                batch.set_numbers(values, levels.as_deref(), |&value| f64::from(value));
            }
            Self::Double(column) => {
                let values = column.read(rows, &mut levels)?;
                batch.set_numbers(values, levels.as_deref(), |&value| value);
            }
            Self::Int96(column) => {
                let values = column.read(rows, &mut levels)?;
                batch.set_dates(values, levels.as_deref(), |date| date.to_seconds() as f64);
            }
            Self::Int32(column) => {
                let values = column.read(rows, &mut levels)?;
                let levels = levels.as_deref();
                match stored.meaning {
                    Meaning::Unsigned => {
                        batch.set_numbers(values, levels, |&value| f64::from(value as u32));
                    }
                    Meaning::Decimal(scale) => {
                        batch.set_decimals(values, levels, scale, |&value| i128::from(value));
                    }
                    Meaning::Date(unit) => {
                        batch.set_dates(values, levels, |&value| unit.seconds(value.into()));
                    }
                    Meaning::Time => batch.set_refused(values, levels, TIME),
                    _ => batch.set_numbers(values, levels, |&value| f64::from(value)),
                }
            }
            Self::Int64(column) => {
                let values = column.read(rows, &mut levels)?;
                let levels = levels.as_deref();
                match stored.meaning {
                    Meaning::Unsigned => {
                        let value = |&value: &i64| i128::from(value as u64);
                        batch.set_integers(values, levels, value);
                    }
                    Meaning::Decimal(scale) => {
                        batch.set_decimals(values, levels, scale, |&value| i128::from(value));
                    }
                    Meaning::Date(unit) => {
                        batch.set_dates(values, levels, |&value| unit.seconds(value));
                    }
                    Meaning::Time => batch.set_refused(values, levels, TIME),
                    _ => batch.set_integers(values, levels, |&value| i128::from(value)),
                }
            }
            Self::Bytes(column, texts) => {
                texts.forget_read();
                let values = column.read(rows, &mut levels)?;
                batch.set_bytes(values, levels.as_deref(), texts, stored.meaning)?;
            }
        }
        Ok(())
    }
}

impl<T: DataType> Values<T> {
    fn new(kind: ColumnDescPtr, pages: Box<Pages>) -> Self {
        Self {
            reader: ColumnReaderImpl::new(kind, pages),
            values: Vec::new(),
        }
    }

    /// Reads the values of the next rows that are not missing.
    fn read(
        &mut self,
        rows: usize,
        levels: &mut Option<&mut Vec<i16>>,
    ) -> Result<&[T::T], FormatError> {
        self.values.clear();
        if let Some(levels) = levels {
            levels.clear();
        }
        let levels = levels.as_deref_mut();
        let read = self
            .reader
            .read_records(rows, levels, None, &mut self.values);
        let (read, ..) = read.map_err(unwrapped)?;
        if read < rows {
            let detail = "The Parquet file is damaged: a column has fewer values than its row group has rows.";
            return Err(Fault::new(FormatErrorKind::Syntax, detail).into());
        }
        Ok(&self.values)
    }
}

/// Puts values into their rows. A level of 0 is a missing value.
fn spread<'v, V, T: Copy>(
    into: &mut Vec<T>,
    values: &'v [V],
    levels: Option<&Vec<i16>>,
    missing: T,
    convert: impl Fn(&'v V) -> T,
) {
    into.clear();
    match levels.filter(|levels| levels.len() > values.len()) {
        None => into.extend(values.iter().map(convert)),
        Some(levels) => {
            let mut values = values.iter().map(convert);
            let cell = |&level: &i16| match level {
                0 => missing,
                _ => values.next().unwrap_or(missing),
            };
            into.extend(levels.iter().map(cell));
        }
    }
}

impl Batch {
    /// The batch before, whose memory the next one takes over.
    fn take(&mut self) -> Self {
        std::mem::replace(self, Self::Missing)
    }

    fn take_doubles(&mut self) -> Vec<f64> {
        match self.take() {
            Self::Numbers(doubles) | Self::Dates(doubles) => doubles,
            _ => Vec::new(),
        }
    }

    fn set_booleans(&mut self, values: &[bool], levels: Option<&Vec<i16>>) {
        let mut cells = match self.take() {
            Self::Booleans(cells) => cells,
            _ => Vec::new(),
        };
        spread(&mut cells, values, levels, 2, |&value| u8::from(value));
        *self = Self::Booleans(cells);
    }

    fn set_numbers<V>(
        &mut self,
        values: &[V],
        levels: Option<&Vec<i16>>,
        convert: impl Fn(&V) -> f64,
    ) {
        let mut numbers = self.take_doubles();
        spread(&mut numbers, values, levels, f64::NAN, convert);
        *self = Self::Numbers(numbers);
    }

    /// Sets integers, with their texts if there is one that is no double.
    fn set_integers(
        &mut self,
        values: &[i64],
        levels: Option<&Vec<i16>>,
        convert: impl Fn(&i64) -> i128,
    ) {
        let is_exact = |value| convert(value).unsigned_abs() < u128::from(EXACT_MAX);
        match values.iter().all(is_exact) {
            true => self.set_numbers(values, levels, |value| convert(value) as f64),
            false => self.set_decimals(values, levels, 0, convert),
        }
    }

    fn set_decimals<V>(
        &mut self,
        values: &[V],
        levels: Option<&Vec<i16>>,
        scale: usize,
        convert: impl Fn(&V) -> i128,
    ) {
        let mut spelled = match self.take() {
            Self::Spelled(spelled) => spelled,
            _ => SpelledNumbers::default(),
        };
        spelled.clear();
        for_each(values, levels, |value| match value {
            Some(value) => spelled.push_decimal(convert(value), scale),
            None => spelled.push_missing(),
        });
        *self = Self::Spelled(spelled);
    }

    fn set_dates<V>(
        &mut self,
        values: &[V],
        levels: Option<&Vec<i16>>,
        seconds: impl Fn(&V) -> f64,
    ) {
        let mut dates = self.take_doubles();
        let date = |value: &V| dates::within(seconds(value)).unwrap_or(f64::INFINITY);
        spread(&mut dates, values, levels, f64::NAN, date);
        *self = Self::Dates(dates);
    }

    fn set_refused<V>(&mut self, values: &[V], levels: Option<&Vec<i16>>, reason: &'static [u8]) {
        let mut present = match self.take() {
            Self::RefusedRows(present, _) => present,
            _ => Vec::new(),
        };
        spread(&mut present, values, levels, false, |_| true);
        *self = Self::RefusedRows(present, reason);
    }

    /// Sets what byte arrays mean, given by their numbers.
    fn set_bytes(
        &mut self,
        values: &[i32],
        levels: Option<&Vec<i16>>,
        texts: &SharedTexts,
        meaning: Meaning,
    ) -> Result<(), FormatError> {
        let (mut numbers, mut parts) = match self.take() {
            Self::Texts { numbers, parts } => (numbers, parts),
            _ => (Vec::new(), Vec::new()),
        };
        texts.parts(&mut parts);
        match meaning {
            Meaning::Decimal(scale) => {
                let number = |&value: &i32| big_endian(text(&parts, value as usize));
                if !values.iter().all(|value| number(value).is_some()) {
                    let detail = "A decimal number of the Parquet file has more than 38 digits.";
                    return Err(Fault::new(FormatErrorKind::BadValue, detail).into());
                }
                self.set_decimals(values, levels, scale, |value| number(value).unwrap_or(0));
            }
            Meaning::Half => {
                self.set_numbers(values, levels, |&value| half(text(&parts, value as usize)));
            }
            Meaning::Uuid => {
                let (mut written, mut places) = (Vec::new(), Vec::new());
                for &value in values {
                    let start = written.len() as u32;
                    uuid(text(&parts, value as usize), &mut written);
                    places.push([start, written.len() as u32]);
                }
                parts = vec![Arc::new(Texts::written(written, places))];
                let numbered: Vec<u32> = (0..values.len() as u32).collect();
                spread(&mut numbers, &numbered, levels, None, |&number| {
                    Some(number)
                });
                *self = Self::Texts { numbers, parts };
            }
            _ => {
                spread(&mut numbers, values, levels, None, |&value| {
                    Some(value as u32)
                });
                *self = Self::Texts { numbers, parts };
            }
        }
        Ok(())
    }
}

/// Shows the value of each row, or `None` for a missing one.
fn for_each<'v, V>(values: &'v [V], levels: Option<&Vec<i16>>, mut see: impl FnMut(Option<&'v V>)) {
    match levels.filter(|levels| levels.len() > values.len()) {
        None => values.iter().for_each(|value| see(Some(value))),
        Some(levels) => {
            let mut values = values.iter();
            for &level in levels {
                see(if level == 0 { None } else { values.next() });
            }
        }
    }
}

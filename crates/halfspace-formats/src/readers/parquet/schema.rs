//! The schema of a Parquet file as columns of a table: what is stored, and what it means.

use halfspace_core::memory::{self, NoMemory};

use crate::dates::DAY_SECONDS;

use super::thrift::{Kind, ThriftError, ThriftReader};

/// Deepest nesting of a schema. Tables have one level, but nested columns may be ignored.
const DEPTH_MAX: usize = 64;

/// How the values of a column are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Physical {
    Boolean,
    Int32,
    Int64,
    /// A time in 12 bytes, which old programs write.
    Int96,
    Float,
    Double,
    Bytes,
    /// As many bytes as stated.
    Fixed(usize),
}

/// What the stored values mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A truth value, a floating-point number, a signed integer, or text, as stored.
    Plain,
    Unsigned,
    /// An integer with a decimal point before so many digits.
    Decimal(usize),
    Date(Unit),
    /// A time of day.
    Time,
    Uuid,
    /// A floating-point number of 16 bits.
    Half,
}

/// The unit in which a date is counted from 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Days,
    Milliseconds,
    Microseconds,
    Nanoseconds,
}

impl Unit {
    /// The seconds of a date, without fractions.
    pub(super) fn seconds(self, count: i64) -> f64 {
        match self {
            Self::Days => count as f64 * DAY_SECONDS,
            Self::Milliseconds => count.div_euclid(1_000) as f64,
            Self::Microseconds => count.div_euclid(1_000_000) as f64,
            Self::Nanoseconds => count.div_euclid(1_000_000_000) as f64,
        }
    }
}

/// A column of the table.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) name: String,
    /// None for a column that a table cannot hold, with the reason, which continues a sentence about the column.
    pub(super) stored: Result<Stored, &'static str>,
}

/// A column whose values can be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stored {
    pub(super) physical: Physical,
    pub(super) meaning: Meaning,
    /// Whether values may be missing.
    pub(super) is_optional: bool,
    /// The number of the column's chunk in a row group.
    pub(super) chunk: usize,
}

/// An element of the schema as the footer has it.
#[derive(Default)]
struct Element {
    physical: Option<i64>,
    length: i64,
    repetition: i64,
    name: Vec<u8>,
    children: u64,
    converted: Option<i64>,
    scale: i64,
    logical: Option<Logical>,
}

/// The logical type of an element: the number of the type, and its parameters.
#[derive(Default)]
struct Logical {
    number: i64,
    /// Digits after the point.
    scale: i64,
    is_unsigned: bool,
    /// The number of the unit of a date.
    unit: i64,
}

const REQUIRED: i64 = 0;
const REPEATED: i64 = 2;

const NESTED: &str = "has nested values, which a table cannot hold";
const BINARY: &str = "has bytes that are no text";
const INTERVAL: &str = "has intervals of time; write them as numbers";

/// The columns of a schema, and the number of chunks in a row group.
pub(super) fn read(reader: &mut ThriftReader<'_>) -> Result<(Vec<Column>, usize), SchemaError> {
    let (count, kind) = reader.list()?;
    if kind != Kind::Struct || count == 0 {
        return Err(SchemaError::Thrift(ThriftError::Damaged));
    }
    let (mut columns, mut chunks) = (Vec::new(), 0);
    // The number of children that are still to come, for each element around the next one.
    let mut open: Vec<u64> = Vec::new();
    for at in 0..count {
        while open.last() == Some(&0) {
            open.pop();
        }
        match open.last_mut() {
            Some(left) => *left -= 1,
            None if at > 0 => return Err(SchemaError::Thrift(ThriftError::Damaged)),
            None => {}
        }
        let element = Element::read(reader)?;
        let children = element.children;
        if children > count - at - 1 || open.len() > DEPTH_MAX {
            return Err(SchemaError::Thrift(ThriftError::Damaged));
        }
        let is_leaf = children == 0 && element.physical.is_some();
        // The first element is the root, and the elements in it are the columns.
        if open.len() == 1 {
            let column = element.column(is_leaf, chunks)?;
            memory::push(&mut columns, column).map_err(SchemaError::NoMemory)?;
        }
        chunks += usize::from(is_leaf && at > 0);
        if children > 0 {
            open.push(children);
        }
    }
    match open.iter().all(|&left| left == 0) {
        true => Ok((columns, chunks)),
        false => Err(SchemaError::Thrift(ThriftError::Damaged)),
    }
}

/// Why a schema cannot be read.
pub(super) enum SchemaError {
    Thrift(ThriftError),
    /// The name of a column is not UTF-8.
    Name(Vec<u8>),
    NoMemory(NoMemory),
}

impl From<ThriftError> for SchemaError {
    fn from(error: ThriftError) -> Self {
        Self::Thrift(error)
    }
}

impl Element {
    fn read(reader: &mut ThriftReader<'_>) -> Result<Self, ThriftError> {
        let mut read = Self {
            repetition: REQUIRED,
            ..Self::default()
        };
        let mut last = 0;
        while let Some((number, kind)) = reader.field(last)? {
            match (number, kind) {
                (1, Kind::Integer) => read.physical = Some(reader.integer()?),
                (2, Kind::Integer) => read.length = reader.integer()?,
                (3, Kind::Integer) => read.repetition = reader.integer()?,
                (4, Kind::Bytes) => read.name = reader.bytes()?.to_vec(),
                (5, Kind::Integer) => {
                    let children = u64::try_from(reader.integer()?);
                    read.children = children.map_err(|_| ThriftError::Damaged)?;
                }
                (6, Kind::Integer) => read.converted = Some(reader.integer()?),
                (7, Kind::Integer) => read.scale = reader.integer()?,
                (10, Kind::Struct) => read.logical = Some(Logical::read(reader)?),
                _ => reader.skip(kind)?,
            }
            last = number;
        }
        Ok(read)
    }

    fn column(self, is_leaf: bool, chunk: usize) -> Result<Column, SchemaError> {
        let stored = match is_leaf && self.repetition != REPEATED {
            false => Err(NESTED),
            true => self.physical().and_then(|physical| {
                Ok(Stored {
                    physical,
                    meaning: self.meaning(physical)?,
                    is_optional: self.repetition != REQUIRED,
                    chunk,
                })
            }),
        };
        let name = String::from_utf8(self.name);
        Ok(Column {
            name: name.map_err(|error| SchemaError::Name(error.into_bytes()))?,
            stored,
        })
    }

    fn physical(&self) -> Result<Physical, &'static str> {
        Ok(match self.physical {
            Some(0) => Physical::Boolean,
            Some(1) => Physical::Int32,
            Some(2) => Physical::Int64,
            Some(3) => Physical::Int96,
            Some(4) => Physical::Float,
            Some(5) => Physical::Double,
            Some(6) => Physical::Bytes,
            Some(7) => match usize::try_from(self.length) {
                Ok(length @ 1..) => Physical::Fixed(length),
                _ => return Err("has values of a length below 1"),
            },
            _ => return Err("has a type that is unknown here"),
        })
    }

    /// What the values mean, by the logical type, or else by the converted type of older files.
    fn meaning(&self, physical: Physical) -> Result<Meaning, &'static str> {
        use Physical::{Bytes, Fixed, Int32, Int64, Int96};
        let decimal = |scale: i64| match physical {
            Int32 | Int64 | Bytes | Fixed(_) => match usize::try_from(scale) {
                Ok(scale @ 0..=76) => Ok(Meaning::Decimal(scale)),
                _ => Err("has decimal numbers with a wrong scale"),
            },
            _ => Err("has decimal numbers of a wrong type"),
        };
        let logical = self.logical.as_ref().map(|logical| logical.number);
        let is_unsigned = self
            .logical
            .as_ref()
            .is_some_and(|logical| logical.is_unsigned);
        match (logical, self.converted, physical) {
            // The crate turns such a date into seconds itself.
            (_, _, Int96) => Ok(Meaning::Date(Unit::Nanoseconds)),
            (Some(5), ..) => decimal(self.logical.as_ref().map_or(0, |logical| logical.scale)),
            (None, Some(5), _) => decimal(self.scale),
            (Some(6), _, Int32) | (None, Some(6), Int32) => Ok(Meaning::Date(Unit::Days)),
            (Some(8), _, Int64) => match self.logical.as_ref().map(|logical| logical.unit) {
                Some(1) => Ok(Meaning::Date(Unit::Milliseconds)),
                Some(2) => Ok(Meaning::Date(Unit::Microseconds)),
                Some(3) => Ok(Meaning::Date(Unit::Nanoseconds)),
                _ => Err("has dates of an unknown unit"),
            },
            (None, Some(9), Int64) => Ok(Meaning::Date(Unit::Milliseconds)),
            (None, Some(10), Int64) => Ok(Meaning::Date(Unit::Microseconds)),
            (Some(7), _, Int32 | Int64) | (None, Some(7 | 8), Int32 | Int64) => Ok(Meaning::Time),
            (Some(10), _, Int32 | Int64) if is_unsigned => Ok(Meaning::Unsigned),
            (None, Some(11..=14), Int32 | Int64) => Ok(Meaning::Unsigned),
            (Some(13 | 16..=18), ..) | (None, Some(20), _) => Err(BINARY),
            (Some(14), _, Fixed(16)) => Ok(Meaning::Uuid),
            (Some(15), _, Fixed(2)) => Ok(Meaning::Half),
            (None, Some(21), _) => Err(INTERVAL),
            _ => Ok(Meaning::Plain),
        }
    }
}

impl Logical {
    /// Reads the one field of the union.
    fn read(reader: &mut ThriftReader<'_>) -> Result<Self, ThriftError> {
        let mut read = Self::default();
        let mut last = 0;
        while let Some((number, kind)) = reader.field(last)? {
            read.number = number;
            match (number, kind) {
                (5 | 8 | 10, Kind::Struct) => read.parameters(reader)?,
                _ => reader.skip(kind)?,
            }
            last = number;
        }
        Ok(read)
    }

    /// Reads the scale of decimal numbers, the unit of dates, or whether integers have a sign.
    fn parameters(&mut self, reader: &mut ThriftReader<'_>) -> Result<(), ThriftError> {
        let mut last = 0;
        while let Some((number, kind)) = reader.field(last)? {
            match (number, kind) {
                (1, Kind::Integer) => self.scale = reader.integer()?,
                (2, Kind::False) => self.is_unsigned = true,
                (2, Kind::Struct) => self.unit = Self::read(reader)?.number,
                _ => reader.skip(kind)?,
            }
            last = number;
        }
        Ok(())
    }
}

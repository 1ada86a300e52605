//! The compact protocol of Apache Thrift, in which Parquet writes its footer and the headers of pages.
//!
//! The reader of the crate `parquet` is private. It ignores the types of fields, reserves what a header claims, and
//! follows a schema to any depth, so that a footer of a few bytes can take any memory or the whole stack.

use crate::error::{Fault, FormatErrorKind};

/// Structs in structs and lists that are followed when they are skipped. Footers have eight levels.
const DEPTH_MAX: usize = 32;

/// Why bytes are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ThriftError {
    /// The bytes end too early.
    End,
    /// A type does not exist, a number is too long, or the nesting is too deep.
    Damaged,
}

impl ThriftError {
    /// The fault of `what`, as in "footer".
    pub(super) fn fault(self, what: &str) -> Fault {
        let (kind, how) = match self {
            Self::End => (FormatErrorKind::Truncated, "truncated"),
            Self::Damaged => (FormatErrorKind::Syntax, "damaged"),
        };
        Fault::new(kind, format!("The {what} of the Parquet file is {how}."))
    }
}

/// The type of a field or of the elements of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    True,
    False,
    Byte,
    Integer,
    Double,
    Bytes,
    /// A list or a set.
    List,
    Map,
    Struct,
    Uuid,
}

impl Kind {
    fn of(code: u8) -> Result<Self, ThriftError> {
        Ok(match code {
            1 => Self::True,
            2 => Self::False,
            3 => Self::Byte,
            4..=6 => Self::Integer,
            7 => Self::Double,
            8 => Self::Bytes,
            9 | 10 => Self::List,
            11 => Self::Map,
            12 => Self::Struct,
            13 => Self::Uuid,
            _ => return Err(ThriftError::Damaged),
        })
    }
}

/// Reads a message from its first byte.
pub(super) struct ThriftReader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> ThriftReader<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The number of bytes that were read.
    pub(super) fn read(&self) -> usize {
        self.at
    }

    fn byte(&mut self) -> Result<u8, ThriftError> {
        let byte = self.bytes.get(self.at).copied().ok_or(ThriftError::End)?;
        self.at += 1;
        Ok(byte)
    }

    fn next(&mut self, count: u64) -> Result<&'b [u8], ThriftError> {
        let rest = &self.bytes[self.at..];
        if count > rest.len() as u64 {
            return Err(ThriftError::End);
        }
        self.at += count as usize;
        Ok(&rest[..count as usize])
    }

    /// Reads a number without a sign, seven bits per byte.
    pub(super) fn unsigned(&mut self) -> Result<u64, ThriftError> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(ThriftError::Damaged)
    }

    /// Reads a number with a sign, which is in the lowest bit.
    pub(super) fn integer(&mut self) -> Result<i64, ThriftError> {
        let number = self.unsigned()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// Reads bytes of a stated length.
    pub(super) fn bytes(&mut self) -> Result<&'b [u8], ThriftError> {
        let count = self.unsigned()?;
        self.next(count)
    }

    /// Reads the head of the next field of a struct: its number and its type. `last` is the number of the field before,
    /// 0 at first. Returns `None` at the end of the struct.
    pub(super) fn field(&mut self, last: i64) -> Result<Option<(i64, Kind)>, ThriftError> {
        let head = self.byte()?;
        if head & 0xf == 0 {
            return Ok(None);
        }
        let kind = Kind::of(head & 0xf)?;
        let number = match head >> 4 {
            0 => self.integer()?,
            delta => last.saturating_add(i64::from(delta)),
        };
        Ok(Some((number, kind)))
    }

    /// Reads the head of a list: the number and the type of its elements.
    pub(super) fn list(&mut self) -> Result<(u64, Kind), ThriftError> {
        let head = self.byte()?;
        // Some programs write an empty list without a type.
        if head == 0 {
            return Ok((0, Kind::Byte));
        }
        let kind = Kind::of(head & 0xf)?;
        let count = match head >> 4 {
            15 => self.unsigned()?,
            count => u64::from(count),
        };
        // Each element takes a byte or more.
        match count > (self.bytes.len() - self.at) as u64 {
            true => Err(ThriftError::End),
            false => Ok((count, kind)),
        }
    }

    /// Skips the value of a field.
    pub(super) fn skip(&mut self, kind: Kind) -> Result<(), ThriftError> {
        self.skip_within(kind, DEPTH_MAX)
    }

    /// Skips a value that is at most so many levels deep.
    fn skip_within(&mut self, kind: Kind, depth: usize) -> Result<(), ThriftError> {
        let depth = depth.checked_sub(1).ok_or(ThriftError::Damaged)?;
        match kind {
            Kind::True | Kind::False => {}
            Kind::Byte => drop(self.byte()?),
            Kind::Integer => drop(self.unsigned()?),
            Kind::Double => drop(self.next(8)?),
            Kind::Uuid => drop(self.next(16)?),
            Kind::Bytes => drop(self.bytes()?),
            Kind::Struct => {
                let mut last = 0;
                while let Some((number, kind)) = self.field(last)? {
                    self.skip_within(kind, depth)?;
                    last = number;
                }
            }
            Kind::List => {
                let (count, kind) = self.list()?;
                for _ in 0..count {
                    self.skip_element(kind, depth)?;
                }
            }
            Kind::Map => {
                let count = self.unsigned()?;
                if count == 0 {
                    return Ok(());
                }
                let kinds = self.byte()?;
                let (key, value) = (Kind::of(kinds >> 4)?, Kind::of(kinds & 0xf)?);
                for _ in 0..count {
                    self.skip_element(key, depth)?;
                    self.skip_element(value, depth)?;
                }
            }
        }
        Ok(())
    }

    /// Skips an element of a list or a map. Truth values take a byte there.
    fn skip_element(&mut self, kind: Kind, depth: usize) -> Result<(), ThriftError> {
        match kind {
            Kind::True | Kind::False => self.byte().map(drop),
            kind => self.skip_within(kind, depth),
        }
    }
}

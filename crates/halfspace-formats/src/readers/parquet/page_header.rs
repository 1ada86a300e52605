//! The header of a page: its sizes and what it holds.

use parquet::basic::Encoding;

use super::thrift::{Kind, ThriftError, ThriftReader};
use crate::error::{Fault, FormatErrorKind};

/// The header of a page. The sizes and counts are not checked.
#[derive(Debug, Default)]
pub(super) struct PageHeader {
    pub(super) kind: PageKind,
    /// Bytes after decompression, the levels of all values included.
    pub(super) size: u32,
    pub(super) compressed_size: u32,
    pub(super) checksum: Option<u32>,
    /// The number of values, missing ones included.
    pub(super) values: u32,
    pub(super) encoding: Option<i64>,
    pub(super) levels: Levels,
}

/// What a page holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum PageKind {
    Data,
    Dictionary,
    /// An index, or what newer versions of Parquet may have.
    #[default]
    Other,
}

/// How a page of data says which values are missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Levels {
    /// Runs of levels after their length, compressed with the values.
    #[default]
    Runs,
    /// One bit per level, as very old programs write it.
    Bits,
    /// So many uncompressed bytes of levels of repetition and of definition, before values that may be compressed.
    Before {
        repetition: u32,
        definition: u32,
        is_compressed: bool,
    },
}

impl PageHeader {
    /// Reads a header from the start of the bytes, and returns it with its length.
    ///
    /// # Errors
    /// When the header is longer than the bytes, or damaged.
    pub(super) fn read(bytes: &[u8]) -> Result<(Self, usize), ThriftError> {
        let mut reader = ThriftReader::new(bytes);
        let (mut read, mut kind) = (Self::default(), None);
        let mut last = 0;
        while let Some((number, field)) = reader.field(last)? {
            match (number, field) {
                (1, Kind::Integer) => kind = Some(reader.integer()?),
                (2, Kind::Integer) => read.size = count(&mut reader)?,
                (3, Kind::Integer) => read.compressed_size = count(&mut reader)?,
                // The checksum is written as a number with a sign.
                (4, Kind::Integer) => read.checksum = Some(reader.integer()? as u32),
                (5, Kind::Struct) => read.data(&mut reader)?,
                (7, Kind::Struct) => read.dictionary(&mut reader)?,
                (8, Kind::Struct) => read.data_v2(&mut reader)?,
                _ => reader.skip(field)?,
            }
            last = number;
        }
        read.kind = match kind {
            Some(0 | 3) => PageKind::Data,
            Some(2) => PageKind::Dictionary,
            Some(_) => PageKind::Other,
            None => return Err(ThriftError::Damaged),
        };
        Ok((read, reader.read()))
    }

    fn data(&mut self, reader: &mut ThriftReader<'_>) -> Result<(), ThriftError> {
        let mut last = 0;
        while let Some((number, kind)) = reader.field(last)? {
            match (number, kind) {
                (1, Kind::Integer) => self.values = count(reader)?,
                (2, Kind::Integer) => self.encoding = Some(reader.integer()?),
                (3, Kind::Integer) => {
                    self.levels = match reader.integer()? {
                        3 => Levels::Runs,
                        4 => Levels::Bits,
                        _ => return Err(ThriftError::Damaged),
                    }
                }
                _ => reader.skip(kind)?,
            }
            last = number;
        }
        Ok(())
    }

    fn dictionary(&mut self, reader: &mut ThriftReader<'_>) -> Result<(), ThriftError> {
        let mut last = 0;
        while let Some((number, kind)) = reader.field(last)? {
            match (number, kind) {
                (1, Kind::Integer) => self.values = count(reader)?,
                (2, Kind::Integer) => self.encoding = Some(reader.integer()?),
                _ => reader.skip(kind)?,
            }
            last = number;
        }
        Ok(())
    }

    fn data_v2(&mut self, reader: &mut ThriftReader<'_>) -> Result<(), ThriftError> {
        let (mut repetition, mut definition, mut is_compressed) = (0, 0, true);
        let mut last = 0;
        while let Some((number, kind)) = reader.field(last)? {
            match (number, kind) {
                (1, Kind::Integer) => self.values = count(reader)?,
                (4, Kind::Integer) => self.encoding = Some(reader.integer()?),
                (5, Kind::Integer) => definition = count(reader)?,
                (6, Kind::Integer) => repetition = count(reader)?,
                (7, Kind::False) => is_compressed = false,
                _ => reader.skip(kind)?,
            }
            last = number;
        }
        self.levels = Levels::Before {
            repetition,
            definition,
            is_compressed,
        };
        Ok(())
    }

    /// The encoding of the values.
    ///
    /// # Errors
    /// When there is no such encoding here.
    pub(super) fn encoding(&self) -> Result<Encoding, Fault> {
        Ok(match self.encoding {
            Some(0) => Encoding::PLAIN,
            Some(2 | 8) => Encoding::RLE_DICTIONARY,
            Some(3) => Encoding::RLE,
            Some(5) => Encoding::DELTA_BINARY_PACKED,
            Some(6) => Encoding::DELTA_LENGTH_BYTE_ARRAY,
            Some(7) => Encoding::DELTA_BYTE_ARRAY,
            Some(9) => Encoding::BYTE_STREAM_SPLIT,
            Some(number) => {
                let detail =
                    format!("The Parquet file has values in the unknown encoding {number}.");
                return Err(Fault::new(FormatErrorKind::Unsupported, detail));
            }
            None => return Err(ThriftError::Damaged.fault("header of a page")),
        })
    }
}

/// Reads a count or a size.
fn count(reader: &mut ThriftReader<'_>) -> Result<u32, ThriftError> {
    let read = u32::try_from(reader.integer()?).ok();
    read.filter(|&count| count <= i32::MAX as u32)
        .ok_or(ThriftError::Damaged)
}

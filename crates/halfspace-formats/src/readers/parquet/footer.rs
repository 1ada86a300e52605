//! The footer of a Parquet file: the columns, and where their chunks are.

use halfspace_core::memory;

use super::codec::Codec;
use super::schema::{self, Column, SchemaError};
use super::thrift::{Kind, ThriftError, ThriftReader};
use crate::error::{Fault, FormatError, FormatErrorKind, name};
use crate::readers::kept_body::KeptBody;

/// The first and the last bytes of a file.
const MAGIC: &[u8] = b"PAR1";

/// The bytes after the footer: its length and the magic.
const END_BYTES: u64 = 8;

/// The content of a footer.
pub(super) struct Footer {
    pub(super) columns: Vec<Column>,
    pub(super) groups: Vec<RowGroup>,
    /// The place of the footer, which ends the data.
    pub(super) place: u64,
}

/// Rows that are stored together, column by column.
pub(super) struct RowGroup {
    pub(super) rows: u64,
    pub(super) chunks: Vec<Chunk>,
}

/// The values of a column in a row group.
#[derive(Clone, Copy)]
pub(super) struct Chunk {
    pub(super) codec: Codec,
    /// The number of values, missing ones included.
    pub(super) values: u64,
    /// The place of the first page.
    pub(super) place: u64,
}

/// Reads the footer.
///
/// # Errors
/// When the body is no Parquet file, or the file is truncated, encrypted or damaged.
pub(super) fn read(body: &mut KeptBody) -> Result<Footer, FormatError> {
    let start = body.read_up_to(0, MAGIC.len() as u64)?;
    let end_place = body.length().saturating_sub(END_BYTES);
    let end = body.read_up_to(end_place, END_BYTES)?;
    refuse_others(&start, &end, body.length())?;
    let length = end.first_chunk().copied().map_or(0, u32::from_le_bytes);
    let place = end_place.checked_sub(u64::from(length));
    let Some(place) = place.filter(|&place| place >= MAGIC.len() as u64) else {
        let detail =
            "The Parquet file is truncated: it is shorter than its footer. Send the whole file.";
        return Err(Fault::new(FormatErrorKind::Truncated, detail).into());
    };
    let bytes = body.read_up_to(place, u64::from(length))?;
    Ok(Footer::read(&bytes, place)?)
}

/// Refuses what is no Parquet file, by its first and last bytes.
fn refuse_others(start: &[u8], end: &[u8], bytes: u64) -> Result<(), Fault> {
    let wrong = |kind, detail: &str| Err(Fault::new(kind, detail));
    let is_whole = bytes >= MAGIC.len() as u64 + END_BYTES;
    match (start, end.get(4..)) {
        (MAGIC, Some(MAGIC)) if is_whole => Ok(()),
        ([], _) => wrong(
            FormatErrorKind::EmptyData,
            "The body is empty; send a Parquet file.",
        ),
        (b"PARE", _) => Err(encrypted()),
        (b"ARRO" | b"FEA1", _) => wrong(
            FormatErrorKind::Unsupported,
            "The body is a file of Arrow IPC or Feather; write the table as Parquet.",
        ),
        (MAGIC, _) => wrong(
            FormatErrorKind::Truncated,
            "The Parquet file is truncated: the footer at its end is missing. Send the whole file.",
        ),
        _ => wrong(
            FormatErrorKind::Syntax,
            "The body is not a Parquet file, which begins with the bytes PAR1.",
        ),
    }
}

fn encrypted() -> Fault {
    let detail = "The Parquet file is encrypted; write it without encryption.";
    Fault::new(FormatErrorKind::Unsupported, detail)
}

fn damaged(error: ThriftError) -> Fault {
    error.fault("footer")
}

impl Footer {
    fn read(bytes: &[u8], place: u64) -> Result<Self, Fault> {
        let mut reader = ThriftReader::new(bytes);
        let (mut schema, mut groups) = (None, None);
        let mut last = 0;
        while let Some((number, kind)) = reader.field(last).map_err(damaged)? {
            match (number, kind, &schema) {
                (2, Kind::List, _) => schema = Some(columns(&mut reader)?),
                (4, Kind::List, Some((_, chunks))) => {
                    groups = Some(RowGroup::read_all(&mut reader, *chunks)?);
                }
                // The algorithm of an encryption, which leaves the footer legible.
                (8, ..) => return Err(encrypted()),
                _ => reader.skip(kind).map_err(damaged)?,
            }
            last = number;
        }
        match (schema, groups) {
            (Some((columns, _)), Some(groups)) => Ok(Self {
                columns,
                groups,
                place,
            }),
            _ => Err(damaged(ThriftError::Damaged)),
        }
    }
}

/// Reads the schema, and returns the columns with the number of chunks in a row group.
fn columns(reader: &mut ThriftReader<'_>) -> Result<(Vec<Column>, usize), Fault> {
    schema::read(reader).map_err(|error| match error {
        SchemaError::Thrift(error) => damaged(error),
        SchemaError::NoMemory(full) => full.into(),
        SchemaError::Name(text) => match name(&text) {
            Err(fault) => Fault {
                detail: format!("The name of a column: {}", fault.detail),
                ..fault
            },
            Ok(_) => damaged(ThriftError::Damaged),
        },
    })
}

impl RowGroup {
    fn read_all(reader: &mut ThriftReader<'_>, chunks: usize) -> Result<Vec<Self>, Fault> {
        let (count, kind) = reader.list().map_err(damaged)?;
        if kind != Kind::Struct && count > 0 {
            return Err(damaged(ThriftError::Damaged));
        }
        let mut groups = Vec::new();
        for _ in 0..count {
            let group = Self::read(reader)?;
            if group.chunks.len() != chunks {
                let detail = format!(
                    "The footer of the Parquet file is damaged: a row group has {} columns, and the schema {chunks}.",
                    group.chunks.len()
                );
                return Err(Fault::new(FormatErrorKind::Syntax, detail));
            }
            memory::push(&mut groups, group)?;
        }
        Ok(groups)
    }

    fn read(reader: &mut ThriftReader<'_>) -> Result<Self, Fault> {
        let (mut rows, mut chunks) = (None, Vec::new());
        let mut last = 0;
        while let Some((number, kind)) = reader.field(last).map_err(damaged)? {
            match (number, kind) {
                (1, Kind::List) => {
                    let (count, kind) = reader.list().map_err(damaged)?;
                    if kind != Kind::Struct && count > 0 {
                        return Err(damaged(ThriftError::Damaged));
                    }
                    for _ in 0..count {
                        memory::push(&mut chunks, Chunk::read(reader)?)?;
                    }
                }
                (3, Kind::Integer) => rows = u64::try_from(reader.integer().map_err(damaged)?).ok(),
                _ => reader.skip(kind).map_err(damaged)?,
            }
            last = number;
        }
        let rows = rows.ok_or_else(|| damaged(ThriftError::Damaged))?;
        Ok(Self { rows, chunks })
    }
}

impl Chunk {
    fn read(reader: &mut ThriftReader<'_>) -> Result<Self, Fault> {
        let mut read = None;
        let mut last = 0;
        while let Some((number, kind)) = reader.field(last).map_err(damaged)? {
            match (number, kind) {
                (1, Kind::Bytes) => {
                    let detail = "The columns of the Parquet file are in other files; write the table as one file.";
                    return Err(Fault::new(FormatErrorKind::Unsupported, detail));
                }
                (3, Kind::Struct) => read = Some(Self::read_content(reader)?),
                // The key of the encryption of a column.
                (8, ..) => return Err(encrypted()),
                _ => reader.skip(kind).map_err(damaged)?,
            }
            last = number;
        }
        read.ok_or_else(|| damaged(ThriftError::Damaged))
    }

    fn read_content(reader: &mut ThriftReader<'_>) -> Result<Self, Fault> {
        let (mut codec, mut values, mut data, mut dictionary) = (None, None, None, None);
        let mut last = 0;
        while let Some((number, kind)) = reader.field(last).map_err(damaged)? {
            let field = match (number, kind) {
                (4, Kind::Integer) => &mut codec,
                (5, Kind::Integer) => &mut values,
                (9, Kind::Integer) => &mut data,
                (11, Kind::Integer) => &mut dictionary,
                _ => {
                    reader.skip(kind).map_err(damaged)?;
                    last = number;
                    continue;
                }
            };
            let number_read = u64::try_from(reader.integer().map_err(damaged)?);
            *field = Some(number_read.map_err(|_| damaged(ThriftError::Damaged))?);
            last = number;
        }
        let (Some(codec), Some(values), Some(data)) = (codec, values, data) else {
            return Err(damaged(ThriftError::Damaged));
        };
        // Some programs state a dictionary at 0, or one after the data that it would precede.
        let first = dictionary.filter(|&place| place > 0 && place < data);
        Ok(Self {
            codec: Codec::of(codec)?,
            values,
            place: first.unwrap_or(data),
        })
    }
}

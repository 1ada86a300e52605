//! The cells of a table as its reader found them, so that the table can be encoded again under other options, or on a
//! part of its rows, without its file.
//!
//! They are one [frame with its CRC](super::checked_frame). It begins with the length of a JSON text, four bytes from
//! the lowest, and this text, a [`RawHead`]. Records follow, each with a [tag](Record), and a last one that tells the
//! end. Lengths and counts are written in groups of seven bits, the lowest first (LEB128).
//!
//! A table whose cells are all numbers that are features as they are needs no raw cells: its examples are its cells. So
//! nothing is written until a cell shows that the table is another one.

use std::io::{self, BufReader, Read, SeekFrom, Write};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use halfspace_core::memory;
use serde::{Deserialize, Serialize};
use zstd::stream::read::Decoder;
use zstd::stream::write::Encoder;

use crate::cell::Cell;
use crate::encoding::KindName;
use crate::error::{Fault, FormatErrorKind};
use crate::stored::checked_frame::{Checked, Counted};
use crate::stored::overflow::Overflow;
use crate::stored::read_at::ReadAt;
use crate::stored::spool::{OpenSpool, SpoolFile};

/// The level of the compression. It is the fastest that shrinks tables of words to a few bits per cell.
const LEVEL: i32 = 1;

/// What the compression takes at this level, and the buffers of a read.
const CODER_BYTES: u64 = 4 << 20;

/// The largest head, in bytes: all names of a table, and some options.
const HEAD_BYTES_MAX: u32 = 1 << 30;

/// More columns are damage. A line of a file has fewer.
const COLUMNS_MAX: usize = 1 << 24;

/// Longer texts of a cell are damage.
const TEXT_BYTES_MAX: u64 = 1 << 30;

/// What is known of the columns before the first row.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct RawHead {
    /// The names of the columns, if the table has names.
    pub(crate) names: Option<Vec<String>>,
    pub(crate) columns: usize,
    /// The kinds that the file declares.
    pub(crate) declared: Vec<(String, KindName)>,
    /// Whether the request gave the encoding, so that the rows decide nothing.
    pub(crate) is_given: bool,
    /// The options that decide how cells become features, with their names.
    pub(crate) options: Vec<(String, String)>,
}

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Record {
    /// A row.
    Row = 0,
    /// A row that was left out.
    RowLeftOut = 1,
    /// A column, and the number of values that it declares; then these.
    Values = 2,
    End = 3,
}

/// The kind of a cell.
#[derive(Clone, Copy)]
#[repr(u8)]
enum CellTag {
    /// A number of missing cells.
    Missing = 0,
    Text = 1,
    /// A number in the shortest spelling.
    Number = 2,
    /// A number and its spelling.
    SpelledNumber = 3,
    False = 4,
    True = 5,
    Date = 6,
    Refused = 7,
}

/// Where the raw cells of a body go. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct CellKeeper(Arc<Mutex<Option<RawCells>>>);

/// Two keepers are equal if they are one.
impl PartialEq for CellKeeper {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl CellKeeper {
    /// The raw cells of the last table. There are none if its examples are its cells, or if the body was no table.
    pub fn take(&self) -> Option<RawCells> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn put(&self, cells: Option<RawCells>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = cells;
    }
}

/// The raw cells of a table, compressed.
pub struct RawCells {
    bytes: u64,
    file: Box<dyn SpoolFile>,
}

impl std::fmt::Debug for RawCells {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RawCells({} bytes)", self.bytes)
    }
}

impl RawCells {
    /// The number of compressed bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The compressed bytes, to be read at any position.
    pub fn into_source(self) -> Box<dyn ReadAt> {
        Box::new(SpooledBytes {
            bytes: self.bytes,
            file: Mutex::new(self.file),
        })
    }

    /// Writes the compressed bytes.
    ///
    /// # Errors
    /// When the target or the temporary file fails.
    pub fn write(&mut self, to: &mut impl Write) -> io::Result<()> {
        self.file.rewind()?;
        io::copy(&mut self.file, to).map(drop)
    }
}

/// The bytes of a temporary file. Readers take turns.
struct SpooledBytes {
    bytes: u64,
    file: Mutex<Box<dyn SpoolFile>>,
}

impl std::fmt::Debug for SpooledBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SpooledBytes({})", self.bytes)
    }
}

impl ReadAt for SpooledBytes {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(buffer)
    }

    fn bytes(&self) -> io::Result<u64> {
        Ok(self.bytes)
    }
}

/// Writes the raw cells of a table.
pub(crate) struct CellWriter {
    keeper: CellKeeper,
    open: Option<(u64, OpenSpool)>,
    /// None before the first record.
    to: Option<Encoder<'static, Counted<Overflow>>>,
    /// What is declared before the first row.
    declared: Vec<u8>,
    record: Vec<u8>,
}

impl CellWriter {
    /// Makes a writer that has nothing to write yet. It keeps its bytes in memory up to a limit, and then in a file.
    pub(crate) fn new(keeper: &CellKeeper, open: Option<(u64, OpenSpool)>) -> Self {
        keeper.put(None);
        Self {
            keeper: keeper.clone(),
            open,
            to: None,
            declared: Vec::new(),
            record: Vec::new(),
        }
    }

    /// Whether rows are written.
    pub(crate) fn has_begun(&self) -> bool {
        self.to.is_some()
    }

    /// Begins the rows.
    ///
    /// # Errors
    /// When memory or the file fails.
    pub(crate) fn begin(&mut self, head: &RawHead) -> Result<(), Fault> {
        memory::need(CODER_BYTES)?;
        let head = serde_json::to_vec(head).map_err(|error| Fault::unspooled(error.into()))?;
        let mut begin = || {
            let to = Counted::new(Overflow::new(self.open.take()));
            let mut to = Encoder::new(to, LEVEL)?;
            to.write_all(&(head.len() as u32).to_le_bytes())?;
            to.write_all(&head)?;
            to.write_all(&std::mem::take(&mut self.declared))?;
            Ok(to)
        };
        self.to = Some(begin().map_err(Fault::unspooled)?);
        Ok(())
    }

    /// Declares the values of a column before the first row.
    pub(crate) fn declare_values<'v>(
        &mut self,
        at: usize,
        values: impl Iterator<Item = &'v [u8]> + Clone,
    ) {
        self.declared.push(Record::Values as u8);
        push_length(&mut self.declared, at as u64);
        push_length(&mut self.declared, values.clone().count() as u64);
        values.for_each(|value| push_text(&mut self.declared, value));
    }

    /// Writes a row.
    ///
    /// # Errors
    /// When memory or the file fails.
    pub(crate) fn row<'c>(
        &mut self,
        cells: impl Iterator<Item = Cell<&'c [u8]>>,
        is_left_out: bool,
    ) -> Result<(), Fault> {
        let Some(to) = &mut self.to else {
            return Ok(());
        };
        self.record.clear();
        self.record.push(match is_left_out {
            true => Record::RowLeftOut as u8,
            false => Record::Row as u8,
        });
        let mut missing = 0;
        for cell in cells {
            match cell {
                Cell::Missing => missing += 1,
                cell => {
                    push_missing(&mut self.record, std::mem::take(&mut missing));
                    push_cell(&mut self.record, &cell);
                }
            }
        }
        push_missing(&mut self.record, missing);
        to.write_all(&self.record).map_err(Fault::unspooled)
    }

    /// Ends the rows and hands them to the keeper.
    ///
    /// # Errors
    /// When memory or the file fails.
    pub(crate) fn finish(self) -> Result<(), Fault> {
        let Some(mut to) = self.to else {
            return Ok(());
        };
        let written = to
            .write_all(&[Record::End as u8])
            .and_then(|()| to.finish())
            .and_then(Counted::finish)
            .map_err(Fault::unspooled)?;
        let (to, bytes) = written;
        self.keeper.put(Some(RawCells {
            bytes,
            file: to.into_file(),
        }));
        Ok(())
    }
}

fn push_length(to: &mut Vec<u8>, mut length: u64) {
    while length >= 0x80 {
        to.push(length as u8 | 0x80);
        length >>= 7;
    }
    to.push(length as u8);
}

fn push_text(to: &mut Vec<u8>, text: &[u8]) {
    push_length(to, text.len() as u64);
    to.extend_from_slice(text);
}

fn push_missing(to: &mut Vec<u8>, count: u64) {
    if count > 0 {
        to.push(CellTag::Missing as u8);
        push_length(to, count);
    }
}

fn push_cell(to: &mut Vec<u8>, cell: &Cell<&[u8]>) {
    let (tag, number, text) = match cell {
        Cell::Missing => return push_missing(to, 1),
        Cell::Text(text) => (CellTag::Text, None, Some(text)),
        Cell::Number(number, None) => (CellTag::Number, Some(number), None),
        Cell::Number(number, Some(text)) => (CellTag::SpelledNumber, Some(number), Some(text)),
        Cell::Boolean(false, text) => (CellTag::False, None, Some(text)),
        Cell::Boolean(true, text) => (CellTag::True, None, Some(text)),
        Cell::Date(seconds) => (CellTag::Date, Some(seconds), None),
        Cell::Refused(reason) => (CellTag::Refused, None, Some(reason)),
    };
    to.push(tag as u8);
    if let Some(number) = number {
        to.extend_from_slice(&number.to_le_bytes());
    }
    if let Some(text) = text {
        push_text(to, text);
    }
}

/// What the next record of raw cells holds.
pub(crate) enum RawRecord {
    /// A row is in the buffers of the reader.
    Row {
        is_left_out: bool,
    },
    Values {
        at: usize,
        values: Vec<Vec<u8>>,
    },
}

/// Reads the raw cells of a table.
pub(crate) struct CellReader<R: Read> {
    from: Decoder<'static, BufReader<Checked<R>>>,
    pub(crate) head: RawHead,
    /// The cells of the row that was read last, and their texts.
    cells: Vec<Cell<Range<usize>>>,
    text: Vec<u8>,
}

impl<R: Read> CellReader<R> {
    /// Reads the head.
    ///
    /// # Errors
    /// When the bytes are damaged, or the source or memory fails.
    pub(crate) fn new(from: R) -> Result<Self, Fault> {
        memory::need(CODER_BYTES)?;
        let mut from = Decoder::new(Checked::new(from)).map_err(unread)?;
        let length = u32::from_le_bytes(bytes(&mut from)?);
        if length > HEAD_BYTES_MAX {
            return Err(damaged());
        }
        let text = text(&mut from, length.into())?;
        let head: RawHead = serde_json::from_slice(&text).map_err(|_| damaged())?;
        let named = head.names.as_ref().map(Vec::len);
        let is_other = named.is_some_and(|count| count != head.columns);
        if !(1..=COLUMNS_MAX).contains(&head.columns) || is_other {
            return Err(damaged());
        }
        Ok(Self {
            from,
            head,
            cells: Vec::new(),
            text: Vec::new(),
        })
    }

    /// The next record, or none after the last.
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub(crate) fn next(&mut self) -> Result<Option<RawRecord>, Fault> {
        let [tag] = bytes(&mut self.from)?;
        let record = [Record::Row, Record::RowLeftOut, Record::Values, Record::End];
        let record = record.into_iter().find(|record| *record as u8 == tag);
        Ok(Some(match record.ok_or_else(damaged)? {
            Record::Row => self.row(false)?,
            Record::RowLeftOut => self.row(true)?,
            Record::Values => {
                let (at, count) = (length(&mut self.from)?, length(&mut self.from)?);
                let values = (0..count).map(|_| self.sized_text());
                RawRecord::Values {
                    at: at as usize,
                    values: memory::collect(values)?,
                }
            }
            Record::End => {
                // Reads to the CRC.
                let mut rest = [0; 1];
                return match self.from.read(&mut rest).map_err(unread)? {
                    0 => Ok(None),
                    _ => Err(damaged()),
                };
            }
        }))
    }

    /// The cell of a column in the row that was read last.
    pub(crate) fn cell(&self, at: usize) -> Cell<&[u8]> {
        self.cells[at].within(&self.text)
    }

    fn sized_text(&mut self) -> Result<Vec<u8>, Fault> {
        let length = length(&mut self.from)?;
        text(&mut self.from, length)
    }

    fn row(&mut self, is_left_out: bool) -> Result<RawRecord, Fault> {
        memory::check()?;
        self.cells.clear();
        self.text.clear();
        while self.cells.len() < self.head.columns {
            let [tag] = bytes(&mut self.from)?;
            let cell = match tag {
                _ if tag == CellTag::Missing as u8 => {
                    let count = length(&mut self.from)?;
                    let room = (self.head.columns - self.cells.len()) as u64;
                    if count == 0 || count > room {
                        return Err(damaged());
                    }
                    memory::need_of::<Cell<Range<usize>>>(count as usize)?;
                    let all = self.cells.len() + count as usize;
                    self.cells.resize(all, Cell::Missing);
                    continue;
                }
                _ if tag == CellTag::Text as u8 => Cell::Text(self.cell_text()?),
                _ if tag == CellTag::Number as u8 => Cell::Number(self.number()?, None),
                _ if tag == CellTag::SpelledNumber as u8 => {
                    Cell::Number(self.number()?, Some(self.cell_text()?))
                }
                _ if tag == CellTag::False as u8 => Cell::Boolean(false, self.cell_text()?),
                _ if tag == CellTag::True as u8 => Cell::Boolean(true, self.cell_text()?),
                _ if tag == CellTag::Date as u8 => Cell::Date(self.number()?),
                _ if tag == CellTag::Refused as u8 => Cell::Refused(self.cell_text()?),
                _ => return Err(damaged()),
            };
            memory::push(&mut self.cells, cell)?;
        }
        Ok(RawRecord::Row { is_left_out })
    }

    fn number(&mut self) -> Result<f64, Fault> {
        let number = f64::from_le_bytes(bytes(&mut self.from)?);
        match number.is_finite() {
            true => Ok(number),
            false => Err(damaged()),
        }
    }

    fn cell_text(&mut self) -> Result<Range<usize>, Fault> {
        let (length, start) = (length(&mut self.from)?, self.text.len());
        append(&mut self.text, &mut self.from, length)?;
        Ok(start..self.text.len())
    }
}

fn bytes<const N: usize>(from: &mut impl Read) -> Result<[u8; N], Fault> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes).map_err(unread)?;
    Ok(bytes)
}

fn length(from: &mut impl Read) -> Result<u64, Fault> {
    let mut length = 0;
    for group in 0..9 {
        let [byte] = bytes(from)?;
        length |= u64::from(byte & 0x7f) << (7 * group);
        if byte < 0x80 {
            return Ok(length);
        }
    }
    Err(damaged())
}

fn text(from: &mut impl Read, length: u64) -> Result<Vec<u8>, Fault> {
    let mut text = Vec::new();
    append(&mut text, from, length)?;
    Ok(text)
}

fn append(to: &mut Vec<u8>, from: &mut impl Read, length: u64) -> Result<(), Fault> {
    if length > TEXT_BYTES_MAX {
        return Err(damaged());
    }
    memory::need(length)?;
    match from.take(length).read_to_end(to).map_err(unread)? as u64 {
        read if read == length => Ok(()),
        _ => Err(damaged()),
    }
}

/// The fault of a source that fails, or of a frame whose checksum is wrong.
fn unread(error: io::Error) -> Fault {
    use io::ErrorKind::{InvalidData, Other, UnexpectedEof};
    match error.downcast::<Fault>() {
        Ok(fault) => fault,
        Err(error) if matches!(error.kind(), InvalidData | Other | UnexpectedEof) => damaged(),
        Err(error) => Fault::unspooled(error),
    }
}

fn damaged() -> Fault {
    let detail = "The raw cells of the table are damaged.";
    Fault::new(FormatErrorKind::Spool(io::ErrorKind::InvalidData), detail)
}

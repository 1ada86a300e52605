//! Examples out of their stored form, read by position as they are needed.
//!
//! Few of them are in memory at a time: a window of blocks, moved along as the examples are read in
//! order, and one block where a row is read out of turn. Only data that are small as a whole stay in
//! memory once they were read. A block that cannot have been written, or cannot be read, ends the
//! reading for good; what was wrong is told by [`StoredExamples::failure`].
//!
//! Where the bytes are is not known here: [`ReadAt`] gets them.

use std::fmt;
use std::io::{self, BufReader, Read};
use std::ops::Range;
use std::sync::OnceLock;

use bytes::Bytes;

use crate::bits::BLOCK_ROWS;
use crate::learners::data::Data;
use crate::learners::examples::{Examples, LabelKind, ReadRows, Rows, Shape};
use crate::learners::run::{Interrupt, StopFlag};

use super::block_range::RowRange;
use super::blocks::{BlocksError, BlocksHeader, LabelsKind, RowsKind, read_rows};
use super::digest::RowsDigest;
use super::words::WordReader;

/// A row so near behind the last one is taken to be read in order.
const NEAR_ROWS: usize = 8 * BLOCK_ROWS;

/// Bytes asked of the source at once.
const READ_BYTES: usize = 256 * 1024;

/// Bytes that can be read anywhere, by several readers at once.
pub trait ReadAt: fmt::Debug + Send + Sync {
    /// Fills the buffer from `offset` on.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] when they end before.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// How many there are.
    ///
    /// # Errors
    /// When that cannot be found out.
    fn bytes(&self) -> io::Result<u64>;
}

/// How much of stored examples is held in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffers {
    /// Examples that take no more bytes are read once, and stay.
    pub whole_bytes_max: u64,
    /// Bytes of others read at once, or one block of Boolean rows, or one real row, if that is more.
    pub window_bytes: u64,
}

/// Examples in their stored form.
pub struct StoredExamples {
    source: Box<dyn ReadAt>,
    header: BlocksHeader,
    sha256: [u8; 32],
    buffers: Buffers,
    stop: StopFlag,
    whole: OnceLock<Data>,
    failure: OnceLock<BlocksError>,
}

impl StoredExamples {
    /// Reads the header. `sha256` is the digest of the rows; once `stop` tells of
    /// [`Interrupt::Suspended`] every reader gives up.
    ///
    /// # Errors
    /// When the header is damaged, or the data are longer or shorter than it says.
    pub fn open(
        source: Box<dyn ReadAt>,
        sha256: [u8; 32],
        buffers: Buffers,
        stop: StopFlag,
    ) -> Result<Self, BlocksError> {
        let mut first = [0; BlocksHeader::BYTES];
        source.read_exact_at(&mut first, 0)?;
        let header = BlocksHeader::read(&first[..])?;
        let expected = header.stored_bytes().ok_or(BlocksError::Truncated)?;
        match source.bytes().map_err(BlocksError::Io)? {
            found if found < expected => return Err(BlocksError::Truncated),
            found if found > expected => return Err(BlocksError::Trailing),
            _ => {}
        }
        Ok(Self {
            source,
            header,
            sha256,
            buffers,
            stop,
            whole: OnceLock::new(),
            failure: OnceLock::new(),
        })
    }

    /// What the first bytes say.
    pub fn header(&self) -> &BlocksHeader {
        &self.header
    }

    /// What made the examples unreadable, once a reader said so.
    pub fn failure(&self) -> Option<&BlocksError> {
        self.failure.get()
    }

    /// Reads all examples once and compares their digest. Small data stay in memory from then on.
    ///
    /// # Errors
    /// [`Interrupt::Unreadable`] when they are not what was written; why `stop` was raised.
    pub fn verify(&self, stop: &StopFlag) -> Result<(), Interrupt> {
        if self.shape().memory_bytes() <= self.buffers.whole_bytes_max {
            return self.whole(stop).map(|_| ());
        }
        let mut digest = RowsDigest::new(&self.header);
        let mut first = 0;
        while first < self.header.rows {
            if let Some(interrupt) = stop.raised() {
                return Err(interrupt);
            }
            let window = self.read(self.window(first))?;
            first += window.examples();
            digest.add(&window);
        }
        self.compare(digest)
    }

    /// All examples in memory, whatever their size, their digest compared.
    ///
    /// # Errors
    /// As for [`Self::verify`].
    pub fn whole(&self, stop: &StopFlag) -> Result<&Data, Interrupt> {
        if let Some(interrupt) = stop.raised() {
            return Err(interrupt);
        }
        if let Some(data) = self.whole.get() {
            return Ok(data);
        }
        let data = self.read(0..self.header.rows)?;
        let mut digest = RowsDigest::new(&self.header);
        digest.add(&data);
        self.compare(digest)?;
        Ok(self.whole.get_or_init(|| data))
    }

    fn compare(&self, digest: RowsDigest) -> Result<(), Interrupt> {
        if digest.finish() == self.sha256 {
            Ok(())
        } else {
            Err(self.failed(BlocksError::Digest))
        }
    }

    fn failed(&self, error: BlocksError) -> Interrupt {
        // The first failure is told; any later one is its consequence, or no worse.
        let _ = self.failure.set(error);
        Interrupt::Unreadable
    }

    /// The rows that are read at once when `row` is read in order: whole blocks from its own on, or
    /// some of one block of long real rows.
    fn window(&self, row: usize) -> Range<usize> {
        let header = &self.header;
        let bytes = self.buffers.window_bytes;
        let block_bytes = header.block_bytes().unwrap_or(u64::MAX);
        let block = row / BLOCK_ROWS;
        if header.kind == RowsKind::Real && block_bytes > bytes {
            let rows = bytes / (header.n as u64 * 8);
            let rows = rows.clamp(1, BLOCK_ROWS as u64) as usize;
            let end = (row + rows).min((block + 1) * BLOCK_ROWS);
            return row..end.min(header.rows);
        }
        let blocks = usize::try_from((bytes / block_bytes).max(1)).unwrap_or(usize::MAX);
        let end = block.saturating_add(blocks).saturating_mul(BLOCK_ROWS);
        block * BLOCK_ROWS..end.min(header.rows)
    }

    /// The rows of one block of bits, or a real row, that hold this row.
    fn single(&self, row: usize) -> Range<usize> {
        match self.header.kind {
            RowsKind::Boolean => {
                let first = row - row % BLOCK_ROWS;
                first..(first + BLOCK_ROWS).min(self.header.rows)
            }
            RowsKind::Real => row..row + 1,
        }
    }

    /// Reads rows: whole blocks, or some of one block of real ones.
    fn read(&self, rows: Range<usize>) -> Result<Data, Interrupt> {
        if self.stop.raised() >= Some(Interrupt::Suspended) {
            return Err(Interrupt::Suspended);
        }
        let is_whole = rows.start.is_multiple_of(BLOCK_ROWS)
            && (rows.end.is_multiple_of(BLOCK_ROWS) || rows.end == self.header.rows);
        let read = if is_whole {
            self.read_blocks(rows)
        } else {
            self.read_part(rows)
        };
        read.map_err(|error| self.failed(error))
    }

    fn read_blocks(&self, rows: Range<usize>) -> Result<Data, BlocksError> {
        let part = BlocksHeader {
            rows: rows.len(),
            ..self.header
        };
        let offset = self.header.block_offset(rows.start / BLOCK_ROWS);
        let bytes = part.stored_bytes();
        let (Some(offset), Some(bytes)) = (offset, bytes) else {
            return Err(BlocksError::Truncated);
        };
        let left = bytes - BlocksHeader::BYTES as u64;
        let read = ReadFrom {
            source: &*self.source,
            offset,
            left,
        };
        let at_once = usize::try_from(left).map_or(READ_BYTES, |left| left.min(READ_BYTES));
        let buffered = BufReader::with_capacity(at_once, read);
        read_rows(&part, &mut WordReader::new(buffered))
    }

    fn read_part(&self, rows: Range<usize>) -> Result<Data, BlocksError> {
        let range = RowRange::new(self.header, rows.start, rows.len());
        let range = range.ok_or(BlocksError::Truncated)?;
        let places = range.pieces().ok_or(BlocksError::Truncated)?;
        let mut pieces = Vec::with_capacity(places.len());
        for place in places {
            let length = usize::try_from(place.end - place.start);
            let mut piece = vec![0; length.map_err(|_| BlocksError::Truncated)?];
            self.source.read_exact_at(&mut piece, place.start)?;
            pieces.push(piece);
        }
        range.read(&pieces)
    }
}

impl Examples for StoredExamples {
    fn shape(&self) -> Shape {
        Shape {
            n: self.header.n,
            examples: self.header.rows,
            is_real: self.header.kind == RowsKind::Real,
            labels: match self.header.labels {
                LabelsKind::HalfSpace => LabelKind::HalfSpace,
                LabelsKind::Labelled => LabelKind::Labelled,
                LabelsKind::Unlabelled => LabelKind::Unlabelled,
            },
        }
    }

    fn reader(&self) -> Box<dyn ReadRows + '_> {
        match self.whole.get() {
            Some(data) => data.reader(),
            None => Box::new(StoredReader {
                stored: self,
                window: None,
                single: None,
                last: 0,
            }),
        }
    }

    fn in_memory(&self) -> Option<&Data> {
        self.whole.get()
    }
}

impl fmt::Debug for StoredExamples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredExamples")
            .field("source", &self.source)
            .field("header", &self.header)
            .finish_non_exhaustive()
    }
}

/// Reads stored examples, in order or not.
#[derive(Debug)]
struct StoredReader<'a> {
    stored: &'a StoredExamples,
    /// Where reading in order has come to.
    window: Option<Window>,
    /// What was last read out of turn.
    single: Option<Window>,
    /// The row last asked for.
    last: usize,
}

/// Rows in memory.
#[derive(Debug)]
struct Window {
    first: usize,
    rows: Data,
}

impl Window {
    fn holds(&self, row: usize) -> bool {
        row >= self.first && row - self.first < self.rows.examples()
    }
}

impl StoredReader<'_> {
    /// The window at this place, where the rows are not in memory already.
    fn moved<'w>(
        stored: &StoredExamples,
        window: &'w mut Option<Window>,
        rows: Range<usize>,
        wanted: usize,
    ) -> Result<&'w Window, Interrupt> {
        if !window.as_ref().is_some_and(|window| window.holds(wanted)) {
            // Let go first: not two of them at once.
            *window = None;
            let first = rows.start;
            let rows = stored.read(rows)?;
            *window = Some(Window { first, rows });
        }
        window.as_ref().ok_or(Interrupt::Unreadable)
    }
}

impl ReadRows for StoredReader<'_> {
    fn rows(&mut self, first: usize) -> Result<Rows<'_>, Interrupt> {
        let rows = self.stored.window(first);
        let window = Self::moved(self.stored, &mut self.window, rows, first)?;
        Ok(Rows::of(&window.rows, first - window.first))
    }

    fn row(&mut self, row: usize) -> Result<(Rows<'_>, usize), Interrupt> {
        let is_near = row >= self.last && row - self.last <= NEAR_ROWS;
        self.last = row;
        let is_in = |window: &Option<Window>| window.as_ref().is_some_and(|w| w.holds(row));
        let single = self.stored.single(row);
        let found = if is_in(&self.window) || is_near && !is_in(&self.single) {
            let rows = self.stored.window(single.start);
            Self::moved(self.stored, &mut self.window, rows, row)?
        } else {
            Self::moved(self.stored, &mut self.single, single, row)?
        };
        Ok(Rows::with(&found.rows, row - found.first))
    }
}

/// Some bytes as a stream.
struct ReadFrom<'a> {
    source: &'a dyn ReadAt,
    offset: u64,
    left: u64,
}

impl Read for ReadFrom<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        let length = buffer.len().min(left);
        self.source
            .read_exact_at(&mut buffer[..length], self.offset)?;
        self.offset += length as u64;
        self.left -= length as u64;
        Ok(length)
    }
}

impl ReadAt for Bytes {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let end = start.saturating_add(buffer.len());
        let found = self.get(start..end).ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(found);
        Ok(())
    }

    fn bytes(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }
}

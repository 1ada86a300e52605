//! Examples in their stored form, read by position when they are needed.
//!
//! A reader holds only few of them in memory: a window of blocks, which moves along while it reads in order, and one
//! block for a row out of order. All examples stay in memory after [`StoredExamples::verify`] if they are small, and
//! after [`StoredExamples::whole`] in any case.
//!
//! Every read compares the checks. A damaged or unreadable block ends the run, and [`StoredExamples::failure`]
//! returns the first error.
//!
//! This module does not know where the bytes are. [`ReadAt`] reads them.

use std::fmt;
use std::io::BufReader;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use halfspace_core::bits::BLOCK_ROWS;
use halfspace_core::learners::engine::run::{Interrupt, StopFlag};
use halfspace_core::learners::sample::data::Data;
use halfspace_core::learners::sample::examples::{Examples, LabelKind, ReadRows, Rows, Shape};
use halfspace_core::learners::sample::weights::Weight;
use halfspace_core::memory;

use crate::classes::{Classes, Recoding};
use crate::stored::block_range::RowRange;
use crate::stored::blocks::read_rows;
use crate::stored::digest::RowsDigest;
use crate::stored::header::BlocksError;
use crate::stored::layout::Layout;
use crate::stored::read_at::{ReadAt, ReadFrom};
use crate::stored::weights;
use crate::stored::words::WordReader;
use crate::vocabulary::{Renumbering, Vocabulary};

/// A row at most this far after the last one counts as read in order.
const NEAR_ROWS: usize = 8 * BLOCK_ROWS;

/// Bytes per read of the source.
const READ_BYTES: usize = 256 * 1024;

/// Limits on the stored examples in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffers {
    /// Examples of at most this many bytes stay in memory after they were verified.
    pub whole_bytes_max: u64,
    /// Bytes of larger data that are read at once, but at least one block or one long real row.
    pub window_bytes: u64,
}

/// Examples in their stored form.
pub struct StoredExamples {
    source: Box<dyn ReadAt>,
    layout: Layout,
    sha256: [u8; 32],
    buffers: Buffers,
    stop: StopFlag,
    whole: OnceLock<Data>,
    /// The class codes of the examples instead of the stored ones, set before the first read.
    recoding: OnceLock<Recoding>,
    failure: OnceLock<BlocksError>,
    /// Where the names of features are, if they have names.
    vocabulary_place: Option<Range<u64>>,
    vocabulary: OnceLock<Arc<Vocabulary>>,
    /// Where the weights are, if the examples have weights.
    weights_place: Option<Range<u64>>,
    /// The ids of features instead of the stored ones, set before the first read.
    renumbering: OnceLock<Renumbering>,
}

impl StoredExamples {
    /// The digest of the rows.
    pub fn sha256(&self) -> [u8; 32] {
        self.sha256
    }

    /// Reads the header. `sha256` is the digest of the rows. All reads stop once `stop` raises
    /// [`Interrupt::Suspended`] or a higher interrupt.
    ///
    /// # Errors
    /// When the header is damaged, or the source is longer or shorter than the header says.
    pub fn open(
        source: Box<dyn ReadAt>,
        sha256: [u8; 32],
        buffers: Buffers,
        stop: StopFlag,
    ) -> Result<Self, BlocksError> {
        let mut first = [0; Layout::CHECKED_HEAD_BYTES];
        source.read_exact_at(&mut first, 0)?;
        let mut layout = Layout::read(&first[..])?;
        let bytes = source.bytes().map_err(BlocksError::Io)?;
        if let Some(length) = layout.index_bytes() {
            let start = bytes.checked_sub(length).ok_or(BlocksError::Truncated)?;
            let length = usize::try_from(length).map_err(|_| BlocksError::Truncated)?;
            let mut index = vec![0; length];
            source.read_exact_at(&mut index, start)?;
            layout = layout.with_index(&index)?;
        }
        let mut names = layout.names_place(bytes);
        if let Some(place) = names.as_mut().filter(|_| layout.has_classes()) {
            let unit = names_unit(&*source, place.clone())?;
            layout = layout.with_classes(&read_place(&*source, &unit)?)?;
            place.start = unit.end;
        }
        let place = names.clone().filter(|_| layout.is_named());
        let vocabulary_place = place.map(|place| names_unit(&*source, place)).transpose()?;
        let names_bytes = vocabulary_place
            .as_ref()
            .map_or(0, |place| place.end - place.start);
        let weights_place = names.filter(|_| layout.is_weighted());
        let weights_place = weights_place.map(|place| place.start + names_bytes..place.end);
        let expected = layout
            .stored_bytes()
            .and_then(|bytes| bytes.checked_add(names_bytes));
        let expected = expected.ok_or(BlocksError::Truncated)?;
        match bytes {
            found if found < expected => return Err(BlocksError::Truncated),
            found if found > expected => return Err(BlocksError::Trailing),
            _ => {}
        }
        Ok(Self {
            source,
            layout,
            sha256,
            buffers,
            stop,
            whole: OnceLock::new(),
            recoding: OnceLock::new(),
            failure: OnceLock::new(),
            vocabulary_place,
            vocabulary: OnceLock::new(),
            weights_place,
            renumbering: OnceLock::new(),
        })
    }

    /// Gives the examples other class codes. The digest is still the one of the stored codes.
    pub fn recode(&self, codes: Recoding) {
        debug_assert!(
            self.whole.get().is_none() || self.recoding.get().is_none_or(|own| *own == codes)
        );
        // Each task of a job states the same codes again.
        let _ = self.recoding.set(codes);
    }

    /// Gives features that have names the ids of these names. The names that are not among them have the ids after
    /// those. The digest is still the one of the stored ids.
    ///
    /// # Errors
    /// As for [`Self::vocabulary`].
    pub fn rename(&self, names: &Vocabulary) -> Result<(), Interrupt> {
        debug_assert!(self.whole.get().is_none() || self.renumbering.get().is_some());
        if let Some(own) = self.vocabulary()? {
            // Each task of a job states the same names again.
            self.renumbering.get_or_init(|| names.renumbering(own));
        }
        Ok(())
    }

    /// The examples with their own codes and ids instead of the stored ones.
    fn recoded(&self, data: Data) -> Result<Data, Interrupt> {
        let data = match self.recoding.get() {
            Some(recoding) => recoding.of(data),
            None => data,
        };
        match self.renumbering.get() {
            Some(ids) => ids.of(&data).map_err(|_| Interrupt::Memory),
            None => Ok(data),
        }
    }

    /// The classes of labelled examples, in the order of the stored codes.
    pub fn classes(&self) -> Option<&Classes> {
        self.layout.classes()
    }

    /// The names of the features, if they have names.
    ///
    /// # Errors
    /// [`Interrupt::Unreadable`] when they are damaged or cannot be read.
    pub fn vocabulary(&self) -> Result<Option<&Arc<Vocabulary>>, Interrupt> {
        self.read_vocabulary().map_err(|error| self.failed(error))
    }

    fn read_vocabulary(&self) -> Result<Option<&Arc<Vocabulary>>, BlocksError> {
        let Some(place) = &self.vocabulary_place else {
            return Ok(None);
        };
        if self.vocabulary.get().is_none() {
            let read = self.layout.vocabulary(&read_place(&*self.source, place)?)?;
            // Another thread may have read them meanwhile.
            let _ = self.vocabulary.set(Arc::new(read));
        }
        Ok(self.vocabulary.get())
    }

    /// The weights of the examples, if they have weights. They are read at each call, and take four bytes per example.
    ///
    /// # Errors
    /// [`Interrupt::Unreadable`] when they are damaged or cannot be read, and [`Interrupt::Memory`] when there is too
    /// little memory for them.
    pub fn weights(&self) -> Result<Option<Arc<[Weight]>>, Interrupt> {
        if self.weights_place.is_none() {
            return Ok(None);
        }
        let bytes = weights::reading_bytes(self.header().examples);
        memory::need(bytes).map_err(|_| Interrupt::Memory)?;
        self.read_weights().map_err(|error| self.failed(error))
    }

    fn read_weights(&self) -> Result<Option<Arc<[Weight]>>, BlocksError> {
        let Some(Range { start, end }) = self.weights_place else {
            return Ok(None);
        };
        let read = ReadFrom::new(&*self.source, start, end - start);
        let buffered = BufReader::with_capacity(READ_BYTES, read);
        self.layout
            .weights_from(&mut WordReader::with_crc(buffered))
    }

    /// The kinds and sizes of the examples.
    pub fn header(&self) -> &Shape {
        self.layout.header()
    }

    /// The first error that made the examples unreadable.
    pub fn failure(&self) -> Option<&BlocksError> {
        self.failure.get()
    }

    /// Reads all examples once and compares their digest. Small data stay in memory from then on.
    ///
    /// # Errors
    /// [`Interrupt::Unreadable`] when the examples are damaged or cannot be read, or the interrupt that
    /// `stop` raised.
    pub fn verify(&self, stop: &StopFlag) -> Result<(), Interrupt> {
        if self.shape().memory_bytes() <= self.buffers.whole_bytes_max {
            return self.whole(stop).map(|_| ());
        }
        let mut digest = RowsDigest::new(self.header()).on_a_thread(self.header());
        let mut first = 0;
        while first < self.header().examples {
            if let Some(interrupt) = stop.raised() {
                return Err(interrupt);
            }
            let window = self.read_stored(self.window(first))?;
            first += window.examples();
            digest.add(&window);
        }
        self.compare(digest)
    }

    /// All examples in memory, whatever their size, after comparing their digest.
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
        let data = self.read_stored(0..self.header().examples)?;
        let mut digest = RowsDigest::new(self.header());
        digest.add(&data);
        self.compare(digest)?;
        let data = self.recoded(data)?;
        Ok(self.whole.get_or_init(|| data))
    }

    /// The damage of every damaged block, at most `count_max` of them. If no block is damaged and `with_digest` is
    /// set, the digest is compared too. `see` receives the number of bytes of each read.
    pub fn damages(
        &self,
        with_digest: bool,
        count_max: usize,
        see: &mut dyn FnMut(u64),
    ) -> Vec<BlocksError> {
        let mut digest = RowsDigest::new(self.header());
        let (mut damages, mut row) = (Vec::new(), 0);
        while row < self.header().examples && damages.len() < count_max {
            let mut rows = self.blocks_from(row);
            let mut read = self.read_blocks(rows.clone());
            if read.is_err() {
                // Find the damaged block.
                rows.end = (row + BLOCK_ROWS).min(rows.end);
                read = self.read_blocks(rows.clone());
            }
            match read {
                Ok(data) => digest.add(&data),
                Err(damage) => damages.push(damage),
            }
            let start = self.layout.block_offset(rows.start / BLOCK_ROWS);
            let end = self.layout.block_end((rows.end - 1) / BLOCK_ROWS);
            see(end.zip(start).map_or(0, |(end, start)| end - start));
            row = rows.end;
        }
        match self
            .read_vocabulary()
            .and_then(|names| Ok((names, self.read_weights()?)))
        {
            Err(damage) => damages.push(damage),
            Ok((names, weights)) if damages.is_empty() && with_digest => {
                let names = names.map(Arc::as_ref);
                if digest.finish(self.classes(), names, weights.as_deref()) != self.sha256 {
                    damages.push(BlocksError::Digest);
                }
            }
            Ok(_) => {}
        }
        damages
    }

    /// The rows of the whole blocks that are read at once, from the block of `row` on.
    fn blocks_from(&self, row: usize) -> Range<usize> {
        let block = row / BLOCK_ROWS;
        let blocks = self.layout.blocks_within(block, self.buffers.window_bytes);
        let end = block.saturating_add(blocks).saturating_mul(BLOCK_ROWS);
        block * BLOCK_ROWS..end.min(self.header().examples)
    }

    fn compare(&self, digest: RowsDigest) -> Result<(), Interrupt> {
        let names = self.vocabulary()?.map(Arc::as_ref);
        let weights = self.weights()?;
        if digest.finish(self.classes(), names, weights.as_deref()) != self.sha256 {
            return Err(self.failed(BlocksError::Digest));
        }
        Ok(())
    }

    fn failed(&self, error: BlocksError) -> Interrupt {
        // We keep only the first failure. A later one is its consequence or no worse.
        let _ = self.failure.set(error);
        Interrupt::Unreadable
    }

    /// The rows to read at once when `row` is read in order: whole blocks from its own on, or some long real rows of
    /// its block.
    fn window(&self, row: usize) -> Range<usize> {
        let header = self.header();
        let bytes = self.buffers.window_bytes;
        let block_bytes = self.layout.block_bytes().unwrap_or(u64::MAX);
        if self.layout.is_by_rows() && block_bytes > bytes {
            let rows = bytes / self.layout.row_bytes();
            let rows = rows.clamp(1, BLOCK_ROWS as u64) as usize;
            let end = (row + rows).min((row / BLOCK_ROWS + 1) * BLOCK_ROWS);
            return row..end.min(header.examples);
        }
        self.blocks_from(row)
    }

    /// The rows of the block of `row`, or only `row` if real rows are long.
    fn single(&self, row: usize) -> Range<usize> {
        if self.layout.is_by_rows() {
            return row..row + 1;
        }
        let first = row - row % BLOCK_ROWS;
        first..(first + BLOCK_ROWS).min(self.header().examples)
    }

    /// Reads rows with the labels that the examples have: whole blocks, or some long real rows of one block.
    fn read(&self, rows: Range<usize>) -> Result<Data, Interrupt> {
        self.recoded(self.read_stored(rows)?)
    }

    /// Reads rows with the stored labels.
    fn read_stored(&self, rows: Range<usize>) -> Result<Data, Interrupt> {
        if let Some(interrupt) = self.stop.raised()
            && interrupt >= Interrupt::Suspended
        {
            return Err(interrupt);
        }
        let is_whole = rows.start.is_multiple_of(BLOCK_ROWS)
            && (rows.end.is_multiple_of(BLOCK_ROWS) || rows.end == self.header().examples);
        let read = if is_whole {
            self.read_blocks(rows)
        } else {
            let range = RowRange::new(self.layout.clone(), rows.start, rows.len());
            let range = range.ok_or(BlocksError::Truncated);
            range.and_then(|range| self.read_range(&range))
        };
        read.map_err(|error| self.failed(error))
    }

    fn read_blocks(&self, rows: Range<usize>) -> Result<Data, BlocksError> {
        let last = (rows.end - 1) / BLOCK_ROWS;
        let offset = self.layout.block_offset(rows.start / BLOCK_ROWS);
        let (Some(offset), Some(end)) = (offset, self.layout.block_end(last)) else {
            return Err(BlocksError::Truncated);
        };
        let left = end - offset;
        let read = ReadFrom::new(&*self.source, offset, left);
        let at_once = usize::try_from(left).map_or(READ_BYTES, |left| left.min(READ_BYTES));
        let buffered = BufReader::with_capacity(at_once, read);
        let mut words = WordReader::with_crc(buffered);
        let capacity = rows.len();
        read_rows(&self.layout, rows, capacity, &mut words)
    }

    fn read_range(&self, range: &RowRange) -> Result<Data, BlocksError> {
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

/// The unit of names at the start of a place that may be longer.
fn names_unit(source: &dyn ReadAt, within: Range<u64>) -> Result<Range<u64>, BlocksError> {
    let mut length = [0; size_of::<u64>()];
    source.read_exact_at(&mut length, within.start)?;
    let length = Layout::names_bytes(u64::from_le_bytes(length));
    let length = length.filter(|length| *length <= within.end - within.start);
    let length = length.ok_or(BlocksError::Truncated)?;
    Ok(within.start..within.start + length)
}

fn read_place(source: &dyn ReadAt, place: &Range<u64>) -> Result<Vec<u8>, BlocksError> {
    let length = usize::try_from(place.end - place.start);
    let mut bytes = vec![0; length.map_err(|_| BlocksError::Truncated)?];
    source.read_exact_at(&mut bytes, place.start)?;
    Ok(bytes)
}

impl Examples for StoredExamples {
    fn shape(&self) -> Shape {
        let stored = *self.header();
        let labels = match (stored.labels, self.recoding.get()) {
            (LabelKind::Labelled { planes }, Some(codes)) => LabelKind::Labelled {
                planes: codes.planes(planes),
            },
            (labels, _) => labels,
        };
        Shape {
            n: self.renumbering.get().map_or(stored.n, Renumbering::n),
            labels,
            ..stored
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

    fn block_bytes_max(&self) -> u64 {
        if self.header().entries.is_none() {
            return self.header().block().memory_bytes();
        }
        let bytes = |block| Some(self.layout.block_end(block)? - self.layout.block_offset(block)?);
        let largest = (0..self.layout.blocks()).filter_map(bytes).max();
        // An active feature takes at least a byte on the disk and 4 in memory, where rows have starts of 8 bytes.
        4 * largest.unwrap_or(0) + (8 * BLOCK_ROWS) as u64
    }
}

impl fmt::Debug for StoredExamples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredExamples")
            .field("source", &self.source)
            .field("layout", &self.layout)
            .finish_non_exhaustive()
    }
}

/// Reader of stored examples, in any order.
#[derive(Debug)]
struct StoredReader<'a> {
    stored: &'a StoredExamples,
    /// Rows of the last read in order.
    window: Option<Window>,
    /// Rows of the last read out of order.
    single: Option<Window>,
    /// Row of the last request.
    last: usize,
}

/// A range of rows in memory.
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
    /// Returns the window with the row `wanted`. If it lacks this row, it reads `rows` first.
    fn moved<'w>(
        stored: &StoredExamples,
        window: &'w mut Option<Window>,
        rows: Range<usize>,
        wanted: usize,
    ) -> Result<&'w Window, Interrupt> {
        if !window.as_ref().is_some_and(|window| window.holds(wanted)) {
            // We free the old rows first, so that memory never holds both.
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

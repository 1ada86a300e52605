//! The spool: a temporary file for rows beyond the memory budget, until they are written in the stored form.
//!
//! The caller supplies the file, which the spool opens when the first rows leave memory. Nothing else reads it. The
//! file holds pieces of rows in the form that was known when they were written, but later rows may have more features
//! or turn the data real. So each piece records its own kind and width, and the final pass converts all pieces to one
//! form.
//!
//! A piece begins with three words:
//!
//! 1. the kind in the lowest byte and the number of rows, at most 64, above that byte;
//! 2. the width;
//! 3. the number of bit planes of the class codes, 0 without labels.
//!
//! The words of the planes follow, with row `r` in bit `r`.
//!
//! Packed rows come next in the block layout with `width` words each. Real rows come one after the other with `width`
//! doubles each. Sparse rows come as in [`crate::stored::sparse_blocks`], and have no width.

use std::io::{self, BufReader, Read, Seek, Write};
use std::sync::{Arc, Mutex, PoisonError};

use halfspace_core::bits::{BLOCK_ROWS, BitBlock, SparseBlock, SparseMatrix, WORD_BITS, words_for};
use halfspace_core::learners::sample::block::{BlockFeatures, row_mask};
use halfspace_core::learners::sample::classes::{BlockCodes, PLANES_MAX};
use halfspace_core::learners::sample::examples::Shape;
use halfspace_core::learners::sample::packer::Packer;

use crate::classes::Recoding;
use crate::error::Fault;
use crate::stored::header::BlocksError;
use crate::stored::parts::RowsPart;
use crate::stored::sparse_blocks::{self, SparseWords};
use crate::stored::words::real_value;
use crate::stored::words::{WordReader, WordWriter};
use crate::vocabulary::Renumbering;

/// Bytes per read of the file, because a row may be short.
const READ_BYTES: usize = 64 * 1024;

/// File that a spool writes and then reads.
pub trait SpoolFile: Read + Write + Seek + Send {}

impl<F: Read + Write + Seek + Send> SpoolFile for F {}

/// Reserves bytes for the whole stored form and returns the number of reserved bytes.
type Reserve = dyn FnMut(u64) -> Result<u64, NotReserved> + Send;

/// A reservation for the stored form was refused. Only the caller's closure knows why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotReserved;

/// The target for rows whose stored form can already be written while the body arrives.
pub(crate) struct DirectTarget {
    pub(crate) to: Box<dyn Write + Send>,
    /// Repetitions are counted if there are at most this many examples.
    pub(crate) examples_max: usize,
}

/// Opens an empty file.
pub(crate) type OpenSpool = Arc<dyn Fn() -> io::Result<Box<dyn SpoolFile>> + Send + Sync>;

/// The bytes reserved for the stored form.
struct Reservation {
    reserve: Box<Reserve>,
    reserved: u64,
}

/// Storage for rows beyond the memory budget.
pub struct Spool {
    /// Bytes that rows may take in memory.
    pub(crate) memory_bytes_max: u64,
    reservation: Option<Arc<Mutex<Reservation>>>,
    open: OpenSpool,
    /// `None` without a target, or after the target was taken.
    pub(crate) direct: Option<DirectTarget>,
    /// `None` before the first piece.
    words: Option<WordWriter<Box<dyn SpoolFile>>>,
}

impl Spool {
    /// Makes a spool for rows that take more than `memory_bytes_max` bytes in memory. `open` returns an empty file.
    /// It is called at most once for the rows, once for the cells of a table, once for a file of Parquet, and
    /// three times for a workbook.
    pub fn new<F: SpoolFile + 'static>(
        memory_bytes_max: u64,
        open: impl Fn() -> io::Result<F> + Send + Sync + 'static,
    ) -> Self {
        Self {
            memory_bytes_max,
            reservation: None,
            open: Arc::new(move || Ok(Box::new(open()?))),
            direct: None,
            words: None,
        }
    }

    /// If the body states the number of rows, writes real rows beyond the memory to a target in the stored form,
    /// instead of to the spool. Repetitions are counted as in [`Parsed::store`](crate::Parsed::store). After
    /// an error the target holds a part of the stored form.
    #[must_use]
    pub fn storing(mut self, examples_max: usize, to: impl Write + Send + 'static) -> Self {
        let to = Box::new(to);
        self.direct = Some(DirectTarget { to, examples_max });
        self
    }

    /// Limits the stored form to the bytes that `reserve` grants. Before rows are spooled, it receives the bytes of
    /// all rows in the stored form, without header, labels and checks. It is not called while these are at most half
    /// of `memory_bytes_max`, because rows of that size stay in memory.
    #[must_use]
    pub fn reserving(
        mut self,
        reserve: impl FnMut(u64) -> Result<u64, NotReserved> + Send + 'static,
    ) -> Self {
        self.reservation = Some(Arc::new(Mutex::new(Reservation {
            reserve: Box::new(reserve),
            reserved: 0,
        })));
        self
    }

    /// Makes an empty spool with the same limits and reservation.
    pub(crate) fn fork(&self) -> Self {
        Self {
            memory_bytes_max: self.memory_bytes_max,
            reservation: self.reservation.clone(),
            open: Arc::clone(&self.open),
            direct: None,
            words: None,
        }
    }

    /// The bytes that may stay in memory, and the source of files.
    pub(crate) fn opener(&self) -> (u64, OpenSpool) {
        (self.memory_bytes_max, Arc::clone(&self.open))
    }

    /// The bytes of a workbook or a file of Parquet that may stay in memory besides the rows, and the source of files.
    pub(crate) fn workbook_opener(&self) -> (u64, OpenSpool) {
        (self.memory_bytes_max / 4, Arc::clone(&self.open))
    }

    /// Reserves bytes for the stored form of rows, if rows that take `held` bytes in memory may be spooled.
    ///
    /// # Errors
    /// When the reservation is refused.
    pub(crate) fn reserve(&self, bytes: u64, held: u64) -> Result<(), NotReserved> {
        // Rows may take up to twice as many bytes in memory as in the stored form.
        let may_spill = held > self.memory_bytes_max / 2;
        if let Some(reservation) = self.reservation.as_ref().filter(|_| may_spill) {
            let mut reservation = reservation.lock().unwrap_or_else(PoisonError::into_inner);
            if bytes > reservation.reserved {
                reservation.reserved = (reservation.reserve)(bytes)?;
            }
        }
        Ok(())
    }

    /// Whether the spool was never written.
    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_none()
    }

    /// Appends packed rows: 64 rows, or fewer if no packed rows follow.
    ///
    /// # Errors
    /// When the file cannot be opened or written.
    pub(crate) fn push_packed(
        &mut self,
        ones: BitBlock<'_>,
        labels: Option<BlockCodes>,
    ) -> io::Result<()> {
        let words = self.begin(PieceKind::Packed, ones.rows(), ones.words_per_row(), labels)?;
        words.write_slice(ones.words(), |word| word)
    }

    /// Appends sparse rows: 64 rows, or fewer if no rows follow.
    ///
    /// # Errors
    /// When the file cannot be opened or written.
    pub(crate) fn push_sparse(
        &mut self,
        rows: SparseBlock<'_>,
        labels: Option<BlockCodes>,
    ) -> io::Result<()> {
        let kind = match rows.is_real() {
            true => PieceKind::SparseReal,
            false => PieceKind::Sparse,
        };
        let words = self.begin(kind, rows.rows(), 0, labels)?;
        sparse_blocks::write(rows, &mut Vec::new(), words)
    }

    /// Appends at most 64 real rows of equal length.
    ///
    /// # Errors
    /// When the file cannot be opened or written.
    pub(crate) fn push_real(
        &mut self,
        values: &[f64],
        rows: usize,
        labels: Option<BlockCodes>,
    ) -> io::Result<()> {
        let words = self.begin(PieceKind::Real, rows, values.len() / rows, labels)?;
        words.write_slice(values, f64::to_bits)
    }

    fn begin(
        &mut self,
        kind: PieceKind,
        rows: usize,
        width: usize,
        labels: Option<BlockCodes>,
    ) -> io::Result<&mut WordWriter<Box<dyn SpoolFile>>> {
        let words = match &mut self.words {
            Some(words) => words,
            none => none.insert(WordWriter::new((self.open)()?)),
        };
        let labels = labels.as_ref().map_or(&[][..], BlockCodes::words);
        let kind = kind as u64 | (rows as u64) << u8::BITS;
        words.write([kind, width as u64, labels.len() as u64])?;
        words.write_slice(labels, |word| word)?;
        Ok(words)
    }

    /// Returns the written rows under this header, or `None` if none were written. In real data `low` is the value of a
    /// packed bit that is 0.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn into_rows(
        self,
        header: Shape,
        low: f64,
        recoding: Option<&Recoding>,
        renumbering: Option<&Renumbering>,
    ) -> io::Result<Option<SpooledRows>> {
        let Some(words) = self.words else {
            return Ok(None);
        };
        let file = words.finish()?;
        Ok(Some(SpooledRows {
            file,
            header,
            low,
            recoding: recoding.cloned(),
            renumbering: renumbering.cloned(),
            rows_to_raise: 0,
        }))
    }
}

/// Form of the rows of a piece.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PieceKind {
    /// Packed bits.
    Packed = 0,
    /// Doubles.
    Real = 1,
    /// Active features.
    Sparse = 2,
    /// Active features with values.
    SparseReal = 3,
}

/// Rows in a spool.
pub struct SpooledRows {
    file: Box<dyn SpoolFile>,
    pub(crate) header: Shape,
    low: f64,
    /// What the written class codes stand for, or `None` if they need no change.
    recoding: Option<Recoding>,
    /// The ids in place of the written ones, which need sparse rows.
    renumbering: Option<Renumbering>,
    /// The number of first rows, which are sparse, whose ids are 1 too small.
    pub(crate) rows_to_raise: usize,
}

impl SpooledRows {
    /// Passes all rows to `see`, converted to their common form.
    ///
    /// # Errors
    /// When the file cannot be read, or the first error of `see`.
    pub(crate) fn for_each_part(
        &mut self,
        mut see: impl FnMut(RowsPart<'_>) -> Result<(), BlocksError>,
    ) -> Result<(), BlocksError> {
        self.file.rewind()?;
        let mut reader = PieceReader {
            words: WordReader::new(BufReader::with_capacity(READ_BYTES, &mut self.file)),
            header: self.header,
            low: self.low,
            recoding: self.recoding.as_ref(),
            renumbering: self.renumbering.as_ref(),
            ones: Vec::new(),
            values: Vec::new(),
            packer: None,
        };
        let mut left = self.header.examples;
        while left > 0 {
            let piece = reader.begin(left)?;
            let is_raised = self.header.examples - left < self.rows_to_raise;
            left -= piece.rows;
            match (piece.kind, self.header.is_real) {
                (PieceKind::Sparse | PieceKind::SparseReal, _) => {
                    reader.sparse(&piece, is_raised, &mut see)?
                }
                (PieceKind::Real, _) => reader.real(&piece, &mut see)?,
                (PieceKind::Packed, false) => {
                    reader.ones(&piece)?;
                    let block = BitBlock::new(&reader.ones, piece.rows);
                    see(RowsPart::Block(block, piece.labels))?;
                }
                (PieceKind::Packed, true) => {
                    reader.ones(&piece)?;
                    reader.packed_as_real(&piece, &mut see)?;
                }
            }
        }
        Ok(())
    }
}

/// The words at the start of a piece.
struct PieceHeader {
    kind: PieceKind,
    rows: usize,
    width: usize,
    labels: Option<BlockCodes>,
}

/// Reader of the pieces of a spool. Its buffers are reused and hold one block or one row.
struct PieceReader<'s, R> {
    words: WordReader<R>,
    header: Shape,
    low: f64,
    recoding: Option<&'s Recoding>,
    renumbering: Option<&'s Renumbering>,
    ones: Vec<u64>,
    values: Vec<f64>,
    packer: Option<Packer>,
}

impl<R: Read> PieceReader<'_, R> {
    /// Reads the start of the next piece, which has at most `left` rows.
    fn begin(&mut self, left: usize) -> Result<PieceHeader, BlocksError> {
        let mut head = Vec::with_capacity(3);
        self.words.read(3, &mut head, |word| word)?;
        let kind = match (head[0] as u8, self.header.is_real) {
            (0, _) => PieceKind::Packed,
            (1, true) => PieceKind::Real,
            (2, _) => PieceKind::Sparse,
            (3, _) => PieceKind::SparseReal,
            _ => return Err(BlocksError::Header("the kind of spooled rows")),
        };
        let (rows, width) = ((head[0] >> u8::BITS) as usize, head[1] as usize);
        let width_max = match kind {
            PieceKind::Real => self.header.n,
            PieceKind::Packed => words_for(self.header.n),
            PieceKind::Sparse | PieceKind::SparseReal => 0,
        };
        if !(1..=left.min(BLOCK_ROWS)).contains(&rows) || width > width_max {
            return Err(BlocksError::Header("the size of spooled rows"));
        }
        let labels = self.labels(head[2], rows)?;
        Ok(PieceHeader {
            kind,
            rows,
            width,
            labels,
        })
    }

    /// Reads the class codes of the rows of a piece, in as many planes as the header has.
    fn labels(&mut self, planes: u64, rows: usize) -> Result<Option<BlockCodes>, BlocksError> {
        let planes = usize::try_from(planes)
            .ok()
            .filter(|&planes| planes <= PLANES_MAX);
        let planes = planes.ok_or(BlocksError::Header("the labels of spooled rows"))?;
        let mut words = Vec::with_capacity(planes);
        self.words.read(planes, &mut words, |word| word)?;
        if self.header.labels.planes() == 0 {
            return Ok(None);
        }
        let mut codes = BlockCodes::zeros(planes.max(self.header.labels.planes()));
        for (code, word) in codes.words_mut().iter_mut().zip(words) {
            *code = word;
        }
        if let Some(recoding) = self.recoding {
            codes = recoding.of_block(codes);
            // Rows that do not exist have code 0.
            codes
                .words_mut()
                .iter_mut()
                .for_each(|word| *word &= row_mask(rows));
        }
        Ok(Some(codes))
    }

    /// Reads packed rows and widens them to the final width.
    fn ones(&mut self, piece: &PieceHeader) -> Result<(), BlocksError> {
        self.ones.clear();
        self.words
            .read(piece.width * BLOCK_ROWS, &mut self.ones, |word| word)?;
        self.ones.resize(words_for(self.header.n) * BLOCK_ROWS, 0);
        Ok(())
    }

    /// Reads sparse rows, and shows them in the layout of the header.
    fn sparse(
        &mut self,
        piece: &PieceHeader,
        is_raised: bool,
        see: &mut impl FnMut(RowsPart<'_>) -> Result<(), BlocksError>,
    ) -> Result<(), BlocksError> {
        let (n, is_real) = (self.header.n, self.header.is_real);
        let has_values = piece.kind == PieceKind::SparseReal;
        let read = SparseWords::read(has_values, piece.rows, None, &mut self.words)?;
        let read = read.ok_or(BlocksError::Header("the size of spooled rows"))?;
        let mut rows = SparseMatrix::new(n, has_values);
        read.unpack(piece.rows, &mut rows)?;
        let mut rows = rows.with(n, is_real);
        if is_raised {
            rows = sparse_blocks::raised(&rows);
        }
        if let Some(renumbering) = self.renumbering {
            let renumbered = renumbering.of_rows(&rows);
            rows = renumbered.map_err(|full| BlocksError::Io(Fault::from(full).into_io()))?;
        }
        let labels = piece.labels;
        if self.header.entries.is_some() {
            return see(RowsPart::Sparse(rows.block(0), labels));
        }
        let packer = self.packer.get_or_insert_with(|| Packer::new(n, is_real));
        let mut first = 0;
        while first < piece.rows {
            let features = packer.pack(rows.block(0), first..piece.rows);
            let count = features.rows();
            match features {
                BlockFeatures::Boolean(block) => see(RowsPart::Block(block, labels))?,
                BlockFeatures::Real { n, values } => {
                    for (row, values) in values.chunks(n).enumerate() {
                        let label = labels.as_ref().map(|codes| codes.get(first + row));
                        see(RowsPart::Row(values, label))?;
                    }
                }
                BlockFeatures::Sparse(_) => unreachable!("packed rows"),
            }
            first += count;
        }
        Ok(())
    }

    fn packed_as_real(
        &mut self,
        piece: &PieceHeader,
        see: &mut impl FnMut(RowsPart<'_>) -> Result<(), BlocksError>,
    ) -> Result<(), BlocksError> {
        for row in 0..piece.rows {
            self.values.clear();
            let (ones, low) = (&self.ones, self.low);
            let word = |j: usize| ones[j / WORD_BITS * BLOCK_ROWS + row];
            let values = (0..self.header.n).map(|j| real_value(word(j), j, low));
            self.values.extend(values);
            see(RowsPart::Row(&self.values, piece.label(row)))?;
        }
        Ok(())
    }

    fn real(
        &mut self,
        piece: &PieceHeader,
        see: &mut impl FnMut(RowsPart<'_>) -> Result<(), BlocksError>,
    ) -> Result<(), BlocksError> {
        for row in 0..piece.rows {
            self.values.clear();
            self.words
                .read(piece.width, &mut self.values, f64::from_bits)?;
            self.values.resize(self.header.n, 0.0);
            see(RowsPart::Row(&self.values, piece.label(row)))?;
        }
        Ok(())
    }
}

impl PieceHeader {
    fn label(&self, row: usize) -> Option<u32> {
        self.labels.as_ref().map(|codes| codes.get(row))
    }
}

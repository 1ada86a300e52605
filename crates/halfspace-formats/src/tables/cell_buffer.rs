//! The cells of a table until its encoding is known, in memory or in a file.
//!
//! They are kept in pieces of at most 64 rows, or fewer if the table is wide: one code per cell, and a number for
//! each cell of a column of numbers. A piece begins with a word for the number of its rows, and one bit per column
//! that marks the columns of numbers.

use std::io;

use halfspace_core::bits::{BLOCK_ROWS, WORD_BITS};

use super::column_scan::KeptCell;
use crate::stored::overflow::Overflow;
use crate::stored::spool::OpenSpool;
use crate::stored::words::{WordReader, WordWriter};

/// The number of cells after which a piece ends.
const PIECE_CELLS: usize = 1 << 16;

/// The rows so far.
pub(crate) struct CellBuffer {
    /// The number of cells of a row, including the label.
    columns: usize,
    piece: Piece,
    words: WordWriter<Overflow>,
    rows: u64,
}

/// Rows in which each column is kept in the same form.
#[derive(Default)]
struct Piece {
    rows: usize,
    codes: Vec<u8>,
    numbers: Vec<f64>,
    /// Bit `c` tells whether column `c` is kept as numbers.
    is_numbers: Vec<u64>,
}

impl Piece {
    fn is_full(&self) -> bool {
        self.rows == BLOCK_ROWS || self.codes.len() >= PIECE_CELLS
    }
}

impl CellBuffer {
    /// Makes a buffer that writes to a file of `open` after `memory_bytes_max` bytes.
    pub(crate) fn new(columns: usize, open: Option<(u64, OpenSpool)>) -> Self {
        Self {
            columns,
            piece: Piece {
                is_numbers: vec![0; columns.div_ceil(WORD_BITS)],
                ..Piece::default()
            },
            words: WordWriter::new(Overflow::new(open)),
            rows: 0,
        }
    }

    /// Appends a row of `columns` cells.
    ///
    /// # Errors
    /// When memory or the file fails.
    pub(crate) fn push(&mut self, row: &[KeptCell]) -> io::Result<()> {
        debug_assert_eq!(row.len(), self.columns);
        let changes = row.iter().enumerate().any(|(column, cell)| {
            let bit = self.piece.is_numbers[column / WORD_BITS] >> (column % WORD_BITS) & 1 == 1;
            bit != matches!(cell, KeptCell::Number(_))
        });
        if changes || self.piece.is_full() {
            self.end_piece()?;
        }
        if changes {
            self.piece.is_numbers.fill(0);
            for (column, _) in row
                .iter()
                .enumerate()
                .filter(|(_, cell)| matches!(cell, KeptCell::Number(_)))
            {
                self.piece.is_numbers[column / WORD_BITS] |= 1 << (column % WORD_BITS);
            }
        }
        for cell in row {
            self.piece.codes.push(match cell {
                KeptCell::Code(code) => *code,
                KeptCell::Number(number) => {
                    self.piece.numbers.push(*number);
                    0
                }
            });
        }
        self.piece.rows += 1;
        self.rows += 1;
        Ok(())
    }

    /// Appends a row of `columns` codes.
    ///
    /// # Errors
    /// When memory or the file fails.
    pub(crate) fn push_codes(&mut self, codes: &[u8]) -> io::Result<()> {
        debug_assert_eq!(codes.len(), self.columns);
        let changes = self.piece.is_numbers.iter().any(|&word| word != 0);
        if changes || self.piece.is_full() {
            self.end_piece()?;
            self.piece.is_numbers.fill(0);
        }
        self.piece.codes.extend_from_slice(codes);
        self.piece.rows += 1;
        self.rows += 1;
        Ok(())
    }

    fn end_piece(&mut self) -> io::Result<()> {
        let Piece {
            rows,
            codes,
            numbers,
            is_numbers,
        } = &mut self.piece;
        if *rows == 0 {
            return Ok(());
        }
        self.words.write([*rows as u64])?;
        self.words.write(is_numbers.iter().copied())?;
        codes.resize(codes.len().next_multiple_of(size_of::<u64>()), 0);
        let (codes_words, _) = codes.as_chunks();
        self.words
            .write(codes_words.iter().map(|&bytes| u64::from_le_bytes(bytes)))?;
        self.words
            .write(numbers.iter().map(|number| number.to_bits()))?;
        *rows = 0;
        codes.clear();
        numbers.clear();
        Ok(())
    }

    /// Returns all rows.
    ///
    /// # Errors
    /// When memory or the file fails.
    pub(crate) fn finish(mut self) -> io::Result<Cells> {
        self.end_piece()?;
        Ok(Cells {
            columns: self.columns,
            rows: self.rows,
            kept: self.words.finish()?,
        })
    }
}

/// All rows of a table.
pub(crate) struct Cells {
    columns: usize,
    rows: u64,
    kept: Overflow,
}

impl Cells {
    /// Passes each row in order to `see`. You may call this repeatedly.
    ///
    /// # Errors
    /// When the file cannot be read, or the first error of `see`.
    pub(crate) fn for_each_row<E: From<io::Error>>(
        &mut self,
        mut see: impl FnMut(KeptRow<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut reader = WordReader::new(self.kept.reader()?);
        let mut piece = Piece::default();
        let mut row = Vec::with_capacity(self.columns);
        let mut left = self.rows;
        while left > 0 {
            let rows = reader.word()?;
            left = left.checked_sub(rows).ok_or_else(damaged)?;
            piece.is_numbers.clear();
            reader.read(
                self.columns.div_ceil(WORD_BITS),
                &mut piece.is_numbers,
                |word| word,
            )?;
            let number_columns: u32 = piece.is_numbers.iter().map(|word| word.count_ones()).sum();
            let cells = rows as usize * self.columns;
            piece.codes.clear();
            let mut words = Vec::with_capacity(cells.div_ceil(size_of::<u64>()));
            reader.read(
                cells.div_ceil(size_of::<u64>()),
                &mut words,
                u64::to_le_bytes,
            )?;
            piece.codes.extend(words.as_flattened());
            piece.numbers.clear();
            reader.read(
                rows as usize * number_columns as usize,
                &mut piece.numbers,
                f64::from_bits,
            )?;
            let mut numbers = piece.numbers.iter();
            for codes in piece.codes[..cells].chunks_exact(self.columns) {
                if number_columns == 0 {
                    see(KeptRow::Codes(codes))?;
                    continue;
                }
                row.clear();
                row.extend(codes.iter().enumerate().map(|(column, &code)| {
                    let word = piece.is_numbers[column / WORD_BITS];
                    match word >> (column % WORD_BITS) & 1 {
                        0 => KeptCell::Code(code),
                        _ => KeptCell::Number(numbers.next().copied().unwrap_or(f64::NAN)),
                    }
                }));
                see(KeptRow::Cells(&row))?;
            }
        }
        Ok(())
    }
}

/// The cells of a row.
#[derive(Clone, Copy)]
pub(crate) enum KeptRow<'r> {
    Codes(&'r [u8]),
    Cells(&'r [KeptCell]),
}

impl KeptRow<'_> {
    /// The cell of a column.
    pub(crate) fn cell(&self, at: usize) -> KeptCell {
        match self {
            Self::Codes(codes) => KeptCell::Code(codes[at]),
            Self::Cells(cells) => cells[at],
        }
    }
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a spooled table is damaged")
}

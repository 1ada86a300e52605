//! Some rows of stored data, read by position.
//!
//! Boolean rows lie interleaved, so the blocks that hold them are read whole: 64 rows of bits are
//! small. Real rows lie one after the other and can be large, so exactly those asked for are read.

use std::ops::Range;

use crate::bits::{BLOCK_ROWS, BitMatrix, BitVector, words_for};
use crate::learners::block::row_mask;
use crate::learners::data::{Data, Features, Labels, RealMatrix};

use super::blocks::{BlocksError, BlocksHeader, LabelsKind, RowsKind};

const WORD_BYTES: usize = size_of::<u64>();

/// The rows of stored data that are wanted, and where they lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowRange {
    header: BlocksHeader,
    rows: Range<usize>,
}

impl RowRange {
    /// At most `count` rows from row `first` on, from 0; none when there are no such rows.
    pub fn new(header: BlocksHeader, first: usize, count: usize) -> Option<Self> {
        let end = first.saturating_add(count).min(header.rows);
        (first < end).then_some(Self {
            header,
            rows: first..end,
        })
    }

    /// How many rows.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The bytes of the stored data that hold the rows, to be given to [`Self::read`] in this
    /// order; `None` past 64 bits.
    pub fn pieces(&self) -> Option<Vec<Range<u64>>> {
        let mut pieces = Vec::new();
        for (block, rows) in self.blocks() {
            let start = self.header.block_offset(block)?;
            let row_bytes = match self.header.kind {
                RowsKind::Boolean => self.boolean_bytes(),
                RowsKind::Real => self.header.n.checked_mul(WORD_BYTES)?,
            } as u64;
            let (features, labels_at) = match self.header.kind {
                RowsKind::Boolean => (start..start + row_bytes, start + row_bytes),
                RowsKind::Real => {
                    let held = (self.header.rows - block * BLOCK_ROWS).min(BLOCK_ROWS) as u64;
                    let at = |row: usize| start + row as u64 * row_bytes;
                    (at(rows.start)..at(rows.end), start + held * row_bytes)
                }
            };
            pieces.push(features);
            if self.header.labels == LabelsKind::Labelled {
                pieces.push(labels_at..labels_at + WORD_BYTES as u64);
            }
        }
        Some(pieces)
    }

    /// The rows out of their pieces.
    ///
    /// # Errors
    /// When the pieces are not what [`Self::pieces`] asked for, or hold what cannot have been
    /// written.
    pub fn read(&self, pieces: &[impl AsRef<[u8]>]) -> Result<Data, BlocksError> {
        let mut pieces = pieces.iter().map(AsRef::as_ref);
        let mut next = |bytes: usize| match pieces.next() {
            Some(piece) if piece.len() == bytes => Ok(words(piece)),
            _ => Err(BlocksError::Truncated),
        };
        let n = self.header.n;
        let mut matrix = BitMatrix::new(n);
        let mut values = Vec::new();
        let mut labels = BitVector::zeros(self.rows());
        let mut done = 0;
        for (block, rows) in self.blocks() {
            match self.header.kind {
                RowsKind::Boolean => {
                    let words = next(self.boolean_bytes())?;
                    let block = BitMatrix::from_block_words(n, BLOCK_ROWS, words);
                    let block = block.ok_or(BlocksError::StrayBits)?;
                    let mut row_words = vec![0; words_for(n)];
                    for row in rows.clone() {
                        block.block(0).copy_row(row, &mut row_words);
                        matrix.push_row(&row_words);
                    }
                }
                RowsKind::Real => {
                    let words = next(rows.len() * n * WORD_BYTES)?;
                    values.extend(words.into_iter().map(f64::from_bits));
                }
            }
            if self.header.labels == LabelsKind::Labelled {
                let word = next(WORD_BYTES)?[0];
                let held = (self.header.rows - block * BLOCK_ROWS).min(BLOCK_ROWS);
                if word & !row_mask(held) != 0 {
                    return Err(BlocksError::StrayBits);
                }
                for row in rows.clone() {
                    labels.set(done + row - rows.start, word >> row & 1 == 1);
                }
            }
            done += rows.len();
        }
        let features = match self.header.kind {
            RowsKind::Boolean => Features::Boolean(matrix),
            RowsKind::Real if !values.iter().all(|value| value.is_finite()) => {
                return Err(BlocksError::NotFinite);
            }
            RowsKind::Real => Features::Real(RealMatrix::from_values(n, values)),
        };
        let labels = match self.header.labels {
            LabelsKind::HalfSpace => Labels::HalfSpace,
            LabelsKind::Labelled => Labels::Labelled(labels),
            LabelsKind::Unlabelled => Labels::Unlabelled,
        };
        Ok(Data::new(features, labels))
    }

    /// Each block that holds some of the rows, and which of its rows they are.
    fn blocks(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        let Range { start, end } = self.rows;
        (start / BLOCK_ROWS..end.div_ceil(BLOCK_ROWS)).map(move |block| {
            let first = block * BLOCK_ROWS;
            let from = start.saturating_sub(first);
            (block, from..(end - first).min(BLOCK_ROWS))
        })
    }

    /// Bytes of the features of a block of Boolean rows.
    fn boolean_bytes(&self) -> usize {
        words_for(self.header.n) * BLOCK_ROWS * WORD_BYTES
    }
}

fn words(bytes: &[u8]) -> Vec<u64> {
    let (longs, _) = bytes.as_chunks::<WORD_BYTES>();
    longs.iter().map(|&long| u64::from_le_bytes(long)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::write_blocks;
    use super::*;

    /// Distinct rows, 150 of them: two whole blocks and a part.
    fn sample(kind: RowsKind, labels: LabelsKind) -> Data {
        let rows = 150;
        let features = match kind {
            RowsKind::Boolean => {
                let mut matrix = BitMatrix::new(70);
                (0..rows).for_each(|row| matrix.push_row(&[row * 0x9e37_79b9, row % 64]));
                Features::Boolean(matrix)
            }
            RowsKind::Real => {
                let values = (0..rows * 3).map(|value| value as f64 / 4.0).collect();
                Features::Real(RealMatrix::from_values(3, values))
            }
        };
        let labels = match labels {
            LabelsKind::HalfSpace => Labels::HalfSpace,
            LabelsKind::Unlabelled => Labels::Unlabelled,
            LabelsKind::Labelled => {
                let mut bits = BitVector::zeros(rows as usize);
                (0..rows as usize).for_each(|row| bits.set(row, row % 3 == 1));
                Labels::Labelled(bits)
            }
        };
        Data::new(features, labels)
    }

    /// Rows and labels one by one, to compare a part with the whole.
    fn spelled(data: &Data) -> Vec<(String, Option<bool>)> {
        let row = |row: usize| match data.features() {
            Features::Boolean(matrix) => matrix.row(row).to_bit_string(),
            Features::Real(matrix) => format!("{:?}", matrix.row(row)),
        };
        let label = |row: usize| match data.labels() {
            Labels::Labelled(bits) => Some(bits.get(row)),
            Labels::HalfSpace | Labels::Unlabelled => None,
        };
        (0..data.examples())
            .map(|at| (row(at), label(at)))
            .collect()
    }

    #[test]
    fn every_range_is_the_part_of_the_whole() {
        let cases = [
            (RowsKind::Boolean, LabelsKind::Labelled),
            (RowsKind::Boolean, LabelsKind::HalfSpace),
            (RowsKind::Real, LabelsKind::Labelled),
            (RowsKind::Real, LabelsKind::Unlabelled),
        ];
        for (kind, labels) in cases {
            let data = sample(kind, labels);
            let mut stored = Vec::new();
            write_blocks(&data, &mut stored).unwrap();
            let header = BlocksHeader::read(stored.as_slice()).unwrap();
            let whole = spelled(&data);
            for (first, count) in [(0, 150), (0, 1), (63, 2), (64, 64), (10, 130), (149, 9)] {
                let range = RowRange::new(header, first, count).unwrap();
                let pieces = range.pieces().unwrap();
                let pieces: Vec<_> = pieces
                    .iter()
                    .map(|piece| &stored[piece.start as usize..piece.end as usize])
                    .collect();
                let part = spelled(&range.read(&pieces).unwrap());
                assert_eq!(
                    part,
                    whole[first..(first + count).min(150)],
                    "{kind:?} {first}"
                );
                assert!(range.read(&pieces[1..]).is_err());
            }
            assert_eq!(RowRange::new(header, 150, 1), None);
            assert_eq!(RowRange::new(header, 3, 0), None);
        }
    }
}

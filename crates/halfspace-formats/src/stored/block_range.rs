//! A range of rows of stored data, read by position.
//!
//! A unit (see [`crate::stored::layout`]) is always read whole, because its check covers all of it. Long real rows are
//! units of their own and can be large, so only the requested rows are read. For all other data, the blocks that
//! contain the rows are read.

use std::ops::Range;

use halfspace_core::bits::{BLOCK_ROWS, BitVector};
use halfspace_core::learners::sample::block::row_mask;
use halfspace_core::learners::sample::classes::ClassCodes;
use halfspace_core::learners::sample::data::{Data, Features, Labels, RealMatrix};
use halfspace_core::learners::sample::examples::LabelKind;

use crate::stored::blocks::{end_unit, read_rows};
use crate::stored::header::BlocksError;
use crate::stored::layout::Layout;
use crate::stored::words::WordReader;

/// A range of rows of stored data, and the positions of these rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowRange {
    layout: Layout,
    rows: Range<usize>,
}

impl RowRange {
    /// Selects at most `count` rows from row `first`, counted from 0, or returns `None` if there are no such rows.
    pub fn new(layout: Layout, first: usize, count: usize) -> Option<Self> {
        let end = first.saturating_add(count).min(layout.header().examples);
        (first < end).then_some(Self {
            layout,
            rows: first..end,
        })
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The byte ranges of the stored data that contain the rows, in the order in which [`Self::read`] expects the
    /// bytes. `None` above 64 bits.
    pub fn pieces(&self) -> Option<Vec<Range<u64>>> {
        let layout = &self.layout;
        if !layout.is_by_rows() {
            let last = (self.rows.end - 1) / BLOCK_ROWS;
            let start = layout.block_offset(self.rows.start / BLOCK_ROWS)?;
            let range = start..layout.block_end(last)?;
            return Some(Vec::from([range]));
        }
        let mut pieces = Vec::new();
        for (block, rows) in self.blocks() {
            let start = layout.block_offset(block)?;
            let at = |row: usize| start + row as u64 * layout.row_bytes();
            pieces.push(at(rows.start)..at(rows.end));
            if layout.header().labels.planes() > 0 {
                let end = layout.block_end(block)?;
                pieces.push(end - layout.labels_bytes()..end);
            }
        }
        Some(pieces)
    }

    /// Reads the rows from their pieces.
    ///
    /// # Errors
    /// When the pieces are not those of [`Self::pieces`], or are damaged.
    pub fn read(&self, pieces: &[impl AsRef<[u8]>]) -> Result<Data, BlocksError> {
        let pieces = pieces.iter().map(AsRef::as_ref);
        if self.layout.is_by_rows() {
            return self.read_each(pieces);
        }
        let Range { start, end } = self.rows;
        let first = start - start % BLOCK_ROWS;
        let blocks = first
            ..end
                .next_multiple_of(BLOCK_ROWS)
                .min(self.layout.header().examples);
        let piece = pieces.last().unwrap_or_default();
        let mut words = WordReader::with_crc(piece);
        let capacity = blocks.len();
        let data = read_rows(&self.layout, blocks, capacity, &mut words)?;
        Ok(data.rows(start - first..end - first))
    }

    /// Reads real rows that are units of their own.
    fn read_each<'a>(
        &self,
        mut pieces: impl Iterator<Item = &'a [u8]>,
    ) -> Result<Data, BlocksError> {
        let layout = &self.layout;
        let header = layout.header();
        let mut next = || {
            let piece = pieces.next().ok_or(BlocksError::Truncated);
            piece.map(WordReader::with_crc)
        };
        let mut values = Vec::new();
        let planes = header.labels.planes().max(1);
        let mut labels = vec![BitVector::zeros(self.rows()); planes];
        let mut done = 0;
        for (block, rows) in self.blocks() {
            let mut words = next()?;
            for place in rows.clone() {
                words.read(header.n, &mut values, f64::from_bits)?;
                end_unit(layout, layout.unit(block, place), &mut words)?;
            }
            if header.labels.planes() > 0 {
                let mut words = next()?;
                for plane in &mut labels {
                    let word = words.word()?;
                    if word & !row_mask(layout.rows_of(block)) != 0 {
                        return Err(BlocksError::StrayBits);
                    }
                    for row in rows.clone() {
                        plane.set(done + row - rows.start, word >> row & 1 == 1);
                    }
                }
                end_unit(layout, layout.labels_unit(block), &mut words)?;
            }
            done += rows.len();
        }
        if !values.iter().all(|value| value.is_finite()) {
            return Err(BlocksError::NotFinite);
        }
        let labels = match header.labels {
            LabelKind::HalfSpace => Labels::HalfSpace,
            LabelKind::Labelled { .. } => Labels::Labelled(ClassCodes::of_planes(labels)),
            LabelKind::Unlabelled => Labels::Unlabelled,
        };
        let features = Features::Real(RealMatrix::from_values(header.n, values));
        Ok(Data::new(features, labels))
    }

    /// Each block that contains some of the rows, with the range of these rows in the block.
    fn blocks(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        let Range { start, end } = self.rows;
        (start / BLOCK_ROWS..end.div_ceil(BLOCK_ROWS)).map(move |block| {
            let first = block * BLOCK_ROWS;
            let from = start.saturating_sub(first);
            (block, from..(end - first).min(BLOCK_ROWS))
        })
    }
}

#[cfg(test)]
mod tests {
    use halfspace_core::bits::{BitMatrix, SparseMatrix, SparseRow};
    use halfspace_core::learners::sample::data::DenseFeatures;
    use halfspace_core::learners::sample::examples::Examples;

    use super::*;
    use crate::stored::header::{LabelsKind, RowsKind};
    use crate::stored::layout::stored_bytes;
    use crate::write_blocks;

    /// 150 distinct rows: two whole blocks and a part of a block.
    fn sample(kind: RowsKind, n: usize, labels: LabelsKind) -> Data {
        let rows = 150;
        let features = match kind {
            RowsKind::Boolean => {
                let mut matrix = BitMatrix::new(70);
                (0..rows).for_each(|row| matrix.push_row(&[row * 0x9e37_79b9, row % 64]));
                Features::Boolean(matrix)
            }
            RowsKind::Real => {
                let count = rows * n as u64;
                let values = (0..count).map(|value| value as f64 / 4.0).collect();
                Features::Real(RealMatrix::from_values(n, values))
            }
        };
        let labels = match labels {
            LabelsKind::HalfSpace => Labels::HalfSpace,
            LabelsKind::Unlabelled => Labels::Unlabelled,
            LabelsKind::Labelled => {
                let mut bits = BitVector::zeros(rows as usize);
                (0..rows as usize).for_each(|row| bits.set(row, row % 3 == 1));
                Labels::of_signs(bits)
            }
        };
        Data::new(features, labels)
    }

    /// The same sample with sparse rows.
    fn sparse(data: &Data) -> Data {
        let (n, is_real) = (data.n(), data.features().is_real());
        let mut matrix = SparseMatrix::new(n, is_real);
        for row in 0..data.examples() {
            let value = |j: usize| match data.features() {
                Features::Boolean(bits) => f64::from(u8::from(bits.row(row).get(j))),
                Features::Real(values) => values.row(row)[j],
                Features::Sparse(_) => unreachable!("dense"),
            };
            let active = (0..n)
                .map(|j| (j as u32, value(j)))
                .filter(|one| one.1 != 0.0);
            let (ids, values): (Vec<u32>, Vec<f64>) = active.unzip();
            matrix.push_row(SparseRow {
                ids: &ids,
                values: is_real.then_some(&values),
            });
        }
        Data::new(Features::Sparse(matrix), data.labels().clone())
    }

    /// The layout of stored data with its index.
    fn layout(stored: &[u8]) -> Layout {
        let layout = Layout::read(stored).unwrap();
        match layout.index_bytes() {
            None => layout,
            Some(bytes) => layout
                .with_index(&stored[stored.len() - bytes as usize..])
                .unwrap(),
        }
    }

    #[test]
    fn sparse_and_dense_rows_have_one_digest() {
        for data in samples().into_iter().take(6) {
            assert_eq!(
                crate::digest(&sparse(&data), None, None, None),
                crate::digest(&data, None, None, None)
            );
        }
    }

    #[test]
    fn sparse_rows_take_few_bytes() {
        // 60 active features of 50,000, as in texts of 60 words.
        let mut matrix = SparseMatrix::new(50_000, false);
        for row in 0..1_000_u32 {
            let ids: Vec<u32> = (0..60).map(|at| at * 833 + row % 800).collect();
            matrix.push_row(SparseRow {
                ids: &ids,
                values: None,
            });
        }
        let data = Data::new(Features::Sparse(matrix), Labels::Unlabelled);
        let mut stored = Vec::new();
        write_blocks(&data, None, None, None, &mut stored).unwrap();
        assert!(stored.len() < 60_000 * 5 / 2, "{}", stored.len());
        let most = stored_bytes(&data.shape()).unwrap();
        assert!(stored.len() as u64 <= most);
        assert_eq!(crate::read_blocks(stored.as_slice()).unwrap().0, data);
    }

    /// One sample for each division into units.
    fn samples() -> Vec<Data> {
        let cases = [
            (RowsKind::Boolean, 70, LabelsKind::Labelled),
            (RowsKind::Boolean, 70, LabelsKind::HalfSpace),
            (RowsKind::Real, 3, LabelsKind::Labelled),
            (RowsKind::Real, 3, LabelsKind::Unlabelled),
            (RowsKind::Real, 65, LabelsKind::Labelled),
            (RowsKind::Real, 65, LabelsKind::Unlabelled),
        ];
        let sample = |(kind, n, labels)| sample(kind, n, labels);
        let dense: Vec<Data> = cases.into_iter().map(sample).collect();
        let sparse: Vec<Data> = [0, 1, 5].map(|at| sparse(&dense[at])).into();
        dense.into_iter().chain(sparse).collect()
    }

    /// Rows and labels one by one as text, to compare a part with the whole.
    fn spelled(data: &Data) -> Vec<(String, Option<u32>)> {
        let packed = data.features().packed().expect("memory");
        let row = |row: usize| match &packed {
            DenseFeatures::Boolean(matrix) => matrix.row(row).to_bit_string(),
            DenseFeatures::Real(matrix) => format!("{:?}", matrix.row(row)),
        };
        let label = |row: usize| match data.labels() {
            Labels::Labelled(codes) => Some(codes.get(row)),
            Labels::HalfSpace | Labels::Unlabelled => None,
        };
        (0..data.examples())
            .map(|at| (row(at), label(at)))
            .collect()
    }

    #[test]
    fn row_range_reads_the_same_rows_as_the_whole() {
        for data in samples() {
            let mut stored = Vec::new();
            write_blocks(&data, None, None, None, &mut stored).unwrap();
            let header = layout(&stored);
            let whole = spelled(&data);
            for (first, count) in [(0, 150), (0, 1), (63, 2), (64, 64), (10, 130), (149, 9)] {
                let range = RowRange::new(header.clone(), first, count).unwrap();
                let pieces = range.pieces().unwrap();
                let pieces: Vec<_> = pieces
                    .iter()
                    .map(|piece| &stored[piece.start as usize..piece.end as usize])
                    .collect();
                let part = spelled(&range.read(&pieces).unwrap());
                assert_eq!(part, whole[first..(first + count).min(150)], "{first}");
                assert!(range.read(&pieces[1..]).is_err());
            }
            assert_eq!(RowRange::new(header.clone(), 150, 1), None);
            assert_eq!(RowRange::new(header.clone(), 3, 0), None);
        }
    }

    /// Every bit of every piece is either data or the check of data, so a reader of these rows finds a flipped bit.
    #[test]
    fn row_range_refuses_a_flipped_bit_in_its_rows() {
        for data in samples() {
            let mut stored = Vec::new();
            write_blocks(&data, None, None, None, &mut stored).unwrap();
            let layout = layout(&stored);
            let range = RowRange::new(layout.clone(), 70, 3).unwrap();
            for piece in range.pieces().unwrap() {
                for at in piece {
                    stored[at as usize] ^= 1 << (at % 8);
                    let pieces = range.pieces().unwrap();
                    let pieces = pieces
                        .iter()
                        .map(|p| &stored[p.start as usize..p.end as usize]);
                    let found = range.read(&pieces.collect::<Vec<_>>());
                    let found = found.map(|_| ()).map_err(|error| error.to_string());
                    let error = found.expect_err("a flipped bit");
                    assert!(error.contains("rows ") || error.contains("bit"), "{error}");
                    stored[at as usize] ^= 1 << (at % 8);
                }
            }
        }
    }

    /// A block in another's place is intact, but its check contains the number of its own unit.
    #[test]
    fn row_range_refuses_swapped_blocks() {
        for data in samples() {
            let mut stored = Vec::new();
            write_blocks(&data, None, None, None, &mut stored).unwrap();
            let layout = layout(&stored);
            let start = layout.block_offset(0).unwrap() as usize;
            let bytes = layout.block_offset(1).unwrap() as usize - start;
            if layout.block_offset(2).unwrap() as usize != start + 2 * bytes {
                // Sparse blocks of different sizes.
                continue;
            }
            let (one, other) = stored[start..start + 2 * bytes].split_at_mut(bytes);
            one.swap_with_slice(other);
            let found = crate::read_blocks(stored.as_slice());
            assert!(matches!(found, Err(BlocksError::Check { .. })), "{found:?}");
        }
    }
}

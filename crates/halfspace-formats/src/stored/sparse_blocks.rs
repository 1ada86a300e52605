//! Blocks of sparse rows in the stored form.
//!
//! A block is one unit of words:
//!
//! - a word with the length of the packed numbers in bytes in its lower half, and the number of active features in its
//!   upper half;
//! - the packed numbers, filled up with zeros to whole words: for each row the number of its active features, then
//!   for each row these features, the first from 0 and each other one as the distance from the one before, less 1.
//!   They are packed as Stream VByte (Lemire, Kurz and Rupp 2018). First come the lengths: two bits per number say
//!   that it takes 1 to 4 bytes, the first of four in the lowest bits of a byte. The numbers follow, little-endian;
//! - in real rows a double per active feature;
//! - in labelled data one word of labels, as in dense blocks.
//!
//! The blocks differ in size, so an index follows the last one: the byte offset of the end of each block, in a unit
//! of its own.
//!
//! The lengths stand apart from the numbers, so a reader has no branch to predict per number. We read them ourselves:
//! `streamvbyte64` 0.2 is fast only on aarch64, `stream-vbyte` 0.4 only with features of the compiler, and `bitpacking`
//! 0.9 packs fixed blocks of 128 integers or more.

use std::io::{self, ErrorKind, Read, Write};

use halfspace_core::bits::{SparseBlock, SparseMatrix};

use crate::stored::header::BlocksError;
use crate::stored::words::{WordReader, WordWriter};

const WORD_BYTES: usize = size_of::<u64>();

/// The most bytes of a number of 32 bits with its length.
pub(crate) const NUMBER_BYTES_MAX: usize = 5;

/// Numbers whose lengths share a byte.
const GROUP: usize = 4;

/// The bits of a number by its length less 1.
const MASKS: [u32; GROUP] = [0xff, 0xffff, 0xff_ffff, u32::MAX];

/// Packs numbers behind their lengths.
struct Packer<'b> {
    lengths: &'b mut [u8],
    bytes: &'b mut [u8],
    count: usize,
    end: usize,
}

impl<'b> Packer<'b> {
    /// Packs `count` numbers, for which the buffer has space afterwards.
    fn new(count: usize, buffer: &'b mut Vec<u8>) -> Self {
        let lengths = count.div_ceil(GROUP);
        buffer.clear();
        buffer.resize(lengths + count * size_of::<u32>(), 0);
        let (lengths, bytes) = buffer.split_at_mut(lengths);
        Self {
            lengths,
            bytes,
            count: 0,
            end: 0,
        }
    }

    #[inline]
    fn push(&mut self, number: u32) {
        let more = MASKS[..3]
            .iter()
            .map(|most| u8::from(number > *most))
            .sum::<u8>();
        self.lengths[self.count / GROUP] |= more << (2 * (self.count % GROUP));
        // All four bytes are written. The next number overwrites those that this one does not need.
        self.bytes[self.end..][..size_of::<u32>()].copy_from_slice(&number.to_le_bytes());
        self.count += 1;
        self.end += usize::from(more) + 1;
    }

    /// The number of bytes that all numbers take.
    fn finish(self) -> usize {
        debug_assert_eq!(self.lengths.len(), self.count.div_ceil(GROUP));
        self.lengths.len() + self.end
    }
}

/// The packed numbers at the start of some bytes, and the number of bytes that they take. At least three bytes more
/// follow them. None if the bytes end before.
fn unpacked(count: usize, bytes: &[u8]) -> Option<(Vec<u32>, usize)> {
    let (lengths, bytes) = bytes.split_at_checked(count.div_ceil(GROUP))?;
    // Each number takes at least a byte.
    let mut numbers = vec![0; count.min(bytes.len())];
    let mut at = 0;
    for (four, lengths) in numbers.chunks_mut(GROUP).zip(lengths) {
        let mut lengths = *lengths;
        for number in four {
            let more = usize::from(lengths) % GROUP;
            *number = u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?) & MASKS[more];
            lengths >>= 2;
            at += more + 1;
        }
    }
    (numbers.len() == count).then_some((numbers, lengths.len() + at))
}

/// Writes a block without its labels and its check. `bytes` is a reused buffer.
pub(crate) fn write(
    block: SparseBlock<'_>,
    bytes: &mut Vec<u8>,
    to: &mut WordWriter<impl Write>,
) -> io::Result<()> {
    let mut packer = Packer::new(block.rows() + block.entries(), bytes);
    let rows = || (0..block.rows()).map(|row| block.row(row));
    rows().for_each(|row| packer.push(row.ids.len() as u32));
    for row in rows() {
        let mut next = 0;
        for &id in row.ids {
            packer.push(id - next);
            next = id + 1;
        }
    }
    let used = packer.finish();
    bytes.truncate(used);
    // There are at least as many bytes as entries.
    let length = u32::try_from(used).map_err(|_| ErrorKind::FileTooLarge)?;
    let head = u64::from(length) | (block.entries() as u64) << u32::BITS;
    bytes.resize(bytes.len().next_multiple_of(WORD_BYTES), 0);
    to.write([head])?;
    to.write_slice(bytes.as_chunks().0, u64::from_le_bytes)?;
    for values in rows().filter_map(|row| row.values) {
        to.write_slice(values, f64::to_bits)?;
    }
    Ok(())
}

/// The words of a block, not yet compared with their check.
pub(crate) struct SparseWords {
    length: usize,
    entries: usize,
    packed: Vec<[u8; WORD_BYTES]>,
    values: Vec<f64>,
}

impl SparseWords {
    /// Reads the words of a block of `rows` rows up to its labels. Memory grows only with the bytes that arrive. None
    /// if the sizes are impossible, or differ from the number of words that `count` states.
    ///
    /// # Errors
    /// When the source fails or ends.
    pub(crate) fn read(
        has_values: bool,
        rows: usize,
        count: Option<usize>,
        words: &mut WordReader<impl Read>,
    ) -> io::Result<Option<Self>> {
        let head = words.word()?;
        let (length, entries) = (head as u32 as usize, (head >> u32::BITS) as usize);
        let values_count = if has_values { entries } else { 0 };
        let own = 1 + length.div_ceil(WORD_BYTES) + values_count;
        // Each number takes at least a byte.
        if entries + rows > length || count.is_some_and(|count| count != own) {
            return Ok(None);
        }
        let (mut packed, mut values) = (Vec::new(), Vec::new());
        words.read(length.div_ceil(WORD_BYTES), &mut packed, u64::to_le_bytes)?;
        words.read(values_count, &mut values, f64::from_bits)?;
        Ok(Some(Self {
            length,
            entries,
            packed,
            values,
        }))
    }

    /// Appends the `rows` rows of the block to rows of the same kind.
    ///
    /// # Errors
    /// When the words are not those of such a block.
    pub(crate) fn unpack(mut self, rows: usize, to: &mut SparseMatrix) -> Result<(), BlocksError> {
        let fill = &self.packed.as_flattened()[self.length..];
        if fill.iter().any(|byte| *byte != 0) {
            return Err(BlocksError::StrayBits);
        }
        if !self.values.iter().all(|value| value.is_finite()) {
            return Err(BlocksError::NotFinite);
        }
        self.packed.push([0; WORD_BYTES]);
        let read = self.append(rows, to);
        read.ok_or(BlocksError::Header("a sparse block"))
    }

    /// None if the bytes are not the rows of a block.
    fn append(&self, rows: usize, to: &mut SparseMatrix) -> Option<()> {
        let (numbers, used) = unpacked(rows + self.entries, self.packed.as_flattened())?;
        let (counts, mut distances) = numbers.split_at(rows);
        let (is_real, mut values) = (to.is_real(), &self.values[..]);
        for &count in counts {
            let (own, own_values);
            (own, distances) = distances.split_at_checked(count as usize)?;
            (own_values, values) = values.split_at(own.len().min(values.len()));
            to.push_distances(own, is_real.then_some(own_values))?;
        }
        (distances.is_empty() && used == self.length).then_some(())
    }
}

/// The rows with ids that are larger by 1.
pub(crate) fn raised(rows: &SparseMatrix) -> SparseMatrix {
    let mut raised = SparseMatrix::new(rows.n(), rows.is_real());
    for row in (0..rows.rows()).map(|row| rows.row(row)) {
        for (id, value) in row.entries() {
            raised.push(id as u32 + 1, value);
        }
        raised.end_row();
    }
    raised
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The numbers as they are stored, with the bytes that a reader adds.
    fn packed(numbers: &[u32]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut packer = Packer::new(numbers.len(), &mut bytes);
        numbers.iter().for_each(|number| packer.push(*number));
        let used = packer.finish();
        bytes.truncate(used);
        bytes.extend([0; 3]);
        bytes
    }

    fn block_of(numbers: &[u32], entries: usize) -> SparseWords {
        let bytes = packed(numbers);
        let length = bytes.len() - 3;
        let mut words = bytes[..length].to_vec();
        words.resize(length.next_multiple_of(WORD_BYTES), 0);
        SparseWords {
            length,
            entries,
            packed: words.as_chunks().0.to_vec(),
            values: Vec::new(),
        }
    }

    proptest! {
        #[test]
        fn packed_numbers_are_read_again(
            numbers in proptest::collection::vec((any::<u32>(), 0_u32..32).prop_map(|(it, by)| it >> by), 0..40),
        ) {
            let bytes = packed(&numbers);
            prop_assert_eq!(unpacked(numbers.len(), &bytes), Some((numbers, bytes.len() - 3)));
        }
    }

    #[test]
    fn packed_numbers_take_their_length_and_two_bits() {
        let bytes = packed(&[0, 256, 0x01_02_03, u32::MAX, 7]);
        assert_eq!(bytes[..2], [0b11_10_01_00, 0]);
        assert_eq!(bytes.len(), 2 + 1 + 2 + 3 + 4 + 1 + 3);
    }

    #[test]
    fn sparse_block_refuses_counts_and_features_that_do_not_fit() {
        let read = |numbers: &[u32], entries| {
            let mut rows = SparseMatrix::new(10, false);
            block_of(numbers, entries)
                .unpack(2, &mut rows)
                .map(|()| rows)
        };
        // Two rows: the feature 3 and no feature; the features 0 and 9, and 1.
        assert_eq!(read(&[1, 0, 3], 1).unwrap().row(0).ids, [3]);
        let rows = read(&[2, 1, 0, 8, 1], 3).unwrap();
        assert_eq!((rows.row(0).ids, rows.row(1).ids), (&[0, 9][..], &[1][..]));
        for (numbers, entries) in [
            (&[1, 0, 10][..], 1),
            (&[2, 0, 5, u32::MAX], 2),
            (&[1, 1, 3], 2),
            (&[1, 0, 3], 2),
            (&[1, 0, 3, 4], 1),
        ] {
            assert!(read(numbers, entries).is_err(), "{numbers:?}");
        }
    }
}

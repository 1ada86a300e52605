//! The canonical bytes of a row: what the digest hashes, whatever the layout of the row.
//!
//! There are two forms. A row has the shorter one, or the dense one if both are equally long. Its first byte names the
//! form:
//!
//! - 0, dense: `ceil(n / 64)` packed words of 8 bytes, or n doubles;
//! - 1, sparse: the number of active features in 4 bytes, then each active feature in ascending order: its number
//!   from 0 in 4 bytes and, in a real row, its double.
//!
//! A feature is active if it is not 0 (in a Boolean row: if its bit is 1). All numbers are little-endian. Coordinate
//! `j` of packed words is bit `j % 64` of word `j / 64`. Doubles are IEEE 754 bits, and -0.0 counts as 0.0.

use halfspace_core::bits::{SparseRow, WORD_BITS, words_for};

const DENSE: u8 = 0;
const SPARSE: u8 = 1;
const COUNT_BYTES: usize = size_of::<u32>();
const ID_BYTES: usize = size_of::<u32>();
const WORD_BYTES: usize = size_of::<u64>();

/// Begins a row, and returns whether its form is the sparse one.
fn begin(dense_bytes: usize, active: usize, entry_bytes: usize, bytes: &mut Vec<u8>) -> bool {
    bytes.clear();
    let is_sparse = COUNT_BYTES + entry_bytes * active < dense_bytes;
    bytes.push(if is_sparse { SPARSE } else { DENSE });
    if is_sparse {
        bytes.extend_from_slice(&(active as u32).to_le_bytes());
    }
    is_sparse
}

/// Replaces `bytes` by the canonical bytes of a Boolean row of packed words.
pub(crate) fn of_words(words: impl Iterator<Item = u64> + Clone, bytes: &mut Vec<u8>) {
    let (mut count, mut active) = (0, 0);
    for word in words.clone() {
        count += 1;
        active += word.count_ones() as usize;
    }
    if !begin(count * WORD_BYTES, active, ID_BYTES, bytes) {
        return words.for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
    }
    for (at, mut word) in words.enumerate() {
        while word != 0 {
            let id = at * WORD_BITS + word.trailing_zeros() as usize;
            bytes.extend_from_slice(&(id as u32).to_le_bytes());
            word &= word - 1;
        }
    }
}

/// Replaces `bytes` by the canonical bytes of a row of doubles.
pub(crate) fn of_values(values: &[f64], bytes: &mut Vec<u8>) {
    let active = values.iter().filter(|value| **value != 0.0).count();
    let is_sparse = begin(size_of_val(values), active, ID_BYTES + WORD_BYTES, bytes);
    if is_sparse {
        let active = values
            .iter()
            .enumerate()
            .filter(|(_, value)| **value != 0.0);
        return active.for_each(|(id, value)| push_entry(id, *value, bytes));
    }
    let start = bytes.len();
    bytes.resize(start + size_of_val(values), 0);
    for (eight, value) in bytes[start..].as_chunks_mut().0.iter_mut().zip(values) {
        *eight = (value + 0.0).to_le_bytes();
    }
}

/// Replaces `bytes` by the canonical bytes of a sparse row of `n` features.
pub(crate) fn of_sparse(n: usize, row: SparseRow<'_>, bytes: &mut Vec<u8>) {
    let active = || row.entries().filter(|(_, value)| *value != 0.0);
    let (dense_bytes, entry_bytes) = match row.values {
        None => (words_for(n) * WORD_BYTES, ID_BYTES),
        Some(_) => (n * WORD_BYTES, ID_BYTES + WORD_BYTES),
    };
    let is_sparse = begin(dense_bytes, active().count(), entry_bytes, bytes);
    match (is_sparse, row.values) {
        (true, None) => {
            let start = bytes.len();
            bytes.resize(start + size_of_val(row.ids), 0);
            for (four, id) in bytes[start..].as_chunks_mut().0.iter_mut().zip(row.ids) {
                *four = id.to_le_bytes();
            }
        }
        (true, Some(_)) => active().for_each(|(id, value)| push_entry(id, value, bytes)),
        (false, values) => {
            let start = bytes.len();
            bytes.resize(start + dense_bytes, 0);
            for (id, value) in active() {
                match values {
                    None => bytes[start + id / 8] |= 1 << (id % 8),
                    Some(_) => bytes[start + id * WORD_BYTES..][..WORD_BYTES]
                        .copy_from_slice(&value.to_le_bytes()),
                }
            }
        }
    }
}

fn push_entry(id: usize, value: f64, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(&(id as u32).to_le_bytes());
    bytes.extend_from_slice(&value.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn canonical_row_has_the_same_bytes_in_both_layouts(
            values in proptest::collection::vec(
                prop_oneof![6 => Just(0.0), 1 => Just(-0.0), 2 => -9.0..9.0],
                1..200,
            ),
        ) {
            let n = values.len();
            let active: Vec<(u32, f64)> = (0..).zip(values.clone()).filter(|one| one.1 != 0.0).collect();
            let ids: Vec<u32> = active.iter().map(|one| one.0).collect();
            let own: Vec<f64> = active.iter().map(|one| one.1).collect();
            let (mut dense, mut sparse) = (vec![7], vec![9, 9]);
            of_values(&values, &mut dense);
            of_sparse(n, SparseRow { ids: &ids, values: Some(&own) }, &mut sparse);
            prop_assert_eq!(&dense, &sparse);
            // A feature that is explicitly 0 is not active.
            let all: Vec<u32> = (0..n as u32).collect();
            of_sparse(n, SparseRow { ids: &all, values: Some(&values) }, &mut sparse);
            prop_assert_eq!(&dense, &sparse);

            let row = SparseRow { ids: &ids, values: None };
            let mut words = vec![0; words_for(n)];
            row.pack(&mut words);
            of_words(words.iter().copied(), &mut dense);
            of_sparse(n, row, &mut sparse);
            prop_assert_eq!(&dense, &sparse);
        }
    }

    #[test]
    fn canonical_row_takes_the_shorter_form() {
        let mut bytes = Vec::new();
        of_words([0b101, 0].into_iter(), &mut bytes);
        assert_eq!(bytes, [1, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0]);
        of_words([0b101].into_iter(), &mut bytes);
        assert_eq!(bytes, [0, 5, 0, 0, 0, 0, 0, 0, 0]);
        of_values(&[0.0, 0.0, 2.0], &mut bytes);
        let two = 2.0_f64.to_le_bytes();
        assert_eq!(
            bytes,
            [&[1, 1, 0, 0, 0, 2, 0, 0, 0], two.as_slice()].concat()
        );
        of_values(&[2.0], &mut bytes);
        assert_eq!(bytes, [&[0], two.as_slice()].concat());
    }
}

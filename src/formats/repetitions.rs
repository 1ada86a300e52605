//! How often examples repeat each other, or contradict each other, in bounded memory.
//!
//! Rows are told apart by 127 bits of their SHA-256: nobody can make two rows that are taken for
//! one. What is kept is 16 bytes an example, up to [`EXAMPLES_MAX`] of them.

use sha2::{Digest, Sha256};

use super::blocks::{BlocksHeader, LabelsKind};

/// Examples that are compared: 64 MiB of digests.
pub const EXAMPLES_MAX: usize = 1 << 22;

/// What repeats among examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepetitionCounts {
    /// Examples that equal an earlier one, label included.
    pub duplicates: u64,
    /// Distinct rows that appear with both labels; none where there are no labels.
    pub contradictions: Option<u64>,
}

/// Counts what repeats among rows that come one after the other.
pub(super) struct RepetitionCounter {
    /// Of each example the digest of its row, its label in the lowest bit: in order, examples of
    /// one row stand together, and of these those of one label. None when there are too many.
    keys: Option<Vec<u128>>,
    is_labelled: bool,
}

impl RepetitionCounter {
    /// For rows that are compared when there are at most `examples_max`.
    pub(super) fn new(header: &BlocksHeader, examples_max: usize) -> Self {
        let is_compared = header.rows <= examples_max;
        Self {
            keys: is_compared.then(|| Vec::with_capacity(header.rows)),
            is_labelled: header.labels == LabelsKind::Labelled,
        }
    }

    /// Takes the canonical bytes of the next row, and its label where there are labels.
    pub(super) fn push(&mut self, row: &[u8], label: Option<bool>) {
        if let Some(keys) = &mut self.keys {
            keys.push(row_key(row) << 1 | u128::from(label == Some(true)));
        }
    }

    /// What repeats; none when there were more rows than are compared.
    pub(super) fn finish(self) -> Option<RepetitionCounts> {
        let mut keys = self.keys?;
        keys.sort_unstable();
        let distinct = |same: fn(&u128, &u128) -> bool| keys.chunk_by(same).count() as u64;
        let examples = distinct(|one, other| one == other);
        let rows = distinct(|one, other| one >> 1 == other >> 1);
        Some(RepetitionCounts {
            duplicates: keys.len() as u64 - examples,
            // A row of one label is one distinct example, a row of both is two.
            contradictions: self.is_labelled.then(|| examples - rows),
        })
    }
}

/// The first 127 bits of the digest of a row, in the lower bits.
fn row_key(row: &[u8]) -> u128 {
    let digest: [u8; 32] = Sha256::digest(row).into();
    let mut first = [0; 16];
    first.copy_from_slice(&digest[..16]);
    u128::from_be_bytes(first) >> 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    use super::super::parts::{Part, for_each_part};
    use crate::bits::{BitMatrix, BitVector};
    use crate::learners::data::{Data, Features, Labels, RealMatrix};

    fn count_repetitions(data: &Data, examples_max: usize) -> Option<RepetitionCounts> {
        let mut counter = RepetitionCounter::new(&BlocksHeader::of(data), examples_max);
        let mut bytes = Vec::new();
        let see = |part: Part<'_>| {
            part.for_each_row(&mut bytes, |row, label| counter.push(row, label));
            Ok::<(), Infallible>(())
        };
        let Ok(()) = for_each_part(data, see);
        counter.finish()
    }

    /// Rows of three bits with their labels.
    fn boolean(rows: &[(u64, bool)]) -> Data {
        let mut matrix = BitMatrix::new(3);
        let mut labels = BitVector::zeros(rows.len());
        for (at, &(row, label)) in rows.iter().enumerate() {
            matrix.push_row(&[row]);
            labels.set(at, label);
        }
        Data::new(Features::Boolean(matrix), Labels::Labelled(labels))
    }

    fn counts(data: &Data) -> (u64, Option<u64>) {
        let counted = count_repetitions(data, EXAMPLES_MAX).unwrap();
        (counted.duplicates, counted.contradictions)
    }

    #[test]
    fn examples_of_one_row_are_told_from_those_of_both_labels() {
        let apart = boolean(&[(0, true), (1, true), (2, false)]);
        assert_eq!(counts(&apart), (0, Some(0)));
        // Row 5 three times and once contradicted; row 1 contradicted and repeated.
        let rows = [
            (5, true),
            (1, false),
            (5, true),
            (5, false),
            (1, true),
            (1, true),
            (5, true),
            (7, false),
        ];
        assert_eq!(counts(&boolean(&rows)), (3, Some(2)));
    }

    #[test]
    fn data_without_labels_do_not_contradict_themselves() {
        let real = RealMatrix::from_values(2, vec![0.5, 0.0, 1.0, 2.0, 0.5, -0.0]);
        let data = Data::new(Features::Real(real), Labels::HalfSpace);
        assert_eq!(counts(&data), (1, None));
    }

    #[test]
    fn more_examples_than_the_budget_are_not_counted() {
        let data = boolean(&[(0, true), (0, true), (0, true)]);
        assert!(count_repetitions(&data, 2).is_none());
        assert!(count_repetitions(&data, 3).is_some());
    }
}

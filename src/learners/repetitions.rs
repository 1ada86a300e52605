//! How often examples repeat each other, or contradict each other, in bounded memory.
//!
//! Rows are told apart by 127 bits of their SHA-256: nobody can make two rows that are taken for
//! one. What is kept is 16 bytes an example, up to [`EXAMPLES_MAX`] of them.

use sha2::{Digest, Sha256};

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
pub struct RepetitionCounter {
    /// Of each example the digest of its row, its label in the lowest bit: in order, examples of
    /// one row stand together, and of these those of one label. None when there are too many.
    keys: Option<Vec<u128>>,
    is_labelled: bool,
}

impl RepetitionCounter {
    /// For so many rows, which are compared when there are at most `examples_max`.
    pub fn new(rows: usize, is_labelled: bool, examples_max: usize) -> Self {
        let is_compared = rows <= examples_max;
        Self {
            keys: is_compared.then(|| Vec::with_capacity(rows)),
            is_labelled,
        }
    }

    /// Takes the canonical bytes of the next row, and its label where there are labels.
    pub fn push(&mut self, row: &[u8], label: Option<bool>) {
        if let Some(keys) = &mut self.keys {
            keys.push(row_key(row) << 1 | u128::from(label == Some(true)));
        }
    }

    /// What repeats; none when there were more rows than are compared.
    pub fn finish(self) -> Option<RepetitionCounts> {
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
pub(super) fn row_key(row: &[u8]) -> u128 {
    let digest: [u8; 32] = Sha256::digest(row).into();
    let mut first = [0; 16];
    first.copy_from_slice(&digest[..16]);
    u128::from_be_bytes(first) >> 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What repeats among rows with their labels, or without where `is_labelled` says so.
    fn counts(rows: &[(u8, bool)], is_labelled: bool, most: usize) -> Option<RepetitionCounts> {
        let mut counter = RepetitionCounter::new(rows.len(), is_labelled, most);
        for &(row, label) in rows {
            counter.push(&[row], is_labelled.then_some(label));
        }
        counter.finish()
    }

    fn counted(rows: &[(u8, bool)], is_labelled: bool) -> (u64, Option<u64>) {
        let counted = counts(rows, is_labelled, EXAMPLES_MAX).unwrap();
        (counted.duplicates, counted.contradictions)
    }

    #[test]
    fn examples_of_one_row_are_told_from_those_of_both_labels() {
        let apart = [(0, true), (1, true), (2, false)];
        assert_eq!(counted(&apart, true), (0, Some(0)));
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
        assert_eq!(counted(&rows, true), (3, Some(2)));
    }

    #[test]
    fn data_without_labels_do_not_contradict_themselves() {
        assert_eq!(
            counted(&[(1, true), (2, true), (1, true)], false),
            (1, None)
        );
    }

    #[test]
    fn more_examples_than_the_budget_are_not_counted() {
        let rows = [(0, true), (0, true), (0, true)];
        assert!(counts(&rows, true, 2).is_none());
        assert!(counts(&rows, true, 3).is_some());
    }
}

//! Counts of examples that repeat or contradict each other, in bounded memory.
//!
//! 127 bits of the SHA-256 digest identify a row, so nobody can construct two different rows that count as
//! equal. The counter keeps 16 bytes per example for at most [`EXAMPLES_MAX`] examples.

use sha2::{Digest, Sha256};

/// The largest number of compared examples: 64 MiB of digests.
pub const EXAMPLES_MAX: usize = 1 << 22;

/// The repetitions among examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepetitionCounts {
    /// Examples that equal an earlier one, including the label.
    pub duplicates: u64,
    /// Distinct rows that appear with both labels. None if there are no labels.
    pub contradictions: Option<u64>,
}

/// Counts repetitions among rows that arrive one after another.
pub struct RepetitionCounter {
    /// The digest of each row, with the label in the lowest bit. Sorting groups the examples by row and
    /// within a row by label. None if there are too many rows.
    keys: Option<Vec<u128>>,
    is_labelled: bool,
}

impl RepetitionCounter {
    /// A counter for `rows` rows. The rows are compared if there are at most `examples_max`.
    pub fn new(rows: usize, is_labelled: bool, examples_max: usize) -> Self {
        let is_compared = rows <= examples_max;
        Self {
            keys: is_compared.then(|| Vec::with_capacity(rows)),
            is_labelled,
        }
    }

    /// Adds the canonical bytes of the next row, and the label if there are labels.
    pub fn push(&mut self, row: &[u8], label: Option<bool>) {
        if let Some(keys) = &mut self.keys {
            keys.push(row_key(row) << 1 | u128::from(label == Some(true)));
        }
    }

    /// The counts. None if there were too many rows to compare.
    pub fn finish(self) -> Option<RepetitionCounts> {
        let mut keys = self.keys?;
        keys.sort_unstable();
        let distinct = |same: fn(&u128, &u128) -> bool| keys.chunk_by(same).count() as u64;
        let examples = distinct(|one, other| one == other);
        let rows = distinct(|one, other| one >> 1 == other >> 1);
        Some(RepetitionCounts {
            duplicates: keys.len() as u64 - examples,
            // A row with one label is one distinct example. A row with both labels is two.
            contradictions: self.is_labelled.then(|| examples - rows),
        })
    }
}

/// The first 127 bits of the digest of a row, in the lower bits.
pub(crate) fn row_key(row: &[u8]) -> u128 {
    let digest: [u8; 32] = Sha256::digest(row).into();
    let mut first = [0; 16];
    first.copy_from_slice(&digest[..16]);
    u128::from_be_bytes(first) >> 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The repetitions among rows, with their labels if `is_labelled` is true.
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
        // Row 5 appears with one label three times and with the other once. Row 1 is contradicted and
        // repeated.
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

//! Counts of examples that repeat or contradict each other, in bounded memory.
//!
//! A row is identified by a key of 112 bits: the lower part of the value of a polynomial modulo the prime 2^127 - 1
//! (Carter and Wegman, 1979). The words of the row are its coefficients, and each counter evaluates it at a secret
//! random point. Two different rows of `w` words have the same key at no more than `w * 2^15` of the 2^127 points, so
//! nobody can construct such rows. The counter keeps 16 bytes per example, of which 2 are the code of the class, and
//! counts nothing if there are more examples than its caller allows.

use std::hash::{BuildHasher, RandomState};

use crate::learners::sample::classes::PLANES_MAX;

/// The largest number of compared examples: 64 MiB of digests.
pub const EXAMPLES_MAX: usize = 1 << 22;

/// The repetitions among examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepetitionCounts {
    /// Examples that equal an earlier one, including the label.
    pub duplicates: u64,
    /// Distinct rows that appear with several labels. None if there are no labels.
    pub contradictions: Option<u64>,
}

/// Counts repetitions among rows that arrive one after another.
pub struct RepetitionCounter {
    /// The key of each row, with the class code in the lowest bits, so that sorting groups the examples by row and
    /// within a row by class. None if there are too many rows.
    keys: Option<Vec<u128>>,
    polynomial: RowPolynomial,
    is_labelled: bool,
}

impl RepetitionCounter {
    /// Bytes of memory per compared row.
    pub const ROW_BYTES: usize = size_of::<u128>();

    /// A counter for `rows` rows. The rows are compared if there are at most `examples_max`.
    pub fn new(rows: usize, is_labelled: bool, examples_max: usize) -> Self {
        let is_compared = rows <= examples_max;
        Self {
            keys: is_compared.then(|| Vec::with_capacity(rows)),
            polynomial: RowPolynomial::at_a_secret_point(),
            is_labelled,
        }
    }

    /// Adds the canonical bytes of the next row, and the code of its class if there are labels. All rows have the same
    /// length, or begin with it.
    pub fn push(&mut self, row: &[u8], label: Option<u32>) {
        if let Some(keys) = &mut self.keys {
            keys.push(self.polynomial.value(row) << PLANES_MAX | u128::from(label.unwrap_or(0)));
        }
    }

    /// The counts. None if there were too many rows to compare.
    pub fn finish(self) -> Option<RepetitionCounts> {
        let mut keys = self.keys?;
        keys.sort_unstable();
        let examples = keys.chunk_by(|one, other| one == other).count();
        let rows = keys.chunk_by(|one, other| one >> PLANES_MAX == other >> PLANES_MAX);
        let contradictions = rows
            .filter(|labels| labels.first() != labels.last())
            .count();
        Some(RepetitionCounts {
            duplicates: (keys.len() - examples) as u64,
            contradictions: self.is_labelled.then_some(contradictions as u64),
        })
    }
}

/// The prime 2^127 - 1.
const PRIME: u128 = (1 << 127) - 1;

/// Words of a row per step. More of them make a step cheaper per word, but short rows slower.
const STEP_WORDS: usize = 8;

/// Evaluates polynomials modulo [`PRIME`] at one point.
struct RowPolynomial {
    /// The factors of the terms of a step: two for the upper and the lower word of the value before it, and one for
    /// each word of the row.
    factors: [u128; STEP_WORDS + 2],
}

impl RowPolynomial {
    /// Draws the point as the standard library draws the keys of a `HashMap`. The counts do not depend on the point.
    fn at_a_secret_point() -> Self {
        let random = RandomState::new();
        let [upper, lower] = [0_u8, 1].map(|half| u128::from(random.hash_one(half)));
        Self::at((upper << 64 | lower) & PRIME)
    }

    fn at(point: u128) -> Self {
        let mut factors = [1; STEP_WORDS + 2];
        for at in (1..=STEP_WORDS).rev() {
            factors[at] = product(factors[at + 1], point);
        }
        factors[0] = product(factors[1], 1 << 64);
        Self { factors }
    }

    /// The value of the polynomial of a row, below 2^127. Zeros fill the last step.
    fn value(&self, row: &[u8]) -> u128 {
        let (steps, rest) = row.as_chunks();
        let mut value = steps.iter().fold(0, |value, step| self.step(value, step));
        if !rest.is_empty() {
            let mut last = [0; STEP_WORDS * 8];
            last[..rest.len()].copy_from_slice(rest);
            value = self.step(value, &last);
        }
        // The prime and 0 are the same value.
        if value == PRIME { 0 } else { value }
    }

    fn step(&self, value: u128, bytes: &[u8; STEP_WORDS * 8]) -> u128 {
        let mut words = [0; STEP_WORDS + 2];
        [words[0], words[1]] = [(value >> 64) as u64, value as u64];
        for (word, &eight) in words[2..].iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_le_bytes(eight);
        }
        sum_of_products(&self.factors, &words)
    }
}

fn product(one: u128, other: u128) -> u128 {
    let shifted = sum_of_products(&[one], &[(other >> 64) as u64]);
    let shifted = sum_of_products(&[shifted, shifted], &[1 << 63, 1 << 63]);
    sum_of_products(&[one, shifted], &[other as u64, 1])
}

/// The sum of the products of factors and words modulo [`PRIME`], at most [`PRIME`]. The factors are at most
/// [`PRIME`], and there are at most 32.
fn sum_of_products<const N: usize>(factors: &[u128; N], words: &[u64; N]) -> u128 {
    const { assert!(N <= 32) };
    // Sums of words with the weights 1, 2^64 and 2^128.
    let mut sums = [0_u128; 3];
    for (&factor, &word) in factors.iter().zip(words) {
        let lower = u128::from(factor as u64) * u128::from(word);
        let upper = (factor >> 64) * u128::from(word);
        sums[0] += u128::from(lower as u64);
        sums[1] += (lower >> 64) + u128::from(upper as u64);
        sums[2] += upper >> 64;
    }
    // 2^127 is 1 modulo the prime. The bits of the middle sum from bit 63 on have weights from 2^127 on.
    let middle = (sums[1] << 64 & PRIME) + (sums[1] >> 63);
    let sum = middle + sums[0] + 2 * sums[2];
    (sum & PRIME) + (sum >> 127)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The repetitions among rows, with their labels if `is_labelled` is true.
    fn counts(rows: &[(u8, bool)], is_labelled: bool, most: usize) -> Option<RepetitionCounts> {
        let mut counter = RepetitionCounter::new(rows.len(), is_labelled, most);
        for &(row, label) in rows {
            counter.push(
                &u64::from(row).to_le_bytes(),
                is_labelled.then_some(label.into()),
            );
        }
        counter.finish()
    }

    fn counted(rows: &[(u8, bool)], is_labelled: bool) -> (u64, Option<u64>) {
        let counted = counts(rows, is_labelled, EXAMPLES_MAX).unwrap();
        (counted.duplicates, counted.contradictions)
    }

    #[test]
    fn repetitions_count_duplicates_and_contradictions() {
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
    fn repetitions_of_unlabelled_data_have_no_contradictions() {
        assert_eq!(
            counted(&[(1, true), (2, true), (1, true)], false),
            (1, None)
        );
    }

    #[test]
    fn repetitions_beyond_the_memory_budget_are_not_counted() {
        let rows = [(0, true), (0, true), (0, true)];
        assert!(counts(&rows, true, 2).is_none());
        assert!(counts(&rows, true, 3).is_some());
    }

    /// Multiplies by doubling and adding, one bit at a time.
    fn slow_product(one: u128, other: u128) -> u128 {
        let sum = |one: u128, other: u128| (one + other) % PRIME;
        (0..127).rev().fold(0, |value, bit| {
            let doubled = sum(value, value);
            if other >> bit & 1 == 1 {
                sum(doubled, one % PRIME)
            } else {
                doubled
            }
        })
    }

    #[test]
    fn row_key_is_the_value_of_the_row_polynomial() {
        let points = [0, 1, 2, PRIME - 1, PRIME / 3, 0x0123_4567_89ab_cdef << 60];
        for point in points {
            let polynomial = RowPolynomial::at(point);
            for words in [1, 2, STEP_WORDS, STEP_WORDS + 1, 3 * STEP_WORDS] {
                for word in [0, 1, u64::MAX, 0x9e37_79b9_7f4a_7c15] {
                    let row = |at: usize| word.rotate_left(at as u32);
                    let bytes: Vec<u8> = (0..words).flat_map(|at| row(at).to_le_bytes()).collect();
                    let expected = (0..words.next_multiple_of(STEP_WORDS)).fold(0, |value, at| {
                        let coefficient = if at < words { row(at) } else { 0 };
                        (slow_product(value, point) + u128::from(coefficient)) % PRIME
                    });
                    assert_eq!(
                        polynomial.value(&bytes),
                        expected,
                        "{words} words at {point}"
                    );
                }
            }
        }
    }

    #[test]
    fn rows_that_differ_in_one_bit_have_different_keys() {
        let polynomial = RowPolynomial::at_a_secret_point();
        let mut row = [7; 20 * 8];
        let mut keys = vec![polynomial.value(&row)];
        for bit in 0..row.len() * 8 {
            row[bit / 8] ^= 1 << (bit % 8);
            keys.push(polynomial.value(&row));
            row[bit / 8] ^= 1 << (bit % 8);
        }
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 1 + row.len() * 8);
    }
}

//! Search for one or two examples that exclude every hyperplane.
//!
//! Two examples do if they have the same features and opposite labels. Without a bias, a single example whose features
//! are all 0 can too. The search is exact: rows are sorted by a hash, and rows with the same hash are compared. One
//! sweep holds the hashes of about 2^22 rows, and larger samples take several sweeps, each over one part of the hashes.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use crate::learners::engine::run::{Interrupt, Run};
use crate::learners::linear::linear_weights::Reading;
use crate::learners::sample::data::DenseFeatures;

use super::alternative::{Convention, Multiplier, units};
use super::examples::{SignedExamples, look};

/// Hashes held at once, about 64 MiB. If the hashes are uneven, there may be slightly more.
const HASHES_MAX: usize = 1 << 22;

/// Multipliers on one or two examples that exclude every separator, or `None` if there are no such examples.
///
/// # Errors
/// Returns the interrupt if the run stops.
pub fn contradiction(
    examples: &SignedExamples<'_>,
    convention: Convention,
    run: &Run,
) -> Result<Option<Vec<Multiplier>>, Interrupt> {
    contradiction_in_parts(examples, convention, HASHES_MAX, run)
}

fn contradiction_in_parts(
    examples: &SignedExamples<'_>,
    convention: Convention,
    hashes_max: usize,
    run: &Run,
) -> Result<Option<Vec<Multiplier>>, Interrupt> {
    if let Some(zero) = strict_zero(examples, convention, run)? {
        return Ok(Some(units([zero])));
    }
    let parts = examples.count().div_ceil(hashes_max) as u64;
    for part in 0..parts {
        let mut hashes: Vec<(u64, usize)> = Vec::new();
        for index in 0..examples.count() {
            look(run)?;
            let hash = hash(examples, index);
            if hash % parts == part {
                hashes.push((hash, index));
            }
        }
        hashes.sort_unstable();
        for group in hashes.chunk_by(|one, other| one.0 == other.0) {
            let rows = group.iter().map(|&(_, index)| index).collect();
            if let Some((one, other)) = opposite_pair(examples, rows, run)? {
                return Ok(Some(units([one.min(other), one.max(other)])));
            }
        }
    }
    Ok(None)
}

/// The first example with a = 0 on which the convention requires a.w > 0.
fn strict_zero(
    examples: &SignedExamples<'_>,
    convention: Convention,
    run: &Run,
) -> Result<Option<usize>, Interrupt> {
    if examples.has_bias() {
        return Ok(None);
    }
    for index in 0..examples.count() {
        look(run)?;
        let is_zero = match examples.features() {
            DenseFeatures::Boolean(matrix) => {
                let is_unsigned = examples.reading() == Reading::Unsigned;
                is_unsigned && matrix.row(index).words().iter().all(|&word| word == 0)
            }
            DenseFeatures::Real(matrix) => matrix.row(index).iter().all(|&value| value == 0.0),
        };
        if is_zero && convention.is_strict_on(examples.is_negative(index)) {
            return Ok(Some(index));
        }
    }
    Ok(None)
}

/// A positive and a negative example among `rows` with the same features.
fn opposite_pair(
    examples: &SignedExamples<'_>,
    mut rows: Vec<usize>,
    run: &Run,
) -> Result<Option<(usize, usize)>, Interrupt> {
    while let Some(&first) = rows.first() {
        look(run)?;
        let mut others = Vec::new();
        for &row in &rows[1..] {
            if !are_equal(examples, first, row) {
                others.push(row);
            } else if examples.is_negative(row) != examples.is_negative(first) {
                return Ok(Some((first, row)));
            }
        }
        rows = others;
    }
    Ok(None)
}

fn are_equal(examples: &SignedExamples<'_>, one: usize, other: usize) -> bool {
    match examples.features() {
        DenseFeatures::Boolean(matrix) => matrix.row(one) == matrix.row(other),
        DenseFeatures::Real(matrix) => matrix.row(one) == matrix.row(other),
    }
}

fn hash(examples: &SignedExamples<'_>, index: usize) -> u64 {
    // This hasher has fixed keys, so the same data yield the same pair.
    let mut hasher = DefaultHasher::new();
    match examples.features() {
        DenseFeatures::Boolean(matrix) => matrix.row(index).words().hash(&mut hasher),
        DenseFeatures::Real(matrix) => {
            // Adding 0 turns -0 into 0, because the two are equal.
            let bits = matrix
                .row(index)
                .iter()
                .map(|value| (value + 0.0).to_bits());
            bits.for_each(|bits| hasher.write_u64(bits));
        }
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::{BitMatrix, BitVector};
    use crate::learners::sample::data::{Data, Features, Labels};

    /// Returns two copies of twelve distinct rows. The second copy of row `opposite` has the opposite label.
    fn copies(opposite: Option<usize>) -> Data {
        let (mut matrix, mut labels) = (BitMatrix::new(5), BitVector::zeros(24));
        for index in 0..24 {
            let row = index % 12;
            matrix.push_row(&[row as u64 + 3]);
            labels.set(
                index,
                (row % 3 == 0) != (index >= 12 && opposite == Some(row)),
            );
        }
        Data::new(Features::Boolean(matrix), Labels::of_signs(labels))
    }

    #[test]
    fn contradiction_is_found_in_any_part_of_the_hashes() {
        let run = Run::default();
        for opposite in 0..12 {
            let data = copies(Some(opposite));
            let examples = SignedExamples::new(&data, Reading::Signed, true, &run).unwrap();
            for hashes_max in [1, 5, 100] {
                let convention = Convention::Strict;
                let found = contradiction_in_parts(&examples, convention, hashes_max, &run);
                assert_eq!(found, Ok(Some(units([opposite, opposite + 12]))));
            }
        }
        let data = copies(None);
        let examples = SignedExamples::new(&data, Reading::Signed, true, &run).unwrap();
        let found = contradiction_in_parts(&examples, Convention::Strict, 5, &run);
        assert_eq!(found, Ok(None));
    }
}

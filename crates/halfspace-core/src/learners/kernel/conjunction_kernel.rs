//! Kernels over conjunctions, in exact integers: the number of conjunctions that two examples both satisfy.
//!
//! R. Khardon, D. Roth and R. A. Servedio, "Efficiency versus convergence of Boolean kernels for on-line learning
//! algorithms" (2005), section 2. Two examples both satisfy a conjunction of literals if and only if they both
//! satisfy each of its literals. If they share c satisfied literals, there are 2^c such conjunctions, including the
//! empty one; with at most k literals, their number is the sum over l <= k of C(c, l). For all conjunctions, c is the
//! number of coordinates in which the examples agree. For monotone conjunctions, which have no negated literals, it
//! is the number of coordinates in which both are 1.

use serde::{Deserialize, Serialize};

use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use num_bigint::BigUint;

use crate::bits::{self, BLOCK_ROWS, BitMatrix, LIMB_BITS, Limb, Shared};

use crate::learners::arithmetic::wide::Wide;
use crate::learners::engine::run::StopFlag;
use crate::learners::sample::block::RowBits;

/// The largest size in bytes of the table for a kernel with a limit on literals.
pub const TABLE_BYTES_MAX: u64 = 1 << 28;

/// Values computed, and histogram bins summed, between two polls of the stop flag.
const VALUES_BETWEEN_LOOKS: usize = 256;

/// All conjunctions, or those without negated literals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Conjunctions {
    /// Conjunctions of literals, negated or not.
    All,
    /// Conjunctions of variables.
    Monotone,
}

/// A kernel over examples of `n` bits.
#[derive(Clone, Debug)]
pub struct Kernel {
    n: usize,
    conjunctions: Conjunctions,
    max_literals: Option<u64>,
    /// K(c) for c = 0..=n, computed on first use. Without a limit on literals no table is needed, because K(c) = 2^c.
    table: OnceLock<IntegerTable>,
    /// Held while the table is computed, so that only one thread computes it.
    computing: Arc<Mutex<()>>,
}

/// The values of a kernel would take too much memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the values of this kernel at n = {n} would take {bytes} bytes, more than {TABLE_BYTES_MAX}; \
     use fewer literals, or null"
)]
pub struct TableTooLarge {
    /// Features per example.
    pub n: usize,
    /// An upper bound on the bytes of the table.
    pub bytes: u64,
}

/// Whole numbers of equal width, stored one after the other.
#[derive(Clone, Debug)]
struct IntegerTable {
    words_per_value: usize,
    words: Vec<u64>,
}

/// For each number of satisfied literals, the sum of the labels of the support vectors that share so many with an
/// example.
#[derive(Clone, Debug)]
pub struct Histogram(Bins);

#[derive(Clone, Debug)]
enum Bins {
    /// Without a limit on literals: the sums times the powers that are the values of the kernel.
    Powers(Vec<Limb>),
    /// Indexed by the count of the bit kernels: coordinates in which both are 1, or in which they differ.
    Sums(Vec<i32>),
}

impl Kernel {
    /// A kernel over examples of `n >= 1` bits. If given, `max_literals` is at least 1.
    ///
    /// # Errors
    /// An error if the values would take more than [`TABLE_BYTES_MAX`].
    pub fn new(
        n: usize,
        conjunctions: Conjunctions,
        max_literals: Option<u64>,
    ) -> Result<Self, TableTooLarge> {
        let kernel = Self {
            n,
            conjunctions,
            max_literals,
            table: OnceLock::new(),
            computing: Arc::default(),
        };
        let words = bits::words_for(kernel.value_bits_max(n)) as u64;
        let bytes = (n as u64 + 1).saturating_mul(8 * words);
        if kernel.literals_below_n().is_some() && bytes > TABLE_BYTES_MAX {
            return Err(TableTooLarge { n, bytes });
        }
        Ok(kernel)
    }

    /// Features per example.
    pub fn n(&self) -> usize {
        self.n
    }

    /// The conjunctions that the kernel counts.
    pub fn conjunctions(&self) -> Conjunctions {
        self.conjunctions
    }

    /// The largest number of literals in a conjunction. None for any number.
    pub fn max_literals(&self) -> Option<u64> {
        self.max_literals
    }

    /// The value of the kernel for two examples that share `literals` satisfied literals.
    pub fn value(&self, literals: u64) -> BigUint {
        value(literals, self.max_literals)
    }

    /// The limit on literals, if it excludes any conjunction.
    fn literals_below_n(&self) -> Option<u64> {
        self.max_literals.filter(|&k| k < self.n as u64)
    }

    /// An upper bound on the bits of the value for so many shared literals. Of these, at most (literals + 1)^k
    /// conjunctions have at most k literals, and 2^literals any number.
    fn value_bits_max(&self, literals: usize) -> usize {
        let unbounded = literals + 1;
        match self.max_literals.filter(|&k| k < literals as u64) {
            None => unbounded,
            Some(k) => {
                let bits = k.saturating_mul(u64::from(unbounded.ilog2()) + 1);
                usize::try_from(bits).map_or(unbounded, |bits| unbounded.min(bits + 1))
            }
        }
    }

    /// The approximate number of words that a sum over a histogram reads.
    pub fn words_of_sum(&self) -> u64 {
        match self.literals_below_n() {
            None => (self.n / LIMB_BITS) as u64 + 1,
            Some(_) => (self.n as u64 + 1) * bits::words_for(self.value_bits_max(self.n)) as u64,
        }
    }

    /// The bits of a signed sum of fewer than 2^20 values, each for at most so many shared literals.
    pub fn sum_bits(&self, literals: usize) -> usize {
        self.value_bits_max(literals) + 21
    }

    /// An empty histogram.
    pub fn histogram(&self) -> Histogram {
        Histogram(match self.literals_below_n() {
            None => Bins::Powers(bits::limbs(self.n)),
            Some(_) => Bins::Sums(vec![0; self.n + 1]),
        })
    }

    /// Counts some rows of a matrix with their labels. Bit r of `positives` is set if row r has the label +1.
    pub fn count(
        &self,
        matrix: &BitMatrix,
        rows: Range<usize>,
        positives: &[u64],
        example: &[u64],
        histogram: &mut Histogram,
    ) {
        let sums = match &mut histogram.0 {
            Bins::Powers(limbs) => {
                let shared = match self.conjunctions {
                    Conjunctions::All => Shared::Equal,
                    Conjunctions::Monotone => Shared::Ones,
                };
                return bits::add_powers(matrix, rows, positives, example, shared, limbs);
            }
            Bins::Sums(sums) => sums,
        };
        let mut counts = [0; BLOCK_ROWS];
        bits::for_each_block(rows, |index, taken| {
            let block = matrix.block(index);
            match self.conjunctions {
                Conjunctions::All => bits::disagreements(block, example, &mut counts),
                Conjunctions::Monotone => bits::intersections(block, example, &mut counts),
            }
            for (row, &count) in counts.iter().enumerate() {
                let bit = |mask: u64| (mask >> row & 1) as i32;
                sums[count as usize] += (bit(positives[index]) * 2 - 1) * bit(taken);
            }
        });
    }

    /// Adds the sum over a histogram to `score` and empties the histogram. Returns false if the computation was told
    /// to stop; `score` is then invalid.
    pub fn add(&self, histogram: &mut Histogram, score: &mut Wide, stop: &StopFlag) -> bool {
        let (sums, table) = match (&mut histogram.0, self.literals_below_n()) {
            (Bins::Powers(limbs), _) => {
                for (index, limb) in limbs.iter_mut().enumerate() {
                    let sum = std::mem::take(limb).iter().sum();
                    if sum != 0 {
                        score.add_shifted(sum, index * LIMB_BITS);
                    }
                }
                return true;
            }
            (Bins::Sums(sums), Some(k)) => match self.table(k, stop) {
                None => return false,
                Some(table) => (sums, table),
            },
            (Bins::Sums(_), None) => unreachable!("the kernel made the histogram"),
        };
        for (count, sum) in sums.iter_mut().enumerate() {
            if *sum == 0 {
                continue;
            }
            if count.is_multiple_of(VALUES_BETWEEN_LOOKS) && stop.raised().is_some() {
                return false;
            }
            let literals = match self.conjunctions {
                Conjunctions::All => self.n - count,
                Conjunctions::Monotone => count,
            };
            score.add_product(i64::from(*sum), table.value(literals));
            *sum = 0;
        }
        true
    }

    /// Adds to `score` the values for 0, 1, 2 and more shared literals, times these sums. `known` keeps the values.
    pub(super) fn add_sums(&self, sums: &[i64], known: &mut Vec<BigUint>, score: &mut Wide) {
        for (literals, &sum) in sums.iter().enumerate().filter(|(_, sum)| **sum != 0) {
            if self.max_literals.is_none() {
                score.add_shifted(sum, literals);
                continue;
            }
            known.extend((known.len()..=literals).map(|literals| self.value(literals as u64)));
            let digits: Vec<u64> = known[literals].iter_u64_digits().collect();
            score.add_product(sum, &digits);
        }
    }

    /// K of an example with itself.
    pub fn of_itself(&self, example: RowBits<'_>) -> BigUint {
        let literals = match self.conjunctions {
            Conjunctions::All => self.n,
            Conjunctions::Monotone => example.count_ones(),
        };
        value(literals as u64, self.literals_below_n())
    }

    /// The table, computed if necessary. None if the computation was told to stop.
    fn table(&self, k: u64, stop: &StopFlag) -> Option<&IntegerTable> {
        if let Some(table) = self.table.get() {
            return Some(table);
        }
        let computing = self.computing.lock();
        let _computing = computing.unwrap_or_else(PoisonError::into_inner);
        if let Some(table) = self.table.get() {
            return Some(table);
        }
        let table = IntegerTable::new(
            self.n,
            k,
            bits::words_for(self.value_bits_max(self.n)),
            stop,
        )?;
        Some(self.table.get_or_init(|| table))
    }
}

impl PartialEq for Kernel {
    /// Compares the kernels regardless of their tables.
    fn eq(&self, other: &Self) -> bool {
        let parts = |kernel: &Self| (kernel.n, kernel.conjunctions, kernel.max_literals);
        parts(self) == parts(other)
    }
}

impl IntegerTable {
    /// The sums K(c) over l <= k of C(c, l) for c = 0..=n. K(c + 1) counts the subsets of c + 1 things with at most k
    /// members. Those with the last thing are subsets of c things with one member fewer, so K(c + 1) = 2
    /// K(c) - C(c, k).
    fn new(n: usize, k: u64, words_per_value: usize, stop: &StopFlag) -> Option<Self> {
        let mut words = vec![0; (n + 1) * words_per_value];
        let mut value = BigUint::from(1_u32);
        let mut binomial = BigUint::from(u32::from(k == 0));
        for (literals, place) in words.chunks_exact_mut(words_per_value).enumerate() {
            if literals.is_multiple_of(VALUES_BETWEEN_LOOKS) && stop.raised().is_some() {
                return None;
            }
            for (place, digit) in place.iter_mut().zip(value.iter_u64_digits()) {
                *place = digit;
            }
            let next = literals as u64 + 1;
            value = (value << 1) - &binomial;
            // C(c + 1, k) = C(c, k) (c + 1) / (c + 1 - k), starting from C(k, k) = 1.
            binomial = match next.checked_sub(k) {
                None => binomial,
                Some(0) => BigUint::from(1_u32),
                Some(above) => binomial * next / above,
            };
        }
        Some(Self {
            words_per_value,
            words,
        })
    }

    fn value(&self, literals: usize) -> &[u64] {
        &self.words[literals * self.words_per_value..][..self.words_per_value]
    }
}

/// The number of conjunctions that have at most `max_literals` of `literals` literals.
pub(super) fn value(literals: u64, max_literals: Option<u64>) -> BigUint {
    let Some(k) = max_literals.filter(|&k| k < literals) else {
        return BigUint::from(1_u32) << literals;
    };
    let mut binomial = BigUint::from(1_u32);
    let mut sum = binomial.clone();
    for l in 1..=k {
        binomial = binomial * (literals - l + 1) / l;
        sum += &binomial;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_table_holds_the_sums_of_binomials() {
        for k in [1, 2, 3, 7, 40] {
            let words = bits::words_for(101);
            let table =
                IntegerTable::new(100, k, words, &StopFlag::default()).expect("nobody stops it");
            for literals in 0..=100 {
                let expected = value(literals as u64, Some(k));
                let digits: Vec<u64> = expected.iter_u64_digits().collect();
                assert_eq!(table.value(literals)[..digits.len()], digits);
                assert!(
                    table.value(literals)[digits.len()..]
                        .iter()
                        .all(|&word| word == 0)
                );
            }
        }
        let chosen = |literals, k| value(literals, Some(k));
        assert_eq!(chosen(9, 3), BigUint::from(1_u32 + 9 + 36 + 84));
        assert_eq!(chosen(2, 3), BigUint::from(4_u32));
    }

    #[test]
    fn kernel_table_beyond_the_limit_is_refused() {
        let kernel = |n, k| Kernel::new(n, Conjunctions::All, k);
        assert!(kernel(1 << 20, Some(50)).is_ok());
        assert!(kernel(1 << 20, Some(200)).is_err());
        assert!(kernel(1 << 20, None).is_ok());
        assert!(kernel(40_000, Some(20_000)).is_ok());
        // A limit of n literals excludes no conjunction and needs no table.
        assert!(kernel(1 << 20, Some(1 << 20)).is_ok());
    }

    #[test]
    fn kernel_table_construction_obeys_the_stop_flag() {
        let stop = StopFlag::default();
        stop.raise(crate::learners::engine::run::Interrupt::Suspended);
        assert!(IntegerTable::new(100, 3, 1, &stop).is_none());
    }
}

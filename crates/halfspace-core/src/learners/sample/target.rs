//! Target concepts that label generated examples. Learners are not shown the concept.
//!
//! Variables are numbered by coordinate, and a literal is a variable or its negation. Disjunctions, DNFs and parities
//! read a bit as true (1) or false (0), a threshold reads it as 1 or 0, and binary weights read it as +1 or -1.

use rand::RngExt;
use rand::seq::index;

use crate::bits::{self, BitVector};

use crate::learners::engine::random::random_vector;
use crate::learners::engine::random::{Generator, Purpose, Seed};
use crate::learners::sample::block::half_space_limits;

/// Weights of a random threshold lie in -W..=W.
const RANDOM_WEIGHT_MAX: i64 = 100;

/// The largest magnitude of a weight. Sums over 2^20 features then fit into an i64.
pub const WEIGHT_MAX: i64 = 1 << 40;

/// A concept over examples of `n` bits.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// The sign of the product with weights in {-1, +1}, where sgn(0) = +1.
    BinaryWeights(BitVector),
    /// True if and only if at least one literal is true.
    Disjunction {
        /// Features per example.
        n: usize,
        /// The literals, at least one.
        literals: Literals,
    },
    /// True if and only if all literals of at least one term are true.
    Dnf {
        /// Features per example.
        n: usize,
        /// The terms, at least one.
        terms: Vec<Literals>,
    },
    /// True if and only if the weights of the 1 bits sum to at least `theta`.
    Threshold {
        /// One weight per feature, each at most [`WEIGHT_MAX`] in magnitude.
        weights: Vec<i64>,
        /// The smallest sum for which the concept is true.
        theta: i64,
    },
    /// True if and only if an odd number of the marked variables are true.
    Parity(BitVector),
}

/// A list of literals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Literals(Vec<Literal>);

/// A variable by its coordinate, counted from 0, and the value that makes the literal true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Literal {
    variable: usize,
    value: bool,
}

impl Literals {
    /// The literals of these variable numbers, counted from 1. A minus sign negates a variable.
    ///
    /// # Panics
    /// Panics if a number is 0.
    pub fn new(numbers: &[i64]) -> Self {
        let literal = |&number: &i64| Literal {
            variable: number.unsigned_abs() as usize - 1,
            value: number > 0,
        };
        Self(numbers.iter().map(literal).collect())
    }

    fn any_in(&self, row: &[u64]) -> bool {
        self.0.iter().any(|literal| literal.is_true_in(row))
    }

    fn all_in(&self, row: &[u64]) -> bool {
        self.0.iter().all(|literal| literal.is_true_in(row))
    }
}

impl Literal {
    fn is_true_in(self, row: &[u64]) -> bool {
        let word = row[self.variable / bits::WORD_BITS];
        (word >> (self.variable % bits::WORD_BITS) & 1 == 1) == self.value
    }
}

impl Target {
    /// Features per example.
    pub fn n(&self) -> usize {
        match self {
            Self::BinaryWeights(weights) => weights.n(),
            Self::Disjunction { n, .. } | Self::Dnf { n, .. } => *n,
            Self::Threshold { weights, .. } => weights.len(),
            Self::Parity(variables) => variables.n(),
        }
    }

    /// The mask of the rows of a block on which the concept is false or its sign negative. Bits past the last row
    /// mean nothing.
    pub fn negatives(&self, bits: bits::BitBlock<'_>) -> u64 {
        match self {
            Self::BinaryWeights(weights) => {
                let (limit, _) = half_space_limits(weights.n(), 0);
                bits::rows_over(bits, weights.words(), limit, 0)
            }
            _ => {
                let mut row_words = vec![0; bits.words_per_row()];
                (0..bits.rows()).fold(0, |mask, row| {
                    bits.copy_row(row, &mut row_words);
                    mask | u64::from(!self.holds(&row_words)) << row
                })
            }
        }
    }

    /// Whether the concept is true for the packed words of one example.
    fn holds(&self, row: &[u64]) -> bool {
        match self {
            Self::BinaryWeights(weights) => {
                let words = row.iter().zip(weights.words());
                let differing: u32 = words.map(|(a, b)| (a ^ b).count_ones()).sum();
                2 * differing as usize <= weights.n()
            }
            Self::Disjunction { literals, .. } => literals.any_in(row),
            Self::Dnf { terms, .. } => terms.iter().any(|term| term.all_in(row)),
            Self::Threshold { weights, theta } => bits::selected_sum(weights, row) >= *theta,
            Self::Parity(variables) => {
                let both = row.iter().zip(variables.words());
                let ones: u32 = both.map(|(a, b)| (a & b).count_ones()).sum();
                ones % 2 == 1
            }
        }
    }

    /// The weights, if the concept is their sign.
    pub fn binary_weights(&self) -> Option<&BitVector> {
        match self {
            Self::BinaryWeights(weights) => Some(weights),
            _ => None,
        }
    }
}

/// Draws the parts of a target that a request leaves out. Equal seeds draw equal parts in the same order.
pub struct Draw {
    n: usize,
    random: Generator,
}

impl Draw {
    /// A draw for targets over `n` features.
    pub fn new(n: usize, seed: Seed) -> Self {
        Self {
            n,
            random: seed.generator(Purpose::Target),
        }
    }

    /// `n` independent fair bits.
    pub fn bits(&mut self) -> BitVector {
        random_vector(self.n, &mut self.random)
    }

    /// `size <= n` different variables as ascending numbers from 1.
    pub fn variables(&mut self, size: usize) -> Vec<i64> {
        let drawn = index::sample(&mut self.random, self.n, size);
        let mut variables: Vec<i64> = drawn.into_iter().map(|index| index as i64 + 1).collect();
        variables.sort_unstable();
        variables
    }

    /// A number from 1 to the smaller of `most` and n.
    pub fn size(&mut self, most: usize) -> usize {
        self.random.random_range(1..=most.min(self.n))
    }

    /// `n` integers, each uniform in -100..=100.
    pub fn integers(&mut self) -> Vec<i64> {
        let range = -RANDOM_WEIGHT_MAX..=RANDOM_WEIGHT_MAX;
        (0..self.n)
            .map(|_| self.random.random_range(range.clone()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::BitMatrix;

    /// The values of a target on all rows of the cube of 4 variables.
    fn table(target: &Target) -> Vec<bool> {
        let mut matrix = BitMatrix::new(4);
        for row in 0..16_u64 {
            matrix.push_row(&[row]);
        }
        let negatives = target.negatives(matrix.block(0));
        (0..16).map(|row| negatives >> row & 1 == 0).collect()
    }

    fn truth(concept: impl Fn([bool; 4]) -> bool) -> Vec<bool> {
        (0..16_u32)
            .map(|row| concept([0, 1, 2, 3].map(|j| row >> j & 1 == 1)))
            .collect()
    }

    #[test]
    fn targets_have_the_truth_tables_of_their_concepts() {
        let disjunction = Target::Disjunction {
            n: 4,
            literals: Literals::new(&[2, -4]),
        };
        assert_eq!(table(&disjunction), truth(|x| x[1] || !x[3]));
        let dnf = Target::Dnf {
            n: 4,
            terms: vec![Literals::new(&[1, -2]), Literals::new(&[3, 4])],
        };
        assert_eq!(table(&dnf), truth(|x| x[0] && !x[1] || x[2] && x[3]));
        let threshold = Target::Threshold {
            weights: vec![3, -1, 2, 0],
            theta: 2,
        };
        let sum = |x: [bool; 4]| 3 * i32::from(x[0]) - i32::from(x[1]) + 2 * i32::from(x[2]);
        assert_eq!(table(&threshold), truth(|x| sum(x) >= 2));
        let parity = BitVector::from_bit_string(b"1011").unwrap();
        assert_eq!(
            table(&Target::Parity(parity)),
            truth(|x| x[0] ^ x[2] ^ x[3])
        );
        let weights = BitVector::from_bit_string(b"1100").unwrap();
        let sign = |x: [bool; 4]| [x[0], x[1], !x[2], !x[3]].iter().filter(|b| **b).count() >= 2;
        assert_eq!(table(&Target::BinaryWeights(weights)), truth(sign));
    }

    #[test]
    fn target_draw_depends_on_the_seed_alone() {
        let draw = |seed| {
            let mut draw = Draw::new(100, Seed(seed));
            let size = draw.size(8);
            (draw.variables(size), draw.integers())
        };
        assert_eq!(draw(3), draw(3));
        assert_ne!(draw(3), draw(4));
        let (variables, integers) = draw(5);
        assert!(variables.is_sorted_by(|a, b| a < b));
        assert!(variables.iter().all(|v| (1..=100).contains(v)));
        assert!(integers.iter().all(|w| w.abs() <= 100));
    }
}

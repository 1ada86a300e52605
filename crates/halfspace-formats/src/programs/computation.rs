//! A prediction in steps that every language can write. Raw cells become features, and features become a score. The
//! sign of the score is the label.

use std::collections::BTreeMap;

use halfspace_core::bits::REAL_LANES;
use halfspace_core::learners::hypothesis::Hypothesis;
use halfspace_core::learners::kernel::conjunction_kernel::Conjunctions;
use halfspace_core::learners::kernel::kernel_expansion::KernelExpansion;
use halfspace_core::learners::kernel::kernel_winnow_weights::KernelWinnowWeights;
use halfspace_core::learners::linear::linear_weights::{LinearWeights, Reading};
use halfspace_core::learners::winnow::winnow_weights::WinnowWeights;
use num_bigint::{BigInt, BigUint};

use super::{Program, SOURCE_BYTES_MAX, too_long};
use crate::tables::cell::{Cell, DecimalMark};
use crate::tables::encoding::{ColumnEncoding, ColumnKind, TableEncoding};

/// A prediction as a program computes it.
pub(super) struct Computation {
    /// The columns with features, in the order of the features.
    pub(super) inputs: Vec<Input>,
    /// Whether columns have names. Otherwise their places count.
    pub(super) has_names: bool,
    /// Columns of a file with everything, the label included.
    pub(super) columns: usize,
    /// Number of features.
    pub(super) n: usize,
    /// The value of a feature that no cell sets.
    pub(super) rest: f64,
    /// The score. The label is +1 iff the score is at least 0.
    pub(super) score: Score,
    /// The names of the labels -1 and +1.
    pub(super) classes: [String; 2],
}

/// A column of raw cells.
pub(super) struct Input {
    pub(super) name: String,
    /// Place in a file with everything, from 0.
    pub(super) place: usize,
    /// The first feature.
    pub(super) first: usize,
    /// The meaning of a cell.
    pub(super) cells: Cells,
    /// The feature that stands for a missing cell.
    pub(super) missing: Option<usize>,
}

/// The meaning of the cells of a column.
pub(super) enum Cells {
    /// One feature: 1 for one of the words `on`, and `off_value` for one of the words `off`.
    Flag {
        off: Vec<Word>,
        on: Vec<Word>,
        off_value: f64,
    },
    /// One feature per value.
    Values(Vec<String>),
    /// One feature, which is the number.
    Number,
    /// One feature per threshold, which is 1 iff the number is at least the threshold. The thresholds ascend.
    Thresholds(Vec<f64>),
}

/// A spelling of a truth value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Word {
    /// The text itself.
    Exact(String),
    /// The text in any case. The word is in lower case.
    AnyCase(String),
    /// Any spelling of the number.
    Number(f64),
}

/// The score of a row.
pub(super) enum Score {
    /// The constant and the weights of the features that are 1, in whole numbers.
    Sum {
        weights: Vec<BigInt>,
        constant: BigInt,
    },
    /// The labels of the support vectors times the kernel of each with the row.
    Kernel(KernelScore),
    /// Powers of a base over the nonempty subsets of the features that are 1.
    Monomials(MonomialScore),
    /// Doubles. The score is the sum of the products, divided by `divisor`, plus `offset`. Product `j` is added to
    /// lane `j` modulo `lanes`, a power of two. Then the upper half of the lanes is added to the lower half until
    /// one lane is left.
    Real {
        weights: Vec<f64>,
        lanes: usize,
        divisor: f64,
        offset: f64,
    },
}

/// The score of a conjunction kernel.
pub(super) struct KernelScore {
    /// Whether the kernel counts the features that agree. Otherwise it counts the features that are 1 in both.
    pub(super) counts_agreements: bool,
    /// The features of each support vector that are 1, and the sum of the labels of this vector.
    pub(super) support: Vec<(Vec<usize>, i64)>,
    /// Kernel values by count, up to the largest count.
    pub(super) values: Vec<BigUint>,
    /// Whether the value of count c is 2^c.
    pub(super) is_power: bool,
}

/// The score of Winnow over monomials: `sum over S of base^e(S) - theta`, where e(S) sums the counts of the support
/// examples that contain S.
pub(super) struct MonomialScore {
    pub(super) base: [BigUint; 2],
    pub(super) theta: [BigUint; 2],
    pub(super) support: Vec<(Vec<usize>, i64)>,
}

impl Input {
    /// Returns the features of the column.
    pub(super) fn features(&self) -> impl Iterator<Item = usize> {
        let count = match &self.cells {
            Cells::Flag { .. } | Cells::Number => 1,
            Cells::Values(values) => values.len(),
            Cells::Thresholds(thresholds) => thresholds.len(),
        };
        (self.first..self.first + count).chain(self.missing)
    }
}

impl Score {
    /// Returns the name of the section of a template with the arithmetic.
    pub(super) fn section(&self) -> &'static str {
        match self {
            Self::Sum { .. } => "sum",
            Self::Kernel(_) => "kernel",
            Self::Monomials(_) => "monomials",
            Self::Real { .. } => "real",
        }
    }
}

impl Computation {
    /// Describes a program.
    ///
    /// # Errors
    /// A program that would be too long.
    pub(super) fn new(program: &Program<'_>) -> Result<Self, String> {
        let Program {
            hypothesis,
            table,
            features,
            classes,
            ..
        } = *program;
        let n = hypothesis.n();
        let inputs = match table {
            Some(table) => of_table(table, hypothesis),
            None => bare(hypothesis, features),
        };
        let places = inputs.iter().map(|input| input.place);
        let others = table.into_iter().flat_map(|table| {
            let ignored = table.ignored.iter().map(|column| column.index as usize - 1);
            ignored.chain(table.label.iter().map(|label| label.index as usize - 1))
        });
        let columns = places.chain(others).max().map_or(0, |last| last + 1);
        let signs = || ["-1".to_owned(), "1".to_owned()];
        Ok(Self {
            inputs,
            has_names: table.map_or(features.is_some(), |table| table.header),
            columns,
            n,
            rest: off_value(hypothesis).unwrap_or(0.0),
            score: score(hypothesis)?,
            classes: classes.cloned().unwrap_or_else(signs),
        })
    }

    /// Returns an upper bound on the magnitude of all sums of a score in whole numbers, or none for other scores.
    pub(super) fn largest_sum(&self) -> Option<BigUint> {
        match &self.score {
            Score::Sum { weights, constant } => Some(
                weights
                    .iter()
                    .chain([constant])
                    .map(BigInt::magnitude)
                    .sum(),
            ),
            Score::Kernel(kernel) => {
                let largest = |(ones, net): &(Vec<usize>, i64)| {
                    let count = if kernel.counts_agreements {
                        self.n
                    } else {
                        ones.len()
                    };
                    &kernel.values[count] * net.unsigned_abs()
                };
                Some(kernel.support.iter().map(largest).sum())
            }
            Score::Monomials(_) | Score::Real { .. } => None,
        }
    }

    /// Refuses scores that are no whole numbers, and sums of `bits` bits or more.
    ///
    /// # Errors
    /// The limit.
    pub(super) fn check_integral(&self, bits: u64) -> Result<(), String> {
        let Some(largest) = self.largest_sum() else {
            return Err(self.not_integral());
        };
        match largest.bits() <= bits {
            true => Ok(()),
            false => Err(format!(
                "the absolute sum of the weights has {} bits, and {bits} are exact",
                largest.bits()
            )),
        }
    }

    /// The limit of languages without the arithmetic of the score.
    pub(super) fn not_integral(&self) -> String {
        match self.score {
            Score::Real { .. } => {
                "the weights are real, and only whole numbers are exact".to_owned()
            }
            _ => {
                "the score sums powers over all monomials; only a program in Python can".to_owned()
            }
        }
    }
}

fn of_table(table: &TableEncoding, hypothesis: &Hypothesis) -> Vec<Input> {
    let is_signed = |column: &ColumnEncoding| {
        matches!(&column.kind, ColumnKind::Boolean { values } if values[0] == "-1")
            && !column.missing
    };
    let keeps_signs = table.is_plain() || table.columns.iter().all(is_signed);
    let input = |column: &ColumnEncoding| {
        let off_value = match off_value(hypothesis) {
            Some(value) => value,
            None if keeps_signs && is_signed(column) => -1.0,
            None => 0.0,
        };
        Input {
            name: column.name.clone(),
            place: column.place(),
            first: column.features[0] as usize,
            cells: match &column.kind {
                ColumnKind::Boolean { values: [off, on] } => Cells::Flag {
                    off: vec![word(off)],
                    on: vec![word(on)],
                    off_value,
                },
                ColumnKind::Nominal { values } => Cells::Values(values.clone()),
                ColumnKind::Number => Cells::Number,
                ColumnKind::Thermometer { thresholds } => Cells::Thresholds(thresholds.clone()),
            },
            missing: column.missing.then(|| column.features[1] as usize - 1),
        }
    };
    table.columns.iter().map(input).collect()
}

/// The value of bit 0. None for real weights over real examples, which come with their values.
fn off_value(hypothesis: &Hypothesis) -> Option<f64> {
    match hypothesis {
        Hypothesis::Linear(LinearWeights::Real(weights)) => Some(weights.reading()?.value(false)),
        _ => Some(0.0),
    }
}

/// One column per feature. A hypothesis over bits reads -1 like 0.
fn bare(hypothesis: &Hypothesis, names: Option<&[String]>) -> Vec<Input> {
    let off_value = off_value(hypothesis);
    let cells = || match (hypothesis, off_value) {
        (Hypothesis::Bounded(_), _) | (_, None) => Cells::Number,
        (_, Some(off_value)) => Cells::Flag {
            off: vec![Word::Number(0.0), Word::Number(-1.0)],
            on: vec![Word::Number(1.0)],
            off_value,
        },
    };
    let input = |at: usize| Input {
        name: names.map_or_else(|| format!("x{}", at + 1), |names| names[at].clone()),
        place: at,
        first: at,
        cells: cells(),
        missing: None,
    };
    (0..hypothesis.n()).map(input).collect()
}

fn word(text: &str) -> Word {
    match Cell::of(text.as_bytes(), DecimalMark::Point) {
        Cell::Number(number) => Word::Number(number),
        Cell::Flag(..) => Word::AnyCase(text.to_lowercase()),
        Cell::Missing | Cell::Text => Word::Exact(text.to_owned()),
    }
}

fn score(hypothesis: &Hypothesis) -> Result<Score, String> {
    Ok(match hypothesis {
        Hypothesis::BinaryWeights(weights) => {
            let sign = |bit| {
                if bit {
                    BigInt::from(1)
                } else {
                    BigInt::from(-1)
                }
            };
            signed_sum((0..weights.n()).map(|at| sign(weights.get(at))).collect())
        }
        Hypothesis::Linear(LinearWeights::Integer(own)) => {
            let weights = own.weights().iter().map(|&weight| weight.into()).collect();
            let mut score = match own.reading() {
                Reading::Signed => signed_sum(weights),
                Reading::Unsigned => Score::Sum {
                    weights,
                    constant: BigInt::ZERO,
                },
            };
            if let (Score::Sum { constant, .. }, Some(bias)) = (&mut score, own.bias()) {
                *constant += bias;
            }
            score
        }
        Hypothesis::Linear(LinearWeights::Real(own)) => Score::Real {
            weights: own.weights().to_vec(),
            lanes: REAL_LANES,
            divisor: 1.0,
            offset: own.bias().unwrap_or(0.0),
        },
        Hypothesis::Bounded(own) => Score::Real {
            weights: own
                .weights()
                .iter()
                .map(|weight| weight - own.inhibition())
                .collect(),
            lanes: 1,
            divisor: own.weights().len() as f64,
            offset: -own.threshold(),
        },
        Hypothesis::Winnow(weights) => winnow(weights)?,
        Hypothesis::Kernel(expansion) => Score::Kernel(kernel(expansion)?),
        Hypothesis::KernelWinnow(weights) => Score::Monomials(monomials(weights)),
    })
}

/// Twice the weights of the bits that are 1, minus all weights.
fn signed_sum(weights: Vec<BigInt>) -> Score {
    let constant = -weights.iter().sum::<BigInt>();
    let weights = weights.into_iter().map(|weight| weight * 2).collect();
    Score::Sum { weights, constant }
}

/// The sum times the common denominator of all powers and the threshold, which leaves the sign.
fn winnow(own: &WinnowWeights) -> Result<Score, String> {
    let exponents = own.exponents();
    let most = exponents.iter().copied().fold(0, i32::max);
    let least = exponents.iter().copied().fold(0, i32::min);
    let [numerator, denominator] = fraction(own.base());
    let span = u64::from(most.abs_diff(least));
    let bits = (numerator.bits() + denominator.bits()).saturating_mul(span);
    if bits.saturating_mul(exponents.len() as u64 + 1) > 8 * SOURCE_BYTES_MAX as u64 {
        return Err(too_long());
    }
    let tens = BigUint::from(10_u32).pow(own.theta().places());
    let power = |exponent: i32| {
        let up = numerator.pow(exponent.abs_diff(least));
        BigInt::from(up * denominator.pow(most.abs_diff(exponent)) * &tens)
    };
    let threshold = own.theta().digits()
        * numerator.pow(least.unsigned_abs())
        * denominator.pow(most.unsigned_abs());
    let mut constant = -BigInt::from(threshold);
    let n = own.n();
    let mut weights: Vec<BigInt> = exponents[..n]
        .iter()
        .map(|&exponent| power(exponent))
        .collect();
    for (weight, &exponent) in weights.iter_mut().zip(&exponents[n..]) {
        // The complement of a feature counts while the feature is 0.
        let complement = power(exponent);
        *weight -= &complement;
        constant += complement;
    }
    Ok(Score::Sum { weights, constant })
}

/// A base as numerator and denominator.
fn fraction(base: halfspace_core::learners::arithmetic::power_sum::Base) -> [BigUint; 2] {
    let twos = base.twos();
    let up = BigUint::from(base.odd()) << twos.max(0).unsigned_abs();
    let down = BigUint::from(base.divisor()) << twos.min(0).unsigned_abs();
    [up, down]
}

fn kernel(expansion: &KernelExpansion) -> Result<KernelScore, String> {
    let kernel = expansion.kernel();
    let mut support = BTreeMap::new();
    let mut characters = 0_usize;
    for at in 0..expansion.len() {
        let row = expansion.support().row(at);
        let ones: Vec<usize> = (0..row.n()).filter(|&place| row.get(place)).collect();
        // A feature takes at least two characters.
        characters += 2 * ones.len();
        if characters > SOURCE_BYTES_MAX {
            return Err(too_long());
        }
        *support.entry(ones).or_insert(0) += if expansion.is_positive(at) { 1 } else { -1 };
    }
    let support: Vec<(Vec<usize>, i64)> =
        support.into_iter().filter(|(_, net)| *net != 0).collect();
    let counts_agreements = kernel.conjunctions() == Conjunctions::All;
    let largest = match counts_agreements {
        true => kernel.n(),
        false => support
            .iter()
            .map(|(ones, _)| ones.len())
            .max()
            .unwrap_or(0),
    };
    let limit = kernel.max_literals().filter(|&most| most < largest as u64);
    let bits = limit.unwrap_or(largest as u64).min(largest as u64)
        * (u64::from((largest as u64 + 1).ilog2()) + 1);
    if bits.saturating_mul(largest as u64) > 8 * SOURCE_BYTES_MAX as u64 {
        return Err(too_long());
    }
    Ok(KernelScore {
        counts_agreements,
        support,
        values: (0..=largest as u64)
            .map(|count| kernel.value(count))
            .collect(),
        is_power: limit.is_none(),
    })
}

fn monomials(own: &KernelWinnowWeights) -> MonomialScore {
    let support = own.support().iter().filter(|example| example.net != 0);
    let own_features = |active: &[u32]| active.iter().map(|&feature| feature as usize).collect();
    MonomialScore {
        base: fraction(own.base()),
        theta: [
            own.theta().digits().clone(),
            BigUint::from(10_u32).pow(own.theta().places()),
        ],
        support: support
            .map(|example| (own_features(&example.active), example.net.into()))
            .collect(),
    }
}

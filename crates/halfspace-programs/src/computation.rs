//! Describes a prediction in steps that every language can express: raw cells become features, features become a score,
//! and the sign of the score is the label.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use halfspace_core::bits::REAL_LANES;
use halfspace_core::learners::hypothesis::Hypothesis;
use halfspace_core::learners::kernel::conjunction_kernel::Conjunctions;
use halfspace_core::learners::kernel::kernel_expansion::KernelExpansion;
use halfspace_core::learners::kernel::kernel_winnow_weights::KernelWinnowWeights;
use halfspace_core::learners::linear::linear_weights::{LinearWeights, Reading};
use halfspace_core::learners::winnow::winnow_weights::WinnowWeights;
use halfspace_core::memory;
use num_bigint::{BigInt, BigUint};

use super::sink::{SOURCE_BYTES_MAX, Stop, too_long};
use halfspace_formats::{ColumnEncoding, ColumnKind, TableEncoding};
use halfspace_formats::{Content, DecimalMark};

/// A column takes at least this many bytes in every language.
const COLUMN_BYTES_MIN: usize = 64;

/// A number in a list takes at least this many bytes in every language, with the comma.
const NUMBER_BYTES_MIN: usize = 3;

/// A hypothesis with everything that a program says about it.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// One line of text for the head of the program.
    pub title: &'a str,
    /// The hypothesis.
    pub hypothesis: &'a Hypothesis,
    /// The encoding of raw rows. Without an encoding a row has one number per feature.
    pub table: Option<&'a TableEncoding>,
    /// The names of the features, for rows without an encoding.
    pub features: Option<&'a [String]>,
    /// The names of the labels -1 and +1.
    pub classes: Option<&'a [String; 2]>,
}

/// A prediction as a program computes it.
pub(super) struct Computation<'a> {
    hypothesis: &'a Hypothesis,
    table: Option<&'a TableEncoding>,
    features: Option<&'a [String]>,
    /// Whether columns have names. Otherwise they are known by their positions.
    pub(super) has_names: bool,
    /// Columns of a file that has all of them, including the label.
    pub(super) columns: usize,
    /// Number of features.
    pub(super) n: usize,
    /// The value of a feature that no cell sets.
    pub(super) rest: f64,
    /// The value of a feature whose cell is the number -1. A hypothesis over values from 0 to 1 reads -1 as 0.
    pub(super) minus_one: f64,
    /// The score. The label is +1 iff the score is at least 0.
    pub(super) score: Score,
    /// The names of the labels -1 and +1.
    pub(super) classes: [&'a str; 2],
}

/// A column of raw cells.
pub(super) struct Input<'a> {
    pub(super) name: Cow<'a, str>,
    /// Position in a file that has all columns, from 0.
    pub(super) place: usize,
    /// The first feature.
    pub(super) first: usize,
    /// The meaning of a cell.
    pub(super) cells: Cells<'a>,
    /// The feature that stands for a missing cell.
    pub(super) missing: Option<usize>,
}

/// The meaning of the cells of a column.
pub(super) enum Cells<'a> {
    /// One feature: 1 for one of the words `on`, and `off_value` for one of the words `off`.
    Flag {
        off: Vec<Word<'a>>,
        on: Vec<Word<'a>>,
        off_value: f64,
    },
    /// One feature per value.
    Values(&'a [String]),
    /// One feature, which is the number.
    Number,
    /// One feature per threshold, which is 1 iff the number is at least the threshold. The thresholds ascend.
    Thresholds(&'a [f64]),
}

/// A spelling of a truth value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Word<'a> {
    /// The text itself.
    Exact(&'a str),
    /// The text in any case. The word is in lower case.
    AnyCase(String),
    /// Any text that spells the number.
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
    /// lane `j` modulo `lanes`, a power of two. Then the upper half of the lanes is added to the lower half until one
    /// lane is left.
    Real {
        weights: Vec<f64>,
        lanes: usize,
        divisor: f64,
        offset: f64,
    },
}

/// The features of a support vector that are 1, and the sum of the labels of this vector.
pub(super) type Support = (Vec<u32>, i64);

/// The score of a conjunction kernel.
pub(super) struct KernelScore {
    /// Whether the kernel counts the features that agree, or else those that are 1 in both.
    pub(super) counts_agreements: bool,
    pub(super) support: Vec<Support>,
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
    pub(super) support: Vec<Support>,
    /// The most features of a row that may be 1.
    pub(super) active_max: u64,
}

impl Input<'_> {
    /// The features of the column, without the one for missing cells.
    pub(super) fn features(&self) -> std::ops::Range<usize> {
        let count = match &self.cells {
            Cells::Flag { .. } | Cells::Number => 1,
            Cells::Values(values) => values.len(),
            Cells::Thresholds(thresholds) => thresholds.len(),
        };
        self.first..self.first + count
    }
}

impl Score {
    /// The name of the section of a template with the arithmetic.
    pub(super) fn section(&self) -> &'static str {
        match self {
            Self::Sum { .. } => "sum",
            Self::Kernel(_) => "kernel",
            Self::Monomials(_) => "monomials",
            Self::Real { .. } => "real",
        }
    }
}

impl<'a> Computation<'a> {
    /// Describes a program.
    ///
    /// # Errors
    /// A program that would be too long, or a lack of memory.
    pub(super) fn new(program: &Program<'a>) -> Result<Self, Stop> {
        let Program {
            hypothesis,
            table,
            features,
            classes,
            ..
        } = *program;
        let n = hypothesis.n();
        let inputs = table.map_or(n, |table| table.columns.len());
        if inputs * COLUMN_BYTES_MIN + n * NUMBER_BYTES_MIN > SOURCE_BYTES_MAX {
            return Err(too_long().into());
        }
        let columns = match table {
            None => n,
            Some(table) => {
                let own = table.columns.iter().map(|column| column.index);
                let ignored = table.ignored.iter().map(|column| column.index);
                let label = table.label.iter().map(|label| label.index);
                own.chain(ignored).chain(label).max().unwrap_or(0) as usize
            }
        };
        Ok(Self {
            hypothesis,
            table,
            features,
            has_names: table.map_or(features.is_some(), |table| table.header),
            columns,
            n,
            rest: off_value(hypothesis).unwrap_or(0.0),
            minus_one: match hypothesis {
                Hypothesis::Bounded(_) => 0.0,
                _ => -1.0,
            },
            score: score(hypothesis)?,
            classes: classes.map_or(["-1", "1"], |names| names.each_ref().map(String::as_str)),
        })
    }

    /// The number of columns with features.
    pub(super) fn input_count(&self) -> usize {
        self.table.map_or(self.n, |table| table.columns.len())
    }

    /// The columns with features, in the order of the features. Each is described only when you ask for it, because a
    /// description takes more memory than the features.
    pub(super) fn inputs(&self) -> impl Iterator<Item = Input<'a>> + '_ {
        let keeps_signs = self.table.is_some_and(TableEncoding::keeps_signs);
        (0..self.input_count()).map(move |at| match self.table {
            Some(table) => self.of_column(&table.columns[at], keeps_signs),
            None => Input {
                name: match self.features {
                    Some(names) => Cow::Borrowed(&names[at]),
                    None => Cow::Owned(format!("x{}", at + 1)),
                },
                place: at,
                first: at,
                cells: numbers(self.hypothesis),
                missing: None,
            },
        })
    }

    fn of_column(&self, column: &'a ColumnEncoding, keeps_signs: bool) -> Input<'a> {
        Input {
            name: Cow::Borrowed(&column.name),
            place: column.place(),
            first: column.features[0] as usize,
            cells: match &column.kind {
                ColumnKind::Boolean { values: [off, on] } => Cells::Flag {
                    off: vec![word(off)],
                    on: vec![word(on)],
                    off_value: match off_value(self.hypothesis) {
                        Some(value) => value,
                        None if keeps_signs && column.is_signed() => -1.0,
                        None => 0.0,
                    },
                },
                ColumnKind::Nominal { values } => Cells::Values(values),
                ColumnKind::Number => numbers(self.hypothesis),
                ColumnKind::Thermometer { thresholds } => Cells::Thresholds(thresholds),
            },
            missing: column.missing.then(|| column.features[1] as usize - 1),
        }
    }

    /// An upper bound on the magnitude of all sums of a score in whole numbers. None for other scores.
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
                let largest = |(ones, net): &Support| {
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

    /// Refuses scores that are not whole numbers, and sums of more than `bits` bits.
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

    /// The limit to state if a language lacks the arithmetic of the score.
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

/// The value of bit 0. None for real weights over real examples, which come with their values.
fn off_value(hypothesis: &Hypothesis) -> Option<f64> {
    match hypothesis {
        Hypothesis::Linear(LinearWeights::Real(weights)) => Some(weights.reading()?.value(false)),
        _ => Some(0.0),
    }
}

/// The meaning of a cell that holds the number of one feature. A hypothesis over bits reads -1 as 0.
fn numbers(hypothesis: &Hypothesis) -> Cells<'static> {
    match off_value(hypothesis) {
        Some(off_value) if !hypothesis.takes_real() => Cells::Flag {
            off: vec![Word::Number(0.0), Word::Number(-1.0)],
            on: vec![Word::Number(1.0)],
            off_value,
        },
        _ => Cells::Number,
    }
}

fn word(text: &str) -> Word<'_> {
    match Content::of(text.as_bytes(), DecimalMark::Point) {
        Content::Number(number) => Word::Number(number),
        Content::Flag(..) => Word::AnyCase(text.to_lowercase()),
        Content::Missing | Content::Text => Word::Exact(text),
    }
}

fn score(hypothesis: &Hypothesis) -> Result<Score, Stop> {
    memory::need((hypothesis.n() * (size_of::<BigInt>() + 2 * size_of::<u64>())) as u64)?;
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
        Hypothesis::KernelWinnow(weights) => Score::Monomials(monomials(weights)?),
    })
}

/// Twice the weights of the bits that are 1, minus all weights.
fn signed_sum(weights: Vec<BigInt>) -> Score {
    let constant = -weights.iter().sum::<BigInt>();
    let weights = weights.into_iter().map(|weight| weight * 2).collect();
    Score::Sum { weights, constant }
}

/// The sum times the common denominator of all powers and the threshold, which does not change the sign.
fn winnow(own: &WinnowWeights) -> Result<Score, Stop> {
    let exponents = own.exponents();
    let most = exponents.iter().copied().fold(0, i32::max);
    let least = exponents.iter().copied().fold(0, i32::min);
    let [numerator, denominator] = fraction(own.base());
    let span = u64::from(most.abs_diff(least));
    let bits = (numerator.bits() + denominator.bits()).saturating_mul(span);
    if bits.saturating_mul(exponents.len() as u64 + 1) > 8 * SOURCE_BYTES_MAX as u64 {
        return Err(too_long().into());
    }
    memory::need(bits / 4 * (exponents.len() as u64 + 1))?;
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

/// The sum of the labels of each support vector, without the vectors whose sum is 0.
fn nets(vectors: impl Iterator<Item = (Vec<u32>, i64)>) -> Result<Vec<Support>, Stop> {
    let mut nets = BTreeMap::new();
    let mut characters = 0_usize;
    for (ones, net) in vectors {
        memory::check()?;
        let bytes = NUMBER_BYTES_MIN * (1 + ones.len());
        match nets.entry(ones) {
            Entry::Occupied(mut known) => *known.get_mut() += net,
            Entry::Vacant(new) => {
                new.insert(net);
                characters += bytes;
            }
        }
        if characters > SOURCE_BYTES_MAX {
            return Err(too_long().into());
        }
    }
    Ok(nets.into_iter().filter(|(_, net)| *net != 0).collect())
}

fn kernel(expansion: &KernelExpansion) -> Result<KernelScore, Stop> {
    let kernel = expansion.kernel();
    let support = nets((0..expansion.len()).map(|at| {
        let row = expansion.support().row(at);
        let ones = (0..row.n()).filter(|&place| row.get(place));
        let ones = ones.map(|place| place as u32).collect();
        (ones, if expansion.is_positive(at) { 1 } else { -1 })
    }))?;
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
    let bits = match limit {
        None => largest as u64,
        Some(most) => most * (u64::from((largest as u64 + 1).ilog2()) + 1),
    };
    if bits.saturating_mul(largest as u64) > 8 * SOURCE_BYTES_MAX as u64 {
        return Err(too_long().into());
    }
    memory::need((bits / 8 + 64) * largest as u64)?;
    Ok(KernelScore {
        counts_agreements,
        support,
        values: kernel_values(largest as u64, limit),
        is_power: limit.is_none(),
    })
}

/// The numbers of conjunctions of at most `limit` of c literals, for each c up to `largest`.
fn kernel_values(largest: u64, limit: Option<u64>) -> Vec<BigUint> {
    let (mut value, mut of_limit) = (BigUint::from(1_u32), BigUint::ZERO);
    let next = |count| {
        if let Some(limit) = limit.filter(|&limit| count >= limit) {
            // A conjunction of exactly `limit` literals cannot take another one.
            of_limit = match count == limit {
                true => BigUint::from(1_u32),
                false => &of_limit * count / (count - limit),
            };
        }
        let following = (&value << 1_u32) - &of_limit;
        std::mem::replace(&mut value, following)
    };
    (0..=largest).map(next).collect()
}

fn monomials(own: &KernelWinnowWeights) -> Result<MonomialScore, Stop> {
    let support = own.support().iter();
    Ok(MonomialScore {
        base: fraction(own.base()),
        theta: [
            own.theta().digits().clone(),
            BigUint::from(10_u32).pow(own.theta().places()),
        ],
        support: nets(support.map(|example| (example.active.to_vec(), example.net.into())))?,
        active_max: own.active_max(),
    })
}

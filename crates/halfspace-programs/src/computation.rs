//! Describes a prediction in steps that every language can express: raw cells become features, and features become the
//! score of each member of the predictor. The sign of the only score is the label, or the first class with the largest
//! score.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use halfspace_core::bits::REAL_LANES;
use halfspace_core::learners::hypothesis::Hypothesis;
use halfspace_core::learners::kernel::conjunction_kernel::Conjunctions;
use halfspace_core::learners::kernel::kernel_expansion::KernelExpansion;
use halfspace_core::learners::kernel::kernel_winnow_weights::KernelWinnowWeights;
use halfspace_core::learners::linear::linear_weights::{LinearWeights, Reading};
use halfspace_core::learners::predictor::Predictor;
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

/// A predictor with everything that a program says about it.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// One line of text for the head of the program.
    pub title: &'a str,
    /// The hypothesis, or one per class.
    pub predictor: &'a Predictor,
    /// The encoding of raw rows. Without an encoding a row has one number per feature.
    pub table: Option<&'a TableEncoding>,
    /// The names of the features, for rows without an encoding.
    pub features: Option<&'a [String]>,
    /// The names of the classes. Without names, those of two are -1 and 1, and more are counted from 0.
    pub classes: Option<&'a [String]>,
}

/// A prediction as a program computes it.
pub(super) struct Computation<'a> {
    /// The first of the members, which are all of one kind.
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
    /// The scores. If there is one, the label is the second class iff it is at least 0. Otherwise each class has one.
    pub(super) scores: Scores,
    /// The names of the classes.
    pub(super) classes: Vec<Cow<'a, str>>,
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

/// The scores of a row, one per member of the predictor.
pub(super) enum Scores {
    /// The constant and the weights of the features that are 1, in whole numbers.
    Sum(Vec<Sum>),
    /// The labels of the support vectors times the kernel of each with the row.
    Kernel(KernelScores),
    /// Powers of a base over the nonempty subsets of the features that are 1.
    Monomials(MonomialScores),
    /// Doubles.
    Real(RealScores),
}

/// A constant and weights.
pub(super) struct Sum {
    pub(super) weights: Vec<BigInt>,
    pub(super) constant: BigInt,
}

/// The features of a support vector that are 1, and the sum of the labels of this vector.
pub(super) type Support = (Vec<u32>, i64);

/// The scores of a conjunction kernel.
pub(super) struct KernelScores {
    /// Whether the kernel counts the features that agree, or else those that are 1 in both.
    pub(super) counts_agreements: bool,
    /// Kernel values by count, up to the largest count.
    pub(super) values: Vec<BigUint>,
    /// Whether the value of count c is 2^c.
    pub(super) is_power: bool,
    pub(super) supports: Vec<Vec<Support>>,
}

/// The scores of Winnow over monomials: `sum over S of base^e(S) - theta`, where e(S) sums the counts of the support
/// examples that contain S.
pub(super) struct MonomialScores {
    pub(super) base: [BigUint; 2],
    pub(super) theta: [BigUint; 2],
    /// The most features of a row that may be 1.
    pub(super) active_max: u64,
    pub(super) supports: Vec<Vec<Support>>,
}

/// A score of doubles is the sum of the products, divided by `divisor`, plus the offset. Product `j` is added to lane
/// `j` modulo `lanes`, a power of two. Then the upper half of the lanes is added to the lower half until one lane is
/// left.
pub(super) struct RealScores {
    pub(super) lanes: usize,
    pub(super) divisor: f64,
    /// The weights of each member.
    pub(super) weights: Vec<Vec<f64>>,
    /// The offset of each member.
    pub(super) offsets: Vec<f64>,
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

impl Scores {
    /// The name of the section of a template with the arithmetic.
    pub(super) fn section(&self) -> &'static str {
        match self {
            Self::Sum(_) => "sum",
            Self::Kernel(_) => "kernel",
            Self::Monomials(_) => "monomials",
            Self::Real(_) => "real",
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
            predictor,
            table,
            features,
            classes,
            ..
        } = *program;
        let (members, n) = (predictor.members(), predictor.n());
        let hypothesis = &members[0];
        let inputs = table.map_or(n, |table| table.columns.len());
        if inputs * COLUMN_BYTES_MIN + members.len() * NUMBER_BYTES_MIN > SOURCE_BYTES_MAX
            || n > SOURCE_BYTES_MAX / NUMBER_BYTES_MIN
        {
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
            scores: scores(members)?,
            classes: match (classes, members.len()) {
                (Some(names), _) => names.iter().map(|name| Cow::Borrowed(&**name)).collect(),
                (None, 1) => vec!["-1".into(), "1".into()],
                (None, count) => (0..count).map(|code| code.to_string().into()).collect(),
            },
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

    /// The number of scores.
    pub(super) fn members(&self) -> usize {
        match self.classes.len() {
            2 => 1,
            classes => classes,
        }
    }

    /// An upper bound on the magnitude of all sums of a score in whole numbers. None for other scores.
    pub(super) fn largest_sum(&self) -> Option<BigUint> {
        match &self.scores {
            Scores::Sum(members) => {
                let sum = |own: &Sum| {
                    let all = own.weights.iter().chain([&own.constant]);
                    all.map(BigInt::magnitude).sum::<BigUint>()
                };
                members.iter().map(sum).max()
            }
            Scores::Kernel(kernel) => {
                let largest = |(ones, net): &Support| {
                    let count = if kernel.counts_agreements {
                        self.n
                    } else {
                        ones.len()
                    };
                    &kernel.values[count] * net.unsigned_abs()
                };
                let sum = |support: &Vec<Support>| support.iter().map(largest).sum::<BigUint>();
                kernel.supports.iter().map(sum).max()
            }
            Scores::Monomials(_) | Scores::Real(_) => None,
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
        match self.scores {
            Scores::Real(_) => "the weights are real, and only whole numbers are exact".to_owned(),
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

/// The scores of members, which are all of one kind.
fn scores(members: &[Hypothesis]) -> Result<Scores, Stop> {
    let n = members[0].n();
    if members.len().saturating_mul(n) > SOURCE_BYTES_MAX / NUMBER_BYTES_MIN
        && !matches!(
            members[0],
            Hypothesis::Kernel(_) | Hypothesis::KernelWinnow(_)
        )
    {
        return Err(too_long().into());
    }
    memory::need((members.len() * n * (size_of::<BigInt>() + 2 * size_of::<u64>())) as u64)?;
    let winnows: Vec<&WinnowWeights> = members.iter().filter_map(as_winnow).collect();
    let kernels: Vec<&KernelExpansion> = members.iter().filter_map(as_kernel).collect();
    let monomials: Vec<&KernelWinnowWeights> = members.iter().filter_map(as_monomials).collect();
    Ok(match &members[0] {
        Hypothesis::Winnow(_) => Scores::Sum(winnow(&winnows)?),
        Hypothesis::Kernel(first) => Scores::Kernel(kernel(first, &kernels)?),
        Hypothesis::KernelWinnow(first) => Scores::Monomials(self::monomials(first, &monomials)?),
        Hypothesis::Linear(LinearWeights::Real(_)) | Hypothesis::Bounded(_) => reals(members),
        Hypothesis::Linear(LinearWeights::Integer(_)) | Hypothesis::BinaryWeights(_) => {
            Scores::Sum(members.iter().filter_map(sum).collect())
        }
    })
}

fn as_winnow(member: &Hypothesis) -> Option<&WinnowWeights> {
    match member {
        Hypothesis::Winnow(own) => Some(own),
        _ => None,
    }
}

fn as_kernel(member: &Hypothesis) -> Option<&KernelExpansion> {
    match member {
        Hypothesis::Kernel(own) => Some(own),
        _ => None,
    }
}

fn as_monomials(member: &Hypothesis) -> Option<&KernelWinnowWeights> {
    match member {
        Hypothesis::KernelWinnow(own) => Some(own),
        _ => None,
    }
}

/// The sum of a member with whole weights.
fn sum(member: &Hypothesis) -> Option<Sum> {
    match member {
        Hypothesis::BinaryWeights(weights) => {
            let sign = |at| BigInt::from(if weights.get(at) { 1 } else { -1 });
            Some(signed_sum((0..weights.n()).map(sign).collect()))
        }
        Hypothesis::Linear(LinearWeights::Integer(own)) => {
            let weights = own.weights().iter().map(|&weight| weight.into()).collect();
            let mut sum = match own.reading() {
                Reading::Signed => signed_sum(weights),
                Reading::Unsigned => Sum {
                    weights,
                    constant: BigInt::ZERO,
                },
            };
            sum.constant += own.bias().unwrap_or(0);
            Some(sum)
        }
        _ => None,
    }
}

fn reals(members: &[Hypothesis]) -> Scores {
    let mut scores = RealScores {
        lanes: REAL_LANES,
        divisor: 1.0,
        weights: Vec::new(),
        offsets: Vec::new(),
    };
    for member in members {
        match member {
            Hypothesis::Linear(LinearWeights::Real(own)) => {
                scores.weights.push(own.weights().to_vec());
                scores.offsets.push(own.bias().unwrap_or(0.0));
            }
            Hypothesis::Bounded(own) => {
                (scores.lanes, scores.divisor) = (1, own.weights().len() as f64);
                let excess = own.weights().iter().map(|weight| weight - own.inhibition());
                scores.weights.push(excess.collect());
                scores.offsets.push(-own.threshold());
            }
            _ => {}
        }
    }
    Scores::Real(scores)
}

/// Twice the weights of the bits that are 1, minus all weights.
fn signed_sum(weights: Vec<BigInt>) -> Sum {
    let constant = -weights.iter().sum::<BigInt>();
    let weights = weights.into_iter().map(|weight| weight * 2).collect();
    Sum { weights, constant }
}

/// The sums times the common denominator of all powers and the threshold, which changes neither a sign nor an order.
fn winnow(members: &[&WinnowWeights]) -> Result<Vec<Sum>, Stop> {
    let exponents = || members.iter().flat_map(|own| own.exponents()).copied();
    let most = exponents().fold(0, i32::max);
    let least = exponents().fold(0, i32::min);
    let first = members[0];
    let [numerator, denominator] = fraction(first.base());
    let span = u64::from(most.abs_diff(least));
    let bits = (numerator.bits() + denominator.bits()).saturating_mul(span);
    let numbers = exponents().count() as u64 + members.len() as u64;
    if bits.saturating_mul(numbers) > 8 * SOURCE_BYTES_MAX as u64 {
        return Err(too_long().into());
    }
    memory::need(bits / 4 * numbers)?;
    let tens = BigUint::from(10_u32).pow(first.theta().places());
    let power = |exponent: i32| {
        let up = numerator.pow(exponent.abs_diff(least));
        BigInt::from(up * denominator.pow(most.abs_diff(exponent)) * &tens)
    };
    let threshold = first.theta().digits()
        * numerator.pow(least.unsigned_abs())
        * denominator.pow(most.unsigned_abs());
    let sum = |own: &&WinnowWeights| {
        let (exponents, n) = (own.exponents(), own.n());
        let mut constant = -BigInt::from(threshold.clone());
        let mut weights: Vec<BigInt> = exponents[..n].iter().map(|&own| power(own)).collect();
        for (weight, &exponent) in weights.iter_mut().zip(&exponents[n..]) {
            // The complement of a feature counts while the feature is 0.
            let complement = power(exponent);
            *weight -= &complement;
            constant += complement;
        }
        Sum { weights, constant }
    };
    Ok(members.iter().map(sum).collect())
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

fn kernel(first: &KernelExpansion, members: &[&KernelExpansion]) -> Result<KernelScores, Stop> {
    let kernel = first.kernel();
    let support = |expansion: &&KernelExpansion| {
        nets((0..expansion.len()).map(|at| {
            let row = expansion.support().row(at);
            let ones = (0..row.n()).filter(|&place| row.get(place));
            let ones = ones.map(|place| place as u32).collect();
            (ones, if expansion.is_positive(at) { 1 } else { -1 })
        }))
    };
    let supports: Vec<Vec<Support>> = members.iter().map(support).collect::<Result<_, _>>()?;
    let counts_agreements = kernel.conjunctions() == Conjunctions::All;
    let largest = match counts_agreements {
        true => kernel.n(),
        false => supports
            .iter()
            .flatten()
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
    Ok(KernelScores {
        counts_agreements,
        values: kernel_values(largest as u64, limit),
        is_power: limit.is_none(),
        supports,
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

fn monomials(
    first: &KernelWinnowWeights,
    members: &[&KernelWinnowWeights],
) -> Result<MonomialScores, Stop> {
    let support = |own: &&KernelWinnowWeights| {
        let examples = own.support().iter();
        nets(examples.map(|example| (example.active.to_vec(), example.net.into())))
    };
    Ok(MonomialScores {
        base: fraction(first.base()),
        theta: [
            first.theta().digits().clone(),
            BigUint::from(10_u32).pow(first.theta().places()),
        ],
        active_max: first.active_max(),
        supports: members.iter().map(support).collect::<Result<_, _>>()?,
    })
}

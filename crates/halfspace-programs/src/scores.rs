//! The scores of a prediction in numbers that every language can write, one score per member of the predictor.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use halfspace_core::bits::REAL_LANES;
use halfspace_core::learners::arithmetic::power_sum::Base;
use halfspace_core::learners::hypothesis::Hypothesis;
use halfspace_core::learners::kernel::conjunction_kernel::Conjunctions;
use halfspace_core::learners::kernel::kernel_expansion::KernelExpansion;
use halfspace_core::learners::kernel::kernel_winnow_weights::KernelWinnowWeights;
use halfspace_core::learners::linear::linear_weights::{LinearWeights, Reading};
use halfspace_core::learners::winnow::winnow_weights::WinnowWeights;
use halfspace_core::memory;
use num_bigint::{BigInt, BigUint};

use super::sink::{NUMBER_BYTES_MIN, SOURCE_BYTES_MAX, Stop, too_long};

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
    /// The most features of a monomial.
    pub(super) literals_max: u64,
    /// The features that count, from the first on.
    pub(super) known: usize,
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

/// The scores of members, which are all of one kind.
pub(super) fn scores(members: &[Hypothesis]) -> Result<Scores, Stop> {
    let is_dense = !matches!(
        members[0],
        Hypothesis::Kernel(_) | Hypothesis::KernelWinnow(_)
    );
    let numbers = members.len().saturating_mul(members[0].n());
    if is_dense && numbers > SOURCE_BYTES_MAX / NUMBER_BYTES_MIN {
        return Err(too_long().into());
    }
    if is_dense {
        memory::need((numbers * (size_of::<BigInt>() + 2 * size_of::<u64>())) as u64)?;
    }
    Ok(match &members[0] {
        Hypothesis::Winnow(_) => Scores::Sum(winnow(&all(members, as_winnow))?),
        Hypothesis::Kernel(_) => Scores::Kernel(kernel(&all(members, as_kernel))?),
        Hypothesis::KernelWinnow(_) => Scores::Monomials(monomials(&all(members, as_monomials))?),
        Hypothesis::Linear(LinearWeights::Real(_)) | Hypothesis::Bounded(_) => reals(members),
        Hypothesis::Linear(LinearWeights::Integer(_)) | Hypothesis::BinaryWeights(_) => {
            Scores::Sum(members.iter().map(sum).collect())
        }
    })
}

/// What cannot be: the members of a committee have comparable scores.
const ONE_KIND: &str = "members of one kind";

fn all<'m, K>(
    members: &'m [Hypothesis],
    of: impl Fn(&'m Hypothesis) -> Option<&'m K>,
) -> Vec<&'m K> {
    let own = |member| of(member).expect(ONE_KIND);
    members.iter().map(own).collect()
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
fn sum(member: &Hypothesis) -> Sum {
    match member {
        Hypothesis::BinaryWeights(weights) => {
            let sign = |at| BigInt::from(if weights.get(at) { 1 } else { -1 });
            signed_sum((0..weights.n()).map(sign).collect())
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
            sum
        }
        _ => unreachable!("{ONE_KIND}"),
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
            _ => unreachable!("{ONE_KIND}"),
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
        // The last feature stands for the unknown names: see `with_unknown`.
        if let (true, Some(unknown)) = (own.is_closed(), weights.last_mut()) {
            *unknown = BigInt::ZERO;
        }
        Sum { weights, constant }
    };
    Ok(members.iter().map(sum).collect())
}

/// A base as numerator and denominator.
fn fraction(base: Base) -> [BigUint; 2] {
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

fn kernel(members: &[&KernelExpansion]) -> Result<KernelScores, Stop> {
    let kernel = members[0].kernel();
    let support = |expansion: &&KernelExpansion| {
        nets((0..expansion.len()).map(|at| {
            let mut words = Vec::new();
            let ones = expansion.row(at, &mut words).ones();
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

fn monomials(members: &[&KernelWinnowWeights]) -> Result<MonomialScores, Stop> {
    let first = members[0];
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
        literals_max: first.max_literals().unwrap_or(first.active_max()),
        // The last feature stands for the unknown names: see `with_unknown`.
        known: first.n() - usize::from(first.is_closed()),
        supports: members.iter().map(support).collect::<Result<_, _>>()?,
    })
}

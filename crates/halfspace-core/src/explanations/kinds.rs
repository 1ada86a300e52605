//! Makes the explanation of each kind of hypothesis.

use std::cmp::Reverse;

use num_bigint::BigUint;

use super::conjunctions::{
    CountedVectors, Heaviest, LITERALS_MAX, Rank, SearchLimits, VectorLiteral, heaviest,
};
use super::explanation::{
    Explanation, ExplanationRequest, Literal, Power, Share, Term, TermWeight, squares,
};
use crate::bits::{BitMatrix, BitVector};
use crate::learners::arithmetic::power_sum::Base;
use crate::learners::arithmetic::unit::Unit;
use crate::learners::engine::run::{Interrupt, StopFlag};
use crate::learners::kernel::conjunction_kernel::{Conjunctions, Kernel};
use crate::learners::kernel::kernel_expansion::KernelExpansion;
use crate::learners::kernel::kernel_winnow_weights::KernelWinnowWeights;
use crate::learners::linear::bounded::BoundedWeights;
use crate::learners::linear::linear_weights::{
    IntegerWeights, LinearWeights, Reading, RealWeights,
};
use crate::learners::winnow::winnow_weights::WinnowWeights;

impl Explanation {
    /// An explanation by features, without a share.
    fn of_features(rule: String, terms: Vec<Term>) -> Self {
        Self {
            rule,
            terms,
            bias: None,
            max_literals: None,
            share: None,
            detail: None,
            of_example: false,
        }
    }
}

/// The indices of the largest keys. Equal keys stand in the order of their indices.
fn largest<K: Ord>(keys: impl Iterator<Item = Option<K>>, top: usize) -> Vec<usize> {
    let keys = keys.enumerate();
    let mut keyed: Vec<_> = keys
        .filter_map(|(at, key)| Some((Reverse(key?), at)))
        .collect();
    keyed.sort_unstable();
    keyed.truncate(top);
    keyed.into_iter().map(|(_, at)| at).collect()
}

fn of_feature(literal: Literal, weight: TermWeight) -> Term {
    Term {
        literals: vec![literal],
        weight,
        value: None,
        uses: None,
    }
}

/// The majority of the features that the weights demand to be 1 or 0.
pub fn binary(weights: &BitVector, request: ExplanationRequest<'_>) -> Explanation {
    let n = weights.n();
    let terms = (0..n.min(request.top)).map(|feature| {
        let weight = if weights.get(feature) { 1_i64 } else { -1 };
        signed(feature, weight.into(), (-weight).into(), request)
    });
    let terms: Vec<_> = terms.collect();
    let conditions = if n == terms.len() {
        let literals = (0..n).map(|at| request.literal(at, !weights.get(at)).to_string());
        literals.collect::<Vec<_>>().join(", ")
    } else {
        let ones: u32 = weights.words().iter().map(|word| word.count_ones()).sum();
        let zeros = n - ones as usize;
        format!(
            "the features with the weight 1 are 1 ({ones} of {n}), and the features with the weight -1 are \
             0 ({zeros} of {n})"
        )
    };
    let rule = format!(
        "The prediction is 1 if at least {} of {n} conditions are true: {conditions}.",
        n.div_ceil(2)
    );
    let share = Share::new(&terms.len().into(), &n.into());
    Explanation {
        share: share.filter(|_| request.example.is_none()),
        ..Explanation::of_features(rule, terms)
    }
}

/// The term of a feature that counts as -1 if it is absent: in an example that lacks it, the term of its negation.
fn signed(
    feature: usize,
    weight: TermWeight,
    opposite: TermWeight,
    request: ExplanationRequest<'_>,
) -> Term {
    let is_negated = !request.is_shown(feature, false);
    let weight = if is_negated { opposite } else { weight };
    of_feature(request.literal(feature, is_negated), weight)
}

pub fn linear(weights: &LinearWeights, request: ExplanationRequest<'_>) -> Explanation {
    let (terms, bias, share) = match weights {
        LinearWeights::Integer(own) => integer(own, request),
        LinearWeights::Real(own) => real(own, request),
    };
    let products = match weights.reading() {
        Some(Reading::Signed) => {
            "the weights, each times 1 if its feature is 1 and times -1 if it is 0,"
        }
        Some(Reading::Unsigned) => "the weights of the features that are 1",
        None => "the weights, each times its feature,",
    };
    let and_bias = if bias.is_some() { " and the bias" } else { "" };
    let rule = format!("The prediction is 1 if {products}{and_bias} add up to at least 0.");
    Explanation {
        bias,
        share,
        ..Explanation::of_features(rule, terms)
    }
}

/// The terms of linear weights with the bias and the share.
type LinearTerms = (Vec<Term>, Option<TermWeight>, Option<Share>);

fn integer(own: &IntegerWeights, request: ExplanationRequest<'_>) -> LinearTerms {
    let weight = |count| match own.unit() {
        Unit::ONE => TermWeight::from(count),
        unit => unit.times(count).into(),
    };
    let counts = own.weights();
    let is_signed = own.reading() == Reading::Signed;
    let is_shown = |at| is_signed || request.is_shown(at, false);
    let key = |(at, count): (usize, &i64)| {
        Some(count.unsigned_abs()).filter(|&key| key > 0 && is_shown(at))
    };
    let shown = largest(counts.iter().enumerate().map(key), request.top);
    let all = squares(counts.iter().copied());
    let share = Share::new(&squares(shown.iter().map(|&at| counts[at])), &all);
    let term = |at: usize| signed(at, weight(counts[at]), weight(-counts[at]), request);
    let terms = shown.into_iter().map(term).collect();
    let share = share.filter(|_| request.example.is_none());
    (terms, own.bias().map(weight), share)
}

fn real(own: &RealWeights, request: ExplanationRequest<'_>) -> LinearTerms {
    let is_signed = own.reading() == Some(Reading::Signed);
    let terms = real_terms(own.weights().iter().copied(), is_signed, request);
    (terms, own.bias().map(TermWeight::from), None)
}

fn real_terms(
    weights: impl Iterator<Item = f64> + Clone,
    is_signed: bool,
    request: ExplanationRequest<'_>,
) -> Vec<Term> {
    let value = |at| request.example.and_then(|example| example.value(at));
    // Doubles of one sign have the order of their bits.
    let key = |(at, weight): (usize, f64)| {
        let product = weight * value(at).unwrap_or(1.0);
        let is_shown = is_signed || request.is_shown(at, false);
        Some(product.abs().to_bits()).filter(|&key| key > 0 && is_shown)
    };
    let shown = largest(weights.clone().enumerate().map(key), request.top);
    let weights: Vec<_> = weights.collect();
    let term = |at: usize| Term {
        value: value(at),
        ..signed(at, weights[at].into(), (-weights[at]).into(), request)
    };
    shown.into_iter().map(term).collect()
}

/// The score divides the sum by n, and subtracts the inhibition from each weight.
pub fn bounded(weights: &BoundedWeights, request: ExplanationRequest<'_>) -> Explanation {
    let inhibition = weights.inhibition();
    let inhibited = weights.weights().iter().map(|weight| weight - inhibition);
    let rule = format!(
        "The prediction is 1 if the mean of the weights, each times its feature, is at least {}. Each \
         weight is the learnt weight minus the inhibition {inhibition}.",
        weights.threshold()
    );
    Explanation::of_features(rule, real_terms(inhibited, false, request))
}

fn power(base: Base, exponent: i64) -> TermWeight {
    TermWeight::Power(Power {
        base: base.to_decimal().to_string(),
        exponent,
    })
}

pub fn winnow(weights: &WinnowWeights, request: ExplanationRequest<'_>) -> Explanation {
    let (n, exponents) = (weights.n(), weights.exponents());
    let key = |(at, exponent): (usize, &i32)| {
        Some(*exponent).filter(|_| request.is_shown(at % n, at >= n))
    };
    let shown = largest(exponents.iter().enumerate().map(key), request.top);
    let term = |at: usize| {
        let literal = request.literal(at % n, at >= n);
        of_feature(literal, power(weights.base(), exponents[at].into()))
    };
    let terms = shown.into_iter().map(term).collect();
    let rule = format!(
        "The prediction is 1 if the weights of the true conditions add up to at least {}.",
        weights.theta()
    );
    Explanation::of_features(rule, terms)
}

pub fn kernel_winnow(
    weights: &KernelWinnowWeights,
    request: ExplanationRequest<'_>,
    stop: &StopFlag,
) -> Result<Explanation, Interrupt> {
    let mut rows = BitMatrix::new(weights.n());
    for example in weights.support() {
        let mut row = BitVector::zeros(weights.n());
        example
            .active
            .iter()
            .for_each(|&feature| row.set(feature as usize, true));
        rows.push_row(row.words());
    }
    let vectors = CountedVectors {
        rows: &rows,
        counts: weights
            .support()
            .iter()
            .map(|example| example.net.into())
            .collect(),
        conjunctions: Conjunctions::Monotone,
    };
    let limits = SearchLimits {
        top: request.top,
        rank: Rank::Value,
        sizes: (
            1,
            LITERALS_MAX
                .min(weights.n())
                .min(weights.max_literals().unwrap_or(u64::MAX) as usize),
        ),
        words_max: request.words_max,
        stop,
    };
    let found = heaviest(&vectors, limits)?;
    let of_features = match weights.max_literals() {
        None => "features".to_owned(),
        Some(most) => format!("at most {most} features"),
    };
    let rule = format!(
        "The prediction is 1 if the weights of the true conjunctions add up to at least {}. The sum is \
         over all conjunctions of {of_features}. A conjunction that no learnt example satisfies has the weight \
         1. The terms are the promoted conjunctions.",
        weights.theta()
    );
    Ok(Explanation {
        max_literals: Some(found.size),
        detail: fewer_literals(found.size, limits.sizes.1),
        ..Explanation::of_features(
            rule,
            terms(&found, request, |exponent| power(weights.base(), exponent)),
        )
    })
}

pub fn kernel(
    expansion: &KernelExpansion,
    request: ExplanationRequest<'_>,
    stop: &StopFlag,
) -> Result<Explanation, Interrupt> {
    let kernel = expansion.kernel();
    let support = expansion.packed_support().map_err(|_| Interrupt::Memory)?;
    let label = |at| if expansion.is_positive(at) { 1 } else { -1 };
    let vectors = CountedVectors {
        rows: &support,
        counts: (0..expansion.len()).map(label).collect(),
        conjunctions: kernel.conjunctions(),
    };
    let most = kernel
        .max_literals()
        .unwrap_or(u64::MAX)
        .min(LITERALS_MAX.min(kernel.n()) as u64);
    let norm_words = expansion.words_of_norm();
    let wants_share = request.example.is_none();
    let has_norm = wants_share && norm_words <= request.words_max / 2;
    let limits = SearchLimits {
        top: request.top,
        rank: Rank::Magnitude,
        sizes: (0, most as usize),
        words_max: request.words_max - if has_norm { norm_words } else { 0 },
        stop,
    };
    let found = heaviest(&vectors, limits)?;
    let norm = match has_norm.then(|| expansion.norm_squared(stop)) {
        None | Some(Err(Interrupt::TimeLimit)) => None,
        Some(norm) => Some(norm?),
    };
    let shown = squares(found.conjunctions.iter().map(|found| found.sums.weight()));
    let no_share = (wants_share && norm.is_none()).then(|| {
        "The share of the squared weights would take more computing time than answer_seconds_max \
         allows."
            .to_owned()
    });
    let detail = [fewer_literals(found.size, limits.sizes.1), no_share];
    let detail = detail.into_iter().flatten().collect::<Vec<_>>().join(" ");
    Ok(Explanation {
        max_literals: Some(found.size),
        share: norm.and_then(|norm: BigUint| Share::new(&shown, &norm)),
        detail: Some(detail).filter(|detail| !detail.is_empty()),
        ..Explanation::of_features(
            kernel_rule(kernel),
            terms(&found, request, TermWeight::from),
        )
    })
}

fn kernel_rule(kernel: &Kernel) -> String {
    let literals = match kernel.conjunctions() {
        Conjunctions::All => "features and negated features",
        Conjunctions::Monotone => "features",
    };
    let at_most = match kernel.max_literals() {
        Some(k) => format!("at most {k} "),
        None => String::new(),
    };
    format!(
        "The prediction is 1 if the weights of the true conjunctions add up to at least 0. The sum is over \
         all conjunctions of {at_most}{literals}, with the empty conjunction, which is always true."
    )
}

/// States that the search left out sizes.
fn fewer_literals(size: usize, most: usize) -> Option<String> {
    (size < most).then(|| {
        format!(
            "The search over conjunctions of {} literals may take more computing time than \
             answer_seconds_max allows.",
            size + 1
        )
    })
}

fn terms(
    found: &Heaviest,
    request: ExplanationRequest<'_>,
    weight: impl Fn(i64) -> TermWeight,
) -> Vec<Term> {
    let literal = |&VectorLiteral {
                       feature,
                       is_negated,
                   }: &VectorLiteral| { request.literal(feature, is_negated) };
    let terms = found.conjunctions.iter().map(|found| Term {
        literals: found.literals.iter().map(literal).collect(),
        weight: weight(found.sums.weight()),
        value: None,
        uses: Some(found.sums.positive + found.sums.negative),
    });
    terms.collect()
}

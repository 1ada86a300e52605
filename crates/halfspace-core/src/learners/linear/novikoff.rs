//! Novikoff's bound on the mistakes of a run, computed from a separator u: R^2 |u|^2 / xi^2 with R = max |x| and xi =
//! min y <u, x>, including the bias coordinate. With integer weights, bound and mistakes are compared in integers.
//!
//! From first weights w_0 other than 0, a run with the rate eta makes at most 2 |w_0| |u| / (eta xi) mistakes more.
//! For the proof, let u have length 1 and k mistakes lead to w. Then k eta xi - |w_0| <= <u, w> <= |w|, and |w|^2 is
//! at most |w_0|^2 + k eta^2 R^2. Squaring the first and dividing by k eta^2 xi^2 gives the sum.
//!
//! With thickness tau, an update may also come from a product of at most tau, so |w|^2 grows by at most eta^2 R^2 +
//! 2 eta tau. The same proof then bounds the updates, with R^2 + 2 tau / eta in the place of R^2.
//!
//! Any strict separator u bounds the mistakes of any run. But the final weights of a run classify a score of 0 as
//! positive, so a positive example may lie on their hyperplane. Then xi = 0 and they give no bound. In that case a
//! copy of the weights learns on, also from products of 0, until it separates strictly. It gives up after 2 p + 10
//! passes if the run made p. The counts of the run do not include these passes.

use num_bigint::BigUint;

use crate::learners::arithmetic::unit::Unit;
use crate::learners::engine::bound::{Bound, Counted, ratio};
use crate::learners::engine::run::{Counts, Interrupt, Run};
use crate::learners::linear::linear_weights::{
    IntegerWeights, LinearScore, LinearScratch, LinearWeights, Reading, RealWeights,
};
use crate::learners::sample::block::{Block, BlockFeatures};
use crate::learners::sample::source::Stream;

const THEOREM: &str = "Novikoff";

/// Why a run that did not converge has no bound.
pub const NOT_CONVERGED: &str =
    "Novikoff's bound needs a separator of the examples, which only a run that converged has";

/// R^2 |u|^2 / xi^2 from R^2, |u|^2 and xi.
pub fn mistakes(radius_squared: f64, norm_squared: f64, margin: f64) -> f64 {
    radius_squared * norm_squared / (margin * margin)
}

/// The largest norm and the smallest margin of a sample under a separator.
struct Extremes {
    radius_squared: f64,
    /// xi, exact for integer weights.
    margin: LinearScore,
}

/// Where a run began, how far each update moved its weights, and how thick it was.
#[derive(Clone, Debug)]
pub struct Start {
    /// |w_0|^2 with the bias, in the square of the unit of the weights.
    squared: LinearNorm,
    /// The rate eta in units of the weights.
    rate: f64,
    /// The thickness tau in units of the weights, as a quotient.
    thickness: Option<(BigUint, BigUint)>,
}

/// A squared norm.
#[derive(Clone, Debug)]
enum LinearNorm {
    Whole(BigUint),
    Real(f64),
}

impl Start {
    /// The start of a run whose first weights, in this unit, are these.
    pub fn of(weights: &LinearWeights, rate: f64, thickness: Option<Unit>, unit: Unit) -> Self {
        let squared = match weights {
            LinearWeights::Integer(own) => LinearNorm::Whole(weights_squared(own)),
            LinearWeights::Real(own) => LinearNorm::Real(squares(own)),
        };
        Self {
            squared,
            rate,
            thickness: thickness.map(|tau| tau.over(unit)),
        }
    }

    /// What the bounds are on.
    pub(super) fn counted(&self) -> Counted {
        Counted::of(self.thickness.is_some())
    }

    /// 2 tau / eta as a quotient of whole numbers, for rates of whole weights, which are whole.
    pub(super) fn excess(&self) -> (BigUint, BigUint) {
        let (numerator, denominator) = self
            .thickness
            .clone()
            .unwrap_or_else(|| (BigUint::ZERO, 1_u32.into()));
        (numerator * 2_u32, denominator * self.rate as u64)
    }

    /// 2 tau / eta.
    pub(super) fn excess_real(&self) -> f64 {
        let value = |(numerator, denominator): &(BigUint, BigUint)| {
            ratio(numerator, denominator).0.unwrap_or(f64::INFINITY)
        };
        2.0 * self.thickness.as_ref().map_or(0.0, value) / self.rate
    }

    /// Whether all first weights are 0.
    pub fn is_zero(&self) -> bool {
        match &self.squared {
            LinearNorm::Whole(squared) => *squared == BigUint::ZERO,
            LinearNorm::Real(squared) => *squared == 0.0,
        }
    }
}

/// |w|^2 with the bias, of real weights.
pub(super) fn squares(weights: &RealWeights) -> f64 {
    let components = weights.weights().iter().copied().chain(weights.bias());
    components.map(|w| w * w).sum()
}

/// The bound for the mistakes in `counts`, which the run made from `start` on the examples of `stream`.
///
/// # Errors
/// The interrupt that stopped the passes over the examples.
pub fn bound(
    start: &Start,
    weights: &LinearWeights,
    stream: &mut dyn Stream,
    counts: &Counts,
    run: &Run,
) -> Result<Bound, Interrupt> {
    let Some(extremes) = extremes(weights, stream, run)? else {
        return Ok(unknown(THEOREM, "the data have no examples"));
    };
    let counted = start.counted().number(counts);
    if extremes.is_strict() {
        return Ok(of_separator(start, weights, &extremes, counted, None));
    }
    let mut strict = weights.clone();
    let passes_max = 2 * counts.passes + 10;
    let Some(passes) = separate_strictly(&mut strict, stream, passes_max, run)? else {
        let why = format!(
            "an example lies on the hyperplane (xi = 0), and {passes_max} further passes found no \
             strict separator"
        );
        return Ok(unknown(THEOREM, &why));
    };
    let Some(extremes) = self::extremes(&strict, stream, run)? else {
        return Ok(unknown(THEOREM, "the data have no examples"));
    };
    let detail = format!(
        "an example lies on the final hyperplane (xi = 0); the bound uses a strict separator, \
         found in {passes} further passes"
    );
    Ok(of_separator(
        start,
        &strict,
        &extremes,
        counted,
        Some(detail),
    ))
}

impl Extremes {
    /// Whether every example lies strictly on its side.
    fn is_strict(&self) -> bool {
        is_positive(self.margin)
    }
}

/// The bound that a strict separator gives.
fn of_separator(
    start: &Start,
    weights: &LinearWeights,
    extremes: &Extremes,
    counted: u64,
    detail: Option<String>,
) -> Bound {
    let (mistakes_at_most, respected) = match (weights, extremes.margin, &start.squared) {
        (
            LinearWeights::Integer(weights),
            LinearScore::Integer(margin),
            LinearNorm::Whole(first),
        ) => {
            let (norm_squared, margin) = (weights_squared(weights), margin.unsigned_abs());
            // Rates of integer weights are whole.
            let rate = start.rate as u64;
            let further = root(first * &norm_squared) * 2_u32 * margin;
            let (excess, below) = start.excess();
            // The squared norm of a Boolean example is a count of bits, so it is a whole number.
            let lengths = (&below * (extremes.radius_squared as u64) + excess) * rate;
            let numerator = norm_squared * lengths + further * &below;
            let denominator = BigUint::from(margin).pow(2) * rate * below;
            let respected = BigUint::from(counted) * &denominator <= numerator;
            // Integer weights are at most 2^40, so the ratio is far within the range of f64.
            (ratio(&numerator, &denominator).0, respected)
        }
        (LinearWeights::Real(weights), LinearScore::Real(margin), LinearNorm::Real(first)) => {
            let norm_squared = squares(weights);
            let lengths = extremes.radius_squared + start.excess_real();
            let from_zero = self::mistakes(lengths, norm_squared, margin);
            let further = 2.0 * first.sqrt() * norm_squared.sqrt() / (start.rate * margin);
            let value = from_zero + further;
            if !value.is_finite() {
                return unknown(THEOREM, "the bound exceeds the range of f64");
            }
            (Some(value), counted as f64 <= value)
        }
        _ => unreachable!("scores of integer weights are integers"),
    };
    let further = "the weights did not start at 0, which adds 2 |w_0| |u| / (eta xi)";
    let detail = match (detail, start.is_zero()) {
        (detail, true) => detail,
        (None, false) => Some(further.to_owned()),
        (Some(detail), false) => Some(format!("{detail}; {further}")),
    };
    start.counted().noted(Bound {
        theorem: THEOREM,
        mistakes_at_most,
        log2_mistakes_at_most: None,
        respected: Some(respected),
        detail,
    })
}

/// Makes perceptron passes that also learn from products of 0. Returns the number of passes until the separation is
/// strict.
fn separate_strictly(
    weights: &mut LinearWeights,
    stream: &mut dyn Stream,
    passes_max: u64,
    run: &Run,
) -> Result<Option<u64>, Interrupt> {
    let mut scratch = weights.scratch();
    for pass in 1..=passes_max {
        let mut is_clean = true;
        stream.rewind();
        while let Some(block) = stream.next_block()? {
            if let Some(interrupt) = run.stop.raised() {
                return Err(interrupt);
            }
            for row in 0..block.rows() {
                if !is_positive(signed_margin(weights, &block, row, &mut scratch)) {
                    let amount = if block.is_positive(row) { 1.0 } else { -1.0 };
                    is_clean = false;
                    if !weights.add(&block, row, (amount, 1.0), &mut scratch) {
                        return Ok(None);
                    }
                }
            }
        }
        if is_clean {
            return Ok(Some(pass));
        }
    }
    Ok(None)
}

/// The smallest whole number whose square is no smaller.
fn root(square: BigUint) -> BigUint {
    let root = square.sqrt();
    match &root * &root == square {
        true => root,
        false => root + 1_u32,
    }
}

/// |w|^2 with the bias, in units of the weights.
pub(super) fn weights_squared(weights: &IntegerWeights) -> BigUint {
    if weights.largest() == 0 {
        return BigUint::ZERO;
    }
    let components = weights.weights().into_iter().chain(weights.bias());
    // Weights are at most 2^40, so 2^48 squares fit.
    let squares = components.map(|w| u128::from(w.unsigned_abs()).pow(2));
    squares.sum::<u128>().into()
}

pub(super) fn is_positive(margin: LinearScore) -> bool {
    match margin {
        LinearScore::Integer(margin) => margin > 0,
        LinearScore::Real(margin) => margin > 0.0,
    }
}

/// The bound of a theorem that gives no number, for this reason.
pub(super) fn unknown(theorem: &'static str, why: &str) -> Bound {
    Bound {
        theorem,
        mistakes_at_most: None,
        log2_mistakes_at_most: None,
        respected: None,
        detail: Some(why.to_owned()),
    }
}

fn extremes(
    weights: &LinearWeights,
    stream: &mut dyn Stream,
    run: &Run,
) -> Result<Option<Extremes>, Interrupt> {
    let mut scratch = weights.scratch();
    let mut found: Option<Extremes> = None;
    stream.rewind();
    while let Some(block) = stream.next_block()? {
        if let Some(interrupt) = run.stop.raised() {
            return Err(interrupt);
        }
        for row in 0..block.rows() {
            let margin = signed_margin(weights, &block, row, &mut scratch);
            let radius_squared = norm_squared(weights, &block, row);
            found = Some(match found {
                None => Extremes {
                    radius_squared,
                    margin,
                },
                Some(so_far) => Extremes {
                    radius_squared: so_far.radius_squared.max(radius_squared),
                    margin: smaller(so_far.margin, margin),
                },
            });
        }
    }
    Ok(found)
}

/// y <u, x>.
fn signed_margin(
    weights: &LinearWeights,
    block: &Block<'_>,
    row: usize,
    scratch: &mut LinearScratch,
) -> LinearScore {
    let score = weights.score(block, row, scratch);
    match (score, block.is_positive(row)) {
        (score, true) => score,
        (LinearScore::Integer(score), false) => LinearScore::Integer(-score),
        (LinearScore::Real(score), false) => LinearScore::Real(-score),
    }
}

pub(super) fn smaller(a: LinearScore, b: LinearScore) -> LinearScore {
    match (a, b) {
        (LinearScore::Integer(a), LinearScore::Integer(b)) => LinearScore::Integer(a.min(b)),
        (LinearScore::Real(a), LinearScore::Real(b)) => LinearScore::Real(a.min(b)),
        _ => unreachable!("scores of one hypothesis are of one kind"),
    }
}

/// |x|^2, including the bias coordinate.
pub fn norm_squared(weights: &LinearWeights, block: &Block<'_>, row: usize) -> f64 {
    let (reading, has_bias) = match weights {
        LinearWeights::Integer(weights) => (Some(weights.reading()), weights.bias().is_some()),
        LinearWeights::Real(weights) => (weights.reading(), weights.bias().is_some()),
    };
    let features = match (block.features, reading) {
        (BlockFeatures::Real { n, values }, _) => {
            let row = &values[row * n..(row + 1) * n];
            row.iter().map(|x| x * x).sum()
        }
        (BlockFeatures::Sparse(rows), None | Some(Reading::Unsigned)) => {
            let row = rows.row(row);
            match row.values {
                Some(values) => values.iter().map(|x| x * x).sum(),
                None => row.ids.len() as f64,
            }
        }
        (BlockFeatures::Boolean(bits), Some(Reading::Unsigned)) => {
            let ones = (0..bits.words_per_row()).map(|word| bits.word(word, row).count_ones());
            f64::from(ones.sum::<u32>())
        }
        (BlockFeatures::Boolean(_) | BlockFeatures::Sparse(_), _) => weights.n() as f64,
    };
    features + f64::from(u8::from(has_bias))
}

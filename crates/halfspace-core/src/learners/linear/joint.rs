//! The bound on the mistakes of a committee of perceptrons that learn jointly, computed from separators u_r of a run
//! that converged: 2 R^2 |U|^2 / gamma^2, with R = max |x|, |U|^2 the sum of all |u_r|^2, and gamma the smallest of
//! u_y.x - max_{r != y} u_r.x over the examples x of class y. It holds for a run that starts at w = 0.
//!
//! For the proof, write the weights of all classes one after the other. A mistake on x of class y, for which r was
//! predicted, adds z, which is x in the place of y and -x in that of r. Its square is 2 |x|^2, and the product with the
//! present weights is at most 0, so k mistakes give weights of squared length at most 2 k R^2. Their product with U is
//! at least k gamma. With thickness tau, the product may be tau, so k updates give at most k (2 R^2 + 2 tau / eta).
//! K. Crammer, Y. Singer, JMLR 3 (2003) 951-991, after C. Kesler.

use num_bigint::BigUint;

use crate::learners::decision::Score;
use crate::learners::engine::bound::{Bound, on_whole_numbers, ratio};
use crate::learners::engine::run::{Counts, Interrupt, Run};
use crate::learners::hypothesis::Hypothesis;
use crate::learners::linear::linear_weights::{LinearScore, LinearWeights};
use crate::learners::linear::novikoff::{
    Start, is_positive, norm_squared, smaller, squares, unknown, weights_squared,
};
use crate::learners::predictor::Predictor;
use crate::learners::sample::source::Stream;

const THEOREM: &str = "Kesler; Crammer and Singer";

/// The bound for the mistakes in `counts`, or for its updates with thickness, which the run made from w = 0 on the
/// examples of `stream`. None if the committee is of another kind.
///
/// # Errors
/// The interrupt that stopped the pass over the examples.
pub fn bound(
    start: &Start,
    committee: &Predictor,
    stream: &mut dyn Stream,
    counts: &Counts,
    run: &Run,
) -> Result<Option<Bound>, Interrupt> {
    let linear = |member: &Hypothesis| match member {
        Hypothesis::Linear(weights) => Some(weights.clone()),
        _ => None,
    };
    let members: Option<Vec<LinearWeights>> = committee.members().iter().map(linear).collect();
    let Some(members) = members else {
        return Ok(None);
    };
    let (mut radius_squared, mut smallest) = (0.0_f64, None);
    let mut scores = vec![Vec::new(); members.len()];
    stream.rewind();
    while let Some(block) = stream.next_block()? {
        if let Some(interrupt) = run.stop.raised() {
            return Err(interrupt);
        }
        for (member, scores) in committee.members().iter().zip(&mut scores) {
            scores.clear();
            member.decide(&block, 0..block.rows(), &run.stop, scores);
        }
        for row in 0..block.rows() {
            radius_squared = radius_squared.max(norm_squared(&members[0], &block, row));
            let class = block.class(row) as usize;
            let of_row: Vec<&Score> = scores.iter().map(|all| &all[row].score).collect();
            for (_, other) in of_row.iter().enumerate().filter(|(at, _)| *at != class) {
                let gap = gap(of_row[class], other);
                smallest = Some(smallest.map_or(gap, |so_far| smaller(so_far, gap)));
            }
        }
    }
    let bound = |gap| {
        of_gap(
            start,
            &members,
            radius_squared,
            gap,
            start.counted().number(counts),
        )
    };
    Ok(smallest.map(bound))
}

/// The score of the true class less another, in units of the weights if these are whole.
fn gap(own: &Score, other: &Score) -> LinearScore {
    match (own, other) {
        (Score::Integer(own), Score::Integer(other)) => LinearScore::Integer(own - other),
        (Score::Multiple { units: own, .. }, Score::Multiple { units: other, .. }) => {
            LinearScore::Integer(own - other)
        }
        (Score::Real(own), Score::Real(other)) => LinearScore::Real(own - other),
        _ => unreachable!("scores of members are of one kind"),
    }
}

fn of_gap(
    start: &Start,
    members: &[LinearWeights],
    radius_squared: f64,
    gap: LinearScore,
    counted: u64,
) -> Bound {
    if !is_positive(gap) {
        return unknown(
            THEOREM,
            "under the final weights an example has the same score for its class and another (gamma = 0), so they \
             give no bound",
        );
    }
    let (mistakes_at_most, respected) = match gap {
        LinearScore::Integer(gap) => {
            let of_member = |member: &LinearWeights| match member {
                LinearWeights::Integer(own) => weights_squared(own),
                LinearWeights::Real(_) => unreachable!("scores of real weights are real"),
            };
            let norm_squared: BigUint = members.iter().map(of_member).sum();
            let (excess, below) = start.excess();
            // The squared norm of a Boolean example is a count of bits, so it is a whole number.
            let numerator = norm_squared * (&below * (2 * radius_squared as u64) + excess);
            let denominator = BigUint::from(gap.unsigned_abs()).pow(2) * below;
            let respected = BigUint::from(counted) * &denominator <= numerator;
            (ratio(&numerator, &denominator).0, respected)
        }
        LinearScore::Real(gap) => {
            let of_member = |member: &LinearWeights| match member {
                LinearWeights::Real(own) => squares(own),
                LinearWeights::Integer(_) => unreachable!("scores of whole weights are whole"),
            };
            let norm_squared: f64 = members.iter().map(of_member).sum();
            let lengths = 2.0 * radius_squared + start.excess_real();
            let value = on_whole_numbers(lengths * norm_squared / (gap * gap));
            if !value.is_finite() {
                return unknown(THEOREM, "the bound exceeds the range of f64");
            }
            (Some(value), counted as f64 <= value)
        }
    };
    start.counted().noted(Bound {
        theorem: THEOREM,
        mistakes_at_most,
        log2_mistakes_at_most: None,
        respected: Some(respected),
        detail: None,
    })
}

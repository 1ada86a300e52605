//! Hypotheses in words: the heaviest terms of a hypothesis with names and exact weights.
//!
//! | hypothesis | term | weight | uses |
//! |---|---|---|---|
//! | binary weights | feature | 1 or -1 | unknown |
//! | linear | feature | the weight | unknown |
//! | Winnow | feature or its complement | alpha^e | unknown |
//! | kernel | conjunction | sum of the labels of the satisfying support vectors | these vectors |
//! | kernel Winnow | conjunction | alpha^e | net promotions and demotions of the satisfying examples |
//! | bounded | feature | the weight minus the inhibition | unknown |
//!
//! The uses of a term are the updates that changed its weight. We know them only for the kernels, which keep the
//! examples of their updates. Conjunctions have at most [`LITERALS_MAX`] literals. Terms are ordered by magnitude, and
//! powers by value. Ties go to the term of fewer literals, and then to the earlier features. Terms of weight 0 are left
//! out. So are, for kernel Winnow, conjunctions that were not promoted more often than demoted.

mod conjunctions;
mod explanation;
mod kinds;
mod text;

use crate::learners::engine::run::{Interrupt, StopFlag};
use crate::learners::hypothesis::Hypothesis;
use crate::learners::linear::linear_weights::Reading;
use crate::learners::sample::data::{Data, Features};

pub use conjunctions::LITERALS_MAX;
pub use explanation::{
    Explanation, ExplanationRequest, Literal, NAME_CHARACTERS_MAX, Power, Share, TERMS_MAX, Term,
    TermWeight, WORDS_PER_SECOND,
};

/// Explains a hypothesis. The answer depends only on the arguments, unless a time limit is raised. If the work of a
/// kernel would exceed its limit, or the time is up, the explanation compares only conjunctions of fewer literals.
///
/// # Errors
/// The interrupt that stopped the work.
pub fn explain(
    hypothesis: &Hypothesis,
    request: ExplanationRequest<'_>,
    stop: &StopFlag,
) -> Result<Explanation, Interrupt> {
    match hypothesis {
        Hypothesis::BinaryWeights(weights) => Ok(kinds::binary(weights, request)),
        Hypothesis::Linear(weights) => Ok(kinds::linear(weights, request)),
        Hypothesis::Winnow(weights) => Ok(kinds::winnow(weights, request)),
        Hypothesis::KernelWinnow(weights) => kinds::kernel_winnow(weights, request, stop),
        Hypothesis::Kernel(expansion) => kinds::kernel(expansion, request, stop),
        Hypothesis::Bounded(weights) => Ok(kinds::bounded(weights, request)),
    }
}

/// The most features of a hypothesis of which an absent one counts too.
const ABSENT_MAX: usize = 1 << 16;

/// Explains a decision on one example: the heaviest of the terms that are true for it, or with values those that add
/// most. The names of the request are those of all features. The inner error says why there are no such terms.
///
/// # Errors
/// The interrupt that stopped the work.
///
/// # Panics
/// Panics if there is no example.
pub fn explain_example(
    hypothesis: &Hypothesis,
    example: &Data,
    request: ExplanationRequest<'_>,
    stop: &StopFlag,
) -> Result<Result<Explanation, &'static str>, Interrupt> {
    let (n, top) = (hypothesis.n(), request.top);
    let known = entries(example)
        .into_iter()
        .take_while(|(id, _)| (*id as usize) < n);
    let (features, values): (Vec<u32>, Vec<Option<f64>>) = known.unzip();
    let values: Option<Vec<f64>> = values.into_iter().collect();
    let values = values.filter(|values| !values.is_empty());
    let Some(own) = hypothesis.only(&features) else {
        return among_all(hypothesis, &features, values.as_deref(), request, stop);
    };
    let names = request.names.map(|names| {
        let names = features.iter().filter_map(|&id| names.get(id as usize));
        names.cloned().collect::<Vec<_>>()
    });
    let request = ExplanationRequest {
        names: names.as_deref(),
        // Values change the order.
        top: if values.is_some() {
            features.len()
        } else {
            top
        },
        ..request
    };
    let explanation = explain(&own, request, stop)?.renumbered(&features);
    Ok(Ok(explanation.of_example(
        &features,
        values.as_deref(),
        top,
    )))
}

/// The active features of the first example, with their values unless it is Boolean.
fn entries(example: &Data) -> Vec<(u32, Option<f64>)> {
    match example.features() {
        Features::Sparse(rows) => {
            let (row, is_real) = (rows.row(0), rows.is_real());
            let value = |value| Some(value).filter(|_| is_real);
            row.entries()
                .map(|(id, own)| (id as u32, value(own)))
                .collect()
        }
        Features::Boolean(rows) => {
            let row = rows.row(0);
            let ones = (0..rows.n()).filter(|&id| row.get(id));
            ones.map(|id| (id as u32, None)).collect()
        }
        Features::Real(rows) => {
            let values = (0..).zip(&rows.values()[..rows.n()]);
            let own = values.filter(|(_, value)| **value != 0.0);
            own.map(|(id, value)| (id, Some(*value))).collect()
        }
    }
}

/// The explanation of an example whose absent features may count too.
fn among_all(
    hypothesis: &Hypothesis,
    features: &[u32],
    values: Option<&[f64]>,
    request: ExplanationRequest<'_>,
    stop: &StopFlag,
) -> Result<Result<Explanation, &'static str>, Interrupt> {
    let all = hypothesis.n();
    if matches!(hypothesis, Hypothesis::Kernel(_)) {
        return Ok(Err("its conjunctions have negated features too"));
    }
    if all > ABSENT_MAX {
        return Ok(Err(
            "absent features count too, and there are more than 65,536",
        ));
    }
    let is_signed = match hypothesis {
        Hypothesis::BinaryWeights(_) => true,
        Hypothesis::Linear(weights) => weights.reading() == Some(Reading::Signed),
        _ => false,
    };
    let top = request.top;
    let request = ExplanationRequest {
        top: 2 * all,
        ..request
    };
    let explanation = explain(hypothesis, request, stop)?.true_for(features, is_signed);
    Ok(Ok(explanation.of_example(features, values, top)))
}

#[cfg(test)]
mod tests;

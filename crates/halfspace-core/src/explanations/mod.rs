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
mod example;
mod explanation;
mod kinds;
mod text;

use crate::learners::engine::run::{Interrupt, StopFlag};
use crate::learners::hypothesis::Hypothesis;

pub use conjunctions::LITERALS_MAX;
pub use example::ExplainedExample;
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

/// Explains a decision on one example: the heaviest of the terms that are true for it, or with values those that add
/// most. The inner error says why the hypothesis has no such terms.
///
/// # Errors
/// The interrupt that stopped the work.
pub fn explain_example(
    hypothesis: &Hypothesis,
    example: &ExplainedExample,
    request: ExplanationRequest<'_>,
    stop: &StopFlag,
) -> Result<Result<Explanation, &'static str>, Interrupt> {
    let request = ExplanationRequest {
        example: Some(example),
        ..request
    };
    if !matches!(
        hypothesis,
        Hypothesis::Kernel(_) | Hypothesis::KernelWinnow(_)
    ) {
        return Ok(Ok(explain(hypothesis, request, stop)?.of_example()));
    }
    let known = example
        .ids()
        .take_while(|id| (*id as usize) < hypothesis.n());
    let features: Vec<u32> = known.collect();
    // The search is over the features of the example alone.
    let Some(own) = hypothesis.only(&features) else {
        return Ok(Err("its conjunctions have negated features too"));
    };
    let names = request.names.map(|names| {
        let names = features.iter().filter_map(|&id| names.get(id as usize));
        names.cloned().collect::<Vec<_>>()
    });
    let request = ExplanationRequest {
        names: names.as_deref(),
        ..request
    };
    let explained = explain(&own, request, stop)?;
    Ok(Ok(explained.renumbered(&features).of_example()))
}

#[cfg(test)]
mod tests;

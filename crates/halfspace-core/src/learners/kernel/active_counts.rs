//! Limits on the active features of examples for kernel Winnow, whose time per example is exponential in their number,
//! and the message about examples that exceed them.

use std::ops::ControlFlow;

use crate::learners::engine::run::Interrupt;
use crate::learners::kernel::kernel_winnow_weights::KernelWinnowWeights;
use crate::learners::sample::block::BlockFeatures;
use crate::learners::sample::examples::Examples;

/// The largest number of steps for the predictions of one request: about a minute.
const STEPS_MAX: u64 = 1 << 36;

/// Checks that a model can decide these examples within the steps of one request. The inner error names the example
/// that is too large, or the number of steps of all examples.
///
/// # Errors
/// The interrupt that kept the examples from being read.
pub fn check_examples(
    weights: &KernelWinnowWeights,
    examples: &dyn Examples,
) -> Result<Result<(), String>, Interrupt> {
    // Closed weights have no conjunctions of other features.
    let known = if weights.is_closed() {
        weights.n()
    } else {
        usize::MAX
    };
    if let Some(detail) = too_active(examples, weights.active_max(), known)? {
        return Ok(Err(intractable(&detail)));
    }
    let mut steps = 0_u64;
    for_each_active_count(examples, known, |_, active| {
        steps = steps.saturating_add((active + 1) << active);
        ControlFlow::Continue(())
    })?;
    Ok(if steps > STEPS_MAX {
        let detail = format!(
            "these examples take {steps} steps, more than {STEPS_MAX}; send fewer examples"
        );
        Err(intractable(&detail))
    } else {
        Ok(())
    })
}

/// The message about examples whose cubes are too large.
pub(super) fn intractable(detail: &str) -> String {
    format!(
        "{detail}: by Theorem 5 (Khardon, Roth, Servedio) no algorithm simulates Winnow over all \
         conjunctions in polynomial time unless #P has polynomial algorithms; an example with a \
         active features takes about 2^a steps"
    )
}

/// A description of the first example with more than `most` active features below `known`.
pub(super) fn too_active(
    examples: &dyn Examples,
    most: u64,
    known: usize,
) -> Result<Option<String>, Interrupt> {
    let mut found = None;
    for_each_active_count(examples, known, |example, count| {
        if count <= most {
            return ControlFlow::Continue(());
        }
        let which = match examples.shape().examples {
            1 => "the example".to_owned(),
            _ => format!("example {example} (from 0)"),
        };
        found = Some(format!(
            "{which} has {count} active features, more than max_active = {most}"
        ));
        ControlFlow::Break(())
    })?;
    Ok(found)
}

/// Shows the number of active features below `known` of each Boolean example in order.
fn for_each_active_count(
    examples: &dyn Examples,
    known: usize,
    mut see: impl FnMut(usize, u64) -> ControlFlow<()>,
) -> Result<(), Interrupt> {
    let (mut reader, mut first) = (examples.reader(), 0);
    while first < examples.shape().examples {
        let rows = reader.rows(first)?;
        for row in 0..rows.count() {
            let active = match rows.features {
                BlockFeatures::Sparse(block) => {
                    let ids = block.row(row).ids;
                    ids.partition_point(|&id| (id as usize) < known) as u64
                }
                BlockFeatures::Boolean(block) => {
                    let words = 0..block.words_per_row();
                    words
                        .map(|word| u64::from(block.word(word, row).count_ones()))
                        .sum()
                }
                BlockFeatures::Real { .. } => return Ok(()),
            };
            if see(first + row, active).is_break() {
                return Ok(());
            }
        }
        first += rows.count();
    }
    Ok(())
}

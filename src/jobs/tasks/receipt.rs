//! The receipt of a training, made from the outcome of the run.

use halfspace_core::learners::engine::holdout::HeldOut;
use halfspace_core::learners::engine::outcome::RunOutcome;
use halfspace_core::learners::engine::reason::Reason;
use halfspace_core::learners::engine::task::Task;
use halfspace_formats::{Classes, GeneratedSpec};
use halfspace_verify::{DataSource, GENERATOR, Receipt, ReceiptMember, VERSION, document_sha256};

use crate::jobs::json_text::json_value;
use crate::records::hypothesis::HypothesisDocument;
use crate::records::names::Names;

/// The receipt of a run, or `None` if the mistaken examples, the parameters and the seed do not reproduce it.
///
/// `examples` is the number of examples, unless the stream is endless. `data_sha256` is the digest of stored
/// examples, and `generated` describes drawn ones.
pub(super) fn receipt(
    task: &Task,
    outcome: &RunOutcome,
    hypothesis: &HypothesisDocument,
    names: &Names,
    examples: Option<u64>,
    data_sha256: Option<&str>,
    generated: Option<&GeneratedSpec>,
) -> Option<Receipt> {
    let kept = outcome.grounds.kept.as_ref()?;
    let is_own = task.start.is_none() && !task.has_initial();
    // A limit of the learner itself refuses the update of the last mistake.
    let is_whole = match outcome.termination.reason {
        Reason::Limit(limit) => limit.starts_with("max_"),
        _ => true,
    };
    if !is_own || !is_whole {
        return None;
    }
    let holdout = match task.holdout {
        None => None,
        Some(HeldOut::Share(share)) => Some(halfspace_verify::HeldOut {
            share,
            stratified: task.stratify,
            errors: outcome.holdout.map(|counted| counted.errors),
        }),
        Some(HeldOut::Fold { .. }) => return None,
    };
    let params = task.parameters.to_json();
    let order = params.get("order").and_then(|order| order.as_str());
    let examples = examples.unwrap_or(outcome.counts.examples);
    let held_out = outcome.holdout.map_or(0, |counted| counted.examples);
    // The errors on a part of the examples are no claim about the data.
    let training = outcome
        .training
        .filter(|counted| counted.examples + held_out == examples);
    let receipt = Receipt {
        version: VERSION,
        learner: task.entry.name.to_owned(),
        order: order.unwrap_or("cyclic").to_owned(),
        params,
        seed: task.seed.0,
        generator: GENERATOR.to_owned(),
        holdout,
        examples,
        presented: outcome.counts.examples,
        multiclass: task.is_committee().then_some(task.multiclass),
        open: task.open,
        mistakes: outcome.counts.mistakes,
        training_errors: training.map(|counted| counted.errors),
        data: match generated {
            Some(generated) => DataSource::Generated {
                spec: json_value(generated),
            },
            None => DataSource::Rows {
                sha256: data_sha256?.to_owned(),
            },
        },
        hypothesis_sha256: document_sha256(&json_value(hypothesis)),
        members: members(outcome, kept, names),
        sha256: String::new(),
    };
    Some(receipt.sealed())
}

/// The rules of the run with the rows from which they learnt.
fn members(outcome: &RunOutcome, kept: &[Vec<u64>], names: &Names) -> Vec<ReceiptMember> {
    let plain = Classes::plain();
    let classes = names.classes.as_ref().unwrap_or(&plain);
    let of = |class: &str, mistakes: u64, kept: &Vec<u64>| ReceiptMember {
        class: class.to_owned(),
        mistakes,
        kept: kept.clone(),
    };
    let members = outcome.members.iter().zip(classes.each().flatten());
    match outcome.members.as_slice() {
        [] => vec![of(classes.positive(), outcome.counts.mistakes, &kept[0])],
        _ => members
            .zip(kept)
            .map(|((member, class), kept)| of(class, member.mistakes, kept))
            .collect(),
    }
}

//! The document of the result of a training.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use halfspace_core::certificates::Certificates;
use halfspace_core::learners::engine::bound::{Bound, MemberOutcome};
use halfspace_core::learners::engine::outcome::{BestSeen, Recovery, RunOutcome, Training};
use halfspace_core::learners::engine::run::Counts;
use halfspace_formats::TableEncoding;

use super::class_weight::by_name;
use super::hypothesis::HypothesisDocument;
use super::id::ModelId;
use super::names::Names;

/// The result of a training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TrainResult {
    /// The stored model.
    pub model: Option<ModelId>,
    /// The hypothesis; null if it is longer than 256 KiB: then fetch the model.
    pub hypothesis: Option<HypothesisDocument>,
    /// Whether `hypothesis` is the last or the best of the run.
    pub hypothesis_is: HypothesisIs,
    /// The best hypothesis at the end of an earlier pass, if it makes fewer errors than `hypothesis`.
    /// Learners that decide an example in about n steps look for it at the end of each pass. If a pass has
    /// more than 2^20 values, they look for it at the end of every sixteenth pass.
    #[serde(default)]
    pub best: Option<BestDocument>,
    /// Examples that the current hypothesis predicted wrongly.
    pub mistakes: u64,
    /// Examples that changed the hypothesis: mistakes, or with more than two classes mistakes of a member.
    pub updates: u64,
    /// Examples read, tested or consumed in a batch.
    pub examples: u64,
    /// Passes started, including the pass without a mistake.
    pub passes: u64,
    /// How and why the run ended.
    pub termination: TerminationDocument,
    /// Errors of the hypothesis on the sample without the held-out examples. For a generated stream the
    /// errors are counted on the part that was read. Null if the run was cancelled, or if a time limit ended
    /// it and the examples are not in memory.
    pub training: Option<Training>,
    /// Errors on the held-out examples. Null if none were held out, and in the cases where `training` is
    /// null.
    pub holdout: Option<Training>,
    /// The encoding of the table, if the examples that are not held out decided it. The job shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(ignore)]
    pub table: Option<Arc<TableEncoding>>,
    /// The weights of the classes, by their names, if the request stated some. `balanced` weights follow from the
    /// examples that the learner was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub class_weight: Option<BTreeMap<String, f64>>,
    /// The bound of a theorem and whether the run respects it.
    pub bound: Option<BoundDocument>,
    /// The reason why there is no bound.
    #[serde(default)]
    pub bound_detail: Option<String>,
    /// The members of a committee, one per class in the order of the classes. Absent for two classes. Every member
    /// learns whenever it takes an example of its class for another or the other way round, even if the committee is
    /// right, so the members together make at least as many mistakes as the committee.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub members: Vec<MemberDocument>,
    /// The comparison of the hypothesis with the hidden target; for generated data only.
    pub target: Option<Recovery>,
    /// Seconds of computing, including interrupted attempts that the run resumed from.
    pub seconds: f64,
    #[serde(flatten)]
    pub certified: Certificates,
}

/// The hypothesis of the run that a result reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HypothesisIs {
    /// The last hypothesis.
    Last,
    /// The hypothesis with the fewest errors on the training examples that the learner saw.
    Best,
}

/// A hypothesis at the end of a pass that was not the last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BestDocument {
    /// Examples with a wrong prediction.
    pub errors: u64,
    /// Number of counted examples.
    pub examples: u64,
    /// The pass at whose end the errors were counted, from 1.
    pub pass: u64,
    /// The hypothesis; null if it is longer than 256 KiB.
    pub hypothesis: Option<HypothesisDocument>,
}

/// A member of a committee: the hypothesis that tells one class from all others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = CommitteeMember)]
pub struct MemberDocument {
    /// The name of its class.
    pub class: String,
    /// Examples on which it decided wrongly whether they are of its class.
    pub mistakes: u64,
    /// Mistakes that changed it.
    pub updates: u64,
    /// The bound of a theorem on its mistakes.
    pub bound: Option<BoundDocument>,
}

/// How and why a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TerminationDocument {
    /// `confident`, `converged`, `consistent`, `exhausted`, `limit` or `cancelled`.
    pub reason: String,
    /// The confidence rule that was in use.
    pub rule: Option<String>,
    /// The confidence c that the run ended at the target; null if there is no claim. Of all runs started like
    /// this, at most a share of 1 - c claims c and is wrong. This is not the share among the runs that
    /// stopped.
    pub confidence: Option<f64>,
    /// The confidence of the paper, which is correct for one hypothesis fixed in advance; under
    /// `per-hypothesis` only.
    pub per_hypothesis_confidence: Option<f64>,
    /// Consistent examples since the last mistake.
    pub run_length: Option<u64>,
    /// The run length at which the hypothesis would be accepted.
    pub threshold: Option<u64>,
    /// The limit that was reached, as a field of `stop` or a parameter, and further notes. Semicolons
    /// separate them.
    pub detail: Option<String>,
    /// The reason why there is no claimed confidence, or why the claim of the rule is incomplete.
    pub confidence_detail: Option<String>,
}

/// The bound of a theorem on the mistakes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BoundDocument {
    /// The author of the theorem.
    pub theorem: String,
    /// The bound; null for the reason in `detail`.
    pub mistakes_at_most: Option<f64>,
    /// The binary logarithm of a bound beyond the range of a JSON number.
    pub log2_mistakes_at_most: Option<f64>,
    /// Whether the mistakes of the run respect the bound. Null if an assumption is not met or there is no
    /// number.
    pub respected: Option<bool>,
    /// The reason why there is no verdict or no number.
    pub detail: Option<String>,
}

impl From<&Bound> for BoundDocument {
    fn from(bound: &Bound) -> Self {
        let finite = bound.mistakes_at_most.filter(|bound| bound.is_finite());
        let beyond = || "the bound is beyond the range of a JSON number".to_owned();
        let why = bound.detail.clone();
        Self {
            theorem: bound.theorem.to_owned(),
            mistakes_at_most: finite,
            log2_mistakes_at_most: bound.log2_mistakes_at_most,
            respected: bound.respected,
            detail: why.or_else(|| finite.is_none().then(beyond)),
        }
    }
}

impl From<&BestSeen> for BestDocument {
    fn from(best: &BestSeen) -> Self {
        Self {
            errors: best.training.errors,
            examples: best.training.examples,
            pass: best.pass,
            hypothesis: Some(HypothesisDocument::from(&best.predictor)),
        }
    }
}

impl TrainResult {
    /// Makes the document of an outcome on examples whose classes have these names. `hypothesis` is `None` if it is too
    /// long for the result.
    pub fn new(
        outcome: &RunOutcome,
        names: &Names,
        model: ModelId,
        hypothesis: Option<HypothesisDocument>,
        seconds: f64,
    ) -> Self {
        let Counts {
            examples,
            mistakes,
            updates,
            passes,
        } = outcome.counts;
        let termination = &outcome.termination;
        Self {
            model: Some(model),
            hypothesis,
            hypothesis_is: match outcome.is_best {
                true => HypothesisIs::Best,
                false => HypothesisIs::Last,
            },
            best: outcome.best.as_ref().map(BestDocument::from),
            mistakes,
            updates,
            examples,
            passes,
            termination: TerminationDocument {
                reason: termination.reason.name().to_owned(),
                rule: termination.rule.map(|rule| rule.name().to_owned()),
                confidence: termination.confidence,
                per_hypothesis_confidence: termination.per_hypothesis_confidence,
                run_length: termination.run_length,
                threshold: termination.threshold,
                detail: termination.detail.clone(),
                confidence_detail: termination.confidence_detail.clone(),
            },
            training: outcome.training,
            holdout: outcome.holdout,
            table: None,
            class_weight: outcome
                .class_weights
                .as_ref()
                .map(|all| by_name(all, names.classes.as_ref())),
            bound: outcome.bound.as_ref().map(BoundDocument::from),
            bound_detail: outcome.no_bound.map(str::to_owned),
            members: members(outcome, names),
            target: outcome.target,
            seconds,
            certified: Certificates::default(),
        }
    }
}

fn members(outcome: &RunOutcome, names: &Names) -> Vec<MemberDocument> {
    let names = names.class_names().unwrap_or_default().into_iter();
    let members = names.zip(&outcome.members);
    let document = |(class, member): (String, &MemberOutcome)| MemberDocument {
        class,
        mistakes: member.mistakes,
        updates: member.updates,
        bound: member.bound.as_ref().map(BoundDocument::from),
    };
    members.map(document).collect()
}

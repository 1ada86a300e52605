//! From a stored training to a task of the learners, and from its outcome to documents.

use std::sync::Arc;

use crate::learners::catalogue::{self, DefaultStop, Entry};
use crate::learners::drift_chain::N_MAX;
use crate::learners::hypothesis::Hypothesis;
use crate::learners::outcome::Outcome;
use crate::learners::parameters::Parameters;
use crate::learners::random::Seed;
use crate::learners::run::Limits;
use crate::learners::stopping::{Sampling, StopRule};
use crate::learners::task::{self, Input, Task, WarmStart};
use crate::learners::train_loop::Reason;
use crate::records::hypothesis::HypothesisDocument;
use crate::records::train::{ModelDocument, StopRuleName, TraceDocument, TrainResult, TrainSpec};
use crate::records::{Job, Model, ModelId, Names};
use crate::theory::directed_drift::expected_examples_log2;

use super::ending::{Ending, INLINE_HYPOTHESIS_BYTES_MAX, is_within, json};
use super::ids::Ids;
use super::work::{Allowance, ResolveError};

/// Characters of an unknown name that an error repeats.
const NAME_SHOWN_MAX: usize = 256;

/// More examples a second than any machine reads at present.
const EXAMPLES_A_SECOND_MAX: f64 = 1e9;

/// A training whose parameters are checked.
#[derive(Clone, Debug)]
pub(super) struct TrainJob {
    pub(super) task: Task,
    /// The model that it begins from.
    warm_start: Option<ModelId>,
    /// The names that its data came with.
    names: Names,
}

/// The learner of that name.
///
/// # Errors
/// [`ResolveError::UnknownLearner`], with the names there are.
pub fn learner(name: &str) -> Result<&'static Entry, ResolveError> {
    catalogue::find(name).ok_or_else(|| {
        let known: Vec<_> = catalogue::CATALOGUE.iter().map(|e| e.name).collect();
        ResolveError::UnknownLearner {
            name: name.chars().take(NAME_SHOWN_MAX).collect(),
            known: known.join(", "),
        }
    })
}

impl TrainJob {
    /// Checks a training against the catalogue.
    pub(super) fn new(spec: &TrainSpec, seed: Seed) -> Result<Self, ResolveError> {
        let entry = learner(&spec.learner.name)?;
        let parameters = Parameters::from_json(entry.parameters, &spec.learner.params)
            .map_err(ResolveError::Parameters)?;
        let stop = &spec.stop;
        let task = Task {
            entry,
            parameters,
            seed,
            confidence: stop.confidence.map(|confidence| confidence.get()),
            rule: stop.rule.map(StopRuleName::rule),
            limits: Limits {
                max_passes: stop.max_passes.map(|max| max.get()),
                max_mistakes: stop.max_mistakes.map(|max| max.get()),
                max_examples: stop.max_examples.map(|max| max.get()),
            },
            ends_by_time: stop.max_seconds.is_some(),
            trace: spec.trace,
            holdout: spec.holdout.map(|share| share.get()),
            start: None,
        };
        Ok(Self {
            task,
            warm_start: None,
            names: Names::default(),
        })
    }

    /// With what a training needs besides its spec: the hypothesis that it begins from, if it names
    /// one, and the names that go into its model.
    ///
    /// # Errors
    /// [`ResolveError::NoModel`].
    pub(super) fn with(
        mut self,
        spec: &TrainSpec,
        model: Option<Arc<Hypothesis>>,
        names: &Names,
    ) -> Result<Self, ResolveError> {
        if let Some(start) = spec.warm_start {
            self.warm_start = Some(start.model);
            self.task.start = Some(WarmStart {
                hypothesis: model.ok_or(ResolveError::NoModel)?,
                is_fresh: start.is_fresh,
            });
        }
        self.names = names.clone();
        Ok(self)
    }

    /// Checks it against its data.
    pub(super) fn check(&self, input: Input<'_>, allowance: Allowance) -> Result<(), ResolveError> {
        task::check(&self.task, input, allowance.state_bytes)?;
        self.check_seconds(input, allowance.seconds)
    }

    /// Refuses a search that is expected to be cut off, where the chain of Directed Drift tells how
    /// many examples it takes from a random start, and no limit of the client's own, nor a rule
    /// that stops falsely, makes it end.
    fn check_seconds(&self, input: Input<'_>, seconds: f64) -> Result<(), ResolveError> {
        let Input::Generated(plan) = input else {
            return Ok(());
        };
        let is_of_the_chain = self.task.entry.confidence_rules.contains(&StopRule::Exact)
            && self.task.rule != Some(StopRule::PerHypothesis)
            && !self.task.parameters.is_given("initial")
            && self.task.start.is_none()
            && plan.sampling == Sampling::UniformPositive
            && plan.is_clean();
        let is_limited = self.task.ends_by_time
            || plan.count.is_some()
            || self.task.limits.max_examples.is_some()
            || self.task.limits.max_mistakes.is_some();
        let n = plan.target.n();
        if is_limited || !is_of_the_chain {
            return Ok(());
        }
        let Some(log2) = expected_examples_log2(n.min(N_MAX)) else {
            return Ok(());
        };
        if log2 <= libm::log2(EXAMPLES_A_SECOND_MAX * seconds) {
            return Ok(());
        }
        let than = if n > N_MAX { "more than " } else { "" };
        Err(ResolveError::Intractable(format!(
            "at n = {n} this takes {than}2^{log2:.1} examples on average, more than can be read \
             in the {seconds} seconds of a job; another learner needs fewer, or a stop such as \
             max_seconds or max_examples takes what there is by then"
        )))
    }

    /// How many examples the whole run reads at most, where that is known.
    pub(super) fn examples_planned(&self, in_a_pass: Option<u64>) -> Option<u64> {
        let limits = self.task.limits;
        let one_pass = match limits.max_passes {
            Some(passes) => passes == 1,
            None => self.task.entry.default_stop == DefaultStop::Confidence,
        };
        let planned = [in_a_pass.filter(|_| one_pass), limits.max_examples];
        planned.into_iter().flatten().min()
    }

    /// What is written of the training.
    pub(super) fn ending(&self, ids: &Ids, job: &Job, outcome: &Outcome, seconds: f64) -> Ending {
        let hypothesis = HypothesisDocument::from(&outcome.hypothesis);
        let inline =
            is_within(&hypothesis, INLINE_HYPOTHESIS_BYTES_MAX).then(|| hypothesis.clone());
        let model = self.model(ids, job, outcome, hypothesis);
        let result = TrainResult::new(outcome, model.id, inline, seconds);
        Ending {
            result: json(&result),
            is_cancelled: outcome.termination.reason == Reason::Cancelled,
            counts: Some(outcome.counts),
            model: Some(model),
            trace: outcome.trace.as_ref().map(TraceDocument::from),
        }
    }

    fn model(
        &self,
        ids: &Ids,
        job: &Job,
        outcome: &Outcome,
        hypothesis: HypothesisDocument,
    ) -> Model {
        let kind = hypothesis.kind().to_owned();
        let n = hypothesis.n() as u64;
        let held_out = outcome.holdout.map(|counted| counted.examples);
        let document = ModelDocument {
            params: self.task.parameters.to_json(),
            seed: job.seed,
            data_sha256: job.data_sha256.clone(),
            examples: outcome.counts.examples,
            mistakes: outcome.counts.mistakes,
            updates: outcome.counts.updates,
            passes: outcome.counts.passes,
            held_out,
            warm_start: self.warm_start,
            features: self.names.features.clone(),
            classes: self.names.classes.clone(),
            hypothesis,
        };
        Model {
            id: ids.id(),
            owner: job.owner.clone(),
            job: Some(job.id),
            name: job.name.clone(),
            learner: self.task.entry.name.to_owned(),
            kind,
            n,
            document: json(&document),
            created_at: ids.now(),
        }
    }
}

//! Training jobs: from a stored request to a task of the learners, and from the outcome to documents.
//!
//! This module also decides whether a run may claim a confidence. A first hypothesis that may depend on the
//! examples excludes every claim.

use halfspace_core::bits::words_for;
use halfspace_core::learners::drift::drift_chain::N_MAX;
use halfspace_core::learners::engine::catalogue::{self, DefaultStop, Entry, Pace};
use halfspace_core::learners::engine::evidence::Evidence;
use halfspace_core::learners::engine::outcome::Outcome;
use halfspace_core::learners::engine::parameters::Parameters;
use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::run::{Interrupt, Limits, StopFlag};
use halfspace_core::learners::engine::stopping::{Sampling, StopRule};
use halfspace_core::learners::engine::task::{self, Input, Task};
use halfspace_core::learners::engine::train_loop::Reason;
use halfspace_core::theory::directed_drift::expected_examples_log2;

use crate::records::hypothesis::HypothesisDocument;
use crate::records::task::DataSpec;
use crate::records::train::{ModelDocument, StopRuleName, TraceDocument, TrainResult, TrainSpec};
use crate::records::{Job, Model, ModelId, Names};

use super::completion::{Completion, INLINE_HYPOTHESIS_BYTES_MAX, is_within, json, json_text};
use super::ids::Ids;
use super::models::LoadedModel;
use super::work::{Allowance, ResolveError};

/// Characters of an unknown name that an error repeats.
const NAME_SHOWN_MAX: usize = 256;

/// Reason for claiming nothing when a client gave the first hypothesis.
const GIVEN: &str = "the initial hypothesis was given and may depend on the examples";

/// Reason for claiming nothing when the run begins from a model.
const LEARNT: &str = "the initial model may have learnt from the same examples";

/// A model keeps the seeds of at most this number of data sets.
const SEEDS_MAX: usize = 1000;

/// Examples per second beyond the speed of any present machine.
const EXAMPLES_A_SECOND_MAX: f64 = 1e9;

/// A training whose parameters are checked.
#[derive(Clone, Debug)]
pub(super) struct TrainJob {
    pub(super) task: Task,
    /// The model of a warm start.
    warm_start: Option<ModelId>,
    /// The seeds of all data behind the model, including the data of its ancestors. `None` if some are unknown.
    data_seeds: Option<Vec<u64>>,
    /// The names of the data's features and classes.
    names: Names,
}

/// The learner of that name.
///
/// # Errors
/// [`ResolveError::UnknownLearner`], with the known names.
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
            in_units: spec.in_units,
            ..Task::of(entry, seed)
        };
        // The doubt holds until `with` knows the origin of the examples.
        let start_doubt = task.has_initial().then_some(GIVEN);
        Ok(Self {
            task: Task {
                start_doubt,
                ..task
            },
            warm_start: None,
            data_seeds: None,
            names: Names::default(),
        })
    }

    /// Adds the inputs outside the training's own spec: the model of a warm start, the origin of the data, and
    /// the names for the model.
    ///
    /// # Errors
    /// [`ResolveError::NoModel`].
    pub(super) fn with(
        mut self,
        spec: &TrainSpec,
        model: Option<LoadedModel>,
        data: &DataSpec,
    ) -> Result<Self, ResolveError> {
        let is_drawn_now = data.generated.is_some() && data.is_seed_drawn;
        let data_seed = match data.generated {
            Some(_) => Some(self.task.seed.0),
            None => data.seed,
        };
        let has_initial = self.task.has_initial();
        let mut ancestors = (!has_initial).then(Vec::new);
        if let Some(start) = spec.warm_start {
            let model = model.ok_or(ResolveError::NoModel)?;
            self.warm_start = Some(start.model);
            ancestors = model.data_seeds.map(|seeds| seeds.to_vec());
            self.task.start = Some(model.hypothesis);
        }
        let is_known_fresh = match (&ancestors, data_seed) {
            (Some(seeds), Some(seed)) => !seeds.contains(&seed),
            _ => false,
        };
        self.task.start_doubt = match (has_initial, &self.task.start) {
            _ if is_drawn_now || is_known_fresh => None,
            (true, _) => Some(GIVEN),
            (false, Some(_)) => Some(LEARNT),
            (false, None) => None,
        };
        self.data_seeds = ancestors.zip(data_seed).and_then(|(mut seeds, seed)| {
            seeds.push(seed);
            seeds.sort_unstable();
            seeds.dedup();
            (seeds.len() <= SEEDS_MAX).then_some(seeds)
        });
        self.names = data.names.clone();
        Ok(self)
    }

    /// Checks the training against the data.
    pub(super) fn check(&self, input: Input<'_>, allowance: Allowance) -> Result<(), ResolveError> {
        if allowance.is_accepted {
            return Ok(task::check_accepted(&self.task, input, u64::MAX)?);
        }
        task::check(&self.task, input, allowance.state_bytes)?;
        self.check_seconds(input, allowance.seconds)
    }

    /// The task, with evidence from the sample about the declared sampling if a claim rests on the sampling.
    ///
    /// # Errors
    /// [`Interrupt::Suspended`] or [`Interrupt::Unreadable`] if the run was interrupted.
    pub(super) fn with_evidence(
        &self,
        input: Input<'_>,
        known: Option<(u64, u64)>,
        stop: &StopFlag,
    ) -> Result<Task, Interrupt> {
        let mut task = self.task.clone();
        if let (Input::Sample { data, .. }, Some(sampling)) = (input, task.claims_by(input)) {
            task.evidence = Some(Evidence::of(data, sampling, known, stop)?);
        }
        Ok(task)
    }

    /// Refuses a training of Directed Drift that is not expected to end within `seconds`. The chain of Directed
    /// Drift gives the expected number of examples from a random start. The check applies only if neither a
    /// limit of the client nor a rule that may stop falsely ends the run.
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
            "at n = {n} the training needs {than}2^{log2:.1} examples on average, more than a job \
             can read in {seconds} seconds; use a learner that needs fewer, or set a stop such as \
             max_seconds or max_examples for a partial result"
        )))
    }

    /// The most examples that the whole run reads, if the number is known.
    pub(super) fn examples_planned(&self, in_a_pass: Option<u64>) -> Option<u64> {
        let limits = self.task.limits;
        let one_pass = match limits.max_passes {
            Some(passes) => passes == 1,
            None => self.task.entry.default_stop == DefaultStop::Confidence,
        };
        let planned = [in_a_pass.filter(|_| one_pass), limits.max_examples];
        planned.into_iter().flatten().min()
    }

    /// Expected seconds of one core, if the limits of the training determine them. The estimate is one
    /// nanosecond per word of each example. For a learner that slows down, the estimate is multiplied by the
    /// examples per pass. A hypothesis without mistakes ends the training earlier.
    pub(super) fn expected_seconds(&self, n: usize, in_a_pass: Option<u64>) -> Option<f64> {
        let passes = self
            .task
            .limits
            .max_passes
            .or(match self.task.entry.default_stop {
                DefaultStop::Confidence => Some(1),
                DefaultStop::Passes(passes) | DefaultStop::PassesOrConfidence(passes) => {
                    Some(passes)
                }
                DefaultStop::Mistakes(_) | DefaultStop::Own => None,
            });
        let all = passes.zip(in_a_pass);
        let all = all.map(|(passes, examples)| passes.saturating_mul(examples));
        let planned = all.into_iter().chain(self.task.limits.max_examples).min()?;
        let each = match self.task.entry.pace {
            Pace::Steady => 1,
            Pace::Slowing => in_a_pass.unwrap_or(planned).max(1),
            Pace::Unforeseen => return None,
        };
        Some(planned as f64 * each as f64 * words_for(n) as f64 * 1e-9)
    }

    /// The result, model and trace of the training.
    pub(super) fn completion(
        &self,
        ids: &Ids,
        job: &Job,
        outcome: &Outcome,
        seconds: f64,
    ) -> Completion {
        let hypothesis = HypothesisDocument::from(&outcome.hypothesis);
        let inline =
            is_within(&hypothesis, INLINE_HYPOTHESIS_BYTES_MAX).then(|| hypothesis.clone());
        let model = self.model(ids, job, outcome, hypothesis);
        let mut result = TrainResult::new(outcome, model.id, inline, seconds);
        if let Some(best) = &mut result.best {
            let is_shown = |found: &_| is_within(found, INLINE_HYPOTHESIS_BYTES_MAX);
            best.hypothesis = best.hypothesis.take().filter(is_shown);
        }
        Completion {
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
            data_seeds: self.data_seeds.clone(),
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
            document: json_text(&document),
            created_at: ids.now(),
        }
    }
}

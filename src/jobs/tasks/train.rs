//! The task `train`: from a request to a task of the learners, and from the outcome to documents.
//!
//! This module also decides whether a run may claim a confidence: it may not if the first hypothesis may depend on the
//! examples.

use std::sync::Arc;

use halfspace_core::bits::words_for;
use halfspace_core::certificates::{self, CertificateKind};
use halfspace_core::learners::catalogue;
use halfspace_core::learners::drift::drift_chain::N_MAX;
use halfspace_core::learners::engine::check;
use halfspace_core::learners::engine::entry::{DefaultStop, LearnerEntry, Pace};
use halfspace_core::learners::engine::holdout::HeldOut;
use halfspace_core::learners::engine::input::{Input, TaskError};
use halfspace_core::learners::engine::outcome::RunOutcome;
use halfspace_core::learners::engine::parameters::Parameters;
use halfspace_core::learners::engine::pruning::Pruning;
use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::reason::Reason;
use halfspace_core::learners::engine::run::{Interrupt, Run, RunLimits};
use halfspace_core::learners::engine::stopping::{Sampling, StopRule};
use halfspace_core::learners::engine::task::{Task, shown_examples};
use halfspace_core::learners::engine::train::train_from;
use halfspace_core::learners::predictor::Predictor;
use halfspace_core::theory::directed_drift::expected_examples_log2;
use halfspace_formats::{GeneratedSpec, ParseLimits, Vocabulary};

use crate::records::hypothesis::HypothesisDocument;
use crate::records::names::FeatureNames;
use crate::records::stated_classes::StatedClasses;
use crate::records::task::DataSpec;
use crate::records::train::{
    AmongSpec, FoldSpec, ModelDocument, StoredModel, TrainResult, TrainSpec,
};
use crate::records::{Lineage, Model, ModelId, ModelSummary, Names};
use crate::storage::JobEnd;

use super::data::TaskData;
use super::error::ResolveError;
use super::fitted::Fitted;
use super::memory_bound;
use super::receipt::receipt;
use super::task::{About, Allowance, Inputs};
use crate::jobs::json_text::{INLINE_HYPOTHESIS_BYTES_MAX, is_within, json_text};
use crate::jobs::models::loaded::LoadedModel;

/// Characters of an unknown name that an error repeats.
const NAME_SHOWN_MAX: usize = 256;

/// One weight of a learner that keeps it as a number.
const WEIGHT_BYTES: u64 = 8;

/// Reason for claiming nothing when a client gave the first hypothesis.
const GIVEN: &str = "the initial hypothesis was given and may depend on the examples";

/// Reason for claiming nothing when the run begins from a model.
const LEARNT: &str = "the initial model may have learnt from the same examples";

/// Reason for claiming nothing about the errors of a fold.
const FOLDS: &str = "the folds share training examples, so their errors are not one binomial sample; compare with a \
                     holdout";

/// Bytes of one row of a receipt: the number, its value in a document, and its text while the text grows.
const RECEIPT_ROW_BYTES: u64 = 128;

/// Examples per second beyond the speed of any present machine.
const EXAMPLES_A_SECOND_MAX: f64 = 1e9;

/// A training with its data.
#[derive(Clone, Debug)]
pub struct Train {
    task: Task,
    data: Arc<TaskData>,
    /// The model of a warm start.
    warm_start: Option<ModelId>,
    /// The data that the initial hypothesis and its ancestors learnt from.
    ancestors: Lineage,
    /// The seed that generated the data of this training.
    data_seed: Option<u64>,
    /// The names of the data's features and classes.
    names: Names,
    /// The description of the examples, if they are drawn.
    generated: Option<GeneratedSpec>,
    /// Number of trainings whose certificates hold at once.
    trainings: u32,
    /// The digest of the examples, if they were encoded again for those that are not held out.
    fitted_sha256: Option<String>,
}

/// The outcome of a training, and the data with their own features if the training had such.
#[derive(Debug)]
pub struct Trained {
    pub outcome: RunOutcome,
    fitted: Option<Fitted>,
}

/// The learner of that name.
///
/// # Errors
/// [`ResolveError::UnknownLearner`], with the known names.
pub fn learner(name: &str) -> Result<&'static LearnerEntry, ResolveError> {
    catalogue::find(name).ok_or_else(|| {
        let known: Vec<_> = catalogue::CATALOGUE.iter().map(|e| e.name).collect();
        ResolveError::UnknownLearner {
            name: name.chars().take(NAME_SHOWN_MAX).collect(),
            known: known.join(", "),
        }
    })
}

/// The task of a learner that a request describes, before the data are known.
pub(in crate::jobs) fn task_of(spec: &TrainSpec, seed: Seed) -> Result<Task, ResolveError> {
    let entry = learner(&spec.learner.name)?;
    let parameters = Parameters::from_json(entry.parameters, &spec.learner.params)
        .map_err(ResolveError::Parameters)?;
    let stop = &spec.stop;
    let task = Task {
        entry,
        parameters,
        seed,
        confidence: stop.confidence.map(|confidence| confidence.get()),
        rule: stop.rule,
        error: stop.error.map(|error| error.get()),
        limits: RunLimits {
            max_passes: stop.max_passes.map(|max| max.get()),
            max_mistakes: stop.max_mistakes.map(|max| max.get()),
            max_examples: stop.max_examples.map(|max| max.get()),
        },
        ends_by_time: stop.max_seconds.is_some(),
        trace: spec.trace,
        holdout: spec.holdout.map(|share| HeldOut::Share(share.get())),
        stratify: spec.stratify,
        pruning: Pruning {
            minimum_count: spec
                .minimum_count
                .map(|count| u32::try_from(count.get()).unwrap_or(u32::MAX)),
            discard: spec.discard.map(|share| share.get()),
        },
        multiclass: spec.multiclass.unwrap_or_default(),
        open: spec.classes == Some(StatedClasses::Open),
        ..Task::of(entry, seed)
    };
    // The doubt holds unless the origin of the examples removes the doubt.
    let start_doubt = task.has_initial().then_some(GIVEN);
    Ok(Task {
        start_doubt,
        ..task
    })
}

/// The hypothesis of a model over its own names and those of the data, in the order of their bytes. The features of the
/// data get the ids of all these names, which take the place of `names`.
fn over_all_names(
    start: &Predictor,
    own: &Vocabulary,
    data: &mut Arc<TaskData>,
    names: &mut Names,
) -> Result<Arc<Predictor>, ResolveError> {
    let given = data.vocabulary(names).map_err(TaskError::Unread)?;
    let all = given.map_or_else(|| own.clone(), |given| own.united(given));
    let (count, names_max) = (all.len(), ParseLimits::DEFAULT.names_max);
    if count > names_max {
        let detail = format!(
            "the model and the data have {count} names together, more than names_max: {names_max}"
        );
        return Err(TaskError::WrongStart(detail).into());
    }
    let renamed = Arc::make_mut(data).rename(&all, names);
    renamed.map_err(TaskError::Unread)?;
    let ids = all.renumbering(own);
    let start = start
        .renumbered(ids.ids(), ids.n())
        .ok_or_else(|| TaskError::WrongStart(format!("the model cannot be over {count} names")))?;
    names.features = Some(FeatureNames::Open(Some(Arc::new(all))));
    Ok(Arc::new(start))
}

impl super::task::Task for Train {
    type Spec = TrainSpec;
    type Output = Trained;

    const HAS_STATE: bool = true;

    fn new(
        spec: &TrainSpec,
        described: &DataSpec,
        mut inputs: Inputs,
    ) -> Result<Self, ResolveError> {
        let data = inputs.data(described)?;
        let seed = inputs.seed;
        Self::with_data(spec, described.among, seed, described, data, inputs.model)
    }

    fn check(&mut self, allowance: &Allowance) -> Result<(), ResolveError> {
        let input = self.data.input();
        if allowance.is_accepted {
            return Ok(check::check_accepted(&self.task, input, u64::MAX)?);
        }
        // Sparse data may have more features than the weights of a learner have room, and the check makes the learner.
        let members = self.task.members() as u64;
        let needed = WEIGHT_BYTES
            .saturating_mul(input.n() as u64)
            .saturating_mul(members);
        let limit = allowance.state_bytes;
        if needed > limit {
            return Err(TaskError::TooLarge { needed, limit }.into());
        }
        check::check(&self.task, input, limit)?;
        self.check_seconds(input, allowance.seconds)
    }

    fn run(&self, state: Option<&[u8]>, run: &Run) -> Result<Trained, Interrupt> {
        match self.data.verify(&run.stop) {
            // The training reports both.
            Ok(()) | Err(Interrupt::TimeLimit | Interrupt::Cancelled) => {}
            Err(interrupt) => return Err(interrupt),
        }
        // The names are read here, because the end of the job has no way to fail.
        self.data.vocabulary(&self.names)?;
        let mut task = self.task.clone();
        task.evidence = self.data.evidence(&run.stop)?;
        let fitted = Fitted::of(&task, &self.data, &self.names, run)?;
        let data = fitted.as_ref().map_or(&self.data, |fitted| &fitted.data);
        let outcome = train_from(&task, data.input(), state, run)?;
        Ok(Trained { outcome, fitted })
    }

    fn complete(&self, trained: Trained, about: &About<'_>) -> JobEnd {
        let Trained { outcome, fitted } = trained;
        if let Some(Fitted {
            data,
            names,
            sha256,
        }) = fitted
        {
            let own = Self {
                data,
                names,
                fitted_sha256: Some(sha256),
                ..self.clone()
            };
            let trained = Trained {
                outcome,
                fitted: None,
            };
            return own.complete(trained, about);
        }
        let hypothesis = HypothesisDocument::from(&outcome.predictor);
        let is_shown = |found: &_| is_within(found, INLINE_HYPOTHESIS_BYTES_MAX);
        let inline = is_shown(&hypothesis).then(|| hypothesis.clone());
        let model = self.model(about, &outcome, hypothesis);
        let mut result = TrainResult::new(
            &outcome,
            &self.names,
            model.summary.id,
            inline,
            about.seconds,
        );
        if self.fitted_sha256.is_some() {
            result.table.clone_from(&self.names.table);
        }
        let delta = 1.0 - self.task.confidence.unwrap_or(certificates::CONFIDENCE);
        let confidence = 1.0 - delta / f64::from(self.trainings);
        result.certified = certificates::of_run(self.task.entry, &outcome, confidence);
        if let Some(HeldOut::Fold { .. }) = self.task.holdout {
            result.certified.withhold(CertificateKind::TestSet, FOLDS);
        }
        if let Some(best) = &mut result.best {
            best.hypothesis = best.hypothesis.take().filter(is_shown);
        }
        let is_cancelled = outcome.termination.reason == Reason::Cancelled;
        let trace = outcome.trace.as_ref();
        let planned = self.examples_planned();
        JobEnd {
            model: Some(model),
            trace: trace.and_then(|trace| serde_json::to_vec(trace).ok()),
            ..about.counted_end(&result, is_cancelled, &outcome.counts, planned)
        }
    }

    fn document_bytes(&self, trained: &Trained) -> u64 {
        let outcome = &trained.outcome;
        // The document, its text while the text grows, and the stored text.
        let kept: u64 = outcome
            .grounds
            .kept
            .iter()
            .flatten()
            .map(|rows| rows.len() as u64)
            .sum();
        4 * memory_bound::document(&outcome.predictor) + RECEIPT_ROW_BYTES * kept
    }

    fn memory_bytes(&self, resident_bytes_max: u64) -> u64 {
        let planned = self.examples_planned();
        let cells = self
            .data
            .raw_cells()
            .filter(|_| self.task.holdout.is_some());
        let reading = cells.map(|cells| memory_bound::reading(cells.memory_bytes_max()));
        let reading = reading.unwrap_or(0);
        let input = self.data.input();
        let training = memory_bound::training(&self.task, input, planned, resident_bytes_max);
        training.saturating_add(reading)
    }

    /// The limits of the training may determine the time: one nanosecond per word of each example. For a learner
    /// that slows down, the estimate is multiplied by the examples per pass. A hypothesis without mistakes ends
    /// the training earlier.
    fn expected_seconds(&self, limit: f64) -> f64 {
        self.planned_seconds()
            .map_or(limit, |seconds| seconds.min(limit))
    }

    fn examples_planned(&self) -> Option<u64> {
        let limits = self.task.limits;
        let one_pass = match limits.max_passes {
            Some(passes) => passes == 1,
            None => self.task.entry.default_stop == DefaultStop::Confidence,
        };
        let in_a_pass = shown_examples(&self.task, self.data.input());
        let planned = [in_a_pass.filter(|_| one_pass), limits.max_examples];
        planned.into_iter().flatten().min()
    }

    fn data(&self) -> Option<&Arc<TaskData>> {
        Some(&self.data)
    }
}

impl Train {
    /// The training of a request on data that may serve several trainings.
    pub(super) fn with_data(
        spec: &TrainSpec,
        among: Option<AmongSpec>,
        seed: Seed,
        described: &DataSpec,
        data: Arc<TaskData>,
        model: Option<LoadedModel>,
    ) -> Result<Self, ResolveError> {
        let mut task = task_of(spec, seed)?;
        task.classes = described.names.class_count();
        if described.names.is_open() {
            task.read_names().map_err(TaskError::Parameter)?;
        }
        if task.open && task.classes < 3 {
            let detail = "two classes have one hypothesis, so none joins; leave `classes` out";
            let detail = detail.to_owned();
            return Err(ResolveError::Field {
                field: "classes",
                detail,
            });
        }
        if let Some(FoldSpec { index, folds }) = among.and_then(|among| among.fold) {
            task.holdout = Some(HeldOut::Fold { index, folds });
        }
        task.weighing.rows = data.weights().map_err(TaskError::Unread)?;
        if let Some(stated) = &spec.class_weight {
            let classes = stated.of(described.names.classes.as_ref());
            let classes = classes.map_err(|detail| {
                let field = "class_weight";
                ResolveError::Field { field, detail }
            })?;
            task.weighing.classes = classes.differing();
        }
        let is_drawn_now = described.generated.is_some() && described.is_seed_drawn;
        let data_seed = described.data_seed(seed.0);
        let has_initial = task.has_initial();
        let mut ancestors = match has_initial {
            true => Lineage::unknown(),
            false => Lineage::nothing(),
        };
        let (mut data, mut names) = (data, described.names.clone());
        if spec.warm_start.is_some() {
            let model = model.ok_or(ResolveError::NoModel)?;
            ancestors = Lineage::clone(&model.lineage);
            task.start = Some(match model.names.vocabulary() {
                Some(own) if names.is_open() => {
                    over_all_names(&model.predictor, own, &mut data, &mut names)?
                }
                _ => model.predictor,
            });
        }
        let is_known_fresh = data_seed.is_some_and(|seed| ancestors.excludes(seed));
        task.start_doubt = match (has_initial, &task.start) {
            _ if is_drawn_now || is_known_fresh => None,
            (true, _) => Some(GIVEN),
            (false, Some(_)) => Some(LEARNT),
            (false, None) => None,
        };
        Ok(Self {
            task,
            data,
            warm_start: spec.warm_start,
            ancestors,
            data_seed,
            names,
            generated: described.generated.clone(),
            trainings: among.map_or(1, |among| among.trainings),
            fitted_sha256: None,
        })
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

    /// The names of the features that a model has. Those of a vocabulary come with the examples, unless a model has
    /// some too.
    fn features(&self, outcome: &RunOutcome) -> Option<Vec<String>> {
        let of_data = || {
            let names = self.data.vocabulary(&self.names).ok().flatten()?;
            Some(names.names().map(str::to_owned).collect())
        };
        let all: Vec<String> = self.names.feature_list().or_else(of_data)?;
        let Some(kept) = &outcome.features else {
            return Some(all);
        };
        let is_kept = |(at, _): &(u32, String)| kept.binary_search(at).is_ok();
        Some(
            (0..)
                .zip(all)
                .filter(is_kept)
                .map(|(_, name)| name)
                .collect(),
        )
    }

    fn planned_seconds(&self) -> Option<f64> {
        let n = self.data.input().n();
        let in_a_pass = shown_examples(&self.task, self.data.input());
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
        // A pass without a mistake ends the run.
        let mistakes = match self.task.entry.default_stop {
            DefaultStop::Mistakes(mistakes) => Some(mistakes),
            _ => None,
        };
        let mistakes = self.task.limits.max_mistakes.or(mistakes).zip(in_a_pass);
        let until_last = mistakes.map(|(mistakes, examples)| mistakes.saturating_mul(examples));
        let planned = [all, until_last, self.task.limits.max_examples];
        let planned = planned.into_iter().flatten().min()?;
        let each = match self.task.entry.pace {
            Pace::Steady => 1,
            Pace::Slowing => in_a_pass.unwrap_or(planned).max(1),
            Pace::Unforeseen => return None,
        };
        Some(planned as f64 * each as f64 * words_for(n) as f64 * 1e-9)
    }

    fn model(
        &self,
        about: &About<'_>,
        outcome: &RunOutcome,
        hypothesis: HypothesisDocument,
    ) -> Model {
        let About { ids, job, .. } = about;
        let kind = hypothesis.kind().to_owned();
        let n = hypothesis.n() as u64;
        let held_out = outcome.holdout.map(|counted| counted.examples);
        let job_sha256 = job.data_sha256.as_deref();
        let data_sha256 = self.fitted_sha256.as_deref().or(job_sha256);
        let receipt = receipt(
            &self.task,
            outcome,
            &hypothesis,
            &self.names,
            self.data.input().examples(),
            data_sha256,
            self.generated.as_ref(),
        );
        let mut learnt_from = self.ancestors.clone();
        learnt_from.add(self.data_seed, job_sha256);
        if self.fitted_sha256.is_some() {
            learnt_from.add(None, data_sha256);
        }
        let document = ModelDocument {
            params: self.task.parameters.to_json(),
            seed: job.seed,
            data_sha256: data_sha256.map(str::to_owned),
            examples: outcome.counts.examples,
            mistakes: outcome.counts.mistakes,
            updates: outcome.counts.updates,
            passes: outcome.counts.passes,
            held_out,
            learnt_from,
            warm_start: self.warm_start,
            features: self.features(outcome),
            vocabulary: self.names.vocabulary_kind(),
            first_index: self.names.first_index(),
            classes: self.names.class_names(),
            one_against_rest: self.names.is_against_rest(),
            table: self.names.table.clone(),
            hypothesis,
        };
        Model {
            summary: ModelSummary {
                id: ids.id(),
                owner: job.owner.clone(),
                job: Some(job.id),
                name: job.name.clone(),
                learner: self.task.entry.name.to_owned(),
                kind,
                n,
                created_at: ids.now(),
            },
            document: json_text(&StoredModel { document, receipt }),
        }
    }
}

//! Checked work: from a stored or sent request to a computation, for every task.
//!
//! [`resolve`] checks a request against the catalogue, the data and the limits. The resulting [`Work`] runs
//! without further decisions and estimates the time and memory that the run will take.

use std::sync::Arc;

use halfspace_core::experiments::{self, PartTally};
use halfspace_core::learners::engine::evaluate::Evaluation;
use halfspace_core::learners::engine::outcome::Outcome;
use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::run::{Interrupt, Run, StopFlag};
use halfspace_core::learners::engine::stopping::Sampling;
use halfspace_core::learners::engine::task::Input;
use halfspace_core::learners::engine::train::train_from;
use halfspace_core::learners::sample::data::Data;
use halfspace_core::learners::sample::generate::Plan;
use halfspace_formats::{Assume, StoredExamples};

use crate::records::grid::GridResult;
use crate::records::task::{DataSpec, JobSpec, TaskSpec};
use crate::records::{Job, PartOutcome};

use super::certificate_job::{Asked, CertificateJob, Certified};
use super::completion::Completion;
use super::drawing::plan;
use super::evaluate_job::EvaluateJob;
use super::experiment_job::{ExperimentJob, completion_of_part, completion_of_whole};
use super::grid_job::{self, GridJob};
use super::ids::Ids;
use super::memory_bound;
use super::models::LoadedModel;
use super::stored_data::ReadError;

pub use super::resolve_error::ResolveError;
use super::train_job::TrainJob;

/// Checked work with its data, ready to run.
#[derive(Clone, Debug)]
pub struct Work {
    kind: WorkKind,
    /// Seconds of computing after which the run ends, if the client set a limit.
    pub seconds_max: Option<f64>,
}

#[derive(Clone, Debug)]
enum WorkKind {
    /// A task with data.
    Data(WorkTask, OwnedInput),
    /// An experiment, which draws its own examples.
    Experiment(ExperimentJob),
    /// A grid. Its parts read the data.
    Grid(GridJob, OwnedInput),
}

/// A task that has data.
#[derive(Clone, Debug)]
enum WorkTask {
    Train(Box<TrainJob>),
    Certify(CertificateJob),
    Evaluate(EvaluateJob),
}

/// The output of a run.
#[derive(Debug)]
pub enum TaskOutput {
    /// A training.
    Trained(Box<Outcome>),
    /// The answer to a question about the sample.
    Certified(Certified),
    /// A model evaluated on examples.
    Evaluated(Evaluation),
    /// One part of an experiment.
    Part(PartTally),
    /// An experiment, gathered from all parts that have ended.
    Gathered(Box<experiments::outcome::Outcome>),
    /// A grid, gathered from its trainings.
    Grid(GridResult),
    /// No output, because the part was cancelled.
    Unwanted,
    /// No output, because the part exceeded its time limit.
    TooSlow,
}

impl TaskOutput {
    /// An upper bound of the bytes that the documents of a model without a fixed size take while they are made.
    /// The bound covers the document, its text while the text grows, and the stored text.
    pub(super) fn document_bytes(&self) -> u64 {
        match self {
            Self::Trained(outcome) => 4 * memory_bound::document(&outcome.hypothesis),
            _ => 0,
        }
    }
}

/// The sample of a job.
#[derive(Clone, Debug)]
pub enum JobSample {
    /// In memory, as the request brought the sample.
    Memory(Arc<Data>),
    /// In a blob.
    Stored(Arc<StoredExamples>),
}

impl From<Data> for JobSample {
    fn from(data: Data) -> Self {
        Self::Memory(Arc::new(data))
    }
}

#[derive(Clone, Debug)]
enum OwnedInput {
    Sample {
        sample: JobSample,
        assume: Option<Sampling>,
        /// Counts of duplicates and contradictions, if they are known.
        repetitions: Option<(u64, u64)>,
    },
    Generated(Plan),
}

/// The limits that a request is checked against.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// Bytes of state.
    pub state_bytes: u64,
    /// Seconds of computing for a request without a limit.
    pub seconds: f64,
    /// Estimated seconds of one core for an experiment with all its parts.
    pub experiment_seconds: f64,
    /// Whether the job was accepted before, perhaps by an earlier release.
    pub is_accepted: bool,
}

impl Allowance {
    /// The allowance of a job that was accepted before.
    pub const UNLIMITED: Self = Self {
        state_bytes: u64::MAX,
        seconds: f64::INFINITY,
        experiment_seconds: f64::INFINITY,
        is_accepted: true,
    };
}

/// Checks a request against the abilities of the service and against the data. `model` is the model that the
/// request names, if any.
///
/// # Errors
/// Every error that can be known before the run.
pub fn resolve(
    spec: &JobSpec,
    seed: u64,
    sample: Option<JobSample>,
    model: Option<LoadedModel>,
    allowance: Allowance,
) -> Result<Work, ResolveError> {
    if let TaskSpec::Grid(grid) = &spec.task {
        let job = GridJob::new(grid)?;
        let input = input(&spec.data, Seed(seed), sample)?;
        job.check(Seed(seed), &spec.data, input.as_input(), allowance)?;
        return Ok(Work {
            kind: WorkKind::Grid(job, input),
            seconds_max: None,
        });
    }
    let experiment = match &spec.task {
        TaskSpec::Experiment(experiment) => {
            let seconds_max = allowance.experiment_seconds;
            Some(ExperimentJob::whole(experiment, seed, seconds_max)?)
        }
        TaskSpec::ExperimentPart(part) => Some(ExperimentJob::part(part, seed)?),
        _ => None,
    };
    let kind = match experiment {
        Some(job) => WorkKind::Experiment(job),
        None => data_task(spec, seed, sample, model, allowance)?,
    };
    Ok(Work {
        kind,
        seconds_max: spec.task.seconds_max(),
    })
}

/// Checks a request that has data.
fn data_task(
    spec: &JobSpec,
    seed: u64,
    sample: Option<JobSample>,
    model: Option<LoadedModel>,
    allowance: Allowance,
) -> Result<WorkKind, ResolveError> {
    let input = input(&spec.data, Seed(seed), sample)?;
    let seed = Seed(seed);
    let certify = |asked| {
        let job = CertificateJob { asked, seed };
        job.check(input.as_input(), allowance.state_bytes)?;
        Ok::<_, ResolveError>(WorkTask::Certify(job))
    };
    let task = match &spec.task {
        TaskSpec::Train(train) => {
            let job = TrainJob::new(train, seed)?.with(train, model, &spec.data)?;
            job.check(input.as_input(), allowance)?;
            WorkTask::Train(Box::new(job))
        }
        TaskSpec::Separability(spec) => certify(Asked::Separability(spec.clone()))?,
        TaskSpec::MaximumMargin(spec) => certify(Asked::MaximumMargin(spec.clone()))?,
        TaskSpec::VersionSpace(spec) => certify(Asked::VersionSpace(spec.clone()))?,
        TaskSpec::Evaluate(evaluate) => {
            let job = EvaluateJob {
                model: evaluate.model,
                hypothesis: model.ok_or(ResolveError::NoModel)?.hypothesis,
                zero_bit_value: spec.data.zero_bit_value.into(),
                seed,
            };
            job.check(input.as_input(), allowance.state_bytes)?;
            WorkTask::Evaluate(job)
        }
        TaskSpec::Experiment(_) | TaskSpec::ExperimentPart(_) | TaskSpec::Grid(_) => {
            return Err(ResolveError::NoData);
        }
    };
    Ok(WorkKind::Data(task, input))
}

fn input(
    spec: &DataSpec,
    seed: Seed,
    sample: Option<JobSample>,
) -> Result<OwnedInput, ResolveError> {
    match (sample, &spec.generated) {
        (Some(sample), None) => Ok(OwnedInput::Sample {
            sample,
            assume: spec.assume.map(assumed_sampling),
            repetitions: spec.repetitions,
        }),
        (None, Some(generated)) => Ok(OwnedInput::Generated(plan(generated, seed))),
        _ => Err(ResolveError::NoData),
    }
}

/// The distribution that a client declares.
pub(super) fn assumed_sampling(assume: Assume) -> Sampling {
    match assume {
        Assume::UniformPositive => Sampling::UniformPositive,
        Assume::Reflected => Sampling::Reflected,
        Assume::Uniform => Sampling::Uniform,
    }
}

impl Work {
    /// Runs from the beginning to the end: see [`Self::run_from`].
    ///
    /// # Errors
    /// As for [`Self::run_from`].
    pub fn run(&self, run: &Run) -> Result<TaskOutput, Interrupt> {
        self.run_from(None, run)
    }

    /// Runs to the end. A training resumes from `state` if an earlier run handed over a state. Other tasks have
    /// no state.
    ///
    /// Stored data are read through first and their digest is compared, so that no result rests on damaged
    /// data.
    ///
    /// # Errors
    /// [`Interrupt::Suspended`] if the run was suspended, [`Interrupt::Memory`] if memory ran out, and
    /// [`Interrupt::Unreadable`] if the data could not be read: see `read_error`.
    pub fn run_from(&self, state: Option<&[u8]>, run: &Run) -> Result<TaskOutput, Interrupt> {
        let (task, input) = match &self.kind {
            WorkKind::Data(task, input) => (task, input),
            WorkKind::Experiment(job) => return job.run(run),
            WorkKind::Grid(job, _) => return Ok(TaskOutput::Grid(job.gather())),
        };
        // The task below reports a time limit or a cancellation that has ended the preparation.
        let interrupted = match input.prepare(task, &run.stop) {
            Err(why @ (Interrupt::Suspended | Interrupt::Unreadable | Interrupt::Memory)) => {
                return Err(why);
            }
            Err(why) => Some(why),
            Ok(()) => None,
        };
        let known = input.repetitions();
        let input = input.as_input();
        match task {
            WorkTask::Train(job) => {
                let task = job.with_evidence(input, known, &run.stop)?;
                let outcome = train_from(&task, input, state, run)?;
                Ok(TaskOutput::Trained(Box::new(outcome)))
            }
            WorkTask::Certify(job) => {
                let certified = match interrupted {
                    Some(why) => job.undecided(why.try_into()?),
                    None => job.run(input, run)?,
                };
                Ok(TaskOutput::Certified(certified))
            }
            WorkTask::Evaluate(job) => {
                let evaluation = match interrupted {
                    Some(_) => Evaluation {
                        interrupted,
                        ..Evaluation::default()
                    },
                    None => job.run(input, run)?,
                };
                Ok(TaskOutput::Evaluated(evaluation))
            }
        }
    }

    /// The products of a run, in the form that the store keeps.
    pub(super) fn completion(
        &self,
        ids: &Ids,
        job: &Job,
        found: &TaskOutput,
        seconds: f64,
    ) -> Completion {
        let (task, input) = match (&self.kind, found) {
            (WorkKind::Experiment(_), TaskOutput::Part(tally)) => return completion_of_part(tally),
            (WorkKind::Experiment(_), TaskOutput::Gathered(outcome)) => {
                return completion_of_whole(outcome);
            }
            (WorkKind::Grid(..), TaskOutput::Grid(result)) => return grid_job::completion(result),
            (WorkKind::Data(task, input), _) => (task, input),
            _ => unreachable!("the output belongs to the task of the work"),
        };
        match (task, found) {
            (WorkTask::Train(train), TaskOutput::Trained(outcome)) => {
                train.completion(ids, job, outcome, seconds)
            }
            (WorkTask::Certify(certificate), TaskOutput::Certified(certified)) => {
                let is_real = match input.as_input() {
                    Input::Sample { data, .. } => data.shape().is_real,
                    Input::Generated(_) => false,
                };
                certificate.completion(ids, job, is_real, certified, seconds)
            }
            (WorkTask::Evaluate(job), TaskOutput::Evaluated(evaluation)) => {
                job.completion(evaluation)
            }
            _ => unreachable!("the output belongs to the task of the work"),
        }
    }

    /// The sample, if the request brought the sample and no store holds it.
    pub fn data(&self) -> Option<&Arc<Data>> {
        match &self.kind {
            WorkKind::Data(_, input) | WorkKind::Grid(_, input) => match input {
                OwnedInput::Sample {
                    sample: JobSample::Memory(data),
                    ..
                } => Some(data),
                _ => None,
            },
            _ => None,
        }
    }

    /// The number of part jobs, which are computed before this job. `None` for a job without parts.
    pub fn parts(&self) -> Option<u32> {
        match &self.kind {
            WorkKind::Experiment(job) => job.parts(),
            WorkKind::Grid(job, _) => Some(job.trainings()),
            WorkKind::Data(..) => None,
        }
    }

    /// Takes the outcomes of the parts for gathering.
    ///
    /// # Errors
    /// [`ResolveError::Damaged`].
    pub(super) fn take_parts(&mut self, parts: &[PartOutcome]) -> Result<(), ResolveError> {
        match &mut self.kind {
            WorkKind::Experiment(job) => {
                let taken = job.take(parts);
                taken.map_err(|error| ResolveError::Damaged(error.to_string()))
            }
            WorkKind::Grid(job, _) => {
                job.take(parts);
                Ok(())
            }
            WorkKind::Data(..) => Ok(()),
        }
    }

    /// The reason why the data could not be read, after a run has returned [`Interrupt::Unreadable`].
    pub(super) fn read_error(&self) -> ReadError {
        match &self.kind {
            WorkKind::Data(
                _,
                OwnedInput::Sample {
                    sample: JobSample::Stored(examples),
                    ..
                },
            ) => ReadError::of(examples),
            _ => ReadError::Broken("data in memory could not be read".to_owned()),
        }
    }

    /// Expected seconds of one core. Without a better estimate this is the time limit, which also bounds every
    /// estimate of a task with data.
    pub fn expected_seconds(&self, seconds_default: f64) -> f64 {
        let limit = self.seconds_max.unwrap_or(seconds_default);
        let expected = match &self.kind {
            WorkKind::Experiment(job) => return job.estimated_seconds(),
            WorkKind::Grid(job, _) => return limit * f64::from(job.trainings()),
            WorkKind::Data(task, input) => {
                let input = input.as_input();
                let (n, examples) = (input.n(), input.examples());
                let cells = examples.map(|examples| examples as f64 * n as f64);
                match task {
                    WorkTask::Train(job) => job.expected_seconds(n, examples),
                    WorkTask::Certify(_) => cells.map(|cells| cells * cells * 1e-9),
                    WorkTask::Evaluate(_) => cells.map(|cells| cells * 1e-9),
                }
            }
        };
        expected.map_or(limit, |expected| expected.min(limit))
    }

    /// An upper bound of the memory of the run. Data up to `resident_bytes_max` are held as a whole. A run that
    /// needs more memory grows only while memory is free.
    pub fn memory_bytes(&self, resident_bytes_max: u64) -> u64 {
        match &self.kind {
            WorkKind::Experiment(job) => memory_bound::gathering(job.parts().unwrap_or(0)),
            WorkKind::Grid(job, input) => {
                let one = memory_bound::any_training(input.as_input(), resident_bytes_max);
                one.max(memory_bound::gathering(job.trainings()))
            }
            WorkKind::Data(task, input) => {
                let input = input.as_input();
                match task {
                    WorkTask::Train(job) => {
                        let planned = job.examples_planned(input.examples());
                        memory_bound::training(&job.task, input, planned, resident_bytes_max)
                    }
                    WorkTask::Certify(job) => job.memory_bytes(input),
                    WorkTask::Evaluate(_) => memory_bound::evaluation(input, resident_bytes_max),
                }
            }
        }
    }

    /// Whether the state of the run can be stored, so that another worker can resume the run.
    pub(super) fn has_state(&self) -> bool {
        matches!(self.kind, WorkKind::Data(WorkTask::Train(_), _))
    }

    /// The most examples that the whole run reads, if the number is known.
    pub fn examples_planned(&self) -> Option<u64> {
        let WorkKind::Data(task, input) = &self.kind else {
            return None;
        };
        let in_a_pass = input.as_input().examples();
        match task {
            WorkTask::Train(job) => job.examples_planned(in_a_pass),
            WorkTask::Certify(_) => None,
            WorkTask::Evaluate(_) => in_a_pass,
        }
    }
}

impl OwnedInput {
    fn as_input(&self) -> Input<'_> {
        match self {
            Self::Sample { sample, assume, .. } => Input::Sample {
                data: match sample {
                    JobSample::Memory(data) => data.as_ref(),
                    JobSample::Stored(examples) => examples.as_ref(),
                },
                assume: *assume,
            },
            Self::Generated(plan) => Input::Generated(plan),
        }
    }

    fn repetitions(&self) -> Option<(u64, u64)> {
        match self {
            Self::Sample { repetitions, .. } => *repetitions,
            Self::Generated(_) => None,
        }
    }

    /// Verifies the digest of stored data. For a task that needs all examples in memory, also loads the
    /// examples.
    fn prepare(&self, task: &WorkTask, stop: &StopFlag) -> Result<(), Interrupt> {
        let Self::Sample {
            sample: JobSample::Stored(examples),
            ..
        } = self
        else {
            return Ok(());
        };
        match task {
            WorkTask::Certify(_) => examples.whole(stop).map(|_| ()),
            WorkTask::Train(_) | WorkTask::Evaluate(_) => examples.verify(stop),
        }
    }
}

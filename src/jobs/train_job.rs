//! From a stored training to one that can run.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::formats::{Assume, GeneratedSpec, TargetSpec};
use crate::learners::catalogue::{self, DefaultStop, Entry};
use crate::learners::data::Data;
use crate::learners::generate::Plan;
use crate::learners::outcome::Outcome;
use crate::learners::parameters::{ParameterError, Parameters};
use crate::learners::random::Seed;
use crate::learners::run::{Interrupt, Limits, Run};
use crate::learners::stopping::{Sampling, StopRule};
use crate::learners::task::{self, Input, Task, TaskError};
use crate::learners::train::train;
use crate::records::train::{StopRuleName, TrainSpec};

/// A training with its data, ready to run.
#[derive(Clone, Debug)]
pub struct TrainJob {
    task: Task,
    input: OwnedInput,
    /// Seconds of computing after which the run ends, if the client said so.
    pub seconds_max: Option<f64>,
}

#[derive(Clone, Debug)]
enum OwnedInput {
    Sample {
        data: Arc<Data>,
        assume: Option<Sampling>,
    },
    Generated(Plan),
}

/// Why a stored or sent training cannot run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ResolveError {
    /// No learner has this name.
    #[error("there is no learner `{name}`; there are: {known}")]
    UnknownLearner { name: String, known: String },
    /// Parameters that the learner does not have, or out of their range.
    #[error("{} of the learner's parameters are wrong", .0.len())]
    Parameters(Vec<ParameterError>),
    /// Task and data do not fit.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// A sample is missing, or was given besides generated data.
    #[error("a training has either a sample or generated data")]
    NoData,
}

/// Checks a training against the catalogue and its data.
///
/// # Errors
/// Everything that can be known before it runs.
pub fn resolve(
    spec: &TrainSpec,
    seed: u64,
    data: Option<Arc<Data>>,
    state_bytes_max: u64,
) -> Result<TrainJob, ResolveError> {
    let entry = learner(&spec.learner.name)?;
    let parameters = Parameters::from_json(entry.parameters, &spec.learner.params)
        .map_err(ResolveError::Parameters)?;
    let stop = &spec.stop;
    let task = Task {
        entry,
        parameters,
        seed: Seed(seed),
        confidence: stop.confidence.map(|confidence| confidence.get()),
        rule: stop.rule.map(|rule| match rule {
            StopRuleName::Anytime => StopRule::Anytime,
            StopRuleName::PerHypothesis => StopRule::PerHypothesis,
            StopRuleName::Exact => StopRule::Exact,
        }),
        limits: Limits {
            max_passes: stop.max_passes.map(|max| max.get()),
            max_mistakes: stop.max_mistakes.map(|max| max.get()),
            max_examples: stop.max_examples.map(|max| max.get()),
        },
        ends_by_time: stop.max_seconds.is_some(),
        trace: spec.trace,
    };
    let input = match (data, &spec.generated) {
        (Some(data), None) => OwnedInput::Sample {
            data,
            assume: spec.assume.map(assumed_sampling),
        },
        (None, Some(generated)) => OwnedInput::Generated(plan(generated, Seed(seed))),
        _ => return Err(ResolveError::NoData),
    };
    let job = TrainJob {
        task,
        input,
        seconds_max: stop.max_seconds.map(|seconds| seconds.get()),
    };
    task::check(&job.task, job.input(), state_bytes_max)?;
    Ok(job)
}

/// The learner of that name.
///
/// # Errors
/// [`ResolveError::UnknownLearner`], with the names there are.
pub fn learner(name: &str) -> Result<&'static Entry, ResolveError> {
    catalogue::find(name).ok_or_else(|| {
        let known: Vec<_> = catalogue::CATALOGUE.iter().map(|e| e.name).collect();
        ResolveError::UnknownLearner {
            name: name.to_owned(),
            known: known.join(", "),
        }
    })
}

fn assumed_sampling(assume: Assume) -> Sampling {
    match assume {
        Assume::UniformPositive => Sampling::UniformPositive,
        Assume::Reflected => Sampling::Reflected,
        Assume::Uniform => Sampling::Uniform,
    }
}

/// The plan of generated data; a target that was left out is drawn from the seed.
fn plan(spec: &GeneratedSpec, seed: Seed) -> Plan {
    let TargetSpec::BinaryWeights { weights } = &spec.target;
    Plan {
        target: match weights {
            Some(weights) => weights.clone(),
            None => Plan::random_target(spec.n, seed),
        },
        sampling: spec.sampling.into(),
        count: spec.count,
        noise: spec.noise,
        density: spec.density,
    }
}

impl TrainJob {
    /// Runs to the end.
    ///
    /// # Errors
    /// [`Interrupt::Suspended`] when the run was given up.
    pub fn run(&self, run: &Run) -> Result<Outcome, Interrupt> {
        train(&self.task, self.input(), run)
    }

    /// The learner.
    pub fn entry(&self) -> &'static Entry {
        self.task.entry
    }

    /// Its parameters, defaults filled in.
    pub fn parameters(&self) -> Map<String, Value> {
        self.task.parameters.to_json()
    }

    /// The sample, if the data are not generated.
    pub fn data(&self) -> Option<&Arc<Data>> {
        match &self.input {
            OwnedInput::Sample { data, .. } => Some(data),
            OwnedInput::Generated(_) => None,
        }
    }

    /// How many examples the whole run reads at most, where that is known.
    pub fn examples_planned(&self) -> Option<u64> {
        let in_a_pass = match &self.input {
            OwnedInput::Sample { data, .. } => Some(data.examples() as u64),
            OwnedInput::Generated(plan) => plan.count,
        };
        let limits = self.task.limits;
        let one_pass = match limits.max_passes {
            Some(passes) => passes == 1,
            None => self.task.entry.default_stop == DefaultStop::Confidence,
        };
        let planned = [in_a_pass.filter(|_| one_pass), limits.max_examples];
        planned.into_iter().flatten().min()
    }

    fn input(&self) -> Input<'_> {
        match &self.input {
            OwnedInput::Sample { data, assume } => Input::Sample {
                data,
                assume: *assume,
            },
            OwnedInput::Generated(plan) => Input::Generated(plan),
        }
    }
}

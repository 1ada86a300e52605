//! The examples of a training, and the reasons why a task cannot run on them.

use std::borrow::Cow;

use crate::learners::engine::assume::Assume;
use crate::learners::engine::evidence::Evidence;
use crate::learners::engine::parameters::ParameterError;
use crate::learners::engine::run::Interrupt;
use crate::learners::engine::stopping::Sampling;
use crate::learners::sample::examples::Examples;
use crate::learners::sample::generate;

/// The examples of a training.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// A sample. `assume` declares that its examples are fresh and independent.
    Sample {
        data: &'a dyn Examples,
        assume: Option<Assume>,
    },
    /// A stream drawn from a plan.
    Generated(&'a generate::Plan),
}

impl Input<'_> {
    /// Features per example.
    pub fn n(&self) -> usize {
        match self {
            Self::Sample { data, .. } => data.shape().n,
            Self::Generated(plan) => plan.target.n(),
        }
    }

    /// Whether the features are real.
    pub fn is_real(&self) -> bool {
        match self {
            Self::Sample { data, .. } => data.shape().is_real,
            Self::Generated(_) => false,
        }
    }

    /// The number of examples, unless the stream is unlimited.
    pub fn examples(&self) -> Option<u64> {
        match self {
            Self::Sample { data, .. } => Some(data.shape().examples as u64),
            Self::Generated(plan) => plan.count,
        }
    }

    /// The declared sampling of a sample, which its examples may refute.
    pub fn declared_sampling(&self) -> Option<Sampling> {
        match self {
            Self::Sample { data, assume } => {
                let of_boolean = assume.filter(|_| !data.shape().is_real);
                of_boolean.and_then(Assume::sampling)
            }
            Self::Generated(_) => None,
        }
    }

    /// The declared or known origin of the examples, if they are independent draws as far as the service knows.
    ///
    /// # Errors
    /// The missing declaration, or the evidence against the declared sampling.
    pub fn independent(&self, evidence: Option<&Evidence>) -> Result<Assume, Cow<'static, str>> {
        let Self::Sample { data, assume } = self else {
            return Ok(Assume::Independent);
        };
        let assume = assume.ok_or("the data are not declared fresh and independent (assume)")?;
        let doubt = match (evidence, self.declared_sampling()) {
            (Some(evidence), Some(sampling)) => evidence.against(sampling, data.shape().n),
            _ => None,
        };
        doubt.map_or(Ok(assume), |doubt| Err(doubt.into()))
    }
}

/// Why a task cannot run on its input.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TaskError {
    /// The learner does not accept this kind of data.
    #[error("{0}")]
    WrongData(String),
    /// The learner accepts only Boolean examples, and a value is neither 0 nor 1, or neither -1 nor 1. A name counts
    /// as 1.
    #[error("{learner} accepts Boolean examples only: {}", boolean(*.named))]
    NotBoolean { learner: &'static str, named: bool },
    /// The learner would take unreasonably long on these data.
    #[error("{0}")]
    Intractable(String),
    /// The stop conditions do not fit the learner or the data.
    #[error("{detail}")]
    WrongStop { field: &'static str, detail: String },
    /// Another setting of the task does not fit the learner or the data.
    #[error("{detail}")]
    Field { field: &'static str, detail: String },
    /// The learner cannot learn one example at a time.
    #[error("{0}")]
    NotOnLine(String),
    /// The run cannot start from the given hypothesis.
    #[error("{0}")]
    WrongStart(String),
    /// A parameter does not fit the data.
    #[error("parameter {}: {}", .0.name, .0.detail)]
    Parameter(ParameterError),
    /// The state would exceed the limit in bytes.
    #[error("the task needs {needed} bytes of state, more than state_bytes_max: {limit}")]
    TooLarge { needed: u64, limit: u64 },
    /// The check could not read the examples.
    #[error("the examples could not be read")]
    Unread(Interrupt),
}

/// The values of Boolean examples.
fn boolean(named: bool) -> &'static str {
    match named {
        true => "each name alone, or with the value 1",
        false => "values all 0/1 or all -1/1",
    }
}

impl From<Interrupt> for TaskError {
    fn from(why: Interrupt) -> Self {
        Self::Unread(why)
    }
}

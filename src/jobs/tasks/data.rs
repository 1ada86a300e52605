//! The data of a task: a sample from the request or the store, or a plan to draw examples.

use std::sync::{Arc, OnceLock};

use halfspace_core::learners::engine::evidence::Evidence;
use halfspace_core::learners::engine::input::{Input, TaskError};
use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::run::{Interrupt, Run, StopFlag};
use halfspace_core::learners::sample::data::Data;
use halfspace_core::learners::sample::examples::Examples;
use halfspace_core::learners::sample::generate::{Generated, Plan};
use halfspace_core::learners::sample::weights::{RowWeights, Weight};
use halfspace_formats::{Assume, Recoding, StoredExamples, Vocabulary};

use crate::records::Names;
use crate::records::task::DataSpec;

use super::drawing::plan;
use super::error::ResolveError;
use crate::jobs::datasets::raw_cells::TableCells;

/// The sample of a job.
#[derive(Clone, Debug)]
pub enum JobSample {
    /// In memory, as the request brought it.
    Memory(Arc<Data>),
    /// In a blob.
    Stored(Arc<StoredExamples>),
}

impl From<Data> for JobSample {
    fn from(data: Data) -> Self {
        Self::Memory(Arc::new(data))
    }
}

/// The data of a task.
#[derive(Clone, Debug)]
pub enum TaskData {
    Sample {
        sample: JobSample,
        /// The sample in memory with other ids of its features. The store gets it as it was sent.
        renamed: Option<Arc<Data>>,
        assume: Option<Assume>,
        /// Counts of duplicates and contradictions, if they are known.
        repetitions: Option<(u64, u64)>,
        /// The raw cells of the table that the sample came as.
        cells: Option<TableCells>,
        /// The weights of the examples, once they are known.
        weights: OnceLock<Option<RowWeights>>,
    },
    Generated(Plan),
}

impl TaskData {
    pub(super) fn new(
        spec: &DataSpec,
        seed: Seed,
        sample: Option<JobSample>,
    ) -> Result<Self, ResolveError> {
        match (sample, &spec.generated) {
            (Some(sample), None) => Ok(Self::Sample {
                sample: sample.recoded(&spec.recoding),
                renamed: None,
                // The service drew the examples of a dataset with a seed.
                assume: spec.assume.or(spec.seed.map(|_| Assume::Independent)),
                repetitions: spec.repetitions,
                cells: None,
                weights: OnceLock::new(),
            }),
            (None, Some(generated)) => Ok(Self::Generated(plan(generated, seed))),
            _ => Err(ResolveError::NoData),
        }
    }

    /// The data, whose table has these raw cells.
    #[must_use]
    pub(super) fn with_cells(mut self, own: Option<TableCells>) -> Self {
        if let Self::Sample { cells, .. } = &mut self {
            *cells = own;
        }
        self
    }

    /// The data, whose examples have these weights.
    #[must_use]
    pub(super) fn with_weights(mut self, own: Option<Arc<[Weight]>>) -> Self {
        if let Self::Sample { weights, .. } = &mut self
            && own.is_some()
        {
            *weights = own.map(RowWeights::new).into();
        }
        self
    }

    /// The weights that came with the examples, or were read.
    pub(super) fn known_weights(&self) -> Option<Arc<[Weight]>> {
        match self {
            Self::Sample { weights, .. } => Some(Arc::clone(weights.get()?.as_ref()?.each())),
            Self::Generated(_) => None,
        }
    }

    /// The weights of the examples, if they have some. Those of a store are read once.
    ///
    /// # Errors
    /// The weights cannot be read.
    pub(super) fn weights(&self) -> Result<Option<RowWeights>, Interrupt> {
        let Self::Sample { weights, .. } = self else {
            return Ok(None);
        };
        if let Some(known) = weights.get() {
            return Ok(known.clone());
        }
        let read = match self.stored() {
            Some(stored) => stored.weights()?,
            None => None,
        };
        Ok(weights.get_or_init(|| read.map(RowWeights::new)).clone())
    }

    /// The data with other features of the same examples.
    #[must_use]
    pub(super) fn encoded(&self, examples: StoredExamples) -> Self {
        Self::Sample {
            sample: JobSample::Stored(Arc::new(examples)),
            renamed: None,
            assume: match self {
                Self::Sample { assume, .. } => *assume,
                Self::Generated(_) => None,
            },
            // Other features may be equal.
            repetitions: None,
            cells: None,
            weights: OnceLock::new(),
        }
    }

    /// The raw cells of the table that the sample came as.
    pub(in crate::jobs) fn raw_cells(&self) -> Option<&TableCells> {
        match self {
            Self::Sample { cells, .. } => cells.as_ref(),
            Self::Generated(_) => None,
        }
    }

    pub(super) fn input(&self) -> Input<'_> {
        match self {
            Self::Sample {
                sample,
                renamed,
                assume,
                ..
            } => Input::Sample {
                data: sample.examples(renamed.as_ref()),
                assume: *assume,
            },
            Self::Generated(plan) => Input::Generated(plan),
        }
    }

    /// The evidence against a declared sampling, if one is declared.
    ///
    /// # Errors
    /// The interrupt that left no result.
    pub(super) fn evidence(&self, stop: &StopFlag) -> Result<Option<Evidence>, Interrupt> {
        let input = self.input();
        let (Input::Sample { data, .. }, Some(_)) = (input, input.declared_sampling()) else {
            return Ok(None);
        };
        Evidence::of(data, self.repetitions(), stop).map(Some)
    }

    pub(super) fn repetitions(&self) -> Option<(u64, u64)> {
        match self {
            Self::Sample { repetitions, .. } => *repetitions,
            Self::Generated(_) => None,
        }
    }

    /// The sample, if the request brought it.
    pub(super) fn in_request(&self) -> Option<&Arc<Data>> {
        match self {
            Self::Sample {
                sample: JobSample::Memory(data),
                ..
            } => Some(data),
            _ => None,
        }
    }

    /// The sample, if the store holds it.
    pub(super) fn stored(&self) -> Option<&Arc<StoredExamples>> {
        match self {
            Self::Sample {
                sample: JobSample::Stored(examples),
                ..
            } => Some(examples),
            _ => None,
        }
    }

    /// Gives features the ids of the names `own`. A name that is not among them gets an id after those. `described` are
    /// the names that came with the data.
    ///
    /// # Errors
    /// The names cannot be read, or there is no memory for the examples.
    pub(super) fn rename(&mut self, own: &Vocabulary, described: &Names) -> Result<(), Interrupt> {
        let Self::Sample {
            sample, renamed, ..
        } = self
        else {
            return Ok(());
        };
        match (sample, described.vocabulary()) {
            (JobSample::Stored(stored), _) => stored.rename(own),
            (JobSample::Memory(data), Some(given)) => {
                let ids = own.renumbering(given);
                *renamed = Some(Arc::new(ids.of(data).map_err(|_| Interrupt::Memory)?));
                Ok(())
            }
            (JobSample::Memory(_), None) => Ok(()),
        }
    }

    /// The names of the features, if they have names. `described` are the names that came with the data, which a store
    /// keeps beside the examples.
    ///
    /// # Errors
    /// The names cannot be read.
    pub(super) fn vocabulary<'n>(
        &'n self,
        described: &'n Names,
    ) -> Result<Option<&'n Arc<Vocabulary>>, Interrupt> {
        match self.stored() {
            Some(stored) => stored.vocabulary(),
            None => Ok(described.vocabulary()),
        }
    }

    /// Compares the digest of stored data.
    ///
    /// # Errors
    /// The interrupt that came first.
    pub(super) fn verify(&self, stop: &StopFlag) -> Result<(), Interrupt> {
        self.stored().map_or(Ok(()), |stored| stored.verify(stop))
    }

    /// All examples, one by one: verified, or drawn into memory.
    ///
    /// # Errors
    /// The interrupt that came first.
    pub(super) fn finite(&self, seed: Seed, run: &Run) -> Result<Finite<'_>, Interrupt> {
        match self {
            Self::Sample {
                sample, renamed, ..
            } => {
                self.verify(&run.stop)?;
                Ok(Finite::AtRest(sample.examples(renamed.as_ref())))
            }
            Self::Generated(plan) => draw(plan, seed, run).map(Finite::Drawn),
        }
    }

    /// Calls `answer` with the whole sample in memory.
    ///
    /// # Errors
    /// The interrupt that came before the sample was in memory, and errors of `answer`.
    pub(super) fn whole<T>(
        &self,
        seed: Seed,
        run: &Run,
        answer: impl FnOnce(&Data) -> Result<T, Interrupt>,
    ) -> Result<T, Interrupt> {
        if let Some(interrupt) = run.stop.raised() {
            return Err(interrupt);
        }
        match self {
            Self::Sample { sample, .. } => match sample {
                JobSample::Memory(data) => answer(data),
                JobSample::Stored(examples) => answer(examples.whole(&run.stop)?),
            },
            Self::Generated(plan) => answer(&draw(plan, seed, run)?),
        }
    }

    /// Checks that the data are finite, and calls `check_examples`. For generated data a single example is enough,
    /// because all of them pass or fail together.
    pub(super) fn check_finite(
        &self,
        seed: Seed,
        state_bytes_max: u64,
        check_examples: impl FnOnce(&dyn Examples) -> Result<(), ResolveError>,
    ) -> Result<(), ResolveError> {
        let plan = match self {
            Self::Sample {
                sample, renamed, ..
            } => return check_examples(sample.examples(renamed.as_ref())),
            Self::Generated(plan) => plan,
        };
        let Some(count) = plan.count else {
            let detail = "the task needs the whole sample; set a count for the generated data";
            return Err(TaskError::WrongData(detail.to_owned()).into());
        };
        let limit = state_bytes_max;
        let needed = count.saturating_mul(plan.target.n().div_ceil(64) as u64 * 8);
        if needed > limit {
            return Err(TaskError::TooLarge { needed, limit }.into());
        }
        let plan = Plan {
            count: Some(1),
            ..plan.clone()
        };
        check_examples(&Generated::materialise(plan, seed, &Run::default()))
    }

    /// As [`Self::check_finite`], and also refuses examples that do not fit into memory as a whole and as dense rows.
    pub(super) fn check_whole(
        &self,
        seed: Seed,
        state_bytes_max: u64,
        check_examples: impl FnOnce(&dyn Examples) -> Result<(), ResolveError>,
    ) -> Result<(), ResolveError> {
        if let Input::Sample { data, .. } = self.input() {
            let (needed, limit) = (data.shape().packed().memory_bytes(), state_bytes_max);
            if needed > limit {
                return Err(TaskError::TooLarge { needed, limit }.into());
            }
        }
        self.check_finite(seed, state_bytes_max, check_examples)
    }

    pub(super) fn is_real(&self) -> bool {
        match self {
            Self::Sample { sample, .. } => sample.examples(None).shape().is_real,
            Self::Generated(_) => false,
        }
    }

    /// Number of feature values in all examples, if the examples are finite.
    pub(super) fn cells(&self) -> Option<f64> {
        let input = self.input();
        let examples = input.examples()?;
        Some(examples as f64 * input.n() as f64)
    }
}

impl JobSample {
    /// The sample with the class codes of the model that reads it. A sample of the request has them already.
    fn recoded(self, codes: &Recoding) -> Self {
        if let Self::Stored(examples) = &self {
            examples.recode(codes.clone());
        }
        self
    }

    /// The examples as a task reads them: the renamed ones, if there are any.
    fn examples<'e>(&'e self, renamed: Option<&'e Arc<Data>>) -> &'e dyn Examples {
        match self {
            Self::Memory(data) => renamed.unwrap_or(data).as_ref(),
            Self::Stored(examples) => examples.as_ref(),
        }
    }
}

/// Finite examples.
pub(super) enum Finite<'a> {
    /// In memory or in a blob.
    AtRest(&'a dyn Examples),
    /// Drawn into memory.
    Drawn(Data),
}

impl Finite<'_> {
    pub(super) fn examples(&self) -> &dyn Examples {
        match self {
            Self::AtRest(examples) => *examples,
            Self::Drawn(data) => data,
        }
    }
}

/// Draws the examples into memory.
fn draw(plan: &Plan, seed: Seed, run: &Run) -> Result<Data, Interrupt> {
    let drawn = Generated::materialise(plan.clone(), seed, run);
    // An interrupt may have cut the drawing short.
    run.stop.raised().map_or(Ok(drawn), Err)
}

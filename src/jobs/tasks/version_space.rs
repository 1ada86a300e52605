//! The task `version_space`: all binary weights that agree with the examples.

use std::sync::Arc;

use halfspace_core::learners::engine::input::TaskError;
use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::run::{Interrupt, Run};
use halfspace_core::separability::undecided::Undecided;
use halfspace_core::separability::version_space::{self, Enumeration, VersionSpaceError};

use crate::records::separability::{ExclusionDocument, VersionSpaceResult, VersionSpaceSpec};
use crate::records::task::DataSpec;
use crate::storage::JobEnd;

use super::data::TaskData;
use super::error::ResolveError;
use super::memory_bound;
use super::separability::{documents, expected_seconds};
use super::task::{About, Allowance, Inputs, Task};

/// The search for all binary weights that agree with the examples.
#[derive(Debug)]
pub(super) struct VersionSpaceTask {
    /// Number of weight vectors to list.
    list: usize,
    seed: Seed,
    data: Arc<TaskData>,
}

impl Task for VersionSpaceTask {
    type Spec = VersionSpaceSpec;
    type Output = Enumeration;

    fn new(
        spec: &VersionSpaceSpec,
        described: &DataSpec,
        mut inputs: Inputs,
    ) -> Result<Self, ResolveError> {
        Ok(Self {
            list: spec.list.unwrap_or_default().get(),
            seed: inputs.seed,
            data: inputs.fixed_data(described)?,
        })
    }

    fn check(&mut self, allowance: &Allowance) -> Result<(), ResolveError> {
        self.data
            .check_whole(self.seed, allowance.state_bytes, |examples| {
                version_space::check(examples, self.list).map_err(|error| match error {
                    VersionSpaceError::TooWide { .. } => {
                        ResolveError::Intractable(error.to_string())
                    }
                    _ => TaskError::WrongData(error.to_string()).into(),
                })
            })
    }

    fn run(&self, _: Option<&[u8]>, run: &Run) -> Result<Enumeration, Interrupt> {
        let found = self.data.whole(self.seed, run, |data| {
            version_space::enumerate(data, self.list, run)
        });
        found.or_else(|why| Ok(Enumeration::Undecided(why.try_into()?)))
    }

    fn complete(&self, enumeration: Enumeration, about: &About<'_>) -> JobEnd {
        let mut result = VersionSpaceResult {
            count: None,
            unique: None,
            hypotheses: Vec::new(),
            exclusion: None,
            detail: None,
            seconds: about.seconds,
        };
        match &enumeration {
            Enumeration::Complete(space) => {
                let bits = space.hypotheses.iter().map(|bits| bits.to_bit_string());
                result.count = Some(space.count.to_string());
                result.unique = Some(space.is_unique());
                result.hypotheses = bits.collect();
            }
            Enumeration::Excluded(exclusion) => {
                result.count = Some("0".to_owned());
                result.unique = Some(false);
                result.exclusion = Some(ExclusionDocument {
                    multipliers: documents(&exclusion.multipliers),
                    excludes_real_weights: exclusion.excludes_real_weights,
                });
            }
            Enumeration::Undecided(why) => result.detail = Some(why.to_string()),
        }
        let is_cancelled = matches!(enumeration, Enumeration::Undecided(Undecided::Cancelled));
        about.end(&result, is_cancelled)
    }

    fn memory_bytes(&self, _: u64) -> u64 {
        memory_bound::version_space(self.data.input())
    }

    fn expected_seconds(&self, limit: f64) -> f64 {
        expected_seconds(&self.data, limit)
    }

    fn data(&self) -> Option<&Arc<TaskData>> {
        Some(&self.data)
    }
}

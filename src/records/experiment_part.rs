//! One part of an experiment. Each part is a job of its own.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use halfspace_core::experiments::PartTally;

use super::experiment::ExperimentSpec;

/// The request of a part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExperimentPartSpec {
    /// The whole experiment.
    pub experiment: ExperimentSpec,
    /// Number of parts of the experiment. Another version of the program may divide the experiment
    /// differently and must not confuse the parts.
    pub parts: u32,
    /// Index of this part, from 0.
    pub part: u32,
}

/// The result of a part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ExperimentPartResult {
    /// The results of the runs by point, as integers that are added to those of other parts.
    #[schema(value_type = Object)]
    pub tally: PartTally,
}

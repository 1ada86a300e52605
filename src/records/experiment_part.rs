//! One part of an experiment, which is a job of its own.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use halfspace_core::experiments::PartTally;

use super::experiment::ExperimentSpec;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExperimentPartSpec {
    pub experiment: ExperimentSpec,
    /// Number of parts of the experiment. It is stored so that another version of the program, which may divide the
    /// experiment differently, does not confuse the parts.
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

//! One part of an experiment, a job of its own.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::experiments::PartTally;

use super::experiment::ExperimentSpec;

/// What is asked of a part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExperimentPartSpec {
    /// The whole.
    pub experiment: ExperimentSpec,
    /// How many parts it was cut into. Another version of the program may cut it otherwise, and must
    /// not take one part for another.
    pub parts: u32,
    /// Which of them, from 0.
    pub part: u32,
}

/// What came of a part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ExperimentPartResult {
    /// What its runs came to at each point that it has a share in, in whole numbers that are added
    /// to those of other parts.
    #[schema(value_type = Object)]
    pub tally: PartTally,
}

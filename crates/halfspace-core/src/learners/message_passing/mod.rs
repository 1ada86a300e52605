//! Learners that search for consistent binary weights by message passing.
//!
//! The folder holds approximate message passing with its reinforced and its focusing variant, and the learner `auto`,
//! which runs several searches. The thresholds on the number of examples per weight come from statistical physics.

pub mod amp;
pub mod auto;
pub(crate) mod focusing_bp;
pub mod planted;
pub(crate) mod reinforced_amp;
pub(crate) mod search;

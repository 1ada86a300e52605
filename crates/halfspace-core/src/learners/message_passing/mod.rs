//! Learners that search by message passing for binary weights that fit every example.
//!
//! The folder holds approximate message passing (AMP) with its reinforced and its focusing variant, the learner `auto`,
//! which tries several learners in turn, and known thresholds on the number of examples per weight.

pub mod amp;
pub mod auto;
pub(crate) mod focusing_bp;
pub mod planted;
pub(crate) mod reinforced_amp;
pub(crate) mod search;

//! Learners that search for consistent binary weights by message passing.
//!
//! The folder holds approximate message passing and the reinforced and the focusing variant. The learner `auto`
//! runs several searches. The thresholds of examples per weight come from statistical physics.

pub mod amp;
pub mod auto;
pub(crate) mod focusing_bp;
pub mod planted;
pub(crate) mod reinforced_amp;
pub(crate) mod search;

//! Learners that search for consistent binary weights by message passing.
//!
//! The folder holds approximate message passing, the reinforced and the focusing variant, the learner `auto`, which runs several
//! searches, and the thresholds of examples per weight from statistical physics.

pub mod amp;
pub mod auto;
pub(crate) mod focusing_bp;
pub mod planted;
pub(crate) mod reinforced_amp;
pub(crate) mod search;

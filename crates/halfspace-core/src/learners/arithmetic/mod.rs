//! Exact arithmetic of the learners: decimals of any size, powers, wide integers and units of weights.

pub mod bracket;
pub mod decimal;
pub mod power_scale;
pub mod power_sum;
pub mod smallest_count;
pub(crate) mod stirling;
pub mod unit;
pub(crate) mod wide;

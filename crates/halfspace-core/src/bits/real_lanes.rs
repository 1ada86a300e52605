//! The number of partial sums (lanes) in a sum of reals, which determines how the sum is rounded.

/// The number of partial sums of a product.
pub const REAL_LANES: usize = 16;

/// Weights and the values of the same columns.
pub(super) type Part<'a> = (&'a [[f64; REAL_LANES]], &'a [[f64; REAL_LANES]]);

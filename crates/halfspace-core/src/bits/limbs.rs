//! The parts of 44 bits (limbs) in which sums of powers of two are stored.

/// Bits of a limb. The sum of fewer than 2^20 powers below 2^44 fits an `i64`.
pub const LIMB_BITS: usize = 44;

/// The sums of one limb. Lane `j` holds the sum over the rows `r` with `r % 8 == j`.
pub type Limb = [i64; 8];

/// The coordinates that a row and a vector share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shared {
    /// The coordinates in which both are equal.
    Equal,
    /// The coordinates in which both are 1.
    Ones,
}

//! The result of comparing counts of coordinates with a number.

/// The counts of the 64 coordinates of a word against a number, one bit per coordinate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Bits of the coordinates whose count is at least the number.
    pub at_least: u64,
    /// Bits of the coordinates whose count equals the number.
    pub equal: u64,
}

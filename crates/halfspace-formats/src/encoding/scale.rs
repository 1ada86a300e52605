//! The scale of a column.

use serde::{Deserialize, Serialize};

/// The scale of a column of numbers: x becomes (x - offset) / divisor.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Scale {
    /// What is subtracted: the mean, or the smallest number.
    pub offset: f64,
    /// What divides the difference: the standard deviation, or the largest number less the smallest. It is 1 for a
    /// constant column.
    #[schema(exclusive_minimum = 0.0)]
    pub divisor: f64,
}

impl Scale {
    /// The number on this scale.
    pub fn of(self, number: f64) -> f64 {
        (number - self.offset) / self.divisor
    }
}

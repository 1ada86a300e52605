//! The bounds beyond which the sum of a row in a [`SmallColumn`](crate::bits::SmallColumn) confirms its label.

/// The sums of a row that confirm its label.
#[derive(Clone, Copy, Debug)]
pub struct SmallBounds {
    /// The least sum of the selected numbers that confirms a positive label. At most
    /// [`SMALL_SUM_MAX`](crate::bits::SMALL_SUM_MAX).
    pub positive: i64,
    /// The largest sum that confirms a negative label, after 1 has been added for each selected number. Below
    /// [`SMALL_SUM_MAX`](crate::bits::SMALL_SUM_MAX).
    pub negative: i64,
}

impl SmallBounds {
    /// Whether the sum of a row with so many ones confirms the label.
    #[inline(always)]
    pub(super) fn confirm(self, is_positive: bool, sum: i64, ones: i64) -> bool {
        match is_positive {
            true => sum >= self.positive,
            false => sum + ones <= self.negative,
        }
    }
}

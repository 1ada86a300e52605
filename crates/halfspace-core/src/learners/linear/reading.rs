//! The reading of linear weights: which numbers the bits 0 and 1 stand for, and the values of a row.

use serde::{Deserialize, Serialize};

use crate::bits;
use crate::learners::sample::block::{Block, BlockFeatures};

/// The values of the bits of a Boolean example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reading {
    /// Bit 1 is +1 and bit 0 is -1.
    #[default]
    Signed,
    /// Bit 1 is 1 and bit 0 is 0.
    Unsigned,
}

impl Reading {
    /// The name in requests and answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Signed => "signed",
            Self::Unsigned => "unsigned",
        }
    }

    /// The value of a bit.
    pub fn value(self, bit: bool) -> f64 {
        match (self, bit) {
            (_, true) => 1.0,
            (Self::Signed, false) => -1.0,
            (Self::Unsigned, false) => 0.0,
        }
    }
}

/// A row as values: the values of a real row, or the bits in the reading.
pub(super) fn row_values<'a>(
    reading: Option<Reading>,
    block: &Block<'a>,
    row: usize,
    scratch: &'a mut Vec<f64>,
) -> &'a [f64] {
    match block.features {
        BlockFeatures::Real { n, values } => &values[row * n..(row + 1) * n],
        BlockFeatures::Sparse(rows) => {
            // Only a signed reading comes here, where a feature that is not active counts as -1.
            scratch.clear();
            scratch.resize(rows.n().next_multiple_of(bits::REAL_LANES), -1.0);
            rows.row(row)
                .ids
                .iter()
                .for_each(|&id| scratch[id as usize] = 1.0);
            scratch
        }
        BlockFeatures::Boolean(bits) => {
            let reading = reading.unwrap_or(Reading::Signed);
            scratch.clear();
            for word in 0..bits.words_per_row() {
                let word = bits.word(word, row);
                scratch.extend((0..bits::WORD_BITS).map(|j| reading.value(word >> j & 1 == 1)));
            }
            scratch
        }
    }
}

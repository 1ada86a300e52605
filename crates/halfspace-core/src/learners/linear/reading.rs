//! The reading of linear weights: which numbers the bits 0 and 1 stand for.

use serde::{Deserialize, Serialize};

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

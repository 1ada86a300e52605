//! What a client declares about the origin of its examples.

use serde::{Deserialize, Serialize};

use crate::learners::engine::stopping::Sampling;

/// The declared origin of examples. The examples must be fresh and independent draws of one distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Assume {
    /// Any distribution, also with noise.
    Independent,
    /// Half-space examples, uniform over the positive ones.
    UniformPositive,
    /// Half-space examples, drawn uniformly and negated when negative.
    Reflected,
    /// Labelled examples, drawn uniformly.
    Uniform,
}

impl Assume {
    /// The declarations that fit labelled examples, or else half-space examples.
    pub fn allowed(labelled: bool) -> &'static [Self] {
        match labelled {
            true => &[Self::Independent, Self::Uniform],
            false => &[Self::Independent, Self::UniformPositive, Self::Reflected],
        }
    }

    /// Whether the declaration fits examples of this kind. Only Boolean examples can be uniform.
    pub fn fits(self, labelled: bool, real: bool) -> bool {
        Self::allowed(labelled).contains(&self) && (self.sampling().is_none() || !real)
    }

    /// The distribution, if the declaration names one. Such examples are Boolean and have no noise.
    pub fn sampling(self) -> Option<Sampling> {
        match self {
            Self::Independent => None,
            Self::UniformPositive => Some(Sampling::UniformPositive),
            Self::Reflected => Some(Sampling::Reflected),
            Self::Uniform => Some(Sampling::Uniform),
        }
    }

    /// The name in requests and answers.
    pub fn name(self) -> &'static str {
        self.sampling().map_or("independent", Sampling::name)
    }
}

impl From<Sampling> for Assume {
    fn from(sampling: Sampling) -> Self {
        match sampling {
            Sampling::UniformPositive => Self::UniformPositive,
            Sampling::Reflected => Self::Reflected,
            Sampling::Uniform => Self::Uniform,
        }
    }
}

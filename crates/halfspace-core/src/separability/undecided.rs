//! Which limit came before an answer.

use crate::learners::run::Interrupt;

/// Why a question was left open. Nothing is claimed then, either way.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum Undecided {
    /// The time allowed.
    #[error("the time limit came before the answer")]
    TimeLimit,
    /// The client.
    #[error("cancelled before the answer")]
    Cancelled,
    /// Too wide for the exact methods, and the perceptron found nothing.
    #[error(
        "the perceptron found no certificate, and {coordinates} coordinates are too many for the \
         exact methods, which take at most {coordinates_max}"
    )]
    TooWide {
        coordinates: usize,
        coordinates_max: usize,
    },
    /// Too wide for the solver of the maximum margin, though separable.
    #[error(
        "the sample is separable, but {coordinates} coordinates are too many for its maximum \
         margin, which is sought for at most {coordinates_max}"
    )]
    TooWideForMargin {
        coordinates: usize,
        coordinates_max: usize,
    },
    /// No weights in f64 that separate were found.
    #[error("the sample is separable, but by no weights that were found and that f64 can write")]
    NoMargin,
}

impl TryFrom<Interrupt> for Undecided {
    type Error = Interrupt;

    /// The limit that an interrupt stands for; [`Interrupt::Suspended`] is none.
    fn try_from(interrupt: Interrupt) -> Result<Self, Interrupt> {
        match interrupt {
            Interrupt::TimeLimit => Ok(Self::TimeLimit),
            Interrupt::Cancelled => Ok(Self::Cancelled),
            Interrupt::Suspended | Interrupt::Unreadable | Interrupt::Memory => Err(interrupt),
        }
    }
}

//! The limits that can leave a question undecided.

use crate::learners::engine::run::Interrupt;

/// Limit that left a question open. An undecided result claims neither answer.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum Undecided {
    /// The time limit ended the run.
    #[error("the time limit ended the search before an answer")]
    TimeLimit,
    /// The client cancelled the run.
    #[error("the job was cancelled before an answer")]
    Cancelled,
    /// The sample is too wide for the exact methods, and the perceptron found no certificate.
    #[error(
        "the perceptron found no certificate, and {coordinates} coordinates exceed the \
         {coordinates_max} that the exact methods support"
    )]
    TooWide {
        coordinates: usize,
        coordinates_max: usize,
    },
    /// The sample is separable, but too wide for the solver of the maximum margin.
    #[error(
        "the sample is separable, but {coordinates} coordinates exceed the {coordinates_max} that \
         the search for the maximum margin supports"
    )]
    TooWideForMargin {
        coordinates: usize,
        coordinates_max: usize,
    },
    /// The examples are too wide to enumerate the binary weights, and no multipliers exclude all of them.
    #[error(
        "n = {n} exceeds the {n_max} of version_space_n_max, and no multipliers exclude all binary \
         weights"
    )]
    NotExcluded { n: usize, n_max: usize },
    /// No separating weights in f64 were found.
    #[error("the sample is separable, but the search found no weights in the range of f64")]
    NoMargin,
}

impl TryFrom<Interrupt> for Undecided {
    type Error = Interrupt;

    /// Converts an interrupt to the limit. Returns the interrupt unchanged if it is not a limit but ends the
    /// whole run.
    fn try_from(interrupt: Interrupt) -> Result<Self, Interrupt> {
        match interrupt {
            Interrupt::TimeLimit => Ok(Self::TimeLimit),
            Interrupt::Cancelled => Ok(Self::Cancelled),
            Interrupt::Suspended | Interrupt::Unreadable | Interrupt::Memory => Err(interrupt),
        }
    }
}

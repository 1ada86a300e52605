//! Numbers that follow from a theorem and a few parameters, without data or seed.
//!
//! Each file covers a theorem or a family of theorems: Cover's theorem, Theorem 1 of Fang and Venkatesh beside an exact
//! analysis of Directed Drift, Novikoff's theorem, the stopping rules, and Winnow's mistake bound. If a learner or a
//! stopping rule needs a formula too, it is in `learners`, and the file here only checks its parameters. No computation
//! here is random. Those that can take long have a stop flag.

mod anytime;
pub mod cover;
pub mod directed_drift;
pub mod novikoff;
pub mod stopping;
pub mod winnow;

use serde::{Deserialize, Serialize};

use crate::learners::engine::run::{Interrupt, StopFlag};

/// A parameter outside the range for which the figure is defined or computed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{parameter}: {detail}")]
pub struct OutOfRange {
    /// Name of the parameter.
    pub parameter: &'static str,
    /// Description of the wrong value and the valid range.
    pub detail: String,
}

/// The reason why there is no figure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FigureError {
    /// The figure is not defined or not computed there.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// The computation was told to stop.
    #[error("the computation was stopped")]
    Stopped(Interrupt),
}

/// Looks at the stop flag between two parts of a computation.
fn look(stop: &StopFlag) -> Result<(), FigureError> {
    stop.look()
        .map_or(Ok(()), |interrupt| Err(FigureError::Stopped(interrupt)))
}

/// A bound on the number of mistakes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, utoipa::ToSchema)]
pub struct MistakeBound {
    /// The bound; null outside the range of doubles.
    #[serde(rename = "mistakes_at_most")]
    pub value: Option<f64>,
    /// Binary logarithm of the bound.
    #[serde(rename = "log2_mistakes_at_most")]
    pub log2: f64,
}

impl OutOfRange {
    /// The refusal of the parameter with this name.
    pub fn new(parameter: &'static str, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self { parameter, detail }
    }
}

/// A number strictly between 0 and 1: a probability or a part of a whole.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64")]
pub struct Share(f64);

impl Share {
    /// The number.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Share {
    type Error = String;

    fn try_from(number: f64) -> Result<Self, String> {
        // 1 - 1e-17 is rounded to 1 and rejected, because the error 1 - c must be positive.
        if number > 0.0 && number < 1.0 {
            Ok(Self(number))
        } else {
            Err(format!("{number} must be greater than 0 and less than 1"))
        }
    }
}

/// Checks that a probability lies strictly between 0 and 1.
///
/// # Errors
/// Names the parameter.
pub fn check_probability(parameter: &'static str, value: f64) -> Result<(), OutOfRange> {
    if value > 0.0 && value < 1.0 {
        return Ok(());
    }
    let detail = format!("{value} must be greater than 0 and less than 1");
    Err(OutOfRange::new(parameter, detail))
}

/// Checks that a real number is positive and finite.
fn check_positive(parameter: &'static str, value: f64) -> Result<(), OutOfRange> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    let detail = format!("{value} is not a positive, finite number");
    Err(OutOfRange::new(parameter, detail))
}

/// Checks that an integer is between 1 and the limit, which is given with its name.
///
/// # Errors
/// Names the parameter.
pub fn check_whole(
    parameter: &'static str,
    value: u64,
    limit: (&str, u64),
) -> Result<(), OutOfRange> {
    let (name, max) = limit;
    if (1..=max).contains(&value) {
        return Ok(());
    }
    let detail = format!("{value} is not from 1 to {name} = {max}");
    Err(OutOfRange::new(parameter, detail))
}

//! What is proved, as numbers: figures that follow from a few parameters, without data or seed.
//!
//! Each file is a theorem or a family of them. What a learner or a stopping rule needs as well has
//! its formula in `learners` and is presented here. Nothing here is random, and nothing runs long.

mod anytime;
pub mod cover;
pub mod directed_drift;
pub mod novikoff;
pub mod stopping;
pub mod winnow;

/// A parameter outside the range for which a figure is defined, or is worked out here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{parameter}: {detail}")]
pub struct OutOfRange {
    /// The parameter's name.
    pub parameter: &'static str,
    /// What is wrong and what would be right.
    pub detail: String,
}

/// A bound on the number of mistakes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MistakeBound {
    /// The bound; none when it leaves the range of f64.
    pub value: Option<f64>,
    /// Its binary logarithm.
    pub log2: f64,
}

impl OutOfRange {
    fn new(parameter: &'static str, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self { parameter, detail }
    }
}

/// That a probability lies strictly between 0 and 1.
fn check_probability(parameter: &'static str, value: f64) -> Result<(), OutOfRange> {
    if value > 0.0 && value < 1.0 {
        return Ok(());
    }
    let detail = format!("{value} is not between 0 and 1, without either");
    Err(OutOfRange::new(parameter, detail))
}

/// That a real number is positive and finite.
fn check_positive(parameter: &'static str, value: f64) -> Result<(), OutOfRange> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    let detail = format!("{value} is no positive, finite number");
    Err(OutOfRange::new(parameter, detail))
}

/// That a whole number lies from 1 to the limit of that name.
fn check_whole(parameter: &'static str, value: u64, limit: (&str, u64)) -> Result<(), OutOfRange> {
    let (name, max) = limit;
    if (1..=max).contains(&value) {
        return Ok(());
    }
    let detail = format!("{value} is not from 1 to {name}, which is {max}");
    Err(OutOfRange::new(parameter, detail))
}

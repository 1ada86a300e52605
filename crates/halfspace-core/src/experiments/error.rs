//! Errors in the parameters of experiments, and the readers and checks that report them.

use std::ops::RangeInclusive;

use serde::{Deserialize, Deserializer};

use crate::learners::catalogue;
use crate::learners::engine::entry::LearnerEntry;
use crate::theory::Share;

use super::parts::POINTS_MAX;

/// The reason why an experiment is rejected.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ExperimentError {
    /// A parameter is out of range.
    #[error("{detail}")]
    Parameter {
        /// JSON pointer to the wrong value, relative to the parameters: `/n/2`.
        pointer: String,
        /// The fault and the allowed values.
        detail: String,
    },
    /// The grid has more than [`POINTS_MAX`] points.
    #[error("the grid has {points} points, more than experiment_points_max: {limit}")]
    TooManyPoints { points: u64, limit: u64 },
}

impl ExperimentError {
    /// Makes the error of a parameter that is out of range.
    pub fn parameter(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        let (pointer, detail) = (pointer.into(), detail.into());
        Self::Parameter { pointer, detail }
    }

    /// JSON pointer to the wrong value, relative to the parameters. It is empty if the parameters are only wrong
    /// together.
    pub fn pointer(&self) -> &str {
        match self {
            Self::Parameter { pointer, .. } => pointer,
            Self::TooManyPoints { .. } => "",
        }
    }
}

/// Reads a number strictly between 0 and 1.
pub fn share<'de, D: Deserializer<'de>>(number: D) -> Result<f64, D::Error> {
    Share::deserialize(number).map(Share::get)
}

/// Reads numbers strictly between 0 and 1.
pub fn shares<'de, D: Deserializer<'de>>(numbers: D) -> Result<Vec<f64>, D::Error> {
    let shares = Vec::<Share>::deserialize(numbers)?;
    Ok(shares.into_iter().map(Share::get).collect())
}

/// Finds the learner with this name. An error points to `pointer`.
///
/// # Errors
/// There is no such learner.
pub fn find_learner(name: &str, pointer: String) -> Result<&'static LearnerEntry, ExperimentError> {
    catalogue::find(name)
        .ok_or_else(|| ExperimentError::parameter(pointer, format!("unknown learner {name:?}")))
}

/// Finds the learners of the parameter `learners`.
pub fn find_learners(names: &[String]) -> Result<Vec<&'static LearnerEntry>, ExperimentError> {
    let names = names.iter().enumerate();
    names
        .map(|(at, name)| find_learner(name, format!("/learners/{at}")))
        .collect()
}

/// Checks that a grid has at most [`POINTS_MAX`] points. The number of points is the product of the lengths
/// of its lists.
pub fn check_grid(lengths: &[usize]) -> Result<(), ExperimentError> {
    let lengths = lengths.iter().map(|&length| length as u64);
    let points = lengths.fold(1_u64, u64::saturating_mul);
    if points > POINTS_MAX {
        let limit = POINTS_MAX;
        return Err(ExperimentError::TooManyPoints { points, limit });
    }
    Ok(())
}

/// Checks that a list is not empty, that its numbers lie in a range and that no number is repeated.
pub fn check_list(
    name: &str,
    list: &[u64],
    range: RangeInclusive<u64>,
) -> Result<(), ExperimentError> {
    check_not_empty(name, list.len())?;
    for (at, number) in list.iter().enumerate() {
        if !range.contains(number) {
            let (low, high) = (range.start(), range.end());
            let detail = format!("{number} is not from {low} to {high}");
            return Err(ExperimentError::parameter(format!("/{name}/{at}"), detail));
        }
    }
    check_distinct(name, list)
}

/// Checks that a list is not empty, that its numbers lie above `low` and at most at `high`, and that no
/// number is repeated.
pub fn check_reals(
    name: &str,
    list: &[f64],
    (low, high): (f64, f64),
) -> Result<(), ExperimentError> {
    check_not_empty(name, list.len())?;
    for (at, number) in list.iter().enumerate() {
        if !(*number > low && *number <= high) {
            let detail = format!("{number} must be above {low} and at most {high}");
            return Err(ExperimentError::parameter(format!("/{name}/{at}"), detail));
        }
    }
    check_distinct(name, list)
}

/// Checks that a list is not empty, that its numbers lie strictly between `low` and `high`, and that no
/// number is repeated.
pub fn check_between(
    name: &str,
    list: &[f64],
    (low, high): (f64, f64),
) -> Result<(), ExperimentError> {
    check_not_empty(name, list.len())?;
    match list
        .iter()
        .position(|number| !(*number > low && *number < high))
    {
        None => check_distinct(name, list),
        Some(at) => {
            let detail = format!(
                "{} must be greater than {low} and less than {high}",
                list[at]
            );
            Err(ExperimentError::parameter(format!("/{name}/{at}"), detail))
        }
    }
}

/// Checks that no value of a list is repeated. Otherwise two series would have one name, or two points one place.
pub fn check_distinct<T: PartialEq>(name: &str, list: &[T]) -> Result<(), ExperimentError> {
    // Each value makes at least one point, so the limit of points also limits this quadratic search.
    check_grid(&[list.len()])?;
    for (at, one) in list.iter().enumerate() {
        if let Some(first) = list[..at].iter().position(|other| other == one) {
            let detail = format!("the value equals the value at {first}; give each value once");
            return Err(ExperimentError::parameter(format!("/{name}/{at}"), detail));
        }
    }
    Ok(())
}

/// Checks that a list is not empty.
pub fn check_not_empty(name: &str, length: usize) -> Result<(), ExperimentError> {
    if length == 0 {
        return Err(ExperimentError::parameter(
            format!("/{name}"),
            "give at least one value",
        ));
    }
    Ok(())
}

/// Checks that an integer lies in a range.
pub fn check_number(
    name: &str,
    number: u64,
    range: RangeInclusive<u64>,
) -> Result<(), ExperimentError> {
    if range.contains(&number) {
        return Ok(());
    }
    let (low, high) = (range.start(), range.end());
    let detail = format!("{number} is not from {low} to {high}");
    Err(ExperimentError::parameter(format!("/{name}"), detail))
}

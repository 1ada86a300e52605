//! An experiment: what was asked, and what came of it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::experiments::mistake_bound_sweep::{Batches, MistakeBoundSweep, Question};
use crate::experiments::outcome::{Axis, Outcome, Point, Scale};
use crate::experiments::{Experiment, ExperimentError};
use crate::learners::catalogue::{self, Entry};
use crate::learners::{directed_drift_async, directed_drift_sync};

/// An experiment and its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "name", content = "params", rename_all = "kebab-case")]
pub enum ExperimentSpec {
    /// Mistakes until the hypothesis is the target.
    MistakeBoundSweep(MistakeBoundSweepSpec),
}

impl ExperimentSpec {
    /// Checks it; by the estimate it may take `seconds_max` of one core.
    ///
    /// # Errors
    /// What is out of range, with its pointer below `params`.
    pub fn check(&self, seconds_max: f64) -> Result<Experiment, ExperimentError> {
        match self {
            Self::MistakeBoundSweep(spec) => Experiment::new(spec.design()?, seconds_max),
        }
    }
}

/// Mistakes until the hypothesis is the target, against the size of a batch, or against n where no
/// batch sizes are given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MistakeBoundSweepSpec {
    /// Numbers of features.
    #[schema(min_items = 1)]
    pub n: Vec<u64>,
    /// Learners with a parameter `batch_size`, or with an exact analysis.
    #[schema(min_items = 1)]
    pub learners: Vec<String>,
    /// Batch sizes, in examples.
    pub batch_sizes: Option<Vec<u64>>,
    /// Batch sizes in units of (pi/2) n ln n; not beside `batch_sizes`.
    pub normalised_batch_sizes: Option<Vec<f64>>,
    /// Runs at each point.
    #[schema(minimum = 1, maximum = 100_000)]
    pub runs: u64,
    /// Mistakes at which a run is given up; its point is then a lower bound.
    #[schema(minimum = 1, maximum = 10_000_000)]
    pub max_mistakes: u64,
}

impl Default for MistakeBoundSweepSpec {
    fn default() -> Self {
        let learners = [&directed_drift_async::ENTRY, &directed_drift_sync::ENTRY];
        Self {
            n: vec![11, 21, 51, 101],
            learners: learners.map(|entry| entry.name.to_owned()).to_vec(),
            batch_sizes: None,
            normalised_batch_sizes: None,
            runs: 1_000,
            max_mistakes: 10_000,
        }
    }
}

impl MistakeBoundSweepSpec {
    fn design(&self) -> Result<MistakeBoundSweep, ExperimentError> {
        let batches = match (&self.batch_sizes, &self.normalised_batch_sizes) {
            (None, None) => Batches::Default,
            (Some(sizes), None) => Batches::Sizes(sizes.clone()),
            (None, Some(sizes)) => Batches::Normalised(sizes.clone()),
            (Some(_), Some(_)) => {
                return Err(ExperimentError::parameter(
                    "/normalised_batch_sizes",
                    "give this or batch_sizes, not both",
                ));
            }
        };
        MistakeBoundSweep::new(&Question {
            n: self.n.clone(),
            learners: learners(&self.learners)?,
            batches,
            runs: self.runs,
            mistakes_max: self.max_mistakes,
        })
    }
}

/// The learners of these names.
fn learners(names: &[String]) -> Result<Vec<&'static Entry>, ExperimentError> {
    let found = names.iter().enumerate().map(|(at, name)| {
        catalogue::find(name).ok_or_else(|| {
            let detail = format!("there is no learner {name}");
            ExperimentError::parameter(format!("/learners/{at}"), detail)
        })
    });
    found.collect()
}

/// What came of an experiment, or of those of its runs that are done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ExperimentResult {
    /// What is shown.
    pub title: String,
    /// The axis from left to right.
    pub x: AxisDocument,
    /// The axis upwards.
    pub y: AxisDocument,
    /// What was measured, or is exact in its place.
    pub series: Vec<SeriesDocument>,
    /// What theory says.
    pub theory: Vec<CurveDocument>,
    /// Places on the axis from left to right that mean something.
    pub marks: Vec<MarkDocument>,
    /// What is to be said of it.
    pub notes: Vec<String>,
    /// Runs that it rests on.
    pub runs: u64,
    /// Runs that it rests on once all are done.
    pub runs_planned: u64,
}

/// An axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AxisDocument {
    /// What it shows.
    pub label: String,
    /// In which unit.
    pub unit: String,
    /// How it is divided.
    pub scale: ScaleName,
}

/// How an axis is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ScaleName {
    /// Evenly.
    Linear,
    /// By factors.
    Logarithmic,
}

/// Points that belong together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SeriesDocument {
    /// What they have in common.
    pub label: String,
    /// From left to right.
    pub points: Vec<PointDocument>,
}

/// A measured point, with a 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PointDocument {
    /// Where.
    pub x: f64,
    /// How much; at least so much where some runs are censored.
    pub y: f64,
    /// The lower end of the interval; null of a single run.
    pub low: Option<f64>,
    /// The upper end; null of a single run, and where runs are censored.
    pub high: Option<f64>,
    /// How many runs it rests on; 0 where it is exact.
    pub runs: u64,
    /// Those of them that a limit ended.
    pub censored: u64,
}

/// A curve of theory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CurveDocument {
    /// What it says.
    pub label: String,
    /// Its places, from left to right.
    pub points: Vec<PlaceDocument>,
}

/// A place of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PlaceDocument {
    /// Where.
    pub x: f64,
    /// How much.
    pub y: f64,
}

/// A place on the axis from left to right.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MarkDocument {
    /// Where.
    pub x: f64,
    /// What it means.
    pub label: String,
}

impl From<&Outcome> for ExperimentResult {
    fn from(outcome: &Outcome) -> Self {
        let series = outcome.series.iter().map(|series| SeriesDocument {
            label: series.label.clone(),
            points: series.points.iter().map(PointDocument::from).collect(),
        });
        let theory = outcome.theory.iter().map(|curve| CurveDocument {
            label: curve.label.clone(),
            points: curve
                .points
                .iter()
                .map(|&(x, y)| PlaceDocument { x, y })
                .collect(),
        });
        let marks = outcome.marks.iter().map(|mark| MarkDocument {
            x: mark.x,
            label: mark.label.clone(),
        });
        Self {
            title: outcome.title.clone(),
            x: (&outcome.x).into(),
            y: (&outcome.y).into(),
            series: series.collect(),
            theory: theory.collect(),
            marks: marks.collect(),
            notes: outcome.notes.clone(),
            runs: outcome.runs,
            runs_planned: outcome.runs_planned,
        }
    }
}

impl From<&Axis> for AxisDocument {
    fn from(axis: &Axis) -> Self {
        Self {
            label: axis.label.clone(),
            unit: axis.unit.clone(),
            scale: match axis.scale {
                Scale::Linear => ScaleName::Linear,
                Scale::Logarithmic => ScaleName::Logarithmic,
            },
        }
    }
}

impl From<&Point> for PointDocument {
    fn from(point: &Point) -> Self {
        Self {
            x: point.x,
            y: point.y,
            low: point.low,
            high: point.high,
            runs: point.runs,
            censored: point.censored,
        }
    }
}

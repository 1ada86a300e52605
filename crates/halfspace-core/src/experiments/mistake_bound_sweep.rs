//! `mistake-bound-sweep`: mistakes until the hypothesis equals the target, against the batch size or the number of
//! features.
//!
//! The source is S. C. Fang and S. S. Venkatesh, "Learning finite binary sequences from half-space data". Figure 1
//! shows mistakes over n against m over (pi/2) n ln n, where m is the batch size. Table 1 shows mistakes against n at
//! the paper's own batch sizes. Directed Drift without batches is the chain of `learners::drift::drift_chain`, whose
//! expected mistakes are known, so this learner needs no runs.
//!
//! A run that stops at `max_mistakes` mistakes counts with this number (it is *censored*). The mean at its point is
//! then only a lower bound, so the interval has no upper end.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::learners::drift::drift_chain::N_MAX;
use crate::learners::drift::{directed_drift_async, directed_drift_sync};
use crate::learners::engine::entry::LearnerEntry;
use crate::learners::engine::input::Input;
use crate::learners::engine::parameters::Parameters;
use crate::learners::engine::random::Seed;
use crate::learners::engine::run::{Interrupt, Run, RunLimits};
use crate::learners::engine::stopping::{Sampling, StopRule};
use crate::learners::engine::task::Task;
use crate::learners::engine::train::train_to_end;
use crate::learners::sample::generate::Plan;
use crate::theory::directed_drift::{expected_mistakes, theorem_1};

use super::error::ExperimentError;
use super::error::{
    check_distinct, check_grid, check_list, check_not_empty, check_number, check_reals,
    find_learners,
};
use super::parts::PointPlan;
use super::tally::{Observation, PointTally};
use super::{Design, RUNS_MAX};
use crate::figures::chart::{Axis, AxisMark, Chart, Curve, Point, Scale, Series};

/// The name in requests.
pub const NAME: &str = "mistake-bound-sweep";

/// The largest number of features of an example.
const FEATURES_MAX: u64 = 10_000;

/// The largest batch size.
const BATCH_SIZE_MAX: u64 = 10_000_000;

/// The largest normalised batch size.
const NORMALISED_MAX: f64 = 1_000.0;

/// The largest number of mistakes of a run. The sum of the squares must fit in a `u64`.
const MISTAKES_MAX: u64 = 10_000_000;

/// Confidence of a run. At its end the hypothesis is, with this confidence, the target, and no further mistake
/// follows.
const CONFIDENCE: f64 = 1.0 - 1e-9;

/// Name of the parameter of the learners that have batches.
const BATCH_SIZE: &str = "batch_size";

/// Mistakes until the hypothesis equals the target, against the batch size. Without batch sizes the chart
/// shows mistakes against n.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MistakeBoundSweepSpec {
    /// Numbers of features.
    #[schema(min_items = 1)]
    pub n: Vec<u64>,
    /// Learners with a parameter `batch_size` or with an exact analysis.
    #[schema(min_items = 1)]
    pub learners: Vec<String>,
    /// Batch sizes, in examples.
    pub batch_sizes: Option<Vec<u64>>,
    /// Batch sizes in units of (pi/2) n ln n examples. Give either these or `batch_sizes`.
    pub normalised_batch_sizes: Option<Vec<f64>>,
    /// Number of runs per point.
    #[schema(minimum = 1, maximum = 100_000)]
    pub runs: u64,
    /// Number of mistakes at which a run stops. The value of such a point is a lower bound.
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

/// The batch sizes of an experiment.
#[derive(Clone, Copy)]
enum Batches<'a> {
    /// The default of each learner, a formula in n. The chart then shows mistakes against n.
    Default,
    /// Numbers of examples.
    Sizes(&'a [u64]),
    /// Multiples of (pi/2) n ln n examples.
    Normalised(&'a [f64]),
}

impl MistakeBoundSweepSpec {
    fn batches(&self) -> Result<Batches<'_>, ExperimentError> {
        match (&self.batch_sizes, &self.normalised_batch_sizes) {
            (None, None) => Ok(Batches::Default),
            (Some(sizes), None) => Ok(Batches::Sizes(sizes)),
            (None, Some(sizes)) => Ok(Batches::Normalised(sizes)),
            (Some(_), Some(_)) => Err(ExperimentError::parameter(
                "/normalised_batch_sizes",
                "give either this field or batch_sizes; null removes the value of a figure",
            )),
        }
    }
}

/// The experiment with checked parameters.
#[derive(Debug)]
pub struct MistakeBoundSweep {
    runs: u64,
    mistakes_max: u64,
    axis: XAxis,
    /// The points of the grid. The points of a series stand together.
    cells: Vec<SweepCell>,
}

/// The quantity on the horizontal axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum XAxis {
    Features,
    BatchSize,
    NormalisedBatchSize,
}

/// A point of the grid.
#[derive(Debug)]
struct SweepCell {
    series: String,
    x: f64,
    n: usize,
    entry: &'static LearnerEntry,
    parameters: Parameters,
    /// Examples per batch. If the learner chooses the size, this is the largest default of all learners.
    batch_size: u64,
    /// The expected mistakes if they are known exactly. The point then has no runs.
    exact: Option<f64>,
}

impl MistakeBoundSweep {
    /// Checks the parameters.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn new(question: &MistakeBoundSweepSpec) -> Result<Self, ExperimentError> {
        let batches = question.batches()?;
        let learners = find_learners(&question.learners)?;
        let sizes = match batches {
            Batches::Default => 1,
            Batches::Sizes(sizes) => sizes.len(),
            Batches::Normalised(sizes) => sizes.len(),
        };
        check_grid(&[question.n.len(), learners.len(), sizes])?;
        check_list("n", &question.n, 1..=FEATURES_MAX)?;
        check_not_empty("learners", learners.len())?;
        check_distinct("learners", &question.learners)?;
        check_number("runs", question.runs, 1..=RUNS_MAX)?;
        check_number("max_mistakes", question.max_mistakes, 1..=MISTAKES_MAX)?;
        let axis = match batches {
            Batches::Default => XAxis::Features,
            Batches::Sizes(sizes) => {
                check_list("batch_sizes", sizes, 1..=BATCH_SIZE_MAX)?;
                XAxis::BatchSize
            }
            Batches::Normalised(sizes) => {
                check_reals("normalised_batch_sizes", sizes, (0.0, NORMALISED_MAX))?;
                check_list_above_one(&question.n)?;
                XAxis::NormalisedBatchSize
            }
        };
        let mut cells = Vec::new();
        for (at, entry) in learners.into_iter().enumerate() {
            for (place, &n) in question.n.iter().enumerate() {
                add_cells(&mut cells, batches, (at, entry), (place, n as usize))?;
            }
        }
        Ok(Self {
            runs: question.runs,
            mistakes_max: question.max_mistakes,
            axis,
            cells,
        })
    }
}

/// Checks that no n is 1, because the unit of normalised batches is 0 at n = 1.
fn check_list_above_one(n: &[u64]) -> Result<(), ExperimentError> {
    match n.iter().position(|&n| n == 1) {
        None => Ok(()),
        Some(at) => Err(ExperimentError::parameter(
            format!("/n/{at}"),
            "n = 1 has no normalised batch size, because (pi/2) n ln n is 0; give batch_sizes",
        )),
    }
}

/// The unit of normalised batches: (pi/2) n ln n.
fn batch_unit(n: usize) -> f64 {
    0.5 * PI * n as f64 * libm::log(n as f64)
}

/// Adds the points of one learner at one n.
fn add_cells(
    cells: &mut Vec<SweepCell>,
    batches: Batches<'_>,
    (at, entry): (usize, &'static LearnerEntry),
    (place, n): (usize, usize),
) -> Result<(), ExperimentError> {
    let name = entry.name;
    let has_batches = entry.parameters.iter().any(|one| one.name == BATCH_SIZE);
    let series = match batches {
        Batches::Default => name.to_owned(),
        Batches::Sizes(_) | Batches::Normalised(_) => format!("{name}, n = {n}"),
    };
    let sizes: Vec<Option<u64>> = match batches {
        _ if !has_batches => vec![None],
        Batches::Default => vec![None],
        Batches::Sizes(sizes) => sizes.iter().copied().map(Some).collect(),
        Batches::Normalised(sizes) => {
            let size = |&size: &f64| (libm::round(size * batch_unit(n)) as u64).max(1);
            sizes.iter().map(size).map(Some).collect()
        }
    };
    if !has_batches && !entry.confidence_rules.contains(&StopRule::Exact) {
        let detail = format!("{name} has neither batches nor an exact analysis");
        return Err(ExperimentError::parameter(
            format!("/learners/{at}"),
            detail,
        ));
    }
    let exact = if has_batches {
        None
    } else {
        expected_mistakes(n)
    };
    if !has_batches && exact.is_none() {
        let detail = format!("the exact analysis of {name} supports n up to {N_MAX}");
        return Err(ExperimentError::parameter(format!("/n/{place}"), detail));
    }
    for size in sizes {
        let mut object = Map::new();
        if let Some(size) = size {
            object.insert(BATCH_SIZE.to_owned(), Value::from(size));
        }
        let parameters = Parameters::from_json(entry.parameters, &object);
        let parameters = parameters.expect("a batch size in the range that was checked");
        let batch_size = size.unwrap_or(if has_batches {
            (libm::ceil(2.0 * batch_unit(n)) as u64).max(1)
        } else {
            1
        });
        cells.push(SweepCell {
            series: series.clone(),
            x: match batches {
                Batches::Default => n as f64,
                Batches::Sizes(_) => batch_size as f64,
                Batches::Normalised(_) => batch_size as f64 / batch_unit(n),
            },
            n,
            entry,
            parameters,
            batch_size,
            exact,
        });
    }
    Ok(())
}

impl SweepCell {
    /// Estimated seconds of a run, rather too high than too low.
    ///
    /// The formula was fitted to runs for n from 11 to 101 of the variant that makes more mistakes in small
    /// batches.
    fn seconds(&self, mistakes_max: u64) -> f64 {
        let n = self.n as f64;
        let normalised = self.batch_size as f64 / batch_unit(self.n).max(1.0);
        let growth = 0.125 * libm::pow(n, 0.66) * libm::pow(normalised, -1.6);
        let small = libm::exp(growth.min(n)).min(libm::exp2(n));
        let mistakes = (0.5 * n + small).min(mistakes_max as f64);
        let examples = mistakes * self.batch_size as f64;
        let words = libm::ceil(n / 64.0);
        3e-6 + mistakes * (1e-7 + 2.7e-9 * n) + examples * (7e-10 + 5e-10 * words)
    }

    /// The measured or exact point; `None` before the first run.
    fn point(&self, tally: &PointTally, unit: f64) -> Option<Point> {
        match self.exact {
            Some(mistakes) => Some(Point::exact(self.x, mistakes / unit)),
            None => Point::mean(self.x, tally, unit),
        }
    }
}

impl Design for MistakeBoundSweep {
    fn name(&self) -> &'static str {
        NAME
    }

    fn points(&self) -> Vec<PointPlan> {
        let plan = |cell: &SweepCell| PointPlan {
            runs: if cell.exact.is_some() { 0 } else { self.runs },
            seconds_a_run: cell.seconds(self.mistakes_max),
        };
        self.cells.iter().map(plan).collect()
    }

    fn observe(&self, point: usize, seed: Seed, run: &Run) -> Result<Observation, Interrupt> {
        let cell = &self.cells[point];
        let target = Plan::random_target(cell.n, seed);
        let plan = Plan::endless(target, Sampling::UniformPositive);
        let task = Task {
            parameters: cell.parameters.clone(),
            confidence: Some(CONFIDENCE),
            limits: RunLimits {
                max_mistakes: Some(self.mistakes_max),
                ..RunLimits::default()
            },
            ..Task::of(cell.entry, seed)
        };
        let end = train_to_end(&task, Input::Generated(&plan), run)?;
        Ok(Observation {
            value: end.counts.mistakes,
            is_censored: !end.target.is_some_and(|target| target.recovered),
        })
    }

    fn chart(&self, tallies: &[PointTally]) -> Chart {
        let mut series: Vec<Series> = Vec::new();
        for (cell, tally) in self.cells.iter().zip(tallies) {
            let unit = match self.axis {
                XAxis::Features => 1.0,
                XAxis::BatchSize | XAxis::NormalisedBatchSize => cell.n as f64,
            };
            if series.last().is_none_or(|last| last.label != cell.series) {
                series.push(Series::new(cell.series.clone(), []));
            }
            let point = cell.point(tally, unit);
            if let (Some(last), Some(point)) = (series.last_mut(), point) {
                last.points.push(point);
            }
        }
        let (x, y) = self.axes();
        Chart {
            title: "Mistakes until the hypothesis is the target".to_owned(),
            x,
            y,
            series,
            theory: self.theory(),
            marks: self.marks(),
            notes: self.notes(tallies),
        }
    }
}

impl MistakeBoundSweep {
    /// The bounds of Theorem 1 on the learner with an exact analysis. They are drawn only against n.
    fn theory(&self) -> Vec<Curve> {
        let exact = self.cells.iter().filter(|cell| cell.exact.is_some());
        let features = exact.map(|cell| cell.n);
        let ends = (features.clone().min(), features.max());
        let ((Some(least), Some(most)), XAxis::Features) = (ends, self.axis) else {
            return Vec::new();
        };
        let bound = |label, bound: fn((f64, f64)) -> f64| {
            let places = (least..=most).map(|n| (n as f64, bound(theorem_1(n))));
            Curve::new(label, None, places)
        };
        vec![
            bound("Theorem 1, upper: (n/2)^n", |bounds| bounds.1),
            bound("Theorem 1, lower: 1.77 e^(0.139 n)", |bounds| bounds.0),
        ]
    }

    /// The batch sizes from which on Theorems 2 and 3 hold.
    fn marks(&self) -> Vec<AxisMark> {
        if self.axis != XAxis::NormalisedBatchSize {
            return Vec::new();
        }
        let mark = |x, label: &str| AxisMark {
            x,
            label: label.to_owned(),
        };
        vec![
            mark(1.0, "Theorem 2: O(n) mistakes of D' from here"),
            mark(2.0, "Theorem 3: O(1) mistakes of D'' from here"),
        ]
    }

    fn notes(&self, tallies: &[PointTally]) -> Vec<String> {
        let is_exact = |cell: &SweepCell| cell.exact.is_some();
        let mut notes = Vec::new();
        if !self.cells.iter().all(is_exact) {
            let note = "Means of the runs with intervals of 95 % (1.96 standard errors).";
            notes.push(note.to_owned());
        }
        if self.cells.iter().any(is_exact) {
            let note = "Points without runs are exact: expected mistakes from a random start.";
            notes.push(note.to_owned());
        }
        let censored: u64 = tallies.iter().map(|tally| tally.censored).sum();
        if censored > 0 {
            let most = self.mistakes_max;
            notes.push(format!(
                "Arrows upwards: {censored} runs stopped after {most} mistakes and count with this \
                 number, so these means are lower bounds."
            ));
        }
        notes
    }

    fn axes(&self) -> (Axis, Axis) {
        let x = match self.axis {
            XAxis::Features => Axis::new("features an example", "n", Scale::Linear),
            XAxis::BatchSize => Axis::new("batch size", "examples", Scale::Logarithmic),
            XAxis::NormalisedBatchSize => Axis::new(
                "normalised batch size",
                "(pi/2) n ln n examples",
                Scale::Linear,
            ),
        };
        let y = match self.axis {
            XAxis::Features => Axis::new("mistakes", "mistakes", Scale::Logarithmic),
            _ => Axis::new("normalised mistakes", "n mistakes", Scale::Logarithmic),
        };
        (x, y)
    }
}

//! Experiments: grids of seeded runs, whose results are charted beside the curves of theory.
//!
//! An [`Experiment`] is a [`Design`] with checked parameters. It is divided into parts of about equal cost, which any
//! worker may compute in any order. The seed of each run follows from the experiment's seed, the run's point and the
//! run's number (points that are to be compared on the same data share their seeds), and the result of a part consists
//! of integers that are added up. So the outcome depends neither on the division into parts nor on the workers. Points
//! with an exact analysis need no runs.
//!
//! - [`mistake_bound_sweep`], [`false_stop_rate`], [`certificate_coverage`], [`separable_fraction`] and
//!   [`sample_complexity`] are the designs.
//! - [`mistake_curve`] charts the mistakes of a single training.
//! - [`outcome`] holds the chart of the results, which [`crate::figures`] draws as SVG.
//!
//! This module is pure like the learners: it knows no clock, no queue and no request.

pub mod certificate_coverage;
pub mod csv;
mod error;
pub mod false_stop_rate;
pub mod mistake_bound_sweep;
pub mod mistake_curve;
pub mod outcome;
mod parts;
pub mod sample_complexity;
pub mod separable_fraction;
mod tally;

use std::fmt::Debug;
use std::sync::Arc;

use crate::figures::chart::Chart;
use crate::learners::engine::random::Seed;
use crate::learners::engine::run::{Interrupt, Run};

pub use error::{ExperimentError, find_learner};
use outcome::ExperimentOutcome;
use parts::Parts;
pub use parts::{PARTS_MAX, POINTS_MAX, PointPlan};
pub use tally::{Observation, PartTally, PointTally};

/// The largest number of runs per point.
pub const RUNS_MAX: u64 = 100_000;

/// One kind of experiment with checked parameters.
pub trait Design: Debug + Send + Sync {
    /// Name of the experiment in requests.
    fn name(&self) -> &'static str;

    /// The points of the grid. The design chooses their order.
    fn points(&self) -> Vec<PointPlan>;

    /// The point whose seeds the runs at `point` use, by default `point` itself.
    ///
    /// If two points have the same seeds, runs of the same number draw the same data at both.
    fn drawn_as(&self, point: usize) -> usize {
        point
    }

    /// Computes one run at a point. `point` is an index into [`points`](Self::points).
    ///
    /// # Errors
    /// The [`Interrupt`] that stopped the run before its end.
    fn observe(&self, point: usize, seed: Seed, run: &Run) -> Result<Observation, Interrupt>;

    /// Draws the chart of the runs so far. `tallies` holds one tally per point.
    fn chart(&self, tallies: &[PointTally]) -> Chart;
}

/// An experiment with checked parameters and its division into parts.
#[derive(Clone, Debug)]
pub struct Experiment {
    design: Arc<dyn Design>,
    parts: Parts,
}

impl Experiment {
    /// Divides a design into parts.
    pub fn new(design: impl Design + 'static) -> Self {
        let parts = Parts::new(&design.points());
        let design = Arc::new(design);
        Self { design, parts }
    }

    /// Name of the experiment in requests.
    pub fn name(&self) -> &'static str {
        self.design.name()
    }

    /// Number of independent parts of about equal cost, from 1 to [`PARTS_MAX`]. It depends only on the parameters.
    pub fn parts(&self) -> u32 {
        self.parts.count()
    }

    /// Estimated time of all parts together, in seconds of one core.
    pub fn estimated_seconds(&self) -> f64 {
        self.parts.seconds()
    }

    /// The plan of each point of the grid.
    pub fn plans(&self) -> Vec<PointPlan> {
        self.design.points()
    }

    /// Computes one run, given by its point and its number at that point.
    ///
    /// # Errors
    /// The [`Interrupt`] that stopped the run.
    ///
    /// # Panics
    /// If the grid has no such point.
    pub fn observe(
        &self,
        seed: u64,
        point: usize,
        number: u64,
        run: &Run,
    ) -> Result<Observation, Interrupt> {
        let drawn_as = self.design.drawn_as(point) as u64;
        let seed = Seed(seed).child(drawn_as).child(number);
        let observed = self.design.observe(point, seed, run)?;
        // A stopped run may still return a value, but this is not the result of a whole run.
        run.stop.raised().map_or(Ok(observed), Err)
    }

    /// Computes one part. Parts are numbered from 0. The same seed and part always give the same tally.
    ///
    /// # Errors
    /// The [`Interrupt`] that stopped the part. The runs done so far are then discarded.
    ///
    /// # Panics
    /// If there is no such part.
    pub fn compute(&self, seed: u64, part: u32, run: &Run) -> Result<PartTally, Interrupt> {
        let mut tally = PartTally::default();
        for (point, numbers) in self.parts.slices(part) {
            let mut at_point = PointTally::default();
            for number in numbers {
                at_point.add(self.observe(seed, point, number, run)?);
            }
            tally.push(point, at_point);
        }
        Ok(tally)
    }

    /// Combines the parts computed so far into an outcome, which does not depend on the order in which they were
    /// computed. A part that is not computed yet is `None`.
    pub fn gather(&self, parts: &[Option<PartTally>]) -> ExperimentOutcome {
        let mut tallies = vec![PointTally::default(); self.parts.points()];
        for part in parts.iter().flatten() {
            part.add_to(&mut tallies);
        }
        let mut outcome = ExperimentOutcome {
            chart: self.design.chart(&tallies),
            runs: tallies.iter().map(|tally| tally.runs).sum(),
            runs_planned: self.parts.runs(),
        };
        // A request may list its values in any order, but the line of a series goes from left to right.
        for series in &mut outcome.chart.series {
            series
                .points
                .sort_by(|one, other| one.x.total_cmp(&other.x));
        }
        if outcome.is_partial() {
            let (runs, planned) = (outcome.runs, outcome.runs_planned);
            let note = format!("Not finished: {runs} of {planned} runs.");
            outcome.chart.notes.push(note);
        }
        outcome
    }
}

#[cfg(test)]
mod tests;

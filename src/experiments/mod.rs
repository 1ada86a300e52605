//! Experiments: grids of seeded runs, measured with intervals, beside the curves that theory gives.
//!
//! An [`Experiment`] is cut into parts of about equal cost, which anybody may compute in any order:
//! the seed of each run follows from the experiment's seed, the point it is drawn for and its number, and
//! what a part comes to are whole numbers that add up. So a result depends neither on the parts nor
//! on who computed them. Where there is an exact analysis, it stands in place of runs.
//!
//! *Pure, like the learners: no clock, no queue, no request.*

mod csv;
mod error;
pub mod false_stop_rate;
pub mod mistake_bound_sweep;
pub mod mistake_curve;
pub mod outcome;
mod parts;
pub mod plot;
pub mod sample_complexity;
pub mod separable_fraction;
mod tally;

use std::fmt::Debug;
use std::sync::Arc;

use crate::learners::random::Seed;
use crate::learners::run::{Interrupt, Run};

pub use error::ExperimentError;
use outcome::{Chart, Outcome};
pub use parts::PARTS_MAX;
use parts::Parts;
pub use tally::{Observation, PartTally, PointTally};

/// The most points of a grid.
pub const POINTS_MAX: u64 = 1_000;

/// The most runs at a point.
pub const RUNS_MAX: u64 = 100_000;

/// What is run at a point of a grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointPlan {
    /// How many runs; 0 where an exact analysis stands in their place.
    pub runs: u64,
    /// What one is estimated to take, in seconds of one core.
    pub seconds_a_run: f64,
}

/// What one kind of experiment does with its parameters, which were checked when it was made.
pub trait Design: Debug + Send + Sync {
    /// Its name in requests.
    fn name(&self) -> &'static str;

    /// The points of its grid, in an order of its own.
    fn points(&self) -> Vec<PointPlan>;

    /// From which point the seeds of a point's runs follow: its own, unless what is drawn for another
    /// is to be drawn for it too, run by run.
    fn drawn_as(&self, point: usize) -> usize {
        point
    }

    /// One run at a point, by the number of the latter.
    ///
    /// # Errors
    /// Why the run was not brought to its end.
    fn observe(&self, point: usize, seed: Seed, run: &Run) -> Result<Observation, Interrupt>;

    /// What the runs so far show, a tally a point.
    fn chart(&self, tallies: &[PointTally]) -> Chart;
}

/// An experiment whose parameters were checked.
#[derive(Clone, Debug)]
pub struct Experiment {
    design: Arc<dyn Design>,
    parts: Parts,
}

impl Experiment {
    /// Takes up a design that is estimated to take at most `seconds_max` of one core.
    ///
    /// # Errors
    /// [`ExperimentError::TooCostly`]: how long all would take.
    pub fn new(design: impl Design + 'static, seconds_max: f64) -> Result<Self, ExperimentError> {
        let parts = Parts::new(&design.points());
        let seconds = parts.seconds();
        if seconds > seconds_max {
            let limit = seconds_max;
            return Err(ExperimentError::TooCostly { seconds, limit });
        }
        let design = Arc::new(design);
        Ok(Self { design, parts })
    }

    /// Its name in requests.
    pub fn name(&self) -> &'static str {
        self.design.name()
    }

    /// How many independent parts of about equal cost it has, from 1 to [`PARTS_MAX`]: the
    /// parameters alone decide.
    pub fn parts(&self) -> u32 {
        self.parts.count()
    }

    /// Seconds of one core that all parts together are estimated to take.
    pub fn estimated_seconds(&self) -> f64 {
        self.parts.seconds()
    }

    /// What is run at each point of its grid.
    pub fn plans(&self) -> Vec<PointPlan> {
        self.design.points()
    }

    /// One run, by its point and its number there.
    ///
    /// # Errors
    /// Why it was not brought to its end.
    ///
    /// # Panics
    /// When there is no such point.
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
        // A run that was told to stop may have ended anyhow: what it came to says nothing.
        run.stop.raised().map_or(Ok(observed), Err)
    }

    /// Computes one part, from 0. The same seed and part give the same tally.
    ///
    /// # Errors
    /// Why the part was not brought to its end; nothing comes of it then.
    ///
    /// # Panics
    /// When there is no such part.
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

    /// What the parts computed so far come to, in whatever order they came; all of them when none is
    /// missing.
    pub fn gather(&self, parts: &[Option<PartTally>]) -> Outcome {
        let mut tallies = vec![PointTally::default(); self.parts.points()];
        for part in parts.iter().flatten() {
            part.add_to(&mut tallies);
        }
        let mut outcome = Outcome {
            chart: self.design.chart(&tallies),
            runs: tallies.iter().map(|tally| tally.runs).sum(),
            runs_planned: self.parts.runs(),
        };
        // Lists come in any order, but a line goes from left to right.
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

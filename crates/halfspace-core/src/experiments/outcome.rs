//! The outcome of an experiment: a chart of the runs so far, and how results of runs become points of it.

use crate::figures::chart::{Chart, Point};

use super::tally::PointTally;

/// The 97.5 % quantile of the normal distribution. All intervals are intervals of 95 %.
pub const QUANTILE: f64 = 1.959_963_984_540_054;

/// The outcome of the runs computed so far.
#[derive(Clone, Debug, PartialEq)]
pub struct ExperimentOutcome {
    /// The chart of these runs.
    pub chart: Chart,
    /// Number of runs in the chart.
    pub runs: u64,
    /// Number of runs in the chart when the experiment is finished.
    pub runs_planned: u64,
}

impl Point {
    /// Makes a point with an exact value.
    pub fn exact(x: f64, y: f64) -> Self {
        Self {
            x,
            y,
            low: Some(y),
            high: Some(y),
            runs: 0,
            censored: 0,
        }
    }

    /// Makes a point from the mean of some runs, divided by `unit`, or none without runs.
    ///
    /// A run that a limit ended counts with the value that it had reached, so the mean is then a lower bound.
    pub fn mean(x: f64, tally: &PointTally, unit: f64) -> Option<Self> {
        if tally.runs == 0 {
            return None;
        }
        let half = tally.standard_error().map(|error| QUANTILE * error);
        let y = tally.mean();
        let upper = half.filter(|_| tally.censored == 0);
        Some(Self {
            x,
            y: y / unit,
            low: half.map(|half| (y - half).max(0.0) / unit),
            high: upper.map(|half| (y + half) / unit),
            runs: tally.runs,
            censored: tally.censored,
        })
    }

    /// Makes a point from the share of runs with the value 1, with Wilson's interval, or none without runs.
    ///
    /// A run that a limit ended could have had either result, and the interval allows for both.
    pub fn share(x: f64, tally: &PointTally) -> Option<Self> {
        if tally.runs == 0 {
            return None;
        }
        Some(Self {
            x,
            y: tally.mean(),
            low: Some(tally.wilson(tally.sum, QUANTILE).0),
            high: Some(tally.wilson(tally.sum + tally.censored, QUANTILE).1),
            runs: tally.runs,
            censored: tally.censored,
        })
    }
}

impl ExperimentOutcome {
    /// Whether some planned runs are missing.
    pub fn is_partial(&self) -> bool {
        self.runs < self.runs_planned
    }
}

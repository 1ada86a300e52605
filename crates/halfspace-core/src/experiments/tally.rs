//! Sums of the results of runs, in integers, so that they can be added in any order.

use serde::{Deserialize, Serialize};

/// The result of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The measured count. For a yes-or-no result: 1 if the event happened, otherwise 0.
    pub value: u64,
    /// Whether a limit ended the run early. The true value is then at least `value`.
    pub is_censored: bool,
}

/// The sum of the results of some runs at one point.
///
/// A value is at most 10^7 and a point has at most 10^5 runs, so the sum of the squares fits in a `u64`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PointTally {
    /// Number of runs.
    pub runs: u64,
    /// Number of runs that a limit ended early.
    pub censored: u64,
    /// Sum of the values.
    pub sum: u64,
    /// Sum of the squares of the values.
    pub squares: u64,
}

/// The results of the runs of one part, by point.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartTally {
    points: Vec<(u32, PointTally)>,
}

impl PointTally {
    /// Adds one run.
    pub fn add(&mut self, observed: Observation) {
        self.runs += 1;
        self.censored += u64::from(observed.is_censored);
        self.sum += observed.value;
        self.squares += observed.value * observed.value;
    }

    fn merge(&mut self, other: &Self) {
        self.runs += other.runs;
        self.censored += other.censored;
        self.sum += other.sum;
        self.squares += other.squares;
    }

    /// Mean of the values; 0 if there are no runs.
    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.runs.max(1) as f64
    }

    /// Standard error of the mean; `None` for fewer than two runs.
    pub fn standard_error(&self) -> Option<f64> {
        if self.runs < 2 {
            return None;
        }
        // n * squares - sum^2 is exact in integers and never negative.
        let (n, sum) = (u128::from(self.runs), u128::from(self.sum));
        let spread = n * u128::from(self.squares) - sum * sum;
        let (n, spread) = (self.runs as f64, spread as f64);
        Some(libm::sqrt(spread / (n - 1.0)) / n)
    }

    /// Wilson's interval for the share `count / runs`. `quantile` is the normal quantile of the confidence level.
    /// There must be at least one run.
    pub fn wilson(&self, count: u64, quantile: f64) -> (f64, f64) {
        let n = self.runs as f64;
        let (share, z2) = (count as f64 / n, quantile * quantile);
        let middle = (share + z2 / (2.0 * n)) / (1.0 + z2 / n);
        let spread = share * (1.0 - share) / n + z2 / (4.0 * n * n);
        let half = quantile * libm::sqrt(spread) / (1.0 + z2 / n);
        // Rounding must not exclude the share itself from the interval. A share of 0 or 1 is an end of it.
        (
            (middle - half).max(0.0).min(share),
            (middle + half).min(1.0).max(share),
        )
    }
}

impl PartTally {
    /// Adds the results of the runs at a point.
    pub fn push(&mut self, point: usize, tally: PointTally) {
        self.points.push((point as u32, tally));
    }

    /// Adds the results of this part to the tallies of the points.
    pub fn add_to(&self, tallies: &mut [PointTally]) {
        for (point, tally) in &self.points {
            if let Some(sum) = tallies.get_mut(*point as usize) {
                sum.merge(tally);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(values: &[u64]) -> PointTally {
        let mut tally = PointTally::default();
        for &value in values {
            let is_censored = false;
            tally.add(Observation { value, is_censored });
        }
        tally
    }

    #[test]
    fn mean_and_standard_error_are_those_of_the_textbook() {
        let of = tally(&[2, 4, 4, 4, 5, 5, 7, 9]);
        assert_eq!(of.mean(), 5.0);
        // The sum of the squared deviations from the mean is 32.
        let error = of.standard_error().expect("eight runs");
        assert!((error - (32.0_f64 / 7.0 / 8.0).sqrt()).abs() < 1e-15);
        assert_eq!(tally(&[3]).standard_error(), None);
        assert_eq!(tally(&[3, 3, 3]).standard_error(), Some(0.0));
    }

    #[test]
    fn wilsons_interval_is_that_of_the_literature() {
        // Newcombe (1998): 81 of 263 gives 0.2553 to 0.3662; 0 of 20 gives 0 to 0.1611.
        let of = |runs| PointTally {
            runs,
            ..PointTally::default()
        };
        let (low, high) = of(263).wilson(81, 1.959_963_985);
        assert!((low - 0.2553).abs() < 5e-5 && (high - 0.3662).abs() < 5e-5);
        let (low, high) = of(20).wilson(0, 1.959_963_985);
        assert!(low == 0.0 && (high - 0.1611).abs() < 5e-5);
    }
}

//! How a grid of runs is cut into parts of about equal cost.
//!
//! All runs lie in one line, point after point, each as long as it is estimated to take; the line is
//! cut into pieces of one length, each at the next beginning of a run. Whole nanoseconds, so that every
//! machine cuts alike.

use std::ops::Range;

use super::PointPlan;

/// The most parts of an experiment.
pub const PARTS_MAX: u32 = 200;

/// What a part should take, in nanoseconds: long beside what it takes to hand one out.
const PART_NANOSECONDS: u128 = 100_000_000;

/// The longest that a run is taken to be, some 40 billion years: so that all add up.
const RUN_NANOSECONDS_MAX: u128 = 1 << 90;

/// A grid and its cuts.
#[derive(Clone, Debug)]
pub struct Parts {
    points: Vec<Stretch>,
    count: u32,
    nanoseconds: u128,
}

/// The runs at a point.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    runs: u64,
    nanoseconds_a_run: u128,
    /// Where they begin in the line.
    start: u128,
}

impl Parts {
    /// Cuts a grid.
    pub fn new(plans: &[PointPlan]) -> Self {
        let mut start = 0;
        let mut points = Vec::with_capacity(plans.len());
        for plan in plans {
            let nanoseconds_a_run = (plan.seconds_a_run * 1e9) as u128;
            let nanoseconds_a_run = nanoseconds_a_run.clamp(1, RUN_NANOSECONDS_MAX);
            points.push(Stretch {
                runs: plan.runs,
                nanoseconds_a_run,
                start,
            });
            start += nanoseconds_a_run * u128::from(plan.runs);
        }
        let runs: u64 = plans.iter().map(|plan| plan.runs).sum();
        let most = runs.clamp(1, PARTS_MAX.into());
        let count = (start / PART_NANOSECONDS).clamp(1, most.into()) as u32;
        Self {
            points,
            count,
            nanoseconds: start,
        }
    }

    /// How many parts.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// How many points.
    pub fn points(&self) -> usize {
        self.points.len()
    }

    /// How many runs in all.
    pub fn runs(&self) -> u64 {
        self.points.iter().map(|point| point.runs).sum()
    }

    /// What all runs are estimated to take, in seconds.
    pub fn seconds(&self) -> f64 {
        self.nanoseconds as f64 / 1e9
    }

    /// The runs of a part: points, and at each the numbers of its runs.
    ///
    /// # Panics
    /// When there is no such part.
    pub fn slices(&self, part: u32) -> impl Iterator<Item = (usize, Range<u64>)> {
        assert!(part < self.count, "part {part} of {}", self.count);
        let cut = |part: u32| self.nanoseconds * u128::from(part) / u128::from(self.count);
        let (from, to) = (cut(part), cut(part + 1));
        let slices = self.points.iter().enumerate().map(move |(at, point)| {
            // A run belongs to the part in which it begins.
            let first = |place: u128| {
                let within = place.saturating_sub(point.start);
                let begun = within.div_ceil(point.nanoseconds_a_run);
                begun.min(u128::from(point.runs)) as u64
            };
            (at, first(from)..first(to))
        });
        slices.filter(|(_, runs)| !runs.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plans(seconds: impl Strategy<Value = f64>) -> impl Strategy<Value = Vec<PointPlan>> {
        let plan = (0..2000_u64, seconds).prop_map(|(runs, seconds_a_run)| PointPlan {
            runs,
            seconds_a_run,
        });
        prop::collection::vec(plan, 1..30)
    }

    proptest! {
        #[test]
        fn every_run_is_in_one_part(
            plans in plans(prop_oneof![9 => 1e-9..5.0, 1 => Just(1e30), 1 => Just(f64::INFINITY)]),
        ) {
            let parts = Parts::new(&plans);
            prop_assert!((1..=PARTS_MAX).contains(&parts.count()));
            let mut next = vec![0; plans.len()];
            for part in 0..parts.count() {
                for (point, runs) in parts.slices(part) {
                    prop_assert_eq!(runs.start, next[point]);
                    next[point] = runs.end;
                }
            }
            let planned: Vec<u64> = plans.iter().map(|plan| plan.runs).collect();
            prop_assert_eq!(next, planned);
        }

        #[test]
        fn parts_cost_about_the_same(plans in plans(1e-9..5.0)) {
            let parts = Parts::new(&plans);
            let share = parts.seconds() / f64::from(parts.count());
            let longest = plans.iter().map(|plan| plan.seconds_a_run).fold(0.0, f64::max);
            for part in 0..parts.count() {
                let slices = parts.slices(part);
                let seconds: f64 = slices
                    .map(|(at, runs)| (runs.end - runs.start) as f64 * plans[at].seconds_a_run)
                    .sum();
                prop_assert!((seconds - share).abs() <= longest * 1.001 + 1e-3);
            }
        }
    }
}

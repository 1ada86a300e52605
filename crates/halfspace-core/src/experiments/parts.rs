//! Division of a grid of runs into parts of about equal cost.
//!
//! Imagine the runs of a point at equal distances on a line, and the line cut into as many equal pieces as there are
//! parts. Each part takes one piece of the line of each point. So the parts cost about the same even if the estimated
//! costs are wrong, a partial result covers all points, and the remaining time can be estimated from the elapsed time.
//!
//! A point with fewer runs than parts has runs in some of the parts only. To spread such points over the parts, the
//! first run of a point is shifted by the estimated cost of all earlier points divided by the total cost. All
//! arithmetic is in integers, so every machine makes the same division.

use std::ops::Range;

/// The largest number of points of a grid.
pub const POINTS_MAX: u64 = 1_000;

/// The runs planned for one point of a grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointPlan {
    /// Number of runs; 0 for a point with an exact analysis.
    pub runs: u64,
    /// Estimated time of one run, in seconds of one core.
    pub seconds_a_run: f64,
}

/// The largest number of parts of an experiment.
pub const PARTS_MAX: u32 = 200;

/// Intended cost of a part, in nanoseconds. It is far above the time that scheduling a part takes.
const PART_NANOSECONDS: u128 = 100_000_000;

/// Upper limit of the estimated time of a run, about 600 years in nanoseconds, so that sums do not overflow.
const RUN_NANOSECONDS_MAX: u128 = 1 << 64;

/// A grid and its division into parts.
#[derive(Clone, Debug)]
pub struct Parts {
    points: Vec<Stretch>,
    count: u32,
    nanoseconds: u128,
}

/// The runs of one point.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    runs: u64,
    /// Position of the first run, in units of 2^-32 of the distance between two runs.
    phase: u64,
}

/// The distance between two runs, in the unit of [`Stretch::phase`].
const PHASES: u128 = 1 << 32;

impl Parts {
    /// Divides a grid. The number of parts follows from the total cost, but there are never more than [`PARTS_MAX`]
    /// or more than runs.
    pub fn new(plans: &[PointPlan]) -> Self {
        let cost = |plan: &PointPlan| {
            let nanoseconds_a_run = (plan.seconds_a_run * 1e9) as u128;
            nanoseconds_a_run.clamp(1, RUN_NANOSECONDS_MAX) * u128::from(plan.runs)
        };
        let nanoseconds: u128 = plans.iter().map(cost).sum();
        let mut start = 0;
        let stretch = |plan: &PointPlan| {
            let phase = (start * PHASES / nanoseconds.max(1)) as u64;
            start += cost(plan);
            let runs = plan.runs;
            Stretch { runs, phase }
        };
        let points = plans.iter().map(stretch).collect();
        let runs: u64 = plans.iter().map(|plan| plan.runs).sum();
        let most = runs.clamp(1, PARTS_MAX.into());
        let count = (nanoseconds / PART_NANOSECONDS).clamp(1, most.into()) as u32;
        Self {
            points,
            count,
            nanoseconds,
        }
    }

    /// Number of parts.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Number of points.
    pub fn points(&self) -> usize {
        self.points.len()
    }

    /// Number of runs at all points together.
    pub fn runs(&self) -> u64 {
        self.points.iter().map(|point| point.runs).sum()
    }

    /// Estimated time of all runs, in seconds of one core.
    pub fn seconds(&self) -> f64 {
        self.nanoseconds as f64 / 1e9
    }

    /// The runs of a part: the index of a point, and a range of numbers of its runs. Points without a run in this
    /// part are omitted.
    ///
    /// # Panics
    /// If there is no such part.
    pub fn slices(&self, part: u32) -> impl Iterator<Item = (usize, Range<u64>)> {
        assert!(part < self.count, "part {part} of {}", self.count);
        let slices = self.points.iter().enumerate().map(move |(at, point)| {
            // Number of the first run that lies at or behind the beginning of a part.
            let first = |part: u32| {
                let parts = u128::from(self.count);
                let place = u128::from(part) * u128::from(point.runs) * PHASES;
                let behind = place.saturating_sub(u128::from(point.phase) * parts);
                behind.div_ceil(parts * PHASES) as u64
            };
            (at, first(part)..first(part + 1))
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
        fn parts_hold_every_run_exactly_once(
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
            // At each point a part has at most one run more or less than its share.
            let odd: f64 = plans.iter().map(|plan| plan.seconds_a_run).sum();
            for part in 0..parts.count() {
                let slices = parts.slices(part);
                let seconds: f64 = slices
                    .map(|(at, runs)| (runs.end - runs.start) as f64 * plans[at].seconds_a_run)
                    .sum();
                prop_assert!((seconds - share).abs() <= odd * 1.001 + 1e-3);
            }
        }

        #[test]
        fn every_part_has_its_share_of_every_point(plans in plans(1e-9..5.0)) {
            let parts = Parts::new(&plans);
            for part in 0..parts.count() {
                let mut taken = vec![0; plans.len()];
                parts.slices(part).for_each(|(at, runs)| taken[at] = runs.end - runs.start);
                for (taken, plan) in taken.iter().zip(&plans) {
                    let share = plan.runs / u64::from(parts.count());
                    prop_assert!((share..=share + 1).contains(taken));
                }
            }
        }
    }

    #[test]
    fn points_of_one_run_are_dealt_by_their_cost() {
        let plan = |seconds_a_run| PointPlan {
            runs: 1,
            seconds_a_run,
        };
        let parts = Parts::new(&[1.0, 1.0, 2.0, 4.0, 8.0].map(plan));
        let found: Vec<Vec<usize>> = (0..parts.count())
            .map(|part| parts.slices(part).map(|(at, _)| at).collect())
            .collect();
        assert_eq!(found, [vec![0, 1, 2], vec![3], vec![4], vec![], vec![]]);
    }
}

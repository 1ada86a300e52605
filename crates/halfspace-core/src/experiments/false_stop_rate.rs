//! `false-stop-rate`: how often a stopping rule ends a run at a wrong hypothesis, against the allowed error delta.
//!
//! All runs are runs of Directed Drift (algorithm D). The exact probability from `theory::directed_drift` is drawn
//! beside the measured shares. Where the points of a rule lie above the diagonal, more than a share delta of the runs
//! end at a wrong hypothesis. Only `per-hypothesis` allows this, because it promises nothing for a whole run.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::learners::drift::directed_drift;
use crate::learners::drift::drift_chain::N_MAX;
use crate::learners::engine::input::Input;
use crate::learners::engine::random::Seed;
use crate::learners::engine::run::{Interrupt, Run};
use crate::learners::engine::stopping::{Sampling, StopRule};
use crate::learners::engine::task::Task;
use crate::learners::engine::train::train_to_end;
use crate::learners::sample::generate::Plan;
use crate::theory::directed_drift::{expected_examples_log2, false_stop_probability};

use super::error::ExperimentError;
use super::error::{
    check_between, check_distinct, check_grid, check_list, check_not_empty, check_number, shares,
};
use super::parts::PointPlan;
use super::tally::{Observation, PointTally};
use super::{Design, RUNS_MAX};
use crate::figures::chart::{Axis, Chart, Curve, Point, Scale, Series};

/// The name in requests.
pub const NAME: &str = "false-stop-rate";

/// The share of runs of Directed Drift that a stopping rule ends at a wrong hypothesis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FalseStopRateSpec {
    /// Numbers of features.
    #[schema(min_items = 1)]
    pub n: Vec<u64>,
    /// The stopping rules to compare.
    #[schema(min_items = 1)]
    pub rules: Vec<StopRule>,
    /// The allowed errors.
    #[serde(deserialize_with = "shares")]
    #[schema(min_items = 1)]
    pub deltas: Vec<f64>,
    /// Number of runs per point.
    #[schema(minimum = 1, maximum = 100_000)]
    pub runs: u64,
}

impl Default for FalseStopRateSpec {
    fn default() -> Self {
        Self {
            n: vec![5, 10, 15, 20],
            rules: vec![StopRule::PerHypothesis, StopRule::Anytime],
            deltas: vec![0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5],
            runs: 2_000,
        }
    }
}

/// The experiment with checked parameters.
#[derive(Debug)]
pub struct FalseStopRate {
    question: FalseStopRateSpec,
    /// The exact probability at each point. The probabilities are computed at the first use.
    exact: OnceLock<Vec<f64>>,
}

/// A point of the grid.
#[derive(Clone, Copy, Debug)]
struct FalseStopCell {
    rule: StopRule,
    n: u64,
    delta: f64,
}

impl FalseStopRate {
    /// Checks the parameters.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn new(question: FalseStopRateSpec) -> Result<Self, ExperimentError> {
        let (n, rules, deltas) = (&question.n, &question.rules, &question.deltas);
        check_grid(&[n.len(), rules.len(), deltas.len()])?;
        check_list("n", n, 1..=N_MAX as u64)?;
        check_not_empty("rules", rules.len())?;
        check_distinct("rules", rules)?;
        if let Some(at) = rules.iter().position(|&rule| rule == StopRule::Pac) {
            let detail = "the rule pac promises an error and not the target; remove the rule";
            return Err(ExperimentError::parameter(format!("/rules/{at}"), detail));
        }
        // A smaller delta would vanish in the rounding of the confidence 1 - delta.
        check_between("deltas", deltas, (f64::EPSILON, 1.0))?;
        check_number("runs", question.runs, 1..=RUNS_MAX)?;
        Ok(Self {
            question,
            exact: OnceLock::new(),
        })
    }

    /// The rule, the number of features and the delta at a point.
    ///
    /// Each pair of a rule and a number of features makes one series, whose points differ in delta.
    fn cell(&self, point: usize) -> FalseStopCell {
        let FalseStopRateSpec {
            n, deltas, rules, ..
        } = &self.question;
        let series = point / deltas.len();
        FalseStopCell {
            rule: rules[series / n.len()],
            n: n[series % n.len()],
            delta: deltas[point % deltas.len()],
        }
    }

    fn size(&self) -> usize {
        let FalseStopRateSpec {
            n, deltas, rules, ..
        } = &self.question;
        n.len() * deltas.len() * rules.len()
    }

    fn exact(&self) -> &[f64] {
        self.exact.get_or_init(|| {
            let probability = |point| {
                let FalseStopCell { rule, n, delta } = self.cell(point);
                false_stop_probability(n, delta, rule)
                    .expect("the parameters are in the checked range")
            };
            (0..self.size()).map(probability).collect()
        })
    }
}

impl Design for FalseStopRate {
    fn name(&self) -> &'static str {
        NAME
    }

    fn points(&self) -> Vec<PointPlan> {
        let plan = |point| {
            let n = self.cell(point).n;
            // A sound rule lets a run reach the target. The paper's rule may end a run earlier.
            let examples = expected_examples_log2(n as usize).map_or(f64::INFINITY, libm::exp2);
            PointPlan {
                runs: self.question.runs,
                seconds_a_run: 4e-6 + 8e-9 * examples,
            }
        };
        (0..self.size()).map(plan).collect()
    }

    fn observe(&self, point: usize, seed: Seed, run: &Run) -> Result<Observation, Interrupt> {
        let FalseStopCell { rule, n, delta } = self.cell(point);
        let target = Plan::random_target(n as usize, seed);
        let plan = Plan::endless(target, Sampling::UniformPositive);
        let task = Task {
            confidence: Some(1.0 - delta),
            rule: Some(rule),
            ..Task::of(&directed_drift::ENTRY, seed)
        };
        let end = train_to_end(&task, Input::Generated(&plan), run)?;
        let is_right = end.target.is_some_and(|target| target.recovered);
        Ok(Observation {
            value: u64::from(!is_right),
            is_censored: false,
        })
    }

    fn chart(&self, tallies: &[PointTally]) -> Chart {
        let deltas = &self.question.deltas;
        let exact = self.exact();
        let (mut series, mut theory) = (Vec::new(), Vec::new());
        for (at, tallies) in tallies.chunks(deltas.len()).enumerate() {
            let first = self.cell(at * deltas.len());
            let label = format!("{}, n = {}", first.rule.name(), first.n);
            let points = deltas.iter().zip(tallies);
            let points = points.filter_map(|(delta, tally)| Point::share(*delta, tally));
            series.push(Series::new(label.clone(), points));
            let places = deltas.iter().zip(&exact[at * deltas.len()..]);
            let places = places.map(|(delta, exact)| (*delta, *exact));
            theory.push(Curve::new(format!("exact: {label}"), Some(at), places));
        }
        let ends = deltas
            .iter()
            .fold((1.0_f64, 0.0_f64), |(low, high), &delta| {
                (low.min(delta), high.max(delta))
            });
        let diagonal = [(ends.0, ends.0), (ends.1, ends.1)];
        theory.push(Curve::new("allowed: the diagonal", None, diagonal));
        Chart {
            title: "Directed Drift (D): how often a rule stops at a wrong hypothesis".to_owned(),
            x: Axis::new("error allowed, delta", "probability", Scale::Logarithmic),
            y: Axis::new(
                "runs that end at a wrong hypothesis",
                "share",
                Scale::Logarithmic,
            ),
            series,
            theory,
            marks: Vec::new(),
            notes: vec![
                "Shares with Wilson's intervals of 95 %; a share of 0 is drawn on the lower edge."
                    .to_owned(),
            ],
        }
    }
}

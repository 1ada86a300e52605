//! `sample-complexity`: the share of runs in which a learner finds the hidden binary weights exactly, against
//! examples per dimension.
//!
//! A learner may answer with binary weights, or with real weights, whose signs are then compared. Learners that accept
//! half-space examples get uniform positive ones, the others uniform labelled ones. For odd n both kinds carry the same
//! information. The chart marks two ratios: from the first on, uniform examples determine the weights, and from the
//! second on, message passing finds them (both for large n).

use crate::learners::engine::check;
use crate::learners::engine::entry::{DefaultStop, LearnerEntry};
use crate::learners::engine::input::{Input, TaskError};
use crate::learners::engine::parameters::Parameters;
use crate::learners::engine::random::Seed;
use crate::learners::engine::run::{Interrupt, Run, RunLimits};
use crate::learners::engine::stopping::Sampling;
use crate::learners::engine::task::Task;
use crate::learners::engine::train::{train, train_to_end};
use crate::learners::hypothesis::Hypothesis;
use crate::learners::message_passing::planted::{DETERMINED, FOUND};
use crate::learners::sample::generate::Plan;

use super::error::ExperimentError;
use super::error::{
    check_distinct, check_grid, check_list, check_not_empty, check_number, check_reals,
};
use super::parts::PointPlan;
use super::tally::{Observation, PointTally};
use super::{Design, RUNS_MAX};
use crate::figures::chart::{Axis, AxisMark, Chart, Point, Scale, Series};

/// The name in requests.
pub const NAME: &str = "sample-complexity";

/// The largest number of features of an example.
const FEATURES_MAX: u64 = 10_001;

/// The largest number of examples per dimension.
const RATIO_MAX: f64 = 1_000.0;

/// The largest number of passes.
const PASSES_MAX: u64 = 100_000;

/// The largest memory of a run, in bytes.
const STATE_BYTES_MAX: u64 = 1 << 30;

/// A learner and its parameters.
#[derive(Clone, Debug)]
pub struct ConfiguredLearner {
    /// The learner's entry in the catalogue.
    pub entry: &'static LearnerEntry,
    /// The learner's parameters.
    pub parameters: Parameters,
}

impl PartialEq for ConfiguredLearner {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.entry, other.entry) && self.parameters == other.parameters
    }
}

/// The parameters of the experiment.
#[derive(Clone, Debug)]
pub struct SampleComplexityParams {
    /// Numbers of features.
    pub n: Vec<u64>,
    /// The learners to compare.
    pub learners: Vec<ConfiguredLearner>,
    /// Examples per dimension. The number of examples is rounded.
    pub ratios: Vec<f64>,
    /// Number of runs per point.
    pub runs: u64,
    /// Passes after which a run stops. A learner that stops by confidence makes one pass only.
    pub max_passes: u64,
}

/// The experiment with checked parameters.
#[derive(Debug)]
pub struct SampleComplexity {
    question: SampleComplexityParams,
}

impl SampleComplexity {
    /// Checks the parameters.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn new(question: SampleComplexityParams) -> Result<Self, ExperimentError> {
        let SampleComplexityParams {
            n,
            learners,
            ratios,
            ..
        } = &question;
        check_grid(&[n.len(), learners.len(), ratios.len()])?;
        check_list("n", n, 1..=FEATURES_MAX)?;
        check_not_empty("learners", learners.len())?;
        check_distinct("learners", learners)?;
        check_reals("examples_per_dimension", ratios, (0.0, RATIO_MAX))?;
        check_number("runs", question.runs, 1..=RUNS_MAX)?;
        check_number("max_passes", question.max_passes, 1..=PASSES_MAX)?;
        let design = Self { question };
        for (at, learner) in design.question.learners.iter().enumerate() {
            design.check_learner(at, learner)?;
        }
        Ok(design)
    }

    /// Checks that a learner can run at each of its points and answers with weights that have signs.
    fn check_learner(&self, at: usize, learner: &ConfiguredLearner) -> Result<(), ExperimentError> {
        let refused = |below: &str, detail: String| {
            Err(ExperimentError::parameter(
                format!("/learners/{at}{below}"),
                detail,
            ))
        };
        let name = learner.entry.name;
        for place in 0..self.places() {
            let point = at * self.places() + place;
            let (task, plan) = self.run(point, Seed(0));
            let input = Input::Generated(&plan);
            match check::check(&task, input, STATE_BYTES_MAX) {
                Ok(()) => {}
                Err(TaskError::Parameter(error)) => {
                    let below = format!("/params/{}", error.name.replace('.', "/"));
                    return refused(&below, error.detail);
                }
                Err(error) => return refused("", error.to_string()),
            }
            if place == 0 && !has_signs(&task, &plan) {
                return refused(
                    "/name",
                    format!("the learner {name} does not learn binary weights"),
                );
            }
        }
        Ok(())
    }

    /// Number of points per learner.
    fn places(&self) -> usize {
        self.question.n.len() * self.question.ratios.len()
    }

    /// The learner, the number of features and the number of examples at a point.
    ///
    /// Each pair of a learner and a number of features makes one series, whose points differ in the number of
    /// examples.
    fn cell(&self, point: usize) -> (&ConfiguredLearner, usize, u64) {
        let SampleComplexityParams {
            n,
            learners,
            ratios,
            ..
        } = &self.question;
        let series = point / ratios.len();
        let n_here = n[series % n.len()];
        let examples = libm::round(ratios[point % ratios.len()] * n_here as f64) as u64;
        (
            &learners[series / n.len()],
            n_here as usize,
            examples.max(1),
        )
    }

    /// Label of the learner at an index. If another learner has the same name, the label includes the
    /// position in the list.
    fn label(&self, at: usize) -> String {
        let name = self.question.learners[at].entry.name;
        if self.shares_name(at) {
            format!("{name} ({})", at + 1)
        } else {
            name.to_owned()
        }
    }

    fn shares_name(&self, at: usize) -> bool {
        let learners = &self.question.learners;
        let name = learners[at].entry.name;
        let named_so = learners.iter().filter(|other| other.entry.name == name);
        named_so.count() > 1
    }

    /// The task and the data of one run at a point.
    fn run(&self, point: usize, seed: Seed) -> (Task, Plan) {
        let (learner, n, examples) = self.cell(point);
        let entry = learner.entry;
        let sampling = match entry.data.half_space {
            true => Sampling::UniformPositive,
            false => Sampling::Uniform,
        };
        let plan = Plan {
            count: Some(examples),
            ..Plan::endless(Plan::random_target(n, seed), sampling)
        };
        let passes = Some(self.question.max_passes);
        let task = Task {
            parameters: learner.parameters.clone(),
            limits: RunLimits {
                max_passes: passes.filter(|_| entry.default_stop != DefaultStop::Confidence),
                ..RunLimits::default()
            },
            ..Task::of(entry, seed)
        };
        (task, plan)
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = vec![
            "Shares with Wilson's intervals of 95 %.".to_owned(),
            "The learners learn from the same examples, run by run.".to_owned(),
        ];
        let count = self.question.learners.len();
        if (0..count).any(|at| self.shares_name(at)) {
            let note = "The number after a learner's name is its position in the request, from 1.";
            notes.push(note.to_owned());
        }
        notes
    }
}

/// Whether the hypothesis of a task can be compared with binary weights. This is cheap, because the task is stopped
/// at once.
fn has_signs(task: &Task, plan: &Plan) -> bool {
    let stopped = Run::default();
    stopped.stop.raise(Interrupt::Cancelled);
    let outcome = train(task, Input::Generated(plan), &stopped);
    outcome.is_ok_and(|outcome| {
        outcome
            .predictor
            .one()
            .and_then(Hypothesis::signs)
            .is_some()
    })
}

impl Design for SampleComplexity {
    fn name(&self) -> &'static str {
        NAME
    }

    fn points(&self) -> Vec<PointPlan> {
        let SampleComplexityParams {
            runs,
            max_passes,
            learners,
            ..
        } = &self.question;
        let plan = |point| {
            let (learner, n, examples) = self.cell(point);
            let ratio = examples as f64 / n as f64;
            let most = *max_passes as f64;
            // Above the ratio [`FOUND`] some learners need about ten passes, and others never finish.
            let seconds_an_example = match learner.entry.default_stop {
                DefaultStop::Confidence => 5e-9,
                _ if ratio < FOUND => most * (2e-8 + 8e-11 * n as f64),
                _ => most.min(60.0) * (2e-8 + 8e-11 * n as f64),
            };
            PointPlan {
                runs: *runs,
                seconds_a_run: 1e-5 + examples as f64 * seconds_an_example,
            }
        };
        (0..learners.len() * self.places()).map(plan).collect()
    }

    /// All learners get the same seeds at the same numbers of features and examples.
    ///
    /// So all learners of half-space data learn from the same examples, and so do all learners of labelled data. For
    /// odd n the two kinds of data are equivalent. If one learner starts like another and continues where the other
    /// stops without success, it is therefore never measured below the other.
    fn drawn_as(&self, point: usize) -> usize {
        point % self.places()
    }

    fn observe(&self, point: usize, seed: Seed, run: &Run) -> Result<Observation, Interrupt> {
        let (task, plan) = self.run(point, seed);
        let end = train_to_end(&task, Input::Generated(&plan), run)?;
        let is_recovered = end.target.is_some_and(|target| target.recovered);
        Ok(Observation {
            value: u64::from(is_recovered),
            is_censored: false,
        })
    }

    fn chart(&self, tallies: &[PointTally]) -> Chart {
        let ratios = &self.question.ratios;
        let series = tallies
            .chunks(ratios.len())
            .enumerate()
            .map(|(at, tallies)| {
                let (_, n, _) = self.cell(at * ratios.len());
                let label = self.label(at / self.question.n.len());
                let points = tallies.iter().enumerate().filter_map(|(place, tally)| {
                    let (_, n, examples) = self.cell(at * ratios.len() + place);
                    Point::share(examples as f64 / n as f64, tally)
                });
                Series::new(format!("{label}, n = {n}"), points)
            });
        let mark = |x, label: &str| AxisMark {
            x,
            label: format!("{x}: {label}"),
        };
        Chart {
            title: "Hidden binary weights found exactly".to_owned(),
            x: Axis::new("examples a dimension", "examples / n", Scale::Logarithmic),
            y: Axis::new("runs that find the weights", "share", Scale::Linear),
            series: series.collect(),
            theory: Vec::new(),
            marks: vec![
                mark(DETERMINED, "weights are determined"),
                mark(FOUND, "message passing finds them"),
            ],
            notes: self.notes(),
        }
    }
}

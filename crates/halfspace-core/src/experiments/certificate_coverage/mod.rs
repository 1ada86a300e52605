//! The experiment `certificate-coverage`: how often a certificate is false, against the error that it allows.
//!
//! Each run draws examples from a population with known probabilities, so that the true error of a hypothesis is an
//! exact sum. It then asks for the same certificates that the service issues, and counts those whose statement is
//! false. Statements that hold at all times are compared after each example, and uniqueness is compared with all
//! vectors of binary weights. For a test set, the chart also has an exact curve: the mean, over the trained hypotheses,
//! of the binomial probability of a false statement.

mod population;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::bits::BitVector;
use crate::certificates::{self, Claim, binomial, progressive, survival, test_set, uniqueness};
use crate::learners::engine::assume::Assume;
use crate::learners::engine::entry::{LearnerEntry, Pace};
use crate::learners::engine::evaluate::evaluate;
use crate::learners::engine::input::Input;
use crate::learners::engine::outcome::RunOutcome;
use crate::learners::engine::random::{Purpose, Seed};
use crate::learners::engine::run::{Interrupt, Run, RunLimits, StopFlag};
use crate::learners::engine::run_state::Tested;
use crate::learners::engine::session::{Session, SessionEnd, SessionPlan};
use crate::learners::engine::stopping::Sampling;
use crate::learners::engine::task::Task;
use crate::learners::engine::train::train;
use crate::learners::hypothesis::Hypothesis;
use crate::learners::linear::perceptron;
use crate::learners::sample::source::{Presentation, Presented, Stream};

use super::error::{
    ExperimentError, check_between, check_distinct, check_grid, check_not_empty, check_number,
    find_learners, share, shares,
};
use super::{Design, Observation, PointPlan, PointTally, RUNS_MAX};
use crate::figures::chart::{Axis, Chart, Curve, Point, Scale, Series};
pub use population::Distribution;
use population::{Population, Target};

/// The name in requests.
pub const NAME: &str = "certificate-coverage";

/// The largest number of features: a true error is a sum over 2^n examples.
pub const N_MAX: u64 = 12;

/// The largest number of examples of a run.
pub const EXAMPLES_MAX: u64 = 100_000;

/// The value by which a run of an exact cell reports the probability 1.
const UNIT: u64 = 10_000_000;

/// The passes of a training. With noisy examples a training would use every pass that a limit allows.
const PASSES: u64 = 10;

/// A certificate under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CoveredClaim {
    /// The upper limit of an error on fresh examples.
    TestSet,
    /// The bound on the error of each hypothesis of a session, after each example.
    Survival,
    /// The bound on the mean error of the hypotheses of a session, after each example.
    Progressive,
    /// No other vector of binary weights is consistent with as many examples as the theory asks for.
    Unique,
    /// The bound on the error of a training from its mistaken examples.
    Compression,
    /// A session that ends by the rule `pac` has at most the requested error.
    Pac,
}

impl CoveredClaim {
    /// All certificates.
    const ALL: [Self; 6] = [
        Self::TestSet,
        Self::Survival,
        Self::Progressive,
        Self::Unique,
        Self::Compression,
        Self::Pac,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::TestSet => "test-set",
            Self::Survival => "survival",
            Self::Progressive => "progressive",
            Self::Unique => "unique",
            Self::Compression => "compression",
            Self::Pac => "pac",
        }
    }

    /// Whether the certificate exists for this learner on these examples.
    fn is_defined(self, entry: &LearnerEntry, distribution: Distribution, noise: f64) -> bool {
        match self {
            Self::TestSet => true,
            Self::Survival | Self::Pac => entry.is_conservative,
            Self::Progressive => entry.on_line,
            Self::Compression => entry.is_compressed(),
            Self::Unique => distribution == Distribution::Uniform && noise == 0.0,
        }
    }
}

/// The share of runs whose certificate is violated, against the allowed error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CertificateCoverageSpec {
    /// Number of features. The true errors are sums over all 2^n examples.
    #[schema(minimum = 3, maximum = 12)]
    pub n: u64,
    /// Learners of labelled examples.
    #[schema(min_items = 1)]
    pub learners: Vec<String>,
    /// The certificates. A certificate has no series where it is not defined.
    #[schema(min_items = 1)]
    pub certificates: Vec<CoveredClaim>,
    /// The distributions of the examples.
    #[schema(min_items = 1)]
    pub distributions: Vec<Distribution>,
    /// The probabilities of a flipped label, from 0 to 0.5.
    #[schema(min_items = 1)]
    pub noise: Vec<f64>,
    /// The allowed errors.
    #[serde(deserialize_with = "shares")]
    #[schema(min_items = 1)]
    pub deltas: Vec<f64>,
    /// Examples per run, and per test set. `unique` takes the examples that the theory asks for.
    #[schema(minimum = 1, maximum = 100_000)]
    pub examples: u64,
    /// The error that the rule `pac` accepts.
    #[serde(deserialize_with = "share")]
    pub error: f64,
    /// Number of runs per point.
    #[schema(minimum = 1, maximum = 100_000)]
    pub runs: u64,
}

impl Default for CertificateCoverageSpec {
    fn default() -> Self {
        Self {
            n: 9,
            learners: vec![perceptron::ENTRY.name.to_owned()],
            certificates: CoveredClaim::ALL.to_vec(),
            distributions: vec![Distribution::Uniform, Distribution::Skewed],
            noise: vec![0.0, 0.05],
            deltas: vec![0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5],
            examples: 300,
            error: 0.1,
            runs: 2_000,
        }
    }
}

/// The experiment with checked parameters.
#[derive(Debug)]
pub struct CertificateCoverage {
    question: CertificateCoverageSpec,
    series: Vec<Cell>,
}

/// The properties that the points of a series share.
#[derive(Clone, Copy, Debug)]
struct Cell {
    entry: &'static LearnerEntry,
    claim: CoveredClaim,
    distribution: Distribution,
    noise: f64,
    /// Whether a run computes the probability of a false statement instead of one test.
    is_exact: bool,
}

impl CertificateCoverageSpec {
    /// The cells whose certificate is defined. A test set has its exact probability beside the measured share.
    fn series(&self, learners: &[&'static LearnerEntry]) -> Vec<Cell> {
        let mut series = Vec::new();
        for &claim in &self.certificates {
            for (at, &entry) in learners.iter().enumerate() {
                // Uniqueness does not depend on the learner.
                let is_again = claim == CoveredClaim::Unique && at > 0;
                for &distribution in &self.distributions {
                    for &noise in &self.noise {
                        if is_again || !claim.is_defined(entry, distribution, noise) {
                            continue;
                        }
                        let cell = Cell {
                            entry,
                            claim,
                            distribution,
                            noise,
                            is_exact: false,
                        };
                        series.push(cell);
                        if claim == CoveredClaim::TestSet {
                            series.push(Cell {
                                is_exact: true,
                                ..cell
                            });
                        }
                    }
                }
            }
        }
        series
    }
}

impl CertificateCoverage {
    /// Checks the parameters.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn new(question: CertificateCoverageSpec) -> Result<Self, ExperimentError> {
        let learners = find_learners(&question.learners)?;
        let CertificateCoverageSpec {
            certificates,
            distributions,
            noise,
            deltas,
            ..
        } = &question;
        let lengths = [
            learners.len(),
            certificates.len(),
            distributions.len(),
            noise.len(),
        ];
        check_grid(&[&lengths[..], &[deltas.len()]].concat())?;
        let names = ["learners", "certificates", "distributions", "noise"];
        for (name, length) in names.into_iter().zip(lengths) {
            check_not_empty(name, length)?;
        }
        check_distinct("learners", &question.learners)?;
        check_distinct("certificates", certificates)?;
        check_distinct("distributions", distributions)?;
        check_distinct("noise", noise)?;
        if let Some(at) = noise.iter().position(|noise| !(0.0..=0.5).contains(noise)) {
            let detail = format!("{} is not from 0 to 0.5", noise[at]);
            return Err(ExperimentError::parameter(format!("/noise/{at}"), detail));
        }
        check_between("deltas", deltas, (f64::EPSILON, 1.0))?;
        if !(question.error > 0.0 && question.error < 1.0) {
            let detail = format!("{} is not between 0 and 1", question.error);
            return Err(ExperimentError::parameter("/error", detail));
        }
        check_number("n", question.n, 3..=N_MAX)?;
        check_number("examples", question.examples, 1..=EXAMPLES_MAX)?;
        check_number("runs", question.runs, 1..=RUNS_MAX)?;
        let series = question.series(&learners);
        if series.is_empty() {
            let detail = "no certificate exists for these learners, distributions and noise";
            return Err(ExperimentError::parameter("/certificates", detail));
        }
        Ok(Self { question, series })
    }

    fn cell(&self, point: usize) -> (Cell, f64) {
        let deltas = &self.question.deltas;
        (
            self.series[point / deltas.len()],
            deltas[point % deltas.len()],
        )
    }

    fn population(&self, cell: Cell, seed: Seed) -> Population {
        let is_of_weights = cell.claim == CoveredClaim::Unique
            || cell.entry.presentation == Presentation::HalfSpace;
        let target = match is_of_weights {
            true => Target::BinaryWeights,
            false => Target::Disjunction,
        };
        let n = self.question.n as usize;
        Population::new(n, cell.distribution, target, cell.noise, seed)
    }

    /// A new session of the learner. Under `pac` the session ends itself.
    fn session(&self, cell: Cell, delta: f64, seed: Seed) -> Session {
        let is_pac = cell.claim == CoveredClaim::Pac;
        let plan = SessionPlan {
            task: Task {
                confidence: is_pac.then_some(1.0 - delta),
                error: is_pac.then_some(self.question.error),
                ..Task::of(cell.entry, seed)
            },
            n: self.question.n as usize,
            real: false,
            assume: Some(Assume::Independent),
        };
        Session::new(plan).expect("an on-line learner")
    }

    /// Whether a session violates its statement after some example.
    fn is_session_wrong(&self, cell: Cell, delta: f64, seed: Seed, run: &Run) -> bool {
        let population = self.population(cell, seed);
        let data = population.draw(self.question.examples, seed, Purpose::Examples);
        let mut session = self.session(cell, delta, seed);
        let error = |session: &Session| {
            let predictor = session.predictor().expect("two classes");
            population.error(&predictor, cell.entry.presentation)
        };
        let (mut present, mut sum) = (error(&session), 0.0);
        for row in 0..data.examples() {
            let before = present;
            let Ok(answers) = session.learn(&data.rows(row..row + 1), run) else {
                return false;
            };
            let Some(answer) = answers.first() else {
                return false;
            };
            if answer.is_mistake || answer.prediction.is_none() {
                present = error(&session);
            }
            sum += if answer.prediction.is_some() {
                before
            } else {
                0.0
            };
            let is_wrong = match cell.claim {
                CoveredClaim::Pac => {
                    session.end() == Some(&SessionEnd::Confident) && present > self.question.error
                }
                claim => is_violated(claim, session.tested(), present, sum, delta),
            };
            if is_wrong || session.end().is_some() {
                return is_wrong;
            }
        }
        false
    }

    /// Whether the statement of `compression` about a trained hypothesis is false.
    fn is_training_wrong(
        &self,
        cell: Cell,
        delta: f64,
        seed: Seed,
        run: &Run,
    ) -> Result<bool, Interrupt> {
        let population = self.population(cell, seed);
        let outcome = self.trained(&population, cell, seed, run)?;
        let claims = certificates::of_run(cell.entry, &outcome, 1.0 - delta);
        let error = population.error(&outcome.predictor, cell.entry.presentation);
        let is_false = |claim: &Claim| match claim {
            Claim::Compression { error_at_most, .. } => error > *error_at_most,
            _ => false,
        };
        Ok(claims
            .certificates
            .iter()
            .any(|found| is_false(&found.claim)))
    }

    /// Tests a trained hypothesis on fresh examples. Returns 1 if the stated limit is below the true error.
    ///
    /// An exact cell returns the probability of that event, in units of 1 / [`UNIT`].
    fn test_set(&self, cell: Cell, delta: f64, seed: Seed, run: &Run) -> Result<u64, Interrupt> {
        let population = self.population(cell, seed);
        let predictor = self.trained(&population, cell, seed, run)?.predictor;
        let error = population.error(&predictor, cell.entry.presentation);
        let examples = self.question.examples;
        let is_too_small =
            |errors: u64| test_set::limits(errors, examples, 1.0 - delta).at_most < error;
        if !cell.is_exact {
            let fresh = population.draw(examples, seed, Purpose::Holdout);
            let evaluation = evaluate(&predictor, &fresh, 0.0, run)?;
            return Ok(u64::from(is_too_small(evaluation.confusion.errors())));
        }
        // The bound grows with the errors, so the wrong statements are those of the smallest counts.
        let counts = 0..=examples;
        let wrong = counts.take_while(|&errors| is_too_small(errors)).last();
        let probability = wrong.map_or(0.0, |most| {
            libm::exp(binomial::ln_at_most(most, examples, error))
        });
        Ok((probability * UNIT as f64).round() as u64)
    }

    /// Trains the learner of a cell on examples of the population.
    fn trained(
        &self,
        population: &Population,
        cell: Cell,
        seed: Seed,
        run: &Run,
    ) -> Result<RunOutcome, Interrupt> {
        let data = population.draw(self.question.examples, seed, Purpose::Examples);
        let input = Input::Sample {
            data: &data,
            assume: Some(Assume::Independent),
        };
        let task = Task {
            limits: RunLimits {
                max_passes: Some(PASSES),
                ..RunLimits::default()
            },
            ..Task::of(cell.entry, seed)
        };
        train(&task, input, run)
    }

    /// Whether another vector is consistent with as many examples as the theory asks for.
    fn is_another_consistent(&self, cell: Cell, delta: f64, seed: Seed) -> bool {
        let n = self.question.n as usize;
        let doubt = uniqueness::Doubt::new(n, Sampling::Uniform);
        let examples = doubt.examples(libm::log(delta), &StopFlag::default());
        self.is_another_among(cell, examples.expect("nobody stops it"), seed)
    }

    /// Whether another vector is consistent with `count` examples.
    fn is_another_among(&self, cell: Cell, count: u64, seed: Seed) -> bool {
        let n = self.question.n as usize;
        let population = self.population(cell, seed);
        let data = population.draw(count, seed, Purpose::Examples);
        let is_consistent = |weights: u64| {
            let hypothesis = Hypothesis::BinaryWeights(BitVector::from_words(n, vec![weights]));
            let mut stream = Presented::new(&data, Presentation::HalfSpace);
            loop {
                match stream.next_block() {
                    Ok(Some(block)) if hypothesis.mistakes(&block, &StopFlag::default()) != 0 => {
                        return false;
                    }
                    Ok(Some(_)) => {}
                    _ => return true,
                }
            }
        };
        // The target is consistent.
        (0..1_u64 << n)
            .filter(|&weights| is_consistent(weights))
            .nth(1)
            .is_some()
    }
}

/// Whether a bound of a session is below the true error: of the present hypothesis, or of the mean of all tests.
fn is_violated(claim: CoveredClaim, tested: Tested, present: f64, sum: f64, delta: f64) -> bool {
    let Tested {
        examples,
        mistakes,
        changes,
        run_length,
        ..
    } = tested;
    match claim {
        CoveredClaim::Survival => {
            present > survival::error_at_most(run_length, changes + 1, 1.0 - delta)
        }
        CoveredClaim::Progressive if examples > 0 => {
            progressive::is_refuted(sum / examples as f64, mistakes, examples, 1.0 - delta)
        }
        _ => false,
    }
}

impl Design for CertificateCoverage {
    fn name(&self) -> &'static str {
        NAME
    }

    fn points(&self) -> Vec<PointPlan> {
        let CertificateCoverageSpec {
            n,
            deltas,
            examples,
            runs,
            ..
        } = &self.question;
        let population = libm::exp2(*n as f64);
        let plan = |point| {
            let (cell, _) = self.cell(point);
            let examples = *examples as f64;
            // The error of a kernel hypothesis is a sum over all mistakes at each example of the population.
            let seconds_an_error = population
                * match cell.entry.pace {
                    Pace::Slowing => 1e-9 * examples,
                    Pace::Steady | Pace::Unforeseen => 1e-9,
                };
            let seconds_a_run = match cell.claim {
                CoveredClaim::Unique => 2e-8 * population * population,
                CoveredClaim::TestSet | CoveredClaim::Compression => {
                    examples * PASSES as f64 * 1e-7 + seconds_an_error
                }
                CoveredClaim::Survival | CoveredClaim::Progressive | CoveredClaim::Pac => {
                    examples * (3e-6 + 0.3 * seconds_an_error)
                }
            };
            PointPlan {
                runs: *runs,
                seconds_a_run,
            }
        };
        (0..self.series.len() * deltas.len()).map(plan).collect()
    }

    /// An exact cell follows the cell that is measured, and trains the same hypotheses.
    fn drawn_as(&self, point: usize) -> usize {
        let deltas = self.question.deltas.len();
        match self.cell(point).0.is_exact {
            true => point - deltas,
            false => point,
        }
    }

    fn observe(&self, point: usize, seed: Seed, run: &Run) -> Result<Observation, Interrupt> {
        let (cell, delta) = self.cell(point);
        let value = match cell.claim {
            CoveredClaim::Unique => self.is_another_consistent(cell, delta, seed).into(),
            CoveredClaim::Survival | CoveredClaim::Progressive | CoveredClaim::Pac => {
                self.is_session_wrong(cell, delta, seed, run).into()
            }
            CoveredClaim::Compression => self.is_training_wrong(cell, delta, seed, run)?.into(),
            CoveredClaim::TestSet => self.test_set(cell, delta, seed, run)?,
        };
        Ok(Observation {
            value,
            is_censored: false,
        })
    }

    fn chart(&self, tallies: &[PointTally]) -> Chart {
        let deltas = &self.question.deltas;
        let (mut series, mut theory) = (Vec::new(), Vec::new());
        for (cell, tallies) in self.series.iter().zip(tallies.chunks(deltas.len())) {
            let label = cell.label();
            let points = deltas.iter().zip(tallies);
            if cell.is_exact {
                let known = points.filter(|(_, tally)| tally.runs > 0);
                let places = known.map(|(delta, tally)| (*delta, tally.mean() / UNIT as f64));
                let beside = Some(series.len() - 1);
                theory.push(Curve::new(format!("exact: {label}"), beside, places));
            } else {
                let points = points.filter_map(|(delta, tally)| Point::share(*delta, tally));
                series.push(Series::new(label, points));
            }
        }
        let (low, high) = deltas
            .iter()
            .fold((1.0_f64, 0.0_f64), |(low, high), &delta| {
                (low.min(delta), high.max(delta))
            });
        let diagonal = [(low, low), (high, high)];
        theory.push(Curve::new("allowed: the diagonal", None, diagonal));
        let n = self.question.n;
        Chart {
            title: format!("Certificates: how often a statement is false, n = {n}"),
            x: Axis::new("error allowed, delta", "probability", Scale::Logarithmic),
            y: Axis::new("runs with a false statement", "share", Scale::Logarithmic),
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

impl Cell {
    fn label(self) -> String {
        let claim = self.claim.name();
        match self.claim {
            CoveredClaim::Unique => claim.to_owned(),
            _ => format!(
                "{claim}, {}, {}, noise {}",
                self.entry.name,
                self.distribution.name(),
                self.noise
            ),
        }
    }
}

//! The learner `perspectron`: a perceptron for noisy labels, which weighs each example by the inverse of its margin.
//!
//! G. Chandrasekaran, V. Kontonis, K. Stavropoulos, K. Tian, "Learning noisy halfspaces with a margin: Massart is no
//! harder than random" (2024). Some unit vector u has |u.x| >= rho |x| for all examples x. A label differs from the
//! sign of u.x with a probability that may depend on x and is at most eta < 1/2. The weights start at w = 0. With the
//! prediction s = sgn(w.x), an example with the label y changes them by
//!
//! w += lambda (y - (1 - 2 eta) s) x / (|w.x| + rho |x|), where lambda = rho^2 epsilon / 2.
//!
//! So a correctly classified example strengthens its prediction a little, and a mistake weakens its prediction more.
//!
//! The proof is short. Let x have norm 1, let v = ((1 - 2 eta) s - y) (w.x - u.x) / (|w.x| + rho), and let b = 1 - 2
//! eta(x) >= 1 - 2 eta be the mean of y sgn(u.x). If s = sgn(u.x), the mean of v is (1 - 2 eta - b) (|w.x| - |u.x|) /
//! (|w.x| + rho) >= 1 - 2 eta - b. Otherwise it is (1 - 2 eta + b) (|w.x| + |u.x|) / (|w.x| + rho) >= 1 - 2 eta + b.
//! Both right sides are the mean of 1 - 2 eta - y s, so the mean of v over fresh examples is at least twice the excess
//! of the error of w over eta. The sum of v over T steps of length at most 2 lambda / rho is at most 1 / (2 lambda) + 2
//! lambda T / rho^2, as for every gradient descent. With this lambda, the expected number of mistakes on T fresh
//! examples is at most eta T + epsilon T / 2 + 1 / (2 rho^2 epsilon). From T = 1 / (rho epsilon)^2 on, the expected
//! mean error of the hypotheses is at most eta + epsilon. This is the theorem.
//!
//! An example changes v / 2 minus the mistake by at most 2 / rho + 1. For a bound that fails with probability delta,
//! the inequality of Azuma and Hoeffding therefore adds (2 / rho + 1) sqrt(T ln(1 / delta) / 2). A result states this
//! bound for delta = 10^-6.
//!
//! | parameter | default | meaning |
//! |---|---|---|
//! | `reading` | signed | how a bit is read: {-1, +1} or {0, 1} |
//! | `bias` | true | whether a constant coordinate x0 = 1 is learnt too |
//! | `label_noise` | 0.1 | eta, the largest probability of a wrong label |
//! | `margin` | 0.1 | rho, the smallest \|u.x\| / \|x\| |
//! | `excess` | 0.1 | epsilon, the accepted excess over the noise |
//!
//! ```
//! use halfspace_core::learners::catalogue::find;
//! use halfspace_core::learners::engine::random::Seed;
//! use halfspace_core::learners::engine::run::Run;
//! use halfspace_core::learners::engine::stopping::Sampling;
//! use halfspace_core::learners::engine::input::Input;
//! use halfspace_core::learners::engine::task::Task;
//! use halfspace_core::learners::engine::train::train;
//! use halfspace_core::learners::sample::generate::Plan;
//!
//! // 5,000 examples of a majority function, one label in ten wrong.
//! let mut plan = Plan::endless(Plan::random_target(7, Seed(1)), Sampling::Uniform);
//! (plan.count, plan.noise) = (Some(5000), 0.1);
//! let task = Task::of(find("perspectron").expect("listed"), Seed(1));
//! let outcome = train(&task, Input::Generated(&plan), &Run::default()).expect("an end");
//! assert!(outcome.target.expect("known").recovered);
//! assert_eq!(outcome.bound.expect("one pass").respected, Some(true));
//! ```

use std::ops::Range;

use crate::learners::engine::bound::Bound;
use crate::learners::engine::entry::{
    DataKinds, DefaultStop, Guarantee, LearnerEntry, Pace, Replay, Setup,
};
use crate::learners::engine::parameters::{Minimum, Parameter, ParameterError, ParameterKind};
use crate::learners::engine::random::Generator;
use crate::learners::engine::reason::Reason;
use crate::learners::engine::rule::{Kind, OnlineRule, Rule};
use crate::learners::engine::run::{Counts, Interrupt, Run, StopFlag};
use crate::learners::engine::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};
use crate::learners::engine::update::Update;
use crate::learners::hypothesis::Hypothesis;
use crate::learners::linear::linear_weights::{
    LinearScore, LinearScratch, LinearWeights, RealWeights,
};
use crate::learners::linear::novikoff::norm_squared;
use crate::learners::linear::perceptron::{BIAS, READING, reading};
use crate::learners::predictor::Predictor;
use crate::learners::sample::block::Block;
use crate::learners::sample::source::{Presentation, Stream};

/// The probability that the bound of a run fails.
const DELTA: f64 = 1e-6;

const THEOREM: &str = "Chandrasekaran, Kontonis, Stavropoulos, Tian";

pub static ENTRY: LearnerEntry = LearnerEntry {
    name: "perspectron",
    title: "Perspectron",
    learns: "A hyperplane with a margin from noisy labels, also if the noise depends on the example.",
    data: DataKinds {
        half_space: false,
        labelled: true,
        real: true,
        names: None,
        parts: true,
    },
    reading: "signed or unsigned",
    presentation: Presentation::Labelled,
    on_line: true,
    pace: Pace::Steady,
    confidence_rules: &[],
    is_conservative: false,
    replay: Replay::Whole,
    default_stop: DefaultStop::Passes(1),
    parameters: &[
        READING,
        BIAS,
        Parameter {
            name: "label_noise",
            kind: ParameterKind::Number {
                minimum: Minimum::AtLeast(0.0),
                at_most: 0.5,
                default: 0.1,
            },
            description: "The largest probability of a wrong label.",
        },
        Parameter {
            name: "margin",
            kind: ParameterKind::Number {
                minimum: Minimum::Above(0.0),
                at_most: 1.0,
                default: 0.1,
            },
            description: "The smallest distance of an example from the hyperplane, divided by the \
                          norm of the example.",
        },
        Parameter {
            name: "excess",
            kind: ParameterKind::Number {
                minimum: Minimum::Above(0.0),
                at_most: 1.0,
                default: 0.1,
            },
            description: "The accepted excess of the mean error over the noise. A smaller value needs \
                          more examples: 1 / (margin excess)^2.",
        },
    ],
    guarantee: Guarantee {
        theorem: THEOREM,
        bound: "The mean error of the hypotheses over 1 / (margin excess)^2 or more fresh examples is \
                at most label_noise + excess in expectation, if some hyperplane has this margin and each \
                label is wrong with at most this noise.",
    },
    source: "G. Chandrasekaran, V. Kontonis, K. Stavropoulos, K. Tian, Learning noisy halfspaces with \
             a margin: Massart is no harder than random, arXiv 2501.09851 (2024)",
    check: None,
    build: |setup| Ok(Box::new(Perspectron::new(setup)?)),
};

struct Perspectron {
    weights: LinearWeights,
    scratch: LinearScratch,
    noise: f64,
    margin: f64,
    excess: f64,
    starts_at_zero: bool,
    /// Whether examples have weights, with which none is fresh when it is shown again.
    is_weighted: bool,
}

impl Perspectron {
    fn new(setup: &Setup<'_>) -> Result<Self, ParameterError> {
        let parameters = setup.parameters;
        let bias = parameters.flag(BIAS.name).then_some(0.0);
        let weights = RealWeights::new(reading(setup)?, vec![0.0; setup.n], bias);
        let weights = LinearWeights::Real(weights);
        Ok(Self {
            scratch: weights.scratch(),
            weights,
            noise: parameters.number("label_noise"),
            margin: parameters.number("margin"),
            excess: parameters.number("excess"),
            starts_at_zero: true,
            is_weighted: setup.parts.is_some(),
        })
    }

    /// Learns from a row with this score. Returns false if a weight would leave the range of f64.
    fn learn(&mut self, block: &Block<'_>, row: usize, score: f64) -> bool {
        let sign = |is_positive: bool| if is_positive { 1.0 } else { -1.0 };
        let pull = sign(block.is_positive(row)) - (1.0 - 2.0 * self.noise) * sign(score >= 0.0);
        let norm = norm_squared(&self.weights, block, row).sqrt();
        let step = block.step(row, self.margin * self.margin * self.excess / 2.0);
        let amount = step * pull / (score.abs() + self.margin * norm);
        // An example of norm 0 has a score of 0 and changes nothing.
        norm == 0.0
            || self
                .weights
                .add(block, row, (amount, 1.0), &mut self.scratch)
    }

    fn score(&mut self, block: &Block<'_>, row: usize) -> f64 {
        match self.weights.score(block, row, &mut self.scratch) {
            LinearScore::Real(score) => score,
            LinearScore::Integer(_) => unreachable!("real weights have real scores"),
        }
    }

    /// The number of mistakes on `examples` fresh examples that is exceeded with probability [`DELTA`] at most.
    fn mistakes_at_most(&self, examples: f64) -> f64 {
        let mean = (self.noise + self.excess / 2.0) * examples
            + 0.5 / (self.margin * self.margin * self.excess);
        let width = 2.0 / self.margin + 1.0;
        mean + width * libm::sqrt(examples * -libm::log(DELTA) / 2.0)
    }
}

impl Rule for Perspectron {
    fn kind(&mut self) -> Kind<'_> {
        Kind::Online(self)
    }

    fn start_from(&mut self, hypothesis: &Hypothesis) -> Result<(), String> {
        let Hypothesis::Linear(weights) = hypothesis else {
            return Err("this learner needs a model with linear weights".into());
        };
        weights.check_like(&self.weights)?;
        let (first, bias) = weights.numbers();
        let first = RealWeights::new(weights.reading(), first, bias);
        (self.weights, self.starts_at_zero) = (LinearWeights::Real(first), false);
        Ok(())
    }

    fn clean_pass(&mut self) -> Reason {
        // The weights changed during the pass, so the last ones need not be right on every example.
        Reason::Exhausted
    }

    fn predictor(&self) -> Predictor {
        Hypothesis::Linear(self.weights.clone()).into()
    }

    fn snapshot(&mut self, snapshot: &mut SnapshotWriter) {
        self.weights.snapshot(snapshot);
    }

    fn restore(&mut self, snapshot: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.weights = self.weights.restored(snapshot)?;
        Ok(())
    }

    fn why_no_bound(&self) -> &'static str {
        if self.is_weighted {
            return "the bound needs fresh examples, and weights show examples again";
        }
        "the bound needs fresh examples, and the run made more than one pass"
    }

    fn bound(
        &self,
        _: &mut dyn Stream,
        counts: &Counts,
        _: Reason,
        _: &Run,
    ) -> Result<Option<Bound>, Interrupt> {
        if counts.passes > 1 || self.is_weighted {
            return Ok(None);
        }
        let most = self.mistakes_at_most(counts.examples as f64);
        let bound = Bound {
            theorem: THEOREM,
            mistakes_at_most: Some(most),
            log2_mistakes_at_most: None,
            respected: Some(counts.mistakes as f64 <= most),
            detail: Some(format!(
                "fails with probability {DELTA:e} on fresh examples, if some hyperplane has the \
                 margin {} and a label is wrong with probability {} at most",
                self.margin, self.noise
            )),
        };
        Ok(Some(match self.starts_at_zero {
            true => bound,
            false => bound.without_verdict(),
        }))
    }
}

impl OnlineRule for Perspectron {
    fn first_mistake(
        &mut self,
        block: &Block<'_>,
        mut rows: Range<usize>,
        _: &StopFlag,
    ) -> Option<usize> {
        rows.find(|&row| {
            let score = self.score(block, row);
            let is_right = (score >= 0.0) == block.is_positive(row);
            if is_right {
                // A score beyond the range of f64 changes nothing here.
                self.learn(block, row, score);
            }
            !is_right
        })
    }

    fn update(&mut self, block: &Block<'_>, row: usize, _: &mut Generator) -> Update {
        let score = self.score(block, row);
        match self.learn(block, row, score) {
            true => Update::Changed,
            false => Update::Refused("real weights must stay in the range of f64"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::{BitMatrix, BitVector};
    use crate::learners::catalogue::find;
    use crate::learners::engine::input::Input;
    use crate::learners::engine::outcome::RunOutcome;
    use crate::learners::engine::parameters::Parameters;
    use crate::learners::engine::random::Seed;
    use crate::learners::engine::run::RunLimits;
    use crate::learners::engine::task::Task;
    use crate::learners::engine::train::train;
    use crate::learners::sample::data::{Data, Features, Labels, RealMatrix};
    use rand::{RngExt, SeedableRng};
    use serde_json::{Value, json};
    use std::sync::Arc;

    fn run(learner: &str, params: &Value, data: &Data, seed: u64) -> RunOutcome {
        let entry = find(learner).unwrap();
        let params = params.as_object().unwrap();
        let parameters = Parameters::from_json(entry.parameters, params).unwrap();
        let task = Task {
            parameters,
            limits: RunLimits {
                max_passes: Some(1),
                ..RunLimits::default()
            },
            ..Task::of(entry, Seed(seed))
        };
        let input = Input::Sample { data, assume: None };
        train(&task, input, &Run::default()).unwrap()
    }

    fn weights(outcome: &RunOutcome) -> Vec<f64> {
        match &outcome.predictor {
            Predictor::One(Hypothesis::Linear(weights)) => weights.numbers().0,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn perspectron_steps_worked_by_hand() {
        // lambda = 0.5^2 0.8 / 2 = 0.1 and 1 - 2 eta = 0.5. The negative (3, 4) scores 0, which predicts +1: the pull
        // is -1.5 over 0.5 times the norm 5. The positive (0, 5) then scores -1.2 and has the pull 1.5.
        let params = json!({"label_noise": 0.25, "margin": 0.5, "excess": 0.8, "bias": false});
        let rows = RealMatrix::from_values(2, vec![3.0, 4.0, 0.0, 5.0]);
        let labels = BitVector::from_bit_string(b"01").unwrap();
        let data = Data::new(Features::Real(rows), Labels::of_signs(labels));
        let found = weights(&run("perspectron", &params, &data, 1));
        let first = [-0.15 / 2.5 * 3.0, -0.15 / 2.5 * 4.0];
        let second = 0.15 / (1.2 + 2.5) * 5.0;
        for (found, expected) in found.iter().zip([first[0], first[1] + second]) {
            assert!((found - expected).abs() < 1e-15, "{found} {expected}");
        }
        // A correct example strengthens its prediction.
        let rows = RealMatrix::from_values(1, vec![2.0]);
        let labels = BitVector::from_bit_string(b"1").unwrap();
        let data = Data::new(Features::Real(rows), Labels::of_signs(labels));
        let found = weights(&run("perspectron", &params, &data, 1));
        assert!(
            (found[0] - 0.1 * 0.5 / (0.5 * 2.0) * 2.0).abs() < 1e-15,
            "{found:?}"
        );
    }

    /// Labels of the majority function. A label is wrong with the first probability, and with the second one if the
    /// first bit of the example is 1.
    fn noisy(n: usize, rows: usize, noise: [f64; 2], seed: u64) -> Data {
        let mut random = Generator::seed_from_u64(seed);
        let (mut matrix, mut labels) = (BitMatrix::new(n), BitVector::zeros(rows));
        for row in 0..rows {
            let bits = random.random::<u64>() & ((1 << n) - 1);
            matrix.push_row(&[bits]);
            let is_wrong = random.random_bool(noise[(bits & 1) as usize]);
            labels.set(row, (bits.count_ones() as usize > n / 2) != is_wrong);
        }
        Data::new(Features::Boolean(matrix), Labels::of_signs(labels))
    }

    #[test]
    fn perspectron_error_exceeds_the_noise_by_at_most_the_excess() {
        let (n, examples, runs) = (7, 19_600, 10); // 1 / (margin excess)^2 examples
        let (margin, excess) = (1.0 / n as f64, 0.05);
        for noise in [[0.3, 0.3], [0.0, 0.4]] {
            let most = noise[1];
            let [mut mistakes, mut unaware, mut perceptron] = [0; 3];
            for seed in 0..runs {
                let data = noisy(n, examples, noise, seed);
                let with = |noise: f64| {
                    let params = json!({"label_noise": noise, "margin": margin, "excess": excess, "bias": false});
                    run("perspectron", &params, &data, seed)
                };
                let outcome = with(most);
                assert_eq!(outcome.bound.unwrap().respected, Some(true));
                mistakes += outcome.counts.mistakes;
                unaware += with(0.0).counts.mistakes;
                perceptron += run("perceptron", &json!({"bias": false}), &data, seed)
                    .counts
                    .mistakes;
            }
            let share = |mistakes: u64| mistakes as f64 / (runs as usize * examples) as f64;
            assert!(share(mistakes) <= most + excess, "{}", share(mistakes));
            // The best hypothesis errs on the mean of both probabilities.
            let best = (noise[0] + noise[1]) / 2.0;
            assert!(share(mistakes) <= best + 0.02, "{}", share(mistakes));
            assert!(share(unaware) >= best + 0.1 && share(perceptron) >= best + 0.1);
        }
    }

    #[test]
    fn perspectron_has_no_bound_after_a_second_pass() {
        let data = noisy(7, 100, [0.1, 0.1], 1);
        let entry = find("perspectron").unwrap();
        let task = Task {
            limits: RunLimits {
                max_passes: Some(2),
                ..RunLimits::default()
            },
            ..Task::of(entry, Seed(1))
        };
        let input = Input::Sample {
            data: &data,
            assume: None,
        };
        let outcome = train(&task, input, &Run::default()).unwrap();
        assert_eq!(outcome.bound, None);
        assert!(outcome.no_bound.unwrap().contains("more than one pass"));
        let task = Task {
            start: Some(Arc::new(outcome.predictor)),
            ..Task::of(entry, Seed(1))
        };
        let outcome = train(&task, input, &Run::default()).unwrap();
        assert_eq!(outcome.bound.unwrap().respected, None);
    }
}

//! The learner `bounded-perceptron`: a perceptron whose weights stay in [0, 1] against a constant inhibition.
//!
//! W. Senn and S. Fusi, "Learning only when necessary: better memories of correlated patterns in networks with
//! bounded synapses" (2004), as in H. Sompolinsky's lecture on the perceptron's capacity, section 3. For an example x
//! in [0, 1]^n the prediction is +1 iff `(1/n) sum (W_i - g) x_i - threshold >= 0`. A mistake with the label +1
//! causes `W_i += eta x_i (1 - W_i)`, one with the label -1 causes `W_i -= eta x_i W_i`, so the steps shrink towards
//! the ends of the range.
//!
//! Senn and Fusi prove convergence on examples that a hyperplane through the origin separates, if the inhibition g is
//! above 0 and eta and the threshold are sufficiently small. They bound no number of mistakes, and "sufficiently small"
//! depends on the data. A result refers to the theorem only if g lies between 0 and 1 and neither eta nor the threshold
//! exceeds 0.01, and otherwise names the assumption that is not met: without inhibition no score is below -threshold,
//! and with g >= 1 none is above it.
//!
//! An example without an active feature has the score -threshold whatever the weights are, so its prediction is always
//! +1 if the threshold is 0, and always -1 otherwise. If one is misclassified, the result says that the theorem does
//! not cover the run.
//!
//! | parameter | default | meaning |
//! |---|---|---|
//! | `inhibition` | 0.5 | g, subtracted from every weight |
//! | `eta` | 0.01 | the learning rate, at most 1 |
//! | `threshold` | 0 | smallest weighted mean that predicts +1 |
//! | `initial` | 0.5 | first weights in [0, 1]: one number for all, or one per weight |
//!
//! ```
//! use halfspace_core::bits::BitVector;
//! use halfspace_core::learners::catalogue::find;
//! use halfspace_core::learners::sample::data::{Data, Features, Labels, RealMatrix};
//! use halfspace_core::learners::engine::random::Seed;
//! use halfspace_core::learners::engine::run::Run;
//! use halfspace_core::learners::engine::input::Input;
//! use halfspace_core::learners::engine::task::Task;
//! use halfspace_core::learners::engine::train::train;
//!
//! // The first feature is for, the second against.
//! let examples = RealMatrix::from_values(2, vec![0.9, 0.1, 0.2, 0.8, 0.6, 0.3]);
//! let labels = BitVector::from_bit_string(b"101").expect("bits");
//! let data = Data::new(Features::Real(examples), Labels::of_signs(labels));
//! let input = Input::Sample { data: &data, assume: None };
//! let task = Task::of(find("bounded-perceptron").expect("listed"), Seed(1));
//! let outcome = train(&task, input, &Run::default()).expect("an end");
//! assert_eq!(outcome.training.expect("counted").errors, 0);
//! ```

use std::ops::{ControlFlow, Range};

use crate::learners::decision::Decision;
use crate::learners::engine::bound::Bound;
use crate::learners::engine::entry::{
    DataKinds, DefaultStop, Guarantee, LearnerEntry, Pace, Replay, Setup,
};
use crate::learners::engine::input::{Input, TaskError};
use crate::learners::engine::parameters::{
    Minimum, Parameter, ParameterError, ParameterKind, Weights,
};
use crate::learners::engine::random::Generator;
use crate::learners::engine::reason::Reason;
use crate::learners::engine::rule::{Kind, MemberRule, OnlineRule, Rule};
use crate::learners::engine::run::{Counts, Interrupt, Run, StopFlag};
use crate::learners::engine::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};
use crate::learners::engine::update::Update;
use crate::learners::hypothesis::Hypothesis;
use crate::learners::linear::bounded::BoundedWeights;
use crate::learners::predictor::Predictor;
use crate::learners::sample::block::{Block, BlockFeatures};
use crate::learners::sample::examples::for_each_rows;
use crate::learners::sample::source::{Presentation, Stream};

/// The largest eta and threshold that count as small.
const SMALL: f64 = 0.01;

const THEOREM: &str = "Senn and Fusi";

pub static ENTRY: LearnerEntry = LearnerEntry {
    name: "bounded-perceptron",
    title: "Bounded perceptron",
    learns: "A hyperplane through the origin with weights in [0, 1] against a constant inhibition.",
    data: DataKinds {
        half_space: false,
        labelled: true,
        real: true,
        names: None,
        parts: false,
    },
    reading: "unsigned",
    presentation: Presentation::Labelled,
    on_line: true,
    pace: Pace::Steady,
    confidence_rules: &[],
    is_conservative: true,
    replay: Replay::Mistaken,
    default_stop: DefaultStop::Passes(1000),
    parameters: &[
        Parameter {
            name: "inhibition",
            kind: ParameterKind::Number {
                minimum: Minimum::AtLeast(0.0),
                at_most: 1_048_576.0,
                default: 0.5,
            },
            description: "Constant that is subtracted from every weight; convergence is claimed \
                          only between 0 and 1.",
        },
        Parameter {
            name: "eta",
            kind: ParameterKind::Number {
                minimum: Minimum::Above(0.0),
                at_most: 1.0,
                default: 0.01,
            },
            description: "The learning rate; convergence is claimed only for small values.",
        },
        Parameter {
            name: "threshold",
            kind: ParameterKind::Number {
                minimum: Minimum::AtLeast(0.0),
                at_most: 1_048_576.0,
                default: 0.0,
            },
            description: "Threshold that the score must reach; convergence is claimed only for \
                          small values.",
        },
        Parameter {
            name: "initial",
            kind: ParameterKind::Weights {
                at_least: 0.0,
                at_most: 1.0,
                default: 0.5,
            },
            description: "The initial weights: one number for all, or one per weight.",
        },
    ],
    guarantee: Guarantee {
        theorem: THEOREM,
        bound: "Separable examples are learnt if the inhibition is above 0 and eta and the \
                threshold are small; no number of mistakes is claimed.",
    },
    source: "W. Senn and S. Fusi, Learning only when necessary: better memories of correlated \
             patterns in networks with bounded synapses (2004)",
    check: Some(|_, input| check_range(input)),
    build: |setup| Ok(Box::new(BoundedPerceptron::new(setup)?)),
};

/// Checks that real features lie in [0, 1], the range that the rule and the theorem assume.
fn check_range(input: Input<'_>) -> Result<(), TaskError> {
    let Input::Sample { data, .. } = input else {
        return Ok(());
    };
    if !data.shape().is_real {
        return Ok(());
    }
    let mut refused = Ok(());
    for_each_rows(data, |first, rows| {
        let BlockFeatures::Real { n, values } = rows.features else {
            return ControlFlow::Break(());
        };
        let outside = |value: &f64| !(0.0..=1.0).contains(value);
        let Some(place) = values.iter().position(outside) else {
            return ControlFlow::Continue(());
        };
        let (example, feature) = (first + place / n + 1, place % n + 1);
        let value = values[place];
        refused = Err(TaskError::WrongData(format!(
            "feature {feature} of example {example} is {value}; this learner accepts Boolean \
             features, and real features from 0 to 1"
        )));
        ControlFlow::Break(())
    })?;
    refused
}

struct BoundedPerceptron {
    weights: BoundedWeights,
    eta: f64,
    /// Whether an example without active features was a mistake, which no update can correct.
    met_unlearnable: bool,
}

impl BoundedPerceptron {
    fn new(setup: &Setup<'_>) -> Result<Self, ParameterError> {
        let (parameters, n) = (setup.parameters, setup.n);
        let weights = match parameters.weights("initial") {
            Weights::Each(value) => vec![*value; n],
            Weights::List(list) if list.len() == n => list.clone(),
            Weights::List(list) => {
                let given = list.len();
                return Err(ParameterError {
                    name: "initial".to_owned(),
                    detail: format!(
                        "the list has {given} numbers, but the learner has {n} weights"
                    ),
                    unknown: false,
                });
            }
        };
        let (inhibition, threshold) = (
            parameters.number("inhibition"),
            parameters.number("threshold"),
        );
        Ok(Self {
            weights: BoundedWeights::new(weights, inhibition, threshold),
            eta: parameters.number("eta"),
            met_unlearnable: false,
        })
    }

    /// Why the theorem does not cover the run, or `None` if it does.
    fn unmet_assumption(&self) -> Option<&'static str> {
        let (inhibition, threshold) = (self.weights.inhibition(), self.weights.threshold());
        if inhibition <= 0.0 {
            Some("the inhibition is 0, so that no score is below -threshold")
        } else if inhibition >= 1.0 {
            Some(
                "the inhibition is not below 1, the largest weight, so that no score is above \
                  -threshold",
            )
        } else if self.eta > SMALL {
            Some("eta is above 0.01 and therefore not small")
        } else if threshold > SMALL {
            Some("the threshold is above 0.01 and therefore not small")
        } else if self.met_unlearnable {
            Some(
                "an example without active features always scores -threshold, but its label needs \
                 the other sign",
            )
        } else {
            None
        }
    }
}

impl Rule for BoundedPerceptron {
    fn kind(&mut self) -> Kind<'_> {
        Kind::Online(self)
    }

    fn start_from(&mut self, hypothesis: &Hypothesis) -> Result<(), String> {
        let Hypothesis::Bounded(weights) = hypothesis else {
            return Err("this learner needs a model with bounded weights".into());
        };
        let own = |weights: &BoundedWeights| (weights.inhibition(), weights.threshold());
        let (inhibition, threshold) = own(weights);
        if (inhibition, threshold) != own(&self.weights) {
            return Err(format!(
                "the model has inhibition = {inhibition} and threshold = {threshold}; set the same \
                 values"
            ));
        }
        self.weights = weights.clone();
        Ok(())
    }

    fn predictor(&self) -> Predictor {
        Hypothesis::Bounded(self.weights.clone()).into()
    }

    fn snapshot(&mut self, snapshot: &mut SnapshotWriter) {
        snapshot.number(self.met_unlearnable.into());
        let weights = self.weights.weights().iter();
        snapshot.numbers(weights.map(|weight| weight.to_bits()));
    }

    fn restore(&mut self, snapshot: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.met_unlearnable = snapshot.number()? == 1;
        let numbers = snapshot.numbers(self.weights.weights().len())?;
        let weights = numbers.into_iter().map(f64::from_bits).collect();
        let (inhibition, threshold) = (self.weights.inhibition(), self.weights.threshold());
        let restored = BoundedWeights::from_numbers(weights, inhibition, threshold);
        self.weights = restored.ok_or(SnapshotError)?;
        Ok(())
    }

    fn bound(
        &self,
        _: &mut dyn Stream,
        _: &Counts,
        reason: Reason,
        _: &Run,
    ) -> Result<Option<Bound>, Interrupt> {
        let detail = match (self.unmet_assumption(), reason) {
            (Some(unmet), _) => format!("assumption not met: {unmet}"),
            (None, Reason::Converged) => "the theorem says that separable examples are learnt \
                                          eventually, as these were; it gives no number of \
                                          mistakes"
                .to_owned(),
            (None, _) => "the theorem says that separable examples are learnt eventually if eta \
                          and the threshold are small enough; it gives no number of mistakes"
                .to_owned(),
        };
        Ok(Some(Bound {
            theorem: THEOREM,
            mistakes_at_most: None,
            log2_mistakes_at_most: None,
            respected: None,
            detail: Some(detail),
        }))
    }
}

impl OnlineRule for BoundedPerceptron {
    fn first_mistake(
        &mut self,
        block: &Block<'_>,
        mut rows: Range<usize>,
        _: &StopFlag,
    ) -> Option<usize> {
        rows.find(|&row| self.weights.is_positive(block, row) != block.is_positive(row))
    }

    fn update(&mut self, block: &Block<'_>, row: usize, _: &mut Generator) -> Update {
        if self.weights.is_inactive(block, row) {
            self.met_unlearnable = true;
            return Update::Unchanged;
        }
        let target = if block.is_positive(row) { 1.0 } else { 0.0 };
        if self.weights.approach(block, row, target, self.eta) {
            Update::Changed
        } else {
            Update::Unchanged
        }
    }

    fn as_member(&mut self) -> Option<&mut dyn MemberRule> {
        Some(self)
    }
}

impl MemberRule for BoundedPerceptron {
    fn decide(&mut self, block: &Block<'_>, row: usize, _: &StopFlag) -> Decision {
        self.weights.decide(block, row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::{BitMatrix, BitVector};
    use crate::learners::engine::check::check;
    use crate::learners::engine::outcome::RunOutcome;
    use crate::learners::engine::parameters::Parameters;
    use crate::learners::engine::random::{Purpose, Seed};
    use crate::learners::engine::run::RunLimits;
    use crate::learners::engine::task::Task;
    use crate::learners::engine::train::train;
    use crate::learners::sample::data::{Data, Features, Labels, RealMatrix};
    use rand::RngExt;
    use serde_json::{Value, json};

    fn run(data: &Data, params: &Value, max_passes: u64) -> RunOutcome {
        let object = params.as_object().expect("an object");
        let task = Task {
            parameters: Parameters::from_json(ENTRY.parameters, object).expect("parameters"),
            limits: RunLimits {
                max_passes: Some(max_passes),
                ..RunLimits::default()
            },
            ..Task::of(&ENTRY, Seed(1))
        };
        let input = Input::Sample { data, assume: None };
        check(&task, input, u64::MAX).expect("a valid task");
        train(&task, input, &Run::default()).expect("nobody suspends it")
    }

    fn boolean(examples: &[(&str, bool)]) -> Data {
        let n = examples[0].0.len();
        let (mut matrix, mut labels) = (BitMatrix::new(n), BitVector::zeros(examples.len()));
        for (row, (x, is_positive)) in examples.iter().enumerate() {
            let bits = BitVector::from_bit_string(x.as_bytes()).expect("bits");
            matrix.push_row(bits.words());
            labels.set(row, *is_positive);
        }
        Data::new(Features::Boolean(matrix), Labels::of_signs(labels))
    }

    fn weights(outcome: &RunOutcome) -> &[f64] {
        match &outcome.predictor {
            Predictor::One(Hypothesis::Bounded(weights)) => weights.weights(),
            other => unreachable!("{other:?}"),
        }
    }

    /// Labels 2n random Boolean examples by a random hyperplane through the origin.
    fn separable(n: usize, seed: u64) -> Data {
        let mut random = Seed(seed).generator(Purpose::Examples);
        let normal: Vec<f64> = (0..n).map(|_| random.random_range(-1.0..1.0)).collect();
        let (mut matrix, mut labels) = (BitMatrix::new(n), BitVector::zeros(2 * n));
        while matrix.rows() < 2 * n {
            let words = vec![random.random::<u64>() & ((1 << n) - 1)];
            let product: f64 = (0..n)
                .filter(|j| words[0] >> j & 1 == 1)
                .map(|j| normal[j])
                .sum();
            if words[0] != 0 {
                labels.set(matrix.rows(), product >= 0.0);
                matrix.push_row(&words);
            }
        }
        Data::new(Features::Boolean(matrix), Labels::of_signs(labels))
    }

    /// Counts the samples of twelve on which the learner converges.
    fn learnt(n: usize, params: &Value, max_passes: u64) -> usize {
        let is_learnt = |seed: &u64| {
            let outcome = run(&separable(n, *seed), params, max_passes);
            assert!(weights(&outcome).iter().all(|w| (0.0..=1.0).contains(w)));
            outcome.termination.reason == Reason::Converged
        };
        (0..12).filter(is_learnt).count()
    }

    #[test]
    fn separable_sets_are_learnt_with_the_defaults_and_mostly_not_beyond_the_assumptions() {
        for n in [10, 20] {
            assert_eq!(learnt(n, &json!({}), 1000), 12, "n = {n}");
            assert_eq!(learnt(n, &json!({"threshold": 0.01}), 1000), 12, "n = {n}");
            let most = learnt(n, &json!({"inhibition": 1}), 300);
            assert!(most <= 2, "n = {n}: {most}");
            assert!(learnt(n, &json!({"threshold": 0.1}), 300) < 12, "n = {n}");
        }
        assert!(learnt(20, &json!({"eta": 0.1}), 300) < 12);
    }

    #[test]
    fn mistake_moves_active_weights_by_a_share_of_the_distance() {
        let data = boolean(&[("101", false), ("011", true)]);
        // 101 scores 0 with the prediction +1, so the weights of 101 fall by a tenth. 011 then scores (0 -
        // 0.05) / 3 with the prediction -1. The weights of 011 rise by a tenth of their distance to 1.
        let outcome = run(&data, &json!({"eta": 0.1}), 1);
        assert_eq!(outcome.counts.mistakes, 2);
        assert_eq!(weights(&outcome), [0.45, 0.55, 0.45 + 0.1 * (1.0 - 0.45)]);
    }

    #[test]
    fn bounded_perceptron_learns_real_features() {
        let values = vec![0.25, 1.0, 0.5, 0.125];
        let labels = Labels::of_signs(BitVector::from_words(2, vec![0b10]));
        let data = Data::new(Features::Real(RealMatrix::from_values(2, values)), labels);
        let outcome = run(&data, &json!({"initial": [1, 0.5]}), 100);
        assert_eq!(outcome.termination.reason, Reason::Converged);
        // The first example scores 0.0625 at the start. That example is a mistake until the second weight is
        // low enough for `0.25 (w0 - 0.5) + (w1 - 0.5) < 0`.
        let w = weights(&outcome);
        assert!(0.25 * (w[0] - 0.5) + (w[1] - 0.5) < 0.0);
        assert!(outcome.counts.mistakes > 1 && w[0] < 1.0);
    }

    /// With W >= 0, x >= 0 and no inhibition every score is >= 0. A negative example of all ones can then not
    /// be learnt. With inhibition, weights below the inhibition act as negative weights.
    #[test]
    fn bounded_perceptron_without_inhibition_has_no_negative_score() {
        let data = boolean(&[("1111", false), ("1000", true)]);
        let without = run(&data, &json!({"inhibition": 0}), 2000);
        assert_eq!(without.termination.reason, Reason::Limit("max_passes"));
        let bound = without.bound.expect("always told");
        assert!(
            bound
                .detail
                .expect("why")
                .starts_with("assumption not met: ")
        );
        assert_eq!((bound.mistakes_at_most, bound.respected), (None, None));
        let with = run(&data, &json!({}), 2000);
        assert_eq!(with.termination.reason, Reason::Converged);
        let bound = with.bound.expect("always told");
        assert!(!bound.detail.expect("what").contains("assumption"));
        assert_eq!((bound.mistakes_at_most, bound.respected), (None, None));
    }

    /// The score of such an example is -threshold. The prediction is always +1 at threshold 0 and always -1
    /// above 0.
    #[test]
    fn an_example_without_active_features_has_its_label_fixed() {
        for (threshold, label) in [(0.0, false), (0.005, true)] {
            let data = boolean(&[("00", label), ("10", true)]);
            let outcome = run(&data, &json!({"threshold": threshold}), 200);
            assert_eq!(outcome.termination.reason, Reason::Limit("max_passes"));
            assert_eq!(outcome.training.expect("counted").errors, 1);
            assert!(outcome.counts.updates < outcome.counts.mistakes);
            let detail = outcome.bound.expect("always told").detail.expect("why");
            assert!(detail.contains("without active features"), "{detail}");
            let data = boolean(&[("00", !label), ("10", true)]);
            let outcome = run(&data, &json!({"threshold": threshold}), 200);
            assert_eq!(outcome.termination.reason, Reason::Converged);
        }
    }

    #[test]
    fn assumptions_that_are_not_met_are_named() {
        let data = boolean(&[("10", true), ("01", false)]);
        for (params, word) in [
            (json!({"inhibition": 0}), "inhibition is 0"),
            (json!({"inhibition": 1}), "not below 1"),
            (json!({"eta": 0.5}), "eta"),
            (json!({"threshold": 0.5}), "threshold"),
        ] {
            let detail = run(&data, &params, 2)
                .bound
                .expect("told")
                .detail
                .expect("why");
            let rest = detail
                .strip_prefix("assumption not met: ")
                .expect("not met");
            assert!(rest.contains(word), "{rest}");
        }
    }
}

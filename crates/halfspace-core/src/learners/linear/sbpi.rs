//! The learner `sbpi`, a perceptron inspired by belief propagation: it keeps one odd integer per binary weight, the
//! state, whose sign is the weight. A mistake moves all states, and an example that is only just right moves some of
//! them away from zero.
//!
//! C. Baldassi, A. Braunstein, N. Brunel, R. Zecchina, "Efficient supervised learning in networks with binary
//! synapses", PNAS 104 (2007) 11079-11084. No theorem is claimed. D is the product of the weights and the half-space
//! example u. It is made odd: if the number of features is even, an example counts a further feature 1 (-1 if it was
//! reflected) with the weight 1.
//!
//! - If D < 0, the example is a mistake and all states change by 2u.
//! - If D = 1, the example is only just right. Then with probability `reinforcement` the states whose weights agree
//!   with it move by 2 away from zero. This changes no weight, so the hypothesis is constant between two mistakes and
//!   the confidence rule `anytime` applies.
//!
//! | parameter | default | meaning |
//! |---|---|---|
//! | `reinforcement` | 0.3 | the share of barely right examples that are learnt from |
//! | `order` | shuffled | the order of the data, or a new order per pass |
//!
//! ```
//! use halfspace_core::learners::catalogue::find;
//! use halfspace_core::learners::sample::generate::Plan;
//! use halfspace_core::learners::engine::random::Seed;
//! use halfspace_core::learners::engine::run::Run;
//! use halfspace_core::learners::engine::stopping::Sampling;
//! use halfspace_core::learners::engine::input::Input;
//! use halfspace_core::learners::engine::task::Task;
//! use halfspace_core::learners::engine::train::train;
//!
//! let target = Plan::random_target(101, Seed(1));
//! let plan = Plan::endless(target, Sampling::UniformPositive);
//! let task = Task::of(find("sbpi").expect("listed"), Seed(1));
//! let outcome = train(&task, Input::Generated(&plan), &Run::default()).expect("an end");
//! assert!(outcome.target.expect("a hidden target").recovered);
//! assert_eq!(outcome.termination.confidence, Some(0.99));
//! assert!(outcome.counts.mistakes < 300);
//! ```

use std::ops::Range;

use rand::{RngExt, SeedableRng};

use crate::bits::{self, BLOCK_ROWS};

use crate::learners::drift::directed_drift::{DATA, binary_weights};
use crate::learners::engine::entry::{DefaultStop, Guarantee, LearnerEntry, Pace, Replay};
use crate::learners::engine::parameters::{Minimum, Parameter, ParameterKind, Parameters};
use crate::learners::engine::random::Generator;
use crate::learners::engine::reason::Reason;
use crate::learners::engine::rule::{Kind, OnlineRule, Order, Rule};
use crate::learners::engine::run::StopFlag;
use crate::learners::engine::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};
use crate::learners::engine::stopping::StopRule;
use crate::learners::engine::update::Update;
use crate::learners::hypothesis::Hypothesis;
use crate::learners::linear::hidden_states::HiddenStates;
use crate::learners::message_passing::planted;
use crate::learners::predictor::Predictor;
use crate::learners::sample::block::Block;
use crate::learners::sample::block::half_space_limits;
use crate::learners::sample::source::Presentation;

/// The default share of barely right examples that are learnt from.
pub const REINFORCEMENT_DEFAULT: f64 = 0.3;

const REINFORCEMENT: Parameter = Parameter {
    name: "reinforcement",
    kind: ParameterKind::Number {
        minimum: Minimum::AtLeast(0.0),
        at_most: 1.0,
        default: REINFORCEMENT_DEFAULT,
    },
    description: "Probability to learn from a correct example with a small margin, from 0 to 1.",
};

pub const ORDER: Parameter = Parameter {
    name: "order",
    kind: ParameterKind::Choice {
        options: &["cyclic", "shuffled"],
        default: "shuffled",
    },
    description: "The order of examples: the order of the data, or a new random order per pass. A \
                  session or an unlimited stream keeps its own order.",
};

/// The order that [`ORDER`] asks for.
pub fn order(parameters: &Parameters) -> Order {
    match parameters.choice(ORDER.name) {
        "shuffled" => Order::Shuffled,
        _ => Order::Cyclic,
    }
}

pub static ENTRY: LearnerEntry = LearnerEntry {
    name: "sbpi",
    title: "SBPI (belief-propagation-inspired perceptron)",
    learns: "Binary weights of a majority function from about two examples per weight, also for \
             random labels; on-line.",
    data: DATA,
    reading: "signed",
    presentation: Presentation::HalfSpace,
    on_line: true,
    pace: Pace::Steady,
    confidence_rules: &[StopRule::Anytime],
    is_conservative: true,
    replay: Replay::Whole,
    default_stop: DefaultStop::PassesOrConfidence(1000),
    parameters: &[REINFORCEMENT, ORDER],
    guarantee: Guarantee {
        theorem: "no theorem",
        bound: "Measured at n = 1001: two examples per weight are learnt in about 30 passes; fresh \
                examples with about 1.6 n mistakes; random labels up to 0.6 examples per weight.",
    },
    source: "C. Baldassi, A. Braunstein, N. Brunel, R. Zecchina, Efficient supervised learning in \
             networks with binary synapses, PNAS 104 (2007)",
    check: None,
    build: |setup| {
        let order = order(setup.parameters);
        let reinforcement = setup.parameters.number(REINFORCEMENT.name);
        Ok(Box::new(Sbpi::new(
            setup.n,
            reinforcement,
            order,
            setup.random,
        )))
    },
};

pub struct Sbpi {
    states: HiddenStates,
    reinforcement: f64,
    order: Order,
    /// Draws which barely right examples are learnt from.
    random: Generator,
}

impl Sbpi {
    /// The rule with random weights.
    pub fn new(n: usize, reinforcement: f64, order: Order, random: &mut Generator) -> Self {
        Self {
            states: HiddenStates::random(n, random),
            reinforcement,
            order,
            random: Generator::from_rng(random),
        }
    }
}

impl Rule for Sbpi {
    fn kind(&mut self) -> Kind<'_> {
        Kind::Online(self)
    }

    fn start_from(&mut self, hypothesis: &Hypothesis) -> Result<(), String> {
        self.states = HiddenStates::of(binary_weights(hypothesis)?);
        Ok(())
    }

    fn predictor(&self) -> Predictor {
        Hypothesis::BinaryWeights(self.states.weights().clone()).into()
    }

    fn remark(&self, reason: Reason, examples: u64) -> Option<String> {
        planted::remark(self.states.n(), reason, examples)
    }

    fn snapshot(&mut self, snapshot: &mut SnapshotWriter) {
        self.states.snapshot(snapshot);
        snapshot.generator(&self.random);
    }

    fn restore(&mut self, snapshot: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.states.restore(snapshot)?;
        self.random = snapshot.generator()?;
        Ok(())
    }
}

impl OnlineRule for Sbpi {
    fn order(&self) -> Order {
        self.order
    }

    fn first_mistake(
        &mut self,
        block: &Block<'_>,
        rows: Range<usize>,
        _: &StopFlag,
    ) -> Option<usize> {
        let (limit, ties) = half_space_limits(self.states.n(), block.reflected);
        let mut distances = [0; BLOCK_ROWS];
        bits::disagreements(block.bits(), self.states.weights().words(), &mut distances);
        for row in rows {
            // D = 2 (limit - doubts) + 1.
            let doubts = distances[row] + (ties >> row & 1) as u32;
            if doubts > limit {
                return Some(row);
            }
            if doubts == limit && self.random.random_bool(self.reinforcement) {
                self.states.hold_agreeing(block, row);
            }
        }
        None
    }

    fn update(&mut self, block: &Block<'_>, row: usize, _: &mut Generator) -> Update {
        self.states.follow(block, row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::engine::check::check;
    use crate::learners::engine::input::{Input, TaskError};
    use crate::learners::engine::random::Seed;
    use crate::learners::engine::stopping::Sampling;
    use crate::learners::engine::task::Task;
    use crate::learners::message_passing::planted::samples::{hidden, recovered, stored};
    use crate::learners::sample::generate::Plan;
    use serde_json::{Value, json};

    #[test]
    fn sbpi_makes_1_6_mistakes_per_weight() {
        for seed in 1..=4 {
            let outcome = hidden(&ENTRY, &json!({}), (1001, None), seed);
            assert!(outcome.target.expect("hidden").recovered);
            assert_eq!(outcome.termination.reason, Reason::Confident);
            let mistakes = outcome.counts.mistakes as f64 / 1001.0;
            assert!((mistakes - 1.6).abs() < 0.2, "{mistakes}");
            let points = outcome.trace.expect("wanted").points().to_vec();
            // The last point is the end of the run.
            let last = points[points.len() - 2].examples as f64 / 1001.0;
            assert!((7.0..11.0).contains(&last), "{last}");
        }
    }

    #[test]
    fn sbpi_finds_hidden_weights_in_two_examples_per_weight() {
        assert_eq!(recovered(&ENTRY, &json!({}), (1001, 2002), 2), 2);
        // A small and even number of features.
        assert!(recovered(&ENTRY, &json!({}), (100, 300), 10) >= 9);
    }

    #[test]
    fn sbpi_learns_random_labels() {
        assert!((1..=2).all(|seed| stored(&ENTRY, &json!({}), 1001, 601, seed)));
    }

    /// An unlimited stream accepts the default order. A requested shuffled order needs a sample.
    #[test]
    fn sbpi_on_an_unlimited_stream_refuses_a_requested_order() {
        let plan = Plan::endless(Plan::random_target(9, Seed(1)), Sampling::UniformPositive);
        let check_with = |params: Value| {
            let object = params.as_object().expect("an object");
            let task = Task {
                parameters: Parameters::from_json(ENTRY.parameters, object).expect("parameters"),
                ..Task::of(&ENTRY, Seed(1))
            };
            check(&task, Input::Generated(&plan), u64::MAX)
        };
        assert_eq!(check_with(json!({})), Ok(()));
        assert_eq!(check_with(json!({"order": "cyclic"})), Ok(()));
        let refused = check_with(json!({"order": "shuffled"}));
        assert!(
            matches!(refused, Err(TaskError::WrongStop { .. })),
            "{refused:?}"
        );
    }

    #[test]
    fn sbpi_without_reinforcement_makes_more_mistakes() {
        let mistakes = |reinforcement: f64| {
            let params = json!({"reinforcement": reinforcement});
            hidden(&ENTRY, &params, (101, None), 1).counts.mistakes
        };
        assert!(mistakes(0.0) > mistakes(0.3));
    }
}

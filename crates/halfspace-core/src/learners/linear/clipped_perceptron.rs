//! The learner `clipped-perceptron` (CP+R): the perceptron rule on one integer per binary weight, with reinforcement.
//! The weight is the sign of its integer, the state: see `hidden_states.rs`.
//!
//! C. Baldassi, "Generalization learning in a perceptron with binary synapses", J. Stat. Phys. 136 (2009) 902-916. No
//! theorem is claimed. On a mistake on the half-space example u, all states change by 2u. After every example, mistaken
//! or not, each state moves by 2 away from zero with probability `reinforcement sqrt(2 / (pi n))`. Such a move changes
//! no weight, so the hypothesis is constant between two mistakes and the confidence rule `anytime` holds.
//!
//! | parameter | default | meaning |
//! |---|---|---|
//! | `reinforcement` | 0.3 | factor of the probability with which a state moves away from zero |
//! | `order` | shuffled | the order of the data, or a new random order per pass |
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
//! let task = Task::of(find("clipped-perceptron").expect("listed"), Seed(1));
//! let outcome = train(&task, Input::Generated(&plan), &Run::default()).expect("an end");
//! assert!(outcome.target.expect("a hidden target").recovered);
//! assert_eq!(outcome.termination.confidence, Some(0.99));
//! ```

use std::f64::consts::PI;
use std::ops::Range;

use rand::{Rng, SeedableRng};

use crate::learners::drift::directed_drift::{binary_weights, first_half_space_mistake};
use crate::learners::engine::entry::{Guarantee, LearnerEntry, Setup};
use crate::learners::engine::parameters::{Minimum, Parameter, ParameterKind};
use crate::learners::engine::random::Generator;
use crate::learners::engine::reason::Reason;
use crate::learners::engine::rule::{Kind, OnlineRule, Order, Rule};
use crate::learners::engine::run::StopFlag;
use crate::learners::engine::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};
use crate::learners::engine::update::Update;
use crate::learners::hypothesis::Hypothesis;
use crate::learners::linear::hidden_states::HiddenStates;
use crate::learners::linear::sbpi::{self, ORDER, order};
use crate::learners::message_passing::planted;
use crate::learners::predictor::Predictor;
use crate::learners::sample::block::Block;

/// The parameter for the probability of the reinforcement.
const REINFORCEMENT: Parameter = Parameter {
    name: "reinforcement",
    kind: ParameterKind::Number {
        minimum: Minimum::AtLeast(0.0),
        at_most: 1.0,
        default: 0.3,
    },
    description: "Factor of sqrt(2 / (pi n)) in the probability that the state of a weight moves \
                  away from zero at an example; from 0 to 1.",
};

pub static ENTRY: LearnerEntry = LearnerEntry {
    name: "clipped-perceptron",
    title: "Clipped perceptron with reinforcement (CP+R)",
    learns: "Binary weights of a majority function from about two examples per weight; on-line. \
             Not for random labels.",
    parameters: &[REINFORCEMENT, ORDER],
    guarantee: Guarantee {
        theorem: "no theorem",
        bound: "Measured at n = 1001: two examples per weight are learnt in 30 to 40 passes; fresh \
                examples with about 1.45 n mistakes.",
    },
    source: "C. Baldassi, Generalization learning in a perceptron with binary synapses, J. Stat. \
             Phys. 136 (2009)",
    build: |setup| Ok(Box::new(ClippedPerceptron::new(setup))),
    ..sbpi::ENTRY
};

struct ClippedPerceptron {
    states: HiddenStates,
    order: Order,
    /// ln(1 - p) for the probability p with which a state moves. `None` if p is 0.
    ln_rest: Option<f64>,
    /// How many states to skip before the next one that moves. The count runs through the states of one presentation
    /// after another.
    resting: u64,
    random: Generator,
}

impl ClippedPerceptron {
    fn new(setup: &mut Setup<'_>) -> Self {
        let (n, parameters) = (setup.n, setup.parameters);
        let scale = libm::sqrt(2.0 / (PI * n as f64));
        let probability = parameters.number(REINFORCEMENT.name) * scale;
        let mut rule = Self {
            states: HiddenStates::random(n, setup.random),
            order: order(parameters),
            ln_rest: (probability > 0.0).then(|| libm::log1p(-probability)),
            resting: 0,
            random: Generator::from_rng(setup.random),
        };
        rule.resting = rule.draw_resting();
        rule
    }

    /// Draws the number of states to skip from the geometric distribution.
    fn draw_resting(&mut self) -> u64 {
        let Some(ln_rest) = self.ln_rest else {
            return u64::MAX;
        };
        // Uniform in (0, 1].
        let uniform = ((self.random.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        libm::floor(libm::log(uniform) / ln_rest) as u64
    }

    /// Moves the drawn states for the given number of presentations under the present weights.
    fn present(&mut self, presentations: usize) {
        let n = self.states.n() as u64;
        let mut left = presentations as u64 * n;
        while self.resting < left {
            left -= self.resting + 1;
            // A presentation counts n states, so the remainder of `left` gives the index of the state.
            self.states.hold((n - 1 - left % n) as usize);
            self.resting = self.draw_resting();
        }
        self.resting -= if self.ln_rest.is_some() { left } else { 0 };
    }
}

impl Rule for ClippedPerceptron {
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
        snapshot.number(self.resting);
        snapshot.generator(&self.random);
    }

    fn restore(&mut self, snapshot: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.states.restore(snapshot)?;
        self.resting = snapshot.number()?;
        self.random = snapshot.generator()?;
        Ok(())
    }
}

impl OnlineRule for ClippedPerceptron {
    fn order(&self) -> Order {
        self.order
    }

    fn first_mistake(
        &mut self,
        block: &Block<'_>,
        rows: Range<usize>,
        _: &StopFlag,
    ) -> Option<usize> {
        let mistake = first_half_space_mistake(self.states.weights(), block, rows.clone());
        self.present(mistake.unwrap_or(rows.end) - rows.start);
        mistake
    }

    fn update(&mut self, block: &Block<'_>, row: usize, _: &mut Generator) -> Update {
        let update = self.states.follow(block, row);
        self.present(1);
        update
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::engine::parameters::Parameters;
    use crate::learners::engine::random::{Purpose, Seed};
    use crate::learners::message_passing::planted::samples::{hidden, recovered, stored};
    use serde_json::json;

    fn rule(n: usize, reinforcement: f64) -> ClippedPerceptron {
        let params = json!({"reinforcement": reinforcement});
        let object = params.as_object().expect("an object");
        ClippedPerceptron::new(&mut Setup {
            parameters: &Parameters::from_json(ENTRY.parameters, object).expect("parameters"),
            n,
            real: false,
            active_max: None,
            parts: None,
            random: &mut Seed(3).generator(Purpose::Learner),
        })
    }

    /// Reads the states of a rule from a snapshot of them.
    fn states(rule: &ClippedPerceptron) -> Vec<i64> {
        let mut writer = SnapshotWriter::default();
        rule.states.snapshot(&mut writer);
        let bytes = writer.finish();
        let numbers = SnapshotReader::new(&bytes).numbers(rule.states.n());
        numbers
            .expect("states")
            .into_iter()
            .map(u64::cast_signed)
            .collect()
    }

    #[test]
    fn clipped_perceptron_reinforces_alike_in_batches_and_one_by_one() {
        let (mut together, mut apart) = (rule(5, 1.0), rule(5, 1.0));
        for presentations in [1, 7, 992, 19_000] {
            together.present(presentations);
            (0..presentations).for_each(|_| apart.present(1));
        }
        assert_eq!(states(&together), states(&apart));
        assert_eq!(together.resting, apart.resting);
        let probability = (2.0 / (PI * 5.0)).sqrt();
        for state in states(&together) {
            let moves = (state.abs() - 1) / 2;
            let error = (moves as f64 - 20_000.0 * probability).abs();
            assert!(
                error < 5.0 * (20_000.0 * probability * (1.0 - probability)).sqrt(),
                "{moves}"
            );
        }
        let mut never = rule(5, 0.0);
        never.present(1000);
        assert!(states(&never).iter().all(|state| state.abs() == 1));
    }

    #[test]
    fn clipped_perceptron_makes_1_45_mistakes_per_weight() {
        for seed in 1..=4 {
            let outcome = hidden(&ENTRY, &json!({}), (1001, None), seed);
            assert!(outcome.target.expect("hidden").recovered);
            assert_eq!(outcome.termination.reason, Reason::Confident);
            let mistakes = outcome.counts.mistakes as f64 / 1001.0;
            assert!((mistakes - 1.45).abs() < 0.2, "{mistakes}");
        }
    }

    #[test]
    fn clipped_perceptron_finds_hidden_weights_but_no_random_labels() {
        assert_eq!(recovered(&ENTRY, &json!({}), (501, 1252), 2), 2);
        assert!(!stored(&ENTRY, &json!({}), 301, 211, 1));
    }
}

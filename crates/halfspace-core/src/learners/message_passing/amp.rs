//! The learner `amp`: approximate message passing finds binary weights with few examples.
//!
//! The algorithm and its sources are in `search.rs`; this file holds the catalogue entry, the parameters of the budget
//! and the [`Rule`] of the search. The search reads the whole sample in each pass. In the limit of large n it finds
//! hidden weights from about 1.493 n uniform examples on (Barbier and others, see `search.rs`), where 1.245 n determine
//! them.
//!
//! | parameter | default | meaning |
//! |---|---|---|
//! | `max_iterations` | 1000 | passes over the sample from one start |
//! | `restarts` | 0 | further starts from random weights |
//!
//! Restarts hardly help, because where a search starts has little influence: measured at n = 1001, all successes came
//! before the first restart.
//!
//! A run ends as `consistent` only after a pass that counted no mistake of the weights in exact integer arithmetic.
//! If it starts from a model, it tests the weights of that model first.
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
//! let target = Plan::random_target(301, Seed(1));
//! let plan = Plan {
//!     count: Some(600),
//!     ..Plan::endless(target, Sampling::UniformPositive)
//! };
//! let task = Task::of(find("amp").expect("listed"), Seed(1));
//! let outcome = train(&task, Input::Generated(&plan), &Run::default()).expect("an end");
//! assert_eq!(outcome.termination.reason.name(), "consistent");
//! assert!(outcome.target.expect("a hidden target").recovered);
//! ```

use crate::learners::drift::directed_drift::{DATA, binary_weights};
use crate::learners::engine::entry::{DefaultStop, Guarantee, LearnerEntry, Pace, Replay};
use crate::learners::engine::parameters::{Parameter, ParameterKind, Parameters};
use crate::learners::engine::random::Generator;
use crate::learners::engine::reason::Reason;
use crate::learners::engine::rule::{Kind, Rule, SearchRule};
use crate::learners::engine::run::StopFlag;
use crate::learners::engine::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};
use crate::learners::engine::update::Update;
use crate::learners::hypothesis::Hypothesis;
use crate::learners::message_passing::planted;
use crate::learners::message_passing::search::{Amplification, MessagePassing, SearchLimits};
use crate::learners::predictor::Predictor;
use crate::learners::sample::block::Block;
use crate::learners::sample::source::{Presentation, SharedSample};

const MAX_ITERATIONS_DEFAULT: u64 = 1000;

/// The budget of a run whose request sets neither parameter.
pub const BUDGET: SearchLimits = SearchLimits {
    max_iterations: MAX_ITERATIONS_DEFAULT,
    restarts: 0,
};

/// The parameter for the passes from one start.
pub const MAX_ITERATIONS: Parameter = Parameter {
    name: "max_iterations",
    kind: ParameterKind::Count {
        minimum: 1,
        maximum: 1_000_000,
        default: "1000",
    },
    description: "Passes over the sample from one start.",
};

/// The parameter for the starts after the first.
pub const fn restarts(default: &'static str) -> Parameter {
    Parameter {
        name: "restarts",
        kind: ParameterKind::Count {
            minimum: 0,
            maximum: 1_000_000,
            default,
        },
        description: "Further random starts after a start without a solution.",
    }
}

/// The budget that the parameters set, with missing values from `default`.
pub fn budget(parameters: &Parameters, default: SearchLimits) -> SearchLimits {
    SearchLimits {
        max_iterations: parameters
            .count(MAX_ITERATIONS.name)
            .unwrap_or(default.max_iterations),
        restarts: parameters.count("restarts").unwrap_or(default.restarts),
    }
}

pub static ENTRY: LearnerEntry = LearnerEntry {
    name: "amp",
    title: "AMP (approximate message passing)",
    learns: "Binary weights of a majority function from about 1.6 uniform examples per weight.",
    data: DATA,
    reading: "signed",
    presentation: Presentation::HalfSpace,
    on_line: false,
    pace: Pace::Steady,
    confidence_rules: &[],
    is_conservative: false,
    replay: Replay::Whole,
    default_stop: DefaultStop::Own,
    parameters: &[MAX_ITERATIONS, restarts("0")],
    guarantee: Guarantee {
        theorem: "Barbier, Krzakala, Macris, Miolane, Zdeborova",
        bound: "In the limit of large n, hidden weights are found from about 1.493 n uniform \
                examples on. About 1.245 n determine them (Gyorgyi 1990; 1.448 n rigorously), and \
                between the two no efficient method is known.",
    },
    source: "J. Barbier, F. Krzakala, N. Macris, L. Miolane, L. Zdeborova, Optimal errors and phase \
             transitions in high-dimensional generalized linear models, PNAS 116 (2019)",
    check: None,
    build: |setup| {
        let budget = budget(setup.parameters, BUDGET);
        Ok(Box::new(MessagePassing::new(
            setup.n,
            Amplification::None,
            budget,
            setup.random,
        )))
    },
};

impl Rule for MessagePassing {
    fn kind(&mut self) -> Kind<'_> {
        Kind::Search(self)
    }

    fn start_from(&mut self, hypothesis: &Hypothesis) -> Result<(), String> {
        self.start_at(binary_weights(hypothesis)?);
        Ok(())
    }

    fn mistakes(&mut self, block: &Block<'_>, _: &StopFlag) -> u64 {
        self.read(block)
    }

    fn evaluated(&mut self, errors: u64) {
        Self::evaluated(self, errors);
    }

    fn clean_pass(&mut self) -> Reason {
        Reason::Consistent
    }

    fn predictor(&self) -> Predictor {
        Self::predictor(self)
    }

    fn remark(&self, reason: Reason, examples: u64) -> Option<String> {
        planted::remark(self.n(), reason, examples)
    }

    fn snapshot(&mut self, snapshot: &mut SnapshotWriter) {
        Self::snapshot(self, snapshot);
    }

    fn restore(&mut self, snapshot: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        Self::restore(self, snapshot)
    }

    fn bytes_an_example(&self) -> u64 {
        size_of::<f64>() as u64
    }
}

impl SearchRule for MessagePassing {
    fn mistakes_ahead(&mut self, sample: &SharedSample<'_>, stop: &StopFlag) -> Vec<u64> {
        self.read_ahead(sample, stop)
    }

    fn search(&mut self, random: &mut Generator) -> Update {
        Self::search(self, random)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::engine::check::check;
    use crate::learners::engine::holdout::HeldOut;
    use crate::learners::engine::input::{Input, TaskError};
    use crate::learners::engine::random::Seed;
    use crate::learners::engine::run::Run;
    use crate::learners::engine::stopping::Sampling;
    use crate::learners::engine::task::Task;
    use crate::learners::engine::train::train;
    use crate::learners::message_passing::planted::samples::{hidden, recovered};
    use crate::learners::sample::generate::Plan;
    use serde_json::json;

    /// An independent implementation with one start recovered 41 % of the targets at 1.5 examples per weight.
    /// The same implementation recovered 95 % at 2 and all at 2.5.
    #[test]
    fn amp_recovery_rises_between_1_5_and_2_5_examples_per_weight() {
        let params = json!({"restarts": 0, "max_iterations": 60});
        let shares = [152, 202, 253].map(|count| recovered(&ENTRY, &params, (101, count), 60));
        assert!((14..=36).contains(&shares[0]), "{shares:?}");
        assert!(shares[1] >= 52 && shares[2] >= 58, "{shares:?}");
    }

    #[test]
    fn amp_recovers_1001_weights_from_1_6_examples_per_weight() {
        for seed in 1..=3 {
            let outcome = hidden(&ENTRY, &json!({}), (1001, Some(1602)), seed);
            assert!(outcome.target.expect("hidden").recovered);
            assert_eq!(outcome.termination.reason, Reason::Consistent);
            assert_eq!(outcome.termination.detail, None);
            assert!(
                (8..60).contains(&outcome.counts.passes),
                "{:?}",
                outcome.counts
            );
        }
    }

    #[test]
    fn amp_detail_names_the_hard_region_and_undetermined_weights() {
        let params = json!({"restarts": 1, "max_iterations": 20});
        let outcome = hidden(&ENTRY, &params, (301, Some(410)), 1);
        assert_eq!(outcome.termination.reason, Reason::Limit("restarts"));
        let detail = outcome.termination.detail.expect("why");
        assert!(
            detail.starts_with("restarts: 1.362") && detail.contains("hard region"),
            "{detail}"
        );
        // The outcome holds the candidate with the fewest errors of both starts.
        assert!(outcome.training.expect("counted").errors < 100);
        assert_eq!(outcome.counts.passes, 42);
        let few = hidden(&ENTRY, &json!({}), (301, Some(30)), 1);
        assert_eq!(few.termination.reason, Reason::Consistent);
        assert!(
            few.termination
                .detail
                .expect("a warning")
                .contains("other weights")
        );
    }

    /// The remark counts only the training examples. Their density is 1.46 examples per weight instead of
    /// 1.62.
    #[test]
    fn amp_density_omits_held_out_examples() {
        let plan = Plan {
            count: Some(488),
            ..Plan::endless(Plan::random_target(301, Seed(1)), Sampling::UniformPositive)
        };
        let parameters = json!({"restarts": 0, "max_iterations": 3});
        let parameters = parameters.as_object().expect("an object");
        let task = Task {
            parameters: Parameters::from_json(ENTRY.parameters, parameters).expect("parameters"),
            holdout: Some(HeldOut::Share(0.1)),
            ..Task::of(&ENTRY, Seed(1))
        };
        let outcome = train(&task, Input::Generated(&plan), &Run::default()).expect("an end");
        assert_eq!(outcome.holdout.expect("counted").examples, 49);
        let detail = outcome.termination.detail.expect("why");
        assert!(detail.starts_with("restarts: 1.458"), "{detail}");
    }

    #[test]
    fn amp_refuses_an_unlimited_stream() {
        let plan = Plan::endless(Plan::random_target(9, Seed(1)), Sampling::UniformPositive);
        let mut task = Task::of(&ENTRY, Seed(1));
        task.limits.max_examples = Some(100);
        let refused = check(&task, Input::Generated(&plan), u64::MAX);
        assert!(
            matches!(refused, Err(TaskError::WrongStop { .. })),
            "{refused:?}"
        );
    }

    #[test]
    fn amp_recovers_an_even_number_of_weights() {
        assert!(recovered(&ENTRY, &json!({}), (200, 400), 10) >= 9);
        assert!(recovered(&ENTRY, &json!({}), (2, 10), 10) >= 9);
        assert_eq!(recovered(&ENTRY, &json!({}), (1, 5), 10), 10);
    }
}

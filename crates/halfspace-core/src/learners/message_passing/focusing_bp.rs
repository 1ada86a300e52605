//! The learner `focusing-bp`: message passing for several coupled copies of the weights, which attract each other. It
//! is for random labels, and from about 0.73 of them per weight on it finds weights more often than `reinforced-amp`.
//! No theorem is claimed. The algorithm and its source are in `search.rs`.
//!
//! | parameter | default | meaning |
//! |---|---|---|
//! | `max_iterations` | 10000 | passes over the sample from one start |
//! | `restarts` | 5 | further random starts |
//! | `step` | 0.0005 | increase of rho per iteration, which strengthens the attraction |
//!
//! A run with a smaller step takes longer and finds weights more often.
//!
//! ```
//! use halfspace_core::bits::BitMatrix;
//! use halfspace_core::learners::catalogue::find;
//! use halfspace_core::learners::sample::data::{Data, Features, Labels};
//! use halfspace_core::learners::engine::random::{Purpose, Seed};
//! use halfspace_core::learners::engine::run::Run;
//! use halfspace_core::learners::engine::input::Input;
//! use halfspace_core::learners::engine::task::Task;
//! use halfspace_core::learners::engine::train::train;
//! use rand::RngExt;
//!
//! // 0.6 random examples per weight.
//! let (mut examples, mut random) = (BitMatrix::new(320), Seed(1).generator(Purpose::Examples));
//! for _ in 0..192 {
//!     examples.push_row(&[0; 5].map(|_: u64| random.random()));
//! }
//! let data = Data::new(Features::Boolean(examples), Labels::HalfSpace);
//! let task = Task::of(find("focusing-bp").expect("listed"), Seed(1));
//! let input = Input::Sample { data: &data, assume: None };
//! let outcome = train(&task, input, &Run::default()).expect("an end");
//! assert_eq!(outcome.termination.reason.name(), "consistent");
//! assert_eq!(outcome.training.expect("counted").errors, 0);
//! ```

use crate::learners::engine::entry::{Guarantee, LearnerEntry};
use crate::learners::engine::parameters::{Minimum, Parameter, ParameterKind};
use crate::learners::message_passing::amp::{self, MAX_ITERATIONS, budget, restarts};
use crate::learners::message_passing::search::{Amplification, MessagePassing, SearchLimits};

/// The default step.
const STEP: f64 = 0.0005;

/// The budget of a run whose request sets no parameter.
const BUDGET: SearchLimits = SearchLimits {
    max_iterations: 10_000,
    restarts: 5,
};

pub static ENTRY: LearnerEntry = LearnerEntry {
    name: "focusing-bp",
    title: "Focusing belief propagation",
    learns: "Some binary weights that are consistent with random labels, up to about 0.73 examples \
             per weight.",
    parameters: &[
        Parameter {
            kind: ParameterKind::Count {
                minimum: 1,
                maximum: 1_000_000,
                default: "10000",
            },
            ..MAX_ITERATIONS
        },
        restarts("5"),
        Parameter {
            name: "step",
            kind: ParameterKind::Number {
                minimum: Minimum::Above(0.0),
                at_most: 1.0,
                default: STEP,
            },
            description: "Increase of the attraction per iteration, above 0 and at most 1.",
        },
    ],
    guarantee: Guarantee {
        theorem: "no theorem",
        bound: "Measured at n = 1001 on 20 samples of random labels per density: 19 samples are learnt \
                at 0.70 examples per weight, 14 at 0.73 and 9 at 0.75. `reinforced-amp` learns 20, 9 \
                and 6 of them.",
    },
    source: "C. Baldassi, C. Borgs, J. Chayes, A. Ingrosso, C. Lucibello, L. Saglietti, R. Zecchina, \
             Unreasonable effectiveness of learning neural networks, PNAS 113 (2016) E7655-E7662",
    build: |setup| {
        let step = setup.parameters.number("step");
        let budget = budget(setup.parameters, BUDGET);
        let focusing = Amplification::Focusing(step);
        Ok(Box::new(MessagePassing::new(
            setup.n,
            focusing,
            budget,
            setup.random,
        )))
    },
    ..amp::ENTRY
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::engine::reason::Reason;
    use crate::learners::message_passing::planted::samples::{hidden, stored};
    use serde_json::json;

    #[test]
    fn focusing_bp_learns_random_labels_only_by_focusing() {
        assert!(stored(&ENTRY, &json!({"step": 0.001}), 1001, 671, 1));
        assert!(stored(&ENTRY, &json!({"step": 0.001}), 301, 181, 2));
        let slow = json!({"step": 1e-9, "max_iterations": 200, "restarts": 0});
        assert!(!stored(&ENTRY, &slow, 301, 181, 2));
    }

    #[test]
    fn focusing_bp_does_not_learn_labels_beyond_capacity() {
        assert!(!stored(
            &ENTRY,
            &json!({"step": 0.003, "restarts": 0}),
            301,
            300,
            1
        ));
    }

    #[test]
    fn focusing_bp_ends_after_max_iterations() {
        let params = json!({"max_iterations": 30, "restarts": 0});
        let outcome = hidden(&ENTRY, &params, (301, Some(410)), 1);
        assert_eq!(outcome.termination.reason, Reason::Limit("restarts"));
        assert_eq!(outcome.counts.passes, 31);
    }
}

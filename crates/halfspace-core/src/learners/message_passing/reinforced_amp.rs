//! The learner `reinforced-amp`: message passing that pulls each weight towards its current sign. It is for samples
//! that many binary weights fit, such as those with random labels. No theorem is claimed. The algorithm and its source
//! are in `search.rs`.
//!
//! | parameter | default | meaning |
//! |---|---|---|
//! | `max_iterations` | 1000 | passes over the sample from one start |
//! | `restarts` | 10 | further random starts |
//! | `reinforcement` | 0.003 | rho: the strength of the amplification, from 0 to 1 |
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
//! // Half as many random examples as weights.
//! let (mut examples, mut random) = (BitMatrix::new(256), Seed(1).generator(Purpose::Examples));
//! for _ in 0..128 {
//!     examples.push_row(&[0; 4].map(|_: u64| random.random()));
//! }
//! let data = Data::new(Features::Boolean(examples), Labels::HalfSpace);
//! let task = Task::of(find("reinforced-amp").expect("listed"), Seed(1));
//! let input = Input::Sample { data: &data, assume: None };
//! let outcome = train(&task, input, &Run::default()).expect("an end");
//! assert_eq!(outcome.termination.reason.name(), "consistent");
//! assert_eq!(outcome.training.expect("counted").errors, 0);
//! ```

use crate::learners::engine::entry::{Guarantee, LearnerEntry};
use crate::learners::engine::parameters::{Minimum, Parameter, ParameterKind};
use crate::learners::message_passing::amp::{self, BUDGET, MAX_ITERATIONS, budget, restarts};
use crate::learners::message_passing::search::{Amplification, MessagePassing, SearchLimits};

/// The default of rho.
const RHO: f64 = 0.003;

pub static ENTRY: LearnerEntry = LearnerEntry {
    name: "reinforced-amp",
    title: "Reinforced AMP",
    learns: "Some binary weights that are consistent with random labels, up to about 0.7 examples \
             per weight.",
    parameters: &[
        MAX_ITERATIONS,
        restarts("10"),
        Parameter {
            name: "reinforcement",
            kind: ParameterKind::Number {
                minimum: Minimum::AtLeast(0.0),
                at_most: 1.0,
                default: RHO,
            },
            description: "Strength of the pull of each weight towards its current sign, from 0 to \
                          1.",
        },
    ],
    guarantee: Guarantee {
        theorem: "no theorem",
        bound: "Measured at n = 1001: random labels of 0.7 examples per weight are learnt. \
                Consistent weights exist up to 0.833 (Ding, Sun), and none from 0.847 on (arXiv \
                2401.15092).",
    },
    source: "A. Braunstein, R. Zecchina, Learning by message passing in networks of discrete \
             synapses, Phys. Rev. Lett. 96 (2006)",
    build: |setup| {
        let rho = setup.parameters.number("reinforcement");
        let budget = budget(
            setup.parameters,
            SearchLimits {
                restarts: 10,
                ..BUDGET
            },
        );
        Ok(Box::new(MessagePassing::new(
            setup.n,
            Amplification::Reinforcement(rho),
            budget,
            setup.random,
        )))
    },
    ..amp::ENTRY
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::message_passing::planted::samples::stored;
    use serde_json::json;

    #[test]
    fn reinforced_amp_learns_random_labels_only_by_reinforcement() {
        assert!(stored(&ENTRY, &json!({}), 1001, 601, 1));
        assert!(stored(&ENTRY, &json!({}), 301, 181, 2));
        let without = json!({"reinforcement": 0, "restarts": 0, "max_iterations": 200});
        assert!(!stored(&ENTRY, &without, 301, 181, 2));
    }
}

//! The learner `directed-drift-sync` (algorithm D''): Directed Drift that decides all weights at once, by a vote of m
//! examples.
//!
//! A mistake starts a batch, as in [`crate::learners::drift::directed_drift_async`]. Every weight is then flipped that
//! differs from at least half of the batch.
//!
//! S. C. Fang and S. S. Venkatesh, "Learning finite binary sequences from half-space data", section 3. By their Theorem
//! 3, the expected number of mistakes is O(1) if m is at least pi n ln n, which is the default.
//!
//! | parameter | default | meaning |
//! |---|---|---|
//! | `batch_size` | ceil(pi n ln n) | number of examples m per batch |
//! | `initial` | random | the first hypothesis as a bit string |
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
//! let target = Plan::random_target(51, Seed(1));
//! let plan = Plan::endless(target, Sampling::UniformPositive);
//! let task = Task::of(find("directed-drift-sync").expect("listed"), Seed(1));
//! let outcome = train(&task, Input::Generated(&plan), &Run::default()).expect("an end");
//! assert!(outcome.target.expect("a hidden target").recovered);
//! assert!(outcome.counts.mistakes < 5);
//! ```

use crate::bits::BitVector;

use crate::learners::drift::directed_drift::{DATA, INITIAL, SOURCE};
use crate::learners::drift::majority_vote::{BatchDrift, MajorityVote, batch_size};
use crate::learners::engine::entry::{DefaultStop, Guarantee, LearnerEntry, Pace, Replay};
use crate::learners::engine::random::Generator;
use crate::learners::engine::stopping::StopRule;
use crate::learners::engine::update::Update;
use crate::learners::sample::source::Presentation;

pub static ENTRY: LearnerEntry = LearnerEntry {
    name: "directed-drift-sync",
    title: "Directed Drift, batch, synchronous (D'')",
    learns: "Binary weights of a majority function, all bits at once by majority vote.",
    data: DATA,
    reading: "signed",
    presentation: Presentation::HalfSpace,
    on_line: true,
    pace: Pace::Steady,
    confidence_rules: &[StopRule::Anytime, StopRule::PerHypothesis],
    is_conservative: true,
    replay: Replay::Whole,
    default_stop: DefaultStop::Confidence,
    parameters: &[batch_size("ceil(pi n ln n), at least 1"), INITIAL],
    guarantee: Guarantee {
        theorem: "Fang and Venkatesh, Theorem 3",
        bound: "O(1) expected mistakes when batch_size >= pi n ln n.",
    },
    source: SOURCE,
    check: None,
    build: |setup| Ok(Box::new(BatchDrift::new(setup, 1.0, flip_outvoted)?)),
};

fn flip_outvoted(weights: &mut BitVector, ballot: &mut MajorityVote, _: &mut Generator) -> Update {
    if ballot.flip_outvoted(weights) {
        Update::Changed
    } else {
        Update::Unchanged
    }
}

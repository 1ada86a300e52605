//! The learner `directed-drift-async` (algorithm D'): Directed Drift that flips one weight per batch of m examples.
//!
//! A mistake starts a batch. Each of its m examples votes for the coordinates in which it differs from the hypothesis,
//! and the weight with the most votes is flipped; ties are broken uniformly at random. The mistaken example is the
//! first of the batch, and the other m - 1 are read without being tested. With m = 1 this is
//! [`crate::learners::drift::directed_drift`].
//!
//! S. C. Fang and S. S. Venkatesh, "Learning finite binary sequences from half-space data", section 3. By their Theorem
//! 2, the expected number of mistakes is O(n) if m is at least (pi/2) n ln n, which is the default.
//!
//! | parameter | default | meaning |
//! |---|---|---|
//! | `batch_size` | ceil(pi/2 n ln n) | number of examples m per batch |
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
//! let task = Task::of(find("directed-drift-async").expect("listed"), Seed(1));
//! let outcome = train(&task, Input::Generated(&plan), &Run::default()).expect("an end");
//! assert!(outcome.target.expect("a hidden target").recovered);
//! assert!(outcome.counts.mistakes < 51);
//! ```

use rand::RngExt;

use crate::bits::BitVector;

use crate::learners::drift::directed_drift::INITIAL;
use crate::learners::drift::directed_drift_sync;
use crate::learners::drift::majority_vote::{BatchDrift, MajorityVote, batch_size};
use crate::learners::engine::entry::{Guarantee, LearnerEntry};
use crate::learners::engine::random::Generator;
use crate::learners::engine::update::Update;

pub static ENTRY: LearnerEntry = LearnerEntry {
    name: "directed-drift-async",
    title: "Directed Drift, batch, asynchronous (D')",
    learns: "Binary weights of a majority function, one bit per batch, flipped by majority vote.",
    parameters: &[batch_size("ceil(pi/2 n ln n), at least 1"), INITIAL],
    guarantee: Guarantee {
        theorem: "Fang and Venkatesh, Theorem 2",
        bound: "O(n) expected mistakes when batch_size >= pi/2 n ln n.",
    },
    build: |setup| Ok(Box::new(BatchDrift::new(setup, 0.5, flip_most_voted)?)),
    ..directed_drift_sync::ENTRY
};

fn flip_most_voted(
    weights: &mut BitVector,
    ballot: &mut MajorityVote,
    random: &mut Generator,
) -> Update {
    let votes: Vec<u64> = ballot.votes(weights).collect();
    let most = votes.iter().copied().max().unwrap_or(0);
    let leaders = || (0..votes.len()).filter(|&j| votes[j] == most);
    let chosen = random.random_range(0..leaders().count() as u64);
    if let Some(j) = leaders().nth(chosen as usize) {
        weights.flip(j);
    }
    Update::Changed
}

//! Directed Drift in batch mode with asynchronous updates (algorithm D'): on a mistake, let a
//! batch of m examples vote, each for the coordinates in which it differs from the hypothesis,
//! and flip the one coordinate with most votes; ties are broken uniformly at random.
//!
//! S. C. Fang and S. S. Venkatesh, "Learning finite binary sequences from half-space data",
//! section 3. The mistaken example is the first of the batch; the others are consumed untested.
//! With m = 1 this is [`super::directed_drift`].
//!
//! | parameter | default | meaning |
//! |---|---|---|
//! | `batch_size` | ceil(pi/2 n ln n) | examples a batch, m |
//! | `initial` | random | the first hypothesis, a bit string |

use std::ops::Range;

use rand::RngExt;

use crate::bits::BitVector;

use super::ballot::{BATCH_SIZE_MAX, Ballot, default_batch_size};
use super::block::Block;
use super::catalogue::{DefaultStop, Entry, Guarantee};
use super::directed_drift::{DATA, INITIAL, SOURCE, first_half_space_mistake, first_hypothesis};
use super::hypothesis::Hypothesis;
use super::parameters::{Kind, Parameter};
use super::random::Generator;
use super::rule::{Rule, Update};
use super::source::Presentation;

/// The catalogue's entry.
pub static ENTRY: Entry = Entry {
    name: "directed-drift-async",
    title: "Directed Drift, batch, asynchronous (D')",
    learns: "Binary weights of a majority function, one bit a batch, flipped by majority vote.",
    data: DATA,
    reading: "signed",
    presentation: Presentation::HalfSpace,
    on_line: true,
    has_confidence_rule: true,
    default_stop: DefaultStop::Confidence,
    parameters: &[
        Parameter {
            name: "batch_size",
            kind: Kind::Count {
                minimum: 1,
                maximum: BATCH_SIZE_MAX,
                default: "ceil(pi/2 n ln n), at least 1",
            },
            description: "Examples a batch, the mistaken one included.",
        },
        INITIAL,
    ],
    guarantee: Guarantee {
        theorem: "Fang and Venkatesh, Theorem 2",
        bound: "O(n) expected mistakes when batch_size >= pi/2 n ln n.",
    },
    source: SOURCE,
    build: |setup| {
        let default = default_batch_size(0.5, setup.n);
        let size = setup.parameters.count("batch_size").unwrap_or(default);
        Ok(Box::new(DirectedDriftAsync {
            weights: first_hypothesis(setup)?,
            ballot: Ballot::new(setup.n, size),
        }))
    },
};

struct DirectedDriftAsync {
    weights: BitVector,
    ballot: Ballot,
}

impl DirectedDriftAsync {
    fn flip_when_complete(&mut self, random: &mut Generator) -> Update {
        if self.ballot.awaits() > 0 {
            return Update::Awaiting;
        }
        let votes: Vec<u64> = self.ballot.votes(&self.weights).collect();
        let most = votes.iter().copied().max().unwrap_or(0);
        let leaders = || (0..votes.len()).filter(|&j| votes[j] == most);
        let chosen = random.random_range(0..leaders().count() as u64);
        if let Some(j) = leaders().nth(chosen as usize) {
            self.weights.flip(j);
        }
        Update::Changed
    }
}

impl Rule for DirectedDriftAsync {
    fn first_mistake(&mut self, block: &Block<'_>, rows: Range<usize>) -> Option<usize> {
        first_half_space_mistake(&self.weights, block, rows)
    }

    fn update(&mut self, block: &Block<'_>, row: usize, random: &mut Generator) -> Update {
        self.ballot.open(block, row);
        self.flip_when_complete(random)
    }

    fn awaits(&self) -> u64 {
        self.ballot.awaits()
    }

    fn absorb(&mut self, block: &Block<'_>, rows: Range<usize>, random: &mut Generator) -> Update {
        self.ballot.add(block, rows);
        self.flip_when_complete(random)
    }

    fn hypothesis(&self) -> Hypothesis {
        Hypothesis::BinaryWeights(self.weights.clone())
    }
}

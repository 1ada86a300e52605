//! Directed Drift in batch mode with synchronous updates (algorithm D''): on a mistake, let a
//! batch of m examples vote as in [`super::directed_drift_async`] and flip every coordinate in
//! which at least half of them differ from the hypothesis.
//!
//! S. C. Fang and S. S. Venkatesh, "Learning finite binary sequences from half-space data",
//! section 3.
//!
//! | parameter | default | meaning |
//! |---|---|---|
//! | `batch_size` | ceil(pi n ln n) | examples a batch, m |
//! | `initial` | random | the first hypothesis, a bit string |

use std::ops::Range;

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
    name: "directed-drift-sync",
    title: "Directed Drift, batch, synchronous (D'')",
    learns: "Binary weights of a majority function, all bits at once by majority vote.",
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
                default: "ceil(pi n ln n), at least 1",
            },
            description: "Examples a batch, the mistaken one included.",
        },
        INITIAL,
    ],
    guarantee: Guarantee {
        theorem: "Fang and Venkatesh, Theorem 3",
        bound: "O(1) expected mistakes when batch_size >= pi n ln n.",
    },
    source: SOURCE,
    build: |setup| {
        let default = default_batch_size(1.0, setup.n);
        let size = setup.parameters.count("batch_size").unwrap_or(default);
        Ok(Box::new(DirectedDriftSync {
            weights: first_hypothesis(setup)?,
            ballot: Ballot::new(setup.n, size),
        }))
    },
};

struct DirectedDriftSync {
    weights: BitVector,
    ballot: Ballot,
}

impl DirectedDriftSync {
    fn flip_when_complete(&mut self) -> Update {
        if self.ballot.awaits() > 0 {
            return Update::Awaiting;
        }
        let size = self.ballot.size();
        let votes = self.ballot.votes(&self.weights).enumerate();
        let outvoted: Vec<usize> = votes
            .filter(|&(_, votes)| 2 * votes >= size)
            .map(|(j, _)| j)
            .collect();
        for &j in &outvoted {
            self.weights.flip(j);
        }
        if outvoted.is_empty() {
            Update::Unchanged
        } else {
            Update::Changed
        }
    }
}

impl Rule for DirectedDriftSync {
    fn first_mistake(&mut self, block: &Block<'_>, rows: Range<usize>) -> Option<usize> {
        first_half_space_mistake(&self.weights, block, rows)
    }

    fn update(&mut self, block: &Block<'_>, row: usize, _: &mut Generator) -> Update {
        self.ballot.open(block, row);
        self.flip_when_complete()
    }

    fn awaits(&self) -> u64 {
        self.ballot.awaits()
    }

    fn absorb(&mut self, block: &Block<'_>, rows: Range<usize>, _: &mut Generator) -> Update {
        self.ballot.add(block, rows);
        self.flip_when_complete()
    }

    fn hypothesis(&self) -> Hypothesis {
        Hypothesis::BinaryWeights(self.weights.clone())
    }
}

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

use crate::bits::BitVector;

use super::ballot::{Ballot, BatchDrift, batch_size};
use super::catalogue::{DefaultStop, Entry, Guarantee};
use super::directed_drift::{DATA, INITIAL, SOURCE};
use super::random::Generator;
use super::rule::Update;
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
    parameters: &[batch_size("ceil(pi n ln n), at least 1"), INITIAL],
    guarantee: Guarantee {
        theorem: "Fang and Venkatesh, Theorem 3",
        bound: "O(1) expected mistakes when batch_size >= pi n ln n.",
    },
    source: SOURCE,
    check: None,
    build: |setup| Ok(Box::new(BatchDrift::new(setup, 1.0, flip_outvoted)?)),
};

fn flip_outvoted(weights: &mut BitVector, ballot: &mut Ballot, _: &mut Generator) -> Update {
    let size = ballot.size();
    let votes = ballot.votes(weights).enumerate();
    let outvoted: Vec<usize> = votes
        .filter(|&(_, votes)| 2 * votes >= size)
        .map(|(j, _)| j)
        .collect();
    for &j in &outvoted {
        weights.flip(j);
    }
    if outvoted.is_empty() {
        Update::Unchanged
    } else {
        Update::Changed
    }
}

//! The learner `directed-drift` (algorithm D): on a mistake, it flips one weight, drawn uniformly from those in which
//! hypothesis and example differ.
//!
//! This file also holds what other learners of binary weights use: the accepted data, the first hypothesis and the
//! mistake test.
//!
//! Shao C. Fang and Santosh S. Venkatesh, "Learning finite binary sequences from half-space data"; S. S. Venkatesh,
//! "Directed Drift: a new linear threshold algorithm for learning binary weights on-line", J. Comp. Sys. Sciences 46
//! (1993) 198-217.
//!
//! By Theorem 1 of Fang and Venkatesh, the hypothesis becomes the target with probability 1 if the examples are fresh,
//! but the expected number of mistakes is exponential in n: between about e^(0.139 n) and (n/2)^n. A flip goes towards
//! the target with positive probability, because a mistaken example differs from the hypothesis in more coordinates
//! than from the target.
//!
//! | parameter | default | meaning |
//! |---|---|---|
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
//! let target = Plan::random_target(11, Seed(1));
//! let plan = Plan::endless(target, Sampling::UniformPositive);
//! let task = Task::of(find("directed-drift").expect("listed"), Seed(1));
//! let outcome = train(&task, Input::Generated(&plan), &Run::default()).expect("an end");
//! assert!(outcome.target.expect("a hidden target").recovered);
//! assert_eq!(outcome.termination.confidence, Some(0.99));
//! ```

use std::ops::Range;

use rand::Rng;

use crate::bits::{self, BitVector};

use crate::learners::engine::entry::{
    DataKinds, DefaultStop, Guarantee, LearnerEntry, Pace, Replay, Setup,
};
use crate::learners::engine::parameters::{Parameter, ParameterError, ParameterKind};
use crate::learners::engine::random::Generator;
use crate::learners::engine::random::random_vector;
use crate::learners::engine::rule::{Kind, OnlineRule, Rule};
use crate::learners::engine::run::StopFlag;
use crate::learners::engine::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};
use crate::learners::engine::stopping::StopRule;
use crate::learners::engine::update::Update;
use crate::learners::hypothesis::Hypothesis;
use crate::learners::predictor::Predictor;
use crate::learners::sample::block::Block;
use crate::learners::sample::block::half_space_limits;
use crate::learners::sample::source::Presentation;

/// The source of all three variants of Directed Drift.
pub const SOURCE: &str = "S. C. Fang and S. S. Venkatesh, Learning finite binary sequences from \
                          half-space data; S. S. Venkatesh, J. Comp. Sys. Sciences 46 (1993)";

/// The data that the learners of binary weights accept.
pub const DATA: DataKinds = DataKinds {
    half_space: true,
    labelled: true,
    real: false,
    names: None,
    parts: false,
};

/// The parameter for the first hypothesis, in all three variants.
pub const INITIAL: Parameter = Parameter {
    name: "initial",
    kind: ParameterKind::Bits,
    description: "The initial hypothesis, a bit string as long as an example.",
};

pub static ENTRY: LearnerEntry = LearnerEntry {
    name: "directed-drift",
    title: "Directed Drift (D)",
    learns: "Binary weights of a majority function, one flipped bit per mistake, in 2n bits of \
             memory.",
    data: DATA,
    reading: "signed",
    presentation: Presentation::HalfSpace,
    on_line: true,
    pace: Pace::Steady,
    // The rule `exact` applies because its Markov chain describes this algorithm.
    confidence_rules: &[StopRule::Anytime, StopRule::PerHypothesis, StopRule::Exact],
    is_conservative: true,
    replay: Replay::Mistaken,
    default_stop: DefaultStop::Confidence,
    parameters: &[INITIAL],
    guarantee: Guarantee {
        theorem: "Fang and Venkatesh, Theorem 1",
        bound: "With fresh examples the hypothesis becomes the target with probability 1; the \
                expected number of mistakes is exponential in n.",
    },
    source: SOURCE,
    check: None,
    build: |setup| {
        let weights = first_hypothesis(setup)?;
        Ok(Box::new(DirectedDrift { weights }))
    },
};

/// The first hypothesis that the parameters give, or else a random one.
///
/// # Errors
/// Returns an error if the length of the given hypothesis differs from n.
pub fn first_hypothesis(setup: &mut Setup<'_>) -> Result<BitVector, ParameterError> {
    let n = setup.n;
    match setup.parameters.bits("initial") {
        None => Ok(random_vector(n, setup.random)),
        Some(bits) if bits.n() == n => Ok(bits.clone()),
        Some(bits) => Err(ParameterError {
            name: "initial".to_owned(),
            detail: format!(
                "the bit string has {} bits, but an example has {n}",
                bits.n()
            ),
            unknown: false,
        }),
    }
}

/// Reads a hypothesis of `n` bits.
///
/// # Errors
/// Returns an error if the snapshot ends early or a bit past the last coordinate is set.
pub fn read_weights(
    n: usize,
    snapshot: &mut SnapshotReader<'_>,
) -> Result<BitVector, SnapshotError> {
    let words = snapshot.numbers(bits::words_for(n))?;
    let stray = words
        .last()
        .is_some_and(|last| last & !bits::last_word_mask(n) != 0);
    if stray {
        return Err(SnapshotError);
    }
    Ok(BitVector::from_words(n, words))
}

/// The first of `rows` on which the binary weights make a mistake.
pub fn first_half_space_mistake(
    weights: &BitVector,
    block: &Block<'_>,
    rows: Range<usize>,
) -> Option<usize> {
    let (limit, ties) = half_space_limits(weights.n(), block.reflected);
    bits::first_over(block.bits(), rows, weights.words(), limit, ties)
}

/// The binary weights of a hypothesis to start from.
///
/// # Errors
/// Returns a message if the hypothesis has weights of another kind.
pub fn binary_weights(hypothesis: &Hypothesis) -> Result<BitVector, String> {
    match hypothesis {
        Hypothesis::BinaryWeights(weights) => Ok(weights.clone()),
        _ => Err("this learner needs a model with binary weights".to_owned()),
    }
}

struct DirectedDrift {
    weights: BitVector,
}

impl Rule for DirectedDrift {
    fn kind(&mut self) -> Kind<'_> {
        Kind::Online(self)
    }

    fn start_from(&mut self, hypothesis: &Hypothesis) -> Result<(), String> {
        self.weights = binary_weights(hypothesis)?;
        Ok(())
    }

    fn predictor(&self) -> Predictor {
        Hypothesis::BinaryWeights(self.weights.clone()).into()
    }

    fn snapshot(&mut self, snapshot: &mut SnapshotWriter) {
        snapshot.numbers(self.weights.words().iter().copied());
    }

    fn restore(&mut self, snapshot: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.weights = read_weights(self.weights.n(), snapshot)?;
        Ok(())
    }
}

impl OnlineRule for DirectedDrift {
    fn first_mistake(
        &mut self,
        block: &Block<'_>,
        rows: Range<usize>,
        _: &StopFlag,
    ) -> Option<usize> {
        first_half_space_mistake(&self.weights, block, rows)
    }

    fn update(&mut self, block: &Block<'_>, row: usize, random: &mut Generator) -> Update {
        while !bits::flip_difference(&mut self.weights, block.bits(), row, random.next_u64()) {}
        Update::Changed
    }
}

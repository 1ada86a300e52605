//! The perceptron over all conjunctions, by a kernel: on a mistake the example joins the support.
//!
//! R. Khardon, D. Roth and R. A. Servedio, "Efficiency versus convergence of Boolean kernels for
//! on-line learning algorithms" (2005), section 2. It is the perceptron from w = 0 in the space
//! that has a coordinate for every conjunction, 3^n of them or 2^n monotone ones, without ever
//! writing a coordinate down: an example x scores the sum of L(v) K(v, x) over the examples v that
//! it got wrong, with labels L(v), where K counts the conjunctions that v and x both satisfy. The
//! prediction is +1 iff the score is >= 0, in integers of any size: in floats the sign is lost from
//! n = 54 on, and the scores themselves from n = 1024.
//!
//! What it gains in expressive power it pays in mistakes: the paper's Theorem 4 has a target that
//! is one conjunction, and examples on which it errs exponentially often in n
//! (the module `constructions` makes them).
//!
//! | parameter | default | meaning |
//! |---|---|---|
//! | `kernel.conjunctions` | all | all conjunctions, or those without negated literals (monotone) |
//! | `kernel.max_literals` | any number | the most literals of a conjunction |
//! | `order` | cyclic | the data's own order, a new one each pass, or a random mistake |
//!
//! The exclusive or of two bits, which no hyperplane separates:
//!
//! ```
//! use halfspace::bits::{BitMatrix, BitVector};
//! use halfspace::learners::data::{Data, Features, Labels};
//! use halfspace::learners::parameters::Parameters;
//! use halfspace::learners::random::Seed;
//! use halfspace::learners::run::{Limits, Run};
//! use halfspace::learners::task::{Input, Task};
//! use halfspace::learners::{catalogue, train};
//!
//! let mut examples = BitMatrix::new(2);
//! for row in [0b00, 0b01, 0b10, 0b11] {
//!     examples.push_row(&[row]);
//! }
//! let labels = Labels::Labelled(BitVector::from_words(4, vec![0b0110]));
//! let data = Data::new(Features::Boolean(examples), labels);
//! let entry = catalogue::find("kernel-perceptron").unwrap();
//! let task = Task {
//!     entry,
//!     parameters: Parameters::from_json(entry.parameters, &serde_json::Map::new()).unwrap(),
//!     seed: Seed(1),
//!     confidence: None,
//!     rule: None,
//!     limits: Limits::default(),
//!     ends_by_time: false,
//!     trace: false,
//! };
//! let input = Input::Sample { data: &data, assume: None };
//! let outcome = train::train(&task, input, &Run::default()).unwrap();
//! assert_eq!(outcome.training.unwrap().errors, 0);
//! assert_eq!(outcome.bound.unwrap().holds, Some(true));
//! ```

use std::ops::Range;

use super::block::Block;
use super::bound::Bound;
use super::catalogue::{DataKinds, DefaultStop, Entry, Guarantee, Setup};
use super::hypothesis::Hypothesis;
use super::kernel::{Conjunctions, Kernel};
use super::kernel_bound;
use super::kernel_expansion::KernelExpansion;
use super::kernel_scores::KernelScores;
use super::parameters::{Kind, Parameter, ParameterError};
use super::perceptron::{ORDER, order};
use super::random::Generator;
use super::rule::{Order, Rule, Update};
use super::run::{Counts, Interrupt, Run, StopFlag};
use super::source::{Presentation, Stream};
use super::train_loop::Reason;

const MAX_LITERALS: &str = "kernel.max_literals";

/// The catalogue's entry.
pub static ENTRY: Entry = Entry {
    name: "kernel-perceptron",
    title: "Kernel perceptron",
    learns: "Any Boolean function, as a threshold over all conjunctions, in exact integers.",
    data: DataKinds {
        half_space: false,
        labelled: true,
        real: false,
    },
    reading: "unsigned",
    presentation: Presentation::Labelled,
    on_line: true,
    has_confidence_rule: false,
    default_stop: DefaultStop::Passes(1000),
    parameters: &[
        Parameter {
            name: "kernel.conjunctions",
            kind: Kind::Choice {
                options: &["all", "monotone"],
                default: "all",
            },
            description: "Which conjunctions are features: all, or those without negated \
                          literals (monotone).",
        },
        Parameter {
            name: MAX_LITERALS,
            kind: Kind::Count {
                minimum: 1,
                maximum: 1 << 20,
                default: "any number",
            },
            description: "The most literals of a conjunction.",
        },
        ORDER,
    ],
    guarantee: Guarantee {
        theorem: "Novikoff, over conjunctions",
        bound: "At most R^2 |u|^2 / xi^2 mistakes, norms and margin taken in the space of \
                conjunctions; by Theorem 4 that can be exponential in n.",
    },
    source: "R. Khardon, D. Roth and R. A. Servedio, Efficiency versus convergence of Boolean \
             kernels for on-line learning algorithms (2005), section 2",
    check: None,
    build: |setup| Ok(Box::new(KernelPerceptron::new(setup)?)),
};

/// The state: the mistakes so far, and the scores known under them.
struct KernelPerceptron {
    expansion: KernelExpansion,
    scores: KernelScores,
    order: Order,
    example: Vec<u64>,
}

impl KernelPerceptron {
    fn new(setup: &Setup<'_>) -> Result<Self, ParameterError> {
        let conjunctions = match setup.parameters.choice("kernel.conjunctions") {
            "monotone" => Conjunctions::Monotone,
            _ => Conjunctions::All,
        };
        let max_literals = setup.parameters.count(MAX_LITERALS);
        let kernel =
            Kernel::new(setup.n, conjunctions, max_literals).map_err(|error| ParameterError {
                name: MAX_LITERALS.to_owned(),
                detail: error.to_string(),
                unknown: false,
            })?;
        let expansion = KernelExpansion::new(kernel);
        Ok(Self {
            scores: KernelScores::new(&expansion),
            example: vec![0; expansion.support().words_per_row()],
            expansion,
            order: order(setup.parameters),
        })
    }

    /// Whether the hypothesis gets a row wrong; false when it was told to stop.
    fn is_mistake(&mut self, block: &Block<'_>, row: usize, stop: &StopFlag) -> bool {
        let score = self.scores.score(&self.expansion, block, row, stop);
        score.is_some_and(|score| score.is_negative() == block.is_positive(row))
    }
}

impl Rule for KernelPerceptron {
    fn order(&self) -> Order {
        self.order
    }

    fn first_mistake(
        &mut self,
        block: &Block<'_>,
        mut rows: Range<usize>,
        stop: &StopFlag,
    ) -> Option<usize> {
        rows.find(|&row| stop.raised().is_some() || self.is_mistake(block, row, stop))
    }

    fn update(&mut self, block: &Block<'_>, row: usize, _: &mut Generator) -> Update {
        block.bits().copy_row(row, &mut self.example);
        match self.expansion.push(&self.example, block.is_positive(row)) {
            Ok(()) => Update::Changed,
            Err(limit) => Update::Refused(limit.text()),
        }
    }

    fn mistakes(&mut self, block: &Block<'_>, stop: &StopFlag) -> u64 {
        (0..block.rows()).fold(0, |mask, row| {
            let is_asked = stop.raised().is_none();
            mask | u64::from(is_asked && self.is_mistake(block, row, stop)) << row
        })
    }

    fn hypothesis(&self) -> Hypothesis {
        Hypothesis::Kernel(self.expansion.clone())
    }

    fn bound(
        &self,
        stream: &mut dyn Stream,
        counts: &Counts,
        reason: Reason,
        run: &Run,
    ) -> Result<Option<Bound>, Interrupt> {
        if reason != Reason::Converged {
            return Ok(None);
        }
        kernel_bound::bound(&self.expansion, stream, counts, run).map(Some)
    }
}

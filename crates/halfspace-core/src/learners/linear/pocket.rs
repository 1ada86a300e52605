//! The learner `pocket`: perceptron updates on random mistakes. It answers with the weights of the run that made the
//! fewest training errors, so it suits data that no hyperplane separates.
//!
//! S. I. Gallant, "Perceptron-based learning algorithms", IEEE Trans. Neural Networks 1 (1990) 179-191, in the variant
//! that evaluates every new hypothesis on the whole sample. By Gallant's theorem, these weights are optimal with a
//! probability that tends to 1 with the number of updates. No rate is claimed.
//!
//! | parameter | default | meaning |
//! |---|---|---|
//! | `reading` | signed | how a bit is read: {-1, +1} or {0, 1} |
//! | `bias` | true | whether a constant coordinate x0 = 1 is learnt too |
//! | `eta` | 1 | the learning rate |
//! | `initial` | 0 | the first weights: one number, or one per weight with the bias last |
//! | `thickness` | 0 | how far beyond 0 a score must lie; the drawn examples may be correct ones that do not |
//!
//! ```
//! use halfspace_core::bits::{BitMatrix, BitVector};
//! use halfspace_core::learners::catalogue::find;
//! use halfspace_core::learners::sample::data::{Data, Features, Labels};
//! use halfspace_core::learners::engine::random::Seed;
//! use halfspace_core::learners::engine::run::Run;
//! use halfspace_core::learners::engine::input::Input;
//! use halfspace_core::learners::engine::task::Task;
//! use halfspace_core::learners::engine::train::train;
//!
//! let mut examples = BitMatrix::new(2);
//! for row in [0b00, 0b01, 0b10, 0b11] {
//!     examples.push_row(&[row]);
//! }
//! let labels = BitVector::from_bit_string(b"0110").expect("bits");
//! let data = Data::new(Features::Boolean(examples), Labels::of_signs(labels));
//! let input = Input::Sample { data: &data, assume: None };
//! let task = Task::of(find("pocket").expect("listed"), Seed(1));
//! let outcome = train(&task, input, &Run::default()).expect("an end");
//! // No hyperplane classifies XOR correctly. The best one makes one error.
//! assert_eq!(outcome.training.expect("counted").errors, 1);
//! ```

use std::ops::Range;

use crate::learners::engine::entry::{
    DataKinds, DefaultStop, Guarantee, LearnerEntry, Pace, Replay,
};
use crate::learners::engine::random::Generator;
use crate::learners::engine::rule::{Kind, OnlineRule, Order, Rule};
use crate::learners::engine::run::StopFlag;
use crate::learners::engine::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};
use crate::learners::engine::thickness::{Band, Lesson, THICKNESS};
use crate::learners::engine::update::Update;
use crate::learners::hypothesis::Hypothesis;
use crate::learners::linear::linear_weights::LinearWeights;
use crate::learners::linear::perceptron::{BIAS, ETA, INITIAL, OF_NAMES, Perceptron, READING};
use crate::learners::predictor::Predictor;
use crate::learners::sample::block::Block;
use crate::learners::sample::source::Presentation;

pub static ENTRY: LearnerEntry = LearnerEntry {
    name: "pocket",
    title: "Pocket",
    learns: "A hyperplane with few training errors, even if no hyperplane separates the data.",
    data: DataKinds {
        half_space: false,
        labelled: true,
        real: true,
        names: OF_NAMES,
        parts: true,
    },
    reading: "signed or unsigned",
    presentation: Presentation::LabelledSparse,
    on_line: false,
    pace: Pace::Steady,
    confidence_rules: &[],
    is_conservative: false,
    replay: Replay::Whole,
    default_stop: DefaultStop::Mistakes(10_000),
    parameters: &[READING, BIAS, ETA, INITIAL, THICKNESS],
    guarantee: Guarantee {
        theorem: "Gallant, pocket convergence",
        bound: "The pocket holds an optimal hyperplane with a probability that tends to 1 with the \
                number of updates; no rate is claimed.",
    },
    source: "S. I. Gallant, Perceptron-based learning algorithms (1990)",
    check: None,
    build: |setup| {
        Ok(Box::new(Pocket {
            perceptron: Perceptron::new(setup, Order::RandomMistake)?,
            kept: None,
        }))
    },
};

struct Pocket {
    perceptron: Perceptron,
    /// The best weights so far and their errors.
    kept: Option<(u64, LinearWeights)>,
}

impl Rule for Pocket {
    fn kind(&mut self) -> Kind<'_> {
        Kind::Online(self)
    }

    fn start_from(&mut self, hypothesis: &Hypothesis) -> Result<(), String> {
        self.perceptron.start_from(hypothesis)
    }

    fn mistakes(&mut self, block: &Block<'_>, stop: &StopFlag) -> u64 {
        self.perceptron.mistakes(block, stop)
    }

    fn evaluated(&mut self, errors: u64) {
        let fewest = self.kept.as_ref().map_or(u64::MAX, |(errors, _)| *errors);
        if errors < fewest {
            self.kept = Some((errors, self.perceptron.weights().clone()));
        }
    }

    fn predictor(&self) -> Predictor {
        match &self.kept {
            Some((_, weights)) => self.perceptron.shown(weights.clone()).into(),
            None => self.perceptron.predictor(),
        }
    }

    fn last(&self) -> Predictor {
        self.perceptron.predictor()
    }

    fn keeps_best(&self) -> bool {
        true
    }

    fn snapshot(&mut self, snapshot: &mut SnapshotWriter) {
        self.perceptron.snapshot(snapshot);
        snapshot.number(self.kept.is_some().into());
        if let Some((errors, weights)) = &self.kept {
            snapshot.number(*errors);
            weights.snapshot(snapshot);
        }
    }

    fn restore(&mut self, snapshot: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.perceptron.restore(snapshot)?;
        self.kept = match snapshot.number()? {
            0 => None,
            _ => {
                let errors = snapshot.number()?;
                Some((errors, self.perceptron.weights().restored(snapshot)?))
            }
        };
        Ok(())
    }
}

impl OnlineRule for Pocket {
    fn order(&self) -> Order {
        Order::RandomMistake
    }

    fn first_mistake(
        &mut self,
        block: &Block<'_>,
        rows: Range<usize>,
        stop: &StopFlag,
    ) -> Option<usize> {
        self.perceptron.first_mistake(block, rows, stop)
    }

    fn first_lesson(
        &mut self,
        block: &Block<'_>,
        rows: Range<usize>,
        stop: &StopFlag,
    ) -> Option<Lesson> {
        self.perceptron.first_lesson(block, rows, stop)
    }

    fn band(&self) -> Option<&Band> {
        self.perceptron.band()
    }

    fn update(&mut self, block: &Block<'_>, row: usize, random: &mut Generator) -> Update {
        self.perceptron.update(block, row, random)
    }
}

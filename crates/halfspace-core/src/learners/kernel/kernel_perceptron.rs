//! The learner `kernel-perceptron`: a perceptron over all conjunctions. On a mistake, the example joins the support
//! vectors.
//!
//! R. Khardon, D. Roth and R. A. Servedio, "Efficiency versus convergence of Boolean kernels for on-line learning
//! algorithms" (2005), section 2. The algorithm equals the perceptron from w = 0 in the space with one coordinate per
//! conjunction: 3^n coordinates, or 2^n for monotone conjunctions. The kernel takes their place: the score of an
//! example x is the sum of L(v) K(v, x) over the mistaken examples v with labels L(v), where K(v, x) is the number of
//! conjunctions that v and x both satisfy. The prediction is +1 if and only if the score is >= 0. The scores are
//! integers of any size, because f64 loses the sign from n = 54 on and the score itself from n = 1024 on.
//!
//! Novikoff's bound holds in this space, but it can be exponential in n: Theorem 4 of the paper gives a single
//! conjunction as target, and examples on which the algorithm makes exponentially many mistakes. The module
//! `constructions` builds them.
//!
//! | parameter | default | meaning |
//! |---|---|---|
//! | `kernel.conjunctions` | all | all conjunctions, or those without negated literals (monotone) |
//! | `kernel.max_literals` | any number | the largest number of literals in a conjunction |
//! | `order` | cyclic | the order of the data, a new order per pass, or a random mistake |
//! | `thickness` | 0 | how far beyond 0 a score must lie to be left alone |
//!
//! XOR of two bits, which no hyperplane separates:
//!
//! ```
//! use halfspace_core::bits::{BitMatrix, BitVector};
//! use halfspace_core::learners::sample::data::{Data, Features, Labels};
//! use halfspace_core::learners::engine::random::Seed;
//! use halfspace_core::learners::engine::run::Run;
//! use halfspace_core::learners::engine::input::Input;
//! use halfspace_core::learners::engine::task::Task;
//! use halfspace_core::learners::catalogue;
//! use halfspace_core::learners::engine::train;
//!
//! let mut examples = BitMatrix::new(2);
//! for row in [0b00, 0b01, 0b10, 0b11] {
//!     examples.push_row(&[row]);
//! }
//! let labels = Labels::of_signs(BitVector::from_words(4, vec![0b0110]));
//! let data = Data::new(Features::Boolean(examples), labels);
//! let task = Task::of(catalogue::find("kernel-perceptron").unwrap(), Seed(1));
//! let input = Input::Sample { data: &data, assume: None };
//! let outcome = train::train(&task, input, &Run::default()).unwrap();
//! assert_eq!(outcome.training.unwrap().errors, 0);
//! assert_eq!(outcome.bound.unwrap().respected, Some(true));
//! ```

use std::ops::Range;

use crate::bits::Excerpt;
use crate::learners::arithmetic::unit::Unit;
use crate::learners::decision::{Decision, Score};
use crate::learners::drift::directed_drift::read_weights;
use crate::learners::engine::bound::Bound;
use crate::learners::engine::entry::{
    DataKinds, DefaultStop, Guarantee, LearnerEntry, Pace, Replay, Setup,
};
use crate::learners::engine::parameters::{Parameter, ParameterError, ParameterKind};
use crate::learners::engine::random::Generator;
use crate::learners::engine::reason::Reason;
use crate::learners::engine::rule::{Kind, MemberRule, OnlineRule, Order, Rule};
use crate::learners::engine::run::{Counts, Interrupt, Run, StopFlag};
use crate::learners::engine::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};
use crate::learners::engine::thickness::{Band, Lesson, THICKNESS, thickness};
use crate::learners::engine::update::Update;
use crate::learners::hypothesis::Hypothesis;
use crate::learners::kernel::conjunction_kernel::{Conjunctions, Kernel};
use crate::learners::kernel::kernel_bound;
use crate::learners::kernel::kernel_expansion::KernelExpansion;
use crate::learners::kernel::kernel_scores::KernelScores;
use crate::learners::linear::novikoff::NOT_CONVERGED;
use crate::learners::linear::perceptron::{ORDER, order};
use crate::learners::predictor::Predictor;
use crate::learners::sample::block::{Block, RowBits};
use crate::learners::sample::source::{Presentation, SharedSample, Stream};

const MAX_LITERALS: &str = "kernel.max_literals";

/// What a snapshot has in place of the number of ones of a support vector if the packed words follow.
const PACKED: u64 = u64::MAX;

pub static ENTRY: LearnerEntry = LearnerEntry {
    name: "kernel-perceptron",
    title: "Kernel perceptron",
    learns: "Any Boolean function, as a threshold over all conjunctions, in exact integers.",
    data: DataKinds {
        half_space: false,
        labelled: true,
        real: false,
        names: Some(&[("kernel.conjunctions", "monotone")]),
        parts: false,
    },
    reading: "unsigned",
    presentation: Presentation::LabelledSparse,
    on_line: true,
    pace: Pace::Slowing,
    confidence_rules: &[],
    is_conservative: true,
    replay: Replay::Mistaken,
    default_stop: DefaultStop::Passes(1000),
    parameters: &[
        Parameter {
            name: "kernel.conjunctions",
            kind: ParameterKind::Choice {
                options: &["all", "monotone"],
                default: "all",
            },
            description: "Conjunctions that are features: all, or only those without negated \
                          literals (monotone).",
        },
        Parameter {
            name: MAX_LITERALS,
            kind: ParameterKind::Count {
                minimum: 1,
                maximum: 1 << 20,
                default: "any number",
            },
            description: "Largest number of literals of a conjunction.",
        },
        ORDER,
        THICKNESS,
    ],
    guarantee: Guarantee {
        theorem: "Novikoff, over conjunctions",
        bound: "At most R^2 |u|^2 / xi^2 mistakes, with norms and margin in the space of \
                conjunctions. By Theorem 4 this number can be exponential in n. With thickness tau, the bound is on \
                the updates, and R^2 grows by 2 tau.",
    },
    source: "R. Khardon, D. Roth and R. A. Servedio, Efficiency versus convergence of Boolean \
             kernels for on-line learning algorithms (2005), section 2",
    check: None,
    build: |setup| Ok(Box::new(KernelPerceptron::new(setup)?)),
};

/// The state: the mistakes so far and the cached scores.
struct KernelPerceptron {
    expansion: KernelExpansion,
    scores: KernelScores,
    starts_at_zero: bool,
    order: Order,
    thickness: Option<Unit>,
    /// The scores that are too near to 0.
    band: Option<Band>,
    /// Memory for the packed words of a row.
    words: Vec<u64>,
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
        let thickness = thickness(setup.parameters);
        Ok(Self {
            thickness,
            band: thickness.map(|tau| Band::of_units(tau, Unit::ONE)),
            scores: KernelScores::new(),
            starts_at_zero: true,
            words: Vec::new(),
            expansion,
            order: order(setup.parameters),
        })
    }

    /// Whether the hypothesis classifies a row wrongly. False if the computation was told to stop.
    fn is_mistake(&mut self, block: &Block<'_>, row: usize, stop: &StopFlag) -> bool {
        let score = self.scores.score(&self.expansion, block, row, stop);
        score.is_some_and(|score| score.is_negative() == block.is_positive(row))
    }
}

impl Rule for KernelPerceptron {
    fn kind(&mut self) -> Kind<'_> {
        Kind::Online(self)
    }

    fn grown_bytes(&self, mistakes: u64, ones: Option<u64>) -> u64 {
        self.expansion.grown_bytes(mistakes, ones)
    }

    fn start_from(&mut self, hypothesis: &Hypothesis) -> Result<(), String> {
        let Hypothesis::Kernel(expansion) = hypothesis else {
            return Err("this learner needs a kernel model".into());
        };
        if expansion.kernel() != self.expansion.kernel() {
            return Err("the model has another kernel; set the same kernel.* parameters".into());
        }
        self.starts_at_zero = expansion.is_empty();
        self.scores = KernelScores::new();
        self.expansion = expansion.clone();
        Ok(())
    }

    fn grow(&mut self, n: usize) -> Result<(), String> {
        self.expansion.grow(n)
    }

    fn mistakes(&mut self, block: &Block<'_>, stop: &StopFlag) -> u64 {
        let rows = 0..block.rows();
        self.scores
            .prepare_rows(&self.expansion, block, rows.clone(), stop);
        rows.fold(0, |mask, row| {
            let is_asked = stop.raised().is_none();
            mask | u64::from(is_asked && self.is_mistake(block, row, stop)) << row
        })
    }

    fn predictor(&self) -> Predictor {
        Hypothesis::Kernel(self.expansion.clone()).into()
    }

    fn excerpt(&self, excerpt: &Excerpt) -> Option<Predictor> {
        Some(Hypothesis::Kernel(self.expansion.excerpt(excerpt)?).into())
    }

    fn snapshot(&mut self, snapshot: &mut SnapshotWriter) {
        snapshot.number(self.expansion.len() as u64);
        for index in 0..self.expansion.len() {
            snapshot.number(self.expansion.is_positive(index).into());
            match self.expansion.row(index, &mut self.words) {
                RowBits::Packed(words) => {
                    snapshot.number(PACKED);
                    snapshot.numbers(words.iter().copied());
                }
                RowBits::Listed(ones) => {
                    snapshot.number(ones.len() as u64);
                    snapshot.numbers(ones.iter().map(|&one| one.into()));
                }
            }
        }
    }

    fn restore(&mut self, snapshot: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        let mut expansion = KernelExpansion::new(self.expansion.kernel().clone());
        let n = expansion.kernel().n();
        for _ in 0..snapshot.count()? {
            let is_positive = snapshot.number()? == 1;
            let added = match snapshot.number()? {
                PACKED => {
                    let example = read_weights(n, snapshot)?;
                    expansion.push(RowBits::Packed(example.words()), is_positive)
                }
                count => {
                    let ones =
                        snapshot.numbers(usize::try_from(count).map_err(|_| SnapshotError)?)?;
                    if !ones.is_sorted_by(|one, other| one < other)
                        || ones.last().is_some_and(|&last| last >= n as u64)
                    {
                        return Err(SnapshotError);
                    }
                    let ones: Vec<u32> = ones.into_iter().map(|one| one as u32).collect();
                    expansion.push(RowBits::Listed(&ones), is_positive)
                }
            };
            added.map_err(|_| SnapshotError)?;
        }
        // The cache of scores only saves work, so the state does not contain it.
        self.scores = KernelScores::new();
        self.expansion = expansion;
        Ok(())
    }

    fn why_no_bound(&self) -> &'static str {
        NOT_CONVERGED
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
        let bound = kernel_bound::bound(&self.expansion, self.thickness, stream, counts, run)?;
        Ok(Some(match self.starts_at_zero {
            true => bound,
            false => bound.without_verdict(),
        }))
    }
}

impl OnlineRule for KernelPerceptron {
    fn order(&self) -> Order {
        self.order
    }

    fn first_mistake(
        &mut self,
        block: &Block<'_>,
        mut rows: Range<usize>,
        stop: &StopFlag,
    ) -> Option<usize> {
        self.scores
            .prepare_rows(&self.expansion, block, rows.clone(), stop);
        rows.find(|&row| stop.raised().is_some() || self.is_mistake(block, row, stop))
    }

    fn first_lesson(
        &mut self,
        block: &Block<'_>,
        mut rows: Range<usize>,
        stop: &StopFlag,
    ) -> Option<Lesson> {
        let Some(band) = self.band.clone() else {
            return self.first_mistake(block, rows, stop).map(Lesson::mistake);
        };
        self.scores
            .prepare_rows(&self.expansion, block, rows.clone(), stop);
        rows.find_map(|row| {
            let score = self.scores.score(&self.expansion, block, row, stop);
            // After the flag is raised, any answer will do.
            let score = score.map_or(Score::Integer(0), |score| Score::from(score.to_big()));
            let is_positive = block.is_positive(row);
            let is_mistake = (score.compare(&Score::Integer(0)).is_ge()) != is_positive;
            let is_lesson = is_mistake || band.teaches(&score, is_positive);
            (stop.raised().is_some() || is_lesson).then_some(Lesson { row, is_mistake })
        })
    }

    fn band(&self) -> Option<&Band> {
        self.band.as_ref()
    }

    fn look_ahead(&mut self, sample: &SharedSample<'_>, stop: &StopFlag) {
        self.scores.prepare_ahead(&self.expansion, sample, stop);
    }

    fn may_break_off(&self) -> bool {
        true
    }

    fn update(&mut self, block: &Block<'_>, row: usize, _: &mut Generator) -> Update {
        let mut words = std::mem::take(&mut self.words);
        let example = self.expansion.example(block, row, &mut words);
        let pushed = self.expansion.push(example, block.is_positive(row));
        self.words = words;
        match pushed {
            Ok(()) => Update::Changed,
            Err(limit) => Update::Refused(limit.text()),
        }
    }

    fn as_member(&mut self) -> Option<&mut dyn MemberRule> {
        Some(self)
    }
}

impl MemberRule for KernelPerceptron {
    fn decide(&mut self, block: &Block<'_>, row: usize, stop: &StopFlag) -> Decision {
        let mut decided = Vec::with_capacity(1);
        self.expansion
            .decide(block, row..row + 1, stop, &mut decided);
        // A computation that was broken off has no decision.
        decided.pop().unwrap_or_else(|| 0.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::{BitMatrix, BitVector, Kernels, Lanes, SWITCH, use_kernels, words_for};
    use crate::learners::engine::input::Input;
    use crate::learners::engine::outcome::RunOutcome;
    use crate::learners::engine::parameters::Parameters;
    use crate::learners::engine::random::{Purpose, Seed};
    use crate::learners::engine::run::RunLimits;
    use crate::learners::engine::task::Task;
    use crate::learners::engine::train::train;
    use crate::learners::sample::block::BlockFeatures;
    use crate::learners::sample::data::{Data, Features, Labels};
    use serde_json::{Value, json};

    fn parameters(params: &Value) -> Parameters {
        let object = params.as_object().expect("an object");
        Parameters::from_json(ENTRY.parameters, object).expect("parameters")
    }

    fn run(data: &Data, params: &Value, max_passes: u64) -> RunOutcome {
        let task = Task {
            parameters: parameters(params),
            limits: RunLimits {
                max_passes: Some(max_passes),
                ..RunLimits::default()
            },
            ..Task::of(&ENTRY, Seed(5))
        };
        let input = Input::Sample { data, assume: None };
        train(&task, input, &Run::default()).expect("nobody suspends it")
    }

    fn data(examples: &[(&str, bool)]) -> Data {
        let n = examples[0].0.len();
        let (mut matrix, mut labels) = (BitMatrix::new(n), BitVector::zeros(examples.len()));
        for (row, (x, is_positive)) in examples.iter().enumerate() {
            let bits = BitVector::from_bit_string(x.as_bytes()).expect("bits");
            matrix.push_row(bits.words());
            labels.set(row, *is_positive);
        }
        Data::new(Features::Boolean(matrix), Labels::of_signs(labels))
    }

    /// `rows` random examples with random labels.
    fn noise(n: usize, rows: usize) -> Data {
        let (mut matrix, mut lanes) = (BitMatrix::new(n), Lanes::from_seed(3));
        let mut words = vec![0; words_for(n).next_multiple_of(8)];
        for _ in 0..rows {
            lanes.fill(&mut words);
            let row = BitVector::from_words(n, words[..words_for(n)].to_vec());
            matrix.push_row(row.words());
        }
        let mut labels = vec![0; words_for(rows).next_multiple_of(8)];
        lanes.fill(&mut labels);
        labels.truncate(words_for(rows));
        let labels = BitVector::from_words(rows, labels);
        Data::new(Features::Boolean(matrix), Labels::of_signs(labels))
    }

    fn support(outcome: &RunOutcome) -> Vec<(String, bool)> {
        let Predictor::One(Hypothesis::Kernel(expansion)) = &outcome.predictor else {
            unreachable!("{outcome:?}")
        };
        (0..expansion.len())
            .map(|at| {
                (
                    expansion
                        .packed_support()
                        .expect("memory")
                        .row(at)
                        .to_bit_string(),
                    expansion.is_positive(at),
                )
            })
            .collect()
    }

    /// With the monotone kernel, 00 scores 0 (mistake), 11 scores -1 (mistake) and 10 scores -1 + 2 = 1
    /// (mistake). The second pass is clean: 00 scores -1 + 1 - 1 = -1. 11 scores -1 + 4 - 2 = 1. 10 scores
    /// -1 + 2 - 2 = -1. Then
    /// |u|^2 = 1 + 1 + 1 and R^2 = 4 and xi = 1.
    #[test]
    fn kernel_perceptron_run_worked_by_hand() {
        let data = data(&[("00", false), ("11", true), ("10", false)]);
        let outcome = run(&data, &json!({"kernel": {"conjunctions": "monotone"}}), 9);
        assert_eq!((outcome.counts.mistakes, outcome.counts.passes), (3, 2));
        let expected = [("00", false), ("11", true), ("10", false)];
        assert_eq!(support(&outcome), expected.map(|(x, y)| (x.to_owned(), y)));
        let bound = outcome.bound.expect("converged");
        assert_eq!(
            (bound.mistakes_at_most, bound.respected, bound.detail),
            (Some(12.0), Some(true), None)
        );
    }

    /// The run makes no mistake, but the example lies on the hyperplane. After the copy learns it once,
    /// R^2 = 2, |u|^2 = 2 and xi = 2.
    #[test]
    fn bound_of_an_example_on_the_hyperplane_uses_further_passes() {
        let outcome = run(&data(&[("1", true)]), &json!({}), 9);
        assert_eq!((outcome.counts.mistakes, outcome.counts.passes), (0, 1));
        assert!(support(&outcome).is_empty());
        let bound = outcome.bound.expect("converged");
        assert_eq!(
            (bound.mistakes_at_most, bound.respected),
            (Some(1.0), Some(true))
        );
        assert!(bound.detail.expect("how").contains("1 further passes"));
    }

    #[test]
    fn kernel_perceptron_never_learns_contradictions() {
        let outcome = run(&data(&[("10", true), ("10", false)]), &json!({}), 50);
        assert_eq!(outcome.termination.reason, Reason::Limit("max_passes"));
        assert_eq!(outcome.training.expect("counted").errors, 1);
        assert!(outcome.bound.is_none());
    }

    #[test]
    fn kernel_perceptron_learns_any_labels_of_distinct_examples() {
        let _switch = SWITCH.lock();
        for order in ["cyclic", "shuffled", "random"] {
            for conjunctions in ["all", "monotone"] {
                let params = json!({"order": order, "kernel": {"conjunctions": conjunctions}});
                let [scalar, detected] = [Kernels::Scalar, Kernels::Detected].map(|kernels| {
                    use_kernels(kernels);
                    run(&noise(20, 90), &params, 2000)
                });
                assert_eq!(scalar, detected);
                assert_eq!(scalar.termination.reason, Reason::Converged, "{params}");
                assert_eq!(scalar.training.expect("counted").errors, 0);
                assert_eq!(scalar.bound.expect("converged").respected, Some(true));
            }
        }
    }

    #[test]
    fn kernel_perceptron_with_full_support_refuses_the_update() {
        let n = 1 << 20;
        let row = BitVector::from_words(n, vec![u64::MAX; words_for(n)]);
        let mut matrix = BitMatrix::new(n);
        matrix.push_row(row.words());
        let block = Block::of(BlockFeatures::Boolean(matrix.block(0)), 0);
        let mut random = Seed(1).generator(Purpose::Learner);
        let mut rule = KernelPerceptron::new(&Setup {
            parameters: &parameters(&json!({})),
            n,
            real: false,
            active_max: None,
            parts: None,
            random: &mut random.clone(),
        })
        .expect("a rule");
        let most = (1 << 28) / (n + 20);
        for _ in 0..most {
            assert_eq!(rule.update(&block, 0, &mut random), Update::Changed);
        }
        let refused = rule.update(&block, 0, &mut random);
        assert!(matches!(refused, Update::Refused(limit) if limit.contains("2^28")));
    }
}

//! The learner `perceptron`: on a mistake, w += eta y x.
//!
//! F. Rosenblatt (1958); A. B. J. Novikoff, "On convergence proofs on perceptrons" (1962). If the data are separable
//! with margin gamma > 0 and lie within radius R, a run from w = 0 makes at most (R / gamma)^2 mistakes. A converged
//! run computes this bound from the hyperplane that it found and compares it with its mistakes.
//!
//! | parameter | default | meaning |
//! |---|---|---|
//! | `reading` | signed | how a bit is read: {-1, +1} or {0, 1} |
//! | `bias` | true | whether a constant coordinate x0 = 1 is learnt too |
//! | `eta` | 1 | the learning rate; from weights 0 it only scales the weights |
//! | `order` | cyclic | the order of the data, a new order per pass, or a random mistake |
//! | `initial` | 0 | the first weights: one number, or one per weight with the bias last |
//! | `thickness` | 0 | how far beyond 0 a score must lie to be left alone |
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
//! let labels = BitVector::from_bit_string(b"0001").expect("bits");
//! let data = Data::new(Features::Boolean(examples), Labels::of_signs(labels));
//! let input = Input::Sample { data: &data, assume: None };
//! let task = Task::of(find("perceptron").expect("listed"), Seed(1));
//! let outcome = train(&task, input, &Run::default()).expect("an end");
//! assert_eq!(outcome.training.expect("counted").errors, 0);
//! assert_eq!(outcome.bound.expect("Novikoff's").respected, Some(true));
//! ```

use std::ops::Range;

use crate::bits::Excerpt;
use crate::learners::arithmetic::unit::INTEGER_WEIGHT_MAX;
use crate::learners::arithmetic::unit::Unit;
use crate::learners::decision::Decision;
use crate::learners::engine::bound::Bound;
use crate::learners::engine::entry::{
    DataKinds, DefaultStop, Guarantee, LearnerEntry, Pace, Replay, Setup,
};
use crate::learners::engine::parameters::{
    Minimum, Parameter, ParameterError, ParameterKind, Parameters, Weights,
};
use crate::learners::engine::random::Generator;
use crate::learners::engine::reason::Reason;
use crate::learners::engine::rule::{Kind, MemberRule, OnlineRule, Order, Rule, learn_one_by_one};
use crate::learners::engine::run::{Counts, Interrupt, Run, StopFlag};
use crate::learners::engine::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};
use crate::learners::engine::thickness::{Band, THICKNESS, thickness};
use crate::learners::engine::update::{Learnt, Update};
use crate::learners::hypothesis::Hypothesis;
use crate::learners::linear::joint;
use crate::learners::linear::linear_weights::{
    IntegerWeights, LinearScratch, LinearWeights, OUT_OF_RANGE, Reading, RealWeights,
};
use crate::learners::linear::novikoff::{self, Start};
use crate::learners::predictor::Predictor;
use crate::learners::sample::block::Block;
use crate::learners::sample::source::{Presentation, Stream};

pub const READING: Parameter = Parameter {
    name: "reading",
    kind: ParameterKind::Choice {
        options: &["signed", "unsigned"],
        default: "signed",
    },
    description: "Numbers that the bits of Boolean data stand for: -1 and +1 (signed), or 0 and 1 \
                  (unsigned).",
};

/// What features with names need: one that an example lacks must not count, and a new one begins at 0.
pub const OF_NAMES: Option<&[(&str, &str)]> =
    Some(&[(READING.name, "unsigned"), (INITIAL.name, "0")]);

pub const BIAS: Parameter = Parameter {
    name: "bias",
    kind: ParameterKind::Flag { default: true },
    description: "Whether the learner also learns the weight of a constant coordinate 1.",
};

pub const ETA: Parameter = Parameter {
    name: "eta",
    kind: ParameterKind::Number {
        minimum: Minimum::Above(0.0),
        at_most: 1_048_576.0,
        default: 1.0,
    },
    description: "The learning rate. If the initial weights are whole multiples of eta, such as 0, \
                  eta scales the weights and changes no prediction.",
};

pub const INITIAL: Parameter = Parameter {
    name: "initial",
    kind: ParameterKind::Weights {
        at_least: -1e9,
        at_most: 1e9,
        default: 0.0,
    },
    description: "The initial weights: one number for all, or one per weight with the bias last.",
};

pub const ORDER: Parameter = Parameter {
    name: "order",
    kind: ParameterKind::Choice {
        options: &["cyclic", "shuffled", "random"],
        default: "cyclic",
    },
    description: "The order of examples: the order of the data, a new random order per pass, or a \
                  uniformly drawn mistake after each evaluation of all examples.",
};

/// The order that [`ORDER`] asks for.
pub fn order(parameters: &Parameters) -> Order {
    match parameters.choice(ORDER.name) {
        "shuffled" => Order::Shuffled,
        "random" => Order::RandomMistake,
        _ => Order::Cyclic,
    }
}

/// The reading that [`READING`] asks for. None for real examples.
///
/// # Errors
/// An error if a reading is given for real data.
pub fn reading(setup: &Setup<'_>) -> Result<Option<Reading>, ParameterError> {
    if setup.real && setup.parameters.is_given(READING.name) {
        return Err(refused(
            READING.name,
            "the field applies only to Boolean data, and these examples are real-valued; remove \
             the field"
                .to_owned(),
        ));
    }
    let reading = match setup.parameters.choice(READING.name) {
        "unsigned" => Reading::Unsigned,
        _ => Reading::Signed,
    };
    Ok((!setup.real).then_some(reading))
}

pub static ENTRY: LearnerEntry = LearnerEntry {
    name: "perceptron",
    title: "Perceptron",
    learns: "A separating hyperplane, in exact integers on Boolean data.",
    data: DataKinds {
        half_space: false,
        labelled: true,
        real: true,
        names: OF_NAMES,
        parts: true,
    },
    reading: "signed or unsigned",
    presentation: Presentation::LabelledSparse,
    on_line: true,
    pace: Pace::Steady,
    confidence_rules: &[],
    is_conservative: true,
    replay: Replay::Mistaken,
    default_stop: DefaultStop::Passes(1000),
    parameters: &[READING, BIAS, ETA, ORDER, INITIAL, THICKNESS],
    guarantee: Guarantee {
        theorem: "Novikoff",
        bound: "At most R^2 |u|^2 / xi^2 mistakes, for any separator u with smallest product xi over \
                examples of norm at most R, and 2 |w_0| |u| / (eta xi) more from first weights w_0. With \
                thickness tau, the bound is on the updates, and R^2 grows by 2 tau / eta.",
    },
    source: "F. Rosenblatt (1958); A. B. J. Novikoff, On convergence proofs on perceptrons (1962)",
    check: None,
    build: |setup| {
        let order = order(setup.parameters);
        Ok(Box::new(Perceptron::new(setup, order)?))
    },
};

/// The state of a perceptron, which the pocket algorithm uses too.
///
/// If the first weights are whole multiples of `eta`, the perceptron learns with rate 1 and counts its weights in
/// units of `eta`. The rate then influences no decision and causes no rounding. If examples have weights that are not
/// whole, the unit is a part of `eta` of which all steps are multiples.
pub struct Perceptron {
    weights: LinearWeights,
    /// The unit of the weights in answers.
    unit: Unit,
    /// The factor of the example in an update.
    step: f64,
    scratch: LinearScratch,
    course: Course,
    /// Where the run began.
    start: Start,
    /// The scores that are too near to 0, in units.
    band: Option<Band>,
    /// How many updates are possible before an integer weight could exceed the range of exact scores.
    updates_left: u64,
}

/// How a perceptron learns, wherever it begins.
#[derive(Clone, Copy, Debug)]
struct Course {
    eta: f64,
    order: Order,
    /// Real weights times this number stay finite.
    spare: f64,
    thickness: Option<Unit>,
    /// The equal parts of a step of which all steps are multiples.
    parts: u32,
}

impl Perceptron {
    /// Makes the rule from its parameters.
    ///
    /// # Errors
    /// An error if the first weights do not fit the data, or a reading is given for real data.
    pub fn new(setup: &Setup<'_>, order: Order) -> Result<Self, ParameterError> {
        Self::with_spare(setup, order, 1.0)
    }

    /// A rule whose real weights are so small that sums of 2^60 of them are finite.
    ///
    /// # Errors
    /// See [`Self::new`].
    pub(super) fn of_bounded_sums(setup: &Setup<'_>, order: Order) -> Result<Self, ParameterError> {
        Self::with_spare(setup, order, libm::ldexp(1.0, 64))
    }

    fn with_spare(setup: &Setup<'_>, order: Order, spare: f64) -> Result<Self, ParameterError> {
        let parameters = setup.parameters;
        let reading = reading(setup)?;
        let has_bias = parameters.flag("bias");
        let first = first_weights(parameters.weights("initial"), setup.n, has_bias)?;
        let course = Course {
            eta: parameters.number("eta"),
            order,
            spare,
            thickness: thickness(parameters),
            parts: setup.parts.unwrap_or(1),
        };
        Ok(Self::begin(reading, first, course))
    }

    /// The rule before its first example. `reading` is none for real examples.
    fn begin(
        reading: Option<Reading>,
        (first, bias): (Vec<f64>, Option<f64>),
        course: Course,
    ) -> Self {
        let eta = course.eta;
        let all = || first.iter().chain(&bias);
        let is_whole = |&weight: &f64| {
            weight as i64 as f64 == weight && weight.abs() <= INTEGER_WEIGHT_MAX as f64
        };
        let is_integral = || course.parts == 1 && eta.fract() == 0.0 && all().all(is_whole);
        let integral = reading.filter(|_| is_integral());
        // Whole first weights with a whole rate are exact without a unit.
        let of_eta = || Unit::new(eta).map(|unit| unit.part(course.parts));
        let unit = integral.map_or_else(of_eta, |_| Some(Unit::ONE));
        let counts = unit.and_then(|unit| unit.counts(all()));
        let real = |weights, bias| LinearWeights::Real(RealWeights::new(reading, weights, bias));
        let (weights, unit) = match (counts.zip(unit), reading) {
            (None, _) => (real(first, bias), None),
            (Some((mut counts, unit)), Some(reading)) => {
                let bias = bias.and_then(|_| counts.pop());
                let weights = IntegerWeights::new(reading, counts, bias);
                (LinearWeights::Integer(weights), Some(unit))
            }
            (Some((counts, unit)), None) => {
                let mut counts: Vec<f64> = counts.iter().map(|&count| count as f64).collect();
                let bias = bias.and_then(|_| counts.pop());
                (real(counts, bias), Some(unit))
            }
        };
        let step = match (integral, unit) {
            (None, Some(_)) => course.parts.into(),
            _ => eta,
        };
        let unit = unit.unwrap_or(Unit::ONE);
        let band = course.thickness.map(|tau| match weights {
            LinearWeights::Integer(_) => Band::of_units(tau, unit),
            LinearWeights::Real(_) => Band::of_reals(tau, unit),
        });
        Self {
            scratch: weights.scratch(),
            updates_left: updates_left(&weights, step),
            start: Start::of(&weights, step, course.thickness, unit),
            weights,
            unit,
            step,
            band,
            course,
        }
    }

    /// The present weights in units.
    pub fn weights(&self) -> &LinearWeights {
        &self.weights
    }

    /// The unit of the weights in answers.
    pub(super) fn unit(&self) -> Unit {
        self.unit
    }

    /// The factor of the example in an update, in units.
    pub(super) fn step(&self) -> f64 {
        self.step
    }

    /// The amount of an update by a positive example, and the number by which real weights must stay finite.
    fn amount(&self) -> (f64, f64) {
        (self.step, self.unit.value().max(1.0) * self.course.spare)
    }

    /// The hypothesis for weights in units.
    pub fn shown(&self, weights: LinearWeights) -> Hypothesis {
        Hypothesis::Linear(weights.of_unit(self.unit))
    }
}

/// How often a weight can grow by `step` within the range of exact scores.
fn updates_left(weights: &LinearWeights, step: f64) -> u64 {
    match weights {
        LinearWeights::Integer(weights) => {
            (INTEGER_WEIGHT_MAX - weights.largest()) as u64 / step as u64
        }
        LinearWeights::Real(_) => u64::MAX,
    }
}

fn refused(name: &str, detail: String) -> ParameterError {
    ParameterError {
        name: name.to_owned(),
        detail,
        unknown: false,
    }
}

/// One first weight per feature, and the bias if there is one.
fn first_weights(
    given: &Weights,
    n: usize,
    has_bias: bool,
) -> Result<(Vec<f64>, Option<f64>), ParameterError> {
    let expected = n + usize::from(has_bias);
    let mut all = match given {
        Weights::Each(value) => vec![*value; expected],
        Weights::List(list) if list.len() == expected => list.clone(),
        Weights::List(list) => {
            let last = if has_bias { ", the bias last" } else { "" };
            let given = list.len();
            let detail = format!(
                "the list has {given} numbers, but the learner has {expected} weights{last}"
            );
            return Err(refused("initial", detail));
        }
    };
    let bias = if has_bias { all.pop() } else { None };
    Ok((all, bias))
}

impl Rule for Perceptron {
    fn kind(&mut self) -> Kind<'_> {
        Kind::Online(self)
    }

    fn start_from(&mut self, hypothesis: &Hypothesis) -> Result<(), String> {
        let Hypothesis::Linear(weights) = hypothesis else {
            return Err("this learner needs a model with linear weights".into());
        };
        weights.check_like(&self.weights)?;
        let (reading, first) = (self.weights.reading(), weights.numbers());
        *self = Self::begin(reading, first, self.course);
        Ok(())
    }

    fn grow(&mut self, n: usize) -> Result<(), String> {
        self.weights.grow(n);
        Ok(())
    }

    fn mistakes(&mut self, block: &Block<'_>, _: &StopFlag) -> u64 {
        self.weights.mistakes(block)
    }

    fn predictor(&self) -> Predictor {
        self.shown(self.weights.clone()).into()
    }

    fn excerpt(&self, excerpt: &Excerpt) -> Option<Predictor> {
        Some(self.shown(self.weights.excerpt(excerpt)).into())
    }

    fn snapshot(&mut self, snapshot: &mut SnapshotWriter) {
        snapshot.number(self.updates_left);
        self.weights.snapshot(snapshot);
    }

    fn restore(&mut self, snapshot: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.updates_left = snapshot.number()?;
        self.weights = self.weights.restored(snapshot)?;
        Ok(())
    }

    fn why_no_bound(&self) -> &'static str {
        novikoff::NOT_CONVERGED
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
        novikoff::bound(&self.start, &self.weights, stream, counts, run).map(Some)
    }

    fn joint_bound(
        &self,
        committee: &Predictor,
        stream: &mut dyn Stream,
        counts: &Counts,
        reason: Reason,
        run: &Run,
    ) -> Result<Option<Bound>, Interrupt> {
        if reason != Reason::Converged || !self.start.is_zero() {
            return Ok(None);
        }
        joint::bound(&self.start, committee, stream, counts, run)
    }
}

impl OnlineRule for Perceptron {
    fn order(&self) -> Order {
        self.course.order
    }

    fn band(&self) -> Option<&Band> {
        self.band.as_ref()
    }

    fn first_mistake(
        &mut self,
        block: &Block<'_>,
        rows: Range<usize>,
        _: &StopFlag,
    ) -> Option<usize> {
        self.weights.first_mistake(block, rows, &mut self.scratch)
    }

    fn update(&mut self, block: &Block<'_>, row: usize, _: &mut Generator) -> Update {
        if self.updates_left == 0 {
            return Update::Refused("exact integer weights are at most 2^40");
        }
        self.updates_left -= 1;
        let (step, factor) = self.amount();
        let step = block.step(row, step);
        let amount = if block.is_positive(row) { step } else { -step };
        if self
            .weights
            .add(block, row, (amount, factor), &mut self.scratch)
        {
            Update::Changed
        } else {
            Update::Refused(OUT_OF_RANGE)
        }
    }

    fn learn(
        &mut self,
        block: &Block<'_>,
        rows: Range<usize>,
        mistakes_max: u64,
        stop: &StopFlag,
        random: &mut Generator,
    ) -> Learnt {
        let most = mistakes_max.min(self.updates_left);
        let amount = self.amount();
        let learnt = match most {
            0 => None,
            _ if self.band.is_some() || block.steps.is_some() => None,
            most => self.weights.learn(block, rows.clone(), amount, most),
        };
        match learnt {
            None => learn_one_by_one(self, block, rows, mistakes_max, stop, random),
            Some(learnt) => {
                self.updates_left -= u64::from(learnt.mistaken.count_ones());
                learnt
            }
        }
    }

    fn as_member(&mut self) -> Option<&mut dyn MemberRule> {
        Some(self)
    }
}

impl MemberRule for Perceptron {
    fn decide(&mut self, block: &Block<'_>, row: usize, _: &StopFlag) -> Decision {
        self.weights.decide(block, row, &mut self.scratch)
    }

    fn additive_step(&self) -> Option<f64> {
        Some(self.step)
    }
}

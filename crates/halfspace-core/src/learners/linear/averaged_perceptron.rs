//! The learner `averaged-perceptron`: a perceptron that answers with the mean of its weights after each example.
//!
//! The mean forgets less of the early examples and is steadier than the last weights, so it usually errs less on data
//! that no hyperplane separates. Y. Freund and R. E. Schapire, "Large margin classification using the perceptron
//! algorithm", Machine Learning 37 (1999) 277-296; M. Collins, "Discriminative training methods for hidden Markov
//! models", EMNLP 2002, for committees that learn jointly.
//!
//! After T examples the sum of all weights is T w - u, where w are the last weights and u is the sum of the updates,
//! each times the number of examples before its own (H. Daumé III, 2006). On Boolean data both are whole numbers, so
//! the weights are whole in the unit eta / T and decisions are exact. Only the unit is rounded, to a double.
//!
//! Mistakes, and the bounds on them, belong to the last weights, which are those of `perceptron`. The mean also moves
//! after correct examples: it is not conservative, and the mistaken examples repeat it only together with the numbers
//! of examples before each. A member of a committee goes on as long as any other member, so its mean is over the
//! examples of the whole run.
//!
//! The mean of a run through data that are sorted by their labels would be that of extremes, so the order is shuffled.
//!
//! | parameter | default | meaning |
//! |---|---|---|
//! | `reading` | signed | how a bit is read: {-1, +1} or {0, 1} |
//! | `bias` | true | whether a constant coordinate x0 = 1 is learnt too |
//! | `eta` | 1 | the learning rate; from weights 0 it only scales the weights |
//! | `order` | shuffled | a new order per pass, or the order of the data |
//! | `initial` | 0 | the first weights: one number, or one per weight with the bias last |
//! | `thickness` | 0 | how far beyond 0 a score of the last weights must lie to be left alone |
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
//! let labels = BitVector::from_bit_string(b"0111").expect("bits");
//! let data = Data::new(Features::Boolean(examples), Labels::of_signs(labels));
//! let input = Input::Sample { data: &data, assume: None };
//! let task = Task::of(find("averaged-perceptron").expect("listed"), Seed(1));
//! let outcome = train(&task, input, &Run::default()).expect("an end");
//! // The bound is that of the weights that are averaged.
//! assert_eq!(outcome.bound.expect("Novikoff's").respected, Some(true));
//! ```

use std::ops::Range;

use crate::bits::{BLOCK_ROWS, Excerpt, ones_of};

use crate::learners::arithmetic::unit::{INTEGER_WEIGHT_MAX, Unit};
use crate::learners::decision::Decision;
use crate::learners::engine::bound::Bound;
use crate::learners::engine::entry::{
    DataKinds, DefaultStop, Guarantee, LearnerEntry, Pace, Replay,
};
use crate::learners::engine::random::Generator;
use crate::learners::engine::reason::Reason;
use crate::learners::engine::rule::{Kind, MemberRule, OnlineRule, Order, Rule};
use crate::learners::engine::run::{Counts, Interrupt, Run, StopFlag};
use crate::learners::engine::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};
use crate::learners::engine::thickness::{Band, THICKNESS};
use crate::learners::engine::update::{Learnt, Update};
use crate::learners::hypothesis::Hypothesis;
use crate::learners::linear::linear_weights::{
    IntegerWeights, LinearScratch, LinearWeights, RealWeights,
};
use crate::learners::linear::perceptron::{BIAS, ETA, INITIAL, OF_NAMES, Perceptron, READING};
use crate::learners::linear::sbpi::{ORDER, order};
use crate::learners::predictor::Predictor;
use crate::learners::sample::block::Block;
use crate::learners::sample::source::{Presentation, Stream};

pub static ENTRY: LearnerEntry = LearnerEntry {
    name: "averaged-perceptron",
    title: "Averaged perceptron",
    learns: "A hyperplane that suits data with noise: the mean of a perceptron's weights, in exact integers on \
             Boolean data.",
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
    is_conservative: false,
    replay: Replay::Numbered,
    // In Freund and Schapire's experiments the error hardly falls after ten passes. A mean over a thousand would need
    // whole numbers of twice the digits.
    default_stop: DefaultStop::Passes(10),
    parameters: &[READING, BIAS, ETA, ORDER, INITIAL, THICKNESS],
    guarantee: Guarantee {
        theorem: "Novikoff",
        bound: "At most R^2 |u|^2 / xi^2 mistakes of the weights that are averaged, for any separator u with \
                smallest product xi over examples of norm at most R, and 2 |w_0| |u| / (eta xi) more from first \
                weights w_0. With thickness tau, the bound is on the updates, and R^2 grows by 2 tau / eta.",
    },
    source: "Y. Freund and R. E. Schapire, Large margin classification using the perceptron algorithm (1999)",
    check: None,
    build: |setup| {
        let order = order(setup.parameters);
        let perceptron = Perceptron::of_bounded_sums(setup, order)?;
        Ok(Box::new(AveragedPerceptron::new(perceptron)))
    },
};

/// Why a run can end before its limits.
const SUMS_MAX: &str = "exact integer sums of weights are at most 2^40";

struct AveragedPerceptron {
    perceptron: Perceptron,
    /// u: the sum of the updates, each times the number of examples before its own.
    early: LinearWeights,
    /// Memory for the row of an update.
    scratch: LinearScratch,
    /// T: the number of examples so far.
    presented: u64,
    /// How many more examples can be presented before the sums must be looked at.
    unchecked: u64,
}

impl AveragedPerceptron {
    fn new(perceptron: Perceptron) -> Self {
        let mut own = Self {
            early: zeros(perceptron.weights()),
            scratch: perceptron.weights().scratch(),
            perceptron,
            presented: 0,
            unchecked: 0,
        };
        own.unchecked = own.headroom();
        own
    }

    /// The mean of the weights after each example, from the last ones and the sum of the updates. The mean of integer
    /// weights is their whole sum in a smaller unit.
    fn mean(&self, last: &LinearWeights, early: &LinearWeights) -> Hypothesis {
        let unit = self.perceptron.unit();
        Hypothesis::Linear(match (last, early, self.presented) {
            (last, _, 0) => last.clone().of_unit(unit),
            (LinearWeights::Integer(last), LinearWeights::Integer(early), presented) => {
                let mut weights = sums(last, early, presented);
                let bias = last.bias().and_then(|_| weights.pop());
                // A rate near the smallest double has no such unit. The sum decides alike.
                let unit = Unit::new(unit.value() / presented as f64).unwrap_or(unit);
                let sum = IntegerWeights::new(last.reading(), weights, bias);
                LinearWeights::Integer(sum.of_unit(unit))
            }
            (LinearWeights::Real(last), LinearWeights::Real(early), presented) => {
                let count = presented as f64;
                let mean = |(last, early): (&f64, &f64)| (count * last - early) / count;
                let weights = last.weights().iter().zip(early.weights()).map(mean);
                let bias = last.bias().as_ref().zip(early.bias().as_ref()).map(mean);
                let mean = RealWeights::new(last.reading(), weights.collect(), bias);
                LinearWeights::Real(mean).of_unit(unit)
            }
            _ => unreachable!("weights of one kind"),
        })
    }

    /// A power of two of further examples after which T w, u and their difference are whole numbers within the range
    /// of exact weights, whatever the examples are. 0 if not even one is sure to leave them there.
    fn headroom(&self) -> u64 {
        let weights = (self.perceptron.weights(), &self.early);
        let (LinearWeights::Integer(last), LinearWeights::Integer(early)) = weights else {
            return u64::MAX;
        };
        let sums = sums(last, early, self.presented).into_iter();
        let sum = i128::from(sums.map(i64::abs).max().unwrap_or(0));
        let (last, early) = (i128::from(last.largest()), i128::from(early.largest()));
        let (presented, step) = (i128::from(self.presented), self.perceptron.step() as i128);
        let fits = |more: i128| {
            let (presented, last) = (presented + more, last + more * step);
            let all = [
                presented * last,
                early + more * presented * step,
                sum + more * last,
            ];
            all.into_iter()
                .all(|number| number <= INTEGER_WEIGHT_MAX.into())
        };
        let powers = (0..=32).rev().map(|power| 1_u64 << power);
        // A caller counts up to a block of examples at once.
        let fits_after = |more: &u64| fits(i128::from(*more) + BLOCK_ROWS as i128);
        powers.into_iter().find(fits_after).unwrap_or(0)
    }

    /// Notes an update by row `row`, before which `before` examples were presented.
    fn note(&mut self, block: &Block<'_>, row: usize, before: u64) {
        let sign = if block.is_positive(row) { 1.0 } else { -1.0 };
        let amount = sign * block.step(row, self.perceptron.step()) * before as f64;
        let (early, scratch) = (&mut self.early, &mut self.scratch);
        // The weights stay so far within the range of f64 that no such sum can leave it.
        let _ = early.add(block, row, (amount, 1.0), scratch);
    }
}

/// Weights of 0 of the same kind and number.
fn zeros(weights: &LinearWeights) -> LinearWeights {
    match weights {
        LinearWeights::Integer(own) => {
            let zeros = vec![0; own.weights().len()];
            let bias = own.bias().map(|_| 0);
            LinearWeights::Integer(IntegerWeights::new(own.reading(), zeros, bias))
        }
        LinearWeights::Real(own) => {
            let zeros = vec![0.0; own.weights().len()];
            let bias = own.bias().map(|_| 0.0);
            LinearWeights::Real(RealWeights::new(own.reading(), zeros, bias))
        }
    }
}

/// `presented` times the last weights less `early`, the bias last.
fn sums(last: &IntegerWeights, early: &IntegerWeights, presented: u64) -> Vec<i64> {
    let last = last.weights().into_iter().chain(last.bias());
    let early = early.weights().into_iter().chain(early.bias());
    let sum = |(last, early)| presented as i64 * last - early;
    last.zip(early).map(sum).collect()
}

impl Rule for AveragedPerceptron {
    fn kind(&mut self) -> Kind<'_> {
        Kind::Online(self)
    }

    fn start_from(&mut self, hypothesis: &Hypothesis) -> Result<(), String> {
        self.perceptron.start_from(hypothesis)?;
        self.early = zeros(self.perceptron.weights());
        self.scratch = self.early.scratch();
        self.unchecked = self.headroom();
        Ok(())
    }

    fn grow(&mut self, n: usize) -> Result<(), String> {
        self.early.grow(n);
        self.perceptron.grow(n)
    }

    fn predictor(&self) -> Predictor {
        self.mean(self.perceptron.weights(), &self.early).into()
    }

    fn excerpt(&self, excerpt: &Excerpt) -> Option<Predictor> {
        let last = self.perceptron.weights().excerpt(excerpt);
        Some(self.mean(&last, &self.early.excerpt(excerpt)).into())
    }

    fn last(&self) -> Predictor {
        self.perceptron.predictor()
    }

    fn snapshot(&mut self, snapshot: &mut SnapshotWriter) {
        snapshot.numbers([self.presented, self.unchecked]);
        self.perceptron.snapshot(snapshot);
        self.early.snapshot(snapshot);
    }

    fn restore(&mut self, snapshot: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.presented = snapshot.number()?;
        self.unchecked = snapshot.number()?;
        self.perceptron.restore(snapshot)?;
        self.early = self.early.restored(snapshot)?;
        Ok(())
    }

    fn why_no_bound(&self) -> &'static str {
        self.perceptron.why_no_bound()
    }

    fn bound(
        &self,
        stream: &mut dyn Stream,
        counts: &Counts,
        reason: Reason,
        run: &Run,
    ) -> Result<Option<Bound>, Interrupt> {
        self.perceptron.bound(stream, counts, reason, run)
    }

    fn joint_bound(
        &self,
        committee: &Predictor,
        stream: &mut dyn Stream,
        counts: &Counts,
        reason: Reason,
        run: &Run,
    ) -> Result<Option<Bound>, Interrupt> {
        self.perceptron
            .joint_bound(committee, stream, counts, reason, run)
    }
}

impl OnlineRule for AveragedPerceptron {
    fn order(&self) -> Order {
        self.perceptron.order()
    }

    fn band(&self) -> Option<&Band> {
        self.perceptron.band()
    }

    fn first_mistake(
        &mut self,
        block: &Block<'_>,
        rows: Range<usize>,
        stop: &StopFlag,
    ) -> Option<usize> {
        self.perceptron.first_mistake(block, rows, stop)
    }

    fn update(&mut self, block: &Block<'_>, row: usize, random: &mut Generator) -> Update {
        let update = self.perceptron.update(block, row, random);
        if update == Update::Changed {
            self.note(block, row, self.presented);
        }
        update
    }

    fn learn(
        &mut self,
        block: &Block<'_>,
        rows: Range<usize>,
        mistakes_max: u64,
        stop: &StopFlag,
        random: &mut Generator,
    ) -> Learnt {
        let (start, unchecked) = (rows.start, self.unchecked.min(rows.len() as u64));
        let rows = start..start + unchecked as usize;
        let mut learnt = self
            .perceptron
            .learn(block, rows, mistakes_max, stop, random);
        for row in ones_of(learnt.updated) {
            self.note(block, row, self.presented + (row - start) as u64);
        }
        if let Some(limit) = self.presented((learnt.end - start) as u64) {
            learnt.last = Update::Refused(limit);
        }
        learnt
    }

    fn presented(&mut self, examples: u64) -> Option<&'static str> {
        self.presented += examples;
        self.unchecked = self.unchecked.saturating_sub(examples);
        if self.unchecked == 0 {
            self.unchecked = self.headroom();
        }
        (self.unchecked == 0).then_some(SUMS_MAX)
    }

    fn as_member(&mut self) -> Option<&mut dyn MemberRule> {
        Some(self)
    }
}

impl MemberRule for AveragedPerceptron {
    fn decide(&mut self, block: &Block<'_>, row: usize, stop: &StopFlag) -> Decision {
        self.perceptron.decide(block, row, stop)
    }

    fn patience(&self) -> u64 {
        self.unchecked
    }

    fn additive_step(&self) -> Option<f64> {
        self.perceptron.additive_step()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use std::sync::Arc;

    use crate::bits::{BitMatrix, BitVector};
    use crate::learners::catalogue::find;
    use crate::learners::engine::check::check;
    use crate::learners::engine::committee::Multiclass;
    use crate::learners::engine::input::{Input, TaskError};
    use crate::learners::engine::outcome::RunOutcome;
    use crate::learners::engine::parameters::Parameters;
    use crate::learners::engine::random::Seed;
    use crate::learners::engine::run::RunLimits;
    use crate::learners::engine::session::{Session, SessionEnd, SessionPlan};
    use crate::learners::engine::task::Task;
    use crate::learners::engine::train::train;
    use crate::learners::linear::linear_weights::Reading;
    use crate::learners::sample::classes::ClassCodes;
    use crate::learners::sample::data::{Data, Features, Labels};

    use super::*;

    fn task(params: &Value, classes: usize) -> Task {
        let params = params.as_object().expect("an object");
        Task {
            classes,
            parameters: Parameters::from_json(ENTRY.parameters, params).expect("parameters"),
            limits: RunLimits {
                max_passes: Some(1_000),
                ..RunLimits::default()
            },
            ..Task::of(find(ENTRY.name).expect("listed"), Seed(1))
        }
    }

    /// Eight examples of one bit, whose classes contradict each other.
    fn data(classes: usize) -> Data {
        let mut bits = BitMatrix::new(1);
        (0..8).for_each(|row| bits.push_row(&[row % 2]));
        let plane = |text: &[u8]| BitVector::from_bit_string(text).expect("bits");
        let labels = match classes {
            2 => Labels::of_signs(plane(b"00110011")),
            _ => Labels::Labelled(ClassCodes::of_planes(vec![
                plane(b"00110000"),
                plane(b"00001111"),
            ])),
        };
        Data::new(Features::Boolean(bits), labels)
    }

    fn run(task: &Task, data: &Data) -> RunOutcome {
        let input = Input::Sample { data, assume: None };
        check(task, input, u64::MAX).expect("a task");
        train(task, input, &Run::default()).expect("an end")
    }

    #[test]
    fn averaged_runs_end_before_their_sums_leave_the_range() {
        for classes in [2, 3] {
            // The sum of so large a weight reaches 2^40 after about a thousand examples.
            let outcome = run(&task(&json!({"initial": 1e9}), classes), &data(classes));
            assert_eq!(outcome.termination.reason, Reason::Limit(SUMS_MAX));
            assert!(
                (500..1_100).contains(&outcome.counts.examples),
                "{:?}",
                outcome.counts
            );
            // 10^12 units of 0.001 are a weight, but not one to be added up.
            let params = json!({"initial": 1e9, "eta": 0.001});
            let outcome = run(&task(&params, classes), &data(classes));
            assert_eq!(outcome.termination.reason, Reason::Limit(SUMS_MAX));
            assert!(outcome.counts.examples <= 1, "{:?}", outcome.counts);
        }
    }

    #[test]
    fn averaged_session_ends_if_it_cannot_begin() {
        let mut task = task(&json!({"initial": 1e9, "eta": 0.001}), 2);
        task.limits.max_passes = None;
        let plan = SessionPlan {
            task,
            n: 1,
            real: false,
            assume: None,
        };
        let mut session = Session::new(plan).expect("a session");
        let answers = session.learn(&data(2), &Run::default()).expect("an end");
        assert!(answers.is_empty());
        assert_eq!(session.end(), Some(&SessionEnd::Limit(SUMS_MAX.to_owned())));
    }

    #[test]
    fn committee_refuses_starts_without_a_common_scale() {
        let whole = IntegerWeights::new(Reading::Signed, vec![2], Some(0));
        let tenths = |count| {
            let weights = IntegerWeights::new(Reading::Signed, vec![count], Some(1));
            LinearWeights::Integer(weights.of_unit(Unit::new(0.1).expect("positive")))
        };
        let members = [LinearWeights::Integer(whole), tenths(3), tenths(-7)];
        let members = members.map(Hypothesis::Linear).to_vec();
        for multiclass in [Multiclass::OneVsRest, Multiclass::Joint] {
            let task = Task {
                multiclass,
                start: Some(Arc::new(Predictor::Committee(members.clone()))),
                ..task(&json!({}), 3)
            };
            let (data, assume) = (data(3), None);
            let input = Input::Sample {
                data: &data,
                assume,
            };
            match check(&task, input, u64::MAX) {
                Err(TaskError::WrongStart(detail)) => assert!(detail.contains("common scale")),
                other => panic!("{other:?}"),
            }
        }
    }
}

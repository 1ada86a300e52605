//! The learner `winnow`: it multiplies and divides its weights and never adds to them.
//!
//! N. Littlestone, "Learning quickly when irrelevant attributes abound: a new linear-threshold algorithm",
//! Machine Learning 2 (1988). The form is that of section 1 of R. Khardon, D. Roth and R. Servedio,
//! "Efficiency versus convergence of Boolean kernels for on-line learning algorithms".
//!
//! Every feature starts with weight 1. Winnow reads bit 1 as 1 and bit 0 as 0, and predicts an example positive if the
//! weights of its active features sum to theta or more. A mistake changes each of these weights: it is divided by alpha
//! if a negative example was predicted positive (*demotion*), and multiplied by alpha if a positive one was predicted
//! negative (*promotion*). By Theorem 2 of the second paper, the mistakes on a monotone disjunction of k among N
//! features grow only with the logarithm of N ([`winnow_bound`]).
//!
//! Features may have names, and then nobody knows N. With at most a active features in an example, the threshold 4a
//! keeps the number of mistakes at most 6 k (3 + log2 a) at alpha = 2, however many names there are
//! ([`winnow_bound::updates_over_names`]).
//!
//! Only the exponent of a weight is stored, and alpha is exactly the decimal that you write, so every comparison is
//! exact for any alpha.
//!
//! | parameter | default | meaning |
//! |---|---|---|
//! | `alpha` | 2 | the factor of a promotion, a decimal above 1 and at most 2^32 |
//! | `theta` | N; 4a for names | the threshold, a plain decimal above 0, as a string if a number is not exact |
//! | `negated_literals` | false | whether the complement of each feature is a feature too: N = 2n |
//! | `relevant` | none | the number of features in the disjunction, if known, for the bound |
//! | `thickness` | 0 | how far beyond theta a sum must lie to be left alone, as a share of theta |
//!
//! ```
//! use halfspace_core::learners::arithmetic::decimal::Decimal;
//! use halfspace_core::learners::arithmetic::power_sum::Base;
//! use halfspace_core::learners::sample::block::RowBits;
//! use halfspace_core::learners::winnow::winnow_weights::WinnowWeights;
//!
//! let alpha = Base::new(2.0).expect("above 1");
//! let mut weights = WinnowWeights::new(alpha, Decimal::from(3), 3, vec![0; 3]);
//! let mut table = weights.table();
//! // The weight of the first feature is 1, then 2, then 4, which reaches theta.
//! while !weights.is_positive(RowBits::Listed(&[0])) {
//!     weights.change(RowBits::Listed(&[0]), 1, &mut table);
//! }
//! assert_eq!(weights.exponents(), [2, 0, 0]);
//! ```

pub(crate) mod disjunction;
mod sketch;
pub mod winnow_bound;
pub mod winnow_weights;

use std::ops::Range;

use self::disjunction::DisjunctionVerdict;
use crate::bits::Excerpt;
use crate::learners::arithmetic::bracket::Bracket;
use crate::learners::arithmetic::decimal::Decimal;
use crate::learners::arithmetic::power_scale::PowerTable;
use crate::learners::arithmetic::power_sum::Base;
use crate::learners::arithmetic::unit::Unit;
use crate::learners::decision::Decision;
use crate::learners::engine::bound::{Bound, Counted};
use crate::learners::engine::entry::{
    DataKinds, DefaultStop, Guarantee, LearnerEntry, Pace, Replay, Setup,
};
use crate::learners::engine::parameters::{Parameter, ParameterError, ParameterKind};
use crate::learners::engine::random::Generator;
use crate::learners::engine::reason::Reason;
use crate::learners::engine::rule::{Kind, MemberRule, OnlineRule, Rule};
use crate::learners::engine::run::{Counts, Interrupt, Run, StopFlag};
use crate::learners::engine::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};
use crate::learners::engine::thickness::{Band, Lesson, SHARE, Stand, thickness};
use crate::learners::engine::update::Update;
use crate::learners::hypothesis::Hypothesis;
use crate::learners::predictor::Predictor;
use crate::learners::sample::block::Block;
use crate::learners::sample::source::{Presentation, Stream};
use crate::learners::winnow::winnow_weights::{Level, WinnowWeights};

/// The kind of the hypothesis in model documents.
pub const KIND: &str = "winnow";

pub static ENTRY: LearnerEntry = LearnerEntry {
    name: KIND,
    title: "Winnow",
    learns: "A threshold of positive weights, exact powers of alpha: disjunctions of few among \
             many features.",
    data: DataKinds {
        half_space: false,
        labelled: true,
        real: false,
        names: Some(&[("negated_literals", "false")]),
        parts: false,
    },
    reading: "unsigned",
    presentation: Presentation::LabelledSparse,
    on_line: true,
    pace: Pace::Steady,
    confidence_rules: &[],
    is_conservative: true,
    replay: Replay::Mistaken,
    default_stop: DefaultStop::Passes(1000),
    parameters: &[
        Parameter {
            name: "alpha",
            kind: ParameterKind::Factor { default: 2.0 },
            description: "Factor of a promotion and divisor of a demotion, exactly as the written \
                          decimal.",
        },
        Parameter {
            name: "theta",
            kind: ParameterKind::Decimal {
                default: "the number of features, complements included; with names, 4 times the \
                          largest number of active features in an example, or the threshold of \
                          the model that the run starts from",
            },
            description: "The threshold that the weights of the active features must reach.",
        },
        Parameter {
            name: "negated_literals",
            kind: ParameterKind::Flag { default: false },
            description: "Whether the complement of each feature is also a feature.",
        },
        Parameter {
            name: "relevant",
            kind: ParameterKind::Count {
                minimum: 1,
                maximum: 2 << 20,
                default: "none",
            },
            description: "Largest number of features in the disjunction behind the labels, if \
                          known. The result then reports the bound on the mistakes.",
        },
        SHARE,
    ],
    guarantee: Guarantee {
        theorem: "Theorem 2 (Littlestone)",
        bound: "At most alpha/(alpha-1) N/theta + k (alpha+1) (1 + log_alpha theta) mistakes on \
                examples labelled by a disjunction of k among N features; only the first term if \
                theta < 1. With names and at most a active features, at most k (1 + log_alpha theta) \
                (1 + ((alpha-1) theta + a) / ((1-1/alpha) theta - a)). With thickness the bounds are on the updates.",
    },
    source: "N. Littlestone, Learning quickly when irrelevant attributes abound (1988)",
    check: None,
    build: |setup| Ok(Box::new(Winnow::new(setup)?)),
};

/// The bound for features with names, which is our own: see [`winnow_bound::updates_over_names`].
const OVER_NAMES: &str = "Winnow over names";

const UNMET: &str = "assumption not met";

/// Whether a run takes the threshold of the model that it starts from. The default over names follows from the
/// examples, so that of later examples may differ.
pub fn takes_theta(setup: &Setup<'_>) -> bool {
    setup.active_max.is_some() && setup.parameters.decimal("theta").is_none()
}

/// Checks that the weights of a model fit a rule. `model` and `own` are the bases and thresholds of the two.
///
/// # Errors
/// The parameter that differs and the value to give.
pub fn check_powers(
    model: (Base, &Decimal),
    own: (Base, &Decimal),
    takes_theta: bool,
) -> Result<(), String> {
    if model.0 != own.0 {
        let alpha = model.0.to_decimal();
        return Err(format!("the model has alpha = {alpha}; set the same value"));
    }
    if model.1 != own.1 && !takes_theta {
        let theta: String = model.1.to_string().chars().take(100).collect();
        return Err(format!("the model has theta = {theta}; set the same value"));
    }
    Ok(())
}

/// The state of Winnow.
struct Winnow {
    weights: WinnowWeights,
    table: PowerTable,
    /// The number of features in the disjunction, if the client knows it.
    relevant: Option<u64>,
    /// The largest number of active features in an example, if features have names.
    active_max: Option<u64>,
    /// Whether a model may bring another threshold: see [`takes_theta`].
    takes_theta: bool,
    starts_at_one: bool,
    thick: Option<Thick>,
    /// Memory for the packed words of a row.
    words: Vec<u64>,
}

/// The thickness, and the sums that it leaves alone.
struct Thick {
    share: f64,
    /// What the sum of a negative example must stay below, and what that of a positive one must reach.
    levels: [Level; 2],
    band: Band,
}

impl Thick {
    fn new(share: f64, weights: &WinnowWeights) -> Self {
        let levels = around(share, weights.theta());
        Self {
            share,
            band: Band::of_decimals(&levels),
            levels: levels.map(|level| weights.level(level)),
        }
    }
}

/// theta - tau and theta + tau.
pub fn around(share: f64, theta: &Decimal) -> [Decimal; 2] {
    let share = Decimal::parse(&share.to_string()).expect("a share below 1");
    theta.around(&share)
}

impl Winnow {
    /// Makes the rule from its parameters.
    ///
    /// # Errors
    /// An error if `relevant` exceeds the number of features.
    fn new(setup: &Setup<'_>) -> Result<Self, ParameterError> {
        let parameters = setup.parameters;
        let features = match parameters.flag("negated_literals") {
            true => 2 * setup.n,
            false => setup.n,
        };
        let relevant = parameters.count("relevant");
        let is_above = |relevant| relevant > features as u64 && setup.active_max.is_none();
        if relevant.is_some_and(is_above) {
            return Err(ParameterError {
                name: "relevant".to_owned(),
                detail: format!("the value is above the number of features, {features}"),
                unknown: false,
            });
        }
        let theta = parameters.decimal("theta").cloned();
        let theta = theta.unwrap_or_else(|| match setup.active_max {
            Some(active) => Decimal::from(4 * active),
            None => Decimal::from(features as u64),
        });
        let base = parameters.factor("alpha");
        let weights = WinnowWeights::new(base, theta, setup.n, vec![0; features]);
        let share = thickness(parameters).map(Unit::value);
        Ok(Self {
            table: weights.table(),
            thick: share.map(|share| Thick::new(share, &weights)),
            weights,
            relevant,
            active_max: setup.active_max,
            takes_theta: takes_theta(setup),
            starts_at_one: true,
            words: Vec::new(),
        })
    }

    /// Makes everything again that follows from the scale of the weights.
    fn rescale(&mut self) {
        self.table = self.weights.table();
        let share = self.thick.as_ref().map(|thick| thick.share);
        self.thick = share.map(|share| Thick::new(share, &self.weights));
    }
}

impl Winnow {
    /// Whether a row is a mistake and a lesson, and the bounds of its sum.
    fn stand(&mut self, block: &Block<'_>, row: usize) -> (Stand, Bracket) {
        let is_own = block.is_positive(row);
        let bits = block.row_bits(row, &mut self.words);
        let bracket = self.weights.bracket(bits);
        let is_wrong = |level: &Level| self.weights.reaches(bits, bracket, level) != is_own;
        let is_mistake = is_wrong(self.weights.theta_level());
        let levels = self.thick.as_ref().map(|thick| &thick.levels);
        let stand = Stand {
            is_mistake,
            is_lesson: is_mistake
                || levels.is_some_and(|both| is_wrong(&both[usize::from(is_own)])),
        };
        (stand, bracket)
    }

    /// The bound for a disjunction of so many features, without a verdict.
    ///
    /// # Errors
    /// The bound that is withheld because theta is too small for names.
    fn stated(&self, relevant: f64) -> Result<Bound, Bound> {
        let (base, theta) = (self.weights.base(), self.weights.theta());
        let (alpha, ln_theta) = (base.value(), theta.ln());
        let thickness = self.thick.as_ref().map_or(0.0, |thick| thick.share);
        let bound = |theorem, value: f64| Bound {
            theorem,
            mistakes_at_most: value.is_finite().then_some(value),
            log2_mistakes_at_most: None,
            respected: None,
            detail: None,
        };
        let Some(active) = self.active_max else {
            let features = self.weights.exponents().len() as f64;
            let value =
                winnow_bound::updates_by_logarithm(alpha, ln_theta, thickness, features, relevant);
            return Ok(Bound {
                // N / theta is the term that leaves the range of f64. The other term is negligible beside it.
                log2_mistakes_at_most: (!value.is_finite()).then(|| {
                    let factor = alpha / (alpha - 1.0) / (1.0 - thickness);
                    libm::log2(factor * features) - ln_theta / core::f64::consts::LN_2
                }),
                ..bound(ENTRY.guarantee.theorem, value)
            });
        };
        let active_max = active as f64;
        let value =
            winnow_bound::updates_over_names(alpha, ln_theta, thickness, active_max, relevant);
        value.map(|value| bound(OVER_NAMES, value)).ok_or_else(|| {
            let detail = format!(
                "{UNMET}: theta less its thickness must exceed a alpha/(alpha-1), where a = {active} features of an \
                 example are active"
            );
            Bound {
                detail: Some(detail),
                ..bound(OVER_NAMES, f64::INFINITY)
            }
        })
    }

    /// The bound for a disjunction of so many features, if the start and the counts of a run leave it possible.
    ///
    /// # Errors
    /// The bound with what excludes it.
    fn possible(&self, relevant: u64, counts: &Counts) -> Result<Bound, Bound> {
        let bound = self.stated(relevant as f64)?;
        let unmet = |why: String, bound| self.judged(bound, None, format!("{UNMET}: {why}"));
        if !self.starts_at_one {
            return Err(unmet("the weights did not start at 1".to_owned(), bound));
        }
        let value = bound.mistakes_at_most.unwrap_or(f64::INFINITY);
        let counted = self.counted();
        // The value is accurate to about 50 bits.
        if counted.number(counts) as f64 > value * (1.0 + 1e-9) {
            let what = counted.name();
            let why = format!(
                "the run made more {what} than any disjunction of at most {relevant} features allows"
            );
            return Err(unmet(why, bound));
        }
        Ok(bound)
    }

    fn judged(&self, bound: Bound, respected: Option<bool>, detail: String) -> Bound {
        self.counted().noted(Bound {
            respected,
            detail: Some(detail),
            ..bound
        })
    }

    /// What the bound is on.
    fn counted(&self) -> Counted {
        Counted::of(self.thick.is_some())
    }
}

impl Rule for Winnow {
    fn kind(&mut self) -> Kind<'_> {
        Kind::Online(self)
    }

    fn start_from(&mut self, hypothesis: &Hypothesis) -> Result<(), String> {
        let Hypothesis::Winnow(weights) = hypothesis else {
            return Err("this learner needs a model with weights of Winnow".into());
        };
        let own = &self.weights;
        check_powers(
            (weights.base(), weights.theta()),
            (own.base(), own.theta()),
            self.takes_theta,
        )?;
        if weights.has_complements() != own.has_complements() {
            let given = weights.has_complements();
            return Err(format!(
                "the model has negated_literals = {given}; set the same value"
            ));
        }
        self.starts_at_one = weights.exponents().iter().all(|&exponent| exponent == 0);
        // The names of these examples are known from now on.
        self.weights = weights.clone().closed(false);
        self.rescale();
        Ok(())
    }

    fn grow(&mut self, n: usize) -> Result<(), String> {
        if self.weights.grow(n) {
            self.rescale();
        }
        Ok(())
    }

    fn predictor(&self) -> Predictor {
        Hypothesis::Winnow(self.weights.clone()).into()
    }

    fn excerpt(&self, excerpt: &Excerpt) -> Option<Predictor> {
        Some(Hypothesis::Winnow(self.weights.excerpt(excerpt)?).into())
    }

    fn snapshot(&mut self, snapshot: &mut SnapshotWriter) {
        let exponents = self.weights.exponents().iter();
        snapshot.numbers(exponents.map(|&exponent| i64::from(exponent).cast_unsigned()));
    }

    fn restore(&mut self, snapshot: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        let most = self.weights.base().exponent_max();
        let numbers = snapshot.numbers(self.weights.exponents().len())?;
        let exponents = numbers.into_iter().map(|number| {
            let exponent = i32::try_from(number.cast_signed()).ok();
            let exponent = exponent.filter(|exponent| (-most..=most).contains(exponent));
            exponent.ok_or(SnapshotError)
        });
        let exponents = exponents.collect::<Result<_, _>>()?;
        self.weights = self.weights.of_exponents(self.weights.n(), exponents);
        Ok(())
    }

    fn why_no_bound(&self) -> &'static str {
        "Theorem 2 needs the number of relevant features; set `relevant`"
    }

    fn bound_of_counts(&self, counts: &Counts) -> Result<Bound, &'static str> {
        let relevant = self.relevant.ok_or_else(|| self.why_no_bound())?;
        let unseen = || {
            format!(
                "the examples are not kept, so nobody checked whether at most {relevant} features are relevant"
            )
        };
        let open = |bound| self.judged(bound, None, unseen());
        Ok(self
            .possible(relevant, counts)
            .map_or_else(|settled| settled, open))
    }

    fn bound(
        &self,
        stream: &mut dyn Stream,
        counts: &Counts,
        _: Reason,
        run: &Run,
    ) -> Result<Option<Bound>, Interrupt> {
        let Some(relevant) = self.relevant else {
            return Ok(None);
        };
        let bound = match self.possible(relevant, counts) {
            Ok(bound) => bound,
            Err(settled) => return Ok(Some(settled)),
        };
        let met = |detail: String| self.judged(bound.clone(), Some(true), detail);
        let open = |detail: String| self.judged(bound.clone(), None, detail);
        let unmet = |why: String| open(format!("{UNMET}: {why}"));
        let complements = self.weights.has_complements();
        let verdict = disjunction::verdict(stream, counts.examples, complements, relevant, run);
        Ok(Some(match verdict {
            Ok(DisjunctionVerdict::Fits) => met(format!(
                "a disjunction of at most {relevant} features labels every example read"
            )),
            Ok(DisjunctionVerdict::NoneAtAll) => {
                unmet("no disjunction of features gives these labels".to_owned())
            }
            Ok(DisjunctionVerdict::NoneSoShort) => unmet(format!(
                "no disjunction of at most {relevant} features gives these labels"
            )),
            Ok(DisjunctionVerdict::Open) => open(format!(
                "the check could not decide whether at most {relevant} features are relevant; the \
                 examples do not contradict this number"
            )),
            Err(why @ (Interrupt::Suspended | Interrupt::Unreadable | Interrupt::Memory)) => {
                return Err(why);
            }
            Err(_) => open(format!(
                "the run ended before the check whether at most {relevant} features are relevant"
            )),
        }))
    }
}

impl OnlineRule for Winnow {
    fn first_mistake(
        &mut self,
        block: &Block<'_>,
        rows: Range<usize>,
        stop: &StopFlag,
    ) -> Option<usize> {
        self.weights
            .first_mistake(block, rows, &mut self.words, stop)
    }

    fn first_lesson(
        &mut self,
        block: &Block<'_>,
        mut rows: Range<usize>,
        stop: &StopFlag,
    ) -> Option<Lesson> {
        if self.thick.is_none() {
            return self.first_mistake(block, rows, stop).map(Lesson::mistake);
        }
        rows.find_map(|row| {
            let (stand, _) = self.stand(block, row);
            let is_found = stand.is_lesson || stop.raised().is_some();
            is_found.then_some(Lesson {
                row,
                is_mistake: stand.is_mistake,
            })
        })
    }

    fn band(&self) -> Option<&Band> {
        self.thick.as_ref().map(|thick| &thick.band)
    }

    fn may_break_off(&self) -> bool {
        true
    }

    fn update(&mut self, block: &Block<'_>, row: usize, _: &mut Generator) -> Update {
        let by = if block.is_positive(row) { 1 } else { -1 };
        let row = block.row_bits(row, &mut self.words);
        match self.weights.change(row, by, &mut self.table) {
            Some(true) => Update::Changed,
            Some(false) => Update::Unchanged,
            None => Update::Refused("exact weights have at most 2^20 bits"),
        }
    }

    fn as_member(&mut self) -> Option<&mut dyn MemberRule> {
        Some(self)
    }
}

impl MemberRule for Winnow {
    fn decide(&mut self, block: &Block<'_>, row: usize, _: &StopFlag) -> Decision {
        self.weights.decide(block.row_bits(row, &mut self.words))
    }

    fn glance(&mut self, block: &Block<'_>, row: usize) -> Option<(Stand, Bracket)> {
        Some(self.stand(block, row))
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use serde_json::{Value, json};

    use super::*;
    use crate::bits::{BitMatrix, BitVector};
    use crate::learners::engine::check::check;
    use crate::learners::engine::input::Input;
    use crate::learners::engine::outcome::RunOutcome;
    use crate::learners::engine::parameters::Parameters;
    use crate::learners::engine::random::{Purpose, Seed};
    use crate::learners::engine::run::RunLimits;
    use crate::learners::engine::task::Task;
    use crate::learners::engine::train::train;
    use crate::learners::sample::data::{Data, Features, Labels};

    fn data(rows: &[(BitVector, bool)]) -> Data {
        let mut matrix = BitMatrix::new(rows[0].0.n());
        let mut labels = BitVector::zeros(rows.len());
        for (at, (row, label)) in rows.iter().enumerate() {
            matrix.push_row(row.words());
            labels.set(at, *label);
        }
        Data::new(Features::Boolean(matrix), Labels::of_signs(labels))
    }

    fn text(rows: &[(&str, bool)]) -> Data {
        let row = |(bits, label): &(&str, bool)| {
            let bits = BitVector::from_bit_string(bits.as_bytes()).expect("bits");
            (bits, *label)
        };
        data(&rows.iter().map(row).collect::<Vec<_>>())
    }

    fn learn(params: &Value, data: &Data, limits: RunLimits) -> RunOutcome {
        let object = params.as_object().expect("an object");
        let task = Task {
            parameters: Parameters::from_json(ENTRY.parameters, object).expect("parameters"),
            limits,
            ..Task::of(&ENTRY, Seed(1))
        };
        let assume = None;
        let input = Input::Sample { data, assume };
        check(&task, input, u64::MAX).expect("a valid task");
        train(&task, input, &Run::default()).expect("nobody suspends it")
    }

    fn exponents(outcome: &RunOutcome) -> &[i32] {
        match &outcome.predictor {
            Predictor::One(Hypothesis::Winnow(weights)) => weights.exponents(),
            other => unreachable!("{other:?}"),
        }
    }

    #[test]
    fn winnow_run_worked_by_hand() {
        // theta = 3. 110 sums to 2: a mistake, promoted to 2 2 1. 011 sums to 3: a mistake, demoted to 2 1
        // 1/2. 100 sums to 2: a mistake, promoted to 4 1 1/2. Then a pass without a mistake follows.
        let sample = text(&[("110", true), ("011", false), ("100", true)]);
        let outcome = learn(&json!({}), &sample, RunLimits::default());
        assert_eq!(exponents(&outcome), [2, 0, -1]);
        assert_eq!(outcome.counts.mistakes, 3);
        assert_eq!(outcome.counts.passes, 2);
        assert_eq!(outcome.termination.reason, Reason::Converged);
        assert_eq!(outcome.bound, None);
    }

    #[test]
    fn winnow_with_negated_literals_learns_a_negation() {
        // The target is the negation of x1.
        let sample = text(&[("00", true), ("01", true), ("10", false), ("11", false)]);
        let given = json!({"negated_literals": true, "relevant": 1});
        let outcome = learn(&given, &sample, RunLimits::default());
        assert_eq!(outcome.termination.reason, Reason::Converged);
        assert_eq!(exponents(&outcome).len(), 4);
        assert_eq!(outcome.bound.expect("asked for").respected, Some(true));
        let without = learn(&json!({}), &sample, RunLimits::default());
        assert_eq!(without.termination.reason, Reason::Limit("max_passes"));
    }

    #[test]
    fn an_example_without_active_features_changes_nothing() {
        let sample = text(&[("00", true)]);
        let limits = RunLimits {
            max_passes: Some(3),
            ..RunLimits::default()
        };
        let outcome = learn(&json!({}), &sample, limits);
        assert_eq!((outcome.counts.mistakes, outcome.counts.updates), (3, 0));
    }

    #[test]
    fn weights_end_where_their_integers_would_be_too_large() {
        // Each mistake demotes feature 1, because weight 1 is far above this small threshold.
        let theta = format!("0.{}1", "0".repeat(9_998));
        let sample = text(&[("1", false)]);
        let given = json!({"alpha": 4_294_967_296_u64, "theta": theta});
        let limits = RunLimits {
            max_passes: Some(20_000),
            ..RunLimits::default()
        };
        let outcome = learn(&given, &sample, limits);
        // 2^-32e falls below 10^-9999 before the exponent reaches its limit.
        assert_eq!(outcome.termination.reason, Reason::Converged);
        assert_eq!(exponents(&outcome), [-1038]);
        let contradiction = text(&[("1", false), ("1", true), ("1", true)]);
        let given = json!({"alpha": 4_294_967_296_u64, "theta": "9".repeat(10_000)});
        let outcome = learn(&given, &contradiction, RunLimits::default());
        assert_eq!(outcome.termination.reason, Reason::Limit("max_passes"));
    }

    /// A vector whose bits are 1 with probability `ones` in 256.
    fn sparse(n: usize, ones: u8, random: &mut Generator) -> BitVector {
        let mut vector = BitVector::zeros(n);
        for j in 0..n {
            if random.random::<u8>() < ones {
                vector.set(j, true);
            }
        }
        vector
    }

    /// Theorem 2 on 1,000 random disjunctions: n up to 500, k up to 10.
    #[test]
    fn winnow_bound_holds_over_a_thousand_random_disjunctions() {
        let settings = [
            (json!(2), json!(null)),
            (json!(2), json!("0.75")),
            (json!(1.5), json!(null)),
            (json!(3), json!("40.5")),
            (json!(1.1), json!("12")),
            (json!(10), json!("1")),
            (json!(2), json!("1000000000000000000000000000000000")),
        ];
        let mut most = 0.0_f64;
        for seed in 0..1000 {
            let mut random = Seed(seed).generator(Purpose::Examples);
            let n = random.random_range(10..=500);
            let literals = random.random_range(1..=10);
            let negated = random.random::<bool>();
            let target: Vec<_> = (0..literals)
                .map(|_| {
                    (
                        random.random_range(0..n),
                        negated && random.random::<bool>(),
                    )
                })
                .collect();
            // The rows are so sparse that both labels occur.
            let ones = if negated { 128 } else { (180 / literals) as u8 };
            let rows: Vec<_> = (0..60)
                .map(|at| {
                    let mut row = sparse(n, ones, &mut random);
                    if at % 2 == 0 {
                        target.iter().for_each(|&(j, negated)| row.set(j, negated));
                    }
                    let label = target.iter().any(|&(j, negated)| row.get(j) != negated);
                    (row, label)
                })
                .collect();
            let (alpha, theta) = &settings[seed as usize % settings.len()];
            let given = json!({
                "alpha": alpha, "theta": theta, "negated_literals": negated, "relevant": literals
            });
            let limits = RunLimits {
                max_passes: Some(8),
                ..RunLimits::default()
            };
            let outcome = learn(&given, &data(&rows), limits);
            let bound = outcome.bound.expect("asked for");
            // Two complementary literals label all examples positive, which is still a disjunction.
            assert_eq!(bound.respected, Some(true), "seed {seed}: {bound:?}");
            let value = bound.mistakes_at_most.expect("within f64");
            assert!(outcome.counts.mistakes as f64 <= value, "seed {seed}");
            most = most.max(outcome.counts.mistakes as f64 / value);
        }
        assert!(most > 0.3, "the test never comes near the bound: {most}");
    }

    #[test]
    fn winnow_bound_with_a_broken_assumption_has_no_verdict() {
        let verdict = |given: Value, sample: &Data| {
            let limits = RunLimits {
                max_passes: Some(3),
                ..RunLimits::default()
            };
            let bound = learn(&given, sample, limits).bound.expect("asked for");
            (bound.respected, bound.detail.unwrap_or_default())
        };
        let apart = text(&[("100", true), ("010", true), ("001", true), ("000", false)]);
        let (holds, detail) = verdict(json!({"relevant": 2}), &apart);
        assert_eq!(holds, None);
        assert!(
            detail.starts_with("assumption not met: no disjunction of at most 2 features"),
            "{detail}"
        );
        assert_eq!(verdict(json!({"relevant": 3}), &apart).0, Some(true));
        let contradiction = text(&[("11", true), ("11", false)]);
        let (holds, detail) = verdict(json!({"relevant": 2}), &contradiction);
        assert_eq!(holds, None);
        assert!(
            detail.starts_with("assumption not met: no disjunction of features"),
            "{detail}"
        );
    }

    #[test]
    fn winnow_bound_beyond_f64_is_given_by_its_logarithm() {
        let theta = format!("0.{}1", "0".repeat(400));
        let sample = text(&[("11", true)]);
        let outcome = learn(
            &json!({"theta": theta, "relevant": 1}),
            &sample,
            RunLimits::default(),
        );
        let bound = outcome.bound.expect("asked for");
        assert_eq!(
            (bound.mistakes_at_most, bound.respected),
            (None, Some(true))
        );
        let expected = 2.0 + 401.0 * 10_f64.log2();
        assert!((bound.log2_mistakes_at_most.expect("so large") - expected).abs() < 1e-9);
    }
}

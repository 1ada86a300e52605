//! The learner `kernel-winnow`: Winnow over the nonempty monotone conjunctions of the features, all or those of a few
//! literals, which learns a monotone DNF as a disjunction of conjunctions.
//!
//! R. Khardon, D. Roth and R. Servedio, "Efficiency versus convergence of Boolean kernels for on-line learning
//! algorithms", section 4. With N = 2^n - 1 conjunctions as features, Theorem 2 bounds the mistakes on a monotone DNF
//! polynomially. Theorem 5 shows that no algorithm can simulate such a run in polynomial time, unless all of #P has
//! polynomial algorithms. For small examples the simulation is still feasible: an example with `a` active features has
//! `2^a - 1` true conjunctions, and this module decides it exactly in about `a 2^a` steps. Data with more than
//! `max_active` active features in an example, and generated data of more than `max_active` features, are refused
//! before the run.
//!
//! | parameter | default | meaning |
//! |---|---|---|
//! | `alpha` | 2 | the factor of a promotion, a whole number from 2 to 2^32 |
//! | `theta` | 2^n | the threshold, a plain decimal above 0, as a string if a number is not exact |
//! | `max_literals` | any number | the largest number of literals in a conjunction |
//! | `max_active` | 20 | the largest number of active features in an example, at most 24 |
//! | `thickness` | 0 | how far beyond theta a sum must lie to be left alone, as a share of theta |
//!
//! The default of `theta` is one more than there are conjunctions of n features, which is 2^n unless `max_literals`
//! excludes some. If features have names, it is 4 times the number of conjunctions of a features, where a is the
//! largest number of active features in an example.
//!
//! ```
//! use halfspace_core::learners::arithmetic::decimal::Decimal;
//! use halfspace_core::learners::decision::Score;
//! use halfspace_core::learners::kernel::kernel_winnow_weights::{KernelWinnowWeights, KernelWinnowScratch};
//! use halfspace_core::learners::arithmetic::power_sum::Base;
//! use halfspace_core::learners::sample::block::RowBits;
//!
//! let alpha = Base::new(2.0).expect("above 1");
//! let mut weights = KernelWinnowWeights::new(alpha, Decimal::from(8), 3, 20);
//! // The promotion of the example x1 x2 doubles the weights of x1, x2 and x1 x2.
//! weights.add(&[0, 1], 1).expect("room");
//! let example = RowBits::Listed(&[0, 1]);
//! let decision = weights.decide(example, &mut KernelWinnowScratch::default());
//! assert_eq!((decision.is_positive(), decision.score), (false, Score::Integer(6)));
//! ```

use std::ops::Range;

use crate::bits::Excerpt;
use crate::learners::arithmetic::decimal::{DIGITS_MAX, Decimal};
use crate::learners::arithmetic::power_sum::{BASE_MAX, Base};
use crate::learners::arithmetic::unit::Unit;
use crate::learners::decision::Decision;
use crate::learners::engine::entry::{
    DataKinds, DefaultStop, Guarantee, LearnerEntry, Pace, Replay, Setup,
};
use crate::learners::engine::input::{Input, TaskError};
use crate::learners::engine::parameters::{Parameter, ParameterError, ParameterKind, Parameters};
use crate::learners::engine::random::Generator;
use crate::learners::engine::rule::{Kind, MemberRule, OnlineRule, Rule};
use crate::learners::engine::run::StopFlag;
use crate::learners::engine::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};
use crate::learners::engine::thickness::{Band, SHARE, thickness};
use crate::learners::engine::update::Update;
use crate::learners::hypothesis::Hypothesis;
use crate::learners::kernel::active_counts::{intractable, too_active};
use crate::learners::kernel::conjunction_kernel::value;
use crate::learners::kernel::kernel_winnow_weights::{
    ACTIVE_MAX, KernelWinnowScratch, KernelWinnowWeights, SupportFull,
};
use crate::learners::predictor::Predictor;
use crate::learners::sample::block::Block;
use crate::learners::sample::source::Presentation;
use crate::learners::winnow::{around, check_powers, takes_theta};

/// The largest number of features for which 2^n has at most [`DIGITS_MAX`] digits.
const DEFAULT_THETA_N_MAX: usize = 33_219;

/// The kind of the hypothesis in model documents.
pub const KIND: &str = "kernel-winnow";

pub static ENTRY: LearnerEntry = LearnerEntry {
    name: KIND,
    title: "Kernel Winnow",
    learns: "Winnow over the monotone conjunctions of the features, exact where examples have few \
             active features.",
    data: DataKinds {
        half_space: false,
        labelled: true,
        real: false,
        names: Some(&[]),
        parts: false,
    },
    reading: "unsigned",
    presentation: Presentation::LabelledSparse,
    on_line: true,
    pace: Pace::Unforeseen,
    confidence_rules: &[],
    is_conservative: true,
    replay: Replay::Mistaken,
    default_stop: DefaultStop::Passes(1000),
    parameters: &[
        Parameter {
            name: "alpha",
            kind: ParameterKind::Count {
                minimum: 2,
                maximum: BASE_MAX as u64,
                default: "2",
            },
            description: "Factor of a promotion and divisor of a demotion.",
        },
        Parameter {
            name: "theta",
            kind: ParameterKind::Decimal {
                default: "one more than the number of conjunctions of n features, which is 2^n without \
                          max_literals; with names, 4 times the number of conjunctions of the most active \
                          features in an example, or the threshold of the model that the run starts from",
            },
            description: "The threshold that the weights of the true conjunctions must reach.",
        },
        Parameter {
            name: "max_active",
            kind: ParameterKind::Count {
                minimum: 1,
                maximum: ACTIVE_MAX,
                default: "20",
            },
            description: "Largest number of active features of an example. Each further feature \
                          doubles time and memory.",
        },
        Parameter {
            name: "max_literals",
            kind: ParameterKind::Count {
                minimum: 1,
                maximum: ACTIVE_MAX,
                default: "any number",
            },
            description: "Largest number of features in a conjunction.",
        },
        SHARE,
    ],
    guarantee: Guarantee {
        theorem: "Theorems 2 and 5 (Khardon, Roth, Servedio)",
        bound: "Polynomially many mistakes on a monotone DNF, but no polynomial time unless #P has \
                polynomial algorithms. The number of active features is therefore limited.",
    },
    source: "R. Khardon, D. Roth, R. Servedio, Efficiency versus convergence of Boolean kernels \
             for on-line learning algorithms (2001)",
    check: Some(check_active),
    build: |setup| Ok(Box::new(KernelWinnow::new(setup)?)),
};

/// Refuses data in which an example has, or could have, more active features than `max_active`.
fn check_active(parameters: &Parameters, input: Input<'_>) -> Result<(), TaskError> {
    let most = active_max(parameters);
    let refused = match input {
        Input::Generated(plan) => {
            let n = plan.target.n();
            (n as u64 > most).then(|| {
                format!(
                    "generated examples can have all {n} features active, more than max_active = \
                     {most}"
                )
            })
        }
        Input::Sample { data, .. } => too_active(data, most, usize::MAX)?,
    };
    refused.map_or(Ok(()), |detail| {
        Err(TaskError::Intractable(intractable(&detail)))
    })
}

/// The sums that are within a share of theta from it.
fn band(share: Option<f64>, theta: &Decimal) -> Option<Band> {
    share.map(|share| Band::of_decimals(&around(share, theta)))
}

fn active_max(parameters: &Parameters) -> u64 {
    parameters.count("max_active").unwrap_or(20)
}

/// The state of Winnow over monomials.
struct KernelWinnow {
    weights: KernelWinnowWeights,
    scratch: KernelWinnowScratch,
    share: Option<f64>,
    /// The sums that are too near to theta, if there is a share.
    band: Option<Band>,
    /// Whether a model may bring another threshold: see [`takes_theta`].
    takes_theta: bool,
    /// Memory for the packed words of a row.
    words: Vec<u64>,
}

impl KernelWinnow {
    /// Makes the rule from its parameters.
    ///
    /// # Errors
    /// An error if theta is absent and 2^n has more digits than a threshold may have.
    fn new(setup: &Setup<'_>) -> Result<Self, ParameterError> {
        let (parameters, n) = (setup.parameters, setup.n);
        let max_literals = parameters.count("max_literals");
        let conjunctions = |features| value(features, max_literals);
        let is_short = max_literals.is_some() || n <= DEFAULT_THETA_N_MAX;
        let theta = match (parameters.decimal("theta"), setup.active_max) {
            (Some(theta), _) => theta.clone(),
            (None, Some(active)) => {
                let nonempty = conjunctions(active.min(ACTIVE_MAX)) - 1_u32;
                Decimal::whole(nonempty * 4_u32)
            }
            (None, None) if is_short => Decimal::whole(conjunctions(n as u64)),
            (None, None) => {
                return Err(ParameterError {
                    name: "theta".to_owned(),
                    detail: format!(
                        "the default, 2^{n}, has more than {DIGITS_MAX} digits; set a value"
                    ),
                    unknown: false,
                });
            }
        };
        let alpha = parameters.count("alpha").unwrap_or(2);
        let base = Base::new(alpha as f64).expect("checked by its kind");
        let share = thickness(parameters).map(Unit::value);
        Ok(Self {
            share,
            band: band(share, &theta),
            takes_theta: takes_theta(setup),
            weights: KernelWinnowWeights::new(base, theta, n, active_max(parameters))
                .with_max_literals(max_literals),
            scratch: KernelWinnowScratch::default(),
            words: Vec::new(),
        })
    }
}

impl Rule for KernelWinnow {
    fn kind(&mut self) -> Kind<'_> {
        Kind::Online(self)
    }

    fn grown_bytes(&self, mistakes: u64, _: Option<u64>) -> u64 {
        self.weights.grown_bytes(mistakes)
    }

    fn start_from(&mut self, hypothesis: &Hypothesis) -> Result<(), String> {
        let Hypothesis::KernelWinnow(weights) = hypothesis else {
            let detail = "this learner needs a model with weights of kernel Winnow";
            return Err(detail.to_owned());
        };
        let own = &self.weights;
        check_powers(
            (weights.base(), weights.theta()),
            (own.base(), own.theta()),
            self.takes_theta,
        )?;
        if weights.max_literals() != own.max_literals() {
            return Err(match weights.max_literals() {
                Some(most) => format!("the model has max_literals = {most}; set the same value"),
                None => "the model has no max_literals; leave the parameter out".to_owned(),
            });
        }
        self.band = band(self.share, weights.theta());
        self.weights = weights.with_active_max(own.active_max()).closed(false);
        Ok(())
    }

    fn grow(&mut self, n: usize) -> Result<(), String> {
        self.weights.grow(n);
        Ok(())
    }

    fn predictor(&self) -> Predictor {
        Hypothesis::KernelWinnow(self.weights.without_cancelled()).into()
    }

    fn excerpt(&self, excerpt: &Excerpt) -> Option<Predictor> {
        Some(Hypothesis::KernelWinnow(self.weights.excerpt(excerpt)).into())
    }

    fn snapshot(&mut self, snapshot: &mut SnapshotWriter) {
        snapshot.number(self.weights.support().len() as u64);
        for example in self.weights.support() {
            snapshot.number(i64::from(example.net).cast_unsigned());
            snapshot.number(example.active.len() as u64);
            snapshot.numbers(example.active.iter().map(|&feature| feature.into()));
        }
    }

    fn restore(&mut self, snapshot: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        let n = self.weights.n();
        let mut weights = self.weights.emptied(n);
        for _ in 0..snapshot.count()? {
            let net = i32::try_from(snapshot.number()?.cast_signed()).map_err(|_| SnapshotError)?;
            let count = snapshot.count()?;
            let features = snapshot.numbers(count)?.into_iter().map(|feature| {
                let feature = u32::try_from(feature).ok();
                let feature = feature.filter(|&feature| (feature as usize) < n);
                feature.ok_or(SnapshotError)
            });
            let features = features.collect::<Result<Vec<_>, _>>()?;
            weights.add(&features, net).map_err(|_| SnapshotError)?;
        }
        self.weights = weights;
        Ok(())
    }
}

impl OnlineRule for KernelWinnow {
    fn first_mistake(
        &mut self,
        block: &Block<'_>,
        mut rows: Range<usize>,
        stop: &StopFlag,
    ) -> Option<usize> {
        let Self {
            weights,
            scratch,
            words,
            ..
        } = self;
        rows.find(|&row| {
            let bits = block.row_bits(row, words);
            stop.raised().is_some()
                || weights.is_positive(bits, scratch, stop) != block.is_positive(row)
        })
    }

    fn band(&self) -> Option<&Band> {
        self.band.as_ref()
    }

    fn may_break_off(&self) -> bool {
        true
    }

    fn update(&mut self, block: &Block<'_>, row: usize, _: &mut Generator) -> Update {
        let features = block.row_bits(row, &mut self.words).ones();
        let features: Vec<_> = features.map(|feature| feature as u32).collect();
        if features.is_empty() {
            // Only the empty conjunction is true for this example, and the empty conjunction has no weight.
            return Update::Unchanged;
        }
        let by = if block.is_positive(row) { 1 } else { -1 };
        match self.weights.add(&features, by) {
            Ok(()) => Update::Changed,
            Err(SupportFull::Exponents) => Update::Refused("exact weights have at most 2^20 bits"),
            Err(SupportFull::Examples) => {
                Update::Refused("the support has at most 1,000,000 examples and 2^28 characters")
            }
        }
    }

    fn as_member(&mut self) -> Option<&mut dyn MemberRule> {
        Some(self)
    }
}

impl MemberRule for KernelWinnow {
    fn decide(&mut self, block: &Block<'_>, row: usize, _: &StopFlag) -> Decision {
        let row = block.row_bits(row, &mut self.words);
        self.weights.decide(row, &mut self.scratch)
    }
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;

    use super::*;
    use crate::bits::{BitMatrix, BitVector};
    use crate::learners::engine::check::check;
    use crate::learners::engine::outcome::RunOutcome;
    use crate::learners::engine::random::Seed;
    use crate::learners::engine::reason::Reason;
    use crate::learners::engine::run::Run;
    use crate::learners::engine::stopping::Sampling;
    use crate::learners::engine::task::Task;
    use crate::learners::engine::train::train;
    use crate::learners::sample::data::{Data, Features, Labels};
    use crate::learners::sample::generate::Plan;
    use serde_json::{Value, json};

    fn data(rows: &[(&str, bool)]) -> Data {
        let mut matrix = BitMatrix::new(rows[0].0.len());
        let mut labels = BitVector::zeros(rows.len());
        for (at, (row, label)) in rows.iter().enumerate() {
            let row = BitVector::from_bit_string(row.as_bytes()).expect("bits");
            matrix.push_row(row.words());
            labels.set(at, *label);
        }
        Data::new(Features::Boolean(matrix), Labels::of_signs(labels))
    }

    fn task(params: &Value) -> Task {
        let object = params.as_object().expect("an object");
        Task {
            parameters: Parameters::from_json(ENTRY.parameters, object).expect("parameters"),
            ..Task::of(&ENTRY, Seed(1))
        }
    }

    fn learn(params: &Value, data: &Data) -> RunOutcome {
        let (task, assume) = (task(params), None);
        let input = Input::Sample { data, assume };
        check(&task, input, u64::MAX).expect("a valid task");
        train(&task, input, &Run::default()).expect("nobody suspends it")
    }

    #[test]
    fn kernel_winnow_run_worked_by_hand() {
        // theta = 8, with monomials 1, 2, 12 and so on. 110 sums to 3 and after a promotion to 6. Both are
        // mistakes, and a second promotion gives 12. 101 sums to 6, because monomial 1 now has the weight
        // 4. A promotion raises the sum to 8 + 2 + 2. Then 100 alone sums to 8.
        let sample = data(&[("110", true), ("110", true), ("101", true), ("100", false)]);
        let outcome = learn(&json!({}), &sample);
        assert_eq!(outcome.termination.reason, Reason::Converged);
        let Predictor::One(Hypothesis::KernelWinnow(weights)) = &outcome.predictor else {
            unreachable!()
        };
        let counts: Vec<_> = weights
            .support()
            .iter()
            .map(|s| (s.active.as_slice(), s.net))
            .collect();
        assert_eq!(counts, [(&[0, 1][..], 2), (&[0, 2], 1), (&[0], -1)]);
        assert_eq!(outcome.counts.mistakes, 4);
    }

    #[test]
    fn kernel_winnow_learns_a_dnf_of_two_terms() {
        // x1 x2 or x3 x4, over all 16 examples.
        let rows: Vec<_> = (0..16_u32)
            .map(|x| (format!("{x:04b}"), x & 3 == 3 || x & 12 == 12))
            .collect();
        let rows: Vec<_> = rows.iter().map(|(x, y)| (x.as_str(), *y)).collect();
        let outcome = learn(&json!({"theta": 10}), &data(&rows));
        assert_eq!(outcome.termination.reason, Reason::Converged);
        assert_eq!(outcome.training.expect("counted").errors, 0);
    }

    #[test]
    fn too_many_active_features_are_refused_at_once() {
        let (few, many) = ("110000", "111110");
        let sample = data(&[(few, true), (many, false)]);
        let input = Input::Sample {
            data: &sample,
            assume: None,
        };
        let refused = check(&task(&json!({"max_active": 4})), input, u64::MAX);
        let Err(TaskError::Intractable(detail)) = refused else {
            panic!("{refused:?}");
        };
        assert!(
            detail.starts_with("example 1 (from 0) has 5 active features"),
            "{detail}"
        );
        assert!(detail.contains("Theorem 5"), "{detail}");
        assert_eq!(
            check(&task(&json!({"max_active": 5})), input, u64::MAX),
            Ok(())
        );
    }

    #[test]
    fn kernel_winnow_refuses_wide_generated_data() {
        let plan = |n| Plan {
            target: Plan::random_target(n, Seed(1)),
            sampling: Sampling::Uniform,
            count: Some(100),
            noise: 0.0,
            density: 0.5,
        };
        let check = |n| check(&task(&json!({})), Input::Generated(&plan(n)), u64::MAX);
        assert_eq!(check(20), Ok(()));
        assert!(matches!(check(21), Err(TaskError::Intractable(_))));
    }

    #[test]
    fn the_default_threshold_must_be_a_decimal_that_is_read() {
        let digits = |n: usize| (BigUint::from(1_u32) << n).to_string().len();
        assert_eq!(digits(DEFAULT_THETA_N_MAX), DIGITS_MAX);
        assert_eq!(digits(DEFAULT_THETA_N_MAX + 1), DIGITS_MAX + 1);
        let long = "1".to_owned() + &"0".repeat(DEFAULT_THETA_N_MAX);
        let sample = data(&[(&long, true)]);
        let assume = None;
        let input = Input::Sample {
            data: &sample,
            assume,
        };
        let refused = check(&task(&json!({})), input, u64::MAX);
        assert!(matches!(refused, Err(TaskError::Parameter(_))));
        assert_eq!(check(&task(&json!({"theta": 5})), input, u64::MAX), Ok(()));
    }
}

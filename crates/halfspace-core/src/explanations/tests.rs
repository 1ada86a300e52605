//! Tests explanations against their definition, and those of targets whose heaviest terms are known.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use proptest::prelude::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use super::conjunctions::{CountedVectors, Rank, SearchLimits, VectorLiteral, heaviest};
use super::*;
use crate::bits::{BitMatrix, BitVector};
use crate::learners::arithmetic::decimal::Decimal;
use crate::learners::arithmetic::power_sum::Base;
use crate::learners::arithmetic::unit::Unit;
use crate::learners::catalogue;
use crate::learners::decision::{Decision, Score};
use crate::learners::engine::bound::ratio;
use crate::learners::engine::input::Input;
use crate::learners::engine::parameters::Parameters;
use crate::learners::engine::random::Seed;
use crate::learners::engine::reason::Reason;
use crate::learners::engine::run::Run;
use crate::learners::engine::task::Task;
use crate::learners::engine::train::train;
use crate::learners::kernel::conjunction_kernel::{Conjunctions, Kernel};
use crate::learners::kernel::kernel_expansion::KernelExpansion;
use crate::learners::kernel::kernel_winnow_weights::KernelWinnowWeights;
use crate::learners::linear::bounded::BoundedWeights;
use crate::learners::linear::linear_weights::{
    IntegerWeights, LinearWeights, Reading, RealWeights,
};
use crate::learners::predict::for_each_decisions;
use crate::learners::sample::block::RowBits;
use crate::learners::sample::data::{Data, Features, Labels, RealMatrix};
use crate::learners::winnow::winnow_weights::WinnowWeights;
use crate::samples::{self, SampleParameters};

const PLENTY: u64 = 1 << 40;

fn explained(hypothesis: &Hypothesis, names: Option<&[String]>, top: usize) -> Explanation {
    let request = ExplanationRequest {
        names,
        example: None,
        top,
        words_max: PLENTY,
    };
    explain(hypothesis, request, &StopFlag::default()).expect("nobody stops it")
}

/// The hypothesis of a kernel perceptron after a clean pass over examples, with the number of mistakes.
fn kernel_perceptron(examples: &[(BitVector, bool)], params: &Value) -> (Hypothesis, u64) {
    let mut matrix = BitMatrix::new(examples[0].0.n());
    let mut labels = BitVector::zeros(examples.len());
    for (row, (example, is_positive)) in examples.iter().enumerate() {
        matrix.push_row(example.words());
        labels.set(row, *is_positive);
    }
    let data = Data::new(Features::Boolean(matrix), Labels::of_signs(labels));
    let entry = catalogue::find("kernel-perceptron").expect("a learner");
    let params = params.as_object().expect("an object");
    let task = Task {
        parameters: Parameters::from_json(entry.parameters, params).expect("parameters"),
        ..Task::of(entry, Seed(1))
    };
    let sample = Input::Sample {
        data: &data,
        assume: None,
    };
    let outcome = train(&task, sample, &Run::default()).expect("nobody suspends it");
    assert_eq!(outcome.termination.reason, Reason::Converged);
    (
        outcome.predictor.one().expect("two classes").clone(),
        outcome.counts.mistakes,
    )
}

fn conditions(explanation: &Explanation) -> Vec<String> {
    explanation.terms.iter().map(Term::condition).collect()
}

/// The eight lines of three cells.
const LINES: [[usize; 3]; 8] = [
    [0, 1, 2],
    [3, 4, 5],
    [6, 7, 8],
    [0, 3, 6],
    [1, 4, 7],
    [2, 5, 8],
    [0, 4, 8],
    [2, 4, 6],
];

#[test]
fn the_lines_of_x_explain_the_ends_of_tic_tac_toe() {
    let sample = samples::find("tic-tac-toe").expect("a sample");
    let boards = sample
        .table(&SampleParameters::default())
        .expect("no limit");
    assert_eq!(boards.rows.len(), 958);
    let examples = boards.rows.iter().map(|row| {
        let (class, squares) = row.split_last().expect("a class");
        let bits = squares
            .iter()
            .flat_map(|square| ["x", "o", "b"].map(|mark| mark == *square));
        let mut example = BitVector::zeros(27);
        bits.enumerate().for_each(|(at, bit)| example.set(at, bit));
        (example, *class == "positive")
    });
    let examples: Vec<_> = examples.collect();
    assert_eq!(examples.iter().filter(|example| example.1).count(), 626);
    let (hypothesis, mistakes) =
        kernel_perceptron(&examples, &json!({"kernel": {"conjunctions": "monotone"}}));
    assert_eq!(mistakes, 187);
    let cells = (1..=9).flat_map(|cell| ["x", "o", "b"].map(|mark| format!("c{cell}={mark}")));
    let names: Vec<_> = cells.collect();
    let explanation = explained(&hypothesis, Some(&names), 20);
    let found = conditions(&explanation);
    for line in LINES {
        let line = line.map(|cell| format!("c{}=x", cell + 1)).join(" and ");
        assert!(found[..14].contains(&line), "{line} is not in {found:#?}");
    }
    assert_eq!(
        (explanation.max_literals, &explanation.detail),
        (Some(3), &None)
    );
}

#[test]
fn the_terms_of_a_planted_formula_come_first() {
    let terms = [[0, 1, 2], [4, 7, 9], [5, 6, 11]];
    // Every example of 12 bits.
    let examples = (0..1_u64 << 12).map(|bits| {
        let is_true = |term: &[usize; 3]| term.iter().all(|&at| bits >> at & 1 == 1);
        (
            BitVector::from_words(12, vec![bits]),
            terms.iter().any(is_true),
        )
    });
    let examples: Vec<_> = examples.collect();
    for params in [
        json!({"kernel": {"conjunctions": "monotone"}}),
        json!({"kernel": {"conjunctions": "monotone", "max_literals": 3}}),
        json!({"kernel": {"conjunctions": "all"}}),
        json!({"kernel": {"conjunctions": "all", "max_literals": 3}}),
    ] {
        let (hypothesis, _) = kernel_perceptron(&examples, &params);
        let found = conditions(&explained(&hypothesis, None, 20));
        let planted = ["x1 and x2 and x3", "x5 and x8 and x10", "x6 and x7 and x12"];
        assert_eq!(
            BTreeSet::from_iter(&found[..3]),
            BTreeSet::from_iter(&planted.map(str::to_owned)),
            "{params}: {found:#?}"
        );
    }
}

/// A conjunction as literals with its weight.
type Weighed = (Vec<VectorLiteral>, i64);

/// The heaviest conjunctions by their definition.
fn by_definition(
    vectors: &CountedVectors<'_>,
    rank: Rank,
    (least, most): (usize, usize),
    top: usize,
) -> Vec<Weighed> {
    let n = vectors.rows.n();
    let signs: &[bool] = match vectors.conjunctions {
        Conjunctions::All => &[false, true],
        Conjunctions::Monotone => &[false],
    };
    let literals: Vec<_> = (0..n)
        .flat_map(|feature| {
            let literal = move |&is_negated| VectorLiteral {
                feature,
                is_negated,
            };
            signs.iter().map(literal)
        })
        .collect();
    let mut by_size: Vec<Vec<Vec<usize>>> = vec![vec![Vec::new()]];
    for size in 1..=most {
        let longer = by_size[size - 1].iter().flat_map(|shorter| {
            let next = shorter.last().map_or(0, |last| last + 1);
            (next..literals.len()).map(|at| [&**shorter, &[at]].concat())
        });
        let longer = longer.collect();
        by_size.push(longer);
    }
    let mut covers = BTreeSet::new();
    let mut found: Vec<Weighed> = Vec::new();
    for conjunction in by_size[least..].iter().flatten() {
        let is_true = |row: usize| {
            let mut own = conjunction.iter().map(|&at| literals[at]);
            own.all(|literal| vectors.rows.row(row).get(literal.feature) != literal.is_negated)
        };
        // A vector with the count 0 is no support vector.
        let rows = (0..vectors.rows.rows()).filter(|&row| vectors.counts[row] != 0 && is_true(row));
        let cover: Vec<_> = rows.collect();
        let weight = cover.iter().map(|&row| vectors.counts[row]).sum();
        if covers.insert(cover) {
            found.push((conjunction.iter().map(|&at| literals[at]).collect(), weight));
        }
    }
    let key = |weight: i64| match rank {
        Rank::Magnitude => weight.abs(),
        Rank::Value => weight,
    };
    found.retain(|(_, weight)| key(*weight) > 0);
    found.sort_by_key(|(_, weight)| std::cmp::Reverse(key(*weight)));
    found.truncate(top);
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn heaviest_conjunctions_match_the_definition(
        n in 1_usize..7,
        examples in prop::collection::vec((any::<u64>(), -5_i64..6), 0..90),
        is_monotone: bool,
        is_by_value: bool,
        sizes in (0_usize..2, 0_usize..4),
        top in 1_usize..30,
    ) {
        let mut rows = BitMatrix::new(n);
        for (bits, _) in &examples {
            rows.push_row(BitVector::from_words(n, vec![*bits]).words());
        }
        let vectors = CountedVectors {
            rows: &rows,
            counts: examples.iter().map(|example| example.1).collect(),
            conjunctions: if is_monotone { Conjunctions::Monotone } else { Conjunctions::All },
        };
        let sizes = (sizes.0, sizes.1.max(sizes.0).min(n));
        let rank = if is_by_value { Rank::Value } else { Rank::Magnitude };
        let stop = StopFlag::default();
        let limits = SearchLimits { top, rank, sizes, words_max: PLENTY, stop: &stop };
        let found = heaviest(&vectors, limits).expect("nobody stops it");
        prop_assert_eq!(found.size, sizes.1);
        let found = found.conjunctions.into_iter().map(|one| (one.literals, one.sums.weight()));
        let found: Vec<Weighed> = found.collect();
        prop_assert_eq!(found, by_definition(&vectors, rank, sizes, top));
    }
}

fn expansion(n: usize, examples: &[(u64, bool)]) -> KernelExpansion {
    let kernel = Kernel::new(n, Conjunctions::Monotone, None).expect("a small kernel");
    let mut expansion = KernelExpansion::new(kernel);
    for (bits, is_positive) in examples {
        expansion
            .push(RowBits::Packed(&[*bits]), *is_positive)
            .expect("room");
    }
    expansion
}

/// The support +11, -10, -01 has the weights -1 of the empty conjunction, 0 of both features and +1 of their
/// conjunction. The squared weights add up to 2.
#[test]
fn kernel_explanation_worked_by_hand() {
    let support = [(0b11, true), (0b01, false), (0b10, false)];
    let hypothesis = Hypothesis::Kernel(expansion(2, &support));
    let explanation = explained(&hypothesis, None, 1);
    assert_eq!(conditions(&explanation), ["always"]);
    let share = explanation.share.expect("integers");
    assert_eq!((&*share.fraction, share.decimal), ("1/2", 0.5));
    let whole = explained(&hypothesis, None, 20);
    assert_eq!(conditions(&whole), ["always", "x1 and x2"]);
    assert_eq!(whole.terms[1].weight, TermWeight::from(1_i64));
    assert_eq!(
        whole.terms.iter().map(|term| term.uses).collect::<Vec<_>>(),
        [Some(3), Some(1)]
    );
    assert_eq!(whole.share.expect("integers").fraction, "1/1");
    let empty = explained(&Hypothesis::Kernel(expansion(2, &[])), None, 20);
    assert_eq!((empty.terms, empty.share), (Vec::new(), None));
}

#[test]
fn explanation_over_its_work_limit_leaves_out_literals() {
    let support: Vec<_> = (0..500_u64)
        .map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24, at % 3 == 0))
        .collect();
    let hypothesis = Hypothesis::Kernel(expansion(40, &support));
    let with = |words_max, stop: &StopFlag| {
        let request = ExplanationRequest {
            example: None,
            names: None,
            top: 20,
            words_max,
        };
        explain(&hypothesis, request, stop)
    };
    let free = StopFlag::default();
    let most = |words_max| {
        let explanation = with(words_max, &free).expect("nobody stops it");
        let has_detail = explanation.detail.is_some();
        (
            explanation.max_literals,
            explanation.share.is_some(),
            has_detail,
        )
    };
    assert_eq!(most(PLENTY), (Some(3), true, false));
    assert_eq!(most(20_000), (Some(2), false, true));
    assert_eq!(most(0), (Some(1), false, true));
    let detail = with(0, &free)
        .expect("nobody stops it")
        .detail
        .expect("a reason");
    assert!(detail.contains("conjunctions of 2 literals"), "{detail}");
    assert!(detail.contains("share"), "{detail}");
    let stopped = StopFlag::default();
    stopped.raise(Interrupt::Cancelled);
    assert_eq!(with(PLENTY, &stopped), Err(Interrupt::Cancelled));
}

#[test]
fn binary_weights_are_a_majority_in_words() {
    let weights = BitVector::from_bit_string(b"1011").expect("bits");
    let hypothesis = Hypothesis::BinaryWeights(weights);
    let names = ["warm", "wet", "windy", "late"].map(str::to_owned);
    let explanation = explained(&hypothesis, Some(&names), 4);
    assert_eq!(
        explanation.rule,
        "The prediction is 1 if at least 2 of 4 conditions are true: warm, not wet, windy, late."
    );
    let first = explained(&hypothesis, None, 2);
    assert_eq!(
        first.rule,
        "The prediction is 1 if at least 2 of 4 conditions are true: the features with the weight 1 are 1 \
         (3 of 4), and the features with the weight -1 are 0 (1 of 4)."
    );
    assert_eq!(conditions(&first), ["x1", "x2"]);
    assert_eq!(first.share.expect("integers").fraction, "1/2");
}

#[test]
fn linear_weights_stand_by_magnitude_and_zeros_are_left_out() {
    let weights = |reading| IntegerWeights::new(reading, vec![3, 0, -4, 3], Some(1));
    let linear = |own| Hypothesis::Linear(LinearWeights::Integer(own));
    let explanation = explained(&linear(weights(Reading::Signed)), None, 2);
    assert_eq!(conditions(&explanation), ["x3", "x1"]);
    assert_eq!(explanation.terms[0].weight, TermWeight::from(-4_i64));
    assert_eq!(explanation.bias, Some(TermWeight::from(1_i64)));
    assert_eq!(explanation.share.expect("integers").fraction, "25/34");
    let tenths = weights(Reading::Unsigned).of_unit(Unit::new(0.1).expect("positive"));
    let explanation = explained(&linear(tenths), None, 9);
    assert_eq!(explanation.terms[1].weight, TermWeight::from(0.3));
    assert_eq!(explanation.share.expect("counts").fraction, "1/1");
    let real = RealWeights::new(None, vec![0.5, -0.0, -2.5], None);
    let explanation = explained(&Hypothesis::Linear(LinearWeights::Real(real)), None, 9);
    assert_eq!(conditions(&explanation), ["x3", "x1"]);
    assert_eq!((explanation.bias, explanation.share), (None, None));
    let bounded = BoundedWeights::new(vec![0.5, 0.25, 1.0], 0.5, 0.0);
    let explanation = explained(&Hypothesis::Bounded(bounded), None, 9);
    assert_eq!(conditions(&explanation), ["x3", "x2"]);
    assert_eq!(explanation.terms[1].weight, TermWeight::from(-0.25));
}

#[test]
fn winnow_explanation_orders_powers_by_value() {
    let base = Base::of_decimal(&Decimal::parse("1.5").expect("plain")).expect("a base");
    let weights = WinnowWeights::new(base, Decimal::from(2), 2, vec![0, -3, 7, 0]);
    let explanation = explained(&Hypothesis::Winnow(weights), None, 3);
    assert_eq!(conditions(&explanation), ["not x1", "x1", "not x2"]);
    let document = serde_json::to_value(&explanation).expect("JSON");
    assert_eq!(document["terms"][0]["weight"], "1.5^7");
    assert!(explanation.to_svg().contains("exponent of 1.5"));
    let base = Base::new(2.0).expect("a base");
    let mut weights = KernelWinnowWeights::new(base, Decimal::from(9), 5, 5);
    weights.add(&[0, 2], 3).expect("room");
    weights.add(&[2, 4], 2).expect("room");
    weights.add(&[1], -4).expect("room");
    let explanation = explained(&Hypothesis::KernelWinnow(weights), None, 9);
    assert_eq!(conditions(&explanation), ["x3", "x1", "x5"]);
    assert_eq!(explanation.terms[0].weight.to_string(), "2^5");
    assert_eq!(explanation.terms[0].uses, Some(5));
}

#[test]
fn names_are_cut_and_control_characters_shown_as_spaces() {
    let names = ["a\nb".to_owned(), "y".repeat(1000)];
    let weights = IntegerWeights::new(Reading::Signed, vec![2, 1], None);
    let hypothesis = Hypothesis::Linear(LinearWeights::Integer(weights));
    let explanation = explained(&hypothesis, Some(&names), 9);
    assert_eq!(conditions(&explanation)[0], "a b");
    assert_eq!(explanation.terms[0].literals[0].name, "a\nb");
    assert_eq!(conditions(&explanation)[1].len(), NAME_CHARACTERS_MAX);
    let text = explanation.to_string();
    let table: Vec<_> = text
        .lines()
        .skip_while(|line| !line.is_empty())
        .skip(1)
        .take(2)
        .collect();
    assert_eq!(table, ["weight  term", "     2  a b"]);
}

/// The terms of an example, with their values, and the bias add up to the score of the decision.
#[test]
fn the_terms_of_an_example_add_up_to_its_score() {
    let mut random = StdRng::seed_from_u64(12);
    for case in 0..400 {
        let n = random.random_range(1..40);
        let bits = |random: &mut StdRng| {
            let mut row = BitVector::zeros(n);
            (0..n).for_each(|at| row.set(at, random.random_range(0..3) == 0));
            row
        };
        let real = |random: &mut StdRng| {
            let values = (0..n).map(|_| f64::from(random.random_range(-8_i32..9)) / 4.0);
            values.collect::<Vec<_>>()
        };
        let whole: Vec<i64> = (0..n).map(|_| random.random_range(-5..6)).collect();
        let reading = [Reading::Signed, Reading::Unsigned][case % 2];
        let (hypothesis, is_real) = match case % 5 {
            0 => {
                let weights = IntegerWeights::new(reading, whole, Some(3));
                (Hypothesis::Linear(LinearWeights::Integer(weights)), false)
            }
            1 => {
                let weights = RealWeights::new(None, real(&mut random), Some(0.5));
                (
                    Hypothesis::Linear(LinearWeights::Real(weights)),
                    case % 3 > 0,
                )
            }
            2 => {
                let weights = RealWeights::new(Some(reading), real(&mut random), None);
                (Hypothesis::Linear(LinearWeights::Real(weights)), false)
            }
            3 => {
                let features = n * (1 + case % 2);
                let exponents = (0..features).map(|_| random.random_range(-3..4)).collect();
                let base = Base::new(2.0).expect("above 1");
                let weights = WinnowWeights::new(base, Decimal::from(3), n, exponents);
                (Hypothesis::Winnow(weights), false)
            }
            _ => (Hypothesis::BinaryWeights(bits(&mut random)), false),
        };
        let features = match is_real {
            true => Features::Real(RealMatrix::from_values(n, real(&mut random))),
            false => {
                let mut matrix = BitMatrix::new(n);
                matrix.push_row(bits(&mut random).words());
                Features::Boolean(matrix)
            }
        };
        let data = Data::new(features, Labels::Unlabelled);
        let zero = [0.0, -1.0][case % 2];
        let example = ExplainedExample::new(&hypothesis, &data, zero);
        let request = ExplanationRequest {
            names: None,
            example: None,
            top: usize::MAX,
            words_max: PLENTY,
        };
        let stop = StopFlag::default();
        let explanation = explain_example(&hypothesis, &example, request, &stop);
        let explanation = explanation.expect("nobody stops it").expect("terms");
        let number = |weight: &TermWeight| match weight {
            TermWeight::Number(number) => number.as_f64().expect("a number"),
            TermWeight::Power(power) => libm::exp2(power.exponent as f64),
        };
        let terms = explanation.terms.iter();
        let products = terms.map(|term| number(&term.weight) * term.value.unwrap_or(1.0));
        let sum = products.sum::<f64>() + explanation.bias.as_ref().map_or(0.0, number);
        let mut decisions = Vec::new();
        let predictor = hypothesis.into();
        for_each_decisions(&predictor, &data, zero, |own: &[Decision]| {
            decisions.extend_from_slice(own);
            ControlFlow::Continue(())
        });
        let score = match &decisions[0].score {
            Score::Integer(score) => *score as f64,
            Score::Real(score) => *score,
            Score::Fraction {
                numerator,
                denominator,
            } => ratio(numerator.magnitude(), denominator)
                .0
                .expect("a small number"),
            other => panic!("{other:?}"),
        };
        assert!(
            (sum - score).abs() < 1e-9,
            "case {case}: {sum}, not {score}"
        );
    }
}

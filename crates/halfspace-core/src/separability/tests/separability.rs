//! Tests the decisions of separability and their certificates.

use num_bigint::BigInt;
use num_traits::{ToPrimitive, Zero};
use rand::{RngExt, SeedableRng};

use crate::bits::BitVector;
use crate::learners::engine::random::Generator;
use crate::learners::engine::run::{Interrupt, Run};
use crate::learners::linear::linear_weights::Reading;
use crate::learners::sample::data::{Data, DenseFeatures, Features, Labels, RealMatrix};
use crate::separability::alternative::exclude_separators;
use crate::separability::attempt::attempt;
use crate::separability::decision::{
    Convention, Proposed, SeparabilityQuestion, Separator, Verdict, check, decide, lifted, propose,
    settle,
};
use crate::separability::duplicates::contradiction;
use crate::separability::examples::SignedExamples;
use crate::separability::nearest_point::nearest_point;
use crate::separability::undecided::Undecided;

use super::fourier_motzkin::is_feasible;
use super::samples::{half_space, labelled, random, real};

const XOR: [(&str, bool); 4] = [("00", false), ("01", true), ("10", true), ("11", false)];

fn question(bias: bool, reading: Reading, convention: Convention) -> SeparabilityQuestion {
    SeparabilityQuestion {
        bias,
        reading,
        convention,
    }
}

fn all_questions() -> impl Iterator<Item = SeparabilityQuestion> {
    [true, false].into_iter().flat_map(|bias| {
        [Reading::Signed, Reading::Unsigned]
            .into_iter()
            .flat_map(move |reading| {
                [Convention::Strict, Convention::Service]
                    .map(|convention| question(bias, reading, convention))
            })
    })
}

/// Returns 4 y_i (x_i, 1) and whether the label is -1, computed independently of the code under test.
fn rows(data: &Data, question: &SeparabilityQuestion) -> Vec<(Vec<i128>, bool)> {
    let row = |index: usize| {
        let is_negative = matches!(data.labels().signs(), Some(labels) if !labels.get(index));
        let mut row: Vec<i128> = match data.features().packed().expect("memory") {
            DenseFeatures::Boolean(matrix) => {
                let bits: BitVector = matrix.row(index);
                let value = |j| 4 * question.reading.value(bits.get(j)) as i128;
                (0..bits.n()).map(value).collect()
            }
            DenseFeatures::Real(matrix) => {
                let values = matrix
                    .row(index)
                    .iter()
                    .map(|x| (4.0 * x).to_i128().unwrap());
                values.collect()
            }
        };
        row.extend(question.bias.then_some(4));
        if is_negative {
            row.iter_mut().for_each(|x| *x = -*x);
        }
        (row, is_negative)
    };
    (0..data.examples()).map(row).collect()
}

/// Checks a certificate independently, and returns whether it is a separator.
#[track_caller]
fn certified(data: &Data, question: &SeparabilityQuestion, verdict: &Verdict) -> bool {
    let rows = rows(data, question);
    let is_strict = |negative| negative || question.convention == Convention::Strict;
    match verdict {
        Verdict::Separable(Separator { weights, bias }) => {
            assert_eq!(bias.is_some(), question.bias);
            let weights: Vec<&BigInt> = weights.iter().chain(bias).collect();
            for (row, negative) in rows {
                let product: BigInt = row.iter().zip(&weights).map(|(a, w)| *w * a).sum();
                let least = i64::from(is_strict(negative));
                assert!(product >= BigInt::from(least));
            }
            true
        }
        Verdict::NotSeparable(multipliers) => {
            assert!(multipliers.iter().all(|m| m.weight > BigInt::zero()));
            assert!(multipliers.iter().any(|m| is_strict(rows[m.example].1)));
            for j in 0..rows[0].0.len() {
                let products = multipliers.iter().map(|m| &m.weight * rows[m.example].0[j]);
                assert!(products.sum::<BigInt>().is_zero());
            }
            false
        }
        Verdict::Undecided(why) => panic!("{why}"),
    }
}

#[track_caller]
fn decided(data: &Data, question: &SeparabilityQuestion) -> bool {
    let verdict = decide(data, question, &Run::default()).unwrap();
    certified(data, question, &verdict)
}

#[test]
fn exclusive_or_is_not_separable() {
    for question in all_questions() {
        assert!(!decided(&labelled(&XOR), &question), "{question:?}");
    }
}

#[test]
fn conjunctions_are_separable_with_a_bias() {
    let and = labelled(&[("00", false), ("01", false), ("10", false), ("11", true)]);
    for question in all_questions() {
        // Without a bias, unsigned "00" scores 0, which is wrong for its negative label in both conventions.
        let expected = question.bias;
        let signed = question.reading == Reading::Signed;
        if signed && !question.bias {
            // "01" and "10" are opposite and both negative.
            assert!(!decided(&and, &question));
        } else {
            assert_eq!(decided(&and, &question), expected, "{question:?}");
        }
    }
}

#[test]
fn separability_of_random_samples_matches_elimination() {
    let mut generator = Generator::seed_from_u64(20);
    let (mut compared, mut separable) = (0, 0);
    for round in 0..200 {
        for question in all_questions() {
            let n = generator.random_range(1..=4);
            let examples = generator.random_range(1..=9);
            let data = random(n, examples, round % 3 == 0, &mut generator);
            let is_strict = |negative| negative || question.convention == Convention::Strict;
            let expected = is_feasible(
                rows(&data, &question)
                    .into_iter()
                    .map(|(row, negative)| (row, is_strict(negative))),
            );
            assert_eq!(decided(&data, &question), expected, "{data:?} {question:?}");
            let has_strict = rows(&data, &question).iter().any(|row| is_strict(row.1));
            if has_strict {
                assert_eq!(
                    by_each_step(&data, &question),
                    [expected; 2],
                    "{data:?} {question:?}"
                );
            }
            compared += 1;
            separable += u32::from(expected);
        }
    }
    assert_eq!(compared, 1600);
    assert!(separable > 300 && separable < 1300, "{separable}");
}

/// Runs the later steps separately, because the perceptron decides most small samples before them: the quadratic
/// program with its successors, and the exact simplex without proposed examples.
#[track_caller]
fn by_each_step(data: &Data, question: &SeparabilityQuestion) -> [bool; 2] {
    let run = Run::default();
    let examples = SignedExamples::new(data, question.reading, question.bias, &run).unwrap();
    let convention = question.convention;
    let exact = settle(&examples, convention, Vec::new(), &run).unwrap();
    let proposed = match propose(&examples, convention, vec![0], &run).unwrap() {
        Proposed::Separator(_) => true,
        Proposed::Examples(support) => {
            if let Some(multipliers) = lifted(&examples, convention, &support, &run).unwrap() {
                let verdict = Verdict::NotSeparable(multipliers);
                assert!(!certified(data, question, &verdict));
            }
            let verdict = settle(&examples, convention, support, &run).unwrap();
            certified(data, question, &verdict)
        }
    };
    [certified(data, question, &exact), proposed]
}

#[test]
fn separability_conventions_differ_only_without_a_bias() {
    // x and -x are both positive, so a separator must contain both.
    let opposite = labelled(&[("01", true), ("10", true), ("11", false)]);
    for (bias, convention, expected) in [
        (false, Convention::Strict, false),
        (false, Convention::Service, true),
        (true, Convention::Strict, true),
        (true, Convention::Service, true),
    ] {
        let question = question(bias, Reading::Signed, convention);
        assert_eq!(decided(&opposite, &question), expected, "{question:?}");
    }
}

#[test]
fn contradictions_have_the_shortest_certificates() {
    let twice = labelled(&[("011", true), ("110", true), ("011", false)]);
    for question in all_questions() {
        let verdict = decide(&twice, &question, &Run::default()).unwrap();
        certified(&twice, &question, &verdict);
        let Verdict::NotSeparable(multipliers) = verdict else {
            panic!("separable");
        };
        assert_eq!(
            multipliers.iter().map(|m| m.example).collect::<Vec<_>>(),
            [0, 2]
        );
    }
    let zero = real(&[(&[1.0, 0.5], true), (&[0.0, -0.0], true)]);
    let strict = question(false, Reading::Signed, Convention::Strict);
    let Verdict::NotSeparable(multipliers) = decide(&zero, &strict, &Run::default()).unwrap()
    else {
        panic!("separable");
    };
    assert_eq!(
        multipliers.iter().map(|m| m.example).collect::<Vec<_>>(),
        [1]
    );
    assert!(decided(
        &zero,
        &question(false, Reading::Signed, Convention::Service)
    ));
}

#[test]
fn half_space_examples_are_all_positive() {
    let data = half_space(&["01", "10"]);
    let strict = question(false, Reading::Signed, Convention::Strict);
    assert!(!decided(&data, &strict));
    let service = question(false, Reading::Signed, Convention::Service);
    let verdict = decide(&data, &service, &Run::default()).unwrap();
    let Verdict::Separable(separator) = verdict else {
        panic!("not separable");
    };
    assert!(separator.weights.iter().all(Zero::is_zero));
}

/// Prefixes of ones with alternating labels. Consecutive prefixes differ in one coordinate, so the signs of
/// all weights after the first must alternate.
fn nested(n: usize) -> Data {
    let rows: Vec<(String, bool)> = (0..n)
        .map(|row| {
            // The ones extend up to coordinate `row`.
            let bits = (0..n).map(|j| if j <= row { '1' } else { '0' }).collect();
            (bits, row % 2 == 0)
        })
        .collect();
    let rows: Vec<(&str, bool)> = rows
        .iter()
        .map(|(bits, label)| (bits.as_str(), *label))
        .collect();
    labelled(&rows)
}

#[test]
fn separability_below_the_resolution_of_f64_is_exact() {
    // Example k is 2^(20 k) times (1, 1 + 2^-50 k). The examples have nearly the same direction and very
    // different sizes.
    let point = |k: i32, label: bool| {
        let size = libm::exp2(f64::from(k * 20));
        (
            [size, size * (1.0 + libm::exp2(-50.0) * f64::from(k))],
            label,
        )
    };
    let points = [point(1, true), point(2, false), point(3, true)];
    let refs: Vec<(&[f64], bool)> = points.iter().map(|(x, label)| (&x[..], *label)).collect();
    let strict = question(false, Reading::Signed, Convention::Strict);
    let not = real(&refs);
    let verdict = decide(&not, &strict, &Run::default()).unwrap();
    assert!(matches!(verdict, Verdict::NotSeparable(_)), "{verdict:?}");
    let yes = real(&refs[..2]);
    let verdict = decide(&yes, &strict, &Run::default()).unwrap();
    assert!(matches!(verdict, Verdict::Separable(_)), "{verdict:?}");
    for n in [10, 40] {
        assert!(decided(&nested(n), &strict));
    }
}

#[test]
fn stop_flag_leaves_separability_undecided_with_its_reason() {
    let run = Run::default();
    run.stop.raise(Interrupt::TimeLimit);
    let strict = question(true, Reading::Signed, Convention::Strict);
    let data = labelled(&XOR);
    assert_eq!(
        decide(&data, &strict, &run),
        Ok(Verdict::Undecided(Undecided::TimeLimit))
    );
    run.stop.raise(Interrupt::Cancelled);
    assert_eq!(
        decide(&data, &strict, &run),
        Ok(Verdict::Undecided(Undecided::Cancelled))
    );
    run.stop.raise(Interrupt::Suspended);
    assert_eq!(decide(&data, &strict, &run), Err(Interrupt::Suspended));
}

#[test]
fn stop_flag_ends_every_step_of_separability() {
    let data = labelled(&XOR);
    let examples = SignedExamples::new(&data, Reading::Signed, true, &Run::default()).unwrap();
    let run = Run::default();
    run.stop.raise(Interrupt::Cancelled);
    let rows = [(vec![1.0, 1.0], true), (vec![-1.0, 1.0], true)];
    assert!(nearest_point(&rows, &run).is_err());
    assert!(settle(&examples, Convention::Strict, vec![0, 1, 2, 3], &run).is_err());
    assert!(contradiction(&examples, Convention::Strict, &run).is_err());
    assert!(attempt(&examples, Convention::Strict, 10, &run).is_err());
    // The flag is raised during the computation of the products, so the later products are not computed.
    let wide = random(3, 1000, false, &mut Generator::seed_from_u64(1));
    let run = Run::default();
    let examples = SignedExamples::new(&wide, Reading::Signed, false, &run).unwrap();
    let mut visited = 0;
    let weights = [1, 2, 3].map(BigInt::from);
    let ended = examples.for_each_product(&weights, &run, |index, _| {
        visited += 1;
        if index == 100 {
            run.stop.raise(Interrupt::TimeLimit);
        }
    });
    assert_eq!((ended, visited), (Err(Interrupt::TimeLimit), 128));
}

/// Real values of full precision with random labels, and more examples than a hyperplane can separate. A
/// cycle is unlikely, so the simplex must decide.
#[test]
fn separability_of_full_precision_noise_is_exact() {
    let mut generator = Generator::seed_from_u64(11);
    for (n, rows) in [(3, 30), (6, 60)] {
        let values = (0..n * rows)
            .map(|_| generator.random_range(-1e3..1e3))
            .collect();
        let mut labels = BitVector::zeros(rows);
        (0..rows).for_each(|row| labels.set(row, generator.random_bool(0.5)));
        let features = Features::Real(RealMatrix::from_values(n, values));
        let data = Data::new(features, Labels::of_signs(labels));
        let strict = question(true, Reading::Signed, Convention::Strict);
        let verdict = decide(&data, &strict, &Run::default()).unwrap();
        let Verdict::NotSeparable(multipliers) = &verdict else {
            panic!("{verdict:?}");
        };
        assert!(multipliers.len() <= n + 2 && multipliers.iter().any(|m| m.weight.bits() > 60));
        let examples = SignedExamples::new(&data, Reading::Signed, true, &Run::default()).unwrap();
        assert_eq!(
            exclude_separators(&examples, multipliers, Convention::Strict, &Run::default()),
            Ok(true)
        );
        // The simplex and the lifting find the same dependency.
        let support: Vec<usize> = multipliers.iter().map(|m| m.example).collect();
        let again = lifted(&examples, Convention::Strict, &support, &Run::default());
        assert_eq!(again, Ok(Some(multipliers.clone())));
        let simplex = settle(&examples, Convention::Strict, support, &Run::default());
        assert_eq!(simplex.as_ref(), Ok(&verdict));
        let mut short = multipliers.clone();
        short[0].weight += 1;
        assert_eq!(
            exclude_separators(&examples, &short, Convention::Strict, &Run::default()),
            Ok(false)
        );
    }
}

#[test]
fn separability_refuses_unlabelled_examples() {
    let data = Data::new(labelled(&XOR).features().clone(), Labels::Unlabelled);
    assert!(check(&data).is_err());
}

/// Positive examples whose multiples sum to 0, with `factors` as the multiples of all but the last.
fn dependent(n: usize, factors: &[i32], generator: &mut Generator) -> Data {
    let mut values: Vec<f64> = Vec::new();
    let mut last = vec![0.0; n];
    for &factor in factors {
        for sum in &mut last {
            let value = f64::from(generator.random_range(-1000..=1000));
            *sum -= f64::from(factor) * value;
            values.push(value);
        }
    }
    values.extend(last);
    Data::new(
        Features::Real(RealMatrix::from_values(n, values)),
        Labels::HalfSpace,
    )
}

#[test]
fn separability_of_a_thousand_coordinates_is_decided() {
    let run = Run::default();
    let mut generator = Generator::seed_from_u64(5);
    let factors: Vec<i32> = (0..24).map(|at| 1 + 7 * at).collect();
    let data = dependent(1024, &factors, &mut generator);
    let strict = question(false, Reading::Signed, Convention::Strict);
    let examples = SignedExamples::new(&data, Reading::Signed, false, &run).unwrap();
    let all: Vec<usize> = (0..=factors.len()).collect();
    let Proposed::Examples(support) = propose(&examples, strict.convention, all, &run).unwrap()
    else {
        panic!("separable");
    };
    let found = lifted(&examples, strict.convention, &support, &run).unwrap();
    let multipliers = found.expect("multipliers");
    let mut weights: Vec<i32> = multipliers
        .iter()
        .map(|m| m.weight.to_i32().unwrap())
        .collect();
    assert_eq!(weights.pop(), Some(1));
    assert_eq!(weights, factors);
    // The examples without the last are independent, so a hyperplane separates them.
    let data = data.select(&(0..factors.len()).collect::<Vec<_>>());
    let examples = SignedExamples::new(&data, Reading::Signed, false, &run).unwrap();
    let proposed = propose(&examples, strict.convention, vec![0, 1], &run).unwrap();
    let Proposed::Separator(weights) = proposed else {
        panic!("not separable");
    };
    let separator = Separator {
        weights,
        bias: None,
    };
    assert!(certified(&data, &strict, &Verdict::Separable(separator)));
}

#[test]
fn separability_withstands_duplicates_and_extreme_scales() {
    let run = Run::default();
    let mut generator = Generator::seed_from_u64(6);
    let data = dependent(12, &[3, 1, 4, 1, 5, 9, 2, 6], &mut generator);
    let Features::Real(matrix) = data.features() else {
        panic!("Boolean");
    };
    // Each example occurs four times, at scales from 2^-90 to 2^90.
    let rows = (0..36).flat_map(|at| {
        let scale = libm::exp2(f64::from(at % 4 * 60 - 90));
        let row = matrix.row(at as usize / 4).to_vec();
        row.into_iter().map(move |value| value * scale)
    });
    let all = Data::new(
        Features::Real(RealMatrix::from_values(12, rows.collect())),
        Labels::HalfSpace,
    );
    for (data, expected) in [
        (all.select(&(0..32).collect::<Vec<_>>()), true),
        (all, false),
    ] {
        let examples = SignedExamples::new(&data, Reading::Signed, false, &run).unwrap();
        let convention = Convention::Strict;
        let working = (0..data.examples()).collect();
        let verdict = match propose(&examples, convention, working, &run).unwrap() {
            Proposed::Separator(_) => true,
            Proposed::Examples(support) => {
                let excluded = lifted(&examples, convention, &support, &run).unwrap();
                assert!(excluded.is_some());
                false
            }
        };
        assert_eq!(verdict, expected);
    }
}

//! Bounds and certificates of committees over many random runs, beside their definitions in whole numbers.

use halfspace_core::bits::{BitMatrix, BitVector};
use halfspace_core::certificates::{self, Claim};
use halfspace_core::learners::catalogue::find;
use halfspace_core::learners::engine::assume::Assume;
use halfspace_core::learners::engine::committee::Multiclass;
use halfspace_core::learners::engine::input::Input;
use halfspace_core::learners::engine::outcome::RunOutcome;
use halfspace_core::learners::engine::parameters::Parameters;
use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::reason::Reason;
use halfspace_core::learners::engine::run::{Run, RunLimits};
use halfspace_core::learners::engine::task::Task;
use halfspace_core::learners::engine::train::train;
use halfspace_core::learners::hypothesis::Hypothesis;
use halfspace_core::learners::linear::linear_weights::LinearWeights;
use halfspace_core::learners::sample::classes::ClassCodes;
use halfspace_core::learners::sample::data::{Data, Features, Labels};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::json;

/// Examples with the constant of the bias last, and the codes of their classes.
struct Examples {
    classes: usize,
    rows: Vec<Vec<i64>>,
    codes: Vec<u32>,
}

impl Examples {
    /// The same examples for the learner, which reads a bit as -1 or 1 and adds the constant itself.
    fn data(&self) -> Data {
        let n = self.rows[0].len() - 1;
        let mut bits = BitMatrix::new(n);
        let planes = self.classes.next_power_of_two().ilog2().max(1);
        let mut planes = vec![BitVector::zeros(self.rows.len()); planes as usize];
        for (at, (row, code)) in self.rows.iter().zip(&self.codes).enumerate() {
            let mut words = vec![0_u64; n.div_ceil(64)];
            for (j, _) in row[..n].iter().enumerate().filter(|(_, x)| **x == 1) {
                words[j / 64] |= 1 << (j % 64);
            }
            bits.push_row(&words);
            for (bit, plane) in planes.iter_mut().enumerate() {
                plane.set(at, code >> bit & 1 == 1);
            }
        }
        let labels = Labels::Labelled(ClassCodes::of_planes(planes));
        Data::new(Features::Boolean(bits), labels)
    }
}

fn signs(random: &mut StdRng, n: usize) -> Vec<i64> {
    let sign = |_| if random.random() { 1 } else { -1 };
    (0..n).map(sign).chain([1]).collect()
}

fn product(weights: &[i64], x: &[i64]) -> i64 {
    weights.iter().zip(x).map(|(w, x)| w * x).sum()
}

/// The first class with the largest score, and by how much its score exceeds all others.
fn leader(weights: &[Vec<i64>], x: &[i64]) -> (u32, i64) {
    let scores: Vec<i64> = weights.iter().map(|own| product(own, x)).collect();
    let best = (1..scores.len()).fold(
        0,
        |best, at| if scores[at] > scores[best] { at } else { best },
    );
    let others = (0..scores.len())
        .filter(|at| *at != best)
        .map(|at| scores[at]);
    (
        best as u32,
        scores[best] - others.max().expect("two classes"),
    )
}

/// Examples that a random committee tells apart, and its weights. Some labels are wrong.
fn labelled(
    random: &mut StdRng,
    classes: usize,
    count: usize,
    noise: f64,
) -> (Examples, Vec<Vec<i64>>) {
    let n = random.random_range(3..9);
    let weights: Vec<Vec<i64>> = (0..classes)
        .map(|_| (0..=n).map(|_| random.random_range(-3..=3)).collect())
        .collect();
    let (mut rows, mut codes) = (Vec::new(), Vec::new());
    for _ in 0..100_000 {
        if rows.len() == count {
            break;
        }
        let x = signs(random, n);
        let (class, gap) = leader(&weights, &x);
        if gap > 0 {
            let is_wrong = random.random_bool(noise);
            let other = random.random_range(0..classes as u32);
            codes.push(if is_wrong { other } else { class });
            rows.push(x);
        }
    }
    let examples = Examples {
        classes,
        rows,
        codes,
    };
    (examples, weights)
}

fn run(
    examples: &Examples,
    learner: &str,
    multiclass: Multiclass,
    passes: u64,
    assume: Option<Assume>,
) -> RunOutcome {
    let entry = find(learner).expect("listed");
    let order = json!({"order": "cyclic"});
    let order = order.as_object().expect("an object");
    let task = Task {
        classes: examples.classes,
        parameters: Parameters::from_json(entry.parameters, order).expect("parameters"),
        multiclass,
        limits: RunLimits {
            max_passes: Some(passes),
            ..RunLimits::default()
        },
        ..Task::of(entry, Seed(1))
    };
    let data = examples.data();
    let input = Input::Sample {
        data: &data,
        assume,
    };
    train(&task, input, &Run::default()).expect("an end")
}

fn members(outcome: &RunOutcome) -> Vec<Vec<i64>> {
    let weights = |member: &Hypothesis| match member {
        Hypothesis::Linear(LinearWeights::Integer(own)) => {
            own.weights().into_iter().chain(own.bias()).collect()
        }
        _ => panic!("whole weights"),
    };
    outcome.predictor.members().iter().map(weights).collect()
}

/// 2 R^2 |U|^2 / gamma^2 as a numerator and a denominator. None if the gap is 0.
fn joint_bound(weights: &[Vec<i64>], examples: &Examples) -> Option<(i128, i128)> {
    let norm: i128 = weights.iter().flatten().map(|&w| i128::from(w * w)).sum();
    let own = |(x, code): (&Vec<i64>, &u32)| {
        let scores: Vec<i64> = weights.iter().map(|w| product(w, x)).collect();
        let others = (0..scores.len()).filter(|at| *at != *code as usize);
        scores[*code as usize] - others.map(|at| scores[at]).max().expect("others")
    };
    let gap = examples.rows.iter().zip(&examples.codes).map(own).min()?;
    let radius = examples.rows[0].len() as i128;
    (gap > 0).then(|| (2 * radius * norm, i128::from(gap).pow(2)))
}

/// No run makes more mistakes than the bound of the target that labelled it, or than the bound of its own weights,
/// which the report states exactly.
#[test]
fn joint_bounds_hold_in_two_thousand_streams() {
    let random = &mut StdRng::seed_from_u64(1);
    let (mut stated, mut closest) = (0, 0.0_f64);
    for stream in 0..2_000 {
        let classes = random.random_range(3..8);
        let count = random.random_range(5..80);
        let (examples, target) = labelled(random, classes, count, 0.0);
        let learner = ["perceptron", "averaged-perceptron"][stream % 2];
        let outcome = run(&examples, learner, Multiclass::Joint, 60, None);
        let mistakes = i128::from(outcome.counts.mistakes);
        let (above, below) = joint_bound(&target, &examples).expect("a gap");
        assert!(
            mistakes * below <= above,
            "{stream}: {mistakes} > {above}/{below}"
        );
        closest = closest.max((mistakes * below) as f64 / above as f64);
        if outcome.termination.reason != Reason::Converged {
            assert_eq!(outcome.bound, None, "{stream}");
            continue;
        }
        let bound = outcome.bound.clone().expect("a converged run");
        // The weights that made the mistakes are those of a perceptron, also if their mean is the answer.
        let plain = run(&examples, "perceptron", Multiclass::Joint, 60, None);
        match joint_bound(&members(&plain), &examples) {
            None => assert_eq!(
                (bound.mistakes_at_most, bound.respected),
                (None, None),
                "{stream}"
            ),
            Some((above, below)) => {
                assert_eq!(
                    bound.mistakes_at_most,
                    Some(above as f64 / below as f64),
                    "{stream}"
                );
                assert_eq!(bound.respected, Some(mistakes * below <= above), "{stream}");
                assert!(mistakes * below <= above, "{stream}");
                stated += 1;
            }
        }
    }
    assert!(stated > 500, "{stated} bounds were stated");
    // A bound that is far from every run would hold with a wrong factor too.
    assert!(closest > 0.1, "{closest}");
}

/// On orthogonal examples the bound of the best separator is 2 (C - 1) / C mistakes for each made, so it fails without
/// its factor 2.
#[test]
fn joint_bound_fails_without_its_factor() {
    // Rows of a Hadamard matrix are orthogonal. Its first column is the constant.
    let rows: Vec<Vec<i64>> = (0..8_u32)
        .map(|row| {
            (1..8)
                .chain([0])
                .map(|j: u32| {
                    if (row & j).count_ones().is_multiple_of(2) {
                        1
                    } else {
                        -1
                    }
                })
                .collect()
        })
        .collect();
    let codes = vec![1, 2, 1, 2, 1, 2, 1, 2];
    let examples = Examples {
        classes: 3,
        rows,
        codes,
    };
    let outcome = run(&examples, "perceptron", Multiclass::Joint, 60, None);
    // u_y = 2/3 and u_r = -1/3 of each example, times 3.
    let mut best = vec![vec![0; 8]; 3];
    for (x, code) in examples.rows.iter().zip(&examples.codes) {
        for (class, own) in best.iter_mut().enumerate() {
            let times = if class == *code as usize { 2 } else { -1 };
            own.iter_mut().zip(x).for_each(|(w, x)| *w += times * x);
        }
    }
    let (above, below) = joint_bound(&best, &examples).expect("a gap");
    let mistakes = i128::from(outcome.counts.mistakes);
    assert_eq!(mistakes, 8);
    assert!(mistakes * below <= above);
    assert!(mistakes * below > above / 2);
}

/// Each member keeps its own bound, and the committee their sum.
#[test]
fn member_bounds_hold_in_two_thousand_streams() {
    let random = &mut StdRng::seed_from_u64(2);
    let mut stated = 0;
    for stream in 0..2_000 {
        let classes = random.random_range(3..6);
        let count = random.random_range(4..30);
        let (examples, _) = labelled(random, classes, count, 0.0);
        let outcome = run(&examples, "perceptron", Multiclass::OneVsRest, 300, None);
        let own: u64 = outcome.members.iter().map(|member| member.mistakes).sum();
        assert!(outcome.counts.mistakes <= own, "{stream}");
        let mut sum = Some(0.0);
        for member in &outcome.members {
            let bound = member.bound.as_ref();
            let most = bound.and_then(|bound| bound.mistakes_at_most);
            assert!(
                most.is_none_or(|most| member.mistakes as f64 <= most),
                "{stream}"
            );
            sum = sum.zip(most).map(|(sum, most)| sum + most);
        }
        let whole = outcome
            .bound
            .as_ref()
            .and_then(|bound| bound.mistakes_at_most);
        assert_eq!(whole, sum, "{stream}");
        stated += u64::from(whole.is_some());
    }
    assert!(stated > 500, "{stated} bounds were stated");
}

/// The changes of a committee of perceptrons in one pass: the number of examples from which any member learnt, and
/// the examples after the last of them.
fn changes(examples: &Examples, is_joint: bool) -> (u64, u64) {
    let mut weights = vec![vec![0; examples.rows[0].len()]; examples.classes];
    let (mut changes, mut run_length) = (0, 0);
    for (x, code) in examples.rows.iter().zip(&examples.codes) {
        let (predicted, _) = leader(&weights, x);
        let mut has_changed = false;
        for (class, own) in (0..).zip(&mut weights) {
            let is_own = class == *code;
            let learns = match is_joint {
                true => predicted != *code && (is_own || class == predicted),
                false => (product(own, x) >= 0) != is_own,
            };
            if learns {
                let sign = if is_own { 1 } else { -1 };
                own.iter_mut().zip(x).for_each(|(w, x)| *w += sign * x);
                has_changed = true;
            }
        }
        changes += u64::from(has_changed);
        run_length = if has_changed { 0 } else { run_length + 1 };
    }
    (changes, run_length)
}

/// Certificates of committees are false no more often than allowed. The number of a hypothesis counts the changes of
/// any member, which one against the rest makes more often than mistakes.
#[test]
fn certificates_of_committees_are_false_no_more_often_than_allowed() {
    const RUNS: u64 = 2_000;
    const DELTA: f64 = 0.3;
    let random = &mut StdRng::seed_from_u64(3);
    let entry = find("perceptron").expect("listed");
    let (mut made, mut wrong, mut more_changes) = ([0_u64; 2], [0_u64; 2], 0);
    for number in 0..RUNS {
        let is_joint = number % 2 == 1;
        let multiclass = if is_joint {
            Multiclass::Joint
        } else {
            Multiclass::OneVsRest
        };
        let noise = [0.0, 0.1][number as usize / 2 % 2];
        let (examples, target) = labelled(random, 3, 150, noise);
        let outcome = run(
            &examples,
            "perceptron",
            multiclass,
            1,
            Some(Assume::Independent),
        );
        let (weights, n) = (members(&outcome), examples.rows[0].len() - 1);
        // The error over all examples that can be drawn, with the wrong labels.
        let (mut errors, mut all) = (0.0, 0.0);
        for bits in 0..1_u32 << n {
            let x: Vec<i64> = (0..n)
                .map(|j| if bits >> j & 1 == 1 { 1 } else { -1 })
                .chain([1])
                .collect();
            let (class, gap) = leader(&target, &x);
            if gap > 0 {
                let is_right = leader(&weights, &x).0 == class;
                // A label that noise draws has each of the three classes with the same probability.
                errors += if is_right {
                    noise * 2.0 / 3.0
                } else {
                    1.0 - noise / 3.0
                };
                all += 1.0;
            }
        }
        let error = errors / all;
        let found = certificates::of_run(entry, &outcome, 1.0 - DELTA);
        let (own, run_length) = changes(&examples, is_joint);
        more_changes += u64::from(own > outcome.counts.mistakes);
        for certificate in &found.certificates {
            match certificate.claim {
                Claim::Survival {
                    error_at_most,
                    run_length: stated,
                    hypothesis,
                } => {
                    assert_eq!((hypothesis, stated), (own + 1, run_length), "run {number}");
                    made[0] += 1;
                    wrong[0] += u64::from(error > error_at_most);
                }
                Claim::Compression {
                    error_at_most,
                    kept,
                    ..
                } => {
                    // In one pass each change has an example of its own.
                    assert_eq!(kept, own, "run {number}");
                    made[1] += 1;
                    wrong[1] += u64::from(error > error_at_most);
                }
                _ => {}
            }
        }
    }
    assert!(more_changes > RUNS / 4, "{more_changes}");
    let allowed = DELTA + 3.0 * (DELTA * (1.0 - DELTA) / RUNS as f64).sqrt();
    for (made, wrong) in made.into_iter().zip(wrong) {
        assert!(made > RUNS / 8, "{made} certificates");
        // A certificate that is withheld is not false.
        assert!(wrong as f64 / RUNS as f64 <= allowed, "{wrong} of {made}");
    }
}

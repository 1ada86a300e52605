//! Separability and maximum margin of real data sets, which `scripts/real-data` asks for.

use std::fs::File;
use std::path::{Path, PathBuf};

use halfspace_core::learners::engine::run::Run;
use halfspace_core::learners::linear::linear_weights::Reading;
use halfspace_core::learners::sample::data::{Data, Features};
use halfspace_core::separability::decision::{
    Convention, SeparabilityQuestion, Separator, Verdict, decide,
};
use halfspace_core::separability::maximum_margin::RELATIVE_GAP_MAX;
use halfspace_core::separability::maximum_margin::{MarginOutcome, solve};
use halfspace_formats::{Format, Options, parse};
use num_bigint::BigInt;
use num_traits::{Signed, Zero};

/// Path of a file in the folder of real data beside the repository.
fn data_file(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    folder.join(name)
}

fn agaricus() -> Data {
    let mut file = File::open(data_file("agaricus.txt.train")).unwrap();
    let parsed = parse(Format::Libsvm, &mut file, &Options::default()).unwrap();
    assert_eq!((parsed.data.examples(), parsed.data.n()), (6513, 126));
    parsed.data
}

fn kr_vs_kp() -> Data {
    let mut file = File::open(data_file("kr.vs.kp.arff")).unwrap();
    let parsed = parse(Format::Arff, &mut file, &Options::default()).unwrap();
    assert_eq!((parsed.data.examples(), parsed.data.n()), (3196, 74));
    parsed.data
}

/// Coordinates of an example with the bias, and the label as a sign.
fn example(data: &Data, index: usize, question: &SeparabilityQuestion) -> (Vec<i64>, i64) {
    let (Features::Boolean(matrix), Some(labels)) = (data.features(), data.labels().signs()) else {
        panic!("labelled bits")
    };
    let row = matrix.row(index);
    let value = |j| question.reading.value(row.get(j)) as i64;
    let mut values: Vec<i64> = (0..row.n()).map(value).collect();
    values.extend(question.bias.then_some(1));
    (values, if labels.get(index) { 1 } else { -1 })
}

#[test]
#[ignore = "reads ../shared/data: scripts/real-data runs it"]
fn real_data_agaricus_is_separable_and_the_separator_is_right_on_all() {
    let data = agaricus();
    for (bias, convention) in [
        (true, Convention::Strict),
        (false, Convention::Strict),
        (true, Convention::Service),
        (false, Convention::Service),
    ] {
        let question = SeparabilityQuestion {
            bias,
            reading: Reading::Unsigned,
            convention,
        };
        let verdict = decide(&data, &question, &Run::default()).unwrap();
        let Verdict::Separable(Separator { weights, bias }) = verdict else {
            panic!("{verdict:?}");
        };
        let weights: Vec<&BigInt> = weights.iter().chain(&bias).collect();
        for index in 0..data.examples() {
            let (values, label) = example(&data, index, &question);
            let score: BigInt = weights.iter().zip(&values).map(|(w, x)| *w * x).sum();
            let is_right = match (convention, label) {
                (Convention::Service, 1) => !score.is_negative(),
                (_, label) => (score * label).is_positive(),
            };
            assert!(is_right, "example {index}");
        }
    }
}

#[test]
#[ignore = "reads ../shared/data: scripts/real-data runs it"]
fn real_data_king_and_rook_against_king_and_pawn_is_not_separable() {
    let data = kr_vs_kp();
    for (bias, reading, convention) in [
        (true, Reading::Signed, Convention::Strict),
        (false, Reading::Unsigned, Convention::Service),
    ] {
        let question = SeparabilityQuestion {
            bias,
            reading,
            convention,
        };
        let verdict = decide(&data, &question, &Run::default()).unwrap();
        let Verdict::NotSeparable(multipliers) = verdict else {
            panic!("{verdict:?}");
        };
        let mut sum = vec![BigInt::zero(); data.n() + usize::from(bias)];
        let mut negative = 0;
        for multiplier in &multipliers {
            assert!(multiplier.weight.is_positive());
            let (values, label) = example(&data, multiplier.example, &question);
            negative += usize::from(label < 0);
            for (sum, value) in sum.iter_mut().zip(values) {
                *sum += &multiplier.weight * (label * value);
            }
        }
        assert!(sum.iter().all(Zero::is_zero) && negative > 0);
    }
}

#[test]
#[ignore = "reads ../shared/data: scripts/real-data runs it"]
fn real_data_the_maximum_margin_of_agaricus_is_proved() {
    let data = agaricus();
    let outcome = solve(&data, true, Reading::Unsigned, &Run::default()).unwrap();
    let MarginOutcome::Optimal(found) = outcome else {
        panic!("{outcome:?}");
    };
    assert!(found.relative_gap <= RELATIVE_GAP_MAX);
    assert!(found.support.len() > 2 && found.support.len() < data.examples());
    // The perceptron makes 129 mistakes on the examples in file order, bias included.
    assert!(found.bound.value >= 129.0, "{:?}", found.bound);
}

//! The kernel perceptron against a plain program on tic-tac-toe boards, and against the bit kernel that it uses on the
//! examples of `kernel_perceptron_adversary`.

use std::hint::black_box;
use std::time::Instant;

use halfspace_core::bits::{BLOCK_ROWS, BitMatrix, BitVector, intersections};
use halfspace_core::constructions::kernel_perceptron_adversary as adversary;
use halfspace_core::learners::engine::input::Input;
use halfspace_core::learners::engine::run::{Run, RunLimits};
use halfspace_core::learners::sample::data::{Data, Features, Labels};
use halfspace_core::samples::{self, CLASSES, SampleParameters};
use serde_json::json;

use super::{Read, compare, run_with};

const LEARNER: &str = "kernel-perceptron";

/// Learns all conjunctions over the 958 end boards until a clean pass. The library's run does more than the baseline:
/// it also counts the errors of the hypothesis and computes the bound, and each of these goes through all pairs once
/// more.
pub fn tic_tac_toe() {
    let sample = samples::find("tic-tac-toe").expect("a sample");
    let boards = sample
        .table(&SampleParameters::default())
        .expect("defaults");
    let mut matrix = BitMatrix::new(27);
    let mut labels = BitVector::zeros(boards.rows.len());
    for (row, board) in boards.rows.iter().enumerate() {
        let (class, squares) = board.split_last().expect("a class");
        let ones = squares.iter().map(|square| match square.as_ref() {
            "x" => "100",
            "o" => "010",
            _ => "001",
        });
        let bits = ones.collect::<String>();
        let bits = BitVector::from_bit_string(bits.as_bytes()).expect("bits");
        matrix.push_row(bits.words());
        labels.set(row, *class == CLASSES[1]);
    }
    let rows: Vec<(u64, bool)> = (0..boards.rows.len())
        .map(|row| (matrix.row(row).words()[0], labels.get(row)))
        .collect();
    let data = Data::new(Features::Boolean(matrix), Labels::of_signs(labels));
    let (none, limits) = (serde_json::Map::new(), RunLimits::default());
    let input = Input::Sample {
        data: &data,
        assume: None,
    };
    compare(
        "kernel perceptron, boards / sum by sum in i64",
        None,
        |seed| run_with(LEARNER, &none, seed, limits, input),
        |_| sum_by_sum(&rows),
    );
}

/// The same learner as a plain program, for up to 40 features.
fn sum_by_sum(rows: &[(u64, bool)]) -> Read {
    let mut support: Vec<(u64, i64)> = Vec::new();
    let mut read = Read::default();
    loop {
        let before = read.mistakes;
        for &(x, is_positive) in rows {
            let term = |&(v, label): &(u64, i64)| label << (27 - (x ^ v).count_ones());
            let score: i64 = support.iter().map(term).sum();
            read.examples += 1;
            if (score >= 0) != is_positive {
                read.mistakes += 1;
                support.push((x, if is_positive { 1 } else { -1 }));
            }
        }
        if read.mistakes == before {
            return read;
        }
    }
}

/// Theorem 4's sequence: every example is a mistake and joins the support. In its one pass, a run evaluates the
/// kernel on each pair of examples. Counting the errors of the final hypothesis evaluates all pairs again, in both
/// orders.
pub fn adversary() {
    for (n, size) in [(400, 2_000), (2_000, 20_000)] {
        let (data, found) = timed(|| adversary::build(n, size, 1, &Run::default()));
        let data = data.expect("a sequence");
        let Features::Boolean(matrix) = data.features() else {
            unreachable!("the sequence is of bits")
        };
        let params = json!({"kernel": {"conjunctions": "monotone"}});
        let object = params.as_object().expect("an object");
        let limits = RunLimits {
            max_passes: Some(1),
            ..RunLimits::default()
        };
        let input = Input::Sample {
            data: &data,
            assume: None,
        };
        let examples = data.examples() as f64;
        let evaluations = examples * (examples - 1.0) / 2.0 + examples * examples;
        let mut rounds: Vec<[f64; 3]> = (0..5)
            .map(|seed| {
                let (read, learnt) = timed(|| run_with(LEARNER, object, seed, limits, input));
                assert_eq!(read.mistakes, size + 2);
                let (rows, compared) = timed(|| compare_rows(matrix, 1_000));
                let own = learnt * 1e9 / evaluations;
                let kernel = compared * 1e9 / rows as f64;
                [own / kernel, own, kernel]
            })
            .collect();
        rounds.sort_by(|a, b| a[0].total_cmp(&b[0]));
        let [ratio, own, kernel] = rounds[rounds.len() / 2];
        println!(
            "adversary n={n}, |S|={size}: {0} mistakes of {0}; {own:.2} ns a kernel evaluation, \
             {kernel:.2} ns a row of the bit kernel, ratio {ratio:.2}; found in {found:.2} s",
            size + 2
        );
    }
}

/// Runs the bit kernel alone with `examples` examples against all rows. Returns the number of compared rows.
fn compare_rows(matrix: &BitMatrix, examples: usize) -> usize {
    let mut counts = [0; BLOCK_ROWS];
    for example in 0..examples {
        let example = matrix.row(example);
        for block in matrix.blocks() {
            intersections(block, example.words(), &mut counts);
            black_box(&counts);
        }
    }
    examples * matrix.rows()
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let done = work();
    (done, start.elapsed().as_secs_f64())
}

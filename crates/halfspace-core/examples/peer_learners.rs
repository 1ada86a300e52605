//! The side of this library in the comparison of `benches/peers/learners.py`, which starts this program and compares it
//! with other libraries.
//!
//! The argument is a folder of data. A file `NAME.x` holds the rows, as doubles, as one byte per bit, or as the
//! ascending numbers of each row's active features, 4 bytes each. `NAME.y` holds the code of each row's class, one byte
//! each; of two classes, 1 is the positive one. Each line of the standard input is a request, and each output line is
//! its answer in JSON. In an answer, `seconds` is the processor time of the work without reading the data.

use std::collections::HashMap;
use std::fs;
use std::hint::black_box;
use std::io::{self, BufRead, Write};
use std::path::Path;

use halfspace_core::bits::{
    BLOCK_ROWS, BitMatrix, BitVector, ColumnWeights, SparseMatrix, SparseRow, add_column_sums,
    row_sums, words_for,
};
use halfspace_core::learners::catalogue::find;
use halfspace_core::learners::engine::committee::Multiclass;
use halfspace_core::learners::engine::input::Input;
use halfspace_core::learners::engine::parameters::Parameters;
use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::run::{Run, RunLimits};
use halfspace_core::learners::engine::task::Task;
use halfspace_core::learners::engine::train::{train, train_to_end};
use halfspace_core::learners::linear::linear_weights::Reading;
use halfspace_core::learners::sample::classes::{ClassCodes, planes_for};
use halfspace_core::learners::sample::data::{Data, Features, Labels, RealMatrix};
use halfspace_core::separability::decision::{Convention, SeparabilityQuestion, Verdict, decide};
use halfspace_core::separability::maximum_margin::{self, MarginOutcome};
use rustix::time::{ClockId, clock_gettime};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// One line of the input.
#[derive(Deserialize)]
struct Request {
    work: String,
    data: String,
    n: usize,
    #[serde(default)]
    real: bool,
    /// The active features of each row, if the rows are sparse.
    #[serde(default)]
    entries: Option<usize>,
    #[serde(default)]
    passes: Option<u64>,
    #[serde(default)]
    params: Map<String, Value>,
    #[serde(default = "two")]
    classes: usize,
    #[serde(default)]
    multiclass: Multiclass,
}

fn two() -> usize {
    2
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("the argument is a folder")?;
    let mut samples: HashMap<String, Data> = HashMap::new();
    for line in io::stdin().lock().lines() {
        let request: Request = serde_json::from_str(&line?)?;
        let data = match samples.remove(&request.data) {
            Some(data) => data,
            None => read(Path::new(&folder), &request)?,
        };
        let begun = processor_seconds();
        let mut answer = answer(&request, &data);
        answer["seconds"] = json!(processor_seconds() - begun);
        println!("{answer}");
        io::stdout().flush()?;
        samples.insert(request.data, data);
    }
    Ok(())
}

/// Does the work of a request once.
fn answer(request: &Request, data: &Data) -> Value {
    let run = Run::default();
    match request.work.as_str() {
        "separability" => {
            let question = SeparabilityQuestion {
                bias: true,
                reading: Reading::Signed,
                convention: Convention::Strict,
            };
            let answer = match decide(data, &question, &run).expect("an end") {
                Verdict::Separable(_) => "separable",
                Verdict::NotSeparable(_) => "not separable",
                Verdict::Undecided(_) => "undecided",
            };
            json!({"answer": answer})
        }
        "maximum-margin" => {
            let solved = maximum_margin::solve(data, true, Reading::Signed, &run);
            let answer = match solved.expect("an end") {
                MarginOutcome::Optimal(_) => "optimal",
                MarginOutcome::Approximate(_) => "approximate",
                _ => "none",
            };
            json!({"answer": answer})
        }
        "plain-loop" => plain_loop(data, request.passes.unwrap_or(1)),
        "row-sums" => row_products(data),
        "column-sums" => column_products(data),
        "read" => read_memory(data),
        learner => learnt(learner, request, data),
    }
}

/// Trains. The work `NAME/loop` leaves out the report after the training.
fn learnt(learner: &str, request: &Request, data: &Data) -> Value {
    let (learner, has_report) = match learner.strip_suffix("/loop") {
        Some(learner) => (learner, false),
        None => (learner, true),
    };
    let entry = find(learner).expect("a learner of the catalogue");
    let task = Task {
        classes: request.classes,
        multiclass: request.multiclass,
        parameters: Parameters::from_json(entry.parameters, &request.params).expect("parameters"),
        limits: RunLimits {
            max_passes: request.passes,
            ..RunLimits::default()
        },
        ..Task::of(entry, Seed(1))
    };
    let (run, input) = (Run::default(), Input::Sample { data, assume: None });
    let counts = match has_report {
        true => train(&task, input, &run).expect("an end").counts,
        false => train_to_end(&task, input, &run).expect("an end").counts,
    };
    json!({"passes": counts.passes, "mistakes": counts.mistakes})
}

/// A perceptron as a plain loop over sparse rows, without checks, counts or limits beyond its mistakes.
fn plain_loop(data: &Data, passes: u64) -> Value {
    let (Features::Sparse(rows), Some(labels)) = (data.features(), data.labels().signs()) else {
        panic!("sparse rows of two classes");
    };
    let (mut weights, mut mistakes) = (vec![0_i32; rows.n()], 0);
    for _ in 0..passes {
        for at in 0..rows.rows() {
            let ids = rows.row(at).ids;
            let sum: i32 = ids.iter().map(|&id| weights[id as usize]).sum();
            let is_positive = labels.get(at);
            if (sum > 0) != is_positive || sum == 0 {
                let change = if is_positive { 1 } else { -1 };
                ids.iter().for_each(|&id| weights[id as usize] += change);
                mistakes += 1;
            }
        }
    }
    black_box(weights);
    json!({"passes": passes, "mistakes": mistakes})
}

fn bits(data: &Data) -> &BitMatrix {
    match data.features() {
        Features::Boolean(matrix) => matrix,
        Features::Real(_) | Features::Sparse(_) => panic!("the work needs packed bits"),
    }
}

fn row_products(data: &Data) -> Value {
    let matrix = bits(data);
    let mut weights = ColumnWeights::new(matrix.n());
    weights.assign(
        &(0..matrix.n() as i32)
            .map(|j| 7 * j - 999)
            .collect::<Vec<_>>(),
    );
    let mut sums = [0; BLOCK_ROWS];
    for block in matrix.blocks() {
        row_sums(block, &weights, &mut sums);
        black_box(&sums);
    }
    json!({"bytes": matrix.rows() * words_for(matrix.n()) * 8})
}

fn column_products(data: &Data) -> Value {
    let matrix = bits(data);
    let mut sums = vec![0; matrix.n()];
    let rows: [i32; BLOCK_ROWS] = std::array::from_fn(|row| 31 * row as i32 - 777);
    for block in matrix.blocks() {
        add_column_sums(block, &rows, &mut sums);
    }
    black_box(&sums);
    json!({"bytes": matrix.rows() * words_for(matrix.n()) * 8})
}

/// Reads all features with almost no computation: the bound that memory sets.
fn read_memory(data: &Data) -> Value {
    let bytes = match data.features() {
        Features::Boolean(matrix) => {
            let read = matrix.blocks().map(|block| fold(block.words()));
            black_box(read.fold(0, |all, one| all ^ one));
            matrix.rows() * words_for(matrix.n()) * 8
        }
        Features::Real(matrix) => {
            black_box(fold_reals(matrix.values()));
            matrix.values().len() * 8
        }
        Features::Sparse(_) => panic!("the work needs dense rows"),
    };
    json!({"bytes": bytes})
}

// The compiler keeps the partial results of a plain loop in registers.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn fold(words: &[u64]) -> u64 {
    words.iter().fold(0, |all, word| all ^ word)
}

#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn fold_reals(values: &[f64]) -> u64 {
    values.iter().fold(0, |all, value| all ^ value.to_bits())
}

fn read(folder: &Path, request: &Request) -> io::Result<Data> {
    let n = request.n;
    let (x, y) = (format!("{}.x", request.data), format!("{}.y", request.data));
    let bytes = fs::read(folder.join(x))?;
    let features = if let Some(entries) = request.entries {
        let ids = bytes
            .as_chunks()
            .0
            .iter()
            .map(|&four| u32::from_le_bytes(four));
        let ids: Vec<u32> = ids.collect();
        let mut matrix = SparseMatrix::new(n, false);
        for ids in ids.chunks_exact(entries) {
            matrix.push_row(SparseRow { ids, values: None });
        }
        Features::Sparse(matrix)
    } else if request.real {
        let values = bytes
            .as_chunks()
            .0
            .iter()
            .map(|&bytes| f64::from_le_bytes(bytes));
        Features::Real(RealMatrix::from_values(n, values.collect()))
    } else {
        let mut matrix = BitMatrix::new(n);
        bytes
            .chunks_exact(n)
            .for_each(|row| matrix.push_row(bit_of_each(row, 0).words()));
        Features::Boolean(matrix)
    };
    let codes = fs::read(folder.join(y))?;
    let planes = (0..planes_for(request.classes)).map(|plane| bit_of_each(&codes, plane));
    let codes = ClassCodes::of_planes(planes.collect());
    Ok(Data::new(features, Labels::Labelled(codes)))
}

/// Bit `place` of each byte.
fn bit_of_each(bytes: &[u8], place: usize) -> BitVector {
    let mut bits = BitVector::zeros(bytes.len());
    for (at, &byte) in bytes.iter().enumerate() {
        bits.set(at, byte >> place & 1 == 1);
    }
    bits
}

fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

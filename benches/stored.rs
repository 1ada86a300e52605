//! Speed of learning from stored examples block by block, beside the same examples in memory, and of verifying the
//! digest.
//!
//! Run `cargo bench --bench stored [rows]`, for dense rows and for sparse ones. The file is in the system's cache, so
//! you measure this program and not a disk. The sides alternate, the benchmark prints medians, and it fails if the
//! outcomes differ.
#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]

mod texts;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::time::Instant;

use halfspace_core::bits::{BitVector, SparseMatrix, SparseRow};
use halfspace_core::learners::catalogue;
use halfspace_core::learners::engine::input::Input;
use halfspace_core::learners::engine::outcome::RunOutcome;
use halfspace_core::learners::engine::parameters::Parameters;
use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::run::{Run, RunLimits, StopFlag};
use halfspace_core::learners::engine::stopping::Sampling;
use halfspace_core::learners::engine::task::Task;
use halfspace_core::learners::engine::train::train;
use halfspace_core::learners::sample::data::{Data, Features, Labels};
use halfspace_core::learners::sample::examples::Examples;
use halfspace_core::learners::sample::generate::{Generated, Plan};
use halfspace_formats::{Buffers, ReadAt, StoredExamples, digest, write_blocks};
use serde_json::{Value, json};

use texts::{ACTIVE, WORDS, is_positive, words};

const N: usize = 256;
const ROUNDS: usize = 5;

#[derive(Debug)]
struct Plain(File);

impl ReadAt for Plain {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.0, buffer, offset)
    }

    fn bytes(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }
}

fn main() -> io::Result<()> {
    let rows = std::env::args().find_map(|text| text.parse().ok());
    let rows = rows.unwrap_or(1_000_000);
    let plan = Plan {
        count: Some(rows),
        noise: 0.01,
        ..Plan::endless(Plan::random_target(N, Seed(1)), Sampling::Uniform)
    };
    let dense = Generated::materialise(plan, Seed(1), &Run::default());
    println!("{rows} examples of n = {N}");
    let trainings = [
        ("directed-drift, one pass", "directed-drift", json!({}), 1),
        ("perceptron, 3 passes", "perceptron", json!({}), 3),
        ("winnow, 2 passes", "winnow", json!({}), 2),
        (
            "perceptron, shuffled, 2 passes",
            "perceptron",
            json!({"order": "shuffled"}),
            2,
        ),
        ("pocket, 5 evaluations", "pocket", json!({}), 5),
    ];
    measure(&dense, &trainings)?;
    println!("\n{rows} texts of {ACTIVE} of {WORDS} words");
    let unsigned = json!({"reading": "unsigned"});
    let trainings = [
        ("perceptron, 3 passes", "perceptron", unsigned.clone(), 3),
        (
            "averaged perceptron, 3 passes",
            "averaged-perceptron",
            unsigned,
            3,
        ),
        ("winnow, 2 passes", "winnow", json!({}), 2),
    ];
    measure(&sparse(rows as usize), &trainings)
}

/// So many texts as sparse rows.
fn sparse(rows: usize) -> Data {
    let mut features = SparseMatrix::new(WORDS, false);
    let mut signs = BitVector::zeros(rows);
    let mut ids = Vec::new();
    for row in 0..rows {
        words(row as u64, &mut ids);
        features.push_row(SparseRow {
            ids: &ids,
            values: None,
        });
        signs.set(row, is_positive(&ids));
    }
    Data::new(Features::Sparse(features), Labels::of_signs(signs))
}

/// Prints the speed of trainings by name, learner, parameters and passes, and that of verifying.
fn measure(data: &Data, trainings: &[(&str, &str, Value, u64)]) -> io::Result<()> {
    let file = tempfile::NamedTempFile::new()?;
    let mut writer = BufWriter::new(file.reopen()?);
    write_blocks(data, None, None, None, &mut writer).map_err(io::Error::other)?;
    writer.flush()?;
    drop(writer);
    println!(
        "{:<34} {:>12} {:>12} {:>12} {:>12}",
        "examples a second", "memory", "64 KiB", "1 MiB", "4 MiB"
    );
    let windows = [64 << 10, 1 << 20, 4 << 20];
    let open = |window_bytes| {
        let buffers = Buffers {
            whole_bytes_max: 0,
            window_bytes,
        };
        let source = Box::new(Plain(file.reopen()?));
        let stop = StopFlag::default();
        StoredExamples::open(source, digest(data, None, None, None), buffers, stop)
            .map_err(io::Error::other)
    };
    for (name, learner, params, passes) in trainings {
        let stored = [open(windows[0])?, open(windows[1])?, open(windows[2])?];
        let kept: [&dyn Examples; 4] = [data, &stored[0], &stored[1], &stored[2]];
        let mut seconds = vec![Vec::new(); kept.len()];
        let mut expected = None;
        let mut examples = 0;
        for _ in 0..ROUNDS {
            for (of, seconds) in kept.iter().zip(&mut seconds) {
                let begun = Instant::now();
                let outcome = run(learner, params, *passes, *of);
                seconds.push(begun.elapsed().as_secs_f64());
                examples = outcome.counts.examples;
                let expected = expected.get_or_insert_with(|| outcome.clone());
                assert!(*expected == outcome, "{name}: another outcome");
            }
        }
        let rates = seconds
            .iter_mut()
            .map(|seconds| examples as f64 / median(seconds));
        let rates: Vec<_> = rates.map(|rate| format!("{rate:>12.3e}")).collect();
        println!("{name:<34} {}", rates.join(" "));
    }
    let mut seconds: Vec<_> = (0..ROUNDS)
        .map(|_| {
            let stored = open(windows[1])?;
            let begun = Instant::now();
            let verified = stored.verify(&StopFlag::default());
            assert!(verified.is_ok());
            Ok(begun.elapsed().as_secs_f64())
        })
        .collect::<io::Result<_>>()?;
    let bytes = file.as_file().metadata()?.len() as f64;
    let taken = median(&mut seconds);
    println!(
        "digest compared: {:.3e} examples/s, {:.3e} bytes/s of a file of {bytes:.3e} bytes",
        data.examples() as f64 / taken,
        bytes / taken
    );
    Ok(())
}

fn run(learner: &str, params: &Value, passes: u64, examples: &dyn Examples) -> RunOutcome {
    let entry = catalogue::find(learner).expect("a learner");
    let params = params.as_object().expect("an object");
    let task = Task {
        parameters: Parameters::from_json(entry.parameters, params).expect("parameters"),
        limits: RunLimits {
            max_passes: Some(passes),
            max_mistakes: Some(1 << 40),
            max_examples: None,
        },
        ..Task::of(entry, Seed(1))
    };
    let input = Input::Sample {
        data: examples,
        assume: None,
    };
    train(&task, input, &Run::default()).expect("nobody suspends it")
}

fn median(seconds: &mut [f64]) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

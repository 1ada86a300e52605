//! The work whose instructions are counted, with the bodies that the readers read and the samples that the learners
//! learn from.
//!
//! Bodies and samples come from one fixed seed. All work runs on the scalar kernels, because otherwise the counts
//! would depend on the vector instructions of the machine.

#[path = "../../crates/halfspace-formats/examples/inference/mod.rs"]
mod inference;

use std::fmt::Write as _;
use std::io;

use halfspace_core::bits::{
    BLOCK_ROWS, BitMatrix, BitVector, ColumnWeights, Kernels, add_column_sums, row_sums,
    use_kernels, words_for,
};
use halfspace_core::learners::catalogue;
use halfspace_core::learners::engine::parameters::Parameters;
use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::run::{Run, RunLimits};
use halfspace_core::learners::engine::task::Task;
use halfspace_core::learners::engine::input::Input;
use halfspace_core::learners::engine::train::train;
use halfspace_core::learners::sample::data::{Data, Features, Labels, RealMatrix};
use halfspace_formats::{
    Format, KindName, LabelsColumn, Options, TableOptions, parse, write_blocks,
};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Features of an example in a body.
const FEATURES: usize = 128;
/// Examples of a body.
const EXAMPLES: usize = 400;
/// Columns of a table whose options name them.
const STATED_COLUMNS: usize = 30_000;

fn random() -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(1)
}

/// A body with one line per example. `write` writes a line from the random generator.
fn lines(head: &str, mut write: impl FnMut(&mut String, &mut Xoshiro256PlusPlus)) -> Vec<u8> {
    let (mut body, mut random) = (head.to_owned(), random());
    for _ in 0..EXAMPLES {
        write(&mut body, &mut random);
        body.push('\n');
    }
    body.into_bytes()
}

/// A line of cells behind a label of 0 or 1.
fn cells(
    line: &mut String,
    random: &mut Xoshiro256PlusPlus,
    cell: impl Fn(&mut String, &mut Xoshiro256PlusPlus),
) {
    let _ = write!(line, "{}", u8::from(random.random::<bool>()));
    for _ in 0..FEATURES {
        line.push(',');
        cell(line, random);
    }
}

fn bit(line: &mut String, random: &mut Xoshiro256PlusPlus) {
    line.push(if random.random() { '1' } else { '0' });
}

fn bits(line: &mut String, random: &mut Xoshiro256PlusPlus) {
    (0..FEATURES).for_each(|_| bit(line, random));
}

/// The body of a reader by its name.
pub fn body(name: &str) -> Vec<u8> {
    match name {
        "csv_bits" => lines("", |line, random| cells(line, random, bit)),
        "csv_short_reals" => lines("", |line, random| {
            cells(line, random, |line, random| {
                let _ = write!(line, "{:.4}", random.random::<f64>());
            });
        }),
        "csv_long_reals" => lines("", |line, random| {
            cells(line, random, |line, random| {
                let _ = write!(line, "{:.17}", random.random::<f64>());
            });
        }),
        "csv_words" => lines(&head(FEATURES), |line, random| {
            cells(line, random, |line, random| {
                line.push_str(
                    ["fibrous", "smooth", "scaly", "silky-white"][random.random_range(0..4)],
                );
            });
        }),
        "arff_bits" => {
            let mut head = "@relation r\n@attribute class {0,1}\n".to_owned();
            for column in 0..FEATURES {
                let _ = writeln!(head, "@attribute a{column} {{0,1}}");
            }
            lines(&(head + "@data\n"), |line, random| cells(line, random, bit))
        }
        "libsvm_bits" | "libsvm_reals" => lines("", |line, random| {
            line.push_str(if random.random() { "+1" } else { "-1" });
            for group in 0..FEATURES / 4 {
                let value = if name == "libsvm_bits" { "1" } else { "0.2468" };
                let _ = write!(line, " {}:{value}", 4 * group + random.random_range(1..5));
            }
        }),
        "ndjson_bits" => lines("", bits),
        "ndjson_objects" => lines("", |line, random| {
            line.push_str("{\"x\":\"");
            bits(line, random);
            line.push_str("\",\"y\":-1}");
        }),
        "npy_reals" => npy("<f8", |random| {
            random.random::<f64>().to_le_bytes().to_vec()
        }),
        "npy_bools" => npy("|b1", |random| vec![u8::from(random.random::<bool>())]),
        "tensor_bits" => tensor("BOOL", bit),
        "tensor_reals" => tensor("FP64", |line, random| {
            let _ = write!(line, "{:.4}", random.random::<f64>());
        }),
        _ => panic!("no body has the name {name}"),
    }
}

fn names(columns: usize) -> Vec<String> {
    (0..columns).map(|column| format!("a{column}")).collect()
}

fn head(columns: usize) -> String {
    format!("class,{}\n", names(columns).join(","))
}

fn npy(descr: &str, value: impl Fn(&mut Xoshiro256PlusPlus) -> Vec<u8>) -> Vec<u8> {
    let columns = FEATURES + 1;
    let header = format!(
        "{{'descr': '{descr}', 'fortran_order': False, 'shape': ({EXAMPLES}, {columns}), }}"
    );
    let mut body = b"\x93NUMPY\x01\x00".to_vec();
    body.extend((header.len() as u16).to_le_bytes());
    body.extend(header.bytes());
    let mut random = random();
    for _ in 0..EXAMPLES {
        for _ in 0..FEATURES {
            body.extend(value(&mut random));
        }
        // The last column holds the labels.
        let mut label = value(&mut random);
        if label.len() == 8 {
            label = f64::from(u8::from(random.random::<bool>()))
                .to_le_bytes()
                .to_vec();
        }
        body.extend(label);
    }
    body
}

/// A request of the Open Inference Protocol with one tensor.
fn tensor(datatype: &str, value: impl Fn(&mut String, &mut Xoshiro256PlusPlus)) -> Vec<u8> {
    let (mut random, mut values) = (random(), String::new());
    for _ in 0..EXAMPLES * FEATURES {
        value(&mut values, &mut random);
        values.push(',');
    }
    values.pop();
    format!(
        "{{\"inputs\":[{{\"name\":\"x\",\"shape\":[{EXAMPLES},{FEATURES}],\"datatype\":\"{datatype}\",\
         \"data\":[{values}]}}]}}"
    )
    .into_bytes()
}

/// A table of one row, and options that name each of its columns and every other one. A search through all columns for
/// each name would multiply the count.
pub fn stated_table() -> (Vec<u8>, [Options; 2]) {
    let names = names(STATED_COLUMNS);
    let body = head(STATED_COLUMNS) + "0" + &",1".repeat(STATED_COLUMNS) + "\n";
    let kinds = TableOptions {
        kinds: names
            .iter()
            .map(|name| (name.clone(), KindName::Number))
            .collect(),
        ..TableOptions::default()
    };
    let ignore = TableOptions {
        ignore: names.into_iter().step_by(2).collect(),
        ..TableOptions::default()
    };
    let options = [kinds, ignore].map(|table| Options {
        labels: Some(LabelsColumn::First),
        table,
        ..Options::default()
    });
    (body.into_bytes(), options)
}

/// Reads a body.
pub fn read(format: Format, body: &[u8]) -> Data {
    let options = Options {
        labels: (format == Format::Csv).then_some(LabelsColumn::First),
        ..Options::default()
    };
    parse(format, body, &options).expect("a good body").data
}

/// Reads a request with a tensor.
pub fn read_tensor(body: &[u8]) -> Data {
    inference::read_tensor(body, FEATURES).expect("a good request")
}

/// The data of a learner.
#[derive(Clone, Copy)]
pub enum Sample {
    /// 2,000 Boolean examples, of which 5 % have a wrong label.
    Boolean,
    /// 500 real examples, of which 5 % have a wrong label.
    Real,
    /// 1,000 Boolean examples, labelled by binary weights.
    BinaryWeights,
}

pub fn sample(sample: Sample) -> Data {
    use_kernels(Kernels::Scalar);
    let mut random = random();
    let (n, rows, noise) = match sample {
        Sample::Boolean => (FEATURES, 2_000, 0.05),
        Sample::Real => (50, 500, 0.05),
        Sample::BinaryWeights => (FEATURES - 1, 1_000, 0.0),
    };
    let mut labels = Vec::new();
    let features = if let Sample::Real = sample {
        let values: Vec<f64> = (0..n * rows)
            .map(|_| random.random::<f64>() - 0.5)
            .collect();
        labels.extend(
            values
                .chunks(n)
                .map(|row| row[..5].iter().sum::<f64>() > 0.0),
        );
        Features::Real(RealMatrix::from_values(n, values))
    } else {
        let mut matrix = BitMatrix::new(n);
        for _ in 0..rows {
            let mut row: Vec<u64> = (0..words_for(n)).map(|_| random.random()).collect();
            if let Some(last) = row.last_mut() {
                *last &= u64::MAX >> (n.next_multiple_of(64) - n);
            }
            labels.push(match sample {
                Sample::BinaryWeights => {
                    2 * row.iter().map(|word| word.count_ones()).sum::<u32>() > n as u32
                }
                _ => (row[0] & 0x1f).count_ones() > 2,
            });
            matrix.push_row(&row);
        }
        Features::Boolean(matrix)
    };
    let mut packed = BitVector::zeros(labels.len());
    for (row, &label) in labels.iter().enumerate() {
        packed.set(row, label ^ random.random_bool(noise));
    }
    Data::new(features, Labels::of_signs(packed))
}

/// Trains a learner for some passes. Returns the number of mistakes.
pub fn learn(learner: &str, passes: u64, data: &Data) -> u64 {
    let entry = catalogue::find(learner).expect("a learner");
    let task = Task {
        parameters: Parameters::from_json(entry.parameters, &serde_json::Map::new())
            .expect("defaults"),
        limits: RunLimits {
            max_passes: Some(passes),
            ..RunLimits::default()
        },
        ..Task::of(entry, Seed(1))
    };
    let input = Input::Sample { data, assume: None };
    train(&task, input, &Run::default())
        .expect("an end")
        .counts
        .mistakes
}

/// The products of `amp`: the sums of the rows, then those of the columns.
pub fn products(data: &Data) -> Vec<i64> {
    let Features::Boolean(matrix) = data.features() else {
        panic!("the sample is Boolean");
    };
    let mut weights = ColumnWeights::new(matrix.n());
    weights.assign(
        &(0..matrix.n() as i32)
            .map(|j| 7 * j - 999)
            .collect::<Vec<_>>(),
    );
    let (mut sums, mut columns) = ([0; BLOCK_ROWS], vec![0; matrix.n()]);
    for block in matrix.blocks() {
        row_sums(block, &weights, &mut sums);
        add_column_sums(block, &sums, &mut columns);
    }
    columns
}

/// Writes the stored form of data. Returns the bytes.
pub fn store(data: &Data) -> Vec<u8> {
    let mut stored = Vec::new();
    write_blocks(data, None, None, None, io::Cursor::new(&mut stored)).expect("memory");
    stored
}

//! Counts the instructions of readers and learners under Callgrind. Preparing a body or a sample is not counted.
//!
//! `scripts/instructions` runs this program and compares the counts with `counts.txt`.

use std::hint::black_box;

use gungraun::{library_benchmark, library_benchmark_group, main};
use halfspace_core::learners::sample::data::Data;
use halfspace_formats::{Format, Options};
use halfspace_instructions::{
    Sample, body, learn, products, read, read_tensor, sample, stated_table, store,
};

fn formatted(format: Format, name: &str) -> (Format, Vec<u8>) {
    (format, body(name))
}

#[library_benchmark(setup = formatted)]
#[bench::csv_bits(Format::Csv, "csv_bits")]
#[bench::csv_short_reals(Format::Csv, "csv_short_reals")]
#[bench::csv_long_reals(Format::Csv, "csv_long_reals")]
#[bench::csv_words(Format::Csv, "csv_words")]
#[bench::arff_bits(Format::Arff, "arff_bits")]
#[bench::libsvm_bits(Format::Libsvm, "libsvm_bits")]
#[bench::libsvm_reals(Format::Libsvm, "libsvm_reals")]
#[bench::ndjson_bits(Format::Ndjson, "ndjson_bits")]
#[bench::ndjson_objects(Format::Ndjson, "ndjson_objects")]
#[bench::npy_reals(Format::Npy, "npy_reals")]
#[bench::npy_bools(Format::Npy, "npy_bools")]
fn reader((format, body): (Format, Vec<u8>)) -> Data {
    black_box(read(format, black_box(&body)))
}

#[library_benchmark(setup = stated_table)]
#[bench::csv()]
fn stated_columns((body, options): (Vec<u8>, [Options; 2])) -> [Data; 2] {
    options.map(|options| {
        let parsed = halfspace_formats::parse(Format::Csv, black_box(&*body), &options);
        black_box(parsed.expect("a table").data)
    })
}

#[library_benchmark(setup = body)]
#[bench::bits("tensor_bits")]
#[bench::reals("tensor_reals")]
fn tensor(body: Vec<u8>) -> Data {
    black_box(read_tensor(black_box(&body)))
}

fn stored(name: &str) -> Data {
    read(Format::Npy, &body(name))
}

#[library_benchmark(setup = stored)]
#[bench::bits("npy_bools")]
#[bench::reals("npy_reals")]
fn stored_form(data: Data) -> Vec<u8> {
    black_box(store(black_box(&data)))
}

#[library_benchmark(setup = stored)]
#[bench::bits("npy_bools")]
#[bench::reals("npy_reals")]
fn digest(data: Data) -> [u8; 32] {
    black_box(halfspace_formats::digest(black_box(&data), None, None, None))
}

fn sampled(learner: &'static str, passes: u64, of: Sample) -> (&'static str, u64, Data) {
    (learner, passes, sample(of))
}

#[library_benchmark(setup = sampled)]
#[bench::perceptron_bits("perceptron", 3, Sample::Boolean)]
#[bench::perceptron_reals("perceptron", 20, Sample::Real)]
#[bench::pocket("pocket", 3, Sample::Boolean)]
#[bench::winnow("winnow", 3, Sample::Boolean)]
#[bench::kernel_perceptron("kernel-perceptron", 1, Sample::BinaryWeights)]
#[bench::bounded_perceptron("bounded-perceptron", 3, Sample::Boolean)]
#[bench::directed_drift("directed-drift", 3, Sample::BinaryWeights)]
#[bench::sbpi("sbpi", 3, Sample::BinaryWeights)]
#[bench::amp("amp", 5, Sample::BinaryWeights)]
fn learner((name, passes, data): (&'static str, u64, Data)) -> u64 {
    black_box(learn(name, passes, black_box(&data)))
}

#[library_benchmark(setup = sample)]
#[bench::bits(Sample::Boolean)]
fn sums(data: Data) -> Vec<i64> {
    black_box(products(black_box(&data)))
}

library_benchmark_group!(name = all; benchmarks = reader, stated_columns, tensor, stored_form, digest, learner, sums);
main!(library_benchmark_groups = all);

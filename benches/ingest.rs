//! Parsing speed of bodies, in MB of the body per second.
//!
//! Run `cargo bench --bench ingest`. Each figure is the best of several runs over a body in memory, and beside it is
//! the time of the parser as a multiple of a plain scan for line feeds. For nominal tables there is a peer,
//! `benches/ingest_pandas.py`, which runs `read_csv` and `get_dummies` of pandas over a file with the same bytes. It
//! takes pandas from `target/venv` (`python3 -m venv target/venv && target/venv/bin/pip install pandas`), or from the
//! Python that the variable `PANDAS_PYTHON` names.

use std::hint::black_box;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use halfspace_formats::{Format, LabelsColumn, Options, digest, parse};
use memchr::memchr_iter;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const BODY_BYTES: usize = 50_000_000;
const RUNS: usize = 7;

fn main() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    println!("{:<28} {:>8} {:>16}", "body", "MB/s", "times the scan");
    measure(
        "LIBSVM, 126 features",
        Format::Libsvm,
        &agaricus_like(&mut random, "1"),
    );
    let real = agaricus_like(&mut random, "0.2468");
    measure("LIBSVM, 126 real features", Format::Libsvm, &real);
    for n in [256, 1024] {
        let bare = bit_strings(&mut random, n, "");
        measure(&format!("bare bit strings of {n}"), Format::Ndjson, &bare);
        let quoted = bit_strings(&mut random, n, "\"");
        measure(
            &format!("quoted bit strings of {n}"),
            Format::Ndjson,
            &quoted,
        );
    }
    let labelled = labelled_objects(&mut random, 256);
    measure("labelled objects of 256", Format::Ndjson, &labelled);
    measure(
        "CSV, 127 columns of 0/1",
        Format::Csv,
        &csv(&mut random, |bit| bit.to_string()),
    );
    let real = csv(&mut random, |bit| format!("{:.4}", 0.1357 + f64::from(bit)));
    measure("CSV, 127 columns of reals", Format::Csv, &real);
    measure_nominal(&mut random, "of one letter", &["p", "q", "r", "s", "t"]);
    let words = ["fibrous", "smooth", "scaly", "grooves", "silky-white"];
    measure_nominal(&mut random, "of words", &words);
    measure_arff(&mut random);
    measure_binary(&mut random);
    measure_json(&mut random);
    measure_digest(&mut random);
}

/// Examples like the agaricus data: 22 of 126 features are active, one in each of 22 groups.
fn agaricus_like(random: &mut Xoshiro256PlusPlus, value: &str) -> Vec<u8> {
    let mut body = String::new();
    while body.len() < BODY_BYTES {
        body.push_str(if random.random() { "1" } else { "0" });
        for attribute in 0..22 {
            let first = attribute * 126 / 22;
            let end = (attribute + 1) * 126 / 22;
            body.push_str(&format!(" {}:{value}", random.random_range(first..end) + 1));
        }
        body.push('\n');
    }
    body.into_bytes()
}

fn bits(random: &mut Xoshiro256PlusPlus, n: usize) -> String {
    let bit = |_| if random.random::<bool>() { '1' } else { '0' };
    (0..n).map(bit).collect()
}

fn bit_strings(random: &mut Xoshiro256PlusPlus, n: usize, quote: &str) -> Vec<u8> {
    let mut body = String::new();
    while body.len() < BODY_BYTES {
        let bits = bits(random, n);
        body.push_str(&format!("{quote}{bits}{quote}\n"));
    }
    body.into_bytes()
}

fn labelled_objects(random: &mut Xoshiro256PlusPlus, n: usize) -> Vec<u8> {
    let mut body = String::new();
    while body.len() < BODY_BYTES {
        let bits = bits(random, n);
        body.push_str(&format!("{{\"x\":\"{bits}\",\"y\":-1}}\n"));
    }
    body.into_bytes()
}

/// Rows of a label and 126 columns, each written from a random bit.
fn csv(random: &mut Xoshiro256PlusPlus, write: impl Fn(u8) -> String) -> Vec<u8> {
    let mut body = String::new();
    while body.len() < BODY_BYTES {
        body.push_str(if random.random() { "1" } else { "0" });
        for _ in 0..126 {
            body.push(',');
            body.push_str(&write(random.random_range(0..2)));
        }
        body.push('\n');
    }
    body.into_bytes()
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
fn best_of(mut run: impl FnMut()) -> Duration {
    let timed = (0..RUNS).map(|_| {
        let start = Instant::now();
        run();
        start.elapsed()
    });
    timed.min().unwrap_or_default()
}

fn megabytes_a_second(bytes: usize, time: Duration) -> f64 {
    bytes as f64 / 1e6 / time.as_secs_f64()
}

fn measure(name: &str, format: Format, body: &[u8]) {
    let options = Options {
        labels: (format == Format::Csv).then_some(LabelsColumn::First),
        ..Options::default()
    };
    measure_with(name, format, body, &options);
}

fn measure_with(name: &str, format: Format, body: &[u8], options: &Options) {
    let scan = best_of(|| {
        black_box(memchr_iter(b'\n', black_box(body)).count());
    });
    let read = best_of(|| {
        black_box(parse(format, black_box(body), options)).expect("a good body");
    });
    let ratio = read.as_secs_f64() / scan.as_secs_f64();
    let speed = megabytes_a_second(body.len(), read);
    println!("{name:<28} {speed:>8.0} {ratio:>16.1}");
}

/// 22 nominal columns of five values each, and a class.
fn measure_nominal(random: &mut Xoshiro256PlusPlus, values: &str, words: &[&str; 5]) {
    let mut body = "class".to_owned();
    (0..22).for_each(|column| body.push_str(&format!(",a{column}")));
    body.push('\n');
    while body.len() < BODY_BYTES {
        body.push_str(if random.random() {
            "edible"
        } else {
            "poisonous"
        });
        for _ in 0..22 {
            body.push(',');
            body.push_str(words[random.random_range(0..5_usize)]);
        }
        body.push('\n');
    }
    let name = format!("CSV, 22 columns {values}");
    measure(&name, Format::Csv, body.as_bytes());
    match pandas_seconds(body.as_bytes()) {
        Some(seconds) => {
            let speed = body.len() as f64 / 1e6 / seconds;
            println!("{:<28} {speed:>8.0}", "  the same by pandas");
        }
        None => println!("  the same by pandas: not measured, pandas is not installed"),
    }
}

/// Seconds of `ingest_pandas.py` for a body.
#[expect(
    clippy::disallowed_methods,
    reason = "the service does not read this variable"
)]
fn pandas_seconds(body: &[u8]) -> Option<f64> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = std::env::var("PANDAS_PYTHON").map(PathBuf::from);
    let mut file = tempfile::NamedTempFile::new().ok()?;
    file.write_all(body).ok()?;
    let mut command = Command::new(python.unwrap_or_else(|_| root.join("target/venv/bin/python")));
    let output = command
        .arg(root.join("benches/ingest_pandas.py"))
        .arg(file.path())
        .output()
        .ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

/// 22 nominal attributes of five values each, and a class.
fn measure_arff(random: &mut Xoshiro256PlusPlus) {
    let mut body = "@relation r\n".to_owned();
    for attribute in 0..22 {
        body.push_str(&format!("@attribute a{attribute} {{p,q,r,s,t}}\n"));
    }
    body.push_str("@attribute class {e,n}\n@data\n");
    while body.len() < BODY_BYTES {
        for _ in 0..22 {
            body.push(char::from(b"pqrst"[random.random_range(0..5_usize)]));
            body.push(',');
        }
        body.push_str(if random.random() { "e\n" } else { "n\n" });
    }
    measure("ARFF, 22 nominal attributes", Format::Arff, body.as_bytes());
}

fn measure_binary(random: &mut Xoshiro256PlusPlus) {
    let npy = |dtype: &str, rows: usize, columns: usize| {
        let header = format!(
            "{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({rows}, {columns}), }}"
        );
        let mut body = b"\x93NUMPY\x01\x00".to_vec();
        body.extend((header.len() as u16).to_le_bytes());
        body.extend(header.bytes());
        body
    };
    let mut bools = npy("|b1", BODY_BYTES / 257, 257);
    bools.extend((0..BODY_BYTES / 257 * 257).map(|_| u8::from(random.random::<bool>())));
    measure(".npy, bool, n = 256", Format::Npy, &bools);
    let values = BODY_BYTES / 8 / 127 * 127;
    let mut reals = npy("<f8", values / 127, 127);
    for at in 0..values {
        let real = f64::from(random.random_range(0..2));
        let real = if at % 127 < 126 { real + 0.1357 } else { real };
        reals.extend(real.to_le_bytes());
    }
    measure(".npy, float64, n = 126", Format::Npy, &reals);
    let octets: Vec<u8> = (0..BODY_BYTES / 32 * 32).map(|_| random.random()).collect();
    let options = Options {
        n: Some(256),
        ..Options::default()
    };
    measure_with("octets, n = 256", Format::Octets, &octets, &options);
}

fn measure_json(random: &mut Xoshiro256PlusPlus) {
    let lines = String::from_utf8(bit_strings(random, 256, "\"")).expect("ASCII");
    let examples = lines.trim_end().replace('\n', ",");
    let body = format!("{{\"half_space\":{{\"examples\":[{examples}]}}}}");
    measure("JSON, bit strings of 256", Format::Json, body.as_bytes());
}

fn measure_digest(random: &mut Xoshiro256PlusPlus) {
    for n in [126, 1024, 100_000] {
        let body = bit_strings(random, n, "");
        let data = parse(Format::Ndjson, body.as_slice(), &Options::default());
        let data = data.expect("a good body").data;
        let bytes = data.examples() * n.div_ceil(64) * 8;
        let time = best_of(|| {
            black_box(digest(black_box(&data), None, None, None));
        });
        let speed = megabytes_a_second(bytes, time);
        println!("{:<28} {speed:>8.0}", format!("digest, packed, n = {n}"));
    }
}

//! Upload speed of a dataset of two gigabytes, and the memory that the upload takes.
//!
//! `cargo bench --bench upload` starts the program anew for each format and streams the body over the loopback address.
//! The body repeats a piece of 32 MB, so no part of it has to come from a disk. You get the rate from the first byte to
//! the answer, the rate of the parser alone over the same piece, the time after the last byte, and the peak memory of
//! the program (VmHWM). After the last byte, the service moves the rows from its temporary file to the store and
//! flushes them to the disk.
//!
//! Arguments choose formats and another size in megabytes: `cargo bench --bench upload -- libsvm ndjson 100`. The disk
//! needs space for twice the stored size, about 4 GB.
#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]

use std::hint::black_box;
use std::io::{BufRead, BufReader, Read, Result, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use halfspace_formats::{Format, LabelsColumn, Options, parse};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const PIECE_BYTES: usize = 32_000_000;
const MEGABYTES: usize = 2_000;
const PARSES: usize = 5;

/// A body: a head, and a piece of whole rows that may follow any number of times.
struct Body {
    name: &'static str,
    format: Format,
    query: &'static str,
    options: Options,
    head: Vec<u8>,
    piece: Vec<u8>,
}

fn main() -> Result<()> {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let asked: Vec<&String> = asked.iter().filter(|word| !word.starts_with('-')).collect();
    let number = asked.iter().find_map(|word| word.parse().ok());
    let bytes = number.unwrap_or(MEGABYTES) * 1_000_000;
    let is_asked = |body: &Body| {
        let mut names = asked.iter().filter(|word| word.parse::<usize>().is_err());
        let all = names.clone().next().is_none();
        all || names.any(|name| **name == body.name)
    };
    println!(
        "{:<10} {:>8} {:>8} {:>12} {:>8} {:>10} {:>12} {:>10}",
        "", "MB", "MB/s", "parser MB/s", "share", "at end, s", "stored, MB", "peak, MiB"
    );
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    for body in bodies(&mut random, bytes).into_iter().filter(is_asked) {
        measure(&body, bytes)?;
    }
    Ok(())
}

fn bodies(random: &mut Xoshiro256PlusPlus, bytes: usize) -> Vec<Body> {
    let body = |name, format, piece| Body {
        name,
        format,
        query: "",
        options: Options::default(),
        head: Vec::new(),
        piece,
    };
    let lines = |random: &mut Xoshiro256PlusPlus, line: fn(&mut Xoshiro256PlusPlus) -> String| {
        let mut piece = String::new();
        while piece.len() < PIECE_BYTES {
            piece.push_str(&line(random));
        }
        piece.into_bytes()
    };
    let arff_head = (0..22).map(|attribute| format!("@attribute a{attribute} {{p,q,r,s,t}}\n"));
    let arff_head: String = arff_head.collect();
    let octets = (0..PIECE_BYTES / 32 * 32)
        .map(|_| random.random())
        .collect();
    let reals = (0..PIECE_BYTES / 8 / 127 * 127).flat_map(|at| {
        let value = f64::from(random.random_range(0..2));
        // The last column holds the labels.
        let value = if at % 127 < 126 {
            value + 0.1357
        } else {
            value
        };
        value.to_le_bytes()
    });
    let reals: Vec<u8> = reals.collect();
    vec![
        body("libsvm", Format::Libsvm, lines(random, libsvm_line)),
        body("ndjson", Format::Ndjson, lines(random, ndjson_line)),
        Body {
            query: "?labels=first",
            options: Options {
                labels: Some(LabelsColumn::First),
                ..Options::default()
            },
            ..body("csv", Format::Csv, lines(random, csv_line))
        },
        Body {
            head: format!("@relation r\n{arff_head}@attribute class {{e,n}}\n@data\n").into_bytes(),
            ..body("arff", Format::Arff, lines(random, arff_line))
        },
        Body {
            head: npy_head(bytes.div_ceil(reals.len()) * (reals.len() / 8 / 127)),
            ..body("npy", Format::Npy, reals)
        },
        Body {
            query: "?n=256",
            options: Options {
                n: Some(256),
                ..Options::default()
            },
            ..body("octets", Format::Octets, octets)
        },
    ]
}

/// A line like the agaricus data: 22 of 126 features are active, one in each of 22 groups.
fn libsvm_line(random: &mut Xoshiro256PlusPlus) -> String {
    let pair = |attribute: usize| {
        let (first, end) = (attribute * 126 / 22, (attribute + 1) * 126 / 22);
        format!(" {}:1", random.random_range(first..end) + 1)
    };
    let pairs: String = (0..22).map(pair).collect();
    format!("{}{pairs}\n", random.random_range(0..2))
}

fn ndjson_line(random: &mut Xoshiro256PlusPlus) -> String {
    let bit = |_| if random.random::<bool>() { '1' } else { '0' };
    let bits: String = (0..256).map(bit).collect();
    let label = if random.random() { 1 } else { -1 };
    format!("{{\"x\":\"{bits}\",\"y\":{label}}}\n")
}

fn csv_line(random: &mut Xoshiro256PlusPlus) -> String {
    let field = |_| format!(",{}", random.random_range(0..2));
    let fields: String = (0..126).map(field).collect();
    format!("{}{fields}\n", random.random_range(0..2))
}

fn arff_line(random: &mut Xoshiro256PlusPlus) -> String {
    let value = |_| ["p,", "q,", "r,", "s,", "t,"][random.random_range(0..5_usize)];
    let values: String = (0..22).map(value).collect();
    format!("{values}{}\n", if random.random() { 'e' } else { 'n' })
}

/// The head of a `.npy` file with `rows` rows of 127 doubles.
fn npy_head(rows: usize) -> Vec<u8> {
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, 127), }}");
    let mut head = b"\x93NUMPY\x01\x00".to_vec();
    head.extend((header.len() as u16).to_le_bytes());
    head.extend(header.bytes());
    head
}

fn measure(body: &Body, bytes: usize) -> Result<()> {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let mut child = Command::new(env!("CARGO_BIN_EXE_halfspace"))
        .args(["--listen", "127.0.0.1:0", "--log", "error", "--data-dir"])
        .arg(directory.path())
        .stdout(Stdio::piped())
        .spawn()?;
    let uploaded = upload(&mut child, body, bytes);
    let peak = peak_bytes(child.id());
    child.kill()?;
    child.wait()?;
    let Uploaded {
        bytes,
        whole,
        at_end,
        stored,
    } = uploaded?;
    let megabytes = bytes as f64 / 1e6;
    let rate = megabytes / whole.as_secs_f64();
    let parser = parser_rate(body);
    println!(
        "{:<10} {megabytes:>8.0} {rate:>8.0} {parser:>12.0} {:>8.2} {:>10.2} {:>12.0} {:>10}",
        body.name,
        rate / parser,
        at_end.as_secs_f64(),
        stored as f64 / 1e6,
        peak.map_or("?".to_owned(), |bytes| (bytes >> 20).to_string()),
    );
    Ok(())
}

struct Uploaded {
    bytes: usize,
    whole: Duration,
    at_end: Duration,
    stored: u64,
}

fn upload(child: &mut Child, body: &Body, bytes: usize) -> Result<Uploaded> {
    let mut banner = BufReader::new(child.stdout.take().ok_or(std::io::ErrorKind::BrokenPipe)?);
    let mut line = String::new();
    banner.read_line(&mut line)?;
    let address = line.trim_end().rsplit('/').next().unwrap_or_default();
    let pieces = bytes.div_ceil(body.piece.len());
    let bytes = body.head.len() + pieces * body.piece.len();
    let mut connection = TcpStream::connect(address)?;
    let begun = Instant::now();
    write!(
        connection,
        "POST /v1/datasets{} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         content-type: {}\r\ncontent-length: {bytes}\r\n\r\n",
        body.query,
        body.format.media_type()
    )?;
    connection.write_all(&body.head)?;
    for _ in 0..pieces {
        connection.write_all(&body.piece)?;
    }
    let sent = Instant::now();
    let mut answer = String::new();
    connection.read_to_string(&mut answer)?;
    let (whole, at_end) = (begun.elapsed(), sent.elapsed());
    let (head, document) = answer.split_once("\r\n\r\n").unwrap_or_default();
    assert!(head.starts_with("HTTP/1.1 201"), "{answer}");
    let document: serde_json::Value = serde_json::from_str(document)?;
    Ok(Uploaded {
        bytes,
        whole,
        at_end,
        stored: document["bytes"].as_u64().unwrap_or_default(),
    })
}

/// Megabytes per second of the parser alone over the piece in memory.
fn parser_rate(body: &Body) -> f64 {
    let whole = [body.head.as_slice(), body.piece.as_slice()].concat();
    let whole = match body.format {
        // The head of the format holds the number of rows.
        Format::Npy => [npy_head(body.piece.len() / 8 / 127), body.piece.clone()].concat(),
        _ => whole,
    };
    let times = (0..PARSES).map(|_| {
        let begun = Instant::now();
        black_box(parse(
            body.format,
            black_box(whole.as_slice()),
            &body.options,
        ))
        .expect("a good body");
        begun.elapsed()
    });
    let best = times.min().unwrap_or_default();
    whole.len() as f64 / 1e6 / best.as_secs_f64()
}

/// Peak memory of a process, where the system reports it.
fn peak_bytes(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes = line.trim().strip_suffix("kB")?.trim();
    Some(kilobytes.parse::<u64>().ok()? * 1024)
}

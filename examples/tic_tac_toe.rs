//! Writes the 958 end boards of tic-tac-toe, labelled +1 where x has won, in a format that the
//! service reads:
//!
//! ```text
//! cargo run --example tic_tac_toe > boards.ndjson
//! curl --data-binary @boards.ndjson -H 'content-type: application/x-ndjson' \
//!     'localhost:8080/v1/learners/kernel-perceptron/train?kernel.conjunctions=monotone'
//! ```
//!
//! An argument names another format: `ndjson`, `csv` (label first) or `libsvm`.

#[path = "tic_tac_toe/boards.rs"]
mod boards;

use std::io::{BufWriter, Write, stdout};
use std::process::ExitCode;

use boards::Board;

fn main() -> ExitCode {
    let format = std::env::args().nth(1);
    let line = match format.as_deref() {
        None | Some("ndjson") => ndjson,
        Some("csv") => csv,
        Some("libsvm") => libsvm,
        Some(other) => {
            eprintln!("no format {other}; there are: ndjson, csv, libsvm");
            return ExitCode::FAILURE;
        }
    };
    let mut out = BufWriter::new(stdout().lock());
    for board in boards::end_boards() {
        let label = if board.has_won(b'x') { 1 } else { -1 };
        if writeln!(out, "{}", line(&board, label)).is_err() {
            // Whoever read it wants no more.
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn ndjson(board: &Board, label: i8) -> String {
    format!("{{\"x\":\"{}\",\"y\":{label}}}", board.bit_string())
}

fn csv(board: &Board, label: i8) -> String {
    let features = board.features().map(|is_set| u8::from(is_set).to_string());
    format!("{label},{}", features.join(","))
}

fn libsvm(board: &Board, label: i8) -> String {
    let features = board.features();
    let set = (1..=features.len()).filter(|index| features[index - 1]);
    let set: Vec<_> = set.map(|index| format!("{index}:1")).collect();
    format!("{label} {}", set.join(" "))
}

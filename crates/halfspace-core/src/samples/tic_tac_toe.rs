//! The boards at the end of every game of tic-tac-toe.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::sample::{CLASSES, Rows, Sample};
use crate::learners::kernel::kernel_perceptron;

pub(super) const SAMPLE: Sample = Sample {
    name: "tic-tac-toe",
    title: "End boards of tic-tac-toe",
    description: "The 958 boards at the end of a game in which x moves first. A square holds x, o or b for \
                  blank. The class is positive if x has three in a row.",
    source: "The rules of the game. The UCI Machine Learning Repository has the same boards as \"Tic-Tac-Toe \
             Endgame\" (D. W. Aha, 1991).",
    classes: &CLASSES,
    options: &[],
    parameters: &["noise", "seed"],
    learner: kernel_perceptron::ENTRY.name,
    learner_parameters: &[("kernel.conjunctions", "monotone")],
    rows: |_| end_boards(),
};

/// The lines of three squares: rows, columns and diagonals.
const LINES: [[usize; 3]; 8] = [
    [0, 1, 2],
    [3, 4, 5],
    [6, 7, 8],
    [0, 3, 6],
    [1, 4, 7],
    [2, 5, 8],
    [0, 4, 8],
    [2, 4, 6],
];

/// The squares row by row.
type Board = [&'static str; 9];

/// Every end board once, in the order of the texts.
fn end_boards() -> Rows {
    let mut reached = BTreeSet::new();
    play(["b"; 9], "x", "o", &mut reached);
    let ends = reached.iter().filter(|board| is_end(board));
    let columns = ["top", "middle", "bottom"].map(|row| {
        let squares = ["left", "middle", "right"];
        squares.map(|square| format!("{row}-{square}"))
    });
    Rows {
        columns: columns.concat(),
        rows: ends
            .map(|board| {
                (
                    board.map(Cow::from).to_vec(),
                    usize::from(has_won(board, "x")),
                )
            })
            .collect(),
    }
}

/// Adds the board and all boards of its continuations.
fn play(board: Board, player: &'static str, other: &'static str, reached: &mut BTreeSet<Board>) {
    if !reached.insert(board) || is_end(&board) {
        return;
    }
    for square in (0..9).filter(|&square| board[square] == "b") {
        let mut next = board;
        next[square] = player;
        play(next, other, player, reached);
    }
}

fn is_end(board: &Board) -> bool {
    has_won(board, "x") || has_won(board, "o") || !board.contains(&"b")
}

fn has_won(board: &Board, player: &str) -> bool {
    let is_won = |line: &[usize; 3]| line.iter().all(|&square| board[square] == player);
    LINES.iter().any(is_won)
}

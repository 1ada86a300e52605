//! The boards with which a game of tic-tac-toe can end, x moving first: 958, of which x has won
//! 626. Found by playing every game; a game ends with a row of three, or with a full board.

use std::collections::BTreeSet;

/// The rows of three, columns and diagonals included.
const ROWS: [[usize; 3]; 8] = [
    [0, 1, 2],
    [3, 4, 5],
    [6, 7, 8],
    [0, 3, 6],
    [1, 4, 7],
    [2, 5, 8],
    [0, 4, 8],
    [2, 4, 6],
];

/// A board, row by row: `b` for blank, `o` or `x`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Board([u8; 9]);

impl Board {
    /// Whether a player, `x` or `o`, has three in a row.
    pub fn has_won(&self, player: u8) -> bool {
        ROWS.iter()
            .any(|row| row.iter().all(|&cell| self.0[cell] == player))
    }

    /// 27 features: for each cell whether it is x, o, blank.
    pub fn features(&self) -> [bool; 27] {
        std::array::from_fn(|place| self.0[place / 3] == b"xob"[place % 3])
    }

    /// The features as a bit string.
    pub fn bit_string(&self) -> String {
        let features = self.features();
        features
            .map(|is_set| if is_set { '1' } else { '0' })
            .iter()
            .collect()
    }

    fn is_full(&self) -> bool {
        !self.0.contains(&b'b')
    }
}

/// Every end board once, sorted as strings over b < o < x.
pub fn end_boards() -> Vec<Board> {
    let mut ends = BTreeSet::new();
    play(Board(*b"bbbbbbbbb"), b'x', &mut ends);
    ends.into_iter().collect()
}

/// Plays on in every way, `player` to move.
fn play(board: Board, player: u8, ends: &mut BTreeSet<Board>) {
    let other = if player == b'x' { b'o' } else { b'x' };
    if board.has_won(other) || board.is_full() {
        ends.insert(board);
        return;
    }
    for cell in (0..9).filter(|&cell| board.0[cell] == b'b') {
        let mut next = board;
        next.0[cell] = player;
        play(next, other, ends);
    }
}

//! The shared bit-vector core: packed vectors, the blocked matrix, and the kernels over them.
//!
//! Bit 1 stands for +1 (or 1), bit 0 for -1 (or 0). Rows lie in blocks of 64, word-major inside a
//! block ([`BitBlock`]), so that one instruction treats the same word of several rows. Each
//! kernel is written once and compiled for several instruction sets, the best of which is chosen
//! when the program runs; each has a plain twin in `scalar` that is its specification, and
//! [`use_kernels`] puts a whole process on the twins. Nothing here knows what a learner is.

mod agreement;
mod ascii;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod avx512_products;
mod buffer;
mod difference;
mod fill;
mod intersection;
mod kernels;
mod matrix;
mod products;
mod scalar;
mod select;
mod tally;
mod vector;
mod weights;

pub use agreement::{disagreements, disagreements_all, first_over, rows_over};
pub use ascii::pack_ascii;
pub use buffer::BlockBuffer;
pub use difference::flip_difference;
pub use fill::{LANES, Lanes};
pub use intersection::intersections;
#[cfg(test)]
pub(crate) use kernels::SWITCH;
pub use kernels::{Kernels, kernels, use_kernels};
pub use matrix::{BLOCK_ROWS, BitBlock, BitMatrix};
pub use products::{ColumnWeights, ROW_WEIGHT_MAX, add_column_sums, row_sums};
pub use select::select_bit;
pub use tally::{Comparison, Tally};
pub use vector::{BitVector, WORD_BITS, last_word_mask, words_for};
pub use weights::{add_selected, add_signed, selected_sum};

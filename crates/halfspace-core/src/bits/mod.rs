//! Bit vectors, matrices of bits in blocks of 64 rows, and the kernels that compute with them.
//!
//! Bit 1 stands for +1 (or 1) and bit 0 for -1 (or 0). The rows of a matrix lie in blocks of 64 ([`BitBlock`]). A block
//! is word-major: it has the first word of all its rows, then the second, and so on, so that one instruction processes
//! the same word of several rows.
//!
//! The kernels compute, among others, Hamming distances, intersections, positional counts, signed sums and random
//! words. Most of them are plain loops that are compiled for several instruction sets; what the compiler does not
//! derive well from a loop is written by hand for AVX2 and AVX-512. At run time, the process takes the best build for
//! its machine. Each kernel also has a twin in `scalar`, which specifies it, and [`use_kernels`] switches a whole
//! process to these twins.
//!
//! This module does not know the learners.

mod agreement;
mod ascii;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod avx512_columns;
#[cfg(target_arch = "x86_64")]
mod avx512_products;
mod buffer;
mod class_columns;
mod class_grid;
mod column_groups;
mod comparison;
mod difference;
mod excerpt;
mod fill;
mod integers;
mod intersection;
mod kernels;
mod limbs;
mod matrix;
mod plain_weights;
mod powers;
mod products;
mod real_lanes;
mod reals;
mod scalar;
mod select;
mod signed_sums;
mod small_bounds;
mod small_column;
mod sparse;
mod tally;
mod vector;
mod weights;

pub use agreement::{disagreements, first_over, rows_over};
pub use ascii::pack_ascii;
pub use buffer::BlockBuffer;
pub use class_columns::ClassColumns;
pub use column_groups::IntegerStep;
pub use comparison::Comparison;
pub use difference::flip_difference;
pub use excerpt::Excerpt;
pub use fill::{LANES, Lanes};
pub use integers::IntegerColumn;
pub use intersection::intersections;
#[cfg(test)]
pub(crate) use kernels::SWITCH;
pub(crate) use kernels::multiversioned;
pub use kernels::{Kernels, kernels, use_kernels};
pub use limbs::{LIMB_BITS, Limb, Shared};
pub use matrix::{BLOCK_ROWS, BitBlock, BitMatrix};
pub(crate) use powers::for_each_block;
pub use powers::{add_powers, limbs};
pub use products::{ColumnWeights, ROW_WEIGHT_MAX, add_column_sums, row_sums};
pub use real_lanes::REAL_LANES;
pub use reals::{RealColumn, RealLearnt, RealStep};
pub use select::select_bit;
pub use small_bounds::SmallBounds;
pub use small_column::{SMALL_SUM_MAX, SmallColumn};
pub use sparse::{SparseBlock, SparseMatrix, SparseRow};
pub use tally::Tally;
pub use vector::{BitVector, WORD_BITS, last_word_mask, ones_of, words_for};
pub use weights::{add_selected, add_signed, listed_sum, renumbered, selected_sum};

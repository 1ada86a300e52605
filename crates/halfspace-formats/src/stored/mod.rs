//! The stored form of data: layout, digest, reads by position, and the spool for rows on the way there.

pub(crate) mod block_range;
pub(crate) mod blocks;
pub(crate) mod canonical;
mod checked_frame;
pub(crate) mod digest;
pub(crate) mod header;
pub(crate) mod layout;
pub(crate) mod overflow;
pub(crate) mod parts;
pub(crate) mod raw_cells;
pub(crate) mod read_at;
pub(crate) mod sparse_blocks;
pub(crate) mod spool;
pub(crate) mod stored_examples;
pub(crate) mod weights;
pub(crate) mod words;

//! Data built for a purpose: the sequences and formulae of the papers' proofs.

pub mod monotone_cnf;
pub mod winnow_counting;

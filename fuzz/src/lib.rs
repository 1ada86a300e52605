//! Properties of every parser for arbitrary bytes, one function per fuzz target.
//!
//! A target asserts more than the absence of panics. The result of a parser must not depend on the pieces in which
//! the body arrives, or on whether rows are held in memory or spooled. If data are written in another format and read
//! again, they must be the same.

mod coding;
mod data;
pub mod input;
mod model;
mod pieces;
mod query;
mod tensor;

use halfspace_formats::{
    BitOrder, Header, LabelsColumn, Options, ParseLimits, RowsKind, TableOptions, UnlabelledMeans,
};

pub use coding::coding;
pub use data::{arff, csv, json, libsvm, ndjson, npy, octets, xlsx};
pub use model::model;
pub use query::query;
pub use tensor::tensor;

//! Properties that the parsers must have for arbitrary bytes, one function per fuzz target.
//!
//! The targets assert more than the absence of panics. The data of a body must not depend on the pieces in which it
//! arrives, or on whether rows stay in memory or move to a file. If they are written in another format and read again,
//! they must be the same.

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
pub use data::{arff, csv, json, libsvm, ndjson, npy, octets, parquet, vw, xlsx};
pub use model::model;
pub use query::query;
pub use tensor::tensor;

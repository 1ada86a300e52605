//! The readers: one file or folder per format, and [`formats`], the table that lists them.
//!
//! A reader turns bytes into typed values and passes them to a builder of `building` or `tables`. It knows neither the
//! encoding of a table nor the stored form.

pub(crate) mod binary;
mod expansion;
pub(crate) mod formats;
pub mod json;
mod kept_body;
pub(crate) mod parquet;
pub(crate) mod raw_cells;
pub(crate) mod text;
pub(crate) mod xlsx;

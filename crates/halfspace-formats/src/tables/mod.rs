//! A table becomes examples by an encoding, which is kept.
//!
//! A table has rows of cells, and a cell is text. One pass over the rows finds the kind of each column and the label
//! values ([`column_scan`], `label_scan`). The kinds give the encoding: one bit per boolean column and per nominal
//! value, and a number or some thresholds per number column ([`TableEncoding`]). A second pass encodes the kept cells.
//! A table of numbers alone needs no second pass.
//!
//! Later rows are encoded by the same encoding in one pass. A reader of a format splits its rows into cells and passes
//! them to a [`TableBuilder`](table_builder::TableBuilder), which alone knows columns and labels.

pub(crate) mod cell;
pub(crate) mod cell_buffer;
pub(crate) mod column_scan;
pub mod encoding;
pub(crate) mod label_scan;
pub mod options;
pub(crate) mod table_builder;
pub(crate) mod thresholds;

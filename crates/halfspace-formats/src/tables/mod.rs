//! Tables, which an encoding turns into examples.
//!
//! A table has rows of [cells](crate::cell), which its reader types as far as the format has types; a cell of CSV is
//! text. One pass over the rows finds the values of each column (`column_scan`) and of the labels
//! (`building/label_names.rs`). The values give the kind of each column and the encoding ([`crate::encoding`]): one bit
//! per boolean column and per nominal value, and a number or some thresholds per number column. A second pass encodes
//! the kept cells (`scan`). If all cells are numbers that are features as they are, no cells are kept and there is no
//! second pass.
//!
//! If features have names that nobody lists in advance, there is no encoding to find, and each row is read once
//! (`named_table`).
//!
//! Later rows are encoded by the same encoding in one pass (`encoder`). The reader of a format only splits rows into
//! cells and passes them to a `TableBuilder`, which alone knows columns and labels. A [`preview`] watches the rows
//! and shows the columns, even if the table is refused.

mod bare_line;
mod cell_buffer;
mod column_kind;
mod column_scan;
pub(crate) mod columns;
mod declared_kinds;
mod description;
mod doubtful_texts;
mod encoder;
mod example_weights;
mod fitting;
pub(crate) mod header;
mod kept_rows;
mod missing_rule;
mod moments;
mod named_table;
mod number_form;
pub(crate) mod objects;
mod order_search;
mod places;
mod plain_rows;
pub(crate) mod preview;
mod scan;
pub(crate) mod seen_table;
mod stage;
pub(crate) mod table_builder;
pub(crate) mod table_column;
mod unnamed;

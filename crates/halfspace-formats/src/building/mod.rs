//! Builds a sample value by value: its labels, its rows in memory, and the rows that exceed the memory budget.

pub(crate) mod label_names;
pub(crate) mod labels;
pub(crate) mod named_row;
pub(crate) mod parsed;
pub(crate) mod parsed_rows;
pub(crate) mod row_buffer;
pub(crate) mod rows;
pub(crate) mod sample_builder;
pub(crate) mod sample_rules;
pub(crate) mod sparse_builder;
pub(crate) mod store_pass;
pub(crate) mod text_rules;
pub(crate) mod weight_column;

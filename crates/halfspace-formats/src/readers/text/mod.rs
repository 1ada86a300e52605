//! Formats of lines of text: NDJSON, CSV, LIBSVM, ARFF and Vowpal Wabbit, and the writer of examples as text.

pub(crate) mod arff;
pub(crate) mod arff_header;
pub(crate) mod arff_scanner;
pub(crate) mod csv;
pub(crate) mod libsvm;
pub(crate) mod line_steps;
pub(crate) mod lines;
pub(crate) mod ndjson;
pub(crate) mod ndjson_portions;
pub(crate) mod vw;
pub(crate) mod write_examples;

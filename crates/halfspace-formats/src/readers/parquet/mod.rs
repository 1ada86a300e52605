//! Apache Parquet: flat columns are read as a table.
//!
//! - The schema names the columns. A column of lists, maps or structs is refused, unless the option `ignore` names it.
//! - Null and NaN are missing, and an infinity is refused. Integers that are no doubles and decimal numbers keep all
//!   their digits.
//! - Blanks around a text are dropped. Byte arrays without a type are texts.
//! - Row groups are read in order, and all columns of a row group at once, in batches of rows. A column that the
//!   request ignores is not read.
//!
//! A row counts against the limits of lines and of the body like a line of CSV, with eight bytes for a number.
//!
//! The crate `parquet` decodes the values. We read the footer and the headers of pages ourselves, and decompress the
//! pages, because the crate reserves what a file claims and panics on some damaged pages: see `thrift`, `codec` and
//! `pages`.

mod codec;
mod column;
mod delta;
mod footer;
mod numbers;
mod page_header;
mod pages;
mod schema;
mod table;
mod texts;
mod thrift;

use std::io::Read;

use crate::building::parsed::Parsed;
use crate::building::parsed_rows::ParsedRows;
use crate::error::{Fault, FormatError, FormatErrorKind};
use crate::options::Options;
use crate::readers::expansion::Expansion;
use crate::readers::kept_body::KeptBody;
use crate::stored::spool::Spool;
use crate::tables::preview::Preview;
use crate::tables::table_builder::TableBuilder;
use pages::{OpenFile, SharedFile};

/// What expands, in errors.
const WHAT: &str = "Parquet file";

pub(crate) fn parse(
    reader: &mut dyn Read,
    options: &Options,
    spool: Option<Spool>,
    preview: Option<&Preview>,
) -> Result<Parsed<ParsedRows>, FormatError> {
    TableBuilder::check(options)?;
    let open = spool.as_ref().map(Spool::workbook_opener);
    let mut body = KeptBody::keep(reader, &options.limits, open)?;
    let footer = footer::read(&mut body)?;
    if footer.columns.is_empty() {
        let detail = "The Parquet file has no columns.";
        return Err(Fault::new(FormatErrorKind::EmptyData, detail).into());
    }
    let expansion = || Expansion::new(WHAT, body.length(), &options.limits);
    let (inflated, cells) = (expansion(), expansion());
    let file = SharedFile::new(OpenFile {
        body,
        end: footer.place,
        inflated,
    });
    table::read(&footer, &file, cells, options, spool, preview)
}

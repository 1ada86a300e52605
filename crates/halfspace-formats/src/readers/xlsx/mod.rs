//! XLSX, the workbooks of Office Open XML (ISO/IEC 29500): one sheet is read as a table.
//!
//! - Without the option `sheet`, the first visible sheet with a value is read.
//! - Only cells with values count, whatever their format. Empty rows and columns around the table are not part of
//!   it, and neither are empty rows inside.
//! - The first two rows with values determine the columns, so a column of row numbers needs no name. A value
//!   outside these columns is refused.
//! - In a column of words a number becomes its shortest text, and a truth value `TRUE` or `FALSE`. Blanks around a text
//!   are dropped. A formula has the value that the workbook stores with it.
//! - A number in the format of a date is the date that the workbook shows.
//! - Errors, formulas without a stored value and merged cells are refused, unless the option `ignore` names the
//!   column. Hidden rows and columns are read.
//!
//! A row counts against the limits of lines and of the body as a line of CSV would, with the numbers as the workbook
//! writes them.
//!
//! `calamine` 0.38 would replace the 582 lines of `xml`, `strings`, `styles` and `workbook`, and it is faster: it
//! streams the cells of 100,000 rows by 20 columns in 0.47 s, while we take 0.71 s, table included. But you can give it
//! no limits. A workbook of 1 MB with one text of 1 GiB takes 4.0 GiB there, where we refuse it at 37 MiB, and one of 2
//! KB that declares 10^12 shared strings aborts the process. Its errors name no cell, and the number `3,5` passes as a
//! text. We read the workbooks of strangers, so we need the limits, and a check in front of `calamine` would have to
//! read the XML itself.

mod cell_name;
mod package;
mod sheet;
mod strings;
mod styles;
mod table;
mod workbook;
mod xml;

use std::io::Read;

use crate::building::parsed::Parsed;
use crate::building::parsed_rows::ParsedRows;
use crate::error::{Fault, FormatError, FormatErrorKind};
use crate::options::Options;
use crate::stored::spool::Spool;
use crate::tables::preview::Preview;
use crate::tables::table_builder::TableBuilder;
use package::Package;
use sheet::SheetReader;
use strings::SharedStrings;
use styles::Styles;
use workbook::Workbook;
use xml::XmlPart;

pub(crate) fn parse(
    reader: &mut dyn Read,
    options: &Options,
    mut spool: Option<Spool>,
    preview: Option<&Preview>,
) -> Result<Parsed<ParsedRows>, FormatError> {
    TableBuilder::check(options)?;
    let open = spool.as_ref().map(Spool::workbook_opener);
    let mut package = Package::new(reader, &options.limits, open.clone())?;
    let workbook = Workbook::read(&mut package)?;
    let sheets = workbook.chosen(options.table.sheet.as_deref())?;
    let styles = match &workbook.styles {
        Some(part) => Styles::read(&mut package, part)?,
        None => Styles::default(),
    };
    let mut strings = SharedStrings::read(&mut package, workbook.shared_strings.as_deref(), open)?;
    for sheet in sheets {
        let Some(part) = &sheet.part else { continue };
        let expansion = package.expansion();
        let xml = XmlPart::new(package.part(part)?, b"worksheet")?;
        let (name, first_day) = (&sheet.name, workbook.first_day);
        let mut rows = SheetReader::new(xml, name, options, &styles, first_day, &mut strings);
        if let Some(parsed) = table::read(&mut rows, options, expansion, &mut spool, preview)? {
            return Ok(parsed);
        }
    }
    let what = match options.table.sheet {
        Some(_) => "The sheet has no value",
        None => "No visible sheet has a value",
    };
    let detail = format!(
        "{what}; `sheet=` names one of the sheets {}.",
        workbook.listed()
    );
    Err(Fault::new(FormatErrorKind::EmptyData, detail).into())
}

//! The form in which the rows of a table are kept while the table is read.

use halfspace_core::memory;

use super::columns::TableColumns;
use super::encoder::Encoder;
use super::named_table::NamedTable;
use super::plain_rows::PlainRows;
use super::scan::TableScan;
use crate::building::sample_builder::SampleBuilder;
use crate::encoding::options::Unknown;
use crate::error::{Fault, FormatError};
use crate::numbers::DecimalMark;
use crate::options::{FormatOption, Options};
use crate::stored::spool::Spool;

/// The form in which the rows are kept.
pub(crate) enum Stage {
    /// All cells so far are numbers, and these are the features.
    Plain(Box<PlainRows>),
    /// The encoding is not known yet.
    Scan(Box<TableScan>),
    /// The encoding is given. For each of its columns there is the column of the table.
    Encoded(Box<Encoder>, Vec<usize>),
    /// The cells become names.
    Named(Box<NamedTable>),
    /// The table was refused, and its rows are only previewed.
    Refused,
}

impl Stage {
    /// The columns of the table that a given encoding reads, in its order.
    pub(crate) fn encoded(&self) -> &[usize] {
        match self {
            Self::Encoded(_, places) => places,
            Self::Plain(plain) if plain.lows.is_some() => &plain.columns,
            _ => &[],
        }
    }

    /// Begins the rows of a table whose columns have their roles already.
    ///
    /// # Errors
    /// When the encoding does not fit, or memory ends.
    pub(crate) fn of(
        table: &TableColumns,
        options: &Options,
        spool: Option<Spool>,
    ) -> Result<Self, FormatError> {
        if options.open_vocabulary {
            let named = NamedTable::new(table, options, spool)?;
            return Ok(Self::Named(Box::new(named)));
        }
        options.refuse(
            "a table without `vocabulary=open`",
            &FormatOption::EXTRACTION,
        )?;
        let request = &options.table;
        let plain = |columns: Vec<usize>, lows: Option<Vec<_>>, spool| {
            let n = options.n.or(Some(columns.len()).filter(|&n| n > 0));
            let builder = SampleBuilder::new(&options.limits, n, spool)?;
            Ok(Self::Plain(Box::new(PlainRows {
                builder: builder.of_kind(options.values)?,
                columns,
                is_open: lows.is_none() && !request.numbers_only,
                lows,
                is_respelled: false,
            })))
        };
        if let Some(encoding) = &request.encoding {
            let places = table.places(encoding)?;
            let is_plain = encoding.is_plain()
                && encoding
                    .columns
                    .iter()
                    .all(|column| column.written.is_none())
                && request.unknown == Unknown::Refuse
                && request.decimal != Some(DecimalMark::Comma);
            if is_plain {
                return plain(places, Some(encoding.low_values()), spool);
            }
            let encoder = Encoder::new(encoding.as_ref().clone(), options, spool)?;
            return Ok(Self::Encoded(Box::new(encoder), places));
        }
        if request.numbers_only || table.are_plain(request) {
            return plain(
                memory::collect(table.features().map(Ok::<_, Fault>))?,
                None,
                spool,
            );
        }
        let scan = TableScan::new(table, options, None, false, spool)?;
        Ok(Self::Scan(Box::new(scan)))
    }
}

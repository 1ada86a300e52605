//! Encodes the rows of a table by a known encoding and adds them to a sample.

use halfspace_core::memory;

use super::columns::{InColumn, TableColumns};
use crate::building::label_names::ReadLabels;
use crate::building::parsed::Parsed;
use crate::building::parsed_rows::ParsedRows;
use crate::building::sample_builder::SampleBuilder;
use crate::cell::Cell;
use crate::encoding::options::Unknown;
use crate::encoding::{CellFeatures, ColumnKind, Missing, TableEncoding};
use crate::error::{Fault, FormatErrorKind, excerpt};
use crate::options::Options;
use crate::stored::header::RowsKind;
use crate::stored::spool::Spool;

/// Adds encoded rows to a sample.
pub(crate) struct Encoder {
    pub(crate) encoding: TableEncoding,
    builder: SampleBuilder,
    /// The values of a real row.
    values: Vec<f64>,
    is_real: bool,
}

impl Encoder {
    /// Starts a sample with the features of the encoding.
    ///
    /// # Errors
    /// When the encoding has no feature or too many, or when the request asks for other features.
    pub(crate) fn new(
        encoding: TableEncoding,
        options: &Options,
        spool: Option<Spool>,
    ) -> Result<Self, Fault> {
        let n = encoding.n();
        options.check_n(n)?;
        let number = encoding
            .columns
            .iter()
            .find(|column| column.kind == ColumnKind::Number);
        if let (Some(number), Some(RowsKind::Boolean)) = (number, options.values) {
            let detail = format!(
                "The column {} holds numbers; `numbers=thermometer` makes them Boolean.",
                excerpt(number.name.as_bytes())
            );
            return Err(Fault::new(FormatErrorKind::NotBoolean, detail));
        }
        let is_real = number.is_some() || options.values == Some(RowsKind::Real);
        if n == 0 {
            let names: Vec<_> = encoding
                .columns
                .iter()
                .map(|column| column.name.as_str())
                .collect();
            let detail = format!(
                "The table has no features. A thermometer has no bit for a constant or nearly constant column, which \
                 `numbers=real` keeps. The columns are: {}.",
                names.join(", ")
            );
            return Err(Fault::new(FormatErrorKind::EmptyData, detail));
        }
        let builder = SampleBuilder::new(&options.limits, Some(n), spool)?;
        memory::need_of::<f64>(if is_real { n } else { 0 })?;
        Ok(Self {
            values: vec![0.0; if is_real { n } else { 0 }],
            encoding,
            builder: builder.of_kind(Some(RowsKind::of(is_real)))?,
            is_real,
        })
    }

    /// Adds the features of a cell to the row.
    pub(crate) fn put(&mut self, features: CellFeatures) {
        match features {
            CellFeatures::Ones { from, count } if self.is_real => {
                self.values[from as usize..(from + count) as usize].fill(1.0);
            }
            CellFeatures::Ones { from, count } => {
                self.builder.set_ones(from as usize, count as usize)
            }
            CellFeatures::Number { at, value } => self.values[at as usize] = value,
            CellFeatures::Filled {
                at,
                value,
                indicator,
            } => {
                self.values[at as usize] = value;
                self.values[indicator as usize] = 1.0;
            }
        }
    }

    /// Whether the features are numbers.
    pub(crate) fn is_real(&self) -> bool {
        self.is_real
    }

    /// Sets Boolean features of the row to their bits. A bit 0 changes nothing.
    pub(crate) fn put_bits(&mut self, bits: impl Iterator<Item = (u32, u32)>) {
        self.builder.or_bits(bits);
    }

    /// Ends the row.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn end_row(&mut self, label: Option<u32>) -> Result<(), Fault> {
        if self.is_real {
            for value in &mut self.values {
                self.builder.value(std::mem::take(value))?;
            }
            return self.builder.end_row(label);
        }
        self.builder.end_set_row(label)
    }

    /// Encodes a row of cells. `places` says which column of the table each column of the encoding is.
    ///
    /// # Errors
    /// The fault and its column.
    pub(crate) fn row<'c>(
        &mut self,
        table: &TableColumns,
        places: &[usize],
        options: &Options,
        number: u64,
        cell: &impl Fn(usize) -> Cell<&'c [u8]>,
        label: Option<u32>,
    ) -> Result<(), InColumn> {
        for (index, &at) in places.iter().enumerate() {
            let cell = cell(at);
            let column = &self.encoding.columns[index];
            let content = column.content(&cell, options.table.decimal, options.table.dates);
            match content.and_then(|content| column.encode(content, &cell)) {
                Ok(features) => self.put(features),
                Err(_) if options.table.unknown == Unknown::Zero => {}
                Err(why) => {
                    return Err((
                        at,
                        why.fault(&table.columns[at].name, number, &cell.spelling()),
                    ));
                }
            }
        }
        self.end_row(label).map_err(|fault| (0, fault))
    }

    /// Returns the sample, whose labels mean `read`, and the encoding.
    ///
    /// # Errors
    /// When there is no row, or memory or the spool fails.
    pub(crate) fn finish(
        mut self,
        options: &Options,
        read: Option<ReadLabels>,
    ) -> Result<(Parsed<ParsedRows>, TableEncoding), Fault> {
        if let Some(read) = read {
            self.builder.decide_labels(read);
        }
        let mut parsed = self.builder.finish(options.unlabelled)?;
        let is_signed =
            |kind: &ColumnKind| matches!(kind, ColumnKind::Boolean { values } if values[0] == "-1");
        if !self.is_real
            && self
                .encoding
                .columns
                .iter()
                .all(|column| is_signed(&column.kind) && !column.missing)
        {
            parsed.zero_bit_value = -1.0;
        }
        Ok((parsed, self.encoding))
    }
}

/// Whether a missing cell decides what becomes of its row, before the row is read.
pub(crate) fn decides_rows(missing: Option<Missing>) -> bool {
    matches!(missing, Some(Missing::Drop | Missing::Refuse))
}

//! Rows whose encoding is found after the last row: the scan of the columns, and the pass that encodes the kept cells.

use super::cell::Cell;
use super::cell_buffer::CellBuffer;
use super::column_scan::{ColumnScan, KeptCell};
use super::described::{Described, TableColumn, about};
use super::encoder::Encoder;
use super::encoding::{CellFeatures, ColumnEncoding, ColumnKind, TableEncoding};
use super::label_scan::ReadLabels;
use super::options::{KindName, Numbers};
use super::table_builder::InColumn;
use super::thresholds::{PASSES, QuantileSearch};
use crate::building::parsed_rows::ParsedRows;
use crate::error::{Fault, FormatError, FormatErrorKind};
use crate::stored::spool::Spool;
use crate::{Options, Parsed};

/// Rows whose encoding is open.
pub(crate) struct Scanned {
    /// The rows before the first cell that is no number. Their labels are the codes 0 and 1.
    plain: Option<ParsedRows>,
    columns: Vec<ColumnScan>,
    cells: CellBuffer,
    /// The row being read, the label last.
    row: Vec<KeptCell>,
    spool: Option<Spool>,
}

impl Scanned {
    /// Starts the scan with the plain rows so far, whose values are the columns other than the label.
    ///
    /// # Errors
    /// When a column has too many values.
    pub(crate) fn new(
        table: &[TableColumn],
        label: Option<usize>,
        options: &Options,
        mut plain: Option<ParsedRows>,
        spool: Option<Spool>,
    ) -> Result<Self, FormatError> {
        let scan = |column: &TableColumn| ColumnScan::new(column.kind, options.table.decimal);
        let mut columns: Vec<ColumnScan> = table.iter().map(scan).collect();
        let features: Vec<usize> = (0..table.len()).filter(|&at| label != Some(at)).collect();
        let mut row = 0;
        if let Some(plain) = &mut plain {
            plain.for_each_row(|values, _| {
                row += 1;
                for (&at, &value) in features.iter().zip(values) {
                    let pushed = columns[at].push_number(value, row);
                    pushed.map_err(|fault| about(&table[at].name, at, fault))?;
                }
                Ok::<_, FormatError>(())
            })?;
        }
        Ok(Self {
            plain,
            cells: CellBuffer::new(table.len() + 1, spool.as_ref().map(Spool::opener)),
            row: Vec::with_capacity(table.len() + 1),
            columns,
            spool,
        })
    }

    /// Keeps row `number`, from 1.
    ///
    /// # Errors
    /// The fault and its column.
    pub(crate) fn row<'c>(
        &mut self,
        table: &mut [TableColumn],
        number: u64,
        cell: &impl Fn(usize) -> &'c [u8],
        label: Option<u8>,
    ) -> Result<(), InColumn> {
        self.row.clear();
        for (at, (column, scan)) in table.iter_mut().zip(&mut self.columns).enumerate() {
            let kept = match column.ignored {
                Some(_) => Ok(KeptCell::Code(0)),
                None => scan.push(cell(at), number),
            };
            let kept = kept.map_err(|fault| (at, about(&column.name, at, fault)))?;
            if column.counts.is_some() {
                column.count(cell(at));
            }
            self.row.push(kept);
        }
        self.row.push(KeptCell::Code(label.unwrap_or(0)));
        self.cells.push(&self.row).map_err(|error| (0, Fault::unspooled(error)))
    }

    /// Returns the encoded sample and its encoding.
    ///
    /// # Errors
    /// When a column does not have the stated kind, or a limit is exceeded.
    pub(crate) fn finish(
        self,
        options: &Options,
        described: Described<'_>,
        labels: Option<&ReadLabels>,
    ) -> Result<(Parsed<ParsedRows>, TableEncoding), FormatError> {
        let Self {
            mut plain,
            columns,
            cells,
            spool,
            ..
        } = self;
        let mut cells = cells.finish().map_err(Fault::unspooled)?;
        let features: Vec<usize> = described.features().collect();
        let kinds = features.iter().map(|&at| {
            let kind = kind(&columns[at], described.columns[at].kind, options.table.numbers);
            kind.map_err(|fault| about(&described.columns[at].name, at, fault))
        });
        let mut kinds: Vec<ColumnKind> = kinds.collect::<Result<_, _>>()?;
        if let Numbers::Thermometer { bins } = options.table.numbers {
            let mut searches: Vec<_> = features
                .iter()
                .zip(&kinds)
                .map(|(&at, kind)| {
                    matches!(kind, ColumnKind::Thermometer { .. }).then(|| {
                        let scan = &columns[at];
                        (QuantileSearch::new(scan.numbers(described.rows), bins), f64::INFINITY)
                    })
                })
                .collect();
            for _ in 0..PASSES {
                let mut see = |at: usize, place: usize, cell: KeptCell| {
                    let Some((search, minimum)) = &mut searches[place] else {
                        return;
                    };
                    let number = match cell {
                        KeptCell::Number(number) => number,
                        KeptCell::Code(code) => match columns[at].values[usize::from(code)].cell {
                            Cell::Number(number) => number,
                            _ => f64::NAN,
                        },
                    };
                    if !number.is_nan() {
                        search.see(number, 1);
                        *minimum = minimum.min(number);
                    }
                };
                if let Some(plain) = &mut plain {
                    let values = described.values();
                    plain.for_each_row(|row, _| {
                        for (place, &at) in features.iter().enumerate() {
                            see(at, place, KeptCell::Number(row[values[at]]));
                        }
                        Ok::<_, FormatError>(())
                    })?;
                }
                cells.for_each_row(|row| {
                    for (place, &at) in features.iter().enumerate() {
                        see(at, place, row[at]);
                    }
                    Ok::<_, FormatError>(())
                })?;
                searches.iter_mut().flatten().for_each(|(search, _)| search.end_pass());
            }
            for (kind, search) in kinds.iter_mut().zip(searches) {
                if let (ColumnKind::Thermometer { thresholds }, Some((search, minimum))) = (kind, search) {
                    *thresholds = search.finish(minimum);
                }
            }
        }
        let values = described.values();
        let encoding = described.scanned(kinds, &columns)?;
        let mut encoder = Encoder::new(encoding, options, spool.as_ref().map(Spool::fork))?;
        // The features of each code, so that a cell costs one look.
        let tables: Vec<Vec<Option<CellFeatures>>> = encoder
            .encoding
            .columns
            .iter()
            .map(|column| {
                let scan = &columns[column.index as usize - 1];
                let features = |value: &super::column_scan::ColumnValue| column.encode_cell(value.cell, &value.text).ok();
                scan.values.iter().map(features).collect()
            })
            .collect();
        let positive = |code: u8| {
            labels.map(|labels| labels.is_positive.get(usize::from(code)).copied().unwrap_or(false))
        };
        if let Some(plain) = &mut plain {
            plain.for_each_row(|row, label| {
                for place in 0..encoder.encoding.columns.len() {
                    let column = &encoder.encoding.columns[place];
                    let features = column.encode_number(row[values[column.index as usize - 1]]);
                    encoder.put(features)?;
                }
                encoder.end_row(label.and_then(|bit| positive(bit.into())))
            })?;
        }
        cells.for_each_row(|row| {
            for (place, codes) in tables.iter().enumerate() {
                let column = &encoder.encoding.columns[place];
                let features = match row[column.index as usize - 1] {
                    KeptCell::Code(code) => codes[usize::from(code)],
                    KeptCell::Number(number) if number.is_nan() => column.encode_cell(Cell::Missing, b"").ok(),
                    KeptCell::Number(number) => column.encode_number(number).into(),
                };
                if let Some(features) = features {
                    encoder.put(features)?;
                }
            }
            let KeptCell::Code(label) = row[row.len() - 1] else {
                return Ok(());
            };
            encoder.end_row(positive(label))
        })?;
        encoder.finish(options)
    }
}

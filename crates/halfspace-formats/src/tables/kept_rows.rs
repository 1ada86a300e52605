//! All rows of a scanned table in their order: those before the first cell that was no number, and the kept cells.

use halfspace_core::memory;

use super::cell_buffer::{Cells, KeptRow};
use super::column_scan::KeptCell;
use crate::building::label_names::CLASSES_MAX;
use crate::building::parsed::Parsed;
use crate::building::parsed_rows::ParsedRows;
use crate::error::FormatError;

/// The cells of a row that hold the code of its label.
pub(super) const LABEL_CELLS: usize = 2;
const _: () = assert!(CLASSES_MAX <= 1 << (8 * LABEL_CELLS));

/// The bytes of the code of a label, the lowest first.
pub(super) fn label_bytes(code: Option<u32>) -> [u8; LABEL_CELLS] {
    let [low, high, ..] = code.unwrap_or(0).to_le_bytes();
    [low, high]
}

/// All rows of a table in their order.
pub(super) struct KeptRows {
    /// The columns that hold the labels and the weights, from 0.
    pub(super) beside: [Option<usize>; 2],
    pub(super) plain: Option<Parsed<ParsedRows>>,
    pub(super) cells: Cells,
    pub(super) columns: usize,
}

impl KeptRows {
    /// Passes the cells and the label code of each row to `see`. You may call this repeatedly. Each row checks the
    /// memory and the time of the work, because the rows may stand for more bytes than the body had.
    pub(super) fn for_each(
        &mut self,
        mut see: impl FnMut(KeptRow<'_>, u32) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        let mut see = |row: KeptRow<'_>, label| {
            memory::check()?;
            see(row, label)
        };
        if let Some(plain) = &mut self.plain {
            memory::need_of::<KeptCell>(self.columns)?;
            let mut row = vec![KeptCell::Code(0); self.columns];
            plain
                .data
                .for_each_row(plain.zero_bit_value, |values, label| {
                    let features = (0..self.columns).filter(|&at| !self.beside.contains(&Some(at)));
                    for (at, &value) in features.zip(values) {
                        row[at] = KeptCell::Number(value);
                    }
                    see(KeptRow::Cells(&row), label.unwrap_or(0))
                })?;
        }
        self.cells.for_each_row(|row| {
            let label = [self.columns, self.columns + 1].map(|at| match row.cell(at) {
                KeptCell::Code(byte) => byte,
                KeptCell::Number(_) => 0,
            });
            see(row, u16::from_le_bytes(label).into())
        })
    }
}

//! The cells of rows, where they are kept beside the features.

use crate::cell::Cell;
use crate::error::FormatError;
use crate::tables::encoder::decides_rows;
use crate::tables::scan::TableScan;
use crate::tables::stage::Stage;

use super::TableBuilder;

impl TableBuilder<'_> {
    /// Begins the cells with those of the rows before the scan, if cells are kept.
    ///
    /// # Errors
    /// When memory or a file fails.
    pub(super) fn begin_raw(&mut self, scan: &mut TableScan) -> Result<(), FormatError> {
        if let Some(raw) = self.raw.as_mut().filter(|raw| !raw.has_begun()) {
            raw.begin(&self.table.raw_head(self.options))?;
            scan.write_plain_rows(self.table.label, self.labels.as_ref(), raw)?;
        }
        Ok(())
    }

    /// Whether the examples of a table whose rows are plain are not its cells, so that the cells must be kept.
    pub(super) fn writes_plain_rows(&self) -> bool {
        let Some(raw) = &self.raw else { return false };
        let Stage::Plain(plain) = &self.stage else {
            return false;
        };
        let read = plain.columns.len() + usize::from(self.table.label.is_some());
        let has_all_labels = match &self.labels {
            Some(labels) => !labels.are_coded(),
            None => self.table.label.is_none(),
        };
        let request = &self.options.table;
        raw.has_begun()
            || read < self.table.columns.len()
            || !has_all_labels
            || request.encoding.is_some()
            || decides_rows(request.missing)
    }

    /// Writes the cells of a row, if they are kept and the features alone do not tell them. Returns whether it did.
    ///
    /// # Errors
    /// When memory or a file fails.
    pub(super) fn write_raw<'c>(
        &mut self,
        cells: impl Iterator<Item = Cell<&'c [u8]>>,
        is_left_out: bool,
    ) -> Result<bool, FormatError> {
        if self.raw.is_none() || matches!(self.stage, Stage::Refused) {
            return Ok(false);
        }
        if matches!(self.stage, Stage::Plain(_)) && !self.writes_plain_rows() {
            return Ok(false);
        }
        let Some(raw) = &mut self.raw else {
            return Ok(false);
        };
        if !raw.has_begun() {
            raw.begin(&self.table.raw_head(self.options))?;
        }
        raw.row(cells, is_left_out)?;
        Ok(true)
    }
}

//! The weights of the rows of a table, if a column holds them.

use crate::cell::Cell;
use crate::tables::columns::InColumn;

use super::TableBuilder;

impl TableBuilder<'_> {
    /// Reads the weight of a row that is not left out.
    ///
    /// # Errors
    /// When the cell holds none, or memory ends.
    pub(super) fn read_weight<'c>(
        &mut self,
        cell: &impl Fn(usize) -> Cell<&'c [u8]>,
    ) -> Result<(), InColumn> {
        let Some(at) = self.table.weights else {
            return Ok(());
        };
        let decimal = self.options.table.decimal.unwrap_or_default();
        let read = self.table.weight(at, &cell(at), decimal, self.rows);
        let pushed = read.and_then(|weight| Ok(self.weights.push(weight)?));
        pushed.map_err(|fault| (at, fault))
    }
}

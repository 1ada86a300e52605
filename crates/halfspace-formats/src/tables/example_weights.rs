//! The column of a table that holds the weights of the examples.

use halfspace_core::learners::sample::weights::Weight;

use super::columns::TableColumns;
use crate::building::weight_column;
use crate::cell::Cell;
use crate::encoding::options::{StatedWeights, TableOptions};
use crate::encoding::{TableEncoding, WeightsColumn};
use crate::error::{Fault, FormatErrorKind, excerpt};
use crate::numbers::DecimalMark;

impl TableColumns {
    /// The column of the weights, if the request states one, or if the table was read with one before.
    ///
    /// # Errors
    /// When the option names no column of the table.
    pub(super) fn weights_column(&self, options: &TableOptions) -> Result<Option<usize>, Fault> {
        let at = match &options.weights {
            None => {
                let roles = options.roles.as_ref();
                let known = roles.and_then(|roles| roles.weights.as_ref());
                return Ok(known.and_then(|known| self.known_weights(known)));
            }
            Some(StatedWeights::None) => return Ok(None),
            Some(StatedWeights::First) => 0,
            Some(StatedWeights::Last) => self.columns.len() - 1,
            Some(StatedWeights::Named(name)) => self.find(name, "weights")?,
        };
        Ok(Some(at))
    }

    /// Where the weights of a table that was read before are.
    fn known_weights(&self, known: &WeightsColumn) -> Option<usize> {
        let is_same = |at: &usize| self.columns[*at].name == known.column;
        let by_index = (known.index as usize).checked_sub(1);
        let by_index = by_index.filter(|at| *at < self.columns.len());
        by_index
            .filter(is_same)
            .or_else(|| (0..self.columns.len()).find(is_same))
    }

    /// Checks that the column of the weights has no other use, and lets it be no feature.
    ///
    /// # Errors
    /// The other use of the column.
    pub(super) fn check_weights(&mut self, options: &TableOptions) -> Result<(), Fault> {
        let Some(at) = self.weights else {
            return Ok(());
        };
        let own = &self.columns[at];
        let given = options.encoding.as_deref();
        let is_feature = |given: &TableEncoding| given.header && given.has_column(&own.name);
        let other = if self.label == Some(at) {
            "the labels are in it too; name another column in `weights=` or in `labels=`"
        } else if own.ignored.is_some() {
            "the request ignores it too; leave it out of `ignore` and `kinds`"
        } else if self.has_header && given.is_some_and(is_feature) {
            "the encoding reads features from it"
        } else {
            self.columns[at].become_no_feature();
            return Ok(());
        };
        let detail = format!(
            "The column {} cannot hold the weights of the examples: {other}. `weights=none` reads examples without \
             weights.",
            excerpt(own.name.as_bytes())
        );
        let fault = Fault::new(FormatErrorKind::TableOption, detail);
        Err(fault.mended_by("weights", "none"))
    }

    /// Reads the weight of row `number`, counted from 1, from its cell in the column `at`.
    ///
    /// # Errors
    /// When the cell holds none.
    pub(super) fn weight(
        &self,
        at: usize,
        cell: &Cell<&[u8]>,
        decimal: DecimalMark,
        number: u64,
    ) -> Result<Weight, Fault> {
        weight_column::read(cell, decimal).map_err(|none| {
            let column = excerpt(self.columns[at].name.as_bytes());
            let mut fault = none.of(&format!("In the column {column}, row {number}"));
            if cell.is_missing() {
                fault.detail += " `missing=drop` leaves such rows out.";
                fault = fault.mended_by("missing", "drop");
            }
            fault
        })
    }

    /// The column of the weights as an encoding keeps it.
    pub(super) fn described_weights(&self) -> Option<WeightsColumn> {
        let at = self.weights?;
        Some(WeightsColumn {
            column: self.columns[at].name.clone(),
            index: at as u32 + 1,
        })
    }
}

//! Lines of bare cells, which are read at once where nothing needs the single cells.

use crate::cell::{Cell, is_missing};
use crate::error::{FormatError, Place};
use crate::tables::bare_line::{BareLine, LabelPlace};
use crate::tables::plain_rows::set_row;
use crate::tables::stage::Stage;

use super::TableBuilder;

impl TableBuilder<'_> {
    /// Where the label is, if lines of bare cells can be read at once.
    pub(super) fn direct_place(&self) -> Option<LabelPlace> {
        let is_direct = match &self.stage {
            Stage::Plain(plain) => plain.columns.is_sorted(),
            Stage::Scan(_) => true,
            Stage::Encoded(..) | Stage::Named(_) | Stage::Refused => false,
        };
        let is_direct = is_direct && self.preview.is_none() && self.missing.words().is_empty();
        let is_direct = is_direct && !self.writes_plain_rows();
        self.table.label_place().filter(|_| is_direct)
    }

    /// Reads a line of bare cells as a row. If it must be read cell by cell, it changes nothing and returns false.
    /// `may_label` tells whether a text can be a label.
    ///
    /// # Errors
    /// When a limit is exceeded, or memory or the spool fails.
    pub(crate) fn bare_line(
        &mut self,
        bytes: &[u8],
        delimiter: u8,
        may_label: impl Fn(&[u8]) -> bool,
        place: Place,
    ) -> Result<bool, FormatError> {
        let Some(label_place) = self.label_place else {
            return Ok(false);
        };
        let n = self.table.columns.len() - usize::from(label_place != LabelPlace::None);
        let Some(line) = BareLine::split(bytes, delimiter, label_place) else {
            return Ok(false);
        };
        let is_label = |text| !is_missing(text) && may_label(text);
        let is_set = line.label.is_none_or(is_label)
            && match &mut self.stage {
                Stage::Plain(plain) if plain.columns.len() == n => {
                    set_row(plain, &line, n, &mut self.values, &mut self.words)
                }
                Stage::Scan(scan) => scan.set_letters(&line, n, label_place),
                _ => false,
            };
        if !is_set {
            return Ok(false);
        }
        let labelled = self.labels.as_mut().zip(line.label);
        let label = labelled.map(|(labels, text)| labels.push(text)).transpose();
        let ended = match (&mut self.stage, label) {
            (Stage::Plain(plain), Ok(code)) => plain.builder.end_row(code),
            (Stage::Scan(scan), Ok(code)) => scan.end_letters(code),
            (Stage::Plain(plain), Err(_)) => {
                plain.builder.forget_row();
                return Ok(false);
            }
            _ => return Ok(false),
        };
        self.rows += 1;
        let ended = ended.map_err(|fault| fault.placed(Some(place)));
        ended.or_else(|error| self.refuse(error))?;
        if matches!(self.stage, Stage::Scan(_)) {
            let cells = bytes.split(|byte| *byte == delimiter).map(Cell::Text);
            self.write_raw(cells, false)?;
        }
        Ok(true)
    }
}

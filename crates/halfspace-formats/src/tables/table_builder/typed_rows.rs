//! Rows of a format with types, whose reader knows more about their cells than one cell tells.

use crate::building::label_names::LabelNames;
use crate::cell::{Cell, is_missing};
use crate::error::{FormatError, Place};
use crate::numbers::is_respelled;
use crate::tables::stage::Stage;

use super::TableBuilder;

impl TableBuilder<'_> {
    /// Reads a row like [`Self::row`], whose cells a table can hold.
    ///
    /// # Errors
    /// The fault with its place.
    pub(crate) fn sound_row<'c>(
        &mut self,
        cell: impl Fn(usize) -> Cell<&'c [u8]>,
        place: impl Fn(usize) -> Place,
    ) -> Result<(), FormatError> {
        let read = self.read_row(None, cell, place);
        read.or_else(|error| self.refuse(error))
    }

    /// The columns whose numbers [`Self::number_row`] takes, in order. None if rows must be read cell by cell.
    pub(crate) fn number_columns(&self) -> Option<&[usize]> {
        let is_watched = self.preview.is_some()
            || self.table.weights.is_some()
            || !self.open.is_empty()
            || !self.missing.words().is_empty();
        match &self.stage {
            Stage::Plain(plain) if !is_watched && !self.writes_plain_rows() => Some(&plain.columns),
            _ => None,
        }
    }

    /// Reads a row of finite numbers in the shortest spelling, one for each of [`Self::number_columns`]. If it must be
    /// read cell by cell, it changes nothing and returns false.
    ///
    /// # Errors
    /// When a limit is exceeded, or memory or the spool fails.
    pub(crate) fn number_row(
        &mut self,
        numbers: &[f64],
        label: &Cell<&[u8]>,
        place: impl Fn() -> Place,
    ) -> Result<bool, FormatError> {
        let Stage::Plain(plain) = &mut self.stage else {
            return Ok(false);
        };
        let are_allowed = plain.lows.is_none()
            || (0..numbers.len()).all(|feature| plain.allows(feature, numbers[feature]));
        if !are_allowed || !plain.builder.takes_rows(numbers.len()) {
            return Ok(false);
        }
        let text = label.spelling();
        if self.labels.is_some() && is_missing(&text) || !plain.builder.set_numbers(numbers) {
            return Ok(false);
        }
        let push = |labels: &mut LabelNames| labels.push(&text);
        let Ok(code) = self.labels.as_mut().map(push).transpose() else {
            plain.builder.forget_row();
            return Ok(false);
        };
        if plain.is_open && !plain.is_respelled {
            plain.is_respelled = numbers.iter().any(|&number| is_respelled(b"", number));
        }
        self.rows += 1;
        let ended = plain.builder.end_row(code);
        let ended = ended.map_err(|fault| fault.placed(Some(place())));
        ended.or_else(|error| self.refuse(error)).map(|()| true)
    }
}

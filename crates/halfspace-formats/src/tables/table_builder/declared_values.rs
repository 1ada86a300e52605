//! The values that a file declares for a column beside its rows.

use crate::error::Fault;
use crate::numbers::parse_number;
use crate::tables::stage::Stage;

use super::TableBuilder;

impl TableBuilder<'_> {
    /// Declares the values of a column, whether they occur or not. If an encoding is given, its own values count
    /// instead. Two values of the label mean +1 and -1.
    ///
    /// # Errors
    /// When there are too many values.
    pub(crate) fn declare_values<'v>(
        &mut self,
        at: usize,
        values: impl Iterator<Item = &'v [u8]> + Clone,
    ) -> Result<(), Fault> {
        if let Some(raw) = &mut self.raw {
            raw.declare_values(at, values.clone());
        }
        if self.table.label == Some(at) {
            let labels = self.labels.iter_mut();
            labels.zip(declared_labels(values)).try_for_each(
                |(labels, [positive, negative])| labels.declare(positive, negative),
            )?;
            self.label_place = self.direct_place();
            return Ok(());
        }
        if self.table.weights == Some(at) {
            return Ok(());
        }
        if let Some(preview) = self.preview {
            preview.declare(at, values.clone());
        }
        match &mut self.stage {
            Stage::Scan(scan) => scan.declare(&self.table, at, values),
            Stage::Named(named) => named.declare(at, values),
            Stage::Plain(_) | Stage::Encoded(..) | Stage::Refused => Ok(()),
        }
    }
}

/// The values of +1 and -1 of a label with these values, if they are two. The first is +1, but 1 stays 1.
fn declared_labels<'v>(mut values: impl Iterator<Item = &'v [u8]>) -> Option<[&'v [u8]; 2]> {
    let (Some(first), Some(second), None) = (values.next(), values.next(), values.next()) else {
        return None;
    };
    let is_negative = |value| value == 0.0 || value == -1.0;
    Some(match (parse_number(first), parse_number(second)) {
        (Ok(other), Ok(1.0)) if is_negative(other) => [second, first],
        _ => [first, second],
    })
}

//! The weights of the rows of a body: reads one from a cell or a word, and keeps them once one of them is not 1.

use std::sync::Arc;

use halfspace_core::learners::sample::weights::Weight;
use halfspace_core::memory::{self, NoMemory};

use crate::cell::{Cell, Content};
use crate::error::{Fault, FormatErrorKind, excerpt};
use crate::numbers::DecimalMark;

/// The weights of the rows so far.
#[derive(Default)]
pub(crate) struct WeightColumn {
    rows: usize,
    /// Empty as long as each weight is 1.
    weights: Vec<Weight>,
}

impl WeightColumn {
    /// Appends the weight of the next row.
    ///
    /// # Errors
    /// When memory ends.
    pub(crate) fn push(&mut self, weight: Weight) -> Result<(), NoMemory> {
        self.rows += 1;
        if self.weights.is_empty() && weight == Weight::ONE {
            return Ok(());
        }
        if self.weights.is_empty() {
            memory::need_of::<Weight>(self.rows)?;
            self.weights.resize(self.rows - 1, Weight::ONE);
        }
        memory::push(&mut self.weights, weight)
    }

    /// The weights of all rows, or `None` if each is 1, because the examples are then those without weights.
    ///
    /// # Errors
    /// When memory ends.
    pub(crate) fn finish(self) -> Result<Option<Arc<[Weight]>>, NoMemory> {
        memory::need_of::<Weight>(self.weights.len())?;
        Ok(of_rows(&self.weights))
    }
}

/// The weights of some rows, or `None` if each is 1.
pub(crate) fn of_rows(weights: &[Weight]) -> Option<Arc<[Weight]>> {
    let is_weighted = weights.iter().any(|weight| *weight != Weight::ONE);
    is_weighted.then(|| weights.into())
}

/// What a cell holds in place of a weight.
pub(crate) struct NoWeight {
    /// The end of a sentence about the example, and what follows the rule.
    what: String,
    hint: &'static str,
}

impl NoWeight {
    /// The fault of what has no weight, which begins a sentence.
    pub(crate) fn of(self, subject: &str) -> Fault {
        let detail = format!("{subject} {}; {}{}.", self.what, Weight::RULE, self.hint);
        Fault::new(FormatErrorKind::BadValue, detail)
    }
}

/// The weight that a cell holds, to the nearest thousandth.
///
/// # Errors
/// When the cell holds none.
pub(crate) fn read(cell: &Cell<&[u8]>, decimal: DecimalMark) -> Result<Weight, NoWeight> {
    let content = cell.content(decimal);
    if let Some(weight) = content.number().and_then(Weight::new) {
        return Ok(weight);
    }
    let is_missing = matches!(content, Content::Missing | Content::MissingAmongNumbers);
    Err(NoWeight {
        what: match is_missing {
            true => "has no weight".to_owned(),
            false => format!("has the weight {}", excerpt(&cell.spelling())),
        },
        hint: match content {
            Content::Number(0.0) => ", and an example that is not to count is left out",
            _ => "",
        },
    })
}

//! Labels of a body, collected one at a time. All labels are two-valued in one coding.

use halfspace_core::bits::{BitVector, WORD_BITS};
use halfspace_core::learners::sample::data::Labels;

use crate::error::{Fault, FormatErrorKind, excerpt};
use crate::stored::blocks::LabelsKind;

/// The labels of the rows so far.
#[derive(Default)]
pub(crate) struct LabelBits {
    words: Vec<u64>,
    /// Number of words before these, which were dropped.
    words_forgotten: usize,
    zero_seen: bool,
    minus_seen: bool,
    labelled: bool,
    /// Whether the labels are the opposite of the words.
    flipped: bool,
}

impl LabelBits {
    /// Reads a label: 1 is true, and 0 or -1 is false. A body uses only one of 0 and -1.
    ///
    /// # Errors
    /// When the label has another value, or when the body mixes 0 and -1.
    pub(crate) fn read(&mut self, label: f64) -> Result<bool, Fault> {
        if label == 1.0 {
            return Ok(true);
        }
        if label != 0.0 && label != -1.0 {
            return Err(bad_label(&label.to_string()));
        }
        self.zero_seen |= label == 0.0;
        self.minus_seen |= label == -1.0;
        if self.zero_seen && self.minus_seen {
            let (found, earlier) = if label == 0.0 { (0, -1) } else { (-1, 0) };
            let detail = format!(
                "The label {found} occurs in a body that also has the label {earlier}; use either \
                 1 and -1, or 1 and 0."
            );
            return Err(Fault::new(FormatErrorKind::MixedLabels, detail));
        }
        Ok(false)
    }

    /// Appends the label of row `row`. Either all rows or no rows have labels.
    pub(crate) fn push(&mut self, row: usize, label: Option<bool>) {
        debug_assert!(row == 0 || self.labelled == label.is_some());
        let Some(label) = label else { return };
        self.labelled = true;
        if row.is_multiple_of(WORD_BITS) {
            self.words.push(0);
        }
        if let Some(last) = self.words.last_mut() {
            *last |= u64::from(label) << (row % WORD_BITS);
        }
    }

    /// Starts the labels of the later rows of the same body.
    pub(crate) fn for_the_rest(&self) -> Self {
        Self {
            zero_seen: self.zero_seen,
            minus_seen: self.minus_seen,
            ..Self::default()
        }
    }

    /// Exchanges the labels of all rows.
    pub(crate) fn flip(&mut self) {
        self.flipped = !self.flipped;
    }

    /// Whether the labels are the opposite of [`Self::bits`].
    pub(crate) fn is_flipped(&self) -> bool {
        self.flipped
    }

    /// Whether rows have labels.
    pub(crate) fn is_labelled(&self) -> bool {
        self.labelled
    }

    /// Returns the labels of `count` rows, at most 64, from row `first` on. The lowest bit is the label of
    /// the first row. Rows without labels have 0.
    pub(crate) fn bits(&self, first: usize, count: usize) -> u64 {
        let bit = |row: usize| {
            let word = self.words.get(row / WORD_BITS - self.words_forgotten);
            word.map_or(0, |word| word >> (row % WORD_BITS) & 1)
        };
        (0..count).fold(0, |bits, row| bits | bit(first + row) << row)
    }

    /// Frees the memory of labels before row `row`.
    pub(crate) fn forget_before(&mut self, row: usize) {
        let words = row / WORD_BITS - self.words_forgotten;
        self.words.drain(..words.min(self.words.len()));
        self.words_forgotten += words;
    }

    /// Returns the labels of all `rows` rows. All labels must still be present.
    pub(crate) fn into_labels(mut self, kind: LabelsKind, rows: usize) -> Labels {
        if self.flipped {
            self.words.iter_mut().for_each(|word| *word = !*word);
            if let Some(last) = self
                .words
                .last_mut()
                .filter(|_| !rows.is_multiple_of(WORD_BITS))
            {
                *last &= (1 << (rows % WORD_BITS)) - 1;
            }
        }
        match kind {
            LabelsKind::Labelled => Labels::Labelled(BitVector::from_words(rows, self.words)),
            LabelsKind::HalfSpace => Labels::HalfSpace,
            LabelsKind::Unlabelled => Labels::Unlabelled,
        }
    }
}

/// Makes the fault of a label with this text.
pub(crate) fn bad_label(shown: &str) -> Fault {
    let shown = excerpt(shown.as_bytes());
    let detail = format!("{shown} is not a label; labels are 1 and -1, or 1 and 0.");
    Fault::new(FormatErrorKind::BadLabel, detail)
}

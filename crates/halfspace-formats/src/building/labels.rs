//! Labels of a body, collected one at a time. All labels are two-valued in one coding.

use halfspace_core::bits::{BitVector, WORD_BITS};
use halfspace_core::learners::sample::data::Labels;

use crate::building::classes::LabelRule;
use crate::building::classes::{Classes, bad_label, canonical};
use crate::error::{Fault, FormatErrorKind, excerpt};
use crate::options::UnlabelledMeans;
use crate::stored::header::LabelsKind;
use crate::text::numbers::parse_number;

/// Largest number of spellings whose label is kept.
const SPELLINGS_MAX: usize = 8;

/// The labels of the rows so far.
#[derive(Default)]
pub(crate) struct LabelBits {
    words: Vec<u64>,
    /// Number of words before these, which were dropped.
    words_forgotten: usize,
    rule: LabelRule,
    /// The labels of the first spellings under known classes.
    spellings: Vec<(Box<[u8]>, bool)>,
    /// Classes of labels that were read elsewhere.
    classes: Option<Classes>,
    /// The values with the labels -1 and +1 that only a model can read.
    foreign: [Option<String>; 2],
    one_seen: bool,
    zero_seen: bool,
    minus_seen: bool,
    labelled: bool,
    /// Whether the labels are the opposite of the words.
    flipped: bool,
}

impl LabelBits {
    /// Sets the rule for labels before the first row.
    pub(crate) fn set_rule(&mut self, rule: LabelRule) {
        self.rule = rule;
    }

    /// Reads a label that stands beside an example. Known classes decide by their names. Otherwise 1 is true, and 0 or
    /// -1 is false, of which a body uses only one. None if labels are ignored.
    ///
    /// # Errors
    /// When the label has another value, or when the body mixes 0 and -1.
    pub(crate) fn read(&mut self, label: &[u8]) -> Result<Option<bool>, Fault> {
        let mut spellings = self.spellings.iter();
        if let Some((_, label)) = spellings.find(|(spelling, _)| **spelling == *label) {
            return Ok(Some(*label));
        }
        let read = match &self.rule {
            LabelRule::Ignored => return Ok(None),
            LabelRule::Of(classes) if !classes.reads_signs() => classes.read(label)?,
            LabelRule::Later => self.read_later(label)?,
            rule => {
                let read = match rule.known() {
                    Some(classes) => classes.read(label)?,
                    None => Classes::plain().read(label)?,
                };
                self.note_sign(label)?;
                read
            }
        };
        if self.spellings.len() < SPELLINGS_MAX {
            self.spellings.push((label.into(), read));
        }
        Ok(Some(read))
    }

    /// Reads one of two values, whose meaning a model will tell.
    fn read_later(&mut self, label: &[u8]) -> Result<bool, Fault> {
        if let Ok(read) = Classes::plain().read(label) {
            self.note_sign(label)?;
            return match self.foreign[usize::from(read)] {
                None => Ok(read),
                Some(_) => Err(third_label(label)),
            };
        }
        let (spelling, _) = canonical(label);
        let is_taken = [self.zero_seen || self.minus_seen, self.one_seen];
        for (side, name) in self.foreign.iter_mut().enumerate() {
            match name {
                Some(name) if name.as_bytes() == spelling => return Ok(side == 1),
                None if !is_taken[side] => {
                    let spelling = String::from_utf8(spelling).map_err(|_| bad_label(label))?;
                    *name = Some(spelling);
                    return Ok(side == 1);
                }
                _ => {}
            }
        }
        Err(third_label(label))
    }

    /// Whether only a model can read the labels.
    pub(crate) fn is_foreign(&self) -> bool {
        self.foreign.iter().any(Option::is_some)
    }

    /// Notes which of 1, 0 and -1 the body uses.
    fn note_sign(&mut self, label: &[u8]) -> Result<(), Fault> {
        match parse_number(label) {
            Ok(1.0) => self.one_seen = true,
            Ok(0.0) => self.zero_seen = true,
            Ok(-1.0) => self.minus_seen = true,
            _ => {}
        }
        if self.zero_seen && self.minus_seen {
            return Err(mixed_labels(label));
        }
        Ok(())
    }

    /// States the classes of labels that were read elsewhere.
    pub(crate) fn name(&mut self, classes: Option<Classes>) {
        self.classes = classes;
    }

    /// Returns the classes of the labels. Bits without values have none.
    pub(crate) fn classes(&self) -> Option<Classes> {
        let plain = || {
            let zero = if self.zero_seen { "0" } else { "-1" };
            let [negative, positive] = self.foreign.clone();
            let name =
                |foreign: Option<String>, own: &str| foreign.unwrap_or_else(|| own.to_owned());
            Classes::new(Some(name(negative, zero)), name(positive, "1"))
        };
        let is_read = !self.spellings.is_empty();
        let read = is_read.then(|| self.rule.known().cloned().unwrap_or_else(plain));
        read.or_else(|| self.classes.clone())
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
            rule: self.rule.clone(),
            spellings: self.spellings.clone(),
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

    /// Returns the kind of the labels. `unlabelled` says what rows without labels mean.
    pub(crate) fn kind(&self, unlabelled: UnlabelledMeans) -> LabelsKind {
        match (self.labelled, unlabelled) {
            (true, _) => LabelsKind::Labelled,
            (false, UnlabelledMeans::HalfSpace) => LabelsKind::HalfSpace,
            (false, UnlabelledMeans::Nothing) => LabelsKind::Unlabelled,
        }
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

/// Makes the fault of a label after two others.
fn third_label(label: &[u8]) -> Fault {
    let detail = format!(
        "{} is a third label. To label examples of one class against the rest, send the rows of a table.",
        excerpt(label)
    );
    Fault::new(FormatErrorKind::BadLabel, detail)
}

/// Makes the fault of a body with both 0 and -1, of which this label came second.
pub(crate) fn mixed_labels(label: &[u8]) -> Fault {
    let (found, earlier) = match parse_number(label) {
        Ok(0.0) => (0, -1),
        _ => (-1, 0),
    };
    let detail = format!(
        "The label {found} occurs in a body that also has the label {earlier}; use either \
         1 and -1, or 1 and 0."
    );
    Fault::new(FormatErrorKind::MixedLabels, detail)
}

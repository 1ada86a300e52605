//! The labels of the rows of a body: the code of a class for each row, stored as bit planes. Plane p holds bit p of
//! every code.
//!
//! [`LabelNames`](crate::building::label_names::LabelNames) decides which name has which code.

use halfspace_core::bits::WORD_BITS;
use halfspace_core::learners::sample::block::row_mask;
use halfspace_core::learners::sample::classes::{BlockCodes, ClassCodes, planes_for};
use halfspace_core::learners::sample::data::Labels;
use halfspace_core::learners::sample::examples::LabelKind;

use crate::building::label_names::ReadLabels;
use crate::classes::{Classes, Recoding};
use crate::options::UnlabelledMeans;

/// The class codes of the rows so far.
#[derive(Default)]
pub(crate) struct LabelCodes {
    /// The words of each plane. All planes have the same length.
    planes: Vec<Vec<u64>>,
    /// Number of words before these that were dropped.
    words_forgotten: usize,
    /// What the codes of the rows stand for, once all are known.
    recoding: Option<Recoding>,
    /// The number of classes, once all are known. Not all of them need occur.
    classes: Option<usize>,
}

impl LabelCodes {
    /// Appends the label of row `row`. Either all rows or no rows have labels.
    #[inline]
    pub(crate) fn push(&mut self, row: usize, code: Option<u32>) {
        debug_assert!(row == 0 || self.is_labelled() == code.is_some());
        let Some(code) = code else { return };
        if self.planes.is_empty() || code >> self.planes.len() != 0 {
            self.widen(code);
        }
        let is_first = row.is_multiple_of(WORD_BITS);
        for (plane, words) in self.planes.iter_mut().enumerate() {
            if is_first {
                words.push(0);
            }
            if let Some(last) = words.last_mut() {
                *last |= u64::from(code >> plane & 1) << (row % WORD_BITS);
            }
        }
    }

    /// Adds planes for a larger code.
    #[cold]
    fn widen(&mut self, code: u32) {
        let words = self.planes.first().map_or(0, Vec::len);
        self.planes
            .resize(planes_for(code as usize + 1), vec![0; words]);
    }

    /// Decides what the labels mean, and returns their classes. The codes then have as many planes as the classes need,
    /// so that a body with some of the classes has the same form as one with all of them.
    pub(crate) fn decide(&mut self, read: ReadLabels) -> Classes {
        self.recoding = read.codes.filter(|codes| !codes.is_identity());
        self.classes = Some(read.classes.count());
        read.classes
    }

    /// What the codes of [`Self::block`] stand for, or `None` if they need no change.
    pub(crate) fn recoding(&self) -> Option<&Recoding> {
        self.recoding.as_ref()
    }

    /// Whether rows have labels.
    pub(crate) fn is_labelled(&self) -> bool {
        !self.planes.is_empty()
    }

    /// The number of planes of the final codes, 0 without labels.
    pub(crate) fn planes(&self) -> usize {
        match (self.is_labelled(), self.classes) {
            (false, _) => 0,
            (true, Some(classes)) => planes_for(classes),
            (true, None) => self.planes.len(),
        }
    }

    /// The kind of the labels. `unlabelled` says what rows without labels mean.
    pub(crate) fn kind(&self, unlabelled: UnlabelledMeans) -> LabelKind {
        match (self.is_labelled(), unlabelled) {
            (true, _) => LabelKind::Labelled {
                planes: self.planes(),
            },
            (false, UnlabelledMeans::HalfSpace) => LabelKind::HalfSpace,
            (false, UnlabelledMeans::Nothing) => LabelKind::Unlabelled,
        }
    }

    /// The codes of `count` rows, at most 64, from row `first` on, or `None` without labels.
    pub(crate) fn block(&self, first: usize, count: usize) -> Option<BlockCodes> {
        if !self.is_labelled() {
            return None;
        }
        let mut codes = BlockCodes::zeros(self.planes.len());
        let (at, shift) = (first / WORD_BITS - self.words_forgotten, first % WORD_BITS);
        for (code, words) in codes.words_mut().iter_mut().zip(&self.planes) {
            let word = |at: usize| words.get(at).copied().unwrap_or(0);
            let next = word(at + 1).checked_shl((WORD_BITS - shift) as u32);
            *code = (word(at) >> shift | next.unwrap_or(0)) & row_mask(count);
        }
        Some(codes)
    }

    /// Frees the memory of labels before row `row`.
    pub(crate) fn forget_before(&mut self, row: usize) {
        let words = row / WORD_BITS - self.words_forgotten;
        for plane in &mut self.planes {
            plane.drain(..words.min(plane.len()));
        }
        self.words_forgotten += words;
    }

    /// Returns the labels of all `rows` rows. All labels must still be present.
    pub(crate) fn into_labels(mut self, kind: LabelKind, rows: usize) -> Labels {
        match kind {
            LabelKind::HalfSpace => Labels::HalfSpace,
            LabelKind::Unlabelled => Labels::Unlabelled,
            LabelKind::Labelled { planes } => Labels::Labelled(match &self.recoding {
                Some(recoding) => recoding.of_codes(&ClassCodes::from_planes(rows, self.planes)),
                None => {
                    let words = rows.div_ceil(WORD_BITS);
                    self.planes.resize(planes, vec![0; words]);
                    ClassCodes::from_planes(rows, self.planes)
                }
            }),
        }
    }
}

/// Returns the name of the label beside these features: `label`, or `label_1` and so on if a feature has that name.
pub(crate) fn label_name(features: &[String]) -> String {
    let numbered = (1..).map(|number| format!("label_{number}"));
    let mut names = ["label".to_owned()].into_iter().chain(numbered);
    let free = names.find(|name| !features.contains(name));
    free.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_codes_are_those_of_the_rows_in_every_block() {
        let codes: Vec<u32> = (0..200).map(|row| row * row % 7 % 5).collect();
        let mut labels = LabelCodes::default();
        for (row, code) in codes.iter().enumerate() {
            labels.push(row, Some(*code));
        }
        for (first, count) in [(0, 64), (64, 64), (10, 60), (130, 64), (192, 8)] {
            let block = labels.block(first, count).unwrap();
            let read: Vec<u32> = (0..count).map(|row| block.get(row)).collect();
            assert_eq!(read, codes[first..first + count], "{first}");
        }
        let names = (0..9).map(|code| code.to_string());
        labels.decide(ReadLabels {
            classes: Classes::of_names(names).unwrap(),
            codes: None,
        });
        assert_eq!(labels.planes(), 4);
        labels.decide(ReadLabels {
            classes: Classes::plain(),
            codes: Some(Recoding::new([1, 0, 0, 0, 1], 2)),
        });
        assert_eq!(labels.planes(), 1);
        let signs = labels.into_labels(LabelKind::SIGNS, codes.len());
        let signs = signs.signs().unwrap();
        assert!(
            codes
                .iter()
                .enumerate()
                .all(|(row, code)| signs.get(row) == matches!(code, 0 | 4))
        );
    }
}

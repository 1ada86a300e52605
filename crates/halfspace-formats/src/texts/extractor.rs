//! Makes the names of texts by an [`Extraction`].

use std::collections::BTreeMap;

use halfspace_core::memory;

use super::extraction::Extraction;
use super::sequences::{Names, Sequences};
use super::{CHARACTERS, PLACES, WORD, normal_form, window};
use crate::error::Fault;
use crate::vocabulary::{NAME_BYTES_MAX, push_prefix};

/// An extraction, and what its texts had so far.
pub(crate) struct Extractor {
    extraction: Extraction,
    normal: String,
    columns: BTreeMap<String, Column>,
}

/// A column with texts.
struct Column {
    words: Sequences,
    characters: Sequences,
}

impl Column {
    fn new(name: &str) -> Self {
        let sequences = |mark| {
            let mut prefix = String::new();
            push_prefix(name, mark, &mut prefix);
            Sequences::new(prefix)
        };
        Self {
            words: sequences(WORD),
            characters: sequences(CHARACTERS),
        }
    }
}

impl Extractor {
    pub(crate) fn new(extraction: Extraction) -> Self {
        Self {
            extraction,
            normal: String::new(),
            columns: BTreeMap::new(),
        }
    }

    /// The columns that had a text.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &str> {
        self.columns.keys().map(String::as_str)
    }

    /// Whether there was no text.
    pub(crate) fn is_unused(&self) -> bool {
        self.columns.is_empty()
    }

    /// Bytes in memory.
    pub(crate) fn bytes(&self) -> u64 {
        let column = |column: &Column| column.words.bytes() + column.characters.bytes();
        self.columns.values().map(column).sum()
    }

    /// Adds each name of a text in a column, once for each time that it occurs.
    ///
    /// # Errors
    /// A text without a marked word where there must be one, or as for [`Names`].
    pub(crate) fn add(
        &mut self,
        column: &str,
        text: &str,
        names: &mut impl Names,
    ) -> Result<(), Fault> {
        let Self {
            extraction,
            normal,
            columns,
        } = self;
        if !columns.contains_key(column) {
            memory::need_of::<Column>(1)?;
            columns.insert(column.to_owned(), Column::new(column));
        }
        normal_form::write(text, extraction.lower_case, normal);
        if let Some(width) = extraction.window {
            return around(column, normal, width, names);
        }
        let Some(Column { words, characters }) = columns.get_mut(column) else {
            return Ok(());
        };
        if let Some(lengths) = extraction.words {
            words.of_words(normal, lengths, names)?;
        }
        match extraction.characters {
            Some(lengths) => characters.of_characters(normal, lengths, names),
            None => Ok(()),
        }
    }
}

/// Adds the words around the marked word of a text, and their patterns.
fn around(column: &str, text: &str, width: u8, names: &mut impl Names) -> Result<(), Fault> {
    let around = window::neighbours(window::sides(text)?, width);
    let mut see = |name: &str| match name.len() <= NAME_BYTES_MAX {
        true => names.id(name).and_then(|id| names.push(id)),
        false => Ok(()),
    };
    let mut name = String::new();
    push_prefix(column, WORD, &mut name);
    let prefix = name.len();
    for word in around.iter().flatten() {
        name.push_str(word);
        see(&name)?;
        name.truncate(prefix);
    }
    name.clear();
    push_prefix(column, PLACES, &mut name);
    window::patterns(&around, &mut name, see)
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;
    use crate::texts::Lengths;

    /// The names in the order of their first occurrence, and all occurrences.
    impl Names for (Vec<String>, Vec<u32>) {
        fn id(&mut self, name: &str) -> Result<u32, Fault> {
            self.0.push(name.to_owned());
            Ok(self.0.len() as u32 - 1)
        }

        fn push(&mut self, id: u32) -> Result<(), Fault> {
            self.1.push(id);
            Ok(())
        }
    }

    /// Fails when a table of Unicode moves: then the names of texts change, and this is a version `text/2`.
    #[test]
    fn names_of_version_1_are_those_of_the_first_day() {
        assert_eq!(unicode_segmentation::UNICODE_VERSION, (17, 0, 0));
        let mut extractor = Extractor::new(Extraction {
            words: Some(Lengths::of("1-2").unwrap()),
            characters: Some(Lengths::of("2").unwrap()),
            ..Extraction::default()
        });
        let (mut digest, mut names) = (Sha256::new(), (Vec::new(), Vec::new()));
        let mut text = String::new();
        for character in '\0'..=char::MAX {
            text.clear();
            for place in ["A", "b ", " 1", "2'", "O\u{3a3}", "\u{300}"] {
                text.push_str(place);
                text.push(character);
            }
            extractor.add("t", &text, &mut names).unwrap();
            let (all, occurrences) = &mut names;
            let mut own: Vec<&String> = occurrences.drain(..).map(|id| &all[id as usize]).collect();
            own.sort_unstable();
            for name in own {
                digest.update(name);
                digest.update([0]);
            }
        }
        let digest: [u8; 32] = digest.finalize().into();
        let shown: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            shown,
            "191b37c353c9ad09181d8c7aeb76a27b9b2dc078dd7499e5ed1208e764ecb9b6"
        );
    }
}

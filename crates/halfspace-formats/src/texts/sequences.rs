//! The sequences of consecutive words and of consecutive characters in texts of the normal form.
//!
//! Most sequences of a text occurred in texts before it. They are found by the sequence that is shorter by one part,
//! and the last part, so that the name of a sequence is written and looked up only once.

use halfspace_core::memory;
use hashbrown::HashMap;
use unicode_segmentation::UnicodeSegmentation;

use super::extraction::Lengths;
use crate::error::Fault;
use crate::vocabulary::{NAME_BYTES_MAX, Vocabulary};

/// Where the names of an example go.
pub(crate) trait Names {
    /// The id of a name.
    ///
    /// # Errors
    /// When there are too many names, or memory ends.
    fn id(&mut self, name: &str) -> Result<u32, Fault>;

    /// Adds an occurrence of a name to the example.
    ///
    /// # Errors
    /// When memory ends.
    fn push(&mut self, id: u32) -> Result<(), Fault>;
}

/// A word or a character.
trait Part: Copy {
    /// The number that stands for the part.
    fn number(self, words: &mut Vocabulary) -> u32;

    /// Appends the part to a name that has others already, or none.
    fn write(self, is_first: bool, name: &mut String);
}

impl Part for &str {
    #[inline]
    fn number(self, words: &mut Vocabulary) -> u32 {
        words.add(self)
    }

    fn write(self, is_first: bool, name: &mut String) {
        if !is_first {
            name.push(' ');
        }
        name.push_str(self);
    }
}

impl Part for char {
    #[inline]
    fn number(self, _: &mut Vocabulary) -> u32 {
        self.into()
    }

    fn write(self, _: bool, name: &mut String) {
        name.push(self);
    }
}

/// A sequence that occurred.
#[derive(Clone, Copy)]
struct Sequence {
    number: u32,
    /// The id of its name, or [`Sequence::NAMELESS`] where sequences of this length give no names, or the name would be
    /// too long.
    id: u32,
}

impl Sequence {
    const NAMELESS: u32 = u32::MAX;
    /// The number of no sequence.
    const NONE: u32 = u32::MAX;
}

/// The sequences so far, whose names begin alike.
pub(super) struct Sequences {
    /// What all names begin with. The buffer then takes the rest of each new name.
    name: String,
    prefix: usize,
    words: Vocabulary,
    /// The number of sequences.
    count: u32,
    /// The sequences of one part, by the number of the part.
    alone: Vec<Sequence>,
    /// The longer ones, by the number of the sequence without the last part, in the upper half, and that of this part.
    longer: HashMap<u64, Sequence>,
    /// The numbers of the parts of the present text, and of its sequences of one length.
    parts: Vec<u32>,
    present: Vec<u32>,
}

impl Sequences {
    pub(super) fn new(prefix: String) -> Self {
        Self {
            prefix: prefix.len(),
            name: prefix,
            words: Vocabulary::default(),
            count: 0,
            alone: Vec::new(),
            longer: HashMap::new(),
            parts: Vec::new(),
            present: Vec::new(),
        }
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> u64 {
        // An entry has a byte of the hash beside it, and a table at most twice the places.
        let longer = 2 * (size_of::<(u64, Sequence)>() + 1) * self.longer.capacity();
        let alone = size_of::<Sequence>() * self.alone.capacity();
        let numbers = size_of::<u32>() * (self.parts.capacity() + self.present.capacity());
        self.words.bytes() + (longer + alone + numbers) as u64
    }

    /// Adds the sequences of words, joined by single spaces.
    ///
    /// # Errors
    /// As for [`Names`].
    pub(super) fn of_words(
        &mut self,
        text: &str,
        lengths: Lengths,
        names: &mut impl Names,
    ) -> Result<(), Fault> {
        self.of_parts(&text.unicode_words().collect::<Vec<_>>(), lengths, names)
    }

    /// Adds the sequences of characters. White space counts as one space, except at the ends of the text, where it does
    /// not count.
    ///
    /// # Errors
    /// As for [`Names`].
    pub(super) fn of_characters(
        &mut self,
        text: &str,
        lengths: Lengths,
        names: &mut impl Names,
    ) -> Result<(), Fault> {
        let words = text.split_whitespace();
        let characters = words.flat_map(|word| std::iter::once(' ').chain(word.chars()));
        self.of_parts(&characters.skip(1).collect::<Vec<_>>(), lengths, names)
    }

    /// Finds all sequences of one length before the next, so that the processor waits for many of them at once.
    fn of_parts<P: Part>(
        &mut self,
        parts: &[P],
        lengths: Lengths,
        names: &mut impl Names,
    ) -> Result<(), Fault> {
        // The numbers of the parts, the sequences, and the growth of the lists.
        memory::need_of::<[u64; 4]>(parts.len())?;
        self.parts.clear();
        for part in parts {
            self.parts.push(part.number(&mut self.words));
        }
        self.present.clear();
        self.present.resize(parts.len(), Sequence::NONE);
        for length in 1..=usize::from(lengths.most).min(parts.len()) {
            let count = parts.len() - (length - 1);
            if length > 1 && self.longer.capacity() - self.longer.len() < count {
                // The table may grow, beside the one before.
                memory::need(2 * self.bytes())?;
            }
            for at in 0..count {
                let part = self.parts[at + length - 1];
                let sequence = match self.known(self.present[at], part) {
                    Some(known) => known,
                    None => {
                        let is_named = length >= lengths.least.into();
                        let id = match is_named {
                            true => self.name(&parts[at..at + length], names)?,
                            false => Sequence::NAMELESS,
                        };
                        self.insert(self.present[at], part, id)?
                    }
                };
                self.present[at] = sequence.number;
                if sequence.id != Sequence::NAMELESS {
                    names.push(sequence.id)?;
                }
            }
        }
        Ok(())
    }

    /// The sequence of a part behind a shorter sequence, or alone.
    #[inline]
    fn known(&self, shorter: u32, part: u32) -> Option<Sequence> {
        match shorter {
            Sequence::NONE => {
                let alone = self.alone.get(part as usize).copied();
                alone.filter(|alone| alone.number != Sequence::NONE)
            }
            shorter => self.longer.get(&key(shorter, part)).copied(),
        }
    }

    /// Adds the sequence of a part behind a shorter sequence, or alone.
    ///
    /// # Errors
    /// When memory ends.
    fn insert(&mut self, shorter: u32, part: u32, id: u32) -> Result<Sequence, Fault> {
        let number = self.count;
        let sequence = Sequence { number, id };
        self.count += 1;
        if shorter != Sequence::NONE {
            self.longer.insert(key(shorter, part), sequence);
            return Ok(sequence);
        }
        let part = part as usize;
        if part >= self.alone.len() {
            // A full list is copied to a larger one.
            memory::need_of::<Sequence>(2 * (part + 1))?;
            let none = Sequence {
                number: Sequence::NONE,
                id: Sequence::NAMELESS,
            };
            self.alone.resize(part + 1, none);
        }
        self.alone[part] = sequence;
        Ok(sequence)
    }

    /// The id of the name of these parts.
    #[cold]
    fn name<P: Part>(&mut self, parts: &[P], names: &mut impl Names) -> Result<u32, Fault> {
        for (at, part) in parts.iter().enumerate() {
            part.write(at == 0, &mut self.name);
        }
        let id = match self.name.len() <= NAME_BYTES_MAX {
            true => names.id(&self.name),
            false => Ok(Sequence::NAMELESS),
        };
        self.name.truncate(self.prefix);
        id
    }
}

/// The key of the sequence of a part behind a shorter sequence.
fn key(shorter: u32, part: u32) -> u64 {
    u64::from(shorter) << u32::BITS | u64::from(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names in a list.
    #[derive(Default)]
    struct Listed {
        names: Vec<String>,
        seen: Vec<u32>,
    }

    impl Names for Listed {
        fn id(&mut self, name: &str) -> Result<u32, Fault> {
            assert!(
                !self.names.iter().any(|known| known == name),
                "{name} is asked for twice"
            );
            self.names.push(name.to_owned());
            Ok(self.names.len() as u32 - 1)
        }

        fn push(&mut self, id: u32) -> Result<(), Fault> {
            self.seen.push(id);
            Ok(())
        }
    }

    impl Listed {
        /// The occurrences since the last call.
        fn taken(&mut self) -> Vec<&str> {
            let seen = std::mem::take(&mut self.seen);
            seen.into_iter()
                .map(|id| &self.names[id as usize][1..])
                .collect()
        }
    }

    fn sequences_of(text: &str, least: u8, most: u8) -> Vec<String> {
        let (mut sequences, mut names) = (Sequences::new(":".to_owned()), Listed::default());
        let lengths = Lengths { least, most };
        let mut all = Vec::new();
        // The names of the second time are known already.
        for _ in 0..2 {
            sequences.of_words(text, lengths, &mut names).unwrap();
            all.push(
                names
                    .taken()
                    .into_iter()
                    .map(str::to_owned)
                    .collect::<Vec<_>>(),
            );
        }
        assert_eq!(all[0], all[1]);
        all.remove(0)
    }

    #[test]
    fn sequences_of_words_have_each_length() {
        assert_eq!(sequences_of("a b, c", 1, 1), ["a", "b", "c"]);
        assert_eq!(sequences_of("a b, c", 1, 2), ["a", "b", "c", "a b", "b c"]);
        assert_eq!(sequences_of("a b, c", 2, 3), ["a b", "b c", "a b c"]);
        assert_eq!(sequences_of("a b a b", 2, 2), ["a b", "b a", "a b"]);
        assert_eq!(sequences_of("a b", 3, 8), [""; 0]);
        assert_eq!(sequences_of(" -- ", 1, 2), [""; 0]);
    }

    #[test]
    fn words_end_at_the_boundaries_of_unicode() {
        let found = sequences_of(
            "can't 3.14 re-read a_b __ \u{65e5}\u{672c} na\u{ef}ve",
            1,
            1,
        );
        let expected = [
            "can't",
            "3.14",
            "re",
            "read",
            "a_b",
            "\u{65e5}",
            "\u{672c}",
            "na\u{ef}ve",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn sequences_of_characters_have_one_space_between_words() {
        let characters = |text, least, most| {
            let (mut sequences, mut names) = (Sequences::new("~".to_owned()), Listed::default());
            let read = sequences.of_characters(text, Lengths { least, most }, &mut names);
            read.unwrap();
            names
                .taken()
                .into_iter()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            characters(" a \n\u{e9}b ", 2, 2),
            ["a ", " \u{e9}", "\u{e9}b"]
        );
        assert_eq!(characters("abc", 2, 3), ["ab", "bc", "abc"]);
        assert_eq!(characters("ab", 3, 5), [""; 0]);
    }
}

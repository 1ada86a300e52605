//! What a request can say about texts and conjunctions.

use serde::{Deserialize, Serialize};

use super::conjunctions::EXAMPLE_NAMES_MAX;

/// The most words or characters of a sequence.
const SEQUENCE_MAX: u8 = 8;

/// The most places between a word of a window and the marked word.
const WINDOW_MAX: u8 = 50;

/// The most names in a conjunction.
const CONJUNCTION_MAX: u8 = 3;

/// The names that an example gets from its texts, and the conjunctions of its names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Extraction {
    /// The version of the extraction.
    pub version: TextVersion,
    /// The least and the most words of a sequence that is a name; null for none.
    #[schema(value_type = Option<[u8; 2]>)]
    pub words: Option<Lengths>,
    /// The least and the most characters of a sequence that is a name; null for none.
    #[schema(value_type = Option<[u8; 2]>)]
    pub characters: Option<Lengths>,
    /// The number of places on each side of the marked word within which words are names; null if no word is marked.
    pub window: Option<u8>,
    /// Whether texts are read in lower case.
    pub lower_case: bool,
    /// The value of a name.
    pub occurrences: Occurrences,
    /// The most names in a conjunction. With 1 there are no conjunctions.
    pub conjunctions: u8,
}

/// A version of the extraction, which models keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub enum TextVersion {
    /// Words by Unicode 17.0, lower case and the normal form by Unicode 18.0.
    #[default]
    #[serde(rename = "text/1")]
    One,
}

/// The value of a name that a text gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Occurrences {
    /// 1, however often the name occurs.
    #[default]
    Presence,
    /// The number of times that the name occurs.
    Counts,
}

/// The least and the most parts of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "[u8; 2]", into = "[u8; 2]")]
pub struct Lengths {
    pub(super) least: u8,
    pub(super) most: u8,
}

impl Default for Extraction {
    fn default() -> Self {
        Self {
            version: TextVersion::default(),
            words: None,
            characters: None,
            window: None,
            lower_case: true,
            occurrences: Occurrences::default(),
            conjunctions: 1,
        }
    }
}

impl Extraction {
    /// The most names that begin at a character of a text: sequences of all lengths. An example with conjunctions has
    /// as many names as the limit allows, whatever its length.
    pub(crate) fn names_per_character(&self) -> usize {
        let counts = [self.words, self.characters].map(|lengths| lengths.map_or(0, Lengths::count));
        match self.conjunctions {
            1 => counts.iter().sum::<usize>().max(1),
            _ => EXAMPLE_NAMES_MAX as usize,
        }
    }
}

impl Lengths {
    fn count(self) -> usize {
        usize::from(self.most - self.least) + 1
    }

    /// Sequences of exactly one part.
    const ONE: Self = Self { least: 1, most: 1 };

    /// The lengths of the spelling `2` or `1-2`.
    ///
    /// # Errors
    /// The allowed spellings.
    pub(crate) fn of(text: &str) -> Result<Self, String> {
        let (least, most) = text.split_once('-').unwrap_or((text, text));
        let ends = [least, most].map(str::parse);
        let [Ok(least), Ok(most)] = ends else {
            return Err("not a length such as 2, or a range such as 1-2".to_owned());
        };
        Self::try_from([least, most])
    }
}

impl TryFrom<[u8; 2]> for Lengths {
    type Error = String;

    fn try_from([least, most]: [u8; 2]) -> Result<Self, String> {
        match 0 < least && least <= most && most <= SEQUENCE_MAX {
            true => Ok(Self { least, most }),
            false => Err(format!(
                "the lengths ascend from 1 to at most {SEQUENCE_MAX}"
            )),
        }
    }
}

impl From<Lengths> for [u8; 2] {
    fn from(lengths: Lengths) -> Self {
        [lengths.least, lengths.most]
    }
}

impl Extraction {
    /// The words of texts, and no conjunctions.
    pub(crate) fn usual() -> Self {
        Self {
            words: Some(Lengths::ONE),
            ..Self::default()
        }
    }

    /// Sets the option of the request with this name. Returns false if it is about something else.
    ///
    /// # Errors
    /// The allowed spellings of the value.
    pub(crate) fn set(&mut self, name: &str, text: &str) -> Result<bool, String> {
        match name {
            "words" => self.words = Some(Lengths::of(text)?),
            "characters" => self.characters = Some(Lengths::of(text)?),
            "window" => self.window = Some(whole(text)?),
            "conjunctions" => self.conjunctions = whole(text)?,
            "lower_case" => {
                self.lower_case = match text {
                    "true" => true,
                    "false" => false,
                    _ => return Err(format!("`{text}` is not true or false")),
                }
            }
            "occurrences" => {
                self.occurrences = match text {
                    "presence" => Occurrences::Presence,
                    "counts" => Occurrences::Counts,
                    _ => return Err(format!("`{text}` is not presence or counts")),
                }
            }
            _ => return Ok(false),
        }
        self.check().map(|()| true)
    }

    /// The same extraction with words, where the request asks for no other names of texts.
    ///
    /// # Errors
    /// A number out of its range, or options that exclude each other.
    pub fn settled(mut self) -> Result<Self, String> {
        self.check()?;
        if self.words.is_none() && self.characters.is_none() {
            self.words = Some(Lengths::ONE);
        }
        Ok(self)
    }

    /// Checks numbers and whether options exclude each other.
    ///
    /// # Errors
    /// The option at fault.
    pub(crate) fn check(&self) -> Result<(), String> {
        let conjunctions = self.conjunctions;
        if self
            .window
            .is_some_and(|window| !(1..=WINDOW_MAX).contains(&window))
        {
            return Err(format!("`window` is not from 1 to {WINDOW_MAX}."));
        }
        if !(1..=CONJUNCTION_MAX).contains(&conjunctions) {
            return Err(format!(
                "`conjunctions` is not from 1 to {CONJUNCTION_MAX}."
            ));
        }
        let excluded = match self.window {
            Some(_) if self.words.is_some_and(|words| words != Lengths::ONE) => "words",
            Some(_) if self.characters.is_some() => "characters",
            _ => "",
        };
        if !excluded.is_empty() {
            return Err(format!(
                "`window` gives the words around a marked word and their patterns; omit `{excluded}`, or `window`."
            ));
        }
        if conjunctions > 1 && self.occurrences == Occurrences::Counts {
            let detail = "A conjunction says that names are present, not how often; omit `occurrences=counts`, or \
                          `conjunctions`.";
            return Err(detail.to_owned());
        }
        Ok(())
    }
}

fn whole(text: &str) -> Result<u8, String> {
    text.parse().map_err(|_| "not a whole number".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stated(options: &[(&str, &str)]) -> Result<Extraction, String> {
        let mut extraction = Extraction::default();
        for (name, text) in options {
            assert!(extraction.set(name, text)?, "{name}");
        }
        extraction.settled()
    }

    #[test]
    fn extraction_is_of_words_unless_the_request_says_otherwise() {
        let words = |options: &[_]| stated(options).map(|stated| stated.words);
        assert_eq!(words(&[]), Ok(Some(Lengths::ONE)));
        assert_eq!(words(&[("characters", "3-5")]), Ok(None));
        let pairs = Lengths { least: 1, most: 2 };
        assert_eq!(words(&[("words", "1-2")]), Ok(Some(pairs)));
        assert_eq!(words(&[("window", "3")]), Ok(Some(Lengths::ONE)));
    }

    #[test]
    fn extraction_refuses_lengths_without_a_meaning() {
        for (name, text) in [
            ("words", "0-2"),
            ("words", "2-1"),
            ("words", "1-9"),
            ("words", "one"),
            ("characters", "3-"),
            ("window", "0"),
            ("window", "51"),
            ("conjunctions", "4"),
            ("conjunctions", "0"),
            ("lower_case", "yes"),
            ("occurrences", "tf-idf"),
        ] {
            assert!(stated(&[(name, text)]).is_err(), "{name}={text}");
        }
        assert!(stated(&[("window", "3"), ("words", "1-2")]).is_err());
        assert!(stated(&[("window", "3"), ("characters", "2")]).is_err());
        assert!(stated(&[("conjunctions", "2"), ("occurrences", "counts")]).is_err());
    }
}
